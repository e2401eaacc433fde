/* A server and raw clients in one thread: the loop is turned by hand, so that a test decides what
 * the server has seen. */
#ifndef WEIR_TESTS_SUPPORT_HTTP_FIXTURE_H
#define WEIR_TESTS_SUPPORT_HTTP_FIXTURE_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "io/http_server.h"
#include "io/unix_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

enum { PATIENCE_MS = 20000, PEEK_MS = 30 };

struct fixture {
    uv_loop_t loop;
    struct weir_http_server *server;
    char dir[64];
    char path[128];
    uint16_t port;
    bool done; /* shut down */
};

static inline void fixture_done(void *ctx)
{
    ((struct fixture *)ctx)->done = true;
}

static inline void fixture_must(bool cond, const char *what)
{
    if (!cond) {
        fprintf(stderr, "fixture: %s failed (errno %d)\n", what, errno);
        abort();
    }
}

static inline void fixture_init(struct fixture *f, const struct weir_http_server_config *config,
                                const struct weir_http_handler *handler)
{
    struct weir_err err = WEIR_ERR_INIT;

    memset(f, 0, sizeof(*f));
    snprintf(f->dir, sizeof(f->dir), "/tmp/weir-http-XXXXXX");
    fixture_must(mkdtemp(f->dir) != NULL, "mkdtemp");
    snprintf(f->path, sizeof(f->path), "%s/s", f->dir);
    fixture_must(uv_loop_init(&f->loop) == 0, "uv_loop_init");
    fixture_must(weir_http_server_create(&f->loop, config, handler, &f->server, &err) == 0,
                 "create");
    fixture_must(weir_http_server_listen_unix(f->server, f->path, 0600, &err) == 0, "listen_unix");
    fixture_must(weir_http_server_listen_tcp(f->server, "127.0.0.1:0", &f->port, &err) == 0,
                 "listen_tcp");
}

static inline void turn(struct fixture *f)
{
    uv_run(&f->loop, UV_RUN_NOWAIT);
}

static inline void turn_for(struct fixture *f, int ms)
{
    int64_t until = weir_clock_mono_ms() + ms;

    do {
        turn(f);
        usleep(500);
    } while (weir_clock_mono_ms() < until);
}

static inline void fixture_finish(struct fixture *f)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    if (f->server != NULL)
        weir_http_server_shutdown(f->server, 0, fixture_done, f);
    while (!f->done) {
        turn(f);
        fixture_must(weir_clock_mono_ms() < until, "shutdown in time");
    }
    turn(f);
    fixture_must(uv_loop_close(&f->loop) == 0, "uv_loop_close");
    fixture_must(access(f->path, F_OK) < 0, "removal of the socket");
    rmdir(f->dir);
}

/* Does not wait for the server to accept. */
static inline int dial(struct fixture *f)
{
    struct weir_err err = WEIR_ERR_INIT;
    int fd = weir_unix_connect(f->path, 1000, &err);

    fixture_must(fd >= 0, err.text);
    return fd;
}

static inline int dial_tcp(struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(f->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fixture_must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0,
                 "connect");
    return fd;
}

/* Sends all, turning the loop while the server does not take it. False if it closed. */
static inline bool say_n(struct fixture *f, int fd, const char *data, size_t n)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent < 0) {
            turn(f);
            fixture_must(weir_clock_mono_ms() < until, "send in time");
            continue;
        }
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

static inline bool say(struct fixture *f, int fd, const char *text)
{
    return say_n(f, fd, text, strlen(text));
}

/* Appends what is there to hear. False at the end. */
static inline bool hear_some(int fd, struct weir_buf *heard)
{
    char room[65536];
    ssize_t n = recv(fd, room, sizeof(room), MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        return false;
    if (n > 0)
        weir_buf_append(heard, room, (size_t)n);
    return true;
}

/* Turns the loop until the server has closed, or said `text` (NULL: only closing will do). Whether
 * it did. */
static inline bool hear(struct fixture *f, int fd, struct weir_buf *heard, const char *text)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    while (weir_clock_mono_ms() < until) {
        bool open;

        if (text != NULL && strstr(weir_buf_cstr(heard), text) != NULL)
            return true;
        turn(f);
        open = hear_some(fd, heard);
        if (!open)
            return text == NULL || strstr(weir_buf_cstr(heard), text) != NULL;
        if (heard->len == 0)
            usleep(200);
    }
    return false;
}

static inline size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        n++;
    return n;
}

#endif
