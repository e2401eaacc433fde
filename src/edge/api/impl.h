/* edge/api/impl.h — what the files of edge/api/ share.
 *
 * A request goes: head in → route, Host, Origin, user, role, content type (dispatch.c), body in →
 * the route's handler. A handler returns a negative code and the dispatcher answers with the error,
 * or 0 when it has answered, or will: a write through struct weir_api_pending (reply.c), a stream
 * through struct weir_api_stream (stream.c). */
#ifndef WEIR_EDGE_API_IMPL_H
#define WEIR_EDGE_API_IMPL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "edge/api/api.h"
#include "edge/api/index.h"
#include "edge/api/tokens.h"
#include "edge/api/users.h"
#include "fmt/json.h"
#include "fmt/url.h"
#include "io/http_server.h"

#include <string.h>
#include <uv.h>

struct weir_api_call;
struct weir_api_route;
struct weir_api_stream;

enum { WEIR_API_ROUTES_MAX = 64 };

struct weir_api {
    struct uv_loop_s *loop;
    struct weir_service service;
    struct weir_http_server *http;
    char *host;    /* NULL: none */
    char *version; /* what is inside, as text */
    uint32_t uid;
    uint32_t gid;
    struct weir_tokens tokens;
    struct weir_users users;
    struct weir_api_index index;
    int64_t last_seq;   /* newest event that is on disk */
    uint32_t n_changes; /* calls of weir_api_changed() */
    struct weir_api_stream *streams;
    uint32_t n_polling;
    uint32_t n_beating;
    uint32_t n_simulating; /* expected starts under way */
    uv_timer_t poll;
    uv_timer_t beat;
    uint64_t n_answers[WEIR_API_ROUTES_MAX][6]; /* by route and hundreds of the status */
    uint64_t n_unrouted[6];
    uint32_t n_to_close; /* while shutting down: handles and the server */
    void (*on_done)(void *ctx);
    void *on_done_ctx;
};

enum { WEIR_API_PARAMS_MAX = 3 };

/* One request; lives in its arena. */
struct weir_api_call {
    struct weir_api *api;
    struct weir_http_request *request;
    struct weir_arena *arena;
    const struct weir_http1_head *head;
    const struct weir_api_route *route;
    struct weir_actor actor;
    bool may_run_jobs;                           /* actor.uid is a user of this machine */
    bool is_yaml;                                /* the body */
    struct weir_str params[WEIR_API_PARAMS_MAX]; /* of the path, decoded */
    struct weir_url_query query;                 /* checked against the route */
    struct weir_api_stream *stream;              /* what goes on after the handler returned */
    struct weir_api_pending *pending;
    void *arg; /* for what finishes a write: in the arena */
};

/* ---- routes (route.c, routes.c) ---- */

enum weir_api_body { WEIR_API_BODY_NONE, WEIR_API_BODY_JSON, WEIR_API_BODY_RESOURCES };
enum weir_api_access { WEIR_API_ANYBODY, WEIR_API_READ, WEIR_API_SUBMIT, WEIR_API_ADMIN };

struct weir_api_route {
    enum weir_http1_method method;
    const char *path; /* "/v1/workloads/{id}" */
    enum weir_api_access access;
    int (*handle)(struct weir_api_call *call, struct weir_err *err);
    const char *query;       /* names with blanks between them; NULL: none */
    uint32_t arg;            /* for a handler of several routes */
    uint8_t body;            /* enum weir_api_body */
    bool without_state;      /* works before the store is read */
    uint64_t body_max_bytes; /* 0: the default */
};

extern const struct weir_api_route weir_api_routes[];
extern const uint32_t weir_api_n_routes;

/* Finds the route and fills params. WEIR_E_NOT_FOUND with the nearest path as hint, or
 * WEIR_E_UNSUPPORTED for another method, with the allowed ones in ret_allow (in the arena). */
int weir_api_route_find(enum weir_http1_method method, struct weir_str path,
                        struct weir_arena *arena, const struct weir_api_route **ret_route,
                        struct weir_str ret_params[WEIR_API_PARAMS_MAX], struct weir_str *ret_allow,
                        struct weir_err *err);
/* Refuses names the route does not know and names given twice. */
int weir_api_route_check_query(const struct weir_api_route *route,
                               const struct weir_url_query *query, struct weir_err *err);

/* ---- what a request says (request.c) ---- */

/* NULL where it is not given. */
const struct weir_str *weir_api_query(const struct weir_api_call *call, const char *name);
int weir_api_query_u64(const struct weir_api_call *call, const char *name, uint64_t min,
                       uint64_t max, uint64_t *value, struct weir_err *err);
int weir_api_query_bool(const struct weir_api_call *call, const char *name, bool *value,
                        struct weir_err *err);
/* limit (1 … 1000, default 100). */
int weir_api_query_limit(const struct weir_api_call *call, uint32_t *ret_limit,
                         struct weir_err *err);
/* Sets call->is_yaml, or WEIR_E_UNSUPPORTED. */
int weir_api_content_type(struct weir_api_call *call, struct weir_err *err);
/* The body as one tree (of a JSON route), or as documents. */
int weir_api_body_tree(const struct weir_api_call *call, const struct weir_tree **ret_tree,
                       struct weir_err *err);
int weir_api_body_documents(const struct weir_api_call *call, const struct weir_tree ***ret_docs,
                            uint32_t *ret_n, struct weir_err *err);

/* ---- who asks (auth.c) ---- */

int weir_api_check_host(const struct weir_api_call *call, struct weir_err *err);
int weir_api_check_origin(const struct weir_api_call *call, struct weir_err *err);
/* Fills call->actor. */
int weir_api_authenticate(struct weir_api_call *call, struct weir_err *err);
/* Whether jobs can run as this user. */
int weir_api_check_account(const struct weir_api_call *call, struct weir_err *err);

/* ---- answers (reply.c) ---- */

int weir_api_status_of(int code);
void weir_api_put_error(struct weir_buf *body, const struct weir_err *err);
void weir_api_reply_error(struct weir_api_call *call, int status, const struct weir_err *err);
/* Ends the request. */
void weir_api_reply(struct weir_api_call *call, int status, const char *content_type,
                    struct weir_str body);
void weir_api_count(struct weir_api_call *call, int status);

enum { WEIR_API_JSON_MAX_BYTES = 64 * 1024 * 1024 };

/* A JSON answer in the making. */
struct weir_api_json {
    struct weir_buf body;
    struct weir_json_writer w;
};
void weir_api_json_init(struct weir_api_json *json);
/* Answers with it, or returns the failure; frees it in either case. */
int weir_api_json_reply(struct weir_api_call *call, int status, struct weir_api_json *json,
                        struct weir_err *err);

/* A write that is under way. It outlives the request if the peer goes away. */
struct weir_api_pending {
    struct weir_api_call *call; /* NULL: the peer is gone */
    /* Answers; `outcome` as in struct weir_done. */
    int (*finish)(struct weir_api_call *call, uint64_t outcome, struct weir_err *err);
};
/* A done to hand to the service, or the failure. If the service refuses, drop it. */
int weir_api_pending_new(struct weir_api_call *call,
                         int (*finish)(struct weir_api_call *call, uint64_t outcome,
                                       struct weir_err *err),
                         struct weir_done *ret_done, struct weir_err *err);
void weir_api_pending_drop(struct weir_api_call *call);

/* ---- streams (stream.c) ---- */

struct weir_api_stream_ops {
    /* Writes what there is, until the stream is blocked, or ends it. Where there is very much it
     * writes a part and polls, so that others get their turn. */
    void (*pump)(struct weir_api_stream *stream);
    /* Keeps the connection alive while nothing happens; NULL: not needed. */
    void (*beat)(struct weir_api_stream *stream);
    /* Frees the state; not the request. */
    void (*destroy)(struct weir_api_stream *stream);
};

/* First member of a stream's state, which is on the heap. */
struct weir_api_stream {
    const struct weir_api_stream_ops *ops;
    struct weir_api *api;
    struct weir_api_call *call;
    struct weir_api_stream *prev;
    struct weir_api_stream *next;
    bool is_blocked; /* waits for the peer to read */
    bool is_polling; /* pumped every WEIR_API_POLL_MS too, for output that gives no notice */
};

enum { WEIR_API_POLL_MS = 20, WEIR_API_BEAT_MS = 15000, WEIR_API_PIECES_AT_ONCE = 64 };

/* Sends the head; the stream owns its state from here on. */
void weir_api_stream_start(struct weir_api_call *call, struct weir_api_stream *stream,
                           const struct weir_api_stream_ops *ops, const char *content_type);
/* Pumps, if it is not blocked: the first time, by who started it. */
void weir_api_stream_go(struct weir_api_stream *stream);
void weir_api_stream_poll(struct weir_api_stream *stream, bool polls);
/* Only while the stream is not blocked. */
void weir_api_stream_write(struct weir_api_stream *stream, struct weir_str data);
/* Ends the answer in order, or by closing the connection; the stream is gone. */
void weir_api_stream_end(struct weir_api_stream *stream);
void weir_api_stream_abort(struct weir_api_stream *stream);
void weir_api_stream_closed(struct weir_api_stream *stream); /* the peer went away */
void weir_api_streams_init(struct weir_api *api);
void weir_api_streams_changed(struct weir_api *api);
void weir_api_streams_abort(struct weir_api *api);
/* A body that is there as a whole: owned, and freed when it was sent. */
int weir_api_stream_body(struct weir_api_call *call, const char *content_type,
                         struct weir_buf *body, struct weir_err *err);

/* One of api->n_simulating is over. */
void weir_api_simulated(struct weir_api *api);

/* ---- dispatch (dispatch.c) ---- */

void weir_api_on_head(void *ctx, struct weir_http_request *request);
void weir_api_on_request(void *ctx, struct weir_http_request *request);
void weir_api_on_refused(void *ctx, int status, const struct weir_err *why, struct weir_buf *body,
                         const char **content_type);

static inline const struct weir_store *weir_api_store(const struct weir_api *api)
{
    return api->service.store(api->service.ctx);
}

static inline const struct weir_world *weir_api_world(const struct weir_api *api)
{
    return api->service.world(api->service.ctx);
}

#endif
