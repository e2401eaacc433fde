/* fmt/http1_write.h — HTTP/1.1 messages, the other way: heads and chunks into a buffer.
 *
 * Names and values that could end a line, and so smuggle in another, are refused (WEIR_E_INVALID,
 * nothing appended). Running out of buffer sticks in the buffer, as always. */
#ifndef WEIR_FMT_HTTP1_WRITE_H
#define WEIR_FMT_HTTP1_WRITE_H

#include "base/buf.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct weir_err;

/* "HTTP/1.1 404 Not Found"; status is 100 to 599. */
int weir_http1_write_status(struct weir_buf *out, int status);
/* "GET /path?query HTTP/1.1"; the target is a path with an optional query, encoded. */
int weir_http1_write_request(struct weir_buf *out, struct weir_str method, struct weir_str target,
                             struct weir_err *err);
int weir_http1_write_header(struct weir_buf *out, struct weir_str name, struct weir_str value,
                            struct weir_err *err);
int weir_http1_write_content_length(struct weir_buf *out, uint64_t length);
int weir_http1_write_chunked(struct weir_buf *out); /* "Transfer-Encoding: chunked" */
/* "Date: Mon, 30 Nov 2026 15:04:05 GMT" (RFC 9110, 5.6.7) */
int weir_http1_write_date(struct weir_buf *out, int64_t wall_ms);
int weir_http1_write_head_end(struct weir_buf *out);

/* A chunk is its head, its data, and CR LF; the last one is "0" and an empty trailer. */
enum { WEIR_HTTP1_CHUNK_HEAD_MAX = 18 };
/* Writes "1f\r\n" and returns its length; size > 0. */
size_t weir_http1_chunk_head(uint64_t size, char ret_head[static WEIR_HTTP1_CHUNK_HEAD_MAX]);
#define WEIR_HTTP1_CHUNK_END  "\r\n"
#define WEIR_HTTP1_CHUNK_LAST "0\r\n\r\n"

#endif
