/* cmd/attach_output.h — the output of an attached job on its way to stdout and stderr: each byte
 * once, whatever happens to the connection.
 *
 * The server's place in a member's stream and ours are counted apart: after a reconnection what
 * comes again is passed over. An attempt starts at 0. */
#ifndef WEIR_CMD_ATTACH_OUTPUT_H
#define WEIR_CMD_ATTACH_OUTPUT_H

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;

enum { WEIR_ATTACH_LINE_MAX = 64 * 1024 };

struct weir_attach_stream {
    uint64_t printed;     /* our place: bytes printed or held */
    uint64_t at;          /* the server's */
    struct weir_buf line; /* of a labelled stream: begun, not ended */
};

struct weir_attach_member {
    int64_t attempt;                      /* 0: not known yet */
    struct weir_attach_stream streams[2]; /* stdout, stderr */
};

struct weir_attach_output {
    bool label; /* "[3] " before each line */
    /* The write: to fd 1 or 2; WEIR_E_UNAVAILABLE when nobody reads any more. */
    int (*write)(void *ctx, int fd, struct weir_str data, struct weir_err *err);
    void *write_ctx;
    struct weir_attach_members weir_vec(struct weir_attach_member) members;
};

void weir_attach_output_init(struct weir_attach_output *output, bool label,
                             int (*write)(void *ctx, int fd, struct weir_str data,
                                          struct weir_err *err),
                             void *write_ctx);
void weir_attach_output_finish(struct weir_attach_output *output);
/* What an attempt of the member wrote up to there is printed already. */
int weir_attach_output_start(struct weir_attach_output *output, uint32_t member, int64_t attempt,
                             const uint64_t starts[2], struct weir_err *err);
/* stream: 0 stdout, 1 stderr. */
int weir_attach_output_put(struct weir_attach_output *output, uint32_t member, unsigned stream,
                           struct weir_str data, struct weir_err *err);
/* The member's attempt; if it is a new one, its output starts over. */
int weir_attach_output_attempt(struct weir_attach_output *output, uint32_t member, int64_t attempt,
                               struct weir_err *err);
/* The server goes on at `to`: *ret_lost bytes are gone that were never printed. */
int weir_attach_output_gap(struct weir_attach_output *output, uint32_t member, unsigned stream,
                           uint64_t to, uint64_t *ret_lost, struct weir_err *err);
/* Another connection: the server goes on where we are, or starts at 0 again (restart). */
void weir_attach_output_reconnected(struct weir_attach_output *output, bool restart);
/* Prints the lines that were begun. */
int weir_attach_output_flush(struct weir_attach_output *output, struct weir_err *err);

#endif
