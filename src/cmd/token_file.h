/* cmd/token_file.h — DATA/tokens (edge/api/tokens.h) changed by hand: whole or not at all, by one
 * at a time, comments kept. A server takes the change in by itself. */
#ifndef WEIR_CMD_TOKEN_FILE_H
#define WEIR_CMD_TOKEN_FILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "edge/api/tokens.h"

struct weir_err;

struct weir_token_file {
    int dir_fd; /* of DATA, locked */
    struct weir_buf text;
    struct weir_token *tokens; /* of text, in the arena */
    uint32_t n_tokens;
    struct weir_arena arena;
};

/* Locks and reads; a file that is not there is empty. WEIR_E_INVALID with the line if it is
 * damaged. To be finished in either case. */
int weir_token_file_open(struct weir_token_file *file, const char *data, struct weir_err *err);
void weir_token_file_finish(struct weir_token_file *file);
/* Makes a token and adds its line to the text; ret_token lives in the arena. */
int weir_token_file_add(struct weir_token_file *file, const char *role, const char *user,
                        const char **ret_token, struct weir_err *err);
/* Drops the lines of the tokens that `drops` says yes to from the text. Returns how many. */
uint32_t weir_token_file_drop(struct weir_token_file *file,
                              bool (*drops)(void *ctx, const struct weir_token *token), void *ctx);
/* Puts the text in the place of the file, for the owner the file (or else DATA) has. */
int weir_token_file_write(struct weir_token_file *file, struct weir_err *err);

#endif
