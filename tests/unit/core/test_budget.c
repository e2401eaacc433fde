/* Jobs that share a GPU by memory budgets, and use more than theirs. */
#include "heal_bench.h"

static void two_share(struct bench *b, struct queue_spec queue, struct job_spec spec)
{
    bench_init(b);
    add_node(b, (struct node_spec){.name = "n1", .gpus = 1, .sharers = 4});
    queue.name = "q";
    add_queue(b, queue);
    spec.name = "j";
    spec.queue = "q";
    spec.mgpu = 250;
    spec.gpu_gib = 20;
    add_job(b, spec);
    add_job(b, (struct job_spec){.name = "neighbour", .queue = "q", .mgpu = 250, .gpu_gib = 20});
    tick_and_run(b);
    tick_and_run(b);
}

/* One more sample: what each member uses. What follows from it. */
static void sample(struct bench *b, const char *job, uint32_t member, int gib)
{
    must(
        weir_edit_hold_use(b->edit, task_of(b, job, member)->first_hold, (int64_t)gib << GIB_BITS));
    tick(b);
}

static const struct weir_hold *hold_of(const struct bench *b, const char *job)
{
    return weir_world_hold(weir_edit_view(b->edit), task_of(b, job, 0)->first_hold);
}

static void assert_told(const struct bench *b, enum weir_action_kind kind, enum weir_cause cause)
{
    if (b->plan.n_actions != 1 || b->plan.actions[0].kind != kind ||
        b->plan.actions[0].cause != cause)
        fail_msg("%u actions; the first is to %s for %s", b->plan.n_actions,
                 b->plan.n_actions > 0
                     ? weir_action_name((enum weir_action_kind)b->plan.actions[0].kind)
                     : "do nothing",
                 b->plan.n_actions > 0 ? weir_cause_name((enum weir_cause)b->plan.actions[0].cause)
                                       : "nothing");
}

static void warns_first_then_stops_the_offender(void **state)
{
    struct bench b;

    (void)state;
    two_share(&b, (struct queue_spec){0}, (struct job_spec){0});
    sample(&b, "j", 0, 20);
    assert_int_equal(b.plan.n_actions, 0);
    sample(&b, "j", 0, 21);
    assert_told(&b, WEIR_ACTION_NOTIFY, WEIR_CAUSE_OVER_BUDGET);
    assert_int_equal(b.plan.actions[0].amount, 21LL << GIB_BITS);
    assert_string_equal(states(&b, "j"), "R");
    assert_int_equal(task_of(&b, "j", 0)->cause, WEIR_CAUSE_PLACED);
    tick(&b); /* no further sample: nothing more follows */
    assert_int_equal(b.plan.n_actions, 0);
    sample(&b, "j", 0, 21);
    assert_told(&b, WEIR_ACTION_STOP, WEIR_CAUSE_OVER_BUDGET);
    assert_string_equal(states(&b, "j"), "X");
    assert_string_equal(states(&b, "neighbour"), "R");
    sample(&b, "j", 0, 21);
    assert_int_equal(b.plan.n_actions, 0);
    end_task(&b, "j", 0, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_told(&b, WEIR_ACTION_SETTLE, WEIR_CAUSE_OVER_BUDGET);
    assert_string_equal(states(&b, "j"), "F");
    assert_string_equal(states(&b, "neighbour"), "R");
    bench_finish(&b);
}

static void forgives_who_is_within_again(void **state)
{
    struct bench b;

    (void)state;
    two_share(&b, (struct queue_spec){0}, (struct job_spec){0});
    for (int i = 0; i < 5; i++) {
        sample(&b, "j", 0, 21);
        assert_int_equal(b.plan.n_actions, i == 0); /* said once, not at each turn */
        sample(&b, "j", 0, 19);
        assert_int_equal(b.plan.n_actions, 0);
    }
    assert_int_equal(hold_of(&b, "j")->is_warned, 1);
    for (int i = 0; i < 8; i++) {
        sample(&b, "j", 0, 19);
        assert_int_equal(b.plan.n_actions, 0);
    }
    sample(&b, "j", 0, 19);
    assert_told(&b, WEIR_ACTION_NOTIFY, WEIR_CAUSE_WITHIN_BUDGET);
    assert_int_equal(hold_of(&b, "j")->is_warned, 0);
    sample(&b, "j", 0, 19);
    assert_int_equal(b.plan.n_actions, 0);
    sample(&b, "j", 0, 25);
    assert_told(&b, WEIR_ACTION_NOTIFY, WEIR_CAUSE_OVER_BUDGET);
    assert_string_equal(states(&b, "j"), "R");
    bench_finish(&b);
}

static void a_queue_may_only_warn(void **state)
{
    struct bench b;

    (void)state;
    two_share(&b, (struct queue_spec){.over_budget = WEIR_OVER_BUDGET_WARN}, (struct job_spec){0});
    for (int i = 0; i < WEIR_SAMPLES_MAX + 5; i++) {
        sample(&b, "j", 0, 79);
        assert_int_equal(b.plan.n_actions, i == 0);
    }
    assert_string_equal(states(&b, "j"), "R");
    assert_int_equal(hold_of(&b, "j")->n_over, WEIR_SAMPLES_MAX);
    assert_int_equal(hold_of(&b, "j")->used_bytes, 79LL << GIB_BITS);
    bench_finish(&b);
}

static void the_next_queue_above_says(void **state)
{
    static const struct {
        enum weir_over_budget top;
        enum weir_over_budget own;
        const char *state;
    } cases[] = {
        {WEIR_OVER_BUDGET_INHERIT, WEIR_OVER_BUDGET_INHERIT, "X"},
        {WEIR_OVER_BUDGET_WARN, WEIR_OVER_BUDGET_INHERIT, "R"},
        {WEIR_OVER_BUDGET_WARN, WEIR_OVER_BUDGET_STOP, "X"},
        {WEIR_OVER_BUDGET_STOP, WEIR_OVER_BUDGET_WARN, "R"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;

        bench_init(&b);
        add_node(&b, (struct node_spec){.name = "n1", .gpus = 1, .sharers = 4});
        add_queue(&b, (struct queue_spec){.name = "top", .over_budget = cases[i].top});
        add_queue(&b,
                  (struct queue_spec){.name = "q", .parent = "top", .over_budget = cases[i].own});
        add_job(&b, (struct job_spec){.name = "j", .queue = "q", .mgpu = 250, .gpu_gib = 20});
        tick_and_run(&b);
        sample(&b, "j", 0, 21);
        sample(&b, "j", 0, 21);
        assert_string_equal(states(&b, "j"), cases[i].state);
        bench_finish(&b);
    }
}

/* How one that was stopped for it leaves, and what follows. */
static void fails_and_may_go_again(void **state)
{
    static const struct {
        struct job_spec spec;
        enum weir_end end;
        int status;
        bool is_cancelled;
        const char *state;
        enum weir_cause cause;
    } cases[] = {
        {{0}, WEIR_END_STOPPED, 143, false, "F", WEIR_CAUSE_OVER_BUDGET},
        {{0}, WEIR_END_STOPPED, 0, false, "F", WEIR_CAUSE_OVER_BUDGET},
        {{0}, WEIR_END_EXITED, 0, false, "D", WEIR_CAUSE_EXITED}, /* it was done before */
        {{.retries = 1}, WEIR_END_STOPPED, 143, false, "Q", WEIR_CAUSE_RETRIED},
        {{.retries = 1}, WEIR_END_STOPPED, 0, false, "Q", WEIR_CAUSE_RETRIED},
        {{.retries = 1, .retry_on = 143}, WEIR_END_STOPPED, 0, false, "Q", WEIR_CAUSE_RETRIED},
        {{.retries = 1, .retry_on = 7}, WEIR_END_STOPPED, 0, false, "F", WEIR_CAUSE_OVER_BUDGET},
        {{.retries = 1}, WEIR_END_STOPPED, 143, true, "F", WEIR_CAUSE_OVER_BUDGET},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;

        print_message("case %zu\n", i);
        two_share(&b, (struct queue_spec){0}, cases[i].spec);
        sample(&b, "j", 0, 21);
        sample(&b, "j", 0, 21);
        assert_string_equal(states(&b, "j"), "X");
        if (cases[i].is_cancelled)
            cancel(&b, "j");
        end_task(&b, "j", 0, cases[i].end, cases[i].status);
        tick(&b);
        assert_string_equal(states(&b, "j"), cases[i].state);
        assert_int_equal(task_of(&b, "j", 0)->cause, cases[i].cause);
        assert_string_equal(states(&b, "neighbour"), "R");
        bench_finish(&b);
    }
}

/* It would not leave memory alone for the time of a checkpoint. */
static void ends_the_leaving_of_one_that_makes_room(void **state)
{
    struct bench b;

    (void)state;
    two_share(&b, (struct queue_spec){0}, (struct job_spec){0});
    preempt(&b, "j", 0);
    sample(&b, "j", 0, 21);
    assert_int_equal(b.plan.n_actions, 0);
    sample(&b, "j", 0, 21);
    assert_told(&b, WEIR_ACTION_STOP, WEIR_CAUSE_OVER_BUDGET);
    assert_int_equal(task_of(&b, "j", 0)->stop_cause, WEIR_CAUSE_OVER_BUDGET);
    bench_finish(&b);
}

static void a_member_takes_its_gang_along(void **state)
{
    struct bench b;

    (void)state;
    two_share(&b, (struct queue_spec){0}, (struct job_spec){.tasks = 2, .retries = 1});
    sample(&b, "j", 1, 21);
    sample(&b, "j", 1, 21);
    assert_string_equal(states(&b, "j"), "XX");
    assert_int_equal(task_of(&b, "j", 0)->stop_cause, WEIR_CAUSE_GANG_BROKEN);
    assert_int_equal(task_of(&b, "j", 1)->stop_cause, WEIR_CAUSE_OVER_BUDGET);
    end_task(&b, "j", 0, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "j"), "QX");
    end_task(&b, "j", 1, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "j"), "QQ");
    b.now.wall_ms += 1000;
    tick_and_run(&b);
    assert_string_equal(states(&b, "j"), "RR");
    assert_string_equal(states(&b, "neighbour"), "R");
    sample(&b, "j", 0, 21);
    sample(&b, "j", 0, 21);
    end_stopping(&b);
    tick(&b);
    assert_string_equal(states(&b, "j"), "FC");
    bench_finish(&b);
}

/* Elements of an array answer for themselves; a gang goes on without one that it can spare. */
static void others_of_an_array_go_on(void **state)
{
    struct bench b;

    (void)state;
    two_share(&b, (struct queue_spec){0}, (struct job_spec){.tasks = 2, .array = true});
    sample(&b, "j", 1, 21);
    sample(&b, "j", 1, 21);
    assert_string_equal(states(&b, "j"), "RX");
    bench_finish(&b);
    two_share(&b, (struct queue_spec){0}, (struct job_spec){.tasks = 2, .min = 1});
    sample(&b, "j", 1, 21);
    sample(&b, "j", 1, 21);
    assert_string_equal(states(&b, "j"), "RX");
    end_stopping(&b);
    tick(&b);
    assert_string_equal(states(&b, "j"), "RF");
    bench_finish(&b);
}

static void a_gpu_of_its_own_has_no_budget(void **state)
{
    struct bench b;

    (void)state;
    one_node(&b);
    starts(&b, (struct job_spec){.name = "j", .gpu_gib = 20});
    sample(&b, "j", 0, 79);
    sample(&b, "j", 0, 79);
    assert_int_equal(b.plan.n_actions, 0);
    assert_int_equal(hold_of(&b, "j")->n_over, 0);
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warns_first_then_stops_the_offender),
        cmocka_unit_test(forgives_who_is_within_again),
        cmocka_unit_test(a_queue_may_only_warn),
        cmocka_unit_test(the_next_queue_above_says),
        cmocka_unit_test(fails_and_may_go_again),
        cmocka_unit_test(ends_the_leaving_of_one_that_makes_room),
        cmocka_unit_test(a_member_takes_its_gang_along),
        cmocka_unit_test(others_of_an_array_go_on),
        cmocka_unit_test(a_gpu_of_its_own_has_no_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
