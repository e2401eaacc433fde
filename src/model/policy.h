/* model/policy.h — what the operator wants, apart from queues: part of the input of every decision.
 * Plain values, so that it can be written into the decision log. */
#ifndef WEIR_MODEL_POLICY_H
#define WEIR_MODEL_POLICY_H

#include <stdint.h>

/* Which kinds of action a decision may use. */
enum {
    WEIR_POLICY_PLACE = 1 << 0,
    WEIR_POLICY_PREEMPT = 1 << 1, /* within a queue, for a higher priority */
    WEIR_POLICY_RECLAIM = 1 << 2, /* between queues, for a guarantee */
    WEIR_POLICY_ALL = (1 << 3) - 1
};

struct weir_policy {
    uint32_t actions;
    uint32_t
        fault_retries;  /* of an attempt that an unhealthy GPU ended, if the workload has no more
                         */
    int64_t backoff_ms; /* before the first retry, where the workload names none */
    int64_t backoff_max_ms;   /* the longest */
    int64_t start_backoff_ms; /* after a start that failed for no fault of the job */
    int64_t prior_p50_ms;     /* how long a task runs of which nothing is known */
    int64_t prior_p90_ms;
    int64_t
        stop_grace_ms;  /* between SIGTERM and SIGKILL, where nothing else is said: for estimates */
    int64_t verdict_ms; /* so long a job that failed waits at most for what its GPU's test says */
    int64_t claim_ms;   /* so long who had to leave leaves the room to whom it was made for */
};

/* All actions; 3 retries after device faults; back-off 1 s to 10 min; start back-off 2 s; prior 10
 * min and 2 h; grace 10 s; verdict 10 min; claim 5 min. */
struct weir_policy weir_policy_default(void);

/* The clocks of one decision. */
struct weir_now {
    int64_t wall_ms;
    int64_t mono_ms;
};

#endif
