/* core/explain/whatif.h — would it fit, if? For explain/ only. */
#ifndef WEIR_CORE_EXPLAIN_WHATIF_H
#define WEIR_CORE_EXPLAIN_WHATIF_H

#include "core/explain/holders.h"

/* The tasks of a want as a set of nobody's. */
int weir_what_if_set(struct weir_explainer *x, const struct weir_want *want,
                     struct weir_set *ret_set);
/* The fleet as it would be; NULL: no memory. */
struct weir_overlay *weir_what_if_fleet(struct weir_explainer *x, enum weir_what_if what_if);
/* 1 or 0; or WEIR_E_NO_MEMORY. Queues count for nothing here. */
int weir_what_if_fits(struct weir_explainer *x, enum weir_what_if what_if, struct weir_set *set);

#endif
