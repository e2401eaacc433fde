#include "edge/nvml/simlib/simlib.h"

#include "edge/nvml/sim_mig.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

API int nvmlInit(void);
API int nvmlInit_v2(void);
API int nvmlInitWithFlags(unsigned flags);
API int nvmlShutdown(void);

enum {
    GI_MAX = WEIR_SIM_GPU_INSTANCES_MAX,
    CI_MAX = WEIR_SIM_COMPUTE_INSTANCES_MAX,
    TRIES_MAX = 1000000
};

struct weir_nvml_handle {
    char used_by_address_only;
};

struct weir_nvml_gi_handle {
    char used_by_address_only;
};

struct weir_nvml_ci_handle {
    char used_by_address_only;
};

static struct weir_nvml_handle handles[WEIR_SIM_DEVICES_MAX];
static struct weir_nvml_handle mig_handles[WEIR_SIM_DEVICES_MAX * GI_MAX * CI_MAX];
static struct weir_nvml_gi_handle gi_handles[WEIR_SIM_DEVICES_MAX * GI_MAX];
static struct weir_nvml_ci_handle ci_handles[WEIR_SIM_DEVICES_MAX * GI_MAX * CI_MAX];

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned n_inits;
static const struct weir_sim_header *header; /* NULL when not initialised */
static size_t mapped_bytes;
static int mapped_fd = -1;
static uint32_t mapped_loads; /* of the driver, when it was mapped */

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
    if (weir_sim_clock_ms() < __atomic_load_n(&found->driver_down_until_ms, __ATOMIC_ACQUIRE))
        return WEIR_NVML_DRIVER_NOT_LOADED;
    return WEIR_NVML_SUCCESS;
}

static int map_fd(int fd)
{
    struct stat st;
    void *map;
    int result;

    if (fstat(fd, &st) < 0)
        return WEIR_NVML_DRIVER_NOT_LOADED;
    /* A file of another version may be shorter than this one's header. */
    if (st.st_size < (off_t)offsetof(struct weir_sim_header, header_bytes))
        return WEIR_NVML_DRIVER_NOT_LOADED;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return WEIR_NVML_MEMORY;
    header = map;
    mapped_bytes = (size_t)st.st_size;
    if (memcmp(header->magic, WEIR_SIM_MAGIC, sizeof(header->magic)) == 0 &&
        header->version != WEIR_SIM_VERSION)
        result = WEIR_NVML_LIB_RM_VERSION_MISMATCH;
    else if (mapped_bytes < sizeof(*header))
        result = WEIR_NVML_DRIVER_NOT_LOADED;
    else
        result = check_header(header, mapped_bytes);
    if (result == WEIR_NVML_SUCCESS) {
        mapped_fd = fd;
        mapped_loads = __atomic_load_n(&header->driver_loads, __ATOMIC_ACQUIRE);
        return WEIR_NVML_SUCCESS;
    }
    munmap(map, mapped_bytes);
    header = NULL;
    return result;
}

static int map_fleet(void)
{
    char path[PATH_MAX];
    int result = find_fleet(path, sizeof(path));
    int fd;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return WEIR_NVML_DRIVER_NOT_LOADED;
    result = map_fd(fd);
    if (result != WEIR_NVML_SUCCESS)
        close(fd);
    return result;
}

static void unmap_fleet(void)
{
    if (header == NULL)
        return;
    munmap((void *)(uintptr_t)header, mapped_bytes);
    close(mapped_fd);
    header = NULL;
    mapped_fd = -1;
}

/* The fleet was replaced under us, or its driver reloaded: only a new init maps what is there now.
 */
static bool is_stale(void)
{
    return __atomic_load_n(&header->retired, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&header->driver_loads, __ATOMIC_ACQUIRE) != mapped_loads;
}

static int ready_locked(void)
{
    if (header == NULL)
        return WEIR_NVML_UNINITIALIZED;
    return is_stale() ? WEIR_NVML_DRIVER_NOT_LOADED : WEIR_NVML_SUCCESS;
}

int nvmlInitWithFlags(unsigned flags)
{
    int result = WEIR_NVML_SUCCESS;

    (void)flags;
    pthread_rwlock_wrlock(&lock);
    if (header != NULL && is_stale())
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

int weir_sim_header(void *out, size_t offset, size_t size)
{
    int result;

    if (out == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    if (result == WEIR_NVML_SUCCESS)
        memcpy(out, (const char *)header + offset, size);
    pthread_rwlock_unlock(&lock);
    return result;
}

static int read_parts(const struct weir_sim_device *device, struct weir_sim_view *view)
{
    bool has_state = false;
    bool has_mig = false;

    for (unsigned i = 1; i <= TRIES_MAX && !(has_state && has_mig); i++) {
        has_state = has_state || weir_sim_try_read(device, &view->state);
        has_mig = has_mig || weir_sim_try_read_mig(device, &view->mig);
        if (i % 16 == 0)
            sched_yield();
    }
    return has_state && has_mig ? WEIR_NVML_SUCCESS : WEIR_NVML_UNKNOWN;
}

/* A damaged file must not make a client read past a field. */
static void close_texts(struct weir_sim_facts *facts)
{
    facts->uuid[sizeof(facts->uuid) - 1] = '\0';
    facts->name[sizeof(facts->name) - 1] = '\0';
    facts->node[sizeof(facts->node) - 1] = '\0';
    facts->zone[sizeof(facts->zone) - 1] = '\0';
    facts->rack[sizeof(facts->rack) - 1] = '\0';
    facts->serial[sizeof(facts->serial) - 1] = '\0';
    if (facts->n_mig_profiles > WEIR_SIM_MIG_PROFILES_MAX)
        facts->n_mig_profiles = 0;
    for (uint32_t i = 0; i < facts->n_mig_profiles; i++)
        facts->mig_profiles[i].name[sizeof(facts->mig_profiles[i].name) - 1] = '\0';
}

static int view_locked(uint32_t index, struct weir_sim_view *view)
{
    int result = ready_locked();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (index >= header->n_devices)
        return WEIR_NVML_INVALID_ARGUMENT;
    view->index = index;
    view->gpu_instance = WEIR_NVML_NO_INSTANCE;
    view->compute_instance = WEIR_NVML_NO_INSTANCE;
    view->at_ms = weir_sim_now_ms();
    view->facts = device_at(index)->facts;
    close_texts(&view->facts);
    return read_parts(device_at(index), view);
}

static int view_now(uint32_t index, struct weir_sim_view *view)
{
    int result;

    pthread_rwlock_rdlock(&lock);
    result = view_locked(index, view);
    pthread_rwlock_unlock(&lock);
    return result;
}

/* A call on a hanging device comes back when that ends, and does not care for signals: neither does
 * one of a real driver that waits in the kernel. */
static int view_device(uint32_t index, unsigned accept, struct weir_sim_view *view)
{
    static const struct timespec slice = {0, 20000000};
    int result;

    while ((result = view_now(index, view)) == WEIR_NVML_SUCCESS &&
           weir_sim_clock_ms() < view->state.hang_until_ms)
        nanosleep(&slice, NULL);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (view->state.health == WEIR_SIM_LOST)
        return WEIR_NVML_GPU_IS_LOST;
    if (view->state.health == WEIR_SIM_RESET_REQUIRED && (accept & WEIR_SIM_ACCEPT_RESET) == 0)
        return WEIR_NVML_RESET_REQUIRED;
    return WEIR_NVML_SUCCESS;
}

static bool is_in(const void *handle, const void *array, size_t bytes, size_t *ret_place)
{
    uintptr_t place = (uintptr_t)handle - (uintptr_t)array;

    *ret_place = place;
    return place < bytes;
}

/* A place in an array of compute instances' handles. */
static int view_compute(size_t place, unsigned accept, struct weir_sim_view *view)
{
    int result = view_device((uint32_t)(place / (GI_MAX * CI_MAX)), accept, view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    view->gpu_instance = (uint32_t)(place / CI_MAX % GI_MAX);
    view->compute_instance = (uint32_t)(place % CI_MAX);
    if (!view->mig.gpu[view->gpu_instance].is_there ||
        view->mig.gpu[view->gpu_instance].compute[view->compute_instance].slices == 0)
        return WEIR_NVML_NOT_FOUND;
    return WEIR_NVML_SUCCESS;
}

int weir_sim_look_with(const struct weir_nvml_handle *handle, const void *output, unsigned accept,
                       struct weir_sim_view *ret_view)
{
    int result = weir_sim_ready();
    size_t place;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (is_in(handle, handles, sizeof(handles), &place))
        result = view_device((uint32_t)place, accept, ret_view);
    else if (!is_in(handle, mig_handles, sizeof(mig_handles), &place))
        result = WEIR_NVML_INVALID_ARGUMENT;
    else if ((accept & WEIR_SIM_ACCEPT_MIG) == 0)
        result = WEIR_NVML_NOT_SUPPORTED;
    else
        result = view_compute(place, accept, ret_view);
    return result == WEIR_NVML_SUCCESS && output == NULL ? WEIR_NVML_INVALID_ARGUMENT : result;
}

int weir_sim_look(const struct weir_nvml_handle *handle, const void *output,
                  struct weir_sim_view *ret_view)
{
    return weir_sim_look_with(handle, output, 0, ret_view);
}

int weir_sim_measure(const struct weir_nvml_handle *handle, const void *output,
                     struct weir_sim_view *ret_view, struct weir_sim_reading *ret_reading)
{
    int result = weir_sim_look(handle, output, ret_view);

    if (result == WEIR_NVML_SUCCESS)
        weir_sim_model_read(&ret_view->facts, &ret_view->state, ret_view->at_ms, ret_reading);
    return result;
}

int weir_sim_look_gi(const struct weir_nvml_gi_handle *handle, const void *output,
                     struct weir_sim_view *ret_view)
{
    size_t place;
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (!is_in(handle, gi_handles, sizeof(gi_handles), &place) || output == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    result = view_device((uint32_t)(place / GI_MAX), 0, ret_view);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    ret_view->gpu_instance = (uint32_t)(place % GI_MAX);
    return ret_view->mig.gpu[ret_view->gpu_instance].is_there ? WEIR_NVML_SUCCESS
                                                              : WEIR_NVML_NOT_FOUND;
}

int weir_sim_look_ci(const struct weir_nvml_ci_handle *handle, const void *output,
                     struct weir_sim_view *ret_view)
{
    size_t place;
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (!is_in(handle, ci_handles, sizeof(ci_handles), &place) || output == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    return view_compute(place, 0, ret_view);
}

/* The number of the first GPU that match() takes. */
static int find_index(bool (*match)(const struct weir_sim_facts *facts, const void *wanted),
                      const void *wanted, uint32_t *ret_index)
{
    int result;

    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    if (result == WEIR_NVML_SUCCESS) {
        result = WEIR_NVML_NOT_FOUND;
        for (uint32_t i = 0; i < header->n_devices && result == WEIR_NVML_NOT_FOUND; i++)
            if (match(&device_at(i)->facts, wanted)) {
                *ret_index = i;
                result = WEIR_NVML_SUCCESS;
            }
    }
    pthread_rwlock_unlock(&lock);
    return result;
}

int weir_sim_find(bool (*match)(const struct weir_sim_facts *facts, const void *wanted),
                  const void *wanted, struct weir_nvml_handle **ret_handle)
{
    struct weir_sim_view view;
    uint32_t index;
    int result;

    if (wanted == NULL || ret_handle == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    result = find_index(match, wanted, &index);
    if (result == WEIR_NVML_SUCCESS)
        result = view_device(index, WEIR_SIM_ACCEPT_RESET, &view);
    if (result == WEIR_NVML_SUCCESS)
        *ret_handle = &handles[index];
    return result;
}

/* Whether the GPU has a MIG device of this UUID. */
static bool find_in(const struct weir_sim_view *view, const char *wanted, uint32_t *ret_gi,
                    uint32_t *ret_ci)
{
    char uuid[WEIR_SIM_MIG_UUID_BYTES];

    for (uint32_t gi = 0; gi < GI_MAX; gi++)
        for (uint32_t ci = 0; ci < CI_MAX; ci++) {
            if (!view->mig.gpu[gi].is_there || view->mig.gpu[gi].compute[ci].slices == 0)
                continue;
            weir_sim_mig_uuid(&view->facts, &view->mig, gi, ci, uuid);
            if (strcmp(uuid, wanted) == 0) {
                *ret_gi = gi;
                *ret_ci = ci;
                return true;
            }
        }
    return false;
}

int weir_sim_find_mig(const char *uuid, struct weir_nvml_handle **ret_handle)
{
    struct weir_sim_view view;
    uint32_t gi;
    uint32_t ci;
    int result;

    for (uint32_t i = 0; (result = view_now(i, &view)) == WEIR_NVML_SUCCESS; i++)
        if (find_in(&view, uuid, &gi, &ci)) {
            result = view_device(i, 0, &view);
            if (result == WEIR_NVML_SUCCESS)
                *ret_handle = weir_sim_mig_handle(i, gi, ci);
            return result;
        }
    /* Past the last device. */
    return result == WEIR_NVML_INVALID_ARGUMENT ? WEIR_NVML_NOT_FOUND : result;
}

int weir_sim_facts_of(uint32_t index, struct weir_sim_facts *ret_facts)
{
    int result;

    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    if (result == WEIR_NVML_SUCCESS && index >= header->n_devices)
        result = WEIR_NVML_INVALID_ARGUMENT;
    if (result == WEIR_NVML_SUCCESS) {
        *ret_facts = device_at(index)->facts;
        close_texts(ret_facts);
    }
    pthread_rwlock_unlock(&lock);
    return result;
}

bool weir_sim_is_lost(uint32_t index)
{
    struct weir_sim_view view;

    return view_now(index, &view) == WEIR_NVML_SUCCESS && view.state.health == WEIR_SIM_LOST;
}

/* A futex on the mapping, which wakes across processes. The mapping may go while the lock is not
 * held: so only a slice at a time, and a bell that cannot be waited for is looked at again later.
 */
void weir_sim_await_bell(uint32_t bell, int64_t max_ms)
{
    enum { SLICE_MS = 100 };
    int64_t ms = max_ms < SLICE_MS ? max_ms : SLICE_MS;
    struct timespec slice = {0, (long)ms * 1000000};
    const uint32_t *at = NULL;

    pthread_rwlock_rdlock(&lock);
    if (header != NULL)
        at = &header->event_bell;
    pthread_rwlock_unlock(&lock);
    if (at == NULL || (syscall(SYS_futex, at, FUTEX_WAIT, bell, &slice, NULL, 0) < 0 &&
                       errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT))
        nanosleep(&slice, NULL);
}

struct weir_nvml_handle *weir_sim_gpu_handle(uint32_t index)
{
    return index < WEIR_SIM_DEVICES_MAX ? &handles[index] : NULL;
}

struct weir_nvml_handle *weir_sim_mig_handle(uint32_t index, uint32_t gi, uint32_t ci)
{
    return &mig_handles[(index * GI_MAX + gi) * CI_MAX + ci];
}

struct weir_nvml_gi_handle *weir_sim_gi_handle(uint32_t index, uint32_t gi)
{
    return &gi_handles[index * GI_MAX + gi];
}

struct weir_nvml_ci_handle *weir_sim_ci_handle(uint32_t index, uint32_t gi, uint32_t ci)
{
    return &ci_handles[(index * GI_MAX + gi) * CI_MAX + ci];
}

/* The file is mapped for writing only as long as the change takes. */
static int publish_mig(int fd, uint32_t index, const struct weir_sim_mig *mig)
{
    char *map = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        return WEIR_NVML_MEMORY;
    weir_sim_publish_mig(
        (struct weir_sim_device *)(void *)(map + sizeof(struct weir_sim_header)) + index, mig);
    munmap(map, mapped_bytes);
    return WEIR_NVML_SUCCESS;
}

int weir_sim_change_mig(uint32_t index,
                        int (*change)(const struct weir_sim_view *view, struct weir_sim_mig *mig,
                                      void *ctx),
                        void *ctx)
{
    struct weir_sim_view view;
    int result;
    int fd;

    pthread_rwlock_rdlock(&lock);
    result = ready_locked();
    fd = result == WEIR_NVML_SUCCESS ? weir_sim_mig_lock(mapped_fd) : -1;
    if (result == WEIR_NVML_SUCCESS && fd < 0)
        result = errno == EACCES || errno == EPERM || errno == EROFS ? WEIR_NVML_NO_PERMISSION
                                                                     : WEIR_NVML_OPERATING_SYSTEM;
    if (result == WEIR_NVML_SUCCESS)
        result = view_locked(index, &view);
    if (result == WEIR_NVML_SUCCESS) {
        struct weir_sim_mig changed = view.mig;

        result = change(&view, &changed, ctx);
        if (result == WEIR_NVML_SUCCESS)
            result = publish_mig(fd, index, &changed);
    }
    if (fd >= 0)
        close(fd);
    pthread_rwlock_unlock(&lock);
    return result;
}
