/* The n-th allocation fails, for every n, in whatever the control plane does: nothing is half done,
 * whoever asked is told, and in the end every job has ended once. */
#include "app_rig.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/mem.h"
#include "fmt/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum op {
    OP_LOAD,
    OP_OBSERVE,
    OP_APPLY,
    OP_TICK_APPLIED,
    OP_SUBMIT_A,
    OP_SUBMIT_B,
    OP_TICK_START,
    OP_TICK_RUNNING,
    OP_SIGNAL,
    OP_CANCEL,
    OP_CORDON,
    OP_DRY_RUN,
    OP_TICK_STOP,
    OP_RELOAD,
    OP_TICK_ENDED,
    OP_DELETE,
    OP_TICK_DELETED,
    OP_MAX
};

#define HEAD(kind) "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"" kind "\","

static const char *const docs[OP_MAX] = {
    [OP_APPLY] =
        "[" HEAD("Queue") "\"metadata\":{\"name\":\"deep\"},\"spec\":{\"parent\":\"top\"}}"
                          "," HEAD("Queue") "\"metadata\":{\"name\":\"top\"},\"spec\":{"
                                            "\"limit\":{\"gpu\":4}}}," HEAD(
                                                "Queue") "\"metadata\":{\"name\":\"spare\"},"
                                                         "\"spec\":{}}]",
    [OP_SUBMIT_A] = HEAD("Workload") "\"spec\":{\"command\":[\"a\"],\"gpus\":1,\"members\":2}}",
    [OP_SUBMIT_B] =
        HEAD("Workload") "\"spec\":{\"command\":[\"b\"],\"gpus\":1,\"queue\":\"deep\"}}",
    [OP_DRY_RUN] =
        "[" HEAD("Queue") "\"metadata\":{\"name\":\"more\"},\"spec\":{\"parent\":\"top\"}}"
                          "," HEAD("Queue") "\"metadata\":{\"name\":\"spare\"},\"spec\":{"
                                            "\"parent\":\"top\"}}," HEAD(
                                                "Workload") "\"spec\":{\"command\":[\"c\"],"
                                                            "\"queue\":\"more\"}}]",
};

static struct app_rig rig;

static int apply(const struct weir_tree *list, bool dry_run, struct weir_arena *arena)
{
    struct weir_apply_result *results;
    const struct weir_tree *each[4];
    uint32_t n = 0;

    for (const struct weir_tree *doc = list->first; doc != NULL && n < 4; doc = doc->next)
        each[n++] = doc;
    return rig.service.apply(rig.service.ctx, &app_root, each, n, dry_run, arena, &results,
                             app_done(&rig), NULL);
}

static int do_op(enum op op, const struct weir_tree *doc, struct weir_arena *arena)
{
    const struct weir_service *service = &rig.service;
    struct weir_err err = WEIR_ERR_INIT;

    switch (op) {
    case OP_LOAD:
    case OP_RELOAD:
        return weir_server_load(&rig.server, &err);
    case OP_OBSERVE:
        weir_server_look(&rig.server, true);
        return 0; /* whether it failed is said by the next tick */
    case OP_APPLY:
        return apply(doc, false, arena);
    case OP_DRY_RUN:
        return apply(doc, true, arena);
    case OP_SUBMIT_A:
    case OP_SUBMIT_B:
        return service->submit(service->ctx, &app_ana, doc,
                               op == OP_SUBMIT_A ? WEIR_STR("a") : WEIR_STR("b"), app_done(&rig),
                               &err);
    case OP_SIGNAL:
        return service->signal(service->ctx, &app_ana, 1, 10, &err);
    case OP_CANCEL:
        return service->cancel(service->ctx, &app_ana, 2, app_done(&rig), &err);
    case OP_CORDON:
        return service->set_phase(service->ctx, &app_root, WEIR_SUBJECT_NODE, WEIR_STR("alpha"),
                                  WEIR_NODE_CORDONED, false, app_done(&rig), &err);
    case OP_DELETE:
        return service->delete_queue(service->ctx, &app_root, WEIR_STR("spare"), app_done(&rig),
                                     &err);
    case OP_TICK_APPLIED:
    case OP_TICK_START:
    case OP_TICK_RUNNING:
    case OP_TICK_STOP:
    case OP_TICK_ENDED:
    case OP_TICK_DELETED:
    case OP_MAX:
        break;
    }
    return weir_server_tick(&rig.server, &err);
}

static void before_op(enum op op)
{
    if (op == OP_OBSERVE)
        rig.gpu_is_absent[3] = false;
    if (op == OP_TICK_RUNNING)
        app_rig_begin_all(&rig);
    if (op == OP_TICK_ENDED)
        app_rig_end_all(&rig);
}

/* The op, with allocations failing from the n-th on, `count` in all. *ret_met: whether one did. */
static int try_op(enum op op, uint64_t n, uint64_t count, bool *ret_met)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    weir_cleanup_arena struct weir_arena of_op = WEIR_ARENA_INIT;
    struct weir_tree *doc = NULL;
    int r;

    if (docs[op] != NULL)
        assert_int_equal(weir_json_read(weir_str(docs[op]), NULL, &arena, &doc, NULL), 0);
    before_op(op);
    weir_mem_fail(n, count);
    r = do_op(op, doc, &of_op);
    *ret_met = count > 0 && weir_mem_count() > n;
    weir_mem_fail(0, 0);
    return r;
}

static void run_op(enum op op)
{
    bool met;
    int r = try_op(op, 0, 0, &met);

    /* What was not started for want of memory cannot be signalled. */
    if (r < 0 && !(op == OP_SIGNAL && r == WEIR_E_UNAVAILABLE))
        fail_msg("step %d fails by itself: %d", (int)op, r);
    app_rig_check(&rig);
}

/* The first of the steps whose outcome the tick at or after `op` decides. */
static enum op first_of_tick(enum op op)
{
    static const enum op firsts[] = {OP_LOAD,     OP_OBSERVE,      OP_APPLY,
                                     OP_SUBMIT_A, OP_TICK_RUNNING, OP_SIGNAL,
                                     OP_RELOAD,   OP_TICK_ENDED,   OP_DELETE};
    enum op first = OP_LOAD;

    for (size_t i = 0; i < WEIR_COUNT_OF(firsts); i++)
        if (firsts[i] <= op)
            first = firsts[i];
    return first;
}

/* After a failure: it is said, and the next tick makes it good. */
static void recover(void)
{
    uint32_t due = rig.n_answers + (uint32_t)rig.server.dones.n;
    bool failed = rig.server.failed != 0;
    int r;

    if (!failed)
        app_rig_check(&rig);
    r = app_rig_tick(&rig);
    assert_true(failed ? r < 0 : r == 0);
    assert_int_equal(rig.n_answers, due);
    assert_int_equal(app_rig_tick(&rig), 0);
}

static void set_out(void)
{
    app_rig_init(&rig);
    rig.gpu_is_absent[3] = true;
    app_rig_crash(&rig);
}

static void end_well(void)
{
    for (int i = 0; i < 20 && (i < 2 || app_rig_n_live(&rig) > 0); i++) {
        app_rig_pass(&rig, 4000);
        app_rig_begin_all(&rig);
        assert_int_equal(app_rig_tick(&rig), 0);
        if (i > 0)
            app_rig_end_all(&rig);
        assert_int_equal(app_rig_tick(&rig), 0);
        if (i == 1) /* cordoned on the way */
            assert_int_equal(rig.service.set_phase(rig.service.ctx, &app_root, WEIR_SUBJECT_NODE,
                                                   WEIR_STR("alpha"), WEIR_NODE_READY, false,
                                                   app_done(&rig), NULL),
                             0);
    }
    assert_int_equal(app_rig_n_live(&rig), 0);
    assert_non_null(strstr(app_rig_record(&rig, 1), "succeeded"));
    assert_non_null(strstr(app_rig_record(&rig, 2), "cancelled"));
    assert_string_equal(app_rig_record(&rig, 3), "none");
    assert_int_equal(weir_edit_view(rig.server.edit)->tables[WEIR_TABLE_DEVICES].n_live, RIG_GPUS);
    assert_int_equal(weir_world_node(weir_edit_view(rig.server.edit), 0)->capacity.of[WEIR_RES_GPU],
                     RIG_GPUS * 1000);
}

/* One life in which step `at` meets the failure. Returns whether it did. */
static bool live(enum op at, uint64_t n, uint64_t count)
{
    bool met = false;

    set_out();
    for (enum op op = OP_LOAD; op < OP_MAX; op++) {
        if (op != at) {
            run_op(op);
            continue;
        }
        /* A failure is said at once, or by the next tick. */
        if (try_op(op, n, count, &met) < 0 || rig.server.failed != 0) {
            assert_true(met);
            recover();
            for (enum op again = first_of_tick(op); again <= op; again++)
                run_op(again);
        } else {
            app_rig_check(&rig);
        }
    }
    end_well();
    app_rig_finish(&rig);
    return met;
}

static void live_all(enum op at, uint64_t count)
{
    uint64_t n = 0;

    while (live(at, n, count))
        n++;
}

static void one_allocation_fails(void **state)
{
    (void)state;
    for (enum op op = OP_LOAD; op < OP_MAX; op++)
        live_all(op, 1);
}

static void all_further_allocations_fail(void **state)
{
    (void)state;
    for (enum op op = OP_LOAD; op < OP_MAX; op++)
        live_all(op, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_further_allocations_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
