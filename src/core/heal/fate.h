/* core/heal/fate.h — what became of one attempt, by itself. */
#ifndef WEIR_CORE_HEAL_FATE_H
#define WEIR_CORE_HEAL_FATE_H

#include "core/tick.h"

enum weir_fate_kind {
    WEIR_FATE_STAYS, /* it runs, or is leaving */
    WEIR_FATE_SUCCEEDED,
    WEIR_FATE_LEFT, /* as it was asked: to be queued again */
    WEIR_FATE_CANCELLED,
    WEIR_FATE_FAILED,
    WEIR_FATE_LOST,
    WEIR_FATE_NOT_STARTED,
    WEIR_FATE_KIND_MAX
};

struct weir_fate {
    uint32_t kind;  /* enum weir_fate_kind */
    uint32_t cause; /* enum weir_cause */
    bool may_retry; /* FAILED, LOST: worth another attempt, if any is left */
};

/* An attempt that was asked to leave (STOPPING) and has ended:
 * - cancelled, by its own stop or as a workload: CANCELLED;
 * - it exited with 0 before the request reached it: SUCCEEDED, whatever it was to leave for, also
 *   RUN_LIMIT and GANG_BROKEN (a gang that starts anew runs it again with the others);
 * - everything else: FAILED for RUN_LIMIT, OVER_BUDGET and DEVICE_FAULT; LEFT for the rest.
 *
 * Whose fault a failure is shows a moment later: one that holds a SUSPECT device STAYS until that
 * is known (policy.verdict_ms after its end at most, or it would hold the device for as long as its
 * test waits), and one that holds an UNHEALTHY device failed by DEVICE_FAULT. */
struct weir_fate weir_fate_of(struct weir_tick *tick, const struct weir_task *task,
                              const struct weir_workload *job);

/* Whether another attempt is left after so many failures: of the workload's own retries or, after a
 * device fault, of the policy's if those are more. So a job that breaks GPUs does not break them
 * all. */
bool weir_fate_has_retry(const struct weir_policy *policy, const struct weir_workload *job,
                         const struct weir_fate *fate, uint32_t n_failures);

/* What the next attempt's wait is put down to. */
enum weir_cause weir_fate_retry_cause(const struct weir_fate *fate);

/* When the attempt after this failure may start: base · 2^n_failures from now, capped. */
int64_t weir_fate_backoff(const struct weir_tick *tick, const struct weir_workload *job,
                          uint32_t n_failures);

/* Whether the back-off of a queued task is over. It is kept as a time of the wall clock, so that it
 * outlives a restart; but one that lies further ahead than a back-off of this task can be long was
 * reckoned before the clock was set back, and is over. So a clock that is set back makes a back-off
 * at most twice as long. */
bool weir_fate_is_due(const struct weir_tick *tick, const struct weir_workload *job,
                      const struct weir_task *task);

/* Why what runs is to leave: CANCELLED, RUN_LIMIT, DEVICE_FAULT, OVER_BUDGET, DRAINED; or NONE. */
uint32_t weir_fate_must_leave(struct weir_tick *tick, const struct weir_running *running);

/* Whether one that is leaving has to be stopped for this cause after all: it may still be writing
 * its checkpoint to run again later, and by this cause (RUN_LIMIT, OVER_BUDGET, GANG_BROKEN,
 * CANCELLED) it will not. One that is already being stopped for good keeps its first cause. */
bool weir_fate_overrules(const struct weir_running *running, uint32_t cause);

/* Between SIGTERM and SIGKILL. */
int64_t weir_fate_stop_grace(const struct weir_policy *policy, const struct weir_workload *job);
/* How long it may take until it is gone, once it is asked to leave for this cause: who leaves room
 * may write its checkpoint first. */
int64_t weir_fate_leave_ms(const struct weir_policy *policy, const struct weir_workload *job,
                           uint32_t cause);

#endif
