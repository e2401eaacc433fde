/* From a request's head to its handler. */
#include "edge/api/impl.h"

static void on_closed(struct weir_http_request *request)
{
    struct weir_api_call *call = weir_http_request_user(request);

    if (call == NULL)
        return;
    if (call->stream != NULL)
        weir_api_stream_closed(call->stream);
    if (call->pending != NULL)
        call->pending->call = NULL;
}

static int check_body(struct weir_api_call *call, struct weir_err *err)
{
    if (call->route->body != WEIR_API_BODY_NONE)
        return weir_api_content_type(call, err);
    if (call->head->content_length == 0 && !call->head->chunked)
        return 0;
    return weir_error(err, WEIR_E_INVALID, "no body is expected here");
}

static int check_state(const struct weir_api_call *call, struct weir_err *err)
{
    struct weir_api *api = call->api;

    if (call->route->without_state)
        return 0;
    if (api->service.is_ready(api->service.ctx) && weir_api_world(api) != NULL)
        return 0;
    weir_error(err, WEIR_E_UNAVAILABLE, "weir has not read its store yet");
    return weir_error_hint(err, "try again in a second; its log says more");
}

/* Refuses with the status of the error's code, or with one that HTTP has for the case. */
static int refuse(struct weir_api_call *call, int status, const struct weir_err *err)
{
    weir_api_reply_error(call, status != 0 ? status : weir_api_status_of(err->code), err);
    return -1;
}

/* All that can be told from the head. */
static int check_head(struct weir_api_call *call)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_str allow;
    int r;

    if (weir_api_check_host(call, &err) < 0)
        return refuse(call, 421, &err);
    if (weir_api_check_origin(call, &err) < 0)
        return refuse(call, 0, &err);
    r = weir_api_route_find(call->head->method, call->head->path, call->arena, &call->route,
                            call->params, &allow, &err);
    if (r == WEIR_E_UNSUPPORTED) {
        weir_http_reply_header(call->request, "Allow", allow, NULL);
        return refuse(call, 405, &err);
    }
    if (r < 0 || weir_api_authenticate(call, &err) < 0 ||
        weir_url_split_query(call->head->query, call->arena, &call->query, &err) < 0 ||
        weir_api_route_check_query(call->route, &call->query, &err) < 0)
        return refuse(call, 0, &err);
    r = check_body(call, &err);
    return r < 0 ? refuse(call, r == WEIR_E_UNSUPPORTED ? 415 : 0, &err) : 0;
}

void weir_api_on_head(void *ctx, struct weir_http_request *request)
{
    struct weir_arena *arena = weir_http_request_arena(request);
    struct weir_api_call *call = weir_arena_new(arena, struct weir_api_call);

    if (call == NULL) {
        weir_http_request_abort(request);
        return;
    }
    call->api = ctx;
    call->request = request;
    call->arena = arena;
    call->head = weir_http_request_head(request);
    if (check_head(call) < 0)
        return;
    weir_http_request_set_user(request, call);
    if (call->route->body_max_bytes > 0)
        weir_http_request_set_body_max(request, call->route->body_max_bytes);
}

void weir_api_on_request(void *ctx, struct weir_http_request *request)
{
    struct weir_api_call *call = weir_http_request_user(request);
    struct weir_err err = WEIR_ERR_INIT;
    int r;

    (void)ctx;
    weir_http_request_on_closed(request, on_closed);
    r = check_state(call, &err);
    if (r == 0)
        r = call->route->handle(call, &err);
    if (r == 0)
        return;
    if (err.code == 0)
        weir_error(&err, r, "the request could not be answered");
    weir_api_reply_error(call, weir_api_status_of(err.code), &err);
}

void weir_api_on_refused(void *ctx, int status, const struct weir_err *why, struct weir_buf *body,
                         const char **content_type)
{
    struct weir_api *api = ctx;

    api->n_unrouted[status / 100 <= 5 ? status / 100 : 0]++;
    *content_type = "application/json";
    weir_api_put_error(body, why);
}
