/* Old history goes, a little at a time. */
#include "app/server.h"
#include "base/log.h"

enum { AT_ONCE = 500, KEEP_EVENTS = 1000000 };

static int remove_output(void *arg, const struct weir_task_record *task)
{
    struct weir_cluster *cluster = arg;
    struct weir_err err = WEIR_ERR_INIT;

    for (uint32_t attempt = 1; attempt <= task->attempt; attempt++)
        if (cluster->remove_output(cluster->ctx, task->number, task->member, attempt, &err) < 0)
            weir_log_warn("output.remove", "%s", err.text);
    return 0;
}

void weir_server_prune(struct weir_server *server, struct weir_now now)
{
    struct weir_store *store = &server->store;
    struct weir_err err = WEIR_ERR_INIT;
    int64_t last = 0;
    int r = store->last_event(store->ctx, &last, &err);

    if (r == 0)
        r = store->begin(store->ctx, &err);
    if (r == 0) {
        r = store->prune(store->ctx, now.wall_ms - server->keep_ended_ms, last - KEEP_EVENTS,
                         AT_ONCE, remove_output, &server->cluster, &err);
        if (r == 0)
            r = store->commit(store->ctx, false, &err);
        else
            store->rollback(store->ctx);
    }
    if (r < 0)
        weir_log_warn("store.prune", "%s", err.text);
}
