#include "base/err.h"
#include "edge/sqlite/store_impl.h"

int weir_sqlite_next_number(void *ctx, uint64_t *ret_number, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = weir_sqlite_statement(store, WEIR_SQLITE_NEXT_NUMBER, err);
    int r;

    if (s == NULL)
        return weir_error_code(err);
    r = sqlite3_step(s);
    if (r != SQLITE_ROW)
        r = weir_sqlite_fail(store, err, "take a number");
    else if (sqlite3_column_type(s, 0) != SQLITE_INTEGER)
        r = weir_error(err, WEIR_E_CORRUPT, "the store has lost its numbers");
    else
        r = 0;
    *ret_number = r == 0 ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return r;
}

int weir_sqlite_skip_numbers(struct weir_sqlite *store, uint64_t last, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(store, WEIR_SQLITE_SKIP_NUMBERS, err);
    uint64_t next = 0;
    int r = s == NULL ? WEIR_E_IO : weir_sqlite_next_number(store, &next, err);

    if (r < 0 || next > last)
        return r;
    sqlite3_bind_int64(s, 1, (int64_t)last);
    return weir_sqlite_run(store, s, err, "skip numbers");
}

int weir_sqlite_put_queue(void *ctx, const struct weir_queue_record *queue, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_PUT_QUEUE, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, queue->name);
    weir_sqlite_bind_str(s, 2, queue->spec);
    sqlite3_bind_int64(s, 3, queue->created_wall_ms);
    return weir_sqlite_run(ctx, s, err, "store a queue");
}

int weir_sqlite_delete_queue(void *ctx, struct weir_str name, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_DELETE_QUEUE, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, name);
    return weir_sqlite_run(ctx, s, err, "delete a queue");
}

/* In the order of WEIR_SQLITE_WORKLOAD_COLUMNS. */
static void bind_workload(sqlite3_stmt *s, const struct weir_workload_record *w)
{
    sqlite3_bind_int64(s, 1, (int64_t)w->number);
    weir_sqlite_bind_str(s, 2, w->name);
    weir_sqlite_bind_str(s, 3, w->queue);
    weir_sqlite_bind_str(s, 4, w->owner);
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
    weir_sqlite_bind_str(s, 18, w->gpus);
    weir_sqlite_bind_str(s, 19, w->node);
    sqlite3_bind_int64(s, 20, w->submitted_wall_ms);
    sqlite3_bind_int64(s, 21, w->started_wall_ms);
    sqlite3_bind_int64(s, 22, w->ended_wall_ms);
    sqlite3_bind_int64(s, 23, w->not_before_wall_ms);
    weir_sqlite_bind_str(s, 24, w->detail);
}

int weir_sqlite_add_workload(void *ctx, const struct weir_workload_record *workload,
                             struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_ADD_WORKLOAD, err);
    sqlite3_stmt *spec = weir_sqlite_statement(ctx, WEIR_SQLITE_ADD_SPEC, err);
    int r;

    if (s == NULL || spec == NULL)
        return weir_error_code(err);
    bind_workload(s, workload);
    weir_sqlite_bind_str(s, 25, workload->request);
    sqlite3_bind_blob(s, 26, workload->digest,
                      workload->request.len > 0 ? sizeof(workload->digest) : 0, SQLITE_STATIC);
    r = weir_sqlite_run(ctx, s, err, "store a workload");
    if (r < 0)
        return r;
    sqlite3_bind_int64(spec, 1, (int64_t)workload->number);
    weir_sqlite_bind_str(spec, 2, workload->spec);
    return weir_sqlite_run(ctx, spec, err, "store a workload's spec");
}

int weir_sqlite_update_workload(void *ctx, const struct weir_workload_record *workload,
                                struct weir_err *err)
{
    bool ends = workload->ended_wall_ms > 0;
    sqlite3_stmt *s =
        weir_sqlite_statement(ctx, ends ? WEIR_SQLITE_END_WORKLOAD : WEIR_SQLITE_UPDATE_WORKLOAD,
                              err);

    if (s == NULL)
        return weir_error_code(err);
    bind_workload(s, workload);
    return weir_sqlite_run(ctx, s, err, "store a workload's state");
}

int weir_sqlite_put_task(void *ctx, const struct weir_task_record *t, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_PUT_TASK, err);

    if (s == NULL)
        return weir_error_code(err);
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
    weir_sqlite_bind_str(s, 13, t->node);
    weir_sqlite_bind_str(s, 14, t->grants);
    sqlite3_bind_int64(s, 15, t->started_wall_ms);
    sqlite3_bind_int64(s, 16, t->started_mono_ms);
    sqlite3_bind_int64(s, 17, t->ended_wall_ms);
    sqlite3_bind_int64(s, 18, t->not_before_wall_ms);
    weir_sqlite_bind_str(s, 19, t->detail);
    sqlite3_bind_int64(s, 20, (int64_t)t->for_whom);
    return weir_sqlite_run(ctx, s, err, "store a task");
}

int weir_sqlite_put_cordon(void *ctx, const struct weir_cordon_record *cordon, struct weir_err *err)
{
    bool gone = cordon->phase == WEIR_NODE_READY;
    sqlite3_stmt *s =
        weir_sqlite_statement(ctx, gone ? WEIR_SQLITE_DELETE_CORDON : WEIR_SQLITE_PUT_CORDON, err);

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, cordon->subject_kind);
    weir_sqlite_bind_str(s, 2, cordon->name);
    if (!gone) {
        sqlite3_bind_int64(s, 3, cordon->phase);
        weir_sqlite_bind_str(s, 4, cordon->cause);
    }
    return weir_sqlite_run(ctx, s, err, "store a cordon");
}

int weir_sqlite_append_event(void *ctx, const struct weir_event_record *e, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = weir_sqlite_statement(store, WEIR_SQLITE_APPEND_EVENT, err);
    int r;

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, e->wall_ms);
    sqlite3_bind_int64(s, 2, e->mono_ms);
    sqlite3_bind_blob(s, 3, e->boot_id, 16, SQLITE_STATIC);
    weir_sqlite_bind_str(s, 4, e->actor);
    weir_sqlite_bind_str(s, 5, e->kind);
    weir_sqlite_bind_str(s, 6, e->cause);
    weir_sqlite_bind_str(s, 7, e->subject);
    weir_sqlite_bind_str(s, 8, e->before);
    weir_sqlite_bind_str(s, 9, e->after);
    r = weir_sqlite_run(store, s, err, "store an event");
    store->last_event = r < 0 ? -1 : sqlite3_last_insert_rowid(store->db);
    return r;
}

/* ---- pruning ---- */

struct pruning {
    struct weir_sqlite *store;
    int (*each)(void *arg, const struct weir_task_record *task);
    void *arg;
    uint32_t n_left;      /* records that may still go */
    uint32_t last_member; /* of the workload at hand, that was told */
};

static int tell_pruned(void *arg, const struct weir_task_record *task)
{
    struct pruning *pruning = arg;
    int r;

    if (pruning->n_left == 0)
        return 1;
    r = pruning->each(pruning->arg, task);
    pruning->last_member = task->member;
    pruning->n_left = r > 0 ? 0 : pruning->n_left - 1;
    return r < 0 ? r : 0;
}

static int delete_by_number(struct weir_sqlite *store, enum weir_sqlite_statement_id which,
                            uint64_t number, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(store, which, err);

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, (int64_t)number);
    return weir_sqlite_run(store, s, err, "prune");
}

static int delete_told(struct pruning *pruning, uint64_t number, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(pruning->store, WEIR_SQLITE_DELETE_TASKS, err);

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, (int64_t)number);
    sqlite3_bind_int64(s, 2, pruning->last_member);
    return weir_sqlite_run(pruning->store, s, err, "prune");
}

/* 1: not all of it could go. */
static int prune_workload(struct pruning *pruning, uint64_t number, struct weir_err *err)
{
    struct weir_sqlite *store = pruning->store;
    uint32_t n_before = pruning->n_left;
    int r = weir_sqlite_each_task(store, number, tell_pruned, pruning, err);

    if (r >= 0 && pruning->n_left < n_before && delete_told(pruning, number, err) < 0)
        return weir_error_code(err);
    if (r == 0 && pruning->n_left == 0)
        return 1;
    if (r != 0)
        return r;
    pruning->n_left--;
    r = delete_by_number(store, WEIR_SQLITE_DELETE_SPEC, number, err);
    return r < 0 ? r : delete_by_number(store, WEIR_SQLITE_DELETE_WORKLOAD, number, err);
}

static int prune_workloads(struct pruning *pruning, int64_t wall_ms, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(pruning->store, WEIR_SQLITE_OLD_WORKLOADS, err);
    int step = SQLITE_DONE;
    int r = 0;

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, wall_ms);
    while (r == 0 && (step = sqlite3_step(s)) == SQLITE_ROW)
        r = prune_workload(pruning, (uint64_t)sqlite3_column_int64(s, 0), err);
    if (r == 0 && step != SQLITE_DONE)
        r = weir_sqlite_fail(pruning->store, err, "prune");
    sqlite3_reset(s);
    return r;
}

int weir_sqlite_prune(void *ctx, int64_t wall_ms, int64_t event_seq, uint32_t limit,
                      int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                      struct weir_err *err)
{
    struct pruning pruning = {.store = ctx, .each = each, .arg = arg, .n_left = limit};
    sqlite3_stmt *events = weir_sqlite_statement(ctx, WEIR_SQLITE_DELETE_EVENTS, err);
    int is_more;
    int r;

    if (events == NULL)
        return weir_error_code(err);
    /* The numbers of those that go are not given again. */
    r = weir_sqlite_run_simple(ctx, WEIR_SQLITE_KEEP_NUMBER, err, "prune");
    if (r < 0)
        return r;
    pruning.store->last_event = -1;
    is_more = prune_workloads(&pruning, wall_ms, err);
    if (is_more < 0)
        return is_more;
    sqlite3_bind_int64(events, 1, event_seq);
    sqlite3_bind_int64(events, 2, limit);
    r = weir_sqlite_run(ctx, events, err, "prune events");
    if (r < 0)
        return r;
    return is_more > 0 || sqlite3_changes(pruning.store->db) >= (int)limit;
}
