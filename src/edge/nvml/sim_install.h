/* edge/nvml/sim_install.h — puts the simulated NVML of this binary and its fleet into a data
 * folder.
 *
 *     DATA/lib/libnvidia-ml.so.1   the library, embedded in this binary
 *     DATA/sim/fleet               what it shows
 *
 * LD_LIBRARY_PATH=DATA/lib makes any NVML client show the fleet. */
#ifndef WEIR_EDGE_NVML_SIM_INSTALL_H
#define WEIR_EDGE_NVML_SIM_INSTALL_H

#include "base/str.h"

#include <stdint.h>

struct weir_err;
struct weir_sim_fleet;

/* Below the data folder. */
#define WEIR_SIM_LIBRARY_PATH "lib/libnvidia-ml.so.1"
#define WEIR_SIM_FLEET_PATH   "sim/fleet"

/* Makes the folders it needs, writes the library where it is not the same (in one step: a client
 * that has the old one loaded keeps it), and opens the fleet as weir_sim_fleet_open() does. The
 * data folder must exist. */
int weir_sim_install(const char *data_dir, struct weir_str spec, uint64_t seed,
                     struct weir_sim_fleet **ret_fleet, struct weir_err *err);

#endif
