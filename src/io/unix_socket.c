#include "io/unix_socket.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 1024, LOCK_TRIES = 100, LOCK_WAIT_MS = 10 };

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int open_directory(const char *path, int flags, struct weir_err *err)
{
    size_t n = (size_t)(last_component(path) - path);
    weir_cleanup_free char *dir = n > 0 ? weir_mem_strdup(path) : weir_mem_strdup("./");
    int fd;

    if (dir == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a path");
    if (n > 0)
        dir[n] = '\0';
    fd = open(dir, flags | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return weir_error_errno(err, errno, "cannot open directory '%s'", dir);
    return fd;
}

/* The address of a name in an open directory. */
static int address_in(int dir_fd, const char *path, struct sockaddr_un *ret_address,
                      struct weir_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd,
                     last_component(path));

    if (n < 0 || (size_t)n >= sizeof(address.sun_path))
        return weir_error(err, WEIR_E_TOO_LARGE, "the name of socket '%s' is too long", path);
    *ret_address = address;
    return 0;
}

/* The path itself, where it fits: so that tools show it. */
static bool fits(const char *path, struct sockaddr_un *ret_address)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    if (len >= sizeof(address.sun_path))
        return false;
    memcpy(address.sun_path, path, len + 1);
    *ret_address = address;
    return true;
}

/* ret_dir_fd is -1 where no directory has to stay open. */
static int address_of(const char *path, struct sockaddr_un *ret_address, int *ret_dir_fd,
                      struct weir_err *err)
{
    weir_cleanup_fd int dir_fd = -1;
    int code;

    if (last_component(path)[0] == '\0')
        return weir_error(err, WEIR_E_INVALID, "socket path '%s' names no file", path);
    *ret_dir_fd = -1;
    if (fits(path, ret_address))
        return 0;
    dir_fd = open_directory(path, O_PATH, err);
    if (dir_fd < 0)
        return dir_fd;
    code = address_in(dir_fd, path, ret_address, err);
    if (code == 0)
        *ret_dir_fd = WEIR_TAKE_FD(dir_fd);
    return code;
}

static int make_socket(int flags, struct weir_err *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    return fd >= 0 ? fd : weir_error_errno(err, errno, "cannot make a unix socket");
}

/* Two servers that start at once must not each take the other's new socket for a stale one. */
static int lock_directory(int dir_fd, const char *path, struct weir_err *err)
{
    static const struct timespec wait = {0, LOCK_WAIT_MS * 1000000L};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(dir_fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return weir_error_errno(err, errno, "cannot lock the directory of '%s'", path);
        nanosleep(&wait, NULL);
    }
    return weir_error(err, WEIR_E_UNAVAILABLE, "the directory of '%s' is locked by another process",
                      path);
}

/* What stands at the path goes, if it is a socket that nobody listens on. */
static int remove_stale(int dir_fd, const char *path, const struct sockaddr_un *address,
                        struct weir_err *err)
{
    const char *name = last_component(path);
    weir_cleanup_fd int probe = -1;
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : weir_error_errno(err, errno, "cannot look at '%s'", path);
    if (!S_ISSOCK(st.st_mode))
        return weir_error(err, WEIR_E_EXISTS, "'%s' exists and is not a socket", path);
    probe = make_socket(SOCK_NONBLOCK, err);
    if (probe < 0)
        return probe;
    if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
        return weir_error(err, WEIR_E_EXISTS, "another process listens on '%s'", path);
    if (errno != ECONNREFUSED)
        return weir_error_errno(err, errno, "cannot tell whether '%s' is in use", path);
    if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
        return weir_error_errno(err, errno, "cannot remove the stale socket '%s'", path);
    return 0;
}

/* Nobody can connect before listen(), so the mode may follow the bind. */
static int bind_and_listen(int fd, int dir_fd, const char *path, mode_t mode,
                           const struct sockaddr_un *address, struct stat *ret_stat,
                           struct weir_err *err)
{
    const char *name = last_component(path);

    if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return weir_error_errno(err, errno, "cannot make socket '%s'", path);
    if (fchmodat(dir_fd, name, mode, 0) < 0 ||
        fstatat(dir_fd, name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0 || listen(fd, BACKLOG) < 0) {
        int errnum = errno;

        unlinkat(dir_fd, name, 0);
        return weir_error_errno(err, errnum, "cannot listen on '%s'", path);
    }
    return 0;
}

int weir_unix_listen(const char *path, mode_t mode, struct weir_unix_listener *ret_listener,
                     struct weir_err *err)
{
    weir_cleanup_fd int lock_fd = -1;
    weir_cleanup_fd int fd = -1;
    weir_cleanup_free char *name = NULL;
    struct sockaddr_un address;
    struct stat st;
    int code;

    if (last_component(path)[0] == '\0')
        return weir_error(err, WEIR_E_INVALID, "socket path '%s' names no file", path);
    /* The lock lives as long as this descriptor; it is kept only as the way to the name. */
    lock_fd = open_directory(path, O_RDONLY, err);
    if (lock_fd < 0)
        return lock_fd;
    code = fits(path, &address) ? 0 : address_in(lock_fd, path, &address, err);
    if (code == 0)
        code = lock_directory(lock_fd, path, err);
    if (code == 0)
        code = remove_stale(lock_fd, path, &address, err);
    if (code < 0)
        return code;
    name = weir_mem_strdup(last_component(path));
    if (name == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a path");
    fd = make_socket(SOCK_NONBLOCK, err);
    if (fd < 0)
        return fd;
    code = bind_and_listen(fd, lock_fd, path, mode, &address, &st, err);
    if (code < 0)
        return code;
    flock(lock_fd, LOCK_UN);
    *ret_listener = (struct weir_unix_listener){WEIR_TAKE_FD(fd), WEIR_TAKE_FD(lock_fd),
                                                WEIR_TAKE_PTR(name), st.st_dev, st.st_ino};
    return 0;
}

void weir_unix_listener_finish(struct weir_unix_listener *listener)
{
    struct stat st;

    if (listener->fd < 0)
        return;
    if (fstatat(listener->dir_fd, listener->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_dev == listener->device && st.st_ino == listener->inode)
        unlinkat(listener->dir_fd, listener->name, 0);
    close(listener->fd);
    close(listener->dir_fd);
    weir_mem_free(listener->name);
    *listener = (struct weir_unix_listener){.fd = -1, .dir_fd = -1};
}

static int connect_failed(const char *path, uint32_t timeout_ms, int errnum, struct weir_err *err)
{
    switch (errnum) {
    case ECONNREFUSED:
        return weir_error(err, WEIR_E_UNAVAILABLE, "cannot connect to '%s': nobody listens there",
                          path);
    case EAGAIN:
        return weir_error(err, WEIR_E_TIMEOUT, "cannot connect to '%s' within %u ms", path,
                          timeout_ms);
    default:
        return weir_error_errno(err, errnum, "cannot connect to '%s'", path);
    }
}

int weir_unix_connect(const char *path, uint32_t timeout_ms, struct weir_err *err)
{
    weir_cleanup_fd int dir_fd = -1;
    weir_cleanup_fd int fd = -1;
    struct sockaddr_un address;
    /* A full backlog blocks connect(), for as long as sending may block. */
    struct timeval timeout = {timeout_ms / 1000, (suseconds_t)(timeout_ms % 1000) * 1000};
    int code = address_of(path, &address, &dir_fd, err);

    if (code < 0)
        return code;
    fd = make_socket(0, err);
    if (fd < 0)
        return fd;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        if (errno != EINTR)
            return connect_failed(path, timeout_ms, errno, err);
    return WEIR_TAKE_FD(fd);
}
