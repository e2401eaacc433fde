#include "io/http_conn.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/mem.h"
#include "fmt/http1_write.h"

#include <stdio.h>
#include <string.h>

/* ── the request ── */

struct weir_http_request *weir_http_request_create(struct weir_http_conn *conn)
{
    struct weir_http_request *request = weir_mem_alloc(sizeof(*request));

    if (request == NULL)
        return NULL;
    memset(request, 0, sizeof(*request));
    request->conn = conn;
    request->peer = conn->peer;
    weir_buf_init(&request->body, SIZE_MAX / 2); /* the reader holds the cap */
    weir_buf_init(&request->headers, WEIR_HTTP_REPLY_HEADERS_MAX);
    return request;
}

void weir_http_request_destroy(struct weir_http_request *request)
{
    if (request == NULL)
        return;
    weir_arena_finish(&request->arena);
    weir_buf_finish(&request->body);
    weir_buf_finish(&request->headers);
    weir_mem_free(request);
}

void weir_http_request_lose(struct weir_http_request *request)
{
    request->conn = NULL;
    if (request->told && request->on_closed != NULL) {
        request->closing = true;
        request->on_closed(request);
    } else if (request->whole || request->reply == WEIR_HTTP_REPLY_STREAM) {
        return; /* the handler has it, is not told, and will end it */
    }
    weir_http_request_destroy(request);
}

const struct weir_http1_head *weir_http_request_head(const struct weir_http_request *request)
{
    return &request->head;
}

struct weir_str weir_http_request_body(const struct weir_http_request *request)
{
    return weir_buf_view(&request->body);
}

struct weir_arena *weir_http_request_arena(struct weir_http_request *request)
{
    return &request->arena;
}

const struct weir_http_peer *weir_http_request_peer(struct weir_http_request *request)
{
    struct weir_http_peer *peer = &request->peer;

    /* Made on demand: most handlers want the numbers only. */
    if (peer->is_unix && peer->text[0] == '\0')
        snprintf(peer->text, sizeof(peer->text), "uid %u pid %d", (unsigned)peer->uid,
                 (int)peer->pid);
    return peer;
}

void weir_http_request_set_user(struct weir_http_request *request, void *user)
{
    request->user = user;
}

void *weir_http_request_user(const struct weir_http_request *request)
{
    return request->user;
}

void weir_http_request_set_body_max(struct weir_http_request *request, uint64_t max_bytes)
{
    if (request->conn != NULL && !request->whole)
        weir_http1_parser_set_body_max(&request->conn->parser, max_bytes);
}

void weir_http_request_on_closed(struct weir_http_request *request,
                                 void (*on_closed)(struct weir_http_request *request))
{
    request->on_closed = on_closed;
}

void weir_http_request_close_on_eof(struct weir_http_request *request, bool close)
{
    request->close_on_eof = close;
    if (!close || request->conn == NULL || !(request->conn->eof || request->conn->hung_up))
        return;
    request->conn->broken = true;
    weir_http_conn_kick(request->conn);
}

/* The handler is done with the handle. */
static void end(struct weir_http_request *request)
{
    struct weir_http_conn *conn = request->conn;

    request->reply = WEIR_HTTP_REPLY_ENDED;
    if (request->closing)
        return;
    if (conn == NULL) {
        weir_http_request_destroy(request);
        return;
    }
    if (conn->entered)
        return;
    weir_http_conn_finish_request(conn);
    weir_http_conn_kick(conn);
}

void weir_http_request_abort(struct weir_http_request *request)
{
    if (request->conn != NULL)
        request->conn->broken = true;
    end(request);
}

/* ── the answer ── */

/* Decides whether another request may follow, which the head has to say. */
static void decide_last(struct weir_http_request *request, bool until_close)
{
    struct weir_http_conn *conn = request->conn;
    const struct weir_http1_head *head = &request->head;
    bool can_discard = !head->chunked && !head->expect_continue &&
                       head->content_length - conn->n_body <= WEIR_HTTP_DISCARD_BYTES;

    if (!head->keep_alive && request->whole)
        conn->peer_last = true;
    if (!head->keep_alive || until_close || conn->server->stopping ||
        (!request->whole && !can_discard))
        conn->last = true;
}

static void put_date(struct weir_http_server *server)
{
    int64_t now_ms = weir_clock_wall_ms();

    if (server->date.len == 0 || now_ms / 1000 != server->date_s) {
        weir_buf_reset(&server->date);
        weir_http1_write_date(&server->date, now_ms);
        server->date_s = now_ms / 1000;
    }
    weir_buf_str(&server->scratch, weir_buf_view(&server->date));
}

/* The head up to what frames the body, into the scratch buffer. */
static struct weir_buf *put_head(struct weir_http_request *request, int status,
                                 const char *content_type)
{
    struct weir_http_conn *conn = request->conn;
    struct weir_buf *out = &conn->server->scratch;

    weir_buf_reset(out);
    weir_http1_write_status(out, status);
    put_date(conn->server);
    if (content_type != NULL)
        weir_http1_write_header(out, WEIR_STR("Content-Type"), weir_str(content_type), NULL);
    weir_buf_str(out, weir_buf_view(&request->headers));
    if (conn->last)
        weir_buf_puts(out, "Connection: close\r\n");
    else if (request->head.minor == 0)
        weir_buf_puts(out, "Connection: keep-alive\r\n");
    return out;
}

static struct iovec part_of(struct weir_str s)
{
    return (struct iovec){(void *)(uintptr_t)s.ptr, s.len};
}

static bool has_no_body(const struct weir_http_request *request)
{
    return request->head.method == WEIR_HTTP1_METHOD_HEAD;
}

static void send_whole(struct weir_http_request *request, int status, const char *content_type,
                       struct weir_str body)
{
    struct weir_http_conn *conn = request->conn;
    struct weir_buf *out = put_head(request, status, content_type);
    struct iovec parts[2];

    if (status != 204 && status != 304)
        weir_http1_write_content_length(out, body.len);
    weir_http1_write_head_end(out);
    if (out->failed != 0)
        conn->broken = true;
    parts[0] = part_of(weir_buf_view(out));
    parts[1] = part_of(body);
    weir_http_conn_send(conn, parts, has_no_body(request) ? 1 : 2);
}

/* Sends what on_refused makes of a fault. */
static void send_fault(struct weir_http_request *request, int status, const struct weir_err *why)
{
    struct weir_http_server *server = request->conn->server;
    const char *content_type = "text/plain; charset=utf-8";

    server->stats.n_refused++;
    weir_buf_reset(&server->text);
    weir_buf_reset(&request->headers);
    if (server->handler.on_refused != NULL)
        server->handler.on_refused(server->handler.ctx, status, why, &server->text, &content_type);
    else
        weir_buf_printf(&server->text, "%s\n", why->text);
    send_whole(request, status, content_type, weir_buf_view(&server->text));
}

void weir_http_reply_refuse(struct weir_http_conn *conn, int status, const struct weir_err *why)
{
    struct weir_http_request *request = conn->request;

    if (request == NULL || request->reply != WEIR_HTTP_REPLY_NONE) {
        conn->broken = true;
        return;
    }
    conn->last = true;
    send_fault(request, status, why);
    conn->request = NULL;
    weir_http_request_lose(request);
}

static bool is_servers_own(struct weir_str name)
{
    static const char *const own[] = {"Connection", "Content-Length",    "Content-Type", "Date",
                                      "Keep-Alive", "Transfer-Encoding", "Trailer",      "Upgrade"};

    for (size_t i = 0; i < WEIR_COUNT_OF(own); i++)
        if (weir_str_eq_nocase(name, weir_str(own[i])))
            return true;
    return false;
}

int weir_http_reply_header(struct weir_http_request *request, const char *name,
                           struct weir_str value, struct weir_err *err)
{
    struct weir_err fault = WEIR_ERR_INIT;
    int code;

    WEIR_ASSERT(request->reply == WEIR_HTTP_REPLY_NONE);
    if (is_servers_own(weir_str(name)))
        code = weir_error(&fault, WEIR_E_INVALID, "header '%s' is set by the server", name);
    else
        code = weir_http1_write_header(&request->headers, weir_str(name), value, &fault);
    if (code >= 0)
        return code;
    if (request->bad.code == 0)
        request->bad = fault;
    return weir_error_pass(err, &fault);
}

void weir_http_reply(struct weir_http_request *request, int status, const char *content_type,
                     struct weir_str body)
{
    WEIR_ASSERT(status >= 200 && status <= 599 && request->reply == WEIR_HTTP_REPLY_NONE);
    WEIR_ASSERT(body.len == 0 || (content_type != NULL && status != 204 && status != 304));
    if (request->conn != NULL) {
        if (request->bad.code == 0 && body.len > WEIR_HTTP_REPLY_MAX)
            weir_error(&request->bad, WEIR_E_TOO_LARGE, "the answer is larger than %d bytes",
                       WEIR_HTTP_REPLY_MAX);
        decide_last(request, false);
        if (request->bad.code != 0)
            send_fault(request, 500, &request->bad);
        else
            send_whole(request, status, content_type, body);
    }
    end(request);
}

static bool is_gone(const struct weir_http_request *request)
{
    return request->conn == NULL || request->conn->broken;
}

int weir_http_reply_start(struct weir_http_request *request, int status, const char *content_type,
                          void (*on_drain)(struct weir_http_request *request))
{
    struct weir_http_conn *conn = request->conn;
    struct weir_buf *out;
    struct iovec part;

    WEIR_ASSERT(status >= 200 && status <= 599 && request->reply == WEIR_HTTP_REPLY_NONE);
    request->on_drain = on_drain;
    request->reply = WEIR_HTTP_REPLY_STREAM;
    if (is_gone(request))
        return WEIR_E_UNAVAILABLE;
    if (request->bad.code != 0) {
        conn->last = true;
        send_fault(request, 500, &request->bad);
        conn->broken = true;
        weir_http_conn_kick(conn);
        return WEIR_E_UNAVAILABLE;
    }
    request->chunked = request->head.minor == 1;
    decide_last(request, !request->chunked);
    out = put_head(request, status, content_type);
    if (request->chunked)
        weir_http1_write_chunked(out);
    weir_http1_write_head_end(out);
    if (out->failed != 0)
        conn->broken = true;
    part = part_of(weir_buf_view(out));
    weir_http_conn_send(conn, &part, 1);
    weir_http_conn_kick(conn);
    return conn->broken ? WEIR_E_UNAVAILABLE : 0;
}

int weir_http_reply_write(struct weir_http_request *request, struct weir_str data)
{
    struct weir_http_conn *conn = request->conn;
    char chunk_head[WEIR_HTTP1_CHUNK_HEAD_MAX];
    struct iovec parts[3] = {{chunk_head, 0},
                             part_of(data),
                             part_of(WEIR_STR(WEIR_HTTP1_CHUNK_END))};
    size_t high;

    WEIR_ASSERT(request->reply == WEIR_HTTP_REPLY_STREAM);
    if (is_gone(request))
        return WEIR_E_UNAVAILABLE;
    if (data.len == 0 || has_no_body(request))
        return 0;
    high = conn->server->config.write_high_bytes;
    if (weir_http_conn_unsent(conn) > high) {
        request->wants_drain = true;
        return WEIR_E_AGAIN;
    }
    if (request->chunked) {
        parts[0].iov_len = weir_http1_chunk_head(data.len, chunk_head);
        weir_http_conn_send(conn, parts, 3);
    } else {
        weir_http_conn_send(conn, &parts[1], 1);
    }
    if (conn->broken || weir_http_conn_unsent(conn) > 0)
        weir_http_conn_kick(conn);
    if (conn->broken)
        return WEIR_E_UNAVAILABLE;
    request->wants_drain = weir_http_conn_unsent(conn) > high;
    return request->wants_drain ? 1 : 0;
}

void weir_http_reply_end(struct weir_http_request *request)
{
    struct iovec part = part_of(WEIR_STR(WEIR_HTTP1_CHUNK_LAST));

    WEIR_ASSERT(request->reply == WEIR_HTTP_REPLY_STREAM);
    if (!is_gone(request) && request->chunked && !has_no_body(request))
        weir_http_conn_send(request->conn, &part, 1);
    end(request);
}
