/* What a connection may bring, and what comes back. */
#include "../../support/http_handler.h"
#include "base/count.h"
#include "io/http_conn.h"

static void answers_once(void **state)
{
    (void)state;
    for (int tcp = 0; tcp <= 1; tcp++) {
        ask_once(tcp, LAST("/"));
        assert_int_equal(strncmp(heard.data, "HTTP/1.1 200 OK\r\nDate: ", 23), 0);
        assert_heard("\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "
                     "5\r\n\r\nhello");
        ask_once(tcp, "GET / HTTP/1.0\r\n\r\n");
        assert_heard("Connection: close\r\n");
    }
    assert_int_equal(stats().n_requests, 4);
    assert_int_equal(stats().n_accepted, 4);
    assert_int_equal(stats().n_open, 0);
}

static void knows_its_peers(void **state)
{
    char unix_text[64];

    (void)state;
    ask_once(false, LAST("/"));
    assert_true(seen.peer.is_unix);
    assert_int_equal(seen.peer.uid, getuid());
    assert_int_equal(seen.peer.gid, getgid());
    assert_int_equal(seen.peer.pid, getpid());
    snprintf(unix_text, sizeof(unix_text), "uid %u pid %d", (unsigned)getuid(), (int)getpid());
    assert_string_equal(seen.peer.text, unix_text);
    ask_once(true, LAST("/"));
    assert_false(seen.peer.is_unix);
    assert_int_equal(strncmp(seen.peer.text, "127.0.0.1:", 10), 0);
}

static void keeps_connections(void **state)
{
    int fd = dial(&fx);

    (void)state;
    for (int i = 0; i < 20; i++) {
        weir_buf_reset(&heard);
        assert_true(say(
            &fx, fd, i % 2 == 0 ? GET("/") : "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
        assert_true(hear(&fx, fd, &heard, "hello"));
        assert_true(i % 2 == 0 || strstr(heard.data, "Connection: keep-alive\r\n") != NULL);
        assert_null(strstr(heard.data, "close"));
    }
    assert_int_equal(stats().n_accepted, 1);
    assert_int_equal(stats().n_requests, 20);
    close(fd);
    turn_for(&fx, 5);
    assert_int_equal(stats().n_open, 0);
}

static void takes_requests_byte_by_byte(void **state)
{
    static const char text[] =
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" LAST("/");
    int fd = dial_tcp(&fx);

    (void)state;
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        assert_true(say_n(&fx, fd, text + i, 1));
        turn(&fx);
    }
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("Content-Length: 5\r\n\r\nabcdeHTTP/1.1 200 OK");
    close(fd);
}

static void answers_pipelined_requests_in_order(void **state)
{
    int fd = dial(&fx);
    const char *at;

    (void)state;
    assert_true(say(&fx, fd,
                    "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nfirst" GET(
                        "/later") "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: "
                                  "5\r\n\r\nthird" LAST("/headers")));
    assert_true(hear(&fx, fd, &heard, "first"));
    turn_for(&fx, PEEK_MS);
    hear_some(fd, &heard);
    assert_int_equal(count(heard.data, "HTTP/1.1 "), 1);
    assert_non_null(seen.kept);
    reply_text(seen.kept, 202, "second");
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_int_equal(count(heard.data, "HTTP/1.1 "), 4);
    at = strstr(heard.data, "second");
    assert_non_null(at);
    at = strstr(at, "third");
    assert_non_null(at);
    assert_non_null(strstr(at, "201 Created"));
    assert_heard("\r\nX-A: 1\r\nX-B: 2\r\nConnection: close\r\n");
    close(fd);
}

static void holds_back_who_sends_ahead(void **state)
{
    int fd = dial(&fx);
    size_t n = 0;
    int64_t until;

    (void)state;
    assert_true(say(&fx, fd, GET("/later")));
    turn_for(&fx, 5);
    assert_non_null(seen.kept);
    /* Until it takes no more for a while. */
    for (int n_held_back = 0; n_held_back < 50 && n < 2 * 1024 * 1024;) {
        ssize_t sent = send(fd, GET("/none"), sizeof(GET("/none")) - 1, MSG_DONTWAIT);

        n += sent > 0 ? (size_t)sent : 0;
        n_held_back = sent > 0 ? 0 : n_held_back + 1;
        turn(&fx);
    }
    /* What the server holds is bounded; the rest is what the kernel holds. */
    assert_true(n > 64 * 1024 && n < 2 * 1024 * 1024);
    assert_int_equal(seen.n_requests, 1);
    reply_text(seen.kept, 200, "now");
    until = weir_clock_mono_ms() + PATIENCE_MS;
    while (seen.n_requests < 1 + n / (sizeof(GET("/none")) - 1)) {
        turn(&fx);
        hear_some(fd, &heard);
        assert_true(weir_clock_mono_ms() < until);
    }
    close(fd);
}

static void answers_half_closed_peers(void **state)
{
    (void)state;
    for (int tcp = 0; tcp <= 1; tcp++) {
        int fd = tcp ? dial_tcp(&fx) : dial(&fx);

        weir_buf_reset(&heard);
        assert_true(say(&fx, fd, GET("/") GET("/later") GET("/none")));
        shutdown(fd, SHUT_WR);
        assert_true(hear(&fx, fd, &heard, "hello"));
        turn_for(&fx, PEEK_MS);
        assert_non_null(seen.kept);
        reply_text(seen.kept, 200, "second");
        assert_true(hear(&fx, fd, &heard, NULL));
        assert_heard("second");
        assert_heard("204 No Content");
        assert_int_equal(seen.n_closed, 0);
        close(fd);
    }
}

static void says_when_the_peer_goes(void **state)
{
    static const char *const targets[] = {GET("/later"), GET("/stream"), GET("/eof")};

    (void)state;
    for (int tcp = 0; tcp <= 1; tcp++) {
        for (unsigned i = tcp ? 2 : 0; i < 3; i++) {
            int fd = tcp ? dial_tcp(&fx) : dial(&fx);

            seen.n_closed = 0;
            assert_true(say(&fx, fd, targets[i]));
            turn_for(&fx, 5);
            assert_non_null(seen.kept);
            close(fd);
            turn_for(&fx, 10);
            assert_int_equal(seen.n_closed, 1);
            assert_null(seen.kept);
        }
    }
    assert_int_equal(stats().n_open, 0);
}

static void notices_gone_tcp_peers_when_writing(void **state)
{
    int fd = dial_tcp(&fx);
    int code = 0;

    (void)state;
    assert_true(say(&fx, fd, GET("/stream")));
    assert_true(hear(&fx, fd, &heard, "chunked"));
    close(fd);
    for (int i = 0; i < 100 && seen.kept != NULL; i++) {
        code = weir_http_reply_write(seen.kept, WEIR_STR("x"));
        /* Told later, never from inside the call. */
        assert_int_equal(seen.n_closed, 0);
        turn_for(&fx, 2);
    }
    assert_true(code == 0 || code == WEIR_E_UNAVAILABLE);
    assert_int_equal(seen.n_closed, 1);
}

static void lets_untold_handlers_answer_into_nothing(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        int fd = dial(&fx);

        assert_true(say(&fx, fd, GET("/untold")));
        turn_for(&fx, 5);
        assert_non_null(seen.kept);
        close(fd);
        turn_for(&fx, 5);
        assert_int_equal(stats().n_open, 0);
        assert_true(weir_str_eq_c(weir_http_request_head(seen.kept)->path, "/untold"));
        if (how == 0)
            reply_text(seen.kept, 200, "nobody");
        if (how == 1)
            weir_http_request_abort(seen.kept);
        if (how >= 2) {
            assert_int_equal(weir_http_reply_start(seen.kept, 200, "text/plain", on_drain),
                             WEIR_E_UNAVAILABLE);
            assert_int_equal(weir_http_reply_write(seen.kept, WEIR_STR("x")), WEIR_E_UNAVAILABLE);
            weir_http_reply_end(seen.kept);
        }
    }
}

static void refuses_faulty_input(void **state)
{
    static const struct {
        const char *text;
        const char *status;
    } cases[] = {
        {"\n", "400 Bad Request"},
        {"GET / HTTP/1.1\r\n\r\n", "400 Bad Request"},
        {"GET / HTTP/2.0\r\n\r\n", "505 HTTP Version"},
        {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", "501 Not Implemented"},
        {"POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", "413 Content Too"},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n", "413 Content Too"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         "400 Bad Request"},
        {"GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", "417 Expectation"},
        {GET("/") "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n" GET("/"), "400 Bad Request"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        int fd = i % 2 == 0 ? dial(&fx) : dial_tcp(&fx);

        weir_buf_reset(&heard);
        assert_true(say(&fx, fd, cases[i].text));
        assert_true(hear(&fx, fd, &heard, NULL));
        assert_heard(cases[i].status);
        assert_heard("Connection: close\r\n");
        close(fd);
    }
    turn_for(&fx, 5);
    assert_int_equal(stats().n_refused, WEIR_COUNT_OF(cases));
    assert_int_equal(stats().n_open, 0);
}

static void refuses_headers_that_smuggle(void **state)
{
    (void)state;
    ask_once(false, LAST("/smuggle"));
    assert_heard("500 Internal Server Error");
    assert_heard("the value of header 'X' holds a control character");
    assert_null(strstr(heard.data, "Y: b"));
    assert_null(strstr(heard.data, "not seen"));
}

static void sends_a_refusal_past_unread_input(void **state)
{
    static char junk[512 * 1024];
    int fd = dial_tcp(&fx);

    (void)state;
    memset(junk, 'x', sizeof(junk));
    assert_true(say(&fx, fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n"));
    say_n(&fx, fd, junk, sizeof(junk));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("413 Content Too Large");
    close(fd);
}

static void on_head_may_answer(void **state)
{
    int fd = dial(&fx);

    (void)state;
    /* A short body is read over, and the connection kept. */
    assert_true(say(&fx, fd, "POST /denied HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc"));
    assert_true(hear(&fx, fd, &heard, "denied"));
    assert_null(strstr(heard.data, "Connection: close"));
    assert_true(say(&fx, fd, "def" GET("/")));
    assert_true(hear(&fx, fd, &heard, "hello"));
    /* A long one is not. */
    weir_buf_reset(&heard);
    assert_true(say(&fx, fd, "POST /denied HTTP/1.1\r\nHost: h\r\nContent-Length: 999999\r\n\r\n"));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("Connection: close");
    assert_int_equal(seen.n_requests, 1);
    assert_int_equal(seen.n_heads, 3);
    close(fd);
    fd = dial(&fx);
    weir_buf_reset(&heard);
    say(&fx, fd, GET("/abort-head"));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_int_equal(heard.len, 0);
    close(fd);
    ask_once(false, LAST("/abort"));
    assert_int_equal(heard.len, 0);
}

static void says_continue_when_the_body_is_wanted(void **state)
{
    int fd = dial(&fx);

    (void)state;
    assert_true(say(&fx, fd,
                    "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                    "Content-Length: 3\r\n\r\n"));
    assert_true(hear(&fx, fd, &heard, "HTTP/1.1 100 Continue\r\n\r\n"));
    assert_true(say(&fx, fd, "ab"));
    turn_for(&fx, 5);
    assert_true(say(&fx, fd, "c"));
    assert_true(hear(&fx, fd, &heard, "\r\n\r\nabc"));
    assert_int_equal(count(heard.data, "100 Continue"), 1);
    /* Too large, or refused: the peer never sends it. */
    weir_buf_reset(&heard);
    assert_true(say(&fx, fd,
                    "POST /small HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                    "Content-Length: 5\r\n\r\n"));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("413 ");
    assert_null(strstr(heard.data, "100 Continue"));
    close(fd);
    fd = dial(&fx);
    weir_buf_reset(&heard);
    assert_true(say(&fx, fd,
                    "POST /denied HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                    "Content-Length: 5\r\n\r\n"));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("401 ");
    assert_null(strstr(heard.data, "100 Continue"));
    close(fd);
}

static void head_answers_have_no_body(void **state)
{
    int fd = dial(&fx);

    (void)state;
    assert_true(say(&fx, fd, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"));
    assert_true(hear(&fx, fd, &heard, "Content-Length: 5\r\n\r\n"));
    assert_true(say(&fx, fd, "HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
    assert_true(hear(&fx, fd, &heard, "chunked\r\n\r\n"));
    assert_int_equal(weir_http_reply_write(seen.kept, WEIR_STR("x")), 0);
    weir_http_reply_end(seen.kept);
    assert_true(say(&fx, fd, LAST("/none")));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("chunked\r\n\r\nHTTP/1.1 204 No Content\r\n");
    assert_null(strstr(strstr(heard.data, "204"), "Content-Length"));
    close(fd);
}

static void streams_answers(void **state)
{
    int fd = dial(&fx);

    (void)state;
    assert_true(say(&fx, fd, GET("/stream") LAST("/")));
    assert_true(hear(&fx, fd, &heard, "Transfer-Encoding: chunked\r\n\r\n"));
    assert_int_equal(weir_http_reply_write(seen.kept, WEIR_STR("abc")), 0);
    assert_true(hear(&fx, fd, &heard, "3\r\nabc\r\n"));
    assert_int_equal(weir_http_reply_write(seen.kept, WEIR_STR("")), 0);
    assert_int_equal(weir_http_reply_write(seen.kept, WEIR_STR("0123456789abcdef")), 0);
    assert_int_equal(weir_http_conn_unsent(seen.kept->conn), 0);
    weir_http_reply_end(seen.kept);
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\nHTTP/1.1 200 OK");
    close(fd);
    /* HTTP/1.0 has no chunks: the end of the connection is the end. */
    fd = dial(&fx);
    weir_buf_reset(&heard);
    assert_true(say(&fx, fd, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    assert_true(hear(&fx, fd, &heard, "Connection: close\r\n\r\n"));
    weir_http_reply_write(seen.kept, WEIR_STR("abc"));
    weir_http_reply_end(seen.kept);
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("\r\n\r\nabc");
    assert_null(strstr(heard.data, "chunked"));
    close(fd);
}

static void slow_readers_are_waited_for(void **state)
{
    static char block[32 * 1024];
    enum { WANTED = 8 * 1024 * 1024 };
    int fd = dial(&fx);
    size_t n_written = 0;
    size_t most = 0;
    int code;

    (void)state;
    memset(block, 'x', sizeof(block));
    assert_true(say(&fx, fd, GET("/stream")));
    turn_for(&fx, 5);
    while (n_written < WANTED) {
        unsigned n_drained = seen.n_drained;

        do {
            code = weir_http_reply_write(seen.kept, weir_str_n(block, sizeof(block)));
            n_written += code >= 0 ? sizeof(block) : 0;
            if (weir_http_conn_unsent(seen.kept->conn) > most)
                most = weir_http_conn_unsent(seen.kept->conn);
        } while (code == 0);
        assert_int_equal(code, 1);
        assert_int_equal(weir_http_reply_write(seen.kept, WEIR_STR("y")), WEIR_E_AGAIN);
        turn_for(&fx, 1);
        assert_int_equal(seen.n_drained, n_drained);
        while (seen.n_drained == n_drained) {
            assert_true(hear_some(fd, &heard));
            turn(&fx);
        }
    }
    /* The bound of the header: the high mark and one write, with its framing. */
    assert_true(most <= 256 * 1024 + sizeof(block) + 32);
    weir_http_reply_end(seen.kept);
    assert_true(hear(&fx, fd, &heard, "0\r\n\r\n"));
    assert_int_equal(count(heard.data, "\r\n8000\r\nxxxx"), n_written / sizeof(block));
    close(fd);
}

static void large_answers_arrive_whole(void **state)
{
    enum { SIZE = 3 * 1024 * 1024 };
    char *body = malloc(SIZE);
    int fd = dial(&fx);
    char head[200];

    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + i % 26);
    snprintf(head, sizeof(head), "POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             SIZE);
    assert_true(say(&fx, fd, head));
    assert_true(say_n(&fx, fd, body, SIZE));
    assert_true(say(&fx, fd, LAST("/")));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_int_equal(memcmp(strstr(heard.data, "\r\n\r\n") + 4, body, SIZE), 0);
    assert_heard("hello");
    free(body);
    close(fd);
}

static void aborted_uploads_are_told(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        int fd = dial_tcp(&fx);

        weir_buf_reset(&heard);
        seen.n_closed = 0;
        assert_true(
            say(&fx, fd, "POST /told HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc"));
        turn_for(&fx, 5);
        assert_int_equal(seen.n_closed, 0);
        if (how == 0) {
            shutdown(fd, SHUT_WR);
            assert_true(hear(&fx, fd, &heard, NULL));
            assert_heard("400 Bad Request");
            assert_heard("in the middle of the body");
            close(fd);
        } else {
            struct linger hard = {1, 0};

            setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
            close(fd);
            turn_for(&fx, 5);
        }
        assert_int_equal(seen.n_closed, 1);
        assert_int_equal(stats().n_open, 0);
    }
    assert_int_equal(seen.n_requests, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_once),
        TEST(knows_its_peers),
        TEST(keeps_connections),
        TEST(takes_requests_byte_by_byte),
        TEST(answers_pipelined_requests_in_order),
        TEST(holds_back_who_sends_ahead),
        TEST(answers_half_closed_peers),
        TEST(says_when_the_peer_goes),
        TEST(notices_gone_tcp_peers_when_writing),
        TEST(lets_untold_handlers_answer_into_nothing),
        TEST(refuses_faulty_input),
        TEST(refuses_headers_that_smuggle),
        TEST(sends_a_refusal_past_unread_input),
        TEST(on_head_may_answer),
        TEST(says_continue_when_the_body_is_wanted),
        TEST(head_answers_have_no_body),
        TEST(streams_answers),
        TEST(slow_readers_are_waited_for),
        TEST(large_answers_arrive_whole),
        TEST(aborted_uploads_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
