/* Who waits at all, what for, and who may not be considered yet. */
#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"
#include "core/heal/fate.h"
#include "core/queue/order.h"

struct readiness {
    uint32_t role;         /* of the first task that may start */
    uint32_t n_ready;      /* tasks that may start; of independent ones the first is enough */
    uint32_t n_later;      /* tasks in a back-off */
    int64_t first_wall_ms; /* when the first of those may start, */
    int64_t last_wall_ms;  /* and the last */
};

static struct readiness look_at_tasks(const struct weir_line *line, const struct weir_workload *job,
                                      bool first_is_enough)
{
    struct readiness ready = {.role = WEIR_NONE, .first_wall_ms = INT64_MAX};
    const struct weir_task *task;

    for (uint32_t at = job->first_task; at != WEIR_NONE; at = task->next_in_workload) {
        task = weir_world_task(line->tick->world, at);
        if (task->state != WEIR_TASK_QUEUED)
            continue;
        if (weir_fate_is_due(line->tick, job, task)) {
            if (ready.n_ready++ == 0)
                ready.role = task->role;
            if (first_is_enough)
                break;
            continue;
        }
        ready.n_later++;
        if (task->not_before_wall_ms < ready.first_wall_ms)
            ready.first_wall_ms = task->not_before_wall_ms;
        if (task->not_before_wall_ms > ready.last_wall_ms)
            ready.last_wall_ms = task->not_before_wall_ms;
    }
    return ready;
}

static int add_part(struct weir_line *line, uint32_t *n_parts, uint32_t shape, uint32_t n)
{
    if (weir_arena_grow(line->tick->arena, &line->parts, &line->cap_parts, *n_parts + 1,
                        sizeof(line->parts[0])) < 0)
        return WEIR_E_NO_MEMORY;
    line->parts[(*n_parts)++] = (struct weir_want_part){shape, n};
    return 0;
}

static uint32_t count_waiting(const struct weir_line *line, const struct weir_workload *job,
                              uint32_t role)
{
    const struct weir_task *task;
    uint32_t n = 0;

    for (uint32_t at = job->first_task; at != WEIR_NONE; at = task->next_in_workload) {
        task = weir_world_task(line->tick->world, at);
        n += task->role == role && task->state == WEIR_TASK_QUEUED;
    }
    return n;
}

/* Of each role what it cannot do without, then as many in order of the roles as the gang needs, out
 * of what waits. */
static int gang_parts(struct weir_line *line, const struct weir_workload *job, uint32_t *n_parts)
{
    uint32_t missing = weir_gang_min(job);
    const struct weir_role *role;

    for (uint32_t at = job->first_role; at != WEIR_NONE; at = role->next_in_workload) {
        uint32_t waiting = count_waiting(line, job, at);
        uint32_t n;

        role = weir_world_role(line->tick->world, at);
        n = role->n_min < waiting ? role->n_min : waiting;
        missing -= n < missing ? n : missing;
        if (add_part(line, n_parts, role->shape, n) < 0)
            return WEIR_E_NO_MEMORY;
    }
    *n_parts = 0;
    for (uint32_t at = job->first_role; at != WEIR_NONE; at = role->next_in_workload) {
        struct weir_want_part *part = &line->parts[(*n_parts)++];
        uint32_t more = count_waiting(line, job, at) - part->n;

        role = weir_world_role(line->tick->world, at);
        if (more > missing)
            more = missing;
        part->n += more;
        missing -= more;
    }
    return 0;
}

/* The domain of the level it requires that what runs of a gang has fixed. */
static struct weir_scope scope_of_running(const struct weir_overlay *overlay, uint32_t workload,
                                          uint32_t level)
{
    const struct weir_overlay_job *state = &overlay->jobs[workload];

    for (uint32_t i = 0; level < WEIR_TOPOLOGY_LEVELS && i < state->n_running; i++) {
        const struct weir_running *r = &overlay->running[state->first_running + i];
        uint32_t value = overlay->nodes[r->node].row->topology[level];

        if (r->state == WEIR_RUNNING_LIVE)
            return (struct weir_scope){level, value, value == WEIR_NONE ? r->node : 0, 0, 0};
    }
    return WEIR_SCOPE_ALL;
}

static uint32_t owner_of(const struct weir_line *line, const struct weir_workload *job)
{
    return line->tick->overlay.mps_owners ? job->owner : WEIR_NONE;
}

int weir_line_want_of_task(struct weir_line *line, uint32_t workload, uint32_t role,
                           uint32_t *ret_want)
{
    const struct weir_workload *job = weir_world_workload(line->tick->world, workload);
    struct weir_want want = {.leaf = job->queue,
                             .owner = owner_of(line, job),
                             .topology = WEIR_TOPOLOGY_ANY,
                             .scope = WEIR_SCOPE_ALL};

    if (!weir_is_independent(job)) {
        want.topology = job->topology;
        want.scope = scope_of_running(&line->tick->overlay, workload, job->topology.required);
    }
    if (add_part(line, &want.n_parts, weir_world_role(line->tick->world, role)->shape, 1) < 0)
        return WEIR_E_NO_MEMORY;
    want.parts = line->parts;
    return weir_line_intern(line, &want, ret_want);
}

static int want_of_gang(struct weir_line *line, const struct weir_workload *job, uint32_t *ret_want)
{
    struct weir_want want = {
        .leaf = job->queue,
        .owner = owner_of(line, job),
        .is_gang = 1,
        .topology = job->topology,
        .scope = WEIR_SCOPE_ALL,
    };

    if (gang_parts(line, job, &want.n_parts) < 0)
        return WEIR_E_NO_MEMORY;
    want.parts = line->parts;
    return weir_line_intern(line, &want, ret_want);
}

/* Why the workload may not be considered now, and until when. */
static void judge_time(const struct weir_line *line, const struct weir_workload *job,
                       const struct readiness *ready, bool is_gang, struct weir_candidate *c)
{
    const struct weir_line_queue *queue = &line->queues[job->queue];
    int64_t now = line->tick->now.wall_ms;

    if (job->held) {
        c->code = WEIR_REASON_HELD;
    } else if (job->not_before_wall_ms > now) {
        c->code = job->n_failures > 0 ? WEIR_REASON_BACKOFF : WEIR_REASON_BEGIN_TIME;
        c->until_wall_ms = job->not_before_wall_ms;
    } else if (queue->closed != WEIR_NONE) {
        c->code = WEIR_REASON_BEGIN_TIME;
        c->queue = queue->closed;
        c->until_wall_ms = queue->opens_wall_ms;
    } else if (is_gang ? ready->n_later > 0 : ready->n_ready == 0) {
        c->code = WEIR_REASON_BACKOFF;
        c->until_wall_ms = is_gang ? ready->last_wall_ms : ready->first_wall_ms;
    }
}

static bool has_leaving(const struct weir_overlay *overlay, uint32_t workload)
{
    const struct weir_overlay_job *job = &overlay->jobs[workload];

    for (uint32_t i = 0; i < job->n_running; i++)
        if (overlay->running[job->first_running + i].state != WEIR_RUNNING_GONE)
            return true;
    return false;
}

static int add_workload(struct weir_line *line, uint32_t row, const struct weir_workload *job)
{
    const struct weir_overlay *overlay = &line->tick->overlay;
    bool one_by_one = weir_is_independent(job) || weir_gang_goes_on(overlay, row);
    struct readiness ready = look_at_tasks(line, job, one_by_one);
    struct weir_candidate c = {
        .key = &job->row.key,
        .submitted_wall_ms = job->submitted_wall_ms,
        .workload = row,
        .leaf = job->queue,
        .priority = job->priority,
        .is_owed = overlay->jobs[row].is_owed,
        .queue = WEIR_NONE,
    };

    judge_time(line, job, &ready, !one_by_one, &c);
    /* A gang that left or broke starts anew when the last of it is gone. */
    if (c.code == WEIR_REASON_NONE &&
        (overlay->jobs[row].is_closed || (!one_by_one && has_leaving(overlay, row))))
        c.code = WEIR_REASON_GANG;
    if (ready.n_later > 0 && !job->held)
        weir_tick_wake(line->tick, ready.first_wall_ms);
    if (c.code != WEIR_REASON_NONE) {
        if (c.until_wall_ms > 0)
            weir_tick_wake(line->tick, c.until_wall_ms);
        line->idle[line->n_idle++] = c;
        return 0;
    }
    if ((one_by_one ? weir_line_want_of_task(line, row, ready.role, &c.want)
                    : want_of_gang(line, job, &c.want)) < 0)
        return WEIR_E_NO_MEMORY;
    line->candidates[line->n_candidates++] = c;
    return 0;
}

int weir_line_collect(struct weir_line *line)
{
    const struct weir_world *world = line->tick->world;
    uint32_t n = 0;

    for (uint32_t row = weir_world_first(world, WEIR_TABLE_WORKLOADS); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_WORKLOADS, row))
        n += weir_world_workload(world, row)->n_waiting > 0;
    line->candidates = weir_arena_new_n(line->tick->arena, struct weir_candidate, n);
    line->idle = weir_arena_new_n(line->tick->arena, struct weir_candidate, n);
    line->order = weir_arena_new_n(line->tick->arena, uint32_t, n);
    if (line->candidates == NULL || line->idle == NULL || line->order == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t row = weir_world_first(world, WEIR_TABLE_WORKLOADS); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_WORKLOADS, row)) {
        const struct weir_workload *job = weir_world_workload(world, row);

        if (job->n_waiting > 0 && !job->cancelled && add_workload(line, row, job) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}
