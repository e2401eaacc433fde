/* A GPU that comes back is tested before it serves: through failures, crashes, and whatever else
 * happens to it meanwhile. */
#include "../support.h"

#include "app/faults.h"
#include "app_rig.h"
#include "base/count.h"
#include "base/err.h"

#include <string.h>

struct command {
    uint32_t n_started;
    uint32_t n_running;
    uint32_t n_most; /* at once */
    uint32_t limit;  /* so many at once */
    bool runs[RIG_GPUS];
    bool ends;   /* at the next look, … */
    bool passes; /* … so */
    int start_result;
};

static struct app_rig rig;
static struct command command;
static struct weir_gpu_metrics told; /* what every sample has */

static uint32_t number_of(struct weir_str uuid)
{
    return (uint32_t)(uuid.ptr[uuid.len - 1] - '0');
}

static int start(void *ctx, const struct weir_gpu_test *test, struct weir_err *err)
{
    (void)ctx;
    if (command.start_result < 0)
        return weir_error(err, command.start_result, "it cannot be started");
    if (command.n_running == command.limit)
        return weir_error(err, WEIR_E_UNAVAILABLE, "too many");
    assert_false(command.runs[number_of(test->uuid)]);
    assert_int_equal(test->index, number_of(test->uuid));
    assert_string_equal(test->node.ptr, "alpha");
    command.runs[number_of(test->uuid)] = true;
    command.n_started++;
    command.n_running++;
    if (command.n_running > command.n_most)
        command.n_most = command.n_running;
    return 0;
}

static void stop(void *ctx, struct weir_str uuid)
{
    (void)ctx;
    command.n_running -= command.runs[number_of(uuid)];
    command.runs[number_of(uuid)] = false;
}

static void collect(void *ctx, weir_gpu_test_each each, void *arg)
{
    static const char *const uuids[RIG_GPUS] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};

    (void)ctx;
    for (uint32_t i = 0; command.ends && i < RIG_GPUS; i++) {
        struct weir_gpu_test_result result = {weir_str(uuids[i]), command.passes,
                                              WEIR_STR("exit status 3"),
                                              WEIR_STR("a line\nthe \x1b[1mlast\n \n")};

        if (!command.runs[i])
            continue;
        stop(NULL, result.uuid);
        each(arg, &result);
    }
}

static int (*list_of_rig)(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                          uint32_t *ret_n, struct weir_err *err);

static int list_told(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                     uint32_t *ret_n, struct weir_err *err)
{
    int r = list_of_rig(ctx, arena, ret_devices, ret_n, err);

    for (uint32_t i = 0; r == 0 && i < *ret_n; i++)
        if ((*ret_devices)[i].sample != NULL)
            ((struct weir_gpu_sample *)(*ret_devices)[i].sample)->metrics = told;
    return r;
}

static void wire(bool with_command)
{
    list_of_rig = rig.server.gpu.list;
    rig.server.gpu.list = list_told;
    rig.server.gpu_test = (struct weir_gpu_test_port){
        .start = with_command ? start : NULL, .stop = stop, .collect = collect, .notice_fd = -1};
}

static void begin_rig(bool with_command)
{
    command = (struct command){.limit = RIG_GPUS};
    told = (struct weir_gpu_metrics){0};
    app_rig_init(&rig);
    rig.shows_pci = true;
    wire(with_command);
    assert_int_equal(app_rig_tick(&rig), 0);
}

/* The commands die with the server. */
static void crash(bool with_command)
{
    app_rig_crash(&rig);
    command.n_running = 0;
    memset(command.runs, 0, sizeof(command.runs));
    wire(with_command);
}

static void look(void)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (rig.server.edit != NULL)
        (void)weir_server_observe_devices(&rig.server, &err);
    if (rig.server.edit != NULL && rig.server.faults != NULL)
        weir_selftest_collect(&rig.server);
    app_rig_tick(&rig);
}

static void pass_seconds(int n)
{
    for (int i = 0; i < n; i++) {
        app_rig_sample(&rig);
        look();
    }
}

static void lose(uint32_t gpu)
{
    rig.gpu_is_lost[gpu] = true;
    look();
    look();
}

static void lose_and_find(uint32_t gpu)
{
    lose(gpu);
    rig.gpu_is_lost[gpu] = false;
    app_rig_sample(&rig); /* it was seen to be well, later than it failed */
    look();
    look();
}

static enum weir_device_health health_of(const char *key)
{
    const struct weir_world *world = weir_edit_view(rig.server.edit);
    struct weir_key device = weir_key_of_device(weir_str(key));
    uint32_t index = weir_edit_find(rig.server.edit, WEIR_TABLE_DEVICES, &device);

    assert_int_not_equal(index, WEIR_NONE);
    return (enum weir_device_health)weir_world_device(world, index)->health;
}

static const struct weir_server_mark *mark_of(const char *key)
{
    return weir_server_faults_mark(&rig.server, weir_str(key));
}

static void uncordon(const char *key, bool without_test)
{
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_DEVICE,
                                           weir_str(key), WEIR_NODE_READY, without_test,
                                           app_done(&rig), NULL),
                     0);
    look();
}

/* ---- the look ---- */

static void a_look_takes_fresh_readings_and_some_seconds(void **state)
{
    (void)state;
    begin_rig(false);
    pass_seconds(1);
    lose_and_find(1);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
    assert_true(weir_selftest_wants_tick(&rig.server));
    app_rig_pass(&rig, 20000); /* no reading comes */
    look();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
    pass_seconds(3);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    assert_null(mark_of("GPU-1"));
    assert_false(weir_selftest_wants_tick(&rig.server));
    assert_non_null(strstr(app_rig_events(&rig, "gpu/GPU-1"), "gpu.test-started:it was reset:>\n"
                                                              "gpu.test-passed:it was reset:>\n"
                                                              "gpu.healthy:it was reset:>\n"));
    app_rig_finish(&rig);
}

static void no_fresh_reading_fails_it(void **state)
{
    (void)state;
    begin_rig(false);
    pass_seconds(1);
    lose_and_find(1);
    app_rig_pass(&rig, 30000);
    look();
    look();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    assert_non_null(strstr(mark_of("GPU-1")->cause, "no fresh reading"));
    app_rig_finish(&rig);
}

/* What the driver asks for by itself is a fault, also where no event tells it; of an event only
 * what was read after it. */
static void what_the_driver_asks_for_is_a_fault(void **state)
{
    struct weir_gpu_event event = {.uuid = "GPU-1", .type = 0x8000};
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    begin_rig(false);
    weir_gpu_set_metric(&told, WEIR_GPU_RECOVERY_ACTION, WEIR_FAULT_RECOVERY_NONE);
    pass_seconds(1);
    app_rig_pass(&rig, 100);
    event.seen_ms = rig.now.mono_ms;
    assert_int_equal(weir_server_faults_note(&rig.server, &event, &err), 0);
    assert_int_equal(rig.server.faults->health.n_changes, 0); /* None is of before */
    weir_gpu_set_metric(&told, WEIR_GPU_RECOVERY_ACTION, WEIR_FAULT_RECOVERY_REBOOT);
    pass_seconds(4);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    assert_int_equal(mark_of("GPU-1")->action, WEIR_FAULT_ACTION_REBOOT_NODE);
    assert_string_equal(mark_of("GPU-1")->class, "nvml:recovery/reboot");
    app_rig_finish(&rig);
}

static void what_the_driver_tells_fails_it(void **state)
{
    static const struct {
        enum weir_gpu_metric metric;
        int64_t value;
        uint32_t action;
    } rows[] = {
        {WEIR_GPU_RECOVERY_ACTION, WEIR_FAULT_RECOVERY_RESET, WEIR_FAULT_ACTION_RESET_GPU},
        {WEIR_GPU_RECOVERY_ACTION, WEIR_FAULT_RECOVERY_REBOOT, WEIR_FAULT_ACTION_REBOOT_NODE},
        {WEIR_GPU_RECOVERY_ACTION, 77, WEIR_FAULT_ACTION_SUPPORT},
        {WEIR_GPU_REMAP_PENDING, 1, WEIR_FAULT_ACTION_RESET_GPU},
        {WEIR_GPU_RETIREMENT_PENDING, 1, WEIR_FAULT_ACTION_RESET_GPU},
        {WEIR_GPU_REMAP_FAILED, 1, WEIR_FAULT_ACTION_SUPPORT},
        {WEIR_GPU_ECC_UNCORRECTED_ERRORS, 8, WEIR_FAULT_ACTION_SUPPORT},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        begin_rig(false);
        weir_gpu_set_metric(&told, WEIR_GPU_ECC_UNCORRECTED_ERRORS, 7);
        pass_seconds(1);
        lose_and_find(1);
        pass_seconds(1); /* what there was before the test is no news */
        weir_gpu_set_metric(&told, rows[i].metric, rows[i].value);
        pass_seconds(2);
        assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
        assert_string_equal(mark_of("GPU-1")->class, WEIR_SELFTEST_FAILED);
        assert_int_equal(mark_of("GPU-1")->action, rows[i].action);
        assert_non_null(
            strstr(app_rig_events(&rig, "gpu/GPU-1"), "gpu.test-failed:it was reset:>"));
        crash(false);
        pass_seconds(1);
        assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
        /* What a reset mends is looked at again when that was seen. */
        told = (struct weir_gpu_metrics){0};
        pass_seconds(1);
        look();
        assert_int_equal(health_of("GPU-1"), rows[i].action == WEIR_FAULT_ACTION_SUPPORT
                                                 ? WEIR_DEVICE_UNHEALTHY
                                                 : WEIR_DEVICE_SUSPECT);
        app_rig_finish(&rig);
    }
}

/* ---- the command ---- */

static void the_command_has_the_last_word(void **state)
{
    (void)state;
    for (int passes = 0; passes < 2; passes++) {
        begin_rig(true);
        pass_seconds(1);
        lose_and_find(1);
        pass_seconds(4);
        assert_int_equal(command.n_running, 1);
        assert_false(mark_of("GPU-1") == NULL);
        pass_seconds(30); /* its time limit is its own */
        assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
        command.ends = true;
        command.passes = passes == 1;
        pass_seconds(4);
        if (passes == 1) {
            assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
        } else {
            assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
            assert_string_equal(mark_of("GPU-1")->cause,
                                "self-test failed: exit status 3: the ?[1mlast");
            /* A person says that it is tried again, or that it serves. */
            command.passes = true;
            uncordon("GPU-1", false);
            assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
            pass_seconds(10);
            assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
        }
        assert_int_equal(command.n_started, passes == 1 ? 1 : 2);
        app_rig_finish(&rig);
    }
}

static void one_that_cannot_be_started_fails(void **state)
{
    (void)state;
    begin_rig(true);
    command.start_result = WEIR_E_IO;
    pass_seconds(1);
    lose_and_find(1);
    pass_seconds(6);
    assert_string_equal(mark_of("GPU-1")->cause, "self-test failed: it cannot be started");
    uncordon("GPU-1", true);
    assert_null(mark_of("GPU-1"));
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    app_rig_finish(&rig);
}

static void it_waits_until_nobody_uses_the_gpu(void **state)
{
    struct weir_mark_record fault;
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    begin_rig(true);
    pass_seconds(1);
    app_rig_use(&rig, 1, 4711, 1 << 20);
    lose_and_find(1);
    pass_seconds(8);
    assert_int_equal(command.n_started, 0);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
    assert_false(weir_selftest_wants_tick(&rig.server));
    assert_true(rig.service.fault(rig.service.ctx, WEIR_STR("GPU-1"), &arena, &fault));
    assert_true(weir_str_eq_c(fault.cause, "to be tested as soon as nobody uses it: it was reset"));
    weir_arena_finish(&arena);
    app_rig_use(&rig, 1, 4711, 0);
    pass_seconds(1);
    assert_int_equal(command.n_running, 1);
    app_rig_finish(&rig);
}

static void many_are_tested_side_by_side_and_not_too_many(void **state)
{
    (void)state;
    begin_rig(true);
    command.limit = 3;
    command.passes = true;
    pass_seconds(1);
    for (int i = 0; i < RIG_GPUS; i++)
        rig.gpu_is_lost[i] = true;
    look();
    look();
    memset(rig.gpu_is_lost, 0, sizeof(rig.gpu_is_lost));
    pass_seconds(8);
    assert_int_equal(command.n_started, 3);
    command.ends = true;
    pass_seconds(20);
    assert_int_equal(command.n_started, RIG_GPUS);
    assert_int_equal(command.n_most, 3);
    assert_int_equal(rig.server.faults->marks.n, 0);
    app_rig_finish(&rig);
}

/* ---- what comes between ---- */

static void one_that_is_lost_meanwhile_begins_anew(void **state)
{
    (void)state;
    begin_rig(true);
    pass_seconds(1);
    lose_and_find(1);
    pass_seconds(5);
    assert_int_equal(command.n_running, 1);
    lose(1);
    assert_int_equal(command.n_running, 0);
    pass_seconds(5);
    assert_int_not_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    rig.gpu_is_lost[1] = false;
    command.ends = command.passes = true;
    pass_seconds(10);
    assert_int_equal(command.n_started, 2);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    app_rig_finish(&rig);
}

/* Whatever write fails or wherever it crashes: it is tested, and serves only then. */
static void no_failure_lets_it_serve_untested(void **state)
{
    (void)state;
    for (int64_t fail_at = 0; fail_at < 40; fail_at++) {
        bool crashes = fail_at % 2 == 1;

        begin_rig(true);
        pass_seconds(1);
        lose(1);
        rig.n_writes = 0;
        rig.fail_at = fail_at / 2;
        rig.gpu_is_lost[1] = false;
        for (int i = 0; i < 12; i++) {
            pass_seconds(1);
            if (crashes && i == (int)(fail_at / 2) % 12) {
                rig.fail_at = -1;
                crash(true);
            }
            /* What is decided on is what a tick has seen. */
            if (app_rig_tick(&rig) == 0)
                assert_true(health_of("GPU-1") != WEIR_DEVICE_HEALTHY);
        }
        rig.fail_at = -1;
        pass_seconds(8);
        assert_int_equal(command.n_running, 1);
        command.ends = command.passes = true;
        pass_seconds(8);
        assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
        assert_int_equal(rig.server.faults->marks.n, 0);
        app_rig_finish(&rig);
    }
}

static void what_came_back_while_weir_was_away_is_tested(void **state)
{
    (void)state;
    begin_rig(true);
    pass_seconds(1);
    lose(1);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    rig.gpu_is_lost[1] = false;
    crash(true);
    pass_seconds(8);
    assert_int_equal(command.n_running, 1);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
    app_rig_finish(&rig);
}

static void a_start_with_healthy_gpus_tests_none(void **state)
{
    (void)state;
    begin_rig(true);
    pass_seconds(3);
    crash(true);
    pass_seconds(3);
    assert_int_equal(command.n_started, 0);
    assert_int_equal(rig.server.faults->marks.n, 0);
    assert_string_equal(app_rig_events(&rig, "gpu/GPU-1"), "");
    app_rig_finish(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_takes_fresh_readings_and_some_seconds),
        cmocka_unit_test(no_fresh_reading_fails_it),
        cmocka_unit_test(what_the_driver_asks_for_is_a_fault),
        cmocka_unit_test(what_the_driver_tells_fails_it),
        cmocka_unit_test(the_command_has_the_last_word),
        cmocka_unit_test(one_that_cannot_be_started_fails),
        cmocka_unit_test(it_waits_until_nobody_uses_the_gpu),
        cmocka_unit_test(many_are_tested_side_by_side_and_not_too_many),
        cmocka_unit_test(one_that_is_lost_meanwhile_begins_anew),
        cmocka_unit_test(no_failure_lets_it_serve_untested),
        cmocka_unit_test(what_came_back_while_weir_was_away_is_tested),
        cmocka_unit_test(a_start_with_healthy_gpus_tests_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
