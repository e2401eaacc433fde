/* The GPUs that were seen. */
#include "base/err.h"
#include "edge/sqlite/store_impl.h"

int weir_sqlite_put_gpu(void *ctx, const struct weir_gpu_record *gpu, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_PUT_GPU, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, gpu->key);
    weir_sqlite_bind_str(s, 2, gpu->facts);
    sqlite3_bind_int64(s, 3, gpu->is_simulated);
    sqlite3_bind_int64(s, 4, gpu->seen_wall_ms);
    return weir_sqlite_run(ctx, s, err, "store what a GPU is");
}

int weir_sqlite_delete_gpu(void *ctx, struct weir_str key, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_DELETE_GPU, err);

    if (s == NULL)
        return weir_error_code(err);
    weir_sqlite_bind_str(s, 1, key);
    return weir_sqlite_run(ctx, s, err, "delete a GPU");
}

int weir_sqlite_each_gpu(void *ctx, int (*each)(void *arg, const struct weir_gpu_record *gpu),
                         void *arg, struct weir_err *err)
{
    sqlite3_stmt *s = weir_sqlite_statement(ctx, WEIR_SQLITE_EACH_GPU, err);
    int verdict = 0;
    int step;

    if (s == NULL)
        return weir_error_code(err);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && verdict == 0) {
        struct weir_gpu_record gpu = {
            .key = weir_sqlite_column_str(s, 0),
            .facts = weir_sqlite_column_str(s, 1),
            .is_simulated = sqlite3_column_int64(s, 2) != 0,
            .seen_wall_ms = sqlite3_column_int64(s, 3),
        };

        verdict = each(arg, &gpu);
    }
    return weir_sqlite_end_walk(ctx, s, step, verdict, err);
}
