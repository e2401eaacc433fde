#include "fmt/schema.h"

#include "base/buf.h"
#include "fmt/schema_format.h"

#include <stdio.h>

/* Each check is 0, or WEIR_E_INVALID with the first fault. */

static int check(const struct weir_tree *schema, const struct weir_tree *node,
                 struct weir_err *err);

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

static int check_type(const struct weir_tree *schema, const struct weir_tree *node,
                      struct weir_err *err)
{
    unsigned types = weir_schema_types(weir_tree_get(schema, "type"));
    char shown[WEIR_STR_SHOW_MAX];
    char wanted[96];

    if (has_type(node, types))
        return 0;
    name_types(types, wanted, sizeof(wanted));
    if (node->kind == WEIR_TREE_NUMBER && (types & WEIR_SCHEMA_INTEGER) != 0)
        weir_tree_error(node, err, "'%s' is not a whole number in range",
                        weir_str_show(node->text, shown));
    else
        weir_tree_error(node, err, "expected %s, got %s", wanted,
                        weir_tree_kind_name((enum weir_tree_kind)node->kind));
    add_type_hint(node, types, err);
    return WEIR_E_INVALID;
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

static int check_enum(const struct weir_tree *schema, const struct weir_tree *node,
                      struct weir_err *err)
{
    const struct weir_tree *values = weir_tree_get(schema, "enum");
    struct weir_buf list = WEIR_BUF_INIT(WEIR_ERR_TEXT_MAX);
    struct weir_str names[WEIR_SCHEMA_NAMES_MAX];
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t near;
    size_t n;

    if (values == NULL)
        return 0;
    weir_tree_foreach (value, values)
        if (weir_tree_equal(value, node))
            return 0;
    n = collect(values, false, names);
    for (size_t i = 0; i < n; i++)
        weir_buf_printf(&list, "%s%.*s", i > 0 ? ", " : "", WEIR_STR_ARG(names[i]));
    weir_tree_error(node, err, "'%s' is not %s%s", weir_str_show(node->text, shown),
                    n > 1 ? "one of " : "", weir_buf_cstr(&list));
    weir_buf_finish(&list);
    near = weir_str_nearest(node->text, names, n);
    if (near >= 0 && n > 1)
        weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[near]));
    return WEIR_E_INVALID;
}

static int check_format(const struct weir_tree *schema, const struct weir_tree *node,
                        struct weir_err *err)
{
    const struct weir_tree *format = weir_tree_get(schema, "x-weir-format");
    struct weir_err fault = WEIR_ERR_INIT;

    if (format == NULL ||
        weir_schema_format_check(weir_schema_format(format->text), node->text, &fault) >= 0)
        return 0;
    fault.code = WEIR_E_INVALID;
    weir_tree_place(node, &fault);
    return weir_error_pass(err, &fault);
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

static int check_range(const struct weir_tree *schema, const struct weir_tree *node,
                       struct weir_err *err)
{
    const struct weir_tree *min = weir_tree_get(schema, "minimum");
    const struct weir_tree *max = weir_tree_get(schema, "maximum");
    char shown[WEIR_STR_SHOW_MAX];

    weir_str_show(node->text, shown);
    if (min != NULL && compare_numbers(node, min) < 0) {
        return weir_tree_error(node, err, "%s is below the minimum of %.*s", shown,
                               WEIR_STR_ARG(min->text));
    }
    if (max != NULL && compare_numbers(node, max) > 0) {
        return weir_tree_error(node, err, "%s is over the maximum of %.*s", shown,
                               WEIR_STR_ARG(max->text));
    }
    return 0;
}

static size_t count_characters(struct weir_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* A count against minX and maxX. */
static int check_count(const struct weir_tree *schema, const struct weir_tree *node, size_t n,
                       const char *what, struct weir_err *err)
{
    bool is_text = node->kind == WEIR_TREE_STRING;
    const struct weir_tree *min = weir_tree_get(schema, is_text ? "minLength" : "minItems");
    const struct weir_tree *max = weir_tree_get(schema, is_text ? "maxLength" : "maxItems");
    uint64_t limit;

    if (min != NULL && weir_str_to_u64(min->text, &limit) && n < limit) {
        return weir_tree_error(node, err, "%zu %s, fewer than the %.*s wanted", n, what,
                               WEIR_STR_ARG(min->text));
    }
    if (max != NULL && weir_str_to_u64(max->text, &limit) && n > limit) {
        return weir_tree_error(node, err, "%zu %s, more than the %.*s allowed", n, what,
                               WEIR_STR_ARG(max->text));
    }
    return 0;
}

/* `other` is the hint when no property has a name like this. */
static int unknown_field(const struct weir_tree *properties, const struct weir_tree *member,
                         const char *other, struct weir_err *err)
{
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
    return WEIR_E_INVALID;
}

/* A member that is not among the properties. */
static int check_additional(const struct weir_tree *schema, const struct weir_tree *member,
                            struct weir_err *err)
{
    const struct weir_tree *additional = weir_tree_get(schema, "additionalProperties");
    const struct weir_tree *properties = weir_tree_get(schema, "properties");
    const struct weir_tree *format = weir_tree_get(schema, "x-weir-key-format");
    struct weir_err fault = WEIR_ERR_INIT;

    if (additional == NULL || additional->kind != WEIR_TREE_OBJECT)
        return unknown_field(properties, member, "", err);
    if (format == NULL ||
        weir_schema_format_check(weir_schema_format(format->text), member->key, &fault) >= 0)
        return check(additional, member, err);
    if (properties != NULL)
        return unknown_field(properties, member, fault.hint, err);
    weir_tree_place(member, &fault);
    weir_error_at(&fault, member->key_line, member->key_column);
    return weir_error_pass(err, &fault);
}

static int missing_field(const struct weir_tree *node, struct weir_str name, struct weir_err *err)
{
    struct weir_buf path = WEIR_BUF_INIT(WEIR_ERR_FIELD_MAX);

    weir_tree_error(node, err, "field '%.*s' is missing", WEIR_STR_ARG(name));
    weir_tree_path_of(node, &path);
    weir_error_field(err, "%s%s%.*s", weir_buf_cstr(&path), path.len > 0 ? "." : "",
                     WEIR_STR_ARG(name));
    weir_buf_finish(&path);
    return WEIR_E_INVALID;
}

static int check_required(const struct weir_tree *schema, const struct weir_tree *node,
                          struct weir_err *err)
{
    const struct weir_tree *required = weir_tree_get(schema, "required");

    if (required == NULL)
        return 0;
    weir_tree_foreach (name, required) {
        bool given = false;

        weir_tree_foreach (member, node)
            given = given || weir_str_eq(member->key, name->text);
        if (!given)
            return missing_field(node, name->text, err);
    }
    return 0;
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

static int check_object(const struct weir_tree *schema, const struct weir_tree *node,
                        struct weir_err *err)
{
    const struct weir_tree *properties = weir_tree_get(schema, "properties");

    weir_tree_foreach (member, node) {
        const struct weir_tree *property = find_property(properties, member->key);
        int r =
            property != NULL ? check(property, member, err) : check_additional(schema, member, err);

        if (r < 0)
            return r;
    }
    return check_required(schema, node, err);
}

static int check_array(const struct weir_tree *schema, const struct weir_tree *node,
                       struct weir_err *err)
{
    const struct weir_tree *items = weir_tree_get(schema, "items");
    int r = check_count(schema, node, node->n_children, "items", err);

    if (items == NULL)
        return r;
    weir_tree_foreach (item, node) {
        if (r == 0)
            r = check(items, item, err);
    }
    return r;
}

static int check(const struct weir_tree *schema, const struct weir_tree *node, struct weir_err *err)
{
    int r = check_type(schema, node, err);

    if (r == 0)
        r = check_enum(schema, node, err);
    if (r < 0)
        return r;
    if (node->kind == WEIR_TREE_OBJECT)
        return check_object(schema, node, err);
    if (node->kind == WEIR_TREE_ARRAY)
        return check_array(schema, node, err);
    if (node->kind == WEIR_TREE_STRING)
        r = check_count(schema, node, count_characters(node->text), "characters", err);
    if (r == 0)
        r = check_format(schema, node, err);
    return r == 0 && node->kind == WEIR_TREE_NUMBER ? check_range(schema, node, err) : r;
}

int weir_schema_check(const struct weir_tree *schema, const struct weir_tree *doc,
                      struct weir_err *err)
{
    return check(schema, doc, err);
}
