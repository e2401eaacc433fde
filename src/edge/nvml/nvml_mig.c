#include "edge/nvml/nvml_internal.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACES_MAX = 64,   /* of one profile; devices have up to 8 */
    INSTANCES_MAX = 64 /* of a device, or of a GPU instance; devices have up to 7 */
};

/* ---- profiles ---- */

/* The name without NVML's "MIG ": what people and CUDA call it. */
static int keep_name(struct weir_nvml_reader *reader, const char name[WEIR_NVML_NAME_BYTES],
                     struct weir_str *ret)
{
    struct weir_str text = weir_str_n(name, strnlen(name, WEIR_NVML_NAME_BYTES));
    char *copy;

    if (weir_str_starts_with(text, WEIR_STR("MIG ")))
        text = weir_str_sub(text, 4, text.len);
    copy = weir_str_dup(text, reader->arena);
    if (copy == NULL)
        return WEIR_E_NO_MEMORY;
    *ret = weir_str(copy);
    return 0;
}

static struct weir_gpu_mig_profile profile_of(uint32_t id, uint32_t slices, uint32_t instances,
                                              uint32_t multiprocessors, uint64_t memory_mib)
{
    return (struct weir_gpu_mig_profile){.id = id,
                                         .slices = slices,
                                         .instances_max = instances,
                                         .n_multiprocessors = multiprocessors,
                                         .memory_bytes =
                                             weir_nvml_amount(memory_mib < INT64_MAX / WEIR_MIB
                                                                  ? memory_mib * (uint64_t)WEIR_MIB
                                                                  : INT64_MAX)};
}

/* Asks with the newest form first. 1: there is one; 0: there is none; else WEIR_E_NO_MEMORY. */
static int read_profile(struct weir_nvml_reader *reader, uint32_t number,
                        struct weir_gpu_mig_profile *ret)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_gi_profile_info_v3 v3 = {.version = WEIR_NVML_STRUCT_VERSION(v3, 3)};
    struct weir_nvml_gi_profile_info_v2 v2 = {.version = WEIR_NVML_STRUCT_VERSION(v2, 2)};
    struct weir_nvml_gi_profile_info_v1 v1 = {.id = 0};
    int r;

    if (call->gi_profile_v != NULL &&
        weir_nvml_ok(reader, call->gi_profile_v(reader->handle, number, &v3))) {
        *ret = profile_of(v3.id, v3.slices, v3.instances, v3.multiprocessors, v3.memory_mib);
        r = keep_name(reader, v3.name, &ret->name);
        return r < 0 ? r : 1;
    }
    if (call->gi_profile_v != NULL &&
        weir_nvml_ok(reader, call->gi_profile_v(reader->handle, number, &v2))) {
        *ret = profile_of(v2.id, v2.slices, v2.instances, v2.multiprocessors, v2.memory_mib);
        r = keep_name(reader, v2.name, &ret->name);
        return r < 0 ? r : 1;
    }
    if (call->gi_profile == NULL ||
        !weir_nvml_ok(reader, call->gi_profile(reader->handle, number, &v1)))
        return 0;
    *ret = profile_of(v1.id, v1.slices, v1.instances, v1.multiprocessors, v1.memory_mib);
    return 1;
}

static int read_placements(struct weir_nvml_reader *reader, struct weir_gpu_mig_profile *profile)
{
    struct weir_nvml_placement found[PLACES_MAX] = {{0, 0}};
    struct weir_gpu_placement *kept;
    unsigned n = 0;

    if (reader->call->gi_placements == NULL ||
        !weir_nvml_ok(reader, reader->call->gi_placements(reader->handle, profile->id, NULL, &n)))
        return 0;
    if (n > PLACES_MAX ||
        !weir_nvml_ok(reader, reader->call->gi_placements(reader->handle, profile->id, found, &n)))
        return 0;
    n = n < PLACES_MAX ? n : PLACES_MAX;
    kept = weir_arena_new_n(reader->arena, struct weir_gpu_placement, n + 1u);
    if (kept == NULL)
        return WEIR_E_NO_MEMORY;
    for (unsigned i = 0; i < n; i++)
        kept[i] = (struct weir_gpu_placement){found[i].start, found[i].size};
    profile->placements = kept;
    profile->n_placements = n;
    return 0;
}

static int read_profiles(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    struct weir_gpu_mig_profile *profiles =
        weir_arena_new_n(reader->arena, struct weir_gpu_mig_profile, WEIR_NVML_GI_PROFILE_COUNT);
    uint32_t n = 0;

    if (profiles == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t number = 0; number < WEIR_NVML_GI_PROFILE_COUNT; number++) {
        int r = read_profile(reader, number, &profiles[n]);

        if (r > 0)
            r = read_placements(reader, &profiles[n++]);
        if (r < 0)
            return r;
    }
    device->profiles = profiles;
    device->n_profiles = n;
    if (n > 0)
        device->valid |= WEIR_GPU_HAS_PROFILES;
    return 0;
}

/* ---- instances ---- */

/* A MIG device is a compute instance under the name that CUDA takes. */
struct mig_device {
    uint32_t gi;
    uint32_t ci;
    char uuid[WEIR_NVML_UUID_BYTES];
};

static uint32_t read_mig_devices(struct weir_nvml_reader *reader,
                                 struct mig_device found[INSTANCES_MAX])
{
    const struct weir_nvml_symbols *call = reader->call;
    unsigned max = 0;
    uint32_t n = 0;

    if (call->mig_devices_max == NULL || call->mig_device == NULL || call->gi_of_device == NULL ||
        call->ci_of_device == NULL ||
        !weir_nvml_ok(reader, call->mig_devices_max(reader->handle, &max)))
        return 0;
    for (unsigned i = 0; i < max && n < INSTANCES_MAX; i++) {
        struct weir_nvml_handle *handle = NULL;
        struct mig_device *one = &found[n];

        if (!weir_nvml_ok(reader, call->mig_device(reader->handle, i, &handle)) ||
            !weir_nvml_ok(reader, call->gi_of_device(handle, &one->gi)) ||
            !weir_nvml_ok(reader, call->ci_of_device(handle, &one->ci)) ||
            !weir_nvml_ok(reader, call->uuid(handle, one->uuid, sizeof(one->uuid))))
            continue;
        one->uuid[sizeof(one->uuid) - 1] = '\0';
        n++;
    }
    return n;
}

static int keep_uuid(struct weir_nvml_reader *reader, const struct mig_device *devices, uint32_t n,
                     uint32_t gi, uint32_t ci, struct weir_str *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        char *copy;

        if (devices[i].gi != gi || devices[i].ci != ci)
            continue;
        copy = weir_arena_strndup(reader->arena, devices[i].uuid, strlen(devices[i].uuid));
        if (copy == NULL)
            return WEIR_E_NO_MEMORY;
        *ret = weir_str(copy);
        return 0;
    }
    return 0;
}

static int compare_compute(const void *a, const void *b)
{
    const struct weir_gpu_compute_instance *x = a;
    const struct weir_gpu_compute_instance *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_instances(const void *a, const void *b)
{
    const struct weir_gpu_instance *x = a;
    const struct weir_gpu_instance *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* The handles of one kind; the driver wants room for as many as the profile allows. */
static uint32_t list_compute(struct weir_nvml_reader *reader, struct weir_nvml_gi_handle *instance,
                             uint32_t number, struct weir_nvml_ci_handle *found[INSTANCES_MAX])
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_ci_profile_info_v1 info = {.id = 0};
    unsigned n = INSTANCES_MAX;

    if (!weir_nvml_ok(reader,
                      call->ci_profile(instance, number, WEIR_NVML_CI_ENGINE_SHARED, &info)) ||
        info.instances > INSTANCES_MAX ||
        !weir_nvml_ok(reader, call->ci_list(instance, info.id, found, &n)))
        return 0;
    return n < INSTANCES_MAX ? n : INSTANCES_MAX;
}

static int read_compute(struct weir_nvml_reader *reader, struct weir_nvml_gi_handle *handle,
                        const struct mig_device *devices, uint32_t n_devices,
                        struct weir_gpu_instance *instance)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_gpu_compute_instance *compute =
        weir_arena_new_n(reader->arena, struct weir_gpu_compute_instance, INSTANCES_MAX);
    uint32_t n = 0;

    if (compute == NULL)
        return WEIR_E_NO_MEMORY;
    instance->compute = compute;
    if (call->ci_profile == NULL || call->ci_list == NULL || call->ci_info == NULL)
        return 0;
    for (uint32_t number = 0; number < WEIR_NVML_CI_PROFILE_COUNT; number++) {
        struct weir_nvml_ci_handle *found[INSTANCES_MAX];
        uint32_t n_found = list_compute(reader, handle, number, found);

        for (uint32_t i = 0; i < n_found && n < INSTANCES_MAX; i++) {
            struct weir_nvml_ci_info_v2 info = {.id = 0};

            if (!weir_nvml_ok(reader, call->ci_info(found[i], &info)))
                continue;
            compute[n] =
                (struct weir_gpu_compute_instance){.id = info.id, .profile_id = info.profile_id};
            if (keep_uuid(reader, devices, n_devices, instance->id, info.id, &compute[n++].uuid) <
                0)
                return WEIR_E_NO_MEMORY;
        }
    }
    qsort(compute, n, sizeof(*compute), compare_compute);
    instance->n_compute = n;
    return 0;
}

struct gpu_instances {
    struct weir_gpu_instance *items;
    uint32_t n;
    bool is_refused; /* the list may not be read */
    struct mig_device devices[INSTANCES_MAX];
    uint32_t n_devices;
};

static int add_instances(struct weir_nvml_reader *reader,
                         const struct weir_gpu_mig_profile *profile, struct gpu_instances *out)
{
    struct weir_nvml_gi_handle *found[INSTANCES_MAX];
    unsigned n = INSTANCES_MAX;
    int result;

    if (profile->instances_max > INSTANCES_MAX)
        return 0;
    result = reader->call->gi_list(reader->handle, profile->id, found, &n);
    out->is_refused = out->is_refused || result == WEIR_NVML_NO_PERMISSION;
    if (!weir_nvml_ok(reader, result))
        return 0;
    for (unsigned i = 0; i < n && i < INSTANCES_MAX && out->n < INSTANCES_MAX; i++) {
        struct weir_nvml_gi_info info = {.id = 0};
        struct weir_gpu_instance *instance = &out->items[out->n];

        if (!weir_nvml_ok(reader, reader->call->gi_info(found[i], &info)))
            continue;
        *instance =
            (struct weir_gpu_instance){.id = info.id,
                                       .profile_id = info.profile_id,
                                       .placement = {info.placement.start, info.placement.size}};
        out->n++;
        if (read_compute(reader, found[i], out->devices, out->n_devices, instance) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* Who may not read the list sees what the MIG devices tell of it. */
static int add_shown(struct weir_nvml_reader *reader, struct gpu_instances *out)
{
    for (uint32_t i = 0; i < out->n_devices; i++) {
        struct weir_gpu_instance *instance = NULL;
        struct weir_gpu_compute_instance *compute;

        for (uint32_t k = 0; k < out->n; k++)
            if (out->items[k].id == out->devices[i].gi)
                instance = &out->items[k];
        if (instance == NULL) {
            instance = &out->items[out->n++];
            *instance = (struct weir_gpu_instance){.id = out->devices[i].gi,
                                                   .profile_id = WEIR_GPU_UNKNOWN_PROFILE};
        }
        compute = weir_arena_new_n(reader->arena, struct weir_gpu_compute_instance,
                                   instance->n_compute + 1u);
        if (compute == NULL)
            return WEIR_E_NO_MEMORY;
        if (instance->n_compute > 0)
            memcpy(compute, instance->compute, instance->n_compute * sizeof(*compute));
        compute[instance->n_compute] =
            (struct weir_gpu_compute_instance){.id = out->devices[i].ci,
                                               .profile_id = WEIR_GPU_UNKNOWN_PROFILE};
        if (keep_uuid(reader, out->devices, out->n_devices, out->devices[i].gi, out->devices[i].ci,
                      &compute[instance->n_compute].uuid) < 0)
            return WEIR_E_NO_MEMORY;
        instance->compute = compute;
        instance->n_compute++;
    }
    return 0;
}

static int read_instances(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    struct gpu_instances found = {.n = 0};

    if (reader->call->gi_list == NULL || reader->call->gi_info == NULL)
        return 0;
    found.items = weir_arena_new_n(reader->arena, struct weir_gpu_instance, INSTANCES_MAX);
    if (found.items == NULL)
        return WEIR_E_NO_MEMORY;
    found.n_devices = read_mig_devices(reader, found.devices);
    for (uint32_t i = 0; i < device->n_profiles; i++)
        if (add_instances(reader, &device->profiles[i], &found) < 0)
            return WEIR_E_NO_MEMORY;
    if (found.is_refused && add_shown(reader, &found) < 0)
        return WEIR_E_NO_MEMORY;
    qsort(found.items, found.n, sizeof(*found.items), compare_instances);
    device->instances = found.items;
    device->n_instances = found.n;
    if (!found.is_refused)
        device->valid |= WEIR_GPU_HAS_INSTANCES;
    return 0;
}

int weir_nvml_read_mig(struct weir_nvml_reader *reader, struct weir_gpu_device *device,
                       struct weir_err *err)
{
    unsigned current = 0;
    unsigned pending = 0;
    int r;

    if (reader->call->mig_mode == NULL ||
        !weir_nvml_ok(reader, reader->call->mig_mode(reader->handle, &current, &pending)))
        return 0;
    device->mig_mode = current == WEIR_NVML_MIG_ENABLE;
    device->mig_pending = pending == WEIR_NVML_MIG_ENABLE;
    device->valid |= WEIR_GPU_HAS_MIG_MODE;
    r = read_profiles(reader, device);
    if (r == 0 && device->mig_mode && reader->failed == WEIR_NVML_SUCCESS)
        r = read_instances(reader, device);
    return r < 0 ? weir_error(err, r, "no memory for a GPU's instances") : 0;
}
