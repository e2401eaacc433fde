#include "base/buf.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

void weir_buf_init(struct weir_buf *buf, size_t max_bytes)
{
    *buf = (struct weir_buf)WEIR_BUF_INIT(max_bytes);
}

void weir_buf_finish(struct weir_buf *buf)
{
    if (buf == NULL)
        return;
    weir_mem_free(buf->data);
    weir_buf_init(buf, buf->max);
}

void weir_buf_reset(struct weir_buf *buf)
{
    buf->len = 0;
    buf->failed = 0;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

/* Half as much again, at least need, at most what max asks for. */
static size_t next_cap(const struct weir_buf *buf, size_t need)
{
    size_t cap = buf->cap < 64 ? 64 : buf->cap + buf->cap / 2;

    if (cap < need)
        cap = need;
    return cap - 1 > buf->max ? buf->max + 1 : cap;
}

char *weir_buf_reserve(struct weir_buf *buf, size_t n)
{
    size_t need;
    size_t cap;
    char *data;

    if (buf->failed != 0)
        return NULL;
    if (n > buf->max || buf->len > buf->max - n || buf->len + n == SIZE_MAX) {
        buf->failed = WEIR_E_TOO_LARGE;
        return NULL;
    }
    need = buf->len + n + 1;
    if (need <= buf->cap)
        return buf->data + buf->len;
    cap = next_cap(buf, need);
    data = weir_mem_realloc_array(buf->data, cap, 1);
    if (data == NULL) {
        buf->failed = WEIR_E_NO_MEMORY;
        return NULL;
    }
    buf->data = data;
    buf->cap = cap;
    data[buf->len] = '\0';
    return data + buf->len;
}

void weir_buf_commit(struct weir_buf *buf, size_t n)
{
    WEIR_ASSERT(buf->len + n < buf->cap);
    buf->len += n;
    buf->data[buf->len] = '\0';
}

int weir_buf_append(struct weir_buf *buf, const void *data, size_t len)
{
    char *room = weir_buf_reserve(buf, len);

    if (room == NULL)
        return buf->failed;
    if (len > 0)
        memcpy(room, data, len);
    weir_buf_commit(buf, len);
    return 0;
}

int weir_buf_str(struct weir_buf *buf, struct weir_str s)
{
    return weir_buf_append(buf, s.ptr, s.len);
}

int weir_buf_puts(struct weir_buf *buf, const char *text)
{
    return weir_buf_append(buf, text, strlen(text));
}

int weir_buf_putc(struct weir_buf *buf, char c)
{
    return weir_buf_append(buf, &c, 1);
}

int weir_buf_u64(struct weir_buf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return weir_buf_append(buf, digits + at, sizeof(digits) - at);
}

int weir_buf_i64(struct weir_buf *buf, int64_t value)
{
    if (value < 0) {
        weir_buf_putc(buf, '-');
        return weir_buf_u64(buf, 0u - (uint64_t)value);
    }
    return weir_buf_u64(buf, (uint64_t)value);
}

int weir_buf_vprintf(struct weir_buf *buf, const char *format, va_list args)
{
    va_list again;
    char *room;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if (n < 0 && buf->failed == 0)
        buf->failed = WEIR_E_TOO_LARGE; /* the only way for the formats we use: over INT_MAX */
    room = n < 0 ? NULL : weir_buf_reserve(buf, (size_t)n);
    if (room != NULL) {
        vsnprintf(room, (size_t)n + 1, format, again);
        weir_buf_commit(buf, (size_t)n);
    }
    va_end(again);
    return buf->failed;
}

int weir_buf_printf(struct weir_buf *buf, const char *format, ...)
{
    va_list args;
    int result;

    va_start(args, format);
    result = weir_buf_vprintf(buf, format, args);
    va_end(args);
    return result;
}

void weir_buf_consume(struct weir_buf *buf, size_t n)
{
    WEIR_ASSERT(n <= buf->len);
    if (n == 0)
        return;
    memmove(buf->data, buf->data + n, buf->len - n + 1);
    buf->len -= n;
}

void weir_buf_truncate(struct weir_buf *buf, size_t len)
{
    if (len >= buf->len)
        return;
    buf->len = len;
    buf->data[len] = '\0';
}

struct weir_str weir_buf_view(const struct weir_buf *buf)
{
    return weir_str_n(buf->data, buf->len);
}

const char *weir_buf_cstr(const struct weir_buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}

int weir_buf_check(const struct weir_buf *buf, const char *what, struct weir_err *err)
{
    if (buf->failed == WEIR_E_TOO_LARGE)
        return weir_error(err, WEIR_E_TOO_LARGE, "%s is larger than %zu bytes", what, buf->max);
    if (buf->failed != 0)
        return weir_error(err, buf->failed, "no memory for %s", what);
    return 0;
}
