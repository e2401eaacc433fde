/* The bytes of a connection, in and out: plain sockets. What cannot be sent is kept. TLS goes here.
 */
#include "io/http_conn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

enum { OUT_KEPT_BYTES = 64 * 1024 };

ssize_t weir_http_conn_receive(struct weir_http_conn *conn, char *room, size_t n)
{
    ssize_t got;

    do {
        got = recv(conn->fd, room, n, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN ? WEIR_E_AGAIN : WEIR_E_IO;
    return got;
}

/* Bytes sent, WEIR_E_AGAIN or WEIR_E_IO. */
static ssize_t send_parts(struct weir_http_conn *conn, const struct iovec *parts, size_t n_parts)
{
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = n_parts};
    ssize_t sent;

    do {
        sent = sendmsg(conn->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == EAGAIN ? WEIR_E_AGAIN : WEIR_E_IO;
    return sent;
}

bool weir_http_conn_is_hung_up(const struct weir_http_conn *conn)
{
    struct pollfd fd = {.fd = conn->fd};

    return poll(&fd, 1, 0) == 1 && (fd.revents & (POLLHUP | POLLERR)) != 0;
}

/* ── output ── */

void weir_http_conn_touch(struct weir_http_conn *conn)
{
    conn->since_ms = uv_now(conn->server->loop);
}

size_t weir_http_conn_unsent(const struct weir_http_conn *conn)
{
    return conn->out.len - conn->out_at;
}

static void keep_rest(struct weir_http_conn *conn, const struct iovec *parts, size_t n_parts,
                      size_t sent)
{
    bool was_empty = weir_http_conn_unsent(conn) == 0;

    for (size_t i = 0; i < n_parts; i++) {
        size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;

        sent -= skip;
        if (parts[i].iov_len > skip)
            weir_buf_append(&conn->out, (const char *)parts[i].iov_base + skip,
                            parts[i].iov_len - skip);
    }
    if (conn->out.failed != 0)
        conn->broken = true;
    else if (was_empty && weir_http_conn_unsent(conn) > 0)
        weir_http_conn_touch(conn);
}

void weir_http_conn_send(struct weir_http_conn *conn, const struct iovec *parts, size_t n_parts)
{
    ssize_t sent = 0;

    if (conn->broken)
        return;
    if (weir_http_conn_unsent(conn) == 0)
        sent = send_parts(conn, parts, n_parts);
    if (sent == WEIR_E_IO)
        conn->broken = true;
    else
        keep_rest(conn, parts, n_parts, sent > 0 ? (size_t)sent : 0);
}

static void forget_sent(struct weir_http_conn *conn)
{
    if (weir_http_conn_unsent(conn) == 0) {
        if (conn->out.cap > OUT_KEPT_BYTES || conn->request == NULL)
            weir_buf_finish(&conn->out);
        else
            weir_buf_reset(&conn->out);
        conn->out_at = 0;
    } else if (conn->out_at > conn->out.len / 2) {
        weir_buf_consume(&conn->out, conn->out_at);
        conn->out_at = 0;
    }
}

void weir_http_conn_flush(struct weir_http_conn *conn)
{
    struct iovec part = {.iov_len = weir_http_conn_unsent(conn)};
    ssize_t sent;

    if (part.iov_len == 0)
        return;
    part.iov_base = conn->out.data + conn->out_at;
    sent = send_parts(conn, &part, 1);
    if (sent == WEIR_E_IO)
        conn->broken = true;
    if (sent <= 0)
        return;
    conn->out_at += (size_t)sent;
    weir_http_conn_touch(conn);
    forget_sent(conn);
}
