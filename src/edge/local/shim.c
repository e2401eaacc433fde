#include "edge/local/shim.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "edge/local/command.h"
#include "edge/local/proc.h"
#include "edge/local/shim_watch.h"
#include "edge/local/slots.h"
#include "edge/local/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NOTE_WAIT_MS = 2000,
    /* A job that ends at once is told of once. */
    NOTE_DELAY_US = 10 * 1000,
    WRITE_TRIES = 600,
    WRITE_PAUSE_MS = 100,
    DRAIN_BYTES = 4 * 1024 * 1024, /* more than a pipe holds: a writer that stayed cannot keep us */
    EXIT_NOT_FOUND = 127,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_KILLED = 128 + SIGKILL,
};

void weir_refusal_send(int fd, const struct weir_attempt_id *id, int errnum)
{
    uint8_t bytes[WEIR_REFUSAL_BYTES];
    int32_t reason = errnum;

    memcpy(bytes, &id->serial, 8);
    memcpy(bytes + 8, &id->slot, 4);
    memcpy(bytes + 12, &reason, 4);
    send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void weir_refusal_decode(const uint8_t bytes[WEIR_REFUSAL_BYTES], uint64_t *ret_serial,
                         uint32_t *ret_slot, int *ret_errnum)
{
    int32_t reason;

    memcpy(ret_serial, bytes, 8);
    memcpy(ret_slot, bytes + 8, 4);
    memcpy(&reason, bytes + 12, 4);
    *ret_errnum = reason;
}

/* From here on the attempt is ours, or it is refused and the process ends. */
static void claim(struct weir_shim *shim, const struct weir_shim_context *context)
{
    struct weir_attempt_status *status = &shim->status;
    struct weir_proc self;
    int errnum = 0;

    shim->slot_fd = open(WEIR_SLOTS_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (shim->slot_fd < 0)
        errnum = errno;
    status->id = shim->launch.id;
    status->phase = WEIR_ATTEMPT_CLAIMED;
    status->shim_pid = getpid();
    status->uid = shim->launch.set_identity ? shim->launch.uid : geteuid();
    memcpy(status->boot_id, context->boot_id, sizeof(status->boot_id));
    status->claimed_wall_ms = weir_clock_wall_ms();
    if (errnum == 0 && !weir_proc_read(status->shim_pid, &self))
        errnum = ENOSYS;
    if (errnum == 0) {
        status->shim_start_ticks = self.start_ticks;
        errnum = weir_slot_claim(shim->slot_fd, &status->id, &status->seq);
    }
    if (errnum == 0)
        errnum = weir_slot_write(shim->slot_fd, status);
    if (errnum == 0)
        return;
    weir_refusal_send(context->reply_fd, &status->id, errnum);
    _exit(1);
}

static bool is_out_of_memory(const struct weir_shim *shim, int64_t oom_kills_before)
{
    int wait_status = shim->status.wait_status;
    /* 137: what a shell makes of a child that was killed. */
    bool is_killed = (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) ||
                     (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_KILLED);

    return is_killed && (shim->status.flags & WEIR_ATTEMPT_KILL_SENT) == 0 &&
           oom_kills_before >= 0 && weir_proc_oom_kills() > oom_kills_before;
}

static int64_t as_us(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

/* Everything the job was is gone: drain, write the final status, tell the server. */
_Noreturn static void finish(struct weir_shim *shim)
{
    struct weir_attempt_status *status = &shim->status;
    struct rusage usage = {0};

    for (int i = 0; i < WEIR_OUTPUT_STREAM_MAX; i++) {
        struct weir_sink *sink = &shim->sinks[i];

        weir_sink_pump(sink, DRAIN_BYTES);
        weir_sink_close(sink);
        status->flags |= sink->is_rotated ? WEIR_ATTEMPT_OUTPUT_ROTATED : 0;
        status->flags |= sink->dropped > 0 ? WEIR_ATTEMPT_OUTPUT_DROPPED : 0;
    }
    status->out_bytes = shim->sinks[WEIR_OUTPUT_OUT].offset;
    status->out_dropped = shim->sinks[WEIR_OUTPUT_OUT].dropped;
    status->err_bytes = shim->sinks[WEIR_OUTPUT_ERR].offset;
    status->err_dropped = shim->sinks[WEIR_OUTPUT_ERR].dropped;
    getrusage(RUSAGE_CHILDREN, &usage);
    status->user_us = as_us(usage.ru_utime);
    status->system_us = as_us(usage.ru_stime);
    status->maxrss_kib = usage.ru_maxrss;
    weir_cgroup_remove(&shim->cgroup);
    /* The slot's place on disk is taken already, so this fails only for what may pass. */
    for (int i = 0; i < WRITE_TRIES && weir_slot_write(shim->slot_fd, status) != 0; i++)
        poll(NULL, 0, WRITE_PAUSE_MS);
    /* Lets go of the slot before anyone hears that it is free. */
    close(shim->slot_fd);
    weir_shim_note(shim, NOTE_WAIT_MS);
    _exit(0);
}

static void name_subject(struct weir_attempt_status *status, const char *name)
{
    static const char mark[] = "...";
    struct weir_str whole = weir_str(name);
    bool fits = whole.len < sizeof(status->subject);
    struct weir_str shown =
        fits ? whole : weir_str_cut(whole, sizeof(status->subject) - sizeof(mark));

    snprintf(status->subject, sizeof(status->subject), "%.*s%s", WEIR_STR_ARG(shown),
             fits ? "" : mark);
}

/* Like a shell: a line on the job's stderr, and an exit status that says why. */
_Noreturn static void fail(struct weir_shim *shim, int errnum, const char *what)
{
    struct weir_attempt_status *status = &shim->status;
    bool is_exec = strcmp(what, "exec") == 0;
    char why[WEIR_ATTEMPT_WHY_MAX];
    char line[WEIR_ATTEMPT_WHY_MAX + 16];
    int n;

    status->phase = WEIR_ATTEMPT_FAILED;
    status->start_errno = errnum;
    snprintf(status->what, sizeof(status->what), "%s", what);
    status->ended_wall_ms = weir_clock_wall_ms();
    status->ended_mono_ms = weir_clock_mono_ms();
    if (errnum == ECANCELED) {
        status->flags |= WEIR_ATTEMPT_STOP_ASKED;
        status->wait_status = SIGTERM;
        finish(shim);
    }
    status->wait_status =
        W_EXITCODE(is_exec && errnum == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, 0);
    name_subject(status,
                 strcmp(what, "working directory") == 0 ? shim->launch.cwd : shim->launch.argv[0]);
    weir_attempt_why(status, why);
    n = snprintf(line, sizeof(line), "weir: %s\n", why);
    weir_sink_write(&shim->sinks[WEIR_OUTPUT_ERR], line, (size_t)n);
    finish(shim);
}

/* The read end is ours and does not block; the write end is the job's. A job of another user must
 * own the pipe to open it again by name (/dev/stdout). */
static int open_pipe(struct weir_shim *shim, enum weir_output_stream stream, int *ret_write_fd)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return errno;
    *ret_write_fd = fds[1];
    shim->sinks[stream].pipe_fd = fds[0];
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
        return errno;
    if (shim->launch.set_identity && shim->launch.uid != geteuid() &&
        fchown(fds[1], shim->launch.uid, shim->launch.gid) < 0)
        return errno;
    return 0;
}

static void start(struct weir_shim *shim, const struct weir_shim_context *context)
{
    struct weir_attempt_status *status = &shim->status;
    struct weir_spawn spawn = {.launch = &shim->launch,
                               .cgroup_procs_fd = -1,
                               .oom_score_adj = context->oom_score_adj};
    const char *what;
    struct weir_proc main_proc;
    int errnum = 0;
    pid_t pid;

    if (shim->launch.cgroup[0] != '\0') {
        errnum = weir_cgroup_create(&shim->launch, &shim->cgroup, &what);
        if (errnum != 0)
            fail(shim, errnum, what);
        spawn.cgroup_procs_fd = shim->cgroup.procs_fd;
    }
    errnum = open_pipe(shim, WEIR_OUTPUT_OUT, &spawn.out_fd);
    if (errnum == 0)
        errnum = open_pipe(shim, WEIR_OUTPUT_ERR, &spawn.err_fd);
    if (errnum != 0)
        fail(shim, errnum, "output");
    if (weir_shim_is_stopped_early(shim))
        fail(shim, ECANCELED, "stopped");
    pid = weir_spawn_main(&spawn);
    close(spawn.out_fd);
    close(spawn.err_fd);
    if (pid < 0)
        fail(shim, -pid, spawn.ret_what);
    status->phase = WEIR_ATTEMPT_RUNNING;
    status->main_pid = pid;
    status->started_wall_ms = weir_clock_wall_ms();
    status->started_mono_ms = weir_clock_mono_ms();
    if (weir_proc_read(pid, &main_proc))
        status->main_start_ticks = main_proc.start_ticks;
    if (shim->launch.time_limit_ms > 0)
        shim->limit_us = weir_clock_mono_us() + shim->launch.time_limit_ms * 1000;
    weir_slot_write(shim->slot_fd, status);
    shim->note_us = weir_clock_mono_us() + NOTE_DELAY_US;
}

static int open_signals(void)
{
    sigset_t set;

    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, WEIR_COMMAND_SIGNAL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Arguments and environment may be megabytes, and are of no use any more. What stays in use of the
 * request (output directory, cgroup) stands before them. */
static void drop_request(struct weir_shim *shim, const struct weir_shim_context *context)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t n_used = (size_t)(shim->launch.cwd - context->request);
    size_t n_kept = (n_used + page - 1) / page * page;

    shim->launch.cwd = "/";
    shim->launch.argv = NULL;
    shim->launch.envp = NULL;
    shim->launch.groups = NULL;
    if (n_kept < context->request_mapped_bytes)
        munmap(context->request + n_kept, context->request_mapped_bytes - n_kept);
}

_Noreturn void weir_shim_run(const struct weir_shim_context *context)
{
    static struct weir_shim shim;
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_attempt_id id;
    int code;

    prctl(PR_SET_NAME, "weir-shim");
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    shim.deadline_us = INT64_MAX;
    shim.limit_us = INT64_MAX;
    shim.note_us = INT64_MAX;
    shim.cgroup = (struct weir_cgroup)WEIR_CGROUP_INIT;
    code = weir_launch_decode(context->request, context->request_bytes, &arena, &id, &shim.launch,
                              NULL);
    if (code < 0) {
        weir_refusal_send(context->reply_fd, &id, code == WEIR_E_NO_MEMORY ? ENOMEM : EPROTO);
        _exit(1);
    }
    for (int i = 0; i < WEIR_OUTPUT_STREAM_MAX; i++)
        weir_sink_init(&shim.sinks[i], (enum weir_output_stream)i, shim.launch.output_dir,
                       shim.launch.output_cap_bytes);
    claim(&shim, context);
    close(context->reply_fd);
    shim.signal_fd = open_signals();
    if (shim.signal_fd < 0)
        fail(&shim, errno, "signals");
    start(&shim, context);
    weir_arena_finish(&arena);
    drop_request(&shim, context);
    weir_shim_watch(&shim);
    if (weir_cgroup_oom_kills(&shim.cgroup) > 0)
        shim.status.flags |= WEIR_ATTEMPT_OOM_KNOWN;
    else if (is_out_of_memory(&shim, context->oom_kills))
        shim.status.flags |= WEIR_ATTEMPT_OOM_LIKELY;
    shim.status.phase = WEIR_ATTEMPT_EXITED;
    finish(&shim);
}
