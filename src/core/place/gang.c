#include "core/place/gang.h"

#include "base/arena.h"
#include "base/count.h"
#include "base/err.h"
#include "base/sort.h"
#include "base/units.h"

static int64_t size_of(const struct weir_request *request)
{
    return request->shape->device_mgpu * request->shape->n_devices;
}

static int64_t amount_of(const struct weir_request *request, uint32_t resource)
{
    for (uint32_t i = 0; i < request->shape->n_amounts; i++)
        if (request->shape->amounts[i].resource == resource)
            return request->shape->amounts[i].amount;
    return 0;
}

static int compare_members(const void *a, const void *b, const void *ctx)
{
    static const uint32_t others[] = {WEIR_RES_CPU, WEIR_RES_MEMORY};
    const struct weir_request *x = &((const struct weir_member *)a)->request;
    const struct weir_request *y = &((const struct weir_member *)b)->request;

    (void)ctx;
    if (size_of(x) != size_of(y))
        return size_of(x) > size_of(y) ? -1 : 1;
    for (size_t i = 0; i < WEIR_COUNT_OF(others); i++)
        if (amount_of(x, others[i]) != amount_of(y, others[i]))
            return amount_of(x, others[i]) > amount_of(y, others[i]) ? -1 : 1;
    return 0;
}

int weir_set_sort(struct weir_set *set, struct weir_arena *scratch)
{
    return weir_sort(set->members, set->n_members, sizeof(set->members[0]), compare_members, NULL,
                     scratch);
}

static int compare_by_value(const void *a, const void *b, const void *ctx)
{
    const struct weir_scope *x = a;
    const struct weir_scope *y = b;

    (void)ctx;
    return (x->value > y->value) - (x->value < y->value);
}

static int compare_by_size(const void *a, const void *b, const void *ctx)
{
    const struct weir_scope *x = a;
    const struct weir_scope *y = b;

    (void)ctx;
    if (x->free_mgpu != y->free_mgpu)
        return x->free_mgpu < y->free_mgpu ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* No more instances than there are slots. */
static int64_t free_slots_of(const struct weir_overlay_device *device)
{
    int64_t free = 0;

    if (device->kind == WEIR_DEVICE_MIG)
        return device->parent == NULL || device->parent->mig == NULL
                   ? WEIR_MGPU_PER_GPU - device->used[WEIR_VIEW_SOON].mgpu
                   : 0;
    for (uint32_t slot = 0; device->mig != NULL && slot < WEIR_DEVICE_SLOTS_MAX; slot++)
        free += (device->mig->fresh[WEIR_VIEW_SOON] & 1u << slot) == 0 ? WEIR_MGPU_PER_GPU : 0;
    for (uint32_t i = 1; i <= device->n_children; i++)
        if (device[i].used[WEIR_VIEW_SOON].n_sharers > 0)
            free -= WEIR_MGPU_PER_GPU;
    return free;
}

static int64_t free_mgpu_of(const struct weir_overlay *overlay, uint32_t node, bool of_instances)
{
    const struct weir_overlay_node *n = &overlay->nodes[node];
    int64_t free = 0;

    if (n->out != WEIR_REASON_NONE)
        return 0;
    for (uint32_t i = 0; i < n->n_devices; i++) {
        const struct weir_overlay_device *device = &overlay->devices[n->first_device + i];

        if (device->out != WEIR_REASON_NONE)
            continue;
        if (of_instances)
            free += free_slots_of(device);
        else if (device->kind != WEIR_DEVICE_MIG && weir_overlay_gives(device) == WEIR_GIVES_WHOLE)
            free += WEIR_MGPU_PER_GPU - device->used[WEIR_VIEW_SOON].mgpu;
    }
    return free;
}

/* One domain per value, in the order of first nodes; a host without a name is one by itself. */
static uint32_t list_domains(const struct weir_overlay *overlay, uint32_t level, bool of_instances,
                             struct weir_scope *domains)
{
    uint32_t n = 0;

    for (uint32_t node = 0; node < overlay->n_nodes; node++) {
        uint32_t value = overlay->nodes[node].row->topology[level];

        if (value != WEIR_NONE || level == WEIR_TOPOLOGY_HOST)
            domains[n++] = (struct weir_scope){level, value, node, 0,
                                               free_mgpu_of(overlay, node, of_instances)};
    }
    return n;
}

static uint32_t merge_domains(struct weir_scope *domains, uint32_t n)
{
    uint32_t to = 0;

    for (uint32_t i = 1; i < n; i++) {
        if (domains[i].value == domains[to].value && domains[i].value != WEIR_NONE)
            domains[to].free_mgpu += domains[i].free_mgpu;
        else
            domains[++to] = domains[i];
    }
    return n > 0 ? to + 1 : 0;
}

int weir_set_scopes(const struct weir_overlay *overlay, uint32_t level, const struct weir_set *set,
                    bool is_tight, const struct weir_scope **ret_scopes, uint32_t *ret_n)
{
    struct weir_scope *domains =
        weir_arena_new_n(overlay->arena, struct weir_scope, overlay->n_nodes);
    int64_t need = 0;
    bool of_instances = false;
    uint32_t n;
    uint32_t n_enough = 0;

    for (uint32_t i = 0; i < set->n_members; i++) {
        need += size_of(&set->members[i].request);
        of_instances |= weir_request_wants_instance(&set->members[i].request);
    }
    if (domains == NULL)
        return WEIR_E_NO_MEMORY;
    n = list_domains(overlay, level, of_instances, domains);
    if (weir_sort(domains, n, sizeof(domains[0]), compare_by_value, NULL, overlay->arena) < 0)
        return WEIR_E_NO_MEMORY;
    n = merge_domains(domains, n);
    if (weir_sort(domains, n, sizeof(domains[0]), compare_by_size, NULL, overlay->arena) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        if (!is_tight || domains[i].free_mgpu >= need)
            domains[n_enough++] = domains[i];
    *ret_scopes = domains;
    *ret_n = n_enough;
    return 0;
}

int weir_set_place_in(struct weir_overlay *overlay, uint32_t views, struct weir_set *set,
                      const struct weir_scope *scope)
{
    struct weir_overlay_mark mark = weir_overlay_mark(overlay);
    int r = 1;

    for (uint32_t i = 0; r == 1 && i < set->n_members; i++) {
        struct weir_member *member = &set->members[i];

        r = weir_score_find(overlay, views, &member->request, scope, &member->spot);
        if (r == 1 &&
            weir_overlay_hold(overlay, views, set->taker, member->request.shape, member->spot) < 0)
            r = WEIR_E_NO_MEMORY;
    }
    if (r == 1)
        weir_overlay_keep(overlay);
    else
        weir_overlay_rollback(overlay, mark);
    return r;
}

static int place_at_level(struct weir_overlay *overlay, uint32_t views, struct weir_set *set,
                          uint32_t level)
{
    const struct weir_scope *scopes;
    uint32_t n;

    if (weir_set_scopes(overlay, level, set, true, &scopes, &n) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        int r = weir_set_place_in(overlay, views, set, &scopes[i]);

        if (r != 0)
            return r;
    }
    return 0;
}

int weir_set_place(struct weir_overlay *overlay, uint32_t views, struct weir_set *set)
{
    const struct weir_topology_demand *demand = &set->topology;

    if (set->scope.level != WEIR_NONE)
        return weir_set_place_in(overlay, views, set, &set->scope);
    if (demand->preferred < WEIR_TOPOLOGY_LEVELS &&
        (demand->required >= WEIR_TOPOLOGY_LEVELS || demand->preferred > demand->required)) {
        int r = place_at_level(overlay, views, set, demand->preferred);

        if (r != 0)
            return r;
    }
    if (demand->required < WEIR_TOPOLOGY_LEVELS)
        return place_at_level(overlay, views, set, demand->required);
    return weir_set_place_in(overlay, views, set, &set->scope);
}
