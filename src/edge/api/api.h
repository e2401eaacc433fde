/* edge/api/api.h — the HTTP API of docs/api.md, on io/http_server.h and port/service.h.
 *
 * Everything runs on the loop's thread. Nothing is remembered between requests but the tokens, user
 * names for a minute, and what open streams have sent. Without open streams there is no timer. */
#ifndef WEIR_EDGE_API_API_H
#define WEIR_EDGE_API_API_H

#include "port/service.h"

#include <stdbool.h>
#include <stdint.h>

struct uv_loop_s;
struct weir_api;
struct weir_err;

struct weir_api_config {
    const char *tokens_path; /* made with one admin token if it does not exist */
    const char *host;        /* a name that Host may have beside addresses and localhost, or NULL */
    const char *version_text; /* what `weir --version` says */
    uint32_t uid;             /* the server's own; 0 serves all users of the machine */
    uint32_t gid;
    /* The token file could not be used, and for another reason than before; may be NULL. */
    void (*on_bad_tokens)(const struct weir_err *err);
};

/* The service is copied; what it points to must outlive the API. 0, or a code (ret_api untouched).
 */
int weir_api_create(struct uv_loop_s *loop, const struct weir_api_config *config,
                    const struct weir_service *service, struct weir_api **ret_api,
                    struct weir_err *err);
/* For all users of the machine (0666) where the server is root's, else for its own user (0600). */
int weir_api_listen_unix(struct weir_api *api, const char *path, struct weir_err *err);
int weir_api_listen_tcp(struct weir_api *api, const char *address, uint16_t *ret_port,
                        struct weir_err *err);
/* Whether somebody hears of a change at once: a stream is open. */
bool weir_api_is_watched(const struct weir_api *api);
/* To be called after every tick that changed something: streams go on from here. */
void weir_api_changed(struct weir_api *api);
/* Ends streams, lets requests finish for grace_ms, frees all, then calls on_done (may be NULL),
 * from the loop. Once only; the handle is dead when this returns. */
void weir_api_shutdown(struct weir_api *api, uint32_t grace_ms, void (*on_done)(void *ctx),
                       void *ctx);

#endif
