/* MIG as it is: the mode, the MIG devices, the instances. */
#include "edge/nvml/simlib/mig.h"

API int nvmlDeviceGetMigMode(struct weir_nvml_handle *device, unsigned *current, unsigned *pending);
API int nvmlDeviceGetMaxMigDeviceCount(struct weir_nvml_handle *device, unsigned *count);
API int nvmlDeviceGetMigDeviceHandleByIndex(struct weir_nvml_handle *device, unsigned index,
                                            struct weir_nvml_handle **ret);
API int nvmlDeviceIsMigDeviceHandle(struct weir_nvml_handle *device, unsigned *is_mig);
API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct weir_nvml_handle *mig,
                                                     struct weir_nvml_handle **ret);
API int nvmlDeviceGetGpuInstanceId(struct weir_nvml_handle *device, unsigned *id);
API int nvmlDeviceGetComputeInstanceId(struct weir_nvml_handle *device, unsigned *id);
API int nvmlDeviceGetAttributes(struct weir_nvml_handle *device, struct weir_nvml_attributes *out);
API int nvmlDeviceGetAttributes_v2(struct weir_nvml_handle *device,
                                   struct weir_nvml_attributes *out);
API int nvmlDeviceGetGpuInstances(struct weir_nvml_handle *device, unsigned profile_id,
                                  struct weir_nvml_gi_handle **out, unsigned *count);
API int nvmlDeviceGetGpuInstanceById(struct weir_nvml_handle *device, unsigned id,
                                     struct weir_nvml_gi_handle **out);
API int nvmlGpuInstanceGetInfo(struct weir_nvml_gi_handle *instance, struct weir_nvml_gi_info *out);
API int nvmlGpuInstanceGetComputeInstances(struct weir_nvml_gi_handle *instance,
                                           unsigned profile_id, struct weir_nvml_ci_handle **out,
                                           unsigned *count);
API int nvmlGpuInstanceGetComputeInstanceById(struct weir_nvml_gi_handle *instance, unsigned id,
                                              struct weir_nvml_ci_handle **out);
API int nvmlComputeInstanceGetInfo(struct weir_nvml_ci_handle *instance,
                                   struct weir_nvml_ci_info_v2 *out);
API int nvmlComputeInstanceGetInfo_v2(struct weir_nvml_ci_handle *instance,
                                      struct weir_nvml_ci_info_v2 *out);

int nvmlDeviceGetMigMode(struct weir_nvml_handle *device, unsigned *current, unsigned *pending)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, current, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (pending == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (view.facts.mig_compute_slices == 0)
        return WEIR_NVML_NOT_SUPPORTED;
    *current = view.mig.is_enabled;
    *pending = view.mig.is_pending;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(struct weir_nvml_handle *device, unsigned *count)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, count, &view);

    if (result == WEIR_NVML_SUCCESS)
        *count = view.facts.mig_compute_slices;
    return result;
}

/* MIG devices are the compute instances, numbered in the order of their ids. */
int nvmlDeviceGetMigDeviceHandleByIndex(struct weir_nvml_handle *device, unsigned index,
                                        struct weir_nvml_handle **ret)
{
    struct weir_sim_view view;
    unsigned n = 0;
    int result = weir_sim_look(device, ret, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (index >= view.facts.mig_compute_slices)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (uint32_t gi = 0; gi < WEIR_SIM_GPU_INSTANCES_MAX; gi++)
        for (uint32_t ci = 0; ci < WEIR_SIM_COMPUTE_INSTANCES_MAX; ci++)
            if (view.mig.gpu[gi].is_there && view.mig.gpu[gi].compute[ci].slices > 0 &&
                n++ == index) {
                *ret = weir_sim_mig_handle(view.index, gi, ci);
                return WEIR_NVML_SUCCESS;
            }
    return WEIR_NVML_NOT_FOUND;
}

int nvmlDeviceIsMigDeviceHandle(struct weir_nvml_handle *device, unsigned *is_mig)
{
    struct weir_sim_view view;
    int result =
        weir_sim_look_with(device, is_mig, WEIR_SIM_ACCEPT_MIG | WEIR_SIM_ACCEPT_RESET, &view);

    if (result == WEIR_NVML_SUCCESS)
        *is_mig = view.gpu_instance != WEIR_NVML_NO_INSTANCE;
    return result;
}

/* Looks at what must be a MIG device. */
static int look_at_mig(struct weir_nvml_handle *device, const void *output,
                       struct weir_sim_view *view)
{
    int result = weir_sim_look_with(device, output, WEIR_SIM_ACCEPT_MIG, view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    return view->gpu_instance != WEIR_NVML_NO_INSTANCE ? WEIR_NVML_SUCCESS
                                                       : WEIR_NVML_INVALID_ARGUMENT;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct weir_nvml_handle *mig,
                                                 struct weir_nvml_handle **ret)
{
    struct weir_sim_view view;
    int result = look_at_mig(mig, ret, &view);

    if (result == WEIR_NVML_SUCCESS)
        *ret = weir_sim_gpu_handle(view.index);
    return result;
}

int nvmlDeviceGetGpuInstanceId(struct weir_nvml_handle *device, unsigned *id)
{
    struct weir_sim_view view;
    int result = look_at_mig(device, id, &view);

    if (result == WEIR_NVML_SUCCESS)
        *id = view.gpu_instance;
    return result;
}

int nvmlDeviceGetComputeInstanceId(struct weir_nvml_handle *device, unsigned *id)
{
    struct weir_sim_view view;
    int result = look_at_mig(device, id, &view);

    if (result == WEIR_NVML_SUCCESS)
        *id = view.compute_instance;
    return result;
}

int nvmlDeviceGetAttributes_v2(struct weir_nvml_handle *device, struct weir_nvml_attributes *out)
{
    const struct weir_sim_mig_profile *profile;
    struct weir_nvml_gi_profile_info_v3 info;
    struct weir_sim_view view;
    uint32_t slices;
    int result = look_at_mig(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    profile = weir_sim_profile_of(&view);
    slices = view.mig.gpu[view.gpu_instance].compute[view.compute_instance].slices;
    weir_sim_profile_info(&view.facts, profile, &info);
    *out = (struct weir_nvml_attributes){
        .multiprocessors = info.multiprocessors * slices / profile->compute_slices,
        .copy_engines = info.copy_engines,
        .decoders = info.decoders,
        .encoders = info.encoders,
        .jpeg_engines = info.jpeg_engines,
        .ofa_engines = info.ofa_engines,
        .gi_slices = profile->compute_slices,
        .ci_slices = slices,
        .memory_mib = profile->memory_mib,
    };
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetAttributes(struct weir_nvml_handle *device, struct weir_nvml_attributes *out)
{
    return nvmlDeviceGetAttributes_v2(device, out);
}

int weir_sim_look_at_capable(struct weir_nvml_handle *device, const void *output,
                             struct weir_sim_view *ret_view)
{
    int result = weir_sim_look(device, output, ret_view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    return ret_view->facts.mig_compute_slices > 0 ? WEIR_NVML_SUCCESS : WEIR_NVML_NOT_SUPPORTED;
}

int weir_sim_look_at_enabled(struct weir_nvml_handle *device, const void *output,
                             struct weir_sim_view *ret_view)
{
    int result = weir_sim_look_at_capable(device, output, ret_view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    return ret_view->mig.is_enabled ? WEIR_NVML_SUCCESS : WEIR_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetGpuInstances(struct weir_nvml_handle *device, unsigned profile_id,
                              struct weir_nvml_gi_handle **out, unsigned *count)
{
    struct weir_sim_view view;
    uint32_t profile;
    unsigned n = 0;
    int result = weir_sim_look_at_enabled(device, count, &view);

    if (result == WEIR_NVML_SUCCESS)
        result = weir_sim_profile_by_id(&view.facts, profile_id, &profile);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (out == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (uint32_t gi = 0; gi < WEIR_SIM_GPU_INSTANCES_MAX; gi++)
        if (view.mig.gpu[gi].is_there && view.mig.gpu[gi].profile == profile)
            out[n++] = weir_sim_gi_handle(view.index, gi);
    *count = n;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetGpuInstanceById(struct weir_nvml_handle *device, unsigned id,
                                 struct weir_nvml_gi_handle **out)
{
    struct weir_sim_view view;
    int result = weir_sim_look_at_enabled(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (id >= WEIR_SIM_GPU_INSTANCES_MAX || !view.mig.gpu[id].is_there)
        return WEIR_NVML_NOT_FOUND;
    *out = weir_sim_gi_handle(view.index, id);
    return WEIR_NVML_SUCCESS;
}

int nvmlGpuInstanceGetInfo(struct weir_nvml_gi_handle *instance, struct weir_nvml_gi_info *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look_gi(instance, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = (struct weir_nvml_gi_info){
            .device = weir_sim_gpu_handle(view.index),
            .id = view.gpu_instance,
            .profile_id = weir_sim_profile_of(&view)->id,
            .placement = {view.mig.gpu[view.gpu_instance].start,
                          weir_sim_profile_of(&view)->memory_slices},
        };
    return result;
}

int nvmlGpuInstanceGetComputeInstances(struct weir_nvml_gi_handle *instance, unsigned profile_id,
                                       struct weir_nvml_ci_handle **out, unsigned *count)
{
    struct weir_sim_view view;
    uint32_t slices = weir_sim_compute_slices(profile_id);
    unsigned n = 0;
    int result = weir_sim_look_gi(instance, count, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (out == NULL || slices == 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (uint32_t ci = 0; ci < WEIR_SIM_COMPUTE_INSTANCES_MAX; ci++)
        if (view.mig.gpu[view.gpu_instance].compute[ci].slices == slices)
            out[n++] = weir_sim_ci_handle(view.index, view.gpu_instance, ci);
    *count = n;
    return WEIR_NVML_SUCCESS;
}

int nvmlGpuInstanceGetComputeInstanceById(struct weir_nvml_gi_handle *instance, unsigned id,
                                          struct weir_nvml_ci_handle **out)
{
    struct weir_sim_view view;
    int result = weir_sim_look_gi(instance, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (id >= WEIR_SIM_COMPUTE_INSTANCES_MAX ||
        view.mig.gpu[view.gpu_instance].compute[id].slices == 0)
        return WEIR_NVML_NOT_FOUND;
    *out = weir_sim_ci_handle(view.index, view.gpu_instance, id);
    return WEIR_NVML_SUCCESS;
}

int nvmlComputeInstanceGetInfo_v2(struct weir_nvml_ci_handle *instance,
                                  struct weir_nvml_ci_info_v2 *out)
{
    const struct weir_sim_compute_instance *compute;
    struct weir_sim_view view;
    int result = weir_sim_look_ci(instance, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    compute = &view.mig.gpu[view.gpu_instance].compute[view.compute_instance];
    *out = (struct weir_nvml_ci_info_v2){
        .device = weir_sim_gpu_handle(view.index),
        .gpu_instance = weir_sim_gi_handle(view.index, view.gpu_instance),
        .id = view.compute_instance,
        .profile_id = weir_sim_compute_profile(compute->slices),
        .placement = {compute->start, compute->slices},
    };
    return WEIR_NVML_SUCCESS;
}

/* The first version ends before the placement. */
int nvmlComputeInstanceGetInfo(struct weir_nvml_ci_handle *instance,
                               struct weir_nvml_ci_info_v2 *out)
{
    struct weir_nvml_ci_info_v2 full;
    int result =
        out != NULL ? nvmlComputeInstanceGetInfo_v2(instance, &full) : WEIR_NVML_INVALID_ARGUMENT;

    if (result == WEIR_NVML_SUCCESS)
        memcpy(out, &full, offsetof(struct weir_nvml_ci_info_v2, placement));
    return result;
}
