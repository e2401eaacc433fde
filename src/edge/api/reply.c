#include "base/count.h"
#include "edge/api/impl.h"

enum { ERROR_BYTES_MAX = 8192, BODY_BYTES_AT_ONCE = 256 * 1024 };

#define JSON_TYPE "application/json"

/* ---- errors ---- */

int weir_api_status_of(int code)
{
    static const struct {
        int code;
        int status;
    } table[] = {
        {WEIR_E_INVALID, 400},    {WEIR_E_UNAUTHENTICATED, 401}, {WEIR_E_DENIED, 403},
        {WEIR_E_NOT_FOUND, 404},  {WEIR_E_EXISTS, 409},          {WEIR_E_TOO_LARGE, 413},
        {WEIR_E_IMPOSSIBLE, 422}, {WEIR_E_UNSUPPORTED, 501},     {WEIR_E_UNAVAILABLE, 503},
        {WEIR_E_TIMEOUT, 504},    {WEIR_E_NO_SPACE, 507},
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++)
        if (table[i].code == code)
            return table[i].status;
    return 500;
}

static void put_text(struct weir_json_writer *w, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    weir_json_key(w, key);
    weir_json_text(w, text);
}

static void put_number(struct weir_json_writer *w, const char *key, uint32_t value)
{
    if (value == 0)
        return;
    weir_json_key(w, key);
    weir_json_u64(w, value);
}

void weir_api_put_error(struct weir_buf *body, const struct weir_err *err)
{
    struct weir_json_writer w;

    weir_json_writer_init(&w, body, false);
    weir_json_object_begin(&w);
    weir_json_key(&w, "error");
    weir_json_object_begin(&w);
    put_text(&w, "code", weir_code_name(err->code != 0 ? err->code : WEIR_E_IO));
    put_text(&w, "message", err->text);
    put_text(&w, "hint", err->hint);
    put_text(&w, "field", err->field);
    put_number(&w, "line", err->line);
    put_number(&w, "column", err->column);
    weir_json_object_end(&w);
    weir_json_object_end(&w);
    weir_buf_putc(body, '\n');
}

/* ---- counting ---- */

void weir_api_count(struct weir_api_call *call, int status)
{
    struct weir_api *api = call->api;
    int class = status / 100;

    if (class < 1 || class > 5)
        class = 0;
    if (call->route != NULL)
        api->n_answers[call->route - weir_api_routes][class]++;
    else
        api->n_unrouted[class]++;
}

/* ---- answers ---- */

void weir_api_reply(struct weir_api_call *call, int status, const char *content_type,
                    struct weir_str body)
{
    weir_api_count(call, status);
    weir_http_request_set_user(call->request, NULL);
    weir_http_reply(call->request, status, content_type, body);
}

void weir_api_reply_error(struct weir_api_call *call, int status, const struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf body = WEIR_BUF_INIT(ERROR_BYTES_MAX);

    if (status == 401)
        weir_http_reply_header(call->request, "WWW-Authenticate", WEIR_STR("Bearer"), NULL);
    if (status == 503)
        weir_http_reply_header(call->request, "Retry-After", WEIR_STR("1"), NULL);
    weir_api_put_error(&body, err);
    weir_api_reply(call, status, JSON_TYPE, weir_buf_view(&body));
}

void weir_api_json_init(struct weir_api_json *json)
{
    weir_buf_init(&json->body, WEIR_API_JSON_MAX_BYTES);
    weir_json_writer_init(&json->w, &json->body, false);
}

int weir_api_json_reply(struct weir_api_call *call, int status, struct weir_api_json *json,
                        struct weir_err *err)
{
    int r = weir_json_writer_end(&json->w, "the answer", err);

    if (r == 0) {
        weir_buf_putc(&json->body, '\n');
        r = weir_buf_check(&json->body, "the answer", err);
    }
    if (r == 0 && status == 200 && json->body.len > BODY_BYTES_AT_ONCE)
        r = weir_api_stream_body(call, JSON_TYPE, &json->body, err);
    else if (r == 0)
        weir_api_reply(call, status, JSON_TYPE, weir_buf_view(&json->body));
    weir_buf_finish(&json->body);
    return r;
}

/* ---- writes under way ---- */

static void on_done(void *arg, int result, uint64_t outcome, const struct weir_err *why)
{
    struct weir_api_pending *pending = arg;
    struct weir_api_call *call = pending->call;
    struct weir_err err = WEIR_ERR_INIT;

    if (call != NULL) {
        call->pending = NULL;
        if (result == 0)
            result = pending->finish(call, outcome, &err);
        else if (why != NULL)
            err = *why;
        if (result < 0) {
            if (err.code == 0)
                weir_error(&err, result, "the change could not be made");
            weir_api_reply_error(call, weir_api_status_of(result), &err);
        }
    }
    weir_mem_free(pending);
}

int weir_api_pending_new(struct weir_api_call *call,
                         int (*finish)(struct weir_api_call *call, uint64_t outcome,
                                       struct weir_err *err),
                         struct weir_done *ret_done, struct weir_err *err)
{
    struct weir_api_pending *pending = weir_mem_alloc(sizeof(*pending));

    if (pending == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a request");
    *pending = (struct weir_api_pending){call, finish};
    call->pending = pending;
    *ret_done = (struct weir_done){on_done, pending};
    return 0;
}

void weir_api_pending_drop(struct weir_api_call *call)
{
    call->pending = weir_mem_free(call->pending);
}
