#include "edge/local/launcher.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "edge/local/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUE_BYTES_MAX = 64 << 20 };

_Static_assert(sizeof(((struct weir_launcher *)0)->in) == WEIR_REFUSAL_BYTES,
               "the inbox holds one refusal");

/* An errno value, as posix_spawn has it. */
static int spawn(const struct weir_launcher_options *options, int socket_fd, pid_t *ret_pid)
{
    static const char *const no_environment[] = {NULL};
    const char *const *envp = options->envp != NULL ? options->envp : no_environment;
    const char *exe = options->exe != NULL ? options->exe : "/proc/self/exe";
    posix_spawn_file_actions_t actions;
    int errnum = posix_spawn_file_actions_init(&actions);

    if (errnum != 0)
        return errnum;
    errnum = posix_spawn_file_actions_adddup2(&actions, socket_fd, 0);
    if (errnum == 0)
        errnum = posix_spawn_file_actions_addchdir_np(&actions, options->data_dir);
    if (errnum == 0)
        errnum = posix_spawn(ret_pid, exe, &actions, NULL, (char *const *)options->argv,
                             (char *const *)envp);
    posix_spawn_file_actions_destroy(&actions);
    return errnum;
}

int weir_launcher_start(const struct weir_launcher_options *options,
                        struct weir_launcher *ret_launcher, struct weir_err *err)
{
    int fds[2];
    pid_t pid;
    int errnum;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return weir_error_errno(err, errno, "start launcher: socket");
    errnum = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? errno : spawn(options, fds[1], &pid);
    close(fds[1]);
    if (errnum != 0) {
        close(fds[0]);
        return weir_error_errno(err, errnum, "start launcher in '%s'", options->data_dir);
    }
    *ret_launcher = (struct weir_launcher){.pid = pid, .fd = fds[0]};
    weir_buf_init(&ret_launcher->out, QUEUE_BYTES_MAX);
    return 0;
}

void weir_launcher_stop(struct weir_launcher *launcher)
{
    if (launcher->fd >= 0)
        close(launcher->fd);
    launcher->fd = -1;
    if (launcher->pid > 0)
        while (waitpid(launcher->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    launcher->pid = 0;
    weir_buf_finish(&launcher->out);
}

static int gone(struct weir_err *err)
{
    return weir_error(err, WEIR_E_UNAVAILABLE, "the launcher is gone");
}

int weir_launcher_launch(struct weir_launcher *launcher, const struct weir_launch *launch,
                         struct weir_err *err)
{
    size_t n_waiting = launcher->out.len;
    int code = launcher->fd < 0 ? gone(err) : weir_launch_encode(launch, &launcher->out, err);

    /* There may be room when those before it are gone. */
    if (code == WEIR_E_TOO_LARGE && n_waiting > 0)
        return weir_error(err, WEIR_E_UNAVAILABLE, "too many launch requests are waiting");
    return code < 0 ? code : weir_launcher_flush(launcher, err);
}

bool weir_launcher_wants_write(const struct weir_launcher *launcher)
{
    return launcher->out.len > 0;
}

int weir_launcher_flush(struct weir_launcher *launcher, struct weir_err *err)
{
    while (launcher->out.len > 0) {
        ssize_t n =
            send(launcher->fd, launcher->out.data, launcher->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return gone(err);
        weir_buf_consume(&launcher->out, (size_t)n);
    }
    return 0;
}

int weir_launcher_receive(struct weir_launcher *launcher, struct weir_launch_refusal *ret_refusal,
                          struct weir_err *err)
{
    while (launcher->n_in < WEIR_REFUSAL_BYTES) {
        ssize_t n = recv(launcher->fd, launcher->in + launcher->n_in,
                         WEIR_REFUSAL_BYTES - launcher->n_in, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return gone(err);
        launcher->n_in += (uint32_t)n;
    }
    launcher->n_in = 0;
    weir_refusal_decode(launcher->in, &ret_refusal->serial, &ret_refusal->slot,
                        &ret_refusal->errnum);
    return 1;
}
