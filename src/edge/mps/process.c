#include "edge/mps/process.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "edge/local/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_PATH_MAX = WEIR_MPS_PATH_MAX + 16, RECORD_MAX = 160, ENV_MAX = 8, ENTRY_MAX = 4096 };

/* What tells the daemon and its servers from its clients, which have the same directories. */
#define MARKER "WEIR_MPS_DAEMON"

static const char *file_in(const char *folder, const char *name, char path[FILE_PATH_MAX])
{
    return weir_str_format(path, FILE_PATH_MAX, "%s/%s", folder, name);
}

/* ---- folders ---- */

static int make_dir(const char *path, struct weir_err *err)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return weir_error_errno(err, errno, "make '%s'", path);
    /* The server's umask lets nobody else in. */
    return chmod(path, 0755) < 0 ? weir_error_errno(err, errno, "open up '%s'", path) : 0;
}

/* A socket without a listener would be taken for a daemon. */
static void empty_dir(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

int weir_mps_make_folder(const char *folder, struct weir_err *err)
{
    char path[FILE_PATH_MAX];
    int r = make_dir(folder, err);

    if (r == 0)
        r = make_dir(file_in(folder, "pipe", path), err);
    if (r == 0)
        empty_dir(path);
    return r < 0 ? r : make_dir(file_in(folder, "log", path), err);
}

/* ---- starting ---- */

struct env {
    char *entries[ENV_MAX];
    char text[ENV_MAX][ENTRY_MAX];
    size_t n;
};

static void put(struct env *env, const char *name, const char *value, const char *below)
{
    int n = snprintf(env->text[env->n], ENTRY_MAX, "%s=%s%s", name, value, below);

    if (n <= 0 || n >= ENTRY_MAX)
        return;
    env->entries[env->n] = env->text[env->n];
    env->n++;
}

/* Nothing else of the server's is the daemon's business. */
static void put_inherited(struct env *env)
{
    static const char *const names[] = {"PATH", "LD_LIBRARY_PATH"};

    for (size_t i = 0; i < 2; i++)
        if (getenv(names[i]) != NULL)
            put(env, names[i], getenv(names[i]), "");
}

static void put_folder(struct env *env, const char *folder)
{
    put_inherited(env);
    put(env, "CUDA_MPS_PIPE_DIRECTORY", folder, "/pipe");
    put(env, "CUDA_MPS_LOG_DIRECTORY", folder, "/log");
}

struct start {
    const struct weir_mps_program *program;
    const char *told;   /* a word more of argv, or NULL */
    const char *folder; /* of a daemon: it leaves its name there; else NULL */
    const char *uuid;   /* of its GPU */
    pid_t parent;
    char *const *envp;
    int in_fd;
    int out_fd;
    uint8_t boot_id[16];
};

static bool leave_name(const struct start *start)
{
    char path[FILE_PATH_MAX];
    char part[FILE_PATH_MAX];
    char text[RECORD_MAX];
    struct weir_proc self;
    int n;

    if (!weir_proc_read(getpid(), &self))
        return false;
    n = snprintf(text, sizeof(text), "%d %" PRIu64 " ", self.pid, self.start_ticks);
    for (size_t i = 0; i < sizeof(start->boot_id); i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x", start->boot_id[i]);
    n += snprintf(text + n, sizeof(text) - (size_t)n, " %s", start->uuid);
    file_in(start->folder, "daemon", path);
    file_in(start->folder, "daemon.part", part);
    weir_cleanup_fd int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd >= 0 && weir_fd_write_all(fd, text, (size_t)n) == 0 && rename(part, path) == 0;
}

/* In the child: no memory is asked for, other threads may have held its locks. */
_Noreturn static void become(const struct start *start)
{
    enum { ARGV_MAX = 8 };
    const char *argv[ARGV_MAX];
    struct sigaction as_default = {.sa_handler = SIG_DFL};
    sigset_t none;
    size_t n = 0;

    setsid();
    sigemptyset(&none);
    sigaction(SIGPIPE, &as_default, NULL);
    sigaction(SIGXFSZ, &as_default, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(022); /* its sockets are for clients of other users, too */
    /* Until its name is there it must not outlive the server: the next one would not find it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != start->parent)
        _exit(127);
    if (start->folder != NULL && (!leave_name(start) || prctl(PR_SET_PDEATHSIG, 0) < 0))
        _exit(127);
    if (dup2(start->in_fd, 0) < 0 || dup2(start->out_fd, 1) < 0 || dup2(start->out_fd, 2) < 0)
        _exit(127);
    if (close_range(3, ~0U, 0) < 0) /* a kernel before 5.9 */
        for (int fd = 3; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
            close(fd);
    while (start->program->argv[n] != NULL && n < ARGV_MAX - 2) {
        argv[n] = start->program->argv[n];
        n++;
    }
    argv[n++] = start->told;
    argv[n < ARGV_MAX ? n : ARGV_MAX - 1] = NULL;
    execve(start->program->exe, (char *const *)argv, start->envp);
    _exit(127);
}

static int run(const struct start *start, struct weir_mps_process *ret_process,
               struct weir_err *err)
{
    pid_t pid = fork();
    int fd;

    if (pid == 0)
        become(start);
    if (pid < 0)
        return weir_error_errno(err, errno, "start '%s'", start->program->exe);
    fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
        int errnum = errno;

        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return weir_error_errno(err, errnum, "watch '%s'", start->program->exe);
    }
    *ret_process = (struct weir_mps_process){pid, fd, true};
    return 0;
}

int weir_mps_start(const struct weir_mps_program *program, const char *folder, const char *uuid,
                   struct weir_mps_process *ret_process, struct weir_err *err)
{
    struct start start = {
        .program = program, .told = "-f", .folder = folder, .uuid = uuid, .parent = getpid()};
    struct env env = {0};
    char path[FILE_PATH_MAX];
    weir_cleanup_fd int in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    weir_cleanup_fd int out_fd = open(file_in(folder, "log/output", path),
                                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);

    if (in_fd < 0 || out_fd < 0)
        return weir_error_errno(err, errno, "open '%s'", in_fd < 0 ? "/dev/null" : path);
    put_folder(&env, folder);
    put(&env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID", "");
    put(&env, "CUDA_VISIBLE_DEVICES", uuid, "");
    put(&env, MARKER, folder, "");
    start.envp = env.entries;
    start.in_fd = in_fd;
    start.out_fd = out_fd;
    weir_clock_boot_id(start.boot_id);
    return run(&start, ret_process, err);
}

int weir_mps_ask(const struct weir_mps_program *program, const char *folder, const char *line,
                 struct weir_mps_process *ret_process, struct weir_err *err)
{
    struct start start = {.program = program, .parent = getpid()};
    struct env env = {0};
    weir_cleanup_fd int in_fd = memfd_create("mps-line", MFD_CLOEXEC);
    weir_cleanup_fd int out_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (in_fd < 0 || out_fd < 0 || weir_fd_write_all(in_fd, line, strlen(line)) < 0 ||
        lseek(in_fd, 0, SEEK_SET) < 0)
        return weir_error_errno(err, errno, "ask the MPS daemon in '%s'", folder);
    put_folder(&env, folder);
    start.envp = env.entries;
    start.in_fd = in_fd;
    start.out_fd = out_fd;
    return run(&start, ret_process, err);
}

/* ---- finding ---- */

static bool read_text(const char *folder, const char *name, char *text, size_t size)
{
    char path[FILE_PATH_MAX];
    weir_cleanup_fd int fd = open(file_in(folder, name, path), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool is_of_this_boot(struct weir_str hex)
{
    char text[33];
    uint8_t id[16];

    weir_clock_boot_id(id);
    for (size_t i = 0; i < sizeof(id); i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    return weir_str_eq_c(hex, text);
}

bool weir_mps_find(const char *folder, struct weir_mps_process *ret_process,
                   char ret_uuid[WEIR_MPS_UUID_MAX])
{
    char text[RECORD_MAX];
    struct weir_str rest;
    struct weir_str pid_text;
    struct weir_str ticks_text;
    struct weir_str boot_text;
    struct weir_proc proc;
    uint64_t pid;
    uint64_t ticks;
    int fd;

    if (!read_text(folder, "daemon", text, sizeof(text)))
        return false;
    rest = weir_str(text);
    if (!weir_str_split(&rest, ' ', &pid_text) || !weir_str_split(&rest, ' ', &ticks_text) ||
        !weir_str_split(&rest, ' ', &boot_text) || !weir_str_to_u64(pid_text, &pid) ||
        !weir_str_to_u64(ticks_text, &ticks) || pid <= 1 || pid > INT32_MAX ||
        !is_of_this_boot(boot_text) || rest.len == 0 || rest.len >= WEIR_MPS_UUID_MAX)
        return false;
    /* The descriptor first: what is read of the pid then is of the same process, or of a later one,
     * which began later. */
    fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0)
        return false;
    if (!weir_proc_read((pid_t)pid, &proc) || weir_proc_is_dead(&proc) ||
        proc.start_ticks != ticks) {
        close(fd);
        return false;
    }
    *ret_process = (struct weir_mps_process){(pid_t)pid, fd, false};
    snprintf(ret_uuid, WEIR_MPS_UUID_MAX, "%.*s", WEIR_STR_ARG(rest));
    return true;
}

/* ---- ending ---- */

bool weir_mps_has_ended(struct weir_mps_process *process, int *ret_status)
{
    struct pollfd poll_fd = {.fd = process->fd, .events = POLLIN};

    if (process->pid == 0 || poll(&poll_fd, 1, 0) <= 0)
        return false;
    *ret_status = -1;
    if (process->is_child)
        waitpid(process->pid, ret_status, WNOHANG);
    weir_mps_forget(process);
    return true;
}

void weir_mps_signal(const struct weir_mps_process *process, int signal_number)
{
    /* One that has not got so far as to lead a group is signalled alone. */
    if (process->pid > 1 && kill(-process->pid, signal_number) < 0)
        syscall(SYS_pidfd_send_signal, process->fd, signal_number, NULL, 0);
}

void weir_mps_forget(struct weir_mps_process *process)
{
    if (process->fd >= 0)
        close(process->fd);
    *process = (struct weir_mps_process)WEIR_MPS_PROCESS_NONE;
}

void weir_mps_clear(const char *folder)
{
    char marker[FILE_PATH_MAX + sizeof(MARKER)];
    char path[FILE_PATH_MAX];
    struct weir_proc_walk walk;
    struct weir_proc proc;

    snprintf(marker, sizeof(marker), "%s=%s", MARKER, folder);
    weir_proc_walk_init(&walk);
    while (weir_proc_walk_next(&walk, &proc))
        if (!weir_proc_is_dead(&proc) && weir_proc_has_environment(proc.pid, marker))
            kill(proc.pid, SIGKILL);
    weir_proc_walk_finish(&walk);
    unlink(file_in(folder, "daemon", path));
}

void weir_mps_say_end(const char *folder, int status, char *ret_text, size_t size)
{
    char output[256];
    char shown[WEIR_STR_SHOW_MAX];
    struct weir_str rest;
    struct weir_str line = {NULL, 0};
    int n;

    if (status == -1)
        n = snprintf(ret_text, size, "it ended");
    else if (WIFSIGNALED(status))
        n = snprintf(ret_text, size, "it was killed by signal %d", WTERMSIG(status));
    else
        n = snprintf(ret_text, size, "it ended with status %d", WEXITSTATUS(status));
    if (n < 0 || (size_t)n >= size || !read_text(folder, "log/output", output, sizeof(output)))
        return;
    rest = weir_str(output);
    weir_str_split(&rest, '\n', &line);
    line = weir_str_trim(line);
    if (line.len > 0)
        snprintf(ret_text + n, size - (size_t)n, ": %s", weir_str_show(line, shown));
}
