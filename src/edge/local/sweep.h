/* edge/local/sweep.h — what a shim that was killed left of its job: found and killed by the server.
 *
 * Main dies with its shim (PDEATHSIG). Its descendants are found by the environment entry
 * weir_attempt_marker() that each was started with, and by the shim's session and main's process
 * group; a job that clears its environment and leaves its session escapes, unless it had a cgroup.
 */
#ifndef WEIR_EDGE_LOCAL_SWEEP_H
#define WEIR_EDGE_LOCAL_SWEEP_H

#include "edge/local/attempt.h"

#include <stddef.h>

struct weir_err;

struct weir_sweep_target {
    struct weir_attempt_status status; /* as read from the slot, its shim being dead */
    const char *cgroup;                /* as in the launch request; "": none */
};

/* One pass over all processes for n targets: SIGKILL to whatever belongs to one of them. *ret_n is
 * how many were still alive: call again (next tick) until it is 0, and only then take the attempts
 * for ended. Targets of another boot have nothing left, and are passed over. Groups that are empty
 * are removed. WEIR_E_UNSUPPORTED: there is no /proc. */
int weir_sweep(const struct weir_sweep_target *targets, size_t n, unsigned *ret_n,
               struct weir_err *err);

#endif
