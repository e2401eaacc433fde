/* core/admit.h — may this workload ever run here? Asked before it is accepted.
 *
 * The same filters as placement, on the fleet as it would be with nothing running (cordoned and
 * unhealthy devices count as usable: they may come back). */
#ifndef WEIR_CORE_ADMIT_H
#define WEIR_CORE_ADMIT_H

#include "model/plan.h"
#include "model/policy.h"

struct weir_arena;
struct weir_err;

struct weir_ask {
    const struct weir_workload *workload; /* queue, gang_min, independent, topology are read */
    const struct weir_role *roles;        /* n_tasks, n_min are read */
    const struct weir_shape *shapes;      /* one per role */
    uint32_t n_roles;
};

/* Why not, and the nearest that would fit. */
struct weir_refusal {
    struct weir_reason reason; /* holders and children unused */
    int64_t nearest; /* the largest amount of reason.resource per task (or of members, for GANG)
                        that would fit; 0: none */
    uint32_t nearest_class; /* for GPU_CLASS and GPU_MEMORY: a class that would fit, or WEIR_NONE */
    uint32_t nearest_queue; /* for MISCONFIGURED of a queue that has others below it: one of those
                               that would do, or WEIR_NONE */
};

/* 0: it can run. WEIR_E_IMPOSSIBLE: it cannot, *ret_refusal says why (err holds a plain sentence as
 * well, and the field of the Workload that asks for too much). */
int weir_admit(const struct weir_world *world, const struct weir_policy *policy,
               const struct weir_ask *ask, struct weir_arena *scratch,
               struct weir_refusal *ret_refusal, struct weir_err *err);

#endif
