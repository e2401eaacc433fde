/* The same scenario again and again: with the n-th write of the store failing, and with the server
 * gone after its n-th tick, before or after it has acted. */
#include "../support.h"

#include "tick_scenario.h"

enum { OUTCOME_MAX = 2048 };

static struct app_rig rig;

static struct scenario start(void)
{
    app_rig_init(&rig);
    return (struct scenario){.rig = &rig, .crash_at = -1};
}

static int64_t run_undisturbed(bool begins_at_once, char *outcome, int64_t *ret_n_ticks)
{
    struct scenario s = start();
    int64_t n_writes;

    s.begins_at_once = begins_at_once;
    scenario_run(&s);
    scenario_check_ends(&s);
    scenario_outcome(&s, outcome, OUTCOME_MAX);
    assert_int_equal(s.n_failed, 0);
    n_writes = rig.n_writes;
    *ret_n_ticks = s.n_ticks;
    app_rig_finish(&rig);
    return n_writes;
}

static void the_scenario_has_what_it_should(void **state)
{
    char outcome[OUTCOME_MAX];
    int64_t n_ticks;

    (void)state;
    assert_true(run_undisturbed(false, outcome, &n_ticks) > 50);
    assert_true(n_ticks > 10);
    assert_int_equal(scenario_count(outcome, "succeeded"), 3);
    assert_int_equal(scenario_count(outcome, "cancelled"), 1);
    assert_int_equal(scenario_count(outcome, "attempt=2"), 1);
}

/* An attempt that has not begun when the state is built anew never begins: here all have. */
static void a_write_that_fails_changes_nothing_in_the_end(void **state)
{
    char undisturbed[OUTCOME_MAX];
    int64_t n_ticks;
    int64_t n_writes = run_undisturbed(true, undisturbed, &n_ticks);

    (void)state;
    for (int64_t n = 0; n < n_writes; n++) {
        struct scenario s = start();
        char outcome[OUTCOME_MAX];

        s.begins_at_once = true;
        rig.fail_at = n;
        scenario_run(&s);
        assert_true(s.n_failed > 0);
        scenario_check_ends(&s);
        scenario_outcome(&s, outcome, sizeof(outcome));
        if (strcmp(outcome, undisturbed) != 0)
            fail_msg("write %d fails: %s instead of %s", (int)n, outcome, undisturbed);
        app_rig_finish(&rig);
    }
}

static void crash_everywhere(bool swallowed, bool begins_at_once)
{
    char outcome[OUTCOME_MAX];
    int64_t n_ticks;

    run_undisturbed(begins_at_once, outcome, &n_ticks);
    for (int64_t n = 0; n < n_ticks; n++) {
        struct scenario s = start();

        s.crash_at = n;
        s.crash_swallowed = swallowed;
        s.begins_at_once = begins_at_once;
        scenario_run(&s);
        scenario_check_ends(&s);
        scenario_outcome(&s, outcome, sizeof(outcome));
        if (scenario_count(outcome, "succeeded") + scenario_count(outcome, "cancelled") != 4)
            fail_msg("crash after tick %d: %s", (int)n, outcome);
        app_rig_finish(&rig);
    }
}

static void a_crash_after_any_tick_loses_nothing(void **state)
{
    (void)state;
    crash_everywhere(false, false);
    crash_everywhere(false, true);
}

static void a_crash_between_commit_and_act_loses_nothing(void **state)
{
    (void)state;
    crash_everywhere(true, false);
    crash_everywhere(true, true);
}

static void a_store_that_is_gone_is_read_when_it_is_back(void **state)
{
    struct scenario s = start();
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(app_rig_submit(&rig, "{\"command\":[\"x\"],\"gpus\":1}", "", NULL), 0);
    rig.is_broken = true;
    assert_true(app_rig_tick(&rig) < 0);
    assert_int_equal(rig.n_answers, 1);
    assert_int_equal(rig.answers[0].result, WEIR_E_NO_SPACE);
    assert_false(rig.service.is_ready(&rig.server));
    assert_int_equal(app_rig_submit(&rig, "{\"command\":[\"x\"],\"gpus\":1}", "", &err),
                     WEIR_E_UNAVAILABLE);
    assert_true(err.hint[0] != '\0');
    assert_true(app_rig_tick(&rig) < 0);
    assert_int_equal(weir_server_wake(&rig.server), rig.now.wall_ms + 1000);
    rig.is_broken = false;
    assert_int_equal(app_rig_tick(&rig), 0);
    scenario_run(&s);
    scenario_check_ends(&s);
    app_rig_finish(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scenario_has_what_it_should),
        cmocka_unit_test(a_write_that_fails_changes_nothing_in_the_end),
        cmocka_unit_test(a_crash_after_any_tick_loses_nothing),
        cmocka_unit_test(a_crash_between_commit_and_act_loses_nothing),
        cmocka_unit_test(a_store_that_is_gone_is_read_when_it_is_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
