/* The head is read when it is whole, line by line: so no state survives between pieces of input,
 * and the order in which faults are found cannot depend on how the input was cut. */
#include "fmt/http1_head.h"

#include "base/arena.h"
#include "base/char.h"
#include "base/err.h"
#include "fmt/url.h"

#include <stdarg.h>
#include <string.h>

static const char *const method_names[WEIR_HTTP1_METHOD_MAX] = {
    [WEIR_HTTP1_METHOD_GET] = "GET",         [WEIR_HTTP1_METHOD_HEAD] = "HEAD",
    [WEIR_HTTP1_METHOD_POST] = "POST",       [WEIR_HTTP1_METHOD_PUT] = "PUT",
    [WEIR_HTTP1_METHOD_PATCH] = "PATCH",     [WEIR_HTTP1_METHOD_DELETE] = "DELETE",
    [WEIR_HTTP1_METHOD_OPTIONS] = "OPTIONS",
};

/* What the framing headers said, before they are weighed against each other. */
struct framing {
    bool has_length;
    bool has_coding;
    bool close;
    bool keep_alive;
    bool has_host;
    uint64_t length;
};

struct reader {
    struct weir_http1_head head;
    struct framing framing;
    enum weir_http1_kind kind;
    uint32_t line;
    int *status;
    struct weir_err *err;
};

static int code_of(int status)
{
    switch (status) {
    case 413:
    case 414:
    case 431:
        return WEIR_E_TOO_LARGE;
    case 417:
    case 501:
    case 505:
        return WEIR_E_UNSUPPORTED;
    case 503:
        return WEIR_E_NO_MEMORY;
    default:
        return WEIR_E_INVALID;
    }
}

int weir_http1_refuse(int *ret_status, int status, struct weir_err *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *ret_status = status;
    weir_error_v(err, code_of(status), format, args);
    va_end(args);
    return code_of(status);
}

#define REFUSE(reader, http_status, ...)                                                           \
    weir_http1_refuse((reader)->status, (http_status), (reader)->err, __VA_ARGS__)

/* RFC 9110, 5.6.2. */
static const bool token_chars[256] = {
    ['!'] = true, ['#' ... '\''] = true, ['*'] = true,         ['+'] = true, ['-'] = true,
    ['.'] = true, ['0' ... '9'] = true,  ['A' ... 'Z'] = true, ['^'] = true, ['_'] = true,
    ['`'] = true, ['a' ... 'z'] = true,  ['|'] = true,         ['~'] = true,
};

bool weir_http1_is_token(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!token_chars[(unsigned char)s.ptr[i]])
            return false;
    return s.len > 0;
}

bool weir_http1_is_value(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c < 0x20 && c != '\t') || c == 0x7F)
            return false;
    }
    return weir_str_trim(s).len == s.len;
}

const struct weir_str *weir_http1_find(const struct weir_http1_head *head, const char *name)
{
    struct weir_str wanted = weir_str(name);

    for (size_t i = 0; i < head->n_headers; i++)
        if (weir_str_eq_nocase(head->headers[i].name, wanted))
            return &head->headers[i].value;
    return NULL;
}

const char *weir_http1_method_name(enum weir_http1_method method)
{
    return method < WEIR_HTTP1_METHOD_MAX ? method_names[method] : "";
}

static bool is_nocase(struct weir_str s, const char *lower)
{
    return weir_str_eq_nocase(s, weir_str(lower));
}

/* "HTTP/1.0" or "HTTP/1.1". */
static int read_version(struct reader *reader, struct weir_str text)
{
    const char *p = text.ptr;

    if (text.len != 8 || !weir_str_starts_with(text, WEIR_STR("HTTP/")) ||
        !weir_char_is_digit(p[5]) || p[6] != '.' || !weir_char_is_digit(p[7]))
        return REFUSE(reader, 400, "the first line names no HTTP version");
    if (p[5] != '1' || p[7] > '1')
        return REFUSE(reader, 505, "HTTP/%c.%c is not supported, only 1.0 and 1.1 are", p[5], p[7]);
    reader->head.minor = (uint8_t)(p[7] - '0');
    return 0;
}

static int read_method(struct reader *reader, struct weir_str text)
{
    if (!weir_http1_is_token(text))
        return REFUSE(reader, 400, "the request line does not begin with a method");
    for (int i = 0; i < WEIR_HTTP1_METHOD_MAX; i++) {
        if (weir_str_eq_c(text, method_names[i])) {
            reader->head.method = (enum weir_http1_method)i;
            return 0;
        }
    }
    return REFUSE(reader, 501, "method '%.*s' is not supported",
                  WEIR_STR_ARG(weir_str_sub(text, 0, 32)));
}

/* Splits "/path?query" and checks both. */
static int read_path(struct reader *reader, struct weir_str text)
{
    ptrdiff_t mark = weir_str_find_char(text, '?');
    struct weir_str path = mark < 0 ? text : weir_str_sub(text, 0, (size_t)mark);
    struct weir_str query = weir_str_sub(text, path.len + 1, text.len);

    if (path.len == 0)
        path = WEIR_STR("/"); /* only behind an authority: "http://host?query" */
    if (!weir_url_is_path(path) || !weir_url_is_query(query))
        return REFUSE(reader, 400, "the request target holds a byte that must be percent-encoded");
    reader->head.path = path;
    reader->head.query = query;
    return 0;
}

/* RFC 9112, 3.2: origin form, asterisk form, absolute form. */
static int read_target(struct reader *reader, struct weir_str text)
{
    struct weir_str scheme = weir_str_sub(text, 0, 7);
    struct weir_str rest;
    struct weir_str host;
    uint16_t port;
    size_t n = 0;

    reader->head.target = text;
    if (weir_str_eq_c(text, "*")) {
        reader->head.path = text;
        if (reader->head.method != WEIR_HTTP1_METHOD_OPTIONS)
            return REFUSE(reader, 400, "the target '*' goes with OPTIONS only");
        return 0;
    }
    if (text.len > 0 && text.ptr[0] == '/')
        return read_path(reader, text);
    if (!is_nocase(scheme, "http://"))
        return REFUSE(reader, 400, "the request target is neither a path nor an http url");
    rest = weir_str_sub(text, scheme.len, text.len);
    while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?')
        n++;
    reader->head.host = weir_str_sub(rest, 0, n);
    if (weir_url_parse_authority(reader->head.host, &host, &port, NULL) < 0 || host.len == 0)
        return REFUSE(reader, 400, "the request target names no host");
    return read_path(reader, weir_str_sub(rest, n, rest.len));
}

static int read_request_line(struct reader *reader, struct weir_str line)
{
    struct weir_str rest = line;
    struct weir_str method;
    struct weir_str target;
    int code;

    if (!weir_str_split(&rest, ' ', &method) || rest.ptr == NULL ||
        !weir_str_split(&rest, ' ', &target) || rest.ptr == NULL)
        return REFUSE(reader, 400, "the request line is not METHOD TARGET HTTP/1.1");
    code = read_version(reader, rest);
    if (code == 0)
        code = read_method(reader, method);
    return code < 0 ? code : read_target(reader, target);
}

static int read_status_line(struct reader *reader, struct weir_str line)
{
    struct weir_str rest = line;
    struct weir_str version;
    struct weir_str status;
    uint64_t number;
    int code;

    if (!weir_str_split(&rest, ' ', &version) || rest.ptr == NULL)
        return REFUSE(reader, 400, "the status line is not HTTP/1.1 STATUS REASON");
    code = read_version(reader, version);
    if (code < 0)
        return code;
    /* The blank before an empty reason is often left out, and nothing hangs on it. */
    weir_str_split(&rest, ' ', &status);
    if (status.len != 3 || !weir_str_to_u64(status, &number) || number < 100 || number > 599)
        return REFUSE(reader, 400, "the status line holds no status of 100 to 599");
    reader->head.status = (uint16_t)number;
    reader->head.reason = rest;
    return 0;
}

static int read_content_length(struct reader *reader, struct weir_str value)
{
    struct framing *framing = &reader->framing;

    if (framing->has_length)
        return REFUSE(reader, 400, "Content-Length is sent twice");
    if (!weir_str_to_u64(value, &framing->length))
        return REFUSE(reader, 400, "Content-Length is not a number of bytes");
    framing->has_length = true;
    return 0;
}

static int read_transfer_encoding(struct reader *reader, struct weir_str value)
{
    if (reader->framing.has_coding)
        return REFUSE(reader, 400, "Transfer-Encoding is sent twice");
    if (reader->head.minor == 0)
        return REFUSE(reader, 400, "Transfer-Encoding does not go with HTTP/1.0");
    if (!is_nocase(value, "chunked"))
        return REFUSE(reader, 501, "Transfer-Encoding is not 'chunked'");
    reader->framing.has_coding = true;
    return 0;
}

static int read_connection(struct reader *reader, struct weir_str value)
{
    struct weir_str rest = value;
    struct weir_str part;

    if (value.len == 0)
        return 0;
    /* RFC 9110, 5.6.1 would pass over empty elements; some readers stop at them. */
    while (weir_str_split(&rest, ',', &part)) {
        part = weir_str_trim(part);
        if (!weir_http1_is_token(part))
            return REFUSE(reader, 400, "Connection is not a list of tokens");
        if (is_nocase(part, "close"))
            reader->framing.close = true;
        else if (is_nocase(part, "keep-alive"))
            reader->framing.keep_alive = true;
    }
    return 0;
}

static int read_host(struct reader *reader, struct weir_str value)
{
    struct weir_str host;
    uint16_t port;

    if (reader->framing.has_host)
        return REFUSE(reader, 400, "Host is sent twice");
    if (weir_url_parse_authority(value, &host, &port, NULL) < 0)
        return REFUSE(reader, 400, "Host is not a name or address with an optional port");
    if (reader->head.host.len > 0 && !weir_str_eq_nocase(reader->head.host, value))
        return REFUSE(reader, 400, "Host differs from the host in the request target");
    reader->framing.has_host = true;
    reader->head.host = value;
    return 0;
}

static int read_expect(struct reader *reader, struct weir_str value)
{
    if (!is_nocase(value, "100-continue"))
        return REFUSE(reader, 417, "Expect is not '100-continue'");
    reader->head.expect_continue = reader->head.minor == 1;
    return 0;
}

static int read_known_header(struct reader *reader, const struct weir_http1_header *header)
{
    bool is_request = reader->kind == WEIR_HTTP1_REQUEST;

    /* The lengths differ, so that at most one comparison is made. */
    switch (header->name.len) {
    case 4:
        return is_request && is_nocase(header->name, "host") ? read_host(reader, header->value) : 0;
    case 6:
        return is_request && is_nocase(header->name, "expect") ? read_expect(reader, header->value)
                                                               : 0;
    case 7:
        if (is_request && is_nocase(header->name, "upgrade"))
            return REFUSE(reader, 501, "upgrades are not supported");
        return 0;
    case 10:
        return is_nocase(header->name, "connection") ? read_connection(reader, header->value) : 0;
    case 14:
        return is_nocase(header->name, "content-length")
                   ? read_content_length(reader, header->value)
                   : 0;
    case 17:
        return is_nocase(header->name, "transfer-encoding")
                   ? read_transfer_encoding(reader, header->value)
                   : 0;
    default:
        return 0;
    }
}

static int read_header_line(struct reader *reader, struct weir_str line,
                            struct weir_http1_header *ret_header)
{
    ptrdiff_t colon = weir_str_find_char(line, ':');
    struct weir_str name;
    struct weir_str value;
    struct weir_str raw;

    if (colon < 0)
        return REFUSE(reader, 400, "a header line has no colon");
    name = weir_str_sub(line, 0, (size_t)colon);
    if (name.len > 0 && (name.ptr[name.len - 1] == ' ' || name.ptr[name.len - 1] == '\t'))
        return REFUSE(reader, 400, "a header line has white space before its colon");
    if (!weir_http1_is_token(name))
        return REFUSE(reader, 400, "a header name is empty or holds a byte that is not allowed");
    raw = weir_str_sub(line, name.len + 1, line.len);
    value = weir_str_trim(raw);
    /* RFC 9110, 5.5 would cut it off; some readers do not, and then see no "chunked". */
    if (value.len > 0 &&
        memchr(value.ptr + value.len, '\t', (size_t)(raw.ptr + raw.len - value.ptr) - value.len))
        return REFUSE(reader, 400, "a header value is followed by a tab");
    ret_header->name = name;
    ret_header->value = value;
    return 0;
}

static bool next_line(struct weir_str *text, struct weir_str *ret_line)
{
    ptrdiff_t end = weir_str_find_char(*text, '\n');

    if (end < 0)
        return false;
    *ret_line = weir_str_sub(*text, 0, (size_t)end - 1);
    *text = weir_str_sub(*text, (size_t)end + 1, text->len);
    return true;
}

/* Statuses that never have a body: RFC 9112, 6.3. */
static bool is_bodiless(int status)
{
    return status < 200 || status == 204 || status == 304;
}

static int weigh_framing(struct reader *reader)
{
    struct weir_http1_head *head = &reader->head;
    const struct framing *framing = &reader->framing;

    if (framing->has_length && framing->has_coding)
        return REFUSE(reader, 400, "Content-Length and Transfer-Encoding are sent together");
    if (reader->kind == WEIR_HTTP1_REQUEST && head->minor == 1 && !framing->has_host)
        return REFUSE(reader, 400, "Host is missing");
    head->keep_alive = !framing->close && (head->minor == 1 || framing->keep_alive);
    if (reader->kind == WEIR_HTTP1_RESPONSE && is_bodiless(head->status))
        return 0;
    head->chunked = framing->has_coding;
    head->content_length = framing->length;
    if (reader->kind == WEIR_HTTP1_RESPONSE && !framing->has_length && !framing->has_coding) {
        head->until_close = true;
        head->keep_alive = false;
    }
    return 0;
}

static int read_lines(struct reader *reader, struct weir_str text,
                      struct weir_http1_header *headers)
{
    struct weir_str line;
    int code = 0;

    for (reader->line = 1; code == 0 && next_line(&text, &line); reader->line++) {
        struct weir_http1_header *header;

        if (reader->line == 1) {
            code = reader->kind == WEIR_HTTP1_REQUEST ? read_request_line(reader, line)
                                                      : read_status_line(reader, line);
        } else {
            WEIR_ASSERT(headers != NULL);
            header = &headers[reader->head.n_headers++];
            code = read_header_line(reader, line, header);
            if (code == 0)
                code = read_known_header(reader, header);
        }
        if (code < 0)
            weir_error_at(reader->err, reader->line, 0);
    }
    return code;
}

int weir_http1_read_head(struct weir_str text, size_t n_lines, enum weir_http1_kind kind,
                         struct weir_arena *arena, struct weir_http1_head *ret_head,
                         int *ret_status, struct weir_err *err)
{
    struct reader reader = {.kind = kind, .status = ret_status, .err = err};
    struct weir_http1_header *headers = NULL;
    int code;

    if (n_lines > 1) {
        headers = weir_arena_new_n(arena, struct weir_http1_header, n_lines - 1);
        if (headers == NULL)
            return weir_http1_refuse(ret_status, 503, err, "no memory for %zu headers",
                                     n_lines - 1);
    }
    reader.head.headers = headers;
    code = read_lines(&reader, text, headers);
    if (code == 0)
        code = weigh_framing(&reader);
    if (code < 0)
        return code;
    *ret_head = reader.head;
    return 0;
}

static bool is_framing(struct weir_str name)
{
    return is_nocase(name, "content-length") || is_nocase(name, "transfer-encoding") ||
           is_nocase(name, "host");
}

int weir_http1_check_trailer(struct weir_str text, int *ret_status, struct weir_err *err)
{
    struct reader reader = {.status = ret_status, .err = err};
    struct weir_http1_header header = {0};
    struct weir_str line;
    int code = 0;

    while (code == 0 && next_line(&text, &line)) {
        code = read_header_line(&reader, line, &header);
        if (code == 0 && is_framing(header.name))
            code = REFUSE(&reader, 400, "'%.*s' stands in a trailer", WEIR_STR_ARG(header.name));
    }
    return code;
}
