#include "scenario.h"

#include "core/admit.h"
#include "model/world_check.h"

/* ---- names ---- */

static const char *job_name(const struct scenario *s, uint32_t row)
{
    for (int i = 0; i < s->n_jobs; i++)
        if (s->jobs[i].row == row)
            return s->jobs[i].spec.name;
    return "?";
}

static void put_task(const struct scenario *s, const struct weir_action *a, struct weir_buf *out)
{
    const struct weir_world *world = s->bench.world;

    weir_buf_puts(out, job_name(s, a->workload));
    if (weir_world_workload(world, a->workload)->n_tasks > 1)
        weir_buf_printf(out, "/%u", weir_world_task(world, a->task)->member);
}

static void put_row_name(const struct scenario *s, uint32_t kind, uint32_t row,
                         struct weir_buf *out)
{
    const struct weir_world *world = s->bench.world;
    uint32_t name;

    if (kind == WEIR_SUBJECT_WORKLOAD) {
        weir_buf_puts(out, job_name(s, row));
        return;
    }
    name = kind == WEIR_SUBJECT_QUEUE    ? weir_world_queue(world, row)->name
           : kind == WEIR_SUBJECT_NODE   ? weir_world_node(world, row)->name
           : kind == WEIR_SUBJECT_DEVICE ? weir_world_device(world, row)->uuid
                                         : WEIR_NONE;
    if (name == WEIR_NONE)
        weir_buf_puts(out, "?");
    else
        weir_buf_str(out, weir_world_string(world, name));
}

static const char *state_name(uint32_t state)
{
    static const char *const names[WEIR_TASK_STATE_MAX] = {"queued",    "starting",  "running",
                                                           "stopping",  "succeeded", "failed",
                                                           "cancelled", "lost"};

    return state < WEIR_TASK_STATE_MAX ? names[state] : "?";
}

/* ---- actions ---- */

static void put_grants(const struct scenario *s, const struct weir_action *a, struct weir_buf *out)
{
    const struct weir_grant *grants = s->bench.plan.grants + a->first_grant;

    for (uint32_t i = 0; i < a->n_grants; i++)
        weir_buf_printf(out, "%s%u", i == 0 ? ": GPU " : ",",
                        weir_world_device(s->bench.world, grants[i].device)->index);
    if (a->n_grants > 0 && grants[0].part_mgpu < 1000)
        weir_buf_printf(out, " (%lld mGPU)", (long long)grants[0].part_mgpu);
}

static void put_action(const struct scenario *s, const struct weir_action *a, struct weir_buf *out)
{
    weir_buf_printf(out, "%s ", weir_action_name((enum weir_action_kind)a->kind));
    put_task(s, a, out);
    if (a->kind == WEIR_ACTION_START) {
        weir_buf_puts(out, " on ");
        put_row_name(s, WEIR_SUBJECT_NODE, a->node, out);
        put_grants(s, a, out);
    }
    if (a->for_whom != WEIR_NONE)
        weir_buf_printf(out, " for %s", job_name(s, a->for_whom));
    if (a->kind == WEIR_ACTION_SETTLE)
        weir_buf_printf(out, ": %s", state_name(a->state));
    if (a->kind != WEIR_ACTION_START || a->cause != WEIR_CAUSE_PLACED)
        weir_buf_printf(out, " (%s)", weir_cause_name((enum weir_cause)a->cause));
    if (a->kind == WEIR_ACTION_SETTLE && a->amount > s->bench.now.wall_ms)
        weir_buf_printf(out, ", in %lld ms", (long long)(a->amount - s->bench.now.wall_ms));
    weir_buf_putc(out, '\n');
}

/* ---- verdicts ---- */

/* GPUs are told in whole ones, everything else as it is. */
static void put_amount(const struct scenario *s, uint32_t resource, int64_t amount,
                       struct weir_buf *out)
{
    const struct weir_world *world = s->bench.world;

    if (resource == WEIR_RES_GPU && amount % 1000 == 0) {
        weir_buf_printf(out, "%lld gpu", (long long)amount / 1000);
        return;
    }
    weir_buf_printf(out, "%lld ", (long long)amount);
    if (resource != WEIR_NONE)
        weir_buf_str(out, weir_world_string(world, weir_world_resource(world, resource)->name));
}

static void put_ends(const struct scenario *s, const struct weir_verdict *v, struct weir_buf *out)
{
    for (uint32_t i = 0; i < v->unblock_n_ends; i++)
        weir_buf_printf(out, "%s%s", i == 0 ? "" : ", ",
                        job_name(s, s->bench.plan.ends[v->unblock_first_end + i].workload));
    if (v->unblock_n_more_ends > 0)
        weir_buf_printf(out, " and %u more", v->unblock_n_more_ends);
}

static void put_unblock(const struct scenario *s, const struct weir_verdict *v,
                        struct weir_buf *out)
{
    static const char *const names[WEIR_UNBLOCK_MAX] = {
        "",     "wait for ", "wait for any of ", "raise the limit of ",    "uncordon ",
        "add ", "",          "release ",         "end what is foreign on "};

    if (v->unblock == WEIR_UNBLOCK_NONE)
        return;
    weir_buf_printf(out, "; %s", names[v->unblock]);
    if (v->unblock == WEIR_UNBLOCK_WAIT_UNTIL)
        weir_buf_printf(out, "in %lld ms", (long long)(v->unblock_amount - s->bench.now.wall_ms));
    else if (v->unblock == WEIR_UNBLOCK_ADD_CAPACITY)
        put_amount(s, v->unblock_resource, v->unblock_amount, out);
    else if (v->unblock == WEIR_UNBLOCK_WAIT_FOR || v->unblock == WEIR_UNBLOCK_WAIT_FOR_ANY)
        put_ends(s, v, out);
    else
        put_row_name(s, v->unblock_subject_kind, v->unblock_subject, out);
    if (v->unblock == WEIR_UNBLOCK_UNCORDON) {
        for (uint32_t i = 1; i < v->unblock_n_cordons; i++) {
            const struct weir_cordoned *cordon =
                &s->bench.plan.cordons[v->unblock_first_cordon + i];

            weir_buf_puts(out, ", ");
            put_row_name(s, cordon->kind, cordon->subject, out);
        }
        if (v->unblock_n_ends > 0)
            weir_buf_puts(out, ", wait for ");
        put_ends(s, v, out);
    }
    if (v->unblock == WEIR_UNBLOCK_RAISE_LIMIT) {
        weir_buf_puts(out, " to ");
        put_amount(s, v->unblock_resource, v->unblock_amount, out);
    }
}

static void put_verdict(const struct scenario *s, const struct weir_verdict *v,
                        struct weir_buf *out)
{
    const struct weir_reason *reason = &s->bench.plan.reasons[v->blocking];

    weir_buf_printf(out, "wait %s: %s", job_name(s, v->workload),
                    weir_reason_name((enum weir_reason_code)reason->code));
    if (reason->level == WEIR_LEVEL_QUEUE) {
        weir_buf_puts(out, " in ");
        put_row_name(s, WEIR_SUBJECT_QUEUE, reason->subject, out);
    }
    put_unblock(s, v, out);
    weir_buf_putc(out, '\n');
}

/* ---- what is only asked for ---- */

static void put_answer(struct scenario *s, const struct job_spec *spec, struct weir_buf *out)
{
    struct bench *b = &s->bench;
    struct weir_arena scratch = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_refusal refusal;
    struct weir_role roles[2];
    struct weir_shape shapes[2];
    uint32_t n_roles = roles_of(b, spec, roles, shapes);
    struct weir_workload job = workload_of(b, spec);
    struct weir_ask ask = {&job, roles, shapes, n_roles};
    int r = weir_admit(weir_edit_view(b->edit), &b->policy, &ask, &scratch, &refusal, &err);

    weir_arena_finish(&scratch);
    if (r != 0 && r != WEIR_E_IMPOSSIBLE)
        fail_msg("admit: %s", err.text);
    if (r == 0) {
        weir_buf_printf(out, "admit %s\n", spec->name);
        return;
    }
    weir_buf_printf(out, "refuse %s: %s: %s", spec->name,
                    weir_reason_name((enum weir_reason_code)refusal.reason.code), err.text);
    if (err.hint[0] != '\0')
        weir_buf_printf(out, " (%s)", err.hint);
    weir_buf_putc(out, '\n');
}

void scenario_write(struct scenario *s, struct weir_buf *out)
{
    const struct weir_plan *plan = &s->bench.plan;
    struct weir_err err = WEIR_ERR_INIT;

    for (int i = 0; i < s->n_asks; i++)
        put_answer(s, &s->asks[i].spec, out);
    decide(&s->bench);
    for (uint32_t i = 0; i < plan->n_actions; i++)
        put_action(s, &plan->actions[i], out);
    for (uint32_t i = 0; i < plan->n_verdicts; i++)
        put_verdict(s, &plan->verdicts[i], out);
    if (plan->wake_wall_ms != INT64_MAX)
        weir_buf_printf(out, "decide again in %lld ms\n",
                        (long long)(plan->wake_wall_ms - s->bench.now.wall_ms));
    assert_int_equal(weir_buf_check(out, "plan", NULL), 0);
    apply(&s->bench);
    if (weir_world_check(weir_edit_view(s->bench.edit), &err) < 0)
        fail_msg("the world after the plan: %s: %s", err.field, err.text);
}
