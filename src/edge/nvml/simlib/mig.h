/* edge/nvml/simlib/mig.h — what the parts of MIG share inside of the library. */
#ifndef WEIR_EDGE_NVML_SIMLIB_MIG_H
#define WEIR_EDGE_NVML_SIMLIB_MIG_H

#include "edge/nvml/simlib/simlib.h"

/* At a GPU that can be in MIG mode, and at one that is; else NOT_SUPPORTED. */
int weir_sim_look_at_capable(struct weir_nvml_handle *device, const void *output,
                             struct weir_sim_view *ret_view);
int weir_sim_look_at_enabled(struct weir_nvml_handle *device, const void *output,
                             struct weir_sim_view *ret_view);

/* Of the GPU instance that the view is of. */
const struct weir_sim_mig_profile *weir_sim_profile_of(const struct weir_sim_view *view);
/* The index of the profile with this id; INVALID_ARGUMENT. */
int weir_sim_profile_by_id(const struct weir_sim_facts *facts, uint32_t id, uint32_t *ret_profile);
void weir_sim_profile_info(const struct weir_sim_facts *facts,
                           const struct weir_sim_mig_profile *profile,
                           struct weir_nvml_gi_profile_info_v3 *ret_info);

/* Compute instance profiles: their ids are those they are asked for by. 0, and COUNT, when there is
 * none. */
uint32_t weir_sim_compute_slices(uint32_t profile_id);
uint32_t weir_sim_compute_profile(uint32_t slices);

#endif
