/* GPUs that jobs share by memory budgets, on a server with a store: how they are given out, and
 * what a server that comes back knows of it. */
#include "app_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

static void submit(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_submit(&rig, spec, "", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_begin_all(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
}

static void assert_on(uint64_t number, const char *device)
{
    const struct app_attempt *attempt = app_rig_attempt(&rig, number, 0);

    assert_non_null(attempt);
    assert_string_equal(attempt->devices, device);
}

#define BUDGET(gib) "{\"command\":[\"a\"],\"gpuMemory\":\"" #gib "Gi\"}"

static void budgets_share_what_nobody_has_whole(void **state)
{
    (void)state;
    submit("{\"command\":[\"a\"],\"gpus\":1}");
    submit(BUDGET(30));
    submit(BUDGET(60));
    submit(BUDGET(20));
    submit(BUDGET(40));
    assert_on(1, "GPU-0");
    assert_on(2, "GPU-1");
    assert_on(3, "GPU-2");
    assert_on(4, "GPU-2"); /* where the least is left */
    assert_on(5, "GPU-1");
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->budget_bytes, 0);
    assert_int_equal(app_rig_attempt(&rig, 4, 0)->budget_bytes, 20LL << 30);
    submit("{\"command\":[\"a\"],\"gpus\":1}");
    assert_on(6, "GPU-3");
    submit(BUDGET(20));
    assert_null(app_rig_attempt(&rig, 7, 0));
    app_rig_end(&rig, app_rig_attempt(&rig, 2, 0), WEIR_END_EXITED, 0);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_on(7, "GPU-1");
}

static void a_gpu_that_is_lost_keeps_its_sharers(void **state)
{
    (void)state;
    submit(BUDGET(30));
    submit(BUDGET(30));
    rig.gpu_is_absent[0] = true;
    app_rig_crash(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
    submit(BUDGET(10));
    assert_on(3, "GPU-1");
    rig.gpu_is_absent[0] = false;
    weir_server_look(&rig.server, true);
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_test_gpus(&rig);
    submit(BUDGET(21));
    assert_on(4, "GPU-1"); /* 20 are left beside the two */
    submit(BUDGET(20));
    assert_on(5, "GPU-0");
}

static void an_exclusive_mode_lets_nobody_in(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    submit(BUDGET(10));
    for (int i = 0; i < RIG_GPUS; i++)
        rig.gpu_is_exclusive[i] = true;
    weir_server_look(&rig.server, true);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_int_equal(app_rig_submit(&rig, BUDGET(11), "", &err), WEIR_E_IMPOSSIBLE);
    assert_string_equal(err.text, "asks for a part of a GPU, no GPU here can be shared");
    submit("{\"command\":[\"a\"],\"gpus\":3}");
    assert_on(2, "GPU-1,GPU-2,GPU-3");
}

#define GIB(n) ((int64_t)(n) << 30)

static uint32_t pid_of(uint64_t number)
{
    return app_rig_attempt(&rig, number, 0)->facts.pid;
}

static void assert_record(uint64_t number, const char *begin)
{
    const char *record = app_rig_record(&rig, number);

    if (strncmp(record, begin, strlen(begin)) != 0)
        fail_msg("'%s' does not begin with '%s'", record, begin);
}

static void an_offender_is_warned_then_stopped(void **state)
{
    (void)state;
    submit(BUDGET(20));
    submit(BUDGET(20));
    assert_on(2, "GPU-0");
    app_rig_use(&rig, 0, pid_of(1), GIB(20));
    app_rig_use(&rig, 0, pid_of(2), GIB(20));
    app_rig_sample(&rig);
    app_rig_use(&rig, 0, pid_of(2), GIB(24));
    app_rig_sample(&rig);
    assert_int_equal(app_rig_attempt(&rig, 2, 0)->n_stops, 0);
    assert_non_null(strstr(app_rig_events(&rig, "workload/2"),
                           "workload.over-budget:over-budget:running>24.0 GiB of 20.0 GiB\n"));
    weir_server_look_at_use(&rig.server); /* the same sample: nothing new */
    assert_false(rig.server.dirty);
    app_rig_sample(&rig);
    assert_int_equal(app_rig_attempt(&rig, 2, 0)->n_stops, 1);
    assert_int_equal(app_rig_attempt(&rig, 2, 0)->n_checkpoints, 0);
    assert_record(2, "stopping");
    app_rig_sample(&rig);
    app_rig_end(&rig, app_rig_attempt(&rig, 2, 0), WEIR_END_STOPPED, 143);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_record(2, "failed attempt=1 exit=143");
    assert_non_null(
        strstr(app_rig_events(&rig, "workload/2"), "workload.ended:over-budget:stopping>failed"));
    assert_record(1, "running");
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->n_stops, 0);
}

static void a_server_that_comes_back_goes_on_watching(void **state)
{
    (void)state;
    submit(BUDGET(20));
    app_rig_use(&rig, 0, pid_of(1), GIB(24));
    app_rig_sample(&rig);
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->n_stops, 0);
    app_rig_crash(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->n_stops, 0); /* one sample, so far */
    app_rig_sample(&rig);
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->n_stops, 1);
    app_rig_crash(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_record(1, "stopping");
    app_rig_end(&rig, app_rig_attempt(&rig, 1, 0), WEIR_END_STOPPED, 143);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_record(1, "failed");
    assert_non_null(strstr(app_rig_events(&rig, "workload/1"), "workload.ended:over-budget"));
}

static void only_what_is_a_jobs_own_is_held_against_it(void **state)
{
    (void)state;
    submit(BUDGET(20));
    submit(BUDGET(20));
    app_rig_use(&rig, 0, pid_of(1), GIB(15));
    app_rig_use(&rig, 0, pid_of(2), GIB(15));
    app_rig_use(&rig, 0, 77, GIB(40));        /* nobody's */
    app_rig_use(&rig, 1, pid_of(2), GIB(40)); /* not on the GPU that it holds */
    for (int i = 0; i < 4; i++)
        app_rig_sample(&rig);
    assert_record(1, "running");
    assert_record(2, "running");
    assert_null(strstr(app_rig_events(&rig, "workload/1"), "over-budget"));
    assert_null(strstr(app_rig_events(&rig, "workload/2"), "over-budget"));
    app_rig_use(&rig, 0, pid_of(2), -1); /* not known how much */
    app_rig_sample(&rig);
    app_rig_sample(&rig);
    assert_record(2, "running");
}

static void whose_they_are_may_not_be_told(void **state)
{
    (void)state;
    submit(BUDGET(20));
    app_rig_use(&rig, 0, pid_of(1), GIB(24));
    rig.owners_result = WEIR_E_IO;
    for (int i = 0; i < 3; i++)
        app_rig_sample(&rig);
    assert_record(1, "running");
    app_rig_crash(&rig); /* it comes up without, too */
    rig.owners_result = 0;
    app_rig_sample(&rig);
    app_rig_sample(&rig);
    assert_record(1, "stopping");
}

static void a_queue_may_let_it_pass(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    if (app_rig_apply(&rig,
                      "[{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Queue\",\"metadata\":{"
                      "\"name\":\"mild\"},\"spec\":{\"overBudget\":\"warn\"}}]",
                      false, &err) < 0)
        fail_msg("%s", err.text);
    submit("{\"command\":[\"a\"],\"queue\":\"mild\",\"gpuMemory\":\"20Gi\"}");
    app_rig_crash(&rig);
    app_rig_use(&rig, 0, pid_of(1), GIB(24));
    for (int i = 0; i < 20; i++)
        app_rig_sample(&rig);
    assert_record(1, "running");
    assert_non_null(strstr(app_rig_events(&rig, "workload/1"), "over-budget"));
    app_rig_use(&rig, 0, pid_of(1), GIB(12));
    for (int i = 0; i < 20; i++)
        app_rig_sample(&rig);
    assert_non_null(strstr(app_rig_events(&rig, "workload/1"),
                           "workload.within-budget:within-budget:running>running\n"));
}

/* ---- processes that have no business there ---- */

static const struct weir_device *device(uint32_t index)
{
    return weir_world_device(weir_edit_view(rig.server.edit), index);
}

static void assert_foreign(uint32_t index, uint32_t n, int gib)
{
    assert_int_equal(device(index)->n_foreign, n);
    assert_int_equal(device(index)->memory_foreign_bytes, GIB(gib));
}

#define WHOLE "{\"command\":[\"a\"],\"gpus\":1}"

static void a_stranger_keeps_a_gpu_from_being_given_out(void **state)
{
    (void)state;
    app_rig_sample(&rig);
    app_rig_use(&rig, 0, 77, GIB(10));
    app_rig_sample(&rig);
    assert_foreign(0, 0, 0); /* not for one sample */
    app_rig_sample(&rig);
    assert_foreign(0, 1, 10);
    submit(WHOLE);
    assert_on(1, "GPU-1");
    submit(BUDGET(60));
    assert_on(2, "GPU-0"); /* what the stranger leaves may be had */
    submit(BUDGET(20));
    assert_on(3, "GPU-2");
    app_rig_use(&rig, 0, 77, 0);
    app_rig_sample(&rig);
    assert_foreign(0, 0, 0); /* but gone it is at once */
    submit(BUDGET(20));
    assert_on(4, "GPU-0");
}

static void a_server_that_comes_back_gives_out_nothing_of_others(void **state)
{
    (void)state;
    app_rig_use(&rig, 0, 77, GIB(10));
    app_rig_use(&rig, 2, 78, GIB(10));
    rig.sample_ms = rig.now.mono_ms;
    app_rig_crash(&rig);
    assert_foreign(0, 1, 10);
    submit(WHOLE);
    assert_on(1, "GPU-1");
    submit(WHOLE);
    assert_on(2, "GPU-3");
    submit(WHOLE);
    assert_null(app_rig_attempt(&rig, 3, 0));
    app_rig_use(&rig, 2, 78, 0);
    app_rig_sample(&rig);
    assert_on(3, "GPU-2");
}

static void a_jobs_processes_are_never_strangers(void **state)
{
    (void)state;
    app_rig_sample(&rig);
    assert_int_equal(app_rig_submit(&rig, WHOLE, "", NULL), 0);
    assert_int_equal(app_rig_tick(&rig), 0);
    /* It uses the GPU before its start was seen. */
    app_rig_use(&rig, 0, 1000, GIB(10));
    for (int i = 0; i < 4; i++)
        app_rig_sample(&rig);
    assert_foreign(0, 0, 0);
    app_rig_begin_all(&rig);
    assert_int_equal(pid_of(1), 1000);
    for (int i = 0; i < 4; i++)
        app_rig_sample(&rig);
    assert_foreign(0, 0, 0);
    /* While it stops nobody is called a stranger; what is left of it then has a sample to go. */
    assert_int_equal(rig.service.cancel(rig.service.ctx, &app_ana, 1, app_done(&rig), NULL), 0);
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_attempt(&rig, 1, 0)->facts.pid = 1001;
    for (int i = 0; i < 4; i++)
        app_rig_sample(&rig);
    assert_foreign(0, 0, 0);
    app_rig_end(&rig, app_rig_attempt(&rig, 1, 0), WEIR_END_STOPPED, 143);
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_sample(&rig);
    assert_foreign(0, 0, 0);
    app_rig_sample(&rig);
    assert_foreign(0, 1, 10);
}

static void the_dead_are_no_strangers(void **state)
{
    (void)state;
    app_rig_sample(&rig);
    app_rig_use(&rig, 0, 77, GIB(10));
    rig.processes[0].is_gone = true;
    for (int i = 0; i < 4; i++)
        app_rig_sample(&rig);
    assert_foreign(0, 0, 0);
}

static void a_job_on_anothers_gpu_is_a_stranger_there(void **state)
{
    struct weir_server_process process;

    (void)state;
    submit(WHOLE);
    app_rig_use(&rig, 0, pid_of(1), GIB(10));
    app_rig_use(&rig, 1, pid_of(1), GIB(5));
    for (int i = 0; i < 3; i++)
        app_rig_sample(&rig);
    assert_foreign(0, 0, 0);
    assert_foreign(1, 1, 5);
    assert_true(weir_server_find_process(&rig.server, WEIR_STR("GPU-1"), pid_of(1), &process));
    assert_true(process.is_foreign);
    assert_int_equal(weir_server_task_of(&rig.server, process.serial), 0);
    assert_true(weir_server_find_process(&rig.server, WEIR_STR("GPU-0"), pid_of(1), &process));
    assert_false(process.is_foreign);
    assert_false(weir_server_find_process(&rig.server, WEIR_STR("GPU-2"), pid_of(1), &process));
    assert_false(weir_server_find_process(&rig.server, WEIR_STR("GPU-X"), pid_of(1), &process));
    assert_int_equal(app_rig_attempt(&rig, 1, 0)->n_stops, 0);
}

/* Nothing is known of its memory: nothing of the GPU is given out. One that only draws takes just
 * its memory. */
static void what_is_not_known_is_taken_for_all(void **state)
{
    (void)state;
    app_rig_sample(&rig);
    app_rig_use(&rig, 0, 77, -1);
    app_rig_use(&rig, 1, 78, GIB(2));
    app_rig_use(&rig, 1, 79, -1);
    rig.processes[1].only_draws = true;
    rig.processes[2].only_draws = true;
    app_rig_sample(&rig);
    app_rig_sample(&rig);
    assert_foreign(0, 1, 80);
    assert_foreign(1, 0, 2);
    submit(BUDGET(79));
    assert_on(1, "GPU-2");
    submit(WHOLE);
    assert_on(2, "GPU-1");
}

/* ---- isolation ---- */

static uint32_t isolation_of(uint64_t number)
{
    const struct weir_world *state = weir_edit_view(rig.server.edit);
    uint32_t task = weir_server_task_of(&rig.server, app_rig_attempt(&rig, number, 0)->ref.serial);

    return weir_world_hold_isolation(state, weir_world_task(state, task)->first_hold);
}

static void apply_queue(const char *isolation)
{
    struct weir_err err = WEIR_ERR_INIT;
    char text[512];

    snprintf(text, sizeof(text),
             "[{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Queue\",\"metadata\":{\"name\":"
             "\"prod\"},\"spec\":{\"isolation\":\"%s\"}},{\"apiVersion\":\"weir.dev/v1\","
             "\"kind\":\"Queue\",\"metadata\":{\"name\":\"web\"},\"spec\":{\"parent\":"
             "\"prod\"}}]",
             isolation);
    if (app_rig_apply(&rig, text, false, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(app_rig_tick(&rig), 0);
}

static void a_hold_has_the_isolation_that_there_is(void **state)
{
    (void)state;
    submit(WHOLE);
    submit(BUDGET(20));
    submit(BUDGET(80)); /* all of it, and yet not alone by right */
    assert_int_equal(isolation_of(1), WEIR_ISOLATION_HARDWARE);
    assert_int_equal(isolation_of(2), WEIR_ISOLATION_NONE);
    assert_int_equal(isolation_of(3), WEIR_ISOLATION_NONE);
    app_rig_crash(&rig);
    assert_int_equal(isolation_of(1), WEIR_ISOLATION_HARDWARE);
    assert_int_equal(isolation_of(3), WEIR_ISOLATION_NONE);
}

static void a_minimum_is_kept_to(void **state)
{
    static const struct {
        const char *spec;
        const char *field;
    } refused[] = {
        {"{\"command\":[\"a\"],\"gpuMemory\":\"20Gi\",\"isolation\":\"memory\"}", "spec.isolation"},
        {"{\"command\":[\"a\"],\"gpuMemory\":\"20Gi\",\"isolation\":\"hardware\"}",
         "spec.isolation"},
        {"{\"command\":[\"a\"],\"gpuMemory\":\"20Gi\",\"queue\":\"web\"}", "spec.queue"},
    };
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    apply_queue("memory");
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(app_rig_submit(&rig, refused[i].spec, "", &err), WEIR_E_IMPOSSIBLE);
        assert_string_equal(err.field, refused[i].field);
    }
    submit("{\"command\":[\"a\"],\"gpus\":1,\"queue\":\"web\",\"isolation\":\"hardware\"}");
    assert_int_equal(isolation_of(1), WEIR_ISOLATION_HARDWARE);
}

/* What a queue comes to demand does not end what runs, and nobody starts with less. */
static void a_minimum_that_comes_later_holds_for_who_waits(void **state)
{
    (void)state;
    apply_queue("none");
    submit("{\"command\":[\"a\"],\"gpus\":4,\"queue\":\"web\"}");
    submit("{\"command\":[\"a\"],\"gpuMemory\":\"20Gi\",\"queue\":\"web\"}");
    apply_queue("hardware");
    app_rig_end(&rig, app_rig_attempt(&rig, 1, 0), WEIR_END_EXITED, 0);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_null(app_rig_attempt(&rig, 2, 0));
    assert_int_equal(rig.server.plan.n_verdicts, 1);
    assert_int_equal(rig.server.plan.reasons[rig.server.plan.verdicts[0].blocking].code,
                     WEIR_REASON_ISOLATION);
    apply_queue("none");
    app_rig_begin_all(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_on(2, "GPU-0");
    apply_queue("hardware");
    assert_record(2, "running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(budgets_share_what_nobody_has_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_gpu_that_is_lost_keeps_its_sharers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_exclusive_mode_lets_nobody_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_offender_is_warned_then_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_comes_back_goes_on_watching, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(only_what_is_a_jobs_own_is_held_against_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(whose_they_are_may_not_be_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_queue_may_let_it_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stranger_keeps_a_gpu_from_being_given_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_comes_back_gives_out_nothing_of_others,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_jobs_processes_are_never_strangers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_dead_are_no_strangers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_on_anothers_gpu_is_a_stranger_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_taken_for_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hold_has_the_isolation_that_there_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_minimum_is_kept_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_minimum_that_comes_later_holds_for_who_waits, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
