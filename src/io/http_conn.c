#include "io/http_conn.h"

#include "base/mem.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READS_AT_ONCE = 4 };

/* ── callbacks of the handler ── */

static void after_callback(struct weir_http_conn *conn)
{
    if (conn->request != NULL && conn->request->reply == WEIR_HTTP_REPLY_ENDED)
        weir_http_conn_finish_request(conn);
}

static void call_drain(struct weir_http_conn *conn)
{
    struct weir_http_request *request = conn->request;

    if (conn->broken || request == NULL || !request->wants_drain ||
        weir_http_conn_unsent(conn) > conn->server->config.write_high_bytes / 2)
        return;
    request->wants_drain = false;
    if (request->on_drain != NULL)
        request->on_drain(request);
    after_callback(conn);
}

static void take_head(struct weir_http_conn *conn)
{
    struct weir_http_server *server = conn->server;
    struct weir_http_request *request = conn->request;

    request->head = conn->parser.head;
    request->has_head = true;
    conn->n_requests++;
    conn->n_body = 0;
    server->stats.n_requests++;
    weir_http1_parser_set_body_max(&conn->parser, server->config.body_max_bytes);
    weir_http_conn_touch(conn);
    if (server->handler.on_head == NULL)
        return;
    request->told = true;
    server->handler.on_head(server->handler.ctx, request);
    after_callback(conn);
}

static void take_piece(struct weir_http_conn *conn)
{
    struct weir_http_request *request = conn->request;
    struct weir_err err = WEIR_ERR_INIT;

    conn->n_body += conn->parser.piece.len;
    if (conn->discarding)
        return;
    if (weir_buf_str(&request->body, conn->parser.piece) < 0) {
        weir_error(&err, WEIR_E_NO_MEMORY, "no memory for the body");
        weir_http_reply_refuse(conn, 503, &err);
    }
}

static void take_end(struct weir_http_conn *conn)
{
    struct weir_http_server *server = conn->server;

    if (conn->discarding) {
        conn->discarding = false;
        weir_http_conn_touch(conn);
        return;
    }
    conn->request->whole = true;
    conn->request->told = true;
    server->handler.on_request(server->handler.ctx, conn->request);
    after_callback(conn);
}

/* ── input ── */

static void send_continue(struct weir_http_conn *conn)
{
    static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec part = {text, sizeof(text) - 1};
    struct weir_http_request *request = conn->request;

    if (request == NULL || !request->has_head || !request->head.expect_continue ||
        request->continued || request->reply != WEIR_HTTP_REPLY_NONE)
        return;
    request->continued = true;
    weir_http_conn_send(conn, &part, 1);
}

static bool begin_request(struct weir_http_conn *conn, const struct weir_str *input)
{
    /* An answer that the peer does not take holds back its next request. */
    if (input->len == 0 || conn->last || weir_http_conn_unsent(conn) > 0)
        return false;
    conn->request = weir_http_request_create(conn);
    if (conn->request == NULL) {
        conn->broken = true;
        return false;
    }
    weir_http1_parser_begin(&conn->parser, &conn->request->arena);
    weir_http_conn_touch(conn);
    return true;
}

/* One step on the input. False: no further one can be made. */
static bool step(struct weir_http_conn *conn, struct weir_str *input)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (conn->lingering) {
        conn->n_lingered += input->len;
        input->len = 0;
        conn->broken = conn->n_lingered > WEIR_HTTP_LINGER_BYTES;
        return false;
    }
    if (conn->request == NULL && !conn->discarding)
        return begin_request(conn, input);
    if (conn->request != NULL && conn->request->whole)
        return false;
    switch (weir_http1_next(&conn->parser, input, &err)) {
    case WEIR_HTTP1_EVENT_MORE:
        send_continue(conn);
        return false;
    case WEIR_HTTP1_EVENT_HEAD:
        take_head(conn);
        return true;
    case WEIR_HTTP1_EVENT_BODY:
        take_piece(conn);
        return true;
    case WEIR_HTTP1_EVENT_END:
        take_end(conn);
        return true;
    case WEIR_HTTP1_EVENT_ERROR:
        break;
    }
    weir_http_reply_refuse(conn, conn->parser.status, &err);
    return false;
}

/* The peer sends no more, and all it sent was worked on. */
static void take_input_end(struct weir_http_conn *conn)
{
    struct weir_http_request *request = conn->request;
    struct weir_err err = WEIR_ERR_INIT;

    if (request == NULL || request->whole)
        return;
    if (weir_http1_end_of_input(&conn->parser, &err) == WEIR_HTTP1_EVENT_ERROR)
        weir_http_reply_refuse(conn, conn->parser.status, &err);
    else
        conn->broken = true;
}

/* Works on what waits and then on what was just read, and keeps what is left. */
static void work(struct weir_http_conn *conn, struct weir_str fresh)
{
    bool waited = conn->pending.len > 0;
    struct weir_str input = fresh;

    if (waited) {
        if (weir_buf_str(&conn->pending, fresh) < 0)
            conn->broken = true;
        input = weir_buf_view(&conn->pending);
    }
    while (!conn->broken && step(conn, &input))
        ;
    if (waited)
        weir_buf_consume(&conn->pending, conn->pending.len - input.len);
    else if (input.len > 0 && weir_buf_str(&conn->pending, input) < 0)
        conn->broken = true;
    if (conn->pending.len == 0)
        weir_buf_finish(&conn->pending);
    if (conn->eof && !conn->broken && conn->pending.len == 0)
        take_input_end(conn);
}

static bool wants_input(const struct weir_http_conn *conn)
{
    if (conn->eof)
        return false;
    return conn->lingering || conn->pending.len < WEIR_HTTP_AHEAD_BYTES;
}

/* Nobody will read the answer, or nobody is to be waited for. */
static void check_gone(struct weir_http_conn *conn)
{
    if (conn->request != NULL && (conn->request->close_on_eof || weir_http_conn_is_hung_up(conn)))
        conn->broken = true;
}

static void read_input(struct weir_http_conn *conn)
{
    char *room = conn->server->read_buf;

    for (int i = 0; i < READS_AT_ONCE && !conn->broken && wants_input(conn); i++) {
        ssize_t n = weir_http_conn_receive(conn, room, WEIR_HTTP_READ_BYTES);

        if (n == WEIR_E_AGAIN)
            return;
        if (n == 0) {
            conn->eof = true;
            work(conn, weir_str_n(NULL, 0));
            check_gone(conn);
            return;
        }
        if (n < 0) {
            conn->broken = true;
            return;
        }
        work(conn, weir_str_n(room, (size_t)n));
        if (n < WEIR_HTTP_READ_BYTES)
            return;
    }
}

/* ── life ── */

static bool is_idle(const struct weir_http_conn *conn)
{
    return (conn->request == NULL ||
            (!conn->request->has_head && weir_http1_parser_is_idle(&conn->parser))) &&
           !conn->discarding && !conn->lingering && weir_http_conn_unsent(conn) == 0 &&
           conn->pending.len == 0;
}

bool weir_http_conn_may_give_way(const struct weir_http_conn *conn)
{
    const struct weir_http_request *request = conn->request;

    if (conn->lingering)
        return true;
    if (request != NULL)
        return !request->has_head && request->reply == WEIR_HTTP_REPLY_NONE &&
               weir_http_conn_unsent(conn) == 0;
    return is_idle(conn);
}

void weir_http_conn_finish_request(struct weir_http_conn *conn)
{
    struct weir_http_request *request = conn->request;

    conn->request = NULL;
    if (!conn->last && !request->whole) {
        conn->discarding = true;
        weir_http1_parser_set_body_max(&conn->parser, conn->n_body + WEIR_HTTP_DISCARD_BYTES);
    }
    weir_http_conn_touch(conn);
    weir_http_request_destroy(request);
}

static void close_request(struct weir_http_conn *conn)
{
    struct weir_http_request *request = conn->request;

    conn->request = NULL;
    if (request != NULL)
        weir_http_request_lose(request);
}

static void unlink_conn(struct weir_http_conn *conn)
{
    struct weir_http_conn **link = &conn->server->kicked;

    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        conn->server->conns = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    while (conn->kicked && *link != NULL) {
        if (*link == conn) {
            *link = conn->next_kicked;
            break;
        }
        link = &(*link)->next_kicked;
    }
}

static void close_conn(struct weir_http_conn *conn)
{
    struct weir_http_server *server = conn->server;

    unlink_conn(conn);
    close_request(conn);
    weir_http1_parser_finish(&conn->parser);
    weir_buf_finish(&conn->pending);
    weir_buf_finish(&conn->out);
    /* Closing alone leaves it in the set for as long as a process just forked holds a copy. */
    epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
    close(conn->fd);
    server->n_tcp -= conn->peer.is_unix ? 0 : 1;
    weir_mem_free(conn);
    weir_http_server_conn_closed(server);
}

/* The answer is sent, and no further request is wanted. A peer that may still be sending would lose
 * the answer to a reset if the socket were closed now. */
static void finish_or_linger(struct weir_http_conn *conn)
{
    if (conn->eof || (conn->peer_last && conn->pending.len == 0)) {
        conn->broken = true;
        return;
    }
    conn->lingering = true;
    weir_buf_finish(&conn->pending);
    weir_http_conn_touch(conn);
    if (shutdown(conn->fd, SHUT_WR) < 0)
        conn->broken = true;
}

static void decide_end(struct weir_http_conn *conn)
{
    const struct weir_http_server *server = conn->server;

    if (server->stopping && uv_now(server->loop) >= server->stop_at_ms) {
        conn->broken = true;
        return;
    }
    if (conn->request != NULL && !is_idle(conn))
        return;
    if (weir_http_conn_unsent(conn) > 0)
        return;
    if (conn->lingering) {
        conn->broken = conn->broken || conn->eof;
        return;
    }
    if (conn->last) {
        finish_or_linger(conn);
        return;
    }
    if (conn->pending.len == 0 && (conn->eof || (server->stopping && !conn->discarding)))
        conn->broken = true;
}

void weir_http_conn_ready(struct weir_http_conn *conn, uint32_t events)
{
    weir_http_conn_enter(conn);
    if ((events & EPOLLOUT) != 0) {
        weir_http_conn_flush(conn);
        call_drain(conn);
    }
    if (!conn->broken && (events & ~(uint32_t)EPOLLOUT) != 0) {
        if (wants_input(conn)) {
            read_input(conn);
        } else {
            conn->hung_up = true;
            check_gone(conn);
        }
    }
    /* What a peer that is gone had sent was worth reading; more it will not read. */
    if ((events & (EPOLLHUP | EPOLLERR)) != 0)
        conn->broken = true;
    weir_http_conn_leave(conn);
}

static void update_watch(struct weir_http_conn *conn)
{
    struct epoll_event event = {.data = {.ptr = conn}};

    if (weir_http_conn_unsent(conn) > 0)
        event.events |= EPOLLOUT;
    if (wants_input(conn))
        event.events |= EPOLLIN;
    else if (!conn->eof && !conn->hung_up)
        event.events |= EPOLLRDHUP;
    if (conn->watched && event.events == conn->events)
        return;
    if (epoll_ctl(conn->server->epoll_fd, conn->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, conn->fd,
                  &event) < 0)
        conn->broken = true;
    conn->watched = true;
    conn->events = event.events;
}

void weir_http_conn_enter(struct weir_http_conn *conn)
{
    conn->entered = true;
}

void weir_http_conn_leave(struct weir_http_conn *conn)
{
    /* A callback may have made room for what waits. */
    if (!conn->broken && (conn->pending.len > 0 || conn->eof))
        work(conn, weir_str_n(NULL, 0));
    conn->entered = false;
    if (!conn->broken)
        decide_end(conn);
    if (!conn->broken)
        update_watch(conn);
    if (conn->broken)
        close_conn(conn);
    else if (conn->server->paused && is_idle(conn))
        weir_http_server_conn_idle(conn->server);
}

void weir_http_conn_kick(struct weir_http_conn *conn)
{
    if (conn->kicked || conn->entered)
        return;
    conn->kicked = true;
    conn->next_kicked = conn->server->kicked;
    conn->server->kicked = conn;
    weir_http_server_start_kick(conn->server);
}

void weir_http_conn_run_kicked(struct weir_http_server *server)
{
    while (server->kicked != NULL) {
        struct weir_http_conn *conn = server->kicked;

        server->kicked = conn->next_kicked;
        conn->kicked = false;
        if (conn->unread && !conn->broken) {
            weir_http_conn_serve(conn);
        } else {
            weir_http_conn_enter(conn);
            weir_http_conn_leave(conn);
        }
    }
}

struct weir_http_conn *weir_http_conn_open(struct weir_http_server *server, int fd,
                                           const struct weir_http_peer *peer)
{
    struct weir_http_conn *conn = weir_mem_alloc(sizeof(*conn));

    if (conn == NULL) {
        close(fd);
        return NULL;
    }
    *conn = (struct weir_http_conn){.server = server, .fd = fd, .peer = *peer};
    weir_http1_parser_init(&conn->parser, WEIR_HTTP1_REQUEST);
    weir_buf_init(&conn->pending, 2 * (WEIR_HTTP_READ_BYTES + WEIR_HTTP_AHEAD_BYTES));
    weir_buf_init(&conn->out, SIZE_MAX / 2);
    conn->next = server->conns;
    if (server->conns != NULL)
        server->conns->prev = conn;
    server->conns = conn;
    server->stats.n_open++;
    server->n_tcp += peer->is_unix ? 0 : 1;
    server->stats.n_accepted++;
    weir_http_conn_touch(conn);
    return conn;
}

void weir_http_conn_serve(struct weir_http_conn *conn)
{
    conn->unread = false;
    weir_http_conn_enter(conn);
    read_input(conn);
    weir_http_conn_leave(conn);
}

/* How long the connection may stay as it is; UINT64_MAX while the handler has it. */
static uint64_t time_allowed(const struct weir_http_conn *conn)
{
    const struct weir_http_server_config *config = &conn->server->config;
    const struct weir_http_request *request = conn->request;

    if (weir_http_conn_unsent(conn) > 0)
        return config->idle_timeout_ms;
    if (conn->lingering)
        return WEIR_HTTP_LINGER_MS;
    if (conn->n_requests == 0 || (request != NULL && !request->has_head))
        return config->header_timeout_ms;
    if (request == NULL && !conn->discarding)
        return config->idle_timeout_ms;
    if (conn->discarding || !request->whole)
        return config->idle_timeout_ms + conn->n_body * 1000 / WEIR_HTTP_BODY_RATE;
    return UINT64_MAX;
}

void weir_http_conn_check_time(struct weir_http_conn *conn)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t now = uv_now(conn->server->loop);
    bool answer;

    weir_http_conn_enter(conn);
    if (now - conn->since_ms >= time_allowed(conn)) {
        conn->server->stats.n_timeouts++;
        answer = conn->request != NULL && !is_idle(conn) &&
                 conn->request->reply == WEIR_HTTP_REPLY_NONE && weir_http_conn_unsent(conn) == 0;
        weir_error(&err, WEIR_E_TIMEOUT, "the request did not come in time");
        if (answer)
            weir_http_reply_refuse(conn, 408, &err);
        else
            conn->broken = true;
    }
    weir_http_conn_leave(conn);
}
