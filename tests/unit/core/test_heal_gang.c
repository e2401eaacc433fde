/* What the end of one member does to its gang. */
#include "heal_bench.h"

/* Of a gang that leaves room: cancelled; or one of it, asked to leave by nobody, fails for good. */
static void stops_a_gang_that_was_to_leave_room(void **state)
{
    struct bench b;

    (void)state;
    for (int is_cancel = 0; is_cancel <= 1; is_cancel++) {
        enum weir_cause cause = is_cancel ? WEIR_CAUSE_CANCELLED : WEIR_CAUSE_GANG_BROKEN;

        one_node(&b);
        starts(&b, (struct job_spec){.name = "g", .tasks = 3});
        preempt(&b, "g", 0);
        preempt(&b, "g", 1);
        if (is_cancel)
            cancel(&b, "g");
        else
            end_task(&b, "g", 2, WEIR_END_EXITED, 1);
        tick(&b);
        assert_string_equal(states(&b, "g"), is_cancel ? "XXX" : "XXF");
        assert_int_equal(task_of(&b, "g", 0)->stop_cause, cause);
        assert_int_equal(task_of(&b, "g", 1)->stop_cause, cause);
        tick(&b);
        assert_int_equal(b.plan.n_actions, 0);
        end_stopping(&b);
        tick(&b);
        assert_string_equal(states(&b, "g"), is_cancel ? "CCC" : "CCF");
        bench_finish(&b);
    }
}

/* A gang in which all were asked to leave: done when all had ended well, else run again whole. */
static void settles_a_gang_that_was_to_leave(void **state)
{
    struct bench b;

    (void)state;
    for (int all = 0; all <= 1; all++) {
        one_node(&b);
        starts(&b, (struct job_spec){.name = "g", .tasks = 2});
        weir_edit_node(b.edit, node_at(&b, "n1"))->phase = WEIR_NODE_DRAINING;
        tick(&b);
        assert_string_equal(states(&b, "g"), "XX");
        end_task(&b, "g", 0, WEIR_END_EXITED, 0);
        tick(&b);
        assert_string_equal(states(&b, "g"), "DX");
        end_task(&b, "g", 1, all ? WEIR_END_EXITED : WEIR_END_STOPPED, 0);
        tick(&b);
        assert_string_equal(states(&b, "g"), all ? "DD" : "QQ");
        bench_finish(&b);
    }
}

static void stops_the_gang_of_a_member_that_failed(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "g", .tasks = 4});
    end_task(&b, "g", 0, WEIR_END_EXITED, 0);
    end_task(&b, "g", 1, WEIR_END_EXITED, 7);
    tick(&b);
    assert_string_equal(states(&b, "g"), "DFXX");
    assert_int_equal(action_on(&b, "g", 2)->kind, WEIR_ACTION_STOP);
    assert_int_equal(action_on(&b, "g", 2)->cause, WEIR_CAUSE_GANG_BROKEN);
    end_task(&b, "g", 2, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "g"), "DFCX");
    end_task(&b, "g", 3, WEIR_END_EXITED, 9);
    tick(&b);
    assert_string_equal(states(&b, "g"), "DFCC");
    bench_finish(&b);
}

static void retries_a_gang_as_a_whole(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "g", .tasks = 4, .retries = 1});
    end_task(&b, "g", 0, WEIR_END_EXITED, 0);
    tick(&b);
    assert_string_equal(states(&b, "g"), "DRRR");
    end_task(&b, "g", 1, WEIR_END_EXITED, 7);
    end_task(&b, "g", 2, WEIR_END_LOST, 0);
    tick(&b);
    assert_string_equal(states(&b, "g"), "DQQX");
    assert_int_equal(action_on(&b, "g", 3)->kind, WEIR_ACTION_EVICT);
    assert_int_equal(weir_world_workload(weir_edit_view(b.edit), job_at(&b, "g"))->n_failures, 1);
    /* Nothing of it starts before all of it is gone, back-off or not. */
    b.now.wall_ms += 5000;
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    end_task(&b, "g", 3, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "g"), "QQQQ"); /* also the one that had succeeded */
    assert_true(b.plan.wake_wall_ms <= b.now.wall_ms);
    tick(&b);
    assert_string_equal(states(&b, "g"), "SSSS");
    run_started(&b);
    end_task(&b, "g", 3, WEIR_END_LOST, 0);
    tick(&b);
    assert_string_equal(states(&b, "g"), "XXXL");
    bench_finish(&b);
}

static void restarts_a_gang_that_ends_at_once(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "g", .tasks = 3, .retries = 1});
    end_task(&b, "g", 0, WEIR_END_EXITED, 0);
    end_task(&b, "g", 1, WEIR_END_EXITED, 1);
    end_task(&b, "g", 2, WEIR_END_NOT_STARTED, 0);
    tick(&b);
    assert_string_equal(states(&b, "g"), "QQQ");
    assert_int_equal(b.plan.n_actions, 3);
    tick(&b);
    assert_string_equal(states(&b, "g"), "QQQ");
    /* The longest back-off of a member holds for all. */
    b.now.wall_ms += 1999;
    tick(&b);
    assert_string_equal(states(&b, "g"), "QQQ");
    b.now.wall_ms += 1;
    tick(&b);
    assert_string_equal(states(&b, "g"), "SSS");
    bench_finish(&b);
}

static void lets_a_gang_go_on_above_its_minimum(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "g", .tasks = 4, .min = 2, .retries = 1});
    tick_and_run(&b);
    assert_string_equal(states(&b, "g"), "RRRR");
    end_task(&b, "g", 0, WEIR_END_EXITED, 1);
    end_task(&b, "g", 1, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "g"), "QFRR"); /* one retry for both */
    b.now.wall_ms += 1000;
    tick_and_run(&b);
    assert_string_equal(states(&b, "g"), "RFRR");
    end_task(&b, "g", 0, WEIR_END_EXITED, 0);
    end_task(&b, "g", 2, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "g"), "DFFR"); /* one runs, one has succeeded */
    end_task(&b, "g", 3, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "g"), "DFFF");
    bench_finish(&b);
}

static void ends_a_gang_below_its_minimum_with_all_that_waits(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 2);
    add_queue(&b, (struct queue_spec){.name = "q"});
    starts(&b, (struct job_spec){.name = "g", .tasks = 4, .min = 2});
    assert_string_equal(states(&b, "g"), "RRQQ");
    end_task(&b, "g", 0, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "g"), "FXCC");
    end_task(&b, "g", 1, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "g"), "FCCC");
    bench_finish(&b);
}

static void takes_a_drained_member_with_its_gang(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 8});
    add_node(&b, (struct node_spec){.name = "n3", .gpus = 8});
    add_job(&b, (struct job_spec){.name = "g", .queue = "q", .tasks = 2, .gpus = 8});
    tick_and_run(&b);
    weir_edit_node(b.edit, node_at(&b, "n2"))->phase = WEIR_NODE_DRAINING;
    tick(&b);
    assert_int_equal(action_on(&b, "g", 0)->cause, WEIR_CAUSE_GANG_BROKEN);
    assert_int_equal(action_on(&b, "g", 1)->cause, WEIR_CAUSE_DRAINED);
    settle(&b, 5);
    assert_string_equal(states(&b, "g"), "RR");
    assert_string_equal(node_of(&b, "g", 0), "n1");
    assert_string_equal(node_of(&b, "g", 1), "n3");
    bench_finish(&b);
}

static void cancels_a_gang(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "g", .tasks = 3, .retries = 3});
    add_job(&b, (struct job_spec){.name = "waiting", .queue = "q", .tasks = 3, .gpus = 3});
    cancel(&b, "g");
    cancel(&b, "waiting");
    end_task(&b, "g", 0, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "g"), "FXX");
    assert_string_equal(states(&b, "waiting"), "CCC");
    end_stopping(&b);
    tick(&b);
    assert_string_equal(states(&b, "g"), "FCC");
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_a_gang_that_was_to_leave_room),
        cmocka_unit_test(settles_a_gang_that_was_to_leave),
        cmocka_unit_test(stops_the_gang_of_a_member_that_failed),
        cmocka_unit_test(retries_a_gang_as_a_whole),
        cmocka_unit_test(restarts_a_gang_that_ends_at_once),
        cmocka_unit_test(lets_a_gang_go_on_above_its_minimum),
        cmocka_unit_test(ends_a_gang_below_its_minimum_with_all_that_waits),
        cmocka_unit_test(takes_a_drained_member_with_its_gang),
        cmocka_unit_test(cancels_a_gang),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
