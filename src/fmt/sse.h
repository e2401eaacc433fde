/* fmt/sse.h — server-sent events (WHATWG HTML, 9.2 "Server-sent events"): text/event-stream.
 *
 * The writer appends whole events. The reader is fed bytes in pieces of any size; line ends are LF,
 * CR or CR LF; a byte order mark at the start is passed over; comments and unknown fields are
 * passed over; an event without data is not handed out; one that the stream ends in is not either.
 */
#ifndef WEIR_FMT_SSE_H
#define WEIR_FMT_SSE_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_err;

#define WEIR_SSE_CONTENT_TYPE "text/event-stream"

struct weir_sse_event {
    struct weir_str id; /* reading: the last one seen on the stream; writing: empty is left out */
    struct weir_str event; /* empty stands for "message" */
    struct weir_str data;  /* lines with LF between them, none at the end */
};

/* Appends one event. CR, LF and CR LF in data begin a new line. WEIR_E_INVALID (nothing appended)
 * if id or event hold CR, LF or NUL. */
int weir_sse_write(struct weir_buf *out, const struct weir_sse_event *event, struct weir_err *err);
/* ": text", a heartbeat; line ends in the text are as in data. */
int weir_sse_write_comment(struct weir_buf *out, struct weir_str text);
/* How long a client waits before it connects again. */
int weir_sse_write_retry(struct weir_buf *out, uint32_t retry_ms);

struct weir_sse_reader {
    struct weir_sse_event event; /* after weir_sse_next() returned 1; valid until the next call */
    int64_t retry_ms;            /* the last one the peer asked for; -1: none */
    /* private */
    struct weir_buf line;
    struct weir_buf id;
    struct weir_buf name;
    struct weir_buf data;
    bool saw_cr;
    bool has_data;
    bool handed_out;
    uint8_t n_mark; /* bytes of the byte order mark seen; 4: past it */
};

/* event_max: of one event's data, and of one line. */
void weir_sse_reader_init(struct weir_sse_reader *reader, size_t event_max);
void weir_sse_reader_finish(struct weir_sse_reader *reader);
/* Takes bytes off the front of input. 1: an event; 0: all input was used; WEIR_E_TOO_LARGE or
 * WEIR_E_NO_MEMORY: the stream cannot be read on. */
int weir_sse_next(struct weir_sse_reader *reader, struct weir_str *input, struct weir_err *err);

#endif
