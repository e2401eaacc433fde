/* A plain model of a world: no sums, no lists, no versions. What the writer of worlds keeps is
 * computed from it, and compared. */
#ifndef WEIR_TESTS_PLAIN_MODEL_H
#define WEIR_TESTS_PLAIN_MODEL_H

#include "base/err.h"
#include "model/world_edit.h"
#include "world_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MODEL_ROWS = 4096, MODEL_TASKS = 12 };

struct model_task {
    uint32_t index;
    uint32_t shape;
    uint32_t state;
    uint32_t node;
    uint32_t attempt;
    uint32_t n_grants;
    struct weir_grant grants[HISTORY_GRANTS_MAX];
};

struct model_row {
    bool live;
    struct weir_key key;
    uint32_t
        above; /* node of a device, parent of a queue, queue of a workload, table of the rest */
    uint32_t n_tasks;
    struct model_task tasks[MODEL_TASKS];
};

enum model_kind { MODEL_NODES, MODEL_DEVICES, MODEL_QUEUES, MODEL_WORKLOADS, MODEL_KINDS };

static const enum weir_table_id table_of_kind[MODEL_KINDS] = {WEIR_TABLE_NODES, WEIR_TABLE_DEVICES,
                                                              WEIR_TABLE_QUEUES,
                                                              WEIR_TABLE_WORKLOADS};

struct model {
    struct model_row rows[MODEL_KINDS][MODEL_ROWS];
};

#define EACH(model, kind, at)                                                                      \
    for (uint32_t at = 0; at < MODEL_ROWS; at++)                                                   \
        if ((model)->rows[kind][at].live)

static inline bool any_above(const struct model *m, enum model_kind kind, uint32_t above)
{
    EACH(m, kind, i)
    if (m->rows[kind][i].above == above)
        return true;
    return false;
}

static inline bool holds(uint32_t state)
{
    return state == WEIR_TASK_STARTING || state == WEIR_TASK_RUNNING || state == WEIR_TASK_STOPPING;
}

static inline struct model_task *find_task(struct model *m, uint32_t index)
{
    EACH(m, MODEL_WORKLOADS, i)
    for (uint32_t t = 0; t < m->rows[MODEL_WORKLOADS][i].n_tasks; t++)
        if (m->rows[MODEL_WORKLOADS][i].tasks[t].index == index)
            return &m->rows[MODEL_WORKLOADS][i].tasks[t];
    fail_msg("the writer knows task %u, the model does not", index);
    return NULL;
}

static inline bool is_below(const struct model *m, uint32_t queue, uint32_t above)
{
    while (queue != WEIR_NONE && queue != above)
        queue = m->rows[MODEL_QUEUES][queue].above;
    return queue == above;
}

static inline bool may_become(uint32_t from, uint32_t to)
{
    if (from == WEIR_TASK_QUEUED)
        return to == WEIR_TASK_FAILED || to == WEIR_TASK_CANCELLED;
    if (from == WEIR_TASK_SUCCEEDED) /* its gang begins anew */
        return to == WEIR_TASK_QUEUED;
    return holds(from) && (!holds(to) || to > from);
}

static inline struct model_row *add(struct model *m, enum model_kind kind,
                                    const struct history_op *op)
{
    struct model_row *row;

    assert_true(op->index < MODEL_ROWS);
    row = &m->rows[kind][op->index];
    assert_false(row->live);
    *row = (struct model_row){.live = true, .key = op->key, .above = op->other};
    return row;
}

static inline void add_workload(struct model *m, const struct history_op *op,
                                const struct weir_world *world)
{
    struct model_row *row = add(m, MODEL_WORKLOADS, op);
    uint32_t at = weir_world_workload(world, op->index)->first_task;

    for (uint32_t r = 0; r < op->n_roles; r++)
        for (uint32_t i = 0; i < op->roles[r].n_tasks; i++) {
            assert_int_not_equal(at, WEIR_NONE);
            row->tasks[row->n_tasks++] =
                (struct model_task){.index = at, .shape = op->roles[r].shape, .node = WEIR_NONE};
            at = weir_world_task(world, at)->next_in_workload;
        }
    assert_int_equal(at, WEIR_NONE);
}

static inline int start(struct model *m, const struct history_op *op)
{
    struct model_task *task = find_task(m, op->index);

    if (task->state != WEIR_TASK_QUEUED)
        return WEIR_E_INVALID;
    for (uint32_t g = 0; g < op->n_grants; g++)
        if (m->rows[MODEL_DEVICES][op->grants[g].device].above != op->other)
            return WEIR_E_INVALID;
    task->state = WEIR_TASK_STARTING;
    task->node = op->other;
    task->attempt++;
    task->n_grants = op->n_grants;
    memcpy(task->grants, op->grants, sizeof(task->grants));
    return 0;
}

static inline int change_state(struct model *m, const struct history_op *op)
{
    struct model_task *task = find_task(m, op->index);

    if (!may_become(task->state, op->state))
        return WEIR_E_INVALID;
    task->state = op->state;
    if (holds(op->state))
        return 0;
    task->n_grants = 0;
    if (op->state == WEIR_TASK_QUEUED)
        task->node = WEIR_NONE;
    return 0;
}

static inline int add_or_refuse_workload(struct model *m, const struct history_op *op,
                                         const struct weir_world *world)
{
    if (any_above(m, MODEL_QUEUES, op->other))
        return WEIR_E_INVALID;
    for (uint32_t r = 0; r < op->n_roles; r++)
        if (op->roles[r].n_tasks > 1000)
            return WEIR_E_TOO_LARGE;
    add_workload(m, op, world);
    return 0;
}

static inline int move_queue(struct model *m, const struct history_op *op)
{
    struct model_row *row = &m->rows[MODEL_QUEUES][op->index];

    if (row->above == op->other)
        return 0;
    if (op->other != WEIR_NONE &&
        (any_above(m, MODEL_WORKLOADS, op->other) || is_below(m, op->other, op->index)))
        return WEIR_E_INVALID;
    row->above = op->other;
    return 0;
}

static inline int take_away(struct model *m, enum model_kind kind, uint32_t index, bool is_used)
{
    if (is_used)
        return WEIR_E_INVALID;
    m->rows[kind][index].live = false;
    return 0;
}

/* Does to the model what was done to the world, and says what should have come of it. */
static inline int apply(struct model *m, const struct history_op *op,
                        const struct weir_world *world)
{
    switch (op->kind) {
    case HISTORY_ADD_NODE:
        add(m, MODEL_NODES, op);
        return 0;
    case HISTORY_ADD_DEVICE:
        add(m, MODEL_DEVICES, op);
        return 0;
    case HISTORY_ADD_QUEUE:
        if (op->other != WEIR_NONE && any_above(m, MODEL_WORKLOADS, op->other))
            return WEIR_E_INVALID;
        add(m, MODEL_QUEUES, op);
        return 0;
    case HISTORY_MOVE_QUEUE:
        return move_queue(m, op);
    case HISTORY_REMOVE_QUEUE:
        return take_away(m, MODEL_QUEUES, op->index,
                         any_above(m, MODEL_QUEUES, op->index) ||
                             any_above(m, MODEL_WORKLOADS, op->index));
    case HISTORY_ADD_WORKLOAD:
        return add_or_refuse_workload(m, op, world);
    case HISTORY_REMOVE_WORKLOAD:
        return take_away(m, MODEL_WORKLOADS, op->index, false);
    case HISTORY_START:
        return start(m, op);
    case HISTORY_STATE:
        return change_state(m, op);
    case HISTORY_CHANGE_FIELDS:
    case HISTORY_ADD_PLAIN:
    case HISTORY_REMOVE_PLAIN:
    case HISTORY_KIND_MAX:
        break;
    }
    return 0;
}

/* ---- what the model says the world must be ---- */

static inline void add_shape(struct weir_amounts *sum, const struct weir_world *world,
                             uint32_t shape)
{
    const struct weir_shape *row = weir_world_shape(world, shape);

    for (uint32_t i = 0; i < row->n_amounts; i++)
        sum->of[row->amounts[i].resource] += row->amounts[i].amount;
}

static inline void compare_queue(const struct model *m, uint32_t queue,
                                 const struct weir_world *world)
{
    const struct weir_queue *row = weir_world_queue(world, queue);
    struct weir_amounts held = {0};
    struct weir_amounts wanted = {0};
    uint32_t n_workloads = 0;

    EACH(m, MODEL_WORKLOADS, i)
    {
        const struct model_row *workload = &m->rows[MODEL_WORKLOADS][i];

        n_workloads += workload->above == queue;
        if (!is_below(m, workload->above, queue))
            continue;
        for (uint32_t t = 0; t < workload->n_tasks; t++) {
            if (holds(workload->tasks[t].state))
                add_shape(&held, world, workload->tasks[t].shape);
            if (workload->tasks[t].state == WEIR_TASK_QUEUED)
                add_shape(&wanted, world, workload->tasks[t].shape);
        }
    }
    assert_int_equal(row->parent, m->rows[MODEL_QUEUES][queue].above);
    assert_int_equal(row->n_workloads, n_workloads);
    assert_memory_equal(&row->held, &held, sizeof(held));
    assert_memory_equal(&row->wanted, &wanted, sizeof(wanted));
}

static inline void compare_task(const struct model_task *task, uint32_t workload,
                                const struct weir_world *world)
{
    const struct weir_task *row = weir_world_task(world, task->index);
    uint32_t hold = row->first_hold;

    assert_int_equal(row->workload, workload);
    assert_int_equal(row->state, task->state);
    assert_int_equal(row->node, task->node);
    assert_int_equal(row->attempt, task->attempt);
    for (uint32_t g = 0; g < task->n_grants; g++) {
        const struct weir_hold *each;

        assert_int_not_equal(hold, WEIR_NONE);
        each = weir_world_hold(world, hold);
        assert_int_equal(each->device, task->grants[g].device);
        assert_int_equal(each->part_mgpu, task->grants[g].part_mgpu);
        assert_int_equal(each->memory_bytes, task->grants[g].memory_bytes);
        hold = each->next_of_task;
    }
    assert_int_equal(hold, WEIR_NONE);
}

static inline void compare_workload(const struct model *m, uint32_t workload,
                                    const struct weir_world *world)
{
    const struct model_row *model = &m->rows[MODEL_WORKLOADS][workload];
    const struct weir_workload *row = weir_world_workload(world, workload);
    uint32_t n[3] = {0};

    for (uint32_t t = 0; t < model->n_tasks; t++) {
        uint32_t state = model->tasks[t].state;

        n[state == WEIR_TASK_QUEUED ? 0 : holds(state) ? 1 : 2]++;
        compare_task(&model->tasks[t], workload, world);
    }
    assert_int_equal(row->queue, model->above);
    assert_int_equal(row->n_tasks, model->n_tasks);
    assert_int_equal(row->n_waiting, n[0]);
    assert_int_equal(row->n_running, n[1]);
    assert_int_equal(row->n_done, n[2]);
}

/* Sums of nodes and devices, from the tasks of the model. */
static inline void compare_fleet(const struct model *m, const struct weir_world *world)
{
    static struct weir_amounts held[MODEL_ROWS];
    static struct weir_grant parts[MODEL_ROWS];
    static uint32_t n_sharers[MODEL_ROWS];

    memset(held, 0, sizeof(held));
    memset(parts, 0, sizeof(parts));
    memset(n_sharers, 0, sizeof(n_sharers));
    EACH(m, MODEL_WORKLOADS, i)
    for (uint32_t t = 0; t < m->rows[MODEL_WORKLOADS][i].n_tasks; t++) {
        const struct model_task *task = &m->rows[MODEL_WORKLOADS][i].tasks[t];

        if (holds(task->state))
            add_shape(&held[task->node], world, task->shape);
        for (uint32_t g = 0; g < task->n_grants; g++) {
            n_sharers[task->grants[g].device]++;
            parts[task->grants[g].device].part_mgpu += task->grants[g].part_mgpu;
            parts[task->grants[g].device].memory_bytes += task->grants[g].memory_bytes;
        }
    }
    EACH(m, MODEL_NODES, i)
    {
        uint32_t n_devices = 0;

        EACH(m, MODEL_DEVICES, d)
        n_devices += m->rows[MODEL_DEVICES][d].above == i;
        assert_int_equal(weir_world_node(world, i)->n_devices, n_devices);
        assert_memory_equal(&weir_world_node(world, i)->held, &held[i], sizeof(held[i]));
    }
    EACH(m, MODEL_DEVICES, i)
    {
        assert_int_equal(weir_world_device(world, i)->n_sharers, n_sharers[i]);
        assert_int_equal(weir_world_device(world, i)->held_mgpu, parts[i].part_mgpu);
        assert_int_equal(weir_world_device(world, i)->held_memory_bytes, parts[i].memory_bytes);
    }
}

static inline void compare(const struct model *m, const struct weir_edit *edit)
{
    const struct weir_world *world = weir_edit_view(edit);

    for (enum model_kind kind = 0; kind < MODEL_KINDS; kind++) {
        uint32_t n = 0;

        EACH(m, kind, i)
        {
            n++;
            assert_true(weir_table_is_live(&world->tables[table_of_kind[kind]], i));
            assert_int_equal(weir_edit_find(edit, table_of_kind[kind], &m->rows[kind][i].key), i);
        }
        assert_int_equal(world->tables[table_of_kind[kind]].n_live, n);
    }
    EACH(m, MODEL_QUEUES, i)
    compare_queue(m, i, world);
    EACH(m, MODEL_WORKLOADS, i)
    compare_workload(m, i, world);
    compare_fleet(m, world);
}

#endif
