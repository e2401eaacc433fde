#include "edge/api/index.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static uint32_t rows_of(const struct weir_world *world, enum weir_table_id id)
{
    return weir_world_table(world, id)->n_rows;
}

void weir_api_index_forget(struct weir_api_index *index)
{
    weir_world_unref(index->world);
    weir_world_unref(index->plan_world);
    index->world = NULL;
    index->plan_world = NULL;
    index->plan = NULL;
}

void weir_api_index_finish(struct weir_api_index *index)
{
    weir_api_index_forget(index);
    weir_mem_free(index->slots);
    weir_mem_free(index->verdict_of);
    weir_mem_free(index->waiting_of);
    *index = (struct weir_api_index){0};
}

static int fit(uint32_t **array, uint32_t *n, uint32_t want)
{
    uint32_t *grown;

    if (want > *n) {
        grown = weir_mem_realloc_array(*array, want, sizeof(**array));
        if (grown == NULL)
            return WEIR_E_NO_MEMORY;
        *array = grown;
        *n = want;
    }
    if (*n > 0)
        memset(*array, 0, *n * sizeof(**array));
    return 0;
}

static int make_room(struct weir_api_index *index, const struct weir_world *world,
                     const struct weir_world *plan_world)
{
    uint32_t n_rows = rows_of(world, WEIR_TABLE_WORKLOADS);
    uint32_t n_plan_rows = rows_of(plan_world, WEIR_TABLE_WORKLOADS);
    uint32_t n_slots = 16;
    int r;

    while (n_slots < 2 * weir_world_table(world, WEIR_TABLE_WORKLOADS)->n_live)
        n_slots *= 2;
    r = fit(&index->slots, &index->n_slots, n_slots);
    if (r == 0)
        r = fit(&index->verdict_of, &index->n_rows, n_rows > n_plan_rows ? n_rows : n_plan_rows);
    if (r == 0)
        r = fit(&index->waiting_of, &index->n_queues, rows_of(world, WEIR_TABLE_QUEUES));
    return r;
}

static uint32_t slot_of(const struct weir_api_index *index, uint64_t number)
{
    return (uint32_t)weir_hash_mix64(number) & (index->n_slots - 1);
}

static void add_workload(struct weir_api_index *index, uint32_t row)
{
    const struct weir_workload *w = weir_world_workload(index->world, row);
    uint32_t slot = slot_of(index, w->number);

    while (index->slots[slot] != 0)
        slot = (slot + 1) & (index->n_slots - 1);
    index->slots[slot] = row + 1;
    if (w->n_waiting == 0)
        return;
    for (uint32_t q = w->queue; q != WEIR_NONE; q = weir_world_queue(index->world, q)->parent)
        index->waiting_of[q]++;
}

int weir_api_index_make(struct weir_api_index *index, const struct weir_service *service,
                        struct weir_err *err)
{
    const struct weir_world *world = service->world(service->ctx);
    const struct weir_world *plan_world = service->plan_world(service->ctx);

    if (world == NULL || plan_world == NULL)
        return weir_error(err, WEIR_E_UNAVAILABLE, "weir is starting");
    if (index->world == world && index->plan_world == plan_world)
        return 0;
    weir_api_index_forget(index);
    if (make_room(index, world, plan_world) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to look up workloads");
    weir_world_ref(world);
    weir_world_ref(plan_world);
    index->world = world;
    index->plan_world = plan_world;
    index->plan = service->plan(service->ctx);
    for (uint32_t row = weir_world_first(world, WEIR_TABLE_WORKLOADS); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_WORKLOADS, row))
        add_workload(index, row);
    for (uint32_t i = 0; i < index->plan->n_verdicts; i++)
        index->verdict_of[index->plan->verdicts[i].workload] = i + 1;
    return 0;
}

uint32_t weir_api_index_find(const struct weir_api_index *index, uint64_t number)
{
    for (uint32_t slot = slot_of(index, number); index->slots[slot] != 0;
         slot = (slot + 1) & (index->n_slots - 1)) {
        uint32_t row = index->slots[slot] - 1;

        if (weir_world_workload(index->world, row)->number == number)
            return row;
    }
    return WEIR_NONE;
}

const struct weir_verdict *weir_api_index_verdict(const struct weir_api_index *index, uint32_t row)
{
    const struct weir_table *then = weir_world_table(index->plan_world, WEIR_TABLE_WORKLOADS);

    if (row >= index->n_rows || index->verdict_of[row] == 0 || !weir_table_is_live(then, row) ||
        weir_world_workload(index->plan_world, row)->number !=
            weir_world_workload(index->world, row)->number)
        return NULL;
    return &index->plan->verdicts[index->verdict_of[row] - 1];
}

uint32_t weir_api_index_waiting(const struct weir_api_index *index, uint32_t queue)
{
    return queue < index->n_queues ? index->waiting_of[queue] : 0;
}
