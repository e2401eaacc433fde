/* The n-th allocation fails in the decision log, for every n: a decision may be lost, and then it
 * is counted, but what is in the log is right. */
#include "app/decision_log.h"
#include "app/decision_reader.h"
#include "app/decision_replay.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "decision_rig.h"
#include "tests/unit/support.h"

enum { TICKS = 40, SEED = 3 };

/* Takes TICKS decisions down, with allocation n failing in the log. False when n was never reached.
 */
static bool write_log(struct rig *rig, uint64_t n)
{
    const struct weir_decision_limits limits = {10 << 20, 8000, 4000};
    uint64_t n_made = 0;

    assert_true(rig_open_within(rig, SEED, limits));
    for (uint32_t i = 0; i < TICKS; i++) {
        struct rig_tick *tick = &rig->ticks[i];

        assert_int_equal(history_run(&rig->history, 3), 0);
        tick->world = weir_edit_seal(rig->history.edit);
        assert_non_null(tick->world);
        tick->policy = rig->policy;
        tick->now = (struct weir_now){rig->history.now_ms, 20000 * (int64_t)(i + 1)};
        rig_fill_plan(rig, tick);
        rig->n++;
        weir_mem_fail(n >= n_made ? n - n_made : 0, n >= n_made ? 1 : 0);
        weir_decision_log_tick(rig->log, tick->world, &tick->policy, tick->now, tick->seed,
                               &tick->plan);
        if (i % 3 == 0)
            weir_decision_log_flush(rig->log);
        n_made += weir_mem_count();
        weir_mem_fail(0, 0);
    }
    weir_decision_log_flush(rig->log);
    return n < n_made;
}

static void check_log(const struct rig *rig)
{
    struct weir_decision_reader *reader = NULL;
    const struct weir_decision_damage *damage;
    struct weir_decision decision;
    struct weir_decision_stats stats = weir_decision_log_stats(rig->log);
    uint64_t n = 0;
    uint64_t last = 0;

    assert_int_equal(stats.n_written + stats.n_lost, TICKS);
    assert_true(stats.n_lost < TICKS);
    assert_int_equal(weir_decision_reader_open(rig->dir, &reader, NULL), 0);
    while (weir_decision_reader_next(reader, &decision, NULL) > 0) {
        assert_true(rig_same(rig, &decision));
        assert_int_equal(decision.follows, n > 0 && decision.seq == last + 1);
        last = decision.seq;
        n++;
    }
    damage = weir_decision_reader_damage(reader);
    assert_int_equal(damage->n_torn + damage->n_corrupt + damage->n_foreign, 0);
    assert_int_equal(n, stats.n_written);
    weir_decision_reader_close(reader);
}

static void the_writer_counts_what_it_lost(void **state)
{
    uint64_t n = 0;
    bool reached = true;
    uint64_t n_lost = 0;

    (void)state;
    for (; reached; n++) {
        struct rig rig;

        reached = write_log(&rig, n);
        check_log(&rig);
        n_lost += weir_decision_log_stats(rig.log).n_lost;
        rig_close(&rig);
    }
    assert_true(n > 10);
    assert_true(n_lost > 5);
}

static void opening_says_so(void **state)
{
    struct rig rig;
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t n = 0;

    (void)state;
    write_log(&rig, UINT64_MAX / 2);
    rig.log = weir_decision_log_close(rig.log);
    for (;; n++) {
        int r;

        weir_mem_fail(n, 1);
        r = weir_decision_log_open(rig.dir, weir_decision_limits_default(), &rig.log, &err);
        weir_mem_fail(0, 0);
        if (r == 0)
            break;
        assert_int_equal(r, WEIR_E_NO_MEMORY);
        assert_null(rig.log);
    }
    assert_true(n > 1);
    rig_close(&rig);
}

static int read_to_the_end(const struct rig *rig, struct weir_err *err)
{
    struct weir_decision_reader *reader = NULL;
    struct weir_decision decision;
    int r = weir_decision_reader_open(rig->dir, &reader, err);

    if (r < 0)
        return r;
    do
        r = weir_decision_reader_next(reader, &decision, err);
    while (r > 0);
    if (r == 0)
        assert_int_equal(weir_decision_reader_damage(reader)->n_corrupt, 0);
    weir_decision_reader_close(reader);
    return r;
}

static void the_reader_says_so(void **state)
{
    struct rig rig;
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t n = 0;

    (void)state;
    write_log(&rig, UINT64_MAX / 2);
    for (;; n++) {
        int r;

        weir_mem_fail(n, 1);
        r = read_to_the_end(&rig, &err);
        weir_mem_fail(0, 0);
        if (r == 0)
            break;
        assert_int_equal(r, WEIR_E_NO_MEMORY);
        assert_non_null(strstr(err.text, "no memory"));
    }
    assert_true(n > 50);
    rig_close(&rig);
}

static void the_replay_says_so(void **state)
{
    struct rig rig;
    struct weir_replay_summary summary = {0};
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t n = 0;

    (void)state;
    write_log(&rig, UINT64_MAX / 2);
    for (;; n += 7) {
        int r;

        weir_mem_fail(n, 1);
        r = weir_decision_replay(rig.dir, NULL, NULL, &summary, &err);
        weir_mem_fail(0, 0);
        if (r == 0)
            break;
        assert_int_equal(r, WEIR_E_NO_MEMORY);
        assert_int_equal(summary.n_ticks, 0);
    }
    assert_int_equal(summary.n_ticks, TICKS);
    /* The plans were made up; some are right by chance. */
    assert_true(summary.n_differing > TICKS / 2);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_writer_counts_what_it_lost),
        cmocka_unit_test(opening_says_so),
        cmocka_unit_test(the_reader_says_so),
        cmocka_unit_test(the_replay_says_so),
    };

    weir_log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
