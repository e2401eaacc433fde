#include "core/explain/unblock.h"

#include "base/bitset.h"
#include "base/count.h"
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

        for (uint32_t i = 0; i < n->n_devices; i++) {
            const struct weir_overlay_device *device = &overlay->devices[n->first_device + i];
            uint32_t code = n->out == WEIR_REASON_NONE
                                ? weir_filter_device(device, WEIR_IN_BOTH, request)
                                : weir_filter_kind(device, request);

            survey->devices[code != WEIR_REASON_NONE ? code : n->out]++;
        }
        survey->n_devices += n->n_devices;
    }
}

/* How far a node is from fitting: devices that are missing, or one for everything else. */
static int64_t distance(const struct weir_fit *fit, const struct weir_request *request)
{
    uint32_t need = request->shape->n_devices;

    return fit->n_devices < need ? (int64_t)(need - fit->n_devices) : 1;
}

/* What a node that is out of service would have. */
static void look_inside(const struct weir_explainer *x, uint32_t node,
                        const struct weir_request *request, struct weir_fit *fit)
{
    const struct weir_shape *shape = request->shape;
    struct weir_fit inside;

    weir_filter_inside(x->overlay, WEIR_IN_BOTH, node, request, &inside);
    fit->n_devices = inside.n_devices;
    fit->resource = weir_request_resource(shape);
    fit->have = (int64_t)inside.n_devices * 1000;
    fit->need = (int64_t)shape->n_devices * 1000;
    if (shape->n_devices > 0 || fit->resource == WEIR_NONE)
        return;
    fit->have = weir_overlay_free(x->overlay, WEIR_VIEW_NOW, node, fit->resource);
    fit->need = shape->amounts[0].amount;
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
        if (could.code == WEIR_REASON_NONE && fit.code == x->overlay->nodes[node].out)
            look_inside(x, node, request, &fit);
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
    static const enum weir_way ways[WEIR_WHAT_IF_MAX] = {
        [WEIR_WHAT_IF_EMPTY] = WEIR_WAY_WAIT,
        [WEIR_WHAT_IF_UNCORDONED] = WEIR_WAY_UNCORDON,
        [WEIR_WHAT_IF_OURS] = WEIR_WAY_FOREIGN,
    };

    for (uint32_t what_if = 0; what_if < WEIR_WHAT_IF_MAX && fleet == NULL; what_if++) {
        int r = weir_what_if_fits(x, what_if, set);

        if (r < 0)
            return r;
        if (r == 0)
            continue;
        survey.way = ways[what_if];
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

int weir_unblock_is_reshaping(struct weir_explainer *x, struct weir_set *set, uint32_t workload)
{
    const struct weir_ends_query query = {
        .set = set, .limits = true, .places = true, .promised_to = workload, .certain = WEIR_NONE};
    struct weir_overlay_mark mark;
    struct weir_ends ends;
    int r;

    if (!x->overlay->has_shaping || (x->tick->policy->actions & WEIR_POLICY_PLACE) == 0)
        return 0;
    mark = weir_overlay_mark(x->overlay);
    r = weir_ends_find(x, &query, &ends);
    weir_overlay_rollback(x->overlay, mark);
    return r < 0 ? r : r == 1 && ends.n == 0;
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

/* It would fit on the empty fleet, and no ends are enough: a device may not be changed yet. */
static void wait_for_change(const struct weir_explainer *x, struct weir_verdict *verdict)
{
    int64_t first = INT64_MAX;

    for (uint32_t i = 0; i < x->overlay->n_devices; i++) {
        const struct weir_overlay_device *device = &x->overlay->devices[i];
        int64_t until = weir_world_device(x->tick->world, device->row)->change_not_before_wall_ms;

        if (device->is_frozen && until < first)
            first = until;
    }
    if (first == INT64_MAX)
        return;
    verdict->unblock = WEIR_UNBLOCK_WAIT_UNTIL;
    verdict->unblock_amount = first;
}

static int unblock_by_waiting(struct weir_explainer *x, struct weir_set *set,
                              struct weir_verdict *verdict)
{
    const struct weir_ends_query query = {
        .set = set, .places = true, .promised_to = WEIR_NONE, .certain = WEIR_NONE};

    if (wait_for_ends(x, &query, verdict) < 0)
        return WEIR_E_NO_MEMORY;
    if (verdict->unblock == WEIR_UNBLOCK_NONE)
        wait_for_change(x, verdict);
    return 0;
}

/* ---- what to put back into use ---- */

/* Positions are the same in all three fleets. */
struct uncordoning {
    struct weir_explainer *x;
    struct weir_set *set;
    const struct weir_overlay *real; /* cordoned as it is */
    const struct weir_overlay *free; /* with nothing cordoned */
    struct weir_bitset used;         /* by the last placing: nodes, then devices */
    struct weir_ends ends;
    uint32_t positions[WEIR_CORDONS_MAX]; /* likewise: what it takes */
    uint32_t n;
    uint32_t n_more; /* for which there was no room */
};

/* Puts the cordons of x->overlay as they are, or lifts those of all nodes, of all devices. */
static void lift_all(struct uncordoning *u, bool of_nodes, bool of_devices)
{
    struct weir_overlay *overlay = u->x->overlay;

    for (uint32_t i = 0; i < overlay->n_nodes; i++)
        overlay->nodes[i].out = (of_nodes ? u->free : u->real)->nodes[i].out;
    for (uint32_t i = 0; i < overlay->n_devices; i++)
        overlay->devices[i].out = (of_devices ? u->free : u->real)->devices[i].out;
}

static void lift(struct uncordoning *u, uint32_t position, bool is_lifted)
{
    const struct weir_overlay *from = is_lifted ? u->free : u->real;
    struct weir_overlay *overlay = u->x->overlay;

    if (position < overlay->n_nodes)
        overlay->nodes[position].out = from->nodes[position].out;
    else
        overlay->devices[position - overlay->n_nodes].out =
            from->devices[position - overlay->n_nodes].out;
}

static bool is_cordoned(const struct uncordoning *u, uint32_t position)
{
    uint32_t device = position - u->real->n_nodes;

    return position < u->real->n_nodes
               ? u->real->nodes[position].out != u->free->nodes[position].out
               : u->real->devices[device].out != u->free->devices[device].out;
}

/* An instance is in use with the device that it is a part of. */
static void note_device(struct uncordoning *u, uint32_t row)
{
    const struct weir_overlay *overlay = u->x->overlay;
    uint32_t at = overlay->position_of_device[row];

    weir_bitset_add(&u->used, overlay->n_nodes + at);
    if (overlay->devices[at].parent != NULL)
        weir_bitset_add(&u->used, overlay->n_nodes +
                                      (uint32_t)(overlay->devices[at].parent - overlay->devices));
}

/* The set is placed: where. */
static int note_used(struct uncordoning *u)
{
    const struct weir_overlay *overlay = u->x->overlay;

    if (weir_bitset_init(&u->used, overlay->n_nodes + overlay->n_devices, u->x->tick->arena) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < u->set->n_members; i++) {
        const struct weir_spot *spot = &u->set->members[i].spot;

        weir_bitset_add(&u->used, spot->node);
        for (uint32_t g = 0; g < spot->n_grants; g++)
            note_device(u, overlay->grants[spot->first_grant + g].device);
    }
    return 0;
}

/* Does it fit as the cordons are now: 1, after u->ends; 0; or WEIR_E_NO_MEMORY. */
static int fits(struct uncordoning *u, bool may_wait)
{
    const struct weir_ends_query query = {
        .set = u->set, .places = true, .promised_to = WEIR_NONE, .certain = WEIR_NONE};
    struct weir_overlay_mark mark = weir_overlay_mark(u->x->overlay);
    int r;

    u->ends.n = 0;
    u->ends.n_more = 0;
    r = may_wait ? weir_ends_find(u->x, &query, &u->ends)
                 : weir_set_place(u->x->overlay, WEIR_IN_BOTH, u->set);
    if (r == 1 && note_used(u) < 0)
        r = WEIR_E_NO_MEMORY;
    weir_overlay_rollback(u->x->overlay, mark);
    return r;
}

static bool has_cordon(const struct uncordoning *u, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (is_cordoned(u, i))
            return true;
    return false;
}

/* The cordons of which kind have to be lifted at least: first without waiting for anybody. */
static int find_kind(struct uncordoning *u)
{
    static const bool kinds[][2] = {{true, false}, {false, true}, {true, true}};
    bool has_nodes = has_cordon(u, 0, u->real->n_nodes);
    bool has_devices = has_cordon(u, u->real->n_nodes, u->real->n_nodes + u->real->n_devices);

    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < WEIR_COUNT_OF(kinds); i++) {
            int r;

            if ((kinds[i][0] && !has_nodes) || (kinds[i][1] && !has_devices))
                continue;
            lift_all(u, kinds[i][0], kinds[i][1]);
            r = fits(u, round > 0);
            if (r != 0)
                return r;
        }
    return 0;
}

static void list_cordons(struct uncordoning *u)
{
    for (uint32_t i = 0; i < u->real->n_nodes + u->real->n_devices; i++) {
        if (!weir_bitset_has(&u->used, i) || !is_cordoned(u, i))
            continue;
        if (u->n < WEIR_CORDONS_MAX)
            u->positions[u->n++] = i;
        else
            u->n_more++;
    }
}

static bool is_no_worse(const struct weir_ends *ends, const struct weir_ends *best)
{
    return (uint64_t)ends->n + ends->n_more <= (uint64_t)best->n + best->n_more;
}

/* Leaves out what it fits without, devices first: a node has others. */
static int leave_out(struct uncordoning *u)
{
    struct weir_ends best = u->ends;

    lift_all(u, false, false);
    for (uint32_t i = 0; i < u->n; i++)
        lift(u, u->positions[i], true);
    for (uint32_t i = u->n; i-- > 0;) {
        uint32_t n = 0;
        int r;

        if (i >= u->n) /* went with another */
            continue;
        lift(u, u->positions[i], false);
        r = fits(u, best.n > 0);
        if (r < 0)
            return r;
        if (r == 0 || !is_no_worse(&u->ends, &best)) {
            lift(u, u->positions[i], true);
            continue;
        }
        best = u->ends;
        for (uint32_t j = 0; j < u->n; j++) {
            bool stays = j != i && weir_bitset_has(&u->used, u->positions[j]);

            lift(u, u->positions[j], stays);
            if (stays)
                u->positions[n++] = u->positions[j];
        }
        u->n = n;
    }
    u->ends = best;
    return 0;
}

static int write_cordons(struct uncordoning *u, struct weir_verdict *verdict)
{
    struct weir_draft *draft = &u->x->tick->draft;

    verdict->unblock_first_cordon = draft->n_cordons;
    verdict->unblock_n_cordons = u->n;
    verdict->unblock_n_more_cordons = u->n_more;
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t at = u->positions[i];
        struct weir_cordoned cordon = {WEIR_SUBJECT_NODE, 0};

        if (at < u->real->n_nodes)
            cordon.subject = u->real->nodes[at].index;
        else
            cordon = (struct weir_cordoned){WEIR_SUBJECT_DEVICE,
                                            u->real->devices[at - u->real->n_nodes].row};
        if (weir_draft_cordon(draft, cordon) < 0)
            return WEIR_E_NO_MEMORY;
    }
    verdict->unblock = WEIR_UNBLOCK_UNCORDON;
    verdict->unblock_subject_kind = draft->cordons[verdict->unblock_first_cordon].kind;
    verdict->unblock_subject = draft->cordons[verdict->unblock_first_cordon].subject;
    return weir_ends_write(u->x, &u->ends, verdict);
}

/* With all that is held: where it would go if fewer were cordoned, and after whose ends. */
static int unblock_by_uncordoning(struct weir_explainer *x, struct weir_set *set,
                                  struct weir_verdict *verdict)
{
    struct uncordoning u = {
        .x = x,
        .set = set,
        .real = weir_what_if_fleet(x, WEIR_WHAT_IF_EMPTY),
        .free = weir_what_if_fleet(x, WEIR_WHAT_IF_UNCORDONED),
    };
    int r;

    if (u.real == NULL || u.free == NULL)
        return WEIR_E_NO_MEMORY;
    r = find_kind(&u);
    if (r == 1) {
        list_cordons(&u);
        if (u.n_more == 0)
            r = leave_out(&u) < 0 ? WEIR_E_NO_MEMORY : 1;
    }
    lift_all(&u, false, false);
    if (r != 1)
        return r;
    return u.n > 0 ? write_cordons(&u, verdict)
                   : weir_ends_wait_for(x, WEIR_UNBLOCK_WAIT_FOR, &u.ends, verdict);
}

/* Which GPUs the set would take if no foreign process used one: the first of those that one does.
 */
static int unblock_by_leaving_of_foreign(struct weir_explainer *x, struct weir_set *set,
                                         struct weir_verdict *verdict)
{
    struct weir_overlay *fleet = weir_what_if_fleet(x, WEIR_WHAT_IF_OURS);
    struct weir_overlay_mark mark;
    int r;

    if (fleet == NULL)
        return WEIR_E_NO_MEMORY;
    mark = weir_overlay_mark(fleet);
    r = weir_set_place(fleet, WEIR_IN_BOTH, set);
    for (uint32_t g = mark.n_grants; r == 1 && g < fleet->n_grants; g++) {
        uint32_t device = fleet->grants[g].device;
        const struct weir_device *row = weir_world_device(x->tick->world, device);

        if (row->n_foreign == 0 && row->memory_foreign_bytes == 0)
            continue;
        verdict->unblock = WEIR_UNBLOCK_FOREIGN;
        verdict->unblock_subject_kind = WEIR_SUBJECT_DEVICE;
        verdict->unblock_subject = device;
        break;
    }
    weir_overlay_rollback(fleet, mark);
    return r < 0 ? r : 0;
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
    case WEIR_WAY_FOREIGN:
        return unblock_by_leaving_of_foreign(x, set, verdict);
    case WEIR_WAY_CAPACITY:
        unblock_by_capacity(set, verdict);
        return 0;
    }
    return 0;
}
