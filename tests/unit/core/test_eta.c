#include "build_world.h"

#include "core/sim/eta.h"
#include "core/sim/runtime.h"

enum { MINUTE = 60000, HOUR = 3600000 };

static const struct weir_eta_limits limits = {.max_steps = 1000, .horizon_ms = 100LL * HOUR};

static struct weir_eta eta_within(struct bench *b, const char *job, struct weir_eta_limits within)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t row = job_at(b, job);
    struct weir_eta eta;

    weir_world_unref(b->world);
    b->world = weir_edit_seal(b->edit);
    if (weir_eta(b->world, &b->policy, b->now, 1, &within, &row, 1, &arena, &eta, &err) < 0)
        fail_msg("eta: %s", err.text);
    weir_arena_finish(&arena);
    assert_int_equal(eta.workload, row);
    return eta;
}

static struct weir_eta eta_of(struct bench *b, const char *job)
{
    return eta_within(b, job, limits);
}

/* So many minutes from now. */
static int64_t in_min(const struct bench *b, int64_t wall_ms)
{
    return (wall_ms - b->now.wall_ms) / MINUTE;
}

static void one_gpu(struct bench *b)
{
    bench_with_node(b, 1);
    add_queue(b, (struct queue_spec){.name = "q"});
}

static void waits_for_those_before(void **state)
{
    struct bench b;

    (void)state;
    one_gpu(&b);
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .gpus = 1, .p50_ms = 10 * MINUTE});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "b", .queue = "q", .gpus = 1, .p50_ms = 20 * MINUTE});
    add_job(&b, (struct job_spec){.name = "c", .queue = "q", .gpus = 1});
    assert_int_equal(in_min(&b, eta_of(&b, "a").p50_wall_ms), 0);
    assert_int_equal(in_min(&b, eta_of(&b, "b").p50_wall_ms), 10);
    assert_int_equal(in_min(&b, eta_of(&b, "c").p50_wall_ms), 30);
    /* The world is as it was. */
    assert_string_equal(states(&b, "b"), "Q");
    tick(&b);
    assert_int_equal(b.plan.n_actions, 0);
    bench_finish(&b);
}

static void knows_that_what_runs_still_runs(void **state)
{
    struct bench b;
    int64_t left;

    (void)state;
    one_gpu(&b);
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .gpus = 1});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "b", .queue = "q", .gpus = 1});
    /* Priors: half end within 10 min, nine tenths within two hours. */
    assert_int_equal(in_min(&b, eta_of(&b, "b").p50_wall_ms), 10);
    assert_int_equal(in_min(&b, eta_of(&b, "b").p90_wall_ms), 120);
    b.now.mono_ms += 30 * MINUTE;
    b.now.wall_ms += 30 * MINUTE;
    left = in_min(&b, eta_of(&b, "b").p50_wall_ms);
    assert_true(left >= 45 && left <= 50); /* 110 min × ln 2 / ln 5 */
    bench_finish(&b);
}

static void a_declared_limit_caps(void **state)
{
    struct bench b;

    (void)state;
    one_gpu(&b);
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .gpus = 1, .limit_ms = 5 * MINUTE});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "b", .queue = "q", .gpus = 1});
    assert_int_equal(in_min(&b, eta_of(&b, "b").p50_wall_ms), 5);
    assert_int_equal(in_min(&b, eta_of(&b, "b").p90_wall_ms), 5);
    bench_finish(&b);
}

static void counts_on_preemption_and_begin_times(void **state)
{
    struct bench b;

    (void)state;
    one_gpu(&b);
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .gpus = 1, .p50_ms = HOUR});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "b",
                                  .queue = "q",
                                  .gpus = 1,
                                  .priority = 1,
                                  .begin_ms = b.now.wall_ms + 7 * MINUTE});
    assert_int_equal(eta_of(&b, "b").p50_wall_ms,
                     b.now.wall_ms + 7 * MINUTE + b.policy.stop_grace_ms);
    bench_finish(&b);
}

static void says_so_when_it_cannot_tell(void **state)
{
    struct bench b;

    (void)state;
    one_gpu(&b);
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .gpus = 1, .p50_ms = HOUR});
    tick_and_run(&b);
    add_job(&b, (struct job_spec){.name = "b", .queue = "q", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "held", .queue = "q", .gpus = 1, .held = true});
    add_job(&b, (struct job_spec){.name = "huge", .queue = "q", .gpus = 9});
    assert_int_equal(eta_of(&b, "held").p50_wall_ms, INT64_MAX);
    assert_int_equal(eta_of(&b, "huge").p90_wall_ms, INT64_MAX);
    assert_int_equal(eta_within(&b, "b",
                                (struct weir_eta_limits){.max_steps = 10, .horizon_ms = HOUR / 2})
                         .p50_wall_ms,
                     INT64_MAX);
    assert_int_equal(eta_within(&b, "b",
                                (struct weir_eta_limits){.max_steps = 1, .horizon_ms = 9 * HOUR})
                         .p50_wall_ms,
                     INT64_MAX);
    bench_finish(&b);
}

static void many_at_once_cost_no_more(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_eta etas[100];
    uint32_t rows[100];
    struct bench b;

    (void)state;
    bench_with_node(&b, 8);
    add_queue(&b, (struct queue_spec){.name = "q"});
    for (int i = 0; i < 100; i++) {
        char name[16];

        snprintf(name, sizeof(name), "j%d", i);
        rows[i] = add_job(
            &b, (struct job_spec){.name = name, .queue = "q", .gpus = 1, .p50_ms = 10 * MINUTE});
    }
    b.world = weir_edit_seal(b.edit);
    assert_int_equal(weir_eta(b.world, &b.policy, b.now, 1, &limits, rows, 100, &arena, etas, NULL),
                     0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(in_min(&b, etas[i].p50_wall_ms), i / 8 * 10);
    weir_arena_finish(&arena);
    bench_finish(&b);
}

/* The forecast ends what runs when its holder is said to end, and says where that is a guess. */
static void the_limit_of_the_queue_counts(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_eta eta;
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 1});
    add_queue(&b, (struct queue_spec){.name = "q", .run_limit_ms = MINUTE});
    add_job(&b, (struct job_spec){.name = "runs", .queue = "q", .gpus = 1});
    tick(&b);
    run_started(&b);
    add_job(&b, (struct job_spec){.name = "waits", .queue = "q", .gpus = 1});
    for (int has_limit = 1; has_limit >= 0; has_limit--) {
        uint32_t row = job_at(&b, "waits");

        if (!has_limit)
            weir_edit_queue(b.edit, weir_world_workload(b.world, row)->queue)->run_limit_ms =
                INT64_MAX;
        tick(&b);
        assert_int_equal(
            weir_eta(b.world, &b.policy, b.now, 1, &limits, &row, 1, &arena, &eta, NULL), 0);
        assert_int_equal(eta.p50_wall_ms - b.now.wall_ms,
                         has_limit ? MINUTE : b.policy.prior_p50_ms);
        assert_int_equal(eta.is_assumed, !has_limit);
    }
    weir_arena_finish(&arena);
    bench_finish(&b);
}

static void quantiles_of_what_is_left(void **state)
{
    struct weir_policy policy = weir_policy_default();
    struct weir_runtime known = {INT64_MAX, 100000, 300000};
    struct weir_runtime odd = {50, 100, 7};

    (void)state;
    assert_int_equal(weir_runtime_left(&policy, &known, 0, WEIR_QUANTILE_P50), 100000);
    assert_int_equal(weir_runtime_left(&policy, &known, 0, WEIR_QUANTILE_P90), 300000);
    /* From the median on the hazard is that of the tail. */
    assert_int_equal(weir_runtime_left(&policy, &known, 100000, WEIR_QUANTILE_P50), 86135);
    assert_int_equal(weir_runtime_left(&policy, &known, 900000, WEIR_QUANTILE_P50), 86135);
    assert_int_equal(weir_runtime_left(&policy, &odd, 0, WEIR_QUANTILE_P90), 50);
    assert_int_equal(weir_runtime_left(&policy, &odd, 1000, WEIR_QUANTILE_P50), 1);
    assert_int_equal(weir_runtime_left(&policy, &known, -5, WEIR_QUANTILE_P50), 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_those_before),
        cmocka_unit_test(knows_that_what_runs_still_runs),
        cmocka_unit_test(a_declared_limit_caps),
        cmocka_unit_test(counts_on_preemption_and_begin_times),
        cmocka_unit_test(says_so_when_it_cannot_tell),
        cmocka_unit_test(many_at_once_cost_no_more),
        cmocka_unit_test(the_limit_of_the_queue_counts),
        cmocka_unit_test(quantiles_of_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
