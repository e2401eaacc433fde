/* GPUs that jobs share by memory budgets, on a server with a store: how they are given out, and
 * what a server that comes back knows of it. */
#include "app_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct app_rig rig;

static int set_up(void **state)
{
    (void)state;
    app_rig_init(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    app_rig_finish(&rig);
    return 0;
}

static void submit(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_submit(&rig, spec, "", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_begin_all(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
}

static void assert_on(uint64_t number, const char *device)
{
    const struct app_attempt *attempt = app_rig_attempt(&rig, number, 0);

    assert_non_null(attempt);
    assert_string_equal(attempt->devices, device);
}

#define BUDGET(gib) "{\"command\":[\"a\"],\"gpuMemory\":\"" #gib "Gi\"}"

static void budgets_share_what_nobody_has_whole(void **state)
{
    (void)state;
    submit("{\"command\":[\"a\"],\"gpus\":1}");
    submit(BUDGET(30));
    submit(BUDGET(60));
    submit(BUDGET(20));
    submit(BUDGET(40));
    assert_on(1, "GPU-0");
    assert_on(2, "GPU-1");
    assert_on(3, "GPU-2");
    assert_on(4, "GPU-2"); /* where the least is left */
    assert_on(5, "GPU-1");
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->budget_bytes, 0);
    assert_int_equal(app_rig_attempt(&rig, 4, 0)->budget_bytes, 20LL << 30);
    submit("{\"command\":[\"a\"],\"gpus\":1}");
    assert_on(6, "GPU-3");
    submit(BUDGET(20));
    assert_null(app_rig_attempt(&rig, 7, 0));
    app_rig_end(&rig, app_rig_attempt(&rig, 2, 0), WEIR_END_EXITED, 0);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_on(7, "GPU-1");
}

static void a_gpu_that_is_lost_keeps_its_sharers(void **state)
{
    (void)state;
    submit(BUDGET(30));
    submit(BUDGET(30));
    rig.gpu_is_absent[0] = true;
    app_rig_crash(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
    submit(BUDGET(10));
    assert_on(3, "GPU-1");
    rig.gpu_is_absent[0] = false;
    weir_server_look(&rig.server, true);
    assert_int_equal(app_rig_tick(&rig), 0);
    submit(BUDGET(21));
    assert_on(4, "GPU-1"); /* 20 are left beside the two */
    submit(BUDGET(20));
    assert_on(5, "GPU-0");
}

static void an_exclusive_mode_lets_nobody_in(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    submit(BUDGET(10));
    for (int i = 0; i < RIG_GPUS; i++)
        rig.gpu_is_exclusive[i] = true;
    weir_server_look(&rig.server, true);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_int_equal(app_rig_submit(&rig, BUDGET(11), "", &err), WEIR_E_IMPOSSIBLE);
    assert_string_equal(err.text, "asks for a part of a GPU, no GPU here can be shared");
    submit("{\"command\":[\"a\"],\"gpus\":3}");
    assert_on(2, "GPU-1,GPU-2,GPU-3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(budgets_share_what_nobody_has_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_gpu_that_is_lost_keeps_its_sharers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_exclusive_mode_lets_nobody_in, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
