#include "core/sim/runtime.h"

/* Natural logarithms in millionths. */
enum { LN_2 = 693147, LN_5 = 1609438, LN_10 = 2302585 };

__extension__ typedef __int128 i128;

static int64_t scale(int64_t value, int64_t by, int64_t over)
{
    return (int64_t)((i128)value * by / over);
}

/* Walks the hazard from ran_ms on until `hazard` is used up. */
static int64_t walk(int64_t p50_ms, int64_t p90_ms, int64_t ran_ms, int64_t hazard)
{
    int64_t left = 0;

    if (ran_ms < p50_ms) {
        int64_t in_first = scale(p50_ms - ran_ms, LN_2, p50_ms);

        if (hazard <= in_first)
            return scale(hazard, p50_ms, LN_2);
        hazard -= in_first;
        left = p50_ms - ran_ms;
    }
    return left + scale(hazard, p90_ms - p50_ms, LN_5);
}

int64_t weir_runtime_left(const struct weir_policy *policy, const struct weir_runtime *runtime,
                          int64_t ran_ms, enum weir_quantile quantile)
{
    int64_t p50 = runtime->p50_ms > 0 ? runtime->p50_ms : policy->prior_p50_ms;
    int64_t p90 = runtime->p90_ms > 0 ? runtime->p90_ms : policy->prior_p90_ms;
    int64_t left;

    if (p50 < 1)
        p50 = 1;
    if (p90 <= p50)
        p90 = p50 + 1;
    if (ran_ms < 0)
        ran_ms = 0;
    left = walk(p50, p90, ran_ms, quantile == WEIR_QUANTILE_P50 ? LN_2 : LN_10);
    if (runtime->limit_ms != INT64_MAX && left > runtime->limit_ms - ran_ms)
        left = runtime->limit_ms - ran_ms;
    return left > 1 ? left : 1;
}

int64_t weir_runtime_left_of(const struct weir_world *world, const struct weir_policy *policy,
                             const struct weir_workload *job, int64_t ran_ms,
                             enum weir_quantile quantile, bool *ret_is_assumed)
{
    struct weir_runtime runtime = job->runtime;
    int64_t run_limit = weir_world_run_limit_ms(world, job->queue);
    int64_t known = quantile == WEIR_QUANTILE_P50 ? job->runtime.p50_ms : job->runtime.p90_ms;
    int64_t left;

    if (run_limit < runtime.limit_ms)
        runtime.limit_ms = run_limit;
    left = weir_runtime_left(policy, &runtime, ran_ms, quantile);
    *ret_is_assumed = known == 0 && (runtime.limit_ms == INT64_MAX ||
                                     left < runtime.limit_ms - (ran_ms > 0 ? ran_ms : 0));
    return left;
}
