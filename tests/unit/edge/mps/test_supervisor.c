/* MPS daemons as a supervisor begins, watches and ends them: with a control program that behaves
 * in the ways that real ones do (tests/support/fake_mps_control.py). */
#include "../temp_dir.h"
#include "base/clock.h"
#include "base/err.h"
#include "edge/local/proc.h"
#include "edge/mps/supervisor.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define END       "0a9b3b9f5c11"
#define OTHER_END "0a9b3b9f5c12"
#define UUID      "GPU-8fb6ec36-4e7f-4a6b-9d1c-" END
#define OTHER     "GPU-8fb6ec36-4e7f-4a6b-9d1c-" OTHER_END

enum { PATIENCE_MS = 30000, TEXT_MAX = 16384 };

static struct weir_mps_supervisor *supervisor;
static struct weir_mps_port port;
static struct weir_mps_times times;
static char exe[PATH_MAX + 64];
static const char *const argv[] = {exe, NULL};

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(temp_path(name), "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static const char *read_file(const char *name)
{
    static char text[TEXT_MAX];
    FILE *file = fopen(temp_path(name), "r");

    text[0] = '\0';
    if (file == NULL)
        return text;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static unsigned n_starts(void)
{
    unsigned n = 0;

    for (const char *at = read_file("starts"); *at != '\0'; at++)
        n += *at == '\n';
    return n;
}

static void open_it(bool has_program)
{
    const struct weir_mps_program program = {has_program ? exe : NULL, argv};
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_mps_open(temp_dir, &program, times, &supervisor, &port, &err) < 0)
        fail_msg("%s", err.text);
}

static void close_it(void)
{
    supervisor = weir_mps_close(supervisor);
}

static int set_up(void **state)
{
    char command[2 * sizeof(exe) + 64];
    int r = temp_dir_make(state);

    /* Its files are beside it. */
    snprintf(exe, sizeof(exe), "%s/control", temp_dir);
    snprintf(command, sizeof(command), "cp '%s/tests/support/fake_mps_control.py' '%s'",
             getenv("WEIR_SOURCE_ROOT"), exe);
    assert_int_equal(system(command), 0);
    assert_int_equal(chmod(exe, 0755), 0);
    times = (struct weir_mps_times){.begin_ms = 20000,
                                    .retry_ms = 20,
                                    .health_ms = 100,
                                    .answer_ms = 10000,
                                    .quit_ms = 5000,
                                    .terminate_ms = 300,
                                    .rest_ms = 20,
                                    .settled_ms = 60000,
                                    .tries = 3};
    write_file("behaviour", "");
    open_it(true);
    return r;
}

static int tear_down(void **state)
{
    struct weir_mps_process left;
    char uuid[WEIR_MPS_UUID_MAX];

    close_it();
    if (weir_mps_find(temp_path("mps/" END), &left, uuid)) {
        weir_mps_signal(&left, SIGKILL);
        weir_mps_forget(&left);
    }
    weir_mps_clear(temp_path("mps/" END));
    weir_mps_clear(temp_path("mps/" OTHER_END));
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    return temp_dir_remove(state);
}

static struct weir_mps_facts facts_of(const char *uuid)
{
    struct weir_mps_facts facts;

    port.look(port.ctx, weir_str(uuid), &facts);
    return facts;
}

/* The loop of a server; no call of it may take long, whatever a daemon does. */
static void serve_once(void)
{
    struct pollfd poll_fd = {.fd = port.notice_fd, .events = POLLIN};
    int64_t before;

    poll(&poll_fd, 1, 50);
    before = weir_clock_mono_ms();
    port.service(port.ctx);
    assert_true(weir_clock_mono_ms() - before < 3000);
}

static void wait_state(const char *uuid, enum weir_mps state)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    while (facts_of(uuid).state != state) {
        serve_once();
        if (weir_clock_mono_ms() > until)
            fail_msg("it is %d instead of %d: %s", facts_of(uuid).state, state, facts_of(uuid).why);
    }
}

static void wait_deaths(uint32_t n)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    while (facts_of(UUID).n_deaths < n) {
        serve_once();
        assert_true(weir_clock_mono_ms() < until);
    }
}

static void begin(const char *uuid)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (port.begin(port.ctx, weir_str(uuid), &err) < 0)
        fail_msg("%s", err.text);
}

static void end(const char *uuid)
{
    port.end(port.ctx, weir_str(uuid));
    wait_state(uuid, WEIR_MPS_OFF);
}

/* Its pid; 0: there is none. */
static pid_t daemon_pid(void)
{
    struct weir_mps_process process;
    char uuid[WEIR_MPS_UUID_MAX];
    pid_t pid;

    if (!weir_mps_find(temp_path("mps/" END), &process, uuid))
        return 0;
    assert_string_equal(uuid, UUID);
    pid = process.pid;
    weir_mps_forget(&process);
    return pid;
}

static void one_begins_and_ends(void **state)
{
    struct stat st;

    (void)state;
    assert_true(port.can_begin);
    assert_int_equal(facts_of(UUID).state, WEIR_MPS_OFF);
    write_file("behaviour", "slow");
    begin(UUID);
    assert_int_equal(facts_of(UUID).state, WEIR_MPS_STARTING);
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    assert_int_equal(n_starts(), 1);
    assert_non_null(strstr(read_file("starts"), "\"CUDA_VISIBLE_DEVICES\": \"" UUID "\""));
    assert_non_null(strstr(read_file("starts"), "/mps/" END "/log\""));
    assert_int_equal(stat(temp_path("mps/" END "/pipe"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_true(port.owns(port.ctx, (uint32_t)daemon_pid()));
    assert_false(port.owns(port.ctx, (uint32_t)getpid()));
    assert_string_equal(strrchr(facts_of(UUID).pipe_dir.ptr, '/'), "/pipe");
    port.end(port.ctx, WEIR_STR(UUID));
    assert_int_equal(facts_of(UUID).state, WEIR_MPS_STOPPING);
    wait_state(UUID, WEIR_MPS_OFF);
    assert_non_null(strstr(read_file("asked"), "quit -t 5\n"));
    assert_int_equal(daemon_pid(), 0);
    assert_int_equal(facts_of(UUID).n_deaths + facts_of(UUID).n_failures, 0);
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
}

static void one_that_fails_at_once_is_off_with_why(void **state)
{
    (void)state;
    write_file("behaviour", "fails");
    begin(UUID);
    wait_state(UUID, WEIR_MPS_OFF);
    assert_int_equal(facts_of(UUID).n_failures, 1);
    assert_string_equal(facts_of(UUID).why, "it ended with status 3: no such device");
    write_file("behaviour", "");
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
}

static void one_that_never_answers_is_killed_and_blocks_no_other(void **state)
{
    pid_t pid;

    (void)state;
    times.answer_ms = 400;
    times.begin_ms = 3000;
    close_it();
    open_it(true);
    write_file("behaviour", "silent");
    begin(UUID);
    while (strstr(read_file("asked"), "get_default") == NULL) /* it took a question */
        serve_once();
    pid = daemon_pid();
    assert_true(pid > 0);
    wait_state(UUID, WEIR_MPS_OFF);
    assert_string_equal(facts_of(UUID).why, "it did not answer within 3000 ms");
    assert_int_equal(kill(pid, 0), -1);
}

static void a_hanging_one_does_not_hold_up_another(void **state)
{
    (void)state;
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    assert_int_equal(kill(daemon_pid(), SIGSTOP), 0);
    begin(OTHER);
    wait_state(OTHER, WEIR_MPS_ON);
    end(OTHER);
    assert_int_equal(facts_of(UUID).state, WEIR_MPS_ON); /* its ten seconds are not over */
    port.end(port.ctx, WEIR_STR(UUID));
    begin(OTHER);
    wait_state(OTHER, WEIR_MPS_ON);
    wait_state(UUID, WEIR_MPS_OFF);
    end(OTHER);
}

static void one_that_dies_is_begun_again_and_given_up_at_last(void **state)
{
    (void)state;
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    assert_int_equal(kill(daemon_pid(), SIGKILL), 0);
    wait_deaths(1);
    assert_string_equal(facts_of(UUID).why, "it was killed by signal 9");
    wait_state(UUID, WEIR_MPS_ON);
    assert_int_equal(n_starts(), 2);
    write_file("behaviour", "dies");
    assert_int_equal(kill(daemon_pid(), SIGKILL), 0);
    wait_deaths(2);
    wait_state(UUID, WEIR_MPS_OFF);
    assert_int_equal(facts_of(UUID).n_failures, 1);
    assert_int_equal(n_starts(), 1 + times.tries);
    assert_string_equal(facts_of(UUID).why, "it ended with status 4");
}

static void one_that_hangs_is_killed_and_begun_again(void **state)
{
    pid_t pid;

    (void)state;
    times.answer_ms = 1500;
    close_it();
    open_it(true);
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    pid = daemon_pid();
    write_file("behaviour", "hangs");
    wait_deaths(1);
    assert_string_equal(facts_of(UUID).why, "it did not answer within 1500 ms");
    write_file("behaviour", "");
    wait_state(UUID, WEIR_MPS_ON);
    assert_int_not_equal(daemon_pid(), pid);
}

static void one_that_refuses_to_quit_is_killed(void **state)
{
    (void)state;
    write_file("behaviour", "stubborn");
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    end(UUID);
    assert_int_equal(facts_of(UUID).n_failures, 0);
    assert_string_equal(facts_of(UUID).why, "");
    assert_int_equal(daemon_pid(), 0);
}

/* A server that has no parent any more would go on holding the GPU. */
static void servers_go_with_their_daemon(void **state)
{
    uint64_t server;
    struct weir_proc proc;

    (void)state;
    write_file("behaviour", "server");
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    assert_true(weir_str_to_u64(weir_str_trim(weir_str(read_file("servers"))), &server));
    assert_true(port.owns(port.ctx, (uint32_t)server));
    end(UUID);
    for (int i = 0; i < 500 && weir_proc_read((pid_t)server, &proc) && !weir_proc_is_dead(&proc);
         i++)
        usleep(10000);
    assert_true(!weir_proc_read((pid_t)server, &proc) || weir_proc_is_dead(&proc));
}

static void the_next_supervisor_adopts(void **state)
{
    pid_t pid;

    (void)state;
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    pid = daemon_pid();
    close_it();
    open_it(true);
    assert_int_equal(facts_of(UUID).state, WEIR_MPS_STARTING);
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    assert_int_equal(daemon_pid(), pid);
    assert_int_equal(n_starts(), 1);
    end(UUID);
    assert_int_equal(daemon_pid(), 0);
}

static void the_next_supervisor_ends_what_does_not_answer(void **state)
{
    pid_t pid;

    (void)state;
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    pid = daemon_pid();
    close_it();
    assert_int_equal(kill(pid, SIGSTOP), 0);
    times.answer_ms = 300;
    open_it(true);
    wait_state(UUID, WEIR_MPS_OFF);
    assert_int_equal(facts_of(UUID).n_failures, 1);
    assert_int_equal(daemon_pid(), 0);
}

static void without_a_program_none_begins_and_adopted_ones_end(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    begin(UUID);
    wait_state(UUID, WEIR_MPS_ON);
    close_it();
    open_it(false);
    assert_false(port.can_begin);
    assert_int_equal(facts_of(UUID).state, WEIR_MPS_ON);
    assert_int_equal(port.begin(port.ctx, WEIR_STR(OTHER), &err), WEIR_E_UNSUPPORTED);
    end(UUID);
    assert_int_equal(daemon_pid(), 0);
}

static void names_that_are_no_folders_are_refused(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(port.begin(port.ctx, WEIR_STR("GPU-../x"), &err), WEIR_E_INVALID);
    assert_int_equal(port.begin(port.ctx, WEIR_STR("GPU-"), &err), WEIR_E_INVALID);
    assert_int_equal(port.begin(port.ctx, WEIR_STR(""), &err), WEIR_E_INVALID);
    assert_int_equal(port.begin(port.ctx, WEIR_STR(UUID "0123456789012345678901234567890123456789"),
                                &err),
                     WEIR_E_TOO_LARGE);
}

static void programs_are_found(void **state)
{
    char path[PATH_MAX];

    (void)state;
    assert_true(weir_mps_find_program("sh", path, sizeof(path)));
    assert_true(weir_mps_find_program(exe, path, sizeof(path)));
    assert_string_equal(path, exe);
    assert_false(weir_mps_find_program("no-such-mps-control", path, sizeof(path)));
    assert_false(weir_mps_find_program(temp_dir, path, sizeof(path)));
    assert_false(weir_mps_find_program("", path, sizeof(path)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_begins_and_ends),
        TEST(one_that_fails_at_once_is_off_with_why),
        TEST(one_that_never_answers_is_killed_and_blocks_no_other),
        TEST(a_hanging_one_does_not_hold_up_another),
        TEST(one_that_dies_is_begun_again_and_given_up_at_last),
        TEST(one_that_hangs_is_killed_and_begun_again),
        TEST(one_that_refuses_to_quit_is_killed),
        TEST(servers_go_with_their_daemon),
        TEST(the_next_supervisor_adopts),
        TEST(the_next_supervisor_ends_what_does_not_answer),
        TEST(without_a_program_none_begins_and_adopted_ones_end),
        TEST(names_that_are_no_folders_are_refused),
        TEST(programs_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
