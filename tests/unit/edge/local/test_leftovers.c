/* What a job leaves behind when main ends, or when its shim is killed: nothing. */
#include "rig.h"

#include "base/err.h"
#include "edge/local/command.h"
#include "edge/local/proc.h"
#include "edge/local/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* The job is over for the server when nothing of it is left. */
static void a_daemon_does_not_outlive_main(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status =
        rig_run(rig, &job, (const char *const[]){rig_self(), "job", "detach", NULL});

    rig_assert_exited(&status, 7);
    assert_int_equal(status.flags, 0);
    assert_int_equal(status.out_bytes, strlen("detached\n"));
    assert_int_equal(rig_count_marked(&job), 0);
}

static void a_child_that_holds_the_pipe_does_not_hold_the_job(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    int64_t before = rig_now_ms();
    struct weir_attempt_status status =
        rig_run_sh(rig, &job, "trap '' INT; sleep 1000 & echo done; exit 1");

    rig_assert_exited(&status, 1);
    assert_true(rig_now_ms() - before < RIG_DEADLINE_MS);
    assert_int_equal(status.out_bytes, 5);
    assert_int_equal(rig_count_marked(&job), 0);
}

/* What a child still says after SIGTERM is kept. */
static void last_words_of_children_are_kept(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    char text[256];

    rig_run_sh(rig, &job,
               "sh -c 'trap \"echo last words; exit\" TERM; echo up; "
               "while :; do sleep 0.02; done' & sleep 0.3; exit 0");
    rig_output(rig, &job, WEIR_OUTPUT_OUT, text, sizeof(text));
    assert_string_equal(text, "up\nlast words\n");
}

static void burn(struct rig *rig, const char *bomb)
{
    struct rig_job job;
    int64_t before;
    struct weir_attempt_status status;

    rig_prepare(rig, &job, (const char *const[]){rig_self(), "job", bomb, "60", NULL});
    rig_launch(rig, &job);
    rig_wait_running(rig, &job);
    rig_wait_output(rig, &job, "burning");
    before = rig_now_ms();
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    status = rig_wait_final(rig, &job);
    print_message("# main gone after %lld ms, all after %lld ms\n",
                  (long long)(status.ended_mono_ms - before), (long long)(rig_now_ms() - before));
    assert_true(WIFSIGNALED(status.wait_status));
    assert_int_equal(rig_count_marked(&job), 0);
}

static void a_fork_bomb_is_killed(void **state)
{
    burn(*state, "bomb");
}

static void a_fork_bomb_of_sessions_is_killed(void **state)
{
    /* Without priority nor cgroup nobody outruns sixty forkers on few CPUs. */
    rig_need(geteuid() == 0, "root");
    burn(*state, "session-bomb");
}

static pid_t shim_of(struct rig *rig, const struct rig_job *job)
{
    return rig_wait_running(rig, job).shim_pid;
}

static bool is_dead(const struct rig *rig, const struct rig_job *job,
                    struct weir_attempt_status *ret_status)
{
    struct weir_attempt_view view;

    assert_int_equal(weir_slots_view(&rig->slots, &job->launch.id, &view, NULL), 0);
    *ret_status = view.status;
    return !view.is_alive;
}

static unsigned sweep(const struct weir_attempt_status *status)
{
    struct weir_sweep_target target = {*status, ""};
    unsigned n_left;

    assert_int_equal(weir_sweep(&target, 1, &n_left, NULL), 0);
    return n_left;
}

static void main_dies_with_its_shim(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    rig_prepare(rig, &job, (const char *const[]){"sleep", "1000", NULL});
    rig_launch(rig, &job);
    kill(shim_of(rig, &job), SIGKILL);
    rig_wait_until(is_dead(rig, &job, &status));
    assert_int_equal(status.phase, WEIR_ATTEMPT_RUNNING);
    rig_wait_until(rig_count_marked(&job) == 0);
    rig_wait_until(sweep(&status) == 0);
}

static void orphans_of_a_dead_shim_are_swept(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct rig_job bystander;
    struct weir_attempt_status status;

    rig_prepare(rig, &bystander, (const char *const[]){"sleep", "1000", NULL});
    rig_launch(rig, &bystander);
    rig_wait_running(rig, &bystander);
    /* Main waits for a daemon in another session, and one that hides its environment. */
    rig_prepare(rig, &job,
                (const char *const[]){"sh", "-c",
                                      "\"$0\" job detach; env -i sh -c 'trap \"\" TERM; echo up; "
                                      "while :; do sleep 1; done'",
                                      rig_self(), NULL});
    rig_launch(rig, &job);
    rig_wait_running(rig, &job);
    rig_wait_output(rig, &job, "detached");
    rig_wait_output(rig, &job, "up");
    kill(shim_of(rig, &job), SIGKILL);
    rig_wait_until(is_dead(rig, &job, &status));
    assert_true(rig_count_marked(&job) > 0);
    assert_true(sweep(&status) >= 2);
    rig_wait_until(sweep(&status) == 0);
    assert_int_equal(rig_count_marked(&job), 0);
    assert_int_equal(rig_count_marked(&bystander), 1);
    rig_command(rig, &bystander, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &bystander);
}

static void nothing_of_another_boot_is_swept(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    rig_prepare(rig, &job, (const char *const[]){"sleep", "1000", NULL});
    rig_launch(rig, &job);
    status = rig_wait_running(rig, &job);
    status.boot_id[0] ^= 1;
    /* The mark shows a moment after the exec. */
    rig_wait_until(rig_count_marked(&job) == 1);
    assert_int_equal(sweep(&status), 0);
    assert_int_equal(rig_count_marked(&job), 1);
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
}

/* A session or process group whose number was given out anew is not ours. */
static void reused_numbers_are_not_swept(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct rig_job bystander;
    struct weir_attempt_status status;
    struct weir_attempt_status other;

    rig_prepare(rig, &bystander, (const char *const[]){"sleep", "1000", NULL});
    rig_launch(rig, &bystander);
    other = rig_wait_running(rig, &bystander);
    status = rig_run(rig, &job, (const char *const[]){"true", NULL});
    /* As if ours had those numbers ten ticks earlier. */
    status.shim_pid = other.shim_pid;
    status.shim_start_ticks = other.shim_start_ticks - 10;
    status.main_pid = other.main_pid;
    status.main_start_ticks = other.main_start_ticks - 10;
    assert_int_equal(sweep(&status), 0);
    assert_int_equal(rig_count_marked(&bystander), 1);
    rig_command(rig, &bystander, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &bystander);
}

static void kill_by_the_kernel_for_memory_is_told(void **state)
{
    static const char group[] = "/sys/fs/cgroup/memory/weir-test-memory";
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char script[1024];

    rmdir(group);
    rig_need(geteuid() == 0 && mkdir(group, 0755) == 0 && weir_proc_oom_kills() >= 0,
             "root, a memory cgroup v1 and /proc/vmstat");
    snprintf(script, sizeof(script),
             "echo 32M > %s/memory.limit_in_bytes && echo $$ > %s/cgroup.procs && "
             "exec %s job eat",
             group, group, rig_self());
    status = rig_run_sh(rig, &job, script);
    rig_wait_until(rmdir(group) == 0);
    assert_int_equal(status.phase, WEIR_ATTEMPT_EXITED);
    assert_true(WIFSIGNALED(status.wait_status));
    assert_int_equal(WTERMSIG(status.wait_status), SIGKILL);
    assert_int_equal(status.flags, WEIR_ATTEMPT_OOM_LIKELY);
    /* A SIGKILL from elsewhere is not taken for one of the kernel's. */
    rig_run_sh(rig, &job, "sleep 0.1");
    status = rig_run_sh(rig, &job, "kill -KILL $$");
    assert_int_equal(WTERMSIG(status.wait_status), SIGKILL);
    assert_int_equal(status.flags, 0);
}

static bool allows_setuid(const char *dir)
{
    struct statvfs fs;

    return statvfs(dir, &fs) == 0 && (fs.f_flag & (ST_NOSUID | ST_NOEXEC)) == 0;
}

static void copy_self(const char *to)
{
    char chunk[65536];
    int from_fd = open(rig_self(), O_RDONLY | O_CLOEXEC);
    int to_fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ssize_t n;

    assert_true(from_fd >= 0 && to_fd >= 0);
    while ((n = read(from_fd, chunk, sizeof(chunk))) > 0)
        assert_int_equal(write(to_fd, chunk, (size_t)n), n);
    assert_int_equal(fchmod(to_fd, 04755), 0);
    close(from_fd);
    close(to_fd);
}

/* As a user without privileges: what became root by itself cannot be killed, and is given up on. */
static int run_unprivileged(const char *dir, const char *setuid_program)
{
    struct rig *rig;
    struct rig_job job;
    struct weir_attempt_status status;

    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        return 1;
    rig = rig_create_in(dir);
    status = rig_run(rig, &job, (const char *const[]){setuid_program, "job", "change-user", NULL});
    rig_destroy(rig);
    if (status.phase != WEIR_ATTEMPT_EXITED || status.wait_status != 0)
        return 2;
    return (status.flags & WEIR_ATTEMPT_LEFT_BEHIND) != 0 ? 0 : 3;
}

static void what_cannot_be_killed_is_told(void **state)
{
    struct rig *rig = *state;
    char program[300];
    int wait_status;
    pid_t pid;

    rig_need(geteuid() == 0 && allows_setuid(rig->dir), "root and a file system with setuid");
    assert_int_equal(chmod(rig->dir, 0777), 0);
    snprintf(program, sizeof(program), "%s/become-root", rig->dir);
    copy_self(program);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run_unprivileged(rig->dir, program));
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    /* The one left behind is ended here, by its program. */
    struct weir_proc_walk walk;
    struct weir_proc proc;
    weir_proc_walk_init(&walk);
    while (weir_proc_walk_next(&walk, &proc)) {
        char path[64];
        char exe[300];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/exe", proc.pid);
        n = readlink(path, exe, sizeof(exe) - 1);
        if (n > 0 && (exe[n] = '\0', strcmp(exe, program) == 0))
            kill(proc.pid, SIGKILL);
    }
    weir_proc_walk_finish(&walk);
    assert_int_equal(wait_status, 0);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_daemon_does_not_outlive_main, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_child_that_holds_the_pipe_does_not_hold_the_job,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(last_words_of_children_are_kept, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_fork_bomb_is_killed, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_fork_bomb_of_sessions_is_killed, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(main_dies_with_its_shim, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(orphans_of_a_dead_shim_are_swept, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(nothing_of_another_boot_is_swept, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(reused_numbers_are_not_swept, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(kill_by_the_kernel_for_memory_is_told, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_killed_is_told, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
