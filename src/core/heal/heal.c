#include "core/heal/heal.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/sort.h"
#include "core/heal/fate.h"
#include "core/heal/gang.h"
#include "core/heal/settle.h"
#include "core/queue/order.h"

/* A job of its own: an array's task, or the only one. */
static int settle_one(struct weir_tick *tick, uint32_t running, struct weir_fate fate)
{
    const struct weir_running *r = &tick->overlay.running[running];
    bool retries = weir_fate_has_retry(tick->policy, r->job, &fate, r->row->n_failures);

    switch ((enum weir_fate_kind)fate.kind) {
    case WEIR_FATE_SUCCEEDED:
        return weir_settle_running(tick, running, WEIR_TASK_SUCCEEDED, fate.cause, 0);
    case WEIR_FATE_LEFT:
        return weir_settle_running(tick, running, WEIR_TASK_QUEUED, fate.cause, 0);
    case WEIR_FATE_CANCELLED:
        return weir_settle_running(tick, running, WEIR_TASK_CANCELLED, fate.cause, 0);
    case WEIR_FATE_FAILED:
    case WEIR_FATE_LOST:
        if (retries)
            return weir_settle_running(tick, running, WEIR_TASK_QUEUED,
                                       weir_fate_retry_cause(&fate),
                                       weir_fate_backoff(tick, r->job, r->row->n_failures));
        return weir_settle_running(tick, running,
                                   fate.kind == WEIR_FATE_LOST ? WEIR_TASK_LOST : WEIR_TASK_FAILED,
                                   fate.cause, 0);
    case WEIR_FATE_NOT_STARTED:
        return weir_settle_running(tick, running, WEIR_TASK_QUEUED, fate.cause,
                                   tick->now.wall_ms + tick->policy->start_backoff_ms);
    case WEIR_FATE_STAYS:
    case WEIR_FATE_KIND_MAX:
        break;
    }
    return 0;
}

static int heal_one(struct weir_tick *tick, uint32_t running)
{
    const struct weir_running *r = &tick->overlay.running[running];
    struct weir_fate fate = weir_fate_of(tick, r->row, r->job);
    uint32_t cause;

    if (fate.kind != WEIR_FATE_STAYS)
        return settle_one(tick, running, fate);
    if (r->row->ended != WEIR_END_NOT)
        return 0;
    cause = weir_fate_must_leave(tick, r);
    if (cause == WEIR_CAUSE_NONE ||
        (r->state != WEIR_RUNNING_LIVE && !weir_fate_overrules(r, cause)))
        return 0;
    if (weir_cause_requeues(cause))
        return weir_settle_evict(tick, running, cause, WEIR_NONE);
    return weir_settle_stop(tick, running, cause);
}

static int heal_job(struct weir_tick *tick, uint32_t row)
{
    const struct weir_workload *job = weir_world_workload(tick->world, row);
    const struct weir_overlay_job *state = &tick->overlay.jobs[row];
    const struct weir_task *task;

    if (!weir_is_independent(job) && weir_heal_gang(tick, row) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; weir_is_independent(job) && i < state->n_running; i++)
        if (heal_one(tick, state->first_running + i) < 0)
            return WEIR_E_NO_MEMORY;
    if (!job->cancelled)
        return 0;
    for (uint32_t at = job->first_task; at != WEIR_NONE; at = task->next_in_workload) {
        task = weir_world_task(tick->world, at);
        if (task->state == WEIR_TASK_QUEUED &&
            weir_settle_cancel(tick, at, WEIR_CAUSE_CANCELLED) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* Nothing runs, nothing was cancelled, nothing of a gang has ended: nothing to heal. */
static bool is_untouched(const struct weir_tick *tick, uint32_t row,
                         const struct weir_workload *job)
{
    return tick->overlay.jobs[row].n_running == 0 && !job->cancelled &&
           (weir_is_independent(job) || job->n_done == 0);
}

static int compare_jobs(const void *a, const void *b, const void *ctx)
{
    uint32_t x;
    uint32_t y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return weir_key_cmp(&weir_world_workload(ctx, x)->row.key,
                        &weir_world_workload(ctx, y)->row.key);
}

int weir_heal(struct weir_tick *tick)
{
    const struct weir_world *world = tick->world;
    uint32_t *rows = NULL;
    uint32_t n = 0;
    uint32_t cap = 0;

    for (uint32_t row = weir_world_first(world, WEIR_TABLE_WORKLOADS); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_WORKLOADS, row)) {
        if (is_untouched(tick, row, weir_world_workload(world, row)))
            continue;
        if (weir_arena_grow(tick->arena, &rows, &cap, n + 1, sizeof(rows[0])) < 0)
            return WEIR_E_NO_MEMORY;
        rows[n++] = row;
    }
    if (weir_sort(rows, n, sizeof(rows[0]), compare_jobs, world, tick->arena) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        if (heal_job(tick, rows[i]) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}
