/* Jobs that run to their end: what they are given, and what is written down of them. */
#include "rig.h"

#include "base/clock.h"
#include "edge/local/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static void assert_output(struct rig *rig, struct rig_job *job, enum weir_output_stream stream,
                          const char *expected)
{
    char text[8192];

    rig_output(rig, job, stream, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void a_command_runs(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    uint8_t boot_id[16];
    struct weir_attempt_status status =
        rig_run_sh(rig, &job, "echo to stdout; echo to stderr >&2; exit 3");

    weir_clock_boot_id(boot_id);
    rig_assert_exited(&status, 3);
    assert_int_equal(status.flags, 0);
    assert_int_equal(status.out_bytes, 10);
    assert_int_equal(status.err_bytes, 10);
    assert_int_equal(status.uid, geteuid());
    assert_memory_equal(status.boot_id, boot_id, 16);
    assert_true(status.claimed_wall_ms <= status.started_wall_ms);
    assert_true(status.started_wall_ms <= status.ended_wall_ms);
    assert_true(status.started_mono_ms <= status.ended_mono_ms);
    assert_true(status.main_pid > 0 && status.shim_pid > 0);
    assert_true(status.main_start_ticks >= status.shim_start_ticks && status.shim_start_ticks > 0);
    assert_true(status.maxrss_kib > 0 && status.user_us + status.system_us > 0);
    assert_output(rig, &job, WEIR_OUTPUT_OUT, "to stdout\n");
    assert_output(rig, &job, WEIR_OUTPUT_ERR, "to stderr\n");
}

static void a_silent_job_leaves_no_files(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status = rig_run(rig, &job, (const char *const[]){"true", NULL});
    char path[512];

    rig_assert_exited(&status, 0);
    snprintf(path, sizeof(path), "%s/%s", rig->dir, job.output_dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_signal_ends_main(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status = rig_run_sh(rig, &job, "kill -SEGV $$");

    assert_int_equal(status.phase, WEIR_ATTEMPT_EXITED);
    assert_true(WIFSIGNALED(status.wait_status));
    assert_int_equal(WTERMSIG(status.wait_status), SIGSEGV);
    assert_int_equal(status.flags, 0);
}

static void the_environment_is_exactly_what_was_given(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    char expected[256];

    rig_prepare(rig, &job, (const char *const[]){"env", NULL});
    job.envp[2] = "EMPTY=";
    job.envp[3] = "LINES=a\nb";
    rig_launch(rig, &job);
    rig_wait_final(rig, &job);
    snprintf(expected, sizeof(expected), "PATH=/usr/bin:/bin\n%s\nEMPTY=\nLINES=a\nb\n",
             job.marker);
    assert_output(rig, &job, WEIR_OUTPUT_OUT, expected);
}

static void the_process_is_set_up(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    char text[4096];
    char expected[64];
    int pid;
    int pgrp;
    int session;

    rig_prepare(rig, &job,
                (const char *const[]){"sh", "-c",
                                      "umask; pwd; cat; echo end; cut -d' ' -f1,5,6 /proc/$$/stat;"
                                      "ls /proc/$$/fd",
                                      NULL});
    job.launch.umask = 027;
    job.launch.cwd = "/usr/bin";
    rig_launch(rig, &job);
    rig_wait_final(rig, &job);
    rig_output(rig, &job, WEIR_OUTPUT_OUT, text, sizeof(text));
    assert_memory_equal(text, "0027\n/usr/bin\nend\n", 18);
    assert_int_equal(sscanf(text + 18, "%d %d %d", &pid, &pgrp, &session), 3);
    assert_int_equal(pid, pgrp);
    assert_int_not_equal(session, pid);
    assert_int_not_equal(session, getsid(0));
    snprintf(expected, sizeof(expected), "%d %d %d\n0\n1\n2\n", pid, pgrp, session);
    assert_string_equal(text + 18, expected);
}

/* Whatever the server blocks and ignores. */
static void signals_are_as_new(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    sigset_t all;
    sigset_t before;
    char text[4096];

    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    weir_launcher_stop(&rig->launcher);
    rig_start_launcher(rig);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    rig_run(rig, &job, (const char *const[]){"cat", "/proc/self/status", NULL});
    rig_output(rig, &job, WEIR_OUTPUT_OUT, text, sizeof(text));
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                                 "SigCgt:\t0000000000000000\n"));
}

static bool has_descriptors(pid_t pid, unsigned n)
{
    char path[64];
    unsigned n_open = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n_open++;
    closedir(dir);
    return n_open == n + 2;
}

static void descriptors_of_the_server_stay_out(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    int leaks[3];

    weir_launcher_stop(&rig->launcher);
    for (int i = 0; i < 3; i++)
        leaks[i] = fcntl(0, F_DUPFD, 50 + i); /* without close-on-exec */
    rig_start_launcher(rig);
    for (int i = 0; i < 3; i++)
        close(leaks[i]);
    rig_prepare(rig, &job, (const char *const[]){"sleep", "60", NULL});
    rig_launch(rig, &job);
    status = rig_wait_running(rig, &job);
    rig_wait_until(has_descriptors(status.main_pid, 3));
    /* The shim's: slot, signals, and the two pipes besides. */
    rig_wait_until(has_descriptors(status.shim_pid, 7));
    rig_wait_until(has_descriptors(rig->launcher.pid, 4));
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
}

static void assert_failed(struct rig *rig, struct rig_job *job,
                          const struct weir_attempt_status *status, const char *what, int errnum,
                          int exit_status)
{
    char text[4096];

    assert_int_equal(status->phase, WEIR_ATTEMPT_FAILED);
    assert_string_equal(status->what, what);
    assert_int_equal(status->start_errno, errnum);
    assert_true(WIFEXITED(status->wait_status));
    assert_int_equal(WEXITSTATUS(status->wait_status), exit_status);
    assert_int_equal(status->started_wall_ms, 0);
    assert_true(status->ended_wall_ms > 0);
    assert_int_equal(status->out_bytes, 0);
    rig_output(rig, job, WEIR_OUTPUT_ERR, text, sizeof(text));
    assert_int_equal(strlen(text), status->err_bytes);
    assert_non_null(strstr(text, strerror(errnum)));
    assert_true(strncmp(text, "weir: cannot ", 13) == 0);
}

static void what_cannot_run_says_so(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char path[512];
    char text[512];

    status = rig_run(rig, &job, (const char *const[]){"no-such-command", NULL});
    assert_failed(rig, &job, &status, "exec", ENOENT, 127);
    assert_output(rig, &job, WEIR_OUTPUT_ERR,
                  "weir: cannot run 'no-such-command': No such file or directory\n");
    status = rig_run(rig, &job, (const char *const[]){"/no/such/command", NULL});
    assert_failed(rig, &job, &status, "exec", ENOENT, 127);
    status = rig_run(rig, &job, (const char *const[]){"/usr", NULL});
    assert_failed(rig, &job, &status, "exec", EISDIR, 126);
    snprintf(path, sizeof(path), "%s/file", rig->dir);
    close(open(path, O_CREAT | O_WRONLY, 0644));
    status = rig_run(rig, &job, (const char *const[]){path, NULL});
    assert_failed(rig, &job, &status, "exec", EACCES, 126);
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.cwd = "/no/such/directory";
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    assert_failed(rig, &job, &status, "working directory", ENOENT, 126);
    rig_output(rig, &job, WEIR_OUTPUT_ERR, text, sizeof(text));
    assert_string_equal(text,
                        "weir: cannot enter '/no/such/directory': No such file or directory\n");
}

static void write_script(const char *dir, const char *name, const char *text, mode_t mode)
{
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void commands_are_looked_up_in_the_job_s_path(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char path[600];

    write_script(rig->dir, "hello", "echo script without interpreter \"$@\"\n", 0755);
    rig_prepare(rig, &job, (const char *const[]){"hello", "a b", "c", NULL});
    snprintf(path, sizeof(path), "PATH=/nowhere:/etc/passwd:%s", rig->dir);
    job.envp[0] = path;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited(&status, 0);
    assert_output(rig, &job, WEIR_OUTPUT_OUT, "script without interpreter a b c\n");

    /* An empty part is the working directory. */
    rig_prepare(rig, &job, (const char *const[]){"hello", NULL});
    job.envp[0] = "PATH=/nowhere:";
    job.launch.cwd = rig->dir;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited(&status, 0);

    /* What is there and forbidden is not "not found". */
    write_script(rig->dir, "secret", "echo no\n", 0644);
    rig_prepare(rig, &job, (const char *const[]){"secret", NULL});
    snprintf(path, sizeof(path), "PATH=%s:/nowhere", rig->dir);
    job.envp[0] = path;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    assert_failed(rig, &job, &status, "exec", EACCES, 126);

    /* Without PATH the usual places. */
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.envp[0] = "NOPATH=1";
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited(&status, 0);
}

static char *filler(const char *name, size_t n)
{
    size_t n_name = strlen(name);
    char *text = malloc(n_name + n + 1);

    assert_non_null(text);
    memcpy(text, name, n_name);
    memset(text + n_name, 'f', n);
    text[n_name + n] = '\0';
    return text;
}

static long private_kib(pid_t pid)
{
    char path[64];
    char line[256];
    FILE *file;
    long sum = 0;
    long kib;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "Private_Clean: %ld", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &kib) == 1)
            sum += kib;
    fclose(file);
    return sum;
}

static void large_environments_and_arguments_pass(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char names[10][8];
    static const char *argv[20004] = {"sh", "-c", "echo $#; env | wc -c"};
    char *vars[10];

    for (int i = 0; i < 20000; i++)
        argv[3 + i] = "argument";
    rig_prepare(rig, &job, argv);
    for (int i = 0; i < 10; i++) {
        snprintf(names[i], sizeof(names[i]), "BIG%d=", i);
        vars[i] = filler(names[i], 100000);
        job.envp[2 + i] = vars[i];
    }
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited(&status, 0);
    rig_wait_output(rig, &job, "19999\n10");

    job.launch.id.serial = ++rig->last_serial;
    weir_attempt_marker(&job.launch.id, job.marker);
    job.launch.argv = (const char *const[]){"sleep", "60", NULL};
    rig_launch(rig, &job);
    status = rig_wait_running(rig, &job);
    if (!IS_SANITIZED) {
        /* The megabyte is given back once the command runs. */
        rig_wait_until(private_kib(status.shim_pid) < 300);
        print_message("# shim private memory: %ld KiB\n", private_kib(status.shim_pid));
    }
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
    for (int i = 0; i < 10; i++)
        free(vars[i]);
}

static void too_long_a_list_is_told(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char *huge = filler("", 200000); /* one string may have 128 KiB */

    status = rig_run(rig, &job, (const char *const[]){"true", huge, NULL});
    assert_failed(rig, &job, &status, "exec", E2BIG, 126);
    free(huge);
}

static void a_job_may_close_its_output(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status =
        rig_run_sh(rig, &job,
                   "exec >&-; echo late >&2; exec 2>&-; sleep 0.1; test -e /dev/null && exit 4");

    rig_assert_exited(&status, 4);
    assert_int_equal(status.flags, 0);
    assert_output(rig, &job, WEIR_OUTPUT_ERR, "late\n");
}

static void a_gigabyte_passes(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    struct weir_output_chunk chunk;
    char text[64];
    int64_t ms = rig_now_ms();

    status =
        rig_run(rig, &job, (const char *const[]){rig_self(), "job", "write", "1073741824", NULL});
    ms = rig_now_ms() - ms;
    rig_assert_exited(&status, 0);
    assert_int_equal(status.out_bytes, 1073741824);
    assert_int_equal(status.flags, WEIR_ATTEMPT_OUTPUT_ROTATED);
    assert_int_equal(status.out_dropped, 0);
    assert_int_equal(
        weir_output_read(rig->dir, job.output_dir, WEIR_OUTPUT_OUT, 5, text, 64, &chunk, NULL), 0);
    assert_int_equal(chunk.first, 1073741824 - RIG_OUTPUT_CAP);
    assert_int_equal(chunk.offset, chunk.first);
    assert_int_equal(weir_output_read(rig->dir, job.output_dir, WEIR_OUTPUT_OUT, 1073741823, text,
                                      64, &chunk, NULL),
                     0);
    assert_int_equal(chunk.n, 1);
    assert_int_equal(text[0], 'x');
    print_message("# %lld MB/s\n", (long long)(1073741824 / 1000 / (ms + 1)));
    assert_int_equal(weir_output_remove(rig->dir, job.output_dir, NULL), 0);
}

static void refuse(struct rig *rig, struct rig_job *job, int errnum)
{
    struct weir_launch_refusal refusal;

    rig_launch(rig, job);
    rig_wait_until(weir_launcher_receive(&rig->launcher, &refusal, NULL) == 1);
    assert_true(refusal.serial == job->launch.id.serial);
    assert_int_equal(refusal.slot, job->launch.id.slot);
    assert_int_equal(refusal.errnum, errnum);
}

static void what_may_not_start_is_refused(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct rig_job other;
    struct weir_attempt_status status;

    rig_run(rig, &job, (const char *const[]){"echo", "once", NULL});
    refuse(rig, &job, ESTALE);
    assert_output(rig, &job, WEIR_OUTPUT_OUT, "once\n");
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    assert_int_equal(weir_slots_forbid(&rig->slots, &job.launch.id, &status, NULL), 0);
    refuse(rig, &job, ESTALE);
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.id.slot = RIG_SLOTS + 1;
    refuse(rig, &job, ERANGE);
    rig_prepare(rig, &job, (const char *const[]){"sleep", "60", NULL});
    rig_launch(rig, &job);
    rig_wait_running(rig, &job);
    rig_prepare(rig, &other, (const char *const[]){"true", NULL});
    other.launch.id.slot = job.launch.id.slot;
    weir_attempt_marker(&other.launch.id, other.marker);
    refuse(rig, &other, EBUSY);
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
}

static void many_jobs_run_at_once(void **state)
{
    struct rig *rig = *state;
    static struct rig_job jobs[RIG_SLOTS - 1];
    enum { N = RIG_SLOTS - 1 };

    for (int i = 0; i < N; i++) {
        rig_prepare(rig, &jobs[i], (const char *const[]){"sh", "-c", "echo $WEIR_ATTEMPT", NULL});
        rig_launch(rig, &jobs[i]);
    }
    for (int i = 0; i < N; i++) {
        struct weir_attempt_status status = rig_wait_final(rig, &jobs[i]);
        char expected[WEIR_CLUSTER_MARKER_MAX];

        rig_assert_exited(&status, 0);
        snprintf(expected, sizeof(expected), "%s\n", jobs[i].marker + strlen("WEIR_ATTEMPT="));
        assert_output(rig, &jobs[i], WEIR_OUTPUT_OUT, expected);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_command_runs, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_silent_job_leaves_no_files, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_signal_ends_main, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(the_environment_is_exactly_what_was_given, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(the_process_is_set_up, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(signals_are_as_new, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(descriptors_of_the_server_stay_out, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_run_says_so, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(commands_are_looked_up_in_the_job_s_path, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(large_environments_and_arguments_pass, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(too_long_a_list_is_told, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_job_may_close_its_output, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_gigabyte_passes, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_may_not_start_is_refused, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(many_jobs_run_at_once, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
