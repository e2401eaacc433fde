#include "edge/nvml/nvml.h"

#include "base/err.h"
#include "base/mem.h"
#include "edge/nvml/nvml_internal.h"

#include <dlfcn.h>
#include <stdio.h>

int weir_nvml_code(int result)
{
    switch (result) {
    case WEIR_NVML_UNINITIALIZED:
    case WEIR_NVML_DRIVER_NOT_LOADED:
    case WEIR_NVML_LIB_RM_VERSION_MISMATCH:
    case WEIR_NVML_GPU_IS_LOST:
    case WEIR_NVML_RESET_REQUIRED:
    case WEIR_NVML_IN_USE:
    case WEIR_NVML_INSUFFICIENT_RESOURCES:
    case WEIR_NVML_NOT_READY:
    case WEIR_NVML_INVALID_STATE:
        return WEIR_E_UNAVAILABLE;
    case WEIR_NVML_INVALID_ARGUMENT:
        return WEIR_E_INVALID;
    case WEIR_NVML_NO_PERMISSION:
        return WEIR_E_DENIED;
    case WEIR_NVML_NOT_SUPPORTED:
    case WEIR_NVML_FUNCTION_NOT_FOUND:
    case WEIR_NVML_DEPRECATED:
        return WEIR_E_UNSUPPORTED;
    case WEIR_NVML_NOT_FOUND:
    case WEIR_NVML_GPU_NOT_FOUND:
        return WEIR_E_NOT_FOUND;
    case WEIR_NVML_TIMEOUT:
        return WEIR_E_TIMEOUT;
    case WEIR_NVML_MEMORY:
        return WEIR_E_NO_MEMORY;
    default:
        return WEIR_E_IO;
    }
}

static const char *hint_of(int result)
{
    switch (result) {
    case WEIR_NVML_DRIVER_NOT_LOADED:
        return "load the kernel module: modprobe nvidia";
    case WEIR_NVML_LIB_RM_VERSION_MISMATCH:
        return "the driver was updated while its old kernel module runs: reload it or reboot";
    case WEIR_NVML_NO_PERMISSION:
        return "this user may not do that to the driver: run weir as root";
    case WEIR_NVML_GPU_IS_LOST:
        return "the GPU fell off the bus: see the kernel log for its XID";
    case WEIR_NVML_RESET_REQUIRED:
        return "reset the GPU when nothing uses it: nvidia-smi --gpu-reset";
    case WEIR_NVML_IN_USE:
        return "something uses it: see its processes, and who else holds the GPU open";
    case WEIR_NVML_INSUFFICIENT_RESOURCES:
        return "GPU instances that are there take the place: destroy one, or ask for less";
    default:
        return "";
    }
}

enum weir_gpu_state weir_nvml_state(int result)
{
    switch (result) {
    case WEIR_NVML_SUCCESS:
        return WEIR_GPU_READY;
    case WEIR_NVML_GPU_IS_LOST:
        return WEIR_GPU_LOST;
    case WEIR_NVML_RESET_REQUIRED:
        return WEIR_GPU_RESET_REQUIRED;
    default:
        return WEIR_GPU_UNREADABLE;
    }
}

const char *weir_nvml_words(const struct weir_nvml_symbols *call, int result)
{
    const char *text = call->error_string != NULL ? call->error_string(result) : NULL;

    return text != NULL ? text : "an error";
}

int weir_nvml_fail(const struct weir_nvml_symbols *call, int result, const char *what,
                   struct weir_err *err)
{
    weir_error(err, weir_nvml_code(result), "%s: NVML answers '%s' (%d)", what,
               weir_nvml_words(call, result), result);
    return weir_error_hint(err, "%s", hint_of(result));
}

void weir_nvml_bus_id(const struct weir_nvml_pci_info *pci, char ret_text[16])
{
    snprintf(ret_text, 16, "%04x:%02x:%02x.0", pci->domain & 0xffffu, pci->bus & 0xffu,
             pci->device & 0x1fu);
}

static void read_driver_version(struct weir_nvml *nvml)
{
    if (nvml->call.driver_version == NULL ||
        nvml->call.driver_version(nvml->driver_version, sizeof(nvml->driver_version)) !=
            WEIR_NVML_SUCCESS)
        nvml->driver_version[0] = '\0';
    nvml->driver_version[sizeof(nvml->driver_version) - 1] = '\0';
}

static int initialise(struct weir_nvml *nvml, struct weir_err *err)
{
    int result = nvml->call.init();

    if (result != WEIR_NVML_SUCCESS)
        return weir_nvml_fail(&nvml->call, result, "initialise NVML", err);
    nvml->initialised = true;
    nvml->generation++;
    return 0;
}

static int load(struct weir_nvml *nvml, const char *path, struct weir_err *err)
{
    const char *missing;
    int r;

    nvml->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL) {
        const char *reason = dlerror();

        weir_error(err, WEIR_E_UNSUPPORTED, "no NVIDIA driver library: %s",
                   reason != NULL ? reason : path);
        return weir_error_hint(err, "install the NVIDIA driver, or use a simulated fleet");
    }
    missing = weir_nvml_symbols_load(nvml->library, &nvml->call);
    if (missing != NULL)
        return weir_error(err, WEIR_E_UNSUPPORTED, "'%s' is no NVML: it lacks %s", path, missing);
    r = initialise(nvml, err);
    if (r == 0)
        read_driver_version(nvml);
    return r;
}

int weir_nvml_open(const char *path, struct weir_nvml **ret_nvml, struct weir_err *err)
{
    struct weir_nvml *nvml = weir_mem_alloc_array(1, sizeof(*nvml));
    int rc;

    if (nvml == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for NVML");
    rc = load(nvml, path != NULL ? path : "libnvidia-ml.so.1", err);
    if (rc < 0) {
        weir_nvml_close(nvml);
        return rc;
    }
    *ret_nvml = nvml;
    return 0;
}

struct weir_nvml *weir_nvml_close(struct weir_nvml *nvml)
{
    if (nvml == NULL)
        return NULL;
    if (nvml->initialised)
        nvml->call.shutdown();
    if (nvml->library != NULL)
        dlclose(nvml->library);
    return weir_mem_free(nvml);
}

const char *weir_nvml_driver_version(const struct weir_nvml *nvml)
{
    return nvml->driver_version;
}

static bool is_gone(int result)
{
    return result == WEIR_NVML_UNINITIALIZED || result == WEIR_NVML_DRIVER_NOT_LOADED;
}

/* The driver went away under us, perhaps to come back as another. */
static int reinitialise(struct weir_nvml *nvml, void (*before_reload)(void *arg), void *arg,
                        struct weir_err *err)
{
    if (before_reload != NULL)
        before_reload(arg);
    if (nvml->initialised)
        nvml->call.shutdown();
    nvml->initialised = false;
    return initialise(nvml, err);
}

int weir_nvml_count(struct weir_nvml *nvml, void (*before_reload)(void *arg), void *arg,
                    uint32_t *ret_n, uint32_t *ret_generation, struct weir_err *err)
{
    unsigned n = 0;
    int result = nvml->initialised ? nvml->call.count(&n) : WEIR_NVML_UNINITIALIZED;

    if (is_gone(result)) {
        int rc = reinitialise(nvml, before_reload, arg, err);

        if (rc < 0)
            return rc;
        result = nvml->call.count(&n);
    }
    if (result != WEIR_NVML_SUCCESS)
        return weir_nvml_fail(&nvml->call, result, "count GPUs", err);
    *ret_n = n;
    *ret_generation = nvml->generation;
    return 0;
}
