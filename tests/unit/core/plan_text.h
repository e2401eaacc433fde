/* A plan in words, by names, so that plans of worlds built in different orders can be compared. */
#ifndef TESTS_CORE_PLAN_TEXT_H
#define TESTS_CORE_PLAN_TEXT_H

#include "random_world.h"

static inline const char *job_name(const struct bench *b, const struct random_world *w,
                                   uint32_t row)
{
    const struct weir_key *key = &weir_world_workload(b->world, row)->row.key;

    for (int i = 0; i < w->n_jobs; i++) {
        struct weir_key each = key_of("job", w->jobs[i].name);

        if (weir_key_eq(key, &each))
            return w->jobs[i].name;
    }
    return "?";
}

static inline void put_reason(const struct bench *b, const struct random_world *w, uint32_t at,
                              struct weir_buf *out)
{
    while (at != WEIR_NONE) {
        const struct weir_reason *r = &b->plan.reasons[at];

        weir_buf_printf(out, " (%s %s %u %lld/%lld",
                        weir_level_name((enum weir_reason_level)r->level),
                        weir_reason_name((enum weir_reason_code)r->code), r->count,
                        (long long)r->have, (long long)r->need);
        for (uint32_t h = 0; h < r->n_holders; h++)
            weir_buf_printf(out, " %s",
                            job_name(b, w, b->plan.holders[r->first_holder + h].workload));
        put_reason(b, w, r->first_child, out);
        weir_buf_puts(out, ")");
        at = r->next;
    }
}

static inline void put_device(const struct bench *b, uint32_t row, struct weir_buf *out)
{
    const struct weir_device *device = weir_world_device(b->world, row);
    const struct weir_device *whole =
        device->parent != WEIR_NONE ? weir_world_device(b->world, device->parent) : device;

    weir_buf_printf(out, " %u", whole->index);
    if (device != whole)
        weir_buf_printf(out, ":%x", device->slots);
}

static inline void put_device_action(const struct bench *b, const struct weir_action *a,
                                     struct weir_buf *out)
{
    weir_buf_printf(out, "%s %s ", weir_action_name((enum weir_action_kind)a->kind),
                    weir_cause_name((enum weir_cause)a->cause));
    if (a->kind == WEIR_ACTION_RESHAPE)
        weir_buf_puts(out, weir_reshape_name((enum weir_reshape)a->reshape));
    else
        weir_buf_printf(out, "%lld", (long long)a->amount);
    weir_buf_puts(out, " on ");
    weir_buf_str(out, weir_world_string(b->world, weir_world_node(b->world, a->node)->name));
    put_device(b, a->device, out);
    if (a->resource != WEIR_NONE) {
        weir_buf_putc(out, ' ');
        weir_buf_str(out, weir_world_mig_name(b->world, a->resource));
        weir_buf_printf(out, " %x", a->slots);
    }
    weir_buf_putc(out, '\n');
}

static inline void put_action(const struct bench *b, const struct random_world *w,
                              const struct weir_action *a, struct weir_buf *out)
{
    const struct weir_task *task;

    if (a->task == WEIR_NONE) {
        put_device_action(b, a, out);
        return;
    }
    task = weir_world_task(b->world, a->task);

    weir_buf_printf(out, "%s %s %s/%u", weir_action_name((enum weir_action_kind)a->kind),
                    weir_cause_name((enum weir_cause)a->cause), job_name(b, w, a->workload),
                    task->member);
    if (a->kind == WEIR_ACTION_START) {
        weir_buf_puts(out, " on ");
        weir_buf_str(out, weir_world_string(b->world, weir_world_node(b->world, a->node)->name));
    }
    for (uint32_t i = 0; i < a->n_grants; i++)
        put_device(b, b->plan.grants[a->first_grant + i].device, out);
    if (a->for_whom != WEIR_NONE)
        weir_buf_printf(out, " for %s", job_name(b, w, a->for_whom));
    weir_buf_putc(out, '\n');
}

static inline void put_plan(const struct bench *b, const struct random_world *w,
                            struct weir_buf *out)
{
    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        put_action(b, w, &b->plan.actions[i], out);
    for (uint32_t i = 0; i < b->plan.n_verdicts; i++) {
        const struct weir_verdict *v = &b->plan.verdicts[i];

        weir_buf_printf(out, "%u %s:", v->position, job_name(b, w, v->workload));
        put_reason(b, w, v->reason, out);
        weir_buf_printf(out, " unblock %u %lld", v->unblock, (long long)v->unblock_amount);
        for (uint32_t e = 0; e < v->unblock_n_ends; e++)
            weir_buf_printf(out, " %s",
                            job_name(b, w, b->plan.ends[v->unblock_first_end + e].workload));
        weir_buf_putc(out, '\n');
    }
    assert_int_equal(weir_buf_check(out, "plan", NULL), 0);
}

static const struct random_world *current; /* for messages */

static inline const char *plan_text(const struct bench *b)
{
    static struct weir_buf text;

    weir_buf_finish(&text);
    weir_buf_init(&text, 1 << 26);
    put_plan(b, current, &text);
    return weir_buf_cstr(&text);
}

#endif
