/* Setups of GPUs, and what a job may ask of GPUs: what is taken, and what is refused with which
 * words. */
#include "mig_rig.h"

#define SETUP(name, entries)                                                                       \
    "[{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"GpuSetup\",\"metadata\":{\"name\":\"" name        \
    "\"},\"spec\":{\"gpus\":[" entries "]}}]"

static void apply(const char *text)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_apply(&rig, text, false, &err) < 0)
        fail_msg("%s: %s", err.field, err.text);
    mig_tick();
}

static void assert_refused(const char *entries, const char *why, const char *hint)
{
    struct weir_err err = WEIR_ERR_INIT;
    char text[1024];

    snprintf(text, sizeof(text),
             "[{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"GpuSetup\",\"metadata\":{\"name\":\"x\"},"
             "\"spec\":{\"gpus\":[%s]}}]",
             entries);
    assert_true(app_rig_apply(&rig, text, false, &err) < 0);
    if (strstr(err.text, why) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("%s: said: %s (%s)", entries, err.text, err.hint);
    assert_true(err.line > 0);
}

static uint32_t layout_cell(uint32_t i)
{
    return weir_world_span_at(weir_edit_view(rig.server.edit), mig_gpu()->layout, i);
}

static void the_first_by_name_counts(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    apply(SETUP("b", "{\"mig\":{\"devices\":{\"1g.10gb\":2}}}"));
    assert_int_equal(mig_gpu()->mig_wanted, WEIR_MIG_ON);
    assert_int_equal(layout_cell(1), 2);
    apply(SETUP("a", "{\"select\":{\"index\":[1]},\"mig\":{\"enabled\":false}},"
                     "{\"select\":{\"class\":[\"A100\"],\"node\":[\"alpha\"],\"index\":[0]},"
                     "\"mig\":{\"devices\":{\"1g.10gb\":3}}}"));
    assert_int_equal(layout_cell(1), 3);
    app_rig_crash(&rig);
    assert_int_equal(layout_cell(1), 3);
    assert_int_equal(rig.service.delete_setup(rig.service.ctx, &app_root, WEIR_STR("a"),
                                              app_done(&rig), &err),
                     0);
    mig_tick();
    assert_int_equal(layout_cell(1), 2);
    assert_int_equal(rig.service.delete_setup(rig.service.ctx, &app_root, WEIR_STR("a"),
                                              app_done(&rig), &err),
                     WEIR_E_NOT_FOUND);
    assert_int_equal(rig.service.delete_setup(rig.service.ctx, &app_root, WEIR_STR("b"),
                                              app_done(&rig), &err),
                     0);
    mig_tick();
    assert_int_equal(mig_gpu()->layout, WEIR_NONE);
    assert_int_equal(mig_gpu()->mig_wanted, WEIR_MIG_NONE);
}

static void sharing_is_said_of_a_gpu(void **state)
{
    (void)state;
    apply(SETUP("s",
                "{\"select\":{\"uuid\":[\"GPU-0\"]},\"sharing\":\"time-slicing\",\"replicas\":4}"));
    assert_int_equal(mig_gpu()->sharing, WEIR_SHARING_REPLICAS);
    assert_int_equal(mig_gpu()->replicas, 4);
    apply(SETUP("s", "{\"select\":{\"pciId\":[\"0x20B210DE:0x1\"]},\"sharing\":\"never\"}"));
    assert_int_equal(mig_gpu()->sharing, WEIR_SHARING_NEVER);
    assert_int_equal(mig_gpu()->replicas, 0);
    apply(SETUP("s", "{\"select\":{\"pciId\":[\"0x20B510DE\"]},\"sharing\":\"never\"}"));
    assert_int_equal(mig_gpu()->sharing, WEIR_SHARING_BUDGETS);
}

static void a_dry_run_changes_nothing(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(
        app_rig_apply(&rig, SETUP("a", "{\"mig\":{\"devices\":{\"1g.10gb\":2}}}"), true, &err), 0);
    mig_tick();
    assert_int_equal(mig_gpu()->layout, WEIR_NONE);
    app_rig_crash(&rig);
    assert_int_equal(mig_gpu()->layout, WEIR_NONE);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    assert_refused("{\"mig\":{\"devices\":{\"1g.5gb\":1}}}", "takes no instances '1g.5gb'",
                   "'1g.10gb'");
    assert_refused("{\"mig\":{\"devices\":{\"3g.40gb\":3}}}", "at most 2", "");
    assert_refused("{\"mig\":{\"devices\":{\"3g.40gb\":2,\"1g.10gb\":1}}}", "do not fit", "");
    assert_refused("{\"mig\":{\"devices\":{\"1g.10gb\":0}}}", "every count is 0", "");
    assert_refused("{\"mig\":{\"enabled\":false,\"devices\":{\"1g.10gb\":1}}}", "MIG mode off", "");
    assert_refused("{\"sharing\":\"time-slicing\"}", "among how many", "replicas: 4");
    assert_refused("{\"replicas\":4}", "time-slicing", "");
    assert_refused("{\"select\":{\"all\":false}}", "selects nothing", "");
    assert_refused("{\"mig\":{\"enabled\":true},\"sharing\":\"mps\"}", "by its instances", "");
    assert_refused("{\"selekt\":{}}", "unknown field", "select");
    mig.has_mig = false;
    assert_refused("{\"select\":{\"index\":[0]},\"mig\":{\"enabled\":true}}", "has no MIG", "");
    apply(SETUP("a", "{\"mig\":{\"enabled\":true}}")); /* of all it means those that can */
}

static void who_only_submits_sets_nothing_up(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(rig.service.delete_setup(rig.service.ctx, &app_ana, WEIR_STR("a"),
                                              app_done(&rig), &err),
                     WEIR_E_DENIED);
}

static void mode_is_changed_on_what_is_idle(void **state)
{
    (void)state;
    mig.is_on = false;
    mig_look();
    apply(SETUP("a", "{\"mig\":{\"enabled\":true}}"));
    assert_int_equal(mig.n_requests, 1);
    assert_int_equal(mig.requests[0].action, WEIR_GPU_MIG_ENABLE);
    assert_int_equal(mig_gpu()->phase, WEIR_DEVICE_SWITCHING);
    mig_answer(1, 0);
    mig_look();
    assert_int_equal(mig_gpu()->phase, WEIR_DEVICE_THERE);
    assert_int_equal(mig_gpu()->mig, WEIR_MIG_ON);
}

/* The driver says that it comes with a reset: nobody gets the GPU, and it is said why. */
static void a_mode_may_wait_for_a_reset(void **state)
{
    (void)state;
    mig.is_on = false;
    mig_look();
    apply(SETUP("a", "{\"mig\":{\"enabled\":true}}"));
    mig_answer(1, 0);
    mig.is_on = false;
    mig.is_pending = true;
    mig_look();
    assert_int_equal(mig_gpu()->phase, WEIR_DEVICE_SWITCHING);
    assert_true(mig_gpu()->change_cause != WEIR_NONE);
    app_rig_crash(&rig);
    mig_look();
    assert_int_equal(mig_gpu()->phase, WEIR_DEVICE_SWITCHING);
    assert_int_equal(mig.n_requests, 1);
    mig.is_on = true;
    mig.is_pending = false;
    mig_look();
    assert_int_equal(mig_gpu()->phase, WEIR_DEVICE_THERE);
    assert_int_equal(mig_gpu()->change_cause, WEIR_NONE);
}

static void ask_in_vain(const char *spec, const char *why)
{
    struct weir_err err = WEIR_ERR_INIT;

    assert_true(app_rig_submit(&rig, spec, "", &err) < 0);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s: said: %s (%s)", spec, err.text, err.hint);
}

static int64_t amount_of(const char *resource)
{
    const struct weir_world *world = weir_edit_view(rig.server.edit);
    uint32_t shape = weir_world_first(world, WEIR_TABLE_SHAPES);
    const struct weir_shape *row;

    while (weir_world_after(world, WEIR_TABLE_SHAPES, shape) != WEIR_NONE)
        shape = weir_world_after(world, WEIR_TABLE_SHAPES, shape);
    row = weir_world_shape(world, shape);
    for (uint32_t i = 0; i < row->n_amounts; i++)
        if (weir_str_eq_c(weir_world_string(
                              world, weir_world_resource(world, row->amounts[i].resource)->name),
                          resource))
            return row->amounts[i].amount;
    return 0;
}

static void what_a_job_may_ask_for(void **state)
{
    (void)state;
    ask_in_vain("{\"command\":[\"a\"],\"mig\":\"1g.5gb\"}", "'1g.5gb'");
    ask_in_vain("{\"command\":[\"a\"],\"mig\":\"1g.10gb\",\"gpuMemory\":\"9Gi\"}", "its profile");
    ask_in_vain("{\"command\":[\"a\"],\"mig\":\"1g.10gb\",\"gpus\":\"0.5\"}", "whole, and not 0");
    ask_in_vain("{\"command\":[\"a\"],\"mig\":\"1g.10gb\",\"gpus\":0}", "whole, and not 0");
    ask_in_vain("{\"command\":[\"a\"],\"gpus\":\"1.5\"}", "less than 1");
    ask_in_vain("{\"command\":[\"a\"],\"gpus\":\"0.5\",\"gpuMemory\":\"9Gi\"}", "or by its memory");
    mig_submit("{\"command\":[\"a\"],\"mig\":\"3g.40gb\",\"gpus\":2}");
    assert_int_equal(amount_of("mig/3g.40gb"), 2000);
    assert_int_equal(amount_of("gpu"), 2 * 1000); /* the largest that it takes */
    mig_submit("{\"command\":[\"a\"],\"mig\":\"1g.10gb\"}");
    assert_int_equal(amount_of("mig/1g.10gb"), 1000);
    assert_int_equal(amount_of("gpu"), 333);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIG_TEST(the_first_by_name_counts),         MIG_TEST(sharing_is_said_of_a_gpu),
        MIG_TEST(a_dry_run_changes_nothing),        MIG_TEST(what_cannot_be_is_refused),
        MIG_TEST(who_only_submits_sets_nothing_up), MIG_TEST(mode_is_changed_on_what_is_idle),
        MIG_TEST(a_mode_may_wait_for_a_reset),      MIG_TEST(what_a_job_may_ask_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
