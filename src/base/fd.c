#include "base/fd.h"

#include "base/buf.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 4096 };

static const char *word_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a folder";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

int weir_fd_open_file(int dir_fd, const char *path, int flags, struct weir_err *err)
{
    /* Without waiting: a pipe opens once somebody writes to it. */
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    struct stat st;
    int code;

    if (fd < 0 && errno == ENXIO)
        return weir_error(err, WEIR_E_INVALID, "it is no file but a socket");
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    code = fd < 0 || fstat(fd, &st) < 0
               ? weir_error_errno(err, errno, "it cannot be read")
               : weir_error(err, WEIR_E_INVALID, "it is no file but %s", word_of(st.st_mode));
    if (fd >= 0)
        close(fd);
    return code;
}

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
