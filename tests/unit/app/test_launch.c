/* What a job is started with, and what can never be started. */
#include "plane.h"

/* A start that can never be made is an end; any other is tried again. */
static void fails_what_can_never_be_launched(void **state)
{
    static const int for_good[] = {WEIR_E_INVALID, WEIR_E_TOO_LARGE};
    const struct weir_world *world;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(for_good); i++) {
        plane->launch_result = for_good[i];
        assert_int_equal(submit(""), 0);
        for (int n = 0; n < 3; n++) {
            tick();
            plane->now.mono_ms += 60 * 1000;
            plane->now.wall_ms += 60 * 1000;
        }
        world = plane->server.world;
        assert_int_equal(weir_world_first(world, WEIR_TABLE_WORKLOADS), WEIR_NONE);
        assert_int_equal(plane->n_attempts, i + 1);
    }
    plane->launch_result = WEIR_E_UNAVAILABLE;
    assert_int_equal(submit(""), 0);
    tick();
    plane->launch_result = 0;
    for (int n = 0; n < 3; n++) {
        plane->now.mono_ms += 60 * 1000;
        plane->now.wall_ms += 60 * 1000;
        tick();
    }
    assert_true(plane->attempts[4].is_launched);
}

/* --grace is between SIGTERM and SIGKILL, or before them where there is a checkpoint to be made. */
static void gives_the_grace_that_was_asked_for(void **state)
{
    static const struct {
        const char *spec;
        int64_t stop_ms;
        int64_t checkpoint_ms;
    } cases[] = {
        {"", 10000, 0},
        {",\"grace\":\"3s\"", 3000, 0},
        {",\"grace\":\"0s\"", 1, 0},
        {",\"grace\":\"3s\",\"checkpointSignal\":\"USR1\"", 10000, 3000},
        {",\"checkpointSignal\":\"USR1\"", 10000, 10000},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        const struct weir_world *world;

        assert_int_equal(submit(weir_arena_printf(&plane->arena, ",\"gpus\":0%s", cases[i].spec)),
                         0);
        tick();
        assert_int_equal(plane->n_attempts, i + 1);
        assert_int_equal(plane->stop_grace_ms, cases[i].stop_ms);
        world = plane->server.world;
        assert_int_equal(weir_world_workload(world, weir_world_first(world, WEIR_TABLE_WORKLOADS))
                             ->checkpoint_grace_ms,
                         cases[i].checkpoint_ms);
        sees(i + 1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 0);
        weir_server_look(&plane->server, false);
        tick();
    }
}

static size_t n_env(const char *start)
{
    size_t n = 0;

    for (size_t i = 0; i < plane->n_env; i++)
        n += strncmp(plane->env[i], start, strlen(start)) == 0;
    return n;
}

/* A job may be submitted from within another. */
static void leaves_out_what_another_job_was_told(void **state)
{
    static const char *const stale[] = {
        "WEIR_JOB_ID",      "WEIR_JOB_NAME",     "WEIR_QUEUE",           "WEIR_NODE",
        "WEIR_JOB_ATTEMPT", "WEIR_ARRAY_INDEX",  "WEIR_ARRAY_SIZE",      "WEIR_ATTEMPT",
        "WEIR_MEMBERS",     "WEIR_MEMBER_INDEX", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    };
    static const char *const unset[] = {"WEIR_ARRAY_INDEX=", "WEIR_ARRAY_SIZE=", "WEIR_MEMBERS=",
                                        "WEIR_MEMBER_INDEX="};
    struct weir_buf spec = WEIR_BUF_INIT(4096);

    (void)state;
    weir_buf_puts(&spec, ",\"env\":{\"WEIR_DATA\":\"/d\",\"CUDA_CACHE_PATH\":\"/c\"");
    for (size_t i = 0; i < WEIR_COUNT_OF(stale); i++)
        weir_buf_printf(&spec, ",\"%s\":\"stale\"", stale[i]);
    weir_buf_puts(&spec, "}");
    assert_int_equal(submit(weir_buf_cstr(&spec)), 0);
    tick();
    assert_true(plane->attempts[1].is_launched);
    assert_int_equal(n_env("WEIR_DATA=/d"), 1);
    assert_int_equal(n_env("CUDA_CACHE_PATH=/c"), 1);
    assert_int_equal(n_env("CUDA_VISIBLE_DEVICES=GPU-"), 1);
    assert_int_equal(n_env("WEIR_JOB_ID=1"), 1);
    for (size_t i = 0; i < WEIR_COUNT_OF(unset); i++)
        assert_int_equal(n_env(unset[i]), 0);
    for (size_t i = 0; i < plane->n_env; i++)
        assert_null(strstr(plane->env[i], "=stale"));
    weir_buf_finish(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANE_TEST(gives_the_grace_that_was_asked_for),
        PLANE_TEST(fails_what_can_never_be_launched),
        PLANE_TEST(leaves_out_what_another_job_was_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
