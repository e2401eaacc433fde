/* Faults of GPUs, from what is told to what is kept: through failures and crashes. */
#include "../support.h"

#include "app/faults.h"
#include "app_rig.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"

#include <stdlib.h>

enum { LINES_MAX = 2000, SETTLED_MS = 3000, HOUR_MS = 3600 * 1000 };

struct line {
    uint32_t xid; /* of a switch: SXid */
    uint8_t gpu;
    bool is_of_switch;
    bool names_no_gpu;
    int64_t at_ms;
};

static struct app_rig rig;
static struct line lines[LINES_MAX];
static uint64_t n_lines;
static uint64_t n_told; /* a log that is read once */

static int read_lines(void *ctx, uint64_t after, weir_fault_each each, void *arg,
                      struct weir_err *err)
{
    (void)ctx;
    (void)err;
    if (after < n_told)
        n_told = after;
    while (n_told < n_lines) {
        const struct line *line = &lines[n_told];
        struct weir_fault_event event = {
            .at_ms = line->at_ms,
            .device = {.bus = line->gpu, .is_known = !line->names_no_gpu},
            .kind = line->is_of_switch ? WEIR_FAULT_SXID : WEIR_FAULT_XID,
            .severity = line->is_of_switch ? WEIR_FAULT_SEVERITY_FATAL : 0,
            .origin = WEIR_FAULT_ORIGIN_KERNEL,
            .recovery = WEIR_FAULT_RECOVERY_ABSENT,
            .code = line->xid,
            .pid = -1,
            .gpu_instance = -1,
            .link = -1,
            .gpc = -1,
            .tpc = -1,
            .text = WEIR_STR("NVRM: Xid"),
        };
        int r = each(arg, n_told + 1, &event);

        if (r < 0)
            return r;
        n_told++;
    }
    return 0;
}

static void say_at(uint32_t xid, uint8_t gpu, int64_t at_ms)
{
    assert_true(n_lines < LINES_MAX);
    lines[n_lines++] = (struct line){xid, gpu, false, false, at_ms};
    rig.server.dirty = true;
}

static void say(uint32_t xid, uint8_t gpu)
{
    say_at(xid, gpu, rig.now.mono_ms);
}

static void begin_rig(void)
{
    n_lines = 0;
    n_told = 0;
    app_rig_init(&rig);
    rig.shows_pci = true;
    rig.server.fault_source = (struct weir_fault_source){NULL, read_lines};
    assert_int_equal(app_rig_tick(&rig), 0);
}

/* As weir up does after a crash. */
static void crash(void)
{
    app_rig_crash(&rig);
    rig.server.fault_source = (struct weir_fault_source){NULL, read_lines};
}

static void tick_until_well(void)
{
    int n = 0;

    while (app_rig_tick(&rig) < 0)
        assert_true(++n < 8);
}

static void settle(void)
{
    app_rig_pass(&rig, SETTLED_MS);
    tick_until_well();
    tick_until_well();
}

static enum weir_device_health health_of(const char *key)
{
    const struct weir_world *world = weir_edit_view(rig.server.edit);
    struct weir_key device = weir_key_of_device(weir_str(key));
    uint32_t index = weir_edit_find(rig.server.edit, WEIR_TABLE_DEVICES, &device);

    assert_int_not_equal(index, WEIR_NONE);
    return (enum weir_device_health)weir_world_device(world, index)->health;
}

static void put_back(const char *key)
{
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_DEVICE,
                                           weir_str(key), WEIR_NODE_READY, true, app_done(&rig),
                                           NULL),
                     0);
    tick_until_well();
    tick_until_well();
    assert_int_equal(health_of(key), WEIR_DEVICE_HEALTHY);
}

static const struct weir_server_mark *mark_of(const char *key)
{
    return weir_server_faults_mark(&rig.server, weir_str(key));
}

static void a_fault_is_settled_then_marked_and_kept(void **state)
{
    (void)state;
    begin_rig();
    say(48, 1);
    assert_true(weir_server_faults_due(&rig.server) == INT64_MAX);
    tick_until_well();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
    assert_int_equal(health_of("GPU-0"), WEIR_DEVICE_HEALTHY);
    assert_null(mark_of("GPU-1"));
    assert_true(weir_server_faults_due(&rig.server) < INT64_MAX);
    settle();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    assert_non_null(mark_of("GPU-1"));
    assert_string_equal(app_rig_events(&rig, "gpu/GPU-1"),
                        "gpu.unhealthy:xid:48;fatal;hardware:>NVRM: Xid\n");
    crash();
    tick_until_well();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    settle();
    assert_string_equal(app_rig_events(&rig, "gpu/GPU-1"),
                        "gpu.unhealthy:xid:48;fatal;hardware:>NVRM: Xid\n");
    app_rig_finish(&rig);
}

/* A crash between what is told and what it comes to. */
static void what_was_told_is_judged_after_a_crash(void **state)
{
    (void)state;
    begin_rig();
    say(48, 2);
    tick_until_well();
    crash();
    tick_until_well();
    settle();
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_UNHEALTHY);
    app_rig_finish(&rig);
}

/* It settled, and nobody was there. */
static void what_settled_meanwhile_is_judged_after_a_crash(void **state)
{
    (void)state;
    begin_rig();
    say(48, 2);
    tick_until_well();
    app_rig_pass(&rig, SETTLED_MS);
    crash();
    tick_until_well();
    tick_until_well();
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_UNHEALTHY);
    app_rig_finish(&rig);
}

static void what_was_put_back_is_not_taken_out_by_a_crash(void **state)
{
    (void)state;
    begin_rig();
    say(48, 2);
    tick_until_well();
    settle();
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_UNHEALTHY);
    put_back("GPU-2");
    crash();
    tick_until_well();
    tick_until_well();
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_HEALTHY);
    app_rig_finish(&rig);
}

/* The log goes on while weir is away; what was before weir is history. */
static void what_came_while_away_is_judged(void **state)
{
    (void)state;
    begin_rig();
    say(48, 1);
    app_rig_pass(&rig, HOUR_MS);
    n_told = 0;
    crash();
    tick_until_well();
    settle();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    say(48, 2);
    app_rig_pass(&rig, HOUR_MS);
    crash();
    tick_until_well();
    settle();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_UNHEALTHY);
    app_rig_finish(&rig);
}

/* The kernel's clock is not weir's. */
static void what_comes_now_came_now(void **state)
{
    static const int64_t skews_ms[] = {-HOUR_MS, HOUR_MS};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(skews_ms); i++) {
        begin_rig();
        app_rig_pass(&rig, 2 * HOUR_MS);
        tick_until_well();
        app_rig_pass(&rig, 1000);
        say_at(48, 1, rig.now.mono_ms + skews_ms[i]);
        tick_until_well();
        settle();
        assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
        app_rig_finish(&rig);
    }
}

/* Whatever write fails, at whichever place: in the end the GPU is out, once. */
static void no_failure_loses_a_fault(void **state)
{
    (void)state;
    for (int64_t fail_at = 0; fail_at < 24; fail_at++) {
        begin_rig();
        rig.n_writes = 0;
        rig.fail_at = fail_at / 2;
        say(fail_at % 2 == 0 ? 79 : 48, 3);
        for (int i = 0; i < 4; i++) {
            app_rig_tick(&rig);
            app_rig_pass(&rig, SETTLED_MS);
        }
        rig.fail_at = -1;
        settle();
        assert_int_equal(health_of("GPU-3"), WEIR_DEVICE_UNHEALTHY);
        assert_int_equal(rig.server.faults->marks.n, 1);
        crash();
        settle();
        assert_int_equal(health_of("GPU-3"), WEIR_DEVICE_UNHEALTHY);
        app_rig_finish(&rig);
    }
}

static void a_boot_mends_what_a_boot_can(void **state)
{
    static const struct {
        uint32_t action;
        bool is_mended;
    } rows[] = {{WEIR_FAULT_ACTION_RESET_GPU, true},
                {WEIR_FAULT_ACTION_REBOOT_NODE, true},
                {WEIR_FAULT_ACTION_CHECK_MECH, false},
                {WEIR_FAULT_ACTION_SUPPORT, false}};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        static const uint8_t earlier[16] = {9};
        struct weir_mark_record mark = {WEIR_STR("GPU-1"),
                                        WEIR_STR("it broke"),
                                        WEIR_STR("xid:1"),
                                        rows[i].action,
                                        0,
                                        5,
                                        earlier};

        begin_rig();
        assert_int_equal(rig.real.begin(rig.real.ctx, NULL), 0);
        assert_int_equal(rig.real.put_mark(rig.real.ctx, &mark, NULL), 0);
        assert_int_equal(rig.real.commit(rig.real.ctx, false, NULL), 0);
        crash();
        tick_until_well();
        assert_int_equal(health_of("GPU-1"),
                         rows[i].is_mended ? WEIR_DEVICE_SUSPECT : WEIR_DEVICE_UNHEALTHY);
        app_rig_test_gpus(&rig);
        assert_int_equal(health_of("GPU-1"),
                         rows[i].is_mended ? WEIR_DEVICE_HEALTHY : WEIR_DEVICE_UNHEALTHY);
        app_rig_finish(&rig);
    }
}

/* One that goes down is out of service, and back when it is back: it was reset. */
static void a_gpu_that_comes_back_is_back(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    begin_rig();
    rig.gpu_is_lost[1] = true;
    assert_int_equal(weir_server_observe_devices(&rig.server, &err), 0);
    tick_until_well();
    tick_until_well();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    assert_int_equal(weir_server_observe_devices(&rig.server, &err), 0);
    tick_until_well();
    rig.gpu_is_lost[1] = false;
    assert_int_equal(weir_server_observe_devices(&rig.server, &err), 0);
    tick_until_well();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_SUSPECT);
    app_rig_test_gpus(&rig);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    assert_null(mark_of("GPU-1"));
    app_rig_finish(&rig);
}

/* A driver that waits for a broken GPU hangs for a while, and goes on. */
static void a_gpu_that_hung_was_not_reset(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    begin_rig();
    say(119, 1);
    tick_until_well();
    settle();
    assert_non_null(mark_of("GPU-1"));
    for (int i = 0; i < 2; i++) {
        rig.gpu_hangs[1] = i == 0;
        app_rig_pass(&rig, 1000);
        assert_int_equal(weir_server_observe_devices(&rig.server, &err), 0);
        tick_until_well();
    }
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    app_rig_finish(&rig);
}

/* … and one that the driver does not show any more is as bad as it was. */
static void a_marked_gpu_that_is_not_listed_is_unhealthy(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    begin_rig();
    say(79, 1);
    tick_until_well();
    settle();
    rig.gpu_is_absent[1] = true;
    rig.gpu_is_absent[2] = true;
    assert_int_equal(weir_server_observe_devices(&rig.server, &err), 0);
    tick_until_well();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_LOST);
    app_rig_finish(&rig);
}

/* One fault, however many GPUs have it: the breaker does not leave some of them in service. */
static void a_fabric_fails_as_one(void **state)
{
    (void)state;
    begin_rig();
    say(20034, 200);
    lines[0].is_of_switch = true;
    tick_until_well();
    settle();
    for (int i = 0; i < RIG_GPUS; i++) {
        static const char *const keys[RIG_GPUS] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};

        assert_int_equal(health_of(keys[i]), WEIR_DEVICE_UNHEALTHY);
    }
    app_rig_finish(&rig);
}

/* Some GPU of the node has failed: that is told like a person's doing, and can be undone. */
static void a_node_is_cordoned_for_a_gpu_without_a_name(void **state)
{
    const struct weir_world *world;

    (void)state;
    begin_rig();
    say(48, 0);
    lines[0].names_no_gpu = true;
    tick_until_well();
    settle();
    world = weir_edit_view(rig.server.edit);
    assert_int_equal(weir_world_node(world, 0)->phase, WEIR_NODE_CORDONED);
    assert_string_equal(app_rig_events(&rig, "node/alpha"),
                        "node.phase:xid:48;fatal;hardware:>cordoned\n");
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_NODE,
                                           WEIR_STR("alpha"), WEIR_NODE_READY, true, app_done(&rig),
                                           NULL),
                     0);
    tick_until_well();
    crash();
    tick_until_well();
    tick_until_well();
    world = weir_edit_view(rig.server.edit);
    assert_int_equal(weir_world_node(world, 0)->phase, WEIR_NODE_READY);
    app_rig_finish(&rig);
}

/* Of a GPU that is out already the driver goes on to complain, and not always by its name. */
static void a_gpu_that_is_out_explains_what_has_no_name(void **state)
{
    const struct weir_world *world;

    (void)state;
    begin_rig();
    say(79, 0);
    tick_until_well();
    settle();
    app_rig_pass(&rig, HOUR_MS);
    say(48, 0);
    lines[1].names_no_gpu = true;
    tick_until_well();
    settle();
    world = weir_edit_view(rig.server.edit);
    assert_int_equal(weir_world_node(world, 0)->phase, WEIR_NODE_READY);
    assert_string_equal(app_rig_events(&rig, "node/alpha"),
                        "gpu.fault:xid:48;fatal;hardware:>NVRM: Xid\n");
    app_rig_finish(&rig);
}

/* Who tries a program again that breaks by itself gets the same GPU each time. */
static void tries_of_one_user_are_no_fault_of_the_gpu(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    begin_rig();
    for (uint64_t number = 1; number <= 3; number++) {
        assert_int_equal(app_rig_submit(&rig, "{\"command\":[\"a\"]}", "", &err), 0);
        tick_until_well();
        app_rig_begin_all(&rig);
        tick_until_well();
        assert_string_equal(app_rig_attempt(&rig, number, 0)->devices, "GPU-0");
        say(31, 0);
        tick_until_well();
        app_rig_end(&rig, app_rig_attempt(&rig, number, 0), WEIR_END_EXITED, 1);
        settle();
        assert_int_equal(health_of("GPU-0"), WEIR_DEVICE_HEALTHY);
        app_rig_pass(&rig, HOUR_MS);
        tick_until_well();
    }
    app_rig_finish(&rig);
}

/* It may be their common program; a test tells, and what passes it serves again. */
static void a_gpu_on_which_several_users_fail_is_tested(void **state)
{
    const struct weir_actor users[] = {{WEIR_STR("ana"), 1000, 1000, WEIR_ROLE_SUBMIT},
                                       {WEIR_STR("ben"), 1001, 1001, WEIR_ROLE_SUBMIT}};
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_tree *doc = NULL;

    (void)state;
    begin_rig();
    assert_int_equal(
        weir_json_read(WEIR_STR("{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Workload\",\"spec\":"
                                "{\"command\":[\"a\"]}}"),
                       NULL, &arena, &doc, &err),
        0);
    for (uint64_t number = 1; number <= 2; number++) {
        assert_int_equal(rig.service.submit(rig.service.ctx, &users[number - 1], doc, WEIR_STR(""),
                                            app_done(&rig), &err),
                         0);
        tick_until_well();
        app_rig_begin_all(&rig);
        tick_until_well();
        assert_string_equal(app_rig_attempt(&rig, number, 0)->devices, "GPU-0");
        say(31, 0);
        tick_until_well();
        app_rig_end(&rig, app_rig_attempt(&rig, number, 0), WEIR_END_EXITED, 1);
        app_rig_pass(&rig, SETTLED_MS);
        tick_until_well();
        assert_int_equal(weir_server_faults_mark(&rig.server, WEIR_STR("GPU-0")) != NULL,
                         number == 2);
        app_rig_pass(&rig, HOUR_MS);
    }
    assert_string_equal(weir_server_faults_mark(&rig.server, WEIR_STR("GPU-0"))->class,
                        WEIR_SELFTEST_DUE);
    app_rig_finish(&rig);
}

static int count(void *arg, const struct weir_fault_record *fault)
{
    (void)fault;
    ++*(int *)arg;
    return 0;
}

/* A fleet that is gone: three are marked, and each is told of once. */
static void a_fleet_that_is_gone_is_told_of_once(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    int n_due = 0;
    int n = 0;

    (void)state;
    begin_rig();
    for (int i = 0; i < RIG_GPUS; i++)
        rig.gpu_is_lost[i] = true;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(weir_server_observe_devices(&rig.server, &err), 0);
        app_rig_pass(&rig, 1000);
        tick_until_well();
    }
    assert_int_equal(rig.server.faults->marks.n, RIG_GPUS);
    weir_vec_foreach (mark, &rig.server.faults->marks)
        n_due += weir_selftest_is_due(mark);
    assert_int_equal(n_due, RIG_GPUS - 3); /* the breaker left it in service: it is lost only */
    assert_true(rig.server.faults->is_held);
    assert_int_equal(rig.real.each_fault(rig.real.ctx, count, &n, NULL), 0);
    assert_int_equal(n, RIG_GPUS);
    app_rig_finish(&rig);
}

/* What the breaker left in service is taken out when it closes, if nobody put it back meanwhile:
 * also by another life of the server. */
static void what_the_breaker_held_back_is_judged_again(void **state)
{
    (void)state;
    for (int crashes = 0; crashes < 2; crashes++) {
        begin_rig();
        for (uint8_t gpu = 0; gpu < RIG_GPUS; gpu++)
            say(79, gpu);
        tick_until_well();
        settle();
        assert_int_equal(rig.server.faults->marks.n, 3);
        assert_int_equal(health_of("GPU-3"), WEIR_DEVICE_HEALTHY);
        assert_string_equal(app_rig_events(&rig, "gpu/GPU-3"),
                            "gpu.held:xid:79;fatal;hardware:>NVRM: Xid\n");
        app_rig_pass(&rig, WEIR_FAULT_BREAKER_MS / 2);
        tick_until_well();
        if (crashes > 0) {
            crash();
            tick_until_well();
        }
        assert_in_range(weir_server_faults_due(&rig.server), rig.now.mono_ms,
                        rig.now.mono_ms + WEIR_FAULT_BREAKER_MS / 2);
        assert_int_equal(health_of("GPU-3"), WEIR_DEVICE_HEALTHY);
        app_rig_pass(&rig, WEIR_FAULT_BREAKER_MS / 2 + SETTLED_MS);
        tick_until_well();
        tick_until_well();
        assert_int_equal(health_of("GPU-3"), WEIR_DEVICE_UNHEALTHY);
        app_rig_finish(&rig);
    }
    begin_rig();
    for (uint8_t gpu = 0; gpu < RIG_GPUS; gpu++)
        say(79, gpu);
    tick_until_well();
    settle();
    put_back("GPU-3");
    app_rig_pass(&rig, 2 * WEIR_FAULT_BREAKER_MS);
    tick_until_well();
    tick_until_well();
    assert_int_equal(health_of("GPU-3"), WEIR_DEVICE_HEALTHY);
    assert_int_equal(health_of("GPU-0"), WEIR_DEVICE_UNHEALTHY);
    app_rig_finish(&rig);
}

/* A GPU that says the same thousands of times in a second does not fill the store. */
static void a_storm_is_stored_in_part(void **state)
{
    int n = 0;

    (void)state;
    begin_rig();
    say(48, 2);
    for (int i = 0; i < 1900; i++) {
        say(31, 1);
        if (i % 190 == 189) { /* for ten seconds */
            tick_until_well();
            app_rig_pass(&rig, 1000);
        }
    }
    say(79, 1);
    for (int i = 0; i < 50; i++)
        say(79, 1);
    tick_until_well();
    settle();
    assert_int_equal(rig.real.each_fault(rig.real.ctx, count, &n, NULL), 0);
    assert_in_range(n, 30, 60);
    assert_true(rig.server.faults->passed_seq == 0);
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_UNHEALTHY);
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_UNHEALTHY);
    put_back("GPU-1");
    app_rig_pass(&rig, HOUR_MS);
    crash(); /* the end of the storm is no news */
    tick_until_well();
    settle();
    assert_int_equal(health_of("GPU-1"), WEIR_DEVICE_HEALTHY);
    assert_int_equal(health_of("GPU-2"), WEIR_DEVICE_UNHEALTHY);
    app_rig_finish(&rig);
}

/* Also of a server that runs for months. */
static void what_does_not_count_any_more_is_forgotten(void **state)
{
    int n = 0;

    (void)state;
    begin_rig();
    say(31, 1);
    tick_until_well();
    settle();
    app_rig_pass(&rig, 23 * HOUR_MS);
    weir_server_prune(&rig.server, rig.now);
    assert_int_equal(rig.real.each_fault(rig.real.ctx, count, &n, NULL), 0);
    assert_int_equal(n, 1);
    app_rig_pass(&rig, 2 * HOUR_MS);
    weir_server_prune(&rig.server, rig.now);
    n = 0;
    assert_int_equal(rig.real.each_fault(rig.real.ctx, count, &n, NULL), 0);
    assert_int_equal(n, 0);
    app_rig_finish(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_is_settled_then_marked_and_kept),
        cmocka_unit_test(what_was_told_is_judged_after_a_crash),
        cmocka_unit_test(what_settled_meanwhile_is_judged_after_a_crash),
        cmocka_unit_test(what_was_put_back_is_not_taken_out_by_a_crash),
        cmocka_unit_test(what_came_while_away_is_judged),
        cmocka_unit_test(what_comes_now_came_now),
        cmocka_unit_test(no_failure_loses_a_fault),
        cmocka_unit_test(a_boot_mends_what_a_boot_can),
        cmocka_unit_test(a_gpu_that_comes_back_is_back),
        cmocka_unit_test(a_gpu_that_hung_was_not_reset),
        cmocka_unit_test(a_marked_gpu_that_is_not_listed_is_unhealthy),
        cmocka_unit_test(a_fabric_fails_as_one),
        cmocka_unit_test(a_node_is_cordoned_for_a_gpu_without_a_name),
        cmocka_unit_test(a_gpu_that_is_out_explains_what_has_no_name),
        cmocka_unit_test(a_gpu_on_which_several_users_fail_is_tested),
        cmocka_unit_test(tries_of_one_user_are_no_fault_of_the_gpu),
        cmocka_unit_test(a_fleet_that_is_gone_is_told_of_once),
        cmocka_unit_test(what_the_breaker_held_back_is_judged_again),
        cmocka_unit_test(a_storm_is_stored_in_part),
        cmocka_unit_test(what_does_not_count_any_more_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
