/* core/explain/ends.h — after whose ends would it fit? For explain/ only. */
#ifndef WEIR_CORE_EXPLAIN_ENDS_H
#define WEIR_CORE_EXPLAIN_ENDS_H

#include "core/explain/holders.h"

struct weir_ends_query {
    struct weir_set *set;
    bool limits; /* within the limits of its queues; */
    bool places; /* with a place for each of its tasks */
};

struct weir_ends {
    uint32_t last;   /* workload row: the last that has to end, or WEIR_NONE: it fits as it is */
    uint32_t n_more; /* that have to end before it */
};

/* Lets workloads end in the order in which they are expected to, until the query fits, and takes
 * back every end that it fits without. 1: *ret_ends says which are left, and the overlay is as it
 * would be then, with the set placed; take a mark before. 0: no ends are enough, with the overlay
 * as it was; or WEIR_E_NO_MEMORY. */
int weir_ends_find(struct weir_explainer *x, const struct weir_ends_query *query,
                   struct weir_ends *ret_ends);

#endif
