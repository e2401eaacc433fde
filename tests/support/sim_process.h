/* A process on a simulated GPU that holds memory from now on and does nothing. */
#ifndef WEIR_TESTS_SIM_PROCESS_H
#define WEIR_TESTS_SIM_PROCESS_H

#include "base/clock.h"
#include "edge/nvml/sim_fleet.h"

static inline int sim_set_process(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                                  uint64_t used_bytes, struct weir_err *err)
{
    struct weir_sim_load load = {
        .pid = pid,
        .kind = WEIR_SIM_COMPUTE,
        .profile = WEIR_SIM_PROFILE_HELD,
        .memory_bytes = used_bytes,
        .gpu_instance = WEIR_NVML_NO_INSTANCE,
        .compute_instance = WEIR_NVML_NO_INSTANCE,
    };

    return weir_sim_fleet_set_load(fleet, index, &load, weir_clock_mono_ms(), err);
}

#endif
