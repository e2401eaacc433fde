/* What takes several fields to see. */
#include "base/count.h"
#include "base/err.h"
#include "model/world_check_impl.h"

static int check_resource(const struct weir_check *check, uint32_t i)
{
    static const struct {
        enum weir_resource_kind kind;
        const char *name;
    } first[] = {{WEIR_RESOURCE_GPU, "gpu"},
                 {WEIR_RESOURCE_CPU, "cpu"},
                 {WEIR_RESOURCE_MEMORY, "memory"}};
    const struct weir_resource *row = weir_world_resource(check->world, i);

    if (row->grain == 0)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_RESOURCES, i, "grain"), "is 0");
    if (i < WEIR_COUNT_OF(first) &&
        (row->kind != (uint32_t)first[i].kind ||
         !weir_str_eq_c(weir_world_string(check->world, row->name), first[i].name)))
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_RESOURCES, i, "name"),
                                "is '%.*s' of kind %u, must be '%s' of kind %d",
                                WEIR_STR_ARG(weir_world_string(check->world, row->name)), row->kind,
                                first[i].name, (int)first[i].kind);
    return 0;
}

static int check_shape(const struct weir_check *check, uint32_t i)
{
    const struct weir_shape *row = weir_world_shape(check->world, i);

    for (uint32_t k = 0; k < WEIR_SHAPE_AMOUNTS_MAX; k++) {
        const struct weir_shape_amount *each = &row->amounts[k];
        struct weir_check_place place = weir_check_at_element(WEIR_TABLE_SHAPES, i, "amounts", k);

        if (k >= row->n_amounts || each->reserved != 0) {
            if (each->resource != 0 || each->amount != 0 || each->reserved != 0)
                return weir_check_fault(check, place, "is not used, but not zero");
            continue;
        }
        if (each->resource >= weir_world_n_resources(check->world))
            return weir_check_fault(check, place, "names resource %u of %u", each->resource,
                                    weir_world_n_resources(check->world));
        if (k > 0 && each->resource <= row->amounts[k - 1].resource)
            return weir_check_fault(check, place, "names resource %u after %u", each->resource,
                                    row->amounts[k - 1].resource);
        if (each->amount <= 0 || each->amount > WEIR_AMOUNT_MAX)
            return weir_check_fault(check, place, "is %lld, not within 1 and %lld",
                                    (long long)each->amount, (long long)WEIR_AMOUNT_MAX);
    }
    if (row->device_mgpu > 1000 || (row->n_devices > 0 && row->device_mgpu == 0))
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_SHAPES, i, "device_mgpu"),
                                "is %lld for %u devices, not within 1 and 1000",
                                (long long)row->device_mgpu, row->n_devices);
    return 0;
}

/* A parent is of a smaller kind in this order, so that there is no circle. */
static bool may_have_parent(const struct weir_device *row, const struct weir_device *parent)
{
    if (row->kind == WEIR_DEVICE_CLAIM)
        return parent->kind != WEIR_DEVICE_CLAIM;
    return parent->kind < row->kind;
}

static int check_device(const struct weir_check *check, uint32_t i)
{
    const struct weir_device *row = weir_world_device(check->world, i);

    if (row->parent != WEIR_NONE) {
        const struct weir_device *parent = weir_world_device(check->world, row->parent);

        if (!may_have_parent(row, parent))
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, i, "parent"),
                                    "is row %u of kind %u, no parent for kind %u", row->parent,
                                    parent->kind, row->kind);
        if (parent->node != row->node)
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, i, "parent"),
                                    "is row %u on node %u, not on node %u", row->parent,
                                    parent->node, row->node);
    }
    if ((row->kind == WEIR_DEVICE_MIG) != (row->mig_profile != WEIR_NONE))
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, i, "mig_profile"),
                                "is %u for a device of kind %u", row->mig_profile, row->kind);
    if ((row->slots_used & ~row->slots) != 0)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, i, "slots_used"),
                                "is 0x%x, not within its slots 0x%x", row->slots_used, row->slots);
    if (row->max_sharers == 0)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_DEVICES, i, "max_sharers"), "is 0");
    return 0;
}

static int check_workload(const struct weir_check *check, uint32_t i)
{
    static const char *const names[] = {"topology.required", "topology.preferred",
                                        "topology.slice_level"};
    const struct weir_workload *row = weir_world_workload(check->world, i);
    const uint32_t levels[] = {row->topology.required, row->topology.preferred,
                               row->topology.slice_level};

    for (size_t k = 0; k < WEIR_COUNT_OF(levels); k++)
        if (levels[k] != WEIR_NONE && levels[k] >= WEIR_TOPOLOGY_LEVELS)
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_WORKLOADS, i, names[k]),
                                    "is %u, not below %d", levels[k], WEIR_TOPOLOGY_LEVELS);
    if (row->topology.slice_level != WEIR_NONE && row->topology.slice_size == 0)
        return weir_check_fault(check,
                                weir_check_at(WEIR_TABLE_WORKLOADS, i, "topology.slice_size"),
                                "is 0 although there is a slice level");
    if (row->gang_min > row->n_tasks)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_WORKLOADS, i, "gang_min"),
                                "is %u of %u tasks", row->gang_min, row->n_tasks);
    return 0;
}

static int check_role(const struct weir_check *check, uint32_t i)
{
    const struct weir_role *row = weir_world_role(check->world, i);

    if (row->n_min > row->n_tasks)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_ROLES, i, "n_min"),
                                "is %u of %u tasks", row->n_min, row->n_tasks);
    return 0;
}

static int check_task(const struct weir_check *check, uint32_t i)
{
    const struct weir_task *row = weir_world_task(check->world, i);
    bool holds = weir_task_state_holds(row->state);

    if (holds && row->node == WEIR_NONE)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, i, "node"),
                                "is none although it is %s",
                                weir_task_state_name((enum weir_task_state)row->state));
    if (row->state == WEIR_TASK_QUEUED && row->node != WEIR_NONE)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, i, "node"),
                                "is %u although it is queued", row->node);
    if (holds && row->attempt == 0)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, i, "attempt"),
                                "is 0 although it was started");
    if (row->state != WEIR_TASK_STOPPING && row->stop_cause != 0)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, i, "stop_cause"),
                                "is %u although it is %s", row->stop_cause,
                                weir_task_state_name((enum weir_task_state)row->state));
    if (!holds && row->ended != WEIR_END_NOT)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, i, "ended"),
                                "is %u although it is %s", row->ended,
                                weir_task_state_name((enum weir_task_state)row->state));
    return 0;
}

int weir_check_row(const struct weir_check *check, enum weir_table_id id, uint32_t i)
{
    switch (id) {
    case WEIR_TABLE_RESOURCES:
        return check_resource(check, i);
    case WEIR_TABLE_SHAPES:
        return check_shape(check, i);
    case WEIR_TABLE_DEVICES:
        return check_device(check, i);
    case WEIR_TABLE_WORKLOADS:
        return check_workload(check, i);
    case WEIR_TABLE_ROLES:
        return check_role(check, i);
    case WEIR_TABLE_TASKS:
        return check_task(check, i);
    case WEIR_TABLE_NODES:
    case WEIR_TABLE_HOLDS:
    case WEIR_TABLE_QUEUES:
    case WEIR_TABLE_SIGNALS:
    case WEIR_TABLE_INTENTS:
    case WEIR_TABLE_PRICES:
    case WEIR_TABLE_STRINGS:
    case WEIR_TABLE_SPANS:
    case WEIR_TABLE_MAX:
        break;
    }
    return 0;
}
