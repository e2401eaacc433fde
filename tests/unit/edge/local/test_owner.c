/* Whose a process is. */
#include "rig.h"

#include "base/err.h"
#include "edge/local/command.h"
#include "edge/local/owner.c" /* NOLINT(bugprone-suspicious-include) */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct weir_cluster_owner owner_of(struct weir_owners *owners, uint32_t pid)
{
    struct weir_cluster_owner owner = {.serial = 77};
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_owners_find(owners, &pid, 1, &owner, &err) < 0)
        fail_msg("%s", err.text);
    return owner;
}

static void assert_is_of(struct weir_owners *owners, uint32_t pid, uint64_t serial)
{
    struct weir_cluster_owner owner = owner_of(owners, pid);

    assert_false(owner.is_gone);
    assert_int_equal(owner.serial, serial);
}

/* The pids that the job prints, each on a line. */
static void read_pids(struct rig *rig, const struct rig_job *job, uint32_t *pids, int n)
{
    char text[4096];
    const char *at = text;

    rig_wait_output(rig, job, "all\n");
    rig_output(rig, job, WEIR_OUTPUT_OUT, text, sizeof(text));
    for (int i = 0; i < n; i++) {
        pids[i] = (uint32_t)strtoul(at, NULL, 10);
        assert_true(pids[i] > 1);
        at = strchr(at, '\n') + 1;
    }
}

/* A process that is nobody's child here, with this in its environment. */
static pid_t start_stranger(const char *entry)
{
    const char *const argv[] = {"sleep", "1000", NULL};
    const char *const envp[] = {"A=1", entry, NULL};
    pid_t pid = fork();

    if (pid == 0) {
        execve("/bin/sleep", (char **)(uintptr_t)argv, (char **)(uintptr_t)envp);
        _exit(127);
    }
    assert_true(pid > 0);
    rig_wait_until(weir_proc_has_environment(pid, entry));
    return pid;
}

static void end_stranger(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_descends_from_an_attempt_is_its_own(void **state)
{
    struct rig *rig = *state;
    struct weir_owners owners = {.slots = &rig->slots, .cgroup = ""};
    struct rig_job jobs[2];
    uint32_t pids[2][4];

    for (int i = 0; i < 2; i++) {
        /* Itself, a child, one in a session of its own, one whose parent has ended. */
        rig_prepare_sh(rig, &jobs[i],
                       "echo $$; sleep 1000 & echo $!; setsid sleep 1000 & echo $!; "
                       "sh -c 'env -i sleep 1000 & echo $!'; echo all; wait");
        rig_launch(rig, &jobs[i]);
        read_pids(rig, &jobs[i], pids[i], 4);
    }
    for (int repeat = 0; repeat < 2; repeat++) { /* found, and known from the last time */
        struct weir_cluster_owner found[8];
        uint32_t all[8];

        memcpy(all, pids, sizeof(all));
        assert_int_equal(weir_owners_find(&owners, all, 8, found, NULL), 0);
        for (int i = 0; i < 8; i++) {
            assert_false(found[i].is_gone);
            assert_int_equal(found[i].serial, jobs[i / 4].launch.id.serial);
            assert_int_equal(found[i].uid, getuid());
        }
    }
    assert_is_of(&owners, (uint32_t)getpid(), 0);
    assert_is_of(&owners, 1, 0);
    rig_command(rig, &jobs[0], WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &jobs[0]);
    assert_true(owner_of(&owners, pids[0][0]).is_gone);
    assert_is_of(&owners, pids[1][0], jobs[1].launch.id.serial);
    rig_command(rig, &jobs[1], WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &jobs[1]);
    weir_owners_finish(&owners);
}

static void a_marker_tells_for_as_long_as_its_attempt_lives(void **state)
{
    struct rig *rig = *state;
    struct weir_owners owners = {.slots = &rig->slots, .cgroup = ""};
    struct rig_job job;
    pid_t marked;
    pid_t forged;

    rig_prepare_sh(rig, &job, "echo ready; exec sleep 1000");
    marked = start_stranger(job.marker);
    assert_is_of(&owners, (uint32_t)marked, 0); /* it has not begun */
    rig_launch(rig, &job);
    rig_wait_output(rig, &job, "ready\n");
    forged = start_stranger("WEIR_ATTEMPT=1:0000000000000001");
    assert_is_of(&owners, (uint32_t)marked, job.launch.id.serial);
    assert_is_of(&owners, (uint32_t)forged, 0);
    rig_command(rig, &job, WEIR_COMMAND_KILL, 0, 0);
    rig_wait_final(rig, &job);
    weir_owners_finish(&owners);
    owners = (struct weir_owners){.slots = &rig->slots, .cgroup = ""};
    assert_is_of(&owners, (uint32_t)marked, 0);
    end_stranger(marked);
    end_stranger(forged);
    assert_true(owner_of(&owners, (uint32_t)marked).is_gone);
    weir_owners_finish(&owners);
}

/* Who has read a job's marker must not lay what he uses to that job's account. */
static void a_marker_of_another_account_tells_nothing(void **state)
{
    enum { JOB = 1000, OTHER = 65534 };
    struct weir_owner_shim shim = {.serial = 5, .nonce = 7, .uid = JOB};
    struct weir_owners owners = {.has_shims = true};
    char marker[WEIR_CLUSTER_MARKER_MAX];
    uint64_t until = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(weir_vec_push(&owners.shims, shim), 0);
    weir_cluster_marker(5, 7, marker);
    pid = start_stranger(marker);
    assert_int_equal(by_marker(&owners, pid, JOB, &until), 5);
    assert_int_equal(by_marker(&owners, pid, 0, &until), 5);
    assert_int_equal(by_marker(&owners, pid, OTHER, &until), 0);
    assert_true(until == UINT64_MAX);
    end_stranger(pid);
    weir_owners_finish(&owners);
}

/* An environment may be megabytes long: it is read once, as long as nothing new can be in it. */
static void a_stranger_is_looked_at_once(void **state)
{
    struct rig *rig = *state;
    struct weir_owners owners = {.slots = &rig->slots, .cgroup = ""};
    pid_t plain = start_stranger("B=2");
    pid_t marked = start_stranger("WEIR_ATTEMPT=1:0000000000000001");
    uint32_t pids[] = {(uint32_t)plain, (uint32_t)marked};
    struct weir_cluster_owner found[2];
    struct identity identity;
    struct weir_proc proc;
    uint64_t until = 1;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(weir_owners_find(&owners, pids, 2, found, NULL), 0);
        assert_int_equal(found[0].serial + found[1].serial, 0);
        assert_true(weir_proc_read(plain, &proc));
        identity = (struct identity){proc.start_ticks, (uint64_t)plain};
        assert_true(weir_map_get(&owners.strangers, key_of(&identity), &until));
        assert_true(until == UINT64_MAX);
        assert_true(weir_proc_read(marked, &proc));
        identity = (struct identity){proc.start_ticks, (uint64_t)marked};
        assert_true(weir_map_get(&owners.strangers, key_of(&identity), &until));
        assert_int_equal(until, 0);
    }
    assert_int_equal(weir_owners_find(&owners, pids, 1, found, NULL), 0);
    assert_false(weir_map_get(&owners.strangers, key_of(&identity), &until));
    end_stranger(plain);
    end_stranger(marked);
    weir_owners_finish(&owners);
}

/* The dead that nobody has buried use nothing any more. */
static void a_zombie_is_gone(void **state)
{
    struct rig *rig = *state;
    struct weir_owners owners = {.slots = &rig->slots, .cgroup = ""};
    struct weir_proc proc;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    rig_wait_until(weir_proc_read(pid, &proc) && weir_proc_is_dead(&proc));
    assert_true(owner_of(&owners, (uint32_t)pid).is_gone);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    weir_owners_finish(&owners);
}

static void a_group_names_its_attempt(void **state)
{
    static const struct {
        const char *groups;
        const char *folder;
        uint64_t serial;
    } cases[] = {
        {"0::/system.slice/weir.service/jobs/job-17\n",
         "/sys/fs/cgroup/system.slice/weir.service/jobs", 17},
        {"0::/weir/jobs/job-17/below/deep\n", "/sys/fs/cgroup/weir/jobs", 17},
        {"1:cpu:/\n0::/g/job-4\n", "/g", 4},
        {"0::/weir/jobs\n", "/sys/fs/cgroup/weir/jobs", 0},
        {"0::/weir/jobs/job-\n", "/sys/fs/cgroup/weir/jobs", 0},
        {"0::/weir/jobs/job-99999999999999999999\n", "/sys/fs/cgroup/weir/jobs", 0},
        {"0::/other/job-17\n", "/sys/fs/cgroup/weir/jobs", 0},
        {"0::/user.slice/user-1000.slice/weir/jobs/job-17\n", "/sys/fs/cgroup/weir/jobs", 0},
        {"0::/a:b/weir/jobs/job-17\n", "/weir/jobs", 0},
        {"0::/a:b/jobs/job-17\n", "/a:b/jobs", 17},
        {"0::/weir/jobs/job-17", "/weir/jobs", 17},
        {"0::/job-17\n", "/sys/fs/cgroup", 0},
        {"", "/sys/fs/cgroup/weir/jobs", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(serial_in_group(weir_str(cases[i].groups), weir_str(cases[i].folder)),
                         cases[i].serial);
}

static void reads_an_environment(void **state)
{
    pid_t pid = start_stranger("AB=value");
    char value[6];

    (void)state;
    assert_true(weir_proc_environment(pid, "AB=", value, sizeof(value)));
    assert_string_equal(value, "value");
    assert_false(weir_proc_environment(pid, "AB=", value, 5)); /* does not fit */
    assert_false(weir_proc_environment(pid, "B=", value, sizeof(value)));
    assert_true(weir_proc_has_environment(pid, "A=1"));
    assert_false(weir_proc_has_environment(pid, "A="));
    assert_false(weir_proc_has_environment(pid, "A=12"));
    end_stranger(pid);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_descends_from_an_attempt_is_its_own, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_marker_tells_for_as_long_as_its_attempt_lives, rig_setup,
                                        rig_teardown),
        cmocka_unit_test(a_marker_of_another_account_tells_nothing),
        cmocka_unit_test_setup_teardown(a_stranger_is_looked_at_once, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_zombie_is_gone, rig_setup, rig_teardown),
        cmocka_unit_test(a_group_names_its_attempt),
        cmocka_unit_test(reads_an_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
