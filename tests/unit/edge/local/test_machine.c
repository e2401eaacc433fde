/* Jobs against the machine: full disk, other users, memory. What needs root says so and is
 * skipped without. */
#include "rig.h"

#include "base/err.h"
#include "edge/local/command.h"
#include "edge/local/proc.h"
#include "edge/local/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- full disk --- */

static char small_disk[256];

static int mount_small_disk(void **state)
{
    snprintf(small_disk, sizeof(small_disk), "/tmp/weir-small-XXXXXX");
    *state = NULL;
    if (geteuid() != 0)
        return 0;
    if (mkdtemp(small_disk) == NULL ||
        mount("weir-test", small_disk, "tmpfs", MS_NOSUID, "size=1m,nr_inodes=100") != 0)
        return 1;
    *state = rig_create_in(small_disk);
    return 0;
}

static int unmount_small_disk(void **state)
{
    if (*state == NULL)
        return 0;
    rig_teardown(state);
    return umount2(small_disk, 0) != 0 || rmdir(small_disk) != 0;
}

/* Takes all but about n_free bytes. */
static void fill_disk(const char *path, size_t n_free)
{
    static char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    off_t size = 0;

    assert_true(fd >= 0);
    while (write(fd, block, sizeof(block)) > 0)
        size += (off_t)sizeof(block);
    assert_int_equal(errno, ENOSPC);
    if (n_free > 0)
        assert_int_equal(ftruncate(fd, size - (off_t)n_free), 0);
    close(fd);
}

static void a_full_disk_loses_output_but_no_end(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char path[300];

    rig_need(rig != NULL, "root, to mount a small tmpfs");
    snprintf(path, sizeof(path), "%s/filler", rig->dir);
    fill_disk(path, 0);
    status = rig_run_sh(rig, &job, "echo lost; echo lost too >&2; exit 3");
    rig_assert_exited_with(&status, 3, WEIR_ATTEMPT_OUTPUT_DROPPED);
    assert_int_equal(status.out_bytes, 5);
    assert_int_equal(status.out_dropped, 5);
    assert_int_equal(status.err_bytes, 9);
    assert_int_equal(status.err_dropped, 9);
    /* A whole megabyte does not block the job either. */
    status = rig_run(rig, &job, (const char *const[]){rig_self(), "job", "write", "1000000", NULL});
    rig_assert_exited_with(&status, 0, WEIR_ATTEMPT_OUTPUT_DROPPED);
    assert_int_equal(status.out_bytes, 1000000);
    status = rig_run(rig, &job, (const char *const[]){"no-such-command", NULL});
    assert_int_equal(status.phase, WEIR_ATTEMPT_FAILED);
    assert_int_equal(WEXITSTATUS(status.wait_status), 127);
}

static bool has_file(const char *path)
{
    return access(path, F_OK) == 0;
}

static void output_goes_on_when_space_returns(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    struct weir_output_chunk chunk;
    char path[320];
    char go[300];
    char waiting[300];
    char script[2048];
    char text[256];
    uint64_t at = 0;

    rig_need(rig != NULL, "root, to mount a small tmpfs");
    snprintf(path, sizeof(path), "%s/filler", rig->dir);
    snprintf(go, sizeof(go), "%s/go", rig->dir);
    snprintf(waiting, sizeof(waiting), "%s.waiting", small_disk);
    fill_disk(path, 100 * 1024);
    snprintf(script, sizeof(script),
             "echo first; %s job write 2000000; mkdir -p %s; "
             "until test -e %s; do sleep 0.02; done; "
             "while ! test -e %s.end; do echo again; sleep 0.05; done",
             rig_self(), waiting, go, go);
    rig_prepare_sh(rig, &job, script);
    rig_launch(rig, &job);
    rig_wait_output(rig, &job, "first\nxxx");
    /* The job comes this far once all it wrote was kept or dropped, but for the megabyte that the
     * pipe may hold. */
    rig_wait_until(has_file(waiting));
    assert_int_equal(unlink(path), 0);
    close(open(go, O_CREAT | O_WRONLY, 0600));
    do {
        assert_int_equal(weir_output_read(rig->dir, job.output_dir, WEIR_OUTPUT_OUT, at, text,
                                          sizeof(text) - 1, &chunk, NULL),
                         0);
        text[chunk.n] = '\0';
        at = chunk.offset + chunk.n;
        if (chunk.n == 0)
            rig_pause();
    } while (strstr(text, "again") == NULL);
    snprintf(path, sizeof(path), "%s.end", go);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    status = rig_wait_final(rig, &job);
    assert_int_equal(rmdir(waiting), 0);
    rig_assert_exited_with(&status, 0, WEIR_ATTEMPT_OUTPUT_DROPPED);
    assert_true(status.out_dropped > 800000 && status.out_dropped < 2000000);
    assert_true(status.out_bytes > 2000006);
}

static void slots_need_their_space_at_once(void **state)
{
    struct rig *rig = *state;
    struct weir_err err = WEIR_ERR_INIT;
    char path[300];

    rig_need(rig != NULL, "root, to mount a small tmpfs");
    snprintf(path, sizeof(path), "%s/filler", rig->dir);
    fill_disk(path, 10000);
    assert_int_equal(weir_slots_grow(&rig->slots, 1000, &err), WEIR_E_NO_SPACE);
    assert_true(rig->slots.n >= RIG_SLOTS);
}

/* A write that fails for a while, as on a disk with a passing fault. */
static void the_end_is_written_when_the_disk_lets_it(void **state)
{
    const struct rlimit none = {0, RLIM_INFINITY};
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    struct weir_attempt_view view;

    rig_prepare(rig, &job, (const char *const[]){"sleep", "1000", NULL});
    rig_launch(rig, &job);
    status = rig_wait_running(rig, &job);
    assert_int_equal(prlimit(status.shim_pid, RLIMIT_FSIZE, &none, NULL), 0);
    rig_command(rig, &job, WEIR_COMMAND_FORWARD, SIGTERM, 0);
    rig_wait_until(rig_count_marked(&job) == 0);
    assert_int_equal(weir_slots_view(&rig->slots, &job.launch.id, &view, NULL), 0);
    assert_int_equal(view.status.phase, WEIR_ATTEMPT_RUNNING);
    assert_true(view.is_alive);
    assert_int_equal(prlimit(status.shim_pid, RLIMIT_FSIZE, &all, NULL), 0);
    status = rig_wait_final(rig, &job);
    assert_true(WIFSIGNALED(status.wait_status));
    assert_int_equal(WTERMSIG(status.wait_status), SIGTERM);
}

/* --- other users --- */

static void a_job_runs_as_another_user(void **state)
{
    static const gid_t groups[] = {777, 778};
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char text[4096];

    rig_need(geteuid() == 0, "root");
    /* Numbers that no passwd knows. */
    rig_prepare_sh(rig, &job,
                   "id -u; id -g; id -G; echo by name > /dev/stdout; echo err > /dev/stderr; "
                   "umask; grep -E '^(CapEff|CapPrm|Groups)' /proc/self/status; "
                   "cat /proc/self/oom_score_adj; cat /proc/$PPID/environ; "
                   "touch /etc/no 2>/dev/null || echo denied");
    job.launch.set_identity = true;
    job.launch.uid = 12345;
    job.launch.gid = 12346;
    job.launch.groups = groups;
    job.launch.n_groups = 2;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 0, 0);
    assert_int_equal(status.uid, 12345);
    rig_output(rig, &job, WEIR_OUTPUT_OUT, text, sizeof(text));
    assert_string_equal(text, "12345\n12346\n12346 777 778\nby name\n0022\nGroups:\t777 778 \n"
                              "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n0\ndenied\n");
    rig_output(rig, &job, WEIR_OUTPUT_ERR, text, sizeof(text));
    assert_non_null(strstr(text, "err\n"));
}

static void the_working_directory_is_entered_as_the_user(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char private_dir[300];

    rig_need(geteuid() == 0, "root");
    snprintf(private_dir, sizeof(private_dir), "%s/private", rig->dir);
    assert_int_equal(mkdir(private_dir, 0700), 0);
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.set_identity = true;
    job.launch.uid = 12345;
    job.launch.gid = 12345;
    job.launch.cwd = private_dir;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    assert_int_equal(status.phase, WEIR_ATTEMPT_FAILED);
    assert_string_equal(status.what, "working directory");
    assert_int_equal(status.start_errno, EACCES);
}

static void another_user_s_main_dies_with_its_shim(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    rig_need(geteuid() == 0, "root");
    rig_prepare_sh(rig, &job, "sleep 1000 & sleep 1001; true");
    job.launch.set_identity = true;
    job.launch.uid = 12345;
    job.launch.gid = 12345;
    rig_launch(rig, &job);
    status = rig_wait_running(rig, &job);
    rig_wait_until(rig_count_marked(&job) == 3);
    kill(status.shim_pid, SIGKILL);
    rig_wait_until(rig_count_marked(&job) == 2);
    struct weir_sweep_target target = {status, ""};
    unsigned n_left;
    do
        assert_int_equal(weir_sweep(&target, 1, &n_left, NULL), 0);
    while (n_left > 0);
    assert_int_equal(rig_count_marked(&job), 0);
}

static int run_as_nobody(const char *dir)
{
    struct rig *rig;
    struct rig_job job;
    struct weir_attempt_status status;

    if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
        setresuid(65534, 65534, 65534) < 0)
        return 1;
    rig = rig_create_in(dir);
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.set_identity = true;
    job.launch.uid = 65534;
    job.launch.gid = 65534;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    if (status.phase != WEIR_ATTEMPT_EXITED || status.wait_status != 0)
        return 2;
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.set_identity = true;
    job.launch.uid = 12345;
    job.launch.gid = 65534;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_destroy(rig);
    return status.phase == WEIR_ATTEMPT_FAILED && status.start_errno == EPERM ? 0 : 3;
}

static void without_root_only_oneself(void **state)
{
    struct rig *rig = *state;
    int wait_status;
    pid_t pid;

    rig_need(geteuid() == 0, "root");
    assert_int_equal(chmod(rig->dir, 0777), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run_as_nobody(rig->dir));
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_int_equal(wait_status, 0);
}

/* --- what shims are --- */

static void read_oom_score(pid_t pid, char text[16])
{
    char path[64];
    int fd;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    n = read(fd, text, 15);
    assert_true(n > 0);
    text[n] = '\0';
    close(fd);
}

/* In a child: whether this machine lets us lower it at all. */
static bool may_lower_oom_score(void)
{
    int wait_status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        _exit(fd < 0 || write(fd, "-1000", 5) != 5);
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    return wait_status == 0;
}

static void shims_are_not_what_the_kernel_kills_for_memory(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char own[16];
    char text[16];

    read_oom_score(getpid(), own);
    rig_prepare(rig, &job,
                (const char *const[]){"sh", "-c", "cat /proc/$$/oom_score_adj; sleep 100", NULL});
    rig_launch(rig, &job);
    status = rig_wait_running(rig, &job);
    rig_wait_output(rig, &job, own[0] == '-' ? "0\n" : own);
    read_oom_score(status.shim_pid, text);
    assert_string_equal(text, may_lower_oom_score() ? "-1000\n" : own);
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
}

#define rig_test(name)  cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define disk_test(name) cmocka_unit_test_setup_teardown(name, mount_small_disk, unmount_small_disk)

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        disk_test(a_full_disk_loses_output_but_no_end),
        disk_test(output_goes_on_when_space_returns),
        disk_test(slots_need_their_space_at_once),
        rig_test(the_end_is_written_when_the_disk_lets_it),
        rig_test(a_job_runs_as_another_user),
        rig_test(the_working_directory_is_entered_as_the_user),
        rig_test(another_user_s_main_dies_with_its_shim),
        rig_test(without_root_only_oneself),
        rig_test(shims_are_not_what_the_kernel_kills_for_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
