#include "base/err.h"
#include "edge/sqlite/store_impl.h"

int weir_sqlite_put_setup(void *ctx, const struct weir_setup_record *setup, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_PUT_SETUP, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, setup->name);
    weir_sqlite_bind_str(s, 2, setup->spec);
    sqlite3_bind_int64(s, 3, setup->created_wall_ms);
    return weir_sqlite_run(ctx, s, err, "store a setup");
}

int weir_sqlite_delete_setup(void *ctx, struct weir_str name, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_DELETE_SETUP, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, name);
    return weir_sqlite_run(ctx, s, err, "delete a setup");
}

int weir_sqlite_each_setup(void *ctx, int (*each)(void *arg, const struct weir_setup_record *setup),
                           void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_EACH_SETUP, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_setup_record setup = {weir_sqlite_column_str(s, 0),
                                          weir_sqlite_column_str(s, 1), sqlite3_column_int64(s, 2)};

        verdict = each(arg, &setup);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}
