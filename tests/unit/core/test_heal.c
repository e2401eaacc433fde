/* How tasks end, and what follows. */
#include "base/count.h"
#include "heal_bench.h"

/* How one attempt ends, and what follows. */
struct ending {
    enum weir_end end;
    int32_t status;
    struct job_spec spec;
    const char *state;
    enum weir_cause cause;
    uint32_t n_failures;
    int64_t wait_ms; /* until the next attempt */
};

static void settles_by_itself(void **state)
{
    static const struct ending endings[] = {
        {WEIR_END_EXITED, 0, {0}, "D", WEIR_CAUSE_EXITED, 0, 0},
        {WEIR_END_EXITED, 3, {0}, "F", WEIR_CAUSE_EXITED, 0, 0},
        {WEIR_END_EXITED, 3, {.retries = 1}, "Q", WEIR_CAUSE_RETRIED, 1, 1000},
        {WEIR_END_EXITED, 3, {.retries = 1, .retry_on = 3}, "Q", WEIR_CAUSE_RETRIED, 1, 1000},
        {WEIR_END_EXITED, 4, {.retries = 1, .retry_on = 3}, "F", WEIR_CAUSE_EXITED, 0, 0},
        {WEIR_END_TIME_LIMIT, 0, {.retries = 1}, "F", WEIR_CAUSE_TIME_LIMIT, 0, 0},
        {WEIR_END_OUT_OF_MEMORY, 137, {0}, "F", WEIR_CAUSE_OUT_OF_MEMORY, 0, 0},
        {WEIR_END_OUT_OF_MEMORY,
         0,
         {.retries = 1, .retry_on = 137},
         "Q",
         WEIR_CAUSE_RETRIED,
         1,
         1000},
        {WEIR_END_LOST, 0, {0}, "L", WEIR_CAUSE_LOST, 0, 0},
        {WEIR_END_LOST, 0, {.retries = 1}, "Q", WEIR_CAUSE_RETRIED, 1, 1000},
        {WEIR_END_NOT_STARTED, 0, {0}, "Q", WEIR_CAUSE_NOT_STARTED, 0, 2000},
        {WEIR_END_STOPPED, 143, {0}, "F", WEIR_CAUSE_EXITED, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(endings); i++) {
        const struct ending *e = &endings[i];
        struct job_spec spec = e->spec;
        struct bench b;

        one_node(&b);
        spec.name = "j";
        starts(&b, spec);
        end_task(&b, "j", 0, e->end, e->status);
        tick(&b);
        print_message("ending %zu\n", i);
        assert_int_equal(action_on(&b, "j", 0)->kind, WEIR_ACTION_SETTLE);
        assert_int_equal(action_on(&b, "j", 0)->cause, e->cause);
        assert_string_equal(states(&b, "j"), e->state);
        assert_int_equal(task_of(&b, "j", 0)->n_failures, e->n_failures);
        assert_string_equal(gpus_of(&b, "j", 0), "");
        if (e->state[0] == 'Q') {
            assert_int_equal(task_of(&b, "j", 0)->not_before_wall_ms, b.now.wall_ms + e->wait_ms);
            assert_int_equal(b.plan.wake_wall_ms, b.now.wall_ms + e->wait_ms);
        }
        tick(&b);
        assert_int_equal(b.plan.n_actions, 0);
        b.now.wall_ms += e->wait_ms;
        tick(&b);
        assert_int_equal(b.plan.n_actions, e->state[0] == 'Q');
        bench_finish(&b);
    }
}

static void retries_until_none_is_left(void **state)
{
    static const int64_t waits[] = {1000, 2000, 4000};
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "j", .retries = 3});
    for (int i = 0; i < 3; i++) {
        end_task(&b, "j", 0, WEIR_END_EXITED, 1);
        tick(&b);
        assert_string_equal(states(&b, "j"), "Q");
        assert_int_equal(task_of(&b, "j", 0)->not_before_wall_ms - b.now.wall_ms, waits[i]);
        b.now.wall_ms += waits[i];
        tick_and_run(&b);
        assert_string_equal(states(&b, "j"), "R");
    }
    end_task(&b, "j", 0, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "j"), "F");
    bench_finish(&b);
}

static void caps_the_backoff(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "j", .retries = 1000});
    weir_edit_task(b.edit, task_at(&b, "j", 0))->n_failures = 900;
    end_task(&b, "j", 0, WEIR_END_EXITED, 1);
    tick(&b);
    assert_int_equal(task_of(&b, "j", 0)->not_before_wall_ms - b.now.wall_ms,
                     b.policy.backoff_max_ms);
    bench_finish(&b);
}

/* A back-off is of wall time: once the clock is set back, it is over rather than as much longer. */
static void a_clock_that_is_set_back_ends_the_backoff(void **state)
{
    static const enum weir_end ends[] = {WEIR_END_EXITED, WEIR_END_NOT_STARTED};

    (void)state;
    for (int is_gang = 0; is_gang <= 1; is_gang++)
        for (size_t i = 0; i < WEIR_COUNT_OF(ends); i++) {
            struct bench b;

            one_node(&b);
            b.now.wall_ms += 7200000;
            starts(&b, (struct job_spec){.name = "j", .retries = 1, .tasks = is_gang ? 2 : 1});
            end_task(&b, "j", 0, ends[i], 1);
            if (is_gang)
                end_task(&b, "j", 1, WEIR_END_STOPPED, 143);
            tick(&b);
            assert_string_equal(states(&b, "j"), is_gang ? "QQ" : "Q");
            b.now.wall_ms += 700;
            b.now.wall_ms -= 500; /* a little: it waits a little longer */
            tick(&b);
            assert_int_equal(b.plan.n_actions, 0);
            b.now.wall_ms -= 3600000;
            tick(&b);
            assert_string_equal(states(&b, "j"), is_gang ? "SS" : "S");
            bench_finish(&b);
        }
}

static void cancels(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "j", .tasks = 10, .array = true, .retries = 5});
    assert_string_equal(states(&b, "j"), "RRRRRRRRQQ");
    end_task(&b, "j", 0, WEIR_END_EXITED, 0);
    end_task(&b, "j", 1, WEIR_END_EXITED, 1);
    cancel(&b, "j");
    tick(&b);
    /* What ended by itself has its own end; no retries. */
    assert_string_equal(states(&b, "j"), "DFXXXXXXCC");
    assert_int_equal(action_on(&b, "j", 2)->kind, WEIR_ACTION_STOP);
    assert_int_equal(task_of(&b, "j", 2)->stop_cause, WEIR_CAUSE_CANCELLED);
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0); /* asked once */
    end_task(&b, "j", 2, WEIR_END_EXITED, 0);
    end_task(&b, "j", 3, WEIR_END_STOPPED, 143);
    end_task(&b, "j", 4, WEIR_END_LOST, 0);
    tick(&b);
    assert_string_equal(states(&b, "j"), "DFCCCXXXCC");
    bench_finish(&b);
}

/* What is asked to leave may have ended by itself before it heard of it. */
static void settles_what_was_to_leave(void **state)
{
    static const struct {
        enum weir_cause why;
        enum weir_end end;
        int32_t status;
        const char *state;
        enum weir_cause cause;
    } rows[] = {
        {WEIR_CAUSE_PREEMPTED, WEIR_END_EXITED, 0, "D", WEIR_CAUSE_EXITED},
        {WEIR_CAUSE_RECLAIMED, WEIR_END_EXITED, 0, "D", WEIR_CAUSE_EXITED},
        {WEIR_CAUSE_DRAINED, WEIR_END_EXITED, 0, "D", WEIR_CAUSE_EXITED},
        {WEIR_CAUSE_RUN_LIMIT, WEIR_END_EXITED, 0, "D", WEIR_CAUSE_EXITED},
        {WEIR_CAUSE_GANG_BROKEN, WEIR_END_EXITED, 0, "D", WEIR_CAUSE_EXITED},
        {WEIR_CAUSE_CANCELLED, WEIR_END_EXITED, 0, "C", WEIR_CAUSE_CANCELLED},
        {WEIR_CAUSE_PREEMPTED, WEIR_END_EXITED, 3, "Q", WEIR_CAUSE_PREEMPTED},
        {WEIR_CAUSE_RECLAIMED, WEIR_END_EXITED, 3, "Q", WEIR_CAUSE_RECLAIMED},
        {WEIR_CAUSE_DRAINED, WEIR_END_EXITED, 3, "Q", WEIR_CAUSE_DRAINED},
        {WEIR_CAUSE_RUN_LIMIT, WEIR_END_EXITED, 3, "F", WEIR_CAUSE_RUN_LIMIT},
        {WEIR_CAUSE_GANG_BROKEN, WEIR_END_EXITED, 3, "Q", WEIR_CAUSE_GANG_BROKEN},
        {WEIR_CAUSE_CANCELLED, WEIR_END_EXITED, 3, "C", WEIR_CAUSE_CANCELLED},
        {WEIR_CAUSE_PREEMPTED, WEIR_END_STOPPED, 0, "Q", WEIR_CAUSE_PREEMPTED},
        {WEIR_CAUSE_RUN_LIMIT, WEIR_END_STOPPED, 0, "F", WEIR_CAUSE_RUN_LIMIT},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        struct bench b;

        print_message("row %zu\n", i);
        one_node(&b);
        starts(&b, (struct job_spec){.name = "j", .retries = 1});
        assert_int_equal(weir_edit_task_state(b.edit, task_at(&b, "j", 0), WEIR_TASK_STOPPING), 0);
        weir_edit_task(b.edit, task_at(&b, "j", 0))->stop_cause = rows[i].why;
        end_task(&b, "j", 0, rows[i].end, rows[i].status);
        tick(&b);
        assert_string_equal(states(&b, "j"), rows[i].state);
        assert_int_equal(action_on(&b, "j", 0)->cause, rows[i].cause);
        assert_int_equal(task_of(&b, "j", 0)->n_failures, 0);
        assert_string_equal(gpus_of(&b, "j", 0), "");
        bench_finish(&b);
    }
}

/* The workload may be cancelled while its task leaves for another reason. */
static void cancels_what_was_to_leave(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "j"});
    weir_edit_node(b.edit, node_at(&b, "n1"))->phase = WEIR_NODE_DRAINING;
    tick(&b);
    assert_string_equal(states(&b, "j"), "X");
    cancel(&b, "j");
    end_task(&b, "j", 0, WEIR_END_EXITED, 0);
    tick(&b);
    assert_string_equal(states(&b, "j"), "C");
    bench_finish(&b);
}

/* Whoever leaves room may take its time for a checkpoint; who is to end does not get that. */
static void stops_what_was_to_leave_room(void **state)
{
    static const enum weir_cause leave[] = {WEIR_CAUSE_PREEMPTED, WEIR_CAUSE_RECLAIMED,
                                            WEIR_CAUSE_DRAINED, WEIR_CAUSE_RUN_LIMIT};
    struct bench b;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(leave); i++) {
        bool is_stopped = leave[i] == WEIR_CAUSE_RUN_LIMIT;

        one_node(&b);
        starts(&b, (struct job_spec){.name = "j"});
        preempt(&b, "j", 0);
        weir_edit_task(b.edit, task_at(&b, "j", 0))->stop_cause = leave[i];
        cancel(&b, "j");
        tick(&b);
        assert_int_equal(b.plan.n_actions, is_stopped ? 0 : 1);
        assert_string_equal(states(&b, "j"), "X");
        if (!is_stopped) {
            assert_int_equal(action_on(&b, "j", 0)->kind, WEIR_ACTION_STOP);
            assert_int_equal(task_of(&b, "j", 0)->stop_cause, WEIR_CAUSE_CANCELLED);
        }
        tick(&b);
        assert_int_equal(b.plan.n_actions, 0); /* asked once */
        end_task(&b, "j", 0, WEIR_END_STOPPED, 143);
        tick(&b);
        assert_string_equal(states(&b, "j"), is_stopped ? "F" : "C");
        bench_finish(&b);
    }
}

/* Room that was being made for somebody is still theirs when its holder is cancelled. */
static void keeps_the_promise_of_room_that_is_cancelled(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 1);
    add_queue(&b, (struct queue_spec){.name = "q"});
    starts(&b, (struct job_spec){.name = "low"});
    add_job(&b, (struct job_spec){.name = "high", .queue = "q", .gpus = 1, .priority = 1});
    tick(&b);
    assert_int_equal(task_of(&b, "low", 0)->for_whom, job_at(&b, "high"));
    cancel(&b, "low");
    tick(&b);
    assert_int_equal(task_of(&b, "low", 0)->stop_cause, WEIR_CAUSE_CANCELLED);
    assert_int_equal(task_of(&b, "low", 0)->for_whom, job_at(&b, "high"));
    bench_finish(&b);
}

static void stops_at_the_run_limit_what_was_to_leave_room(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 8);
    add_queue(&b, (struct queue_spec){.name = "q", .run_limit_ms = 60000});
    starts(&b, (struct job_spec){.name = "j", .retries = 1});
    preempt(&b, "j", 0);
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    assert_int_equal(b.plan.wake_wall_ms, b.now.wall_ms + 60000);
    b.now.mono_ms += 60000;
    tick(&b);
    assert_int_equal(action_on(&b, "j", 0)->cause, WEIR_CAUSE_RUN_LIMIT);
    end_task(&b, "j", 0, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "j"), "F");
    bench_finish(&b);
}

static void empties_nodes_that_drain(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 8});
    starts(&b, (struct job_spec){.name = "j"});
    weir_edit_node(b.edit, node_at(&b, "n1"))->phase = WEIR_NODE_DRAINING;
    tick(&b);
    assert_int_equal(action_on(&b, "j", 0)->kind, WEIR_ACTION_EVICT);
    assert_int_equal(action_on(&b, "j", 0)->cause, WEIR_CAUSE_DRAINED);
    end_task(&b, "j", 0, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "j"), "Q");
    assert_int_equal(task_of(&b, "j", 0)->n_failures, 0);
    tick(&b);
    assert_string_equal(node_of(&b, "j", 0), "n2");
    bench_finish(&b);
}

static void stops_at_the_run_limit(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 8);
    add_queue(&b, (struct queue_spec){.name = "above", .run_limit_ms = 60000});
    add_queue(&b, (struct queue_spec){.name = "q", .parent = "above"});
    starts(&b, (struct job_spec){.name = "j", .retries = 1});
    b.now.mono_ms += 59999;
    b.now.wall_ms += 59999;
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    assert_int_equal(b.plan.wake_wall_ms, b.now.wall_ms + 1);
    b.now.mono_ms++;
    tick(&b);
    assert_int_equal(action_on(&b, "j", 0)->cause, WEIR_CAUSE_RUN_LIMIT);
    end_task(&b, "j", 0, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "j"), "F");
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settles_by_itself),
        cmocka_unit_test(retries_until_none_is_left),
        cmocka_unit_test(caps_the_backoff),
        cmocka_unit_test(a_clock_that_is_set_back_ends_the_backoff),
        cmocka_unit_test(cancels),
        cmocka_unit_test(settles_what_was_to_leave),
        cmocka_unit_test(cancels_what_was_to_leave),
        cmocka_unit_test(stops_what_was_to_leave_room),
        cmocka_unit_test(keeps_the_promise_of_room_that_is_cancelled),
        cmocka_unit_test(stops_at_the_run_limit_what_was_to_leave_room),
        cmocka_unit_test(empties_nodes_that_drain),
        cmocka_unit_test(stops_at_the_run_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
