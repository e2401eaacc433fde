/* app/startable.h — what a launch can never do is refused when it is asked for: the limits of
 * port/cluster.h, held against a spec that fits its schema. */
#ifndef WEIR_APP_STARTABLE_H
#define WEIR_APP_STARTABLE_H

struct weir_err;
struct weir_tree;

/* Of a Workload. WEIR_E_INVALID with the field and its place. */
int weir_startable_check(const struct weir_tree *spec, struct weir_err *err);
/* A duration of more than 0 at `node` (NULL: none is given), else WEIR_E_INVALID. */
int weir_startable_check_limit(const struct weir_tree *node, struct weir_err *err);

#endif
