#include "core/heal/gang.h"

#include "base/err.h"
#include "core/heal/fate.h"
#include "core/heal/settle.h"
#include "core/queue/order.h"

struct gang {
    struct weir_tick *tick;
    const struct weir_workload *job;
    struct weir_overlay_job *state;
    uint32_t n_going;     /* run, and nothing says that they must leave */
    uint32_t n_holding;   /* still there after this decision */
    uint32_t n_succeeded; /* before and now */
    uint32_t n_ended;     /* for good and in vain, before this decision */
    uint32_t n_failed;    /* now */
    uint32_t n_retried;   /* failures counted now */
    bool may_retry;       /* all that failed now are worth another attempt, and have one left */
    bool fails;           /* it ends for good */
};

static void count_before(struct gang *gang)
{
    const struct weir_task *task;

    if (gang->job->n_done == 0)
        return;
    for (uint32_t at = gang->job->first_task; at != WEIR_NONE; at = task->next_in_workload) {
        task = weir_world_task(gang->tick->world, at);
        gang->n_succeeded += task->state == WEIR_TASK_SUCCEEDED;
        gang->n_ended +=
            weir_task_state_is_final(task->state) && task->state != WEIR_TASK_SUCCEEDED;
    }
}

static const struct weir_running *member(const struct gang *gang, uint32_t i)
{
    return &gang->tick->overlay.running[gang->state->first_running + i];
}

static struct weir_fate fate_of(const struct gang *gang, uint32_t i)
{
    return weir_fate_of(gang->tick, member(gang, i)->row, gang->job);
}

static void count_now(struct gang *gang)
{
    for (uint32_t i = 0; i < gang->state->n_running; i++) {
        struct weir_fate fate = fate_of(gang, i);

        gang->n_holding += fate.kind == WEIR_FATE_STAYS;
        gang->n_succeeded += fate.kind == WEIR_FATE_SUCCEEDED;
        gang->n_going += fate.kind == WEIR_FATE_STAYS &&
                         member(gang, i)->state == WEIR_RUNNING_LIVE &&
                         weir_fate_must_leave(gang->tick, member(gang, i)) == WEIR_CAUSE_NONE;
        if (fate.kind == WEIR_FATE_FAILED || fate.kind == WEIR_FATE_LOST) {
            gang->n_failed++;
            gang->may_retry &=
                weir_fate_has_retry(gang->tick->policy, gang->job, &fate, gang->job->n_failures);
        }
    }
}

static int settle(const struct gang *gang, uint32_t i, enum weir_task_state state,
                  enum weir_cause cause, int64_t not_before_wall_ms)
{
    return weir_settle_running(gang->tick, gang->state->first_running + i, state, cause,
                               not_before_wall_ms);
}

/* When the gang starts anew, only the first failure counts, and carries the back-off for all. */
static int settle_failed(struct gang *gang, uint32_t i, struct weir_fate fate, bool goes_on)
{
    uint32_t n_failures = gang->job->n_failures + gang->n_retried;
    bool is_again = goes_on ? weir_fate_has_retry(gang->tick->policy, gang->job, &fate, n_failures)
                            : !gang->fails;

    if (!is_again)
        return settle(gang, i, fate.kind == WEIR_FATE_LOST ? WEIR_TASK_LOST : WEIR_TASK_FAILED,
                      fate.cause, 0);
    if (!goes_on && gang->n_retried > 0)
        return settle(gang, i, WEIR_TASK_QUEUED, WEIR_CAUSE_GANG_BROKEN, 0);
    gang->n_retried++;
    return settle(gang, i, WEIR_TASK_QUEUED, weir_fate_retry_cause(&fate),
                  weir_fate_backoff(gang->tick, gang->job, n_failures));
}

static int settle_member(struct gang *gang, uint32_t i, bool goes_on)
{
    struct weir_fate fate = fate_of(gang, i);
    bool starts_anew = !goes_on && !gang->fails && gang->n_holding == 0;

    switch ((enum weir_fate_kind)fate.kind) {
    case WEIR_FATE_SUCCEEDED:
        if (starts_anew)
            return settle(gang, i, WEIR_TASK_QUEUED, WEIR_CAUSE_GANG_BROKEN, 0);
        return settle(gang, i, WEIR_TASK_SUCCEEDED, fate.cause, 0);
    case WEIR_FATE_LEFT:
        return settle(gang, i, gang->fails ? WEIR_TASK_CANCELLED : WEIR_TASK_QUEUED, fate.cause, 0);
    case WEIR_FATE_CANCELLED:
        return settle(gang, i, WEIR_TASK_CANCELLED, fate.cause, 0);
    case WEIR_FATE_FAILED:
    case WEIR_FATE_LOST:
        return settle_failed(gang, i, fate, goes_on);
    case WEIR_FATE_NOT_STARTED:
        if (gang->fails)
            return settle(gang, i, WEIR_TASK_CANCELLED, WEIR_CAUSE_GANG_BROKEN, 0);
        return settle(gang, i, WEIR_TASK_QUEUED, fate.cause,
                      gang->tick->now.wall_ms + gang->tick->policy->start_backoff_ms);
    case WEIR_FATE_STAYS:
    case WEIR_FATE_KIND_MAX:
        break;
    }
    return 0;
}

/* One that runs: must it leave, for its own sake or with the others? */
static int stop_member(struct gang *gang, uint32_t i, bool goes_on)
{
    uint32_t running = gang->state->first_running + i;
    uint32_t cause = weir_fate_must_leave(gang->tick, member(gang, i));

    if (member(gang, i)->row->ended != WEIR_END_NOT)
        return 0; /* it stays until it is known whose fault it was */
    if (weir_cause_requeues(cause) && !gang->fails)
        return weir_settle_evict(gang->tick, running, (enum weir_cause)cause, WEIR_NONE);
    if (cause != WEIR_CAUSE_NONE && !weir_cause_requeues(cause))
        return weir_settle_stop(gang->tick, running, (enum weir_cause)cause);
    if (goes_on)
        return 0;
    if (gang->fails)
        return weir_settle_stop(gang->tick, running, WEIR_CAUSE_GANG_BROKEN);
    return weir_settle_evict(gang->tick, running, WEIR_CAUSE_GANG_BROKEN, WEIR_NONE);
}

/* One that is leaving: must it be stopped for good meanwhile? */
static int overrule_member(struct gang *gang, uint32_t i, bool goes_on)
{
    uint32_t cause = weir_fate_must_leave(gang->tick, member(gang, i));

    if (!goes_on && gang->fails && !weir_fate_overrules(member(gang, i), cause))
        cause = WEIR_CAUSE_GANG_BROKEN;
    if (!weir_fate_overrules(member(gang, i), cause))
        return 0;
    return weir_settle_stop(gang->tick, gang->state->first_running + i, (enum weir_cause)cause);
}

/* What waits of a gang that ends does not go on waiting; what had succeeded of one that starts anew
 * waits again. */
static int settle_the_rest(struct gang *gang, bool goes_on)
{
    struct weir_tick *tick = gang->tick;
    bool starts_anew = !goes_on && !gang->fails && gang->n_holding == 0;
    const struct weir_task *task;

    for (uint32_t at = gang->job->first_task; at != WEIR_NONE; at = task->next_in_workload) {
        int r = 0;

        task = weir_world_task(tick->world, at);
        if (task->state == WEIR_TASK_QUEUED && gang->fails && !gang->job->cancelled)
            r = weir_settle_cancel(tick, at, WEIR_CAUSE_GANG_BROKEN);
        else if (task->state == WEIR_TASK_SUCCEEDED && starts_anew && !gang->job->cancelled)
            r = weir_settle_again(tick, at);
        if (r < 0)
            return r;
    }
    return 0;
}

int weir_heal_gang(struct weir_tick *tick, uint32_t workload)
{
    struct gang gang = {
        .tick = tick,
        .job = weir_world_workload(tick->world, workload),
        .state = &tick->overlay.jobs[workload],
        .may_retry = true,
    };
    uint32_t min = weir_gang_min(gang.job);
    uint32_t n_before = tick->draft.n_actions;
    bool goes_on;

    count_before(&gang);
    count_now(&gang);
    goes_on = gang.n_going + gang.n_succeeded >= min;
    if (!goes_on)
        gang.fails = gang.job->n_tasks - gang.n_ended < min || gang.job->cancelled ||
                     (gang.n_failed > 0 && !gang.may_retry);
    for (uint32_t i = 0; i < gang.state->n_running; i++) {
        int r;

        if (fate_of(&gang, i).kind != WEIR_FATE_STAYS)
            r = settle_member(&gang, i, goes_on);
        else if (member(&gang, i)->state == WEIR_RUNNING_LIVE)
            r = stop_member(&gang, i, goes_on);
        else
            r = overrule_member(&gang, i, goes_on);
        if (r < 0)
            return WEIR_E_NO_MEMORY;
    }
    if (!goes_on && settle_the_rest(&gang, goes_on) < 0)
        return WEIR_E_NO_MEMORY;
    gang.state->n_succeeded = gang.n_succeeded;
    gang.state->is_closed = !goes_on && tick->draft.n_actions != n_before;
    return 0;
}
