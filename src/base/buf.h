/* base/buf.h — a growing byte buffer. It cannot be made without a maximum.
 *
 * The first failure (over the maximum, no memory) sticks: later appends do nothing and return it
 * again, so that a writer may check once at the end. The content is always NUL-terminated (the NUL
 * is not counted). */
#ifndef WEIR_BASE_BUF_H
#define WEIR_BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct weir_err;

struct weir_buf {
    char *data; /* NULL until something was appended */
    size_t len;
    size_t cap;
    size_t max;
    int failed; /* 0, WEIR_E_TOO_LARGE or WEIR_E_NO_MEMORY */
};

#define WEIR_BUF_INIT(max_bytes)                                                                   \
    {                                                                                              \
        NULL, 0, 0, (max_bytes), 0                                                                 \
    }

void weir_buf_init(struct weir_buf *buf, size_t max_bytes);
void weir_buf_finish(struct weir_buf *buf);
/* Empties the buffer, clears the failure, keeps the memory. */
void weir_buf_reset(struct weir_buf *buf);

int weir_buf_append(struct weir_buf *buf, const void *data, size_t len);
int weir_buf_str(struct weir_buf *buf, struct weir_str s);
int weir_buf_puts(struct weir_buf *buf, const char *text);
int weir_buf_putc(struct weir_buf *buf, char c);
int weir_buf_u64(struct weir_buf *buf, uint64_t value);
int weir_buf_i64(struct weir_buf *buf, int64_t value);
int weir_buf_printf(struct weir_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int weir_buf_vprintf(struct weir_buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Room for n bytes at the end; advance with weir_buf_commit, which also ends the content again with
 * its NUL. NULL on failure. */
char *weir_buf_reserve(struct weir_buf *buf, size_t n);
void weir_buf_commit(struct weir_buf *buf, size_t n);
/* Drops n bytes from the front. */
void weir_buf_consume(struct weir_buf *buf, size_t n);
/* Drops what follows len. */
void weir_buf_truncate(struct weir_buf *buf, size_t len);

struct weir_str weir_buf_view(const struct weir_buf *buf);
const char *weir_buf_cstr(const struct weir_buf *buf); /* "" when empty */
/* The sticky failure as an error naming `what`; 0 if there is none. */
int weir_buf_check(const struct weir_buf *buf, const char *what, struct weir_err *err);

#endif
