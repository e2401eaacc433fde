/* cmd/client.h — a command's side of the HTTP API (docs/api.md): finds the server, asks, reads the
 * answer or its error. */
#ifndef WEIR_CMD_CLIENT_H
#define WEIR_CMD_CLIENT_H

#include "base/err.h"
#include "io/http_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_args;
struct weir_tree;

enum {
    WEIR_CLIENT_PATH_MAX = 8000,
    WEIR_CLIENT_SOCKET_MAX = 4096,
    WEIR_CLIENT_HOST_MAX = 256,
    WEIR_CLIENT_ANSWER_MAX = 256 * 1024 * 1024,
};

struct weir_client {
    struct weir_http_client http;
    const struct weir_http1_head *head;  /* of the last answer */
    struct weir_buf path;                /* scratch for weir_client_path() */
    struct weir_err no_path;             /* why it leads nowhere */
    struct weir_buf answer;              /* the body of the last answer */
    char socket[WEIR_CLIENT_SOCKET_MAX]; /* empty for TCP */
    char host[WEIR_CLIENT_HOST_MAX];
};

/* --data, --server, $WEIR_SERVER, $WEIR_DATA, then the default place. Does not connect. The client
 * must not be moved. */
int weir_client_init(struct weir_client *client, const struct weir_args *args,
                     struct weir_err *err);
/* Another connection to the same server. */
void weir_client_init_like(struct weir_client *client, const struct weir_client *other);
void weir_client_finish(struct weir_client *client);
/* Nobody is or was there: no use in trying again. */
bool weir_client_is_absent(const struct weir_client *client);

/* Starts a path: "/v1/workloads/%s/cancel", each %s an encoded segment. It is valid until the next
 * one; the functions below take it. Of a word that can name nothing they fail with
 * WEIR_E_NOT_FOUND, and the server is not asked. */
void weir_client_path(struct weir_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds "?name=value", encoded. A NULL value adds nothing. */
void weir_client_query(struct weir_client *client, const char *name, const char *value);

struct weir_client_request {
    const char *method;
    const char *content_type; /* NULL: no body */
    struct weir_str body;
    const char *accept; /* NULL: anything */
    const char *key;    /* Idempotency-Key; NULL: none */
    bool last;          /* nothing follows on this connection */
};

/* Sends the request to the path and reads the whole answer into the arena. A status of 400 and more
 * is an error, made of what the server says. ret_answer may be NULL. */
int weir_client_call(struct weir_client *client, const struct weir_client_request *request,
                     struct weir_arena *arena, const struct weir_tree **ret_answer,
                     struct weir_err *err);
int weir_client_get(struct weir_client *client, struct weir_arena *arena,
                    const struct weir_tree **ret_answer, struct weir_err *err);
/* POST without a body. */
int weir_client_post(struct weir_client *client, struct weir_arena *arena,
                     const struct weir_tree **ret_answer, struct weir_err *err);
/* Sends a GET whose body is bytes, and reads its head; the body comes from
 * weir_http_client_read(). */
int weir_client_stream(struct weir_client *client, const char *accept, struct weir_err *err);
/* Every item of a list, page by page; an item is gone after each(). */
int weir_client_list(struct weir_client *client,
                     int (*each)(void *ctx, const struct weir_tree *item, struct weir_err *err),
                     void *ctx, struct weir_err *err);

/* All of them at once, in the arena. */
int weir_client_collect(struct weir_client *client, struct weir_arena *arena,
                        const struct weir_tree ***ret_items, size_t *ret_n, struct weir_err *err);

/* A member's text as it stands there (of a text, number or truth), or empty. */
struct weir_str weir_client_text(const struct weir_tree *object, const char *name);
/* A member's number; the fallback where it is missing, null or something else. */
int64_t weir_client_i64(const struct weir_tree *object, const char *name, int64_t fallback);

#endif
