/* Old history goes, a little at a time: nobody else is served meanwhile, and removing a file takes
 * ext4 a fraction of a millisecond. */
#include "app/faults.h"
#include "app/server.h"
#include "base/log.h"

enum { RECORDS_AT_ONCE = 500, OUTPUTS_AT_ONCE = 100, KEEP_EVENTS = 1000000 };

struct removing {
    struct weir_cluster *cluster;
    uint32_t n_outputs;
};

static int remove_output(void *arg, const struct weir_task_record *task)
{
    struct removing *removing = arg;
    struct weir_cluster *cluster = removing->cluster;
    struct weir_err err = WEIR_ERR_INIT;

    for (uint32_t attempt = 1; attempt <= task->attempt; attempt++)
        if (cluster->remove_output(cluster->ctx, task->number, task->member, attempt, &err) < 0)
            weir_log_warn("output.remove", "%s", err.text);
    removing->n_outputs += task->attempt;
    return removing->n_outputs >= OUTPUTS_AT_ONCE;
}

bool weir_server_prune(struct weir_server *server, struct weir_now now)
{
    struct weir_store *store = &server->store;
    struct removing removing = {.cluster = &server->cluster};
    struct weir_err err = WEIR_ERR_INIT;
    int64_t last = 0;
    int is_more = 0;
    int r = store->last_event(store->ctx, &last, &err);

    if (r == 0)
        r = store->begin(store->ctx, &err);
    if (r == 0) {
        r = is_more =
            store->prune(store->ctx, now.wall_ms - server->keep_ended_ms, last - KEEP_EVENTS,
                         RECORDS_AT_ONCE, remove_output, &removing, &err);
        if (r >= 0)
            r = store->delete_faults(store->ctx, now.wall_ms - WEIR_SERVER_FAULTS_KEPT_MS, &err);
        if (r >= 0)
            r = store->commit(store->ctx, false, &err);
        else
            store->rollback(store->ctx);
    }
    if (r < 0)
        weir_log_warn("store.prune", "%s", err.text);
    return r == 0 && is_more > 0;
}
