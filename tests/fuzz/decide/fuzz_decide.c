/* Input: a small world, and what happens to it. Beginning with 'w' the world is a keyframe as in
 * fuzz/world_codec (4 bytes length, the keyframe); else the bytes build one. The rest is events
 * between decisions. Whatever passes the check is decided on, the plan is whole and can be carried
 * out, and the world passes the check again. */
#include "fuzz_world.h"

#include "base/arena.h"
#include "base/buf.h"
#include "core/apply.h"
#include "core/decide.h"
#include "core/sim/eta.h"
#include "model/world_check.h"
#include "model/world_codec.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, BYTES_MAX = 64 << 10, ARENA_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct input in;
    struct weir_edit *edit;
    struct weir_policy policy;
    struct weir_now now;
};

/* ---- the plan is whole ---- */

static bool is_row(const struct weir_world *world, enum weir_table_id table, uint32_t row)
{
    return row < weir_world_table(world, table)->n_rows &&
           weir_table_is_live(weir_world_table(world, table), row);
}

static bool is_of_device(const struct weir_action *a)
{
    return a->kind == WEIR_ACTION_RESHAPE || a->kind == WEIR_ACTION_SHARE;
}

static void check_change(const struct weir_world *world, const struct weir_action *a)
{
    const struct weir_device *device;

    WEIR_ASSERT(is_row(world, WEIR_TABLE_DEVICES, a->device) && a->task == WEIR_NONE &&
                a->workload == WEIR_NONE && a->n_grants == 0);
    device = weir_world_device(world, a->device);
    WEIR_ASSERT(device->phase == WEIR_DEVICE_THERE);
    if (a->kind == WEIR_ACTION_SHARE) {
        WEIR_ASSERT(device->mps == (a->amount == 1 ? WEIR_MPS_OFF : WEIR_MPS_ON));
        return;
    }
    WEIR_ASSERT(a->reshape < WEIR_RESHAPE_MAX &&
                (device->kind == WEIR_DEVICE_MIG) == (a->reshape == WEIR_RESHAPE_DESTROY));
    WEIR_ASSERT(a->reshape != WEIR_RESHAPE_CREATE ||
                (a->slots != 0 && (a->slots & (~device->slots | device->slots_used)) == 0));
}

static void check_actions(const struct weir_world *world, const struct weir_plan *plan)
{
    uint8_t *seen = calloc(weir_world_table(world, WEIR_TABLE_TASKS)->n_rows + 1u, 1);

    WEIR_ASSERT(seen != NULL);
    for (uint32_t i = 0; i < plan->n_actions; i++) {
        const struct weir_action *a = &plan->actions[i];

        WEIR_ASSERT(a->order == i && a->kind < WEIR_ACTION_KIND_MAX && a->cause < WEIR_CAUSE_MAX);
        if (is_of_device(a)) {
            check_change(world, a);
            continue;
        }
        WEIR_ASSERT(is_row(world, WEIR_TABLE_TASKS, a->task) && !seen[a->task]);
        WEIR_ASSERT(weir_world_task(world, a->task)->workload == a->workload);
        WEIR_ASSERT(a->first_grant + a->n_grants <= plan->n_grants);
        WEIR_ASSERT(a->for_whom == WEIR_NONE || is_row(world, WEIR_TABLE_WORKLOADS, a->for_whom));
        seen[a->task] = 1;
    }
    free(seen);
}

/* A tree: every reason is reached once at most, within three levels. */
static void walk(const struct weir_plan *plan, uint32_t at, uint8_t *seen, int depth)
{
    for (; at != WEIR_NONE; at = plan->reasons[at].next) {
        WEIR_ASSERT(at < plan->n_reasons && !seen[at] && depth < 3);
        seen[at] = 1;
        walk(plan, plan->reasons[at].first_child, seen, depth + 1);
    }
}

static void check_ends(const struct weir_world *world, const struct weir_plan *plan,
                       const struct weir_verdict *v)
{
    bool waits = v->unblock == WEIR_UNBLOCK_WAIT_FOR || v->unblock == WEIR_UNBLOCK_WAIT_FOR_ANY;

    WEIR_ASSERT(v->unblock_first_end + v->unblock_n_ends <= plan->n_ends);
    WEIR_ASSERT(v->unblock_first_cordon + v->unblock_n_cordons <= plan->n_cordons);
    WEIR_ASSERT((v->unblock == WEIR_UNBLOCK_UNCORDON) == (v->unblock_n_cordons > 0));
    WEIR_ASSERT(!waits || (v->unblock_n_ends > 0 &&
                           plan->ends[v->unblock_first_end].workload == v->unblock_subject));
    WEIR_ASSERT(waits || v->unblock == WEIR_UNBLOCK_UNCORDON ||
                v->unblock_n_ends + v->unblock_n_more_ends == 0);
    for (uint32_t i = 0; i < v->unblock_n_ends; i++) {
        uint32_t workload = plan->ends[v->unblock_first_end + i].workload;

        WEIR_ASSERT(is_row(world, WEIR_TABLE_WORKLOADS, workload));
        for (uint32_t j = 0; j < i; j++)
            WEIR_ASSERT(plan->ends[v->unblock_first_end + j].workload != workload);
    }
}

static void check_reasons(const struct weir_world *world, const struct weir_plan *plan)
{
    uint8_t *seen = calloc(plan->n_reasons + 1u, 1);

    WEIR_ASSERT(seen != NULL);
    for (uint32_t i = 0; i < plan->n_verdicts; i++) {
        const struct weir_verdict *v = &plan->verdicts[i];

        WEIR_ASSERT(is_row(world, WEIR_TABLE_WORKLOADS, v->workload) && v->position == i + 1);
        WEIR_ASSERT(v->reason < plan->n_reasons && v->unblock < WEIR_UNBLOCK_MAX);
        if (!seen[v->reason]) /* else it shares the tree of another */
            walk(plan, v->reason, seen, 0);
        WEIR_ASSERT(v->blocking < plan->n_reasons && seen[v->blocking]);
        check_ends(world, plan, v);
    }
    for (uint32_t i = 0; i < plan->n_reasons; i++) {
        const struct weir_reason *r = &plan->reasons[i];

        WEIR_ASSERT(seen[i] && r->level < WEIR_LEVEL_MAX && r->code < WEIR_REASON_CODE_MAX);
        WEIR_ASSERT(r->first_holder + r->n_holders <= plan->n_holders);
    }
    free(seen);
}

/* ---- what happens ---- */

static uint32_t any_row(struct run *run, enum weir_table_id table)
{
    const struct weir_world *view = weir_edit_view(run->edit);
    uint32_t n = weir_world_table(view, table)->n_live;
    uint32_t row = weir_world_first(view, table);

    for (uint32_t i = n > 0 ? input_below(&run->in, n) : 0; i > 0; i--)
        row = weir_world_after(view, table, row);
    return row;
}

static void end_task(struct run *run)
{
    uint32_t row = any_row(run, WEIR_TABLE_TASKS);
    struct weir_task *task;

    if (row == WEIR_NONE ||
        !weir_task_state_holds(weir_world_task(weir_edit_view(run->edit), row)->state))
        return;
    task = weir_edit_task(run->edit, row);
    WEIR_ASSERT(task != NULL);
    task->ended = 1 + input_below(&run->in, WEIR_END_MAX - 1);
    task->exit_status = (int32_t)input_below(&run->in, 3);
}

static void change_job(struct run *run, uint32_t what)
{
    uint32_t row = any_row(run, WEIR_TABLE_WORKLOADS);
    struct weir_workload *job;

    if (row == WEIR_NONE)
        return;
    if (what == 0) {
        WEIR_ASSERT(weir_edit_remove_workload(run->edit, row) == 0);
        return;
    }
    job = weir_edit_workload(run->edit, row);
    WEIR_ASSERT(job != NULL);
    if (what == 1)
        job->cancelled = 1;
    else if (what == 2)
        job->held = !job->held;
    else
        job->priority = (int32_t)input_below(&run->in, 6) - 2;
}

static void change_fleet(struct run *run, bool device)
{
    uint32_t row = any_row(run, device ? WEIR_TABLE_DEVICES : WEIR_TABLE_NODES);

    if (row == WEIR_NONE)
        return;
    if (device)
        weir_edit_device(run->edit, row)->health = input_below(&run->in, WEIR_DEVICE_HEALTH_MAX);
    else
        weir_edit_node(run->edit, row)->phase = input_below(&run->in, WEIR_NODE_PHASE_MAX);
}

static void change_queue(struct run *run)
{
    uint32_t row = any_row(run, WEIR_TABLE_QUEUES);

    if (row == WEIR_NONE)
        return;
    weir_edit_queue(run->edit, row)->guaranteed.of[WEIR_RES_GPU] = 500 * input_below(&run->in, 9);
    weir_edit_queue(run->edit, row)->limit.of[WEIR_RES_GPU] = 500 * input_below(&run->in, 17);
}

/* One more sample of what somebody uses. */
static void use_memory(struct run *run)
{
    uint32_t hold = any_row(run, WEIR_TABLE_HOLDS);

    if (hold != WEIR_NONE)
        WEIR_ASSERT(
            weir_edit_hold_use(run->edit, hold, (int64_t)input_below(&run->in, 256) << 28) >= 0);
}

static void everybody(struct run *run, enum weir_task_state state)
{
    const struct weir_world *view = weir_edit_view(run->edit);

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_TASKS, at)) {
        if (weir_world_task(view, at)->state != state)
            continue;
        if (state == WEIR_TASK_STARTING)
            WEIR_ASSERT(weir_edit_task_state(run->edit, at, WEIR_TASK_RUNNING) == 0);
        else
            weir_edit_task(run->edit, at)->ended = WEIR_END_STOPPED;
    }
}

/* What was begun with GPUs ends, or fails. */
static void end_changes(struct run *run)
{
    const struct weir_world *view = weir_edit_view(run->edit);
    bool fails = input_below(&run->in, 4) == 3;
    uint32_t next;

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_DEVICES); at != WEIR_NONE; at = next) {
        const struct weir_device *seen = weir_world_device(view, at);
        bool is_gone =
            fails ? seen->phase == WEIR_DEVICE_MAKING : seen->phase == WEIR_DEVICE_UNMAKING;
        struct weir_device *row;

        next = weir_world_after(view, WEIR_TABLE_DEVICES, at);
        if (is_gone && seen->first_hold == WEIR_NONE) {
            WEIR_ASSERT(weir_edit_remove_device(run->edit, at) == 0);
            continue;
        }
        if (is_gone || (seen->phase == WEIR_DEVICE_THERE && seen->mps != WEIR_MPS_STARTING &&
                        seen->mps != WEIR_MPS_STOPPING))
            continue;
        row = weir_edit_device(run->edit, at);
        WEIR_ASSERT(row != NULL);
        if (!fails && row->phase == WEIR_DEVICE_SWITCHING)
            row->mig = row->mig == WEIR_MIG_ON ? WEIR_MIG_OFF : WEIR_MIG_ON;
        if (row->phase == WEIR_DEVICE_MAKING)
            row->instance = at + 1;
        row->phase = WEIR_DEVICE_THERE;
        if (row->mps == WEIR_MPS_STARTING || row->mps == WEIR_MPS_STOPPING)
            row->mps = (row->mps == WEIR_MPS_STARTING) != fails ? WEIR_MPS_ON : WEIR_MPS_OFF;
        if (fails)
            row->change_not_before_wall_ms = run->now.wall_ms + 1000;
    }
}

static void happen(struct run *run)
{
    for (uint32_t n = input_below(&run->in, 16); n > 0; n--) {
        uint32_t what = input_below(&run->in, 12);

        if (what < 3)
            end_task(run);
        else if (what < 7)
            change_job(run, what - 3);
        else if (what < 9)
            change_fleet(run, what == 7);
        else if (what < 10)
            change_queue(run);
        else
            use_memory(run);
    }
    if (input_below(&run->in, 4) > 0)
        everybody(run, WEIR_TASK_STARTING);
    if (input_below(&run->in, 4) > 1)
        everybody(run, WEIR_TASK_STOPPING);
    if (input_below(&run->in, 4) > 0)
        end_changes(run);
    run->now.wall_ms += (int64_t)input_below(&run->in, 256) << input_below(&run->in, 16);
    run->now.mono_ms += input_below(&run->in, 256);
}

/* ---- the decisions ---- */

static void estimate(struct run *run, const struct weir_world *world, struct weir_arena *arena)
{
    static const struct weir_eta_limits limits = {.max_steps = 4, .horizon_ms = INT64_MAX / 4};
    uint32_t job = any_row(run, WEIR_TABLE_WORKLOADS);
    struct weir_eta eta;

    if (job == WEIR_NONE ||
        weir_eta(world, &run->policy, run->now, 1, &limits, &job, 1, arena, &eta, NULL) < 0)
        return;
    WEIR_ASSERT(eta.p50_wall_ms >= run->now.wall_ms && eta.p90_wall_ms >= run->now.wall_ms);
}

static bool decide(struct run *run)
{
    const struct weir_world *world = weir_edit_seal(run->edit);
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_arena arena;
    struct weir_plan plan;
    uint8_t digests[2][16];
    bool ok;

    WEIR_ASSERT(world != NULL && weir_world_check(world, &err) == 0);
    weir_arena_init(&arena, ARENA_MAX);
    ok = weir_decide(world, &run->policy, run->now, 1, NULL, &arena, &plan, NULL) == 0;
    if (ok) {
        check_actions(world, &plan);
        check_reasons(world, &plan);
        weir_plan_digest(&plan, digests[0]);
        WEIR_ASSERT(weir_plan_apply(&plan, run->now, run->edit, &err) == 0);
        if (input_below(&run->in, 8) == 7)
            estimate(run, world, &arena);
        weir_arena_reset(&arena);
        ok = weir_decide(world, &run->policy, run->now, 1, NULL, &arena, &plan, NULL) == 0;
    }
    if (ok) {
        weir_plan_digest(&plan, digests[1]);
        WEIR_ASSERT(memcmp(digests[0], digests[1], sizeof(digests[0])) == 0);
    }
    weir_arena_finish(&arena);
    weir_world_unref(world);
    return ok;
}

static struct weir_edit *read_world(struct input *in)
{
    uint64_t layout = weir_world_layout();
    const struct weir_world *world = NULL;
    struct weir_edit *edit = NULL;
    size_t n = input_byte(in);
    uint8_t *bytes;

    n |= (size_t)input_byte(in) << 8 | (size_t)input_byte(in) << 16;
    (void)input_byte(in);
    if (n > in->size)
        n = in->size;
    bytes = malloc(n + 1);
    WEIR_ASSERT(bytes != NULL);
    memcpy(bytes, in->data, n);
    if (n >= sizeof(layout))
        memcpy(bytes, &layout, sizeof(layout));
    in->data += n;
    in->size -= n;
    if (weir_world_read(weir_str_n((const char *)bytes, n), NULL, &world, NULL) == 0) {
        if (weir_world_check(world, NULL) == 0)
            edit = weir_edit_fork(world);
        weir_world_unref(world);
    }
    free(bytes);
    return edit;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run run = {.in = {data, size}, .policy = weir_policy_default()};

    if (size == 0 || size > BYTES_MAX)
        return 0;
    run.edit = input_byte(&run.in) == 'w' ? read_world(&run.in) : build_world(&run.in);
    if (run.edit == NULL)
        return 0;
    run.policy.actions = WEIR_POLICY_ALL ^ input_below(&run.in, 2) << input_below(&run.in, 3);
    run.now.wall_ms = 1000000 + ((int64_t)input_byte(&run.in) << 13);
    run.now.mono_ms = 1000000;
    for (int i = 0; i < ROUNDS && decide(&run); i++)
        happen(&run);
    weir_edit_destroy(run.edit);
    return 0;
}
