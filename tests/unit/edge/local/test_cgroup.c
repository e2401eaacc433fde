/* Jobs in a cgroup v2 of their own: against a plain directory, and against the kernel's tree where
 * that is writable. */
#include "rig.h"

#include "edge/local/cgroup.h"
#include "edge/local/command.h"
#include "edge/local/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a plain directory in place of the kernel's --- */

static char group[512];

static void write_file(const char *name, const char *text)
{
    char path[600];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", group, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void assert_file(const char *name, const char *expected)
{
    char path[600];
    char text[256];
    int fd;
    ssize_t n;

    snprintf(path, sizeof(path), "%s/%s", group, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    n = read(fd, text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    assert_string_equal(text, expected);
}

static void make_fake_group(struct rig *rig)
{
    snprintf(group, sizeof(group), "%s/group", rig->dir);
    assert_int_equal(mkdir(group, 0755), 0);
    write_file("cgroup.procs", "");
    write_file("cgroup.events", "populated 0\nfrozen 0\n");
    write_file("cgroup.kill", "");
    write_file("memory.max", "max\n");
    write_file("cpu.max", "max 100000\n");
    write_file("memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n");
}

static void limits_are_written_before_the_start(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    make_fake_group(rig);
    rig_prepare_sh(rig, &job, "cat memory.max cpu.max cgroup.procs");
    job.launch.cgroup = group;
    job.launch.cwd = group;
    job.launch.memory_max_bytes = 123456789;
    job.launch.cpu_max_mcpu = 1500;
    write_file("memory.max", "");
    write_file("cpu.max", "");
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 0, 0);
    rig_wait_output(rig, &job, "123456789150000 1000000");
    assert_file("cgroup.kill", "");
}

static void a_group_tells_what_it_can_limit(void **state)
{
    struct rig *rig = *state;

    make_fake_group(rig);
    assert_false(weir_cgroup_has_controller(group, "memory"));
    write_file("cgroup.subtree_control", "cpuset cpu memory\n");
    assert_true(weir_cgroup_has_controller(group, "memory"));
    assert_true(weir_cgroup_has_controller(group, "cpu"));
    assert_false(weir_cgroup_has_controller(group, "pids"));
    write_file("cgroup.subtree_control", "\n");
    assert_false(weir_cgroup_has_controller(group, "memory"));
    assert_false(weir_cgroup_has_controller(rig->dir, "memory"));
}

static void a_kill_goes_to_the_group(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;

    make_fake_group(rig);
    rig_prepare(rig, &job, (const char *const[]){"sleep", "1000", NULL});
    job.launch.cgroup = group;
    rig_launch(rig, &job);
    rig_wait_running(rig, &job);
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
    assert_file("cgroup.kill", "1");
}

static void memory_kills_of_the_group_are_known(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;

    make_fake_group(rig);
    write_file("memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 0\n");
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.cgroup = group;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 0, WEIR_ATTEMPT_OOM_KNOWN);
}

/* Without cgroup.kill (before Linux 5.14): frozen, then one by one. */
static void a_group_is_frozen_to_be_killed(void **state)
{
    struct rig *rig = *state;
    struct weir_cgroup cgroup;
    char path[600];
    char text[64];
    int wait_status;
    pid_t pid;

    make_fake_group(rig);
    snprintf(path, sizeof(path), "%s/cgroup.kill", group);
    assert_int_equal(unlink(path), 0);
    write_file("cgroup.events", "populated 1\nfrozen 1\n");
    write_file("cgroup.freeze", "");
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            pause();
    /* 0 stands for a process of another namespace; -1 must never reach kill(2). */
    snprintf(text, sizeof(text), "0\n%d\n%d\n-1\n", getpid(), pid);
    snprintf(path, sizeof(path), "%s/below", group);
    assert_int_equal(mkdir(path, 0755), 0);
    write_file("cgroup.procs", "0\n");
    write_file("below/cgroup.procs", text);
    assert_int_equal(weir_cgroup_open(group, &cgroup), 0);
    assert_true(weir_cgroup_is_populated(&cgroup));
    weir_cgroup_signal(&cgroup, SIGKILL);
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_true(WIFSIGNALED(wait_status));
    assert_file("cgroup.freeze", "0");
    weir_cgroup_close(&cgroup);
}

static void groups_that_do_not_serve_fail_the_start(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char path[600];

    make_fake_group(rig);
    snprintf(path, sizeof(path), "%s/cpu.max", group);
    assert_int_equal(unlink(path), 0);
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.cgroup = group;
    job.launch.cpu_max_mcpu = 1;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    assert_int_equal(status.phase, WEIR_ATTEMPT_FAILED);
    assert_string_equal(status.what, "cgroup cpu.max");
    assert_int_equal(status.start_errno, ENOENT);
    assert_int_equal(WEXITSTATUS(status.wait_status), 126);

    write_file("cgroup.events", "populated 1\nfrozen 0\n");
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.cgroup = group;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    assert_string_equal(status.what, "cgroup");
    assert_int_equal(status.start_errno, EBUSY);

    snprintf(path, sizeof(path), "%s/no/such/parent", rig->dir);
    rig_prepare(rig, &job, (const char *const[]){"true", NULL});
    job.launch.cgroup = path;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    assert_string_equal(status.what, "cgroup");
    assert_int_equal(status.start_errno, ENOENT);
}

/* --- the kernel's tree --- */

/* A group of our own in the kernel's tree, or skip. */
static void make_real_parent(char parent[256])
{
    static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

    for (size_t i = 0; i < 2; i++) {
        char path[256];

        snprintf(path, sizeof(path), "%s/cgroup.controllers", roots[i]);
        snprintf(parent, 256, "%s/weir-test-%d", roots[i], getpid());
        if (access(path, F_OK) == 0 && mkdir(parent, 0755) == 0)
            return;
    }
    rig_need(false, "a writable cgroup v2");
}

static void the_kernel_s_group_holds_the_job(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char parent[256];

    make_real_parent(parent);
    snprintf(group, sizeof(group), "%s/job", parent);
    const char *argv[] = {
        "sh",  "-c",       "grep ^0:: /proc/self/cgroup; mkdir $0/below; exec \"$1\" job detach",
        group, rig_self(), NULL};
    rig_prepare(rig, &job, argv);
    job.launch.cgroup = group;
    rig_launch(rig, &job);
    status = rig_wait_final(rig, &job);
    rig_assert_exited_with(&status, 7, 0);
    rig_wait_output(rig, &job, strstr(group, "/weir-test-"));
    assert_int_equal(rig_count_marked(&job), 0);
    assert_int_equal(access(group, F_OK), -1);
    assert_int_equal(rmdir(parent), 0);
}

static void burn_in_group(struct rig *rig)
{
    struct rig_job job;
    struct weir_attempt_status status;

    rig_prepare(rig, &job, (const char *const[]){rig_self(), "job", "session-bomb", "100", NULL});
    job.launch.cgroup = group;
    rig_launch(rig, &job);
    rig_wait_running(rig, &job);
    rig_wait_output(rig, &job, "burning");
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    status = rig_wait_final(rig, &job);
    assert_true(WIFSIGNALED(status.wait_status));
    assert_int_equal(rig_count_marked(&job), 0);
    assert_int_equal(access(group, F_OK), -1);
}

static void the_kernel_kills_a_group_at_once(void **state)
{
    char parent[256];

    make_real_parent(parent);
    snprintf(group, sizeof(group), "%s/job", parent);
    burn_in_group(*state);
    assert_int_equal(rmdir(parent), 0);
}

static void a_dead_shim_s_group_is_swept(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    struct weir_attempt_status status;
    char parent[256];
    unsigned n_left;

    make_real_parent(parent);
    snprintf(group, sizeof(group), "%s/job", parent);
    /* Neither mark nor session leads to this one. */
    rig_prepare_sh(rig, &job, "setsid env -i sh -c 'echo hidden; sleep 1000' & wait");
    job.launch.cgroup = group;
    rig_launch(rig, &job);
    rig_wait_output(rig, &job, "hidden");
    status = rig_wait_running(rig, &job);
    kill(status.shim_pid, SIGKILL);
    rig_wait_until(rig_count_marked(&job) == 0);
    struct weir_sweep_target target = {status, group};
    do
        assert_int_equal(weir_sweep(&target, 1, &n_left, NULL), 0);
    while (n_left > 0);
    assert_int_equal(access(group, F_OK), -1);
    assert_int_equal(rmdir(parent), 0);
}

/* The freezer in place of cgroup.kill, which is made unwritable for this test. */
static void the_kernel_s_freezer_serves_where_kill_is_missing(void **state)
{
    struct rig *rig = *state;
    struct weir_cgroup cgroup;
    char parent[256];
    char path[600];
    char text[32];
    int wait_status;
    pid_t pid;

    rig_need(geteuid() == 0, "root");
    make_real_parent(parent);
    snprintf(group, sizeof(group), "%s", parent);
    snprintf(path, sizeof(path), "%s/cgroup.kill", group);
    assert_int_equal(mount(path, path, NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
    (void)rig;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const char *const argv[] = {rig_self(), "job", "session-bomb", "50", NULL};

        snprintf(text, sizeof(text), "0");
        write_file("cgroup.procs", text);
        close(1);
        execv(rig_self(), (char *const *)argv);
        _exit(1);
    }
    assert_int_equal(weir_cgroup_open(group, &cgroup), 0);
    rig_wait_until(weir_cgroup_is_populated(&cgroup));
    do {
        weir_cgroup_signal(&cgroup, SIGKILL);
        rig_pause();
    } while (weir_cgroup_is_populated(&cgroup));
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_true(WIFSIGNALED(wait_status));
    assert_int_equal(umount2(path, 0), 0);
    weir_cgroup_remove(&cgroup);
    weir_cgroup_close(&cgroup);
    assert_int_equal(access(parent, F_OK), -1);
}

#define rig_test(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        rig_test(limits_are_written_before_the_start),
        rig_test(a_group_tells_what_it_can_limit),
        rig_test(a_kill_goes_to_the_group),
        rig_test(memory_kills_of_the_group_are_known),
        rig_test(a_group_is_frozen_to_be_killed),
        rig_test(groups_that_do_not_serve_fail_the_start),
        rig_test(the_kernel_s_group_holds_the_job),
        rig_test(the_kernel_kills_a_group_at_once),
        rig_test(a_dead_shim_s_group_is_swept),
        rig_test(the_kernel_s_freezer_serves_where_kill_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
