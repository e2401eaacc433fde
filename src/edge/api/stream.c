/* Answers that go on. A stream is pumped when something changed, when its peer has read, and, while
 * it waits for output, every few milliseconds: only then the timer runs. */
#include "edge/api/impl.h"

static void on_poll(uv_timer_t *timer)
{
    struct weir_api *api = timer->data;

    for (struct weir_api_stream *s = api->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (s->is_polling)
            weir_api_stream_go(s);
    }
}

static void on_beat(uv_timer_t *timer)
{
    struct weir_api *api = timer->data;

    for (struct weir_api_stream *s = api->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (s->ops->beat != NULL && !s->is_blocked)
            s->ops->beat(s);
    }
}

void weir_api_streams_init(struct weir_api *api)
{
    uv_timer_init(api->loop, &api->poll);
    uv_timer_init(api->loop, &api->beat);
    api->poll.data = api;
    api->beat.data = api;
}

static void on_drain(struct weir_http_request *request)
{
    struct weir_api_call *call = weir_http_request_user(request);

    if (call == NULL || call->stream == NULL)
        return;
    call->stream->is_blocked = false;
    weir_api_stream_go(call->stream);
}

void weir_api_stream_start(struct weir_api_call *call, struct weir_api_stream *stream,
                           const struct weir_api_stream_ops *ops, const char *content_type)
{
    struct weir_api *api = call->api;

    *stream = (struct weir_api_stream){.ops = ops, .api = api, .call = call};
    /* A peer that is gone blocks the stream until on_closed says so. */
    stream->is_blocked = weir_http_reply_start(call->request, 200, content_type, on_drain) < 0;
    weir_api_count(call, 200);
    call->stream = stream;
    stream->next = api->streams;
    if (stream->next != NULL)
        stream->next->prev = stream;
    api->streams = stream;
    if (ops->beat != NULL && api->n_beating++ == 0)
        uv_timer_start(&api->beat, on_beat, WEIR_API_BEAT_MS, WEIR_API_BEAT_MS);
}

void weir_api_stream_go(struct weir_api_stream *stream)
{
    if (stream->call->head->method == WEIR_HTTP1_METHOD_HEAD)
        weir_api_stream_end(stream);
    else if (!stream->is_blocked)
        stream->ops->pump(stream);
}

void weir_api_stream_poll(struct weir_api_stream *stream, bool polls)
{
    struct weir_api *api = stream->api;

    if (stream->is_polling == polls)
        return;
    stream->is_polling = polls;
    if (polls && api->n_polling++ == 0)
        uv_timer_start(&api->poll, on_poll, WEIR_API_POLL_MS, WEIR_API_POLL_MS);
    if (!polls && --api->n_polling == 0)
        uv_timer_stop(&api->poll);
}

void weir_api_stream_write(struct weir_api_stream *stream, struct weir_str data)
{
    WEIR_ASSERT(!stream->is_blocked);
    if (data.len > 0 && weir_http_reply_write(stream->call->request, data) != 0)
        stream->is_blocked = true;
}

static void leave(struct weir_api_stream *stream)
{
    struct weir_api *api = stream->api;

    weir_api_stream_poll(stream, false);
    if (stream->ops->beat != NULL && --api->n_beating == 0)
        uv_timer_stop(&api->beat);
    if (stream->prev != NULL)
        stream->prev->next = stream->next;
    else
        api->streams = stream->next;
    if (stream->next != NULL)
        stream->next->prev = stream->prev;
    stream->call->stream = NULL;
    stream->ops->destroy(stream);
}

void weir_api_stream_end(struct weir_api_stream *stream)
{
    struct weir_http_request *request = stream->call->request;

    leave(stream);
    weir_http_request_set_user(request, NULL);
    weir_http_reply_end(request);
}

void weir_api_stream_abort(struct weir_api_stream *stream)
{
    struct weir_http_request *request = stream->call->request;

    leave(stream);
    weir_http_request_set_user(request, NULL);
    weir_http_request_abort(request);
}

void weir_api_stream_closed(struct weir_api_stream *stream)
{
    leave(stream);
}

void weir_api_streams_changed(struct weir_api *api)
{
    for (struct weir_api_stream *s = api->streams, *next; s != NULL; s = next) {
        next = s->next;
        weir_api_stream_go(s);
    }
}

void weir_api_streams_abort(struct weir_api *api)
{
    while (api->streams != NULL)
        weir_api_stream_abort(api->streams);
}

/* ---- a body that is there as a whole ---- */

enum { PIECE_BYTES = 64 * 1024 };

struct body_stream {
    struct weir_api_stream stream;
    struct weir_buf body;
    size_t sent;
};

static void pump_body(struct weir_api_stream *stream)
{
    struct body_stream *b = (struct body_stream *)stream;

    while (!stream->is_blocked && b->sent < b->body.len) {
        struct weir_str piece = weir_str_sub(weir_buf_view(&b->body), b->sent, PIECE_BYTES);

        b->sent += piece.len;
        weir_api_stream_write(stream, piece);
    }
    if (b->sent == b->body.len)
        weir_api_stream_end(stream);
}

static void destroy_body(struct weir_api_stream *stream)
{
    struct body_stream *b = (struct body_stream *)stream;

    weir_buf_finish(&b->body);
    weir_mem_free(b);
}

int weir_api_stream_body(struct weir_api_call *call, const char *content_type,
                         struct weir_buf *body, struct weir_err *err)
{
    static const struct weir_api_stream_ops ops = {pump_body, NULL, destroy_body};
    struct body_stream *b = weir_mem_alloc_array(1, sizeof(*b));

    if (b == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the answer");
    b->body = *body;
    weir_buf_init(body, body->max);
    weir_api_stream_start(call, &b->stream, &ops, content_type);
    weir_api_stream_go(&b->stream);
    return 0;
}
