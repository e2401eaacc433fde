#include "fmt/http1_write.h"

#include "base/count.h"
#include "base/err.h"
#include "base/time.h"
#include "fmt/http1.h"
#include "fmt/url.h"

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {425, "Too Early"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

const char *weir_http1_reason(int status)
{
    for (size_t i = 0; i < WEIR_COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

int weir_http1_write_status(struct weir_buf *out, int status)
{
    WEIR_ASSERT(status >= 100 && status <= 599);
    weir_buf_puts(out, "HTTP/1.1 ");
    weir_buf_u64(out, (uint64_t)status);
    weir_buf_putc(out, ' ');
    weir_buf_puts(out, weir_http1_reason(status));
    return weir_buf_puts(out, "\r\n");
}

int weir_http1_write_request(struct weir_buf *out, struct weir_str method, struct weir_str target,
                             struct weir_err *err)
{
    ptrdiff_t mark = weir_str_find_char(target, '?');
    struct weir_str path = mark < 0 ? target : weir_str_sub(target, 0, (size_t)mark);

    if (!weir_http1_is_token(method))
        return weir_error(err, WEIR_E_INVALID, "the method is no token");
    if (!weir_url_is_path(path) ||
        !weir_url_is_query(weir_str_sub(target, path.len + 1, target.len)))
        return weir_error(err, WEIR_E_INVALID,
                          "the request target does not begin with '/' or holds a byte that must be "
                          "percent-encoded");
    weir_buf_str(out, method);
    weir_buf_putc(out, ' ');
    weir_buf_str(out, target);
    weir_buf_puts(out, " HTTP/1.1\r\n");
    return weir_buf_check(out, "a request", err);
}

int weir_http1_write_header(struct weir_buf *out, struct weir_str name, struct weir_str value,
                            struct weir_err *err)
{
    if (!weir_http1_is_token(name))
        return weir_error(err, WEIR_E_INVALID,
                          "a header name is empty or holds a byte that is not "
                          "allowed");
    if (!weir_http1_is_value(value))
        return weir_error(err, WEIR_E_INVALID,
                          "the value of header '%.*s' holds a control character or a blank at its "
                          "ends",
                          WEIR_STR_ARG(name));
    weir_buf_str(out, name);
    weir_buf_puts(out, ": ");
    weir_buf_str(out, value);
    weir_buf_puts(out, "\r\n");
    return weir_buf_check(out, "a header", err);
}

int weir_http1_write_content_length(struct weir_buf *out, uint64_t length)
{
    weir_buf_puts(out, "Content-Length: ");
    weir_buf_u64(out, length);
    return weir_buf_puts(out, "\r\n");
}

int weir_http1_write_chunked(struct weir_buf *out)
{
    return weir_buf_puts(out, "Transfer-Encoding: chunked\r\n");
}

int weir_http1_write_date(struct weir_buf *out, int64_t wall_ms)
{
    static const char *const days[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct weir_civil civil;

    WEIR_ASSERT(wall_ms >= 0);
    weir_time_civil(wall_ms, &civil);
    /* 1970-01-01 was a Thursday. */
    return weir_buf_printf(out, "Date: %s, %02u %s %04d %02u:%02u:%02u GMT\r\n",
                           days[wall_ms / WEIR_TIME_DAY_MS % 7], civil.day, months[civil.month - 1],
                           (int)civil.year, civil.hour, civil.minute, civil.second);
}

int weir_http1_write_head_end(struct weir_buf *out)
{
    return weir_buf_puts(out, "\r\n");
}

size_t weir_http1_chunk_head(uint64_t size, char ret_head[static WEIR_HTTP1_CHUNK_HEAD_MAX])
{
    static const char hex[] = "0123456789abcdef";
    char digits[16];
    size_t n = 0;
    size_t len = 0;

    WEIR_ASSERT(size > 0); /* a chunk of no bytes would end the body */
    for (; size > 0; size >>= 4)
        digits[n++] = hex[size & 15];
    while (n > 0)
        ret_head[len++] = digits[--n];
    ret_head[len++] = '\r';
    ret_head[len++] = '\n';
    return len;
}
