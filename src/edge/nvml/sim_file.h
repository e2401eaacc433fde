/* edge/nvml/sim_file.h — which GPUs a simulated fleet has: a text like "2x8xH100"
 * (model/fleet_spec.h), or the path of a YAML file, which ends in .yaml or .yml:
 *
 *     nodes:
 *       - name: gpu-a          # letters, digits, '-', '.' and '_'
 *         count: 4             # gpu-a-1 … gpu-a-4; left out: one node of just that name
 *         gpus: 8xH100         # or a list of such texts, where a node has several models
 *         zone: eu-1a          # these three may be left out
 *         rack: r7
 *         linkDomain: nvl-1    # nodes of one name share their NVLinks
 *         mig: true            # the GPUs that can are in MIG mode
 *         faults:              # edge/nvml/sim_orders.h; "gpu N" of the node, or "gpu all"
 *           - gpu 3 xid 79
 */
#ifndef WEIR_EDGE_NVML_SIM_FILE_H
#define WEIR_EDGE_NVML_SIM_FILE_H

#include "base/str.h"
#include "edge/nvml/sim_orders.h"
#include "model/fleet_spec.h"

#include <stddef.h>
#include <stdint.h>

enum { WEIR_SIM_FILE_BYTES_MAX = 1 << 20 };

struct weir_sim_plan {
    struct weir_fleet fleet;
    struct weir_sim_order *orders; /* what has befallen it from the start on */
    size_t n_orders;
};

/* All in the arena. Errors: those of weir_fleet_parse(), of the file system, and WEIR_E_INVALID,
 * WEIR_E_TOO_LARGE, WEIR_E_NOT_FOUND with field, line and column. */
int weir_sim_file_read(struct weir_str spec, uint64_t seed, struct weir_arena *arena,
                       struct weir_sim_plan *ret_plan, struct weir_err *err);

#endif
