#include "io/http_server.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "io/http_conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    ACCEPTS_AT_ONCE = 64,
    EVENTS_AT_ONCE = 64,
    SWEEP_MAX_MS = 1000,
    SWEEP_MIN_MS = 10,
    SWEEP_STOPPING_MS = 50,
    SCRATCH_BYTES = WEIR_HTTP_REPLY_HEADERS_MAX + 1024,
    TEXT_BYTES = 64 * 1024,
    ADDRESS_MAX = 64,
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* ── timers ── */

static void pause_listener(struct weir_http_listener *listener);
static void pause_listeners(struct weir_http_server *server);
static void resume_listeners(struct weir_http_server *server);
static void handle_closed(struct weir_http_server *server);

static void on_handle_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static void on_kick(uv_idle_t *kick)
{
    struct weir_http_server *server = kick->data;

    uv_idle_stop(kick);
    weir_http_conn_run_kicked(server);
}

void weir_http_server_start_kick(struct weir_http_server *server)
{
    uv_idle_start(&server->kick, on_kick);
}

/* Times are kept by looking at all connections now and then: no timer has to be moved for a
 * request.
 */
static void on_sweep(uv_timer_t *timer)
{
    struct weir_http_server *server = timer->data;
    struct weir_http_conn *next;

    for (struct weir_http_conn *conn = server->conns; conn != NULL; conn = next) {
        next = conn->next;
        weir_http_conn_check_time(conn);
    }
    if (server->paused)
        resume_listeners(server);
    if (server->stats.n_open == 0 && !server->paused)
        uv_timer_stop(timer);
}

static uint64_t sweep_interval(const struct weir_http_server *server)
{
    uint64_t interval = server->config.header_timeout_ms < server->config.idle_timeout_ms
                            ? server->config.header_timeout_ms
                            : server->config.idle_timeout_ms;

    interval /= 8;
    if (interval > SWEEP_MAX_MS)
        interval = SWEEP_MAX_MS;
    if (server->stopping && interval > SWEEP_STOPPING_MS)
        interval = SWEEP_STOPPING_MS;
    return interval < SWEEP_MIN_MS ? SWEEP_MIN_MS : interval;
}

static void start_sweep(struct weir_http_server *server)
{
    if (!uv_is_active((const uv_handle_t *)&server->sweep))
        uv_timer_start(&server->sweep, on_sweep, sweep_interval(server), sweep_interval(server));
}

/* ── accepting ── */

static void write_address(const union address *address, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (address->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof(host));
        snprintf(text, size, "[%s]:%u", host, ntohs(address->v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof(host));
        snprintf(text, size, "%s:%u", host, ntohs(address->v4.sin_port));
    }
}

/* Whoever can reach a port may open connections without end; the users of the machine keep a
 * quarter of them. */
static bool is_tcp_full(const struct weir_http_server *server)
{
    uint32_t max = server->config.max_connections;

    return server->n_tcp >= max - max / 4;
}

/* The one that has been idle, or has owed the head of a request, the longest. */
static struct weir_http_conn *find_dispensable(const struct weir_http_server *server, bool tcp_only)
{
    struct weir_http_conn *oldest = NULL;

    for (struct weir_http_conn *conn = server->conns; conn != NULL; conn = conn->next)
        if ((!tcp_only || !conn->peer.is_unix) && weir_http_conn_may_give_way(conn) &&
            (oldest == NULL || conn->since_ms <= oldest->since_ms))
            oldest = conn;
    return oldest;
}

/* Returns the descriptor, or -1 with errno set. */
static int accept_peer(const struct weir_http_listener *listener, struct weir_http_peer *ret_peer)
{
    union address address = {.v6 = {.sin6_family = AF_UNSPEC}};
    struct ucred cred = {.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t n = listener->is_unix ? sizeof(cred) : sizeof(address);
    int fd;

    *ret_peer = (struct weir_http_peer){.is_unix = listener->is_unix};
    if (listener->is_unix) {
        fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n);
        ret_peer->uid = cred.uid;
        ret_peer->gid = cred.gid;
        ret_peer->pid = cred.pid;
        return fd;
    }
    fd = accept4(listener->fd, &address.any, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        write_address(&address, ret_peer->text, sizeof(ret_peer->text));
    return fd;
}

/* Returns whether another connection may be waiting. gives_way is closed if one was. */
static bool accept_one(struct weir_http_listener *listener, struct weir_http_conn *gives_way)
{
    struct weir_http_server *server = listener->server;
    struct weir_http_conn *conn;
    struct weir_http_peer peer;
    int fd = accept_peer(listener, &peer);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_listeners(server);
        return errno == EINTR || errno == ECONNABORTED;
    }
    if (gives_way != NULL) {
        weir_http_conn_enter(gives_way);
        gives_way->broken = true;
        weir_http_conn_leave(gives_way);
    }
    start_sweep(server);
    conn = weir_http_conn_open(server, fd, &peer);
    /* While stopping, the caller is the application: handlers are called later. */
    if (conn != NULL && !server->stopping)
        weir_http_conn_serve(conn);
    return true;
}

static void accept_waiting(struct weir_http_listener *listener)
{
    struct weir_http_server *server = listener->server;

    for (int i = 0; i < ACCEPTS_AT_ONCE && !listener->paused; i++) {
        bool tcp_full = !listener->is_unix && is_tcp_full(server);
        bool is_full = tcp_full || server->stats.n_open >= server->config.max_connections;
        struct weir_http_conn *gives_way = is_full ? find_dispensable(server, tcp_full) : NULL;

        if (is_full && gives_way == NULL) {
            pause_listener(listener);
            return;
        }
        if (!accept_one(listener, gives_way))
            return;
    }
}

static void on_listener_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    accept_waiting(poll->data);
}

/* New connections wait in the kernel's queue meanwhile. The sweep tries again. */
static void pause_listener(struct weir_http_listener *listener)
{
    listener->paused = true;
    listener->server->paused = true;
    uv_poll_stop(&listener->poll);
    start_sweep(listener->server);
}

static void pause_listeners(struct weir_http_server *server)
{
    for (struct weir_http_listener *l = server->listeners; l != NULL; l = l->next)
        pause_listener(l);
}

static void resume_listeners(struct weir_http_server *server)
{
    server->paused = false;
    for (struct weir_http_listener *l = server->listeners; l != NULL; l = l->next) {
        if (l->paused)
            uv_poll_start(&l->poll, UV_READABLE, on_listener_ready);
        l->paused = false;
    }
}

/* ── listening ── */

static void on_listener_closed(uv_handle_t *handle)
{
    struct weir_http_listener *listener = handle->data;
    struct weir_http_server *server = listener->server;

    weir_mem_free(listener);
    handle_closed(server);
}

static void close_socket(struct weir_http_listener *listener)
{
    if (listener->is_unix)
        weir_unix_listener_finish(&listener->unix_socket);
    else if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}

/* Owns the listener from here on, also on failure. */
static int add_listener(struct weir_http_server *server, struct weir_http_listener *listener,
                        struct weir_err *err)
{
    int status = uv_poll_init(server->loop, &listener->poll, listener->fd);

    if (status < 0) {
        close_socket(listener);
        weir_mem_free(listener);
        return weir_error(err, WEIR_E_IO, "cannot watch a listening socket: %s",
                          uv_strerror(status));
    }
    server->n_handles++;
    listener->server = server;
    listener->poll.data = listener;
    listener->next = server->listeners;
    server->listeners = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_listener_ready);
    return 0;
}

static struct weir_http_listener *new_listener(struct weir_http_server *server,
                                               struct weir_err *err)
{
    struct weir_http_listener *listener;

    WEIR_ASSERT(!server->stopping);
    listener = weir_mem_alloc_array(1, sizeof(*listener));
    if (listener == NULL)
        weir_error(err, WEIR_E_NO_MEMORY, "no memory for a listening socket");
    return listener;
}

int weir_http_server_listen_unix(struct weir_http_server *server, const char *path, mode_t mode,
                                 struct weir_err *err)
{
    struct weir_http_listener *listener = new_listener(server, err);
    int code;

    if (listener == NULL)
        return WEIR_E_NO_MEMORY;
    code = weir_unix_listen(path, mode, &listener->unix_socket, err);
    if (code < 0) {
        weir_mem_free(listener);
        return code;
    }
    listener->is_unix = true;
    listener->fd = listener->unix_socket.fd;
    return add_listener(server, listener, err);
}

static int parse_address(const char *text, union address *ret_address, struct weir_err *err)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;
    union address address = {.v6 = {.sin6_family = AF_UNSPEC}};
    char host[ADDRESS_MAX];
    uint64_t port;

    if (colon == NULL || n >= sizeof(host) || !weir_str_to_u64(weir_str(colon + 1), &port) ||
        port > UINT16_MAX)
        return weir_error(err, WEIR_E_INVALID, "'%s' is not ADDRESS:PORT", text);
    memcpy(host, text, n);
    host[n] = '\0';
    if (strcmp(host, "localhost") == 0)
        memcpy(host, "127.0.0.1", sizeof("127.0.0.1"));
    if (host[0] == '[' && n > 0 && host[n - 1] == ']') {
        host[n - 1] = '\0';
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons((uint16_t)port);
        if (inet_pton(AF_INET6, host + 1, &address.v6.sin6_addr) != 1)
            return weir_error(err, WEIR_E_INVALID, "'%s' holds no IPv6 address", text);
    } else {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons((uint16_t)port);
        if (inet_pton(AF_INET, host, &address.v4.sin_addr) != 1)
            return weir_error(err, WEIR_E_INVALID,
                              "'%s' holds no IPv4 address, nor an IPv6 address in brackets", text);
    }
    *ret_address = address;
    return 0;
}

/* Returns the descriptor, or a negative code. */
static int listen_at(const char *text, const union address *address, uint16_t *ret_port,
                     struct weir_err *err)
{
    bool is_v6 = address->any.sa_family == AF_INET6;
    socklen_t n = is_v6 ? sizeof(address->v6) : sizeof(address->v4);
    union address bound = {.v6 = {.sin6_family = AF_UNSPEC}};
    int one = 1;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return weir_error_errno(err, errno, "cannot make a socket for '%s'", text);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    /* Inherited by what is accepted. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (is_v6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(fd, &address->any, n) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &bound.any, &n) < 0) {
        int errnum = errno;

        close(fd);
        weir_error_errno(err, errnum, "cannot listen on '%s'", text);
        if (errnum == EADDRINUSE)
            weir_error_hint(err, "another weir, or another program, does; port 0 is any free one");
        return weir_error_code(err);
    }
    *ret_port = ntohs(is_v6 ? bound.v6.sin6_port : bound.v4.sin_port);
    return fd;
}

int weir_http_server_listen_tcp(struct weir_http_server *server, const char *address,
                                uint16_t *ret_port, struct weir_err *err)
{
    struct weir_http_listener *listener;
    union address where;
    uint16_t port = 0;
    int code = parse_address(address, &where, err);

    if (code < 0)
        return code;
    listener = new_listener(server, err);
    if (listener == NULL)
        return WEIR_E_NO_MEMORY;
    listener->fd = listen_at(address, &where, &port, err);
    if (listener->fd < 0) {
        code = listener->fd;
        weir_mem_free(listener);
        return code;
    }
    code = add_listener(server, listener, err);
    if (code == 0 && ret_port != NULL)
        *ret_port = port;
    return code;
}

/* ── life ── */

static void set_defaults(struct weir_http_server_config *config)
{
    if (config->max_connections == 0)
        config->max_connections = 1024;
    if (config->header_timeout_ms == 0)
        config->header_timeout_ms = 10000;
    if (config->idle_timeout_ms == 0)
        config->idle_timeout_ms = 60000;
    if (config->body_max_bytes == 0)
        config->body_max_bytes = WEIR_HTTP1_BODY_MAX;
    if (config->write_high_bytes == 0)
        config->write_high_bytes = 256 * 1024;
}

static void on_conns_ready(uv_poll_t *poll, int status, int events)
{
    struct weir_http_server *server = poll->data;
    struct epoll_event ready[EVENTS_AT_ONCE];
    int n = epoll_wait(server->epoll_fd, ready, EVENTS_AT_ONCE, 0);

    (void)status;
    (void)events;
    for (int i = 0; i < n; i++)
        weir_http_conn_ready(ready[i].data.ptr, ready[i].events);
}

/* The set of connections, watched by the loop. */
static int init_watch(struct weir_http_server *server, struct weir_err *err)
{
    int status;

    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (server->epoll_fd < 0)
        return weir_error_errno(err, errno, "cannot make an epoll set");
    status = uv_poll_init(server->loop, &server->poll, server->epoll_fd);
    if (status < 0) {
        close(server->epoll_fd);
        return weir_error(err, WEIR_E_IO, "cannot watch an epoll set: %s", uv_strerror(status));
    }
    server->poll.data = server;
    uv_poll_start(&server->poll, UV_READABLE, on_conns_ready);
    return 0;
}

static void init_handles(struct weir_http_server *server)
{
    uv_timer_init(server->loop, &server->sweep);
    uv_idle_init(server->loop, &server->kick);
    server->sweep.data = server;
    server->kick.data = server;
    server->n_handles = 3; /* with poll */
}

int weir_http_server_create(struct uv_loop_s *loop, const struct weir_http_server_config *config,
                            const struct weir_http_handler *handler,
                            struct weir_http_server **ret_server, struct weir_err *err)
{
    weir_cleanup_free struct weir_http_server *server = weir_mem_alloc_array(1, sizeof(*server));
    weir_cleanup_free char *read_buf = weir_mem_alloc(WEIR_HTTP_READ_BYTES);
    int code;

    WEIR_ASSERT(handler->on_request != NULL);
    if (server == NULL || read_buf == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a server");
    server->loop = loop;
    server->config = *config;
    server->handler = *handler;
    set_defaults(&server->config);
    weir_buf_init(&server->scratch, SCRATCH_BYTES);
    weir_buf_init(&server->text, TEXT_BYTES);
    weir_buf_init(&server->date, ADDRESS_MAX);
    code = init_watch(server, err);
    if (code < 0)
        return code;
    init_handles(server);
    server->read_buf = WEIR_TAKE_PTR(read_buf);
    *ret_server = WEIR_TAKE_PTR(server);
    return 0;
}

static void free_server(struct weir_http_server *server)
{
    void (*on_done)(void *ctx) = server->on_done;
    void *ctx = server->done_ctx;

    weir_buf_finish(&server->scratch);
    weir_buf_finish(&server->text);
    weir_buf_finish(&server->date);
    weir_mem_free(server->read_buf);
    weir_mem_free(server);
    if (on_done != NULL)
        on_done(ctx);
}

static void handle_closed(struct weir_http_server *server)
{
    server->n_handles--;
    if (server->n_handles == 0)
        free_server(server);
}

static void close_own_handles(struct weir_http_server *server)
{
    uv_close((uv_handle_t *)&server->poll, on_handle_closed);
    close(server->epoll_fd);
    uv_close((uv_handle_t *)&server->sweep, on_handle_closed);
    uv_close((uv_handle_t *)&server->kick, on_handle_closed);
}

void weir_http_server_conn_idle(struct weir_http_server *server)
{
    if (!server->stopping)
        resume_listeners(server);
}

void weir_http_server_conn_closed(struct weir_http_server *server)
{
    server->stats.n_open--;
    if (server->stopping && server->stats.n_open == 0)
        close_own_handles(server);
    else if (server->paused && !server->stopping)
        resume_listeners(server);
}

void weir_http_server_shutdown(struct weir_http_server *server, uint32_t grace_ms,
                               void (*on_done)(void *ctx), void *ctx)
{
    struct weir_http_listener *next;

    WEIR_ASSERT(!server->stopping);
    uv_update_time(server->loop);
    server->on_done = on_done;
    server->done_ctx = ctx;
    server->stopping = true;
    server->stop_at_ms = uv_now(server->loop) + grace_ms;
    for (struct weir_http_listener *l = server->listeners; l != NULL; l = next) {
        next = l->next;
        accept_waiting(l);
        uv_close((uv_handle_t *)&l->poll, on_listener_closed);
        close_socket(l);
    }
    server->listeners = NULL;
    server->paused = false;
    uv_timer_stop(&server->sweep);
    if (server->stats.n_open == 0) {
        close_own_handles(server);
        return;
    }
    start_sweep(server);
    /* Each reads once more before it closes, if it is idle. */
    for (struct weir_http_conn *conn = server->conns; conn != NULL; conn = conn->next) {
        conn->unread = true;
        weir_http_conn_kick(conn);
    }
}

void weir_http_server_stats(const struct weir_http_server *server,
                            struct weir_http_server_stats *ret_stats)
{
    *ret_stats = server->stats;
}
