/* edge/nvml/sim_facts.h — what never changes of a simulated GPU, from the catalogue and the fleet.
 *
 * Where the catalogue does not know a number that a driver must tell, one that is near stands in:
 * 0.6 % of the memory are reserved; a MIG profile has its part of memory and multiprocessors. */
#ifndef WEIR_EDGE_NVML_SIM_FACTS_H
#define WEIR_EDGE_NVML_SIM_FACTS_H

#include "edge/nvml/sim_layout.h"

struct weir_fleet;

/* Of GPU `index` of the fleet; the seed is the one the fleet was made with. */
void weir_sim_facts_fill(const struct weir_fleet *fleet, uint32_t index, uint64_t seed,
                         struct weir_sim_facts *ret_facts);

#endif
