#include "base/tree.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *weir_tree_kind_name(enum weir_tree_kind kind)
{
    static const char *const names[WEIR_TREE_KIND_MAX] = {"null",     "a boolean", "a number",
                                                          "a string", "an array",  "an object"};

    return kind < WEIR_TREE_KIND_MAX ? names[kind] : "nothing";
}

struct weir_tree *weir_tree_add(struct weir_tree *parent, enum weir_tree_kind kind,
                                struct weir_str key, struct weir_arena *arena)
{
    struct weir_tree *node = weir_arena_new(arena, struct weir_tree);

    if (node == NULL)
        return NULL;
    node->kind = (uint8_t)kind;
    node->key = key;
    node->parent = parent;
    if (parent == NULL)
        return node;
    if (parent->last != NULL)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->n_children++;
    return node;
}

/* Where a node is pointed to from: by its parent or by the sibling before it. */
static struct weir_tree **link_to(const struct weir_tree *node, struct weir_tree **ret_before)
{
    struct weir_tree **link = &node->parent->first;

    *ret_before = NULL;
    while (*link != node) {
        *ret_before = *link;
        link = &(*link)->next;
    }
    return link;
}

struct weir_tree *weir_tree_add_before(struct weir_tree *sibling, enum weir_tree_kind kind,
                                       struct weir_str key, struct weir_arena *arena)
{
    struct weir_tree *node = weir_tree_add(NULL, kind, key, arena);
    struct weir_tree *before;

    if (node == NULL)
        return NULL;
    node->parent = sibling->parent;
    node->next = sibling;
    *link_to(sibling, &before) = node;
    node->parent->n_children++;
    return node;
}

void weir_tree_remove(struct weir_tree *node)
{
    struct weir_tree *parent = node->parent;
    struct weir_tree *before;

    *link_to(node, &before) = node->next;
    if (parent->last == node)
        parent->last = before;
    parent->n_children--;
    node->next = NULL;
    node->parent = NULL;
}

static const struct weir_tree *get_str(const struct weir_tree *node, struct weir_str key)
{
    if (node == NULL || node->kind != WEIR_TREE_OBJECT)
        return NULL;
    weir_tree_foreach (child, node)
        if (weir_str_eq(child->key, key))
            return child;
    return NULL;
}

const struct weir_tree *weir_tree_get(const struct weir_tree *node, const char *key)
{
    return get_str(node, weir_str(key));
}

static const struct weir_tree *get_index(const struct weir_tree *node, uint64_t index)
{
    const struct weir_tree *child;

    if (node == NULL || node->kind != WEIR_TREE_ARRAY || index >= node->n_children)
        return NULL;
    child = node->first;
    while (index-- > 0)
        child = child->next;
    return child;
}

const struct weir_tree *weir_tree_path(const struct weir_tree *node, const char *path)
{
    struct weir_str rest = weir_str(path);

    while (rest.len > 0 && node != NULL) {
        size_t n = 0;
        uint64_t index;

        if (rest.ptr[0] == '[') {
            ptrdiff_t end = weir_str_find_char(rest, ']');

            if (end < 0 || !weir_str_to_u64(weir_str_sub(rest, 1, (size_t)end - 1), &index))
                return NULL;
            node = get_index(node, index);
            rest = weir_str_sub(rest, (size_t)end + 1, rest.len);
        } else {
            while (n < rest.len && rest.ptr[n] != '.' && rest.ptr[n] != '[')
                n++;
            node = get_str(node, weir_str_sub(rest, 0, n));
            rest = weir_str_sub(rest, n, rest.len);
        }
        if (rest.len > 0 && rest.ptr[0] == '.')
            rest = weir_str_sub(rest, 1, rest.len);
    }
    return node;
}

int weir_tree_path_of(const struct weir_tree *node, struct weir_buf *out)
{
    if (node == NULL || node->parent == NULL)
        return out->failed;
    weir_tree_path_of(node->parent, out);
    if (node->parent->kind == WEIR_TREE_ARRAY) {
        uint32_t index = 0;

        for (const struct weir_tree *c = node->parent->first; c != node; c = c->next)
            index++;
        return weir_buf_printf(out, "[%u]", index);
    }
    if (out->len > 0)
        weir_buf_putc(out, '.');
    return weir_buf_str(out, node->key);
}

int weir_tree_place(const struct weir_tree *node, struct weir_err *err)
{
    struct weir_buf path = WEIR_BUF_INIT(WEIR_ERR_FIELD_MAX);

    if (err == NULL)
        return weir_error_code(err);
    weir_tree_path_of(node, &path);
    weir_error_field(err, "%s", weir_buf_cstr(&path));
    weir_buf_finish(&path);
    return weir_error_at(err, node->line, node->column);
}

int weir_tree_error(const struct weir_tree *node, struct weir_err *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    weir_error_v(err, WEIR_E_INVALID, format, args);
    va_end(args);
    return weir_tree_place(node, err);
}

static int wrong_kind(const struct weir_tree *node, enum weir_tree_kind want, struct weir_err *err)
{
    return weir_tree_error(node, err, "expected %s, got %s", weir_tree_kind_name(want),
                           weir_tree_kind_name((enum weir_tree_kind)node->kind));
}

int weir_tree_str(const struct weir_tree *node, struct weir_str *ret_value, struct weir_err *err)
{
    if (node->kind != WEIR_TREE_STRING)
        return wrong_kind(node, WEIR_TREE_STRING, err);
    *ret_value = node->text;
    return 0;
}

int weir_tree_bool(const struct weir_tree *node, bool *ret_value, struct weir_err *err)
{
    if (node->kind != WEIR_TREE_BOOL)
        return wrong_kind(node, WEIR_TREE_BOOL, err);
    *ret_value = weir_str_eq_c(node->text, "true");
    return 0;
}

int weir_tree_i64(const struct weir_tree *node, int64_t min, int64_t max, int64_t *ret_value,
                  struct weir_err *err)
{
    int64_t value;

    if (node->kind != WEIR_TREE_NUMBER)
        return wrong_kind(node, WEIR_TREE_NUMBER, err);
    if (!weir_str_to_i64(node->text, &value))
        return weir_tree_error(node, err, "'%.*s' is not a whole number in range",
                               WEIR_STR_ARG(node->text));
    if (value < min || value > max)
        return weir_tree_error(node, err, "%lld is not between %lld and %lld", (long long)value,
                               (long long)min, (long long)max);
    *ret_value = value;
    return 0;
}

int weir_tree_f64(const struct weir_tree *node, double *ret_value, struct weir_err *err)
{
    char text[64];
    char *end;
    double value;

    if (node->kind != WEIR_TREE_NUMBER)
        return wrong_kind(node, WEIR_TREE_NUMBER, err);
    if (node->text.len >= sizeof(text))
        return weir_tree_error(node, err, "number of %zu characters is too long", node->text.len);
    memcpy(text, node->text.ptr, node->text.len);
    text[node->text.len] = '\0';
    value = strtod(text, &end);
    if (*end != '\0' || end == text || value - value != 0.0)
        return weir_tree_error(node, err, "'%s' is not a finite number", text);
    *ret_value = value;
    return 0;
}

bool weir_tree_equal(const struct weir_tree *a, const struct weir_tree *b)
{
    const struct weir_tree *y;

    if (a->kind != b->kind || a->n_children != b->n_children)
        return false;
    if (a->kind != WEIR_TREE_ARRAY && a->kind != WEIR_TREE_OBJECT)
        return a->kind == WEIR_TREE_NULL || weir_str_eq(a->text, b->text);
    y = b->first;
    weir_tree_foreach (x, a) {
        const struct weir_tree *other = a->kind == WEIR_TREE_OBJECT ? get_str(b, x->key) : y;

        if (other == NULL || !weir_tree_equal(x, other))
            return false;
        y = y->next;
    }
    return true;
}
