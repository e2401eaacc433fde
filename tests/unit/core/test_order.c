#include "build_world.h"

/* Which jobs the plan starts, in its order. */
static const char *started(const struct bench *b)
{
    static char text[1024];
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < b->plan.n_actions; i++) {
        const struct weir_workload *job =
            weir_world_workload(b->world, b->plan.actions[i].workload);

        if (b->plan.actions[i].kind == WEIR_ACTION_START)
            n += (size_t)snprintf(text + n, sizeof(text) - n, n > 0 ? " %llu" : "%llu",
                                  (unsigned long long)job->number);
    }
    return text;
}

static void gpus(struct bench *b, int n)
{
    bench_init(b);
    add_node(b, (struct node_spec){.name = "n1", .gpus = n});
}

/* One-GPU jobs; numbers count from 1 over all calls. */
static void jobs(struct bench *b, const char *queue, int n)
{
    for (int i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "j%llu", (unsigned long long)b->n_jobs + 1);
        add_job(b, (struct job_spec){.name = name, .queue = queue, .gpus = 1});
    }
}

static void by_priority_then_time(void **state)
{
    struct bench b;

    (void)state;
    gpus(&b, 4);
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .gpus = 1, .submitted_ms = 30});
    add_job(&b, (struct job_spec){.name = "b", .queue = "q", .gpus = 1, .submitted_ms = 20});
    add_job(&b, (struct job_spec){
                    .name = "c", .queue = "q", .gpus = 1, .submitted_ms = 40, .priority = -1});
    add_job(&b, (struct job_spec){
                    .name = "d", .queue = "q", .gpus = 1, .submitted_ms = 50, .priority = 1});
    tick(&b);
    assert_string_equal(started(&b), "4 2 1 3");
    bench_finish(&b);
}

static void guarantees_first(void **state)
{
    struct bench b;

    (void)state;
    gpus(&b, 4);
    add_queue(&b, (struct queue_spec){.name = "rich", .priority = 9});
    add_queue(&b, (struct queue_spec){.name = "sure", .guaranteed_gpus = 2});
    jobs(&b, "rich", 4);
    jobs(&b, "sure", 4);
    tick(&b);
    assert_string_equal(started(&b), "5 6 1 2"); /* two within the guarantee, then priority */
    bench_finish(&b);
}

static void the_smaller_share_next(void **state)
{
    struct bench b;

    (void)state;
    gpus(&b, 6);
    add_queue(&b, (struct queue_spec){.name = "one", .weight = 1, .created_ms = 1});
    add_queue(&b, (struct queue_spec){.name = "two", .weight = 2, .created_ms = 2});
    jobs(&b, "one", 6);
    jobs(&b, "two", 6);
    tick(&b);
    /* One to two; of equals the older. */
    assert_string_equal(started(&b), "1 7 8 2 9 10");
    bench_finish(&b);
}

static void shares_are_of_what_is_guaranteed(void **state)
{
    struct bench b;

    (void)state;
    gpus(&b, 6);
    add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 4, .created_ms = 1});
    add_queue(&b, (struct queue_spec){.name = "b", .guaranteed_gpus = 2, .created_ms = 2});
    jobs(&b, "a", 6);
    jobs(&b, "b", 6);
    tick(&b);
    assert_string_equal(started(&b), "1 7 2 3 8 4");
    bench_finish(&b);
}

static void the_dominant_resource_counts(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4, .cpus = 8});
    add_queue(&b, (struct queue_spec){.name = "cpus", .created_ms = 1});
    add_queue(&b, (struct queue_spec){.name = "gpus", .created_ms = 2});
    add_job(&b, (struct job_spec){.name = "c1", .queue = "cpus", .cpus = 3});
    add_job(&b, (struct job_spec){.name = "c2", .queue = "cpus", .cpus = 3});
    add_job(&b, (struct job_spec){.name = "g1", .queue = "gpus", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "g2", .queue = "gpus", .gpus = 1});
    tick(&b);
    /* 3/8 of the CPUs is more than 1/4 of the GPUs. */
    assert_string_equal(started(&b), "1 3 4 2");
    bench_finish(&b);
}

static void level_by_level(void **state)
{
    struct bench b;

    (void)state;
    gpus(&b, 4);
    add_queue(&b, (struct queue_spec){.name = "x", .created_ms = 1});
    add_queue(&b, (struct queue_spec){.name = "y", .created_ms = 2});
    add_queue(&b, (struct queue_spec){.name = "x1", .parent = "x", .created_ms = 1});
    add_queue(&b, (struct queue_spec){.name = "x2", .parent = "x", .created_ms = 2});
    add_queue(&b, (struct queue_spec){.name = "y1", .parent = "y"});
    jobs(&b, "x1", 4);
    jobs(&b, "x2", 4);
    jobs(&b, "y1", 4);
    tick(&b);
    assert_string_equal(started(&b), "1 9 5 10");
    bench_finish(&b);
}

static void limits_hold_at_every_level(void **state)
{
    struct bench b;

    (void)state;
    gpus(&b, 8);
    add_queue(&b, (struct queue_spec){.name = "top", .limit_gpus = 3});
    add_queue(&b, (struct queue_spec){.name = "a", .parent = "top", .limit_gpus = 2});
    add_queue(&b, (struct queue_spec){.name = "b", .parent = "top"});
    add_queue(&b, (struct queue_spec){.name = "shut", .limit_gpus = -1});
    jobs(&b, "a", 4);
    jobs(&b, "b", 4);
    jobs(&b, "shut", 1);
    tick(&b);
    assert_int_equal(b.plan.n_actions, 3);
    assert_string_equal(why(&b, "j4"), "QueueLimit");
    assert_string_equal(why(&b, "j8"), "ParentLimit");
    assert_string_equal(why(&b, "j9"), "QueueLimit");
    bench_finish(&b);
}

static void what_must_wait_is_left_alone(void **state)
{
    struct bench b;

    (void)state;
    gpus(&b, 8);
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_queue(&b, (struct queue_spec){.name = "night", .opens_ms = 1200000});
    add_queue(&b, (struct queue_spec){.name = "batch", .parent = "night"});
    add_job(&b, (struct job_spec){.name = "held", .queue = "q", .gpus = 1, .held = true});
    add_job(&b, (struct job_spec){.name = "later", .queue = "q", .gpus = 1, .begin_ms = 1100000});
    add_job(&b, (struct job_spec){.name = "closed", .queue = "batch", .gpus = 1});
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    assert_int_equal(b.plan.wake_wall_ms, 1100000);
    assert_string_equal(why(&b, "held"), "Held");
    assert_string_equal(why(&b, "later"), "BeginTime");
    assert_string_equal(why(&b, "closed"), "BeginTime");
    assert_int_equal(verdict_of(&b, "held")->unblock, WEIR_UNBLOCK_RELEASE);
    assert_int_equal(verdict_of(&b, "later")->unblock_amount, 1100000);
    assert_int_equal(verdict_of(&b, "closed")->unblock_amount, 1200000);
    assert_int_equal(b.plan.reasons[verdict_of(&b, "closed")->blocking].subject,
                     queue_at(&b, "night"));
    b.now.wall_ms = 1100000;
    tick(&b);
    assert_string_equal(states(&b, "later"), "S");
    assert_int_equal(b.plan.wake_wall_ms, 1200000);
    b.now.wall_ms = 1200000;
    tick(&b);
    assert_string_equal(states(&b, "closed"), "S");
    bench_finish(&b);
}

static void no_queue_and_no_node_are_no_trouble(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    assert_int_equal(b.plan.wake_wall_ms, INT64_MAX);
    add_queue(&b, (struct queue_spec){.name = "q"});
    jobs(&b, "q", 2);
    tick(&b);
    assert_string_equal(why(&b, "j1"), "Resources");
    assert_int_equal(verdict_of(&b, "j1")->unblock, WEIR_UNBLOCK_ADD_CAPACITY);
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_priority_then_time),
        cmocka_unit_test(guarantees_first),
        cmocka_unit_test(the_smaller_share_next),
        cmocka_unit_test(shares_are_of_what_is_guaranteed),
        cmocka_unit_test(the_dominant_resource_counts),
        cmocka_unit_test(level_by_level),
        cmocka_unit_test(limits_hold_at_every_level),
        cmocka_unit_test(what_must_wait_is_left_alone),
        cmocka_unit_test(no_queue_and_no_node_are_no_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
