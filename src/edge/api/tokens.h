/* edge/api/tokens.h — the bearer tokens of a file: a line each, "TOKEN ROLE USER", with blanks
 * between; blank lines and lines that begin with '#' are passed over.
 *
 * TOKEN: 16 … 256 of A-Z a-z 0-9 - . _ ~ + / = (RFC 6750). ROLE: read, submit, admin. USER: 1 … 64
 * bytes of UTF-8. No error tells a token. */
#ifndef WEIR_EDGE_API_TOKENS_H
#define WEIR_EDGE_API_TOKENS_H

#include "base/arena.h"
#include "base/err.h"
#include "port/service.h"

#include <stdbool.h>
#include <sys/stat.h>

enum {
    WEIR_TOKENS_MAX = 1024,
    WEIR_TOKENS_FILE_BYTES_MAX = 512 * 1024,
    WEIR_TOKEN_BYTES_MIN = 16,
    WEIR_TOKEN_BYTES_MAX = 256,
    WEIR_TOKEN_USER_BYTES_MAX = 64,
};

struct weir_token {
    struct weir_str token;
    struct weir_str user;
    enum weir_actor_role role;
};

/* The content of a file; tokens and texts live in the arena. WEIR_E_INVALID with line and column,
 * WEIR_E_NO_MEMORY. */
int weir_tokens_parse(struct weir_str text, struct weir_arena *arena,
                      struct weir_token **ret_tokens, uint32_t *ret_n, struct weir_err *err);

struct weir_tokens {
    char *path;
    uint32_t uid; /* whose file it must be, if not root's */
    struct stat seen;
    bool is_read; /* the newest content was good */
    /* Told once of each reason why it is not; may be NULL. */
    void (*on_bad)(const struct weir_err *err);
    char told[WEIR_ERR_TEXT_MAX];
    struct weir_token *tokens;
    uint32_t n;
    struct weir_arena arena;
};

/* Reads the file, or makes it with one admin token for `user`. On failure nothing is to be
 * finished. */
int weir_tokens_open(struct weir_tokens *tokens, const char *path, uint32_t uid,
                     struct weir_str user, struct weir_err *err);
void weir_tokens_finish(struct weir_tokens *tokens);
/* Reads the file again if it changed. While it is not there, not private or not well formed, nobody
 * is let in: WEIR_E_UNAVAILABLE. WEIR_E_UNAUTHENTICATED: not one of them. The time taken does not
 * tell which token it was nearest to. *ret_token is valid until the next call. */
int weir_tokens_check(struct weir_tokens *tokens, struct weir_str token,
                      const struct weir_token **ret_token, struct weir_err *err);

#endif
