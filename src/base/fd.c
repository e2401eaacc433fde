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
        char *room = weir_buf_reserve(out, READ_BYTES);
        ssize_t n;

        if (room == NULL)
            return 0;
        n = read(fd, room, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        weir_buf_commit(out, (size_t)n);
    }
}
