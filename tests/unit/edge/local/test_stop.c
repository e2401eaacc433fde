/* Jobs that are told to end: by command, by time limit, with the server gone. */
#include "rig.h"

#include "base/count.h"
#include "base/err.h"
#include "edge/local/command.h"
#include "edge/local/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_GRACE_MS = 10000 };

/* Launches the script, and waits until it printed "ready". */
static void start(struct rig *rig, struct rig_job *job, const char *script)
{
    rig_prepare_sh(rig, job, script);
    rig_launch(rig, job);
    rig_wait_running(rig, job);
    rig_wait_output(rig, job, "ready");
}

static void assert_killed(const struct weir_attempt_status *status, int signal, uint32_t flags)
{
    assert_int_equal(status->phase, WEIR_ATTEMPT_EXITED);
    assert_true(WIFSIGNALED(status->wait_status));
    assert_int_equal(WTERMSIG(status->wait_status), signal);
    assert_int_equal(status->flags, flags);
}

#define LOOP "while :; do sleep 0.02; done"

/* What a job of this rig reads before it ends: nothing, until let_through(). */
static int open_gate(struct rig *rig)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/gate", rig->dir);
    return mkfifo(path, 0600) == 0 || errno == EEXIST ? 0 : -1;
}

static void let_through(struct rig *rig)
{
    char path[300];
    int fd;

    snprintf(path, sizeof(path), "%s/gate", rig->dir);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "\n", 1), 1);
    close(fd);
}

static void stop_lets_the_job_clean_up(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap 'echo bye; exit 5' TERM; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, WEIR_COMMAND_GRACE_DEFAULT);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 5, WEIR_ATTEMPT_STOP_ASKED);
    rig_wait_output(rig, &job, "ready\nbye\n");
}

static void stop_kills_what_ignores_it(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap '' TERM; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, 300);
    status = rig_wait_final(rig, &job);
    assert_killed(&status, SIGKILL, WEIR_ATTEMPT_STOP_ASKED | WEIR_ATTEMPT_KILL_SENT);
    assert_true(status.ended_mono_ms - status.started_mono_ms >= 300);
}

static void a_second_stop_shortens_the_grace(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap '' TERM; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, 3600 * 1000);
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, 0);
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, 3600 * 1000);
    status = rig_wait_final(rig, &job);
    assert_killed(&status, SIGKILL, WEIR_ATTEMPT_STOP_ASKED | WEIR_ATTEMPT_KILL_SENT);
}

static void stop_reaches_every_process(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    /* A child in a session of its own; main waits for it. */
    start(rig, &job,
          "setsid sh -c 'trap \"echo child got it; exit 0\" TERM; echo ready; " LOOP "' & "
          "trap 'echo main got it' TERM; wait; wait; exit 6");
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, WEIR_COMMAND_GRACE_DEFAULT);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 6, WEIR_ATTEMPT_STOP_ASKED);
    rig_wait_output(rig, &job, "child got it");
    rig_wait_output(rig, &job, "main got it");
}

static void kill_asks_nobody(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap 'exit 0' TERM; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    status = rig_wait_final(rig, &job);
    assert_killed(&status, SIGKILL, WEIR_ATTEMPT_STOP_ASKED | WEIR_ATTEMPT_KILL_SENT);
}

static void signals_are_forwarded(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap 'echo one' USR1; trap 'exit 9' USR2; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_FORWARD, SIGUSR1, 0);
    rig_wait_output(rig, &job, "one");
    rig_command(rig, &job, WEIR_COMMAND_FORWARD, SIGUSR2, 0);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 9, 0);
}

static void many_commands_are_all_obeyed(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job,
          "n=0; trap 'n=$((n+1)); echo n=$n' USR1; trap 'exit 0' TERM; echo ready; " LOOP);
    for (int i = 1; i <= 20; i++) {
        char text[16];

        rig_command(rig, &job, WEIR_COMMAND_FORWARD, SIGUSR1, 0);
        snprintf(text, sizeof(text), "n=%d\n", i);
        rig_wait_output(rig, &job, text);
    }
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, DEFAULT_GRACE_MS);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 0, WEIR_ATTEMPT_STOP_ASKED);
}

static void checkpoint_lets_main_save(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap 'echo saved; exit 0' USR1; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_CHECKPOINT, SIGUSR1, 60000);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 0, WEIR_ATTEMPT_STOP_ASKED | WEIR_ATTEMPT_CHECKPOINT_SENT);
    rig_wait_output(rig, &job, "saved");
}

static void checkpoint_ends_in_stop(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap 'echo saving' USR1; trap 'exit 8' TERM; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_CHECKPOINT, SIGUSR1, 200);
    rig_wait_output(rig, &job, "saving");
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 8, WEIR_ATTEMPT_STOP_ASKED | WEIR_ATTEMPT_CHECKPOINT_SENT);
    assert_true(status.ended_mono_ms - status.started_mono_ms >= 200);
}

static void flags_show_while_the_job_runs(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_view view;

    start(rig, &job, "trap 'echo saving' USR1; echo ready; " LOOP);
    rig_command(rig, &job, WEIR_COMMAND_CHECKPOINT, SIGUSR1, 3600 * 1000);
    rig_wait_output(rig, &job, "saving");
    do
        assert_int_equal(weir_slots_view(&rig->slots, &job.launch.id, &view, NULL), 0);
    while (view.status.flags != (WEIR_ATTEMPT_STOP_ASKED | WEIR_ATTEMPT_CHECKPOINT_SENT));
    assert_int_equal(view.status.phase, WEIR_ATTEMPT_RUNNING);
    assert_true(view.is_alive);
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
}

static void the_time_limit_holds(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    rig_prepare_sh(rig, &job, "trap '' TERM; " LOOP);
    job.launch.time_limit_ms = 200;
    job.launch.grace_ms = 200;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    assert_killed(&status, SIGKILL, WEIR_ATTEMPT_TIME_LIMIT | WEIR_ATTEMPT_KILL_SENT);
    assert_true(status.ended_mono_ms - status.started_mono_ms >= 400);
}

/* No launcher, no reader of notes: the shim needs nobody. */
static void the_time_limit_holds_without_a_server(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_view view;

    rig_prepare_sh(rig, &job, "trap 'exit 3' TERM; " LOOP);
    job.launch.time_limit_ms = 500;
    rig_launch(rig, &job);
    weir_launcher_stop(&rig->launcher);
    close(rig->notes_fd);
    rig->notes_fd = -1;
    do {
        rig_pause();
        assert_int_equal(weir_slots_view(&rig->slots, &job.launch.id, &view, NULL), 0);
    } while (!weir_attempt_is_final(view.status.phase));
    rig_assert_exited_with(&view.status, 3, WEIR_ATTEMPT_TIME_LIMIT);
    rig_start_launcher(rig);
}

static void a_stopped_job_is_stopped(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    struct weir_proc proc;

    start(rig, &job, "trap 'exit 4' TERM; echo ready; " LOOP);
    status = rig_wait_running(rig, &job);
    assert_int_equal(kill(status.main_pid, SIGSTOP), 0);
    rig_wait_until(weir_proc_read(status.main_pid, &proc) && proc.state == 'T');
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, DEFAULT_GRACE_MS);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 4, WEIR_ATTEMPT_STOP_ASKED);
}

/* The shim is held between claim and exec: by a cgroup whose memory.max is a FIFO. */
static void a_stop_before_the_start_prevents_it(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_view view;
    struct weir_attempt_status status;
    char cgroup[300];
    char path[400];
    int fd;

    snprintf(cgroup, sizeof(cgroup), "%s/cgroup", rig->dir);
    assert_int_equal(mkdir(cgroup, 0755), 0);
    snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
    close(open(path, O_CREAT | O_WRONLY, 0644));
    snprintf(path, sizeof(path), "%s/memory.max", cgroup);
    assert_int_equal(mkfifo(path, 0644), 0);
    rig_prepare_sh(rig, &job, "echo started");
    job.launch.cgroup = cgroup;
    job.launch.memory_max_bytes = 1 << 30;
    rig_launch(rig, &job);
    do {
        rig_pause();
        assert_int_equal(weir_slots_view(&rig->slots, &job.launch.id, &view, NULL), 0);
    } while (view.status.phase != WEIR_ATTEMPT_CLAIMED);
    assert_true(view.is_alive);
    rig_command(rig, &job, WEIR_COMMAND_STOP, 0, WEIR_COMMAND_GRACE_DEFAULT);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    status = rig_wait_final(rig, &job);
    close(fd);
    assert_int_equal(status.phase, WEIR_ATTEMPT_FAILED);
    assert_int_equal(status.start_errno, ECANCELED);
    assert_int_equal(status.flags, WEIR_ATTEMPT_STOP_ASKED);
    assert_int_equal(status.wait_status, SIGTERM);
    assert_int_equal(status.out_bytes + status.err_bytes, 0);
}

static void sigterm_to_the_shim_is_a_stop(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    start(rig, &job, "trap 'exit 2' TERM; echo ready; " LOOP);
    status = rig_wait_running(rig, &job);
    kill(status.shim_pid, SIGHUP);
    kill(status.shim_pid, SIGINT);
    kill(status.shim_pid, SIGUSR1);
    sigqueue(status.shim_pid, WEIR_COMMAND_SIGNAL, (union sigval){.sival_int = 4});
    kill(status.shim_pid, SIGTERM);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 2, WEIR_ATTEMPT_STOP_ASKED);
}

/* The shim does not look while main ends, is told, and is over its limit: none of that is why. */
static void what_ended_before_was_not_stopped(void **state)
{
    static const struct {
        int op;
        int64_t time_limit_ms; /* 0: none */
    } rows[] = {{WEIR_COMMAND_STOP, 0},
                {WEIR_COMMAND_CHECKPOINT, 0},
                {WEIR_COMMAND_KILL, 0},
                {WEIR_COMMAND_FORWARD, 0},
                {WEIR_COMMAND_OP_MAX, 1000}};
    struct rig *rig = *state;

    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        struct rig_job job;
        struct weir_attempt_status status;
        struct weir_proc proc;
        int64_t until;

        print_message("row %zu\n", i);
        rig_prepare_sh(rig, &job, "echo ready; read line < gate");
        job.launch.cwd = rig->dir;
        job.launch.time_limit_ms = rows[i].time_limit_ms;
        assert_int_equal(open_gate(rig), 0);
        rig_launch(rig, &job);
        status = rig_wait_running(rig, &job);
        rig_wait_output(rig, &job, "ready");
        until = rig_now_ms() + rows[i].time_limit_ms; /* the limit counts from before */
        assert_int_equal(kill(status.shim_pid, SIGSTOP), 0);
        rig_wait_until(weir_proc_read(status.shim_pid, &proc) && proc.state == 'T');
        let_through(rig);
        rig_wait_until(weir_proc_read(status.main_pid, &proc) && proc.state == 'Z');
        if (rows[i].op != WEIR_COMMAND_OP_MAX)
            rig_command(rig, &job, rows[i].op, SIGUSR1, DEFAULT_GRACE_MS);
        else
            rig_wait_until(rig_now_ms() > until);
        assert_int_equal(kill(status.shim_pid, SIGCONT), 0);
        status = rig_wait_final(rig, &job);
        rig_assert_exited_with(&status, 0, 0);
    }
}

static void commands_reach_nobody_else(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_command command = {WEIR_COMMAND_KILL, 0, 0};
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_proc self;
    struct weir_attempt_status status = {0};

    assert_int_equal(weir_command_send(&status, &command, &err), WEIR_E_NOT_FOUND);
    /* A process that has the pid now, but is not the one meant: this one, which would die. */
    assert_true(weir_proc_read(getpid(), &self));
    status.shim_pid = getpid();
    status.shim_start_ticks = self.start_ticks - 1;
    assert_int_equal(weir_command_send(&status, &command, &err), WEIR_E_NOT_FOUND);
    rig_prepare_sh(rig, &job, "exit 0");
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_wait_until(weir_command_send(&status, &command, &err) == WEIR_E_NOT_FOUND);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stop_lets_the_job_clean_up, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(stop_kills_what_ignores_it, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_second_stop_shortens_the_grace, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(stop_reaches_every_process, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(kill_asks_nobody, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(signals_are_forwarded, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(many_commands_are_all_obeyed, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(checkpoint_lets_main_save, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(checkpoint_ends_in_stop, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(flags_show_while_the_job_runs, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(the_time_limit_holds, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(the_time_limit_holds_without_a_server, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_stopped_job_is_stopped, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_stop_before_the_start_prevents_it, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(sigterm_to_the_shim_is_a_stop, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_ended_before_was_not_stopped, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(commands_reach_nobody_else, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
