/* The tick over a real store and a world that fails and comes back as told: whatever breaks, every
 * job ends once, and no device is in two hands. */
#include "../support.h"

#include "app_rig.h"
#include "base/cleanup.h"
#include "core/decide.h"

static struct app_rig rig;

static int set_up(void **state)
{
    (void)state;
    app_rig_init(&rig);
    return 0;
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

/* Asks, ticks, and returns the number. */
static uint64_t submit(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t n = rig.n_answers;

    if (app_rig_submit(&rig, spec, "", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(rig.n_answers, n); /* not before it is on disk */
    tick();
    assert_int_equal(rig.n_answers, n + 1);
    assert_int_equal(rig.answers[n].result, 0);
    return rig.answers[n].outcome;
}

static void apply(const char *text)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_apply(&rig, text, false, &err) < 0)
        fail_msg("%s", err.text);
    tick();
    assert_int_equal(rig.answers[rig.n_answers - 1].result, 0);
}

/* ---- a life ---- */

static void a_job_lives_and_ends(void **state)
{
    uint64_t number = submit("{\"command\":[\"train\"],\"gpus\":2}");

    (void)state;
    assert_int_equal(number, 1);
    assert_string_equal(app_rig_record(&rig, 1),
                        "starting attempt=1 exit=0 failures=0 gpus=GPU-0,GPU-1 node=alpha");
    assert_int_equal(rig.n_launches, 1);
    assert_string_equal(app_rig_attempt(&rig, 1, 0)->devices, "GPU-0,GPU-1");
    app_rig_begin_all(&rig);
    tick();
    assert_string_equal(app_rig_record(&rig, 1),
                        "running attempt=1 exit=0 failures=0 gpus=GPU-0,GPU-1 node=alpha");
    app_rig_pass(&rig, 5000);
    app_rig_end(&rig, app_rig_attempt(&rig, 1, 0), WEIR_END_EXITED, 0);
    tick();
    assert_string_equal(app_rig_record(&rig, 1),
                        "succeeded attempt=1 exit=0 failures=0 gpus=GPU-0,GPU-1 node=alpha");
    assert_string_equal(app_rig_events(&rig, "workload/1"),
                        "workload.submitted::>train\n"
                        "workload.started:placed:queued>starting on alpha\n"
                        "workload.ended:exited:running>succeeded\n");
    assert_int_equal(app_rig_n_live(&rig), 0);
    assert_true(app_rig_attempt(&rig, 1, 0)->is_released);
    app_rig_crash(&rig);
    assert_int_equal(app_rig_n_live(&rig), 0);
    tick();
    assert_int_equal(rig.n_launches, 1);
}

static void a_failed_job_tells_how(void **state)
{
    uint64_t number = submit("{\"command\":[\"x\"],\"gpus\":1}");

    (void)state;
    app_rig_begin_all(&rig);
    app_rig_end(&rig, app_rig_attempt(&rig, number, 0), WEIR_END_EXITED, 3);
    tick();
    assert_string_equal(app_rig_record(&rig, number),
                        "failed attempt=1 exit=3 failures=0 gpus=GPU-0 node=alpha");
    assert_int_equal(app_rig_n_live(&rig), 0);
}

/* ---- what does not start, what does not stop ---- */

static void a_start_without_space_is_tried_again(void **state)
{
    uint64_t number;

    (void)state;
    rig.launch_result = WEIR_E_NO_SPACE;
    number = submit("{\"command\":[\"x\"],\"gpus\":1}");
    assert_int_equal(rig.n_launches, 1);
    assert_true(rig.server.dirty);
    tick();
    assert_string_equal(app_rig_record(&rig, number),
                        "queued attempt=0 exit=0 failures=0 gpus= node=");
    assert_int_equal(weir_server_wake(&rig.server),
                     rig.now.wall_ms + rig.server.policy.start_backoff_ms);
    rig.launch_result = 0;
    app_rig_pass(&rig, rig.server.policy.start_backoff_ms - 1);
    tick();
    assert_int_equal(rig.n_launches, 1);
    app_rig_crash(&rig); /* the back-off is remembered */
    tick();
    assert_int_equal(rig.n_launches, 1);
    app_rig_pass(&rig, 1);
    tick();
    assert_int_equal(rig.n_launches, 2);
    app_rig_begin_all(&rig);
    app_rig_end(&rig, app_rig_attempt(&rig, number, 0), WEIR_END_EXITED, 0);
    tick();
    assert_string_equal(app_rig_record(&rig, number),
                        "succeeded attempt=1 exit=0 failures=0 gpus=GPU-0 node=alpha");
}

static int print_detail(void *arg, const struct weir_workload_record *w)
{
    snprintf(arg, WEIR_CLUSTER_DETAIL_MAX, "%d %.*s", w->exit_status, WEIR_STR_ARG(w->detail));
    return 0;
}

static int print_details(void *arg, const struct weir_task_record *t)
{
    return weir_buf_printf(arg, "%u %.*s;", t->member, WEIR_STR_ARG(t->detail));
}

/* The status and the detail of the workload, and the details of its tasks. */
static void expect_details(uint64_t number, const char *whole, const char *tasks)
{
    char text[WEIR_CLUSTER_DETAIL_MAX];
    weir_cleanup_buf struct weir_buf all = WEIR_BUF_INIT(4096);

    assert_int_equal(rig.real.get_workload(rig.real.ctx, number, print_detail, text, NULL), 0);
    assert_string_equal(text, whole);
    assert_int_equal(rig.real.each_task(rig.real.ctx, number, print_details, &all, NULL), 0);
    assert_string_equal(weir_buf_cstr(&all), tasks);
}

static void why_it_can_never_start_is_kept(void **state)
{
    uint64_t number;

    (void)state;
    rig.launch_result = WEIR_E_INVALID;
    number = submit("{\"command\":[\"x\"],\"gpus\":1}");
    /* Its start is on disk, why it failed is not: the next server finds out again. */
    app_rig_crash(&rig);
    for (int i = 0; i < 3; i++) {
        tick();
        app_rig_pass(&rig, rig.server.policy.start_backoff_ms);
    }
    expect_details(number, "126 it does not start", "0 it does not start;");
    app_rig_crash(&rig);
    tick();
    expect_details(number, "126 it does not start", "0 it does not start;");
    assert_non_null(strstr(app_rig_events(&rig, "workload/1"),
                           "starting>failed exit 126: it does not start\n"));
}

/* An attempt that could not run its command, as its record says. */
static void end_unstarted(uint64_t number, uint32_t member, const char *why)
{
    struct app_attempt *attempt = app_rig_attempt(&rig, number, member);

    app_rig_end(&rig, attempt, WEIR_END_EXITED, 127);
    snprintf(attempt->facts.detail, sizeof(attempt->facts.detail), "%s", why);
}

static void a_workload_could_not_start_as_its_first_failure(void **state)
{
    static const char array[] = "{\"command\":[\"x\"],\"gpus\":1,\"array\":3}";
    uint64_t first = submit(array);
    uint64_t second;

    (void)state;
    app_rig_begin_all(&rig);
    end_unstarted(first, 1, "no such file");
    tick();
    app_rig_crash(&rig); /* the others end in another server */
    tick();
    end_unstarted(first, 2, "no such folder");
    tick();
    app_rig_end_all(&rig);
    tick();
    expect_details(first, "127 no such file", "0 ;1 no such file;2 no such folder;");
    second = submit(array);
    app_rig_begin_all(&rig);
    app_rig_end(&rig, app_rig_attempt(&rig, second, 0), WEIR_END_EXITED, 3);
    end_unstarted(second, 1, "no such file");
    app_rig_end_all(&rig);
    tick();
    expect_details(second, "3 ", "0 ;1 no such file;2 ;");
}

static void a_retry_that_starts_forgets_why_the_first_did_not(void **state)
{
    uint64_t number = submit("{\"command\":[\"x\"],\"gpus\":1,\"retries\":1}");

    (void)state;
    end_unstarted(number, 0, "no such file");
    tick();
    expect_details(number, "127 ", "0 no such file;");
    app_rig_pass(&rig, 60000);
    tick();
    expect_details(number, "127 ", "0 ;");
    app_rig_begin_all(&rig);
    app_rig_end(&rig, app_rig_attempt(&rig, number, 0), WEIR_END_EXITED, 3);
    tick();
    expect_details(number, "3 ", "0 ;");
}

static void cancel(uint64_t number)
{
    assert_int_equal(rig.service.cancel(rig.service.ctx, &app_ana, number, app_done(&rig), NULL),
                     0);
    tick();
}

static void a_stop_that_was_not_heard_is_said_again(void **state)
{
    uint64_t number = submit("{\"command\":[\"x\"],\"gpus\":1}");
    struct app_attempt *attempt = app_rig_attempt(&rig, number, 0);

    (void)state;
    app_rig_begin_all(&rig);
    tick();
    rig.command_result = WEIR_E_IO;
    cancel(number);
    assert_int_equal(attempt->n_stops, 0);
    rig.command_result = 0;
    assert_int_equal(weir_server_observe_attempts(&rig.server, true, NULL), 0);
    assert_int_equal(attempt->n_stops, 1);
    assert_int_equal(weir_server_observe_attempts(&rig.server, true, NULL), 0);
    assert_int_equal(attempt->n_stops, 1);
    app_rig_crash(&rig);
    tick(); /* who stops is not remembered: asked once more */
    assert_int_equal(attempt->n_stops, 2);
    app_rig_end(&rig, attempt, WEIR_END_STOPPED, 143);
    tick();
    assert_non_null(strstr(app_rig_record(&rig, number), "cancelled"));
    assert_int_equal(app_rig_n_live(&rig), 0);
}

static void a_stop_before_the_begin_is_said_after_it(void **state)
{
    uint64_t number = submit("{\"command\":[\"x\"],\"gpus\":1}");
    struct app_attempt *attempt = app_rig_attempt(&rig, number, 0);

    (void)state;
    cancel(number);
    assert_int_equal(attempt->n_stops, 0);
    app_rig_begin_all(&rig);
    tick();
    assert_int_equal(attempt->n_stops, 1);
    app_rig_end(&rig, attempt, WEIR_END_STOPPED, 143);
    tick();
    assert_non_null(strstr(app_rig_record(&rig, number), "cancelled"));
}

/* ---- devices ---- */

static const struct weir_device *device(const char *uuid)
{
    const struct weir_world *world = weir_edit_view(rig.server.edit);

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i))
        if (weir_str_eq_c(weir_world_string(world, weir_world_device(world, i)->uuid), uuid))
            return weir_world_device(world, i);
    return NULL;
}

static void observe(void)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_server_observe_devices(&rig.server, &err) < 0)
        fail_msg("%s", err.text);
    tick();
}

static void devices_go_and_come_back(void **state)
{
    uint64_t number = submit("{\"command\":[\"x\"],\"gpus\":1}");
    struct weir_device whole = *device("GPU-0");

    (void)state;
    app_rig_begin_all(&rig);
    tick();
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_DEVICE,
                                           WEIR_STR("GPU-3"), WEIR_NODE_CORDONED, false,
                                           app_done(&rig), NULL),
                     0);
    tick();
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_NODE,
                                           WEIR_STR("alpha"), WEIR_NODE_CORDONED, false,
                                           app_done(&rig), NULL),
                     0);
    tick();
    for (int i = 0; i < RIG_GPUS; i++)
        rig.gpu_is_absent[i] = true;
    observe();
    assert_int_equal(device("GPU-0")->health, WEIR_DEVICE_LOST);
    assert_int_equal(device("GPU-0")->held_mgpu, 1000);
    app_rig_crash(&rig); /* now only the store knows of them */
    tick();
    assert_non_null(strstr(app_rig_record(&rig, number), "running"));
    assert_non_null(device("GPU-0"));
    assert_int_equal(device("GPU-0")->held_mgpu, 1000);
    assert_int_equal(device("GPU-0")->cordoned, 0);
    assert_int_equal(device("GPU-0")->memory_bytes, whole.memory_bytes);
    assert_int_equal(weir_world_node(weir_edit_view(rig.server.edit), device("GPU-0")->node)->phase,
                     WEIR_NODE_CORDONED);
    assert_int_equal(device("GPU-3")->health, WEIR_DEVICE_LOST);
    assert_int_equal(device("GPU-3")->cordoned, 1);
    for (int i = 0; i < RIG_GPUS; i++)
        rig.gpu_is_absent[i] = false;
    observe();
    assert_int_equal(device("GPU-0")->health, WEIR_DEVICE_SUSPECT);
    app_rig_test_gpus(&rig);
    assert_int_equal(device("GPU-0")->health, WEIR_DEVICE_HEALTHY);
    assert_int_equal(device("GPU-0")->memory_bytes, whole.memory_bytes);
    assert_int_equal(device("GPU-0")->held_mgpu, 1000);
    assert_int_equal(device("GPU-0")->cordoned, 0);
    assert_int_equal(device("GPU-3")->cordoned, 1);
    assert_int_equal(weir_world_node(weir_edit_view(rig.server.edit), device("GPU-0")->node)->phase,
                     WEIR_NODE_CORDONED);
    assert_int_equal(device("GPU-0")->gpu_class, device("GPU-1")->gpu_class);
    submit("{\"command\":[\"y\"],\"gpus\":1}");
    assert_int_equal(rig.n_launches, 1); /* the node is cordoned */
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_NODE,
                                           WEIR_STR("alpha"), WEIR_NODE_READY, false,
                                           app_done(&rig), NULL),
                     0);
    tick();
    assert_int_equal(rig.n_launches, 2);
    app_rig_begin_all(&rig);
    app_rig_end_all(&rig);
    tick();
    assert_non_null(strstr(app_rig_record(&rig, number), "succeeded"));
}

static void a_lost_device_stays_cordoned(void **state)
{
    (void)state;
    submit("{\"command\":[\"x\"],\"gpus\":1}");
    app_rig_begin_all(&rig);
    assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_DEVICE,
                                           WEIR_STR("GPU-0"), WEIR_NODE_CORDONED, false,
                                           app_done(&rig), NULL),
                     0);
    tick();
    rig.gpu_is_absent[0] = true;
    app_rig_crash(&rig);
    tick();
    assert_int_equal(device("GPU-0")->health, WEIR_DEVICE_LOST);
    assert_int_equal(device("GPU-0")->cordoned, 1);
    rig.gpu_is_absent[0] = false;
    observe();
    app_rig_test_gpus(&rig);
    assert_int_equal(device("GPU-0")->health, WEIR_DEVICE_HEALTHY);
    assert_int_equal(device("GPU-0")->cordoned, 1);
}

/* ---- taking back ---- */

static void digest_plan(uint8_t ret_digest[16])
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_world *world = weir_edit_seal(rig.server.edit);
    struct weir_plan plan;

    assert_non_null(world);
    assert_int_equal(weir_decide(world, &rig.server.policy, rig.now, 7, NULL, &arena, &plan, NULL),
                     0);
    plan.world_version = 0;
    weir_plan_digest(&plan, ret_digest);
    weir_world_unref(world);
}

#define QUEUE(name, spec)                                                                          \
    "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"" name            \
    "\"},\"spec\":" spec "}"
#define WORKLOAD(spec) "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Workload\",\"spec\":" spec "}"

static void what_is_taken_back_decides_nothing(void **state)
{
    static const char *const texts[] = {
        "[" QUEUE("a", "{\"priority\":5,\"weight\":3}") "]",
        "[" QUEUE("b", "{\"parent\":\"q\"}") "]",
        "[" QUEUE("b", "{}") "," QUEUE("a", "{\"parent\":\"q\"}") "," QUEUE(
            "new", "{\"parent\":\"p\"}") "," WORKLOAD("{\"command\":[\"x\"],\"gpus\":1,"
                                                      "\"queue\":\"new\"}") "]",
        "[" WORKLOAD("{\"command\":[\"x\"],\"gpus\":1,\"priority\":9,\"queue\":\"a\"}") "]",
        "[" QUEUE("p", "{\"parent\":\"q\"}") "," QUEUE("new", "{}") "," QUEUE(
            "below", "{\"parent\":\"new\"}") "]",
    };
    uint8_t before[16];
    uint8_t after[16];

    (void)state;
    apply("[" QUEUE("p", "{}") "," QUEUE("q", "{}") "," QUEUE("a", "{\"parent\":\"p\"}") "," QUEUE(
        "b", "{\"parent\":\"p\"}") "," QUEUE("c", "{\"parent\":\"q\"}") "]");
    submit("{\"command\":[\"x\"],\"gpus\":4,\"queue\":\"c\"}");
    submit("{\"command\":[\"x\"],\"gpus\":1,\"queue\":\"a\"}");
    submit("{\"command\":[\"x\"],\"gpus\":1,\"queue\":\"b\"}");
    submit("{\"command\":[\"x\"],\"gpus\":2,\"queue\":\"c\"}");
    submit("{\"command\":[\"x\"],\"gpus\":2}");
    for (size_t i = 0; i < WEIR_COUNT_OF(texts); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        char failing[2048];
        uint32_t n = rig.n_launches;

        digest_plan(before);
        if (app_rig_apply(&rig, texts[i], true, &err) < 0)
            fail_msg("%zu: %s", i, err.text);
        digest_plan(after);
        if (memcmp(before, after, 16) != 0)
            fail_msg("%zu: another plan after a dry run", i);
        snprintf(failing, sizeof(failing), "%.*s,%s]", (int)strlen(texts[i]) - 1, texts[i],
                 WORKLOAD("{\"command\":[\"x\"],\"queue\":\"nowhere\"}"));
        assert_int_equal(app_rig_apply(&rig, failing, false, &err), WEIR_E_INVALID);
        digest_plan(after);
        assert_memory_equal(before, after, 16);
        tick();
        digest_plan(after);
        assert_memory_equal(before, after, 16);
        assert_int_equal(rig.n_launches, n);
        app_rig_crash(&rig);
        tick();
        assert_string_equal(app_rig_record(&rig, 6), "none");
    }
}

static void a_key_is_answered_whatever_became_of_the_queue(void **state)
{
    static const char spec[] = "{\"command\":[\"x\"],\"gpus\":1,\"queue\":\"a\"}";
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    apply("[" QUEUE("a", "{}") "]");
    assert_int_equal(app_rig_submit(&rig, spec, "k", NULL), 0);
    tick();
    app_rig_begin_all(&rig);
    app_rig_end_all(&rig);
    tick();
    assert_int_equal(app_rig_n_live(&rig), 0);
    apply("[" QUEUE("b", "{\"parent\":\"a\"}") "]");
    assert_int_equal(app_rig_submit(&rig, spec, "", NULL), WEIR_E_IMPOSSIBLE);
    assert_int_equal(app_rig_submit(&rig, spec, "k", NULL), 0);
    tick();
    assert_int_equal(rig.answers[rig.n_answers - 1].result, 0);
    assert_int_equal(rig.answers[rig.n_answers - 1].outcome, 1);
    assert_int_equal(app_rig_submit(&rig, "{\"command\":[\"y\"]}", "k", &err), WEIR_E_EXISTS);
    assert_string_equal(app_rig_record(&rig, 2), "none");
}

static void who_cannot_be_answered_has_not_asked(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r = 0;

    (void)state;
    assert_int_equal(app_rig_submit(&rig, "{\"command\":[\"x\"]}", "", NULL), 0);
    for (int i = 0; r == 0 && i < 60; i++) {
        weir_mem_fail(0, 1);
        r = weir_server_add_done(&rig.server, app_done(&rig), 0, &err);
        weir_mem_fail(0, 0);
    }
    assert_int_equal(r, WEIR_E_NO_MEMORY);
    assert_int_equal(app_rig_submit(&rig, "{\"command\":[\"x\"]}", "", NULL), WEIR_E_NO_MEMORY);
    assert_int_equal(app_rig_tick(&rig), WEIR_E_NO_MEMORY);
    assert_true(rig.n_answers > 0);
    for (uint32_t i = 0; i < rig.n_answers; i++)
        assert_int_equal(rig.answers[i].result, WEIR_E_NO_MEMORY);
    assert_string_equal(app_rig_record(&rig, 1), "none");
    assert_int_equal(submit("{\"command\":[\"x\"]}"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_lives_and_ends),
        TEST(a_failed_job_tells_how),
        TEST(a_start_without_space_is_tried_again),
        TEST(why_it_can_never_start_is_kept),
        TEST(a_workload_could_not_start_as_its_first_failure),
        TEST(a_retry_that_starts_forgets_why_the_first_did_not),
        TEST(a_stop_that_was_not_heard_is_said_again),
        TEST(a_stop_before_the_begin_is_said_after_it),
        TEST(devices_go_and_come_back),
        TEST(a_lost_device_stays_cordoned),
        TEST(what_is_taken_back_decides_nothing),
        TEST(a_key_is_answered_whatever_became_of_the_queue),
        TEST(who_cannot_be_answered_has_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
