#include "core/explain/unblock.h"

#include "base/bitset.h"
#include "base/err.h"
#include "base/units.h"
#include "core/explain/ends.h"
#include "core/explain/whatif.h"

/* ---- the survey ---- */

static void count_devices(const struct weir_explainer *x, const struct weir_request *request,
                          struct weir_survey *survey)
{
    const struct weir_overlay *overlay = x->overlay;

    for (uint32_t node = 0; node < overlay->n_nodes; node++) {
        const struct weir_overlay_node *n = &overlay->nodes[node];

        if (n->out != WEIR_REASON_NONE)
            continue;
        for (uint32_t i = 0; i < n->n_devices; i++)
            survey->devices[weir_filter_device(&overlay->devices[n->first_device + i], WEIR_IN_BOTH,
                                               request)]++;
        survey->n_devices += n->n_devices;
    }
}

/* How far a node is from fitting: devices that are missing, or one for everything else. */
static int64_t distance(const struct weir_fit *fit, const struct weir_request *request)
{
    uint32_t need = request->shape->n_devices;

    return fit->n_devices < need ? (int64_t)(need - fit->n_devices) : 1;
}

/* Counts the nodes by code, and finds the one nearest to fitting among those that would fit in the
 * fleet of this way. */
static void count_nodes(const struct weir_explainer *x, const struct weir_overlay *fleet,
                        const struct weir_set *set, struct weir_survey *survey)
{
    const struct weir_request *request = survey->request;
    int64_t nearest = INT64_MAX;

    for (uint32_t node = 0; node < x->overlay->n_nodes; node++) {
        struct weir_fit fit;
        struct weir_fit could;

        if (!weir_scope_has(x->overlay, &set->scope, node)) {
            survey->nodes[WEIR_REASON_TOPOLOGY]++;
            continue;
        }
        weir_filter_node(x->overlay, WEIR_IN_BOTH, node, request, &fit);
        survey->nodes[fit.code]++;
        if (fleet == NULL || fit.code == WEIR_REASON_NONE)
            continue;
        weir_filter_node(fleet, WEIR_IN_BOTH, node, request, &could);
        if (could.code != WEIR_REASON_NONE || distance(&fit, request) >= nearest)
            continue;
        nearest = distance(&fit, request);
        survey->node = node;
        survey->code = fit.code;
        survey->resource = fit.resource;
        survey->have = fit.have;
        survey->need = fit.need;
    }
}

int weir_survey(struct weir_explainer *x, struct weir_set *set, const struct weir_request *request,
                struct weir_survey *ret_survey)
{
    struct weir_survey survey = {
        .way = WEIR_WAY_CAPACITY, .node = WEIR_NONE, .resource = WEIR_NONE, .request = request};
    const struct weir_overlay *fleet = NULL;

    for (uint32_t what_if = 0; what_if < WEIR_WHAT_IF_MAX && fleet == NULL; what_if++) {
        int r = weir_what_if_fits(x, what_if, set);

        if (r < 0)
            return r;
        if (r == 0)
            continue;
        survey.way = what_if == WEIR_WHAT_IF_EMPTY ? WEIR_WAY_WAIT : WEIR_WAY_UNCORDON;
        fleet = weir_what_if_fleet(x, what_if);
    }
    count_nodes(x, fleet, set, &survey);
    count_devices(x, request, &survey);
    if (survey.code == WEIR_REASON_NONE)
        survey.code = weir_filter_most_telling(survey.nodes);
    if (survey.code == WEIR_REASON_DEVICE_BUSY)
        survey.code = WEIR_REASON_RESOURCES;
    if (survey.resource == WEIR_NONE)
        survey.resource = weir_request_resource(request->shape);
    *ret_survey = survey;
    return 0;
}

/* ---- ways out ---- */

/* The ends after which the query fits, if there are any. Where none is needed, it only came too
 * late in this decision, and whatever ends first brings the next one. */
static int wait_for_ends(struct weir_explainer *x, const struct weir_ends_query *query,
                         struct weir_verdict *verdict)
{
    struct weir_overlay_mark mark = weir_overlay_mark(x->overlay);
    struct weir_ends ends;
    int r = weir_ends_find(x, query, &ends);

    weir_overlay_rollback(x->overlay, mark);
    if (r <= 0)
        return r;
    if (ends.n > 0)
        return weir_ends_wait_for(x, WEIR_UNBLOCK_WAIT_FOR, &ends, verdict);
    if (weir_ends_first(x, &ends) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_ends_wait_for(x, WEIR_UNBLOCK_WAIT_FOR_ANY, &ends, verdict);
}

int weir_unblock_limit(struct weir_explainer *x, struct weir_set *set,
                       const struct weir_quota_over *over, struct weir_verdict *verdict)
{
    struct weir_ends_query query = {
        .set = set, .limits = true, .places = true, .promised_to = WEIR_NONE, .certain = WEIR_NONE};
    int64_t ask = set->amounts.of[over->resource];

    for (int attempt = 0;
         attempt < 2 && ask <= over->limit && verdict->unblock == WEIR_UNBLOCK_NONE; attempt++) {
        if (wait_for_ends(x, &query, verdict) < 0)
            return WEIR_E_NO_MEMORY;
        query.places = false; /* first the limit, then see */
    }
    if (verdict->unblock != WEIR_UNBLOCK_NONE)
        return 0;
    verdict->unblock = WEIR_UNBLOCK_RAISE_LIMIT;
    verdict->unblock_subject_kind = WEIR_SUBJECT_QUEUE;
    verdict->unblock_subject = over->queue;
    verdict->unblock_resource = over->resource;
    verdict->unblock_amount = weir_units_add(over->held, ask);
    return 0;
}

/* Of what leaves some may leave for others, and somewhere else. */
int weir_unblock_promised(struct weir_explainer *x, struct weir_set *set, uint32_t workload,
                          struct weir_verdict *verdict)
{
    const struct weir_ends_query query = {
        .set = set, .limits = true, .places = true, .promised_to = workload, .certain = WEIR_NONE};
    struct weir_ends ends;

    if (wait_for_ends(x, &query, verdict) < 0)
        return WEIR_E_NO_MEMORY;
    if (verdict->unblock != WEIR_UNBLOCK_NONE)
        return 0;
    /* The set may be of a role that was promised nothing, while others were. */
    if (weir_ends_leaving(x, &ends) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_ends_wait_for(x, WEIR_UNBLOCK_WAIT_FOR, &ends, verdict);
}

int weir_unblock_rest(struct weir_explainer *x, const struct weir_want *want, uint32_t workload,
                      struct weir_verdict *verdict)
{
    struct weir_set set;
    const struct weir_ends_query query = {
        .set = &set, .limits = true, .places = true, .promised_to = WEIR_NONE, .certain = workload};
    const struct weir_ends own = {.items = {{workload, 0, INT64_MAX}}, .n = 1};

    if (weir_what_if_set(x, want, &set) < 0)
        return WEIR_E_NO_MEMORY;
    set.scope = WEIR_SCOPE_ALL;
    if (wait_for_ends(x, &query, verdict) < 0)
        return WEIR_E_NO_MEMORY;
    /* First its own end, then see. */
    return verdict->unblock != WEIR_UNBLOCK_NONE
               ? 0
               : weir_ends_wait_for(x, WEIR_UNBLOCK_WAIT_FOR, &own, verdict);
}

static int unblock_by_waiting(struct weir_explainer *x, struct weir_set *set,
                              struct weir_verdict *verdict)
{
    const struct weir_ends_query query = {
        .set = set, .places = true, .promised_to = WEIR_NONE, .certain = WEIR_NONE};

    return wait_for_ends(x, &query, verdict);
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t old = *a;

    *a = *b;
    *b = old;
}

/* What is out of service in one becomes so in the other. Positions are the same in both. */
static void swap_service(struct weir_overlay *a, struct weir_overlay *b)
{
    for (uint32_t i = 0; i < a->n_nodes; i++)
        swap(&a->nodes[i].out, &b->nodes[i].out);
    for (uint32_t i = 0; i < a->n_devices; i++)
        swap(&a->devices[i].out, &b->devices[i].out);
}

static void uncordon(struct weir_verdict *verdict, uint32_t kind, uint32_t subject)
{
    if (verdict->unblock != WEIR_UNBLOCK_NONE) {
        verdict->unblock_n_more++;
        return;
    }
    verdict->unblock = WEIR_UNBLOCK_UNCORDON;
    verdict->unblock_subject_kind = kind;
    verdict->unblock_subject = subject;
}

/* The set is placed in x->overlay, where nothing is cordoned: every cordon of `real` that is in its
 * way, once. */
static int uncordon_spots(const struct weir_explainer *x, const struct weir_overlay *real,
                          const struct weir_set *set, struct weir_verdict *verdict)
{
    struct weir_bitset seen; /* nodes, then devices */

    if (weir_bitset_init(&seen, real->n_nodes + real->n_devices, x->tick->arena) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < set->n_members; i++) {
        const struct weir_spot *spot = &set->members[i].spot;
        const struct weir_overlay_node *node = &real->nodes[spot->node];

        if (node->out == WEIR_REASON_NODE_CORDONED && !weir_bitset_has(&seen, spot->node))
            uncordon(verdict, WEIR_SUBJECT_NODE, node->index);
        weir_bitset_add(&seen, spot->node);
        for (uint32_t g = 0; g < spot->n_grants; g++) {
            uint32_t row = x->overlay->grants[spot->first_grant + g].device;
            uint32_t position = real->position_of_device[row];

            if (real->devices[position].out == WEIR_REASON_DEVICE_CORDONED &&
                !weir_bitset_has(&seen, real->n_nodes + position))
                uncordon(verdict, WEIR_SUBJECT_DEVICE, row);
            weir_bitset_add(&seen, real->n_nodes + position);
        }
    }
    return 0;
}

/* With nothing cordoned, but all that is held: where it would go then, and after whose ends. */
static int unblock_by_uncordoning(struct weir_explainer *x, struct weir_set *set,
                                  struct weir_verdict *verdict)
{
    const struct weir_ends_query query = {
        .set = set, .places = true, .promised_to = WEIR_NONE, .certain = WEIR_NONE};
    struct weir_overlay *fleet = weir_what_if_fleet(x, WEIR_WHAT_IF_UNCORDONED);
    struct weir_overlay_mark mark = weir_overlay_mark(x->overlay);
    struct weir_ends ends;
    int r;

    if (fleet == NULL)
        return WEIR_E_NO_MEMORY;
    swap_service(x->overlay, fleet);
    r = weir_ends_find(x, &query, &ends);
    if (r == 1 && uncordon_spots(x, fleet, set, verdict) < 0)
        r = WEIR_E_NO_MEMORY;
    weir_overlay_rollback(x->overlay, mark);
    swap_service(x->overlay, fleet);
    if (r != 1)
        return r;
    if (verdict->unblock == WEIR_UNBLOCK_NONE)
        return weir_ends_wait_for(x, WEIR_UNBLOCK_WAIT_FOR, &ends, verdict);
    return weir_ends_write(x, &ends, verdict);
}

static void unblock_by_capacity(const struct weir_set *set, struct weir_verdict *verdict)
{
    uint32_t resource = weir_request_resource(set->members[0].request.shape);

    verdict->unblock = WEIR_UNBLOCK_ADD_CAPACITY;
    verdict->unblock_resource = resource;
    verdict->unblock_amount = set->amounts.of[resource];
}

int weir_unblock_places(struct weir_explainer *x, struct weir_set *set,
                        const struct weir_survey *survey, struct weir_verdict *verdict)
{
    switch ((enum weir_way)survey->way) {
    case WEIR_WAY_WAIT:
        return unblock_by_waiting(x, set, verdict);
    case WEIR_WAY_UNCORDON:
        return unblock_by_uncordoning(x, set, verdict);
    case WEIR_WAY_CAPACITY:
        unblock_by_capacity(set, verdict);
        return 0;
    }
    return 0;
}
