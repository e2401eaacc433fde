#include "app/earlier.h"

#include "base/err.h"
#include "edge/local/cluster.h"
#include "model/world.h"

struct earlier {
    const struct weir_store *store;
    const struct weir_local *local;
    int (*each)(void *arg, const struct weir_task_record *task);
    uint64_t serial;
    struct weir_err *err;
};

static int note_serial(void *arg, const struct weir_task_record *task)
{
    struct earlier *earlier = arg;

    if (task->serial > earlier->serial)
        earlier->serial = task->serial;
    return 0;
}

static int check_attempt(void *arg, const struct weir_task_record *task)
{
    struct earlier *earlier = arg;
    struct weir_cluster_ref ref = {task->serial, task->nonce, task->slot};

    if (!weir_task_state_holds(task->state) ||
        weir_local_check(earlier->local, &ref, earlier->err) == 0)
        return 0;
    return weir_error_wrap(earlier->err, "what became of workload %llu cannot be told",
                           (unsigned long long)task->number);
}

static int each_task(void *arg, const struct weir_workload_record *workload)
{
    struct earlier *earlier = arg;

    return earlier->store->each_task(earlier->store->ctx, workload->number, earlier->each, earlier,
                                     earlier->err);
}

static int each_live(struct earlier *earlier)
{
    struct weir_workload_filter live = {.state = -1};

    return earlier->store->each_workload(earlier->store->ctx, &live, false, each_task, earlier,
                                         earlier->err);
}

int weir_earlier_serial(const struct weir_store *store, uint64_t *ret_serial, struct weir_err *err)
{
    struct earlier earlier = {.store = store, .each = note_serial, .err = err};
    int r = each_live(&earlier);

    if (r == 0)
        *ret_serial = earlier.serial;
    return r;
}

int weir_earlier_check(const struct weir_store *store, const struct weir_local *local,
                       struct weir_err *err)
{
    struct earlier earlier = {.store = store, .local = local, .each = check_attempt, .err = err};

    return each_live(&earlier);
}
