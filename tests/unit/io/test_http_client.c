/* The client against the real server and against scripted peers, each in a process of its own. */
#include "io/http_client.h"

#include "base/count.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/http_server.h"
#include "io/unix_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

enum { TIMEOUT_MS = 10000, BIG = 2 * 1024 * 1024 };

static char dir[400];
static char path[500];
static uint16_t port;
static pid_t server_pid;
static struct weir_http_client client;
static struct weir_buf body = WEIR_BUF_INIT(8 * 1024 * 1024);
static struct weir_err err;
static const struct weir_http1_head *head;

/* ── peers ── */

/* Reads until the end of a head (and what came with it). False if the client closed. */
static bool read_request(int fd, char *room, size_t size)
{
    size_t n = 0;

    while (n + 1 < size) {
        ssize_t got = recv(fd, room + n, size - 1 - n, 0);

        if (got <= 0)
            return false;
        n += (size_t)got;
        room[n] = '\0';
        if (strstr(room, "\r\n\r\n") != NULL)
            return true;
    }
    return false;
}

static void put(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        _exit(1);
}

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

/* One answer on each connection, then closes without having said so. */
static void peer_closes_idle(int listener)
{
    char room[4096];

    for (int i = 1; i <= 3; i++) {
        int fd = accept(listener, NULL, NULL);

        read_request(fd, room, sizeof(room));
        put(fd, HELLO);
        close(fd);
    }
}

/* Takes the second request on the connection, and closes without an answer. */
static void peer_closes_on_second(int listener)
{
    char room[4096];

    for (int i = 0; i < 4; i++) {
        int fd = accept(listener, NULL, NULL);

        read_request(fd, room, sizeof(room));
        put(fd, HELLO);
        read_request(fd, room, sizeof(room));
        close(fd);
    }
}

static void peer_says_too_much(int listener)
{
    char room[4096];
    int fd = accept(listener, NULL, NULL);

    read_request(fd, room, sizeof(room));
    put(fd, HELLO "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
    close(accept(listener, NULL, NULL)); /* the next request comes on another connection */
}

static void peer_answers_early(int listener)
{
    char room[4096];
    int fd = accept(listener, NULL, NULL);

    read_request(fd, room, sizeof(room));
    put(fd, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
    pause();
}

static void peer_is_silent(int listener)
{
    char room[4096];
    int fd = accept(listener, NULL, NULL);

    read_request(fd, room, sizeof(room));
    pause();
}

static void peer_cuts_short(int listener)
{
    char room[4096];
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Len",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "",
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(answers); i++) {
        int fd = accept(listener, NULL, NULL);

        read_request(fd, room, sizeof(room));
        put(fd, answers[i]);
        close(fd);
    }
}

/* Sends back the head it was sent. */
static void peer_mirrors(int listener)
{
    static char room[64 * 1024];
    static char answer[70 * 1024];
    int fd = accept(listener, NULL, NULL);

    while (read_request(fd, room, sizeof(room))) {
        snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(room), room);
        put(fd, answer);
    }
}

static void start_peer(void (*peer)(int listener))
{
    struct weir_unix_listener listener;

    assert_int_equal(weir_unix_listen(path, 0600, &listener, &err), 0);
    server_pid = fork();
    assert_true(server_pid >= 0);
    if (server_pid == 0) {
        int flags = fcntl(listener.fd, F_GETFL);

        fcntl(listener.fd, F_SETFL, flags & ~O_NONBLOCK);
        peer(listener.fd);
        _exit(0);
    }
    close(listener.fd);
    close(listener.dir_fd);
    weir_mem_free(listener.name);
}

/* ── the real server ── */

static void on_drain(struct weir_http_request *request)
{
    static char block[64 * 1024];
    size_t *left = weir_http_request_user(request);

    memset(block, 'x', sizeof(block));
    while (*left > 0) {
        size_t n = *left < sizeof(block) ? *left : sizeof(block);
        int code = weir_http_reply_write(request, weir_str_n(block, n));

        if (code < 0)
            return;
        *left -= n;
        if (code > 0)
            return;
    }
    weir_http_reply_end(request);
}

static void on_request(void *ctx, struct weir_http_request *request)
{
    struct weir_str target = weir_http_request_head(request)->path;
    size_t *left;

    (void)ctx;
    if (weir_str_eq_c(target, "/stream")) {
        left = weir_arena_new(weir_http_request_arena(request), size_t);
        if (left == NULL)
            _exit(1);
        *left = BIG;
        weir_http_request_set_user(request, left);
        weir_http_reply_start(request, 200, "text/plain", on_drain);
        on_drain(request);
        return;
    }
    weir_http_reply_header(request, "X-Peer", weir_str(weir_http_request_peer(request)->text),
                           NULL);
    weir_http_reply(request, 200, "text/plain", weir_http_request_body(request));
}

static void run_server(int ready_fd)
{
    static const struct weir_http_handler handler = {NULL, NULL, on_request, NULL};
    static const struct weir_http_server_config config = {.body_max_bytes = BIG};
    struct weir_http_server *server;
    uint16_t at = 0;

    if (weir_http_server_create(uv_default_loop(), &config, &handler, &server, NULL) < 0 ||
        weir_http_server_listen_unix(server, path, 0600, NULL) < 0 ||
        weir_http_server_listen_tcp(server, "127.0.0.1:0", &at, NULL) < 0 ||
        write(ready_fd, &at, sizeof(at)) != sizeof(at))
        _exit(1);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void start_server(void)
{
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    server_pid = fork();
    assert_true(server_pid >= 0);
    if (server_pid == 0) {
        run_server(ready[1]);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &port, sizeof(port)), sizeof(port));
    close(ready[0]);
    close(ready[1]);
}

static void stop_server(void)
{
    if (server_pid > 0) {
        kill(server_pid, SIGKILL);
        waitpid(server_pid, NULL, 0);
    }
    server_pid = 0;
    unlink(path);
}

/* ── frame ── */

static void use(const struct weir_http_endpoint *endpoint, int timeout_ms)
{
    weir_http_client_finish(&client);
    weir_http_client_init(&client, endpoint, timeout_ms);
}

/* Every test runs with a path that sockaddr_un cannot hold. */
static int start(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/weir-client-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(dir);

        snprintf(dir + n, sizeof(dir) - n, "/%080d", i);
        if (mkdir(dir, 0700) < 0)
            return -1;
    }
    snprintf(path, sizeof(path), "%s/s", dir);
    err = (struct weir_err)WEIR_ERR_INIT;
    weir_http_client_init(&client, &(struct weir_http_endpoint){.unix_path = path}, TIMEOUT_MS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    stop_server();
    weir_http_client_finish(&client);
    weir_buf_finish(&body);
    for (int i = 0; i < 3; i++) {
        rmdir(dir);
        *strrchr(dir, '/') = '\0';
    }
    return rmdir(dir);
}

static int ask(const char *method, const char *target, struct weir_str content)
{
    int r =
        weir_http_client_request(&client, method, weir_str(target), NULL, 0, content, &head, &err);

    weir_buf_reset(&body);
    return r < 0 ? r : weir_http_client_read_all(&client, &body, &err);
}

static void must_hear(const char *method, const char *target, const char *wanted)
{
    if (ask(method, target, WEIR_STR("")) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(head->status, 200);
    assert_string_equal(weir_buf_cstr(&body), wanted);
}

/* ── tests ── */

static void asks_over_both_kinds_of_socket(void **state)
{
    char peer[WEIR_HTTP_PEER_TEXT_MAX];

    (void)state;
    start_server();
    for (int tcp = 0; tcp <= 1; tcp++) {
        if (tcp)
            use(&(struct weir_http_endpoint){.host = "127.0.0.1", .port = port}, TIMEOUT_MS);
        for (int i = 0; i < 3; i++) {
            const struct weir_str *who;

            assert_int_equal(ask("POST", "/a?b=c", WEIR_STR("the body")), 0);
            assert_int_equal(head->status, 200);
            assert_string_equal(weir_buf_cstr(&body), "the body");
            who = weir_http1_find(head, "x-peer");
            assert_non_null(who);
            /* The same port each time: the connection is used again. */
            assert_true(i == 0 || weir_str_eq_c(*who, peer));
            snprintf(peer, sizeof(peer), "%.*s", WEIR_STR_ARG(*who));
        }
        assert_int_equal(ask("HEAD", "/", WEIR_STR("")), 0);
        assert_int_equal(body.len, 0);
        assert_int_equal(ask("GET", "/", WEIR_STR("")), 0);
    }
}

static void large_bodies_go_both_ways(void **state)
{
    char *big = malloc(BIG + 1);

    (void)state;
    assert_non_null(big);
    for (size_t i = 0; i <= BIG; i++)
        big[i] = (char)('a' + i % 23);
    start_server();
    assert_int_equal(ask("POST", "/", weir_str_n(big, BIG)), 0);
    assert_int_equal(body.len, BIG);
    assert_memory_equal(body.data, big, BIG);
    /* One byte too many: the server answers before it has read it. */
    assert_int_equal(ask("POST", "/", weir_str_n(big, BIG + 1)), 0);
    assert_int_equal(head->status, 413);
    assert_int_equal(ask("POST", "/", WEIR_STR("small again")), 0);
    assert_string_equal(weir_buf_cstr(&body), "small again");
    free(big);
}

static void streams_are_read_in_pieces(void **state)
{
    struct weir_str piece;
    size_t n = 0;
    unsigned n_pieces = 0;

    (void)state;
    start_server();
    assert_int_equal(weir_http_client_request(&client, "GET", WEIR_STR("/stream"), NULL, 0,
                                              WEIR_STR(""), &head, &err),
                     0);
    assert_true(head->chunked);
    while (weir_http_client_read(&client, &piece, &err) > 0) {
        for (size_t i = 0; i < piece.len; i++)
            assert_int_equal(piece.ptr[i], 'x');
        n += piece.len;
        n_pieces++;
    }
    assert_int_equal(n, BIG);
    assert_true(n_pieces > 8);
    assert_int_equal(weir_http_client_read(&client, &piece, &err), 0);
    /* One that is left in the middle costs the connection, and nothing else. */
    assert_int_equal(weir_http_client_request(&client, "GET", WEIR_STR("/stream"), NULL, 0,
                                              WEIR_STR(""), &head, &err),
                     0);
    assert_int_equal(weir_http_client_read(&client, &piece, &err), 1);
    must_hear("GET", "/", "");
    weir_buf_finish(&body);
    body.max = 1000;
    assert_int_equal(ask("GET", "/stream", WEIR_STR("")), WEIR_E_TOO_LARGE);
    body.max = 8 * 1024 * 1024;
}

static void says_who_cannot_be_reached(void **state)
{
    char wanted[600];
    uint16_t free_port;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    snprintf(wanted, sizeof(wanted), "cannot reach weir at '%s': no such socket", path);
    assert_string_equal(err.text, wanted);
    assert_string_equal(err.hint, "start it with `weir up`");
    start_peer(peer_closes_idle);
    kill(server_pid, SIGKILL);
    waitpid(server_pid, NULL, 0);
    server_pid = 0;
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    snprintf(wanted, sizeof(wanted), "cannot reach weir at '%s': connection refused", path);
    assert_string_equal(err.text, wanted);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    free_port = ntohs(address.sin_port);
    use(&(struct weir_http_endpoint){.host = "127.0.0.1", .port = free_port}, TIMEOUT_MS);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    snprintf(wanted, sizeof(wanted), "cannot reach weir at '127.0.0.1:%u': Connection refused",
             free_port);
    assert_string_equal(err.text, wanted);
    assert_string_equal(err.hint, "start it with `weir up`");
    close(fd);
    use(&(struct weir_http_endpoint){.host = "no such host.invalid", .port = 1}, TIMEOUT_MS);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "cannot find 'no such host.invalid'"));
    assert_string_equal(weir_http_endpoint_hint(&(struct weir_http_endpoint){.host = "gpu-box"}),
                        "is it running, and is the address right?");
}

static void connects_anew_when_an_idle_connection_was_closed(void **state)
{
    (void)state;
    start_peer(peer_closes_idle);
    for (int i = 0; i < 3; i++) {
        must_hear("POST", "/", "hello");
        usleep(20000);
    }
}

static void repeats_only_what_may_be_repeated(void **state)
{
    static const struct weir_http_header key = {"Idempotency-Key", {"7", 1}};

    (void)state;
    start_peer(peer_closes_on_second);
    must_hear("GET", "/", "hello");
    must_hear("GET", "/", "hello"); /* repeated on a new connection */
    assert_int_equal(ask("POST", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    assert_string_equal(err.text, "weir closed the connection");
    must_hear("GET", "/", "hello");
    assert_int_equal(weir_http_client_request(&client, "POST", WEIR_STR("/"), &key, 1, WEIR_STR(""),
                                              &head, &err),
                     0);
    weir_buf_reset(&body);
    assert_int_equal(weir_http_client_read_all(&client, &body, &err), 0);
    assert_string_equal(weir_buf_cstr(&body), "hello");
}

static void answers_nobody_asked_for_are_not_taken(void **state)
{
    (void)state;
    start_peer(peer_says_too_much);
    must_hear("GET", "/", "hello");
    usleep(20000);
    /* The peer accepts this one and ends; what matters is that "poison" is not it. */
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
}

static void an_early_answer_is_heard(void **state)
{
    char *big = calloc(1, BIG);

    (void)state;
    assert_non_null(big);
    start_peer(peer_answers_early);
    assert_int_equal(ask("POST", "/", weir_str_n(big, BIG)), 0);
    assert_int_equal(head->status, 413);
    assert_string_equal(weir_buf_cstr(&body), "big");
    free(big);
}

static bool interrupt(void *arg)
{
    (*(int *)arg)++;
    return true;
}

static void on_alarm(int signal)
{
    (void)signal;
}

static void waits_only_so_long(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm};
    int n_asked = 0;

    (void)state;
    start_peer(peer_is_silent);
    use(&(struct weir_http_endpoint){.unix_path = path}, 100);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_TIMEOUT);
    assert_string_equal(err.text, "weir did not answer within 100 ms");
    stop_server();
    start_peer(peer_is_silent);
    use(&(struct weir_http_endpoint){.unix_path = path}, -1);
    client.interrupted = interrupt;
    client.interrupted_arg = &n_asked;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    ualarm(50000, 50000); /* again and again, for one may come before anybody waits */
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_TIMEOUT);
    ualarm(0, 0);
    assert_string_equal(err.text, "interrupted");
    assert_int_equal(n_asked, 1);
}

static void broken_answers_are_errors(void **state)
{
    (void)state;
    start_peer(peer_cuts_short);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_UNAVAILABLE);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_INVALID);
    assert_non_null(strstr(err.text, "the answer is not HTTP as weir speaks it: "));
    must_hear("GET", "/", "until the end");
    must_hear("GET", "/", "hi");
}

static void sends_what_it_is_told(void **state)
{
    static char token[5001];
    static const struct weir_http_header extra = {"Accept", {"text/event-stream", 17}};
    char *at;

    (void)state;
    start_peer(peer_mirrors);
    memset(token, 't', sizeof(token) - 1);
    use(&(struct weir_http_endpoint){.unix_path = path, .token = token}, TIMEOUT_MS);
    assert_int_equal(weir_http_client_request(&client, "GET", WEIR_STR("/x?y"), &extra, 1,
                                              WEIR_STR(""), &head, &err),
                     0);
    assert_int_equal(weir_http_client_read_all(&client, &body, &err), 0);
    assert_int_equal(strncmp(body.data, "GET /x?y HTTP/1.1\r\nHost: localhost\r\n", 36), 0);
    at = strstr(body.data, "\r\nAuthorization: Bearer ");
    assert_non_null(at);
    /* Whole, however long. */
    assert_int_equal(strncmp(at + 24, token, sizeof(token) - 1), 0);
    assert_int_equal(strncmp(at + 24 + 5000, "\r\nAccept: text/event-stream\r\n\r\n", 31), 0);
    client.last = true;
    assert_int_equal(ask("GET", "/x", WEIR_STR("")), 0);
    assert_non_null(strstr(weir_buf_cstr(&body), "\r\nConnection: close\r\n"));
}

static void refuses_what_would_smuggle(void **state)
{
    static const struct weir_http_header bad = {"X", {"a\r\nY: b", 7}};

    (void)state;
    assert_int_equal(weir_http_client_request(&client, "GET", WEIR_STR("/"), &bad, 1, WEIR_STR(""),
                                              &head, &err),
                     WEIR_E_INVALID);
    assert_int_equal(ask("GET", "/a b", WEIR_STR("")), WEIR_E_INVALID);
    assert_int_equal(ask("G T", "/", WEIR_STR("")), WEIR_E_INVALID);
    use(&(struct weir_http_endpoint){.unix_path = path, .token = "a\nb"}, TIMEOUT_MS);
    assert_int_equal(ask("GET", "/", WEIR_STR("")), WEIR_E_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(asks_over_both_kinds_of_socket),
        TEST(large_bodies_go_both_ways),
        TEST(streams_are_read_in_pieces),
        TEST(says_who_cannot_be_reached),
        TEST(connects_anew_when_an_idle_connection_was_closed),
        TEST(repeats_only_what_may_be_repeated),
        TEST(answers_nobody_asked_for_are_not_taken),
        TEST(an_early_answer_is_heard),
        TEST(waits_only_so_long),
        TEST(broken_answers_are_errors),
        TEST(sends_what_it_is_told),
        TEST(refuses_what_would_smuggle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
