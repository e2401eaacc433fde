/* The store through port/store.h, on a real file: what is written is read back, in order, and what
 * was taken back was not. */
#include "model/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store_rig.h"

static int check_workload(void *arg, const struct weir_workload_record *w)
{
    const struct weir_workload_record *like = arg;

    assert_int_equal(w->number, like->number);
    assert_true(weir_str_eq(w->name, like->name));
    assert_true(weir_str_eq(w->queue, like->queue));
    assert_true(weir_str_eq(w->owner, like->owner));
    assert_true(weir_str_eq(w->spec, like->spec));
    assert_true(weir_str_eq(w->gpus, like->gpus));
    assert_true(weir_str_eq(w->node, like->node));
    assert_true(weir_str_eq(w->detail, like->detail));
    assert_int_equal(w->uid, like->uid);
    assert_int_equal(w->gid, like->gid);
    assert_int_equal(w->class, like->class);
    assert_int_equal(w->priority, like->priority);
    assert_int_equal(w->n_tasks, like->n_tasks);
    assert_int_equal(w->independent, like->independent);
    assert_int_equal(w->is_demo, like->is_demo);
    assert_int_equal(w->state, like->state);
    assert_int_equal(w->cause, like->cause);
    assert_int_equal(w->attempt, like->attempt);
    assert_int_equal(w->exit_status, like->exit_status);
    assert_int_equal(w->cancelled, like->cancelled);
    assert_int_equal(w->n_failures, like->n_failures);
    assert_int_equal(w->submitted_wall_ms, like->submitted_wall_ms);
    assert_int_equal(w->started_wall_ms, like->started_wall_ms);
    assert_int_equal(w->ended_wall_ms, like->ended_wall_ms);
    assert_int_equal(w->not_before_wall_ms, like->not_before_wall_ms);
    return 0;
}

static void workloads_are_read_back(void **state)
{
    struct fixture f;
    struct weir_workload_record w = some_workload(1, "first");

    (void)state;
    open_store(&f);
    begin(&f);
    assert_int_equal(add(&f, "first"), 1);
    commit(&f);
    reopen(&f);
    assert_int_equal(f.store.get_workload(f.store.ctx, 1, check_workload, &w, NULL), 0);
    w.state = WEIR_TASK_FAILED;
    w.cause = WEIR_CAUSE_EXITED;
    w.detail = WEIR_STR("cannot run 'x'");
    w.attempt = 2;
    w.exit_status = -3;
    w.cancelled = 1;
    w.n_failures = 4;
    w.gpus = WEIR_STR("GPU-2,GPU-3");
    w.node = WEIR_STR("beta");
    w.started_wall_ms = 1700000000001;
    w.ended_wall_ms = 1700000000002;
    w.not_before_wall_ms = 0;
    begin(&f);
    assert_int_equal(f.store.update_workload(f.store.ctx, &w, NULL), 0);
    commit(&f);
    reopen(&f);
    assert_int_equal(f.store.get_workload(f.store.ctx, 1, check_workload, &w, NULL), 0);
    assert_int_equal(f.store.get_workload(f.store.ctx, 2, check_workload, &w, NULL),
                     WEIR_E_NOT_FOUND);
    close_store(&f);
}

static int check_task(void *arg, const struct weir_task_record *t)
{
    const struct weir_task_record *like = *(const struct weir_task_record **)arg;

    assert_int_equal(t->number, like->number);
    assert_int_equal(t->member, like->member);
    assert_int_equal(t->state, like->state);
    assert_int_equal(t->attempt, like->attempt);
    assert_int_equal(t->stop_cause, like->stop_cause);
    assert_int_equal(t->end, like->end);
    assert_int_equal(t->cause, like->cause);
    assert_int_equal(t->exit_status, like->exit_status);
    assert_int_equal(t->n_failures, like->n_failures);
    assert_true(t->serial == like->serial && t->nonce == like->nonce);
    assert_true(t->for_whom == like->for_whom);
    assert_int_equal(t->slot, like->slot);
    assert_true(weir_str_eq(t->node, like->node));
    assert_true(weir_str_eq(t->grants, like->grants));
    assert_true(weir_str_eq(t->detail, like->detail));
    assert_int_equal(t->started_wall_ms, like->started_wall_ms);
    assert_int_equal(t->started_mono_ms, like->started_mono_ms);
    assert_int_equal(t->ended_wall_ms, like->ended_wall_ms);
    assert_int_equal(t->not_before_wall_ms, like->not_before_wall_ms);
    (*(const struct weir_task_record **)arg)++;
    return 0;
}

static void tasks_are_read_back_in_order(void **state)
{
    struct fixture f;
    struct weir_task_record tasks[] = {
        {.number = 1,
         .state = 1,
         .attempt = 2,
         .stop_cause = 3,
         .end = 4,
         .cause = 5,
         .exit_status = 6,
         .n_failures = 7,
         .for_whom = UINT64_MAX,
         .serial = 8,
         .nonce = UINT64_MAX,
         .slot = 9,
         .node = WEIR_STR("alpha"),
         .grants = WEIR_STR("GPU-0:1:2:3"),
         .detail = WEIR_STR("no 'x': Ü"),
         .started_wall_ms = 10,
         .started_mono_ms = 11,
         .ended_wall_ms = 12,
         .not_before_wall_ms = 13},
        {.number = 1, .member = 1, .attempt = 1, .serial = UINT64_MAX - 1, .nonce = 1, .slot = 3},
        {.number = 1, .member = 10, .for_whom = 77, .serial = 5, .node = WEIR_STR("ü")},
    };
    const struct weir_task_record *next = tasks;

    (void)state;
    open_store(&f);
    begin(&f);
    for (int i = 2; i >= 0; i--)
        assert_int_equal(f.store.put_task(f.store.ctx, &tasks[i], NULL), 0);
    tasks[0].exit_status = -1;
    assert_int_equal(f.store.put_task(f.store.ctx, &tasks[0], NULL), 0);
    commit(&f);
    reopen(&f);
    assert_int_equal(f.store.each_task(f.store.ctx, 1, check_task, &next, NULL), 0);
    assert_ptr_equal(next, tasks + 3);
    assert_int_equal(f.store.each_task(f.store.ctx, 2, check_task, &next, NULL), 0);
    assert_ptr_equal(next, tasks + 3);
    close_store(&f);
}

static int list_cordon(void *arg, const struct weir_cordon_record *c)
{
    weir_buf_printf(arg, "%u %.*s %u %.*s;", c->subject_kind, WEIR_STR_ARG(c->name), c->phase,
                    WEIR_STR_ARG(c->cause));
    return 0;
}

static void find_cordon(struct fixture *f, uint32_t kind, const char *name, struct weir_buf *seen)
{
    assert_int_equal(
        f->store.find_cordon(f->store.ctx, kind, weir_str(name), list_cordon, seen, NULL), 0);
}

static void queues_and_cordons_are_read_back(void **state)
{
    struct fixture f;
    struct weir_buf seen = WEIR_BUF_INIT(4096);
    struct weir_queue_record queues[] = {{WEIR_STR("zeta"), WEIR_STR("{}"), 1},
                                         {WEIR_STR("beta"), WEIR_STR("{\"a\":1}"), 2},
                                         {WEIR_STR("zeta"), WEIR_STR("{\"b\":2}"), 99}};
    struct weir_cordon_record node = {WEIR_SUBJECT_NODE, WEIR_NODE_DRAINING, WEIR_STR("alpha"),
                                      WEIR_STR("user:ana")};
    struct weir_cordon_record gpu = {WEIR_SUBJECT_DEVICE, WEIR_NODE_CORDONED, WEIR_STR("alpha"),
                                     WEIR_STR("x")};
    char want[128];

    (void)state;
    open_store(&f);
    begin(&f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f.store.put_queue(f.store.ctx, &queues[i], NULL), 0);
    assert_int_equal(f.store.put_cordon(f.store.ctx, &node, NULL), 0);
    assert_int_equal(f.store.put_cordon(f.store.ctx, &gpu, NULL), 0);
    commit(&f);
    reopen(&f);
    assert_int_equal(f.store.each_queue(f.store.ctx, list_queue, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "zeta={\"b\":2}@1;beta={\"a\":1}@2;");
    weir_buf_reset(&seen);
    find_cordon(&f, WEIR_SUBJECT_DEVICE, "alpha", &seen);
    snprintf(want, sizeof(want), "%u alpha %u x;", WEIR_SUBJECT_DEVICE, WEIR_NODE_CORDONED);
    assert_string_equal(weir_buf_cstr(&seen), want);
    begin(&f);
    gpu.phase = WEIR_NODE_READY;
    assert_int_equal(f.store.put_cordon(f.store.ctx, &gpu, NULL), 0);
    assert_int_equal(f.store.delete_queue(f.store.ctx, WEIR_STR("zeta"), NULL), 0);
    commit(&f);
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_queue(f.store.ctx, list_queue, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "beta={\"a\":1}@2;");
    weir_buf_reset(&seen);
    find_cordon(&f, WEIR_SUBJECT_NODE, "alpha", &seen);
    find_cordon(&f, WEIR_SUBJECT_DEVICE, "alpha", &seen);
    find_cordon(&f, WEIR_SUBJECT_NODE, "alp", &seen);
    snprintf(want, sizeof(want), "%u alpha %u user:ana;", WEIR_SUBJECT_NODE, WEIR_NODE_DRAINING);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
    close_store(&f);
}

static int list_fault(void *arg, const struct weir_fault_record *fault)
{
    weir_buf_printf(arg, "%lld/%lld %lld %.*s %.*s%s;", (long long)fault->wall_ms,
                    (long long)fault->mono_ms, (long long)fault->source_seq,
                    WEIR_STR_ARG(fault->node), WEIR_STR_ARG(fault->event),
                    memcmp(fault->boot_id, boot, sizeof(boot)) == 0 ? "" : " (of another boot)");
    return 0;
}

static int list_mark(void *arg, const struct weir_mark_record *mark)
{
    weir_buf_printf(arg, "%.*s %.*s %.*s %u/%u @%lld%s;", WEIR_STR_ARG(mark->key),
                    WEIR_STR_ARG(mark->cause), WEIR_STR_ARG(mark->class), mark->action, mark->then,
                    (long long)mark->since_wall_ms,
                    memcmp(mark->boot_id, boot, sizeof(boot)) == 0 ? "" : " (of another boot)");
    return 0;
}

static void faults_are_kept_in_order(void **state)
{
    struct weir_buf seen = WEIR_BUF_INIT(4096);
    struct fixture f;

    (void)state;
    open_store(&f);
    begin(&f);
    for (int64_t i = 3; i >= 1; i--) {
        struct weir_fault_record fault = {
            i * 1000, i, boot, i == 2 ? 0 : 10 + i, WEIR_STR("alpha"), WEIR_STR("{\"Ü\":1}")};

        assert_int_equal(f.store.append_fault(f.store.ctx, &fault, NULL), 0);
    }
    commit(&f);
    reopen(&f);
    assert_int_equal(f.store.each_fault(f.store.ctx, list_fault, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen),
                        "3000/3 13 alpha {\"Ü\":1};2000/2 0 alpha {\"Ü\":1};1000/1 11 alpha "
                        "{\"Ü\":1};");
    begin(&f);
    assert_int_equal(f.store.delete_faults(f.store.ctx, 2000, NULL), 0);
    commit(&f);
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_fault(f.store.ctx, list_fault, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen),
                        "3000/3 13 alpha {\"Ü\":1};2000/2 0 alpha {\"Ü\":1};");
    weir_buf_finish(&seen);
    close_store(&f);
}

static void marks_are_put_and_deleted(void **state)
{
    struct weir_mark_record marks[] = {
        {WEIR_STR("GPU-2"), WEIR_STR("it fell off"), WEIR_STR("xid:79"), 10, 11, 5, boot},
        {WEIR_STR("GPU-1"), WEIR_STR("Ü"), WEIR_STR("xid:48"), 7, 0, 6, boot},
    };
    struct weir_buf seen = WEIR_BUF_INIT(4096);
    struct fixture f;

    (void)state;
    open_store(&f);
    begin(&f);
    for (int i = 0; i < 2; i++)
        assert_int_equal(f.store.put_mark(f.store.ctx, &marks[i], NULL), 0);
    marks[0].cause = WEIR_STR("again");
    assert_int_equal(f.store.put_mark(f.store.ctx, &marks[0], NULL), 0);
    commit(&f);
    reopen(&f);
    assert_int_equal(f.store.each_mark(f.store.ctx, list_mark, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "GPU-1 Ü xid:48 7/0 @6;GPU-2 again xid:79 10/11 @5;");
    begin(&f);
    assert_int_equal(f.store.delete_mark(f.store.ctx, WEIR_STR("GPU-2"), NULL), 0);
    assert_int_equal(f.store.delete_mark(f.store.ctx, WEIR_STR("GPU-3"), NULL), 0);
    commit(&f);
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_mark(f.store.ctx, list_mark, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "GPU-1 Ü xid:48 7/0 @6;");
    weir_buf_finish(&seen);
    close_store(&f);
}

static int list_gpu(void *arg, const struct weir_gpu_record *gpu)
{
    weir_buf_printf(arg, "%.*s%s=%.*s@%lld;", WEIR_STR_ARG(gpu->key),
                    gpu->is_simulated ? " (simulated)" : "", WEIR_STR_ARG(gpu->facts),
                    (long long)gpu->seen_wall_ms);
    return gpu->seen_wall_ms == 7;
}

static void gpus_are_kept_by_name(void **state)
{
    struct weir_gpu_record real = {WEIR_STR("GPU-b"), WEIR_STR("{}"), false, 1};
    struct weir_gpu_record simulated = {WEIR_STR("GPU-a"), WEIR_STR("{\"index\":1}"), true, 2};
    struct weir_buf seen = WEIR_BUF_INIT(4096);
    struct fixture f;

    (void)state;
    open_store(&f);
    begin(&f);
    assert_int_equal(f.store.put_gpu(f.store.ctx, &real, NULL), 0);
    assert_int_equal(f.store.put_gpu(f.store.ctx, &simulated, NULL), 0);
    real.facts = WEIR_STR("{\"index\":2}");
    real.seen_wall_ms = 3;
    assert_int_equal(f.store.put_gpu(f.store.ctx, &real, NULL), 0);
    commit(&f);
    reopen(&f);
    assert_int_equal(f.store.each_gpu(f.store.ctx, list_gpu, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen),
                        "GPU-a (simulated)={\"index\":1}@2;GPU-b={\"index\":2}@3;");
    begin(&f);
    assert_int_equal(f.store.delete_gpu(f.store.ctx, WEIR_STR("GPU-b"), NULL), 0);
    assert_int_equal(f.store.delete_gpu(f.store.ctx, WEIR_STR("GPU-none"), NULL), 0);
    simulated.seen_wall_ms = 7; /* the walk ends where the callback says */
    assert_int_equal(f.store.put_gpu(f.store.ctx, &simulated, NULL), 0);
    commit(&f);
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_gpu(f.store.ctx, list_gpu, &seen, NULL), 1);
    assert_string_equal(weir_buf_cstr(&seen), "GPU-a (simulated)={\"index\":1}@7;");
    weir_buf_finish(&seen);
    close_store(&f);
}

static void events_come_in_order(void **state)
{
    struct fixture f;
    int64_t last = -1;

    (void)state;
    open_store(&f);
    assert_int_equal(f.store.last_event(f.store.ctx, &last, NULL), 0);
    assert_int_equal(last, 0);
    begin(&f);
    for (int i = 0; i < 6; i++) {
        char kind[2] = {(char)('a' + i), 0};

        assert_int_equal(append_event(&f, kind), 0);
    }
    commit(&f);
    reopen(&f);
    expect_events(&f, 0, 100, "1a 2b 3c 4d 5e 6f ");
    expect_events(&f, 2, 3, "3c 4d 5e ");
    assert_int_equal(f.store.last_event(f.store.ctx, &last, NULL), 0);
    assert_int_equal(last, 6);
    close_store(&f);
}

static void add_requested(struct fixture *f, uint64_t number, const char *key)
{
    struct weir_workload_record w = some_workload(number, "requested");

    w.request = weir_str(key);
    memcpy(w.digest, boot, sizeof(w.digest));
    assert_int_equal(f->store.add_workload(f->store.ctx, &w, NULL), 0);
}

static void a_key_is_remembered_per_owner(void **state)
{
    struct fixture f;
    struct weir_workload_record again = some_workload(10, "again");
    uint8_t digest[16];
    uint64_t number = 0;

    (void)state;
    open_store(&f);
    begin(&f);
    add_requested(&f, 7, "k");
    commit(&f);
    reopen(&f);
    assert_int_equal(
        f.store.get_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k"), digest, &number, NULL), 0);
    assert_int_equal(number, 7);
    assert_memory_equal(digest, boot, 16);
    assert_int_equal(f.store.get_request(f.store.ctx, WEIR_STR("bob"), WEIR_STR("k"), digest,
                                         &number, NULL),
                     WEIR_E_NOT_FOUND);
    assert_int_equal(f.store.get_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR(""), digest,
                                         &number, NULL),
                     WEIR_E_NOT_FOUND);
    begin(&f);
    assert_int_equal(add(&f, "without"), 8);
    assert_int_equal(add(&f, "another"), 9);
    again.request = WEIR_STR("k");
    assert_true(f.store.add_workload(f.store.ctx, &again, NULL) < 0);
    f.store.rollback(f.store.ctx);
    close_store(&f);
}

/* ---- lists ---- */

static int stop_at_three(void *arg, const struct weir_workload_record *w)
{
    (void)arg;
    return w->number == 3 ? 42 : 0;
}

static void add_like(struct fixture *f, const char *name, const char *queue, const char *owner,
                     uint32_t state, int64_t ended)
{
    struct weir_workload_record w = some_workload(0, name);

    w.queue = weir_str(queue);
    w.owner = weir_str(owner);
    w.state = state;
    w.ended_wall_ms = ended;
    assert_int_equal(f->store.next_number(f->store.ctx, &w.number, NULL), 0);
    assert_int_equal(f->store.add_workload(f->store.ctx, &w, NULL), 0);
}

static void lists_are_filtered_and_paged(void **state)
{
    struct fixture f;
    struct weir_workload_filter any = {.all = true, .state = -1};
    struct weir_workload_filter filter = any;

    (void)state;
    open_store(&f);
    begin(&f);
    add_like(&f, "a", "default", "ana", WEIR_TASK_QUEUED, 0);
    add_like(&f, "b", "default", "bob", WEIR_TASK_SUCCEEDED, 9);
    add_like(&f, "a", "research", "ana", WEIR_TASK_RUNNING, 0);
    add_like(&f, "c", "research", "bob", WEIR_TASK_FAILED, 8);
    add_like(&f, "a", "research", "bob", WEIR_TASK_QUEUED, 0);
    commit(&f);
    expect_list(&f, &any, "1 2 3 4 5 ");
    filter.all = false;
    expect_list(&f, &filter, "1 3 5 ");
    filter.limit = 2;
    expect_list(&f, &filter, "1 3 ");
    filter.after_number = 3;
    expect_list(&f, &filter, "5 ");
    filter = any;
    filter.queue = WEIR_STR("research");
    expect_list(&f, &filter, "3 4 5 ");
    filter.owner = WEIR_STR("bob");
    expect_list(&f, &filter, "4 5 ");
    filter.name = WEIR_STR("a");
    expect_list(&f, &filter, "5 ");
    filter = any;
    filter.state = WEIR_TASK_QUEUED;
    expect_list(&f, &filter, "1 5 ");
    filter.name = WEIR_STR("nobody' OR 1=1 --");
    expect_list(&f, &filter, "");
    assert_int_equal(f.store.each_workload(f.store.ctx, &any, false, stop_at_three, NULL, NULL),
                     42);
    close_store(&f);
}

/* ---- transactions ---- */

static void what_is_rolled_back_was_not(void **state)
{
    struct fixture f;

    (void)state;
    open_store(&f);
    begin(&f);
    assert_int_equal(add(&f, "a"), 1);
    f.store.rollback(f.store.ctx);
    expect_all(&f, "");
    f.store.rollback(f.store.ctx);
    begin(&f);
    add(&f, "b");
    close_store(&f); /* open when the process ends */
    open_store(&f);
    expect_all(&f, "");
    begin(&f);
    add(&f, "c");
    assert_int_equal(f.store.commit(f.store.ctx, false, NULL), 0);
    reopen(&f);
    expect_all(&f, "1 ");
    assert_int_equal(f.store.sync(f.store.ctx, NULL), 0);
    close_store(&f);
}

static void a_mark_is_undone_alone(void **state)
{
    struct fixture f;

    (void)state;
    open_store(&f);
    begin(&f);
    assert_int_equal(add(&f, "a"), 1);
    assert_int_equal(f.store.mark(f.store.ctx, NULL), 0);
    assert_int_equal(add(&f, "b"), 2);
    assert_int_equal(f.store.undo(f.store.ctx, NULL), 0);
    assert_int_equal(f.store.mark(f.store.ctx, NULL), 0);
    assert_int_equal(add(&f, "c"), 2);
    assert_int_equal(f.store.mark(f.store.ctx, NULL), 0);
    assert_int_equal(add(&f, "d"), 3);
    assert_int_equal(f.store.undo(f.store.ctx, NULL), 0);
    commit(&f);
    reopen(&f);
    expect_all(&f, "1 2 ");
    close_store(&f);
}

static int refuse_task(void *arg, const struct weir_task_record *t)
{
    (void)arg;
    (void)t;
    return WEIR_E_IO;
}

static void make_old(struct fixture *f, uint64_t number, int64_t ended)
{
    struct weir_workload_record w = some_workload(number, "old");
    struct weir_task_record t = {.number = number, .state = WEIR_TASK_SUCCEEDED};

    w.ended_wall_ms = ended;
    w.state = WEIR_TASK_SUCCEEDED;
    assert_int_equal(f->store.update_workload(f->store.ctx, &w, NULL), 0);
    for (t.member = 0; t.member < 2; t.member++)
        assert_int_equal(f->store.put_task(f->store.ctx, &t, NULL), 0);
}

static int list_until_odd(void *arg, const struct weir_task_record *t)
{
    list_task(arg, t);
    return t->member % 2 == 1;
}

static void prune_telling(struct fixture *f, int64_t wall_ms, int64_t seq, uint32_t limit,
                          int (*each)(void *arg, const struct weir_task_record *task),
                          const char *want, int expected)
{
    struct weir_buf seen = WEIR_BUF_INIT(4096);

    begin(f);
    assert_int_equal(f->store.prune(f->store.ctx, wall_ms, seq, limit, each, &seen, NULL),
                     expected);
    commit(f);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
}

static void numbers_go_on_above_those_skipped(void **state)
{
    struct fixture f;

    (void)state;
    open_store(&f);
    begin(&f);
    assert_int_equal(add(&f, "first"), 1);
    commit(&f);
    assert_int_equal(weir_sqlite_skip_numbers(f.sqlite, 1, NULL), 0);
    begin(&f);
    assert_int_equal(add(&f, "none was skipped"), 2);
    commit(&f);
    assert_int_equal(weir_sqlite_skip_numbers(f.sqlite, 20, NULL), 0);
    reopen(&f);
    begin(&f);
    assert_int_equal(add(&f, "some were"), 21);
    commit(&f);
    close_store(&f);
}

static void prune(struct fixture *f, int64_t wall_ms, int64_t seq, uint32_t limit, const char *want,
                  int expected)
{
    prune_telling(f, wall_ms, seq, limit, list_task, want, expected);
}

static void only_the_old_is_pruned(void **state)
{
    struct fixture f;
    struct weir_buf seen = WEIR_BUF_INIT(4096);
    uint8_t digest[16];
    uint64_t number;

    (void)state;
    open_store(&f);
    begin(&f);
    for (unsigned i = 1; i <= 6; i++) {
        char key[8];

        snprintf(key, sizeof(key), "k%u", i);
        add_requested(&f, i, key);
        assert_int_equal(append_event(&f, "e"), 0);
    }
    make_old(&f, 1, 100);
    make_old(&f, 2, 300);
    make_old(&f, 4, 50);
    make_old(&f, 6, 200);
    commit(&f);
    begin(&f);
    assert_int_equal(f.store.prune(f.store.ctx, 200, 0, 9, refuse_task, NULL, NULL), WEIR_E_IO);
    f.store.rollback(f.store.ctx);
    expect_all(&f, "1 2 3 4 5 6 ");
    prune(&f, 200, 3, 1, "4/0 ", 1); /* a part of it */
    expect_events(&f, 0, 100, "2e 3e 4e 5e 6e ");
    prune(&f, 200, 0, 1, "4/1 ", 1);
    expect_all(&f, "1 2 3 4 5 6 ");
    prune(&f, 200, 0, 1, "", 1);
    expect_all(&f, "1 2 3 5 6 ");
    prune(&f, 200, 3, 10, "1/0 1/1 ", 0);
    expect_events(&f, 0, 100, "4e 5e 6e ");
    expect_all(&f, "2 3 5 6 ");
    assert_int_equal(f.store.each_task(f.store.ctx, 4, list_task, &seen, NULL), 0);
    assert_int_equal(seen.len, 0);
    assert_int_equal(f.store.get_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k4"), digest,
                                         &number, NULL),
                     WEIR_E_NOT_FOUND);
    assert_int_equal(f.store.get_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k6"), digest,
                                         &number, NULL),
                     0);
    prune(&f, 1000, 0, 3, "6/0 6/1 ", 1);
    prune_telling(&f, 1000, 0, 10, list_until_odd, "2/0 2/1 ", 1);
    prune(&f, 1000, 4, 10, "", 0);
    prune(&f, 1000, 5, 1, "", 1); /* of events too */
    prune(&f, 1000, 5, 1, "", 0);
    expect_all(&f, "3 5 ");
    reopen(&f);
    begin(&f);
    assert_int_equal(add(&f, "next"), 7); /* although 6 is gone */
    assert_int_equal(append_event(&f, "g"), 0);
    commit(&f);
    weir_buf_finish(&seen);
    close_store(&f);
}

#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, temp_dir_make, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(workloads_are_read_back),
        IN_DIR(tasks_are_read_back_in_order),
        IN_DIR(queues_and_cordons_are_read_back),
        IN_DIR(faults_are_kept_in_order),
        IN_DIR(marks_are_put_and_deleted),
        IN_DIR(gpus_are_kept_by_name),
        IN_DIR(events_come_in_order),
        IN_DIR(a_key_is_remembered_per_owner),
        IN_DIR(lists_are_filtered_and_paged),
        IN_DIR(what_is_rolled_back_was_not),
        IN_DIR(a_mark_is_undone_alone),
        IN_DIR(numbers_go_on_above_those_skipped),
        IN_DIR(only_the_old_is_pruned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
