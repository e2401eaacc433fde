/* io/unix_socket.h — unix stream sockets by path, however long the path.
 *
 * sockaddr_un holds 107 bytes. A longer path is reached through its directory, held open, as
 * /proc/self/fd/N/NAME; so only the last component is bound by that length. */
#ifndef WEIR_IO_UNIX_SOCKET_H
#define WEIR_IO_UNIX_SOCKET_H

#include <stdint.h>
#include <sys/types.h>

struct weir_err;

struct weir_unix_listener {
    int fd;
    int dir_fd; /* of the directory that holds the socket */
    char *name; /* in it */
    dev_t device;
    ino_t inode;
};

/* Listens, non-blocking. The socket has the mode from its first moment on. One that nobody listens
 * on is replaced; a live one, or any other kind of file, is WEIR_E_EXISTS. */
int weir_unix_listen(const char *path, mode_t mode, struct weir_unix_listener *ret_listener,
                     struct weir_err *err);
/* Removes the socket, if it is still the one that was made, and closes all. */
void weir_unix_listener_finish(struct weir_unix_listener *listener);

/* Connects, blocking, for timeout_ms at most (0: for ever). Returns the descriptor (>= 0), or a
 * negative code: WEIR_E_UNAVAILABLE if nobody listens there, WEIR_E_NOT_FOUND, WEIR_E_TIMEOUT… */
int weir_unix_connect(const char *path, uint32_t timeout_ms, struct weir_err *err);

#endif
