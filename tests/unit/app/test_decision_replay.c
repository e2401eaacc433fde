/* Real decisions on a world with a random past, carried out, taken down, and decided again. */
#include "app/decision_log.h"
#include "app/decision_replay.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "core/apply.h"
#include "core/decide.h"
#include "decision_rig.h"
#include "tests/unit/support.h"

enum { TICKS = 300 };

/* Decides TICKS times; tick number `falsified` (from 1, 0: none) is taken down with a plan that was
 * not decided. Returns the number of actions. */
static uint32_t live(struct rig *rig, uint32_t falsified)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    uint32_t n_actions = 0;

    for (uint32_t i = 1; i <= TICKS; i++) {
        const struct weir_world *world;
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_plan plan;
        struct weir_now now;

        assert_int_equal(history_run(&rig->history, 3), 0);
        now = (struct weir_now){rig->history.now_ms, rig->history.now_ms - 1600000000000};
        world = weir_edit_seal(rig->history.edit);
        assert_non_null(world);
        weir_arena_reset(&arena);
        if (weir_decide(world, &rig->policy, now, i, NULL, &arena, &plan, &err) < 0 ||
            weir_plan_apply(&plan, now, rig->history.edit, &err) < 0)
            fail_msg("tick %u: %s", i, err.text);
        n_actions += plan.n_actions;
        weir_world_unref(weir_edit_seal(rig->history.edit));
        if (i == falsified)
            plan.wake_wall_ms--;
        weir_decision_log_tick(rig->log, world, &rig->policy, now, i, &plan);
        weir_world_unref(world);
    }
    weir_decision_log_flush(rig->log);
    weir_arena_finish(&arena);
    return n_actions;
}

static int count_ticks(void *arg, const struct weir_replayed *tick, struct weir_err *err)
{
    uint32_t *n = arg;

    (void)err;
    (*n)++;
    assert_non_null(tick->plan);
    assert_null(tick->failure);
    assert_int_equal(tick->plan->world_version, tick->recorded->world->version);
    if (!tick->differs) {
        assert_int_equal(tick->plan->n_actions, tick->recorded->n_actions);
        if (tick->plan->n_actions > 0)
            assert_memory_equal(tick->plan->actions, tick->recorded->actions,
                                tick->plan->n_actions * sizeof(*tick->plan->actions));
    }
    return 0;
}

static int stop_at_five(void *arg, const struct weir_replayed *tick, struct weir_err *err)
{
    (void)arg;
    if (tick->recorded->seq < 5)
        return 0;
    return weir_error(err, WEIR_E_UNAVAILABLE, "enough");
}

static void decides_the_same_again(void **state)
{
    struct rig rig;
    struct weir_replay_summary summary;
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t n = 0;

    (void)state;
    assert_true(rig_open(&rig, 21));
    assert_true(live(&rig, 0) > 20);
    if (weir_decision_replay(rig.dir, count_ticks, &n, &summary, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(n, TICKS);
    assert_int_equal(summary.n_ticks, TICKS);
    assert_int_equal(summary.n_differing, 0);
    assert_int_equal(summary.n_gaps, 0);
    rig_close(&rig);
}

static void tells_the_first_that_differs(void **state)
{
    struct rig rig;
    struct weir_replay_summary summary;

    (void)state;
    assert_true(rig_open(&rig, 22));
    live(&rig, 77);
    assert_int_equal(weir_decision_replay(rig.dir, NULL, NULL, &summary, NULL), 0);
    assert_int_equal(summary.n_ticks, TICKS);
    assert_int_equal(summary.n_differing, 1);
    assert_int_equal(summary.differing_seq, 77);
    assert_true(summary.differing_now.wall_ms > 1700000000000);
    rig_close(&rig);
}

static void ends_when_told_to(void **state)
{
    struct rig rig;
    struct weir_replay_summary summary;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_true(rig_open(&rig, 23));
    live(&rig, 0);
    assert_int_equal(weir_decision_replay(rig.dir, stop_at_five, NULL, &summary, &err),
                     WEIR_E_UNAVAILABLE);
    assert_string_equal(err.text, "enough");
    assert_int_equal(weir_decision_replay("/nowhere/at/all", NULL, NULL, &summary, &err),
                     WEIR_E_NOT_FOUND);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides_the_same_again),
        cmocka_unit_test(tells_the_first_that_differs),
        cmocka_unit_test(ends_when_told_to),
    };

    weir_log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
