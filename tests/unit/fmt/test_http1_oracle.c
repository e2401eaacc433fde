/* fmt/http1 beside http_parser (a test dependency only): what we read, it must read as the same
 * message; what we refuse and it reads must be one of the differences that http1-differs.md
 * explains. */
#include "base/count.h"
#include "base/rng.h"
#include "base/vec.h"
#include "fmt/http1.h"

#include "../../support/http1_transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <http_parser.h>

enum { MESSAGES_MAX = 32 };

/* Messages in a form both can be brought to. */
struct reading {
    char *messages[MESSAGES_MAX];
    unsigned n;
    char *refused; /* why the message after them was refused; NULL: it was not */
};

static void reading_finish(struct reading *reading)
{
    for (unsigned i = 0; i < reading->n; i++)
        free(reading->messages[i]);
    free(reading->refused);
}

static void add_message(struct reading *reading, struct weir_buf *text)
{
    assert_int_equal(text->failed, 0);
    if (reading->n < MESSAGES_MAX)
        reading->messages[reading->n++] = strdup(weir_buf_cstr(text));
    weir_buf_reset(text);
}

/* NUL cannot be compared in text. */
static void put_body(struct weir_buf *text, const char *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        weir_buf_printf(text, "%02x", (unsigned char)data[i]);
}

/* ── ours ── */

static void put_our_head(struct weir_buf *text, enum weir_http1_kind kind,
                         const struct weir_http1_head *head)
{
    if (kind == WEIR_HTTP1_REQUEST)
        weir_buf_printf(text, "%s %.*s", weir_http1_method_name(head->method),
                        WEIR_STR_ARG(head->target));
    else
        weir_buf_printf(text, "%u", head->status);
    weir_buf_printf(text, " 1.%u %s\n", head->minor, head->keep_alive ? "keep" : "close");
    for (size_t i = 0; i < head->n_headers; i++)
        weir_buf_printf(text, "%.*s: %.*s\n", WEIR_STR_ARG(head->headers[i].name),
                        WEIR_STR_ARG(head->headers[i].value));
}

static void read_ours(enum weir_http1_kind kind, struct weir_str input, struct reading *ret)
{
    struct weir_http1_parser parser;
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_buf text = WEIR_BUF_INIT(1 << 20);
    struct weir_err err = WEIR_ERR_INIT;
    bool open = true;

    *ret = (struct reading){0};
    weir_http1_parser_init(&parser, kind);
    weir_http1_parser_begin(&parser, &arena);
    while (open) {
        enum weir_http1_event event = weir_http1_next(&parser, &input, &err);

        if (event == WEIR_HTTP1_EVENT_MORE) {
            event = weir_http1_end_of_input(&parser, &err);
            open = false;
        }
        if (event == WEIR_HTTP1_EVENT_HEAD)
            put_our_head(&text, kind, &parser.head);
        if (event == WEIR_HTTP1_EVENT_BODY)
            put_body(&text, parser.piece.ptr, parser.piece.len);
        if (event == WEIR_HTTP1_EVENT_ERROR) {
            ret->refused = strdup(err.text);
            open = false;
        }
        if (event == WEIR_HTTP1_EVENT_END) {
            open = open && parser.head.keep_alive;
            add_message(ret, &text);
            weir_http1_parser_begin(&parser, &arena);
        }
    }
    weir_http1_parser_finish(&parser);
    weir_arena_finish(&arena);
    weir_buf_finish(&text);
}

/* ── http_parser ── */

struct theirs {
    struct reading *reading;
    struct weir_buf url;
    struct weir_buf name;
    struct weir_buf value;
    struct weir_buf headers;
    struct weir_buf text;
    bool in_value;
    bool head_done;
    bool closed;
};

static void end_header(struct theirs *t)
{
    if (t->in_value && !t->head_done)
        weir_buf_printf(&t->headers, "%.*s: %.*s\n", WEIR_STR_ARG(weir_buf_view(&t->name)),
                        WEIR_STR_ARG(weir_str_trim(weir_buf_view(&t->value))));
    weir_buf_reset(&t->name);
    weir_buf_reset(&t->value);
    t->in_value = false;
}

static int on_begin(http_parser *parser)
{
    struct theirs *t = parser->data;

    weir_buf_reset(&t->url);
    weir_buf_reset(&t->headers);
    weir_buf_reset(&t->text);
    weir_buf_reset(&t->name);
    weir_buf_reset(&t->value);
    t->in_value = false;
    t->head_done = false;
    return 0;
}

static int on_url(http_parser *parser, const char *at, size_t n)
{
    struct theirs *t = parser->data;

    weir_buf_append(&t->url, at, n);
    return 0;
}

static int on_field(http_parser *parser, const char *at, size_t n)
{
    struct theirs *t = parser->data;

    if (t->in_value)
        end_header(t);
    weir_buf_append(&t->name, at, n);
    return 0;
}

static int on_value(http_parser *parser, const char *at, size_t n)
{
    struct theirs *t = parser->data;

    t->in_value = true;
    weir_buf_append(&t->value, at, n);
    return 0;
}

/* For HTTP/1.0 it lets keep-alive win over close; RFC 9112, 9.3 says otherwise. */
static bool keeps_alive(const http_parser *parser)
{
    return http_should_keep_alive(parser) && (parser->flags & F_CONNECTION_CLOSE) == 0;
}

static int on_head(http_parser *parser)
{
    struct theirs *t = parser->data;

    end_header(t);
    t->head_done = true;
    if (parser->type == HTTP_REQUEST)
        weir_buf_printf(&t->text, "%s %.*s", http_method_str((enum http_method)parser->method),
                        WEIR_STR_ARG(weir_buf_view(&t->url)));
    else
        weir_buf_printf(&t->text, "%u", parser->status_code);
    weir_buf_printf(&t->text, " %u.%u %s\n", parser->http_major, parser->http_minor,
                    keeps_alive(parser) ? "keep" : "close");
    weir_buf_str(&t->text, weir_buf_view(&t->headers));
    /* It leaves to its caller that these statuses never have a body (RFC 9112, 6.3). */
    return parser->type == HTTP_RESPONSE &&
           (parser->status_code < 200 || parser->status_code == 204 || parser->status_code == 304);
}

static int on_body(http_parser *parser, const char *at, size_t n)
{
    struct theirs *t = parser->data;

    put_body(&t->text, at, n);
    return 0;
}

static int on_message(http_parser *parser)
{
    struct theirs *t = parser->data;

    /* We pass over interim answers. */
    if (parser->type == HTTP_RESPONSE && parser->status_code < 200 && parser->status_code >= 100 &&
        parser->status_code != 101)
        return 0;
    add_message(t->reading, &t->text);
    if (!keeps_alive(parser)) {
        t->closed = true;
        return 1; /* nothing more is read on this connection */
    }
    return 0;
}

static void read_theirs(enum weir_http1_kind kind, struct weir_str input, struct reading *ret)
{
    static const http_parser_settings settings = {.on_message_begin = on_begin,
                                                  .on_url = on_url,
                                                  .on_header_field = on_field,
                                                  .on_header_value = on_value,
                                                  .on_headers_complete = on_head,
                                                  .on_body = on_body,
                                                  .on_message_complete = on_message};
    struct theirs t = {.reading = ret};
    http_parser parser;
    size_t n;

    *ret = (struct reading){0};
    weir_buf_init(&t.url, 1 << 20);
    weir_buf_init(&t.name, 1 << 20);
    weir_buf_init(&t.value, 1 << 20);
    weir_buf_init(&t.headers, 1 << 20);
    weir_buf_init(&t.text, 1 << 20);
    http_parser_init(&parser, kind == WEIR_HTTP1_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE);
    parser.data = &t;
    n = http_parser_execute(&parser, &settings, input.ptr, input.len);
    if (!t.closed && n == input.len && HTTP_PARSER_ERRNO(&parser) == HPE_OK)
        http_parser_execute(&parser, &settings, NULL, 0);
    if (!t.closed && (HTTP_PARSER_ERRNO(&parser) != HPE_OK || n < input.len))
        ret->refused = strdup(http_errno_description(HTTP_PARSER_ERRNO(&parser)));
    weir_buf_finish(&t.url);
    weir_buf_finish(&t.name);
    weir_buf_finish(&t.value);
    weir_buf_finish(&t.headers);
    weir_buf_finish(&t.text);
}

/* ── the differences ── */

#define X16       "xxxxxxxxxxxxxxxx"
#define X64       X16 X16 X16 X16
#define HEADERS2  "X: y\r\nX: y\r\n"
#define HEADERS10 HEADERS2 HEADERS2 HEADERS2 HEADERS2 HEADERS2
#define GET1      "GET / HTTP/1.1\r\nHost: h\r\n"

/* What we refuse and http_parser reads: our words for it, and one example. */
static const struct difference {
    const char *text; /* stands so in http1-differs.md */
    enum weir_http1_kind kind;
    struct weir_str example;
} differences[] = {
    {"Host is missing", WEIR_HTTP1_REQUEST, WEIR_STR("GET / HTTP/1.1\r\n\r\n")},
    {"Host is sent twice", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "Host: h\r\n\r\n")},
    {"Host is not a name", WEIR_HTTP1_REQUEST, WEIR_STR("GET / HTTP/1.1\r\nHost: a b\r\n\r\n")},
    {"Host differs", WEIR_HTTP1_REQUEST, WEIR_STR("GET http://g/ HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"LF stands without CR", WEIR_HTTP1_REQUEST, WEIR_STR("GET / HTTP/1.1\nHost: h\n\n")},
    {"CR stands without LF", WEIR_HTTP1_RESPONSE,
     WEIR_STR("HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n")},
    {"a line begins with white space", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "X: y\r\n z\r\n\r\n")},
    {"the first line is empty", WEIR_HTTP1_REQUEST, WEIR_STR("\r\n\r\n" GET1 "\r\n")},
    {"control character", WEIR_HTTP1_RESPONSE,
     WEIR_STR("HTTP/1.1 200 \x01\r\nContent-Length: 0\r\n\r\n")},
    {"must be percent-encoded", WEIR_HTTP1_REQUEST,
     WEIR_STR("GET /a[0] HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"neither a path nor an http url", WEIR_HTTP1_REQUEST,
     WEIR_STR("GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"names no host", WEIR_HTTP1_REQUEST, WEIR_STR("GET http://?x HTTP/1.1\r\nHost:\r\n\r\n")},
    {"'*' goes with OPTIONS only", WEIR_HTTP1_REQUEST,
     WEIR_STR("GET * HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"is not supported", WEIR_HTTP1_REQUEST, WEIR_STR("TRACE / HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"upgrades are not supported", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "Upgrade: h2c\r\n\r\n")},
    {"the request line is not", WEIR_HTTP1_REQUEST, WEIR_STR("GET /\r\n\r\n")},
    {"names no HTTP version", WEIR_HTTP1_REQUEST, WEIR_STR("GET  / HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"Expect is not", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "Expect: x\r\n\r\n")},
    {"Connection is not a list", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "Connection: a;b\r\n\r\n")},
    {"Transfer-Encoding is not", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")},
    {"Transfer-Encoding is sent twice", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {"does not go with HTTP/1.0", WEIR_HTTP1_REQUEST,
     WEIR_STR("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {"chunk size is not a hexadecimal", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 "Transfer-Encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n")},
    {"chunk size is not followed by CR LF", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 "Transfer-Encoding: chunked\r\n\r\n1\rxx\r\n0\r\n\r\n")},
    {"data of a chunk is not followed by CR LF", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 "Transfer-Encoding: chunked\r\n\r\n1\r\nx..0\r\n\r\n")},
    {"stands in a trailer", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: h\r\n\r\n")},
    {"chunk extensions are too long", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 "Transfer-Encoding: chunked\r\n\r\n1;" X64 X64 X64 X64 "\r\nx\r\n0\r\n\r\n")},
    {"white space before its colon", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "X : y\r\n\r\n")},
    {"is followed by a tab", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "X: y\t\r\n\r\n")},
    {"a header name is empty or holds", WEIR_HTTP1_REQUEST, WEIR_STR(GET1 "X Y: y\r\n\r\n")},
    {"there are more than", WEIR_HTTP1_REQUEST,
     WEIR_STR(GET1 HEADERS10 HEADERS10 HEADERS10 HEADERS10 HEADERS10 HEADERS10 HEADERS10 HEADERS10
                  HEADERS10 HEADERS10 "\r\n")},
    {"the status line is not", WEIR_HTTP1_RESPONSE,
     WEIR_STR("H\r\nP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
    {"no status of 100 to 599", WEIR_HTTP1_RESPONSE,
     WEIR_STR("HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n")},
    {"switches to a protocol", WEIR_HTTP1_RESPONSE,
     WEIR_STR("HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")},
};

static size_t n_seen[WEIR_COUNT_OF(differences)];

static bool has_longer_name(struct weir_str input, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i + n < input.len; i++)
        if (weir_str_eq_nocase(weir_str_sub(input, i, n), weir_str(name)) &&
            weir_http1_is_token(weir_str_sub(input, i + n, 1)))
            return true;
    return false;
}

/* What we read and it does not: see http1-differs.md. */
static bool is_read_by_us_only(const struct reading *theirs, struct weir_str input)
{
    if (theirs->refused == NULL || (strstr(theirs->refused, "content-length") == NULL &&
                                    strstr(theirs->refused, "transfer-encoding") == NULL))
        return false;
    return has_longer_name(input, "transfer-encoding") || has_longer_name(input, "content-length");
}

/* It forgets the element behind one that begins like one it knows ("clos, keep-alive"). */
static bool differ_in_list_only(const char *ours, const char *theirs)
{
    const char *our_rest = strchr(ours, '\n');
    const char *their_rest = strchr(theirs, '\n');
    const char *list = strcasestr(ours, "\nconnection: ");
    size_t n;

    if (list == NULL || list[1 + strcspn(list + 1, ",\n")] != ',')
        return false;
    n = (size_t)((const char *)memrchr(ours, ' ', (size_t)(our_rest - ours)) - ours);
    return strcmp(ours, theirs) != 0 && strncmp(ours, theirs, n + 1) == 0 &&
           strcmp(our_rest, their_rest) == 0;
}

static void compare(enum weir_http1_kind kind, struct weir_str input)
{
    struct reading ours;
    struct reading theirs;
    size_t known = 0;
    bool listed = false;

    read_ours(kind, input, &ours);
    read_theirs(kind, input, &theirs);
    for (unsigned i = 0; i < ours.n; i++) {
        if (i >= theirs.n && is_read_by_us_only(&theirs, input))
            break;
        if (i >= theirs.n)
            fail_msg("only we read message %u of:\n%.*s\nours:\n%s\nhttp_parser: %s", i,
                     WEIR_STR_ARG(input), ours.messages[i], theirs.refused);
        if (differ_in_list_only(ours.messages[i], theirs.messages[i])) {
            listed = true;
            break;
        }
        if (strcmp(ours.messages[i], theirs.messages[i]) != 0)
            fail_msg("message %u of:\n%.*s\nours:\n%s\nhttp_parser:\n%s", i, WEIR_STR_ARG(input),
                     ours.messages[i], theirs.messages[i]);
    }
    if (!listed && theirs.n > ours.n) {
        if (ours.refused == NULL)
            fail_msg("only http_parser reads message %u of:\n%.*s\nas:\n%s", ours.n,
                     WEIR_STR_ARG(input), theirs.messages[ours.n]);
        while (known < WEIR_COUNT_OF(differences) &&
               strstr(ours.refused, differences[known].text) == NULL)
            known++;
        if (known == WEIR_COUNT_OF(differences))
            fail_msg("not explained: '%s' in\n%.*s\nhttp_parser reads:\n%s", ours.refused,
                     WEIR_STR_ARG(input), theirs.messages[ours.n]);
        n_seen[known]++;
    }
    reading_finish(&ours);
    reading_finish(&theirs);
}

static void each_difference_is_real_and_explained(void **state)
{
    char path[4096];
    char page[65536];
    FILE *file;
    size_t n;

    (void)state;
    snprintf(path, sizeof(path), "%s/tests/unit/fmt/http1-differs.md",
             getenv("WEIR_SOURCE_ROOT") != NULL ? getenv("WEIR_SOURCE_ROOT") : ".");
    file = fopen(path, "r");
    if (file == NULL)
        fail_msg("cannot read '%s'", path);
    n = fread(page, 1, sizeof(page) - 1, file);
    page[n] = '\0';
    fclose(file);
    for (size_t i = 0; i < WEIR_COUNT_OF(differences); i++) {
        size_t before = n_seen[i];

        if (strstr(page, differences[i].text) == NULL)
            fail_msg("'%s' is not explained in http1-differs.md", differences[i].text);
        compare(differences[i].kind, differences[i].example);
        if (n_seen[i] == before)
            fail_msg("'%s' is no difference: %s", differences[i].text, differences[i].example.ptr);
    }
}

/* ── messages at random, mostly near to valid ones ── */

static const char *pick(struct weir_rng *rng, const char *const *choices, size_t n)
{
    /* Two thirds the first, which is the plain case. */
    return weir_rng_below(rng, 3) < 2 ? choices[0] : choices[weir_rng_below(rng, n)];
}
#define PICK(rng, ...)                                                                             \
    pick((rng), (const char *const[]){__VA_ARGS__},                                                \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

#define PUT(rng, out, ...) weir_buf_puts((out), PICK((rng), __VA_ARGS__))

static void put_framing(struct weir_rng *rng, struct weir_buf *out, bool *ret_chunked,
                        size_t *ret_length)
{
    *ret_chunked = weir_rng_below(rng, 3) == 0;
    *ret_length = weir_rng_below(rng, 4);
    if (*ret_chunked) {
        PUT(rng, out, "Transfer-Encoding:", "transfer-encoding:", "Transfer-Encoding :");
        PUT(rng, out, " ", "", "\t ");
        PUT(rng, out, "chunked", "Chunked", "gzip, chunked", "chunked, chunked", "identity",
            "xchunked", "chunked ");
        weir_buf_puts(out, "\r\n");
    }
    if (!*ret_chunked || weir_rng_below(rng, 12) == 0) {
        PUT(rng, out, "Content-Length: ", "content-length:", "Content-Length:");
        PUT(rng, out, "", "0", "+", " ");
        weir_buf_u64(out, *ret_length);
        PUT(rng, out, "", " ", ",1", "x");
        weir_buf_puts(out, "\r\n");
    }
    if (weir_rng_below(rng, 30) == 0)
        PUT(rng, out, "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n");
}

static void put_noise(struct weir_rng *rng, struct weir_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        weir_buf_putc(out, (char)weir_rng_below(rng, 256));
}

static void put_chunks(struct weir_rng *rng, struct weir_buf *out)
{
    for (uint64_t i = weir_rng_below(rng, 3); i > 0; i--) {
        size_t n = 1 + weir_rng_below(rng, 20);

        PUT(rng, out, "", "0", "0x");
        weir_buf_printf(out, "%zx", n);
        PUT(rng, out, "", ";a", ";a=\"b\"", " ", " ;x", "x");
        PUT(rng, out, "\r\n", "\n", "\r");
        put_noise(rng, out, n);
        PUT(rng, out, "\r\n", "\n", "", "x\r\n");
    }
    PUT(rng, out, "0", "0;x", "00");
    weir_buf_puts(out, "\r\n");
    PUT(rng, out, "", "T: x\r\n", "T : x\r\n", "T: x\r\n y\r\n", "Content-Length: 3\r\n");
    weir_buf_puts(out, "\r\n");
}

static void put_first_line(struct weir_rng *rng, enum weir_http1_kind kind, struct weir_buf *out)
{
    if (kind == WEIR_HTTP1_REQUEST) {
        PUT(rng, out, "GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT",
            "TRACE", "get", "G\tT", "PRI", "M-SEARCH");
        PUT(rng, out, " ", "  ", "\t");
        PUT(rng, out, "/", "/a?b=c", "*", "http://h/x", "http://g", "h:1", "/a#f", "/%zz",
            "/\xc3\xa9", "/a|b", "ftp://h/", "https://h/", "");
        PUT(rng, out, " ", "  ", "\t", "");
        PUT(rng, out, "HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "http/1.1",
            "HTTP/1.11", "ICE/1.0", "");
        PUT(rng, out, "\r\n", "\n", "\r", " \r\n");
        return;
    }
    PUT(rng, out, "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "http/1.1", "");
    PUT(rng, out, " ", "  ", "");
    PUT(rng, out, "200", "100", "101", "204", "304", "999", "99", "20", "0200");
    PUT(rng, out, " ", "", "  ");
    PUT(rng, out, "OK", "", "Not Found", "\xc3\xa9");
    PUT(rng, out, "\r\n", "\n", "\r");
}

static void put_random_message(struct weir_rng *rng, enum weir_http1_kind kind,
                               struct weir_buf *out)
{
    bool chunked;
    size_t length;

    put_first_line(rng, kind, out);
    PUT(rng, out, "Host: h\r\n", "Host: h:1\r\n", "", "Host: a b\r\n", "Host:\r\n",
        "Host: h\r\nHost: h\r\n");
    PUT(rng, out, "", "X: y\r\n", "X:\r\n", "X : y\r\n", "X: y\r\n z\r\n", "X\r\n", ": y\r\n",
        "X: \x01\r\n", "X: a\rb\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n",
        "Upgrade: x\r\n", "Expect: 100-continue\r\n", "Connection: upgrade\r\n",
        "Connection: close, keep-alive\r\n", "Connection: x,close\r\n", "Connection: close x\r\n",
        "Expect: x\r\n", "X: caf\xe9 \r\n", "X@: y\r\n");
    put_framing(rng, out, &chunked, &length);
    PUT(rng, out, "\r\n", "\n", "", "\r\r\n");
    if (chunked)
        put_chunks(rng, out);
    else
        put_noise(rng, out, length);
}

static void mutate(struct weir_rng *rng, struct weir_buf *text)
{
    static const char bytes[] = "\r\n\t :;,/\0aGH1%\x7f\xff\x01";

    for (uint64_t i = weir_rng_below(rng, 3); i > 0 && text->len > 0; i--) {
        size_t at = weir_rng_below(rng, text->len);

        if (weir_rng_below(rng, 3) == 0) {
            memmove(text->data + at, text->data + at + 1, text->len - at);
            text->len--;
        } else {
            text->data[at] = bytes[weir_rng_below(rng, sizeof(bytes) - 1)];
        }
    }
}

static void random_messages_read_alike(void **state)
{
    const char *seed = getenv("WEIR_SEED");
    struct weir_rng rng;
    struct weir_buf text = WEIR_BUF_INIT(1 << 20);

    (void)state;
    weir_rng_init(&rng, seed != NULL ? strtoull(seed, NULL, 10) : 1);
    for (int round = 0; round < 100000; round++) {
        enum weir_http1_kind kind =
            weir_rng_below(&rng, 3) == 0 ? WEIR_HTTP1_RESPONSE : WEIR_HTTP1_REQUEST;
        char *exact;

        weir_buf_reset(&text);
        weir_buf_puts(&text, PICK(&rng, "", "\r\n", "\n", "\r\n\r\n"));
        for (uint64_t i = 1 + weir_rng_below(&rng, 3); i > 0; i--)
            put_random_message(&rng, kind, &text);
        mutate(&rng, &text);
        exact = malloc(text.len + 1);
        assert_non_null(exact);
        memcpy(exact, weir_buf_cstr(&text), text.len);
        compare(kind, weir_str_n(exact, text.len));
        free(exact);
    }
    weir_buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_difference_is_real_and_explained),
        cmocka_unit_test(random_messages_read_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
