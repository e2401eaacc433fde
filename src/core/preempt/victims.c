#include "core/preempt/victims.h"

#include "base/arena.h"
#include "base/err.h"
#include "core/heal/settle.h"
#include "core/mig/room.h"
#include "core/preempt/hunt.h"
#include "core/queue/quota.h"
#include "core/share/share.h"

bool weir_victims_may_exist(const struct weir_line *line, const struct weir_candidate *candidate,
                            const struct weir_want *want)
{
    const struct weir_overlay *overlay = &line->tick->overlay;
    uint32_t actions = line->tick->policy->actions;

    if (overlay->n_running == 0 || (want->no_victims == overlay->freed + 1 &&
                                    candidate->priority <= want->no_victims_priority))
        return false;
    if (actions & WEIR_POLICY_PREEMPT &&
        line->queues[want->leaf].lowest_running < candidate->priority)
        return true;
    return actions & WEIR_POLICY_RECLAIM &&
           weir_quota_is_within(overlay, want->leaf, &want->amounts);
}

/* ---- what the victims must leave room for ---- */

static bool fits(const struct weir_hunt *hunt, uint32_t node, const struct weir_member *member)
{
    struct weir_fit fit;

    weir_filter_node(hunt->overlay, WEIR_IN_SOON, node, &member->request, &fit);
    return fit.code == WEIR_REASON_NONE;
}

/* More than there is would be in use in SOON, and is not in NOW already. */
static bool is_overdrawn(int64_t free_soon, int64_t free_now)
{
    return free_soon < 0 && free_soon < free_now;
}

static bool device_is_sound(const struct weir_overlay_device *device, uint32_t owner)
{
    const struct weir_overlay_part *used = &device->used[WEIR_VIEW_SOON];
    uint32_t max_sharers = device->max_sharers > 1 ? device->max_sharers : 1;

    return weir_mig_is_sound(device) && weir_share_is_sound(device, owner) && used->mgpu <= 1000 &&
           used->n_sharers <= max_sharers &&
           !is_overdrawn(weir_filter_memory_left(device, WEIR_VIEW_SOON),
                         weir_filter_memory_left(device, WEIR_VIEW_NOW));
}

static bool queues_are_sound(const struct weir_hunt *hunt, const struct weir_running *r)
{
    const struct weir_overlay *overlay = hunt->overlay;
    const struct weir_queue *row;

    for (uint32_t queue = r->job->queue; queue != WEIR_NONE; queue = row->parent) {
        row = weir_world_queue(overlay->world, queue);
        for (uint32_t i = 0; i < r->shape->n_amounts; i++) {
            uint32_t resource = r->shape->amounts[i].resource;
            int64_t limit = row->limit.of[resource];

            if (is_overdrawn(limit - weir_overlay_held(overlay, WEIR_VIEW_SOON, queue, resource),
                             limit - weir_overlay_held(overlay, WEIR_VIEW_NOW, queue, resource)))
                return false;
        }
    }
    return true;
}

/* Could this one have stayed where it is, beside all that was promised? */
static bool is_sound(const struct weir_hunt *hunt, const struct weir_running *r)
{
    const struct weir_overlay *overlay = hunt->overlay;
    const struct weir_overlay_job *state = &overlay->jobs[r->workload];

    if (!weir_is_independent(r->job) && state->n_live + state->n_succeeded < weir_gang_min(r->job))
        return false;
    for (uint32_t i = 0; i < r->shape->n_amounts; i++) {
        uint32_t resource = r->shape->amounts[i].resource;

        if (is_overdrawn(weir_overlay_free(overlay, WEIR_VIEW_SOON, r->node, resource),
                         weir_overlay_free(overlay, WEIR_VIEW_NOW, r->node, resource)))
            return false;
    }
    for (uint32_t at = r->row->first_hold; at != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(overlay->world, at);

        if (!device_is_sound(&overlay->devices[overlay->position_of_device[hold->device]],
                             r->job->owner))
            return false;
        at = hold->next_of_task;
    }
    return queues_are_sound(hunt, r);
}

/* Lets stay, from the last taken to the first, whoever is not needed: for `member` on `node`, or
 * with member NULL beside all that is promised. */
static int spare_unneeded(struct weir_hunt *hunt, uint32_t from, uint32_t node,
                          const struct weir_member *member)
{
    uint32_t end = hunt->n_victims;

    while (end > from) {
        uint32_t n = weir_hunt_last_unit(hunt, from, end);
        uint32_t first = end - n;
        bool needed = false;

        if (weir_hunt_spare(hunt, first, n) < 0)
            return WEIR_E_NO_MEMORY;
        for (uint32_t i = 0; !needed && i < n; i++)
            needed = !is_sound(hunt, &hunt->overlay->running[hunt->victims[first + i].running]);
        if (member != NULL)
            needed = needed || !fits(hunt, node, member);
        if (!needed)
            weir_hunt_forget(hunt, first, n);
        else if (weir_hunt_take_again(hunt, first, n) < 0)
            return WEIR_E_NO_MEMORY;
        end = first;
    }
    return 0;
}

/* ---- one member ---- */

static int clear_node(struct weir_hunt *hunt, uint32_t node, const struct weir_member *member)
{
    uint32_t from = hunt->n_victims;

    if (weir_hunt_list(hunt, node) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < hunt->n_units && !fits(hunt, node, member); i++)
        if (weir_hunt_take(hunt, hunt->units[i].running) < 0)
            return WEIR_E_NO_MEMORY;
    if (!fits(hunt, node, member))
        return 0;
    return spare_unneeded(hunt, from, node, member) < 0 ? WEIR_E_NO_MEMORY : 1;
}

/* Tries every node, and undoes it; the best is left in *ret_node, or WEIR_NONE. */
static int cheapest_node(struct weir_hunt *hunt, const struct weir_member *member,
                         const struct weir_scope *scope, uint32_t *ret_node)
{
    struct weir_overlay *overlay = hunt->overlay;
    uint32_t from = hunt->n_victims;
    struct weir_hunt_cost best = {0};

    *ret_node = WEIR_NONE;
    for (uint32_t node = 0; node < overlay->n_nodes; node++) {
        struct weir_overlay_mark mark;
        struct weir_hunt_cost cost;
        int r;

        if (overlay->nodes[node].out != WEIR_REASON_NONE ||
            overlay->nodes[node].first_running == WEIR_NONE ||
            !weir_scope_has(overlay, scope, node))
            continue;
        mark = weir_overlay_mark(overlay);
        r = clear_node(hunt, node, member);
        cost = weir_hunt_cost(hunt, from);
        weir_overlay_rollback(overlay, mark);
        hunt->n_victims = from;
        if (r < 0)
            return r;
        if (r == 1 && (*ret_node == WEIR_NONE || weir_hunt_is_cheaper(&cost, &best))) {
            *ret_node = node;
            best = cost;
        }
    }
    return 0;
}

/* Where it fits anyway, else where it costs least. */
static int place_member(struct weir_hunt *hunt, struct weir_member *member,
                        const struct weir_scope *scope)
{
    struct weir_overlay *overlay = hunt->overlay;
    int r = weir_score_find(overlay, WEIR_IN_SOON, &member->request, scope, &member->spot);
    uint32_t node;

    if (r < 0)
        return r;
    if (r == 0) {
        if (cheapest_node(hunt, member, scope, &node) < 0)
            return WEIR_E_NO_MEMORY;
        if (node == WEIR_NONE)
            return 0;
        if (clear_node(hunt, node, member) < 0 ||
            weir_score_devices(overlay, WEIR_IN_SOON, node, &member->request, &member->spot) < 0)
            return WEIR_E_NO_MEMORY;
    }
    if (weir_overlay_hold(overlay, WEIR_IN_SOON, hunt->set->taker, member->request.shape,
                          member->spot) < 0)
        return WEIR_E_NO_MEMORY;
    return 1;
}

/* ---- the set ---- */

static bool is_under(const struct weir_hunt *hunt, uint32_t leaf, uint32_t queue)
{
    while (leaf != WEIR_NONE && leaf != queue)
        leaf = weir_world_queue(hunt->tick->world, leaf)->parent;
    return leaf == queue;
}

static bool holds(const struct weir_running *r, uint32_t resource)
{
    for (uint32_t i = 0; i < r->shape->n_amounts; i++)
        if (r->shape->amounts[i].resource == resource)
            return true;
    return false;
}

/* Makes room under the limits of its queues. */
static int clear_limits(struct weir_hunt *hunt)
{
    const struct weir_set *set = hunt->set;
    struct weir_quota_over over;

    if (weir_quota_fits_limits(hunt->overlay, WEIR_IN_SOON, set->taker.leaf, &set->amounts, &over))
        return 1;
    if (weir_hunt_list(hunt, WEIR_NONE) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < hunt->n_units; i++) {
        uint32_t running = hunt->units[i].running;
        const struct weir_running *r = &hunt->overlay->running[running];

        if (!is_under(hunt, r->job->queue, over.queue) || !holds(r, over.resource))
            continue;
        if (weir_hunt_take(hunt, running) < 0)
            return WEIR_E_NO_MEMORY;
        if (weir_quota_fits_limits(hunt->overlay, WEIR_IN_SOON, set->taker.leaf, &set->amounts,
                                   &over))
            return 1;
    }
    return 0;
}

/* One after the other, asking where there is no room. */
static int place_asking(struct weir_hunt *hunt, const struct weir_scope *scope)
{
    int r = 1;

    for (uint32_t i = 0; r == 1 && i < hunt->set->n_members; i++)
        r = place_member(hunt, &hunt->set->members[i], scope);
    return r;
}

/* Begins again from `mark`, with all that were asked so far gone. */
static int begin_again(struct weir_hunt *hunt, struct weir_overlay_mark *mark)
{
    weir_overlay_rollback(hunt->overlay, *mark);
    *mark = weir_overlay_mark(hunt->overlay);
    return weir_hunt_take_again(hunt, 0, hunt->n_victims);
}

/* Once all have left, the set is placed like any other: each member where it fits best, which may
 * not be where room was made for it, and a later member may lack that room. So asking goes on until
 * the set finds its place that way. */
static int place_set(struct weir_hunt *hunt, const struct weir_scope *scope,
                     struct weir_overlay_mark *mark)
{
    for (;;) {
        uint32_t n_before = hunt->n_victims;
        int r = place_asking(hunt, scope);

        if (r != 1 || hunt->set->n_members == 1 || hunt->n_victims == n_before)
            return r;
        if (begin_again(hunt, mark) < 0)
            return WEIR_E_NO_MEMORY;
    }
}

/* Who is not needed stays, unless the set would then not find its place. */
static int spare(struct weir_hunt *hunt, const struct weir_scope *scope,
                 struct weir_overlay_mark *mark)
{
    uint32_t n = hunt->n_victims;
    struct weir_victim *all = weir_arena_new_n(hunt->tick->arena, struct weir_victim, n);
    int r;

    if (all == NULL)
        return WEIR_E_NO_MEMORY;
    memcpy(all, hunt->victims, n * sizeof(all[0]));
    if (spare_unneeded(hunt, 0, WEIR_NONE, NULL) < 0)
        return WEIR_E_NO_MEMORY;
    if (hunt->set->n_members == 1 || hunt->n_victims == n)
        return 0;
    if (begin_again(hunt, mark) < 0)
        return WEIR_E_NO_MEMORY;
    r = weir_set_place_in(hunt->overlay, WEIR_IN_SOON, hunt->set, scope);
    if (r != 0)
        return r;
    memcpy(hunt->victims, all, n * sizeof(all[0]));
    hunt->n_victims = n;
    if (begin_again(hunt, mark) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_set_place_in(hunt->overlay, WEIR_IN_SOON, hunt->set, scope);
}

static int try_scope(struct weir_hunt *hunt, const struct weir_scope *scope)
{
    struct weir_overlay_mark mark = weir_overlay_mark(hunt->overlay);
    int r = clear_limits(hunt);

    if (r == 1)
        r = place_set(hunt, scope, &mark);
    if (r == 1 && spare(hunt, scope, &mark) < 0)
        r = WEIR_E_NO_MEMORY;
    weir_overlay_keep(hunt->overlay);
    return r;
}

/* The cheapest of the scopes, tried and undone; or WEIR_NONE. */
static int cheapest_scope(struct weir_hunt *hunt, const struct weir_scope *scopes, uint32_t n,
                          uint32_t *ret_scope)
{
    struct weir_hunt_cost best = {0};

    *ret_scope = WEIR_NONE;
    for (uint32_t i = 0; i < n; i++) {
        struct weir_overlay_mark mark = weir_overlay_mark(hunt->overlay);
        int r = try_scope(hunt, &scopes[i]);
        struct weir_hunt_cost cost = weir_hunt_cost(hunt, 0);

        weir_overlay_rollback(hunt->overlay, mark);
        hunt->n_victims = 0;
        if (r < 0)
            return r;
        if (r == 1 && (*ret_scope == WEIR_NONE || weir_hunt_is_cheaper(&cost, &best))) {
            *ret_scope = i;
            best = cost;
        }
    }
    return 0;
}

static int ask_victims(struct weir_hunt *hunt)
{
    for (uint32_t i = 0; i < hunt->n_victims; i++)
        if (weir_settle_evict(hunt->tick, hunt->victims[i].running,
                              (enum weir_cause)hunt->victims[i].cause,
                              hunt->candidate->workload) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

int weir_victims_make_room(struct weir_line *line, const struct weir_candidate *candidate,
                           struct weir_set *set)
{
    const struct weir_scope *scopes = &set->scope;
    uint32_t n = 1;
    uint32_t best;
    struct weir_hunt hunt;

    weir_hunt_init(&hunt, line, candidate, set);
    if (set->scope.level == WEIR_NONE && set->topology.required < WEIR_TOPOLOGY_LEVELS &&
        weir_set_scopes(hunt.overlay, set->topology.required, set, false, &scopes, &n) < 0)
        return WEIR_E_NO_MEMORY;
    if (cheapest_scope(&hunt, scopes, n, &best) < 0)
        return WEIR_E_NO_MEMORY;
    if (best == WEIR_NONE)
        return 0;
    if (try_scope(&hunt, &scopes[best]) < 0 || ask_victims(&hunt) < 0)
        return WEIR_E_NO_MEMORY;
    return 1;
}
