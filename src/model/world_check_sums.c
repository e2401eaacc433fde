/* Every sum that world_edit keeps, computed again from its parts. Lists were seen to be whole. */
#include "base/err.h"
#include "model/world_check_impl.h"

/* ---- devices ---- */

struct held {
    int64_t mgpu;
    int64_t memory_bytes;
    uint16_t slots;
};

static int add_hold(const struct weir_check *check, uint32_t index, struct held *sum)
{
    const struct weir_hold *hold = weir_world_hold(check->world, index);
    const struct weir_device *device = weir_world_device(check->world, hold->device);
    const struct weir_task *task = weir_world_task(check->world, hold->task);

    if (!weir_task_state_holds(task->state))
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_HOLDS, index, "task"),
                                "is %u, which is %s and holds nothing", hold->task,
                                weir_task_state_name((enum weir_task_state)task->state));
    if (task->node != device->node)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_HOLDS, index, "device"),
                                "is %u on node %u, its task is on node %u", hold->device,
                                device->node, task->node);
    if ((hold->slots & (sum->slots | (uint16_t)~device->slots_used)) != 0)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_HOLDS, index, "slots"),
                                "is 0x%x, taken by another hold or not in use on its device",
                                hold->slots);
    sum->slots |= hold->slots;
    sum->mgpu += hold->part_mgpu;
    sum->memory_bytes += hold->memory_bytes;
    return 0;
}

static int check_device(const struct weir_check *check, uint32_t index)
{
    const struct weir_device *row = weir_world_device(check->world, index);
    struct held sum = {0};

    for (uint32_t at = row->first_hold; at != WEIR_NONE;
         at = weir_world_hold(check->world, at)->next_of_device) {
        int r = add_hold(check, at, &sum);

        if (r < 0)
            return r;
    }
    if (row->held_mgpu != sum.mgpu)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, index, "held_mgpu"),
                                "is %lld, its holds sum to %lld", (long long)row->held_mgpu,
                                (long long)sum.mgpu);
    if (row->held_memory_bytes != sum.memory_bytes)
        return weir_check_fault(check,
                                weir_check_at(WEIR_TABLE_DEVICES, index, "held_memory_bytes"),
                                "is %lld, its holds sum to %lld", (long long)row->held_memory_bytes,
                                (long long)sum.memory_bytes);
    if (row->n_sharers > row->max_sharers)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, index, "n_sharers"),
                                "is %u, more than its %u", row->n_sharers, row->max_sharers);
    if (row->kind == WEIR_DEVICE_WHOLE && row->max_sharers == 1 && sum.mgpu > 1000)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, index, "held_mgpu"),
                                "is %lld, more than the device has", (long long)sum.mgpu);
    /* Of one that is known by its name only it is not known how much it has. */
    if (row->memory_bytes > 0 && sum.memory_bytes > row->memory_bytes)
        return weir_check_fault(check,
                                weir_check_at(WEIR_TABLE_DEVICES, index, "held_memory_bytes"),
                                "is %lld, more than the %lld it has", (long long)sum.memory_bytes,
                                (long long)row->memory_bytes);
    return 0;
}

/* ---- vectors ---- */

/* False when the sum would pass WEIR_AMOUNT_MAX. */
static bool add_shape(struct weir_amounts *sum, const struct weir_shape *shape)
{
    for (uint32_t i = 0; i < shape->n_amounts; i++) {
        int64_t *to = &sum->of[shape->amounts[i].resource];

        if (shape->amounts[i].amount > WEIR_AMOUNT_MAX - *to)
            return false;
        *to += shape->amounts[i].amount;
    }
    return true;
}

static const struct weir_shape *shape_of(const struct weir_world *world,
                                         const struct weir_task *task)
{
    return weir_world_shape(world, weir_world_role(world, task->role)->shape);
}

static int compare(const struct weir_check *check, enum weir_table_id table, uint32_t index,
                   const char *field, const struct weir_amounts *is, const struct weir_amounts *sum)
{
    for (uint32_t i = 0; i < WEIR_RESOURCE_MAX; i++)
        if (is->of[i] != sum->of[i])
            return weir_check_fault(check, weir_check_at_element(table, index, field, i),
                                    "is %lld, its tasks sum to %lld", (long long)is->of[i],
                                    (long long)sum->of[i]);
    return 0;
}

static int check_node(const struct weir_check *check, uint32_t index)
{
    const struct weir_node *row = weir_world_node(check->world, index);
    struct weir_amounts sum = {0};

    for (uint32_t at = row->first_task; at != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(check->world, at);

        if (!add_shape(&sum, shape_of(check->world, task)))
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_NODES, index, "held"),
                                    "is too large to be summed");
        at = task->next_on_node;
    }
    return compare(check, WEIR_TABLE_NODES, index, "held", &row->held, &sum);
}

/* ---- queues ---- */

struct queue_sums {
    struct weir_amounts held;
    struct weir_amounts wanted;
    uint32_t n_children; /* whose sums are not yet in */
};

static int check_count(const struct weir_check *check, uint32_t workload, const char *field,
                       uint32_t is, uint32_t count)
{
    if (is == count)
        return 0;
    return weir_check_fault(check, weir_check_at(WEIR_TABLE_WORKLOADS, workload, field),
                            "is %u, its tasks count %u", is, count);
}

static int add_workload(const struct weir_check *check, uint32_t index, struct queue_sums *sums)
{
    const struct weir_workload *row = weir_world_workload(check->world, index);
    uint32_t n_waiting = 0;
    uint32_t n_running = 0;
    uint32_t n_done = 0;

    for (uint32_t at = row->first_task; at != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(check->world, at);
        bool holds = weir_task_state_holds(task->state);
        bool waits = task->state == WEIR_TASK_QUEUED;

        n_waiting += waits;
        n_running += holds;
        n_done += weir_task_state_is_final(task->state);
        if ((holds || waits) &&
            !add_shape(holds ? &sums->held : &sums->wanted, shape_of(check->world, task)))
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_QUEUES, row->queue, "wanted"),
                                    "is too large to be summed");
        at = task->next_in_workload;
    }
    if (check_count(check, index, "n_waiting", row->n_waiting, n_waiting) < 0 ||
        check_count(check, index, "n_running", row->n_running, n_running) < 0 ||
        check_count(check, index, "n_done", row->n_done, n_done) < 0)
        return WEIR_E_INVALID;
    return 0;
}

/* Held and wanted of a queue fit under the bound together, so that either may become the other. */
static bool carry(struct weir_amounts *held, struct weir_amounts *wanted,
                  const struct queue_sums *from)
{
    for (uint32_t i = 0; i < WEIR_RESOURCE_MAX; i++) {
        int64_t more = from->held.of[i] + from->wanted.of[i];

        if (more > WEIR_AMOUNT_MAX || more > WEIR_AMOUNT_MAX - held->of[i] - wanted->of[i])
            return false;
        held->of[i] += from->held.of[i];
        wanted->of[i] += from->wanted.of[i];
    }
    return true;
}

/* Judges a queue whose children are all in, and everything above it that becomes so. */
static int settle(const struct weir_check *check, uint32_t index, struct queue_sums *sums)
{
    while (index != WEIR_NONE) {
        const struct weir_queue *row = weir_world_queue(check->world, index);
        struct queue_sums none = {0};
        int r = compare(check, WEIR_TABLE_QUEUES, index, "held", &row->held, &sums[index].held);

        if (r == 0)
            r = compare(check, WEIR_TABLE_QUEUES, index, "wanted", &row->wanted,
                        &sums[index].wanted);
        if (r < 0)
            return r;
        if (!carry(&none.held, &none.wanted, &sums[index]))
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_QUEUES, index, "wanted"),
                                    "is too large together with held");
        if (row->parent == WEIR_NONE)
            return 0;
        if (!carry(&sums[row->parent].held, &sums[row->parent].wanted, &sums[index]))
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_QUEUES, row->parent, "wanted"),
                                    "is too large together with held");
        if (--sums[row->parent].n_children > 0)
            return 0;
        index = row->parent;
    }
    return 0;
}

/* From the leaves up. Queues in a circle of parents have a child that never comes in. */
static int check_queues(const struct weir_check *check)
{
    const struct weir_world *world = check->world;
    uint32_t n_rows = world->tables[WEIR_TABLE_QUEUES].n_rows;
    struct queue_sums *sums = weir_arena_new_n(check->arena, struct queue_sums, n_rows);
    int r;

    if (sums == NULL)
        return weir_check_no_memory(check);
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_WORKLOADS, i)) {
        r = add_workload(check, i, &sums[weir_world_workload(world, i)->queue]);
        if (r < 0)
            return r;
    }
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_QUEUES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_QUEUES, i))
        if (weir_world_queue(world, i)->parent != WEIR_NONE)
            sums[weir_world_queue(world, i)->parent].n_children++;
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_QUEUES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_QUEUES, i))
        if (weir_world_queue(world, i)->first_child == WEIR_NONE) {
            r = settle(check, i, sums);
            if (r < 0)
                return r;
        }
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_QUEUES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_QUEUES, i))
        if (sums[i].n_children > 0)
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_QUEUES, i, "parent"),
                                    "is %u, and leads back to it or to another circle",
                                    weir_world_queue(world, i)->parent);
    return 0;
}

int weir_check_sums(const struct weir_check *check)
{
    const struct weir_world *world = check->world;
    int r;

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i)) {
        r = check_device(check, i);
        if (r < 0)
            return r;
    }
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_NODES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_NODES, i)) {
        r = check_node(check, i);
        if (r < 0)
            return r;
    }
    return check_queues(check);
}
