/* Lists: what rows say together about who belongs to whom. Fields were seen to be in range. */
#include "base/bitset.h"
#include "base/count.h"
#include "base/err.h"
#include "model/world_check_impl.h"

#include <string.h>

/* ---- lists ---- */

struct list {
    const char *first_name;
    const char *next_name;
    enum weir_table_id owners;
    enum weir_table_id members;
    size_t first; /* offset in the owner */
    size_t next;  /* offsets in the member */
    size_t owner;
    size_t count; /* offset of the number of members in the owner, or 0 */
    const char *count_name;
};

#define LIST_ENDS(owner_type, first_field, member_type, next_field, owner_field)                   \
    .first_name = #first_field, .next_name = #next_field,                                          \
    .first = offsetof(struct owner_type, first_field),                                             \
    .next = offsetof(struct member_type, next_field),                                              \
    .owner = offsetof(struct member_type, owner_field)
#define LIST_COUNT(owner_type, count_field)                                                        \
    .count = offsetof(struct owner_type, count_field), .count_name = #count_field

static const struct list lists[] = {
    {.owners = WEIR_TABLE_NODES,
     .members = WEIR_TABLE_DEVICES,
     LIST_ENDS(weir_node, first_device, weir_device, next_on_node, node),
     LIST_COUNT(weir_node, n_devices)},
    {.owners = WEIR_TABLE_NODES,
     .members = WEIR_TABLE_TASKS,
     LIST_ENDS(weir_node, first_task, weir_task, next_on_node, node)},
    {.owners = WEIR_TABLE_DEVICES,
     .members = WEIR_TABLE_HOLDS,
     LIST_ENDS(weir_device, first_hold, weir_hold, next_of_device, device),
     LIST_COUNT(weir_device, n_sharers)},
    {.owners = WEIR_TABLE_TASKS,
     .members = WEIR_TABLE_HOLDS,
     LIST_ENDS(weir_task, first_hold, weir_hold, next_of_task, task)},
    {.owners = WEIR_TABLE_QUEUES,
     .members = WEIR_TABLE_QUEUES,
     LIST_ENDS(weir_queue, first_child, weir_queue, next_sibling, parent)},
    {.owners = WEIR_TABLE_QUEUES,
     .members = WEIR_TABLE_WORKLOADS,
     LIST_ENDS(weir_queue, first_workload, weir_workload, next_in_queue, queue),
     LIST_COUNT(weir_queue, n_workloads)},
    {.owners = WEIR_TABLE_WORKLOADS,
     .members = WEIR_TABLE_ROLES,
     LIST_ENDS(weir_workload, first_role, weir_role, next_in_workload, workload)},
    {.owners = WEIR_TABLE_WORKLOADS,
     .members = WEIR_TABLE_TASKS,
     LIST_ENDS(weir_workload, first_task, weir_task, next_in_workload, workload),
     LIST_COUNT(weir_workload, n_tasks)},
};

static uint32_t index_at(const struct weir_world *world, enum weir_table_id id, uint32_t index,
                         size_t offset)
{
    uint32_t value;

    memcpy(&value, (const char *)weir_table_row(&world->tables[id], index) + offset, sizeof(value));
    return value;
}

/* Rows that are in no list of this sort: root queues, and on nodes tasks that hold nothing. */
static bool is_member(const struct weir_world *world, const struct list *list, uint32_t index)
{
    if (list->owners == WEIR_TABLE_NODES && list->members == WEIR_TABLE_TASKS)
        return weir_task_state_holds(weir_world_task(world, index)->state);
    return index_at(world, list->members, index, list->owner) != WEIR_NONE;
}

static int walk_list(const struct weir_check *check, const struct list *list, uint32_t owner,
                     struct weir_bitset *seen)
{
    const struct weir_world *world = check->world;
    uint32_t n = 0;

    for (uint32_t at = index_at(world, list->owners, owner, list->first); at != WEIR_NONE;
         at = index_at(world, list->members, at, list->next)) {
        if (index_at(world, list->members, at, list->owner) != owner || !is_member(world, list, at))
            return weir_check_fault(check, weir_check_at(list->owners, owner, list->first_name),
                                    "leads to row %u of %s, which is not of it", at,
                                    weir_table_name(list->members));
        if (weir_bitset_has(seen, at))
            return weir_check_fault(check, weir_check_at(list->members, at, list->next_name),
                                    "puts the row into a list twice, or into a circle");
        weir_bitset_add(seen, at);
        n++;
    }
    if (list->count != 0 && n != index_at(world, list->owners, owner, list->count))
        return weir_check_fault(check, weir_check_at(list->owners, owner, list->count_name),
                                "is %u, its list has %u",
                                index_at(world, list->owners, owner, list->count), n);
    return 0;
}

static int check_list(const struct weir_check *check, const struct list *list)
{
    const struct weir_world *world = check->world;
    struct weir_bitset seen;

    if (weir_bitset_init(&seen, world->tables[list->members].n_rows, check->arena) < 0)
        return weir_check_no_memory(check);
    for (uint32_t i = weir_world_first(world, list->owners); i != WEIR_NONE;
         i = weir_world_after(world, list->owners, i)) {
        int r = walk_list(check, list, i, &seen);

        if (r < 0)
            return r;
    }
    for (uint32_t i = weir_world_first(world, list->members); i != WEIR_NONE;
         i = weir_world_after(world, list->members, i)) {
        if (weir_bitset_has(&seen, i))
            continue;
        if (is_member(world, list, i))
            return weir_check_fault(check, weir_check_at(list->members, i, list->next_name),
                                    "matters to nobody: the row is in no list of %s",
                                    weir_table_name(list->owners));
        if (index_at(world, list->members, i, list->next) != WEIR_NONE)
            return weir_check_fault(check, weir_check_at(list->members, i, list->next_name),
                                    "is %u although the row is in no list",
                                    index_at(world, list->members, i, list->next));
    }
    return 0;
}

static int check_back_links(const struct weir_check *check)
{
    const struct weir_world *world = check->world;

    for (uint32_t q = weir_world_first(world, WEIR_TABLE_QUEUES); q != WEIR_NONE;
         q = weir_world_after(world, WEIR_TABLE_QUEUES, q)) {
        const struct weir_queue *queue = weir_world_queue(world, q);
        uint32_t before = WEIR_NONE;

        if (queue->first_child != WEIR_NONE && queue->first_workload != WEIR_NONE)
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_QUEUES, q, "first_workload"),
                                    "is %u although the queue has children", queue->first_workload);
        for (uint32_t at = queue->first_workload; at != WEIR_NONE;
             at = weir_world_workload(world, at)->next_in_queue) {
            if (weir_world_workload(world, at)->prev_in_queue != before)
                return weir_check_fault(check,
                                        weir_check_at(WEIR_TABLE_WORKLOADS, at, "prev_in_queue"),
                                        "is %u, the one before it is %u",
                                        weir_world_workload(world, at)->prev_in_queue, before);
            before = at;
        }
    }
    return 0;
}

/* Tasks stand in the order of their member numbers, role by role. */
static int check_members(const struct weir_check *check, uint32_t workload)
{
    const struct weir_world *world = check->world;
    const struct weir_workload *row = weir_world_workload(world, workload);
    uint32_t at = row->first_task;
    uint32_t member = 0;

    for (uint32_t r = row->first_role; r != WEIR_NONE;
         r = weir_world_role(world, r)->next_in_workload) {
        const struct weir_role *role = weir_world_role(world, r);

        for (uint32_t i = 0; i < role->n_tasks; i++) {
            const struct weir_task *task;

            if (at == WEIR_NONE)
                return weir_check_fault(check, weir_check_at(WEIR_TABLE_ROLES, r, "n_tasks"),
                                        "is %u, there are %u tasks", role->n_tasks, i);
            task = weir_world_task(world, at);
            if (task->role != r)
                return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, at, "role"),
                                        "is %u, its place in the workload is in role %u",
                                        task->role, r);
            if (task->member != member)
                return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, at, "member"),
                                        "is %u at place %u", task->member, member);
            member++;
            at = task->next_in_workload;
        }
    }
    if (at != WEIR_NONE)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_TASKS, at, "role"),
                                "is %u, all roles of the workload are full",
                                weir_world_task(world, at)->role);
    return 0;
}

int weir_check_lists(const struct weir_check *check)
{
    const struct weir_world *world = check->world;
    int r;

    for (size_t i = 0; i < WEIR_COUNT_OF(lists); i++) {
        r = check_list(check, &lists[i]);
        if (r < 0)
            return r;
    }
    r = check_back_links(check);
    if (r < 0)
        return r;
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_WORKLOADS, i)) {
        r = check_members(check, i);
        if (r < 0)
            return r;
    }
    return 0;
}
