#include "edge/api/impl.h"

enum { CANDIDATE_BYTES_MAX = 512 };

static bool is_param(struct weir_str segment)
{
    return segment.len > 0 && segment.ptr[0] == '{';
}

/* Takes the next segment off a pattern that begins with '/'. */
static bool next_segment(struct weir_str *pattern, struct weir_str *ret_segment)
{
    ptrdiff_t end;

    if (pattern->len <= 1)
        return false;
    *pattern = weir_str_sub(*pattern, 1, pattern->len);
    end = weir_str_find_char(*pattern, '/');
    *ret_segment = weir_str_sub(*pattern, 0, end < 0 ? pattern->len : (size_t)end);
    *pattern = weir_str_sub(*pattern, ret_segment->len, pattern->len);
    return true;
}

static bool matches(const struct weir_api_route *route, const struct weir_url_path *path,
                    struct weir_str params[WEIR_API_PARAMS_MAX])
{
    struct weir_str pattern = weir_str(route->path);
    struct weir_str segment;
    size_t n = 0;
    size_t n_params = 0;

    while (next_segment(&pattern, &segment)) {
        if (n == path->n_segments)
            return false;
        if (is_param(segment))
            params[n_params++] = path->segments[n];
        else if (!weir_str_eq(segment, path->segments[n]))
            return false;
        n++;
    }
    return n == path->n_segments && !path->trailing_slash;
}

/* The route's path with what was asked for where it has parameters: for a hint. */
static struct weir_str candidate(const struct weir_api_route *route,
                                 const struct weir_url_path *path, struct weir_arena *arena)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CANDIDATE_BYTES_MAX);
    struct weir_str pattern = weir_str(route->path);
    struct weir_str segment;
    const char *copy;

    for (size_t n = 0; next_segment(&pattern, &segment); n++) {
        weir_buf_putc(&text, '/');
        if (is_param(segment) && n < path->n_segments)
            weir_url_encode(path->segments[n], &text);
        else
            weir_buf_str(&text, segment);
    }
    if (text.len == 0)
        weir_buf_putc(&text, '/');
    copy = text.failed != 0 ? NULL : weir_arena_strndup(arena, text.data, text.len);
    return weir_str(copy);
}

static int not_found(const struct weir_url_path *path, struct weir_str asked,
                     struct weir_arena *arena, struct weir_err *err)
{
    struct weir_str candidates[WEIR_API_ROUTES_MAX];
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t nearest;

    for (uint32_t i = 0; i < weir_api_n_routes; i++)
        candidates[i] = candidate(&weir_api_routes[i], path, arena);
    nearest = weir_str_nearest(asked, candidates, weir_api_n_routes);
    weir_error(err, WEIR_E_NOT_FOUND, "there is nothing at '%s'", weir_str_show(asked, shown));
    if (nearest >= 0)
        return weir_error_hint(err, "did you mean '%s'?",
                               weir_str_show(candidates[nearest], shown));
    return weir_error_hint(err, "/v1/openapi.json says what there is");
}

static int list_methods(bool allowed[WEIR_HTTP1_METHOD_MAX], struct weir_arena *arena,
                        struct weir_str *ret_allow)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(128);
    const char *copy;

    allowed[WEIR_HTTP1_METHOD_HEAD] = allowed[WEIR_HTTP1_METHOD_GET];
    for (int i = 0; i < WEIR_HTTP1_METHOD_MAX; i++)
        if (allowed[i])
            weir_buf_printf(&text, "%s%s", text.len > 0 ? ", " : "",
                            weir_http1_method_name((enum weir_http1_method)i));
    copy = weir_arena_strndup(arena, weir_buf_cstr(&text), text.len);
    *ret_allow = weir_str(copy);
    return copy != NULL ? 0 : WEIR_E_NO_MEMORY;
}

int weir_api_route_find(enum weir_http1_method method, struct weir_str path,
                        struct weir_arena *arena, const struct weir_api_route **ret_route,
                        struct weir_str ret_params[WEIR_API_PARAMS_MAX], struct weir_str *ret_allow,
                        struct weir_err *err)
{
    enum weir_http1_method wanted =
        method == WEIR_HTTP1_METHOD_HEAD ? WEIR_HTTP1_METHOD_GET : method;
    struct weir_str params[WEIR_API_PARAMS_MAX];
    bool allowed[WEIR_HTTP1_METHOD_MAX] = {false};
    bool is_known = false;
    struct weir_url_path split;
    int r = weir_url_split_path(path, arena, &split, err);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < weir_api_n_routes; i++) {
        const struct weir_api_route *route = &weir_api_routes[i];

        if (!matches(route, &split, params))
            continue;
        if (route->method == wanted) {
            memcpy(ret_params, params, sizeof(params));
            *ret_route = route;
            return 0;
        }
        allowed[route->method] = true;
        is_known = true;
    }
    if (!is_known)
        return not_found(&split, path, arena, err);
    if (list_methods(allowed, arena, ret_allow) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an answer");
    weir_error(err, WEIR_E_UNSUPPORTED, "%s is not possible here", weir_http1_method_name(method));
    return weir_error_hint(err, "possible: %.*s", WEIR_STR_ARG(*ret_allow));
}

/* ---- query ---- */

static size_t known_names(const struct weir_api_route *route,
                          struct weir_str names[WEIR_URL_PARAMS_MAX])
{
    struct weir_str rest = weir_str(route->query);
    struct weir_str name;
    size_t n = 0;

    while (rest.len > 0 && weir_str_split(&rest, ' ', &name))
        names[n++] = name;
    return n;
}

static int unknown_name(const struct weir_api_route *route, struct weir_str name,
                        const struct weir_str *names, size_t n, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t nearest = weir_str_nearest(name, names, n);

    weir_error(err, WEIR_E_INVALID, "unknown query parameter '%s'", weir_str_show(name, shown));
    weir_error_field(err, "%s", shown);
    if (nearest >= 0)
        return weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[nearest]));
    return n == 0 ? weir_error_hint(err, "none is known here")
                  : weir_error_hint(err, "known: %s", route->query);
}

int weir_api_route_check_query(const struct weir_api_route *route,
                               const struct weir_url_query *query, struct weir_err *err)
{
    struct weir_str names[WEIR_URL_PARAMS_MAX];
    size_t n = known_names(route, names);

    for (size_t i = 0; i < query->n_params; i++) {
        struct weir_str name = query->params[i].name;
        size_t k = 0;

        while (k < n && !weir_str_eq(names[k], name))
            k++;
        if (k == n)
            return unknown_name(route, name, names, n, err);
        for (size_t j = 0; j < i; j++) {
            if (!weir_str_eq(query->params[j].name, name))
                continue;
            weir_error(err, WEIR_E_INVALID, "query parameter '%.*s' is given twice",
                       WEIR_STR_ARG(name));
            return weir_error_field(err, "%.*s", WEIR_STR_ARG(name));
        }
    }
    return 0;
}
