/* Statements are prepared once, on first use, and kept. Every text is bound SQLITE_STATIC: it
 * outlives the step. */
#include "edge/sqlite/store.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/sqlite/schema.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/random.h>

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    NEXT_NUMBER,
    PUT_QUEUE,
    DELETE_QUEUE,
    ADD_WORKLOAD,
    UPDATE_WORKLOAD,
    PUT_TASK,
    PUT_CORDON,
    DELETE_CORDON,
    APPEND_EVENT,
    PUT_REQUEST,
    GET_REQUEST,
    EACH_QUEUE,
    GET_WORKLOAD,
    EACH_TASK,
    EACH_CORDON,
    EACH_EVENT,
    LAST_EVENT,
    OLD_WORKLOADS,
    DELETE_TASKS,
    DELETE_REQUESTS,
    DELETE_WORKLOAD,
    DELETE_EVENTS,
    STATEMENT_MAX
};

#define WORKLOAD_COLUMNS                                                                           \
    "number, name, queue, owner, uid, gid, class, priority, n_tasks, independent, is_demo, "       \
    "state, cause, attempt, "                                                                      \
    "exit_status, cancelled, n_failures, gpus, node, submitted_ms, started_ms, ended_ms, "         \
    "not_before_ms"
#define TASK_COLUMNS                                                                               \
    "number, member, state, attempt, stop_cause, end, cause, exit_status, n_failures, serial, "    \
    "nonce, slot, node, grants, "                                                                  \
    "started_ms, started_mono_ms, ended_ms, not_before_ms"
#define EVENT_COLUMNS "wall_ms, mono_ms, boot, actor, kind, cause, subject, before, after"

static const char *const sql[STATEMENT_MAX] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [NEXT_NUMBER] =
        "UPDATE meta SET value = value + 1 WHERE name = 'next_number' RETURNING value - 1",
    [PUT_QUEUE] = "INSERT INTO queues(name, spec, created_ms) VALUES(?1, ?2, ?3) "
                  "ON CONFLICT(name) DO UPDATE SET spec = excluded.spec",
    [DELETE_QUEUE] = "DELETE FROM queues WHERE name = ?1",
    [ADD_WORKLOAD] = "INSERT INTO workloads(" WORKLOAD_COLUMNS
                     ", spec) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                     "?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)",
    [UPDATE_WORKLOAD] = "UPDATE workloads SET state = ?12, cause = ?13, attempt = ?14, exit_status "
                        "= ?15, cancelled = ?16, "
                        "n_failures = ?17, gpus = ?18, node = ?19, started_ms = iif(started_ms = "
                        "0, ?21, started_ms), ended_ms = "
                        "?22, not_before_ms = ?23 "
                        "WHERE number = ?1",
    [PUT_TASK] = "INSERT OR REPLACE INTO tasks(" TASK_COLUMNS
                 ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
                 "?13, ?14, ?15, ?16, ?17, ?18)",
    [PUT_CORDON] =
        "INSERT OR REPLACE INTO cordons(kind, name, phase, cause) VALUES(?1, ?2, ?3, ?4)",
    [DELETE_CORDON] = "DELETE FROM cordons WHERE kind = ?1 AND name = ?2",
    [APPEND_EVENT] =
        "INSERT INTO events(" EVENT_COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [PUT_REQUEST] =
        "INSERT INTO requests(owner, key, digest, number, wall_ms) VALUES(?1, ?2, ?3, ?4, ?5)",
    [GET_REQUEST] = "SELECT digest, number FROM requests WHERE owner = ?1 AND key = ?2",
    [EACH_QUEUE] = "SELECT name, spec, created_ms FROM queues ORDER BY created_ms, name",
    [GET_WORKLOAD] = "SELECT " WORKLOAD_COLUMNS ", spec FROM workloads WHERE number = ?1",
    [EACH_TASK] = "SELECT " TASK_COLUMNS " FROM tasks WHERE number = ?1 ORDER BY member",
    [EACH_CORDON] = "SELECT kind, name, phase, cause FROM cordons",
    [EACH_EVENT] = "SELECT seq, " EVENT_COLUMNS " FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    [LAST_EVENT] = "SELECT coalesce(max(seq), 0) FROM events",
    [OLD_WORKLOADS] = "SELECT number FROM workloads WHERE ended_ms > 0 AND ended_ms < ?1 ORDER BY "
                      "ended_ms LIMIT ?2",
    [DELETE_TASKS] = "DELETE FROM tasks WHERE number = ?1",
    [DELETE_REQUESTS] = "DELETE FROM requests WHERE number = ?1",
    [DELETE_WORKLOAD] = "DELETE FROM workloads WHERE number = ?1",
    [DELETE_EVENTS] =
        "DELETE FROM events WHERE seq <= ?1 AND seq <= (SELECT min(seq) FROM events) + ?2",
};

struct weir_sqlite {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_MAX];
    bool unsynced; /* something was committed that a power cut would take back */
};

/* ---- errors, statements ---- */

static int fail(struct weir_sqlite *store, struct weir_err *err, const char *what)
{
    int primary = sqlite3_errcode(store->db) & 0xFF;

    switch (primary) {
    case SQLITE_FULL:
        weir_error(err, WEIR_E_NO_SPACE, "%s: the disk is full", what);
        weir_error_hint(err, "free some space: nothing was changed, and weir goes on by itself");
        return WEIR_E_NO_SPACE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return weir_error(err, WEIR_E_CORRUPT, "%s: %s", what, sqlite3_errmsg(store->db));
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return weir_error(err, WEIR_E_DENIED, "%s: %s", what, sqlite3_errmsg(store->db));
    case SQLITE_NOMEM:
        return weir_error(err, WEIR_E_NO_MEMORY, "%s: no memory", what);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return weir_error(err, WEIR_E_UNAVAILABLE, "%s: %s", what, sqlite3_errmsg(store->db));
    default:
        return weir_error(err, WEIR_E_IO, "%s: %s", what, sqlite3_errmsg(store->db));
    }
}

/* The prepared statement, reset; NULL with an error. */
static sqlite3_stmt *statement(struct weir_sqlite *store, enum statement which,
                               struct weir_err *err)
{
    if (store->statements[which] == NULL &&
        sqlite3_prepare_v3(store->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &store->statements[which], NULL) != SQLITE_OK) {
        fail(store, err, "prepare a statement");
        return NULL;
    }
    return store->statements[which];
}

static void bind_str(sqlite3_stmt *s, int at, struct weir_str text)
{
    sqlite3_bind_text64(s, at, text.len > 0 ? text.ptr : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static struct weir_str column_str(sqlite3_stmt *s, int at)
{
    const char *text = (const char *)sqlite3_column_text(s, at);

    return weir_str_n(text != NULL ? text : "", (size_t)sqlite3_column_bytes(s, at));
}

static uint32_t column_u32(sqlite3_stmt *s, int at)
{
    return (uint32_t)sqlite3_column_int64(s, at);
}

/* Runs a statement that gives no row. */
static int run(struct weir_sqlite *store, sqlite3_stmt *s, struct weir_err *err, const char *what)
{
    int r = sqlite3_step(s);

    if (r != SQLITE_DONE && r != SQLITE_ROW) {
        r = fail(store, err, what);
        sqlite3_reset(s);
        return r;
    }
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return 0;
}

static int run_simple(struct weir_sqlite *store, enum statement which, struct weir_err *err,
                      const char *what)
{
    sqlite3_stmt *s = statement(store, which, err);

    return s == NULL ? WEIR_E_IO : run(store, s, err, what);
}

/* ---- transactions ---- */

static int store_begin(void *ctx, struct weir_err *err)
{
    return run_simple(ctx, BEGIN, err, "begin to write");
}

static void store_rollback(void *ctx)
{
    struct weir_sqlite *store = ctx;

    if (sqlite3_get_autocommit(store->db) == 0)
        run_simple(store, ROLLBACK, NULL, "roll back");
}

/* SQLite runs with synchronous=NORMAL: a commit is in the log file, not yet forced to the disk.
 * This forces it, as synchronous=FULL would at every commit. */
static int store_sync(void *ctx, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_file *log = NULL;

    if (!store->unsynced)
        return 0;
    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
        log == NULL || log->pMethods == NULL)
        return weir_error(err, WEIR_E_IO, "write to the store: it has no log");
    if (log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) != SQLITE_OK)
        return weir_error(err, WEIR_E_IO, "write to the store: the disk refuses");
    store->unsynced = false;
    return 0;
}

static int store_commit(void *ctx, bool durable, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    int r = run_simple(store, COMMIT, err, "write to the store");

    if (r < 0) {
        store_rollback(ctx);
        return r;
    }
    store->unsynced = true;
    return durable ? store_sync(store, err) : 0;
}

/* ---- writing ---- */

static int store_next_number(void *ctx, uint64_t *ret_number, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = statement(store, NEXT_NUMBER, err);
    int r;

    if (s == NULL)
        return WEIR_E_IO;
    r = sqlite3_step(s);
    if (r != SQLITE_ROW) {
        r = r == SQLITE_DONE ? weir_error(err, WEIR_E_CORRUPT, "the store has lost its numbers")
                             : fail(store, err, "take a number");
        sqlite3_reset(s);
        return r;
    }
    *ret_number = (uint64_t)sqlite3_column_int64(s, 0);
    /* The statement must run to its end for the update to count. */
    return run(store, s, err, "take a number");
}

static int store_put_queue(void *ctx, const struct weir_queue_record *queue, struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, PUT_QUEUE, err);

    if (s == NULL)
        return WEIR_E_IO;
    bind_str(s, 1, queue->name);
    bind_str(s, 2, queue->spec);
    sqlite3_bind_int64(s, 3, queue->created_wall_ms);
    return run(ctx, s, err, "store a queue");
}

static int store_delete_queue(void *ctx, struct weir_str name, struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, DELETE_QUEUE, err);

    if (s == NULL)
        return WEIR_E_IO;
    bind_str(s, 1, name);
    return run(ctx, s, err, "delete a queue");
}

/* In the order of WORKLOAD_COLUMNS. */
static void bind_workload(sqlite3_stmt *s, const struct weir_workload_record *w)
{
    sqlite3_bind_int64(s, 1, (int64_t)w->number);
    bind_str(s, 2, w->name);
    bind_str(s, 3, w->queue);
    bind_str(s, 4, w->owner);
    sqlite3_bind_int64(s, 5, w->uid);
    sqlite3_bind_int64(s, 6, w->gid);
    sqlite3_bind_int64(s, 7, w->class);
    sqlite3_bind_int64(s, 8, w->priority);
    sqlite3_bind_int64(s, 9, w->n_tasks);
    sqlite3_bind_int64(s, 10, w->independent);
    sqlite3_bind_int64(s, 11, w->is_demo);
    sqlite3_bind_int64(s, 12, w->state);
    sqlite3_bind_int64(s, 13, w->cause);
    sqlite3_bind_int64(s, 14, w->attempt);
    sqlite3_bind_int64(s, 15, w->exit_status);
    sqlite3_bind_int64(s, 16, w->cancelled);
    sqlite3_bind_int64(s, 17, w->n_failures);
    bind_str(s, 18, w->gpus);
    bind_str(s, 19, w->node);
    sqlite3_bind_int64(s, 20, w->submitted_wall_ms);
    sqlite3_bind_int64(s, 21, w->started_wall_ms);
    sqlite3_bind_int64(s, 22, w->ended_wall_ms);
    sqlite3_bind_int64(s, 23, w->not_before_wall_ms);
}

static struct weir_workload_record workload_of(sqlite3_stmt *s, bool with_spec)
{
    return (struct weir_workload_record){
        .number = (uint64_t)sqlite3_column_int64(s, 0),
        .name = column_str(s, 1),
        .queue = column_str(s, 2),
        .owner = column_str(s, 3),
        .uid = column_u32(s, 4),
        .gid = column_u32(s, 5),
        .class = column_u32(s, 6),
        .priority = (int32_t)sqlite3_column_int64(s, 7),
        .n_tasks = column_u32(s, 8),
        .independent = column_u32(s, 9),
        .is_demo = column_u32(s, 10),
        .state = column_u32(s, 11),
        .cause = column_u32(s, 12),
        .attempt = column_u32(s, 13),
        .exit_status = (int32_t)sqlite3_column_int64(s, 14),
        .cancelled = column_u32(s, 15),
        .n_failures = column_u32(s, 16),
        .gpus = column_str(s, 17),
        .node = column_str(s, 18),
        .submitted_wall_ms = sqlite3_column_int64(s, 19),
        .started_wall_ms = sqlite3_column_int64(s, 20),
        .ended_wall_ms = sqlite3_column_int64(s, 21),
        .not_before_wall_ms = sqlite3_column_int64(s, 22),
        .spec = with_spec ? column_str(s, 23) : WEIR_STR(""),
    };
}

static int store_add_workload(void *ctx, const struct weir_workload_record *workload,
                              struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, ADD_WORKLOAD, err);

    if (s == NULL)
        return WEIR_E_IO;
    bind_workload(s, workload);
    bind_str(s, 24, workload->spec);
    return run(ctx, s, err, "store a workload");
}

static int store_update_workload(void *ctx, const struct weir_workload_record *workload,
                                 struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, UPDATE_WORKLOAD, err);

    if (s == NULL)
        return WEIR_E_IO;
    bind_workload(s, workload);
    return run(ctx, s, err, "store a workload's state");
}

static int store_put_task(void *ctx, const struct weir_task_record *t, struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, PUT_TASK, err);

    if (s == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, (int64_t)t->number);
    sqlite3_bind_int64(s, 2, t->member);
    sqlite3_bind_int64(s, 3, t->state);
    sqlite3_bind_int64(s, 4, t->attempt);
    sqlite3_bind_int64(s, 5, t->stop_cause);
    sqlite3_bind_int64(s, 6, t->end);
    sqlite3_bind_int64(s, 7, t->cause);
    sqlite3_bind_int64(s, 8, t->exit_status);
    sqlite3_bind_int64(s, 9, t->n_failures);
    sqlite3_bind_int64(s, 10, (int64_t)t->serial);
    sqlite3_bind_int64(s, 11, (int64_t)t->nonce);
    sqlite3_bind_int64(s, 12, t->slot);
    bind_str(s, 13, t->node);
    bind_str(s, 14, t->grants);
    sqlite3_bind_int64(s, 15, t->started_wall_ms);
    sqlite3_bind_int64(s, 16, t->started_mono_ms);
    sqlite3_bind_int64(s, 17, t->ended_wall_ms);
    sqlite3_bind_int64(s, 18, t->not_before_wall_ms);
    return run(ctx, s, err, "store a task");
}

static int store_put_cordon(void *ctx, const struct weir_cordon_record *cordon,
                            struct weir_err *err)
{
    bool gone = cordon->phase == WEIR_NODE_READY;
    sqlite3_stmt *s = statement(ctx, gone ? DELETE_CORDON : PUT_CORDON, err);

    if (s == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, cordon->subject_kind);
    bind_str(s, 2, cordon->name);
    if (!gone) {
        sqlite3_bind_int64(s, 3, cordon->phase);
        bind_str(s, 4, cordon->cause);
    }
    return run(ctx, s, err, "store a cordon");
}

static int store_append_event(void *ctx, const struct weir_event_record *e, struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, APPEND_EVENT, err);

    if (s == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, e->wall_ms);
    sqlite3_bind_int64(s, 2, e->mono_ms);
    sqlite3_bind_blob(s, 3, e->boot_id, 16, SQLITE_STATIC);
    bind_str(s, 4, e->actor);
    bind_str(s, 5, e->kind);
    bind_str(s, 6, e->cause);
    bind_str(s, 7, e->subject);
    bind_str(s, 8, e->before);
    bind_str(s, 9, e->after);
    return run(ctx, s, err, "store an event");
}

static int store_put_request(void *ctx, struct weir_str owner, struct weir_str key,
                             const uint8_t digest[16], uint64_t number, int64_t wall_ms,
                             struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, PUT_REQUEST, err);

    if (s == NULL)
        return WEIR_E_IO;
    bind_str(s, 1, owner);
    bind_str(s, 2, key);
    sqlite3_bind_blob(s, 3, digest, 16, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, (int64_t)number);
    sqlite3_bind_int64(s, 5, wall_ms);
    return run(ctx, s, err, "store an idempotency key");
}

/* ---- reading ---- */

/* Ends a walk: the callback's verdict, or the database's. */
static int end_walk(struct weir_sqlite *store, sqlite3_stmt *s, int step, int verdict,
                    struct weir_err *err)
{
    if (verdict == 0 && step != SQLITE_DONE)
        verdict = fail(store, err, "read the store");
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return verdict;
}

static int store_each_queue(void *ctx,
                            int (*each)(void *arg, const struct weir_queue_record *queue),
                            void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, EACH_QUEUE, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return WEIR_E_IO;
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_queue_record queue = {column_str(s, 0), column_str(s, 1),
                                          sqlite3_column_int64(s, 2)};

        verdict = each(arg, &queue);
    }
    return end_walk(ctx, s, step, verdict, err);
}

/* Filters are few and lists are rare: this statement is made for the call. */
static int store_each_workload(void *ctx, const struct weir_workload_filter *filter, bool with_spec,
                               int (*each)(void *arg, const struct weir_workload_record *workload),
                               void *arg, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    struct weir_buf text = WEIR_BUF_INIT(2048);
    sqlite3_stmt *s = NULL;
    int verdict = 0;
    int step;

    weir_buf_printf(&text, "SELECT " WORKLOAD_COLUMNS "%s FROM workloads WHERE number > ?1",
                    with_spec ? ", spec" : "");
    weir_buf_puts(&text, filter->all ? "" : " AND ended_ms = 0");
    weir_buf_puts(&text, filter->queue.len > 0 ? " AND queue = ?2" : "");
    weir_buf_puts(&text, filter->owner.len > 0 ? " AND owner = ?3" : "");
    weir_buf_puts(&text, filter->name.len > 0 ? " AND name = ?4" : "");
    weir_buf_puts(&text, filter->state >= 0 ? " AND state = ?5" : "");
    weir_buf_puts(&text, " ORDER BY number LIMIT ?6");
    step = text.failed != 0 ? SQLITE_NOMEM
                            : sqlite3_prepare_v2(store->db, weir_buf_cstr(&text), -1, &s, NULL);
    weir_buf_finish(&text);
    if (step != SQLITE_OK)
        return fail(store, err, "list workloads");
    sqlite3_bind_int64(s, 1, (int64_t)filter->after_number);
    bind_str(s, 2, filter->queue);
    bind_str(s, 3, filter->owner);
    bind_str(s, 4, filter->name);
    sqlite3_bind_int64(s, 5, filter->state);
    sqlite3_bind_int64(s, 6, filter->limit > 0 ? (int64_t)filter->limit : -1);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_workload_record workload = workload_of(s, with_spec);

        verdict = each(arg, &workload);
    }
    if (verdict == 0 && step != SQLITE_DONE)
        verdict = fail(store, err, "list workloads");
    sqlite3_finalize(s);
    return verdict;
}

static int store_get_workload(void *ctx, uint64_t number,
                              int (*each)(void *arg, const struct weir_workload_record *workload),
                              void *arg, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = statement(store, GET_WORKLOAD, err);
    struct weir_workload_record workload;
    int r;

    if (s == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, (int64_t)number);
    r = sqlite3_step(s);
    if (r == SQLITE_DONE) {
        sqlite3_reset(s);
        return weir_error(err, WEIR_E_NOT_FOUND, "there is no workload %llu",
                          (unsigned long long)number);
    }
    if (r != SQLITE_ROW) {
        r = fail(store, err, "read a workload");
        sqlite3_reset(s);
        return r;
    }
    workload = workload_of(s, true);
    r = each(arg, &workload);
    sqlite3_reset(s);
    return r;
}

static int store_each_task(void *ctx, uint64_t number,
                           int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                           struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, EACH_TASK, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, (int64_t)number);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_task_record task = {
            .number = (uint64_t)sqlite3_column_int64(s, 0),
            .member = column_u32(s, 1),
            .state = column_u32(s, 2),
            .attempt = column_u32(s, 3),
            .stop_cause = column_u32(s, 4),
            .end = column_u32(s, 5),
            .cause = column_u32(s, 6),
            .exit_status = (int32_t)sqlite3_column_int64(s, 7),
            .n_failures = column_u32(s, 8),
            .serial = (uint64_t)sqlite3_column_int64(s, 9),
            .nonce = (uint64_t)sqlite3_column_int64(s, 10),
            .slot = column_u32(s, 11),
            .node = column_str(s, 12),
            .grants = column_str(s, 13),
            .started_wall_ms = sqlite3_column_int64(s, 14),
            .started_mono_ms = sqlite3_column_int64(s, 15),
            .ended_wall_ms = sqlite3_column_int64(s, 16),
            .not_before_wall_ms = sqlite3_column_int64(s, 17),
        };

        verdict = each(arg, &task);
    }
    return end_walk(ctx, s, step, verdict, err);
}

static int store_each_cordon(void *ctx,
                             int (*each)(void *arg, const struct weir_cordon_record *cordon),
                             void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, EACH_CORDON, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return WEIR_E_IO;
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_cordon_record cordon = {column_u32(s, 0), column_u32(s, 2), column_str(s, 1),
                                            column_str(s, 3)};

        verdict = each(arg, &cordon);
    }
    return end_walk(ctx, s, step, verdict, err);
}

static int store_each_event(void *ctx, int64_t after, uint32_t limit,
                            int (*each)(void *arg, const struct weir_event_record *event),
                            void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = statement(ctx, EACH_EVENT, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, after);
    sqlite3_bind_int64(s, 2, limit);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        static const uint8_t unknown_boot[16];
        const void *boot = sqlite3_column_blob(s, 3);
        struct weir_event_record event = {
            .seq = sqlite3_column_int64(s, 0),
            .wall_ms = sqlite3_column_int64(s, 1),
            .mono_ms = sqlite3_column_int64(s, 2),
            .boot_id = sqlite3_column_bytes(s, 3) == 16 ? boot : unknown_boot,
            .actor = column_str(s, 4),
            .kind = column_str(s, 5),
            .cause = column_str(s, 6),
            .subject = column_str(s, 7),
            .before = column_str(s, 8),
            .after = column_str(s, 9),
        };

        verdict = each(arg, &event);
    }
    return end_walk(ctx, s, step, verdict, err);
}

static int store_get_request(void *ctx, struct weir_str owner, struct weir_str key,
                             uint8_t ret_digest[16], uint64_t *ret_number, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = statement(store, GET_REQUEST, err);
    int r;

    if (s == NULL)
        return WEIR_E_IO;
    bind_str(s, 1, owner);
    bind_str(s, 2, key);
    r = sqlite3_step(s);
    if (r == SQLITE_ROW && sqlite3_column_bytes(s, 0) == 16) {
        memcpy(ret_digest, sqlite3_column_blob(s, 0), 16);
        *ret_number = (uint64_t)sqlite3_column_int64(s, 1);
        r = 0;
    } else if (r == SQLITE_DONE) {
        r = WEIR_E_NOT_FOUND;
    } else {
        r = fail(store, err, "read an idempotency key");
    }
    sqlite3_reset(s);
    return r;
}

static int store_last_event(void *ctx, int64_t *ret_seq, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = statement(store, LAST_EVENT, err);

    if (s == NULL)
        return WEIR_E_IO;
    if (sqlite3_step(s) != SQLITE_ROW) {
        int r = fail(store, err, "read the last event");

        sqlite3_reset(s);
        return r;
    }
    *ret_seq = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return 0;
}

/* ---- pruning ---- */

static int delete_by_number(struct weir_sqlite *store, enum statement which, uint64_t number,
                            struct weir_err *err)
{
    sqlite3_stmt *s = statement(store, which, err);

    if (s == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, (int64_t)number);
    return run(store, s, err, "prune");
}

static int store_prune(void *ctx, int64_t wall_ms, int64_t event_seq, uint32_t limit,
                       int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                       struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = statement(store, OLD_WORKLOADS, err);
    sqlite3_stmt *events = statement(store, DELETE_EVENTS, err);
    int r;

    if (s == NULL || events == NULL)
        return WEIR_E_IO;
    sqlite3_bind_int64(s, 1, wall_ms);
    sqlite3_bind_int64(s, 2, limit);
    while ((r = sqlite3_step(s)) == SQLITE_ROW) {
        uint64_t number = (uint64_t)sqlite3_column_int64(s, 0);

        r = store_each_task(store, number, each, arg, err);
        r = r < 0 ? r : delete_by_number(store, DELETE_TASKS, number, err);
        r = r < 0 ? r : delete_by_number(store, DELETE_REQUESTS, number, err);
        r = r < 0 ? r : delete_by_number(store, DELETE_WORKLOAD, number, err);
        if (r < 0) {
            sqlite3_reset(s);
            return r;
        }
    }
    if (r != SQLITE_DONE) {
        r = fail(store, err, "prune");
        sqlite3_reset(s);
        return r;
    }
    sqlite3_reset(s);
    sqlite3_bind_int64(events, 1, event_seq);
    sqlite3_bind_int64(events, 2, limit);
    return run(store, events, err, "prune events");
}

/* ---- opening ---- */

static int exec(struct weir_sqlite *store, const char *text, struct weir_err *err, const char *what)
{
    if (sqlite3_exec(store->db, text, NULL, NULL, NULL) != SQLITE_OK)
        return fail(store, err, what);
    return 0;
}

static int read_int(struct weir_sqlite *store, const char *text, int64_t *ret_value,
                    struct weir_err *err)
{
    sqlite3_stmt *s = NULL;
    int r = sqlite3_prepare_v2(store->db, text, -1, &s, NULL);

    if (r == SQLITE_OK)
        r = sqlite3_step(s);
    if (r == SQLITE_ROW)
        *ret_value = sqlite3_column_int64(s, 0);
    else
        r = r == SQLITE_DONE ? weir_error(err, WEIR_E_CORRUPT, "the store misses a value it needs")
                             : fail(store, err, "open the store");
    sqlite3_finalize(s);
    return r < 0 ? r : 0;
}

static int first_values(struct weir_sqlite *store, struct weir_err *err)
{
    struct weir_buf text = WEIR_BUF_INIT(256);
    int64_t space = 0;
    int r;

    if (getrandom(&space, sizeof(space), 0) != (ssize_t)sizeof(space))
        return weir_error(err, WEIR_E_IO, "get random bytes for the store's identity");
    weir_buf_printf(&text, "INSERT INTO meta VALUES('next_number', 1), ('space', %lld)",
                    (long long)space);
    r = exec(store, weir_buf_cstr(&text), err, "prepare the store");
    weir_buf_finish(&text);
    return r;
}

static int migrate(struct weir_sqlite *store, struct weir_err *err)
{
    struct weir_buf text = WEIR_BUF_INIT(256);
    int64_t version = 0;
    int r = read_int(store, "PRAGMA user_version", &version, err);

    if (r < 0)
        return r;
    if (version > WEIR_SQLITE_VERSION) {
        weir_error(err, WEIR_E_UNSUPPORTED, "the store has schema %lld, this weir knows up to %d",
                   (long long)version, (int)WEIR_SQLITE_VERSION);
        weir_error_hint(err, "a newer weir wrote it: use that one");
        return WEIR_E_UNSUPPORTED;
    }
    if (version == WEIR_SQLITE_VERSION)
        return 0;
    r = exec(store, "BEGIN IMMEDIATE", err, "prepare the store");
    for (int64_t step = version; r == 0 && step < WEIR_SQLITE_VERSION; step++)
        r = exec(store, weir_sqlite_steps[step], err, "prepare the store");
    if (r == 0 && version == 0)
        r = first_values(store, err);
    weir_buf_printf(&text, "PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT",
                    (int)WEIR_SQLITE_VERSION, (int)WEIR_SQLITE_APPLICATION_ID);
    if (r == 0)
        r = exec(store, weir_buf_cstr(&text), err, "prepare the store");
    weir_buf_finish(&text);
    if (r < 0)
        store_rollback(store);
    return r;
}

/* A file with tables but without our mark is somebody else's. */
static int check_identity(struct weir_sqlite *store, struct weir_err *err)
{
    int64_t id = 0;
    int64_t n_tables = 0;
    int r = read_int(store, "PRAGMA application_id", &id, err);

    if (r == 0)
        r = read_int(store, "SELECT count(*) FROM sqlite_schema", &n_tables, err);
    if (r < 0)
        return r;
    if (id != WEIR_SQLITE_APPLICATION_ID && n_tables > 0)
        return weir_error(err, WEIR_E_CORRUPT, "the file is a database, but not one of weir's");
    return 0;
}

/* A quick look at the structure: a damaged page is found before anything is started on it. */
static int check_health(struct weir_sqlite *store, struct weir_err *err)
{
    sqlite3_stmt *s = NULL;
    int r = sqlite3_prepare_v2(store->db, "PRAGMA quick_check(1)", -1, &s, NULL);

    if (r == SQLITE_OK)
        r = sqlite3_step(s);
    if (r != SQLITE_ROW)
        r = fail(store, err, "check the store");
    else if (!weir_str_eq_c(column_str(s, 0), "ok"))
        r = weir_error(err, WEIR_E_CORRUPT, "check the store: %s",
                       (const char *)sqlite3_column_text(s, 0));
    else
        r = 0;
    sqlite3_finalize(s);
    return r;
}

static int prepare(struct weir_sqlite *store, struct weir_err *err)
{
    int r = exec(store,
                 "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
                 "PRAGMA cache_size = -2048; PRAGMA wal_autocheckpoint = 1000;"
                 "PRAGMA journal_size_limit = 8388608; PRAGMA temp_store = MEMORY",
                 err, "open the store");

    if (r == 0)
        r = check_identity(store, err);
    if (r == 0)
        r = check_health(store, err);
    if (r == 0)
        r = migrate(store, err);
    return r;
}

static void fill_port(struct weir_sqlite *store, uint64_t space, struct weir_store *port)
{
    *port = (struct weir_store){
        .ctx = store,
        .space = space,
        .begin = store_begin,
        .commit = store_commit,
        .sync = store_sync,
        .rollback = store_rollback,
        .next_number = store_next_number,
        .put_queue = store_put_queue,
        .delete_queue = store_delete_queue,
        .add_workload = store_add_workload,
        .update_workload = store_update_workload,
        .put_task = store_put_task,
        .put_cordon = store_put_cordon,
        .append_event = store_append_event,
        .put_request = store_put_request,
        .prune = store_prune,
        .each_queue = store_each_queue,
        .each_workload = store_each_workload,
        .each_task = store_each_task,
        .each_cordon = store_each_cordon,
        .each_event = store_each_event,
        .get_workload = store_get_workload,
        .get_request = store_get_request,
        .last_event = store_last_event,
    };
}

int weir_sqlite_open(const char *path, struct weir_sqlite **ret_store, struct weir_store *ret_port,
                     struct weir_err *err)
{
    struct weir_sqlite *store = weir_mem_alloc_array(1, sizeof(*store));
    int64_t space = 0;
    int r;

    if (store == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the store");
    if (sqlite3_open_v2(path, &store->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        r = fail(store, err, "open the store");
    else
        r = prepare(store, err);
    if (r == 0)
        r = read_int(store, "SELECT value FROM meta WHERE name = 'space'", &space, err);
    if (r < 0) {
        weir_error_wrap(err, "'%s'", path);
        if (r == WEIR_E_CORRUPT)
            weir_error_hint(err, "nothing was changed; move the file away to start empty, or "
                                 "restore it from a backup");
        weir_sqlite_close(store);
        return r;
    }
    fill_port(store, (uint64_t)space, ret_port);
    *ret_store = store;
    return 0;
}

struct weir_sqlite *weir_sqlite_close(struct weir_sqlite *store)
{
    if (store == NULL)
        return NULL;
    for (int i = 0; i < STATEMENT_MAX; i++)
        sqlite3_finalize(store->statements[i]);
    store_sync(store, NULL);
    sqlite3_close(store->db);
    return weir_mem_free(store);
}

const char *weir_sqlite_version(void)
{
    return sqlite3_libversion();
}
