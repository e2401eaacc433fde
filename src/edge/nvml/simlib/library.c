#include "base/count.h"
#include "edge/nvml/simlib/simlib.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

API int nvmlInit(void);
API int nvmlInit_v2(void);
API int nvmlInitWithFlags(unsigned flags);
API int nvmlShutdown(void);
API const char *nvmlErrorString(int result);
API int nvmlSystemGetDriverVersion(char *version, unsigned length);
API int nvmlSystemGetNVMLVersion(char *version, unsigned length);
API int nvmlSystemGetCudaDriverVersion(int *version);
API int nvmlSystemGetCudaDriverVersion_v2(int *version);
API int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length);
API int nvmlUnitGetCount(unsigned *count);
API int nvmlDeviceGetCount(unsigned *count);
API int nvmlDeviceGetCount_v2(unsigned *count);
API int nvmlDeviceGetHandleByIndex(unsigned index, struct weir_nvml_handle **ret);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct weir_nvml_handle **ret);

struct weir_nvml_handle {
    char used_by_address_only;
};

static struct weir_nvml_handle handles[WEIR_SIM_DEVICES_MAX];

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned n_inits;
static const struct weir_sim_header *header; /* NULL when not initialised */
static size_t mapped_bytes;

static const struct weir_sim_device *device_at(uint32_t index)
{
    return (const struct weir_sim_device *)(const void *)((const char *)header +
                                                          header->header_bytes) +
           index;
}

static int find_fleet(char *path, size_t room)
{
    const char *named = secure_getenv("WEIR_SIM_FLEET");
    Dl_info info;
    const char *slash;
    int dir_len;
    int len;

    if (named != NULL && named[0] != '\0') {
        len = snprintf(path, room, "%s", named);
        return len > 0 && (size_t)len < room ? WEIR_NVML_SUCCESS : WEIR_NVML_DRIVER_NOT_LOADED;
    }
    if (dladdr(handles, &info) == 0 || info.dli_fname == NULL)
        return WEIR_NVML_DRIVER_NOT_LOADED;
    slash = strrchr(info.dli_fname, '/');
    dir_len = slash != NULL ? (int)(slash - info.dli_fname) : 0;
    if (slash != NULL)
        len = snprintf(path, room, "%.*s/../sim/fleet", dir_len, info.dli_fname);
    else
        len = snprintf(path, room, "../sim/fleet");
    return len > 0 && (size_t)len < room ? WEIR_NVML_SUCCESS : WEIR_NVML_DRIVER_NOT_LOADED;
}

static int check_header(const struct weir_sim_header *found, size_t bytes)
{
    if (memcmp(found->magic, WEIR_SIM_MAGIC, sizeof(found->magic)) != 0)
        return WEIR_NVML_DRIVER_NOT_LOADED;
    if (found->version != WEIR_SIM_VERSION || found->header_bytes != sizeof(*found) ||
        found->device_bytes != sizeof(struct weir_sim_device))
        return WEIR_NVML_LIB_RM_VERSION_MISMATCH;
    if (found->n_devices > WEIR_SIM_DEVICES_MAX ||
        bytes < sizeof(*found) + (size_t)found->n_devices * sizeof(struct weir_sim_device))
        return WEIR_NVML_DRIVER_NOT_LOADED;
    return WEIR_NVML_SUCCESS;
}

static int map_fleet(void)
{
    char path[PATH_MAX];
    struct stat st;
    void *map;
    int result = find_fleet(path, sizeof(path));
    int fd;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return WEIR_NVML_DRIVER_NOT_LOADED;
    if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct weir_sim_header)) {
        close(fd);
        return WEIR_NVML_DRIVER_NOT_LOADED;
    }
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return WEIR_NVML_MEMORY;
    result = check_header(map, (size_t)st.st_size);
    if (result != WEIR_NVML_SUCCESS) {
        munmap(map, (size_t)st.st_size);
        return result;
    }
    header = map;
    mapped_bytes = (size_t)st.st_size;
    return WEIR_NVML_SUCCESS;
}

static void unmap_fleet(void)
{
    if (header != NULL)
        munmap((void *)(uintptr_t)header, mapped_bytes);
    header = NULL;
}

static bool is_retired(void)
{
    return __atomic_load_n(&header->retired, __ATOMIC_ACQUIRE) != 0;
}

/* The fleet was replaced under us: what a client of a real driver sees when the driver is
 * reloaded. A new init maps the new one. */
static int ready_locked(void)
{
    if (header == NULL)
        return WEIR_NVML_UNINITIALIZED;
    return is_retired() ? WEIR_NVML_DRIVER_NOT_LOADED : WEIR_NVML_SUCCESS;
}

int nvmlInitWithFlags(unsigned flags)
{
    int result = WEIR_NVML_SUCCESS;

    (void)flags;
    pthread_rwlock_wrlock(&lock);
    if (header != NULL && is_retired())
        unmap_fleet();
    if (header == NULL)
        result = map_fleet();
    if (result == WEIR_NVML_SUCCESS)
        n_inits++;
    pthread_rwlock_unlock(&lock);
    return result;
}

int nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

int nvmlInit(void)
{
    return nvmlInitWithFlags(0);
}

int nvmlShutdown(void)
{
    int result = WEIR_NVML_UNINITIALIZED;

    pthread_rwlock_wrlock(&lock);
    if (n_inits > 0) {
        if (--n_inits == 0)
            unmap_fleet();
        result = WEIR_NVML_SUCCESS;
    }
    pthread_rwlock_unlock(&lock);
    return result;
}

int weir_sim_ready(void)
{
    int result;

    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    pthread_rwlock_unlock(&lock);
    return result;
}

static int read_state(const struct weir_sim_device *device, struct weir_sim_state *state)
{
    enum { TRIES_MAX = 1000000 };

    for (unsigned i = 1; i <= TRIES_MAX; i++) {
        if (weir_sim_try_read(device, state))
            return WEIR_NVML_SUCCESS;
        if (i % 16 == 0)
            sched_yield();
    }
    return WEIR_NVML_UNKNOWN;
}

/* A damaged file must not make a client read past a field. */
static void close_texts(struct weir_sim_facts *facts)
{
    facts->uuid[sizeof(facts->uuid) - 1] = '\0';
    facts->name[sizeof(facts->name) - 1] = '\0';
    facts->node[sizeof(facts->node) - 1] = '\0';
    facts->serial[sizeof(facts->serial) - 1] = '\0';
}

static int look_locked(const struct weir_nvml_handle *handle, struct weir_sim_view *view)
{
    int result = ready_locked();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (handle < handles || handle >= handles + header->n_devices)
        return WEIR_NVML_INVALID_ARGUMENT;
    view->index = (uint32_t)(handle - handles);
    view->facts = device_at(view->index)->facts;
    close_texts(&view->facts);
    result = read_state(device_at(view->index), &view->state);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    return view->state.health == WEIR_SIM_LOST ? WEIR_NVML_GPU_IS_LOST : WEIR_NVML_SUCCESS;
}

int weir_sim_look(const struct weir_nvml_handle *handle, const void *output,
                  struct weir_sim_view *ret_view)
{
    int result;

    pthread_rwlock_rdlock(&lock);
    result = look_locked(handle, ret_view);
    pthread_rwlock_unlock(&lock);
    if (result == WEIR_NVML_SUCCESS && output == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    return result;
}

int weir_sim_find(bool (*match)(const struct weir_sim_facts *facts, const void *wanted),
                  const void *wanted, struct weir_nvml_handle **ret_handle)
{
    struct weir_sim_view view;
    int result;

    if (wanted == NULL || ret_handle == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    if (result == WEIR_NVML_SUCCESS) {
        result = WEIR_NVML_NOT_FOUND;
        for (uint32_t i = 0; i < header->n_devices; i++)
            if (match(&device_at(i)->facts, wanted)) {
                result = look_locked(&handles[i], &view);
                if (result == WEIR_NVML_SUCCESS)
                    *ret_handle = &handles[i];
                break;
            }
    }
    pthread_rwlock_unlock(&lock);
    return result;
}

int weir_sim_text(char *out, unsigned room, const char *text)
{
    size_t size = strlen(text) + 1;

    if (out == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (size > room)
        return WEIR_NVML_INSUFFICIENT_SIZE;
    memcpy(out, text, size);
    return WEIR_NVML_SUCCESS;
}

const char *nvmlErrorString(int result)
{
    static const struct {
        int result;
        const char *text;
    } texts[] = {
        {WEIR_NVML_SUCCESS, "Success"},
        {WEIR_NVML_UNINITIALIZED, "Uninitialized"},
        {WEIR_NVML_INVALID_ARGUMENT, "Invalid Argument"},
        {WEIR_NVML_NOT_SUPPORTED, "Not Supported"},
        {WEIR_NVML_NO_PERMISSION, "Insufficient Permissions"},
        {WEIR_NVML_NOT_FOUND, "Not Found"},
        {WEIR_NVML_INSUFFICIENT_SIZE, "Insufficient Size"},
        {WEIR_NVML_DRIVER_NOT_LOADED, "Driver Not Loaded"},
        {WEIR_NVML_TIMEOUT, "Timeout"},
        {WEIR_NVML_FUNCTION_NOT_FOUND, "Function Not Found"},
        {WEIR_NVML_GPU_IS_LOST, "GPU is lost"},
        {WEIR_NVML_RESET_REQUIRED, "GPU requires reset"},
        {WEIR_NVML_OPERATING_SYSTEM, "Operating system error"},
        {WEIR_NVML_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
        {WEIR_NVML_MEMORY, "Insufficient Memory"},
        {WEIR_NVML_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
        {WEIR_NVML_GPU_NOT_FOUND, "GPU not found"},
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(texts); i++)
        if (texts[i].result == result)
            return texts[i].text;
    return "Unknown Error";
}

static int system_text(char *out, unsigned length, size_t offset)
{
    char text[WEIR_NVML_VERSION_BYTES];
    int result;

    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    if (result == WEIR_NVML_SUCCESS) {
        memcpy(text, (const char *)header + offset, sizeof(text));
        text[sizeof(text) - 1] = '\0';
    }
    pthread_rwlock_unlock(&lock);
    return result == WEIR_NVML_SUCCESS ? weir_sim_text(out, length, text) : result;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    return system_text(version, length, offsetof(struct weir_sim_header, driver_version));
}

int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    return system_text(version, length, offsetof(struct weir_sim_header, nvml_version));
}

static int system_number(void *out, size_t offset)
{
    int result;

    if (out == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    if (result == WEIR_NVML_SUCCESS)
        memcpy(out, (const char *)header + offset, sizeof(uint32_t));
    pthread_rwlock_unlock(&lock);
    return result;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    return system_number(version, offsetof(struct weir_sim_header, cuda_version));
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
    char path[64];
    char text[1024];
    FILE *file;
    size_t n;
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return WEIR_NVML_NOT_FOUND;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    return weir_sim_text(name, length, text);
}

int nvmlUnitGetCount(unsigned *count)
{
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (count == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *count = 0;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    return system_number(count, offsetof(struct weir_sim_header, n_devices));
}

int nvmlDeviceGetCount(unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct weir_nvml_handle **ret)
{
    struct weir_sim_view view;
    int result;

    if (index >= WEIR_SIM_DEVICES_MAX)
        return weir_sim_ready() != WEIR_NVML_SUCCESS ? weir_sim_ready()
                                                     : WEIR_NVML_INVALID_ARGUMENT;
    result = weir_sim_look(&handles[index], ret, &view);
    if (result == WEIR_NVML_SUCCESS)
        *ret = &handles[index];
    return result;
}

int nvmlDeviceGetHandleByIndex(unsigned index, struct weir_nvml_handle **ret)
{
    return nvmlDeviceGetHandleByIndex_v2(index, ret);
}
