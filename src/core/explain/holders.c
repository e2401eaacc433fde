#include "core/explain/holders.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "core/heal/fate.h"
#include "core/sim/runtime.h"

int weir_explainer_init(struct weir_explainer *x, struct weir_line *line)
{
    const struct weir_world *world = line->tick->world;

    *x = (struct weir_explainer){.line = line, .tick = line->tick, .overlay = &line->tick->overlay};
    x->holding_of = weir_arena_new_n(line->tick->arena, uint32_t,
                                     weir_world_table(world, WEIR_TABLE_WORKLOADS)->n_rows);
    return x->holding_of != NULL ? 0 : WEIR_E_NO_MEMORY;
}

static bool is_under(const struct weir_world *world, uint32_t leaf, uint32_t queue)
{
    while (leaf != WEIR_NONE && leaf != queue)
        leaf = weir_world_queue(world, leaf)->parent;
    return leaf == queue;
}

static int64_t amount_of_shape(const struct weir_shape *shape, uint32_t resource)
{
    for (uint32_t i = 0; i < shape->n_amounts; i++)
        if (shape->amounts[i].resource == resource)
            return shape->amounts[i].amount;
    return resource == WEIR_NONE;
}

static bool could_serve(const struct weir_explainer *x, uint32_t device,
                        const struct weir_request *request)
{
    return weir_filter_kind(&x->overlay->devices[x->overlay->position_of_device[device]],
                            request) == WEIR_REASON_NONE;
}

static int64_t amount_of_running(const struct weir_explainer *x,
                                 const struct weir_holder_query *query,
                                 const struct weir_running *r)
{
    int64_t amount = 0;

    if (query->request == NULL)
        return amount_of_shape(r->shape, query->resource);
    for (uint32_t at = r->row->first_hold; at != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(x->tick->world, at);

        if (could_serve(x, hold->device, query->request))
            amount += hold->part_mgpu > 0 ? hold->part_mgpu : 1;
        at = hold->next_of_task;
    }
    return amount;
}

static int64_t amount_of_step(const struct weir_explainer *x, const struct weir_holder_query *query,
                              const struct weir_overlay_step *step)
{
    int64_t amount = 0;

    if (query->request == NULL)
        return amount_of_shape(step->shape, query->resource);
    for (uint32_t i = 0; i < step->spot.n_grants; i++) {
        const struct weir_grant *grant = &x->overlay->grants[step->spot.first_grant + i];

        if (could_serve(x, grant->device, query->request))
            amount += grant->part_mgpu > 0 ? grant->part_mgpu : 1;
    }
    return amount;
}

/* When something lets go, and how that is known. */
struct letting_go {
    int64_t wall_ms;
    bool is_assumed;
    bool is_leaving;
};

static int add(struct weir_explainer *x, uint32_t workload, int64_t amount, struct letting_go end)
{
    struct weir_holding *holding;

    if (x->holding_of[workload] == 0) {
        if (weir_arena_grow(x->tick->arena, &x->holdings, &x->cap_holdings, x->n_holdings + 1,
                            sizeof(x->holdings[0])) < 0)
            return WEIR_E_NO_MEMORY;
        x->holdings[x->n_holdings++] = (struct weir_holding){.workload = workload};
        x->holding_of[workload] = x->n_holdings;
    }
    holding = &x->holdings[x->holding_of[workload] - 1];
    holding->amount += amount;
    if (end.wall_ms > holding->last_end_wall_ms) {
        holding->last_end_wall_ms = end.wall_ms;
        holding->is_assumed = end.is_assumed;
    }
    if (end.is_leaving && end.wall_ms > holding->last_leave_wall_ms)
        holding->last_leave_wall_ms = end.wall_ms;
    return 0;
}

int64_t weir_holders_leave(const struct weir_explainer *x, const struct weir_running *r)
{
    uint32_t cause = r->row->state == WEIR_TASK_STOPPING ? r->row->stop_cause
                     : r->job->cancelled                 ? WEIR_CAUSE_CANCELLED
                                                         : WEIR_CAUSE_PREEMPTED;

    return weir_units_add(x->tick->now.wall_ms, weir_fate_leave_ms(x->tick->policy, r->job, cause));
}

static struct letting_go end_after(const struct weir_explainer *x, const struct weir_workload *job,
                                   int64_t ran_ms)
{
    struct letting_go end = {0};

    end.wall_ms =
        x->tick->now.wall_ms + weir_runtime_left_of(x->tick->world, x->tick->policy, job, ran_ms,
                                                    WEIR_QUANTILE_P50, &end.is_assumed);
    return end;
}

static struct letting_go end_of_running(const struct weir_explainer *x,
                                        const struct weir_running *r)
{
    if (r->state == WEIR_RUNNING_LEAVING)
        return (struct letting_go){.wall_ms = weir_holders_leave(x, r), .is_leaving = true};
    return end_after(x, r->job, x->tick->now.mono_ms - r->row->started_mono_ms);
}

static int find_running(struct weir_explainer *x, const struct weir_holder_query *query)
{
    const struct weir_overlay *overlay = x->overlay;

    for (uint32_t i = 0; i < overlay->n_running; i++) {
        const struct weir_running *r = &overlay->running[i];
        int64_t amount;

        if (r->state == WEIR_RUNNING_GONE ||
            (query->only_leaving && r->state != WEIR_RUNNING_LEAVING) ||
            (query->node != WEIR_NONE && r->node != query->node) ||
            (query->queue != WEIR_NONE && !is_under(x->tick->world, r->job->queue, query->queue)))
            continue;
        amount = amount_of_running(x, query, r);
        if (amount > 0 && add(x, r->workload, amount, end_of_running(x, r)) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static int find_new(struct weir_explainer *x, const struct weir_holder_query *query)
{
    const struct weir_tick *tick = x->tick;

    for (uint32_t i = 0; i < x->overlay->n_steps; i++) {
        const struct weir_overlay_step *step = &x->overlay->steps[i];
        const struct weir_workload *job;
        int64_t amount;

        if (step->running != WEIR_NONE || step->taker.workload == WEIR_NONE ||
            (query->node != WEIR_NONE && step->spot.node != query->node) ||
            (query->queue != WEIR_NONE && !is_under(tick->world, step->taker.leaf, query->queue)))
            continue;
        job = weir_world_workload(tick->world, step->taker.workload);
        amount = amount_of_step(x, query, step);
        if (amount > 0 && add(x, step->taker.workload, amount, end_after(x, job, 0)) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

int weir_holders_find(struct weir_explainer *x, const struct weir_holder_query *query)
{
    for (uint32_t i = 0; i < x->n_holdings; i++)
        x->holding_of[x->holdings[i].workload] = 0;
    x->n_holdings = 0;
    if (find_running(x, query) < 0)
        return WEIR_E_NO_MEMORY;
    return query->only_leaving ? 0 : find_new(x, query);
}

static const struct weir_key *key_of(const struct weir_explainer *x, uint32_t workload)
{
    return &weir_world_workload(x->tick->world, workload)->row.key;
}

static bool is_larger(const struct weir_explainer *x, const struct weir_holding *a,
                      const struct weir_holding *b)
{
    if (a->amount != b->amount)
        return a->amount > b->amount;
    return weir_key_cmp(key_of(x, a->workload), key_of(x, b->workload)) < 0;
}

int weir_holders_write(struct weir_explainer *x, struct weir_reason *reason)
{
    const struct weir_holding *largest[WEIR_HOLDERS_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->n_holdings; i++) {
        uint32_t at = n < WEIR_HOLDERS_MAX ? n++ : WEIR_HOLDERS_MAX;

        for (; at > 0 && is_larger(x, &x->holdings[i], largest[at - 1]); at--)
            if (at < WEIR_HOLDERS_MAX)
                largest[at] = largest[at - 1];
        if (at < WEIR_HOLDERS_MAX)
            largest[at] = &x->holdings[i];
    }
    reason->first_holder = x->tick->draft.n_holders;
    reason->n_holders = n;
    for (uint32_t i = 0; i < n; i++)
        if (weir_draft_holder(&x->tick->draft,
                              (struct weir_holder){.workload = largest[i]->workload,
                                                   .is_assumed = largest[i]->is_assumed,
                                                   .amount = largest[i]->amount,
                                                   .end_p50_wall_ms =
                                                       largest[i]->last_end_wall_ms}) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}
