#include "core/explain/unblock.h"

#include "base/err.h"
#include "base/units.h"
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

static void wait_for(struct weir_verdict *verdict, uint32_t workload)
{
    if (workload == WEIR_NONE)
        return;
    verdict->unblock = WEIR_UNBLOCK_WAIT_FOR;
    verdict->unblock_subject_kind = WEIR_SUBJECT_WORKLOAD;
    verdict->unblock_subject = workload;
}

int weir_unblock_limit(struct weir_explainer *x, const struct weir_want *want,
                       const struct weir_quota_over *over, struct weir_verdict *verdict)
{
    struct weir_holder_query query = {.resource = over->resource,
                                      .node = WEIR_NONE,
                                      .queue = over->queue};
    int64_t ask = want->amounts.of[over->resource];

    if (ask <= over->limit) {
        if (weir_holders_find(x, &query) < 0)
            return WEIR_E_NO_MEMORY;
        wait_for(verdict, weir_holders_first(x));
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

/* Whoever holds what the nearest node lacks; of a set, what any of its tasks could use; or else
 * whoever holds anything at all. */
static int unblock_by_waiting(struct weir_explainer *x, const struct weir_set *set,
                              const struct weir_survey *survey, struct weir_verdict *verdict)
{
    bool lacks_devices =
        survey->request->shape->n_devices > 0 &&
        (survey->resource == WEIR_NONE || weir_overlay_is_gpu(x->overlay, survey->resource));
    struct weir_holder_query query = {
        .request = lacks_devices ? survey->request : NULL,
        .resource = survey->resource,
        .node = set->n_members == 1 ? survey->node : WEIR_NONE,
        .queue = WEIR_NONE,
    };

    for (int attempt = 0; attempt < 2 && verdict->unblock == WEIR_UNBLOCK_NONE; attempt++) {
        if (weir_holders_find(x, &query) < 0)
            return WEIR_E_NO_MEMORY;
        wait_for(verdict, weir_holders_first(x));
        query = (struct weir_holder_query){.resource = WEIR_NONE,
                                           .node = WEIR_NONE,
                                           .queue = WEIR_NONE};
    }
    return 0;
}

static void uncordon(struct weir_verdict *verdict, uint32_t kind, uint32_t subject)
{
    verdict->unblock = WEIR_UNBLOCK_UNCORDON;
    verdict->unblock_subject_kind = kind;
    verdict->unblock_subject = subject;
}

/* The first cordoned node that could serve the request, or the first cordoned device of a node in
 * service. */
static void unblock_by_uncordoning(struct weir_explainer *x, const struct weir_request *request,
                                   struct weir_verdict *verdict)
{
    const struct weir_overlay *overlay = x->overlay;
    const struct weir_overlay *fleet = &x->fleets[WEIR_WHAT_IF_UNCORDONED];

    for (uint32_t node = 0; node < overlay->n_nodes; node++) {
        const struct weir_overlay_node *n = &overlay->nodes[node];
        struct weir_fit could;

        weir_filter_node(fleet, WEIR_IN_BOTH, node, request, &could);
        if (could.code != WEIR_REASON_NONE)
            continue;
        if (n->out == WEIR_REASON_NODE_CORDONED) {
            uncordon(verdict, WEIR_SUBJECT_NODE, n->index);
            return;
        }
        for (uint32_t i = 0; i < n->n_devices; i++) {
            const struct weir_overlay_device *device = &overlay->devices[n->first_device + i];

            if (device->out == WEIR_REASON_DEVICE_CORDONED &&
                weir_filter_kind(device, request) == WEIR_REASON_NONE) {
                uncordon(verdict, WEIR_SUBJECT_DEVICE, device->row);
                return;
            }
        }
    }
}

static void unblock_by_capacity(const struct weir_set *set, struct weir_verdict *verdict)
{
    uint32_t resource = weir_request_resource(set->members[0].request.shape);

    verdict->unblock = WEIR_UNBLOCK_ADD_CAPACITY;
    verdict->unblock_resource = resource;
    verdict->unblock_amount = set->amounts.of[resource];
}

int weir_unblock_places(struct weir_explainer *x, const struct weir_set *set,
                        const struct weir_survey *survey, struct weir_verdict *verdict)
{
    switch ((enum weir_way)survey->way) {
    case WEIR_WAY_WAIT:
        return unblock_by_waiting(x, set, survey, verdict);
    case WEIR_WAY_UNCORDON:
        for (uint32_t i = 0; i < set->n_members && verdict->unblock == WEIR_UNBLOCK_NONE; i++)
            unblock_by_uncordoning(x, &set->members[i].request, verdict);
        return 0;
    case WEIR_WAY_CAPACITY:
        unblock_by_capacity(set, verdict);
        return 0;
    }
    return 0;
}
