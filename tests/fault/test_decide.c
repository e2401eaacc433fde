/* Memory runs out at every point: of the arena by its maximum, of the heap by the n-th allocation.
 */
#include "../unit/core/random_world.h"

#include "base/mem.h"
#include "core/admit.h"
#include "core/sim/eta.h"

enum { WORLDS = 12 };

static void busy_world(struct bench *b, uint64_t seed)
{
    struct random_world w;

    random_world(&w, seed);
    build(b, &w, 0);
    tick(b);
    run_started(b);
    /* Half of what runs ends one way or another, so that healing has something to do. */
    for (uint32_t at = weir_world_first(weir_edit_view(b->edit), WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(weir_edit_view(b->edit), WEIR_TABLE_TASKS, at))
        if (weir_world_task(weir_edit_view(b->edit), at)->state == WEIR_TASK_RUNNING &&
            one_in(&w.rng, 2)) {
            weir_edit_task(b->edit, at)->ended = WEIR_END_EXITED;
            weir_edit_task(b->edit, at)->exit_status = pick(&w.rng, 2);
        }
    /* And others have become more urgent, so that some are asked to leave. */
    for (int i = 0; i < w.n_jobs; i++)
        weir_edit_workload(b->edit, job_at(b, w.jobs[i].name))->priority = pick(&w.rng, 6);
    decide(b);
}

static uint32_t count_evictions(const struct bench *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        n += b->plan.actions[i].for_whom != WEIR_NONE;
    return n;
}

static void an_arena_of_any_size(void **state)
{
    uint32_t n_evictions = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        uint8_t whole[16];
        size_t max = 1;
        int r = -1;
        struct bench b;

        busy_world(&b, seed);
        weir_plan_digest(&b.plan, whole);
        n_evictions += count_evictions(&b);
        while (r < 0) {
            struct weir_plan plan = {.n_actions = 77};
            struct weir_err err = WEIR_ERR_INIT;
            struct weir_arena arena;
            uint8_t digest[16];

            weir_arena_init(&arena, max);
            r = weir_decide(b.world, &b.policy, b.now, 1, NULL, &arena, &plan, &err);
            if (r < 0) {
                assert_int_equal(r, WEIR_E_NO_MEMORY);
                assert_int_equal(err.code, WEIR_E_NO_MEMORY);
                assert_int_equal(plan.n_actions, 77);
            } else {
                weir_plan_digest(&plan, digest);
                assert_memory_equal(digest, whole, sizeof(whole));
            }
            weir_arena_finish(&arena);
            max += 1 + max / 97;
            assert_true(max < 1u << 26);
        }
        bench_finish(&b);
    }
    assert_true(n_evictions > 0);
}

/* Runs it with the n-th allocation failing, for every n, until it succeeds. */
static void fail_each(struct bench *b, int (*work)(struct bench *b))
{
    for (uint64_t n = 0;; n++) {
        int r;

        weir_mem_fail(n, 1);
        r = work(b);
        weir_mem_fail(0, 0);
        if (r == 0) {
            assert_true(n > 0);
            return;
        }
        assert_int_equal(r, WEIR_E_NO_MEMORY);
        assert_true(n < 100000);
    }
}

static int decide_once(struct bench *b)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_plan plan;
    int r = weir_decide(b->world, &b->policy, b->now, 1, NULL, &arena, &plan, NULL);

    weir_arena_finish(&arena);
    return r;
}

static int apply_once(struct bench *b)
{
    struct weir_edit *edit = weir_edit_fork(b->world);
    int r = WEIR_E_NO_MEMORY;

    if (edit != NULL)
        r = weir_plan_apply(&b->plan, b->now, edit, NULL);
    weir_edit_destroy(edit);
    return r;
}

static int estimate_once(struct bench *b)
{
    static const struct weir_eta_limits limits = {.max_steps = 20, .horizon_ms = INT64_MAX / 4};
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_eta eta;
    uint32_t row = weir_world_first(b->world, WEIR_TABLE_WORKLOADS);
    int r = weir_eta(b->world, &b->policy, b->now, 1, &limits, &row, 1, &arena, &eta, NULL);

    weir_arena_finish(&arena);
    return r;
}

static int admit_into(struct bench *b, uint32_t queue)
{
    struct weir_arena scratch = WEIR_ARENA_INIT;
    struct weir_refusal refusal;
    struct weir_workload job = *weir_world_workload(b->world, 0);
    struct weir_role roles[2];
    struct weir_shape shapes[2];
    struct weir_ask ask = {&job, roles, shapes, 0};
    int r;

    job.queue = queue;
    for (uint32_t at = job.first_role; at != WEIR_NONE;) {
        roles[ask.n_roles] = *weir_world_role(b->world, at);
        shapes[ask.n_roles] = *weir_world_shape(b->world, roles[ask.n_roles].shape);
        at = roles[ask.n_roles++].next_in_workload;
    }
    r = weir_admit(b->world, &b->policy, &ask, &scratch, &refusal, NULL);
    weir_arena_finish(&scratch);
    return r == WEIR_E_IMPOSSIBLE ? 0 : r;
}

static uint32_t queue_of_first(const struct bench *b)
{
    return weir_world_workload(b->world, 0)->queue;
}

static int admit_once(struct bench *b)
{
    return admit_into(b, queue_of_first(b));
}

static int admit_above(struct bench *b)
{
    return admit_into(b, weir_world_queue(b->world, queue_of_first(b))->parent);
}

static void an_allocation_that_fails(void **state)
{
    int n_above = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct bench b;

        busy_world(&b, seed);
        fail_each(&b, decide_once);
        if (b.plan.n_actions > 0)
            fail_each(&b, apply_once);
        fail_each(&b, estimate_once);
        fail_each(&b, admit_once);
        if (weir_world_queue(b.world, queue_of_first(&b))->parent != WEIR_NONE) {
            fail_each(&b, admit_above);
            n_above++;
        }
        bench_finish(&b);
    }
    assert_true(n_above > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_of_any_size),
        cmocka_unit_test(an_allocation_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
