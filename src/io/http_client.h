/* io/http_client.h — a small blocking HTTP/1.1 client for the command line: no loop, no thread.
 *
 * One connection to one server, used again while the server allows it. One that turns out dead is
 * made anew; a request that was sent on it already is repeated only where that does no harm: not
 * POST and PATCH, unless they have an Idempotency-Key. Waits with poll(); a signal handled by the
 * program ends a wait early only if `interrupted` says so. */
#ifndef WEIR_IO_HTTP_CLIENT_H
#define WEIR_IO_HTTP_CLIENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "fmt/http1.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct weir_err;

struct weir_http_endpoint {
    const char *unix_path; /* NULL: TCP. May be longer than sockaddr_un allows */
    const char *host;      /* name or address, without brackets */
    uint16_t port;
    const char *token; /* NULL: none */
};

struct weir_http_client {
    struct weir_http_endpoint endpoint; /* its texts outlive the client */
    int fd;                             /* -1: not connected */
    int timeout_ms;                     /* for each wait; -1: for ever */
    /* Asked when a wait was cut short by a signal; true ends the call with WEIR_E_TIMEOUT. It may
     * set timeout_ms, which counts from then on. May be NULL. */
    bool (*interrupted)(void *arg);
    void *interrupted_arg;
    /* The signals blocked while waiting, and only then: a program that blocks the others elsewhere
     * misses none between its look and the wait. NULL: as they are. */
    const sigset_t *wait_mask;
    bool last;     /* no request follows the next: the server need not wait for one */
    bool was_sent; /* of the last request: the server may have got it */
    bool reusable;
    bool in_body;
    struct weir_http1_parser parser;
    struct weir_arena arena; /* of the head */
    struct weir_buf in;
    struct weir_str input; /* of `in`, not parsed yet */
};

struct weir_http_header {
    const char *name;
    struct weir_str value;
};

/* What to do where nobody answers: "start it with `weir up`", unless it is another machine. */
/* "host:port", the address of an IPv6 host in brackets; or the socket's path. Cut where it is too
 * long. */
struct weir_str weir_http_endpoint_text(const struct weir_http_endpoint *endpoint, char *text,
                                        size_t size);
const char *weir_http_endpoint_hint(const struct weir_http_endpoint *endpoint);

void weir_http_client_init(struct weir_http_client *client,
                           const struct weir_http_endpoint *endpoint, int timeout_ms);
void weir_http_client_finish(struct weir_http_client *client);

/* Sends a request (connecting first where need be) and reads the head of the answer: *ret_head is
 * valid until the next request. Errors: WEIR_E_UNAVAILABLE (nobody there, or the connection broke),
 * WEIR_E_TIMEOUT, WEIR_E_DENIED (the socket may not be opened), WEIR_E_INVALID (not HTTP). */
int weir_http_client_request(struct weir_http_client *client, const char *method,
                             struct weir_str target, const struct weir_http_header *headers,
                             size_t n_headers, struct weir_str body,
                             const struct weir_http1_head **ret_head, struct weir_err *err);
/* The next piece of the body. 1: *ret_piece is set, valid until the next call; 0: the body is
 * whole. Errors as above. */
int weir_http_client_read(struct weir_http_client *client, struct weir_str *ret_piece,
                          struct weir_err *err);
/* The rest of the body, appended. WEIR_E_TOO_LARGE at the buffer's maximum. */
int weir_http_client_read_all(struct weir_http_client *client, struct weir_buf *out,
                              struct weir_err *err);
/* Drops the connection; the next request makes another. */
void weir_http_client_close(struct weir_http_client *client);

#endif
