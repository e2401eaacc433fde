#include "edge/api/output.h"

#include "edge/api/impl.h"

static bool is_row_of(const struct weir_world *world, uint32_t row, uint64_t number)
{
    return weir_table_is_live(weir_world_table(world, WEIR_TABLE_WORKLOADS), row) &&
           weir_world_workload(world, row)->number == number;
}

uint32_t weir_api_watch_workload(struct weir_api *api, struct weir_api_watch *watch)
{
    const struct weir_world *world = weir_api_world(api);

    if (world == NULL)
        return WEIR_NONE;
    if (watch->row != WEIR_NONE && is_row_of(world, watch->row, watch->number))
        return watch->row;
    watch->row = weir_api_index_make(&api->index, &api->service, NULL) == 0
                     ? weir_api_index_find(&api->index, watch->number)
                     : WEIR_NONE;
    return watch->row;
}

static bool is_task_of(const struct weir_world *world, uint32_t task, uint32_t workload,
                       uint32_t member)
{
    const struct weir_task *row;

    if (!weir_table_is_live(weir_world_table(world, WEIR_TABLE_TASKS), task))
        return false;
    row = weir_world_task(world, task);
    return row->workload == workload && row->member == member;
}

static uint32_t find_task(const struct weir_world *world, struct weir_api_watch *watch,
                          uint32_t workload, uint32_t member)
{
    uint32_t task = watch->task;

    if (task == WEIR_NONE || !is_task_of(world, task, workload, member)) {
        task = weir_world_workload(world, workload)->first_task;
        while (task != WEIR_NONE && weir_world_task(world, task)->member != member)
            task = weir_world_task(world, task)->next_in_workload;
        watch->task = task;
    }
    return task;
}

struct stored_member {
    uint32_t member;
    struct weir_api_member found;
};

static int note_member(void *arg, const struct weir_task_record *task)
{
    struct stored_member *stored = arg;

    if (task->member != stored->member)
        return 0;
    stored->found = (struct weir_api_member){task->state, task->attempt};
    return 1;
}

int weir_api_watch_member(struct weir_api *api, struct weir_api_watch *watch, uint32_t member,
                          struct weir_api_member *ret_member, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(api);
    uint32_t row = weir_api_watch_workload(api, watch);
    struct stored_member stored = {.member = member};
    uint32_t task;
    int r;

    if (row != WEIR_NONE) {
        task = find_task(weir_api_world(api), watch, row, member);
        if (task != WEIR_NONE) {
            const struct weir_task *is = weir_world_task(weir_api_world(api), task);

            *ret_member = (struct weir_api_member){is->state, is->attempt};
            return 0;
        }
    }
    r = store->each_task(store->ctx, watch->number, note_member, &stored, err);
    if (r >= 0)
        *ret_member = stored.found;
    return r < 0 ? r : 0;
}

int weir_api_read_output(struct weir_api *api, uint64_t number, uint32_t member, uint32_t attempt,
                         enum weir_stream stream, uint64_t *at, size_t max, struct weir_buf *out,
                         struct weir_err *err)
{
    const struct weir_cluster *cluster = api->service.cluster(api->service.ctx);
    uint64_t first = 0;
    size_t before = out->len;
    int r = cluster->read_output(cluster->ctx, number, member, attempt, stream, *at, max, &first,
                                 out, err);

    if (r == WEIR_E_NOT_FOUND || r == WEIR_E_UNAVAILABLE)
        return 0;
    if (r == 0 && out->len > before && first > *at)
        *at = first;
    return r;
}

int weir_api_query_member(const struct weir_api_call *call, uint32_t n_tasks, uint32_t *member,
                          struct weir_err *err)
{
    uint64_t value = *member;
    int r = weir_api_query_u64(call, "member", 0, n_tasks - 1, &value, err);

    if (r == 0)
        *member = (uint32_t)value;
    return r;
}
