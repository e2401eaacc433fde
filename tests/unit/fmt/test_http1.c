/* Every case is read whole, byte by byte and cut in two at every place: the answer must be the
 * same.
 */
#include "fmt/http1.h"

#include "../../support/http1_transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A copy of its own for each piece, so that a read past its end is seen. */
static void feed_copy(struct transcript *t, const char *data, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);

    assert_non_null(copy);
    memcpy(copy, data, len);
    transcript_feed(t, weir_str_n(copy, len));
    free(copy);
}

struct message {
    enum weir_http1_kind kind;
    bool answers_head;
    uint64_t body_max;
    struct weir_str bytes;
};

static void read_in_pieces(const struct message *m, size_t first, size_t step,
                           struct transcript *ret)
{
    size_t at = first < m->bytes.len ? first : m->bytes.len;

    transcript_init(ret, m->kind, m->answers_head, m->body_max);
    feed_copy(ret, m->bytes.ptr, at);
    while (at < m->bytes.len) {
        size_t n = step < m->bytes.len - at ? step : m->bytes.len - at;

        feed_copy(ret, m->bytes.ptr + at, n);
        at += n;
    }
    transcript_eof(ret);
}

/* Reads the message in all those ways and returns what was said, to be freed. */
static char *read_all_ways(const struct message *m)
{
    struct transcript whole;
    struct transcript cut;
    char *text;

    read_in_pieces(m, m->bytes.len, 1, &whole);
    for (size_t first = 0; first <= m->bytes.len && first < 4096; first++) {
        read_in_pieces(m, first, m->bytes.len, &cut);
        if (strcmp(weir_buf_cstr(&whole.text), weir_buf_cstr(&cut.text)) != 0)
            fail_msg("cut at %zu:\n%s\nwhole:\n%s", first, cut.text.data, whole.text.data);
        transcript_finish(&cut);
    }
    read_in_pieces(m, 0, 1, &cut);
    assert_string_equal(weir_buf_cstr(&whole.text), weir_buf_cstr(&cut.text));
    transcript_finish(&cut);
    text = strdup(weir_buf_cstr(&whole.text));
    transcript_finish(&whole);
    assert_non_null(text);
    return text;
}

static void expect(const struct message *m, const char *wanted)
{
    char *said = read_all_ways(m);

    if (strcmp(said, wanted) != 0)
        fail_msg("input:\n%.*s\nsaid:\n%s\nwanted:\n%s", WEIR_STR_ARG(m->bytes), said, wanted);
    free(said);
}

#define REQUEST(text) ((struct message){WEIR_HTTP1_REQUEST, false, 16, WEIR_STR(text)})
#define RESPONSE(text)                                                                             \
    ((struct message){WEIR_HTTP1_RESPONSE, false, WEIR_HTTP1_BODY_MAX, WEIR_STR(text)})
#define H "Host: h\r\n"

static void reads_requests(void **state)
{
    static const struct {
        struct weir_str input;
        const char *said;
    } cases[] = {
        {WEIR_STR("GET / HTTP/1.1\r\n" H "\r\n"),
         "GET target=/ path=/ query= host=h 1.1 keep length=0\nHost: h\n[] end\n"},
        {WEIR_STR("GET /a%20b?c=d&e HTTP/1.1\r\nhOsT: [::1]:80\r\nX:\t a\tb  \r\nY:\r\n\r\n"),
         "GET target=/a%20b?c=d&e path=/a%20b query=c=d&e host=[::1]:80 1.1 keep length=0\n"
         "hOsT: [::1]:80\nX: a\tb\nY: \n[] end\n"},
        {WEIR_STR("OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n"),
         "OPTIONS target=* path=* query= host= 1.1 keep length=0\nHost: \n[] end\n"},
        {WEIR_STR("GET http://h:8/x?y HTTP/1.1\r\nHost: H:8\r\n\r\n"),
         "GET target=http://h:8/x?y path=/x query=y host=H:8 1.1 keep length=0\nHost: H:8\n[] "
         "end\n"},
        {WEIR_STR("GET http://h?y HTTP/1.1\r\n" H "\r\n"),
         "GET target=http://h?y path=/ query=y host=h 1.1 keep length=0\nHost: h\n[] end\n"},
        {WEIR_STR("POST / HTTP/1.1\r\n" H "Content-Length: 16\r\n\r\n0123456789abcdef"),
         "POST target=/ path=/ query= host=h 1.1 keep length=16\nHost: h\nContent-Length: "
         "16\n[0123456789abcdef] end\n"},
        {WEIR_STR("PUT / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n"
                  "3\r\nabc\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\nTrailer: dropped\r\n\r\n"),
         "PUT target=/ path=/ query= host=h 1.1 keep length=0 chunked\nHost: h\n"
         "Transfer-Encoding: Chunked\n[abc0123456789] end\n"},
        {WEIR_STR("\r\nDELETE /x HTTP/1.1\r\n" H "Connection: Close\r\n\r\n"),
         "DELETE target=/x path=/x query= host=h 1.1 close length=0\nHost: h\nConnection: "
         "Close\n[] end\n"},
        {WEIR_STR("HEAD / HTTP/1.1\r\n" H
                  "Connection: x ,\tkeep-alive\r\nConnection: close\r\n\r\n"),
         "HEAD target=/ path=/ query= host=h 1.1 close length=0\nHost: h\nConnection: x "
         ",\tkeep-alive\nConnection: close\n[] end\n"},
        {WEIR_STR("PATCH / HTTP/1.0\r\nContent-Length: 0\r\n\r\n"),
         "PATCH target=/ path=/ query= host= 1.0 close length=0\nContent-Length: 0\n[] end\n"},
        {WEIR_STR("GET / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n"),
         "GET target=/ path=/ query= host= 1.0 keep length=0\nConnection: keep-alive\nExpect: "
         "100-continue\n[] end\n"},
        {WEIR_STR("GET / HTTP/1.1\r\n" H "Expect: 100-Continue\r\n\r\n"),
         "GET target=/ path=/ query= host=h expects 1.1 keep length=0\nHost: h\nExpect: "
         "100-Continue\n[] end\n"},
        {WEIR_STR("GET /1 HTTP/1.1\r\n" H "\r\nPOST /2 HTTP/1.1\r\n" H "Content-Length: "
                  "2\r\n\r\nhi\r\nGET /3 HTTP/1.1\r\n" H "\r\n\r\n"),
         "GET target=/1 path=/1 query= host=h 1.1 keep length=0\nHost: h\n[] end\n"
         "POST target=/2 path=/2 query= host=h 1.1 keep length=2\nHost: h\nContent-Length: "
         "2\n[hi] end\n"
         "GET target=/3 path=/3 query= host=h 1.1 keep length=0\nHost: h\n[] end\n"},
        {WEIR_STR("GET / HTTP/1.1\r\nHost: %41.b\r\nX: caf\xc3\xa9\r\n\r\n"),
         "GET target=/ path=/ query= host=%41.b 1.1 keep length=0\nHost: %41.b\nX: "
         "caf\xc3\xa9\n[] end\n"},
        {WEIR_STR(""), ""},
        {WEIR_STR("\r\n"), ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(&(struct message){WEIR_HTTP1_REQUEST, false, 16, cases[i].input}, cases[i].said);
}

struct refusal {
    int status;
    const char *text; /* part of the error */
    struct weir_str input;
};

static void expect_refusals(enum weir_http1_kind kind, const struct refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct message m = {kind, false, 16, cases[i].input};
        char *said = read_all_ways(&m);
        char status[32];

        snprintf(status, sizeof(status), "] error %d ", cases[i].status);
        if (strstr(said, status) == NULL || strstr(said, cases[i].text) == NULL)
            fail_msg("input:\n%.*s\nsaid:\n%s\nwanted: %d %s", WEIR_STR_ARG(m.bytes), said,
                     cases[i].status, cases[i].text);
        free(said);
    }
}

#define G   "GET / HTTP/1.1\r\n"
#define GH  "GET / HTTP/1.1\r\nHost: h\r\n"
#define PTE "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

static void refuses_first_lines(void **state)
{
    static const struct refusal cases[] = {
        {400, "not METHOD TARGET", WEIR_STR("GET /\r\n\r\n")},
        {400, "not METHOD TARGET", WEIR_STR("GET\r\n\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET  / HTTP/1.1\r\n" H "\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET / HTTP/1.1 \r\n" H "\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET /a b HTTP/1.1\r\n" H "\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET / http/1.1\r\n" H "\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET / HTTP/1.10\r\n" H "\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET / HTTP/11\r\n" H "\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET / HTTP/x.y\r\n" H "\r\n")},
        {400, "names no HTTP version", WEIR_STR("GET / ICAP/1.1\r\n" H "\r\n")},
        {505, "HTTP/2.0 is not supported", WEIR_STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
        {505, "HTTP/1.2 is not supported", WEIR_STR("GET / HTTP/1.2\r\n" H "\r\n")},
        {505, "HTTP/0.9 is not supported", WEIR_STR("GET / HTTP/0.9\r\n" H "\r\n")},
        {505, "HTTP/3.1 is not supported", WEIR_STR("GET / HTTP/3.1\r\n" H "\r\n")},
        {400, "does not begin with a method", WEIR_STR("G(T / HTTP/1.1\r\n" H "\r\n")},
        {400, "does not begin with a method", WEIR_STR("G\xc3\xa9T / HTTP/1.1\r\n" H "\r\n")},
        {400, "does not begin with a method", WEIR_STR("GET\t/ HTTP/1.1 HTTP/1.1\r\n" H "\r\n")},
        {501, "'get' is not supported", WEIR_STR("get / HTTP/1.1\r\n" H "\r\n")},
        {501, "'TRACE' is not supported", WEIR_STR("TRACE / HTTP/1.1\r\n" H "\r\n")},
        {501, "'CONNECT' is not supported", WEIR_STR("CONNECT h:80 HTTP/1.1\r\n" H "\r\n")},
        {400, "begins with white space", WEIR_STR(" GET / HTTP/1.1\r\n" H "\r\n")},
        {400, "first line is empty", WEIR_STR("\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n")},
        {400, "control character 0x16", WEIR_STR("\x16\x03\x01\x02")},
        {400, "middle of the headers", WEIR_STR("GET / HT")},
        {400, "middle of the headers", WEIR_STR("\r")},
        {400, "middle of the headers", WEIR_STR(GH)},
    };

    (void)state;
    expect_refusals(WEIR_HTTP1_REQUEST, cases, sizeof(cases) / sizeof(cases[0]));
}

static void refuses_targets(void **state)
{
    static const struct refusal cases[] = {
        {400, "percent-encoded", WEIR_STR("GET /a\"b HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /a\\b HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /a#b HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /?a#b HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /?a[0] HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /% HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /%4 HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /%4g HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /?%x HTTP/1.1\r\n" H "\r\n")},
        {400, "percent-encoded", WEIR_STR("GET /a\tb HTTP/1.1\r\n" H "\r\n")},
        {400, "neither a path nor", WEIR_STR("GET a HTTP/1.1\r\n" H "\r\n")},
        {400, "neither a path nor", WEIR_STR("GET ?a HTTP/1.1\r\n" H "\r\n")},
        {400, "neither a path nor", WEIR_STR("GET h:80 HTTP/1.1\r\n" H "\r\n")},
        {400, "neither a path nor", WEIR_STR("GET ftp://h/ HTTP/1.1\r\n" H "\r\n")},
        {400, "neither a path nor", WEIR_STR("GET https://h/ HTTP/1.1\r\n" H "\r\n")},
        {400, "'*' goes with OPTIONS", WEIR_STR("GET * HTTP/1.1\r\n" H "\r\n")},
        {400, "names no host", WEIR_STR("GET http:///x HTTP/1.1\r\nHost:\r\n\r\n")},
        {400, "differs from the host", WEIR_STR("GET http://g/ HTTP/1.1\r\n" H "\r\n")},
        {400, "differs from the host", WEIR_STR("GET http://h:80/ HTTP/1.1\r\n" H "\r\n")},
        {400, "names no host", WEIR_STR("GET http://u@h/ HTTP/1.1\r\n" H "\r\n")},
        {400, "names no host", WEIR_STR("GET http://:80/ HTTP/1.1\r\nHost: :80\r\n\r\n")},
        {400, "names no host", WEIR_STR("GET http://\xc3\xa9/ HTTP/1.0\r\n\r\n")},
        {400, "names no host", WEIR_STR("GET http://h:0/ HTTP/1.0\r\n\r\n")},
        {400, "Host is missing", WEIR_STR("GET http://h/ HTTP/1.1\r\n\r\n")},
    };

    (void)state;
    expect_refusals(WEIR_HTTP1_REQUEST, cases, sizeof(cases) / sizeof(cases[0]));
}

static void refuses_headers(void **state)
{
    static const struct refusal cases[] = {
        {400, "Host is missing", WEIR_STR(G "\r\n")},
        {400, "Host is missing", WEIR_STR(G "Hos: h\r\n\r\n")},
        {400, "Host is sent twice", WEIR_STR(GH H "\r\n")},
        {400, "Host is sent twice", WEIR_STR("GET / HTTP/1.0\r\n" H H "\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: a/b\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: u@h\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: a b\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: a, b\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: h:\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: h:0\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: h:65536\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: [::1\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: [::1]x\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: [h]\r\n\r\n")},
        {400, "Host is not a name", WEIR_STR(G "Host: a:b:1\r\n\r\n")},
        {400, "no colon", WEIR_STR(GH "X\r\n\r\n")},
        {400, "white space before its colon", WEIR_STR(GH "X : y\r\n\r\n")},
        {400, "white space before its colon", WEIR_STR(GH "X\t: y\r\n\r\n")},
        {400, "header name", WEIR_STR(GH "X Y: y\r\n\r\n")},
        {400, "header name", WEIR_STR(GH ": y\r\n\r\n")},
        {400, "header name", WEIR_STR(GH "X@: y\r\n\r\n")},
        {400, "header name", WEIR_STR(GH "X\xc3\xa9: y\r\n\r\n")},
        {400, "begins with white space", WEIR_STR(GH "X: y\r\n z\r\n\r\n")},
        {400, "begins with white space", WEIR_STR(GH "X: y\r\n\tz\r\n\r\n")},
        {400, "begins with white space", WEIR_STR(G " X: y\r\n\r\n")},
        {400, "begins with white space", WEIR_STR(GH " \r\n\r\n")},
        {400, "CR stands without LF", WEIR_STR(GH "X: y\rz\r\n\r\n")},
        {400, "CR stands without LF", WEIR_STR(GH "X: y\r\r\n\r\n")},
        {400, "LF stands without CR", WEIR_STR(GH "X: y\nZ: z\r\n\r\n")},
        {400, "LF stands without CR", WEIR_STR("GET / HTTP/1.1\nHost: h\n\n")},
        {400, "LF stands without CR", WEIR_STR(GH "\n")},
        {400, "control character 0x00", WEIR_STR(GH "X: \0\r\n\r\n")},
        {400, "control character 0x00", WEIR_STR(GH "X\0: y\r\n\r\n")},
        {400, "control character 0x00", WEIR_STR("GET /\0 HTTP/1.1\r\n" H "\r\n")},
        {400, "control character 0x0b", WEIR_STR(GH "X: \vy\r\n\r\n")},
        {400, "control character 0x7f", WEIR_STR(GH "X: \x7f\r\n\r\n")},
        {400, "control character 0x1b", WEIR_STR(GH "X: \x1b[31m\r\n\r\n")},
        {400, "followed by a tab", WEIR_STR(GH "X: y\t\r\n\r\n")},
        {400, "followed by a tab", WEIR_STR(GH "Transfer-Encoding: chunked \t \r\n\r\n")},
        {400, "not a list of tokens", WEIR_STR(GH "Connection: close; x\r\n\r\n")},
        {400, "not a list of tokens", WEIR_STR(GH "Connection: , close\r\n\r\n")},
        {400, "not a list of tokens", WEIR_STR(GH "Connection: close,\r\n\r\n")},
        {417, "Expect is not", WEIR_STR(GH "Expect: 200-ok\r\n\r\n")},
        {501, "upgrades are not supported", WEIR_STR(GH "Upgrade: h2c\r\n\r\n")},
        {501, "upgrades are not supported",
         WEIR_STR(GH "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")},
    };

    (void)state;
    expect_refusals(WEIR_HTTP1_REQUEST, cases, sizeof(cases) / sizeof(cases[0]));
}

static void refuses_framing(void **state)
{
    static const struct refusal cases[] = {
        {400, "sent together",
         WEIR_STR(GH "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
        {400, "sent together",
         WEIR_STR(GH "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n")},
        {400, "Content-Length is sent twice",
         WEIR_STR(GH "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx")},
        {400, "Content-Length is sent twice",
         WEIR_STR(GH "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx")},
        {400, "not a number", WEIR_STR(GH "Content-Length: 1, 1\r\n\r\nx")},
        {400, "not a number", WEIR_STR(GH "Content-Length:\r\n\r\n")},
        {400, "not a number", WEIR_STR(GH "Content-Length: +1\r\n\r\nx")},
        {400, "not a number", WEIR_STR(GH "Content-Length: -1\r\n\r\n")},
        {400, "not a number", WEIR_STR(GH "Content-Length: 0x1\r\n\r\nx")},
        {400, "not a number", WEIR_STR(GH "Content-Length: 1 1\r\n\r\nx")},
        {400, "not a number", WEIR_STR(GH "Content-Length: 18446744073709551616\r\n\r\nx")},
        {413, "larger than 16", WEIR_STR(GH "Content-Length: 17\r\n\r\n")},
        {413, "larger than 16", WEIR_STR(GH "Content-Length: 18446744073709551615\r\n\r\n")},
        {400, "Transfer-Encoding is sent twice",
         WEIR_STR(GH "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n")},
        {501, "is not 'chunked'", WEIR_STR(GH "Transfer-Encoding: gzip\r\n\r\n")},
        {501, "is not 'chunked'", WEIR_STR(GH "Transfer-Encoding: gzip, chunked\r\n\r\n")},
        {501, "is not 'chunked'", WEIR_STR(GH "Transfer-Encoding: chunked, chunked\r\n\r\n")},
        {501, "is not 'chunked'", WEIR_STR(GH "Transfer-Encoding: identity\r\n\r\n")},
        {501, "is not 'chunked'", WEIR_STR(GH "Transfer-Encoding: xchunked\r\n\r\n")},
        {501, "is not 'chunked'", WEIR_STR(GH "Transfer-Encoding: chunked;q=1\r\n\r\n")},
        {501, "is not 'chunked'", WEIR_STR(GH "Transfer-Encoding:\r\n\r\n")},
        {400, "does not go with HTTP/1.0",
         WEIR_STR("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
        {400, "middle of the body", WEIR_STR(GH "Content-Length: 2\r\n\r\nx")},
    };

    (void)state;
    expect_refusals(WEIR_HTTP1_REQUEST, cases, sizeof(cases) / sizeof(cases[0]));
}

static void refuses_chunks(void **state)
{
    static const struct refusal cases[] = {
        {400, "not a hexadecimal", WEIR_STR(PTE "\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE ";x\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE "g\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE "-1\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE "+1\r\nx\r\n0\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE "0x1\r\nx\r\n0\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE " 1\r\nx\r\n0\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE "1 \r\nx\r\n0\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE "1 ;x\r\nx\r\n0\r\n\r\n")},
        {400, "not a hexadecimal", WEIR_STR(PTE "1\nx\n0\n\n")},
        {400, "more than 16 digits", WEIR_STR(PTE "00000000000000001\r\nx\r\n0\r\n\r\n")},
        {400, "size is not followed by", WEIR_STR(PTE "1\rx\r\n0\r\n\r\n")},
        {400, "data of a chunk", WEIR_STR(PTE "1\r\nxy\r\n0\r\n\r\n")},
        {400, "data of a chunk", WEIR_STR(PTE "1\r\nx\n0\r\n\r\n")},
        {400, "data of a chunk", WEIR_STR(PTE "1\r\nx\rx0\r\n\r\n")},
        {400, "control character 0x0a", WEIR_STR(PTE "1;a\nx\r\n0\r\n\r\n")},
        {400, "control character 0x00", WEIR_STR(PTE "1;\0\r\nx\r\n0\r\n\r\n")},
        {400, "size is not followed by", WEIR_STR(PTE "1;a\rb\r\nx\r\n0\r\n\r\n")},
        {413, "larger than 16", WEIR_STR(PTE "11\r\n")},
        {413, "larger than 16", WEIR_STR(PTE "ffffffffffffffff\r\n")},
        {413, "larger than 16", WEIR_STR(PTE "10\r\n0123456789abcdef\r\n1\r\n")},
        {400, "middle of the body", WEIR_STR(PTE "1\r\nx\r\n")},
        {400, "middle of the body", WEIR_STR(PTE "1\r\nx\r\n0\r\n")},
        {400, "no colon", WEIR_STR(PTE "0\r\nX\r\n\r\n")},
        {400, "begins with white space", WEIR_STR(PTE "0\r\nX: y\r\n z\r\n\r\n")},
        {400, "LF stands without CR", WEIR_STR(PTE "0\r\n\n")},
        {400, "control character 0x00", WEIR_STR(PTE "0\r\nX: \0\r\n\r\n")},
        {400, "'content-length' stands in", WEIR_STR(PTE "0\r\ncontent-length: 1\r\n\r\n")},
        {400, "stands in a trailer", WEIR_STR(PTE "0\r\nTransfer-Encoding: chunked\r\n\r\n")},
        {400, "stands in a trailer", WEIR_STR(PTE "0\r\nX: y\r\nHost: h\r\n\r\n")},
        {400, "header name", WEIR_STR(PTE "0\r\n(: y\r\n\r\n")},
    };

    (void)state;
    expect_refusals(WEIR_HTTP1_REQUEST, cases, sizeof(cases) / sizeof(cases[0]));
}

static struct weir_buf long_text(const char *head, char c, size_t n, const char *tail)
{
    struct weir_buf text = WEIR_BUF_INIT(1024 * 1024);

    weir_buf_puts(&text, head);
    for (size_t i = 0; i < n; i++)
        weir_buf_putc(&text, c);
    weir_buf_puts(&text, tail);
    assert_int_equal(text.failed, 0);
    return text;
}

/* Says whether the message is read, and with which status it is refused if not. Cut only in a few
 * ways: it is long. */
static int status_of(struct weir_buf *text)
{
    struct message m = {WEIR_HTTP1_REQUEST, false, 1 << 20, weir_buf_view(text)};
    struct transcript t;
    int status = -1;

    for (size_t step = 1; step < 3000; step = step * 7 + 1) {
        read_in_pieces(&m, 0, step, &t);
        assert_true(status == -1 || status == t.parser.status);
        status = t.failed ? t.parser.status : 0;
        assert_int_equal(t.n_messages, t.failed ? 0 : 1);
        transcript_finish(&t);
    }
    weir_buf_finish(text);
    return status;
}

static void holds_its_caps(void **state)
{
    struct weir_buf text;
    size_t fixed = sizeof("GET / HTTP/1.1\r\nHost: h\r\nX: \r\n\r\n") - 1;

    (void)state;
    text = long_text("GET /", 'a', WEIR_HTTP1_LINE_MAX - 14, " HTTP/1.1\r\n" H "\r\n");
    assert_int_equal(status_of(&text), 0);
    text = long_text("GET /", 'a', WEIR_HTTP1_LINE_MAX - 13, " HTTP/1.1\r\n" H "\r\n");
    assert_int_equal(status_of(&text), 414);
    text = long_text("", 'a', 1024 * 1024 - 1, "");
    assert_int_equal(status_of(&text), 414);
    text = long_text(GH "X: ", 'a', WEIR_HTTP1_HEAD_MAX - fixed, "\r\n\r\n");
    assert_int_equal(status_of(&text), 0);
    text = long_text(GH "X: ", 'a', WEIR_HTTP1_HEAD_MAX - fixed + 1, "\r\n\r\n");
    assert_int_equal(status_of(&text), 431);
    text = long_text(PTE "1;", 'a', WEIR_HTTP1_CHUNK_EXT_MAX - 1, "\r\nx\r\n0\r\n\r\n");
    assert_int_equal(status_of(&text), 0);
    text = long_text(PTE "1;", 'a', WEIR_HTTP1_CHUNK_EXT_MAX, "\r\nx\r\n0\r\n\r\n");
    assert_int_equal(status_of(&text), 400);
    text = long_text(PTE "0\r\nX:", 'a', WEIR_HTTP1_TRAILER_MAX - 6, "\r\n\r\n");
    assert_int_equal(status_of(&text), 0);
    text = long_text(PTE "0\r\nX:", 'a', WEIR_HTTP1_TRAILER_MAX - 5, "\r\n\r\n");
    assert_int_equal(status_of(&text), 431);
}

static void caps_what_comes_in_many_small_parts(void **state)
{
    (void)state;
    for (int over = 0; over <= 1; over++) {
        struct weir_buf text = WEIR_BUF_INIT(1024 * 1024);
        int wanted;

        weir_buf_puts(&text, GH);
        for (int i = 1; i < WEIR_HTTP1_HEADERS_MAX + over; i++)
            weir_buf_puts(&text, "X: y\r\n");
        weir_buf_puts(&text, "\r\n");
        assert_int_equal(status_of(&text), over ? 431 : 0);

        weir_buf_puts(&text, PTE "0\r\n");
        for (int i = 0; i < WEIR_HTTP1_HEADERS_MAX + over; i++)
            weir_buf_puts(&text, "X: y\r\n");
        weir_buf_puts(&text, "\r\n");
        assert_int_equal(status_of(&text), over ? 431 : 0);

        weir_buf_puts(&text, PTE);
        for (int i = 0; i < WEIR_HTTP1_CHUNK_EXT_TOTAL_MAX / 4 + over; i++)
            weir_buf_puts(&text, "1;ext\r\nx\r\n");
        weir_buf_puts(&text, "0\r\n\r\n");
        wanted = over ? 400 : 0;
        assert_int_equal(status_of(&text), wanted);
    }
}

static void reads_responses(void **state)
{
    static const struct {
        struct weir_str input;
        bool answers_head;
        const char *said;
    } cases[] = {
        {WEIR_STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), false,
         "200 reason=OK 1.1 keep length=2\nContent-Length: 2\n[hi] end\n"},
        {WEIR_STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), true,
         "200 reason=OK 1.1 keep length=2\nContent-Length: 2\n[] end\n"},
        {WEIR_STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), true,
         "200 reason=OK 1.1 keep length=0 chunked\nTransfer-Encoding: chunked\n[] end\n"},
        {WEIR_STR("HTTP/1.1 200 \r\n\r\nall the rest\n"), false,
         "200 reason= until-close 1.1 close length=0\n[all the rest\n] end\n"},
        {WEIR_STR("HTTP/1.1 404\r\nContent-Length: 0\r\nUpgrade: h2c\r\n\r\n"), false,
         "404 reason= 1.1 keep length=0\nContent-Length: 0\nUpgrade: h2c\n[] end\n"},
        {WEIR_STR("HTTP/1.0 200 Not So Bad\r\nContent-Length: 1\r\n\r\nx"), false,
         "200 reason=Not So Bad 1.0 close length=1\nContent-Length: 1\n[x] end\n"},
        {WEIR_STR("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"
                  "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
         false,
         "204 reason=No Content 1.1 keep length=0\nContent-Length: 5\n[] end\n"
         "304 reason=Not Modified 1.1 keep length=0\nContent-Length: 5\n[] end\n"},
        {WEIR_STR("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                  "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
         false, "201 reason=Created 1.1 keep length=0\nContent-Length: 0\n[] end\n"},
        {WEIR_STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
         false, "200 reason=OK 1.1 keep length=0 chunked\nTransfer-Encoding: chunked\n[ab] end\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(&(struct message){WEIR_HTTP1_RESPONSE, cases[i].answers_head, 16, cases[i].input},
               cases[i].said);
}

#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"

static void refuses_responses(void **state)
{
    static const struct refusal cases[] = {
        {400, "not HTTP/1.1 STATUS", WEIR_STR("HTTP/1.1\r\n\r\n")},
        {400, "first line is empty", WEIR_STR("\r\nHTTP/1.1 200 OK\r\n\r\n")},
        {400, "no status", WEIR_STR("HTTP/1.1 99 x\r\n\r\n")},
        {400, "no status", WEIR_STR("HTTP/1.1 600 x\r\n\r\n")},
        {400, "no status", WEIR_STR("HTTP/1.1 2000 x\r\n\r\n")},
        {400, "no status", WEIR_STR("HTTP/1.1 +20 x\r\n\r\n")},
        {400, "no status", WEIR_STR("HTTP/1.1  200 OK\r\n\r\n")},
        {400, "no status", WEIR_STR("HTTP/1.1 \r\n\r\n")},
        {400, "names no HTTP version", WEIR_STR("ICY/1.1 200 OK\r\n\r\n")},
        {505, "HTTP/2.0", WEIR_STR("HTTP/2.0 200 OK\r\n\r\n")},
        {501, "switches to a protocol", WEIR_STR("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n")},
        {400, "sent together",
         WEIR_STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n")},
        {400, "sent twice",
         WEIR_STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx")},
        {400, "more than 8 interim",
         WEIR_STR(CONTINUE CONTINUE CONTINUE CONTINUE CONTINUE CONTINUE CONTINUE CONTINUE CONTINUE
                  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
        {400, "middle of the headers", WEIR_STR(CONTINUE)},
        {400, "middle of the body", WEIR_STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx")},
        {413, "larger than 16", WEIR_STR("HTTP/1.1 200 OK\r\n\r\n0123456789abcdefg")},
    };

    (void)state;
    expect_refusals(WEIR_HTTP1_RESPONSE, cases, sizeof(cases) / sizeof(cases[0]));
}

static void names_the_line_of_a_fault(void **state)
{
    struct transcript t;

    (void)state;
    transcript_init(&t, WEIR_HTTP1_REQUEST, false, 0);
    feed_copy(&t, GH "A: b\r\nC : d\r\n\r\n", sizeof(GH "A: b\r\nC : d\r\n\r\n") - 1);
    assert_true(t.failed);
    assert_int_equal(t.err.line, 4);
    assert_int_equal(t.err.code, WEIR_E_INVALID);
    transcript_finish(&t);
}

static void stays_failed(void **state)
{
    struct transcript t;
    struct weir_str more = WEIR_STR(GH "\r\n");

    (void)state;
    transcript_init(&t, WEIR_HTTP1_REQUEST, false, 0);
    feed_copy(&t, "\n", 1);
    assert_true(t.failed);
    assert_int_equal(weir_http1_next(&t.parser, &more, &t.err), WEIR_HTTP1_EVENT_ERROR);
    assert_int_equal(weir_http1_end_of_input(&t.parser, &t.err), WEIR_HTTP1_EVENT_ERROR);
    transcript_begin(&t);
    assert_int_equal(weir_http1_next(&t.parser, &more, &t.err), WEIR_HTTP1_EVENT_HEAD);
    transcript_finish(&t);
}

static void knows_idle_from_begun(void **state)
{
    struct transcript t;

    (void)state;
    transcript_init(&t, WEIR_HTTP1_REQUEST, false, 0);
    assert_true(weir_http1_parser_is_idle(&t.parser));
    feed_copy(&t, "\r\n", 2);
    assert_true(weir_http1_parser_is_idle(&t.parser));
    feed_copy(&t, "G", 1);
    assert_false(weir_http1_parser_is_idle(&t.parser));
    transcript_finish(&t);
}

static void finds_headers(void **state)
{
    struct transcript t;
    struct weir_str input = WEIR_STR(GH "Accept: a\r\naccept: b\r\n\r\n");

    (void)state;
    transcript_init(&t, WEIR_HTTP1_REQUEST, false, 0);
    assert_int_equal(weir_http1_next(&t.parser, &input, NULL), WEIR_HTTP1_EVENT_HEAD);
    assert_true(weir_str_eq_c(*weir_http1_find(&t.parser.head, "ACCEPT"), "a"));
    assert_null(weir_http1_find(&t.parser.head, "accep"));
    transcript_finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_requests),
        cmocka_unit_test(refuses_first_lines),
        cmocka_unit_test(refuses_targets),
        cmocka_unit_test(refuses_headers),
        cmocka_unit_test(refuses_framing),
        cmocka_unit_test(refuses_chunks),
        cmocka_unit_test(holds_its_caps),
        cmocka_unit_test(caps_what_comes_in_many_small_parts),
        cmocka_unit_test(reads_responses),
        cmocka_unit_test(refuses_responses),
        cmocka_unit_test(names_the_line_of_a_fault),
        cmocka_unit_test(stays_failed),
        cmocka_unit_test(knows_idle_from_begun),
        cmocka_unit_test(finds_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
