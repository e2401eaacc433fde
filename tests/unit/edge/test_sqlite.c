/* The store through port/store.h, on a real file: what is written is read back, what is committed
 * stays, whatever fails. */
#include "base/mem.h"
#include "model/plan.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    assert_int_equal(t->slot, like->slot);
    assert_true(weir_str_eq(t->node, like->node));
    assert_true(weir_str_eq(t->grants, like->grants));
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
        {1, 0, 1, 2, 3, 4, 5, 6, 7, 8, UINT64_MAX, 9, WEIR_STR("alpha"), WEIR_STR("GPU-0:1:2:3"),
         10, 11, 12, 13},
        {1, 1, 2, 1, 0, 0, 1, 0, 0, UINT64_MAX - 1, 1, 3, WEIR_STR(""), WEIR_STR(""), 1, 2, 0, 0},
        {1, 10, 2, 1, 0, 0, 1, 0, 0, 5, 6, 4, WEIR_STR("ü"), WEIR_STR(""), 1, 2, 0, 0},
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

static int list_queue(void *arg, const struct weir_queue_record *q)
{
    weir_buf_printf(arg, "%.*s=%.*s@%lld;", WEIR_STR_ARG(q->name), WEIR_STR_ARG(q->spec),
                    (long long)q->created_wall_ms);
    return 0;
}

static int list_cordon(void *arg, const struct weir_cordon_record *c)
{
    weir_buf_printf(arg, "%u %.*s %u %.*s;", c->subject_kind, WEIR_STR_ARG(c->name), c->phase,
                    WEIR_STR_ARG(c->cause));
    return 0;
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
    begin(&f);
    gpu.phase = WEIR_NODE_READY;
    assert_int_equal(f.store.put_cordon(f.store.ctx, &gpu, NULL), 0);
    assert_int_equal(f.store.delete_queue(f.store.ctx, WEIR_STR("zeta"), NULL), 0);
    commit(&f);
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_queue(f.store.ctx, list_queue, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "beta={\"a\":1}@2;");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_cordon(f.store.ctx, list_cordon, &seen, NULL), 0);
    snprintf(want, sizeof(want), "%u alpha %u user:ana;", WEIR_SUBJECT_NODE, WEIR_NODE_DRAINING);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
    close_store(&f);
}

static int list_event(void *arg, const struct weir_event_record *e)
{
    assert_memory_equal(e->boot_id, boot, 16);
    assert_int_equal(e->wall_ms, 11);
    assert_int_equal(e->mono_ms, 12);
    assert_true(weir_str_eq_c(e->actor, "user:ana") && weir_str_eq_c(e->cause, "placed"));
    assert_true(weir_str_eq_c(e->subject, "workload/1") && weir_str_eq_c(e->before, "queued"));
    assert_true(weir_str_eq_c(e->after, "starting"));
    weir_buf_printf(arg, "%lld%.*s ", (long long)e->seq, WEIR_STR_ARG(e->kind));
    return 0;
}

static void events_come_in_order(void **state)
{
    struct fixture f;
    struct weir_buf seen = WEIR_BUF_INIT(4096);
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
    assert_int_equal(f.store.each_event(f.store.ctx, 0, 100, list_event, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "1a 2b 3c 4d 5e 6f ");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_event(f.store.ctx, 2, 3, list_event, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "3c 4d 5e ");
    assert_int_equal(f.store.last_event(f.store.ctx, &last, NULL), 0);
    assert_int_equal(last, 6);
    weir_buf_finish(&seen);
    close_store(&f);
}

static void a_key_is_remembered_per_owner(void **state)
{
    struct fixture f;
    uint8_t digest[16];
    uint64_t number = 0;

    (void)state;
    open_store(&f);
    begin(&f);
    assert_int_equal(
        f.store.put_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k"), boot, 7, 1, NULL), 0);
    commit(&f);
    reopen(&f);
    assert_int_equal(
        f.store.get_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k"), digest, &number, NULL), 0);
    assert_int_equal(number, 7);
    assert_memory_equal(digest, boot, 16);
    assert_int_equal(f.store.get_request(f.store.ctx, WEIR_STR("bob"), WEIR_STR("k"), digest,
                                         &number, NULL),
                     WEIR_E_NOT_FOUND);
    begin(&f);
    assert_true(f.store.put_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k"), boot, 8, 1, NULL) <
                0);
    f.store.rollback(f.store.ctx);
    close_store(&f);
}

/* ---- lists ---- */

static int stop_at_three(void *arg, const struct weir_workload_record *w)
{
    (void)arg;
    return w->number == 3 ? 42 : 0;
}

static void expect_list(struct fixture *f, const struct weir_workload_filter *filter,
                        const char *want)
{
    struct weir_buf seen = WEIR_BUF_INIT(4096);

    assert_int_equal(
        f->store.each_workload(f->store.ctx, filter, false, list_workload, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
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

static void expect_all(struct fixture *f, const char *want)
{
    struct weir_workload_filter any = {.all = true, .state = -1};

    expect_list(f, &any, want);
}

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

static int list_task(void *arg, const struct weir_task_record *t)
{
    weir_buf_printf(arg, "%llu/%u ", (unsigned long long)t->number, t->member);
    return 0;
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
    char key[8];

    w.ended_wall_ms = ended;
    w.state = WEIR_TASK_SUCCEEDED;
    snprintf(key, sizeof(key), "k%u", (unsigned)number);
    assert_int_equal(f->store.update_workload(f->store.ctx, &w, NULL), 0);
    for (t.member = 0; t.member < 2; t.member++)
        assert_int_equal(f->store.put_task(f->store.ctx, &t, NULL), 0);
    assert_int_equal(f->store.put_request(f->store.ctx, WEIR_STR("ana"), weir_str(key), boot,
                                          number, 1, NULL),
                     0);
}

static void prune(struct fixture *f, int64_t wall_ms, int64_t seq, uint32_t limit, const char *want)
{
    struct weir_buf seen = WEIR_BUF_INIT(4096);

    begin(f);
    assert_int_equal(f->store.prune(f->store.ctx, wall_ms, seq, limit, list_task, &seen, NULL), 0);
    commit(f);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
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
    for (int i = 0; i < 6; i++) {
        add(&f, "w");
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
    prune(&f, 200, 3, 1, "4/0 4/1 ");
    assert_int_equal(f.store.each_event(f.store.ctx, 0, 100, list_event, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "2e 3e 4e 5e 6e ");
    prune(&f, 200, 3, 10, "1/0 1/1 ");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_event(f.store.ctx, 0, 100, list_event, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "4e 5e 6e ");
    expect_all(&f, "2 3 5 6 ");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_task(f.store.ctx, 4, list_task, &seen, NULL), 0);
    assert_int_equal(seen.len, 0);
    assert_int_equal(f.store.get_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k4"), digest,
                                         &number, NULL),
                     WEIR_E_NOT_FOUND);
    assert_int_equal(f.store.get_request(f.store.ctx, WEIR_STR("ana"), WEIR_STR("k6"), digest,
                                         &number, NULL),
                     0);
    prune(&f, 1000, 0, 10, "6/0 6/1 2/0 2/1 ");
    reopen(&f);
    begin(&f);
    assert_int_equal(add(&f, "next"), 7); /* although 6 is gone */
    assert_int_equal(append_event(&f, "g"), 0);
    commit(&f);
    weir_buf_finish(&seen);
    close_store(&f);
}

/* ---- opening ---- */

static void put_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static size_t get_file(const char *path, char *bytes, size_t max)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, max, file);
    fclose(file);
    return n;
}

static int refused(const char *path, struct weir_err *ret_err)
{
    struct fixture f;

    *ret_err = (struct weir_err)WEIR_ERR_INIT;
    return weir_sqlite_open(path, &f.sqlite, &f.store, ret_err);
}

static void sql_at(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void what_is_not_ours_is_left_alone(void **state)
{
    static char before[65536];
    static char after[65536];
    struct weir_err err;
    const char *path = temp_path("other.db");
    size_t n;

    (void)state;
    put_file(path, "this is a letter, and no database at all; it goes on for a while ...", 68);
    assert_int_equal(refused(path, &err), WEIR_E_CORRUPT);
    assert_non_null(strstr(err.text, "other.db"));
    assert_true(err.hint[0] != '\0');
    assert_int_equal(get_file(path, after, sizeof(after)), 68);
    assert_int_equal(remove(path), 0);
    sql_at(path, "CREATE TABLE people(name TEXT); INSERT INTO people VALUES('x')");
    n = get_file(path, before, sizeof(before));
    assert_int_equal(refused(path, &err), WEIR_E_CORRUPT);
    assert_non_null(strstr(err.text, "not one of weir's"));
    assert_int_equal(get_file(path, after, sizeof(after)), n);
    assert_memory_equal(before, after, n);
}

static void a_newer_schema_is_left_alone(void **state)
{
    struct fixture f;
    struct weir_err err;

    (void)state;
    open_store(&f);
    close_store(&f);
    sql_at(temp_path("weir.db"), "PRAGMA user_version = 4711");
    assert_int_equal(refused(temp_path("weir.db"), &err), WEIR_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "4711"));
    sql_at(temp_path("weir.db"), "PRAGMA user_version = 1");
    open_store(&f);
    close_store(&f);
}

static void damage_is_found_at_the_start(void **state)
{
    struct fixture f;
    struct weir_err err;
    char junk[4096];
    int fd;

    (void)state;
    memset(junk, 0x5A, sizeof(junk));
    open_store(&f);
    begin(&f);
    for (int i = 0; i < 200; i++)
        add(&f, "w");
    commit(&f);
    close_store(&f);
    fd = open(temp_path("weir.db"), O_RDWR);
    assert_true(fd >= 0);
    for (int page = 3; page < 6; page++)
        assert_int_equal(pwrite(fd, junk, sizeof(junk), page * 4096), sizeof(junk));
    close(fd);
    assert_int_equal(refused(temp_path("weir.db"), &err), WEIR_E_CORRUPT);
    assert_true(err.hint[0] != '\0');
    assert_int_equal(truncate(temp_path("weir.db"), 4096), 0);
    assert_int_equal(refused(temp_path("weir.db"), &err), WEIR_E_CORRUPT);
}

static void an_empty_file_is_a_new_store(void **state)
{
    struct fixture f;
    uint64_t space;

    (void)state;
    put_file(temp_path("weir.db"), "", 0);
    open_store(&f);
    space = f.store.space;
    begin(&f);
    assert_int_equal(add(&f, "a"), 1);
    commit(&f);
    reopen(&f);
    assert_true(f.store.space == space);
    expect_all(&f, "1 ");
    close_store(&f);
    open_at(&f, temp_path("second.db"));
    assert_true(f.store.space != space);
    close_store(&f);
}

static int open_as_nobody(void)
{
    struct weir_err err;

    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 100;
    return -refused(temp_path("weir.db"), &err);
}

static void a_folder_that_cannot_be_written_is_said(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(chmod(temp_dir, 0555), 0);
    assert_int_equal(in_child(open_as_nobody), -WEIR_E_DENIED);
    assert_int_equal(chmod(temp_dir, 0755), 0);
    open_store(&f);
    close_store(&f);
    assert_int_equal(chmod(temp_path("weir.db"), 0444), 0);
    assert_int_equal(chmod(temp_dir, 0555), 0);
    assert_int_equal(in_child(open_as_nobody), -WEIR_E_DENIED);
    assert_int_equal(chmod(temp_dir, 0755), 0);
}

static void a_store_of_version_one_opens(void **state)
{
    static char bytes[1 << 20];
    struct fixture f;
    struct weir_buf seen = WEIR_BUF_INIT(4096);
    char path[PATH_MAX];
    const char *root = getenv("WEIR_SOURCE_ROOT");
    size_t n;

    (void)state;
    assert_non_null(root);
    snprintf(path, sizeof(path), "%s/tests/data/store-v1.db", root);
    n = get_file(path, bytes, sizeof(bytes));
    assert_true(n > 4096 && n < sizeof(bytes));
    put_file(temp_path("weir.db"), bytes, n);
    open_store(&f);
    expect_all(&f, "1 2 3 ");
    assert_int_equal(f.store.each_queue(f.store.ctx, list_queue, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen),
                        "default={}@1700000000000;research={\"weight\":2}@1700000000001;");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_task(f.store.ctx, 2, list_task, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "2/0 2/1 ");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_event(f.store.ctx, 0, 9, list_event, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "1workload.submitted 2workload.started ");
    begin(&f);
    assert_int_equal(add(&f, "next"), 4);
    commit(&f);
    weir_buf_finish(&seen);
    close_store(&f);
}

/* A store whose making fails is none, and can be made later. */
static void opening_without_memory_leaves_no_half_store(void **state)
{
    struct fixture f;
    int r = -1;

    (void)state;
    for (uint64_t n = 0; r < 0; n++) {
        weir_mem_fail(n, 1);
        r = weir_sqlite_open(temp_path("weir.db"), &f.sqlite, &f.store, NULL);
        weir_mem_fail(0, 0);
        assert_true(r == 0 || r == WEIR_E_NO_MEMORY);
        assert_true(n < 100);
    }
    begin(&f);
    assert_int_equal(add(&f, "a"), 1);
    commit(&f);
    close_store(&f);
}

#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, temp_dir_make, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(workloads_are_read_back),
        IN_DIR(tasks_are_read_back_in_order),
        IN_DIR(queues_and_cordons_are_read_back),
        IN_DIR(events_come_in_order),
        IN_DIR(a_key_is_remembered_per_owner),
        IN_DIR(lists_are_filtered_and_paged),
        IN_DIR(what_is_rolled_back_was_not),
        IN_DIR(a_mark_is_undone_alone),
        IN_DIR(only_the_old_is_pruned),
        IN_DIR(what_is_not_ours_is_left_alone),
        IN_DIR(a_newer_schema_is_left_alone),
        IN_DIR(damage_is_found_at_the_start),
        IN_DIR(an_empty_file_is_a_new_store),
        IN_DIR(a_folder_that_cannot_be_written_is_said),
        IN_DIR(a_store_of_version_one_opens),
        IN_DIR(opening_without_memory_leaves_no_half_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
