/* Events by what they are about, from the end, and by time; and that none of it reads more than it
 * has to. */
#include "base/count.h"
#include "base/rng.h"
#include "edge/sqlite/store_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store_rig.h"

static void append_at(struct fixture *f, int64_t wall_ms, const char *subject)
{
    struct weir_event_record e = {.wall_ms = wall_ms,
                                  .boot_id = boot,
                                  .subject = weir_str(subject)};

    assert_int_equal(f->store.append_event(f->store.ctx, &e, NULL), 0);
}

static int list_seq(void *arg, const struct weir_event_record *e)
{
    weir_buf_printf(arg, "%lld ", (long long)e->seq);
    return 0;
}

static void expect_seqs(struct fixture *f, const struct weir_event_filter *filter, const char *want)
{
    struct weir_buf seen = WEIR_BUF_INIT(4096);

    assert_int_equal(f->store.each_event(f->store.ctx, filter, list_seq, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
}

static void expect_last(struct fixture *f, const struct weir_event_filter *filter, int64_t first,
                        int64_t last, uint32_t n)
{
    struct weir_event_run run = {-1, -1, 99};

    assert_int_equal(f->store.last_events(f->store.ctx, filter, &run, NULL), 0);
    assert_int_equal(run.first, first);
    assert_int_equal(run.last, last);
    assert_int_equal(run.n, n);
}

static void a_filter_is_kept_to(void **state)
{
    static const char *const subjects[] = {"workload/1",  "workload/10", "workload/1/0", "node/ä",
                                           "workload/1!", "workload/10", "workload/1/12"};
    struct fixture f;
    struct weir_event_filter of_one = {.until = 100, .subject = WEIR_STR("workload/1"), .limit = 9};
    struct weir_event_filter any = {.after = 2, .until = 5, .limit = 9};

    (void)state;
    open_store(&f);
    expect_seqs(&f, &of_one, "");
    expect_last(&f, &of_one, 0, 0, 0);
    begin(&f);
    for (size_t i = 0; i < WEIR_COUNT_OF(subjects); i++)
        append_at(&f, 1, subjects[i]);
    commit(&f);
    expect_seqs(&f, &of_one, "1 3 7 ");
    expect_last(&f, &of_one, 1, 7, 3);
    of_one.limit = 2;
    expect_seqs(&f, &of_one, "1 3 ");
    expect_last(&f, &of_one, 3, 7, 2);
    of_one.until = 6;
    expect_last(&f, &of_one, 1, 3, 2);
    of_one.after = 1;
    expect_seqs(&f, &of_one, "3 ");
    expect_last(&f, &of_one, 3, 3, 1);
    of_one.limit = 0;
    expect_seqs(&f, &of_one, "");
    expect_last(&f, &of_one, 0, 0, 0);
    expect_seqs(&f, &any, "3 4 5 ");
    any.limit = 2;
    expect_seqs(&f, &any, "3 4 ");
    expect_last(&f, &any, 4, 5, 2);
    any.subject = WEIR_STR("node/ä");
    expect_last(&f, &any, 4, 4, 1);
    close_store(&f);
}

static int64_t since(struct fixture *f, int64_t wall_ms)
{
    int64_t after = -1;

    assert_int_equal(f->store.events_since(f->store.ctx, wall_ms, &after, NULL), 0);
    return after;
}

static int drop_none(void *arg, const struct weir_task_record *task)
{
    (void)arg;
    (void)task;
    return 0;
}

static void a_time_is_found(void **state)
{
    struct fixture f;

    (void)state;
    open_store(&f);
    assert_int_equal(since(&f, 5), 0);
    begin(&f);
    for (int i = 1; i <= 20; i++)
        append_at(&f, 10 * (i / 2), "x"); /* 0 10 10 20 20 … 90 90 100 */
    commit(&f);
    for (int t = -3; t <= 100; t++)
        assert_int_equal(since(&f, t), t <= 0 ? 0 : 2 * ((t + 9) / 10) - 1);
    assert_int_equal(since(&f, 101), 20);
    assert_int_equal(since(&f, INT64_MAX), 20);
    begin(&f);
    assert_int_equal(f.store.prune(f.store.ctx, 0, 7, 100, drop_none, NULL, NULL), 0);
    commit(&f);
    assert_int_equal(since(&f, INT64_MIN), 7); /* nothing of what is pruned */
    assert_int_equal(since(&f, 40), 7);
    assert_int_equal(since(&f, 41), 9);
    assert_int_equal(since(&f, 101), 20);
    close_store(&f);
}

/* Whatever the clock did: it begins with one that is no older, behind one that is, and it leaves
 * out nothing that came after the clock showed that time the last time. */
static void a_clock_may_be_set_back(void **state)
{
    enum { EVENTS = 200, ROUNDS = 40 };
    struct fixture f;
    struct weir_rng rng;
    int64_t times[EVENTS + 1] = {0};
    int64_t at_ms = 0;

    (void)state;
    weir_rng_init(&rng, 7);
    open_store(&f);
    begin(&f);
    for (int i = 1; i <= EVENTS; i++) {
        at_ms += (int64_t)weir_rng_below(&rng, 20) - (weir_rng_below(&rng, 25) == 0 ? 200 : 0);
        times[i] = at_ms;
        append_at(&f, at_ms, "x");
    }
    commit(&f);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t wanted = times[1 + weir_rng_below(&rng, EVENTS)];
        int64_t after = since(&f, wanted);
        int64_t last = EVENTS;

        assert_true(after >= 0 && after <= EVENTS);
        assert_true(after == 0 || times[after] < wanted);
        assert_true(after == EVENTS || times[after + 1] >= wanted);
        while (last > 0 && times[last] >= wanted)
            last--;
        assert_true(after <= last);
    }
    close_store(&f);
}

/* Steps of SQLite's machine that a statement took since it was last asked. */
static int steps(struct fixture *f, enum weir_sqlite_statement_id which)
{
    sqlite3_stmt *s = f->sqlite->statements[which];

    assert_int_equal(sqlite3_stmt_status(s, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1), 0);
    assert_int_equal(sqlite3_stmt_status(s, SQLITE_STMTSTATUS_SORT, 1), 0);
    assert_int_equal(sqlite3_stmt_status(s, SQLITE_STMTSTATUS_AUTOINDEX, 1), 0);
    return sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 1);
}

static void no_more_is_read_than_needed(void **state)
{
    enum { EVENTS = 10000 };
    struct fixture f;
    struct weir_event_filter few = {.until = EVENTS, .limit = 10};
    struct weir_event_filter part = {
        .after = 9000, .until = 9100, .subject = WEIR_STR("none"), .limit = 10};
    struct weir_buf seen = WEIR_BUF_INIT(4096);

    (void)state;
    open_store(&f);
    begin(&f);
    for (int i = 1; i <= EVENTS; i++)
        append_at(&f, i, "x");
    commit(&f);
    expect_last(&f, &few, EVENTS - 9, EVENTS, 10);
    assert_in_range(steps(&f, WEIR_SQLITE_LAST_EVENTS), 10, 500);
    assert_int_equal(f.store.each_event(f.store.ctx, &few, list_seq, &seen, NULL), 0);
    assert_in_range(steps(&f, WEIR_SQLITE_EACH_EVENT), 10, 500);
    expect_last(&f, &part, 0, 0, 0);
    assert_in_range(steps(&f, WEIR_SQLITE_LAST_EVENTS), 100, 3000);
    assert_int_equal(f.store.each_event(f.store.ctx, &part, list_seq, &seen, NULL), 0);
    assert_in_range(steps(&f, WEIR_SQLITE_EACH_EVENT), 100, 3000);
    assert_int_equal(since(&f, 1234), 1233);
    assert_in_range(steps(&f, WEIR_SQLITE_EVENT_FROM), 10, 500);
    weir_buf_finish(&seen);
    close_store(&f);
}

#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, temp_dir_make, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_filter_is_kept_to),
        IN_DIR(a_time_is_found),
        IN_DIR(a_clock_may_be_set_back),
        IN_DIR(no_more_is_read_than_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
