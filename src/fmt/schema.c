#include "fmt/schema.h"

#include "base/buf.h"
#include "fmt/schema_format.h"

#include <stdarg.h>
#include <stdio.h>

struct checker {
    struct weir_err *errs; /* NULL: only counted */
    size_t n;
    size_t max;
};

static void check(struct checker *c, const struct weir_tree *schema, const struct weir_tree *node);

static bool is_full(const struct checker *c)
{
    return c->n >= c->max;
}

/* The slot for the next fault; NULL when nobody wants the words. Never called when full. */
static struct weir_err *next_slot(struct checker *c)
{
    struct weir_err *slot = c->errs != NULL ? &c->errs[c->n] : NULL;

    c->n++;
    return slot;
}

/* Puts the node's path and place into an error that some parser made. */
static const char *type_phrase(unsigned bit)
{
    switch (bit) {
    case WEIR_SCHEMA_OBJECT:
        return "an object";
    case WEIR_SCHEMA_ARRAY:
        return "an array";
    case WEIR_SCHEMA_STRING:
        return "a string";
    case WEIR_SCHEMA_INTEGER:
        return "a whole number";
    case WEIR_SCHEMA_NUMBER:
        return "a number";
    default:
        return "a boolean";
    }
}

/* "a string or a number" */
static void name_types(unsigned types, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (unsigned bit = 1; bit <= WEIR_SCHEMA_BOOLEAN && n < size; bit <<= 1) {
        int written;

        if ((types & bit) == 0)
            continue;
        written = snprintf(out + n, size - n, "%s%s", n > 0 ? " or " : "", type_phrase(bit));
        n += written > 0 ? (size_t)written : 0;
    }
}

static bool is_whole(struct weir_str text)
{
    int64_t value;

    return weir_str_to_i64(text, &value);
}

static bool has_type(const struct weir_tree *node, unsigned types)
{
    switch ((enum weir_tree_kind)node->kind) {
    case WEIR_TREE_OBJECT:
        return (types & WEIR_SCHEMA_OBJECT) != 0;
    case WEIR_TREE_ARRAY:
        return (types & WEIR_SCHEMA_ARRAY) != 0;
    case WEIR_TREE_STRING:
        return (types & WEIR_SCHEMA_STRING) != 0;
    case WEIR_TREE_BOOL:
        return (types & WEIR_SCHEMA_BOOLEAN) != 0;
    case WEIR_TREE_NUMBER:
        return (types & WEIR_SCHEMA_NUMBER) != 0 ||
               ((types & WEIR_SCHEMA_INTEGER) != 0 && is_whole(node->text));
    case WEIR_TREE_NULL:
        return (types & WEIR_SCHEMA_NULL) != 0;
    case WEIR_TREE_KIND_MAX:
        break;
    }
    return false;
}

static void add_type_hint(const struct weir_tree *node, unsigned types, struct weir_err *err)
{
    enum weir_tree_kind kind = (enum weir_tree_kind)node->kind;
    bool wants_number = (types & (WEIR_SCHEMA_INTEGER | WEIR_SCHEMA_NUMBER)) != 0;

    if (kind == WEIR_TREE_NULL)
        weir_error_hint(err, "give a value, or leave the field out");
    else if ((types & WEIR_SCHEMA_STRING) != 0 &&
             (kind == WEIR_TREE_BOOL || kind == WEIR_TREE_NUMBER))
        weir_error_hint(err, "put it in quotes");
    else if (wants_number && kind == WEIR_TREE_STRING && node->quoted && is_whole(node->text))
        weir_error_hint(err, "leave the quotes out");
    else if (types == WEIR_SCHEMA_BOOLEAN && kind == WEIR_TREE_STRING)
        weir_error_hint(err, "write true or false");
    else if (types == WEIR_SCHEMA_ARRAY && kind != WEIR_TREE_OBJECT)
        weir_error_hint(err, "write a list, one item to a line with '- ' in front");
}

static bool check_type(struct checker *c, const struct weir_tree *schema,
                       const struct weir_tree *node)
{
    unsigned types = weir_schema_types(weir_tree_get(schema, "type"));
    char shown[WEIR_STR_SHOW_MAX];
    struct weir_err *err;
    char wanted[96];

    if (has_type(node, types))
        return true;
    err = next_slot(c);
    name_types(types, wanted, sizeof(wanted));
    if (node->kind == WEIR_TREE_NUMBER && (types & WEIR_SCHEMA_INTEGER) != 0)
        weir_tree_error(node, err, "'%s' is not a whole number in range",
                        weir_str_show(node->text, shown));
    else
        weir_tree_error(node, err, "expected %s, got %s", wanted,
                        weir_tree_kind_name((enum weir_tree_kind)node->kind));
    add_type_hint(node, types, err);
    return false;
}

static size_t collect(const struct weir_tree *list, bool keys,
                      struct weir_str names[WEIR_SCHEMA_NAMES_MAX])
{
    size_t n = 0;

    if (list == NULL)
        return 0;
    weir_tree_foreach (item, list)
        if (n < WEIR_SCHEMA_NAMES_MAX)
            names[n++] = keys ? item->key : item->text;
    return n;
}

static bool check_enum(struct checker *c, const struct weir_tree *schema,
                       const struct weir_tree *node)
{
    const struct weir_tree *values = weir_tree_get(schema, "enum");
    struct weir_buf list = WEIR_BUF_INIT(WEIR_ERR_TEXT_MAX);
    struct weir_str names[WEIR_SCHEMA_NAMES_MAX];
    char shown[WEIR_STR_SHOW_MAX];
    struct weir_err *err;
    ptrdiff_t near;
    size_t n;

    if (values == NULL)
        return true;
    weir_tree_foreach (value, values)
        if (weir_tree_equal(value, node))
            return true;
    n = collect(values, false, names);
    for (size_t i = 0; i < n; i++)
        weir_buf_printf(&list, "%s%.*s", i > 0 ? ", " : "", WEIR_STR_ARG(names[i]));
    err = next_slot(c);
    weir_tree_error(node, err, "'%s' is not %s%s", weir_str_show(node->text, shown),
                    n > 1 ? "one of " : "", weir_buf_cstr(&list));
    weir_buf_finish(&list);
    near = weir_str_nearest(node->text, names, n);
    if (near >= 0 && n > 1)
        weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[near]));
    return false;
}

static bool check_format(struct checker *c, const struct weir_tree *schema,
                         const struct weir_tree *node)
{
    const struct weir_tree *format = weir_tree_get(schema, "x-weir-format");
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_err *slot;

    if (format == NULL ||
        weir_schema_format_check(weir_schema_format(format->text), node->text, &err) >= 0)
        return true;
    err.code = WEIR_E_INVALID;
    weir_tree_place(node, &err);
    slot = next_slot(c);
    if (slot != NULL)
        *slot = err;
    return false;
}

/* -1, 0, 1; whole numbers exactly, others as doubles. */
static int compare_numbers(const struct weir_tree *a, const struct weir_tree *b)
{
    int64_t x;
    int64_t y;
    double p = 0;
    double q = 0;

    if (weir_str_to_i64(a->text, &x) && weir_str_to_i64(b->text, &y))
        return (x > y) - (x < y);
    if (weir_tree_f64(a, &p, NULL) < 0 || weir_tree_f64(b, &q, NULL) < 0)
        return 0;
    return (p > q) - (p < q);
}

static bool check_range(struct checker *c, const struct weir_tree *schema,
                        const struct weir_tree *node)
{
    const struct weir_tree *min = weir_tree_get(schema, "minimum");
    const struct weir_tree *max = weir_tree_get(schema, "maximum");
    char shown[WEIR_STR_SHOW_MAX];

    weir_str_show(node->text, shown);
    if (min != NULL && compare_numbers(node, min) < 0) {
        weir_tree_error(node, next_slot(c), "%s is below the minimum of %.*s", shown,
                        WEIR_STR_ARG(min->text));
        return false;
    }
    if (max != NULL && compare_numbers(node, max) > 0) {
        weir_tree_error(node, next_slot(c), "%s is over the maximum of %.*s", shown,
                        WEIR_STR_ARG(max->text));
        return false;
    }
    return true;
}

static size_t count_characters(struct weir_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* A count against minX and maxX. */
static bool check_count(struct checker *c, const struct weir_tree *schema,
                        const struct weir_tree *node, size_t n, const char *what)
{
    bool is_text = node->kind == WEIR_TREE_STRING;
    const struct weir_tree *min = weir_tree_get(schema, is_text ? "minLength" : "minItems");
    const struct weir_tree *max = weir_tree_get(schema, is_text ? "maxLength" : "maxItems");
    uint64_t limit;

    if (min != NULL && weir_str_to_u64(min->text, &limit) && n < limit) {
        weir_tree_error(node, next_slot(c), "%zu %s, fewer than the %.*s wanted", n, what,
                        WEIR_STR_ARG(min->text));
        return false;
    }
    if (max != NULL && weir_str_to_u64(max->text, &limit) && n > limit) {
        weir_tree_error(node, next_slot(c), "%zu %s, more than the %.*s allowed", n, what,
                        WEIR_STR_ARG(max->text));
        return false;
    }
    return true;
}

/* `other` is the hint when no property has a name like this. */
static void unknown_field(struct checker *c, const struct weir_tree *properties,
                          const struct weir_tree *member, const char *other)
{
    struct weir_err *err = next_slot(c);
    struct weir_str names[WEIR_SCHEMA_NAMES_MAX] = {{NULL, 0}};
    size_t n = collect(properties, true, names);
    ptrdiff_t near = weir_str_nearest(member->key, names, n);
    char shown[WEIR_STR_SHOW_MAX];

    weir_tree_error(member, err, "unknown field '%s'", weir_str_show(member->key, shown));
    weir_error_at(err, member->key_line, member->key_column);
    if (near >= 0)
        weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[near]));
    else
        weir_error_hint(err, "%s", other);
}

/* A member that is not among the properties. */
static void check_additional(struct checker *c, const struct weir_tree *schema,
                             const struct weir_tree *member)
{
    const struct weir_tree *additional = weir_tree_get(schema, "additionalProperties");
    const struct weir_tree *properties = weir_tree_get(schema, "properties");
    const struct weir_tree *format = weir_tree_get(schema, "x-weir-key-format");
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_err *slot;

    if (additional == NULL || additional->kind != WEIR_TREE_OBJECT) {
        unknown_field(c, properties, member, "");
        return;
    }
    if (format == NULL ||
        weir_schema_format_check(weir_schema_format(format->text), member->key, &err) >= 0) {
        check(c, additional, member);
        return;
    }
    if (properties != NULL) {
        unknown_field(c, properties, member, err.hint);
        return;
    }
    weir_tree_place(member, &err);
    weir_error_at(&err, member->key_line, member->key_column);
    slot = next_slot(c);
    if (slot != NULL)
        *slot = err;
}

static void check_required(struct checker *c, const struct weir_tree *schema,
                           const struct weir_tree *node)
{
    const struct weir_tree *required = weir_tree_get(schema, "required");

    if (required == NULL)
        return;
    weir_tree_foreach (name, required) {
        struct weir_buf path = WEIR_BUF_INIT(WEIR_ERR_FIELD_MAX);
        struct weir_err *err;
        bool given = false;

        weir_tree_foreach (member, node)
            given = given || weir_str_eq(member->key, name->text);
        if (given)
            continue;
        if (is_full(c))
            return;
        err = next_slot(c);
        weir_tree_error(node, err, "field '%.*s' is missing", WEIR_STR_ARG(name->text));
        weir_tree_path_of(node, &path);
        weir_error_field(err, "%s%s%.*s", weir_buf_cstr(&path), path.len > 0 ? "." : "",
                         WEIR_STR_ARG(name->text));
        weir_buf_finish(&path);
    }
}

static const struct weir_tree *find_property(const struct weir_tree *properties,
                                             struct weir_str name)
{
    if (properties == NULL)
        return NULL;
    weir_tree_foreach (property, properties)
        if (weir_str_eq(property->key, name))
            return property;
    return NULL;
}

static void check_object(struct checker *c, const struct weir_tree *schema,
                         const struct weir_tree *node)
{
    const struct weir_tree *properties = weir_tree_get(schema, "properties");

    weir_tree_foreach (member, node) {
        const struct weir_tree *property = find_property(properties, member->key);

        if (is_full(c))
            return;
        if (property != NULL)
            check(c, property, member);
        else
            check_additional(c, schema, member);
    }
    check_required(c, schema, node);
}

static void check_array(struct checker *c, const struct weir_tree *schema,
                        const struct weir_tree *node)
{
    const struct weir_tree *items = weir_tree_get(schema, "items");

    if (!check_count(c, schema, node, node->n_children, "items") || items == NULL)
        return;
    weir_tree_foreach (item, node) {
        if (is_full(c))
            return;
        check(c, items, item);
    }
}

static void check(struct checker *c, const struct weir_tree *schema, const struct weir_tree *node)
{
    if (is_full(c) || !check_type(c, schema, node) || !check_enum(c, schema, node))
        return;
    if (node->kind == WEIR_TREE_OBJECT) {
        check_object(c, schema, node);
        return;
    }
    if (node->kind == WEIR_TREE_ARRAY) {
        check_array(c, schema, node);
        return;
    }
    if (node->kind == WEIR_TREE_STRING &&
        !check_count(c, schema, node, count_characters(node->text), "characters"))
        return;
    if (check_format(c, schema, node) && node->kind == WEIR_TREE_NUMBER)
        check_range(c, schema, node);
}

int weir_schema_check(const struct weir_tree *schema, const struct weir_tree *doc,
                      struct weir_err *err)
{
    struct checker c = {err, 0, 1};

    check(&c, schema, doc);
    return c.n > 0 ? (int)WEIR_E_INVALID : 0;
}

size_t weir_schema_check_all(const struct weir_tree *schema, const struct weir_tree *doc,
                             struct weir_err *ret_errs, size_t max)
{
    struct checker c = {ret_errs, 0, max};

    check(&c, schema, doc);
    return c.n;
}
