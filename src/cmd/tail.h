/* cmd/tail.h — a stream on its way to a file: whole or its last lines, with or without a label. */
#ifndef WEIR_CMD_TAIL_H
#define WEIR_CMD_TAIL_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct weir_err;

enum { WEIR_TAIL_BYTES_MAX = 512 * 1024 * 1024 };

struct weir_tail {
    FILE *out;
    int64_t n_lines;      /* < 0: all */
    const char *label;    /* NULL: none */
    struct weir_buf held; /* the last lines so far, and some before them */
    size_t trim_at;       /* when held is that long, what is too old in it is dropped */
    bool in_line;         /* the label of this line is printed */
};

void weir_tail_init(struct weir_tail *tail, FILE *out, int64_t n_lines, const char *label);
void weir_tail_finish(struct weir_tail *tail);
int weir_tail_put(struct weir_tail *tail, struct weir_str data, struct weir_err *err);
/* No more will come: prints what was held back. */
int weir_tail_end(struct weir_tail *tail, struct weir_err *err);

#endif
