#include "core/explain/explain.h"

#include "base/err.h"
#include "core/explain/ends.h"
#include "core/explain/tree.h"
#include "core/explain/unblock.h"
#include "core/explain/whatif.h"

static int add_verdict(struct weir_explainer *x, const struct weir_candidate *c,
                       struct weir_verdict verdict)
{
    verdict.workload = c->workload;
    verdict.position = x->tick->draft.n_verdicts + 1;
    return weir_draft_verdict(&x->tick->draft, verdict);
}

/* ---- what was not considered ---- */

/* When the last of its own tasks that are leaving is gone. */
static int64_t own_leave(const struct weir_explainer *x, uint32_t workload)
{
    const struct weir_overlay_job *job = &x->overlay->jobs[workload];
    int64_t last = x->tick->now.wall_ms;

    for (uint32_t i = job->first_running; i < job->first_running + job->n_running; i++) {
        const struct weir_running *r = &x->overlay->running[i];
        int64_t leave = r->state == WEIR_RUNNING_LEAVING ? weir_holders_leave(x, r) : last;

        last = leave > last ? leave : last;
    }
    return last;
}

static int unblock_idle(struct weir_explainer *x, const struct weir_candidate *c,
                        struct weir_verdict *verdict)
{
    /* Its own tasks that are still stopping. */
    const struct weir_ends own = {.items = {{c->workload, 0, own_leave(x, c->workload)}}, .n = 1};

    if (c->code == WEIR_REASON_HELD) {
        verdict->unblock = WEIR_UNBLOCK_RELEASE;
        verdict->unblock_subject_kind = WEIR_SUBJECT_WORKLOAD;
        verdict->unblock_subject = c->workload;
    } else if (c->code == WEIR_REASON_GANG) {
        return weir_ends_wait_for(x, WEIR_UNBLOCK_WAIT_FOR, &own, verdict);
    } else if (c->until_wall_ms < INT64_MAX) {
        verdict->unblock = WEIR_UNBLOCK_WAIT_UNTIL;
        verdict->unblock_amount = c->until_wall_ms;
    }
    return 0;
}

static uint32_t level_of(const struct weir_candidate *c)
{
    if (c->code == WEIR_REASON_GANG)
        return WEIR_LEVEL_GANG;
    return c->queue != WEIR_NONE ? WEIR_LEVEL_QUEUE : WEIR_LEVEL_WORKLOAD;
}

static int idle_tree(struct weir_explainer *x, const struct weir_candidate *c,
                     struct weir_verdict *verdict)
{
    uint32_t level = level_of(c);
    struct weir_reason reason = weir_reason_at(level);
    struct weir_reason_chain chain;

    reason.code = c->code;
    if (level == WEIR_LEVEL_QUEUE) {
        reason.subject_kind = WEIR_SUBJECT_QUEUE;
        reason.subject = c->queue;
    }
    if (weir_chain_start(x, level == WEIR_LEVEL_WORKLOAD ? c->code : (uint32_t)WEIR_REASON_NONE,
                         &chain) < 0 ||
        (level != WEIR_LEVEL_WORKLOAD && weir_chain_add(x, &chain, reason) < 0))
        return WEIR_E_NO_MEMORY;
    verdict->reason = chain.root;
    verdict->blocking = chain.blocking;
    return 0;
}

/* Neighbours with the same reason share its tree. */
static int explain_idle(struct weir_explainer *x, const struct weir_candidate *c,
                        const struct weir_candidate *before)
{
    struct weir_verdict verdict = {.unblock_subject = WEIR_NONE, .unblock_resource = WEIR_NONE};

    if (before != NULL && before->code == c->code && before->queue == c->queue) {
        const struct weir_verdict *last = &x->tick->draft.verdicts[x->tick->draft.n_verdicts - 1];

        verdict.reason = last->reason;
        verdict.blocking = last->blocking;
    } else if (idle_tree(x, c, &verdict) < 0) {
        return WEIR_E_NO_MEMORY;
    }
    if (unblock_idle(x, c, &verdict) < 0)
        return WEIR_E_NO_MEMORY;
    return add_verdict(x, c, verdict);
}

/* ---- what was ---- */

/* Who leaves there, of what it asks for, or else of anything. */
static int find_leaving(struct weir_explainer *x, const struct weir_candidate *c,
                        const struct weir_set *set, struct weir_reason *reason)
{
    struct weir_holder_query query = {.request = &set->members[0].request,
                                      .node = c->promised_node,
                                      .queue = WEIR_NONE,
                                      .only_leaving = true};

    reason->resource = weir_request_resource(query.request->shape);
    query.resource = reason->resource;
    if (query.request->shape->n_devices == 0)
        query.request = NULL;
    if (weir_holders_find(x, &query) < 0)
        return WEIR_E_NO_MEMORY;
    if (x->n_holdings > 0)
        return weir_holders_write(x, reason);
    query.request = NULL;
    query.resource = WEIR_NONE;
    reason->resource = WEIR_NONE;
    return weir_holders_find(x, &query) < 0 ? WEIR_E_NO_MEMORY : weir_holders_write(x, reason);
}

/* Others are leaving; their room is promised to it. */
static int explain_evicting(struct weir_explainer *x, const struct weir_candidate *c)
{
    struct weir_verdict verdict = {.unblock_subject = WEIR_NONE, .unblock_resource = WEIR_NONE};
    struct weir_reason reason = weir_reason_at(WEIR_LEVEL_NODES);
    struct weir_reason_chain chain;
    struct weir_set set;
    int r;

    reason.code = WEIR_REASON_EVICTING;
    reason.count = c->n_promised;
    if (c->promised_node != WEIR_NONE) {
        reason.subject_kind = WEIR_SUBJECT_NODE;
        reason.subject = x->overlay->nodes[c->promised_node].index;
    }
    if (weir_what_if_set(x, &x->line->wants[c->want], &set) < 0)
        return WEIR_E_NO_MEMORY;
    r = weir_unblock_is_reshaping(x, &set, c->workload);
    if (r < 0)
        return r;
    if (r == 1)
        reason.code = WEIR_REASON_RESHAPING;
    if (find_leaving(x, c, &set, &reason) < 0 ||
        weir_chain_start(x, WEIR_REASON_NONE, &chain) < 0 || weir_chain_add(x, &chain, reason) < 0)
        return WEIR_E_NO_MEMORY;
    verdict.reason = chain.root;
    verdict.blocking = chain.blocking;
    if (reason.code == WEIR_REASON_RESHAPING)
        return add_verdict(x, c, verdict);
    if (weir_unblock_promised(x, &set, c->workload, &verdict) < 0)
        return WEIR_E_NO_MEMORY;
    return add_verdict(x, c, verdict);
}

/* The rest of a gang of which enough has just been started: its turn comes in the next decision. */
static int explain_rest(struct weir_explainer *x, const struct weir_candidate *c)
{
    struct weir_verdict verdict = {.unblock_subject = WEIR_NONE, .unblock_resource = WEIR_NONE};
    struct weir_reason_chain chain;

    if (weir_chain_start(x, WEIR_REASON_ALL_RUNNING, &chain) < 0)
        return WEIR_E_NO_MEMORY;
    verdict.reason = chain.root;
    verdict.blocking = chain.blocking;
    weir_tick_wake(x->tick, x->tick->now.wall_ms);
    return add_verdict(x, c, verdict);
}

static int explain_want(struct weir_explainer *x, const struct weir_candidate *c)
{
    struct weir_want *want = &x->line->wants[c->want];
    struct weir_verdict verdict;

    if (!want->is_explained && weir_explain_want(x, want) < 0)
        return WEIR_E_NO_MEMORY;
    verdict = want->verdict;
    /* Capacity elsewhere is of no use to the rest of a gang whose domain is fixed: its own end is.
     */
    if (verdict.unblock == WEIR_UNBLOCK_ADD_CAPACITY && want->scope.level != WEIR_NONE) {
        verdict.unblock = WEIR_UNBLOCK_NONE;
        verdict.unblock_resource = WEIR_NONE;
        verdict.unblock_amount = 0;
        if (weir_unblock_rest(x, want, c->workload, &verdict) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return add_verdict(x, c, verdict);
}

static int explain_candidate(struct weir_explainer *x, const struct weir_candidate *c)
{
    const struct weir_workload *job = weir_world_workload(x->tick->world, c->workload);

    if (c->n_placed >= job->n_waiting)
        return 0;
    if (c->n_promised > 0)
        return explain_evicting(x, c);
    if (c->code == WEIR_REASON_ALL_RUNNING)
        return explain_rest(x, c);
    if (c->code != WEIR_REASON_NONE)
        return explain_idle(x, c, NULL);
    return explain_want(x, c);
}

int weir_explain(struct weir_line *line)
{
    struct weir_explainer x;

    weir_overlay_settle(&line->tick->overlay);
    if (weir_explainer_init(&x, line) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < line->n_taken; i++)
        if (explain_candidate(&x, &line->candidates[line->order[i]]) < 0)
            return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < line->n_idle; i++)
        if (explain_idle(&x, &line->idle[i], i > 0 ? &line->idle[i - 1] : NULL) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}
