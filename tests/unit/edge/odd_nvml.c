/* Drivers that are not as one would like them, one library for each (tests/unit/meson.build):
 *
 * OLD        of the days before versions: unversioned functions only, old memory and process
 * records MIDDLE     _v2 functions; no memory_v2; a process list that grows between the calls WIDE
 * driver 535.43: the _v3 process records are 32 bytes long STRANGE    texts without an end, numbers
 * not available, memory_v2 of another version, lists refused EMPTY      initialises and has no GPU
 * DYING      is lost between two questions
 * PLAIN      the least there can be
 * FOREIGN    no NVML at all
 * UNLOADED   the kernel module is missing */
#include "edge/nvml/nvml_abi.h"

#include <string.h>

#if defined(FOREIGN)

int not_nvml(void);
int not_nvml(void)
{
    return 1;
}

#else

struct weir_nvml_handle {
    int unused;
};

#if !defined(EMPTY) && !defined(UNLOADED)
static struct weir_nvml_handle only;
#endif

#if defined(OLD)
#define VERSIONED(name) name
#else
#define VERSIONED(name) name##_v2
#endif

int VERSIONED(nvmlInit)(void);
int VERSIONED(nvmlInit)(void)
{
#if defined(UNLOADED)
    return WEIR_NVML_DRIVER_NOT_LOADED;
#else
    return 0;
#endif
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return 0;
}

int VERSIONED(nvmlDeviceGetCount)(unsigned *n);
int VERSIONED(nvmlDeviceGetCount)(unsigned *n)
{
#if defined(EMPTY) || defined(UNLOADED)
    *n = 0;
#else
    *n = 1;
#endif
    return 0;
}

int VERSIONED(nvmlDeviceGetHandleByIndex)(unsigned index, struct weir_nvml_handle **out);
int VERSIONED(nvmlDeviceGetHandleByIndex)(unsigned index, struct weir_nvml_handle **out)
{
#if defined(EMPTY) || defined(UNLOADED)
    (void)index;
    (void)out;
    return WEIR_NVML_INVALID_ARGUMENT;
#else
    *out = &only;
    return index == 0 ? 0 : WEIR_NVML_INVALID_ARGUMENT;
#endif
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct weir_nvml_handle **out);
int nvmlDeviceGetHandleByUUID(const char *uuid, struct weir_nvml_handle **out)
{
#if defined(EMPTY) || defined(UNLOADED)
    (void)uuid;
    (void)out;
    return WEIR_NVML_NOT_FOUND;
#else
    *out = &only;
    return strncmp(uuid, "GPU-", 4) == 0 ? 0 : WEIR_NVML_INVALID_ARGUMENT;
#endif
}

int nvmlDeviceGetUUID(struct weir_nvml_handle *device, char *out, unsigned room);
int nvmlDeviceGetUUID(struct weir_nvml_handle *device, char *out, unsigned room)
{
    (void)device;
    memset(out, 0, room);
    memcpy(out, "GPU-1", 6);
    return 0;
}

#if defined(OLD)

int nvmlDeviceGetPciInfo(struct weir_nvml_handle *device, void *out);
int nvmlDeviceGetPciInfo(struct weir_nvml_handle *device, void *out)
{
    uint32_t words[5] = {1, 0x65, 2, 0x1eb810de, 0};

    (void)device;
    memcpy(out, "0001:65:02.0", 13);
    memcpy((char *)out + 16, words, sizeof(words));
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses(struct weir_nvml_handle *device, unsigned *n,
                                         struct weir_nvml_process_v1 *out);
int nvmlDeviceGetComputeRunningProcesses(struct weir_nvml_handle *device, unsigned *n,
                                         struct weir_nvml_process_v1 *out)
{
    unsigned room = *n;

    (void)device;
    *n = 2;
    if (room < 2)
        return WEIR_NVML_INSUFFICIENT_SIZE;
    out[0] = (struct weir_nvml_process_v1){12, 1200};
    out[1] = (struct weir_nvml_process_v1){11, 1100};
    return 0;
}

int nvmlDeviceGetGraphicsRunningProcesses(struct weir_nvml_handle *device, unsigned *n,
                                          struct weir_nvml_process_v1 *out);
int nvmlDeviceGetGraphicsRunningProcesses(struct weir_nvml_handle *device, unsigned *n,
                                          struct weir_nvml_process_v1 *out)
{
    (void)device;
    *n = 1;
    out[0] = (struct weir_nvml_process_v1){12, 1300};
    return 0;
}

#endif
#if defined(OLD) || defined(MIDDLE) || defined(STRANGE)

int nvmlDeviceGetMemoryInfo(struct weir_nvml_handle *device, struct weir_nvml_memory_v1 *out);
int nvmlDeviceGetMemoryInfo(struct weir_nvml_handle *device, struct weir_nvml_memory_v1 *out)
{
    (void)device;
    *out = (struct weir_nvml_memory_v1){16000, 12000, 4000};
    return 0;
}

#endif
#if defined(MIDDLE)

/* 40 processes for the first caller, and 30 more at each call. */
int nvmlDeviceGetComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *n,
                                            struct weir_nvml_process_v2 *out);
int nvmlDeviceGetComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *n,
                                            struct weir_nvml_process_v2 *out)
{
    static unsigned now = 10;
    unsigned room = *n;

    (void)device;
    now += 30;
    *n = now;
    if (room < now)
        return WEIR_NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < now; i++)
        out[i] = (struct weir_nvml_process_v2){1000 - i, i, 3, 4};
    return 0;
}

#endif
#if defined(DYING)

int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *out);
int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *out)
{
    (void)device;
    (void)out;
    return WEIR_NVML_GPU_IS_LOST;
}

#endif
#if defined(WIDE)

int nvmlDeviceGetConfComputeMemSizeInfo(struct weir_nvml_handle *device, void *out);
int nvmlDeviceGetConfComputeMemSizeInfo(struct weir_nvml_handle *device, void *out)
{
    (void)device;
    (void)out;
    return WEIR_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *n,
                                            struct weir_nvml_process_v2 *out);
int nvmlDeviceGetComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *n,
                                            struct weir_nvml_process_v2 *out)
{
    (void)device;
    *n = 2;
    out[0] = (struct weir_nvml_process_v2){21, 2100, ~0u, ~0u};
    out[1] = (struct weir_nvml_process_v2){22, 2200, ~0u, ~0u};
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *n,
                                            void *out);
int nvmlDeviceGetComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *n, void *out)
{
    (void)device;
    memset(out, 0xEE, 64);
    *n = 2;
    return 0;
}

#endif
#if defined(STRANGE)

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    (void)result;
    return NULL;
}

int nvmlSystemGetDriverVersion(char *out, unsigned room);
int nvmlSystemGetDriverVersion(char *out, unsigned room)
{
    memset(out, '7', room);
    return 0;
}

int nvmlDeviceGetName(struct weir_nvml_handle *device, char *out, unsigned room);
int nvmlDeviceGetName(struct weir_nvml_handle *device, char *out, unsigned room)
{
    (void)device;
    memset(out, 'n', room);
    return 0;
}

int nvmlDeviceGetSerial(struct weir_nvml_handle *device, char *out, unsigned room);
int nvmlDeviceGetSerial(struct weir_nvml_handle *device, char *out, unsigned room)
{
    (void)device;
    memset(out, 's', room);
    return WEIR_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *out);
int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *out)
{
    (void)device;
    out->total = 99;
    return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *n,
                                            struct weir_nvml_process_v2 *out);
int nvmlDeviceGetComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *n,
                                            struct weir_nvml_process_v2 *out)
{
    (void)device;
    *n = 1;
    out[0] = (struct weir_nvml_process_v2){31, WEIR_NVML_VALUE_NOT_AVAILABLE, ~0u, ~0u};
    return 0;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *n,
                                             struct weir_nvml_process_v2 *out);
int nvmlDeviceGetGraphicsRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *n,
                                             struct weir_nvml_process_v2 *out)
{
    (void)device;
    (void)n;
    (void)out;
    return WEIR_NVML_NOT_SUPPORTED;
}

#endif
#endif
