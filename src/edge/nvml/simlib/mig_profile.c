/* MIG as it could be: profiles, placements, what still fits. */
#include "edge/nvml/sim_mig.h"
#include "edge/nvml/simlib/mig.h"

#include <stdio.h>

API int nvmlDeviceGetGpuInstanceProfileInfo(struct weir_nvml_handle *device, unsigned profile,
                                            struct weir_nvml_gi_profile_info_v1 *out);
API int nvmlDeviceGetGpuInstanceProfileInfoV(struct weir_nvml_handle *device, unsigned profile,
                                             void *out);
API int nvmlDeviceGetGpuInstancePossiblePlacements(struct weir_nvml_handle *device,
                                                   unsigned profile_id,
                                                   struct weir_nvml_placement *out,
                                                   unsigned *count);
API int nvmlDeviceGetGpuInstancePossiblePlacements_v2(struct weir_nvml_handle *device,
                                                      unsigned profile_id,
                                                      struct weir_nvml_placement *out,
                                                      unsigned *count);
API int nvmlDeviceGetGpuInstanceRemainingCapacity(struct weir_nvml_handle *device,
                                                  unsigned profile_id, unsigned *count);
API int nvmlGpuInstanceGetComputeInstanceProfileInfo(struct weir_nvml_gi_handle *instance,
                                                     unsigned profile, unsigned engine,
                                                     struct weir_nvml_ci_profile_info_v1 *out);
API int nvmlGpuInstanceGetComputeInstanceProfileInfoV(struct weir_nvml_gi_handle *instance,
                                                      unsigned profile, unsigned engine, void *out);
API int nvmlGpuInstanceGetComputeInstanceRemainingCapacity(struct weir_nvml_gi_handle *instance,
                                                           unsigned profile_id, unsigned *count);
API int nvmlGpuInstanceGetComputeInstancePossiblePlacements(struct weir_nvml_gi_handle *instance,
                                                            unsigned profile_id,
                                                            struct weir_nvml_placement *out,
                                                            unsigned *count);

const struct weir_sim_mig_profile *weir_sim_profile_of(const struct weir_sim_view *view)
{
    uint32_t profile = view->mig.gpu[view->gpu_instance].profile;

    return &view->facts.mig_profiles[profile < WEIR_SIM_MIG_PROFILES_MAX ? profile : 0];
}

int weir_sim_profile_by_id(const struct weir_sim_facts *facts, uint32_t id, uint32_t *ret_profile)
{
    for (uint32_t i = 0; i < facts->n_mig_profiles; i++)
        if (facts->mig_profiles[i].id == id) {
            *ret_profile = i;
            return WEIR_NVML_SUCCESS;
        }
    return WEIR_NVML_INVALID_ARGUMENT;
}

void weir_sim_profile_info(const struct weir_sim_facts *facts,
                           const struct weir_sim_mig_profile *profile,
                           struct weir_nvml_gi_profile_info_v3 *ret_info)
{
    *ret_info = (struct weir_nvml_gi_profile_info_v3){
        .id = profile->id,
        .slices = profile->compute_slices,
        .instances = profile->max_instances,
        .multiprocessors = profile->sm_count,
        .copy_engines = profile->compute_slices,
        .decoders = facts->cc_major >= 9 ? profile->compute_slices : profile->media_engines,
        .jpeg_engines = facts->cc_major >= 9 ? profile->compute_slices : 0,
        .ofa_engines = profile->compute_slices == facts->mig_compute_slices ||
                       (profile->compute_slices == 1 && profile->media_engines > 0),
        .memory_mib = profile->memory_mib,
    };
    snprintf(ret_info->name, sizeof(ret_info->name), "MIG %s", profile->name);
}

/* By what a client asks for. */
static int find_profile(struct weir_nvml_handle *device, unsigned profile, const void *output,
                        struct weir_sim_view *view, struct weir_nvml_gi_profile_info_v3 *ret_info)
{
    int result = weir_sim_look_at_capable(device, output, view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (profile >= WEIR_NVML_GI_PROFILE_COUNT)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < view->facts.n_mig_profiles; i++)
        if (view->facts.mig_profiles[i].enumeration == profile) {
            weir_sim_profile_info(&view->facts, &view->facts.mig_profiles[i], ret_info);
            return WEIR_NVML_SUCCESS;
        }
    return WEIR_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetGpuInstanceProfileInfo(struct weir_nvml_handle *device, unsigned profile,
                                        struct weir_nvml_gi_profile_info_v1 *out)
{
    struct weir_nvml_gi_profile_info_v3 info;
    struct weir_sim_view view;
    int result = find_profile(device, profile, out, &view, &info);

    if (result == WEIR_NVML_SUCCESS)
        *out = (struct weir_nvml_gi_profile_info_v1){.id = info.id,
                                                     .slices = info.slices,
                                                     .instances = info.instances,
                                                     .multiprocessors = info.multiprocessors,
                                                     .copy_engines = info.copy_engines,
                                                     .decoders = info.decoders,
                                                     .encoders = info.encoders,
                                                     .jpeg_engines = info.jpeg_engines,
                                                     .ofa_engines = info.ofa_engines,
                                                     .memory_mib = info.memory_mib};
    return result;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(struct weir_nvml_handle *device, unsigned profile,
                                         void *out)
{
    struct weir_nvml_gi_profile_info_v3 info;
    struct weir_nvml_gi_profile_info_v2 v2;
    struct weir_sim_view view;
    uint32_t version;
    int result = find_profile(device, profile, out, &view, &info);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memcpy(&version, out, sizeof(version));
    if (version == WEIR_NVML_STRUCT_VERSION(struct weir_nvml_gi_profile_info_v3, 3)) {
        info.version = version;
        memcpy(out, &info, sizeof(info));
        return WEIR_NVML_SUCCESS;
    }
    if (version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_gi_profile_info_v2, 2))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    v2 = (struct weir_nvml_gi_profile_info_v2){.version = version,
                                               .id = info.id,
                                               .slices = info.slices,
                                               .instances = info.instances,
                                               .multiprocessors = info.multiprocessors,
                                               .copy_engines = info.copy_engines,
                                               .decoders = info.decoders,
                                               .encoders = info.encoders,
                                               .jpeg_engines = info.jpeg_engines,
                                               .ofa_engines = info.ofa_engines,
                                               .memory_mib = info.memory_mib};
    memcpy(v2.name, info.name, sizeof(v2.name));
    memcpy(out, &v2, sizeof(v2));
    return WEIR_NVML_SUCCESS;
}

static unsigned list_starts(uint32_t starts, uint32_t size, unsigned room,
                            struct weir_nvml_placement *out)
{
    unsigned n = 0;

    for (uint32_t k = 0; k < 32; k++)
        if ((starts >> k & 1) != 0) {
            if (n < room)
                out[n] = (struct weir_nvml_placement){k, size};
            n++;
        }
    return n;
}

/* All placements the profile ever has, whether they are free or not. */
int nvmlDeviceGetGpuInstancePossiblePlacements_v2(struct weir_nvml_handle *device,
                                                  unsigned profile_id,
                                                  struct weir_nvml_placement *out, unsigned *count)
{
    struct weir_sim_view view;
    uint32_t profile;
    unsigned room;
    unsigned n;
    int result = weir_sim_look_at_enabled(device, count, &view);

    if (result == WEIR_NVML_SUCCESS)
        result = weir_sim_profile_by_id(&view.facts, profile_id, &profile);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    room = out != NULL ? *count : 0;
    n = list_starts(view.facts.mig_profiles[profile].start_mask,
                    view.facts.mig_profiles[profile].memory_slices, room, out);
    *count = n;
    return out == NULL || n <= room ? WEIR_NVML_SUCCESS : WEIR_NVML_INSUFFICIENT_SIZE;
}

int nvmlDeviceGetGpuInstancePossiblePlacements(struct weir_nvml_handle *device, unsigned profile_id,
                                               struct weir_nvml_placement *out, unsigned *count)
{
    return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, profile_id, out, count);
}

int nvmlDeviceGetGpuInstanceRemainingCapacity(struct weir_nvml_handle *device, unsigned profile_id,
                                              unsigned *count)
{
    struct weir_sim_view view;
    uint32_t profile;
    int result = weir_sim_look_at_enabled(device, count, &view);

    if (result == WEIR_NVML_SUCCESS)
        result = weir_sim_profile_by_id(&view.facts, profile_id, &profile);
    if (result == WEIR_NVML_SUCCESS)
        *count = weir_sim_mig_capacity(&view.facts, &view.mig, profile);
    return result;
}

static const uint8_t compute_slices[WEIR_NVML_CI_PROFILE_COUNT] = {
    [WEIR_NVML_CI_PROFILE_1_SLICE] = 1, [WEIR_NVML_CI_PROFILE_2_SLICE] = 2,
    [WEIR_NVML_CI_PROFILE_3_SLICE] = 3, [WEIR_NVML_CI_PROFILE_4_SLICE] = 4,
    [WEIR_NVML_CI_PROFILE_7_SLICE] = 7, [WEIR_NVML_CI_PROFILE_8_SLICE] = 8,
    [WEIR_NVML_CI_PROFILE_6_SLICE] = 6,
};

uint32_t weir_sim_compute_slices(uint32_t profile_id)
{
    return profile_id < WEIR_NVML_CI_PROFILE_COUNT ? compute_slices[profile_id] : 0;
}

uint32_t weir_sim_compute_profile(uint32_t slices)
{
    uint32_t i = 0;

    while (i < WEIR_NVML_CI_PROFILE_COUNT && compute_slices[i] != slices)
        i++;
    return i;
}

static int find_compute(struct weir_nvml_gi_handle *instance, unsigned profile, unsigned engine,
                        const void *output, struct weir_nvml_ci_profile_info_v3 *ret_info)
{
    const struct weir_sim_mig_profile *of;
    struct weir_nvml_gi_profile_info_v3 whole;
    struct weir_sim_view view;
    uint32_t slices = weir_sim_compute_slices(profile);
    int result = weir_sim_look_gi(instance, output, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (profile >= WEIR_NVML_CI_PROFILE_COUNT || engine != WEIR_NVML_CI_ENGINE_SHARED)
        return WEIR_NVML_INVALID_ARGUMENT;
    of = weir_sim_profile_of(&view);
    if (slices == 0 || slices > of->compute_slices)
        return WEIR_NVML_NOT_SUPPORTED;
    weir_sim_profile_info(&view.facts, of, &whole);
    *ret_info = (struct weir_nvml_ci_profile_info_v3){
        .id = profile,
        .slices = slices,
        .instances = of->compute_slices / slices,
        .multiprocessors = whole.multiprocessors * slices / of->compute_slices,
        .copy_engines = whole.copy_engines,
        .decoders = whole.decoders,
        .encoders = whole.encoders,
        .jpeg_engines = whole.jpeg_engines,
        .ofa_engines = whole.ofa_engines,
    };
    if (slices == of->compute_slices)
        snprintf(ret_info->name, sizeof(ret_info->name), "MIG %s", of->name);
    else
        snprintf(ret_info->name, sizeof(ret_info->name), "MIG %uc.%s", slices, of->name);
    return WEIR_NVML_SUCCESS;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(struct weir_nvml_gi_handle *instance,
                                                 unsigned profile, unsigned engine,
                                                 struct weir_nvml_ci_profile_info_v1 *out)
{
    struct weir_nvml_ci_profile_info_v3 info;
    int result = find_compute(instance, profile, engine, out, &info);

    /* The first version is the third without its ends. */
    if (result == WEIR_NVML_SUCCESS)
        memcpy(out, &info.id, sizeof(*out));
    return result;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfoV(struct weir_nvml_gi_handle *instance,
                                                  unsigned profile, unsigned engine, void *out)
{
    struct weir_nvml_ci_profile_info_v3 info;
    int result = find_compute(instance, profile, engine, out, &info);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memcpy(&info.version, out, sizeof(info.version));
    if (info.version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_ci_profile_info_v2, 2) &&
        info.version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_ci_profile_info_v3, 3))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    memcpy(out, &info, info.version & 0xffffff);
    return WEIR_NVML_SUCCESS;
}

/* How many more there can be is how many starts are free without overlap. */
int nvmlGpuInstanceGetComputeInstanceRemainingCapacity(struct weir_nvml_gi_handle *instance,
                                                       unsigned profile_id, unsigned *count)
{
    struct weir_sim_view view;
    uint32_t slices = weir_sim_compute_slices(profile_id);
    uint32_t made;
    int result = weir_sim_look_gi(instance, count, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (slices == 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (*count = 0;
         weir_sim_mig_create_compute(&view.facts, &view.mig, view.gpu_instance, slices,
                                     WEIR_SIM_MIG_ANY_START, &made) == WEIR_NVML_SUCCESS;)
        (*count)++;
    return WEIR_NVML_SUCCESS;
}

int nvmlGpuInstanceGetComputeInstancePossiblePlacements(struct weir_nvml_gi_handle *instance,
                                                        unsigned profile_id,
                                                        struct weir_nvml_placement *out,
                                                        unsigned *count)
{
    struct weir_sim_view view;
    uint32_t slices = weir_sim_compute_slices(profile_id);
    unsigned room;
    unsigned n;
    int result = weir_sim_look_gi(instance, count, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (slices == 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    room = out != NULL ? *count : 0;
    n = list_starts(weir_sim_mig_compute_starts(&view.facts, &view.mig, view.gpu_instance, slices),
                    slices, room, out);
    *count = n;
    return out == NULL || n <= room ? WEIR_NVML_SUCCESS : WEIR_NVML_INSUFFICIENT_SIZE;
}
