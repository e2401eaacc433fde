/* What the parser refuses, with which status and where. */
#include "base/count.h"
#include "http1_ways.h"

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
    expect_refusals(WEIR_HTTP1_REQUEST, cases, WEIR_COUNT_OF(cases));
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
    expect_refusals(WEIR_HTTP1_REQUEST, cases, WEIR_COUNT_OF(cases));
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
    expect_refusals(WEIR_HTTP1_REQUEST, cases, WEIR_COUNT_OF(cases));
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
    expect_refusals(WEIR_HTTP1_REQUEST, cases, WEIR_COUNT_OF(cases));
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
    expect_refusals(WEIR_HTTP1_REQUEST, cases, WEIR_COUNT_OF(cases));
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
    expect_refusals(WEIR_HTTP1_RESPONSE, cases, WEIR_COUNT_OF(cases));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_first_lines),
        cmocka_unit_test(refuses_targets),
        cmocka_unit_test(refuses_headers),
        cmocka_unit_test(refuses_framing),
        cmocka_unit_test(refuses_chunks),
        cmocka_unit_test(refuses_responses),
        cmocka_unit_test(names_the_line_of_a_fault),
        cmocka_unit_test(stays_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
