/* io/http_server.h — an HTTP/1.1 server on a libuv loop: TCP and unix sockets, keep-alive,
 * pipelining in order, answers whole or streamed, now or later. All calls from the loop's thread.
 *
 * One exchange is a struct weir_http_request. The handler sees it twice at most: when its head is
 * in (on_head, optional) and when it is whole (on_request). From either it may answer at once, or
 * keep the handle and answer from any later callback. The handle is valid until the handler ends it
 * (weir_http_reply(), weir_http_reply_end(), weir_http_request_abort()), or until on_closed says
 * that the peer went away. A handler that sets no on_closed is not told: what it then answers goes
 * nowhere, without harm. Only a handle that is kept before on_request and before an answer is begun
 * needs on_closed: the body may never come.
 *
 * Callbacks are never called from inside a function of this header (but on_refused, which only
 * writes), so a handler may free its own state next to any call.
 *
 * Each request has an arena; its head, body and whatever the handler puts there live until the
 * request ends. The body is collected up to a cap.
 *
 * Requests on one connection are handled one after the other; what a peer sends ahead waits,
 * bounded. Faulty input is answered (400, 408, 413, 414, 417, 431, 501, 503, 505) and the
 * connection closed. */
#ifndef WEIR_IO_HTTP_SERVER_H
#define WEIR_IO_HTTP_SERVER_H

#include "base/str.h"
#include "fmt/http1.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct uv_loop_s;
struct weir_arena;
struct weir_buf;
struct weir_err;
struct weir_http_request;
struct weir_http_server;

/* 0 stands for the default given. */
struct weir_http_server_config {
    uint32_t max_connections; /* 1,024, over TCP three quarters of them; beyond, the one is closed
                                 that has been idle or has owed a whole head the longest, and where
                                 there is none, new ones wait */
    uint32_t
        header_timeout_ms;    /* 10,000: from the first byte of a request to the end of its head */
    uint32_t idle_timeout_ms; /* 60,000: between requests; without any byte taken by a peer that
                                 is being written to; and before a body must come at 1 KiB/s */
    uint64_t body_max_bytes;  /* WEIR_HTTP1_BODY_MAX; weir_http_request_set_body_max() overrides */
    size_t write_high_bytes;  /* 256 KiB: a streamed answer pauses with that much unsent */
};

struct weir_http_handler {
    void *ctx;
    /* The head is in. Here the body's cap may be set, or the request be refused by answering it.
     * May be NULL. */
    void (*on_head)(void *ctx, struct weir_http_request *request);
    /* The body is in. Not called for a request that on_head answered. */
    void (*on_request)(void *ctx, struct weir_http_request *request);
    /* Writes the body of an answer to faulty input, and may change its content type. NULL: the
     * error's text as text/plain. */
    void (*on_refused)(void *ctx, int status, const struct weir_err *why, struct weir_buf *body,
                       const char **content_type);
};

enum { WEIR_HTTP_PEER_TEXT_MAX = 64 };

struct weir_http_peer {
    bool is_unix;
    uid_t uid; /* of a unix peer, when it connected (SO_PEERCRED) */
    gid_t gid;
    pid_t pid;
    char text[WEIR_HTTP_PEER_TEXT_MAX]; /* "127.0.0.1:53412", "[::1]:53412", "uid 1000 pid 4711" */
};

struct weir_http_server_stats {
    uint64_t n_accepted;
    uint64_t n_requests;
    uint64_t n_refused;  /* answered with on_refused */
    uint64_t n_timeouts; /* connections closed because a time ran out */
    uint32_t n_open;
};

/* handler is copied. 0, or a negative code (ret_server untouched). */
int weir_http_server_create(struct uv_loop_s *loop, const struct weir_http_server_config *config,
                            const struct weir_http_handler *handler,
                            struct weir_http_server **ret_server, struct weir_err *err);
/* "127.0.0.1:8080", "[::1]:0": port 0 is any free one. ret_port may be NULL. */
int weir_http_server_listen_tcp(struct weir_http_server *server, const char *address,
                                uint16_t *ret_port, struct weir_err *err);
/* The path may be longer than sockaddr_un allows. A socket nobody listens on is replaced; a live
 * one is WEIR_E_EXISTS, and so is any other kind of file. Removed at shutdown, if still ours. */
int weir_http_server_listen_unix(struct weir_http_server *server, const char *path, mode_t mode,
                                 struct weir_err *err);
/* Stops listening, closes idle connections, lets requests under way finish for grace_ms (0: none),
 * then closes what is left (on_closed). When all is closed the server is freed and on_done is
 * called (may be NULL). Once only. on_done is never called from inside this function. */
void weir_http_server_shutdown(struct weir_http_server *server, uint32_t grace_ms,
                               void (*on_done)(void *ctx), void *ctx);
void weir_http_server_stats(const struct weir_http_server *server,
                            struct weir_http_server_stats *ret_stats);

/* The request. */
const struct weir_http1_head *weir_http_request_head(const struct weir_http_request *request);
struct weir_str weir_http_request_body(const struct weir_http_request *request);
struct weir_arena *weir_http_request_arena(struct weir_http_request *request);
const struct weir_http_peer *weir_http_request_peer(struct weir_http_request *request);
void weir_http_request_set_user(struct weir_http_request *request, void *user);
void *weir_http_request_user(const struct weir_http_request *request);
void weir_http_request_set_body_max(struct weir_http_request *request, uint64_t max_bytes);
/* The peer went away, or the server gave up on it, before the handler ended the request. The handle
 * is invalid when on_closed returns. */
void weir_http_request_on_closed(struct weir_http_request *request,
                                 void (*on_closed)(struct weir_http_request *request));
/* A peer that ends its sending side may still wait for its answer (TCP cannot tell that from going
 * away), so it gets one. With true, the end of its input counts as going away: for answers that
 * cost while nobody reads them. A unix peer that is gone is noticed in either case. */
void weir_http_request_close_on_eof(struct weir_http_request *request, bool close);
/* Ends the request by closing the connection, without an (or the rest of the) answer. */
void weir_http_request_abort(struct weir_http_request *request);

/* The answer. Date, Content-Length, Transfer-Encoding and Connection are the server's own. */

enum { WEIR_HTTP_REPLY_MAX = 64 * 1024 * 1024, WEIR_HTTP_REPLY_HEADERS_MAX = 16 * 1024 };

/* Adds a header. A name or value that could smuggle another (CR, LF, NUL…), or that is the server's
 * own, is WEIR_E_INVALID; the answer then becomes a 500, whether or not the caller looks. */
int weir_http_reply_header(struct weir_http_request *request, const char *name,
                           struct weir_str value, struct weir_err *err);
/* A whole answer; ends the request. body is copied if it cannot be sent at once. content_type may
 * be NULL if the body is empty. The body of an answer to HEAD is not sent, only its length. */
void weir_http_reply(struct weir_http_request *request, int status, const char *content_type,
                     struct weir_str body);
/* A streamed answer: start, write…, end. on_drain (may be NULL) is called when more can be written
 * after write returned 1 or WEIR_E_AGAIN. 0, or WEIR_E_UNAVAILABLE if the peer is gone (on_closed
 * will tell) — either way the handle stays valid. */
int weir_http_reply_start(struct weir_http_request *request, int status, const char *content_type,
                          void (*on_drain)(struct weir_http_request *request));
/* 0: taken. 1: taken, but wait for on_drain. WEIR_E_AGAIN: not taken, wait for on_drain.
 * WEIR_E_UNAVAILABLE: the peer is gone (on_closed will tell). What is unsent never exceeds
 * write_high_bytes and one write. */
int weir_http_reply_write(struct weir_http_request *request, struct weir_str data);
void weir_http_reply_end(struct weir_http_request *request);

#endif
