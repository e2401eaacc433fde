/* Small POSTs over a unix socket: what a request costs weir's server, beside a floor that accepts,
 * reads once, answers without looking, and closes. One client, one server, a process each.
 *
 *     http-bench [SECONDS_OF_A_ROUND]
 *
 * once: a connection each, "Connection: close"; curl: the same without that header, so the client
 * is the one who closes; kept: one connection for all. The figures are medians of interleaved
 * rounds: CPU time of the server for a request, and requests in a second of the wall clock. */
#include "base/clock.h"
#include "base/err.h"
#include "io/http_server.h"
#include "io/unix_socket.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#define BODY                                                                                       \
    "{\"gpus\":1,\"command\":[\"python3\",\"train.py\",\"--epochs\",\"3\"],\"name\":\"night\"}"

enum { N_ROUNDS = 5, N_KINDS = 2, N_MODES = 3 };

static const char *const kinds[N_KINDS] = {"floor", "weir"};
static const char *const modes[N_MODES] = {"once", "curl", "kept"};
static const char answer[] = "{\"id\":\"job-1\"}";

static void must(bool cond, const char *what)
{
    if (!cond) {
        perror(what);
        exit(1);
    }
}

/* ── servers ── */

static void serve_floor(const char *path, int ready_fd)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"id\":\"job-1\"}";
    struct weir_unix_listener listener;
    char room[4096];

    must(weir_unix_listen(path, 0600, &listener, NULL) == 0, "listen");
    must(write(ready_fd, "x", 1) == 1, "write");
    must(fcntl(listener.fd, F_SETFL, 0) == 0, "fcntl");
    for (;;) {
        int fd = accept(listener.fd, NULL, NULL);
        ssize_t n;

        while ((n = recv(fd, room, sizeof(room), 0)) > 0 &&
               send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) > 0)
            if (memmem(room, (size_t)n, "close\r\n", 7) != NULL)
                break;
        close(fd);
    }
}

static void on_request(void *ctx, struct weir_http_request *request)
{
    (void)ctx;
    must(weir_http_request_body(request).len == sizeof(BODY) - 1, "body");
    weir_http_reply(request, 200, "application/json", weir_str(answer));
}

static void serve_weir(const char *path, int ready_fd)
{
    static const struct weir_http_handler handler = {NULL, NULL, on_request, NULL};
    static const struct weir_http_server_config config = {0};
    struct weir_http_server *server;

    must(weir_http_server_create(uv_default_loop(), &config, &handler, &server, NULL) == 0,
         "create");
    must(weir_http_server_listen_unix(server, path, 0600, NULL) == 0, "listen");
    must(write(ready_fd, "x", 1) == 1, "write");
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static pid_t start(int kind, const char *path)
{
    int ready[2];
    char byte;
    pid_t pid;

    must(pipe(ready) == 0, "pipe");
    pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        if (kind == 0)
            serve_floor(path, ready[1]);
        else
            serve_weir(path, ready[1]);
        _exit(0);
    }
    must(read(ready[0], &byte, 1) == 1, "the server's start");
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* CPU time that the server took, in microseconds. */
static double stop(pid_t pid, const char *path)
{
    struct rusage used;

    kill(pid, SIGTERM);
    must(wait4(pid, NULL, 0, &used) == pid, "wait");
    unlink(path);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* ── client ── */

static void exchange(int fd, const char *text, size_t n)
{
    char room[4096];
    ssize_t got;

    must(send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n, "send");
    got = recv(fd, room, sizeof(room), 0);
    must(got > 0 && memmem(room, (size_t)got, answer, sizeof(answer) - 1) != NULL, "answer");
}

static unsigned ask(int mode, const char *path, double seconds)
{
    char text[512];
    int n =
        snprintf(text, sizeof(text),
                 "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "%sContent-Length: %zu\r\n\r\n%s",
                 mode == 0 ? "Connection: close\r\n" : "", sizeof(BODY) - 1, BODY);
    int64_t until = weir_clock_mono_us() + (int64_t)(seconds * 1e6);
    int fd = -1;
    unsigned done = 0;

    while (weir_clock_mono_us() < until) {
        if (fd < 0)
            fd = weir_unix_connect(path, 1000, NULL);
        must(fd >= 0, "connect");
        exchange(fd, text, (size_t)n);
        done++;
        if (mode < 2) {
            close(fd);
            fd = -1;
        }
    }
    if (fd >= 0)
        close(fd);
    return done;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, N_ROUNDS, sizeof(*values), by_size);
    return values[N_ROUNDS / 2];
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    double cpu_us[N_MODES][N_KINDS][N_ROUNDS];
    double rate[N_MODES][N_KINDS][N_ROUNDS];
    char dir[] = "/tmp/http-bench-XXXXXX";
    char path[64];

    must(mkdtemp(dir) != NULL, "mkdtemp");
    snprintf(path, sizeof(path), "%s/s", dir);
    for (int round = 0; round < N_ROUNDS; round++) {
        for (int mode = 0; mode < N_MODES; mode++) {
            for (int kind = 0; kind < N_KINDS; kind++) {
                pid_t pid = start(kind, path);
                unsigned done = ask(mode, path, seconds);

                cpu_us[mode][kind][round] = stop(pid, path) / done;
                rate[mode][kind][round] = done / seconds;
            }
        }
    }
    printf("%-6s %-6s %12s %12s\n", "mode", "server", "CPU us/req", "req/s");
    for (int mode = 0; mode < N_MODES; mode++)
        for (int kind = 0; kind < N_KINDS; kind++)
            printf("%-6s %-6s %12.2f %12.0f\n", modes[mode], kinds[kind],
                   median(cpu_us[mode][kind]), median(rate[mode][kind]));
    rmdir(dir);
    return 0;
}
