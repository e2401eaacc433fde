/* What becomes of jobs on GPUs that are suspect, unhealthy or lost. */
#include "base/count.h"
#include "heal_bench.h"

static uint32_t gpu_of(struct bench *b, const char *job, uint32_t member)
{
    const struct weir_world *world = weir_edit_view(b->edit);

    return weir_world_hold(world, task_of(b, job, member)->first_hold)->device;
}

static void set_health(struct bench *b, uint32_t gpu, enum weir_device_health health)
{
    weir_edit_device(b->edit, gpu)->health = health;
}

static void starts_on(struct bench *b, struct job_spec spec, uint32_t *ret_gpu)
{
    one_node(b);
    starts(b, spec);
    *ret_gpu = gpu_of(b, spec.name, 0);
}

/* A failure waits until it is known whose it was. */
static void is_not_settled_while_the_gpu_is_suspect(void **state)
{
    static const struct {
        enum weir_device_health then;
        uint32_t fault_retries;
        const char *state;
        enum weir_cause cause;
        uint32_t n_failures;
    } rows[] = {
        {WEIR_DEVICE_HEALTHY, 3, "F", WEIR_CAUSE_EXITED, 0},
        {WEIR_DEVICE_LOST, 3, "F", WEIR_CAUSE_EXITED, 0},
        {WEIR_DEVICE_UNHEALTHY, 3, "Q", WEIR_CAUSE_DEVICE_FAULT, 1},
        {WEIR_DEVICE_UNHEALTHY, 0, "F", WEIR_CAUSE_DEVICE_FAULT, 0},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        struct bench b;
        uint32_t gpu;

        starts_on(&b, (struct job_spec){.name = "j"}, &gpu);
        b.policy.fault_retries = rows[i].fault_retries;
        set_health(&b, gpu, WEIR_DEVICE_SUSPECT);
        end_task(&b, "j", 0, WEIR_END_EXITED, 1);
        for (int n = 0; n < 2; n++) {
            tick(&b);
            assert_int_equal(b.plan.n_actions, 0);
            assert_string_equal(states(&b, "j"), "R");
        }
        set_health(&b, gpu, rows[i].then);
        tick(&b);
        assert_string_equal(states(&b, "j"), rows[i].state);
        assert_int_equal(action_on(&b, "j", 0)->cause, rows[i].cause);
        assert_int_equal(task_of(&b, "j", 0)->n_failures, rows[i].n_failures);
        bench_finish(&b);
    }
}

/* The test of a GPU waits for others who use it, for as long as they do. */
static void is_waited_for_within_bounds(void **state)
{
    struct bench b;
    uint32_t gpu;

    (void)state;
    starts_on(&b, (struct job_spec){.name = "j"}, &gpu);
    set_health(&b, gpu, WEIR_DEVICE_SUSPECT);
    end_task(&b, "j", 0, WEIR_END_EXITED, 1);
    tick(&b);
    assert_string_equal(states(&b, "j"), "R");
    assert_int_equal(b.plan.wake_wall_ms, b.now.wall_ms + b.policy.verdict_ms);
    b.now.wall_ms += b.policy.verdict_ms - 1;
    tick(&b);
    assert_string_equal(states(&b, "j"), "R");
    b.now.wall_ms++;
    tick(&b);
    assert_string_equal(states(&b, "j"), "F");
    assert_int_equal(action_on(&b, "j", 0)->cause, WEIR_CAUSE_EXITED);
    bench_finish(&b);
}

static void is_settled_at_once_where_the_gpu_does_not_matter(void **state)
{
    static const enum weir_device_health healths[] = {WEIR_DEVICE_SUSPECT, WEIR_DEVICE_UNHEALTHY};
    static const struct {
        enum weir_end end;
        int32_t status;
        bool is_cancelled;
        const char *state;
    } rows[] = {
        {WEIR_END_EXITED, 0, false, "D"},
        {WEIR_END_TIME_LIMIT, 0, false, "F"},
        {WEIR_END_EXITED, 1, true, "C"},
        {WEIR_END_NOT_STARTED, 0, false, "Q"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(rows) * WEIR_COUNT_OF(healths); i++) {
        size_t row = i % WEIR_COUNT_OF(rows);
        struct bench b;
        uint32_t gpu;

        starts_on(&b, (struct job_spec){.name = "j"}, &gpu);
        set_health(&b, gpu, healths[i / WEIR_COUNT_OF(rows)]);
        end_task(&b, "j", 0, rows[row].end, rows[row].status);
        if (rows[row].is_cancelled)
            cancel(&b, "j");
        tick(&b);
        if (rows[row]
                .is_cancelled) /* one that failed as it was cancelled has failed, or is cancelled */
            assert_true(weir_task_state_is_final(task_of(&b, "j", 0)->state));
        else
            assert_string_equal(states(&b, "j"), rows[row].state);
        assert_int_equal(task_of(&b, "j", 0)->n_failures, 0);
        bench_finish(&b);
    }
}

/* It is asked to leave, and starts elsewhere; three times, then it fails. */
static void leaves_a_gpu_that_is_unhealthy(void **state)
{
    struct bench b;
    uint32_t gpu;
    uint32_t last = WEIR_NONE;

    (void)state;
    starts_on(&b, (struct job_spec){.name = "j"}, &gpu);
    for (uint32_t n = 1; n <= 4; n++) {
        gpu = gpu_of(&b, "j", 0);
        assert_int_not_equal(gpu, last);
        set_health(&b, gpu, WEIR_DEVICE_LOST);
        tick(&b); /* the driver may be away for a moment */
        assert_int_equal(b.plan.n_actions, 0);
        set_health(&b, gpu, WEIR_DEVICE_UNHEALTHY);
        tick(&b);
        assert_int_equal(action_on(&b, "j", 0)->kind, WEIR_ACTION_EVICT);
        assert_int_equal(action_on(&b, "j", 0)->cause, WEIR_CAUSE_DEVICE_FAULT);
        tick(&b);
        assert_int_equal(b.plan.n_actions, 0);
        end_task(&b, "j", 0, WEIR_END_STOPPED, 143);
        tick(&b);
        assert_int_equal(action_on(&b, "j", 0)->cause, WEIR_CAUSE_DEVICE_FAULT);
        assert_string_equal(states(&b, "j"), n <= 3 ? "Q" : "F");
        if (n > 3)
            break;
        assert_int_equal(task_of(&b, "j", 0)->n_failures, n);
        b.now.wall_ms = task_of(&b, "j", 0)->not_before_wall_ms;
        tick_and_run(&b);
        assert_string_equal(states(&b, "j"), "R");
        last = gpu;
    }
    bench_finish(&b);
}

/* The members of a gang have one fate, and one failure is counted. */
static void starts_the_gang_anew(void **state)
{
    struct bench b;
    uint32_t gpu;

    (void)state;
    starts_on(&b, (struct job_spec){.name = "g", .tasks = 2}, &gpu);
    set_health(&b, gpu, WEIR_DEVICE_UNHEALTHY);
    tick(&b);
    assert_int_equal(action_on(&b, "g", 0)->kind, WEIR_ACTION_EVICT);
    assert_int_equal(action_on(&b, "g", 0)->cause, WEIR_CAUSE_DEVICE_FAULT);
    assert_int_equal(action_on(&b, "g", 1)->kind, WEIR_ACTION_EVICT);
    assert_int_equal(action_on(&b, "g", 1)->cause, WEIR_CAUSE_GANG_BROKEN);
    for (uint32_t i = 0; i < 2; i++)
        end_task(&b, "g", i, WEIR_END_STOPPED, 143);
    tick(&b);
    assert_string_equal(states(&b, "g"), "QQ");
    assert_int_equal(weir_world_workload(weir_edit_view(b.edit), job_at(&b, "g"))->n_failures, 1);
    b.now.wall_ms += 2000;
    tick_and_run(&b);
    assert_string_equal(states(&b, "g"), "RR");
    assert_int_not_equal(gpu_of(&b, "g", 0), gpu);
    assert_int_not_equal(gpu_of(&b, "g", 1), gpu);
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_not_settled_while_the_gpu_is_suspect),
        cmocka_unit_test(is_waited_for_within_bounds),
        cmocka_unit_test(is_settled_at_once_where_the_gpu_does_not_matter),
        cmocka_unit_test(leaves_a_gpu_that_is_unhealthy),
        cmocka_unit_test(starts_the_gang_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
