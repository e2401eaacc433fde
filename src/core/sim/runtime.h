/* core/sim/runtime.h — when a task that runs is expected to end.
 *
 * What is known of a run time are two quantiles. Between and beyond them the hazard is taken as
 * constant: ln 2 spread over [0, p50], ln 5 over [p50, p90] (so that 90 % have ended there), and on
 * at the same rate. The expected end of one that has run for a while is the quantile given that it
 * still runs. */
#ifndef WEIR_CORE_SIM_RUNTIME_H
#define WEIR_CORE_SIM_RUNTIME_H

#include "model/policy.h"
#include "model/world.h"

enum weir_quantile { WEIR_QUANTILE_P50, WEIR_QUANTILE_P90 };

/* How long it still runs, in ms, after it has run for `ran_ms`; at least 1. Unknown quantiles are
 * the policy's priors; a declared limit caps. */
int64_t weir_runtime_left(const struct weir_policy *policy, const struct weir_runtime *runtime,
                          int64_t ran_ms, enum weir_quantile quantile);
/* Likewise of a workload's task, within the run limit of its queues too. *ret_is_assumed: neither a
 * limit ends it by then, nor is anything known of how long it runs: it is the policy's prior. */
int64_t weir_runtime_left_of(const struct weir_world *world, const struct weir_policy *policy,
                             const struct weir_workload *job, int64_t ran_ms,
                             enum weir_quantile quantile, bool *ret_is_assumed);

#endif
