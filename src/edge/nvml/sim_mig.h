/* edge/nvml/sim_mig.h — the rules of MIG on a simulated GPU: which instances fit where, what they
 * are called.
 *
 * The rules work on a copy. A change of the fleet is: lock, read, apply a rule, publish, unlock.
 * Rules answer as NVML does (enum weir_nvml_return) and leave the copy alone unless they succeed.
 * Profiles are indices in the facts. Needs libc only: the library is built from it. */
#ifndef WEIR_EDGE_NVML_SIM_MIG_H
#define WEIR_EDGE_NVML_SIM_MIG_H

#include "edge/nvml/sim_layout.h"

enum { WEIR_SIM_MIG_ANY_START = 255, WEIR_SIM_MIG_UUID_BYTES = 41 };

/* Waits for the lock of the MIG part of a fleet file, of which fd is any descriptor, and returns a
 * descriptor that holds it; closing it unlocks. -1 with errno (EACCES: the file is not the caller's
 * to write). Callers exclude each other also inside of one process. */
int weir_sim_mig_lock(int fd);

/* The memory slices where an instance of the profile may start now: bit k for slice k. */
uint32_t weir_sim_mig_starts(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                             uint32_t profile);
/* How many more instances of the profile fit, if nothing else is made. */
uint32_t weir_sim_mig_capacity(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                               uint32_t profile);
/* INSUFFICIENT_RESOURCES when there is no room; INVALID_ARGUMENT for a start that the profile never
 * has. Of any start, the one that leaves most for others is taken: the highest. */
int weir_sim_mig_create(const struct weir_sim_facts *facts, struct weir_sim_mig *mig,
                        uint32_t profile, uint32_t start, uint32_t *ret_id);
/* IN_USE while it has compute instances. */
int weir_sim_mig_destroy(struct weir_sim_mig *mig, uint32_t id);

/* Compute slices that a compute instance of this many could still start at: bit k for slice k. */
uint32_t weir_sim_mig_compute_starts(const struct weir_sim_facts *facts,
                                     const struct weir_sim_mig *mig, uint32_t id, uint32_t slices);
int weir_sim_mig_create_compute(const struct weir_sim_facts *facts, struct weir_sim_mig *mig,
                                uint32_t id, uint32_t slices, uint32_t start,
                                uint32_t *ret_compute);
int weir_sim_mig_destroy_compute(struct weir_sim_mig *mig, uint32_t id, uint32_t compute);

/* What a load in the instance can use of the GPU, in thousandths. */
uint32_t weir_sim_mig_share_milli(const struct weir_sim_facts *facts,
                                  const struct weir_sim_mig *mig, uint32_t id, uint32_t compute);
/* "MIG-" and 36 characters: the same for the same place of the same GPU. */
void weir_sim_mig_uuid(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                       uint32_t id, uint32_t compute, char ret_uuid[WEIR_SIM_MIG_UUID_BYTES]);

#endif
