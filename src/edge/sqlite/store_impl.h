/* edge/sqlite/store_impl.h — what the files of the store share; for store*.c only.
 *
 * Statements are prepared once, on first use, and kept. Every text is bound SQLITE_STATIC: it
 * outlives the step. */
#ifndef WEIR_EDGE_SQLITE_STORE_IMPL_H
#define WEIR_EDGE_SQLITE_STORE_IMPL_H

#include "edge/sqlite/store.h"

#include <sqlite3.h>

enum weir_sqlite_statement_id {
    WEIR_SQLITE_BEGIN,
    WEIR_SQLITE_COMMIT,
    WEIR_SQLITE_ROLLBACK,
    WEIR_SQLITE_MARK,
    WEIR_SQLITE_UNDO,
    WEIR_SQLITE_NEXT_NUMBER,
    WEIR_SQLITE_PUT_QUEUE,
    WEIR_SQLITE_DELETE_QUEUE,
    WEIR_SQLITE_PUT_SETUP,
    WEIR_SQLITE_DELETE_SETUP,
    WEIR_SQLITE_EACH_SETUP,
    WEIR_SQLITE_PUT_GPU,
    WEIR_SQLITE_DELETE_GPU,
    WEIR_SQLITE_EACH_GPU,
    WEIR_SQLITE_ADD_WORKLOAD,
    WEIR_SQLITE_ADD_SPEC,
    WEIR_SQLITE_UPDATE_WORKLOAD,
    WEIR_SQLITE_END_WORKLOAD,
    WEIR_SQLITE_PUT_TASK,
    WEIR_SQLITE_PUT_CORDON,
    WEIR_SQLITE_DELETE_CORDON,
    WEIR_SQLITE_APPEND_EVENT,
    WEIR_SQLITE_APPEND_FAULT,
    WEIR_SQLITE_DELETE_FAULTS,
    WEIR_SQLITE_PUT_MARK,
    WEIR_SQLITE_DELETE_MARK,
    WEIR_SQLITE_EACH_FAULT,
    WEIR_SQLITE_EACH_MARK,
    WEIR_SQLITE_GET_REQUEST,
    WEIR_SQLITE_EACH_QUEUE,
    WEIR_SQLITE_GET_WORKLOAD,
    WEIR_SQLITE_EACH_TASK,
    WEIR_SQLITE_FIND_CORDON,
    WEIR_SQLITE_EACH_EVENT,
    WEIR_SQLITE_LAST_EVENTS,
    WEIR_SQLITE_EVENT_FROM,
    WEIR_SQLITE_LAST_EVENT,
    WEIR_SQLITE_OLD_WORKLOADS,
    WEIR_SQLITE_KEEP_NUMBER,
    WEIR_SQLITE_SKIP_NUMBERS,
    WEIR_SQLITE_DELETE_TASKS,
    WEIR_SQLITE_DELETE_SPEC,
    WEIR_SQLITE_DELETE_WORKLOAD,
    WEIR_SQLITE_DELETE_EVENTS,
    WEIR_SQLITE_STATEMENT_MAX
};

#define WEIR_SQLITE_WORKLOAD_COLUMNS                                                               \
    "number, name, queue, owner, uid, gid, class, priority, n_tasks, independent, is_demo, "       \
    "state, cause, attempt, "                                                                      \
    "exit_status, cancelled, n_failures, gpus, node, submitted_ms, started_ms, ended_ms, "         \
    "not_before_ms, detail"
#define WEIR_SQLITE_TASK_COLUMNS                                                                   \
    "number, member, state, attempt, stop_cause, end, cause, exit_status, n_failures, serial, "    \
    "nonce, slot, node, grants, "                                                                  \
    "started_ms, started_mono_ms, ended_ms, not_before_ms, detail, for_whom"
#define WEIR_SQLITE_EVENT_COLUMNS                                                                  \
    "wall_ms, mono_ms, boot, actor, kind, cause, subject, before, after"

struct weir_sqlite {
    sqlite3 *db;
    sqlite3_stmt *statements[WEIR_SQLITE_STATEMENT_MAX];
    int64_t last_event; /* the last seq; -1: to be read */
    bool unsynced;      /* something was committed that a power cut would take back */
};

/* ---- store.c ---- */
/* The database's last error as one of ours, about `what`. Returns its code. */
int weir_sqlite_fail(struct weir_sqlite *store, struct weir_err *err, const char *what);
/* The prepared statement, reset; NULL with an error. */
sqlite3_stmt *weir_sqlite_statement(struct weir_sqlite *store, enum weir_sqlite_statement_id which,
                                    struct weir_err *err);
void weir_sqlite_bind_str(sqlite3_stmt *s, int at, struct weir_str text);
struct weir_str weir_sqlite_column_str(sqlite3_stmt *s, int at);
uint32_t weir_sqlite_column_u32(sqlite3_stmt *s, int at);
/* Runs a statement that gives no row. */
int weir_sqlite_run(struct weir_sqlite *store, sqlite3_stmt *s, struct weir_err *err,
                    const char *what);
int weir_sqlite_run_simple(struct weir_sqlite *store, enum weir_sqlite_statement_id which,
                           struct weir_err *err, const char *what);

/* ---- store_write.c, store_read.c: the functions of port/store.h ---- */
int weir_sqlite_next_number(void *ctx, uint64_t *ret_number, struct weir_err *err);
int weir_sqlite_put_queue(void *ctx, const struct weir_queue_record *queue, struct weir_err *err);
int weir_sqlite_delete_queue(void *ctx, struct weir_str name, struct weir_err *err);
int weir_sqlite_add_workload(void *ctx, const struct weir_workload_record *workload,
                             struct weir_err *err);
int weir_sqlite_update_workload(void *ctx, const struct weir_workload_record *workload,
                                struct weir_err *err);
int weir_sqlite_put_task(void *ctx, const struct weir_task_record *t, struct weir_err *err);
int weir_sqlite_put_cordon(void *ctx, const struct weir_cordon_record *cordon,
                           struct weir_err *err);
int weir_sqlite_append_event(void *ctx, const struct weir_event_record *e, struct weir_err *err);
/* Ends a walk: the callback's verdict, or the database's. */
int weir_sqlite_end_walk(struct weir_sqlite *store, sqlite3_stmt *s, int step, int verdict,
                         struct weir_err *err);
/* store_fault.c */
int weir_sqlite_append_fault(void *ctx, const struct weir_fault_record *fault,
                             struct weir_err *err);
int weir_sqlite_delete_faults(void *ctx, int64_t before_wall_ms, struct weir_err *err);
int weir_sqlite_put_mark(void *ctx, const struct weir_mark_record *mark, struct weir_err *err);
int weir_sqlite_delete_mark(void *ctx, struct weir_str key, struct weir_err *err);
int weir_sqlite_each_fault(void *ctx, int (*each)(void *arg, const struct weir_fault_record *fault),
                           void *arg, struct weir_err *err);
int weir_sqlite_each_mark(void *ctx, int (*each)(void *arg, const struct weir_mark_record *mark),
                          void *arg, struct weir_err *err);
int weir_sqlite_each_queue(void *ctx, int (*each)(void *arg, const struct weir_queue_record *queue),
                           void *arg, struct weir_err *err);
int weir_sqlite_each_workload(void *ctx, const struct weir_workload_filter *filter, bool with_spec,
                              int (*each)(void *arg, const struct weir_workload_record *workload),
                              void *arg, struct weir_err *err);
int weir_sqlite_get_workload(void *ctx, uint64_t number,
                             int (*each)(void *arg, const struct weir_workload_record *workload),
                             void *arg, struct weir_err *err);
int weir_sqlite_each_task(void *ctx, uint64_t number,
                          int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                          struct weir_err *err);
int weir_sqlite_find_cordon(void *ctx, uint32_t subject_kind, struct weir_str name,
                            int (*each)(void *arg, const struct weir_cordon_record *cordon),
                            void *arg, struct weir_err *err);
int weir_sqlite_each_event(void *ctx, const struct weir_event_filter *filter,
                           int (*each)(void *arg, const struct weir_event_record *event), void *arg,
                           struct weir_err *err);
int weir_sqlite_last_events(void *ctx, const struct weir_event_filter *filter,
                            struct weir_event_run *ret_run, struct weir_err *err);
int weir_sqlite_events_since(void *ctx, int64_t wall_ms, int64_t *ret_after, struct weir_err *err);
int weir_sqlite_get_request(void *ctx, struct weir_str owner, struct weir_str key,
                            uint8_t ret_digest[16], uint64_t *ret_number, struct weir_err *err);
int weir_sqlite_last_event(void *ctx, int64_t *ret_seq, struct weir_err *err);
int weir_sqlite_prune(void *ctx, int64_t wall_ms, int64_t event_seq, uint32_t limit,
                      int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                      struct weir_err *err);

/* ---- store_setup.c ---- */
int weir_sqlite_put_setup(void *ctx, const struct weir_setup_record *setup, struct weir_err *err);
int weir_sqlite_delete_setup(void *ctx, struct weir_str name, struct weir_err *err);
int weir_sqlite_each_setup(void *ctx, int (*each)(void *arg, const struct weir_setup_record *setup),
                           void *arg, struct weir_err *err);

/* ---- store_gpu.c ---- */
int weir_sqlite_put_gpu(void *ctx, const struct weir_gpu_record *gpu, struct weir_err *err);
int weir_sqlite_delete_gpu(void *ctx, struct weir_str key, struct weir_err *err);
int weir_sqlite_each_gpu(void *ctx, int (*each)(void *arg, const struct weir_gpu_record *gpu),
                         void *arg, struct weir_err *err);

#endif
