/* MIG changed by a client: the mode, instances made and destroyed. */
#include "edge/nvml/sim_mig.h"
#include "edge/nvml/simlib/mig.h"

API int nvmlDeviceSetMigMode(struct weir_nvml_handle *device, unsigned mode, int *activation);
API int nvmlDeviceCreateGpuInstance(struct weir_nvml_handle *device, unsigned profile_id,
                                    struct weir_nvml_gi_handle **out);
API int nvmlDeviceCreateGpuInstanceWithPlacement(struct weir_nvml_handle *device,
                                                 unsigned profile_id,
                                                 const struct weir_nvml_placement *placement,
                                                 struct weir_nvml_gi_handle **out);
API int nvmlGpuInstanceDestroy(struct weir_nvml_gi_handle *instance);
API int nvmlGpuInstanceCreateComputeInstance(struct weir_nvml_gi_handle *instance,
                                             unsigned profile_id, struct weir_nvml_ci_handle **out);
API int nvmlGpuInstanceCreateComputeInstanceWithPlacement(
    struct weir_nvml_gi_handle *instance, unsigned profile_id,
    const struct weir_nvml_placement *placement, struct weir_nvml_ci_handle **out);
API int nvmlComputeInstanceDestroy(struct weir_nvml_ci_handle *instance);

/* What a change is about; `id` and `compute` are also its answer. */
struct change {
    uint32_t profile; /* index, or compute slices */
    uint32_t start;
    uint32_t id;
    uint32_t compute;
    bool mode;
    bool is_active; /* a new mode holds at once */
};

static bool has_instances(const struct weir_sim_mig *mig)
{
    for (int i = 0; i < WEIR_SIM_GPU_INSTANCES_MAX; i++)
        if (mig->gpu[i].is_there)
            return true;
    return false;
}

/* Takes effect with a reset, which the driver does at once where nobody uses the GPU. */
static int set_mode(const struct weir_sim_view *view, struct weir_sim_mig *mig, void *ctx)
{
    struct change *change = ctx;

    if (!change->mode && has_instances(mig))
        return WEIR_NVML_IN_USE;
    mig->is_pending = change->mode;
    change->is_active = view->state.n_loads == 0 || mig->is_enabled == mig->is_pending;
    if (change->is_active)
        mig->is_enabled = change->mode;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceSetMigMode(struct weir_nvml_handle *device, unsigned mode, int *activation)
{
    struct change change = {.mode = mode == WEIR_NVML_MIG_ENABLE};
    struct weir_sim_view view;
    int result = weir_sim_look_at_capable(device, activation, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (mode != WEIR_NVML_MIG_ENABLE && mode != WEIR_NVML_MIG_DISABLE)
        return WEIR_NVML_INVALID_ARGUMENT;
    result = weir_sim_change_mig(view.index, set_mode, &change);
    if (result == WEIR_NVML_SUCCESS)
        *activation = change.is_active ? WEIR_NVML_SUCCESS : WEIR_NVML_IN_USE;
    return result;
}

static int create(const struct weir_sim_view *view, struct weir_sim_mig *mig, void *ctx)
{
    struct change *change = ctx;

    if (!mig->is_enabled)
        return WEIR_NVML_NOT_SUPPORTED;
    return weir_sim_mig_create(&view->facts, mig, change->profile, change->start, &change->id);
}

static int create_at(struct weir_nvml_handle *device, unsigned profile_id, uint32_t start,
                     uint32_t size, struct weir_nvml_gi_handle **out)
{
    struct change change = {.start = start};
    struct weir_sim_view view;
    int result = weir_sim_look_at_enabled(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        result = weir_sim_profile_by_id(&view.facts, profile_id, &change.profile);
    if (result == WEIR_NVML_SUCCESS && start != WEIR_SIM_MIG_ANY_START &&
        size != view.facts.mig_profiles[change.profile].memory_slices)
        result = WEIR_NVML_INVALID_ARGUMENT;
    if (result == WEIR_NVML_SUCCESS)
        result = weir_sim_change_mig(view.index, create, &change);
    if (result == WEIR_NVML_SUCCESS)
        *out = weir_sim_gi_handle(view.index, change.id);
    return result;
}

int nvmlDeviceCreateGpuInstance(struct weir_nvml_handle *device, unsigned profile_id,
                                struct weir_nvml_gi_handle **out)
{
    return create_at(device, profile_id, WEIR_SIM_MIG_ANY_START, 0, out);
}

int nvmlDeviceCreateGpuInstanceWithPlacement(struct weir_nvml_handle *device, unsigned profile_id,
                                             const struct weir_nvml_placement *placement,
                                             struct weir_nvml_gi_handle **out)
{
    /* A start beyond every GPU, which also keeps "any" from coming in this way. */
    enum { START_MAX = 15 };

    if (placement == NULL || placement->start > START_MAX)
        return WEIR_NVML_INVALID_ARGUMENT;
    return create_at(device, profile_id, placement->start, placement->size, out);
}

static bool is_used(const struct weir_sim_view *view, uint32_t id, uint32_t compute)
{
    for (uint32_t i = 0; i < view->state.n_loads; i++)
        if (view->state.loads[i].gpu_instance == id &&
            view->state.loads[i].compute_instance == compute)
            return true;
    return false;
}

static int destroy(const struct weir_sim_view *view, struct weir_sim_mig *mig, void *ctx)
{
    struct change *change = ctx;

    (void)view;
    return weir_sim_mig_destroy(mig, change->id);
}

int nvmlGpuInstanceDestroy(struct weir_nvml_gi_handle *instance)
{
    struct weir_sim_view view;
    struct change change;
    int result = weir_sim_look_gi(instance, instance, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    change = (struct change){.id = view.gpu_instance};
    return weir_sim_change_mig(view.index, destroy, &change);
}

static int create_compute(const struct weir_sim_view *view, struct weir_sim_mig *mig, void *ctx)
{
    struct change *change = ctx;

    return weir_sim_mig_create_compute(&view->facts, mig, change->id, change->profile,
                                       change->start, &change->compute);
}

static int create_compute_at(struct weir_nvml_gi_handle *instance, unsigned profile_id,
                             uint32_t start, struct weir_nvml_ci_handle **out)
{
    struct change change = {.profile = weir_sim_compute_slices(profile_id), .start = start};
    struct weir_sim_view view;
    int result = weir_sim_look_gi(instance, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (change.profile == 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    change.id = view.gpu_instance;
    result = weir_sim_change_mig(view.index, create_compute, &change);
    if (result == WEIR_NVML_SUCCESS)
        *out = weir_sim_ci_handle(view.index, change.id, change.compute);
    return result;
}

int nvmlGpuInstanceCreateComputeInstance(struct weir_nvml_gi_handle *instance, unsigned profile_id,
                                         struct weir_nvml_ci_handle **out)
{
    return create_compute_at(instance, profile_id, WEIR_SIM_MIG_ANY_START, out);
}

int nvmlGpuInstanceCreateComputeInstanceWithPlacement(struct weir_nvml_gi_handle *instance,
                                                      unsigned profile_id,
                                                      const struct weir_nvml_placement *placement,
                                                      struct weir_nvml_ci_handle **out)
{
    enum { START_MAX = 15 };

    if (placement == NULL || placement->start > START_MAX ||
        placement->size != weir_sim_compute_slices(profile_id))
        return WEIR_NVML_INVALID_ARGUMENT;
    return create_compute_at(instance, profile_id, placement->start, out);
}

static int destroy_compute(const struct weir_sim_view *view, struct weir_sim_mig *mig, void *ctx)
{
    struct change *change = ctx;

    if (is_used(view, change->id, change->compute))
        return WEIR_NVML_IN_USE;
    return weir_sim_mig_destroy_compute(mig, change->id, change->compute);
}

int nvmlComputeInstanceDestroy(struct weir_nvml_ci_handle *instance)
{
    struct weir_sim_view view;
    struct change change;
    int result = weir_sim_look_ci(instance, instance, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    change = (struct change){.id = view.gpu_instance, .compute = view.compute_instance};
    return weir_sim_change_mig(view.index, destroy_compute, &change);
}
