/* edge/local/owner.h — which attempt a process belongs to, whatever its user and wherever it went.
 *
 * In this order: it descends from a living shim (which is the reaper of all that its job orphans);
 * it is in the cgroup of an attempt; it was started with the marker of an attempt in its
 * environment, as a container is that was given it. The marker may be read in what a job writes, so
 * of a marked process the account has to be the job's too, or root, which starts containers. */
#ifndef WEIR_EDGE_LOCAL_OWNER_H
#define WEIR_EDGE_LOCAL_OWNER_H

#include "base/map.h"
#include "base/vec.h"
#include "edge/local/slots.h"

struct weir_owner_shim {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t serial;
    uint64_t nonce;
    uid_t uid; /* the job's */
};

struct weir_owners {
    const struct weir_slots *slots;
    const char *cgroup;    /* the folder of the attempts' groups; "": they have none */
    struct weir_map known; /* (pid, start) → serial: whose process it is never changes */
    /* (pid, start) of what carries no marker of an attempt up to that serial; UINT64_MAX: of none
     * at all. Of those that were asked for the last time. */
    struct weir_map strangers;
    struct shims weir_vec(struct weir_owner_shim) shims; /* of one call */
    bool has_shims;
};

/* For each pid whose it is. What it found is kept until the next call. Errors: those of
 * weir_slots_holder(), WEIR_E_NO_MEMORY. */
int weir_owners_find(struct weir_owners *owners, const uint32_t *pids, size_t n,
                     struct weir_cluster_owner *ret_owners, struct weir_err *err);
void weir_owners_finish(struct weir_owners *owners);

#endif
