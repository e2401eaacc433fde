#include "base/count.h"
#include "base/tree.h"
#include "edge/api/impl.h"
#include "fmt/yaml.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000 };

const struct weir_str *weir_api_query(const struct weir_api_call *call, const char *name)
{
    return weir_url_query_get(&call->query, name);
}

int weir_api_query_u64(const struct weir_api_call *call, const char *name, uint64_t min,
                       uint64_t max, uint64_t *value, struct weir_err *err)
{
    const struct weir_str *text = weir_api_query(call, name);
    char shown[WEIR_STR_SHOW_MAX];
    uint64_t number;

    if (text == NULL)
        return 0;
    if (weir_str_to_u64(*text, &number) && number >= min && number <= max) {
        *value = number;
        return 0;
    }
    weir_error(err, WEIR_E_INVALID, "'%s' is not a number from %llu to %llu",
               weir_str_show(*text, shown), (unsigned long long)min, (unsigned long long)max);
    return weir_error_field(err, "%s", name);
}

int weir_api_query_bool(const struct weir_api_call *call, const char *name, bool *value,
                        struct weir_err *err)
{
    const struct weir_str *text = weir_api_query(call, name);
    char shown[WEIR_STR_SHOW_MAX];

    if (text == NULL)
        return 0;
    if (weir_str_eq_c(*text, "true") || weir_str_eq_c(*text, "false")) {
        *value = weir_str_eq_c(*text, "true");
        return 0;
    }
    weir_error(err, WEIR_E_INVALID, "'%s' is neither true nor false", weir_str_show(*text, shown));
    return weir_error_field(err, "%s", name);
}

int weir_api_query_limit(const struct weir_api_call *call, uint32_t *ret_limit,
                         struct weir_err *err)
{
    uint64_t limit = LIMIT_DEFAULT;
    int r = weir_api_query_u64(call, "limit", 1, LIMIT_MAX, &limit, err);

    if (r == 0)
        *ret_limit = (uint32_t)limit;
    return r;
}

/* ---- bodies ---- */

/* "charset=utf-8" in any case and quoting is all that may follow a type. */
static bool is_utf8_or_nothing(struct weir_str rest)
{
    rest = weir_str_trim(rest);
    if (rest.len == 0)
        return true;
    if (rest.ptr[0] != ';')
        return false;
    rest = weir_str_trim(weir_str_sub(rest, 1, rest.len));
    return rest.len == 0 || weir_str_eq_nocase(rest, WEIR_STR("charset=utf-8")) ||
           weir_str_eq_nocase(rest, WEIR_STR("charset=\"utf-8\""));
}

int weir_api_content_type(struct weir_api_call *call, struct weir_err *err)
{
    static const struct {
        struct weir_str name;
        bool is_yaml;
    } types[] = {
        {{"application/json", 16}, false},
        {{"application/yaml", 16}, true},
        {{"application/x-yaml", 18}, true},
        {{"text/yaml", 9}, true},
    };
    const struct weir_str *given = weir_http1_find(call->head, "Content-Type");
    size_t n = call->route->body == WEIR_API_BODY_JSON ? 1 : WEIR_COUNT_OF(types);
    char shown[WEIR_STR_SHOW_MAX];

    for (size_t i = 0; given != NULL && i < n; i++) {
        struct weir_str name = types[i].name;

        if (weir_str_eq_nocase(weir_str_sub(*given, 0, name.len), name) &&
            is_utf8_or_nothing(weir_str_sub(*given, name.len, given->len))) {
            call->is_yaml = types[i].is_yaml;
            return 0;
        }
    }
    if (given == NULL)
        weir_error(err, WEIR_E_UNSUPPORTED, "the header Content-Type is missing");
    else
        weir_error(err, WEIR_E_UNSUPPORTED, "content type '%s' is not known here",
                   weir_str_show(*given, shown));
    return weir_error_hint(err, n == 1 ? "send application/json"
                                       : "send application/yaml or application/json");
}

static int not_empty(struct weir_str body, struct weir_err *err)
{
    return weir_str_trim(body).len > 0 ? 0 : weir_error(err, WEIR_E_INVALID, "the body is empty");
}

int weir_api_body_tree(const struct weir_api_call *call, const struct weir_tree **ret_tree,
                       struct weir_err *err)
{
    struct weir_str body = weir_http_request_body(call->request);
    struct weir_tree *tree;
    int r = not_empty(body, err);

    if (r == 0 && call->is_yaml)
        return weir_yaml_read_one(body, body.len, call->arena, ret_tree, err);
    if (r == 0)
        r = weir_json_read(body, NULL, call->arena, &tree, err);
    if (r == 0)
        *ret_tree = tree;
    return r;
}

static int list_of(const struct weir_tree *tree, struct weir_arena *arena,
                   const struct weir_tree ***ret_docs, uint32_t *ret_n, struct weir_err *err)
{
    bool is_array = tree->kind == WEIR_TREE_ARRAY;
    uint32_t n = is_array ? tree->n_children : 1;
    const struct weir_tree **docs = weir_arena_new_n(arena, const struct weir_tree *, n + 1u);
    uint32_t i = 0;

    if (docs == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for %u resources", n);
    docs[0] = tree;
    if (is_array)
        weir_tree_foreach (child, tree)
            docs[i++] = child;
    *ret_docs = docs;
    *ret_n = n;
    return 0;
}

static int documents_of(struct weir_str body, struct weir_arena *arena,
                        const struct weir_tree ***ret_docs, uint32_t *ret_n, struct weir_err *err)
{
    struct weir_yaml_stream stream;
    const struct weir_tree **docs;
    uint32_t n = 0;
    int r = weir_yaml_read(body, body.len, arena, &stream, err);

    if (r < 0)
        return r;
    docs = weir_arena_new_n(arena, const struct weir_tree *, stream.n_documents + 1u);
    if (docs == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the documents");
    for (size_t i = 0; i < stream.n_documents; i++)
        if (stream.documents[i].root->kind != WEIR_TREE_NULL)
            docs[n++] = stream.documents[i].root;
    *ret_docs = docs;
    *ret_n = n;
    return 0;
}

int weir_api_body_documents(const struct weir_api_call *call, const struct weir_tree ***ret_docs,
                            uint32_t *ret_n, struct weir_err *err)
{
    struct weir_str body = weir_http_request_body(call->request);
    struct weir_tree *tree;
    int r = not_empty(body, err);

    if (r == 0 && call->is_yaml)
        r = documents_of(body, call->arena, ret_docs, ret_n, err);
    else if (r == 0) {
        r = weir_json_read(body, NULL, call->arena, &tree, err);
        if (r == 0)
            r = list_of(tree, call->arena, ret_docs, ret_n, err);
    }
    if (r == 0 && *ret_n == 0)
        return weir_error(err, WEIR_E_INVALID, "there is no resource in the body");
    return r;
}
