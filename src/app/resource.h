/* app/resource.h — resources as people write them (data/schema), and as rows of the world. */
#ifndef WEIR_APP_RESOURCE_H
#define WEIR_APP_RESOURCE_H

#include "base/str.h"
#include "model/policy.h"
#include "model/world_edit.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;
struct weir_tree;

/* Where a spec comes from. What is stored was accepted once: it is read whatever became of the
 * fleet since, and GPU classes that are not here are interned. */
enum weir_resource_origin { WEIR_RESOURCE_ASKED, WEIR_RESOURCE_STORED };

enum weir_kind { WEIR_KIND_QUEUE, WEIR_KIND_WORKLOAD, WEIR_KIND_GPU_SETUP, WEIR_KIND_MAX };

/* Checks a document against the schema of its kind, and says which it is. Errors have line, column
 * and field. */
int weir_resource_check(const struct weir_tree *doc, enum weir_kind *ret_kind,
                        struct weir_err *err);
/* metadata.name; empty if there is none. */
struct weir_str weir_resource_name(const struct weir_tree *doc);
/* A resource, or a part of one, as compact JSON in the arena. */
int weir_resource_json(const struct weir_tree *node, struct weir_arena *arena,
                       struct weir_str *ret_json, struct weir_err *err);

/* A queue's row from its spec (parent is not set: see weir_resource_queue_parent). GPU classes are
 * interned in `edit`. */
int weir_resource_queue(const struct weir_tree *spec, enum weir_resource_origin origin,
                        struct weir_edit *edit, struct weir_queue *ret_queue, struct weir_err *err);
struct weir_str weir_resource_queue_parent(const struct weir_tree *spec);

/* What a workload asks for, from its spec. queue and owner are not set. */
struct weir_resource_workload {
    struct weir_workload workload;
    struct weir_role role; /* its shape is not interned yet */
    struct weir_shape shape;
    struct weir_str queue;      /* "default" if none is named */
    struct weir_str first_word; /* command[0] */
};
int weir_resource_workload(const struct weir_tree *spec, enum weir_resource_origin origin,
                           const struct weir_policy *policy, struct weir_edit *edit,
                           struct weir_resource_workload *ret_ask, struct weir_err *err);
/* An object, in the arena, of what the spec leaves out of what `ask` was read from it: under the
 * spec's own names, as it would be written there. */
int weir_resource_assumed(const struct weir_tree *spec, const struct weir_resource_workload *ask,
                          struct weir_arena *arena, const struct weir_tree **ret_assumed,
                          struct weir_err *err);

#endif
