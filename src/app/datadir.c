#include "app/datadir.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int weir_datadir_default(char *ret_path, size_t size, struct weir_err *err)
{
    const char *xdg = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    int n;

    if (geteuid() == 0)
        n = snprintf(ret_path, size, "/var/lib/weir");
    else if (xdg != NULL && xdg[0] == '/')
        n = snprintf(ret_path, size, "%s/weir", xdg);
    else if (home != NULL && home[0] == '/')
        n = snprintf(ret_path, size, "%s/.local/share/weir", home);
    else {
        weir_error(err, WEIR_E_INVALID, "there is no home directory to keep data in");
        return weir_error_hint(err, "name one: --data DIR");
    }
    if (n < 0 || (size_t)n >= size)
        return weir_error(err, WEIR_E_TOO_LARGE, "the path of the data directory is too long");
    return 0;
}

static int make_all(char *path, mode_t mode, struct weir_err *err)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST) {
            int code = weir_error_errno(err, errno, "make '%s'", path);

            *at = '/';
            return code;
        }
        *at = '/';
    }
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return weir_error_errno(err, errno, "make '%s'", path);
    return 0;
}

static int check(const char *path, mode_t mode, struct weir_err *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return weir_error_errno(err, errno, "look at '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return weir_error(err, WEIR_E_INVALID, "'%s' is not a directory", path);
    if (st.st_uid != geteuid()) {
        weir_error(err, WEIR_E_DENIED, "'%s' belongs to uid %u, not to you", path, st.st_uid);
        return weir_error_hint(err, "name another: --data DIR");
    }
    if ((st.st_mode & 0777) != mode && chmod(path, mode) < 0)
        return weir_error_errno(err, errno, "make '%s' private", path);
    if (access(path, W_OK | X_OK) < 0)
        return weir_error_errno(err, errno, "write to '%s'", path);
    return 0;
}

int weir_datadir_prepare(const char *path, char *ret_path, size_t size, struct weir_err *err)
{
    mode_t mode = geteuid() == 0 ? 0711 : 0700;
    char real[PATH_MAX];
    char copy[PATH_MAX];
    int r;

    if (path[0] == '\0' || strlen(path) >= sizeof(copy))
        return weir_error(err, WEIR_E_INVALID, "the path of the data directory is %s",
                          path[0] == '\0' ? "empty" : "too long");
    memcpy(copy, path, strlen(path) + 1);
    r = make_all(copy, mode, err);
    if (r == 0)
        r = check(copy, mode, err);
    if (r < 0)
        return r;
    if (realpath(copy, real) == NULL)
        return weir_error_errno(err, errno, "resolve '%s'", path);
    if (strlen(real) >= size)
        return weir_error(err, WEIR_E_TOO_LARGE, "the path of the data directory is too long");
    memcpy(ret_path, real, strlen(real) + 1);
    return 0;
}

static int refuse(int fd, const char *path, struct weir_err *err)
{
    char text[32];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    weir_error(err, WEIR_E_EXISTS, "another weir (pid %s) uses '%s'", text[0] != '\0' ? text : "?",
               path);
    return weir_error_hint(err, "use that one, or name another directory: --data DIR");
}

int weir_datadir_lock(const char *path, int *ret_fd, struct weir_err *err)
{
    char name[WEIR_DATADIR_PATH_MAX + 8];
    weir_cleanup_fd int fd = -1;
    char text[32];
    int n;

    snprintf(name, sizeof(name), "%s/lock", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return weir_error_errno(err, errno, "open '%s'", name);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return refuse(fd, path, err);
        return weir_error_errno(err, errno, "lock '%s'", name);
    }
    n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return weir_error_errno(err, errno, "write '%s'", name);
    *ret_fd = WEIR_TAKE_FD(fd);
    return 0;
}

static pid_t peer_of(const struct sockaddr_un *name, socklen_t size)
{
    weir_cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred peer = {0};
    socklen_t peer_size = sizeof(peer);

    if (fd < 0 || connect(fd, (const struct sockaddr *)name, size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) < 0)
        return 0;
    return peer.pid;
}

/* A name in the kernel that goes with its process; nothing is ever said through it. */
int weir_datadir_lock_space(uint64_t space, int *ret_fd, struct weir_err *err)
{
    weir_cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size;

    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "weir-store-%016llx",
             (unsigned long long)space);
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1));
    if (fd < 0)
        return weir_error_errno(err, errno, "make a socket");
    if (bind(fd, (const struct sockaddr *)&name, size) < 0) {
        if (errno != EADDRINUSE)
            return weir_error_errno(err, errno, "take the name of the store");
        weir_error(err, WEIR_E_EXISTS, "a copy of this store is in use by weir (pid %d)",
                   (int)peer_of(&name, size));
        return weir_error_hint(err, "stop that one first: both would take its jobs for theirs");
    }
    if (listen(fd, 1) < 0)
        return weir_error_errno(err, errno, "take the name of the store");
    *ret_fd = WEIR_TAKE_FD(fd);
    return 0;
}
