/* edge/nvml/sim_fleet_impl.h — inside of the writer of a simulated fleet: sim_fleet.c makes and
 * opens the file, sim_load.c and sim_fault.c change it. */
#ifndef WEIR_EDGE_NVML_SIM_FLEET_IMPL_H
#define WEIR_EDGE_NVML_SIM_FLEET_IMPL_H

#include "edge/nvml/sim_fleet.h"

#include <stddef.h>

struct weir_sim_fleet {
    int fd; /* holds the lock */
    struct weir_sim_header *header;
    struct weir_sim_device *devices;
    size_t bytes;
    char *kmsg_path;
};

/* The state of the device, moved to the instant. */
void weir_sim_fleet_read_at(const struct weir_sim_fleet *fleet, uint32_t index, int64_t at_ms,
                            struct weir_sim_state *ret_state);
/* As a GPU is after a reset: nothing volatile is left, pending changes have taken effect. Its loads
 * and its base stay. */
void weir_sim_fleet_reset(struct weir_sim_fleet *fleet, uint32_t index,
                          struct weir_sim_state *state);
/* Publishes what is known to be right. */
void weir_sim_fleet_publish(struct weir_sim_fleet *fleet, uint32_t index,
                            const struct weir_sim_state *state);

#endif
