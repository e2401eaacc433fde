#include "core/explain/whatif.h"

#include "base/arena.h"
#include "base/err.h"

int weir_what_if_set(struct weir_explainer *x, const struct weir_want *want,
                     struct weir_set *ret_set)
{
    struct weir_set set = {
        .taker = {want->leaf, WEIR_NONE, want->owner},
        .amounts = want->amounts,
        .topology = want->topology,
        .scope = want->scope,
    };

    set.members = weir_arena_new_n(x->tick->arena, struct weir_member, want->n_tasks);
    if (set.members == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t p = 0; p < want->n_parts; p++) {
        const struct weir_shape *shape = weir_world_shape(x->tick->world, want->parts[p].shape);
        uint32_t isolation =
            shape->isolation > want->isolation ? shape->isolation : want->isolation;

        for (uint32_t i = 0; i < want->parts[p].n; i++)
            set.members[set.n_members++] = (struct weir_member){
                .request = {shape, isolation, want->parts[p].shape, want->owner},
                .task = WEIR_NONE};
    }
    if (weir_set_sort(&set, x->tick->arena) < 0)
        return WEIR_E_NO_MEMORY;
    *ret_set = set;
    return 0;
}

struct weir_overlay *weir_what_if_fleet(struct weir_explainer *x, enum weir_what_if what_if)
{
    static const uint32_t fleets[WEIR_WHAT_IF_MAX] = {
        [WEIR_WHAT_IF_EMPTY] = WEIR_FLEET_SETTLED | WEIR_FLEET_EMPTY,
        [WEIR_WHAT_IF_UNCORDONED] = WEIR_FLEET_SETTLED | WEIR_FLEET_EMPTY | WEIR_FLEET_UNCORDONED,
        [WEIR_WHAT_IF_OURS] =
            WEIR_FLEET_SETTLED | WEIR_FLEET_EMPTY | WEIR_FLEET_UNCORDONED | WEIR_FLEET_OURS,
    };

    if (!x->has_fleet[what_if] &&
        weir_overlay_init(&x->fleets[what_if], x->tick->world, fleets[what_if], x->tick->arena) < 0)
        return NULL;
    x->has_fleet[what_if] = true;
    return &x->fleets[what_if];
}

int weir_what_if_fits(struct weir_explainer *x, enum weir_what_if what_if, struct weir_set *set)
{
    struct weir_overlay *fleet = weir_what_if_fleet(x, what_if);
    struct weir_overlay_mark mark;
    int r;

    if (fleet == NULL)
        return WEIR_E_NO_MEMORY;
    mark = weir_overlay_mark(fleet);
    r = weir_set_place(fleet, WEIR_IN_BOTH, set);
    weir_overlay_rollback(fleet, mark);
    return r;
}
