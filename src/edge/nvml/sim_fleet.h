/* edge/nvml/sim_fleet.h — the writer of a simulated fleet: makes the file, changes what its GPUs
 * do.
 *
 * One writer at a time, held to it by a lock on the file. Readers are the clients of the simulated
 * NVML library; each sees a device as it was at one instant (edge/nvml/sim_layout.h). Processes
 * stay in the file when the writer ends, as jobs may outlive it: whoever opens a fleet reads them
 * back and removes the dead ones. */
#ifndef WEIR_EDGE_NVML_SIM_FLEET_H
#define WEIR_EDGE_NVML_SIM_FLEET_H

#include "base/str.h"
#include "edge/nvml/sim_layout.h"

#include <stdint.h>

struct weir_err;
struct weir_sim_fleet;

/* Opens the fleet file at path, and makes it where there is none (the folder must exist). A file
 * that holds the same GPUs is kept with its UUIDs, processes and loads; any other is replaced in
 * one step, and readers of the old one are told that their driver is gone. The seed
 * (model/fleet_spec.h) counts for a new file; a replaced one hands its own on, so that GPUs in both
 * fleets stay the same.
 *
 * Where the catalogue does not know the reserved memory of a model, 0.6 % of the total stand in.
 *
 * Errors: those of weir_fleet_parse(), WEIR_E_UNAVAILABLE (another writer), and of the file system.
 */
int weir_sim_fleet_open(const char *path, struct weir_str spec, uint64_t seed,
                        struct weir_sim_fleet **ret_fleet, struct weir_err *err);
struct weir_sim_fleet *weir_sim_fleet_close(struct weir_sim_fleet *fleet);

uint32_t weir_sim_fleet_size(const struct weir_sim_fleet *fleet);
/* index is below the size; valid until the fleet is closed. */
const struct weir_sim_facts *weir_sim_fleet_facts(const struct weir_sim_fleet *fleet,
                                                  uint32_t index);
void weir_sim_fleet_read(const struct weir_sim_fleet *fleet, uint32_t index,
                         struct weir_sim_state *ret_state);

/* Publishes a whole state. WEIR_E_INVALID: a process without a pid or one pid twice;
 * WEIR_E_TOO_LARGE: too many processes, or more memory than the GPU has. */
int weir_sim_fleet_write(struct weir_sim_fleet *fleet, uint32_t index,
                         const struct weir_sim_state *state, struct weir_err *err);
/* Adds a compute process, or changes what it holds. Errors as above. */
int weir_sim_fleet_set_process(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                               uint64_t used_bytes, struct weir_err *err);
/* WEIR_E_NOT_FOUND when it is not there. */
int weir_sim_fleet_remove_process(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                                  struct weir_err *err);

#endif
