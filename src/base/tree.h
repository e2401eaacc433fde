/* base/tree.h — a positioned document tree: what YAML and JSON become. Nodes and texts live in the
 * reader's arena (or point into its input); the tree is not changed after it is built,
 * but by whoever owns it.
 *
 * Numbers keep their text: nothing is lost above 2^53 or INT64_MAX until somebody asks for a type.
 */
#ifndef WEIR_BASE_TREE_H
#define WEIR_BASE_TREE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_arena;
struct weir_buf;
struct weir_err;

enum weir_tree_kind {
    WEIR_TREE_NULL,
    WEIR_TREE_BOOL,   /* text is "true" or "false" */
    WEIR_TREE_NUMBER, /* text as written */
    WEIR_TREE_STRING, /* text decoded */
    WEIR_TREE_ARRAY,
    WEIR_TREE_OBJECT,
    WEIR_TREE_KIND_MAX
};

struct weir_tree {
    uint8_t kind;  /* enum weir_tree_kind */
    bool quoted;   /* a string that was quoted in the input: never taken for a number */
    uint32_t line; /* 1-based; of the value */
    uint32_t column;
    uint32_t n_children;
    uint32_t key_line; /* of the key, when this is a member of an object */
    uint32_t key_column;
    struct weir_str key;     /* empty when this is no member */
    struct weir_str text;    /* scalars */
    struct weir_tree *first; /* children, in order of the input */
    struct weir_tree *last;
    struct weir_tree *next; /* sibling */
    struct weir_tree *parent;
};

#define weir_tree_foreach(child, node)                                                             \
    for (const struct weir_tree *child = (node)->first; child != NULL; child = child->next)

const char *weir_tree_kind_name(
    enum weir_tree_kind kind); /* "a string", "an object"… for messages */
/* Makes a node under parent (NULL: a root). NULL when memory is short. */
struct weir_tree *weir_tree_add(struct weir_tree *parent, enum weir_tree_kind kind,
                                struct weir_str key, struct weir_arena *arena);
/* The same in front of a node that has a parent. */
struct weir_tree *weir_tree_add_before(struct weir_tree *sibling, enum weir_tree_kind kind,
                                       struct weir_str key, struct weir_arena *arena);
/* Takes a node that has a parent out of it, whole. */
void weir_tree_remove(struct weir_tree *node);
/* Member by name, or NULL (also when node is NULL or no object). */
const struct weir_tree *weir_tree_get(const struct weir_tree *node, const char *key);
/* By path: "spec.gpus", "items[2].name". NULL where it leads nowhere. */
const struct weir_tree *weir_tree_path(const struct weir_tree *node, const char *path);
/* The path of a node from its root, for messages ("spec.members[1].gpus"). */
int weir_tree_path_of(const struct weir_tree *node, struct weir_buf *out);

/* Typed reading. On a wrong type or range: WEIR_E_INVALID with path, line and column. */
int weir_tree_str(const struct weir_tree *node, struct weir_str *ret_value, struct weir_err *err);
int weir_tree_bool(const struct weir_tree *node, bool *ret_value, struct weir_err *err);
int weir_tree_i64(const struct weir_tree *node, int64_t min, int64_t max, int64_t *ret_value,
                  struct weir_err *err);
int weir_tree_f64(const struct weir_tree *node, double *ret_value, struct weir_err *err);
/* Gives a made error the node's path and place. Returns its code. */
int weir_tree_place(const struct weir_tree *node, struct weir_err *err);
/* Makes an error that names the node's path and place. Returns WEIR_E_INVALID. */
int weir_tree_error(const struct weir_tree *node, struct weir_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Same content: kinds, keys (in any order), texts; numbers compare as written. */
bool weir_tree_equal(const struct weir_tree *a, const struct weir_tree *b);

#endif
