#include "core/admit.h"

#include "base/arena.h"
#include "base/err.h"
#include "core/admit/refuse.h"

/* ---- one task ---- */

static uint32_t code_of(uint32_t resource)
{
    if (resource == WEIR_RES_CPU)
        return WEIR_REASON_CPU;
    if (resource == WEIR_RES_MEMORY)
        return WEIR_REASON_MEMORY;
    return WEIR_REASON_RESOURCES;
}

/* As many of its devices as the node has that would do. */
static void take_devices(const struct weir_admission *a, uint32_t node,
                         const struct weir_request *request, struct weir_shape *shape)
{
    struct weir_fit fit;

    weir_filter_node(&a->fleet, WEIR_IN_BOTH, node, request, &fit);
    if (fit.n_devices < shape->n_devices)
        shape->n_devices = fit.n_devices;
    for (uint32_t i = 0; i < shape->n_amounts; i++)
        if (weir_overlay_is_gpu(&a->fleet, shape->amounts[i].resource))
            shape->amounts[i].amount = shape->n_devices * shape->device_mgpu;
}

/* The most of a resource with which the task, otherwise as it is, would fit onto the node; 0 if it
 * would not. */
static int64_t most_on_node(const struct weir_admission *a, uint32_t node,
                            const struct weir_request *request, uint32_t resource)
{
    struct weir_shape less = *request->shape;
    struct weir_request relaxed = {&less, request->isolation, WEIR_NONE, request->owner};
    int64_t most = 0;
    struct weir_fit fit;

    if (weir_overlay_is_gpu(&a->fleet, resource)) {
        take_devices(a, node, request, &less);
        most = less.n_devices * less.device_mgpu;
        if (most == 0)
            return 0;
    }
    for (uint32_t i = 0; most == 0 && i < less.n_amounts; i++) {
        if (less.amounts[i].resource != resource)
            continue;
        most = weir_overlay_free(&a->fleet, WEIR_VIEW_NOW, node, resource);
        less.amounts[i].amount = most;
    }
    weir_filter_node(&a->fleet, WEIR_IN_BOTH, node, &relaxed, &fit);
    return most > 0 && fit.code == WEIR_REASON_NONE ? most : 0;
}

static int64_t most_anywhere(const struct weir_admission *a, const struct weir_request *request,
                             uint32_t resource)
{
    int64_t most = 0;

    for (uint32_t node = 0; node < a->fleet.n_nodes; node++) {
        int64_t here = most_on_node(a, node, request, resource);

        if (here > most)
            most = here;
    }
    return most;
}

static int64_t asked_of(const struct weir_request *request, uint32_t resource)
{
    for (uint32_t i = 0; i < request->shape->n_amounts; i++)
        if (request->shape->amounts[i].resource == resource)
            return request->shape->amounts[i].amount;
    return request->shape->n_devices * request->shape->device_mgpu;
}

/* Less of one thing would do. */
static int refuse_too_much(struct weir_admission *a, const struct weir_request *request)
{
    const struct weir_shape *shape = request->shape;
    uint32_t main = weir_request_resource(shape);
    int64_t most = shape->n_devices > 0 ? most_anywhere(a, request, main) : 0;

    if (most > 0)
        return weir_refuse_amount(a, WEIR_REASON_RESOURCES, main, most, asked_of(request, main));
    for (uint32_t i = 0; i < shape->n_amounts; i++) {
        uint32_t resource = shape->amounts[i].resource;

        if (weir_overlay_is_gpu(&a->fleet, resource))
            continue;
        most = most_anywhere(a, request, resource);
        if (most > 0)
            return weir_refuse_amount(a, code_of(resource), resource, most,
                                      shape->amounts[i].amount);
    }
    return 0;
}

static int check_task(struct weir_admission *a, const struct weir_request *request)
{
    uint32_t counts[WEIR_REASON_CODE_MAX] = {0};
    int r;

    for (uint32_t node = 0; node < a->fleet.n_nodes; node++) {
        struct weir_fit fit;

        weir_filter_node(&a->fleet, WEIR_IN_BOTH, node, request, &fit);
        if (fit.code == WEIR_REASON_NONE)
            return 0;
        counts[fit.code]++;
    }
    r = refuse_too_much(a, request);
    return r < 0 ? r : weir_refuse_kind(a, request, counts);
}

/* ---- all that must run together ---- */

static bool is_gang(const struct weir_ask *ask)
{
    return !ask->workload->independent && weir_ask_n_tasks(ask) > 1;
}

static struct weir_request request_of(const struct weir_admission *a, uint32_t role)
{
    const struct weir_shape *shape = &a->ask->shapes[role];

    return (struct weir_request){shape,
                                 shape->isolation > a->isolation ? shape->isolation : a->isolation,
                                 WEIR_NONE, a->ask->workload->owner};
}

static uint32_t required_of(const struct weir_ask *ask, uint32_t role, uint32_t *missing)
{
    uint32_t n_min = ask->roles[role].n_min < ask->roles[role].n_tasks ? ask->roles[role].n_min
                                                                       : ask->roles[role].n_tasks;

    *missing -= n_min < *missing ? n_min : *missing;
    return n_min;
}

/* As weir_line_collect() takes them. */
static int gang_of(struct weir_admission *a, struct weir_arena *scratch, struct weir_set *set)
{
    const struct weir_ask *ask = a->ask;
    uint32_t n_tasks = weir_ask_n_tasks(ask);
    uint32_t missing;

    missing = ask->workload->gang_min == 0 || ask->workload->gang_min > n_tasks
                  ? n_tasks
                  : ask->workload->gang_min;
    set->members = weir_arena_new_n(scratch, struct weir_member, n_tasks);
    if (set->members == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < ask->n_roles; i++)
        required_of(ask, i, &missing);
    for (uint32_t i = 0; i < ask->n_roles; i++) {
        uint32_t none = 0;
        uint32_t n = required_of(ask, i, &none);
        uint32_t more = ask->roles[i].n_tasks - n < missing ? ask->roles[i].n_tasks - n : missing;

        missing -= more;
        weir_quota_add_shape(&set->amounts, &ask->shapes[i], n + more);
        for (uint32_t t = 0; t < n + more; t++)
            set->members[set->n_members++] =
                (struct weir_member){.request = request_of(a, i), .task = WEIR_NONE};
    }
    return weir_set_sort(set, scratch);
}

/* How many members find room, in the domain where most do. */
static int most_members(struct weir_admission *a, struct weir_set *set, uint32_t *ret_most)
{
    const struct weir_scope all = WEIR_SCOPE_ALL;
    const struct weir_scope *scopes = &all;
    uint32_t n_scopes = 1;

    *ret_most = 0;
    if (set->topology.required < WEIR_TOPOLOGY_LEVELS &&
        weir_set_scopes(&a->fleet, set->topology.required, set, false, &scopes, &n_scopes) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < n_scopes; i++) {
        struct weir_overlay_mark mark = weir_overlay_mark(&a->fleet);
        uint32_t n = 0;
        int r = 1;

        while (r == 1 && n < set->n_members) {
            struct weir_member *member = &set->members[n];

            r = weir_score_find(&a->fleet, WEIR_IN_BOTH, &member->request, &scopes[i],
                                &member->spot);
            if (r == 1 && weir_overlay_hold(&a->fleet, WEIR_IN_BOTH, set->taker,
                                            member->request.shape, member->spot) < 0)
                r = WEIR_E_NO_MEMORY;
            n += r == 1;
        }
        weir_overlay_rollback(&a->fleet, mark);
        if (r < 0)
            return r;
        if (n > *ret_most)
            *ret_most = n;
    }
    return 0;
}

static int check_gang(struct weir_admission *a, struct weir_set *set)
{
    int r = weir_set_place(&a->fleet, WEIR_IN_BOTH, set);
    uint32_t most;

    if (r != 0)
        return r < 0 ? r : 0;
    return most_members(a, set, &most) < 0 ? WEIR_E_NO_MEMORY : weir_refuse_gang(a, set, most);
}

/* ---- all of it, in one queue ---- */

static int check_limits(struct weir_admission *a, const struct weir_amounts *amounts,
                        int64_t n_tasks)
{
    struct weir_quota_over over;

    if (weir_quota_fits_limits(&a->fleet, WEIR_IN_BOTH, a->queue, amounts, &over))
        return 0;
    return weir_refuse_limit(a, &over, amounts->of[over.resource], n_tasks);
}

static int check_in(struct weir_admission *a, uint32_t queue, struct weir_arena *scratch)
{
    struct weir_set set = {
        .taker = {queue, WEIR_NONE, a->ask->workload->owner},
        .topology = a->ask->workload->topology,
        .scope = WEIR_SCOPE_ALL,
    };
    int r;

    a->queue = queue;
    a->isolation = weir_world_queue_isolation(a->fleet.world, queue);
    for (uint32_t i = 0; i < a->ask->n_roles; i++) {
        struct weir_request request = request_of(a, i);
        struct weir_amounts amounts = {{0}};

        weir_quota_add_shape(&amounts, request.shape, 1);
        r = check_task(a, &request);
        if (r == 0)
            r = check_limits(a, &amounts, 1);
        if (r < 0)
            return r;
    }
    if (!is_gang(a->ask))
        return 0;
    if (gang_of(a, scratch, &set) < 0)
        return WEIR_E_NO_MEMORY;
    r = check_limits(a, &set.amounts, set.n_members);
    return r < 0 ? r : check_gang(a, &set);
}

/* ---- a queue that takes no workloads ---- */

static bool is_below(const struct weir_world *world, uint32_t queue, uint32_t top)
{
    while (queue != WEIR_NONE && queue != top)
        queue = weir_world_queue(world, queue)->parent;
    return queue == top;
}

/* Does one task of each role stay within its limits? */
static bool has_room_for_one(const struct weir_admission *a, uint32_t queue)
{
    for (uint32_t i = 0; i < a->ask->n_roles; i++) {
        struct weir_amounts amounts = {{0}};

        weir_quota_add_shape(&amounts, &a->ask->shapes[i], 1);
        if (!weir_quota_fits_limits(&a->fleet, WEIR_IN_BOTH, queue, &amounts, NULL))
            return false;
    }
    return true;
}

/* The first by name of the leaves below that have room for one; one only, as trying a queue looks
 * at the whole fleet. */
static uint32_t leaf_to_try(const struct weir_admission *a, uint32_t top)
{
    const struct weir_world *world = a->fleet.world;
    uint32_t best = WEIR_NONE;

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_QUEUES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_QUEUES, i)) {
        const struct weir_queue *queue = weir_world_queue(world, i);

        if (queue->first_child != WEIR_NONE || !is_below(world, i, top) || !has_room_for_one(a, i))
            continue;
        if (best == WEIR_NONE ||
            weir_str_cmp(weir_world_string(world, queue->name),
                         weir_world_string(world, weir_world_queue(world, best)->name)) < 0)
            best = i;
    }
    return best;
}

static int nearest_queue(struct weir_admission *a, uint32_t top, struct weir_arena *scratch,
                         uint32_t *ret_queue)
{
    uint32_t leaf = leaf_to_try(a, top);
    struct weir_err *err = a->err;
    int r = 0;

    a->err = NULL;
    if (leaf != WEIR_NONE)
        r = check_in(a, leaf, scratch);
    a->err = err;
    a->queue = top;
    *ret_queue = r == 0 ? leaf : WEIR_NONE;
    return r == WEIR_E_NO_MEMORY ? r : 0;
}

static int check(struct weir_admission *a, struct weir_arena *scratch)
{
    uint32_t queue = a->ask->workload->queue;
    uint32_t nearest;

    if (weir_world_queue(a->fleet.world, queue)->first_child == WEIR_NONE)
        return check_in(a, queue, scratch);
    if (nearest_queue(a, queue, scratch, &nearest) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_refuse_queue(a, nearest);
}

int weir_admit(const struct weir_world *world, const struct weir_policy *policy,
               const struct weir_ask *ask, struct weir_arena *scratch,
               struct weir_refusal *ret_refusal, struct weir_err *err)
{
    struct weir_admission admission = {.ask = ask, .err = err};
    int r;

    (void)policy;
    r = weir_overlay_init(&admission.fleet, world,
                          WEIR_FLEET_EMPTY | WEIR_FLEET_UNCORDONED | WEIR_FLEET_REPAIRED |
                              WEIR_FLEET_SETTLED,
                          scratch);
    if (r == 0)
        r = check(&admission, scratch);
    if (r == WEIR_E_NO_MEMORY)
        return weir_error(err, r, "admit: out of memory");
    if (r < 0)
        *ret_refusal = admission.refusal;
    return r;
}
