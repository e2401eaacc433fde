/* Jobs that run to their end: what they are given, and what is written down of them. */
#include "rig.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static void runs_a_command(void **state)
{
    struct rig *rig = *state;
    struct rig_job job;
    char text[256];
    uint8_t boot_id[16];
    struct weir_attempt_status status =
        rig_run_sh(rig, &job, "echo to stdout; echo to stderr >&2; exit 3");

    weir_clock_boot_id(boot_id);
    assert_int_equal(status.phase, WEIR_ATTEMPT_EXITED);
    assert_true(WIFEXITED(status.wait_status));
    assert_int_equal(WEXITSTATUS(status.wait_status), 3);
    assert_int_equal(status.flags, 0);
    assert_int_equal(status.out_bytes, 10);
    assert_int_equal(status.err_bytes, 10);
    assert_memory_equal(status.boot_id, boot_id, 16);
    assert_true(status.claimed_wall_ms <= status.started_wall_ms);
    assert_true(status.started_wall_ms <= status.ended_wall_ms);
    assert_true(status.started_mono_ms <= status.ended_mono_ms);
    assert_true(status.main_pid > 0 && status.shim_pid > 0);
    assert_true(status.main_start_ticks >= status.shim_start_ticks && status.shim_start_ticks > 0);
    assert_true(status.maxrss_kib > 0 && status.user_us + status.system_us > 0);
    rig_output(rig, &job, WEIR_OUTPUT_OUT, text, sizeof(text));
    assert_string_equal(text, "to stdout\n");
    rig_output(rig, &job, WEIR_OUTPUT_ERR, text, sizeof(text));
    assert_string_equal(text, "to stderr\n");
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_a_command, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return rig_main(argc, argv, run_all);
}
