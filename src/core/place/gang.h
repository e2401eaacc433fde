/* core/place/gang.h — a set of tasks that are placed together or not at all. A single task is a set
 * of one. */
#ifndef WEIR_CORE_PLACE_GANG_H
#define WEIR_CORE_PLACE_GANG_H

#include "core/place/score.h"

struct weir_member {
    struct weir_request request;
    uint32_t task; /* row, or WEIR_NONE */
    struct weir_spot spot;
};

struct weir_set {
    struct weir_member *members; /* larger first, by GPUs, CPU, memory; then as the tasks */
    uint32_t n_members;
    struct weir_taker taker;
    struct weir_amounts amounts; /* of all */
    struct weir_topology_demand topology;
    struct weir_scope scope; /* the domain that members which run already fix, or all */
};

/* Puts larger members first. 0 or WEIR_E_NO_MEMORY. */
int weir_set_sort(struct weir_set *set, struct weir_arena *scratch);

/* The domains of a topology level in which the set could find its place, the one with the least
 * free GPUs first; with `is_tight`, only those with enough of them free. 0 or WEIR_E_NO_MEMORY. */
int weir_set_scopes(const struct weir_overlay *overlay, uint32_t level, const struct weir_set *set,
                    bool is_tight, const struct weir_scope **ret_scopes, uint32_t *ret_n);

/* All members inside the scope, held in these views. 1; 0 with the overlay as it was; or
 * WEIR_E_NO_MEMORY. */
int weir_set_place_in(struct weir_overlay *overlay, uint32_t views, struct weir_set *set,
                      const struct weir_scope *scope);

/* The same where its topology demand allows: the smallest sufficient domain of the level required;
 * of the level preferred if there is one, else anywhere. */
int weir_set_place(struct weir_overlay *overlay, uint32_t views, struct weir_set *set);

#endif
