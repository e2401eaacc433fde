#include "edge/local/shim_watch.h"

#include "base/clock.h"
#include "edge/local/command.h"
#include "edge/local/note.h"
#include "edge/local/proc.h"
#include "edge/local/slots.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PUMP_BYTES = 1024 * 1024, /* of one stream, before the other and the signals have their turn */
    LEFTOVER_GRACE_US = 1000 * 1000,
    ROUND_MIN_US = 5 * 1000,
    ROUND_MAX_US = 500 * 1000,
    GIVE_UP_US = 5 * 1000 * 1000, /* on processes the kernel does not let us signal */
    KILL_NICE = -20,
    PASSES_MAX = 8,
};

void weir_shim_note(const struct weir_shim *shim, int wait_ms)
{
    struct weir_note note = {shim->status.id.serial, shim->status.id.slot};

    weir_note_send(&note, wait_ms);
}

static int64_t soon(uint32_t ms)
{
    return weir_clock_mono_us() + (int64_t)ms * 1000;
}

static void set_flag(struct weir_shim *shim, uint32_t flag)
{
    if ((shim->status.flags & flag) != 0)
        return;
    shim->status.flags |= flag;
    if (shim->status.phase == WEIR_ATTEMPT_RUNNING)
        weir_slot_write(shim->slot_fd, &shim->status);
}

static void shorten(struct weir_shim *shim, int64_t deadline_us)
{
    if (deadline_us < shim->deadline_us)
        shim->deadline_us = deadline_us;
}

static void on_main_exit(struct weir_shim *shim, int wait_status)
{
    shim->is_main_gone = true;
    shim->status.wait_status = wait_status;
    shim->status.ended_wall_ms = weir_clock_wall_ms();
    shim->status.ended_mono_ms = weir_clock_mono_ms();
    shim->limit_us = INT64_MAX;
    shim->note_us = INT64_MAX;
    if (shim->stage == WEIR_SHIM_TERM)
        shorten(shim, weir_clock_mono_us() + LEFTOVER_GRACE_US);
}

/* Main, and whatever was reparented to us. False when we have no child any more, and so no
 * descendant: every living one hangs below a child of ours. */
static bool bury(struct weir_shim *shim)
{
    int wait_status;
    pid_t pid;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        if (pid == shim->status.main_pid && !shim->is_main_gone)
            on_main_exit(shim, wait_status);
    return pid == 0;
}

/* To all of the job. Passes are few: the loop has pipes to empty, and comes back. */
static struct weir_proc_hunt signal_all(struct weir_shim *shim, const int *signals,
                                        unsigned n_signals)
{
    struct weir_proc_hunt hunt = WEIR_PROC_HUNT_INIT;

    weir_cgroup_signal(&shim->cgroup, signals[0]);
    for (int pass = 0; pass < PASSES_MAX; pass++) {
        bury(shim);
        if (weir_proc_hunt_pass(&hunt, signals, n_signals) == 0)
            break;
    }
    weir_proc_hunt_finish(&hunt);
    return hunt;
}

static void enter_term(struct weir_shim *shim, int64_t grace_us)
{
    /* A stopped process would not see SIGTERM before it goes on. */
    static const int signals[] = {SIGTERM, SIGCONT};

    shim->stage = WEIR_SHIM_TERM;
    shim->deadline_us = weir_clock_mono_us() + grace_us;
    signal_all(shim, signals, 2);
}

static void kill_round(struct weir_shim *shim)
{
    static const int signals[] = {SIGKILL};
    struct weir_proc_hunt hunt;
    int64_t now;

    bury(shim);
    if (!shim->is_main_gone)
        set_flag(shim, WEIR_ATTEMPT_KILL_SENT);
    hunt = signal_all(shim, signals, 1);
    now = weir_clock_mono_us();
    shim->deadline_us = now + shim->round_us;
    if (shim->round_us < ROUND_MAX_US)
        shim->round_us *= 2;
    if (hunt.n_denied == 0 || hunt.n_signalled > 0)
        shim->denied_since_us = 0;
    else if (shim->denied_since_us == 0)
        shim->denied_since_us = now;
    if (shim->denied_since_us > 0 && now - shim->denied_since_us > GIVE_UP_US &&
        shim->is_main_gone) {
        set_flag(shim, WEIR_ATTEMPT_LEFT_BEHIND);
        shim->is_all_gone = true;
    }
}

/* To outrun what forks while it is killed, where the kernel lets us. Real-time, because niceness
 * counts within a session only where the kernel groups by session. */
static void hurry(void)
{
    const struct sched_param lowest = {.sched_priority = 1};

    if (sched_setscheduler(0, SCHED_FIFO, &lowest) < 0)
        setpriority(PRIO_PROCESS, 0, KILL_NICE);
}

static void enter_kill(struct weir_shim *shim)
{
    if (shim->stage == WEIR_SHIM_KILL)
        return;
    shim->stage = WEIR_SHIM_KILL;
    shim->round_us = ROUND_MIN_US;
    hurry();
    kill_round(shim);
}

static void stop(struct weir_shim *shim, uint32_t grace_ms)
{
    if (shim->stage < WEIR_SHIM_TERM)
        enter_term(shim, (int64_t)grace_ms * 1000);
    else if (shim->stage == WEIR_SHIM_TERM)
        shorten(shim, soon(grace_ms));
}

static void checkpoint(struct weir_shim *shim, const struct weir_command *command)
{
    if (shim->stage == WEIR_SHIM_RUN && !shim->is_main_gone) {
        kill(shim->status.main_pid, command->signal);
        set_flag(shim, WEIR_ATTEMPT_CHECKPOINT_SENT);
        shim->stage = WEIR_SHIM_CHECKPOINT;
        shim->deadline_us = soon(command->grace_ms);
    } else if (shim->stage == WEIR_SHIM_CHECKPOINT) {
        shorten(shim, soon(command->grace_ms));
    }
}

static void obey(struct weir_shim *shim, const struct weir_command *command)
{
    uint32_t grace_ms =
        command->grace_ms == WEIR_COMMAND_GRACE_DEFAULT ? shim->launch.grace_ms : command->grace_ms;

    /* Main may have ended before the command came, and we not have looked yet: then it was not
     * stopped. */
    bury(shim);
    if (command->op != WEIR_COMMAND_FORWARD && !shim->is_main_gone)
        set_flag(shim, WEIR_ATTEMPT_STOP_ASKED);
    switch (command->op) {
    case WEIR_COMMAND_FORWARD:
        /* Main may have left its own group. */
        if (!shim->is_main_gone && kill(-shim->status.main_pid, command->signal) < 0)
            kill(shim->status.main_pid, command->signal);
        break;
    case WEIR_COMMAND_STOP:
        stop(shim, grace_ms);
        break;
    case WEIR_COMMAND_CHECKPOINT:
        checkpoint(shim, &(struct weir_command){command->op, command->signal, grace_ms});
        break;
    case WEIR_COMMAND_KILL:
        enter_kill(shim);
        break;
    case WEIR_COMMAND_OP_MAX:
        break;
    }
}

/* False for signals that ask for nothing. */
static bool read_command(const struct signalfd_siginfo *info, struct weir_command *ret_command)
{
    if (info->ssi_uid != getuid() && info->ssi_uid != 0)
        return false;
    /* By hand, or at shutdown. */
    if (info->ssi_signo == SIGTERM) {
        *ret_command = (struct weir_command){WEIR_COMMAND_STOP, 0, WEIR_COMMAND_GRACE_DEFAULT};
        return true;
    }
    return (int)info->ssi_signo == WEIR_COMMAND_SIGNAL && info->ssi_code == SI_QUEUE &&
           weir_command_unpack(info->ssi_ptr, ret_command);
}

bool weir_shim_is_stopped_early(struct weir_shim *shim)
{
    struct signalfd_siginfo info;
    struct weir_command command;

    while (read(shim->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (read_command(&info, &command) && command.op != WEIR_COMMAND_FORWARD)
            return true;
    return false;
}

static void reap(struct weir_shim *shim)
{
    bool has_children = bury(shim);

    if (!shim->is_main_gone)
        return;
    if (!has_children && !weir_cgroup_is_populated(&shim->cgroup))
        shim->is_all_gone = true;
    else if (shim->stage < WEIR_SHIM_TERM)
        enter_term(shim, LEFTOVER_GRACE_US);
}

static void read_signals(struct weir_shim *shim)
{
    struct signalfd_siginfo info;
    struct weir_command command;
    bool has_dead = false;

    while (read(shim->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            has_dead = true;
        else if (read_command(&info, &command))
            obey(shim, &command);
    }
    if (has_dead)
        reap(shim);
}

static void run_timers(struct weir_shim *shim)
{
    int64_t now = weir_clock_mono_us();

    if (now >= shim->note_us) {
        shim->note_us = INT64_MAX;
        weir_shim_note(shim, 0);
    }
    if (now >= shim->limit_us)
        bury(shim); /* what ended in time did not overrun its limit: main's end lifts it */
    if (now >= shim->limit_us) {
        shim->limit_us = INT64_MAX;
        set_flag(shim, WEIR_ATTEMPT_TIME_LIMIT);
        stop(shim, shim->launch.grace_ms);
    }
    if (now < shim->deadline_us)
        return;
    if (shim->stage == WEIR_SHIM_CHECKPOINT)
        stop(shim, shim->launch.grace_ms);
    else if (shim->stage == WEIR_SHIM_TERM)
        enter_kill(shim);
    else
        kill_round(shim);
    /* What was moved into our cgroup from elsewhere dies without a SIGCHLD. */
    reap(shim);
}

static int wait_ms(const struct weir_shim *shim)
{
    int64_t until = shim->deadline_us < shim->limit_us ? shim->deadline_us : shim->limit_us;
    int64_t left_us;

    if (shim->note_us < until)
        until = shim->note_us;
    if (until == INT64_MAX)
        return -1;
    left_us = until - weir_clock_mono_us();
    if (left_us <= 0)
        return 0;
    return left_us >= 3600LL * 1000 * 1000 ? 3600 * 1000 : (int)((left_us + 999) / 1000);
}

void weir_shim_watch(struct weir_shim *shim)
{
    while (!shim->is_all_gone) {
        struct pollfd watches[1 + WEIR_OUTPUT_STREAM_MAX] = {
            {.fd = shim->signal_fd, .events = POLLIN},
            {.fd = shim->sinks[WEIR_OUTPUT_OUT].pipe_fd, .events = POLLIN},
            {.fd = shim->sinks[WEIR_OUTPUT_ERR].pipe_fd, .events = POLLIN},
        };

        if (poll(watches, 1 + WEIR_OUTPUT_STREAM_MAX, wait_ms(shim)) < 0)
            continue;
        for (int i = 0; i < WEIR_OUTPUT_STREAM_MAX; i++)
            if (watches[1 + i].revents != 0)
                weir_sink_pump(&shim->sinks[i], PUMP_BYTES);
        if (watches[0].revents != 0)
            read_signals(shim);
        run_timers(shim);
    }
}
