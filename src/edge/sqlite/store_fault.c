/* What was said of faults, and the GPUs that are out of service for them. */
#include "base/err.h"
#include "edge/sqlite/store_impl.h"

enum { BOOT_BYTES = 16 };

int weir_sqlite_append_fault(void *ctx, const struct weir_fault_record *f, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_APPEND_FAULT, err);

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, f->wall_ms);
    sqlite3_bind_int64(s, 2, f->mono_ms);
    sqlite3_bind_blob(s, 3, f->boot_id, BOOT_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, f->source_seq);
    weir_sqlite_bind_str(s, 5, f->node);
    weir_sqlite_bind_str(s, 6, f->event);
    return weir_sqlite_run(ctx, s, err, "store a fault");
}

int weir_sqlite_delete_faults(void *ctx, int64_t before_wall_ms, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_DELETE_FAULTS, err);

    if (s == NULL)
        return weir_error_code(err);
    sqlite3_bind_int64(s, 1, before_wall_ms);
    return weir_sqlite_run(ctx, s, err, "remove old faults");
}

int weir_sqlite_put_mark(void *ctx, const struct weir_mark_record *m, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_PUT_MARK, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, m->key);
    weir_sqlite_bind_str(s, 2, m->cause);
    weir_sqlite_bind_str(s, 3, m->class);
    sqlite3_bind_int64(s, 4, m->action);
    sqlite3_bind_int64(s, 5, m->then);
    sqlite3_bind_int64(s, 6, m->since_wall_ms);
    sqlite3_bind_blob(s, 7, m->boot_id, BOOT_BYTES, SQLITE_STATIC);
    return weir_sqlite_run(ctx, s, err, "store that a GPU is out of service");
}

int weir_sqlite_delete_mark(void *ctx, struct weir_str key, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_DELETE_MARK, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, key);
    return weir_sqlite_run(ctx, s, err, "store that a GPU is back in service");
}

/* The id, or zeros where the file holds something else. */
static const uint8_t *column_boot(sqlite3_stmt *s, int column)
{
    static const uint8_t none[BOOT_BYTES];

    return sqlite3_column_bytes(s, column) == BOOT_BYTES ? sqlite3_column_blob(s, column) : none;
}

int weir_sqlite_each_fault(void *ctx, int (*each)(void *arg, const struct weir_fault_record *fault),
                           void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_EACH_FAULT, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_fault_record fault = {
            .wall_ms = sqlite3_column_int64(s, 0),
            .mono_ms = sqlite3_column_int64(s, 1),
            .boot_id = column_boot(s, 2),
            .source_seq = sqlite3_column_int64(s, 3),
            .node = weir_sqlite_column_str(s, 4),
            .event = weir_sqlite_column_str(s, 5),
        };

        verdict = each(arg, &fault);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}

int weir_sqlite_each_mark(void *ctx, int (*each)(void *arg, const struct weir_mark_record *mark),
                          void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_EACH_MARK, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_mark_record mark = {
            .key = weir_sqlite_column_str(s, 0),
            .cause = weir_sqlite_column_str(s, 1),
            .class = weir_sqlite_column_str(s, 2),
            .action = weir_sqlite_column_u32(s, 3),
            .then = weir_sqlite_column_u32(s, 4),
            .since_wall_ms = sqlite3_column_int64(s, 5),
            .boot_id = column_boot(s, 6),
        };

        verdict = each(arg, &mark);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}
