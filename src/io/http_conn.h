/* io/http_conn.h — private to io/http_*.c of the server: a connection and the exchange on it.
 *
 * A connection reads one request at a time. `request` is the one being read or answered; NULL
 * between requests. What the peer sends ahead waits in `pending`; what the peer does not take waits
 * in `out`.
 *
 *     accept → [read head → (body) → handler → answer → flush]… → (linger) → closed
 *
 * Whoever gets control from the loop (readiness, accept, timer, kick) brackets its work in
 * weir_http_conn_enter() and _leave(). Only leave closes a connection and only between them are
 * handlers called; functions that handlers call outside of the brackets mark and kick. So no
 * callback runs inside a call from a handler, and no connection is freed under one.
 *
 * The bytes go through receive() and send_parts() in http_conn.c and nowhere else: TLS goes there.
 */
#ifndef WEIR_IO_HTTP_CONN_H
#define WEIR_IO_HTTP_CONN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "fmt/http1.h"
#include "io/http_server.h"
#include "io/unix_socket.h"

#include <sys/uio.h>
#include <uv.h>

enum {
    WEIR_HTTP_READ_BYTES = 64 * 1024,     /* of one read */
    WEIR_HTTP_AHEAD_BYTES = 64 * 1024,    /* sent ahead by the peer: reading stops with that much */
    WEIR_HTTP_DISCARD_BYTES = 64 * 1024,  /* of an unread body that is read to keep a connection */
    WEIR_HTTP_LINGER_BYTES = 1024 * 1024, /* and before one is closed */
    WEIR_HTTP_LINGER_MS = 2000,
    WEIR_HTTP_BODY_RATE = 1024, /* bytes in a second that a body must come at, after a while */
};

enum weir_http_reply_state {
    WEIR_HTTP_REPLY_NONE,
    WEIR_HTTP_REPLY_STREAM,
    WEIR_HTTP_REPLY_ENDED, /* the handle is dead for its handler */
};

struct weir_http_request {
    struct weir_http_conn *conn; /* NULL when the connection is gone */
    struct weir_arena arena;
    struct weir_http1_head head;
    struct weir_buf body;
    struct weir_buf headers; /* of the answer, added by the handler */
    struct weir_http_peer peer;
    void *user;
    void (*on_closed)(struct weir_http_request *request);
    void (*on_drain)(struct weir_http_request *request);
    enum weir_http_reply_state reply;
    bool has_head;       /* head is set */
    bool told;           /* the handler has the handle */
    bool whole;          /* the body is in */
    bool close_on_eof;   /* wanted by the handler */
    bool wants_drain;    /* on_drain is owed */
    bool chunked;        /* framing of the streamed answer */
    bool continued;      /* "100 Continue" was sent */
    bool closing;        /* on_closed is running */
    struct weir_err bad; /* the first fault of the handler's headers; code 0: none */
};

struct weir_http_conn {
    struct weir_http_server *server;
    struct weir_http_conn *prev;
    struct weir_http_conn *next;
    struct weir_http_conn *next_kicked;
    uint32_t events; /* of epoll, that were asked for last */
    bool watched;    /* in the server's epoll set */
    int fd;
    struct weir_http_peer peer;
    struct weir_http1_parser parser;
    struct weir_http_request *request;
    struct weir_buf pending; /* read, not yet worked on */
    struct weir_buf out;     /* to be sent from out_at on */
    size_t out_at;
    uint64_t since_ms; /* begin of what has a time: idle, head, body, unsent output, linger */
    uint64_t n_body;   /* bytes of the request's body so far */
    uint64_t n_lingered;
    uint32_t n_requests;
    bool entered;
    bool kicked;
    bool unread;     /* the kick is to read first */
    bool eof;        /* the peer sends no more, and all it sent was read */
    bool hung_up;    /* the peer sends no more; found while it is held back */
    bool broken;     /* to be closed at once */
    bool last;       /* no further request is read */
    bool peer_last;  /* because the peer said so: it will not send more */
    bool discarding; /* the body of a request that is answered is being read over */
    bool lingering;
};

struct weir_http_listener {
    struct weir_http_listener *next;
    struct weir_http_server *server;
    uv_poll_t poll;
    int fd;
    bool is_unix;
    bool paused;                           /* at its cap, or no descriptors left */
    struct weir_unix_listener unix_socket; /* owns fd if is_unix */
};

struct weir_http_server {
    uv_loop_t *loop;
    struct weir_http_server_config config;
    struct weir_http_handler handler;
    struct weir_http_server_stats stats;
    struct weir_http_listener *listeners;
    struct weir_http_conn *conns;
    struct weir_http_conn *kicked;
    int epoll_fd; /* of all connections: libuv's handles would cost each of them five system calls
                   */
    uv_poll_t poll;
    uv_timer_t sweep;
    uv_idle_t kick;
    uint32_t n_tcp;     /* of stats.n_open */
    uint32_t n_handles; /* not yet closed: the server is freed with the last */
    bool paused;        /* one listener at least */
    bool stopping;
    uint64_t stop_at_ms;
    void (*on_done)(void *ctx);
    void *done_ctx;
    struct weir_buf scratch; /* head of the answer being written */
    struct weir_buf text;    /* body of a refusal */
    int64_t date_s;          /* of date */
    struct weir_buf date;
    char *read_buf; /* WEIR_HTTP_READ_BYTES */
};

/* http_transport.c */

/* Bytes read, 0 at the end, WEIR_E_AGAIN or WEIR_E_IO. */
ssize_t weir_http_conn_receive(struct weir_http_conn *conn, char *room, size_t n);
/* Sends what the peer takes and keeps the rest. A failure breaks the connection. */
void weir_http_conn_send(struct weir_http_conn *conn, const struct iovec *parts, size_t n_parts);
/* Sends what was kept. */
void weir_http_conn_flush(struct weir_http_conn *conn);
size_t weir_http_conn_unsent(const struct weir_http_conn *conn);
/* Both directions are shut: a unix peer that closed, a TCP peer that reset. */
bool weir_http_conn_is_hung_up(const struct weir_http_conn *conn);
/* Something went on: what has a time begins now. */
void weir_http_conn_touch(struct weir_http_conn *conn);

/* http_conn.c */

/* Takes the descriptor; NULL, and the descriptor closed, when memory is short. */
struct weir_http_conn *weir_http_conn_open(struct weir_http_server *server, int fd,
                                           const struct weir_http_peer *peer);
/* Reads and works on what is there already. The connection may be gone on return. */
void weir_http_conn_serve(struct weir_http_conn *conn);
/* The same, by what epoll says. */
void weir_http_conn_ready(struct weir_http_conn *conn, uint32_t events);
void weir_http_conn_enter(struct weir_http_conn *conn);
void weir_http_conn_leave(struct weir_http_conn *conn);
/* Has what waits worked on, and leave() called, soon, from the loop. */
void weir_http_conn_kick(struct weir_http_conn *conn);
void weir_http_conn_run_kicked(struct weir_http_server *server);
/* Nothing of a request to be answered is in: what has come may end without loss to weir. */
bool weir_http_conn_may_give_way(const struct weir_http_conn *conn);
/* Closes if its time has run out. */
void weir_http_conn_check_time(struct weir_http_conn *conn);
/* The answer of the request is complete: gives the connection to the next one. */
void weir_http_conn_finish_request(struct weir_http_conn *conn);

/* http_reply.c */

struct weir_http_request *weir_http_request_create(struct weir_http_conn *conn);
void weir_http_request_destroy(struct weir_http_request *request);
/* The connection is gone, or goes with a refusal: tells the handler, or leaves the handle to it. */
void weir_http_request_lose(struct weir_http_request *request);
/* Answers faulty input, or a fault of our own, by on_refused; the connection is closed then. */
void weir_http_reply_refuse(struct weir_http_conn *conn, int status, const struct weir_err *why);

/* http_server.c */

void weir_http_server_start_kick(struct weir_http_server *server);
/* A connection is idle now: it may give way to one that waits. */
void weir_http_server_conn_idle(struct weir_http_server *server);
/* A connection was closed: there may be room again. */
void weir_http_server_conn_closed(struct weir_http_server *server);

#endif
