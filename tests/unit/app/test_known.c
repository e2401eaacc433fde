/* GPUs that a driver does not show: they are known all the same. */
#include "../support.h"

#include "app/known.h"
#include "app_rig.h"

static struct app_rig rig;

static int set_up(void **state)
{
    (void)state;
    app_rig_init(&rig);
    return app_rig_tick(&rig); /* what was seen is stored */
}

static int tear_down(void **state)
{
    (void)state;
    app_rig_finish(&rig);
    return 0;
}

static void tick(void)
{
    assert_int_equal(app_rig_tick(&rig), 0);
}

static uint64_t submit(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_submit(&rig, spec, "", &err) < 0)
        fail_msg("%s", err.text);
    tick();
    return rig.answers[rig.n_answers - 1].outcome;
}

static const struct weir_device *device(const char *uuid)
{
    const struct weir_world *world = weir_edit_view(rig.server.edit);
    uint32_t index = weir_edit_find_device(rig.server.edit, weir_str(uuid));

    return index != WEIR_NONE ? weir_world_device(world, index) : NULL;
}

static const char *cause(const char *uuid)
{
    return weir_world_string(weir_edit_view(rig.server.edit), device(uuid)->health_cause).ptr;
}

static void observe(void)
{
    weir_server_look(&rig.server, true);
    tick();
}

static void the_gpus_of_a_silent_driver_are_lost_and_known(void **state)
{
    uint64_t number = submit("{\"command\":[\"x\"],\"gpus\":1}");
    struct weir_device whole = *device("GPU-1");
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    app_rig_begin_all(&rig);
    tick();
    rig.list_result = WEIR_E_UNAVAILABLE;
    app_rig_crash(&rig);
    tick();
    for (uint32_t i = 0; i < RIG_GPUS; i++) {
        const char *const uuids[] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};

        assert_int_equal(device(uuids[i])->health, WEIR_DEVICE_LOST);
        assert_int_equal(device(uuids[i])->index, i);
        assert_int_equal(device(uuids[i])->memory_bytes, whole.memory_bytes);
        assert_int_equal(device(uuids[i])->max_sharers, whole.max_sharers);
    }
    assert_string_equal(cause("GPU-1"), "the driver does not answer");
    assert_non_null(strstr(app_rig_record(&rig, number), "running"));
    /* What fits when they are back is accepted. */
    assert_int_equal(app_rig_submit(&rig, "{\"command\":[\"y\"],\"gpus\":4}", "", &err), 0);
    tick();
    rig.list_result = 0;
    observe();
    assert_int_equal(device("GPU-1")->health, WEIR_DEVICE_SUSPECT);
    app_rig_test_gpus(&rig);
    assert_int_equal(device("GPU-1")->health, WEIR_DEVICE_HEALTHY);
}

/* A new driver counts the others without it, and a changed mode leaves another size. */
static void a_gpu_that_is_gone_gives_its_number_up(void **state)
{
    (void)state;
    rig.gpu_is_absent[1] = true;
    rig.gpus_count_on = true;
    observe();
    assert_int_equal(device("GPU-2")->index, 1);
    assert_int_equal(device("GPU-1")->index, WEIR_NONE);
    app_rig_crash(&rig);
    tick();
    assert_int_equal(device("GPU-0")->index, 0);
    assert_int_equal(device("GPU-1")->index, WEIR_NONE);
    assert_int_equal(device("GPU-1")->health, WEIR_DEVICE_LOST);
    rig.gpu_is_absent[1] = false;
    observe();
    assert_int_equal(device("GPU-1")->index, 1);
    assert_int_equal(device("GPU-2")->index, 2);
}

/* Facts that could not be read at first are read when they can be. */
static void what_a_gpu_did_not_tell_at_first_counts_later(void **state)
{
    (void)state;
    rig.gpu_hides_memory = true;
    app_rig_crash(&rig);
    tick();
    assert_int_equal(device("GPU-0")->memory_bytes, RIG_GPU_BYTES); /* it is known */
    rig.gpu_hides_memory = false;
    tick();
    assert_int_equal(rig.server.store.begin(rig.server.store.ctx, NULL), 0);
    for (uint32_t i = 0; i < RIG_GPUS; i++) {
        char key[16];

        snprintf(key, sizeof(key), "GPU-%u", i);
        assert_int_equal(rig.server.store.delete_gpu(rig.server.store.ctx, weir_str(key), NULL), 0);
    }
    assert_int_equal(rig.server.store.commit(rig.server.store.ctx, true, NULL), 0);
    rig.gpu_hides_memory = true;
    app_rig_crash(&rig);
    tick();
    assert_int_equal(device("GPU-0")->memory_bytes, 0);
    rig.gpu_hides_memory = false;
    observe();
    assert_int_equal(device("GPU-0")->memory_bytes, RIG_GPU_BYTES);
}

/* Why it does not answer may change while it does not. */
static void another_cause_is_shown(void **state)
{
    (void)state;
    rig.gpu_hangs[2] = true;
    observe();
    assert_int_equal(device("GPU-2")->health, WEIR_DEVICE_LOST);
    rig.gpu_hangs[2] = false;
    rig.gpu_is_absent[2] = true;
    observe();
    assert_int_equal(device("GPU-2")->health, WEIR_DEVICE_LOST);
    assert_string_equal(cause("GPU-2"), "the driver does not list it");
}

static int delete_gpu(const struct weir_actor *actor, const char *uuid, struct weir_err *err)
{
    return rig.service.delete_gpu(rig.service.ctx, actor, weir_str(uuid), app_done(&rig), err);
}

static int64_t n_gpus(void)
{
    const struct weir_world *world = weir_edit_view(rig.server.edit);

    return weir_world_node(world, weir_edit_find_node(rig.server.edit, WEIR_STR("alpha")))
               ->capacity.of[WEIR_RES_GPU] /
           1000;
}

static void a_gpu_that_is_gone_for_good_is_deleted(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t number = submit("{\"command\":[\"x\"],\"gpus\":1}");

    (void)state;
    app_rig_begin_all(&rig);
    tick();
    assert_int_equal(delete_gpu(&app_root, "GPU-9", &err), WEIR_E_NOT_FOUND);
    assert_int_equal(delete_gpu(&app_ana, "GPU-3", &err), WEIR_E_DENIED);
    assert_int_equal(delete_gpu(&app_root, "GPU-3", &err), WEIR_E_EXISTS);
    assert_non_null(strstr(err.text, "the driver shows it"));
    rig.gpu_is_absent[0] = true;
    rig.gpu_is_absent[3] = true;
    observe();
    assert_int_equal(delete_gpu(&app_root, "GPU-0", &err), WEIR_E_EXISTS);
    assert_non_null(strstr(err.text, "held by workload 1"));
    assert_int_equal(delete_gpu(&app_root, "GPU-3", &err), 0);
    tick();
    assert_int_equal(rig.answers[rig.n_answers - 1].result, 0);
    assert_null(device("GPU-3"));
    assert_int_equal(n_gpus(), RIG_GPUS - 1);
    assert_non_null(strstr(app_rig_events(&rig, "gpu/GPU-3"), "gpu.deleted"));
    app_rig_crash(&rig);
    tick();
    assert_null(device("GPU-3"));
    assert_int_equal(device("GPU-0")->health, WEIR_DEVICE_LOST);
    assert_int_equal(n_gpus(), RIG_GPUS - 1);
    assert_non_null(strstr(app_rig_record(&rig, number), "running"));
    /* It was not gone after all. */
    rig.gpu_is_absent[3] = false;
    observe();
    assert_int_equal(n_gpus(), RIG_GPUS);
    assert_non_null(device("GPU-3"));
}

/* A write that fails takes nothing away. */
static void deleting_is_all_or_nothing(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r = -1;

    (void)state;
    rig.gpu_is_absent[3] = true;
    observe();
    for (int64_t n = 0; r != 0; n++) {
        rig.n_writes = 0;
        rig.fail_at = n;
        r = delete_gpu(&app_root, "GPU-3", &err);
        if (app_rig_tick(&rig) < 0)
            r = -1;
        rig.fail_at = -1;
        tick();
        assert_true(r == 0 || device("GPU-3") != NULL);
        assert_int_equal(n_gpus(), r == 0 ? RIG_GPUS - 1 : RIG_GPUS);
        assert_true(n < 100);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_gpus_of_a_silent_driver_are_lost_and_known),
        TEST(a_gpu_that_is_gone_gives_its_number_up),
        TEST(what_a_gpu_did_not_tell_at_first_counts_later),
        TEST(another_cause_is_shown),
        TEST(a_gpu_that_is_gone_for_good_is_deleted),
        TEST(deleting_is_all_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
