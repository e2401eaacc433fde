/* A callback that returns non-zero ends its walk. */
#include "base/buf.h"
#include "base/err.h"
#include "edge/sqlite/store_impl.h"

#include <string.h>

static struct weir_workload_record workload_of(sqlite3_stmt *s, bool with_spec)
{
    return (struct weir_workload_record){
        .number = (uint64_t)sqlite3_column_int64(s, 0),
        .name = weir_sqlite_column_str(s, 1),
        .queue = weir_sqlite_column_str(s, 2),
        .owner = weir_sqlite_column_str(s, 3),
        .uid = weir_sqlite_column_u32(s, 4),
        .gid = weir_sqlite_column_u32(s, 5),
        .class = weir_sqlite_column_u32(s, 6),
        .priority = (int32_t)sqlite3_column_int64(s, 7),
        .n_tasks = weir_sqlite_column_u32(s, 8),
        .independent = weir_sqlite_column_u32(s, 9),
        .is_demo = weir_sqlite_column_u32(s, 10),
        .state = weir_sqlite_column_u32(s, 11),
        .cause = weir_sqlite_column_u32(s, 12),
        .attempt = weir_sqlite_column_u32(s, 13),
        .exit_status = (int32_t)sqlite3_column_int64(s, 14),
        .cancelled = weir_sqlite_column_u32(s, 15),
        .n_failures = weir_sqlite_column_u32(s, 16),
        .gpus = weir_sqlite_column_str(s, 17),
        .node = weir_sqlite_column_str(s, 18),
        .submitted_wall_ms = sqlite3_column_int64(s, 19),
        .started_wall_ms = sqlite3_column_int64(s, 20),
        .ended_wall_ms = sqlite3_column_int64(s, 21),
        .not_before_wall_ms = sqlite3_column_int64(s, 22),
        .detail = weir_sqlite_column_str(s, 23),
        .spec = with_spec ? weir_sqlite_column_str(s, 24) : WEIR_STR(""),
    };
}

/* Ends a walk: the callback's verdict, or the database's. */
int weir_sqlite_end_walk(struct weir_sqlite *store, sqlite3_stmt *s, int step, int verdict,
                         struct weir_err *err)
{
    if (verdict == 0 && step != SQLITE_DONE)
        verdict = weir_sqlite_fail(store, err, "read the store");
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return verdict;
}

int weir_sqlite_each_queue(void *ctx, int (*each)(void *arg, const struct weir_queue_record *queue),
                           void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_EACH_QUEUE, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_queue_record queue = {weir_sqlite_column_str(s, 0),
                                          weir_sqlite_column_str(s, 1), sqlite3_column_int64(s, 2)};

        verdict = each(arg, &queue);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}

/* Filters are few and lists are rare: this statement is made for the call. */
int weir_sqlite_each_workload(void *ctx, const struct weir_workload_filter *filter, bool with_spec,
                              int (*each)(void *arg, const struct weir_workload_record *workload),
                              void *arg, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    struct weir_buf text = WEIR_BUF_INIT(2048);
    sqlite3_stmt *s = NULL;
    int verdict = 0;
    int step;

    weir_buf_printf(&text,
                    "SELECT " WEIR_SQLITE_WORKLOAD_COLUMNS "%s FROM workloads%s WHERE number > ?1",
                    with_spec ? ", spec" : "", with_spec ? " LEFT JOIN specs USING(number)" : "");
    weir_buf_puts(&text, filter->all ? "" : " AND ended_ms = 0");
    weir_buf_puts(&text, filter->queue.len > 0 ? " AND queue = ?2" : "");
    weir_buf_puts(&text, filter->owner.len > 0 ? " AND owner = ?3" : "");
    weir_buf_puts(&text, filter->name.len > 0 ? " AND name = ?4" : "");
    weir_buf_puts(&text, filter->state >= 0 ? " AND state = ?5" : "");
    weir_buf_puts(&text, " ORDER BY number LIMIT ?6");
    verdict = weir_buf_check(&text, "a list of workloads", err);
    if (verdict == 0 &&
        sqlite3_prepare_v2(store->db, weir_buf_cstr(&text), -1, &s, NULL) != SQLITE_OK)
        verdict = weir_sqlite_fail(store, err, "list workloads");
    weir_buf_finish(&text);
    if (verdict < 0)
        return verdict;
    sqlite3_bind_int64(s, 1, (int64_t)filter->after_number);
    weir_sqlite_bind_str(s, 2, filter->queue);
    weir_sqlite_bind_str(s, 3, filter->owner);
    weir_sqlite_bind_str(s, 4, filter->name);
    sqlite3_bind_int64(s, 5, filter->state);
    sqlite3_bind_int64(s, 6, filter->limit > 0 ? (int64_t)filter->limit : -1);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_workload_record workload = workload_of(s, with_spec);

        verdict = each(arg, &workload);
    }
    if (verdict == 0 && step != SQLITE_DONE)
        verdict = weir_sqlite_fail(store, err, "list workloads");
    sqlite3_finalize(s);
    return verdict;
}

int weir_sqlite_get_workload(void *ctx, uint64_t number,
                             int (*each)(void *arg, const struct weir_workload_record *workload),
                             void *arg, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = weir_sqlite_statement(store, WEIR_SQLITE_GET_WORKLOAD, err);
    struct weir_workload_record workload;
    int r;

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, (int64_t)number);
    r = sqlite3_step(s);
    if (r == SQLITE_DONE) {
        sqlite3_reset(s);
        return weir_error(err, WEIR_E_NOT_FOUND, "there is no workload %llu",
                          (unsigned long long)number);
    }
    if (r != SQLITE_ROW) {
        r = weir_sqlite_fail(store, err, "read a workload");
        sqlite3_reset(s);
        return r;
    }
    workload = workload_of(s, true);
    r = each(arg, &workload);
    sqlite3_reset(s);
    return r;
}

int weir_sqlite_each_task(void *ctx, uint64_t number,
                          int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                          struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_EACH_TASK, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, (int64_t)number);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_task_record task = {
            .number = (uint64_t)sqlite3_column_int64(s, 0),
            .member = weir_sqlite_column_u32(s, 1),
            .state = weir_sqlite_column_u32(s, 2),
            .attempt = weir_sqlite_column_u32(s, 3),
            .stop_cause = weir_sqlite_column_u32(s, 4),
            .end = weir_sqlite_column_u32(s, 5),
            .cause = weir_sqlite_column_u32(s, 6),
            .exit_status = (int32_t)sqlite3_column_int64(s, 7),
            .n_failures = weir_sqlite_column_u32(s, 8),
            .serial = (uint64_t)sqlite3_column_int64(s, 9),
            .nonce = (uint64_t)sqlite3_column_int64(s, 10),
            .slot = weir_sqlite_column_u32(s, 11),
            .node = weir_sqlite_column_str(s, 12),
            .grants = weir_sqlite_column_str(s, 13),
            .started_wall_ms = sqlite3_column_int64(s, 14),
            .started_mono_ms = sqlite3_column_int64(s, 15),
            .ended_wall_ms = sqlite3_column_int64(s, 16),
            .not_before_wall_ms = sqlite3_column_int64(s, 17),
            .detail = weir_sqlite_column_str(s, 18),
            .for_whom = (uint64_t)sqlite3_column_int64(s, 19),
        };

        verdict = each(arg, &task);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}

int weir_sqlite_find_cordon(void *ctx, uint32_t subject_kind, struct weir_str name,
                            int (*each)(void *arg, const struct weir_cordon_record *cordon),
                            void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_FIND_CORDON, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, subject_kind);
    weir_sqlite_bind_str(s, 2, name);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_cordon_record cordon = {weir_sqlite_column_u32(s, 0),
                                            weir_sqlite_column_u32(s, 2),
                                            weir_sqlite_column_str(s, 1),
                                            weir_sqlite_column_str(s, 3)};

        verdict = each(arg, &cordon);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}

static void bind_filter(sqlite3_stmt *s, const struct weir_event_filter *filter)
{
    sqlite3_bind_int64(s, 1, filter->after);
    sqlite3_bind_int64(s, 2, filter->until);
    weir_sqlite_bind_str(s, 3, filter->subject);
    sqlite3_bind_int64(s, 4, filter->limit);
}

int weir_sqlite_each_event(void *ctx, const struct weir_event_filter *filter,
                           int (*each)(void *arg, const struct weir_event_record *event), void *arg,
                           struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_EACH_EVENT, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    bind_filter(s, filter);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        static const uint8_t unknown_boot[16];
        const void *boot = sqlite3_column_blob(s, 3);
        struct weir_event_record event = {
            .seq = sqlite3_column_int64(s, 0),
            .wall_ms = sqlite3_column_int64(s, 1),
            .mono_ms = sqlite3_column_int64(s, 2),
            .boot_id = sqlite3_column_bytes(s, 3) == 16 ? boot : unknown_boot,
            .actor = weir_sqlite_column_str(s, 4),
            .kind = weir_sqlite_column_str(s, 5),
            .cause = weir_sqlite_column_str(s, 6),
            .subject = weir_sqlite_column_str(s, 7),
            .before = weir_sqlite_column_str(s, 8),
            .after = weir_sqlite_column_str(s, 9),
        };

        verdict = each(arg, &event);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}

int weir_sqlite_last_events(void *ctx, const struct weir_event_filter *filter,
                            struct weir_event_run *ret_run, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_LAST_EVENTS, err);
    int r = 0;

    if (s == NULL)
        return weir_error_code(err);
    bind_filter(s, filter);
    if (sqlite3_step(s) == SQLITE_ROW)
        *ret_run = (struct weir_event_run){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
                                           weir_sqlite_column_u32(s, 2)};
    else
        r = weir_sqlite_fail(ctx, err, "read the last events");
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return r;
}

/* The first event from `seq` on; 0: there is none. */
static int event_from(struct weir_sqlite *store, int64_t seq, int64_t *ret_seq,
                      int64_t *ret_wall_ms, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(store, WEIR_SQLITE_EVENT_FROM, err);
    int r;

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, seq);
    r = sqlite3_step(s);
    if (r == SQLITE_ROW) {
        *ret_seq = sqlite3_column_int64(s, 0);
        *ret_wall_ms = sqlite3_column_int64(s, 1);
        r = 1;
    } else {
        r = r == SQLITE_DONE ? 0 : weir_sqlite_fail(store, err, "look for an event");
    }
    sqlite3_reset(s);
    return r;
}

/* The event at `older` is older than that; the one at `newer` is not, or is not there. */
int weir_sqlite_events_since(void *ctx, int64_t wall_ms, int64_t *ret_after, struct weir_err *err)
{
    int64_t older = 0;
    int64_t newer = 0;
    int64_t at_ms = 0;
    int r = weir_sqlite_last_event(ctx, &newer, err);

    if (r == 0)
        r = event_from(ctx, 0, &older, &at_ms, err);
    if (r < 0)
        return r;
    if (r == 0 || at_ms >= wall_ms) {
        *ret_after = r == 0 ? newer : older - 1;
        return 0;
    }
    newer++;
    while (newer - older > 1) {
        int64_t middle = older + (newer - older) / 2;
        int64_t seq = 0;

        r = event_from(ctx, middle, &seq, &at_ms, err);
        if (r < 0)
            return r;
        if (r > 0 && seq < newer && at_ms < wall_ms)
            older = seq;
        else
            newer = middle;
    }
    *ret_after = older;
    return 0;
}

int weir_sqlite_get_request(void *ctx, struct weir_str owner, struct weir_str key,
                            uint8_t ret_digest[16], uint64_t *ret_number, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s = weir_sqlite_statement(store, WEIR_SQLITE_GET_REQUEST, err);
    int r;

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, owner);
    weir_sqlite_bind_str(s, 2, key);
    r = sqlite3_step(s);
    if (r == SQLITE_ROW && sqlite3_column_bytes(s, 0) == 16) {
        memcpy(ret_digest, sqlite3_column_blob(s, 0), 16);
        *ret_number = (uint64_t)sqlite3_column_int64(s, 1);
        r = 0;
    } else if (r == SQLITE_DONE) {
        r = WEIR_E_NOT_FOUND;
    } else {
        r = weir_sqlite_fail(store, err, "read an idempotency key");
    }
    sqlite3_reset(s);
    return r;
}

int weir_sqlite_last_event(void *ctx, int64_t *ret_seq, struct weir_err *err)
{
    struct weir_sqlite *store = ctx;
    sqlite3_stmt *s;

    if (store->last_event >= 0) {
        *ret_seq = store->last_event;
        return 0;
    }
    s = weir_sqlite_statement(store, WEIR_SQLITE_LAST_EVENT, err);
    if (s == NULL)
        return weir_error_code(err);
    if (sqlite3_step(s) != SQLITE_ROW) {
        int r = weir_sqlite_fail(store, err, "read the last event");

        sqlite3_reset(s);
        return r;
    }
    *ret_seq = store->last_event = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return 0;
}
