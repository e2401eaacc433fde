#include "edge/nvml/nvml.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/vec.h"
#include "edge/nvml/nvml_symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known weir_vec(struct weir_nvml_device);

struct weir_nvml {
    void *library;
    bool initialised;
    struct weir_nvml_symbols call;
    char driver_version[WEIR_NVML_VERSION_BYTES];
    struct known known; /* by index: how each device was when it was last read */
};

/* What the identity of a device is made of: true as long as the index means the same device. */
enum {
    VALID_IDENTITY = WEIR_NVML_VALID_UUID | WEIR_NVML_VALID_NAME | WEIR_NVML_VALID_SERIAL |
                     WEIR_NVML_VALID_PCI | WEIR_NVML_VALID_MINOR |
                     WEIR_NVML_VALID_COMPUTE_CAPABILITY | WEIR_NVML_VALID_MEMORY_TOTAL
};

static int code_of(int result)
{
    switch (result) {
    case WEIR_NVML_UNINITIALIZED:
    case WEIR_NVML_DRIVER_NOT_LOADED:
    case WEIR_NVML_LIB_RM_VERSION_MISMATCH:
    case WEIR_NVML_GPU_IS_LOST:
    case WEIR_NVML_RESET_REQUIRED:
        return WEIR_E_UNAVAILABLE;
    case WEIR_NVML_NO_PERMISSION:
        return WEIR_E_DENIED;
    case WEIR_NVML_NOT_SUPPORTED:
    case WEIR_NVML_FUNCTION_NOT_FOUND:
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
        return "this user may not open /dev/nvidiactl";
    case WEIR_NVML_GPU_IS_LOST:
        return "the GPU fell off the bus: see the kernel log for its XID";
    default:
        return "";
    }
}

static int fail(const struct weir_nvml *nvml, int result, const char *what, struct weir_err *err)
{
    const char *text = nvml->call.error_string != NULL ? nvml->call.error_string(result) : NULL;
    int code = code_of(result);

    weir_error(err, code, "%s: NVML answers '%s' (%d)", what, text != NULL ? text : "an error",
               result);
    return weir_error_hint(err, "%s", hint_of(result));
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
        return fail(nvml, result, "initialise NVML", err);
    nvml->initialised = true;
    read_driver_version(nvml);
    return 0;
}

static int load(struct weir_nvml *nvml, const char *path, struct weir_err *err)
{
    const char *missing;

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
    return initialise(nvml, err);
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
    weir_vec_finish(&nvml->known);
    return weir_mem_free(nvml);
}

const char *weir_nvml_driver_version(const struct weir_nvml *nvml)
{
    return nvml->driver_version;
}

/* A text of the device; empty and false when it is not to be had. */
static bool read_text(int (*call)(struct weir_nvml_handle *, char *, unsigned),
                      struct weir_nvml_handle *handle, char *out, size_t room)
{
    bool got = call != NULL && call(handle, out, (unsigned)room) == WEIR_NVML_SUCCESS;

    out[got ? room - 1 : 0] = '\0';
    return got;
}

static void read_pci(const struct weir_nvml_symbols *call, struct weir_nvml_handle *handle,
                     struct weir_nvml_device *device)
{
    struct weir_nvml_pci_info pci = {.domain = 0};

    if (call->pci_info == NULL || call->pci_info(handle, &pci) != WEIR_NVML_SUCCESS)
        return;
    /* From the numbers, which every version has; the texts differ. */
    snprintf(device->pci_bus_id, sizeof(device->pci_bus_id), "%04x:%02x:%02x.0", pci.domain,
             pci.bus & 0xffu, pci.device & 0x1fu);
    device->pci_id = pci.pci_device_id << 16 | pci.pci_device_id >> 16;
    device->valid |= WEIR_NVML_VALID_PCI;
}

static int64_t bytes_of(uint64_t bytes)
{
    return bytes <= INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

/* Returns NVML's last answer. */
static int read_memory(const struct weir_nvml_symbols *call, struct weir_nvml_handle *handle,
                       struct weir_nvml_device *device)
{
    struct weir_nvml_memory_v2 v2 = {WEIR_NVML_STRUCT_VERSION(v2, 2), 0, 0, 0, 0};
    struct weir_nvml_memory_v1 v1 = {0, 0, 0};
    int result = call->memory_v2 != NULL ? call->memory_v2(handle, &v2) : WEIR_NVML_NOT_SUPPORTED;

    if (result == WEIR_NVML_SUCCESS) {
        device->memory_total_bytes = bytes_of(v2.total);
        device->memory_reserved_bytes = bytes_of(v2.reserved);
        device->memory_used_bytes = bytes_of(v2.used);
        device->valid |= WEIR_NVML_VALID_MEMORY_TOTAL | WEIR_NVML_VALID_MEMORY_RESERVED |
                         WEIR_NVML_VALID_MEMORY_USED;
        return result;
    }
    if (call->memory_v1 == NULL)
        return result;
    result = call->memory_v1(handle, &v1);
    if (result == WEIR_NVML_SUCCESS) {
        device->memory_total_bytes = bytes_of(v1.total);
        device->memory_used_bytes = bytes_of(v1.used);
        device->valid |= WEIR_NVML_VALID_MEMORY_TOTAL | WEIR_NVML_VALID_MEMORY_USED;
    }
    return result;
}

static void read_numbers(const struct weir_nvml_symbols *call, struct weir_nvml_handle *handle,
                         struct weir_nvml_device *device)
{
    unsigned current = 0;
    unsigned pending = 0;
    int major = 0;
    int minor = 0;

    if (call->minor != NULL && call->minor(handle, &device->minor) == WEIR_NVML_SUCCESS)
        device->valid |= WEIR_NVML_VALID_MINOR;
    if (call->compute_capability != NULL &&
        call->compute_capability(handle, &major, &minor) == WEIR_NVML_SUCCESS) {
        device->cc_major = (uint16_t)major;
        device->cc_minor = (uint16_t)minor;
        device->valid |= WEIR_NVML_VALID_COMPUTE_CAPABILITY;
    }
    if (call->mig_mode != NULL && call->mig_mode(handle, &current, &pending) == WEIR_NVML_SUCCESS) {
        device->mig_enabled = current != 0;
        device->mig_pending = pending != 0;
        device->valid |= WEIR_NVML_VALID_MIG_MODE;
    }
}

/* Takes what does not change from the last good reading of the same index. */
static void take_identity(const struct weir_nvml *nvml, struct weir_nvml_device *device)
{
    uint8_t state = device->state;
    int32_t result = device->result;

    if (device->index < nvml->known.n && nvml->known.items[device->index].valid != 0)
        *device = nvml->known.items[device->index];
    device->state = state;
    device->result = result;
    device->valid &= VALID_IDENTITY;
    device->mig_enabled = false;
    device->mig_pending = false;
    device->memory_reserved_bytes = 0;
    device->memory_used_bytes = 0;
}

static void set_failed(const struct weir_nvml *nvml, int result, struct weir_nvml_device *device)
{
    device->result = result;
    device->state = result == WEIR_NVML_GPU_IS_LOST      ? WEIR_NVML_STATE_LOST
                    : result == WEIR_NVML_RESET_REQUIRED ? WEIR_NVML_STATE_RESET_REQUIRED
                                                         : WEIR_NVML_STATE_UNREADABLE;
    take_identity(nvml, device);
}

static void read_device(const struct weir_nvml *nvml, uint32_t index,
                        struct weir_nvml_device *device)
{
    struct weir_nvml_handle *handle = NULL;
    int result = nvml->call.by_index(index, &handle);

    *device = (struct weir_nvml_device){.index = index};
    if (result == WEIR_NVML_SUCCESS)
        result = nvml->call.uuid(handle, device->uuid, sizeof(device->uuid));
    if (result != WEIR_NVML_SUCCESS) {
        device->uuid[0] = '\0';
        set_failed(nvml, result, device);
        return;
    }
    device->uuid[sizeof(device->uuid) - 1] = '\0';
    device->valid = WEIR_NVML_VALID_UUID;
    if (read_text(nvml->call.name, handle, device->name, sizeof(device->name)))
        device->valid |= WEIR_NVML_VALID_NAME;
    if (read_text(nvml->call.serial, handle, device->serial, sizeof(device->serial)))
        device->valid |= WEIR_NVML_VALID_SERIAL;
    read_text(nvml->call.node, handle, device->node, sizeof(device->node));
    read_pci(&nvml->call, handle, device);
    read_numbers(&nvml->call, handle, device);
    /* It may go between two of these calls. */
    result = read_memory(&nvml->call, handle, device);
    if (result == WEIR_NVML_GPU_IS_LOST || result == WEIR_NVML_RESET_REQUIRED)
        set_failed(nvml, result, device);
}

/* Without room to remember, a device lost later has no name: no reason to fail now. */
static void remember(struct weir_nvml *nvml, const struct weir_nvml_device *devices, uint32_t n)
{
    while (nvml->known.n < n)
        if (weir_vec_push(&nvml->known, (struct weir_nvml_device){.valid = 0}) < 0)
            return;
    for (uint32_t i = 0; i < n; i++)
        if (devices[i].state == WEIR_NVML_STATE_READY)
            nvml->known.items[i] = devices[i];
}

static bool is_gone(int result)
{
    return result == WEIR_NVML_UNINITIALIZED || result == WEIR_NVML_DRIVER_NOT_LOADED;
}

/* The driver went away under us, perhaps to come back as another: what was known does not hold. */
static int reinitialise(struct weir_nvml *nvml, struct weir_err *err)
{
    if (nvml->initialised)
        nvml->call.shutdown();
    nvml->initialised = false;
    weir_vec_clear(&nvml->known);
    return initialise(nvml, err);
}

static int count_devices(struct weir_nvml *nvml, uint32_t *ret_n, struct weir_err *err)
{
    unsigned n = 0;
    int result = nvml->initialised ? nvml->call.count(&n) : WEIR_NVML_UNINITIALIZED;

    if (is_gone(result)) {
        int rc = reinitialise(nvml, err);

        if (rc < 0)
            return rc;
        result = nvml->call.count(&n);
    }
    if (result != WEIR_NVML_SUCCESS)
        return fail(nvml, result, "count GPUs", err);
    *ret_n = n;
    return 0;
}

int weir_nvml_list(struct weir_nvml *nvml, struct weir_arena *arena,
                   struct weir_nvml_device **ret_devices, uint32_t *ret_n, struct weir_err *err)
{
    struct weir_nvml_device *devices;
    uint32_t n = 0;
    int rc = count_devices(nvml, &n, err);

    if (rc < 0)
        return rc;
    devices = weir_arena_new_n(arena, struct weir_nvml_device, n);
    if (devices == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for %u GPUs", n);
    for (uint32_t i = 0; i < n; i++)
        read_device(nvml, i, &devices[i]);
    remember(nvml, devices, n);
    *ret_devices = devices;
    *ret_n = n;
    return 0;
}

struct processes weir_vec(struct weir_nvml_process);

static int compare_processes(const void *a, const void *b)
{
    const struct weir_nvml_process *x = a;
    const struct weir_nvml_process *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->gpu_instance != y->gpu_instance)
        return x->gpu_instance < y->gpu_instance ? -1 : 1;
    if (x->compute_instance != y->compute_instance)
        return x->compute_instance < y->compute_instance ? -1 : 1;
    return 0;
}

static struct weir_nvml_process process_at(const void *records, bool is_v1, size_t i, uint32_t kind)
{
    struct weir_nvml_process_v2 from = {0, 0, WEIR_NVML_NO_INSTANCE, WEIR_NVML_NO_INSTANCE};
    struct weir_nvml_process process = {.kinds = kind};

    if (is_v1) {
        struct weir_nvml_process_v1 old;

        memcpy(&old, (const struct weir_nvml_process_v1 *)records + i, sizeof(old));
        from.pid = old.pid;
        from.used_bytes = old.used_bytes;
    } else {
        memcpy(&from, (const struct weir_nvml_process_v2 *)records + i, sizeof(from));
    }
    process.pid = from.pid;
    process.gpu_instance = from.gpu_instance;
    process.compute_instance = from.compute_instance;
    process.used_valid = from.used_bytes != WEIR_NVML_VALUE_NOT_AVAILABLE;
    process.used_bytes = process.used_valid ? bytes_of(from.used_bytes) : 0;
    return process;
}

/* Asks with more room until the list fits: processes come between two calls. Returns NVML's result,
 * or MEMORY when ours is short. */
static int fetch_records(const struct weir_nvml_process_list *list, struct weir_nvml_handle *handle,
                         void **records, unsigned *n)
{
    enum { FIRST_ROOM = 32, ROOM_MAX = 1 << 16 };
    size_t size =
        list->is_v1 ? sizeof(struct weir_nvml_process_v1) : sizeof(struct weir_nvml_process_v2);
    unsigned room = FIRST_ROOM;
    int result;

    for (;;) {
        void *grown = weir_mem_realloc_array(*records, room, size);

        if (grown == NULL)
            return WEIR_NVML_MEMORY;
        *records = grown;
        *n = room;
        result = list->call(handle, n, *records);
        if (result != WEIR_NVML_INSUFFICIENT_SIZE || room >= ROOM_MAX)
            break;
        room = *n > room && *n < ROOM_MAX / 2 ? *n * 2 : room * 2;
    }
    if (*n > room)
        *n = room;
    return result;
}

static int add_list(const struct weir_nvml_process_list *list, uint32_t kind,
                    struct weir_nvml_handle *handle, struct processes *out)
{
    weir_cleanup_free void *records = NULL;
    unsigned n = 0;
    int result;

    if (list->call == NULL)
        return WEIR_NVML_FUNCTION_NOT_FOUND;
    result = fetch_records(list, handle, &records, &n);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    for (unsigned i = 0; i < n; i++)
        if (weir_vec_push(out, process_at(records, list->is_v1, i, kind)) < 0)
            return WEIR_NVML_MEMORY;
    return WEIR_NVML_SUCCESS;
}

static int add_all_lists(const struct weir_nvml_symbols *call, struct weir_nvml_handle *handle,
                         struct processes *out)
{
    const struct {
        const struct weir_nvml_process_list *list;
        uint32_t kind;
    } lists[] = {{&call->compute, WEIR_NVML_PROCESS_COMPUTE},
                 {&call->graphics, WEIR_NVML_PROCESS_GRAPHICS},
                 {&call->mps, WEIR_NVML_PROCESS_MPS}};
    int first = WEIR_NVML_SUCCESS;

    for (size_t i = 0; i < WEIR_COUNT_OF(lists); i++) {
        int result = add_list(lists[i].list, lists[i].kind, handle, out);

        if (i == 0)
            first = result;
        /* A GPU without graphics or MPS has no such processes. */
        if (result != WEIR_NVML_SUCCESS && code_of(result) != WEIR_E_UNSUPPORTED)
            return result;
    }
    return first;
}

/* The same process is in several lists when it computes and draws. */
static uint32_t merge(struct weir_nvml_process *items, size_t n)
{
    uint32_t kept = 0;

    if (n > 1)
        qsort(items, n, sizeof(*items), compare_processes);
    for (size_t i = 0; i < n; i++) {
        struct weir_nvml_process *last = kept > 0 ? &items[kept - 1] : NULL;

        if (last == NULL || compare_processes(last, &items[i]) != 0) {
            items[kept++] = items[i];
            continue;
        }
        last->kinds |= items[i].kinds;
        last->used_valid = last->used_valid || items[i].used_valid;
        if (items[i].used_bytes > last->used_bytes)
            last->used_bytes = items[i].used_bytes;
    }
    return kept;
}

static int find_device(const struct weir_nvml *nvml, const char *uuid,
                       struct weir_nvml_handle **ret_handle, struct weir_err *err)
{
    char what[WEIR_NVML_UUID_BYTES + 32];
    int result = nvml->initialised ? nvml->call.by_uuid(uuid, ret_handle) : WEIR_NVML_UNINITIALIZED;

    if (result == WEIR_NVML_SUCCESS)
        return 0;
    /* A name that is none is an invalid argument to some drivers. */
    if (result == WEIR_NVML_NOT_FOUND || result == WEIR_NVML_INVALID_ARGUMENT)
        return weir_error(err, WEIR_E_NOT_FOUND, "no GPU '%.*s'", WEIR_NVML_UUID_BYTES, uuid);
    snprintf(what, sizeof(what), "find GPU '%.*s'", WEIR_NVML_UUID_BYTES, uuid);
    return fail(nvml, result, what, err);
}

int weir_nvml_processes(struct weir_nvml *nvml, const char *uuid, struct weir_arena *arena,
                        struct weir_nvml_process **ret_processes, uint32_t *ret_n,
                        struct weir_err *err)
{
    struct weir_nvml_handle *handle = NULL;
    struct weir_nvml_process *processes = NULL;
    struct processes found = {NULL, 0, 0};
    uint32_t n = 0;
    int result;
    int rc = find_device(nvml, uuid, &handle, err);

    if (rc < 0)
        return rc;
    result = add_all_lists(&nvml->call, handle, &found);
    if (result == WEIR_NVML_SUCCESS) {
        n = merge(found.items, found.n);
        processes = weir_arena_new_n(arena, struct weir_nvml_process, n);
    }
    if (processes != NULL && found.items != NULL)
        memcpy(processes, found.items, n * sizeof(*processes));
    weir_vec_finish(&found);
    if (result != WEIR_NVML_SUCCESS && result != WEIR_NVML_MEMORY)
        return fail(nvml, result, "list processes", err);
    if (processes == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for processes");
    *ret_processes = processes;
    *ret_n = n;
    return 0;
}
