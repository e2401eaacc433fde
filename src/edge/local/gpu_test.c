#include "edge/local/gpu_test.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/local/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARKER "WEIR_GPU_TEST_OF="

enum {
    UUID_BYTES = 96,
    HOW_BYTES = 96,
    READS_MAX = 64,
    READ_BYTES = WEIR_GPU_TEST_OUTPUT_MAX /* at most: what is read fits the tail */
};

struct run {
    char uuid[UUID_BYTES]; /* "": the place is free */
    pid_t pid;
    int out_fd;
    int pid_fd; /* -1: the kernel has none; then the end is found once a second */
    int64_t until_ms;
    bool is_late;
    bool is_told; /* nobody waits for it any more, and it has not died yet */
    size_t n_tail;
    char tail[WEIR_GPU_TEST_OUTPUT_MAX];
};

struct weir_gpu_tests {
    const char *data_dir;
    const char *command;
    int64_t timeout_ms;
    int epoll_fd;
    struct run runs[WEIR_GPU_TESTS_MAX];
};

static struct run *find(struct weir_gpu_tests *tests, struct weir_str uuid)
{
    for (int i = 0; i < WEIR_GPU_TESTS_MAX; i++)
        if (weir_str_eq_c(uuid, tests->runs[i].uuid))
            return &tests->runs[i];
    return NULL;
}

/* ---- ending ---- */

/* Whatever the tests of this data directory started, wherever it went; uuid empty: of any GPU. */
static uint32_t end_marked(const char *data_dir, const char *uuid)
{
    struct weir_proc_walk walk;
    struct weir_proc proc;
    char of[PATH_MAX];
    char gpu[UUID_BYTES];
    uint32_t n = 0;

    weir_proc_walk_init(&walk);
    while (weir_proc_walk_next(&walk, &proc)) {
        if (proc.pid == getpid() || weir_proc_is_dead(&proc) ||
            !weir_proc_environment(proc.pid, MARKER, of, sizeof(of)) || strcmp(of, data_dir) != 0)
            continue;
        if (uuid[0] != '\0' &&
            (!weir_proc_environment(proc.pid, "WEIR_GPU_UUID=", gpu, sizeof(gpu)) ||
             strcmp(gpu, uuid) != 0))
            continue;
        n += kill(proc.pid, SIGKILL) == 0;
    }
    weir_proc_walk_finish(&walk);
    return n;
}

/* Its pid is not another's yet: it was not buried. */
static void kill_run(const struct weir_gpu_tests *tests, const struct run *run)
{
    (void)kill(-run->pid, SIGKILL);
    (void)end_marked(tests->data_dir, run->uuid);
}

/* False: one that hangs in a driver does not die before that answers, and is not waited for. */
static bool bury(struct run *run)
{
    if (waitpid(run->pid, NULL, WNOHANG) == 0)
        return false;
    close(run->out_fd);
    if (run->pid_fd >= 0)
        close(run->pid_fd);
    run->uuid[0] = '\0';
    return true;
}

static void tests_stop(void *ctx, struct weir_str uuid)
{
    struct run *run = uuid.len > 0 ? find(ctx, uuid) : NULL;

    if (run == NULL)
        return;
    kill_run(ctx, run);
    run->is_told = true;
}

/* ---- starting ---- */

/* The child, between fork and exec: system calls only. */
static void become_test(const struct weir_gpu_tests *tests, int out_fd, pid_t parent,
                        char *const *envp)
{
    char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)tests->command, NULL};
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (setpgid(0, 0) < 0 || null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(out_fd, 1) < 0 ||
        dup2(out_fd, 2) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        chdir("/") < 0)
        _exit(126);
    execve(argv[0], argv, envp);
    _exit(127);
}

/* weir's own environment with what names the GPU; NULL: no memory. */
static char **make_environment(const struct weir_gpu_tests *tests, const struct weir_gpu_test *test,
                               struct weir_arena *arena)
{
    const char *added[] = {
        weir_arena_printf(arena, MARKER "%s", tests->data_dir),
        weir_arena_printf(arena, "CUDA_DEVICE_ORDER=PCI_BUS_ID"),
        weir_arena_printf(arena, "CUDA_VISIBLE_DEVICES=%.*s", WEIR_STR_ARG(test->uuid)),
        weir_arena_printf(arena, "NVIDIA_VISIBLE_DEVICES=%.*s", WEIR_STR_ARG(test->uuid)),
        weir_arena_printf(arena, "WEIR_GPU_UUID=%.*s", WEIR_STR_ARG(test->uuid)),
        weir_arena_printf(arena, "WEIR_GPU_INDEX=%u", test->index),
        weir_arena_printf(arena, "WEIR_GPU_NODE=%.*s", WEIR_STR_ARG(test->node)),
    };
    const size_t n_added = sizeof(added) / sizeof(added[0]);
    size_t n_own = 0;
    char **envp;
    size_t n = 0;

    while (environ[n_own] != NULL)
        n_own++;
    envp = weir_arena_new_n(arena, char *, n_own + n_added + 1);
    if (envp == NULL)
        return NULL;
    for (size_t i = 0; i < n_added; i++) {
        if (added[i] == NULL)
            return NULL;
        envp[n++] = (char *)added[i];
    }
    for (size_t i = 0; i < n_own; i++) {
        bool is_ours = false;

        for (size_t a = 0; a < n_added; a++)
            is_ours |=
                strncmp(environ[i], added[a], (size_t)(strchr(added[a], '=') - added[a]) + 1) == 0;
        if (!is_ours)
            envp[n++] = environ[i];
    }
    envp[n] = NULL;
    return envp;
}

static int watch(const struct weir_gpu_tests *tests, int fd, struct weir_err *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(tests->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0
               ? weir_error_errno(err, errno, "watch the test of a GPU")
               : 0;
}

static int fork_test(const struct weir_gpu_tests *tests, const struct weir_gpu_test *test,
                     int out_fd, pid_t *ret_pid, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    char **envp = make_environment(tests, test, &arena);
    pid_t parent = getpid();
    sigset_t all, before;
    pid_t pid;

    if (envp == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to test a GPU");
    /* No handler of ours may run in the child. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        become_test(tests, out_fd, parent, envp);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return weir_error_errno(err, errno, "start the test of a GPU");
    /* The child says so itself, too: whoever is first, it is so before anybody may have to kill it.
     */
    (void)setpgid(pid, pid);
    *ret_pid = pid;
    return 0;
}

static int tests_start(void *ctx, const struct weir_gpu_test *test, struct weir_err *err)
{
    struct weir_gpu_tests *tests = ctx;
    struct run *run = find(tests, WEIR_STR(""));
    int fds[2];
    pid_t pid;
    int r;

    if (test->uuid.len == 0 || test->uuid.len >= UUID_BYTES)
        return weir_error(err, WEIR_E_INVALID, "a GPU of no name cannot be tested");
    if (run == NULL || find(tests, test->uuid) != NULL)
        return weir_error(err, WEIR_E_UNAVAILABLE, "other tests have not ended");
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return weir_error_errno(err, errno, "make a pipe for the test of a GPU");
    /* The command's end of it is like any other: it waits. */
    (void)fcntl(fds[1], F_SETFL, 0);
    r = watch(tests, fds[0], err);
    if (r == 0)
        r = fork_test(tests, test, fds[1], &pid, err);
    close(fds[1]);
    if (r < 0) {
        close(fds[0]);
        return r;
    }
    *run = (struct run){.pid = pid,
                        .out_fd = fds[0],
                        .pid_fd = (int)syscall(SYS_pidfd_open, pid, 0),
                        .until_ms = weir_clock_mono_ms() + tests->timeout_ms};
    memcpy(run->uuid, test->uuid.ptr, test->uuid.len);
    if (run->pid_fd >= 0)
        (void)watch(tests, run->pid_fd, NULL); /* else it is found once a second */
    return 0;
}

/* ---- what becomes of it ---- */

static void keep_tail(struct run *run, const char *bytes, size_t n)
{
    size_t room = sizeof(run->tail);
    size_t n_kept = run->n_tail + n > room ? room - n : run->n_tail;

    memmove(run->tail, run->tail + (run->n_tail - n_kept), n_kept);
    memcpy(run->tail + n_kept, bytes, n);
    run->n_tail = n_kept + n;
}

/* Not all at once of one that never stops talking. */
static void read_output(const struct weir_gpu_tests *tests, struct run *run)
{
    char bytes[READ_BYTES];

    for (int i = 0; i < READS_MAX; i++) {
        ssize_t n = read(run->out_fd, bytes, sizeof(bytes));

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) /* else it is readable for ever */
            (void)epoll_ctl(tests->epoll_fd, EPOLL_CTL_DEL, run->out_fd, NULL);
        if (n <= 0)
            return;
        keep_tail(run, bytes, (size_t)n);
    }
}

static void say_how(const struct weir_gpu_tests *tests, const struct run *run,
                    const siginfo_t *info, char how[HOW_BYTES])
{
    if (run->is_late)
        snprintf(how, HOW_BYTES, "it took longer than %lld s",
                 (long long)((tests->timeout_ms + 999) / 1000));
    else if (info->si_code == CLD_EXITED)
        snprintf(how, HOW_BYTES, "exit status %d", info->si_status);
    else
        snprintf(how, HOW_BYTES, "ended by signal %d", info->si_status);
}

/* Until it is buried no other process has its number. */
static bool has_ended(const struct run *run, siginfo_t *ret_info)
{
    *ret_info = (siginfo_t){0};
    return waitid(P_PID, (id_t)run->pid, ret_info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ret_info->si_pid != 0;
}

static void look_at(struct weir_gpu_tests *tests, struct run *run, weir_gpu_test_each each,
                    void *arg)
{
    struct weir_gpu_test_result result = {.uuid = weir_str(run->uuid)};
    char how[HOW_BYTES];
    siginfo_t info;
    bool is_over;

    read_output(tests, run);
    is_over = has_ended(run, &info);
    if (!is_over && !run->is_told && weir_clock_mono_ms() >= run->until_ms)
        run->is_late = true;
    if (!is_over && !run->is_late)
        return;
    if (run->is_told)
        kill_run(tests, run); /* what it started meanwhile */
    if (!run->is_told) {
        read_output(tests, run); /* what it said before it ended */
        kill_run(tests, run);
        say_how(tests, run, &info, how);
        result.has_passed = !run->is_late && info.si_code == CLD_EXITED && info.si_status == 0;
        result.how = weir_str(how);
        result.output = weir_str_n(run->tail, run->n_tail);
        run->is_told = true;
        each(arg, &result);
    }
    (void)bury(run);
}

static void tests_collect(void *ctx, weir_gpu_test_each each, void *arg)
{
    struct weir_gpu_tests *tests = ctx;

    for (int i = 0; i < WEIR_GPU_TESTS_MAX; i++)
        if (tests->runs[i].uuid[0] != '\0')
            look_at(tests, &tests->runs[i], each, arg);
}

/* ---- coming and going ---- */

int weir_gpu_tests_open(const char *data_dir, const char *command, int64_t timeout_ms,
                        struct weir_gpu_tests **ret_tests, struct weir_gpu_test_port *ret_port,
                        uint32_t *ret_n_strays, struct weir_err *err)
{
    struct weir_gpu_tests *tests = weir_mem_alloc_array(1, sizeof(*tests));

    if (tests == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the tests of GPUs");
    tests->data_dir = data_dir;
    tests->command = command;
    tests->timeout_ms = timeout_ms;
    tests->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (tests->epoll_fd < 0) {
        int errnum = errno;

        weir_mem_free(tests);
        return weir_error_errno(err, errnum, "watch the tests of GPUs");
    }
    *ret_n_strays = end_marked(data_dir, "");
    *ret_port = (struct weir_gpu_test_port){.ctx = tests,
                                            .start = command != NULL ? tests_start : NULL,
                                            .stop = tests_stop,
                                            .collect = tests_collect,
                                            .notice_fd = tests->epoll_fd};
    *ret_tests = tests;
    return 0;
}

struct weir_gpu_tests *weir_gpu_tests_close(struct weir_gpu_tests *tests)
{
    if (tests == NULL)
        return NULL;
    for (int i = 0; i < WEIR_GPU_TESTS_MAX; i++)
        if (tests->runs[i].uuid[0] != '\0') {
            kill_run(tests, &tests->runs[i]);
            (void)bury(&tests->runs[i]);
        }
    close(tests->epoll_fd);
    return weir_mem_free(tests);
}
