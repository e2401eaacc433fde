/* core/sim/eta.h — when will it start? Answered by letting the same core decide on, with running
 * tasks ending at quantiles of their run time.
 *
 * P50: every task ends at the median of what is known of it (learned or declared, else
 * policy.prior_p50_ms), counted from its start and given that it still runs. P90: likewise with its
 * 90 % quantile. A limit, declared or of its queue, caps both. */
#ifndef WEIR_CORE_SIM_ETA_H
#define WEIR_CORE_SIM_ETA_H

#include "model/plan.h"
#include "model/policy.h"

struct weir_arena;
struct weir_err;

struct weir_eta {
    uint32_t workload;
    uint32_t is_assumed; /* 1: some that end before it starts were only assumed to run that long */
    int64_t p50_wall_ms; /* INT64_MAX: not within the horizon */
    int64_t p90_wall_ms;
};

struct weir_eta_limits {
    uint32_t max_steps; /* decisions per quantile */
    uint32_t reserved;
    int64_t horizon_ms;
};

/* Expected starts (of the first of its tasks that waits) of the given workloads (row indices of
 * `world`), into ret_etas[0 … n-1]. `world` is left alone. A workload of which nothing waits starts
 * now. Fails only for want of memory. */
int weir_eta(const struct weir_world *world, const struct weir_policy *policy, struct weir_now now,
             uint64_t seed, const struct weir_eta_limits *limits, const uint32_t *workloads,
             uint32_t n, struct weir_arena *arena, struct weir_eta *ret_etas, struct weir_err *err);

#endif
