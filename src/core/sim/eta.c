/* One run per quantile: decide, carry out, go on to the next thing that will happen, decide again.
 */
#include "core/sim/eta.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "core/apply.h"
#include "core/heal/fate.h"
#include "core/sim/devices.h"
#include "core/sim/runtime.h"
#include "core/tick.h"

/* Something that will have happened to a task by then, if it still is the same attempt. */
struct event {
    int64_t wall_ms;
    uint32_t task;
    uint32_t attempt;
    uint16_t is_stop; /* it was asked to leave, and is gone */
    uint16_t is_assumed;
    uint32_t reserved;
};

struct run {
    struct weir_edit *edit;
    const struct weir_policy *policy;
    const struct weir_eta_limits *limits;
    enum weir_quantile quantile;
    struct weir_now start;
    struct weir_now now;
    struct weir_arena *arena;
    struct weir_arena scratch; /* of one step */
    struct event *events;      /* a heap, the first on top */
    uint32_t n_events;
    uint32_t cap_events;
    const uint32_t *asked_by_row; /* index in starts + 1 */
    int64_t *starts;
    uint32_t n_missing;
    bool has_assumed;  /* something ended when it was only assumed to */
    bool *are_assumed; /* like starts */
};

/* ---- events ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    if (a->wall_ms != b->wall_ms)
        return a->wall_ms < b->wall_ms;
    return a->task < b->task;
}

static void swap(struct event *a, struct event *b)
{
    struct event held = *a;

    *a = *b;
    *b = held;
}

static int push(struct run *run, struct event event)
{
    uint32_t at = run->n_events;

    if (weir_arena_grow(run->arena, &run->events, &run->cap_events, run->n_events + 1,
                        sizeof(event)) < 0)
        return WEIR_E_NO_MEMORY;
    run->events[run->n_events++] = event;
    for (; at > 0 && is_before(&run->events[at], &run->events[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&run->events[at], &run->events[(at - 1) / 2]);
    return 0;
}

static struct event pop(struct run *run)
{
    struct event top = run->events[0];
    uint32_t at = 0;

    run->events[0] = run->events[--run->n_events];
    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child >= run->n_events)
            break;
        if (child + 1 < run->n_events && is_before(&run->events[child + 1], &run->events[child]))
            child++;
        if (!is_before(&run->events[child], &run->events[at]))
            break;
        swap(&run->events[child], &run->events[at]);
        at = child;
    }
    return top;
}

static int expect_end(struct run *run, uint32_t task)
{
    const struct weir_world *view = weir_edit_view(run->edit);
    const struct weir_task *row = weir_world_task(view, task);
    const struct weir_workload *job = weir_world_workload(view, row->workload);
    bool is_stop = row->state == WEIR_TASK_STOPPING;
    int64_t ran = run->now.mono_ms - row->started_mono_ms;
    bool is_assumed = false;
    int64_t left =
        is_stop ? weir_fate_leave_ms(run->policy, job, row->stop_cause)
                : weir_runtime_left_of(view, run->policy, job, ran, run->quantile, &is_assumed);

    return push(run, (struct event){.wall_ms = weir_units_add(run->now.wall_ms, left),
                                    .task = task,
                                    .attempt = row->attempt,
                                    .is_stop = is_stop,
                                    .is_assumed = is_assumed});
}

static int expect_running(struct run *run)
{
    const struct weir_world *view = weir_edit_view(run->edit);

    for (uint32_t node = weir_world_first(view, WEIR_TABLE_NODES); node != WEIR_NONE;
         node = weir_world_after(view, WEIR_TABLE_NODES, node))
        for (uint32_t task = weir_world_node(view, node)->first_task; task != WEIR_NONE;
             task = weir_world_task(view, task)->next_on_node)
            if (weir_world_task(view, task)->ended == WEIR_END_NOT && expect_end(run, task) < 0)
                return WEIR_E_NO_MEMORY;
    return 0;
}

/* ---- steps ---- */

static void note_start(struct run *run, uint32_t workload)
{
    uint32_t asked = run->asked_by_row[workload];

    if (asked == 0 || run->starts[asked - 1] != INT64_MAX)
        return;
    run->starts[asked - 1] = run->now.wall_ms;
    run->are_assumed[asked - 1] = run->has_assumed;
    run->n_missing--;
}

/* What takes time with devices takes none here: what waits for it goes on at once. */
static int settle_devices(struct run *run, int64_t *wake_wall_ms, struct weir_err *err)
{
    int r = weir_sim_settle_devices(run->edit);

    if (r < 0)
        return weir_error(err, r, "estimate: out of memory");
    if (r == 1)
        *wake_wall_ms = run->now.wall_ms;
    return 0;
}

static int step(struct run *run, int64_t *ret_wake_wall_ms, struct weir_err *err)
{
    struct weir_plan plan;
    int r;

    weir_arena_reset(&run->scratch);
    r = weir_tick_decide(weir_edit_view(run->edit), run->policy, run->now, false, &run->scratch,
                         &plan);
    if (r < 0)
        return weir_error(err, r, "estimate: out of memory");
    r = weir_plan_apply(&plan, run->now, run->edit, err);
    for (uint32_t i = 0; r == 0 && i < plan.n_actions; i++) {
        const struct weir_action *action = &plan.actions[i];

        if (action->kind == WEIR_ACTION_START)
            note_start(run, action->workload);
        if (action->task != WEIR_NONE &&
            weir_task_state_holds(
                weir_world_task(weir_edit_view(run->edit), action->task)->state) &&
            expect_end(run, action->task) < 0)
            r = weir_error(err, WEIR_E_NO_MEMORY, "estimate: out of memory");
    }
    *ret_wake_wall_ms = plan.wake_wall_ms;
    return r < 0 ? r : settle_devices(run, ret_wake_wall_ms, err);
}

/* 1; 0 where it no longer applies; or WEIR_E_NO_MEMORY. */
static int happen(struct run *run, const struct event *event)
{
    const struct weir_task *row = weir_world_task(weir_edit_view(run->edit), event->task);
    bool is_stop = row->state == WEIR_TASK_STOPPING;
    struct weir_task *task;

    /* Another attempt, or asked to leave since. */
    if (row->attempt != event->attempt || !weir_task_state_holds(row->state) ||
        is_stop != (event->is_stop != 0))
        return 0;
    task = weir_edit_task(run->edit, event->task);
    if (task == NULL)
        return WEIR_E_NO_MEMORY;
    task->ended = is_stop ? WEIR_END_STOPPED : WEIR_END_EXITED;
    task->exit_status = 0;
    return 1;
}

/* On to the next thing that happens. 1; 0 when nothing more does within the horizon. */
static int advance(struct run *run, int64_t wake_wall_ms)
{
    int64_t next = run->n_events > 0 ? run->events[0].wall_ms : INT64_MAX;

    if (wake_wall_ms < next)
        next = wake_wall_ms;
    if (next < run->now.wall_ms)
        next = run->now.wall_ms;
    if (next == INT64_MAX || next - run->start.wall_ms > run->limits->horizon_ms)
        return 0;
    run->now.mono_ms += next - run->now.wall_ms;
    run->now.wall_ms = next;
    while (run->n_events > 0 && run->events[0].wall_ms <= next) {
        struct event event = pop(run);
        int r = happen(run, &event);

        if (r < 0)
            return r;
        run->has_assumed = run->has_assumed || (r == 1 && event.is_assumed != 0);
    }
    return 1;
}

static int simulate(struct run *run, struct weir_err *err)
{
    if (expect_running(run) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "estimate: out of memory");
    for (uint32_t i = 0; i < run->limits->max_steps && run->n_missing > 0; i++) {
        int64_t wake = INT64_MAX;
        int r = step(run, &wake, err);

        if (r < 0)
            return r;
        r = run->n_missing > 0 ? advance(run, wake) : 0;
        if (r < 0)
            return weir_error(err, r, "estimate: out of memory");
        if (r == 0)
            break;
    }
    return 0;
}

/* ---- the two quantiles ---- */

static int run_quantile(struct run *run, const struct weir_world *world, struct weir_err *err)
{
    int r;

    run->edit = weir_edit_fork(world);
    if (run->edit == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "estimate: out of memory");
    weir_arena_init(&run->scratch, run->arena->max_bytes);
    r = simulate(run, err);
    weir_arena_finish(&run->scratch);
    run->edit = weir_edit_destroy(run->edit);
    return r;
}

/* What waits for nothing has its start behind it. */
static uint32_t init_starts(const struct weir_world *world, const uint32_t *workloads, uint32_t n,
                            int64_t now_wall_ms, int64_t *starts, uint32_t *asked_by_row)
{
    uint32_t n_missing = 0;

    for (uint32_t i = 0; i < n; i++) {
        bool waits = weir_world_workload(world, workloads[i])->n_waiting > 0;

        starts[i] = waits ? INT64_MAX : now_wall_ms;
        if (!waits || asked_by_row[workloads[i]] != 0)
            continue;
        asked_by_row[workloads[i]] = i + 1;
        n_missing++;
    }
    return n_missing;
}

int weir_eta(const struct weir_world *world, const struct weir_policy *policy, struct weir_now now,
             uint64_t seed, const struct weir_eta_limits *limits, const uint32_t *workloads,
             uint32_t n, struct weir_arena *arena, struct weir_eta *ret_etas, struct weir_err *err)
{
    uint32_t n_rows = weir_world_table(world, WEIR_TABLE_WORKLOADS)->n_rows;
    int64_t *starts[2];
    uint32_t *asked[2];
    bool *assumed = weir_arena_new_n(arena, bool, n);

    (void)seed;
    for (uint32_t q = 0; q < 2; q++) {
        struct run run = {.policy = policy,
                          .limits = limits,
                          .quantile = (enum weir_quantile)q,
                          .start = now,
                          .now = now,
                          .arena = arena,
                          .are_assumed = assumed};
        int r;

        starts[q] = weir_arena_new_n(arena, int64_t, n);
        asked[q] = weir_arena_new_n(arena, uint32_t, n_rows);
        if (starts[q] == NULL || asked[q] == NULL || assumed == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "estimate: out of memory");
        run.n_missing = init_starts(world, workloads, n, now.wall_ms, starts[q], asked[q]);
        run.starts = starts[q];
        run.asked_by_row = asked[q];
        r = run_quantile(&run, world, err);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = asked[0][workloads[i]] != 0 ? asked[0][workloads[i]] - 1 : i;
        int64_t p50 = starts[0][first];
        int64_t p90 = starts[1][first];

        ret_etas[i] = (struct weir_eta){.workload = workloads[i],
                                        .is_assumed = assumed[first],
                                        .p50_wall_ms = p50,
                                        .p90_wall_ms = p90 > p50 ? p90 : p50};
    }
    return 0;
}
