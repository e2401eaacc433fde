#include "edge/sqlite/store.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/sqlite/schema.h"
#include "edge/sqlite/store_impl.h"

#include <errno.h>
#include <sys/random.h>

#define CHANGING                                                                                   \
    "state = ?12, cause = ?13, attempt = ?14, exit_status = ?15, cancelled = ?16, "                \
    "n_failures = ?17, gpus = ?18, node = ?19, started_ms = ?21, not_before_ms = ?23, "            \
    "detail = ?24"

/* '0' is what follows '/'. */
#define EVENT_MATCHES                                                                              \
    "seq > ?1 AND seq <= ?2 AND (?3 = '' OR subject = ?3 OR "                                      \
    "(subject >= ?3 || '/' AND subject < ?3 || '0'))"

static const char *const sql[WEIR_SQLITE_STATEMENT_MAX] = {
    [WEIR_SQLITE_BEGIN] = "BEGIN IMMEDIATE",
    [WEIR_SQLITE_COMMIT] = "COMMIT",
    [WEIR_SQLITE_ROLLBACK] = "ROLLBACK",
    [WEIR_SQLITE_MARK] = "SAVEPOINT mark",
    [WEIR_SQLITE_UNDO] = "ROLLBACK TO mark",
    [WEIR_SQLITE_NEXT_NUMBER] = "SELECT max((SELECT value FROM meta WHERE name = 'next_number'), "
                                "(SELECT coalesce(max(number), 0) + 1 FROM workloads))",
    [WEIR_SQLITE_PUT_QUEUE] = "INSERT INTO queues(name, spec, created_ms) VALUES(?1, ?2, ?3) "
                              "ON CONFLICT(name) DO UPDATE SET spec = excluded.spec",
    [WEIR_SQLITE_DELETE_QUEUE] = "DELETE FROM queues WHERE name = ?1",
    [WEIR_SQLITE_PUT_SETUP] = "INSERT INTO setups(name, spec, created_ms) VALUES(?1, ?2, ?3) "
                              "ON CONFLICT(name) DO UPDATE SET spec = excluded.spec",
    [WEIR_SQLITE_DELETE_SETUP] = "DELETE FROM setups WHERE name = ?1",
    [WEIR_SQLITE_EACH_SETUP] = "SELECT name, spec, created_ms FROM setups ORDER BY name",
    [WEIR_SQLITE_PUT_GPU] =
        "INSERT INTO gpus(key, facts, simulated, seen_ms) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(key) "
        "DO UPDATE SET facts = excluded.facts, simulated = excluded.simulated, seen_ms = "
        "excluded.seen_ms",
    [WEIR_SQLITE_DELETE_GPU] = "DELETE FROM gpus WHERE key = ?1",
    [WEIR_SQLITE_EACH_GPU] = "SELECT key, facts, simulated, seen_ms FROM gpus ORDER BY key",
    [WEIR_SQLITE_ADD_WORKLOAD] =
        "INSERT INTO workloads(" WEIR_SQLITE_WORKLOAD_COLUMNS
        ", request, digest) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
        "?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)",
    [WEIR_SQLITE_ADD_SPEC] = "INSERT INTO specs(number, spec) VALUES(?1, ?2)",
    /* Two of them: a column that is set has its indexes written, changed or not. */
    [WEIR_SQLITE_UPDATE_WORKLOAD] = "UPDATE workloads SET " CHANGING " WHERE number = ?1",
    [WEIR_SQLITE_END_WORKLOAD] =
        "UPDATE workloads SET " CHANGING ", ended_ms = ?22 WHERE number = ?1",
    [WEIR_SQLITE_PUT_TASK] = "INSERT OR REPLACE INTO tasks(" WEIR_SQLITE_TASK_COLUMNS
                             ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
                             "?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    [WEIR_SQLITE_PUT_CORDON] =
        "INSERT OR REPLACE INTO cordons(kind, name, phase, cause) VALUES(?1, ?2, ?3, ?4)",
    [WEIR_SQLITE_DELETE_CORDON] = "DELETE FROM cordons WHERE kind = ?1 AND name = ?2",
    [WEIR_SQLITE_APPEND_EVENT] = "INSERT INTO events(" WEIR_SQLITE_EVENT_COLUMNS
                                 ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [WEIR_SQLITE_APPEND_FAULT] =
        "INSERT INTO faults(wall_ms, mono_ms, boot, source_seq, node, event) VALUES(?1, ?2, ?3, "
        "?4, ?5, ?6)",
    [WEIR_SQLITE_DELETE_FAULTS] = "DELETE FROM faults WHERE wall_ms < ?1",
    [WEIR_SQLITE_PUT_MARK] = "INSERT OR REPLACE INTO marks(key, cause, class, action, next_action, "
                             "since_ms, boot) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [WEIR_SQLITE_DELETE_MARK] = "DELETE FROM marks WHERE key = ?1",
    [WEIR_SQLITE_EACH_FAULT] =
        "SELECT wall_ms, mono_ms, boot, source_seq, node, event FROM faults ORDER BY seq",
    [WEIR_SQLITE_EACH_MARK] =
        "SELECT key, cause, class, action, next_action, since_ms, boot FROM marks ORDER BY key",
    [WEIR_SQLITE_GET_REQUEST] = "SELECT digest, number FROM workloads WHERE owner = ?1 AND "
                                "request = ?2 AND request <> ''",
    [WEIR_SQLITE_EACH_QUEUE] =
        "SELECT name, spec, created_ms FROM queues ORDER BY created_ms, name",
    [WEIR_SQLITE_GET_WORKLOAD] =
        "SELECT " WEIR_SQLITE_WORKLOAD_COLUMNS
        ", spec FROM workloads LEFT JOIN specs USING(number) WHERE number = ?1",
    [WEIR_SQLITE_EACH_TASK] =
        "SELECT " WEIR_SQLITE_TASK_COLUMNS " FROM tasks WHERE number = ?1 ORDER BY member",
    [WEIR_SQLITE_FIND_CORDON] =
        "SELECT kind, name, phase, cause FROM cordons WHERE kind = ?1 AND name = ?2",
    [WEIR_SQLITE_EACH_EVENT] = "SELECT seq, " WEIR_SQLITE_EVENT_COLUMNS
                               " FROM events WHERE " EVENT_MATCHES " ORDER BY seq LIMIT ?4",
    [WEIR_SQLITE_LAST_EVENTS] =
        "SELECT min(seq), max(seq), count(*) FROM (SELECT seq FROM events WHERE " EVENT_MATCHES
        " ORDER BY seq DESC LIMIT ?4)",
    [WEIR_SQLITE_EVENT_FROM] =
        "SELECT seq, wall_ms FROM events WHERE seq >= ?1 ORDER BY seq LIMIT 1",
    [WEIR_SQLITE_LAST_EVENT] = "SELECT coalesce(max(seq), 0) FROM events",
    [WEIR_SQLITE_OLD_WORKLOADS] =
        "SELECT number FROM workloads WHERE ended_ms > 0 AND ended_ms < ?1 ORDER BY "
        "ended_ms",
    [WEIR_SQLITE_KEEP_NUMBER] =
        "UPDATE meta SET value = max(value, (SELECT coalesce(max(number), 0) + 1 FROM workloads)) "
        "WHERE name = 'next_number'",
    [WEIR_SQLITE_SKIP_NUMBERS] = "UPDATE meta SET value = ?1 + 1 WHERE name = 'next_number'",
    [WEIR_SQLITE_DELETE_TASKS] = "DELETE FROM tasks WHERE number = ?1 AND member <= ?2",
    [WEIR_SQLITE_DELETE_SPEC] = "DELETE FROM specs WHERE number = ?1",
    [WEIR_SQLITE_DELETE_WORKLOAD] = "DELETE FROM workloads WHERE number = ?1",
    [WEIR_SQLITE_DELETE_EVENTS] =
        "DELETE FROM events WHERE seq <= ?1 AND seq < (SELECT min(seq) FROM events) + ?2",
};

/* ---- errors, statements ---- */

/* The operating system's error on the file that was written last: the log, or the database. */
static int last_errno(struct weir_sqlite *store)
{
    sqlite3_file *log = NULL;
    int errnum = 0;

    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK &&
        log != NULL && log->pMethods != NULL)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &errnum);
    if (errnum == 0)
        sqlite3_file_control(store->db, "main", SQLITE_FCNTL_LAST_ERRNO, &errnum);
    return errnum;
}

/* To SQLite, a quota or a limit of the file's size is a failed write like any other. */
static int primary_code(struct weir_sqlite *store)
{
    int code = sqlite3_extended_errcode(store->db);

    if (code == SQLITE_IOERR_WRITE) {
        int errnum = last_errno(store);

        if (errnum == EDQUOT || errnum == EFBIG)
            return SQLITE_FULL;
    }
    return code & 0xFF;
}

int weir_sqlite_fail(struct weir_sqlite *store, struct weir_err *err, const char *what)
{
    switch (primary_code(store)) {
    case SQLITE_FULL:
        weir_error(err, WEIR_E_NO_SPACE, "%s: the disk is full", what);
        return weir_error_hint(err,
                               "free some space: nothing was changed, and weir goes on by itself");
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

/* The prepared weir_sqlite_statement, reset; NULL with an error. */
sqlite3_stmt *weir_sqlite_statement(struct weir_sqlite *store, enum weir_sqlite_statement_id which,
                                    struct weir_err *err)
{
    if (store->statements[which] == NULL &&
        sqlite3_prepare_v3(store->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &store->statements[which], NULL) != SQLITE_OK) {
        weir_sqlite_fail(store, err, "prepare a statement");
        return NULL;
    }
    return store->statements[which];
}

void weir_sqlite_bind_str(sqlite3_stmt *s, int at, struct weir_str text)
{
    sqlite3_bind_text64(s, at, text.len > 0 ? text.ptr : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

struct weir_str weir_sqlite_column_str(sqlite3_stmt *s, int at)
{
    const char *text = (const char *)sqlite3_column_text(s, at);

    return weir_str_n(text != NULL ? text : "", (size_t)sqlite3_column_bytes(s, at));
}

uint32_t weir_sqlite_column_u32(sqlite3_stmt *s, int at)
{
    return (uint32_t)sqlite3_column_int64(s, at);
}

int weir_sqlite_run(struct weir_sqlite *store, sqlite3_stmt *s, struct weir_err *err,
                    const char *what)
{
    int r = sqlite3_step(s);

    if (r != SQLITE_DONE && r != SQLITE_ROW) {
        r = weir_sqlite_fail(store, err, what);
        sqlite3_reset(s);
        return r;
    }
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return 0;
}

int weir_sqlite_run_simple(struct weir_sqlite *store, enum weir_sqlite_statement_id which,
                           struct weir_err *err, const char *what)
{
    sqlite3_stmt *s = weir_sqlite_statement(store, which, err);

    return s == NULL ? weir_error_code(err) : weir_sqlite_run(store, s, err, what);
}

/* ---- transactions ---- */

static int weir_sqlite_begin(void *ctx, struct weir_err *err)
{
    return weir_sqlite_run_simple(ctx, WEIR_SQLITE_BEGIN, err, "begin to write");
}

static void weir_sqlite_rollback(void *ctx)
{
    struct weir_sqlite *store = ctx;

    store->last_event = -1;
    if (sqlite3_get_autocommit(store->db) == 0)
        weir_sqlite_run_simple(store, WEIR_SQLITE_ROLLBACK, NULL, "roll back");
}

static int weir_sqlite_mark(void *ctx, struct weir_err *err)
{
    return weir_sqlite_run_simple(ctx, WEIR_SQLITE_MARK, err, "mark a place in the store");
}

static int weir_sqlite_undo(void *ctx, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;

    store->last_event = -1;
    return weir_sqlite_run_simple(store, WEIR_SQLITE_UNDO, err, "take back a change");
}

/* SQLite runs with synchronous=NORMAL: a commit is in the log file, not yet forced to the disk.
 * This forces it, as synchronous=FULL would at every commit. */
static int weir_sqlite_sync(void *ctx, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_file *log = NULL;

    if (!store->unsynced)
        return 0;
    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
        log == NULL || log->pMethods == NULL)
        return weir_error(err, WEIR_E_IO, "write to the store: it has no log");
    if (log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) != SQLITE_OK) {
        /* It is committed, and nobody knows whether a power cut would take it back. */
        weir_error(err, WEIR_E_UNAVAILABLE, "the disk does not say whether it has the change");
        return weir_error_hint(err, "repeat it with the same idempotency key");
    }
    store->unsynced = false;
    return 0;
}

static int weir_sqlite_commit(void *ctx, bool durable, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    int r = weir_sqlite_run_simple(store, WEIR_SQLITE_COMMIT, err, "write to the store");

    if (r < 0) {
        weir_sqlite_rollback(ctx);
        return r;
    }
    store->unsynced = true;
    return durable ? weir_sqlite_sync(store, err) : 0;
}

/* ---- opening ---- */

static int exec(struct weir_sqlite *store, const char *text, struct weir_err *err, const char *what)
{
    if (sqlite3_exec(store->db, text, NULL, NULL, NULL) != SQLITE_OK)
        return weir_sqlite_fail(store, err, what);
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
                             : weir_sqlite_fail(store, err, "open the store");
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
    r = weir_buf_check(&text, "the store's first values", err);
    if (r == 0)
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
        return weir_error_hint(err, "a newer weir wrote it: use that one");
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
        r = weir_buf_check(&text, "the store's version", err);
    if (r == 0)
        r = exec(store, weir_buf_cstr(&text), err, "prepare the store");
    weir_buf_finish(&text);
    if (r < 0)
        weir_sqlite_rollback(store);
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
        r = weir_sqlite_fail(store, err, "check the store");
    else if (!weir_str_eq_c(weir_sqlite_column_str(s, 0), "ok"))
        r = weir_error(err, WEIR_E_CORRUPT, "check the store: %s",
                       (const char *)sqlite3_column_text(s, 0));
    else
        r = 0;
    sqlite3_finalize(s);
    return r;
}

/* Locked for as long as it is open: the data directory has one owner anyway, and a transaction then
 * needs no locks of files. */
static int prepare(struct weir_sqlite *store, struct weir_err *err)
{
    int r = check_identity(store, err); /* first: the journal mode is written into the file */

    if (r == 0)
        r = exec(store,
                 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = "
                 "NORMAL; PRAGMA foreign_keys = ON;"
                 "PRAGMA cache_size = -2048; PRAGMA wal_autocheckpoint = 1000;"
                 "PRAGMA journal_size_limit = 8388608; PRAGMA temp_store = MEMORY",
                 err, "open the store");
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
        .begin = weir_sqlite_begin,
        .commit = weir_sqlite_commit,
        .sync = weir_sqlite_sync,
        .rollback = weir_sqlite_rollback,
        .mark = weir_sqlite_mark,
        .undo = weir_sqlite_undo,
        .next_number = weir_sqlite_next_number,
        .put_queue = weir_sqlite_put_queue,
        .delete_queue = weir_sqlite_delete_queue,
        .put_setup = weir_sqlite_put_setup,
        .delete_setup = weir_sqlite_delete_setup,
        .each_setup = weir_sqlite_each_setup,
        .put_gpu = weir_sqlite_put_gpu,
        .delete_gpu = weir_sqlite_delete_gpu,
        .each_gpu = weir_sqlite_each_gpu,
        .add_workload = weir_sqlite_add_workload,
        .update_workload = weir_sqlite_update_workload,
        .put_task = weir_sqlite_put_task,
        .put_cordon = weir_sqlite_put_cordon,
        .append_event = weir_sqlite_append_event,
        .append_fault = weir_sqlite_append_fault,
        .delete_faults = weir_sqlite_delete_faults,
        .put_mark = weir_sqlite_put_mark,
        .delete_mark = weir_sqlite_delete_mark,
        .each_fault = weir_sqlite_each_fault,
        .each_mark = weir_sqlite_each_mark,
        .prune = weir_sqlite_prune,
        .each_queue = weir_sqlite_each_queue,
        .each_workload = weir_sqlite_each_workload,
        .each_task = weir_sqlite_each_task,
        .find_cordon = weir_sqlite_find_cordon,
        .each_event = weir_sqlite_each_event,
        .last_events = weir_sqlite_last_events,
        .events_since = weir_sqlite_events_since,
        .get_workload = weir_sqlite_get_workload,
        .get_request = weir_sqlite_get_request,
        .last_event = weir_sqlite_last_event,
    };
}

int weir_sqlite_open(const char *path, struct weir_sqlite **ret_store, struct weir_store *ret_port,
                     struct weir_err *err)
{
    struct weir_sqlite *store = weir_mem_alloc_array(1, sizeof(*store));
    int64_t number = 0;
    int64_t space = 0;
    int r;

    if (store == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the store");
    store->last_event = -1;
    if (sqlite3_open_v2(path, &store->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        r = weir_sqlite_fail(store, err, "open the store");
    else
        r = prepare(store, err);
    if (r == 0)
        r = read_int(store, "SELECT value FROM meta WHERE name = 'next_number'", &number, err);
    if (r == 0)
        r = read_int(store, "SELECT value FROM meta WHERE name = 'space'", &space, err);
    if (r < 0) {
        weir_error_wrap(err, "'%s'", path);
        if (r == WEIR_E_CORRUPT)
            weir_error_hint(err,
                            "nothing was changed; restore it from a backup, or move it away to "
                            "start without queues, jobs and history; jobs it does not know that "
                            "still run are ended then");
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
    for (int i = 0; i < WEIR_SQLITE_STATEMENT_MAX; i++)
        sqlite3_finalize(store->statements[i]);
    weir_sqlite_sync(store, NULL);
    sqlite3_close(store->db);
    return weir_mem_free(store);
}
