#include "rig_nvml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { PROFILE_ID = 19, MIB_OF_PROFILE = 10240 };

struct weir_nvml_handle {
    unsigned index;
    unsigned instance; /* of a MIG device */
    bool is_mig;
};

struct weir_nvml_gi_handle {
    unsigned device;
    unsigned id;
};

struct weir_nvml_ci_handle {
    unsigned device;
    unsigned gi;
};

struct weir_nvml_event_set {
    uint32_t devices; /* bits */
    unsigned next;    /* of the rig's events */
};

struct weir_nvml_gpm_sample {
    unsigned at;
};

EXPORT struct nvml_rig nvml_rig = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                   .changed = PTHREAD_COND_INITIALIZER};

static struct weir_nvml_handle handles[RIG_DEVICES_MAX];
static struct weir_nvml_handle mig_handles[RIG_DEVICES_MAX][RIG_INSTANCES_MAX];
static struct weir_nvml_gi_handle gi_handles[RIG_DEVICES_MAX][RIG_INSTANCES_MAX];
static struct weir_nvml_ci_handle ci_handles[RIG_DEVICES_MAX][RIG_INSTANCES_MAX];

/* They never change: weir may look at a handle from any thread. */
__attribute__((constructor)) static void make_handles(void)
{
    for (unsigned d = 0; d < RIG_DEVICES_MAX; d++) {
        handles[d].index = d;
        for (unsigned i = 0; i < RIG_INSTANCES_MAX; i++) {
            mig_handles[d][i] = (struct weir_nvml_handle){d, i, true};
            gi_handles[d][i] = (struct weir_nvml_gi_handle){d, i};
            ci_handles[d][i] = (struct weir_nvml_ci_handle){d, i};
        }
    }
}

static void lock(void)
{
    pthread_mutex_lock(&nvml_rig.lock);
}

static int unlock(int result)
{
    pthread_mutex_unlock(&nvml_rig.lock);
    return result;
}

/* With the lock: what every question to a device begins with. */
static int ask(const struct weir_nvml_handle *handle)
{
    struct rig_device *device = &nvml_rig.devices[handle->index];

    lock();
    while (device->hangs) {
        device->n_hanging++;
        pthread_cond_broadcast(&nvml_rig.changed);
        pthread_cond_wait(&nvml_rig.changed, &nvml_rig.lock);
        device->n_hanging--;
    }
    return nvml_rig.is_reloaded ? WEIR_NVML_UNINITIALIZED : device->result;
}

EXPORT int nvmlInit_v2(void)
{
    lock();
    while (nvml_rig.init_hangs)
        pthread_cond_wait(&nvml_rig.changed, &nvml_rig.lock);
    nvml_rig.n_inits++;
    if (nvml_rig.init_result == 0)
        nvml_rig.is_reloaded = false;
    return unlock(nvml_rig.init_result);
}

EXPORT int nvmlShutdown(void)
{
    lock();
    nvml_rig.n_shutdowns++;
    pthread_cond_broadcast(&nvml_rig.changed);
    return unlock(0);
}

EXPORT const char *nvmlErrorString(int result)
{
    return result == WEIR_NVML_GPU_IS_LOST         ? "GPU is lost"
           : result == WEIR_NVML_RESET_REQUIRED    ? "GPU requires reset"
           : result == WEIR_NVML_DRIVER_NOT_LOADED ? "Driver Not Loaded"
                                                   : "Something else";
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned room)
{
    snprintf(out, room, "1.2.3");
    return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *n)
{
    lock();
    while (nvml_rig.count_hangs)
        pthread_cond_wait(&nvml_rig.changed, &nvml_rig.lock);
    *n = nvml_rig.n_devices;
    return unlock(nvml_rig.is_reloaded ? WEIR_NVML_UNINITIALIZED : 0);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct weir_nvml_handle **out)
{
    if (index >= RIG_DEVICES_MAX)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = &handles[index];
    return unlock(ask(*out));
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct weir_nvml_handle **out)
{
    const char *dash = strrchr(uuid, '-');
    unsigned index = dash != NULL ? (unsigned)strtoul(dash + 1, NULL, 10) : RIG_DEVICES_MAX;

    return index < RIG_DEVICES_MAX ? nvmlDeviceGetHandleByIndex_v2(index, out)
                                   : WEIR_NVML_NOT_FOUND;
}

EXPORT int nvmlDeviceGetUUID(struct weir_nvml_handle *handle, char *out, unsigned room)
{
    int result = ask(handle);

    if (handle->is_mig)
        snprintf(out, room, "MIG-%u-%u", handle->index, handle->instance);
    else
        snprintf(out, room, "GPU-%u-%u", nvml_rig.series, handle->index);
    return unlock(result);
}

EXPORT int nvmlDeviceGetName(struct weir_nvml_handle *handle, char *out, unsigned room)
{
    int result = ask(handle);

    snprintf(out, room, "NVIDIA H100 80GB HBM3");
    return unlock(result != 0 ? result : nvml_rig.devices[handle->index].name_result);
}

EXPORT int nvmlDeviceGetPciInfo_v3(struct weir_nvml_handle *handle, struct weir_nvml_pci_info *out)
{
    *out = (struct weir_nvml_pci_info){.bus = handle->index + 1};
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *handle,
                                      struct weir_nvml_memory_v2 *out)
{
    *out = (struct weir_nvml_memory_v2){out->version, 80000, 1000, 70000, 9000 + handle->index};
    if (handle->is_mig)
        out->total = 10000;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetMemoryAffinity(struct weir_nvml_handle *handle, unsigned n,
                                       unsigned long *words, unsigned scope)
{
    memset(words, 0, n * sizeof(*words));
    words[handle->index == 0 ? 0 : 1] = scope == WEIR_NVML_AFFINITY_NODE ? 2 : 0;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct weir_nvml_handle *handle, unsigned *out)
{
    *out = 700000;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(struct weir_nvml_handle *handle,
                                                        unsigned *min, unsigned *max)
{
    *min = 200000;
    *max = 700000;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetTemperatureThreshold(struct weir_nvml_handle *handle, unsigned which,
                                             unsigned *out)
{
    int result = ask(handle);

    *out = 90 + which;
    if (result == 0 && which == WEIR_NVML_THRESHOLD_GPU_MAX)
        result = WEIR_NVML_NOT_SUPPORTED;
    return unlock(result);
}

EXPORT int nvmlDeviceGetNvLinkState(struct weir_nvml_handle *handle, unsigned link,
                                    unsigned *is_active)
{
    int result = ask(handle);

    *is_active = link != 1;
    return unlock(result == 0 && link >= 3 ? WEIR_NVML_INVALID_ARGUMENT : result);
}

EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(struct weir_nvml_handle *handle, unsigned link,
                                               unsigned *out)
{
    *out = link == 0 ? WEIR_NVML_NVLINK_REMOTE_SWITCH : WEIR_NVML_NVLINK_REMOTE_GPU;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct weir_nvml_handle *handle, unsigned link,
                                               struct weir_nvml_pci_info *out)
{
    *out = (struct weir_nvml_pci_info){.domain = 1, .bus = link + 0x10};
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetUtilizationRates(struct weir_nvml_handle *handle,
                                         struct weir_nvml_utilization *out)
{
    int result = ask(handle);

    nvml_rig.devices[handle->index].n_asked++;
    pthread_cond_broadcast(&nvml_rig.changed);
    *out = (struct weir_nvml_utilization){40 + handle->index, 20};
    return unlock(result);
}

EXPORT int nvmlDeviceGetPerformanceState(struct weir_nvml_handle *handle, unsigned *out)
{
    *out = handle->index == 0 ? 2 : WEIR_NVML_PSTATE_UNKNOWN;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetPowerUsage(struct weir_nvml_handle *handle, unsigned *out)
{
    *out = 111000;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetTemperatureV(struct weir_nvml_handle *handle,
                                     struct weir_nvml_temperature_v1 *out)
{
    int result = ask(handle);

    (void)out;
    return unlock(result == 0 ? WEIR_NVML_ARGUMENT_VERSION_MISMATCH : result);
}

EXPORT int nvmlDeviceGetTemperature(struct weir_nvml_handle *handle, unsigned sensor, unsigned *out)
{
    *out = 50 + sensor;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetRemappedRows(struct weir_nvml_handle *handle, unsigned *cor, unsigned *unc,
                                     unsigned *pending, unsigned *failed)
{
    *cor = 1;
    *unc = 2;
    *pending = 5;
    *failed = 0;
    return unlock(ask(handle));
}

/* One of each type, and one that is not told. */
EXPORT int nvmlDeviceGetFieldValues(struct weir_nvml_handle *handle, int n,
                                    struct weir_nvml_field_value *values)
{
    for (int i = 0; i < n; i++) {
        values[i].result = WEIR_NVML_SUCCESS;
        values[i].value = (union weir_nvml_value){.u64 = 0};
        switch (values[i].field) {
        case WEIR_NVML_FIELD_MEMORY_TEMP:
            values[i].value_type = WEIR_NVML_VALUE_SIGNED_INT;
            values[i].value.u32 = (uint32_t)-5;
            break;
        case WEIR_NVML_FIELD_TOTAL_ENERGY:
            values[i].value_type = WEIR_NVML_VALUE_UNSIGNED_LONG_LONG;
            values[i].value.u64 = UINT64_C(1) << 40;
            break;
        case WEIR_NVML_FIELD_POWER_AVERAGE:
            values[i].value_type = WEIR_NVML_VALUE_DOUBLE;
            values[i].value.f64 = 123.9;
            break;
        case WEIR_NVML_FIELD_POWER_INSTANT:
            values[i].value_type = WEIR_NVML_VALUE_DOUBLE;
            values[i].value.f64 = (double)NAN;
            break;
        case WEIR_NVML_FIELD_RECOVERY_ACTION:
            values[i].value_type = WEIR_NVML_VALUE_UNSIGNED_INT;
            values[i].value.u32 = WEIR_NVML_RECOVERY_DRAIN_AND_RESET;
            break;
        case WEIR_NVML_FIELD_NVLINK_DATA_TX:
            values[i].value_type = WEIR_NVML_VALUE_UNSIGNED_LONG;
            values[i].value.u64 = values[i].scope == WEIR_NVML_SCOPE_ALL_LINKS ? 3 : 0;
            break;
        case WEIR_NVML_FIELD_NVLINK_DATA_RX: /* does not fit when it is bytes */
            values[i].value_type = WEIR_NVML_VALUE_UNSIGNED_LONG_LONG;
            values[i].value.u64 = INT64_MAX;
            break;
        case WEIR_NVML_FIELD_NVLINK_REPLAY_TOTAL:
            values[i].value_type = WEIR_NVML_VALUE_UNSIGNED_LONG_LONG;
            values[i].value.u64 = WEIR_NVML_VALUE_NOT_AVAILABLE;
            break;
        case WEIR_NVML_FIELD_VIOLATION_POWER:
            values[i].value_type = WEIR_NVML_VALUE_SIGNED_LONG_LONG;
            values[i].value.u64 = 77;
            break;
        case WEIR_NVML_FIELD_RETIRED_PENDING:
            values[i].value_type = WEIR_NVML_VALUE_UNSIGNED_SHORT;
            values[i].value.u32 = 1;
            break;
        case WEIR_NVML_FIELD_RETIRED_SBE:
            values[i].value_type = 99;
            break;
        default:
            values[i].result = WEIR_NVML_NOT_SUPPORTED;
        }
    }
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct weir_nvml_handle *handle, unsigned *n,
                                                   struct weir_nvml_process_v2 *out)
{
    int result = ask(handle);
    unsigned room = *n;

    *n = 2;
    if (result != 0 || room < 2)
        return unlock(result != 0 ? result : WEIR_NVML_INSUFFICIENT_SIZE);
    out[0] = (struct weir_nvml_process_v2){200, 7, WEIR_NVML_NO_INSTANCE, WEIR_NVML_NO_INSTANCE};
    out[1] = (struct weir_nvml_process_v2){100, 8, WEIR_NVML_NO_INSTANCE, WEIR_NVML_NO_INSTANCE};
    return unlock(0);
}

/* More samples than anyone has room for at first; the newest of a process is the last. */
EXPORT int nvmlDeviceGetProcessUtilization(struct weir_nvml_handle *handle,
                                           struct weir_nvml_process_sample *out, unsigned *n,
                                           unsigned long long since_us)
{
    enum { N = 100 };
    int result = ask(handle);
    unsigned room = *n;

    *n = N;
    if (result == 0 && handle->index == 1)
        result = WEIR_NVML_NOT_FOUND;
    if (result == 0 && handle->index == 2)
        result = WEIR_NVML_NO_PERMISSION;
    if (result == 0 && room < N)
        result = WEIR_NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; result == 0 && i < N; i++)
        out[i] = (struct weir_nvml_process_sample){100, since_us + i, i + 30, 0, 0, 0};
    return unlock(result);
}

EXPORT int nvmlDeviceGetPcieThroughput(struct weir_nvml_handle *handle, unsigned direction,
                                       unsigned *out)
{
    *out = 100 + direction;
    return unlock(ask(handle));
}

/* ---- GPM ---- */

EXPORT int nvmlGpmQueryDeviceSupport(struct weir_nvml_handle *handle,
                                     struct weir_nvml_gpm_support *in_out)
{
    int result = ask(handle);

    in_out->is_supported = in_out->version == 1 && nvml_rig.devices[handle->index].has_gpm;
    return unlock(result);
}

EXPORT int nvmlGpmSampleAlloc(struct weir_nvml_gpm_sample **out)
{
    *out = calloc(1, sizeof(**out));
    lock();
    nvml_rig.n_gpm_samples++;
    return unlock(0);
}

EXPORT int nvmlGpmSampleFree(struct weir_nvml_gpm_sample *sample)
{
    free(sample);
    lock();
    nvml_rig.n_gpm_samples--;
    return unlock(0);
}

EXPORT int nvmlGpmSampleGet(struct weir_nvml_handle *handle, struct weir_nvml_gpm_sample *sample)
{
    static unsigned at;
    int result = ask(handle);

    sample->at = ++at;
    return unlock(result);
}

EXPORT int nvmlGpmMigSampleGet(struct weir_nvml_handle *handle, unsigned gpu_instance,
                               struct weir_nvml_gpm_sample *sample)
{
    return gpu_instance < RIG_INSTANCES_MAX ? nvmlGpmSampleGet(handle, sample)
                                            : WEIR_NVML_INVALID_ARGUMENT;
}

/* 12.5 for what is known; the sample must be newer than the one before. */
EXPORT int nvmlGpmMetricsGet(struct weir_nvml_gpm_metrics *in_out)
{
    if (in_out->version != 1 || in_out->sample2->at <= in_out->sample1->at)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; i < in_out->n_metrics; i++) {
        in_out->metrics[i].value = in_out->metrics[i].id == WEIR_NVML_GPM_FP64 ? (double)NAN : 12.5;
        in_out->metrics[i].result =
            in_out->metrics[i].id == WEIR_NVML_GPM_FP16 ? WEIR_NVML_NOT_SUPPORTED : 0;
    }
    return 0;
}

/* ---- MIG ---- */

EXPORT int nvmlDeviceGetMigMode(struct weir_nvml_handle *handle, unsigned *current,
                                unsigned *pending)
{
    int result = ask(handle);

    *current = nvml_rig.devices[handle->index].mig_mode;
    *pending = *current;
    return unlock(result);
}

EXPORT int nvmlDeviceSetMigMode(struct weir_nvml_handle *handle, unsigned mode, int *activation)
{
    int result = ask(handle);
    struct rig_device *device = &nvml_rig.devices[handle->index];

    while (device->mode_hangs)
        pthread_cond_wait(&nvml_rig.changed, &nvml_rig.lock);
    *activation = device->mig_activation;
    if (result == 0 && device->mig_activation == 0)
        device->mig_mode = mode;
    return unlock(result);
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct weir_nvml_handle *handle, unsigned *out)
{
    *out = RIG_INSTANCES_MAX;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct weir_nvml_handle *handle, unsigned index,
                                               struct weir_nvml_handle **out)
{
    int result = ask(handle);

    *out = &mig_handles[handle->index][index];
    if (result == 0 && !nvml_rig.devices[handle->index].instances[index].has_compute)
        result = WEIR_NVML_NOT_FOUND;
    return unlock(result);
}

EXPORT int nvmlDeviceGetGpuInstanceId(struct weir_nvml_handle *handle, unsigned *out)
{
    *out = handle->instance;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceGetComputeInstanceId(struct weir_nvml_handle *handle, unsigned *out)
{
    *out = 0;
    return unlock(ask(handle));
}

/* The third version is refused on the first device, both on the second. */
EXPORT int nvmlDeviceGetGpuInstanceProfileInfoV(struct weir_nvml_handle *handle, unsigned profile,
                                                void *in_out)
{
    struct weir_nvml_gi_profile_info_v3 *v3 = in_out;
    struct weir_nvml_gi_profile_info_v2 *v2 = in_out;
    int result = ask(handle);
    uint32_t version;

    memcpy(&version, in_out, sizeof(version));
    if (result == 0 && profile != WEIR_NVML_GI_PROFILE_1_SLICE)
        result = WEIR_NVML_NOT_SUPPORTED;
    if (result == 0 && ((version >> 24 == 3 && handle->index == 0) || handle->index == 1))
        result = WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    if (result == 0 && version == WEIR_NVML_STRUCT_VERSION(*v3, 3))
        *v3 = (struct weir_nvml_gi_profile_info_v3){.id = PROFILE_ID,
                                                    .slices = 1,
                                                    .instances = 4,
                                                    .multiprocessors = 16,
                                                    .memory_mib = MIB_OF_PROFILE,
                                                    .name = "MIG 1g.10gb"};
    else if (result == 0 && version == WEIR_NVML_STRUCT_VERSION(*v2, 2))
        *v2 = (struct weir_nvml_gi_profile_info_v2){.id = PROFILE_ID,
                                                    .slices = 1,
                                                    .instances = 4,
                                                    .multiprocessors = 16,
                                                    .memory_mib = MIB_OF_PROFILE,
                                                    .name = "MIG 1g.10gb"};
    return unlock(result);
}

EXPORT int nvmlDeviceGetGpuInstanceProfileInfo(struct weir_nvml_handle *handle, unsigned profile,
                                               struct weir_nvml_gi_profile_info_v1 *out)
{
    int result = ask(handle);

    *out = (struct weir_nvml_gi_profile_info_v1){.id = PROFILE_ID,
                                                 .slices = 1,
                                                 .instances = 4,
                                                 .multiprocessors = 16,
                                                 .memory_mib = MIB_OF_PROFILE};
    return unlock(result == 0 && profile != WEIR_NVML_GI_PROFILE_1_SLICE ? WEIR_NVML_NOT_SUPPORTED
                                                                         : result);
}

EXPORT int nvmlDeviceGetGpuInstancePossiblePlacements_v2(struct weir_nvml_handle *handle,
                                                         unsigned profile_id,
                                                         struct weir_nvml_placement *out,
                                                         unsigned *n)
{
    int result = ask(handle);

    *n = RIG_INSTANCES_MAX;
    for (unsigned i = 0; out != NULL && i < *n; i++)
        out[i] = (struct weir_nvml_placement){i, 1};
    return unlock(result == 0 && profile_id != PROFILE_ID ? WEIR_NVML_INVALID_ARGUMENT : result);
}

EXPORT int nvmlDeviceGetGpuInstances(struct weir_nvml_handle *handle, unsigned profile_id,
                                     struct weir_nvml_gi_handle **out, unsigned *n)
{
    int result = ask(handle);

    *n = 0;
    if (result == 0)
        result = nvml_rig.devices[handle->index].list_result;
    for (unsigned id = RIG_INSTANCES_MAX; profile_id == PROFILE_ID && id-- > 0;)
        if (nvml_rig.devices[handle->index].instances[id].is_there)
            out[(*n)++] = &gi_handles[handle->index][id];
    return unlock(result);
}

EXPORT int nvmlDeviceGetGpuInstanceById(struct weir_nvml_handle *handle, unsigned id,
                                        struct weir_nvml_gi_handle **out)
{
    int result = ask(handle);

    if (result == 0 &&
        (id >= RIG_INSTANCES_MAX || !nvml_rig.devices[handle->index].instances[id].is_there))
        return unlock(WEIR_NVML_NOT_FOUND);
    *out = &gi_handles[handle->index][id];
    return unlock(result);
}

EXPORT int nvmlGpuInstanceGetInfo(struct weir_nvml_gi_handle *instance,
                                  struct weir_nvml_gi_info *out)
{
    lock();
    *out = (struct weir_nvml_gi_info){
        NULL,
        instance->id,
        PROFILE_ID,
        {nvml_rig.devices[instance->device].instances[instance->id].start, 1}};
    return unlock(0);
}

static int create(struct weir_nvml_handle *handle, unsigned start, struct weir_nvml_gi_handle **out)
{
    int result = ask(handle);
    struct rig_device *device = &nvml_rig.devices[handle->index];

    if (result == 0)
        result = device->create_result;
    for (unsigned id = 0; result == 0 && id < RIG_INSTANCES_MAX; id++) {
        if (device->instances[id].is_there)
            continue;
        device->instances[id] = (struct rig_instance){true, start, false};
        *out = &gi_handles[handle->index][id];
        return unlock(0);
    }
    return unlock(result != 0 ? result : WEIR_NVML_INSUFFICIENT_RESOURCES);
}

EXPORT int nvmlDeviceCreateGpuInstance(struct weir_nvml_handle *handle, unsigned profile_id,
                                       struct weir_nvml_gi_handle **out)
{
    return profile_id == PROFILE_ID ? create(handle, 6, out) : WEIR_NVML_INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceCreateGpuInstanceWithPlacement(struct weir_nvml_handle *handle,
                                                    unsigned profile_id,
                                                    const struct weir_nvml_placement *where,
                                                    struct weir_nvml_gi_handle **out)
{
    return profile_id == PROFILE_ID && where->size == 1 ? create(handle, where->start, out)
                                                        : WEIR_NVML_INVALID_ARGUMENT;
}

EXPORT int nvmlGpuInstanceDestroy(struct weir_nvml_gi_handle *instance)
{
    struct rig_instance *held = &nvml_rig.devices[instance->device].instances[instance->id];
    int result;

    lock();
    result = nvml_rig.devices[instance->device].destroy_result;
    if (result == 0)
        result = nvml_rig.devices[instance->device].free_result;
    if (result == 0 && held->has_compute)
        result = WEIR_NVML_IN_USE;
    if (result == 0)
        held->is_there = false;
    return unlock(result);
}

EXPORT int nvmlGpuInstanceGetComputeInstanceProfileInfo(struct weir_nvml_gi_handle *instance,
                                                        unsigned profile, unsigned engine,
                                                        struct weir_nvml_ci_profile_info_v1 *out)
{
    (void)instance;
    *out = (struct weir_nvml_ci_profile_info_v1){.id = 0, .slices = 1, .instances = 1};
    return profile == 0 && engine == 0 ? 0 : WEIR_NVML_NOT_SUPPORTED;
}

EXPORT int nvmlGpuInstanceGetComputeInstances(struct weir_nvml_gi_handle *instance,
                                              unsigned profile_id, struct weir_nvml_ci_handle **out,
                                              unsigned *n)
{
    (void)profile_id;
    lock();
    *n = nvml_rig.devices[instance->device].instances[instance->id].has_compute;
    out[0] = &ci_handles[instance->device][instance->id];
    return unlock(0);
}

EXPORT int nvmlComputeInstanceGetInfo_v2(struct weir_nvml_ci_handle *instance,
                                         struct weir_nvml_ci_info_v2 *out)
{
    (void)instance;
    *out = (struct weir_nvml_ci_info_v2){.id = 0, .profile_id = 0};
    return 0;
}

EXPORT int nvmlGpuInstanceCreateComputeInstance(struct weir_nvml_gi_handle *instance,
                                                unsigned profile_id,
                                                struct weir_nvml_ci_handle **out)
{
    struct rig_device *device = &nvml_rig.devices[instance->device];
    int result;

    (void)profile_id;
    lock();
    result = device->compute_result;
    if (result == 0)
        device->instances[instance->id].has_compute = true;
    *out = &ci_handles[instance->device][instance->id];
    return unlock(result);
}

EXPORT int nvmlComputeInstanceDestroy(struct weir_nvml_ci_handle *instance)
{
    struct rig_device *device = &nvml_rig.devices[instance->device];
    int result;

    lock();
    result = device->destroy_result;
    if (result == 0)
        device->instances[instance->gi].has_compute = false;
    return unlock(result);
}

/* ---- events ---- */

/* Under the lock: of device 0, while a set is made. */
static void add_event_at_set(unsigned which)
{
    if (nvml_rig.xids_at_set[which] == 0)
        return;
    nvml_rig.event_devices[nvml_rig.n_events] = 0;
    nvml_rig.events[nvml_rig.n_events++] =
        (struct weir_nvml_event_data){NULL, WEIR_NVML_EVENT_XID, nvml_rig.xids_at_set[which], ~0u,
                                      ~0u};
    nvml_rig.xids_at_set[which] = 0;
}

EXPORT int nvmlEventSetCreate(struct weir_nvml_event_set **out)
{
    *out = calloc(1, sizeof(**out));
    lock();
    nvml_rig.n_event_sets++;
    add_event_at_set(0);
    (*out)->next = nvml_rig.n_events;
    add_event_at_set(1);
    return unlock(0);
}

EXPORT int nvmlEventSetFree(struct weir_nvml_event_set *set)
{
    free(set);
    lock();
    nvml_rig.n_event_sets--;
    return unlock(0);
}

EXPORT int nvmlDeviceGetSupportedEventTypes(struct weir_nvml_handle *handle,
                                            unsigned long long *out)
{
    *out = WEIR_NVML_EVENT_XID | WEIR_NVML_EVENT_CLOCK;
    return unlock(ask(handle));
}

EXPORT int nvmlDeviceRegisterEvents(struct weir_nvml_handle *handle, unsigned long long types,
                                    struct weir_nvml_event_set *set)
{
    int result = ask(handle);

    if (result == 0 && types != WEIR_NVML_EVENT_XID)
        result = WEIR_NVML_INVALID_ARGUMENT;
    if (result == 0) {
        set->devices |= 1u << handle->index;
        nvml_rig.devices[handle->index].n_registered++;
        pthread_cond_broadcast(&nvml_rig.changed);
    }
    return unlock(result);
}

EXPORT int nvmlEventSetWait_v2(struct weir_nvml_event_set *set, struct weir_nvml_event_data *out,
                               unsigned timeout_ms)
{
    struct timespec until;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)timeout_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    lock();
    while (set->next == nvml_rig.n_events && nvml_rig.wait_result == 0 && result == 0)
        result = pthread_cond_timedwait(&nvml_rig.changed, &nvml_rig.lock, &until);
    if (nvml_rig.wait_result != 0)
        return unlock(nvml_rig.wait_result);
    if (set->next == nvml_rig.n_events)
        return unlock(WEIR_NVML_TIMEOUT);
    *out = nvml_rig.events[set->next];
    out->device = &handles[nvml_rig.event_devices[set->next]];
    result = (set->devices >> nvml_rig.event_devices[set->next] & 1) != 0 ? 0 : WEIR_NVML_TIMEOUT;
    set->next++;
    return unlock(result);
}
