/* Instances on a server with a store: they come and go with the driver, and what is asked of it is
 * neither lost nor done twice. */
#include "mig_rig.h"

#define JOB(profile) "{\"command\":[\"a\"],\"mig\":\"" profile "\"}"

static void what_is_there_is_given_out(void **state)
{
    (void)state;
    mig.at[2].profile = PROFILE_1G;
    mig_look();
    assert_string_equal(mig_rows(), "1g.10gb@2:there");
    mig_submit(JOB("1g.10gb"));
    assert_string_equal(app_rig_attempt(&rig, 1, 0)->devices, "MIG-2");
    assert_int_equal(mig.n_requests, 0);
    assert_int_equal(mig_gpu()->slots_used, 1 << 2);
    assert_int_equal(mig_gpu()->slots, 0xff);
}

static void what_is_not_there_is_made(void **state)
{
    (void)state;
    mig_submit(JOB("3g.40gb"));
    assert_int_equal(mig.n_requests, 1);
    assert_int_equal(mig.requests[0].action, WEIR_GPU_MIG_CREATE);
    assert_int_equal(mig.requests[0].profile_id, PROFILE_3G);
    assert_int_equal(mig.requests[0].size, 4);
    mig_look();
    assert_int_equal(mig.n_requests, 1); /* it is under way */
    assert_null(app_rig_attempt(&rig, 1, 0));
    mig_answer(1, 0);
    mig_look();
    assert_non_null(app_rig_attempt(&rig, 1, 0));
    assert_int_equal(mig.n_requests, 1);
    assert_non_null(
        strstr(app_rig_events(&rig, "gpu/GPU-0"), "gpu.reshaped:demanded:>made 3g.40gb"));
    assert_int_equal(rig.server.reshapes.n, 0);
}

static void a_failure_waits_and_doubles(void **state)
{
    int64_t wait_ms = 5000;

    (void)state;
    mig_submit(JOB("3g.40gb"));
    for (uint32_t turn = 1; turn <= 9; turn++) {
        mig_answer(turn, WEIR_E_UNAVAILABLE);
        mig_look();
        assert_string_equal(mig_rows(), "");
        assert_int_equal(mig_gpu()->change_not_before_wall_ms, rig.now.wall_ms + wait_ms);
        app_rig_pass(&rig, wait_ms - 1);
        mig_look();
        assert_int_equal(mig.n_requests, turn);
        app_rig_pass(&rig, 1);
        mig_look();
        assert_int_equal(mig.n_requests, turn + 1);
        wait_ms = wait_ms < 300000 ? wait_ms * 2 : 600000;
    }
    assert_non_null(
        strstr(app_rig_events(&rig, "gpu/GPU-0"), "gpu.reshape-failed:it is in use:>make 3g"));
    mig_answer(10, 0);
    mig_look();
    assert_int_equal(mig_gpu()->change_cause, WEIR_NONE);
    assert_int_equal(mig_gpu()->change_not_before_wall_ms, 0);
    assert_non_null(app_rig_attempt(&rig, 1, 0));
}

static void what_cannot_be_asked_has_failed(void **state)
{
    (void)state;
    mig.refuses = WEIR_E_UNAVAILABLE;
    mig_submit(JOB("1g.10gb"));
    assert_string_equal(mig_rows(), "");
    assert_true(mig_gpu()->change_not_before_wall_ms > rig.now.wall_ms);
    mig.refuses = 0;
    app_rig_pass(&rig, 5000);
    mig_look();
    mig_answer(1, 0);
    mig_look();
    assert_non_null(app_rig_attempt(&rig, 1, 0));
}

/* Those in the way go first, and what is held is not among them. */
static void idle_ones_give_way(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++)
        mig.at[i].profile = PROFILE_1G;
    mig_look();
    mig_submit(JOB("1g.10gb"));
    mig_submit(JOB("3g.40gb"));
    assert_in_range(mig.n_requests, 3, 4);
    for (uint32_t i = mig.n_requests; i > 0; i--) {
        assert_int_equal(mig.requests[i - 1].action, WEIR_GPU_MIG_DESTROY);
        mig_answer(i, 0);
    }
    mig_look();
    mig_answer(mig.n_requests, 0);
    mig_look();
    assert_non_null(app_rig_attempt(&rig, 2, 0));
    assert_non_null(strstr(mig_rows(), "3g.40gb"));
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->n_stops, 0);
}

/* A destruction that fails leaves the instance to who comes. */
static void what_cannot_be_destroyed_stays(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++)
        mig.at[i].profile = PROFILE_1G;
    mig_look();
    mig_submit(JOB("3g.40gb"));
    for (uint32_t i = mig.n_requests; i > 0; i--)
        mig_answer(i, WEIR_E_UNAVAILABLE);
    mig_look();
    assert_null(strstr(mig_rows(), "unmaking"));
    assert_int_equal(mig_gpu()->slots_used, 0x7f);
}

static void a_crash_in_the_middle_makes_nothing_twice(void **state)
{
    (void)state;
    mig_submit(JOB("3g.40gb"));
    assert_int_equal(mig.n_requests, 1);
    mig_answer(1, 0); /* it is done, and nobody is there to hear of it */
    app_rig_crash(&rig);
    mig_look();
    assert_int_equal(mig.n_requests, 1);
    assert_non_null(app_rig_attempt(&rig, 1, 0));
}

/* The store fails a tick: the state is built anew, and the driver is still at it. */
static void a_state_that_is_built_anew_knows_what_is_under_way(void **state)
{
    (void)state;
    mig_submit(JOB("3g.40gb"));
    assert_non_null(strstr(mig_rows(), "3g.40gb@"));
    assert_int_equal(weir_server_load(&rig.server, NULL), 0);
    assert_non_null(strstr(mig_rows(), ":making"));
    mig_look();
    assert_int_equal(mig.n_requests, 1);
    mig_answer(1, 0);
    mig_look();
    assert_non_null(app_rig_attempt(&rig, 1, 0));
    assert_int_equal(mig.n_requests, 1);
}

static void what_vanishes_is_lost_until_it_is_let_go(void **state)
{
    (void)state;
    mig.at[1].profile = PROFILE_1G;
    mig.at[4].profile = PROFILE_3G;
    mig_look();
    mig_submit(JOB("3g.40gb"));
    mig.at[1].profile = 0;
    mig.at[4].profile = 0;
    mig_look();
    assert_string_equal(mig_rows(), "3g.40gb@4:lost");
    app_rig_end(&rig, app_rig_attempt(&rig, 1, 0), WEIR_END_EXITED, 0);
    mig_tick();
    mig_look();
    assert_string_equal(mig_rows(), "");
    assert_int_equal(mig_gpu()->slots_used, 0);
}

/* At the start the driver shows no instances yet: the job's is known by its name, and found. */
static void a_held_instance_is_found_again(void **state)
{
    (void)state;
    mig.at[0].profile = PROFILE_1G;
    mig_look();
    mig_submit(JOB("1g.10gb"));
    mig.hides_instances = true;
    app_rig_crash(&rig);
    mig_look();
    assert_string_equal(mig_rows(), ""); /* it has no place */
    mig.hides_instances = false;
    mig_look();
    assert_string_equal(mig_rows(), "1g.10gb@0:there");
    assert_int_equal(mig_gpu()->slots_used, 1);
    mig_submit(JOB("1g.10gb"));
    assert_int_equal(mig.n_requests, 1); /* the one that is there is held */
}

static void half_of_one_serves_nobody_and_goes(void **state)
{
    (void)state;
    mig.at[0] = (struct mig_instance){PROFILE_3G, true};
    mig_look();
    assert_string_equal(mig_rows(), "3g.40gb@0:unmaking");
    assert_int_equal(mig_gpu()->slots_used, 0x0f);
    app_rig_pass(&rig, 29999);
    mig_look();
    assert_int_equal(mig.n_requests, 0);
    app_rig_pass(&rig, 1);
    mig_look();
    assert_int_equal(mig.n_requests, 1);
    assert_int_equal(mig.requests[0].gpu_instance, 1);
    mig_look();
    assert_int_equal(mig.n_requests, 1);
    mig_answer(1, 0);
    mig_look();
    assert_string_equal(mig_rows(), "");
}

/* Somebody makes the other half. */
static void half_of_one_may_become_whole(void **state)
{
    (void)state;
    mig.at[0] = (struct mig_instance){PROFILE_3G, true};
    mig_look();
    mig.at[0].is_half = false;
    mig_look();
    assert_string_equal(mig_rows(), "3g.40gb@0:there");
}

static void orphans_go_where_that_is_said(void **state)
{
    (void)state;
    mig.at[0].profile = PROFILE_1G;
    mig.at[1].profile = PROFILE_1G;
    mig_look();
    mig_submit(JOB("1g.10gb"));
    app_rig_crash(&rig);
    weir_server_remove_orphans(&rig.server);
    mig_tick();
    assert_int_equal(mig.n_requests, 1);
    mig_answer(1, 0);
    mig_look();
    assert_null(strstr(mig_rows(), " ")); /* the one that is held */
    assert_non_null(strstr(mig_rows(), ":there"));
}

static void a_gpu_is_out_of_use_with_its_instances(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    mig.at[0].profile = PROFILE_1G;
    mig_look();
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_DEVICE,
                                           WEIR_STR("GPU-0"), WEIR_NODE_CORDONED, false,
                                           app_done(&rig), &err),
                     0);
    mig_submit(JOB("1g.10gb"));
    assert_null(app_rig_attempt(&rig, 1, 0));
    assert_int_equal(mig.n_requests, 0);
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_DEVICE,
                                           WEIR_STR("GPU-0"), WEIR_NODE_READY, false,
                                           app_done(&rig), &err),
                     0);
    mig_tick();
    assert_non_null(app_rig_attempt(&rig, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIG_TEST(what_is_there_is_given_out),
        MIG_TEST(what_is_not_there_is_made),
        MIG_TEST(a_failure_waits_and_doubles),
        MIG_TEST(what_cannot_be_asked_has_failed),
        MIG_TEST(idle_ones_give_way),
        MIG_TEST(what_cannot_be_destroyed_stays),
        MIG_TEST(a_crash_in_the_middle_makes_nothing_twice),
        MIG_TEST(a_state_that_is_built_anew_knows_what_is_under_way),
        MIG_TEST(what_vanishes_is_lost_until_it_is_let_go),
        MIG_TEST(a_held_instance_is_found_again),
        MIG_TEST(half_of_one_serves_nobody_and_goes),
        MIG_TEST(half_of_one_may_become_whole),
        MIG_TEST(orphans_go_where_that_is_said),
        MIG_TEST(a_gpu_is_out_of_use_with_its_instances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
