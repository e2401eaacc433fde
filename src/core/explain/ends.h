/* core/explain/ends.h — after whose ends would it fit? For explain/ only. */
#ifndef WEIR_CORE_EXPLAIN_ENDS_H
#define WEIR_CORE_EXPLAIN_ENDS_H

#include "core/explain/holders.h"

struct weir_ends_query {
    struct weir_set *set;
    bool limits;          /* within the limits of its queues; */
    bool places;          /* with a place for each of its tasks */
    uint32_t promised_to; /* workload row: only tasks that are leaving end, and the room that is
                             promised to it counts as free; or WEIR_NONE */
    uint32_t certain;     /* workload row: what runs of it ends in any case; or WEIR_NONE */
};

struct weir_ends {
    struct weir_awaited items[WEIR_ENDS_MAX];
    uint32_t n;
    uint32_t n_more; /* for which there was no room */
};

/* Lets workloads end in the order in which they are expected to, until the query fits, and takes
 * back every end that it fits without. 1: *ret_ends are those that are left, the last first, and
 * the overlay is as it would be then, with the set placed; of more than WEIR_ENDS_MAX those before
 * may be more than it takes. 0: no ends are enough; or WEIR_E_NO_MEMORY. Roll back in any case. */
int weir_ends_find(struct weir_explainer *x, const struct weir_ends_query *query,
                   struct weir_ends *ret_ends);
/* All that hold anything, the first to end first. 0 or WEIR_E_NO_MEMORY; so the others. */
int weir_ends_first(struct weir_explainer *x, struct weir_ends *ret_ends);
/* All of which tasks are leaving, the last to end first. */
int weir_ends_leaving(struct weir_explainer *x, struct weir_ends *ret_ends);

/* The ends of the verdict, into the draft. */
int weir_ends_write(struct weir_explainer *x, const struct weir_ends *ends,
                    struct weir_verdict *verdict);
/* The verdict's unblock is to wait for these, if there are any. */
int weir_ends_wait_for(struct weir_explainer *x, enum weir_unblock_kind kind,
                       const struct weir_ends *ends, struct weir_verdict *verdict);

#endif
