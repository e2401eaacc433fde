#include "build_world.h"

static void takes_the_place_of_lower_priority(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "low", .queue = "q", .gpus = 1, .priority = 1});
    add_job(&b, (struct job_spec){.name = "fixed", .queue = "q", .gpus = 1, .fixed = true});
    add_job(&b, (struct job_spec){.name = "older", .queue = "q", .gpus = 1});
    tick_and_run(&b);
    b.now.mono_ms += 5000;
    add_job(&b, (struct job_spec){.name = "newer", .queue = "q", .gpus = 1});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "urgent", .queue = "q", .gpus = 2, .priority = 2});
    tick(&b);
    /* Two must go: of the lowest priority first. */
    assert_string_equal(states(&b, "low"), "R");
    assert_string_equal(states(&b, "fixed"), "R");
    assert_string_equal(states(&b, "older"), "X");
    assert_string_equal(states(&b, "newer"), "X");
    assert_string_equal(states(&b, "urgent"), "Q");
    assert_int_equal(action_on(&b, "newer", 0)->kind, WEIR_ACTION_EVICT);
    assert_int_equal(action_on(&b, "newer", 0)->cause, WEIR_CAUSE_PREEMPTED);
    assert_int_equal(action_on(&b, "newer", 0)->for_whom, job_at(&b, "urgent"));
    /* Nobody else is asked while they leave, and nobody takes what is free meanwhile. */
    end_task(&b, "newer", 0, WEIR_END_EXITED, 143);
    add_job(&b, (struct job_spec){.name = "thief", .queue = "q", .gpus = 1});
    tick(&b);
    assert_string_equal(states(&b, "newer"), "Q");
    assert_string_equal(states(&b, "thief"), "Q");
    assert_string_equal(states(&b, "low"), "R");
    end_task(&b, "older", 0, WEIR_END_STOPPED, 0);
    tick(&b);
    assert_string_equal(states(&b, "urgent"), "S");
    assert_string_equal(states(&b, "older"), "Q");
    assert_int_equal(task_of(&b, "older", 0)->n_failures, 0);
    bench_finish(&b);
}

static void takes_no_more_than_it_needs(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "small", .queue = "q", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "large", .queue = "q", .gpus = 3});
    tick_and_run(&b);
    /* The small one is asked first, is not enough, and stays after all. */
    add_job(&b, (struct job_spec){.name = "urgent", .queue = "q", .gpus = 3, .priority = 1});
    tick(&b);
    assert_string_equal(states(&b, "small"), "R");
    assert_string_equal(states(&b, "large"), "X");
    bench_finish(&b);
}

static void reclaims_what_is_over_the_guarantee(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 8);
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "b", .guaranteed_gpus = 4});
    add_job(&b, (struct job_spec){.name = "b", .queue = "b", .tasks = 8, .array = true, .gpus = 1});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "a", .queue = "a", .tasks = 6, .array = true, .gpus = 1});
    settle(&b, 20);
    /* Four of six: what is guaranteed; b keeps its own four. */
    assert_string_equal(states(&b, "a"), "RRRRQQ");
    assert_string_equal(states(&b, "b"), "RRRRQQQQ");
    bench_finish(&b);
}

static void never_takes_a_queue_below_its_guarantee(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 8);
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "b", .guaranteed_gpus = 4});
    add_job(&b, (struct job_spec){.name = "gang", .queue = "b", .tasks = 6, .gpus = 1});
    add_job(&b, (struct job_spec){.name = "fixed", .queue = "b", .gpus = 2, .fixed = true});
    tick_and_run(&b);
    /* The gang would leave whole, and b would be left with two. */
    add_job(&b, (struct job_spec){.name = "a", .queue = "a", .gpus = 1});
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    bench_finish(&b);
}

static void spares_what_a_queue_keeps_for_good(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 2);
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 2});
    add_queue(&b, (struct queue_spec){.name = "b", .fixed = true});
    add_job(&b, (struct job_spec){.name = "b", .queue = "b", .gpus = 2});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "a", .queue = "a", .gpus = 1});
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    bench_finish(&b);
}

static void reclaims_up_to_where_the_paths_meet(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    add_queue(&b, (struct queue_spec){.name = "org", .guaranteed_gpus = 0});
    add_queue(&b, (struct queue_spec){.name = "a", .parent = "org", .guaranteed_gpus = 2});
    add_queue(&b, (struct queue_spec){.name = "b", .parent = "org"});
    add_queue(&b, (struct queue_spec){.name = "other", .guaranteed_gpus = 2});
    add_job(&b, (struct job_spec){
                    .name = "other", .queue = "other", .tasks = 3, .array = true, .gpus = 1});
    add_job(&b, (struct job_spec){.name = "b", .queue = "b", .gpus = 1});
    tick_and_run(&b);
    /* org has no guarantee: a may take from b below org, not from other beside it. */
    add_job(&b, (struct job_spec){.name = "a", .queue = "a", .tasks = 2, .array = true, .gpus = 1});
    settle(&b, 20);
    assert_string_equal(states(&b, "other"), "RRR");
    assert_string_equal(states(&b, "b"), "Q");
    assert_string_equal(states(&b, "a"), "RQ");
    bench_finish(&b);
}

static void takes_gangs_whole_and_what_is_above_their_minimum_singly(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "gang", .queue = "q", .tasks = 2, .gpus = 2});
    add_job(&b,
            (struct job_spec){.name = "elastic", .queue = "q", .tasks = 4, .min = 2, .gpus = 1});
    settle(&b, 5);
    assert_string_equal(states(&b, "gang"), "RR");
    assert_string_equal(states(&b, "elastic"), "RRRR");
    add_job(&b, (struct job_spec){.name = "one", .queue = "q", .gpus = 1, .priority = 1});
    tick(&b);
    assert_int_equal(b.plan.n_actions, 1);
    assert_int_equal(b.plan.actions[0].workload, job_at(&b, "elastic"));
    settle(&b, 5);
    add_job(&b, (struct job_spec){.name = "four", .queue = "q", .gpus = 4, .priority = 1});
    tick(&b);
    assert_string_equal(states(&b, "gang"), "XX");
    bench_finish(&b);
}

static void preempts_under_a_limit(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "q", .limit_gpus = 4});
    add_job(&b,
            (struct job_spec){.name = "low", .queue = "q", .tasks = 4, .array = true, .gpus = 1});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "urgent", .queue = "q", .gpus = 2, .priority = 1});
    settle(&b, 10);
    assert_string_equal(states(&b, "urgent"), "R");
    assert_string_equal(states(&b, "low"), "RRQQ");
    bench_finish(&b);
}

static void makes_room_for_a_gang_in_the_cheapest_rack(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 2, .rack = "r1"});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 2, .rack = "r1"});
    add_node(&b, (struct node_spec){.name = "n3", .gpus = 2, .rack = "r2"});
    add_node(&b, (struct node_spec){.name = "n4", .gpus = 2, .rack = "r2"});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b,
            (struct job_spec){
                .name = "dear", .queue = "q", .tasks = 2, .array = true, .gpus = 2, .priority = 3});
    add_job(&b, (struct job_spec){.name = "cheap", .queue = "q", .gpus = 2, .priority = 1});
    tick_and_run(&b);
    assert_string_equal(node_of(&b, "cheap", 0), "n3");
    add_job(
        &b,
        (struct job_spec){
            .name = "gang", .queue = "q", .tasks = 2, .gpus = 2, .same_rack = true, .priority = 5});
    settle(&b, 10);
    assert_string_equal(states(&b, "gang"), "RR");
    assert_string_equal(states(&b, "dear"), "RR");
    assert_string_equal(states(&b, "cheap"), "Q");
    bench_finish(&b);
}

static void does_as_the_policy_says(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 1);
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 1});
    add_job(&b, (struct job_spec){.name = "low", .queue = "q", .gpus = 1});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "urgent", .queue = "q", .gpus = 1, .priority = 1});
    add_job(&b, (struct job_spec){.name = "a", .queue = "a", .gpus = 1});
    b.policy.actions = WEIR_POLICY_PLACE;
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    b.policy.actions = WEIR_POLICY_PLACE | WEIR_POLICY_PREEMPT;
    decide(&b);
    assert_int_equal(b.plan.n_actions, 1);
    assert_int_equal(b.plan.actions[0].cause, WEIR_CAUSE_PREEMPTED);
    b.policy.actions = WEIR_POLICY_PLACE | WEIR_POLICY_RECLAIM;
    decide(&b);
    assert_int_equal(b.plan.n_actions, 1);
    assert_int_equal(b.plan.actions[0].cause, WEIR_CAUSE_RECLAIMED);
    bench_finish(&b);
}

/* What was evicted for a waits in b and would come first there: it must not take the room back. */
static void room_goes_to_whom_it_was_made_for(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 2);
    add_queue(&b, (struct queue_spec){.name = "a"});
    add_queue(&b, (struct queue_spec){.name = "c", .priority = 9});
    add_job(&b,
            (struct job_spec){.name = "low", .queue = "a", .tasks = 2, .array = true, .gpus = 1});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "high", .queue = "a", .gpus = 2, .priority = 1});
    tick(&b);
    assert_string_equal(states(&b, "low"), "XX");
    /* c comes before a, and one GPU is free already. */
    add_job(&b, (struct job_spec){.name = "c", .queue = "c", .gpus = 1});
    end_task(&b, "low", 0, WEIR_END_STOPPED, 0);
    tick(&b);
    assert_string_equal(states(&b, "c"), "Q");
    end_task(&b, "low", 1, WEIR_END_STOPPED, 0);
    tick(&b);
    assert_string_equal(states(&b, "high"), "S");
    assert_string_equal(states(&b, "c"), "Q");
    bench_finish(&b);
}

/* A row that is used again is somebody else. */
static void room_is_nobodys_once_it_is_not_wanted(void **state)
{
    struct bench b;
    uint32_t row;

    (void)state;
    bench_with_node(&b, 1);
    add_queue(&b, (struct queue_spec){.name = "a"});
    add_queue(&b, (struct queue_spec){.name = "c", .priority = 9});
    add_job(&b, (struct job_spec){.name = "low", .queue = "a", .gpus = 1});
    tick_and_run(&b);
    row = add_job(&b, (struct job_spec){.name = "urgent", .queue = "a", .gpus = 1, .priority = 1});
    tick(&b);
    assert_string_equal(states(&b, "low"), "X");
    assert_int_equal(task_of(&b, "low", 0)->for_whom, row);
    must(weir_edit_remove_workload(b.edit, row));
    assert_int_equal(task_of(&b, "low", 0)->for_whom, WEIR_NONE);
    assert_int_equal(add_job(&b, (struct job_spec){.name = "other", .queue = "a", .gpus = 1}), row);
    add_job(&b, (struct job_spec){.name = "c", .queue = "c", .gpus = 1});
    end_stopping(&b);
    tick(&b);
    assert_string_equal(states(&b, "c"), "S");
    assert_string_equal(states(&b, "other"), "Q");
    bench_finish(&b);
}

/* Priority empties no GPUs that are guaranteed to the queue for work that asks for none. */
static void leaves_guaranteed_gpus_to_work_with_gpus(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4, .cpus = 4});
    add_queue(&b, (struct queue_spec){.name = "q", .guaranteed_gpus = 2});
    add_job(&b, (struct job_spec){.name = "gpus", .queue = "q", .gpus = 2, .cpus = 2});
    add_job(&b, (struct job_spec){.name = "more", .queue = "q", .gpus = 2, .cpus = 2});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "some", .queue = "q", .cpus = 2, .priority = 5});
    settle(&b, 10);
    assert_string_equal(states(&b, "some"), "R"); /* in place of one of the two */
    add_job(&b, (struct job_spec){.name = "rest", .queue = "q", .cpus = 2, .priority = 5});
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    weir_edit_queue(b.edit, queue_at(&b, "q"))->guaranteed.of[WEIR_RES_GPU] = 0;
    settle(&b, 10);
    assert_string_equal(states(&b, "rest"), "R");
    bench_finish(&b);
}

/* What is taken by guarantee leaves the queue its guarantee in work that is as important. */
static void takes_what_is_beyond_the_guarantee_by_priority(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 2, .label = "x"});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 2});
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 2});
    add_queue(&b, (struct queue_spec){.name = "b", .guaranteed_gpus = 2});
    add_job(&b, (struct job_spec){.name = "high", .queue = "b", .gpus = 2, .priority = 1});
    add_job(&b, (struct job_spec){.name = "low", .queue = "b", .gpus = 2});
    tick_and_run(&b);
    assert_string_equal(node_of(&b, "high", 0), "n1");
    add_job(&b, (struct job_spec){.name = "a", .queue = "a", .gpus = 2, .label = "x"});
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    weir_edit_workload(b.edit, job_at(&b, "low"))->priority = 1;
    settle(&b, 10);
    assert_string_equal(states(&b, "a"), "R");
    assert_string_equal(states(&b, "high"), "Q"); /* and does not push the other out */
    assert_string_equal(states(&b, "low"), "R");
    bench_finish(&b);
}

/* Without the two rules: t takes the CPU of r, v that of w, r the GPU of v, w the CPU of t. */
static void goes_round_in_no_circle(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 1, .cpus = 2});
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 1});
    add_queue(&b, (struct queue_spec){.name = "b", .guaranteed_cpus = 1});
    add_job(&b, (struct job_spec){.name = "r", .queue = "a", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "w", .queue = "b"});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "t", .queue = "a", .priority = 1});
    add_job(&b, (struct job_spec){.name = "v", .queue = "b", .gpus = 1, .priority = 1});
    settle(&b, 50);
    assert_string_equal(states(&b, "r"), "R");
    assert_string_equal(states(&b, "w"), "R");
    bench_finish(&b);
}

/* Each by itself would find room; together the first would take the room of the second. */
static void asks_for_nobody_who_would_not_start(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 1, .label = "x"});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 1});
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 1});
    add_queue(&b, (struct queue_spec){.name = "b"});
    add_job(&b, (struct job_spec){.name = "first", .queue = "b", .gpus = 1});
    tick_and_run(&b);
    b.now.mono_ms += 5000;
    add_job(&b, (struct job_spec){.name = "second", .queue = "b", .gpus = 1});
    tick_and_run(&b);
    b.now.mono_ms += 5000;
    add_job(&b, (struct job_spec){.name = "a", .queue = "a", .gpus = 1});
    add_job(&b, (struct job_spec){
                    .name = "urgent", .queue = "b", .gpus = 1, .priority = 1, .label = "x"});
    tick(&b);
    assert_string_equal(states(&b, "first"), "R");
    assert_string_equal(states(&b, "second"), "X");
    assert_string_equal(why(&b, "a"), "Evicting");
    assert_string_equal(why(&b, "urgent"), "Resources");
    settle(&b, 10);
    assert_string_equal(node_of(&b, "a", 0), "n2");
    assert_string_equal(node_of(&b, "urgent", 0), "n1");
    bench_finish(&b);
}

/* The leader would be placed on n1, where alone the worker has memory enough. */
static void makes_room_that_a_gang_will_find(void **state)
{
    struct job_spec gang = {
        .name = "gang", .queue = "q", .cpus = 1, .gib = 32, .lead_cpus = 2, .priority = 5};
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .cpus = 2, .gib = 32});
    add_node(&b, (struct node_spec){.name = "n2", .cpus = 2, .gib = 16});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "one", .queue = "q", .cpus = 2, .priority = 1});
    add_job(&b, (struct job_spec){.name = "two", .queue = "q", .cpus = 2});
    tick_and_run(&b);
    add_job(&b, gang);
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    add_node(&b, (struct node_spec){.name = "n3", .cpus = 2, .gib = 32});
    add_job(&b, (struct job_spec){.name = "three", .queue = "q", .cpus = 2, .priority = 2});
    weir_edit_workload(b.edit, job_at(&b, "gang"))->held = 1;
    tick_and_run(&b);
    assert_string_equal(node_of(&b, "three", 0), "n3");
    weir_edit_workload(b.edit, job_at(&b, "gang"))->held = 0;
    tick(&b);
    assert_string_equal(states(&b, "one"), "X");
    assert_string_equal(states(&b, "two"), "R"); /* asked first, and not needed in the end */
    assert_string_equal(states(&b, "three"), "X");
    end_stopping(&b);
    tick(&b);
    assert_string_equal(states(&b, "gang"), "SS");
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_place_of_lower_priority),
        cmocka_unit_test(takes_no_more_than_it_needs),
        cmocka_unit_test(reclaims_what_is_over_the_guarantee),
        cmocka_unit_test(never_takes_a_queue_below_its_guarantee),
        cmocka_unit_test(spares_what_a_queue_keeps_for_good),
        cmocka_unit_test(reclaims_up_to_where_the_paths_meet),
        cmocka_unit_test(takes_gangs_whole_and_what_is_above_their_minimum_singly),
        cmocka_unit_test(preempts_under_a_limit),
        cmocka_unit_test(makes_room_for_a_gang_in_the_cheapest_rack),
        cmocka_unit_test(does_as_the_policy_says),
        cmocka_unit_test(room_goes_to_whom_it_was_made_for),
        cmocka_unit_test(room_is_nobodys_once_it_is_not_wanted),
        cmocka_unit_test(leaves_guaranteed_gpus_to_work_with_gpus),
        cmocka_unit_test(takes_what_is_beyond_the_guarantee_by_priority),
        cmocka_unit_test(goes_round_in_no_circle),
        cmocka_unit_test(asks_for_nobody_who_would_not_start),
        cmocka_unit_test(makes_room_that_a_gang_will_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
