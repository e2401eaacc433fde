#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "edge/local/launch.h"
#include "edge/local/launcher.h"
#include "edge/local/proc.h"
#include "edge/local/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OOM_SCORE_SHIM "-1000"

enum {
    SOCKET_FD = 3,
    OOM_KILLS_AGE_US = 20 * 1000,
    REQUEST_MAPPED_MIN = 64 * 1024,
    REQUEST_MAPPED_KEPT = 256 * 1024,
};

struct launcher_process {
    uint8_t boot_id[16];
    char oom_score_adj[16]; /* the job's; empty: leave it as it is */
    char *request;
    size_t request_mapped_bytes;
    int64_t oom_kills;
    int64_t oom_kills_at_us;
};

/* Nothing of the server's may live on in shims and jobs: descriptors, ignored signals, terminal. */
static int settle_descriptors(void)
{
    if (dup2(0, SOCKET_FD) < 0 || fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    for (int fd = 0; fd <= 2; fd++) {
        int null_fd = open("/dev/null", (fd == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);

        if (null_fd < 0 || dup2(null_fd, fd) < 0)
            return -1;
        close(null_fd);
    }
    if (close_range(SOCKET_FD + 1, ~0U, 0) == 0)
        return 0;
    for (int fd = SOCKET_FD + 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
        close(fd);
    return 0;
}

/* By the raw call: glibc will not touch its own signals, which a parent may have left ignored. */
static void settle_signals(void)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } as_default = {0};
    struct sigaction children = {.sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT};
    uint64_t all = ~0ULL;

    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
    for (int number = 1; number <= SIGRTMAX; number++)
        syscall(SYS_rt_sigaction, number, &as_default, NULL, sizeof(as_default.mask));
    sigaction(SIGCHLD, &children, NULL);
}

/* Shims must not be what the kernel kills for memory; their jobs keep what the server had, but are
 * never protected. */
static void settle_oom_score(struct launcher_process *process)
{
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char text[16] = "";
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    bool is_protected = n > 0 && text[0] == '-';

    if (fd < 0)
        return;
    if (pwrite(fd, OOM_SCORE_SHIM, strlen(OOM_SCORE_SHIM), 0) > 0 || is_protected)
        snprintf(process->oom_score_adj, sizeof(process->oom_score_adj), "%s",
                 n > 0 && !is_protected ? text : "0");
    close(fd);
}

static bool receive(void *data, size_t n)
{
    char *at = data;

    while (n > 0) {
        ssize_t n_read = recv(SOCKET_FD, at, n, MSG_WAITALL);

        if (n_read < 0 && errno == EINTR)
            continue;
        if (n_read <= 0)
            return false;
        at += n_read;
        n -= (size_t)n_read;
    }
    return true;
}

static bool make_room(struct launcher_process *process, size_t n)
{
    size_t n_mapped = (n + REQUEST_MAPPED_MIN - 1) / REQUEST_MAPPED_MIN * REQUEST_MAPPED_MIN;
    void *request;

    if (n_mapped <= process->request_mapped_bytes && process->request != NULL)
        return true;
    request =
        process->request == NULL
            ? mmap(NULL, n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : mremap(process->request, process->request_mapped_bytes, n_mapped, MREMAP_MAYMOVE);
    if (request == MAP_FAILED)
        return false;
    process->request = request;
    process->request_mapped_bytes = n_mapped;
    return true;
}

/* Reading it for every job would cost as much as a sixth of the fork. */
static void refresh_oom_kills(struct launcher_process *process)
{
    int64_t now = weir_clock_mono_us();

    if (process->oom_kills_at_us != 0 && now - process->oom_kills_at_us < OOM_KILLS_AGE_US)
        return;
    process->oom_kills = weir_proc_oom_kills();
    process->oom_kills_at_us = now;
}

/* The id stands first in the request; a request too short for it is the shim's to refuse. */
static void refuse(const struct launcher_process *process, size_t n_body, int errnum)
{
    struct weir_attempt_id id = {0};
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_launch launch;

    weir_launch_decode(process->request, n_body, &arena, &id, &launch, NULL);
    weir_arena_finish(&arena);
    weir_refusal_send(SOCKET_FD, &id, errnum);
}

/* So that one huge environment does not stay with every later shim. */
static void drop_large_request(struct launcher_process *process)
{
    if (process->request_mapped_bytes <= REQUEST_MAPPED_KEPT)
        return;
    munmap(process->request, process->request_mapped_bytes);
    process->request = NULL;
    process->request_mapped_bytes = 0;
}

static bool serve_one(struct launcher_process *process)
{
    uint8_t head[WEIR_LAUNCH_HEAD_BYTES];
    size_t n_body;
    pid_t pid;

    if (!receive(head, sizeof(head)) || weir_launch_decode_head(head, &n_body, NULL) < 0 ||
        !make_room(process, n_body) || !receive(process->request, n_body))
        return false;
    refresh_oom_kills(process);
    pid = fork();
    if (pid == 0) {
        const struct weir_shim_context context = {
            .reply_fd = SOCKET_FD,
            .oom_kills = process->oom_kills,
            .oom_score_adj = process->oom_score_adj[0] != '\0' ? process->oom_score_adj : NULL,
            .boot_id = process->boot_id,
            .request = process->request,
            .request_bytes = n_body,
            .request_mapped_bytes = process->request_mapped_bytes,
        };

        weir_shim_run(&context);
    }
    if (pid < 0)
        refuse(process, n_body, errno);
    drop_large_request(process);
    return true;
}

int weir_launcher_main(int argc, char **argv)
{
    struct launcher_process process = {0};
    struct stat st;

    (void)argc;
    (void)argv;
    if (fstat(0, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        fputs("weir: the launcher is started by the server, not by hand\n", stderr);
        return 1;
    }
    if (settle_descriptors() < 0)
        return 1;
    settle_signals();
    setsid();
    umask(077);
    prctl(PR_SET_NAME, "weir-launcher");
    settle_oom_score(&process);
    weir_clock_boot_id(process.boot_id);
    weir_hash_crc32c(0, "", 0); /* makes the tables here, not in each shim */
    while (serve_one(&process))
        continue;
    return 0;
}
