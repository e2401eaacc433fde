/* What the parser reads, and how much of it. */
#include "base/count.h"
#include "http1_ways.h"

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
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++)
        expect(&(struct message){WEIR_HTTP1_REQUEST, false, 16, cases[i].input}, cases[i].said);
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
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++)
        expect(&(struct message){WEIR_HTTP1_RESPONSE, cases[i].answers_head, 16, cases[i].input},
               cases[i].said);
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
        cmocka_unit_test(holds_its_caps),
        cmocka_unit_test(caps_what_comes_in_many_small_parts),
        cmocka_unit_test(reads_responses),
        cmocka_unit_test(knows_idle_from_begun),
        cmocka_unit_test(finds_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
