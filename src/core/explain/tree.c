#include "core/explain/tree.h"

#include "base/err.h"
#include "base/units.h"
#include "core/explain/unblock.h"
#include "core/explain/whatif.h"
#include "core/queue/quota.h"

/* ---- the chain ---- */

struct weir_reason weir_reason_at(uint32_t level)
{
    return (struct weir_reason){
        .level = level,
        .subject = WEIR_NONE,
        .resource = WEIR_NONE,
        .first_child = WEIR_NONE,
        .next = WEIR_NONE,
    };
}

int weir_chain_start(struct weir_explainer *x, uint32_t code, struct weir_reason_chain *chain)
{
    struct weir_reason root = weir_reason_at(WEIR_LEVEL_WORKLOAD);

    root.code = code;
    if (weir_draft_reason(&x->tick->draft, root, &chain->root) < 0)
        return WEIR_E_NO_MEMORY;
    chain->last = WEIR_NONE;
    chain->blocking = code != WEIR_REASON_NONE ? chain->root : WEIR_NONE;
    return 0;
}

int weir_chain_add(struct weir_explainer *x, struct weir_reason_chain *chain,
                   struct weir_reason reason)
{
    struct weir_draft *draft = &x->tick->draft;
    uint32_t index;

    if (weir_draft_reason(draft, reason, &index) < 0)
        return WEIR_E_NO_MEMORY;
    if (chain->last == WEIR_NONE)
        draft->reasons[chain->root].first_child = index;
    else
        draft->reasons[chain->last].next = index;
    chain->last = index;
    if (chain->blocking == WEIR_NONE && reason.code != WEIR_REASON_NONE)
        chain->blocking = index;
    return 0;
}

int weir_chain_add_below(struct weir_explainer *x, struct weir_reason_chain *chain,
                         struct weir_reason reason)
{
    struct weir_draft *draft = &x->tick->draft;
    uint32_t index;

    /* In front: the caller adds the last first. */
    reason.next = draft->reasons[chain->last].first_child;
    if (weir_draft_reason(draft, reason, &index) < 0)
        return WEIR_E_NO_MEMORY;
    draft->reasons[chain->last].first_child = index;
    return 0;
}

/* ---- queues ---- */

static int add_queues(struct weir_explainer *x, const struct weir_want *want,
                      struct weir_reason_chain *chain, struct weir_quota_over *ret_over)
{
    ret_over->queue = WEIR_NONE;
    for (uint32_t queue = want->leaf; queue != WEIR_NONE;
         queue = weir_world_queue(x->tick->world, queue)->parent) {
        struct weir_reason reason = weir_reason_at(WEIR_LEVEL_QUEUE);
        struct weir_quota_over over;

        reason.subject_kind = WEIR_SUBJECT_QUEUE;
        reason.subject = queue;
        if (!weir_quota_fits_limit_of(x->overlay, WEIR_IN_BOTH, queue, &want->amounts, &over)) {
            struct weir_holder_query query = {.resource = over.resource,
                                              .node = WEIR_NONE,
                                              .queue = queue};

            reason.code = queue == want->leaf ? WEIR_REASON_QUEUE_LIMIT : WEIR_REASON_PARENT_LIMIT;
            reason.resource = over.resource;
            reason.have = over.limit - over.held;
            reason.need = want->amounts.of[over.resource];
            if (weir_holders_find(x, &query) < 0 || weir_holders_write(x, &reason) < 0)
                return WEIR_E_NO_MEMORY;
            if (ret_over->queue == WEIR_NONE)
                *ret_over = over;
        }
        if (weir_chain_add(x, chain, reason) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* ---- gang and topology ---- */

/* Holds as many members as find room, in whatever domain; *ret_n of them. */
static int place_some(struct weir_explainer *x, struct weir_set *set, uint32_t *ret_n)
{
    uint32_t n = 0;
    int r = 1;

    for (; n < set->n_members; n++) {
        struct weir_member *member = &set->members[n];

        r = weir_score_find(x->overlay, WEIR_IN_BOTH, &member->request, &set->scope, &member->spot);
        if (r <= 0)
            break;
        if (weir_overlay_hold(x->overlay, WEIR_IN_BOTH, set->taker, member->request.shape,
                              member->spot) < 0)
            return WEIR_E_NO_MEMORY;
    }
    *ret_n = n;
    return r < 0 ? r : 0;
}

static int add_gang(struct weir_explainer *x, const struct weir_set *set, uint32_t n_placed,
                    struct weir_reason_chain *chain)
{
    struct weir_reason reason = weir_reason_at(WEIR_LEVEL_GANG);

    reason.have = n_placed;
    reason.need = set->n_members;
    if (n_placed > 0 && n_placed < set->n_members)
        reason.code = WEIR_REASON_GANG;
    return weir_chain_add(x, chain, reason);
}

/* Called with nothing of the set placed: what is free in the freest domain. */
static int add_topology(struct weir_explainer *x, const struct weir_set *set, bool is_blocking,
                        struct weir_reason_chain *chain)
{
    struct weir_reason reason = weir_reason_at(WEIR_LEVEL_TOPOLOGY);
    const struct weir_scope *scopes;
    uint32_t n;

    if (weir_set_scopes(x->overlay, set->topology.required, set, false, &scopes, &n) < 0)
        return WEIR_E_NO_MEMORY;
    if (is_blocking)
        reason.code = WEIR_REASON_TOPOLOGY;
    reason.resource = WEIR_RES_GPU;
    reason.count = n;
    reason.have = n > 0 ? scopes[n - 1].free_mgpu : 0;
    reason.need = set->amounts.of[WEIR_RES_GPU];
    return weir_chain_add(x, chain, reason);
}

/* ---- nodes and devices ---- */

static int add_counts(struct weir_explainer *x, struct weir_reason_chain *chain, uint32_t level,
                      const uint32_t counts[WEIR_REASON_CODE_MAX])
{
    for (uint32_t code = WEIR_REASON_CODE_MAX; code-- > 1;) {
        struct weir_reason reason = weir_reason_at(level);

        if (counts[code] == 0)
            continue;
        reason.code = code;
        reason.count = counts[code];
        if (weir_chain_add_below(x, chain, reason) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static int add_nodes(struct weir_explainer *x, const struct weir_request *request,
                     const struct weir_survey *survey, struct weir_reason_chain *chain)
{
    struct weir_reason reason = weir_reason_at(WEIR_LEVEL_NODES);
    struct weir_holder_query query = {
        .request = request->shape->n_devices > 0 ? request : NULL,
        .resource = survey->resource,
        .node = WEIR_NONE,
        .queue = WEIR_NONE,
    };

    reason.code = survey->code;
    reason.resource = survey->resource;
    reason.count = x->overlay->n_nodes;
    reason.have = survey->have;
    reason.need = survey->need;
    if (survey->node != WEIR_NONE) {
        reason.subject_kind = WEIR_SUBJECT_NODE;
        reason.subject = x->overlay->nodes[survey->node].index;
    }
    if (survey->resource != WEIR_NONE &&
        (weir_holders_find(x, &query) < 0 || weir_holders_write(x, &reason) < 0))
        return WEIR_E_NO_MEMORY;
    if (weir_chain_add(x, chain, reason) < 0)
        return WEIR_E_NO_MEMORY;
    return add_counts(x, chain, WEIR_LEVEL_NODES, survey->nodes);
}

static int add_devices(struct weir_explainer *x, const struct weir_request *request,
                       const struct weir_survey *survey, struct weir_reason_chain *chain)
{
    struct weir_reason reason = weir_reason_at(WEIR_LEVEL_DEVICES);

    if (request->shape->n_devices == 0)
        return 0;
    reason.count = survey->n_devices;
    reason.have = survey->devices[WEIR_REASON_NONE];
    reason.need = request->shape->n_devices;
    if (weir_chain_add(x, chain, reason) < 0)
        return WEIR_E_NO_MEMORY;
    return add_counts(x, chain, WEIR_LEVEL_DEVICES, survey->devices);
}

/* ---- the tree ---- */

/* What the nodes say of the first task without a place, in one word. */
static uint32_t code_of_nodes(const struct weir_reason_chain *chain, uint32_t n_placed,
                              uint32_t n_members, uint32_t code)
{
    if (n_placed == 0)
        return code;
    if (n_placed < n_members)
        return WEIR_REASON_RESOURCES;
    /* Each finds room, and nothing else is in the way: it came too late in this decision. */
    return chain->blocking == WEIR_NONE ? WEIR_REASON_PRIORITY : WEIR_REASON_NONE;
}

static int add_places(struct weir_explainer *x, const struct weir_want *want, struct weir_set *set,
                      struct weir_reason_chain *chain, struct weir_survey *ret_survey)
{
    bool has_topology =
        want->topology.required < WEIR_TOPOLOGY_LEVELS && want->scope.level == WEIR_NONE;
    struct weir_overlay_mark mark = weir_overlay_mark(x->overlay);
    const struct weir_request *request;
    uint32_t n_placed;
    int r = place_some(x, set, &n_placed);

    weir_overlay_rollback(x->overlay, mark);
    if (r < 0)
        return r;
    request = &set->members[n_placed < set->n_members ? n_placed : 0].request;
    if ((want->is_gang && add_gang(x, set, n_placed, chain) < 0) ||
        (has_topology && add_topology(x, set, n_placed == set->n_members, chain) < 0) ||
        weir_survey(x, set, request, ret_survey) < 0)
        return WEIR_E_NO_MEMORY;
    ret_survey->code = code_of_nodes(chain, n_placed, set->n_members, ret_survey->code);
    if (add_nodes(x, request, ret_survey, chain) < 0 ||
        add_devices(x, request, ret_survey, chain) < 0)
        return WEIR_E_NO_MEMORY;
    return 0;
}

int weir_explain_want(struct weir_explainer *x, struct weir_want *want)
{
    struct weir_verdict verdict = {.unblock_subject = WEIR_NONE, .unblock_resource = WEIR_NONE};
    struct weir_reason_chain chain;
    struct weir_quota_over over;
    struct weir_survey survey;
    struct weir_set set;

    if (weir_what_if_set(x, want, &set) < 0 || weir_chain_start(x, WEIR_REASON_NONE, &chain) < 0 ||
        add_queues(x, want, &chain, &over) < 0 || add_places(x, want, &set, &chain, &survey) < 0)
        return WEIR_E_NO_MEMORY;
    verdict.reason = chain.root;
    verdict.blocking = chain.blocking != WEIR_NONE ? chain.blocking : chain.root;
    if ((over.queue != WEIR_NONE ? weir_unblock_limit(x, &set, &over, &verdict)
                                 : weir_unblock_places(x, &set, &survey, &verdict)) < 0)
        return WEIR_E_NO_MEMORY;
    want->verdict = verdict;
    want->is_explained = 1;
    return 0;
}
