/* core/explain/tree.h — the tree of reasons of one want, and what would unblock it. For explain/
 * only. */
#ifndef WEIR_CORE_EXPLAIN_TREE_H
#define WEIR_CORE_EXPLAIN_TREE_H

#include "core/explain/holders.h"

/* A tree in the making: reasons are appended below the root, in order. */
struct weir_reason_chain {
    uint32_t root;
    uint32_t last;     /* child of the root, or WEIR_NONE */
    uint32_t blocking; /* the first that is not NONE, or WEIR_NONE */
};

int weir_chain_start(struct weir_explainer *x, uint32_t code, struct weir_reason_chain *chain);
int weir_chain_add(struct weir_explainer *x, struct weir_reason_chain *chain,
                   struct weir_reason reason);
/* Below the last one added. */
int weir_chain_add_below(struct weir_explainer *x, struct weir_reason_chain *chain,
                         struct weir_reason reason);
/* A passed reason of this level, to be filled in. */
struct weir_reason weir_reason_at(uint32_t level);

/* Makes want->verdict: everything but workload and position. */
int weir_explain_want(struct weir_explainer *x, struct weir_want *want);

#endif
