#include "edge/local/spawn.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

enum { STACK_BYTES = 64 * 1024, PATH_BYTES = 4096 };

struct child {
    struct weir_spawn *spawn;
    pid_t parent;
    const char *search_path;
    const char **sh_argv; /* "/bin/sh", room for the script's path, then argv[1] … */
    int errnum;           /* 0: it ran */
};

/* All of this runs in the child on memory it shares with the suspended parent: system calls only,
 * and raw ones where glibc would tell other threads. Each returns 0 or an errno value. */

static int become_member(struct weir_spawn *spawn)
{
    spawn->ret_what = "process group";
    if (setpgid(0, 0) < 0)
        return errno;
    spawn->ret_what = "cgroup.procs";
    if (spawn->cgroup_procs_fd >= 0 && write(spawn->cgroup_procs_fd, "0", 1) != 1)
        return errno;
    spawn->ret_what = "output";
    return dup2(spawn->out_fd, 1) < 0 || dup2(spawn->err_fd, 2) < 0 ? errno : 0;
}

static void reset_oom_score(const char *text)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, text, strlen(text));
    close(fd);
}

static int become_user(struct weir_spawn *spawn)
{
    const struct weir_launch *launch = spawn->launch;
    bool is_root = geteuid() == 0;

    if (!launch->set_identity)
        return 0;
    if (!is_root && launch->uid == geteuid() && launch->gid == getegid())
        return 0;
    /* The session keyring of root is not the job's to read. */
    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    spawn->ret_what = "groups";
    if (syscall(SYS_setgroups, (size_t)launch->n_groups, launch->groups) < 0)
        return errno;
    spawn->ret_what = "group";
    if (syscall(SYS_setresgid, launch->gid, launch->gid, launch->gid) < 0)
        return errno;
    spawn->ret_what = "user";
    return syscall(SYS_setresuid, launch->uid, launch->uid, launch->uid) < 0 ? errno : 0;
}

static int settle(struct child *child)
{
    const struct weir_launch *launch = child->spawn->launch;
    const uint64_t none = 0;

    umask(launch->umask);
    /* After the change of user, which clears it. A parent that died before cannot send it. */
    child->spawn->ret_what = "shim";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return errno;
    if (getppid() != child->parent)
        return ESRCH;
    child->spawn->ret_what = "working directory";
    if (chdir(launch->cwd) < 0)
        return errno;
    child->spawn->ret_what = "exec";
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
    return 0;
}

static int exec_file(struct child *child, const char *path)
{
    const struct weir_launch *launch = child->spawn->launch;

    execve(path, (char *const *)launch->argv, (char *const *)launch->envp);
    if (errno != ENOEXEC)
        return errno;
    /* A script without "#!" goes to the shell, as execvp(3) has it. */
    child->sh_argv[1] = path;
    execve("/bin/sh", (char *const *)child->sh_argv, (char *const *)launch->envp);
    return errno;
}

/* Of a folder the kernel says only that it may not be run. */
static int exec_named(struct child *child, const char *path)
{
    int errnum = exec_file(child, path);
    struct stat st;

    return errnum == EACCES && stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? EISDIR : errnum;
}

static bool joins(char path[PATH_BYTES], struct weir_str dir, const char *file)
{
    size_t n_file = strlen(file) + 1;

    if (dir.len + 1 + n_file > PATH_BYTES)
        return false;
    if (dir.len > 0)
        memcpy(path, dir.ptr, dir.len);
    if (dir.len > 0)
        path[dir.len++] = '/';
    memcpy(path + dir.len, file, n_file);
    return true;
}

/* A missing or forbidden file in one directory does not end the search; "forbidden" is what is
 * reported if nothing better comes. */
static int exec_searched(struct child *child)
{
    static char path[PATH_BYTES];
    struct weir_str rest = weir_str(child->search_path);
    struct weir_str dir;
    int errnum = ENOENT;

    while (weir_str_split(&rest, ':', &dir)) {
        int reason;

        if (!joins(path, dir, child->spawn->launch->argv[0]))
            continue;
        reason = exec_file(child, path);
        if (reason == EACCES)
            errnum = EACCES;
        else if (reason != ENOENT && reason != ENOTDIR && reason != ESTALE && reason != ENODEV)
            return reason;
    }
    return errnum;
}

static int run_child(void *arg)
{
    struct child *child = arg;
    struct weir_spawn *spawn = child->spawn;
    int errnum = become_member(spawn);

    if (errnum == 0 && spawn->oom_score_adj != NULL)
        reset_oom_score(spawn->oom_score_adj);
    if (errnum == 0)
        errnum = become_user(spawn);
    if (errnum == 0)
        errnum = settle(child);
    if (errnum == 0)
        errnum = strchr(spawn->launch->argv[0], '/') != NULL
                     ? exec_named(child, spawn->launch->argv[0])
                     : exec_searched(child);
    child->errnum = errnum;
    return 127;
}

/* "/bin/sh", a place for the script, and the command's arguments. NULL when memory is short. */
static const char **shell_argv(const char *const *argv)
{
    const char **sh_argv;
    size_t n = 0;

    while (argv[n] != NULL)
        n++;
    sh_argv = weir_mem_alloc_array(n + 2, sizeof(*sh_argv));
    if (sh_argv == NULL)
        return NULL;
    sh_argv[0] = "/bin/sh";
    memcpy(sh_argv + 2, argv + 1, n * sizeof(*sh_argv));
    return sh_argv;
}

static const char *search_path(const char *const *envp)
{
    for (size_t i = 0; envp[i] != NULL; i++)
        if (strncmp(envp[i], "PATH=", 5) == 0)
            return envp[i] + 5;
    return PATH_DEFAULT;
}

pid_t weir_spawn_main(struct weir_spawn *spawn)
{
    static char stack[STACK_BYTES] __attribute__((aligned(64)));
    weir_cleanup_free const char **sh_argv = shell_argv(spawn->launch->argv);
    struct child child = {.spawn = spawn,
                          .parent = getpid(),
                          .search_path = search_path(spawn->launch->envp),
                          .sh_argv = sh_argv};
    pid_t pid;

    spawn->ret_what = "memory";
    if (sh_argv == NULL)
        return -ENOMEM;
    spawn->ret_what = "fork";
    pid = clone(run_child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
    if (pid < 0)
        return -errno;
    if (child.errnum == 0)
        return pid;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return -child.errnum;
}
