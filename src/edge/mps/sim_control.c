#include "edge/mps/sim_control.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TEXT_MAX = 1024 };

static int name_socket(struct sockaddr_un *ret_name, struct weir_err *err)
{
    const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    if (dir == NULL || snprintf(name.sun_path, sizeof(name.sun_path), "%s/control", dir) >=
                           (int)sizeof(name.sun_path))
        return weir_error(err, WEIR_E_INVALID, "CUDA_MPS_PIPE_DIRECTORY is %s",
                          dir == NULL ? "not set" : "too long");
    *ret_name = name;
    return 0;
}

static int open_socket(struct sockaddr_un *ret_name, int *ret_fd, struct weir_err *err)
{
    int r = name_socket(ret_name, err);
    int fd = r == 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

    if (r == 0 && fd < 0)
        r = weir_error_errno(err, errno, "make a socket");
    if (r == 0)
        *ret_fd = fd;
    return r;
}

/* What is asked on one connection. False: it is to quit. */
static bool answer(int fd)
{
    weir_cleanup_buf struct weir_buf asked = WEIR_BUF_INIT(TEXT_MAX);
    struct weir_str rest;
    struct weir_str line;

    if (weir_fd_read_all(fd, &asked) < 0)
        return true;
    rest = weir_buf_view(&asked);
    while (weir_str_split(&rest, '\n', &line)) {
        if (weir_str_starts_with(line, WEIR_STR("quit")))
            return false;
        if (weir_str_eq_c(line, "get_default_active_thread_percentage"))
            (void)!weir_fd_write_all(fd, "100.0\n", 6);
    }
    return true;
}

static int serve(struct weir_err *err)
{
    struct timeval patience = {.tv_sec = 1};
    struct sockaddr_un name;
    bool goes_on = true;
    weir_cleanup_fd int fd = -1;
    int r = open_socket(&name, &fd, err);

    if (r < 0)
        return r;
    if (bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, 16) < 0)
        return weir_error_errno(err, errno, "listen on '%s'", name.sun_path);
    while (goes_on) {
        weir_cleanup_fd int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

        if (peer < 0 && errno != EINTR && errno != ECONNABORTED)
            return weir_error_errno(err, errno, "accept on '%s'", name.sun_path);
        /* Who asks nothing keeps nobody else from asking. */
        if (peer >= 0 &&
            setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0)
            goes_on = answer(peer);
    }
    unlink(name.sun_path);
    return 0;
}

static int tell(struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(TEXT_MAX);
    struct sockaddr_un name;
    weir_cleanup_fd int fd = -1;
    int r = open_socket(&name, &fd, err);

    if (r < 0)
        return r;
    if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0)
        return weir_error_errno(err, errno, "cannot find the MPS control daemon");
    if (weir_fd_read_all(0, &text) < 0 || weir_fd_write_all(fd, text.data, text.len) < 0 ||
        shutdown(fd, SHUT_WR) < 0)
        return weir_error_errno(err, errno, "ask the MPS control daemon");
    weir_buf_reset(&text);
    if (weir_fd_read_all(fd, &text) < 0 || weir_fd_write_all(1, text.data, text.len) < 0)
        return weir_error_errno(err, errno, "hear the MPS control daemon");
    return 0;
}

int weir_mps_sim_control(bool is_daemon, struct weir_err *err)
{
    return is_daemon ? serve(err) : tell(err);
}
