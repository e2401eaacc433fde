#include "base/fd.h"

#include "base/buf.h"

#include <errno.h>
#include <unistd.h>

enum { READ_BYTES = 4096 };

int weir_fd_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int weir_fd_read_all(int fd, struct weir_buf *out)
{
    for (;;) {
        size_t n_free = out->max - out->len;
        size_t n_wanted = n_free < READ_BYTES ? n_free : READ_BYTES;
        char beyond;
        char *room = n_wanted == 0 ? &beyond : weir_buf_reserve(out, n_wanted);
        ssize_t n;

        if (room == NULL)
            return 0;
        n = read(fd, room, n_wanted == 0 ? 1 : n_wanted);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        if (n_wanted == 0) {
            weir_buf_reserve(out, 1); /* which fails: there is more than it may hold */
            return 0;
        }
        weir_buf_commit(out, (size_t)n);
    }
}
