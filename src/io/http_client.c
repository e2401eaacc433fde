#include "io/http_client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "fmt/http1_write.h"
#include "fmt/url.h"
#include "io/unix_socket.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_BYTES = 65536, HEAD_BYTES_MAX = 64 * 1024, CONNECT_SLICE_MS = 100 };

void weir_http_client_init(struct weir_http_client *client,
                           const struct weir_http_endpoint *endpoint, int timeout_ms)
{
    *client = (struct weir_http_client){
        .endpoint = *endpoint, .fd = -1, .timeout_ms = timeout_ms, .in = WEIR_BUF_INIT(READ_BYTES)};
    weir_http1_parser_init(&client->parser, WEIR_HTTP1_RESPONSE);
    weir_arena_init(&client->arena, 0);
}

void weir_http_client_close(struct weir_http_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    client->in_body = false;
    client->input = weir_str_n(NULL, 0);
}

void weir_http_client_finish(struct weir_http_client *client)
{
    weir_http_client_close(client);
    weir_http1_parser_finish(&client->parser);
    weir_arena_finish(&client->arena);
    weir_buf_finish(&client->in);
}

/* ---- waiting ---- */

static int wait_for(struct weir_http_client *client, short events, short *ret_events,
                    struct weir_err *err)
{
    int timeout_ms = client->timeout_ms;
    int64_t deadline_ms = weir_clock_mono_ms() + timeout_ms;
    int left_ms = timeout_ms;

    for (;;) {
        struct pollfd wait = {.fd = client->fd, .events = events};
        struct timespec left = {.tv_sec = left_ms / 1000,
                                .tv_nsec = (long)(left_ms % 1000) * 1000000};
        int r = ppoll(&wait, 1, left_ms < 0 ? NULL : &left, client->wait_mask);

        if (r > 0) {
            *ret_events = wait.revents;
            return 0;
        }
        if (r == 0)
            return weir_error(err, WEIR_E_TIMEOUT, "weir did not answer within %d ms",
                              client->timeout_ms);
        if (errno != EINTR)
            return weir_error_errno(err, errno, "wait for weir");
        if (client->interrupted != NULL && client->interrupted(client->interrupted_arg))
            return weir_error(err, WEIR_E_TIMEOUT, "interrupted");
        if (client->timeout_ms != timeout_ms) {
            timeout_ms = client->timeout_ms;
            deadline_ms = weir_clock_mono_ms() + timeout_ms;
        }
        if (timeout_ms >= 0) {
            int64_t rest = deadline_ms - weir_clock_mono_ms();

            left_ms = rest > 0 ? (int)rest : 0;
        }
    }
}

/* ---- connecting ---- */

const char *weir_http_endpoint_hint(const struct weir_http_endpoint *endpoint)
{
    bool is_here = endpoint->unix_path != NULL || weir_url_is_loopback(weir_str(endpoint->host)) ||
                   strcmp(endpoint->host, "0.0.0.0") == 0 || strcmp(endpoint->host, "::") == 0;

    return is_here ? "start it with `weir up`" : "is it running, and is the address right?";
}

struct weir_str weir_http_endpoint_text(const struct weir_http_endpoint *endpoint, char *text,
                                        size_t size)
{
    bool is_v6 = endpoint->unix_path == NULL && strchr(endpoint->host, ':') != NULL;

    if (endpoint->unix_path != NULL)
        snprintf(text, size, "%s", endpoint->unix_path);
    else
        snprintf(text, size, "%s%s%s:%u", is_v6 ? "[" : "", endpoint->host, is_v6 ? "]" : "",
                 endpoint->port);
    return weir_str(text);
}

static int cannot_reach(const struct weir_http_client *client, int code, const char *why,
                        struct weir_err *err)
{
    const struct weir_http_endpoint *at = &client->endpoint;

    char where[PATH_MAX];

    weir_http_endpoint_text(at, where, sizeof(where));
    weir_error(err, code, "cannot reach weir at '%s': %s", where, why);
    if (code == WEIR_E_DENIED)
        weir_error_hint(err, "it serves other users only if root started it");
    else
        weir_error_hint(err, "%s", weir_http_endpoint_hint(at));
    return code;
}

static bool is_interrupted(struct weir_http_client *client)
{
    struct timespec now = {0, 0};

    ppoll(NULL, 0, &now, client->wait_mask);
    return client->interrupted != NULL && client->interrupted(client->interrupted_arg);
}

/* A full backlog makes connect() wait, without a look at signals: so a little at a time. */
static int connect_in_slices(struct weir_http_client *client, struct weir_err *err)
{
    int64_t begun_ms = weir_clock_mono_ms();

    for (;;) {
        int64_t gone_ms = weir_clock_mono_ms() - begun_ms;
        int64_t left_ms = client->timeout_ms < 0 ? CONNECT_SLICE_MS : client->timeout_ms - gone_ms;
        int fd;

        if (left_ms <= 0 && gone_ms > 0)
            return WEIR_E_TIMEOUT;
        if (left_ms > CONNECT_SLICE_MS)
            left_ms = CONNECT_SLICE_MS;
        *err = (struct weir_err)WEIR_ERR_INIT;
        fd =
            weir_unix_connect(client->endpoint.unix_path, left_ms > 0 ? (uint32_t)left_ms : 1, err);
        if (fd != WEIR_E_TIMEOUT || is_interrupted(client))
            return fd;
    }
}

static int connect_unix(struct weir_http_client *client, struct weir_err *err)
{
    struct weir_err cause = WEIR_ERR_INIT;
    int fd = connect_in_slices(client, &cause);

    if (fd >= 0) {
        client->fd = fd;
        return 0;
    }
    switch (fd) {
    case WEIR_E_UNAVAILABLE:
        return cannot_reach(client, WEIR_E_UNAVAILABLE, "connection refused", err);
    case WEIR_E_NOT_FOUND:
        return cannot_reach(client, WEIR_E_UNAVAILABLE, "no such socket", err);
    case WEIR_E_DENIED:
        return cannot_reach(client, WEIR_E_DENIED, "permission denied", err);
    case WEIR_E_TIMEOUT:
        return weir_error(err, WEIR_E_TIMEOUT, "weir did not answer within %d ms",
                          client->timeout_ms);
    default:
        return weir_error(err, fd, "%s", cause.text);
    }
}

static int connect_address(struct weir_http_client *client, const struct addrinfo *address)
{
    int one = 1;
    int errnum = 0;
    socklen_t len = sizeof(errnum);
    short events;

    client->fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (client->fd < 0)
        return errno;
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(client->fd, address->ai_addr, address->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        errnum = errno;
    else if (wait_for(client, POLLOUT, &events, NULL) < 0)
        errnum = ETIMEDOUT;
    else
        getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &errnum, &len);
    if (errnum == 0)
        return 0;
    close(client->fd);
    client->fd = -1;
    return errnum;
}

static int connect_tcp(struct weir_http_client *client, struct weir_err *err)
{
    const struct weir_http_endpoint *at = &client->endpoint;
    struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char port[8];
    char reason[128];
    int errnum = ECONNREFUSED;
    int r;

    snprintf(port, sizeof(port), "%u", at->port);
    r = getaddrinfo(at->host, port, &want, &found);
    if (r != 0)
        return weir_error(err, WEIR_E_UNAVAILABLE, "cannot find '%s': %s", at->host,
                          gai_strerror(r));
    for (const struct addrinfo *each = found; each != NULL && client->fd < 0; each = each->ai_next)
        errnum = connect_address(client, each);
    freeaddrinfo(found);
    if (client->fd >= 0)
        return 0;
    return cannot_reach(client, WEIR_E_UNAVAILABLE, strerror_r(errnum, reason, sizeof(reason)),
                        err);
}

/* The server closed while the connection lay idle, or said what nobody asked for. */
static bool is_stale(const struct weir_http_client *client)
{
    char byte;
    ssize_t n = recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n >= 0 || errno != EAGAIN || client->input.len > 0;
}

static bool can_reuse(const struct weir_http_client *client)
{
    return client->fd >= 0 && client->reusable && !client->in_body && !is_stale(client);
}

static int connect_anew(struct weir_http_client *client, struct weir_err *err)
{
    weir_http_client_close(client);
    return client->endpoint.unix_path != NULL ? connect_unix(client, err)
                                              : connect_tcp(client, err);
}

/* ---- sending ---- */

static int write_token(const char *token, struct weir_buf *out, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf bearer = WEIR_BUF_INIT(HEAD_BYTES_MAX);

    weir_buf_puts(&bearer, "Bearer ");
    weir_buf_puts(&bearer, token);
    if (bearer.failed != 0)
        return weir_buf_check(&bearer, "the token", err);
    return weir_http1_write_header(out, WEIR_STR("Authorization"), weir_buf_view(&bearer), err);
}

static int write_head(const struct weir_http_client *client, const char *method,
                      struct weir_str target, const struct weir_http_header *headers,
                      size_t n_headers, size_t body_len, struct weir_buf *out, struct weir_err *err)
{
    char host[300];
    int r = weir_http1_write_request(out, weir_str(method), target, err);

    if (client->endpoint.unix_path != NULL)
        snprintf(host, sizeof(host), "localhost");
    else
        snprintf(host, sizeof(host),
                 strchr(client->endpoint.host, ':') != NULL ? "[%s]:%u" : "%s:%u",
                 client->endpoint.host, client->endpoint.port);
    if (r == 0)
        r = weir_http1_write_header(out, WEIR_STR("Host"), weir_str(host), err);
    if (r == 0 && client->endpoint.token != NULL)
        r = write_token(client->endpoint.token, out, err);
    for (size_t i = 0; r == 0 && i < n_headers; i++)
        r = weir_http1_write_header(out, weir_str(headers[i].name), headers[i].value, err);
    if (r == 0 && client->last)
        r = weir_http1_write_header(out, WEIR_STR("Connection"), WEIR_STR("close"), err);
    if (r == 0 && (body_len > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0))
        r = weir_http1_write_content_length(out, body_len);
    if (r == 0)
        r = weir_http1_write_head_end(out);
    return r < 0 ? r : weir_buf_check(out, "the request", err);
}

/* What is left of head and body from `sent` on. */
static size_t rest_of(struct weir_str head, struct weir_str body, size_t sent,
                      struct iovec ret_parts[2])
{
    struct weir_str rest[2] = {weir_str_sub(head, sent, head.len),
                               weir_str_sub(body, sent > head.len ? sent - head.len : 0, body.len)};
    size_t n = 0;

    for (int i = 0; i < 2; i++)
        if (rest[i].len > 0)
            ret_parts[n++] = (struct iovec){(void *)(uintptr_t)rest[i].ptr, rest[i].len};
    return n;
}

/* Returns 1 when the server will not take the rest: it has answered already, or closed. */
static int send_all(struct weir_http_client *client, struct weir_str head, struct weir_str body,
                    struct weir_err *err)
{
    size_t sent = 0;

    while (sent < head.len + body.len) {
        struct iovec parts[2];
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = rest_of(head, body, sent, parts)};
        ssize_t n = sendmsg(client->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        short events = 0;
        int r;

        if (n >= 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return 1;
        r = wait_for(client, POLLOUT | POLLIN, &events, err);
        if (r < 0)
            return r;
        if ((events & POLLIN) != 0)
            return 1;
    }
    return 0;
}

/* ---- receiving ---- */

/* 1: bytes came, 0: the server closed. */
static int receive(struct weir_http_client *client, struct weir_err *err)
{
    for (;;) {
        char *room;
        ssize_t n;

        weir_buf_reset(&client->in);
        room = weir_buf_reserve(&client->in, READ_BYTES);
        if (room == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory to read the answer");
        n = recv(client->fd, room, READ_BYTES, MSG_DONTWAIT);
        if (n > 0) {
            weir_buf_commit(&client->in, (size_t)n);
            client->input = weir_buf_view(&client->in);
            return 1;
        }
        if (n == 0)
            return 0;
        if (errno == EAGAIN || errno == EINTR) {
            short events;
            int r = wait_for(client, POLLIN, &events, err);

            if (r < 0)
                return r;
            continue;
        }
        return weir_error(err, WEIR_E_UNAVAILABLE, "the connection to weir broke");
    }
}

/* The next event that is not MORE. */
static int next_event(struct weir_http_client *client, enum weir_http1_event *ret_event,
                      struct weir_err *err)
{
    for (;;) {
        int r;

        *ret_event = weir_http1_next(&client->parser, &client->input, err);
        if (*ret_event == WEIR_HTTP1_EVENT_ERROR)
            return weir_error_wrap(err, "the answer is not HTTP as weir speaks it");
        if (*ret_event != WEIR_HTTP1_EVENT_MORE)
            return 0;
        r = receive(client, err);
        if (r < 0)
            return r;
        if (r > 0)
            continue;
        *ret_event = weir_http1_end_of_input(&client->parser, err);
        if (*ret_event == WEIR_HTTP1_EVENT_END)
            return 0;
        return weir_error(err, WEIR_E_UNAVAILABLE, "weir closed the connection");
    }
}

/* Sends on the connection there is, and reads the head of the answer. */
static int exchange(struct weir_http_client *client, const char *method, struct weir_str head,
                    struct weir_str body, struct weir_err *err)
{
    enum weir_http1_event event;
    int r;
    int sent;

    weir_arena_reset(&client->arena);
    weir_http1_parser_begin(&client->parser, &client->arena);
    weir_http1_parser_set_body_max(&client->parser, UINT64_MAX);
    if (strcmp(method, "HEAD") == 0)
        weir_http1_parser_answers_head(&client->parser);
    client->was_sent = true;
    sent = send_all(client, head, body, err);
    if (sent < 0)
        return sent;
    r = next_event(client, &event, err);
    if (r < 0)
        return r;
    client->in_body = true;
    client->reusable = client->parser.head.keep_alive && sent == 0;
    return 0;
}

/* Doing it twice is like doing it once: RFC 9110, 9.2.2, or the caller's own key. */
static bool may_repeat(const char *method, const struct weir_http_header *headers, size_t n_headers)
{
    for (size_t i = 0; i < n_headers; i++)
        if (strcasecmp(headers[i].name, "Idempotency-Key") == 0)
            return true;
    return strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0;
}

int weir_http_client_request(struct weir_http_client *client, const char *method,
                             struct weir_str target, const struct weir_http_header *headers,
                             size_t n_headers, struct weir_str body,
                             const struct weir_http1_head **ret_head, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf head = WEIR_BUF_INIT(HEAD_BYTES_MAX);
    bool reused = can_reuse(client);
    int r = write_head(client, method, target, headers, n_headers, body.len, &head, err);

    client->was_sent = false;
    if (r < 0)
        return r;
    if (!reused)
        r = connect_anew(client, err);
    if (r == 0)
        r = exchange(client, method, weir_buf_view(&head), body, err);
    /* The server may have closed the idle connection just now, before it read the request; or
     * after.
     */
    if (r == WEIR_E_UNAVAILABLE && reused && weir_http1_parser_is_idle(&client->parser) &&
        may_repeat(method, headers, n_headers)) {
        r = connect_anew(client, err);
        if (r == 0)
            r = exchange(client, method, weir_buf_view(&head), body, err);
    }
    if (r < 0) {
        weir_http_client_close(client);
        return r;
    }
    *ret_head = &client->parser.head;
    return 0;
}

int weir_http_client_read(struct weir_http_client *client, struct weir_str *ret_piece,
                          struct weir_err *err)
{
    enum weir_http1_event event;
    int r;

    if (!client->in_body)
        return 0;
    r = next_event(client, &event, err);
    if (r < 0) {
        weir_http_client_close(client);
        return r;
    }
    if (event == WEIR_HTTP1_EVENT_BODY) {
        *ret_piece = client->parser.piece;
        return 1;
    }
    client->in_body = false;
    if (!client->reusable)
        weir_http_client_close(client);
    return 0;
}

int weir_http_client_read_all(struct weir_http_client *client, struct weir_buf *out,
                              struct weir_err *err)
{
    struct weir_str piece;
    int r;

    while ((r = weir_http_client_read(client, &piece, err)) > 0)
        weir_buf_str(out, piece);
    return r < 0 ? r : weir_buf_check(out, "the answer", err);
}
