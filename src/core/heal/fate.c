#include "core/heal/fate.h"

#include "base/units.h"
#include "core/heal/budget.h"

/* As a shell gives it: 128 + SIGKILL, 128 + SIGTERM. */
enum { STATUS_KILLED = 137, STATUS_TERMINATED = 143 };

static bool is_worth_a_retry(const struct weir_world *world, const struct weir_workload *job,
                             int32_t status)
{
    uint32_t n = weir_world_span_len(world, job->retry_on);

    if (job->retry_on == WEIR_NONE)
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (weir_world_span_at(world, job->retry_on, i) == (uint32_t)status)
            return true;
    return false;
}

/* The worst of what it holds. A lost device alone says nothing: the driver may be away for a
 * moment. */
static enum weir_device_health health_of(const struct weir_world *world,
                                         const struct weir_task *task)
{
    enum weir_device_health worst = WEIR_DEVICE_HEALTHY;

    for (uint32_t h = task->first_hold; h != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        uint32_t health = weir_world_device(world, hold->device)->health;

        if (health == WEIR_DEVICE_UNHEALTHY)
            return WEIR_DEVICE_UNHEALTHY;
        if (health == WEIR_DEVICE_SUSPECT)
            worst = WEIR_DEVICE_SUSPECT;
        h = hold->next_of_task;
    }
    return worst;
}

static struct weir_fate fate_of_failure(const struct weir_world *world,
                                        const struct weir_workload *job, uint32_t cause,
                                        int32_t status)
{
    return (struct weir_fate){WEIR_FATE_FAILED, cause,
                              !job->cancelled && is_worth_a_retry(world, job, status)};
}

/* Supervisors tell an exit before the request to leave from one after it: STOPPED is what obeyed,
 * EXITED had ended by itself when the request came, and its success holds. A failure in that moment
 * does not: it may well follow from the stop of others of the gang, so it counts as leaving. */
static struct weir_fate fate_after_stop(const struct weir_world *world,
                                        const struct weir_task *task,
                                        const struct weir_workload *job)
{
    bool is_cancelled = task->stop_cause == WEIR_CAUSE_CANCELLED || job->cancelled;

    if (task->ended == WEIR_END_EXITED && task->exit_status == 0 && !is_cancelled)
        return (struct weir_fate){WEIR_FATE_SUCCEEDED, WEIR_CAUSE_EXITED, false};
    if (task->stop_cause == WEIR_CAUSE_RUN_LIMIT)
        return (struct weir_fate){WEIR_FATE_FAILED, WEIR_CAUSE_RUN_LIMIT, false};
    if (task->stop_cause == WEIR_CAUSE_OVER_BUDGET)
        return fate_of_failure(world, job, WEIR_CAUSE_OVER_BUDGET,
                               task->exit_status != 0 ? task->exit_status : STATUS_TERMINATED);
    if (is_cancelled)
        return (struct weir_fate){WEIR_FATE_CANCELLED, WEIR_CAUSE_CANCELLED, false};
    if (task->stop_cause == WEIR_CAUSE_DEVICE_FAULT)
        return (struct weir_fate){WEIR_FATE_FAILED, WEIR_CAUSE_DEVICE_FAULT, true};
    return (struct weir_fate){WEIR_FATE_LEFT, task->stop_cause, false};
}

/* Of one that ended by itself, by what it says itself. */
static struct weir_fate fate_by_end(const struct weir_world *world, const struct weir_task *task,
                                    const struct weir_workload *job)
{
    int32_t status = task->exit_status;

    switch ((enum weir_end)task->ended) {
    case WEIR_END_EXITED:
        if (status == 0)
            return (struct weir_fate){WEIR_FATE_SUCCEEDED, WEIR_CAUSE_EXITED, false};
        return fate_of_failure(world, job, WEIR_CAUSE_EXITED, status);
    case WEIR_END_TIME_LIMIT:
        return (struct weir_fate){WEIR_FATE_FAILED, WEIR_CAUSE_TIME_LIMIT, false};
    case WEIR_END_OUT_OF_MEMORY:
        return fate_of_failure(world, job, WEIR_CAUSE_OUT_OF_MEMORY,
                               status != 0 ? status : STATUS_KILLED);
    case WEIR_END_LOST:
        return (struct weir_fate){WEIR_FATE_LOST, WEIR_CAUSE_LOST, !job->cancelled};
    case WEIR_END_NOT_STARTED:
        if (job->cancelled)
            return (struct weir_fate){WEIR_FATE_CANCELLED, WEIR_CAUSE_CANCELLED, false};
        return (struct weir_fate){WEIR_FATE_NOT_STARTED, WEIR_CAUSE_NOT_STARTED, false};
    case WEIR_END_STOPPED: /* by nobody we know of: a failure like another */
    case WEIR_END_NOT:
    case WEIR_END_MAX:
        break;
    }
    if (job->cancelled)
        return (struct weir_fate){WEIR_FATE_CANCELLED, WEIR_CAUSE_CANCELLED, false};
    return fate_of_failure(world, job, WEIR_CAUSE_EXITED, status);
}

struct weir_fate weir_fate_of(struct weir_tick *tick, const struct weir_task *task,
                              const struct weir_workload *job)
{
    const struct weir_world *world = tick->world;
    struct weir_fate fate;
    enum weir_device_health health;

    if (task->ended == WEIR_END_NOT)
        return (struct weir_fate){WEIR_FATE_STAYS, WEIR_CAUSE_NONE, false};
    if (task->state == WEIR_TASK_STOPPING)
        return fate_after_stop(world, task, job);
    fate = fate_by_end(world, task, job);
    if ((fate.kind != WEIR_FATE_FAILED && fate.kind != WEIR_FATE_LOST) ||
        fate.cause == WEIR_CAUSE_TIME_LIMIT || job->cancelled)
        return fate;
    health = health_of(world, task);
    if (health == WEIR_DEVICE_SUSPECT &&
        weir_tick_awaits(tick, task->ended_wall_ms, tick->policy->verdict_ms))
        return (struct weir_fate){WEIR_FATE_STAYS, WEIR_CAUSE_NONE, false};
    if (health == WEIR_DEVICE_UNHEALTHY)
        return (struct weir_fate){WEIR_FATE_FAILED, WEIR_CAUSE_DEVICE_FAULT, true};
    return fate;
}

bool weir_fate_has_retry(const struct weir_policy *policy, const struct weir_workload *job,
                         const struct weir_fate *fate, uint32_t n_failures)
{
    uint32_t n_max = job->retries_max;

    if (fate->cause == WEIR_CAUSE_DEVICE_FAULT && policy->fault_retries > n_max)
        n_max = policy->fault_retries;
    return fate->may_retry && n_failures < n_max;
}

enum weir_cause weir_fate_retry_cause(const struct weir_fate *fate)
{
    return fate->cause == WEIR_CAUSE_DEVICE_FAULT ? WEIR_CAUSE_DEVICE_FAULT : WEIR_CAUSE_RETRIED;
}

static int64_t backoff_of(const struct weir_policy *policy, const struct weir_workload *job,
                          uint32_t n_failures)
{
    int64_t backoff = job->backoff_ms > 0 ? job->backoff_ms : policy->backoff_ms;

    for (uint32_t i = 0; i < n_failures && backoff < policy->backoff_max_ms; i++)
        backoff = weir_units_mul(backoff, 2);
    return backoff < policy->backoff_max_ms ? backoff : policy->backoff_max_ms;
}

int64_t weir_fate_backoff(const struct weir_tick *tick, const struct weir_workload *job,
                          uint32_t n_failures)
{
    return tick->now.wall_ms + backoff_of(tick->policy, job, n_failures);
}

/* The failure that a back-off follows is counted by now, of the task or of its gang; and the task
 * may have failed to start instead. */
bool weir_fate_is_due(const struct weir_tick *tick, const struct weir_workload *job,
                      const struct weir_task *task)
{
    uint32_t n_failures = task->n_failures > job->n_failures ? task->n_failures : job->n_failures;
    int64_t longest = backoff_of(tick->policy, job, n_failures > 0 ? n_failures - 1 : 0);
    int64_t left = task->not_before_wall_ms - tick->now.wall_ms;

    if (longest < tick->policy->start_backoff_ms)
        longest = tick->policy->start_backoff_ms;
    return left <= 0 || left > longest;
}

uint32_t weir_fate_must_leave(struct weir_tick *tick, const struct weir_running *running)
{
    int64_t limit = weir_world_run_limit_ms(tick->world, running->job->queue);
    int64_t ran = tick->now.mono_ms - running->row->started_mono_ms;

    if (running->job->cancelled)
        return WEIR_CAUSE_CANCELLED;
    if (limit != INT64_MAX && ran >= limit)
        return WEIR_CAUSE_RUN_LIMIT;
    if (limit != INT64_MAX)
        weir_tick_wake(tick, tick->now.wall_ms + (limit - ran));
    if (health_of(tick->world, running->row) == WEIR_DEVICE_UNHEALTHY)
        return WEIR_CAUSE_DEVICE_FAULT;
    if (weir_budget_is_broken(tick->world, running))
        return WEIR_CAUSE_OVER_BUDGET;
    if (tick->overlay.nodes[running->node].row->phase == WEIR_NODE_DRAINING)
        return WEIR_CAUSE_DRAINED;
    return WEIR_CAUSE_NONE;
}

bool weir_fate_overrules(const struct weir_running *running, uint32_t cause)
{
    return running->row->state == WEIR_TASK_STOPPING &&
           weir_cause_makes_room(running->row->stop_cause) && cause != WEIR_CAUSE_NONE &&
           !weir_cause_requeues(cause);
}

int64_t weir_fate_stop_grace(const struct weir_policy *policy, const struct weir_workload *job)
{
    return job->stop_grace_ms > 0 ? job->stop_grace_ms : policy->stop_grace_ms;
}

int64_t weir_fate_leave_ms(const struct weir_policy *policy, const struct weir_workload *job,
                           uint32_t cause)
{
    int64_t grace = weir_fate_stop_grace(policy, job);

    if (job->checkpoint_signal == 0 || !weir_cause_makes_room(cause))
        return grace;
    return weir_units_add(job->checkpoint_grace_ms, grace);
}
