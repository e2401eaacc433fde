#include "base/count.h"
#include "fmt/schema.h"

#include "fmt/schema_format.h"

enum { ANY = 0, NUMERIC = WEIR_SCHEMA_INTEGER | WEIR_SCHEMA_NUMBER };

/* What a keyword's value must be. */
enum shape {
    IS_TYPES,
    IS_TEXT,
    IS_VALUE,
    IS_VALUES,
    IS_SCHEMAS,
    IS_NAMES,
    IS_FALSE_OR_SCHEMA,
    IS_SCHEMA,
    IS_COUNT,
    IS_NUMBER,
    IS_FORMAT,
    IS_KEY_FORMAT,
};

static const struct keyword {
    const char *name;
    uint8_t shape;
    uint8_t types; /* one of these must be allowed by `type`; ANY: suits all */
} keywords[] = {
    {"type", IS_TYPES, ANY},
    {"description", IS_TEXT, ANY},
    {"default", IS_VALUE, ANY},
    {"enum", IS_VALUES, WEIR_SCHEMA_STRING | NUMERIC | WEIR_SCHEMA_BOOLEAN},
    {"properties", IS_SCHEMAS, WEIR_SCHEMA_OBJECT},
    {"required", IS_NAMES, WEIR_SCHEMA_OBJECT},
    {"additionalProperties", IS_FALSE_OR_SCHEMA, WEIR_SCHEMA_OBJECT},
    {"x-weir-key-format", IS_KEY_FORMAT, WEIR_SCHEMA_OBJECT},
    {"items", IS_SCHEMA, WEIR_SCHEMA_ARRAY},
    {"minItems", IS_COUNT, WEIR_SCHEMA_ARRAY},
    {"maxItems", IS_COUNT, WEIR_SCHEMA_ARRAY},
    {"minLength", IS_COUNT, WEIR_SCHEMA_STRING},
    {"maxLength", IS_COUNT, WEIR_SCHEMA_STRING},
    {"minimum", IS_NUMBER, NUMERIC},
    {"maximum", IS_NUMBER, NUMERIC},
    {"x-weir-format", IS_FORMAT, WEIR_SCHEMA_STRING},
};

enum { N_KEYWORDS = WEIR_COUNT_OF(keywords) };

static int check_schema(const struct weir_tree *schema, struct weir_err *err);

static int want_kind(const struct weir_tree *node, enum weir_tree_kind kind, struct weir_err *err)
{
    if (node->kind == kind)
        return 0;
    return weir_tree_error(node, err, "expected %s, got %s", weir_tree_kind_name(kind),
                           weir_tree_kind_name((enum weir_tree_kind)node->kind));
}

static int find_keyword(const struct weir_tree *member, const struct keyword **ret_keyword,
                        struct weir_err *err)
{
    struct weir_str names[N_KEYWORDS];
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t near;

    for (size_t i = 0; i < N_KEYWORDS; i++) {
        names[i] = weir_str(keywords[i].name);
        if (!weir_str_eq(names[i], member->key))
            continue;
        *ret_keyword = &keywords[i];
        return 0;
    }
    near = weir_str_nearest(member->key, names, N_KEYWORDS);
    weir_tree_error(member, err, "unknown keyword '%s'", weir_str_show(member->key, shown));
    weir_error_at(err, member->key_line, member->key_column);
    if (near >= 0)
        weir_error_hint(err, "did you mean '%s'?", keywords[near].name);
    return WEIR_E_INVALID;
}

/* Strings or other scalars, at least one, none twice. */
static int check_distinct(const struct weir_tree *list, struct weir_err *err)
{
    if (want_kind(list, WEIR_TREE_ARRAY, err) < 0)
        return weir_error_code(err);
    if (list->n_children == 0 || list->n_children > WEIR_SCHEMA_NAMES_MAX)
        return weir_tree_error(list, err, "%u values, not 1 to %d", list->n_children,
                               WEIR_SCHEMA_NAMES_MAX);
    weir_tree_foreach (a, list)
        for (const struct weir_tree *b = a->next; b != NULL; b = b->next)
            if (weir_tree_equal(a, b))
                return weir_tree_error(b, err, "'%.*s' is given twice", WEIR_STR_ARG(b->text));
    return 0;
}

static int check_type_name(const struct weir_tree *name, struct weir_err *err)
{
    if (want_kind(name, WEIR_TREE_STRING, err) < 0)
        return weir_error_code(err);
    if (weir_schema_type(name->text) == 0)
        return weir_tree_error(name, err, "unknown type '%.*s'", WEIR_STR_ARG(name->text));
    return 0;
}

static int check_types(const struct weir_tree *type, struct weir_err *err)
{
    if (type->kind != WEIR_TREE_ARRAY)
        return check_type_name(type, err);
    if (check_distinct(type, err) < 0)
        return weir_error_code(err);
    weir_tree_foreach (name, type)
        if (check_type_name(name, err) < 0)
            return weir_error_code(err);
    return 0;
}

static int check_text(const struct weir_tree *text, struct weir_err *err)
{
    if (want_kind(text, WEIR_TREE_STRING, err) < 0)
        return weir_error_code(err);
    return text->text.len > 0 ? 0 : weir_tree_error(text, err, "empty text");
}

static int check_schemas(const struct weir_tree *properties, struct weir_err *err)
{
    if (want_kind(properties, WEIR_TREE_OBJECT, err) < 0)
        return weir_error_code(err);
    if (properties->n_children > WEIR_SCHEMA_NAMES_MAX)
        return weir_tree_error(properties, err, "more than %d properties", WEIR_SCHEMA_NAMES_MAX);
    weir_tree_foreach (property, properties) {
        if (check_schema(property, err) < 0)
            return weir_error_code(err);
        if (weir_tree_get(property, "description") == NULL)
            return weir_tree_error(property, err, "property without a description");
    }
    return 0;
}

static int check_names(const struct weir_tree *names, const struct weir_tree *schema,
                       struct weir_err *err)
{
    const struct weir_tree *properties = weir_tree_get(schema, "properties");

    if (check_distinct(names, err) < 0)
        return weir_error_code(err);
    weir_tree_foreach (name, names) {
        bool found = false;

        if (properties != NULL)
            weir_tree_foreach (property, properties)
                found = found || weir_str_eq(property->key, name->text);
        if (!found)
            return weir_tree_error(name, err, "'%.*s' is required but not a property",
                                   WEIR_STR_ARG(name->text));
    }
    return 0;
}

static int check_format(const struct weir_tree *format, const struct weir_tree *schema,
                        bool for_keys, struct weir_err *err)
{
    const struct weir_tree *additional = weir_tree_get(schema, "additionalProperties");
    unsigned types = weir_schema_types(weir_tree_get(schema, "type"));
    unsigned fitting = for_keys ? WEIR_SCHEMA_OBJECT : WEIR_SCHEMA_STRING;
    enum weir_schema_format f = weir_schema_format(format->text);

    if (f == WEIR_SCHEMA_FORMAT_NONE || weir_schema_format_is_for_keys(f) != for_keys)
        return weir_tree_error(format, err, "unknown format '%.*s'", WEIR_STR_ARG(format->text));
    if (weir_schema_format_takes_numbers(f))
        fitting |= WEIR_SCHEMA_NUMBER;
    if (types != fitting)
        return weir_tree_error(format, err, "format '%.*s' does not suit the type",
                               WEIR_STR_ARG(format->text));
    if (for_keys && (additional == NULL || additional->kind != WEIR_TREE_OBJECT))
        return weir_tree_error(format, err, "a format of keys without a schema of their values");
    return 0;
}

static int check_count(const struct weir_tree *count, struct weir_err *err)
{
    int64_t value;

    return weir_tree_i64(count, 0, INT32_MAX, &value, err);
}

static int check_number(const struct weir_tree *number, struct weir_err *err)
{
    double value;

    return weir_tree_f64(number, &value, err);
}

static int check_shape(const struct keyword *keyword, const struct weir_tree *member,
                       const struct weir_tree *schema, struct weir_err *err)
{
    switch ((enum shape)keyword->shape) {
    case IS_TYPES:
        return check_types(member, err);
    case IS_TEXT:
        return check_text(member, err);
    case IS_VALUES:
        return check_distinct(member, err);
    case IS_SCHEMAS:
        return check_schemas(member, err);
    case IS_NAMES:
        return check_names(member, schema, err);
    case IS_FALSE_OR_SCHEMA:
        if (member->kind == WEIR_TREE_BOOL && weir_str_eq_c(member->text, "false"))
            return 0;
        return check_schema(member, err);
    case IS_SCHEMA:
        return check_schema(member, err);
    case IS_COUNT:
        return check_count(member, err);
    case IS_NUMBER:
        return check_number(member, err);
    case IS_FORMAT:
        return check_format(member, schema, false, err);
    case IS_KEY_FORMAT:
        return check_format(member, schema, true, err);
    case IS_VALUE:
        break;
    }
    return 0;
}

/* No value is below the one and over the other. */
static int check_order(const struct weir_tree *schema, const char *low, const char *high,
                       struct weir_err *err)
{
    const struct weir_tree *min = weir_tree_get(schema, low);
    const struct weir_tree *max = weir_tree_get(schema, high);
    double least;
    double most;

    if (min == NULL || max == NULL || weir_tree_f64(min, &least, NULL) < 0 ||
        weir_tree_f64(max, &most, NULL) < 0 || least <= most)
        return 0;
    return weir_tree_error(max, err, "%s is below %s", high, low);
}

/* Every value of `enum`, and the default, must pass the rest of the schema. */
static int check_values(const struct weir_tree *schema, struct weir_err *err)
{
    const struct weir_tree *values = weir_tree_get(schema, "enum");
    const struct weir_tree *preset = weir_tree_get(schema, "default");

    if (values != NULL)
        weir_tree_foreach (value, values)
            if (weir_schema_check(schema, value, err) < 0)
                return weir_error_code(err);
    return preset != NULL ? weir_schema_check(schema, preset, err) : 0;
}

/* What only the keywords together can tell. */
static int check_whole(const struct weir_tree *schema, unsigned types, struct weir_err *err)
{
    bool has_range =
        weir_tree_get(schema, "minimum") != NULL || weir_tree_get(schema, "maximum") != NULL;

    if ((types & WEIR_SCHEMA_OBJECT) != 0 && weir_tree_get(schema, "additionalProperties") == NULL)
        return weir_tree_error(schema, err, "an object without 'additionalProperties'");
    if ((types & WEIR_SCHEMA_ARRAY) != 0 && weir_tree_get(schema, "items") == NULL)
        return weir_tree_error(schema, err, "an array without 'items'");
    if (has_range && weir_tree_get(schema, "x-weir-format") != NULL)
        return weir_tree_error(schema, err, "a range does not go with 'x-weir-format'");
    if (check_order(schema, "minimum", "maximum", err) < 0 ||
        check_order(schema, "minLength", "maxLength", err) < 0 ||
        check_order(schema, "minItems", "maxItems", err) < 0)
        return weir_error_code(err);
    return check_values(schema, err);
}

/* Recursion follows the schema's own nesting, which its reader has bounded. */
static int check_schema(const struct weir_tree *schema, struct weir_err *err)
{
    const struct weir_tree *type;
    unsigned types;

    if (want_kind(schema, WEIR_TREE_OBJECT, err) < 0)
        return weir_error_code(err);
    type = weir_tree_get(schema, "type");
    if (type == NULL)
        return weir_tree_error(schema, err, "keyword 'type' is missing");
    if (check_types(type, err) < 0)
        return weir_error_code(err);
    types = weir_schema_types(type);
    weir_tree_foreach (member, schema) {
        const struct keyword *keyword = NULL;

        if (find_keyword(member, &keyword, err) < 0)
            return weir_error_code(err);
        if (keyword->types != ANY && (keyword->types & types) == 0)
            return weir_tree_error(member, err, "keyword '%s' does not suit the type",
                                   keyword->name);
        if (check_shape(keyword, member, schema, err) < 0)
            return weir_error_code(err);
    }
    return check_whole(schema, types, err);
}

int weir_schema_check_schema(const struct weir_tree *schema, struct weir_err *err)
{
    return check_schema(schema, err);
}
