/* What a simulated driver is told of jobs. */
#include "plane.h"

#include "base/units.h"
#include "edge/nvml/sim_model.h"

static void takes_processes_off_devices_after_a_reload(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(submit(",\"gpus\":2"), 0);
    tick();
    sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
    weir_server_look(&plane->server, false);
    assert_int_equal(plane->pids[0], 42);
    assert_int_equal(plane->pids[1], 42);
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    sees(1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 42);
    tick();
    assert_int_equal(plane->pids[0], 0);
    assert_int_equal(plane->pids[1], 0);
}

static void tells_devices_what_a_job_is(void **state)
{
    const struct weir_gpu_occupant *first = &plane->occupants[0];
    const struct weir_gpu_occupant *second = &plane->occupants[1];
    struct weir_gpu_occupant before;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(submit(",\"gpus\":2,\"class\":\"service\",\"gpuMemory\":\"20Gi\","
                            "\"simProfile\":\"saw-tooth\",\"retries\":1"),
                     0);
    tick();
    plane->now.mono_ms += 500;
    sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
    weir_server_look(&plane->server, false);
    assert_int_equal(first->pid, 42);
    assert_int_equal(first->class, WEIR_CLASS_SERVICE);
    assert_true(weir_str_eq_c(first->profile, "saw-tooth"));
    assert_int_equal(first->memory_bytes, 20 * WEIR_GIB);
    assert_int_equal(first->began_ms, 1000);
    assert_int_not_equal(first->seed, second->seed);
    before = *second;
    /* Taken over by another server it is the same, */
    memset(plane->occupants, 0, sizeof(plane->occupants));
    plane->now.mono_ms += 500;
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    tick();
    assert_int_equal(second->began_ms, before.began_ms);
    assert_int_equal(second->seed, before.seed);
    assert_true(weir_str_eq_c(second->profile, "saw-tooth"));
    /* and run again it looks the same. */
    sees(1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 42);
    plane->attempts[1].facts.exit_status = 1;
    weir_server_look(&plane->server, false);
    tick();
    plane->now.wall_ms += 60000;
    plane->now.mono_ms += 60000;
    tick();
    sees(2, WEIR_SEEN_RUNNING, WEIR_END_NOT, 43);
    weir_server_look(&plane->server, false);
    assert_int_equal(second->pid, 43);
    assert_int_equal(second->seed, before.seed);
    assert_int_equal(second->began_ms, plane->now.mono_ms);
}

static void a_job_that_says_nothing_does_as_its_class(void **state)
{
    uint64_t seed;

    (void)state;
    assert_int_equal(submit(",\"array\":2"), 0);
    tick();
    sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
    sees(2, WEIR_SEEN_RUNNING, WEIR_END_NOT, 43);
    weir_server_look(&plane->server, false);
    assert_int_equal(plane->occupants[0].profile.len, 0);
    assert_int_equal(plane->occupants[0].class, WEIR_CLASS_BATCH);
    assert_int_equal(plane->occupants[0].memory_bytes, 0);
    seed = plane->occupants[0].seed;
    assert_int_not_equal(plane->occupants[1].seed, seed);
}

static void every_profile_can_be_asked_for(void **state)
{
    const struct weir_tree *names = weir_tree_path(weir_schema_of(WEIR_KIND_WORKLOAD),
                                                   "properties.spec.properties.simProfile.enum");
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t profile;

    (void)state;
    assert_non_null(names);
    assert_int_equal(names->n_children, WEIR_SIM_PROFILE_MAX);
    weir_tree_foreach (name, names) {
        assert_true(weir_sim_profile_from_name(name->text.ptr, name->text.len, &profile));
    }
    assert_int_equal(
        submit_as(&admin, "\"command\":[\"true\"],\"cwd\":\"/\",\"simProfile\":\"stedy\"", &err),
        WEIR_E_INVALID);
    assert_string_equal(err.field, "spec.simProfile");
    assert_string_equal(err.hint, "did you mean 'steady'?");
}

static int order(const struct weir_actor *actor, const char *faults, struct weir_err *err)
{
    return plane->service.befall(&plane->server, actor, weir_str(faults),
                                 (struct weir_done){on_done, NULL}, err);
}

static int count_fault(void *arg, const struct weir_event_record *event)
{
    int *n = arg;

    if (weir_str_eq_c(event->kind, "sim.fault")) {
        assert_true(weir_str_eq_c(event->actor, "user:root"));
        assert_true(weir_str_starts_with(event->after, WEIR_STR("gpu ")));
        ++*n;
    }
    return 0;
}

static int n_events(void)
{
    const struct weir_event_filter filter = {.until = INT64_MAX, .limit = 1000};
    struct weir_store *store = &plane->server.store;
    int n = 0;

    assert_int_equal(store->each_event(store->ctx, &filter, count_fault, &n, NULL), 0);
    return n;
}

static void faults_are_for_admins_and_written_down(void **state)
{
    struct weir_actor other = {WEIR_STR("ann"), 7, 7, WEIR_ROLE_SUBMIT};
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(order(&other, "gpu 0 lost\n", &err), WEIR_E_DENIED);
    assert_int_equal(order(&admin, "gpu 0 lost\ngpu 0 wrong\n", &err), WEIR_E_INVALID);
    assert_int_equal(plane->n_befallen, 0);
    assert_int_equal(order(&admin, "gpu 0 lost\n\n gpu 1 xid 31\n", &err), 0);
    assert_int_equal(plane->n_befallen, 1);
    assert_int_equal(plane->n_answers, 0);
    tick();
    assert_int_equal(plane->n_answers, 1);
    assert_int_equal(plane->answer, 0);
    assert_int_equal(n_events(), 2);
    /* What could not be carried out is not written down. */
    plane->befall_result = WEIR_E_NO_SPACE;
    assert_int_equal(order(&admin, "gpu 0 lost\n", &err), WEIR_E_NO_SPACE);
    assert_int_equal(weir_server_tick(&plane->server, &err), WEIR_E_NO_SPACE);
    tick();
    assert_int_equal(plane->n_answers, 1);
    assert_int_equal(n_events(), 2);
    plane->server.gpu.befall = NULL;
    assert_int_equal(order(&admin, "gpu 0 lost\n", &err), WEIR_E_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANE_TEST(takes_processes_off_devices_after_a_reload),
        PLANE_TEST(tells_devices_what_a_job_is),
        PLANE_TEST(a_job_that_says_nothing_does_as_its_class),
        PLANE_TEST(every_profile_can_be_asked_for),
        PLANE_TEST(faults_are_for_admins_and_written_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
