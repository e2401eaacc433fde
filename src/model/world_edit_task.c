/* What happens to tasks; their holds. */
#include "base/err.h"
#include "model/world_edit_impl.h"

/* from × to. STARTING and RUNNING may go back to QUEUED for a retry. A final state is final, but
 * for a member of a gang that succeeded before its gang had to begin anew. */
static const uint8_t legal[WEIR_TASK_STATE_MAX][WEIR_TASK_STATE_MAX] = {
    [WEIR_TASK_QUEUED] =
        {[WEIR_TASK_STARTING] = 1, [WEIR_TASK_FAILED] = 1, [WEIR_TASK_CANCELLED] = 1},
    [WEIR_TASK_STARTING] = {[WEIR_TASK_QUEUED] = 1,
                            [WEIR_TASK_RUNNING] = 1,
                            [WEIR_TASK_STOPPING] = 1,
                            [WEIR_TASK_SUCCEEDED] = 1,
                            [WEIR_TASK_FAILED] = 1,
                            [WEIR_TASK_CANCELLED] = 1,
                            [WEIR_TASK_LOST] = 1},
    [WEIR_TASK_RUNNING] = {[WEIR_TASK_QUEUED] = 1,
                           [WEIR_TASK_STOPPING] = 1,
                           [WEIR_TASK_SUCCEEDED] = 1,
                           [WEIR_TASK_FAILED] = 1,
                           [WEIR_TASK_CANCELLED] = 1,
                           [WEIR_TASK_LOST] = 1},
    [WEIR_TASK_STOPPING] = {[WEIR_TASK_QUEUED] = 1,
                            [WEIR_TASK_SUCCEEDED] = 1,
                            [WEIR_TASK_FAILED] = 1,
                            [WEIR_TASK_CANCELLED] = 1,
                            [WEIR_TASK_LOST] = 1},
    [WEIR_TASK_SUCCEEDED] = {[WEIR_TASK_QUEUED] = 1},
};

static int add_hold(struct weir_edit *edit, uint32_t task, struct weir_task *holder,
                    const struct weir_grant *grant)
{
    struct weir_hold *hold;
    struct weir_device *device;
    uint32_t index;

    if (weir_edit_new_row(edit, WEIR_TABLE_HOLDS, NULL, &index, &hold) < 0)
        return WEIR_E_NO_MEMORY;
    device = weir_edit_touch(edit, WEIR_TABLE_DEVICES, grant->device);
    if (device == NULL)
        return WEIR_E_NO_MEMORY;
    hold->device = grant->device;
    hold->task = task;
    hold->part_mgpu = grant->part_mgpu;
    hold->memory_bytes = grant->memory_bytes;
    hold->slots = grant->slots;
    hold->next_of_device = device->first_hold;
    hold->next_of_task = holder->first_hold;
    device->first_hold = index;
    device->n_sharers++;
    device->held_mgpu += grant->part_mgpu;
    device->held_memory_bytes += grant->memory_bytes;
    device->slots_used |= grant->slots;
    holder->first_hold = index;
    return 0;
}

static int unlink_hold(struct weir_edit *edit, struct weir_device *device, uint32_t index,
                       uint32_t next)
{
    struct weir_hold *before;
    uint32_t at = device->first_hold;

    if (at == index) {
        device->first_hold = next;
        return 0;
    }
    for (;;) {
        const struct weir_hold *row = weir_edit_peek(edit, WEIR_TABLE_HOLDS, at);

        if (row->next_of_device == index)
            break;
        at = row->next_of_device;
    }
    before = weir_edit_touch(edit, WEIR_TABLE_HOLDS, at);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    before->next_of_device = next;
    return 0;
}

static int drop_holds(struct weir_edit *edit, struct weir_task *task)
{
    while (task->first_hold != WEIR_NONE) {
        uint32_t index = task->first_hold;
        /* A copy: unlinking a neighbour may replace the chunk it lies in. */
        struct weir_hold hold =
            *(const struct weir_hold *)weir_edit_peek(edit, WEIR_TABLE_HOLDS, index);
        struct weir_device *device = weir_edit_touch(edit, WEIR_TABLE_DEVICES, hold.device);

        if (device == NULL || unlink_hold(edit, device, index, hold.next_of_device) < 0)
            return WEIR_E_NO_MEMORY;
        device->n_sharers--;
        device->held_mgpu -= hold.part_mgpu;
        device->held_memory_bytes -= hold.memory_bytes;
        device->slots_used = (uint16_t)(device->slots_used & ~hold.slots);
        task->first_hold = hold.next_of_task;
        if (weir_edit_free_row(edit, WEIR_TABLE_HOLDS, index) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static int add_to_node(struct weir_edit *edit, uint32_t node, const struct weir_shape *shape,
                       int64_t times)
{
    struct weir_node *row = weir_edit_touch(edit, WEIR_TABLE_NODES, node);

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < shape->n_amounts; i++)
        row->held.of[shape->amounts[i].resource] += shape->amounts[i].amount * times;
    return 0;
}

static int leave_node(struct weir_edit *edit, uint32_t index, struct weir_task *task)
{
    struct weir_node *node = weir_edit_touch(edit, WEIR_TABLE_NODES, task->node);
    struct weir_task *before;
    uint32_t at;

    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    if (node->first_task == index) {
        node->first_task = task->next_on_node;
    } else {
        for (at = node->first_task;;) {
            const struct weir_task *each = weir_edit_peek(edit, WEIR_TABLE_TASKS, at);

            if (each->next_on_node == index)
                break;
            at = each->next_on_node;
        }
        before = weir_edit_touch(edit, WEIR_TABLE_TASKS, at);
        if (before == NULL)
            return WEIR_E_NO_MEMORY;
        before->next_on_node = task->next_on_node;
    }
    task->next_on_node = WEIR_NONE;
    return 0;
}

static int64_t counts_as_waiting(uint32_t state)
{
    return state == WEIR_TASK_QUEUED;
}

/* The one place where a task changes state: the counts of its workload and the sums of its queues
 * follow. */
static int set_state(struct weir_edit *edit, uint32_t index, struct weir_task *task,
                     enum weir_task_state state)
{
    const struct weir_shape *shape = weir_edit_shape_of(edit, task->role);
    struct weir_workload *workload = weir_edit_touch(edit, WEIR_TABLE_WORKLOADS, task->workload);
    int64_t held = weir_task_state_holds(state) - weir_task_state_holds(task->state);
    int64_t waiting = counts_as_waiting(state) - counts_as_waiting(task->state);
    int64_t done = weir_task_state_is_final(state) - weir_task_state_is_final(task->state);

    if (workload == NULL)
        return WEIR_E_NO_MEMORY;
    workload->n_waiting = (uint32_t)(workload->n_waiting + waiting);
    workload->n_running = (uint32_t)(workload->n_running + held);
    workload->n_done = (uint32_t)(workload->n_done + done);
    if (waiting != 0 &&
        weir_edit_add_to_queues(edit, workload->queue, WEIR_QUEUE_WANTED, shape, waiting) < 0)
        return WEIR_E_NO_MEMORY;
    if (held != 0 &&
        (weir_edit_add_to_queues(edit, workload->queue, WEIR_QUEUE_HELD, shape, held) < 0 ||
         add_to_node(edit, task->node, shape, held) < 0))
        return WEIR_E_NO_MEMORY;
    task->state = state;
    if (weir_task_state_holds(state))
        return 0;
    task->stop_cause = 0;
    task->ended = WEIR_END_NOT;
    if (held < 0 && (leave_node(edit, index, task) < 0 || drop_holds(edit, task) < 0))
        return WEIR_E_NO_MEMORY;
    if (state == WEIR_TASK_QUEUED) {
        task->node = WEIR_NONE;
        task->started_wall_ms = 0;
        task->started_mono_ms = 0;
    }
    return 0;
}

static bool may_start(const struct weir_edit *edit, uint32_t task, uint32_t node,
                      const struct weir_grant *grants, uint32_t n_grants)
{
    const struct weir_world *state = edit->state;

    if (weir_world_task(state, task)->state != WEIR_TASK_QUEUED ||
        !weir_table_is_live(&state->tables[WEIR_TABLE_NODES], node))
        return false;
    for (uint32_t i = 0; i < n_grants; i++)
        if (!weir_table_is_live(&state->tables[WEIR_TABLE_DEVICES], grants[i].device) ||
            weir_world_device(state, grants[i].device)->node != node)
            return false;
    return true;
}

int weir_edit_task_start(struct weir_edit *edit, uint32_t task, uint32_t node,
                         const struct weir_grant *grants, uint32_t n_grants, int64_t wall_ms,
                         int64_t mono_ms)
{
    struct weir_task *row;
    struct weir_node *host;

    if (!may_start(edit, task, node, grants, n_grants))
        return WEIR_E_INVALID;
    row = weir_edit_touch(edit, WEIR_TABLE_TASKS, task);
    host = weir_edit_touch(edit, WEIR_TABLE_NODES, node);
    if (row == NULL || host == NULL)
        return WEIR_E_NO_MEMORY;
    row->node = node;
    row->next_on_node = host->first_task;
    host->first_task = task;
    row->attempt++;
    row->started_wall_ms = wall_ms;
    row->started_mono_ms = mono_ms;
    row->checkpoint_mono_ms = 0;
    /* From the last to the first, so that the list is in the order of the grants. */
    for (uint32_t i = n_grants; i-- > 0;)
        if (add_hold(edit, task, row, &grants[i]) < 0)
            return WEIR_E_NO_MEMORY;
    return set_state(edit, task, row, WEIR_TASK_STARTING);
}

int weir_edit_task_state(struct weir_edit *edit, uint32_t task, enum weir_task_state state)
{
    const struct weir_task *now = weir_edit_peek(edit, WEIR_TABLE_TASKS, task);
    struct weir_task *row;

    if (state >= WEIR_TASK_STATE_MAX || !legal[now->state][state] || state == WEIR_TASK_STARTING)
        return WEIR_E_INVALID;
    row = weir_edit_touch(edit, WEIR_TABLE_TASKS, task);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    if (row->state == WEIR_TASK_QUEUED && weir_task_state_is_final(state))
        row->ended_wall_ms = 0; /* that was the end of its last attempt, and this is another */
    return set_state(edit, task, row, state);
}

static uint32_t one_more(uint32_t n)
{
    return n < WEIR_SAMPLES_MAX ? n + 1 : n;
}

int weir_edit_hold_use(struct weir_edit *edit, uint32_t hold, int64_t used_bytes)
{
    const struct weir_hold *was = weir_edit_peek(edit, WEIR_TABLE_HOLDS, hold);
    bool is_over = was->memory_bytes > 0 && used_bytes > was->memory_bytes;
    uint32_t n_over = is_over ? one_more(was->n_over) : 0;
    uint32_t n_under = is_over || !was->is_warned ? 0 : one_more(was->n_under);
    bool is_news = n_over != was->n_over || n_under != was->n_under;
    struct weir_hold *row;

    if (!is_over)
        used_bytes = 0;
    if (!is_news && used_bytes == was->used_bytes)
        return 0;
    row = weir_edit_touch(edit, WEIR_TABLE_HOLDS, hold);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->n_over = n_over;
    row->n_under = n_under;
    row->used_bytes = used_bytes < WEIR_AMOUNT_MAX ? used_bytes : WEIR_AMOUNT_MAX;
    return is_news;
}

int weir_edit_hold_warned(struct weir_edit *edit, uint32_t hold, bool is_warned)
{
    struct weir_hold *row = weir_edit_touch(edit, WEIR_TABLE_HOLDS, hold);

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->is_warned = is_warned;
    row->n_under = 0;
    return 0;
}

int weir_edit_task_end(struct weir_edit *edit, uint32_t task, enum weir_task_state state)
{
    const struct weir_task *now = weir_edit_peek(edit, WEIR_TABLE_TASKS, task);
    struct weir_task *row;

    if (now->state != WEIR_TASK_QUEUED || state >= WEIR_TASK_STATE_MAX ||
        !weir_task_state_is_final(state))
        return WEIR_E_INVALID;
    row = weir_edit_touch(edit, WEIR_TABLE_TASKS, task);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    return set_state(edit, task, row, state);
}
