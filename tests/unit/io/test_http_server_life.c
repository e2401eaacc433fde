/* How long connections live, how many there may be, and how a server begins and ends. */
#include "../../support/http_handler.h"
#include "base/count.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

/* Silent, in the middle of its first head, or of a later one. */
static void who_owes_a_head_gives_way(void **state)
{
    static const char *const owed[] = {NULL, "G", GET("/") "G"};
    struct weir_http_request *busy;
    int fds[2];

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(owed); i++) {
        stop(NULL);
        start_with(&(struct weir_http_server_config){.max_connections = 2});
        fds[0] = dial(&fx);
        assert_true(say(&fx, fds[0], GET("/untold")));
        turn_for(&fx, 3);
        busy = seen.kept;
        fds[1] = dial(&fx);
        assert_true(owed[i] == NULL || say(&fx, fds[1], owed[i]));
        turn_for(&fx, 3);
        for (int n = 0; n < 3; n++) {
            int late = dial(&fx);

            weir_buf_reset(&heard);
            assert_true(say(&fx, late, LAST("/")));
            assert_true(hear(&fx, late, &heard, "hello"));
            close(late);
        }
        weir_buf_reset(&heard);
        assert_true(hear(&fx, fds[1], &heard, NULL));
        reply_text(busy, 200, "still there");
        assert_true(hear(&fx, fds[0], &heard, "still there"));
        close(fds[0]);
        close(fds[1]);
    }
}

static void tcp_leaves_room_for_the_unix_socket(void **state)
{
    struct weir_http_request *busy[3];
    int tcp[4];
    int local;

    (void)state;
    stop(NULL);
    start_with(&(struct weir_http_server_config){.max_connections = 4});
    for (int i = 0; i < 4; i++) {
        tcp[i] = dial_tcp(&fx);
        assert_true(say(&fx, tcp[i], i < 3 ? GET("/untold") : LAST("/")));
        turn_for(&fx, 3);
        if (i < 3)
            busy[i] = seen.kept;
    }
    assert_int_equal(stats().n_open, 3);
    for (int i = 0; i < 3; i++) {
        local = dial(&fx);
        weir_buf_reset(&heard);
        assert_true(say(&fx, local, LAST("/")));
        assert_true(hear(&fx, local, &heard, "hello"));
        close(local);
    }
    assert_int_equal(seen.n_requests, 6);
    for (int i = 0; i < 3; i++) {
        reply_text(busy[i], 200, "late");
        weir_buf_reset(&heard);
        assert_true(hear(&fx, tcp[i], &heard, "late"));
    }
    weir_buf_reset(&heard);
    assert_true(hear(&fx, tcp[3], &heard, "hello"));
    for (int i = 0; i < 4; i++)
        close(tcp[i]);
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
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++)
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
    /* There, the kernel accepts, and valgrind closes what is over its limit: the connection is
     * lost. */
    if (getenv("WEIR_VALGRIND") != NULL) {
        close(fd);
        return;
    }
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

/* A process just forked holds a copy of each connection until it calls exec. */
static void forgets_connections_that_a_child_still_holds(void **state)
{
    int fd = dial(&fx);
    pid_t child;

    (void)state;
    assert_true(say(&fx, fd, GET("/")));
    assert_true(hear(&fx, fd, &heard, "hello"));
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    weir_buf_reset(&heard);
    assert_true(say(&fx, fd, LAST("/")));
    assert_true(hear(&fx, fd, &heard, "hello"));
    turn_for(&fx, 5);
    assert_int_equal(stats().n_open, 0);
    assert_true(say(&fx, fd, GET("/")));
    turn_for(&fx, 5);
    assert_int_equal(stats().n_requests, 2);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(serves_many_connections_at_once),
        TEST(closes_idle_connections_for_new_ones),
        TEST(new_connections_wait_where_none_is_idle),
        TEST(who_owes_a_head_gives_way),
        TEST(tcp_leaves_room_for_the_unix_socket),
        TEST(times_run_out),
        TEST(peers_that_never_read_are_given_up),
        TEST(slow_bodies_are_given_up),
        TEST(shutdown_lets_requests_finish),
        TEST(shutdown_gives_up_after_its_grace),
        TEST(listens_where_it_is_told),
        TEST(waits_when_descriptors_run_out),
        TEST(forgets_connections_that_a_child_still_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
