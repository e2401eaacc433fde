/* Servers and launchers that are killed at random instants: every attempt starts at most once,
 * every one that started ends with its own exit status, nothing is left.
 *
 * WEIR_SEED repeats a run, WEIR_KILLS is the number of servers killed (default 40). */
#include "rig.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "edge/local/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_PER_SERVER = 24, LIFE_US_MAX = 30000, KILLS_DEFAULT = 40 };

/* What the server writes down before it launches: it survives it. */
struct ledger {
    volatile uint64_t last_intended;
};

static struct ledger *ledger;

static int exit_status_of(uint64_t serial)
{
    return (int)(serial % 50);
}

/* Every job adds its serial to a file: once. */
static void prepare(struct rig *rig, struct rig_job *job, uint64_t serial, char script[400])
{
    static const char *argv[4] = {"sh", "-c"};

    argv[2] = script;
    snprintf(script, 400, "echo %llu >> %s/log; %s exit %d", (unsigned long long)serial, rig->dir,
             serial % 3 == 0 ? "sleep 0.05;" : "", exit_status_of(serial));
    rig->last_serial = serial - 1;
    rig_prepare(rig, job, argv);
}

/* The life of a server: launch until killed. */
static void serve(struct rig *rig)
{
    uint64_t first = ledger->last_intended + 1;

    rig_start_launcher(rig);
    for (uint64_t serial = first; serial < first + JOBS_PER_SERVER; serial++) {
        struct rig_job job;
        char script[400];

        prepare(rig, &job, serial, script);
        ledger->last_intended = serial;
        rig_launch(rig, &job);
    }
    for (;;)
        pause();
}

static unsigned count_in_log(const struct rig *rig, uint64_t wanted)
{
    char path[300];
    unsigned long long serial;
    unsigned n = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/log", rig->dir);
    file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%llu", &serial) == 1)
        n += serial == wanted;
    if (file != NULL)
        fclose(file);
    return n;
}

/* The next server: forbid what did not start, wait for what did. Shims of the dead server's
 * launcher may still be on their way. */
static enum weir_attempt_phase recover(struct rig *rig, uint64_t serial)
{
    struct weir_attempt_id id = {serial, rig->nonce, (uint32_t)(serial % RIG_SLOTS)};
    int64_t until = rig_now_ms() + RIG_DEADLINE_MS;
    struct weir_attempt_status status;
    struct weir_err err = WEIR_ERR_INIT;

    for (;;) {
        int code = weir_slots_forbid(&rig->slots, &id, &status, &err);

        if (code == 0 && weir_attempt_is_final(status.phase))
            break;
        if (code < 0 && code != WEIR_E_UNAVAILABLE)
            fail_msg("attempt %llu: %s", (unsigned long long)serial, err.text);
        if (code == 0)
            fail_msg("attempt %llu: its shim died in phase %d", (unsigned long long)serial,
                     status.phase);
        if (rig_now_ms() > until)
            fail_msg("attempt %llu does not end", (unsigned long long)serial);
        rig_pause();
    }
    if (status.phase == WEIR_ATTEMPT_EXITED) {
        assert_true(WIFEXITED(status.wait_status));
        assert_int_equal(WEXITSTATUS(status.wait_status), exit_status_of(serial));
    } else {
        assert_int_equal(status.phase, WEIR_ATTEMPT_FORBIDDEN);
    }
    return status.phase;
}

static unsigned long number_from(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoul(text, NULL, 10) : otherwise;
}

static void jobs_survive_killed_servers(void **state)
{
    struct rig *rig = *state;
    unsigned long seed = number_from("WEIR_SEED", (unsigned long)weir_clock_mono_us());
    unsigned long n_kills = number_from("WEIR_KILLS", KILLS_DEFAULT);
    unsigned n_ran = 0;
    unsigned n_forbidden = 0;
    struct weir_rng rng;

    print_message("# WEIR_SEED=%lu\n", seed);
    weir_rng_init(&rng, seed);
    weir_launcher_stop(&rig->launcher);
    ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(ledger != MAP_FAILED);
    for (unsigned long i = 0; i < n_kills; i++) {
        uint64_t first = ledger->last_intended + 1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            serve(rig);
        usleep((useconds_t)weir_rng_below(&rng, LIFE_US_MAX));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        for (uint64_t serial = first; serial <= ledger->last_intended; serial++) {
            enum weir_attempt_phase phase = recover(rig, serial);

            assert_int_equal(count_in_log(rig, serial), phase == WEIR_ATTEMPT_EXITED);
            n_ran += phase == WEIR_ATTEMPT_EXITED;
            n_forbidden += phase == WEIR_ATTEMPT_FORBIDDEN;
        }
    }
    /* Nothing that was forbidden came late. */
    for (uint64_t serial = 1; serial <= ledger->last_intended; serial++)
        assert_true(count_in_log(rig, serial) <= 1);
    print_message("# %lu servers killed, %u jobs ran, %u never started\n", n_kills, n_ran,
                  n_forbidden);
    munmap(ledger, sizeof(*ledger));
    rig_start_launcher(rig);
}

static unsigned sweep(const struct weir_attempt_status *status)
{
    struct weir_sweep_target target = {*status, ""};
    unsigned n_left;

    assert_int_equal(weir_sweep(&target, 1, &n_left, NULL), 0);
    return n_left;
}

/* The job tries to get away while its shim is killed. */
static void shims_killed_at_any_instant_leave_nothing(void **state)
{
    enum { SHIM_LIFE_US_MAX = 6000 };
    struct rig *rig = *state;
    unsigned long seed = number_from("WEIR_SEED", (unsigned long)weir_clock_mono_us());
    unsigned long n_kills = number_from("WEIR_KILLS", KILLS_DEFAULT);
    unsigned n_by_phase[WEIR_ATTEMPT_PHASE_MAX] = {0};
    struct weir_rng rng;

    print_message("# WEIR_SEED=%lu\n", seed);
    weir_rng_init(&rng, seed);
    for (unsigned long i = 0; i < n_kills; i++) {
        struct rig_job job;
        struct weir_attempt_view view;

        rig_prepare(rig, &job, (const char *const[]){rig_self(), "job", "detach", NULL});
        rig_launch(rig, &job);
        do
            assert_int_equal(weir_slots_view(&rig->slots, &job.launch.id, &view, NULL), 0);
        while (view.status.phase == WEIR_ATTEMPT_NONE);
        usleep((useconds_t)weir_rng_below(&rng, SHIM_LIFE_US_MAX));
        kill(view.status.shim_pid, SIGKILL);
        do
            assert_int_equal(weir_slots_view(&rig->slots, &job.launch.id, &view, NULL), 0);
        while (view.is_alive);
        n_by_phase[view.status.phase]++;
        rig_wait_until(sweep(&view.status) == 0);
        assert_int_equal(rig_count_marked(&job), 0);
    }
    print_message("# killed when claimed %u, running %u, exited %u\n",
                  n_by_phase[WEIR_ATTEMPT_CLAIMED], n_by_phase[WEIR_ATTEMPT_RUNNING],
                  n_by_phase[WEIR_ATTEMPT_EXITED]);
}

static void a_killed_launcher_is_noticed_and_replaced(void **state)
{
    struct rig *rig = *state;
    struct rig_job running;
    struct rig_job next;
    struct weir_attempt_status status;
    struct weir_launch_refusal refusal;
    struct weir_err err = WEIR_ERR_INIT;

    rig_prepare(rig, &running,
                (const char *const[]){"sh", "-c", "echo up; read x; sleep 0.2; exit 4", NULL});
    rig_launch(rig, &running);
    rig_wait_running(rig, &running);
    kill(rig->launcher.pid, SIGKILL);
    rig_wait_until(weir_launcher_receive(&rig->launcher, &refusal, &err) == WEIR_E_UNAVAILABLE);
    rig_prepare(rig, &next, (const char *const[]){"true", NULL});
    assert_int_equal(weir_launcher_launch(&rig->launcher, &next.launch, &err), WEIR_E_UNAVAILABLE);
    weir_launcher_stop(&rig->launcher);
    weir_launcher_stop(&rig->launcher);
    assert_int_equal(weir_launcher_launch(&rig->launcher, &next.launch, &err), WEIR_E_UNAVAILABLE);
    rig_start_launcher(rig);
    rig_launch(rig, &next);
    status = rig_wait_final(rig, &next);
    assert_int_equal(status.wait_status, 0);
    status = rig_wait_final(rig, &running);
    assert_int_equal(WEXITSTATUS(status.wait_status), 4);
}

static void a_launcher_that_reads_nonsense_ends(void **state)
{
    struct rig *rig = *state;
    struct weir_launch_refusal refusal;

    assert_int_equal(write(rig->launcher.fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    rig_wait_until(weir_launcher_receive(&rig->launcher, &refusal, NULL) == WEIR_E_UNAVAILABLE);
    weir_launcher_stop(&rig->launcher);
    rig_start_launcher(rig);
}

static void a_launcher_cannot_be_started_by_hand(void **state)
{
    static const char *const argv[] = {"weir-test", "launcher", NULL};
    struct rig *rig = *state;
    struct weir_launcher launcher;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_launcher_options options = {.argv = argv, .data_dir = "/no/such/directory"};
    int wait_status;
    pid_t pid;

    assert_int_equal(weir_launcher_start(&options, &launcher, &err), WEIR_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/no/such/directory"));
    options.data_dir = rig->dir;
    options.exe = "/no/such/program";
    assert_int_equal(weir_launcher_start(&options, &launcher, &err), WEIR_E_NOT_FOUND);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null_fd = open("/dev/null", O_RDWR);

        dup2(null_fd, 0);
        dup2(null_fd, 2);
        execl(rig_self(), "weir-test", "launcher", NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_int_equal(WEXITSTATUS(wait_status), 1);
}

static void requests_queue_when_the_launcher_is_slow(void **state)
{
    struct rig *rig = *state;
    static struct rig_job job;
    char *big = malloc(120000);
    struct weir_attempt_status status;

    assert_non_null(big);
    memset(big, 'b', 120000);
    memcpy(big, "B=", 2);
    big[119999] = '\0';
    /* More than the socket holds: launch must queue, not block. */
    kill(rig->launcher.pid, SIGSTOP);
    for (int i = 0; i < 50; i++) {
        rig_prepare(rig, &job, (const char *const[]){"true", NULL});
        job.envp[2] = big;
        job.launch.id.slot = (uint32_t)i;
        assert_int_equal(weir_launcher_launch(&rig->launcher, &job.launch, NULL), 0);
    }
    assert_true(weir_launcher_wants_write(&rig->launcher));
    kill(rig->launcher.pid, SIGCONT);
    while (weir_launcher_wants_write(&rig->launcher)) {
        assert_int_equal(weir_launcher_flush(&rig->launcher, NULL), 0);
        rig_pause();
    }
    status = rig_wait_final(rig, &job);
    assert_int_equal(status.phase, WEIR_ATTEMPT_EXITED);
    free(big);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_survive_killed_servers, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(shims_killed_at_any_instant_leave_nothing, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_killed_launcher_is_noticed_and_replaced, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_launcher_that_reads_nonsense_ends, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_launcher_cannot_be_started_by_hand, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(requests_queue_when_the_launcher_is_slow, rig_setup,
                                        rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
