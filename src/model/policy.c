#include "model/policy.h"

#include "base/time.h"

struct weir_policy weir_policy_default(void)
{
    return (struct weir_policy){
        .actions = WEIR_POLICY_ALL,
        .fault_retries = 3,
        .backoff_ms = WEIR_TIME_S,
        .backoff_max_ms = 10 * WEIR_TIME_MIN,
        .start_backoff_ms = 2 * WEIR_TIME_S,
        .prior_p50_ms = 10 * WEIR_TIME_MIN,
        .prior_p90_ms = 2 * WEIR_TIME_H,
        .stop_grace_ms = 10 * WEIR_TIME_S,
        .verdict_ms = 10 * WEIR_TIME_MIN,
        .claim_ms = 5 * WEIR_TIME_MIN,
    };
}
