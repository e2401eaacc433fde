#include "io/http_server.h"

#include "fmt/sse.h"

#include "../../support/http_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#define GET(target)  "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"
#define LAST(target) "GET " target " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

/* What the handler below was asked and told. */
static struct {
    struct weir_http_request *kept;
    unsigned n_heads;
    unsigned n_requests;
    unsigned n_closed;
    unsigned n_drained;
    unsigned n_pieces;
    size_t n_piece_bytes;
    struct weir_http_peer peer;
} seen;

static void reply_text(struct weir_http_request *request, int status, const char *text)
{
    weir_http_reply(request, status, "text/plain", weir_str(text));
}

static void on_closed(struct weir_http_request *request)
{
    assert_ptr_equal(weir_http_request_user(request), &seen);
    seen.n_closed++;
    if (seen.kept == request)
        seen.kept = NULL;
}

static void on_drain(struct weir_http_request *request)
{
    (void)request;
    seen.n_drained++;
}

static void on_piece(struct weir_http_request *request, struct weir_str piece)
{
    seen.n_pieces++;
    seen.n_piece_bytes += piece.len;
    if (weir_str_eq_c(weir_http_request_head(request)->path, "/pause"))
        weir_http_request_pause(request);
}

static bool is_path(const struct weir_http_request *request, const char *path)
{
    return weir_str_eq_c(weir_http_request_head(request)->path, path);
}

static void on_head(void *ctx, struct weir_http_request *request)
{
    assert_ptr_equal(ctx, &seen);
    seen.n_heads++;
    weir_http_request_set_user(request, &seen);
    if (is_path(request, "/denied"))
        reply_text(request, 401, "denied");
    if (is_path(request, "/small"))
        weir_http_request_set_body_max(request, 4);
    if (is_path(request, "/large"))
        weir_http_request_set_body_max(request, 64 * 1024 * 1024);
    if (is_path(request, "/pieces") || is_path(request, "/pause")) {
        weir_http_request_set_body_max(request, 64 * 1024 * 1024);
        weir_http_request_stream_body(request, on_piece);
        weir_http_request_on_closed(request, on_closed);
        seen.kept = request;
    }
    if (is_path(request, "/duplex")) {
        weir_http_request_stream_body(request, on_piece);
        weir_http_request_on_closed(request, on_closed);
        weir_http_request_close_on_eof(request, true);
        weir_http_reply_start(request, 200, "text/plain", on_drain);
        weir_http_request_pause(request);
        seen.kept = request;
    }
    if (is_path(request, "/told"))
        weir_http_request_on_closed(request, on_closed);
    if (is_path(request, "/abort-head"))
        weir_http_request_abort(request);
}

static void keep(struct weir_http_request *request, bool tell)
{
    seen.kept = request;
    if (tell)
        weir_http_request_on_closed(request, on_closed);
}

static void reply_body(struct weir_http_request *request)
{
    weir_http_reply(request, 200, "application/octet-stream", weir_http_request_body(request));
}

static void on_request(void *ctx, struct weir_http_request *request)
{
    (void)ctx;
    seen.n_requests++;
    seen.peer = *weir_http_request_peer(request);
    if (is_path(request, "/duplex"))
        return; /* answered as its head came */
    if (is_path(request, "/later"))
        keep(request, true);
    else if (is_path(request, "/untold"))
        keep(request, false);
    else if (is_path(request, "/eof")) {
        keep(request, true);
        weir_http_request_close_on_eof(request, true);
    } else if (is_path(request, "/stream")) {
        keep(request, true);
        weir_http_reply_start(request, 200, "text/plain", on_drain);
    } else if (is_path(request, "/echo") || is_path(request, "/large") ||
               is_path(request, "/small"))
        reply_body(request);
    else if (is_path(request, "/none"))
        weir_http_reply(request, 204, NULL, WEIR_STR(""));
    else if (is_path(request, "/abort"))
        weir_http_request_abort(request);
    else if (is_path(request, "/smuggle")) {
        weir_http_reply_header(request, "X", WEIR_STR("a\r\nY: b"), NULL);
        reply_text(request, 200, "not seen");
    } else if (is_path(request, "/headers")) {
        weir_http_reply_header(request, "X-A", WEIR_STR("1"), NULL);
        weir_http_reply_header(request, "X-B", WEIR_STR("2"), NULL);
        reply_text(request, 201, "made");
    } else if (is_path(request, "/pieces")) {
        seen.kept = NULL;
        reply_text(request, 200, "taken");
    } else {
        reply_text(request, 200, "hello");
    }
}

static struct fixture fx;
static struct weir_buf heard = WEIR_BUF_INIT(256 * 1024 * 1024);

static const struct weir_http_handler handler = {&seen, on_head, on_request, NULL};

static int start_with(const struct weir_http_server_config *config)
{
    memset(&seen, 0, sizeof(seen));
    weir_buf_reset(&heard);
    fixture_init(&fx, config, &handler);
    return 0;
}

static int start(void **state)
{
    (void)state;
    return start_with(&(struct weir_http_server_config){0});
}

static int stop(void **state)
{
    (void)state;
    fixture_finish(&fx);
    weir_buf_finish(&heard);
    return 0;
}

static struct weir_http_server_stats stats(void)
{
    struct weir_http_server_stats now;

    weir_http_server_stats(fx.server, &now);
    return now;
}

static void assert_heard(const char *text)
{
    if (strstr(weir_buf_cstr(&heard), text) == NULL)
        fail_msg("heard:\n%s\nnot in it: %s", weir_buf_cstr(&heard), text);
}

/* One connection, one exchange, closed by the server. */
static void ask_once(bool tcp, const char *text)
{
    int fd = tcp ? dial_tcp(&fx) : dial(&fx);

    weir_buf_reset(&heard);
    assert_true(say(&fx, fd, text));
    assert_true(hear(&fx, fd, &heard, NULL));
    close(fd);
}

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
    for (until = weir_clock_mono_ms() + 300; weir_clock_mono_ms() < until;) {
        ssize_t sent = send(fd, GET("/none"), sizeof(GET("/none")) - 1, MSG_DONTWAIT);

        n += sent > 0 ? (size_t)sent : 0;
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
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = i % 2 == 0 ? dial(&fx) : dial_tcp(&fx);

        weir_buf_reset(&heard);
        assert_true(say(&fx, fd, cases[i].text));
        assert_true(hear(&fx, fd, &heard, NULL));
        assert_heard(cases[i].status);
        assert_heard("Connection: close\r\n");
        close(fd);
    }
    turn_for(&fx, 5);
    assert_int_equal(stats().n_refused, sizeof(cases) / sizeof(cases[0]));
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
    assert_int_equal(weir_http_reply_pending(seen.kept), 0);
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
    enum { WANTED = 32 * 1024 * 1024 };
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
            if (weir_http_reply_pending(seen.kept) > most)
                most = weir_http_reply_pending(seen.kept);
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

static void bodies_can_be_taken_in_pieces(void **state)
{
    enum { SIZE = 4 * 1024 * 1024 };
    char *body = calloc(1, SIZE);
    int fd = dial(&fx);
    char head[200];

    (void)state;
    assert_non_null(body);
    snprintf(head, sizeof(head), "POST /pieces HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             SIZE);
    assert_true(say(&fx, fd, head));
    assert_true(say_n(&fx, fd, body, SIZE));
    assert_true(hear(&fx, fd, &heard, "taken"));
    assert_int_equal(seen.n_piece_bytes, SIZE);
    assert_true(seen.n_pieces > 10);
    free(body);
    close(fd);
}

static void paused_bodies_hold_the_peer_back(void **state)
{
    static char block[64 * 1024];
    int fd = dial(&fx);
    size_t n = 0;
    unsigned n_pieces;
    int64_t until;

    (void)state;
    assert_true(say(&fx, fd, "POST /pause HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n"));
    for (until = weir_clock_mono_ms() + 200; weir_clock_mono_ms() < until;) {
        ssize_t sent = send(fd, block, sizeof(block), MSG_DONTWAIT);

        n += sent > 0 ? (size_t)sent : 0;
        turn(&fx);
    }
    assert_int_equal(seen.n_pieces, 1);
    assert_true(n < 2 * 1024 * 1024);
    for (n_pieces = 1; n_pieces < 4; n_pieces++) {
        weir_http_request_resume(seen.kept);
        assert_int_equal(seen.n_pieces, n_pieces); /* not from inside the call */
        turn_for(&fx, 5);
        assert_int_equal(seen.n_pieces, n_pieces + 1);
    }
    /* The peer goes while nothing is read from it. */
    close(fd);
    turn_for(&fx, 10);
    assert_int_equal(seen.n_closed, 1);
}

static void a_body_may_be_held_back_while_the_answer_streams(void **state)
{
    static char block[1024 * 1024];
    int fd = dial(&fx);

    (void)state;
    memset(block, 'x', sizeof(block));
    assert_true(say(&fx, fd, "POST /duplex HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"));
    assert_true(hear(&fx, fd, &heard, "chunked\r\n\r\n"));
    assert_int_equal(weir_http_reply_write(seen.kept, weir_str_n(block, sizeof(block))), 1);
    while (seen.n_drained == 0) {
        turn(&fx);
        assert_true(hear_some(fd, &heard));
    }
    assert_int_equal(seen.n_closed, 0);
    assert_int_equal(seen.n_piece_bytes, 0);
    weir_http_request_resume(seen.kept);
    turn_for(&fx, 5);
    assert_int_equal(seen.n_piece_bytes, 5);
    assert_int_equal(seen.n_requests, 1);
    weir_http_request_close_on_eof(seen.kept, false);
    weir_http_reply_end(seen.kept);
    assert_true(say(&fx, fd, LAST("/")));
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("hello");
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

static void serves_many_connections_at_once(void **state)
{
    enum { N = 1000 };
    static int fds[N];
    struct weir_http_server_stats now;

    (void)state;
    for (int i = 0; i < N; i++) {
        fds[i] = i % 2 == 0 ? dial(&fx) : dial_tcp(&fx);
        turn(&fx);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++)
            assert_true(say(&fx, fds[i], round == 2 ? LAST("/") : GET("/")));
        for (int i = 0; i < N; i++) {
            weir_buf_reset(&heard);
            assert_true(hear(&fx, fds[i], &heard, "hello"));
        }
    }
    now = stats();
    assert_int_equal(now.n_accepted, N);
    assert_int_equal(now.n_requests, 3 * N);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    turn_for(&fx, 20);
    assert_int_equal(stats().n_open, 0);
}

static void closes_idle_connections_for_new_ones(void **state)
{
    int fds[6];

    (void)state;
    stop(NULL);
    start_with(&(struct weir_http_server_config){.max_connections = 4});
    for (int i = 0; i < 4; i++) {
        fds[i] = dial(&fx);
        weir_buf_reset(&heard);
        assert_true(say(&fx, fds[i], i == 0 ? GET("/later") : GET("/")));
        assert_true(i == 0 || hear(&fx, fds[i], &heard, "hello"));
        turn_for(&fx, 3);
    }
    fds[4] = dial(&fx);
    weir_buf_reset(&heard);
    assert_true(say(&fx, fds[4], GET("/")));
    assert_true(hear(&fx, fds[4], &heard, "hello"));
    assert_int_equal(stats().n_open, 4);
    /* The longest idle one went; the busy one, older, did not. */
    weir_buf_reset(&heard);
    assert_true(hear(&fx, fds[1], &heard, NULL));
    assert_non_null(seen.kept);
    reply_text(seen.kept, 200, "still there");
    assert_true(hear(&fx, fds[0], &heard, "still there"));
    for (int i = 0; i < 5; i++)
        close(fds[i]);
}

static void new_connections_wait_where_none_is_idle(void **state)
{
    struct weir_http_request *first = NULL;
    int fds[3];

    (void)state;
    stop(NULL);
    start_with(&(struct weir_http_server_config){.max_connections = 2});
    for (int i = 0; i < 3; i++) {
        fds[i] = dial(&fx);
        assert_true(say(&fx, fds[i], i < 2 ? GET("/untold") : LAST("/")));
        turn_for(&fx, 3);
        if (i == 0)
            first = seen.kept;
    }
    assert_int_equal(stats().n_open, 2);
    assert_int_equal(seen.n_requests, 2);
    reply_text(seen.kept, 200, "second");
    assert_true(hear(&fx, fds[1], &heard, "second"));
    assert_true(hear(&fx, fds[2], &heard, "hello"));
    reply_text(first, 200, "first");
    assert_true(hear(&fx, fds[0], &heard, "first"));
    close(fds[0]);
    for (int i = 1; i < 3; i++)
        close(fds[i]);
}

static void times_run_out(void **state)
{
    static const struct weir_http_server_config config = {.header_timeout_ms = 100,
                                                          .idle_timeout_ms = 200};
    int silent;
    int begun;
    int body;
    int idle;
    int later;

    (void)state;
    stop(NULL);
    start_with(&config);
    silent = dial(&fx);
    begun = dial(&fx);
    body = dial(&fx);
    idle = dial(&fx);
    later = dial(&fx);
    say(&fx, begun, "GET / HT");
    say(&fx, body, "POST /told HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    say(&fx, idle, GET("/"));
    say(&fx, later, GET("/later"));
    assert_true(hear(&fx, silent, &heard, NULL));
    assert_int_equal(heard.len, 0);
    assert_true(hear(&fx, begun, &heard, NULL));
    assert_heard("408 Request Timeout");
    weir_buf_reset(&heard);
    assert_true(hear(&fx, body, &heard, NULL));
    assert_heard("408 Request Timeout");
    assert_int_equal(seen.n_closed, 1);
    weir_buf_reset(&heard);
    assert_true(hear(&fx, idle, &heard, NULL));
    assert_heard("hello");
    assert_null(strstr(heard.data, "408"));
    /* The handler may take its time. */
    turn_for(&fx, 300);
    assert_non_null(seen.kept);
    reply_text(seen.kept, 200, "late");
    assert_true(hear(&fx, later, &heard, "late"));
    assert_int_equal(stats().n_timeouts, 4);
    close(silent);
    close(begun);
    close(body);
    close(idle);
    close(later);
}

static void peers_that_never_read_are_given_up(void **state)
{
    static char block[64 * 1024];
    int fd;

    (void)state;
    stop(NULL);
    start_with(&(struct weir_http_server_config){.idle_timeout_ms = 150});
    fd = dial(&fx);
    assert_true(say(&fx, fd, GET("/stream")));
    turn_for(&fx, 3);
    while (weir_http_reply_write(seen.kept, weir_str_n(block, sizeof(block))) == 0)
        ;
    turn_for(&fx, 400);
    assert_int_equal(seen.n_closed, 1);
    assert_int_equal(stats().n_timeouts, 1);
    close(fd);
}

static void slow_bodies_are_given_up(void **state)
{
    int fd;
    int64_t from;

    (void)state;
    stop(NULL);
    start_with(&(struct weir_http_server_config){.idle_timeout_ms = 200});
    fd = dial(&fx);
    from = weir_clock_mono_ms();
    assert_true(say(&fx, fd, "POST /told HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n"));
    while (seen.n_closed == 0) {
        say(&fx, fd, "x");
        turn_for(&fx, 10);
        assert_true(weir_clock_mono_ms() - from < PATIENCE_MS);
    }
    assert_true(weir_clock_mono_ms() - from >= 200);
    close(fd);
}

static void shutdown_lets_requests_finish(void **state)
{
    int idle = dial(&fx);
    int later = dial(&fx);
    int waiting;

    (void)state;
    assert_true(say(&fx, idle, GET("/")));
    assert_true(hear(&fx, idle, &heard, "hello"));
    assert_true(say(&fx, later, GET("/later") GET("/none")));
    turn_for(&fx, 5);
    assert_non_null(seen.kept);
    waiting = dial(&fx);
    assert_true(say(&fx, waiting, GET("/")));
    weir_http_server_shutdown(fx.server, 10000, fixture_done, &fx);
    fx.server = NULL;
    assert_false(fx.done);
    weir_buf_reset(&heard);
    assert_true(hear(&fx, idle, &heard, NULL));
    assert_int_equal(heard.len, 0);
    assert_int_equal(access(fx.path, F_OK), -1);
    /* Connected before, not accepted yet. */
    assert_true(hear(&fx, waiting, &heard, NULL));
    assert_heard("hello");
    assert_false(fx.done);
    reply_text(seen.kept, 200, "finished");
    weir_buf_reset(&heard);
    assert_true(hear(&fx, later, &heard, NULL));
    assert_heard("finished");
    assert_heard("Connection: close");
    assert_null(strstr(heard.data, "204"));
    close(idle);
    close(later);
    close(waiting);
    turn_for(&fx, 100);
    assert_true(fx.done);
}

static void shutdown_gives_up_after_its_grace(void **state)
{
    int fd = dial(&fx);
    int64_t from;

    (void)state;
    assert_true(say(&fx, fd, GET("/stream")));
    turn_for(&fx, 5);
    from = weir_clock_mono_ms();
    weir_http_server_shutdown(fx.server, 150, fixture_done, &fx);
    fx.server = NULL;
    while (!fx.done) {
        turn(&fx);
        usleep(500);
        assert_true(weir_clock_mono_ms() - from < PATIENCE_MS);
    }
    assert_true(weir_clock_mono_ms() - from >= 140);
    assert_int_equal(seen.n_closed, 1);
    close(fd);
}

static void listens_where_it_is_told(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    static const char *const bad[] = {
        "",       "80",     "127.0.0.1",       "127.0.0.1:", "h:80",
        "[::1]",  "::1:80", "127.0.0.1:65536", "[::1:80",    "1.2.3:80",
        "[h]:80", ":80",    "127.0.0.1:+1"};
    uint16_t port = 0;
    char same[64];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(weir_http_server_listen_tcp(fx.server, bad[i], NULL, &err),
                         WEIR_E_INVALID);
    snprintf(same, sizeof(same), "127.0.0.1:%u", fx.port);
    assert_int_equal(weir_http_server_listen_tcp(fx.server, same, NULL, &err), WEIR_E_IO);
    assert_non_null(strstr(err.text, "Address already in use"));
    if (weir_http_server_listen_tcp(fx.server, "[::1]:0", &port, &err) == 0) {
        struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                       .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                                       .sin6_port = htons(port)};
        int fd = socket(AF_INET6, SOCK_STREAM, 0);

        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_true(say(&fx, fd, LAST("/")));
        assert_true(hear(&fx, fd, &heard, NULL));
        assert_heard("hello");
        assert_int_equal(strncmp(seen.peer.text, "[::1]:", 6), 0);
        close(fd);
    }
}

static void waits_when_descriptors_run_out(void **state)
{
    struct rlimit was;
    struct rlimit few;
    int fd = dial(&fx);
    int probe;

    (void)state;
    probe = dup(fd);
    close(probe);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){(rlim_t)probe, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_true(say(&fx, fd, LAST("/")));
    turn_for(&fx, 20);
    assert_int_equal(stats().n_accepted, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_true(hear(&fx, fd, &heard, NULL));
    assert_heard("hello");
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

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
        TEST(bodies_can_be_taken_in_pieces),
        TEST(paused_bodies_hold_the_peer_back),
        TEST(a_body_may_be_held_back_while_the_answer_streams),
        TEST(aborted_uploads_are_told),
        TEST(serves_many_connections_at_once),
        TEST(closes_idle_connections_for_new_ones),
        TEST(new_connections_wait_where_none_is_idle),
        TEST(times_run_out),
        TEST(peers_that_never_read_are_given_up),
        TEST(slow_bodies_are_given_up),
        TEST(shutdown_lets_requests_finish),
        TEST(shutdown_gives_up_after_its_grace),
        TEST(listens_where_it_is_told),
        TEST(waits_when_descriptors_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
