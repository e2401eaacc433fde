/* Queues and the workloads in them. */
#include "base/err.h"
#include "model/world_edit_impl.h"

#include <string.h>

static int link_queue(struct weir_edit *edit, uint32_t index, uint32_t parent)
{
    struct weir_queue *row = weir_edit_touch(edit, WEIR_TABLE_QUEUES, index);
    struct weir_queue *above;

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->parent = parent;
    row->next_sibling = WEIR_NONE;
    if (parent == WEIR_NONE)
        return 0;
    above = weir_edit_touch(edit, WEIR_TABLE_QUEUES, parent);
    if (above == NULL)
        return WEIR_E_NO_MEMORY;
    row->next_sibling = above->first_child;
    above->first_child = index;
    return 0;
}

static int unlink_queue(struct weir_edit *edit, uint32_t index)
{
    const struct weir_queue *row = weir_edit_peek(edit, WEIR_TABLE_QUEUES, index);
    uint32_t next = row->next_sibling;
    struct weir_queue *before;
    uint32_t at;

    if (row->parent == WEIR_NONE)
        return 0;
    before = weir_edit_touch(edit, WEIR_TABLE_QUEUES, row->parent);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    if (before->first_child == index) {
        before->first_child = next;
        return 0;
    }
    for (at = before->first_child;;) {
        const struct weir_queue *child = weir_edit_peek(edit, WEIR_TABLE_QUEUES, at);

        if (child->next_sibling == index)
            break;
        at = child->next_sibling;
    }
    before = weir_edit_touch(edit, WEIR_TABLE_QUEUES, at);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    before->next_sibling = next;
    return 0;
}

static uint32_t root_of(const struct weir_edit *edit, uint32_t queue)
{
    for (;;) {
        const struct weir_queue *row = weir_edit_peek(edit, WEIR_TABLE_QUEUES, queue);

        if (row->parent == WEIR_NONE)
            return queue;
        queue = row->parent;
    }
}

/* Whether the sums of a root can take these amounts (each at most WEIR_AMOUNT_MAX) as well. */
static bool has_room(const struct weir_edit *edit, uint32_t root, const struct weir_amounts *more)
{
    const struct weir_queue *row = weir_edit_peek(edit, WEIR_TABLE_QUEUES, root);

    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        if (more->of[i] > WEIR_AMOUNT_MAX - row->held.of[i] - row->wanted.of[i])
            return false;
    return true;
}

int weir_edit_add_to_queues(struct weir_edit *edit, uint32_t queue, enum weir_queue_sum which,
                            const struct weir_shape *shape, int64_t times)
{
    while (queue != WEIR_NONE) {
        struct weir_queue *row = weir_edit_touch(edit, WEIR_TABLE_QUEUES, queue);
        struct weir_amounts *sum;

        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        sum = which == WEIR_QUEUE_HELD ? &row->held : &row->wanted;
        for (uint32_t i = 0; i < shape->n_amounts; i++)
            sum->of[shape->amounts[i].resource] += shape->amounts[i].amount * times;
        queue = row->parent;
    }
    return 0;
}

static int want(struct weir_edit *edit, uint32_t queue, const struct weir_amounts *more)
{
    while (queue != WEIR_NONE) {
        struct weir_queue *row = weir_edit_touch(edit, WEIR_TABLE_QUEUES, queue);

        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
            row->wanted.of[i] += more->of[i];
        queue = row->parent;
    }
    return 0;
}

/* Adds a queue's own sums to all above it, or takes them away. */
static int carry_sums(struct weir_edit *edit, uint32_t queue, int64_t sign)
{
    const struct weir_queue *from = weir_edit_peek(edit, WEIR_TABLE_QUEUES, queue);
    struct weir_amounts held = from->held;
    struct weir_amounts wanted = from->wanted;

    for (uint32_t at = from->parent; at != WEIR_NONE;) {
        struct weir_queue *row = weir_edit_touch(edit, WEIR_TABLE_QUEUES, at);

        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        for (int i = 0; i < WEIR_RESOURCE_MAX; i++) {
            row->held.of[i] += sign * held.of[i];
            row->wanted.of[i] += sign * wanted.of[i];
        }
        at = row->parent;
    }
    return 0;
}

static bool has_workloads(const struct weir_edit *edit, uint32_t queue)
{
    const struct weir_queue *row;

    if (queue == WEIR_NONE)
        return false;
    row = weir_edit_peek(edit, WEIR_TABLE_QUEUES, queue);
    return row->first_workload != WEIR_NONE;
}

int weir_edit_add_queue(struct weir_edit *edit, const struct weir_key *key,
                        const struct weir_queue *like, uint32_t *ret_index)
{
    struct weir_queue *row;
    uint32_t index;
    int r;

    if (has_workloads(edit, like->parent))
        return WEIR_E_INVALID;
    r = weir_edit_new_row(edit, WEIR_TABLE_QUEUES, key, &index, &row);
    if (r < 0)
        return r;
    weir_edit_copy_fields(row, like, sizeof(*like));
    row->first_child = WEIR_NONE;
    row->first_workload = WEIR_NONE;
    row->n_workloads = 0;
    memset(&row->held, 0, sizeof(row->held));
    memset(&row->wanted, 0, sizeof(row->wanted));
    if (link_queue(edit, index, like->parent) < 0)
        return WEIR_E_NO_MEMORY;
    *ret_index = index;
    return 0;
}

int weir_edit_move_queue(struct weir_edit *edit, uint32_t queue, uint32_t parent)
{
    const struct weir_queue *moved = weir_edit_peek(edit, WEIR_TABLE_QUEUES, queue);
    struct weir_amounts more;

    if (moved->parent == parent)
        return 0;
    if (has_workloads(edit, parent))
        return WEIR_E_INVALID;
    for (uint32_t at = parent; at != WEIR_NONE;) {
        const struct weir_queue *row = weir_edit_peek(edit, WEIR_TABLE_QUEUES, at);

        if (at == queue)
            return WEIR_E_INVALID;
        at = row->parent;
    }
    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        more.of[i] = moved->held.of[i] + moved->wanted.of[i];
    if (parent != WEIR_NONE && root_of(edit, parent) != root_of(edit, queue) &&
        !has_room(edit, root_of(edit, parent), &more))
        return WEIR_E_TOO_LARGE;
    if (carry_sums(edit, queue, -1) < 0 || unlink_queue(edit, queue) < 0 ||
        link_queue(edit, queue, parent) < 0)
        return WEIR_E_NO_MEMORY;
    return carry_sums(edit, queue, 1);
}

int weir_edit_remove_queue(struct weir_edit *edit, uint32_t index)
{
    const struct weir_queue *row = weir_edit_peek(edit, WEIR_TABLE_QUEUES, index);

    if (row->first_child != WEIR_NONE || row->first_workload != WEIR_NONE)
        return WEIR_E_INVALID;
    if (unlink_queue(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_edit_free_row(edit, WEIR_TABLE_QUEUES, index);
}

/* ---- workloads ---- */

static int add_task(struct weir_edit *edit, uint32_t workload, uint32_t role, uint32_t member,
                    uint32_t *first)
{
    struct weir_task *task;
    uint32_t index;

    if (weir_edit_new_row(edit, WEIR_TABLE_TASKS, NULL, &index, &task) < 0)
        return WEIR_E_NO_MEMORY;
    task->workload = workload;
    task->role = role;
    task->member = member;
    task->state = WEIR_TASK_QUEUED;
    task->node = WEIR_NONE;
    task->next_on_node = WEIR_NONE;
    task->first_hold = WEIR_NONE;
    task->for_whom = WEIR_NONE;
    task->next_in_workload = *first;
    *first = index;
    return 0;
}

/* Roles and tasks are linked so that walking the lists gives them in order of member. */
static int add_roles(struct weir_edit *edit, uint32_t workload, const struct weir_role *roles,
                     uint32_t n_roles, uint32_t *ret_first_role, uint32_t *ret_first_task)
{
    uint32_t member = 0;

    for (uint32_t i = 0; i < n_roles; i++)
        member += roles[i].n_tasks;
    for (uint32_t i = n_roles; i-- > 0;) {
        struct weir_role *role;
        uint32_t index;

        if (weir_edit_new_row(edit, WEIR_TABLE_ROLES, NULL, &index, &role) < 0)
            return WEIR_E_NO_MEMORY;
        weir_edit_copy_fields(role, &roles[i], sizeof(*role));
        role->workload = workload;
        role->next_in_workload = *ret_first_role;
        *ret_first_role = index;
        for (uint32_t t = 0; t < roles[i].n_tasks; t++)
            if (add_task(edit, workload, index, --member, ret_first_task) < 0)
                return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* What all tasks of these roles want together. WEIR_E_TOO_LARGE beyond what the books can hold. */
static int sum_roles(const struct weir_edit *edit, const struct weir_role *roles, uint32_t n_roles,
                     struct weir_amounts *ret_sum, uint32_t *ret_n_tasks)
{
    struct weir_amounts sum = {0};
    uint64_t n_tasks = 0;

    for (uint32_t i = 0; i < n_roles; i++) {
        const struct weir_shape *shape = weir_edit_peek(edit, WEIR_TABLE_SHAPES, roles[i].shape);

        n_tasks += roles[i].n_tasks;
        for (uint32_t k = 0; k < shape->n_amounts; k++) {
            int64_t *to = &sum.of[shape->amounts[k].resource];
            int64_t more;

            if (__builtin_mul_overflow(shape->amounts[k].amount, (int64_t)roles[i].n_tasks,
                                       &more) ||
                more > WEIR_AMOUNT_MAX - *to)
                return WEIR_E_TOO_LARGE;
            *to += more;
        }
    }
    if (n_tasks >= WEIR_NONE)
        return WEIR_E_TOO_LARGE;
    *ret_sum = sum;
    *ret_n_tasks = (uint32_t)n_tasks;
    return 0;
}

static int link_workload(struct weir_edit *edit, uint32_t index, struct weir_workload *row)
{
    struct weir_queue *queue = weir_edit_touch(edit, WEIR_TABLE_QUEUES, row->queue);

    if (queue == NULL)
        return WEIR_E_NO_MEMORY;
    row->prev_in_queue = WEIR_NONE;
    row->next_in_queue = queue->first_workload;
    if (queue->first_workload != WEIR_NONE) {
        struct weir_workload *next =
            weir_edit_touch(edit, WEIR_TABLE_WORKLOADS, queue->first_workload);

        if (next == NULL)
            return WEIR_E_NO_MEMORY;
        next->prev_in_queue = index;
    }
    queue->first_workload = index;
    queue->n_workloads++;
    return 0;
}

static int check_workload(const struct weir_edit *edit, uint32_t queue,
                          const struct weir_role *roles, uint32_t n_roles,
                          struct weir_amounts *ret_sum, uint32_t *ret_n_tasks)
{
    const struct weir_queue *row = weir_edit_peek(edit, WEIR_TABLE_QUEUES, queue);
    int r;

    if (row->first_child != WEIR_NONE)
        return WEIR_E_INVALID;
    r = sum_roles(edit, roles, n_roles, ret_sum, ret_n_tasks);
    if (r < 0)
        return r;
    return has_room(edit, root_of(edit, queue), ret_sum) ? 0 : WEIR_E_TOO_LARGE;
}

int weir_edit_check_workload(const struct weir_edit *edit, uint32_t queue,
                             const struct weir_role *roles, uint32_t n_roles)
{
    struct weir_amounts sum;
    uint32_t n_tasks;

    return check_workload(edit, queue, roles, n_roles, &sum, &n_tasks);
}

int weir_edit_add_workload(struct weir_edit *edit, const struct weir_key *key,
                           const struct weir_workload *like, const struct weir_role *roles,
                           uint32_t n_roles, uint32_t *ret_index)
{
    struct weir_workload *row;
    struct weir_amounts sum;
    uint32_t index;
    uint32_t n_tasks;
    uint32_t first_role = WEIR_NONE;
    uint32_t first_task = WEIR_NONE;
    int r;

    r = check_workload(edit, like->queue, roles, n_roles, &sum, &n_tasks);
    if (r < 0)
        return r;
    r = weir_edit_new_row(edit, WEIR_TABLE_WORKLOADS, key, &index, &row);
    if (r < 0)
        return r;
    weir_edit_copy_fields(row, like, sizeof(*like));
    row->n_tasks = n_tasks;
    row->n_waiting = n_tasks;
    row->n_running = 0;
    row->n_done = 0;
    if (link_workload(edit, index, row) < 0 ||
        add_roles(edit, index, roles, n_roles, &first_role, &first_task) < 0 ||
        want(edit, like->queue, &sum) < 0)
        return WEIR_E_NO_MEMORY;
    row->first_role = first_role;
    row->first_task = first_task;
    *ret_index = index;
    return 0;
}

static int unlink_workload(struct weir_edit *edit, uint32_t index)
{
    const struct weir_workload *row = weir_edit_peek(edit, WEIR_TABLE_WORKLOADS, index);
    uint32_t next = row->next_in_queue;
    uint32_t prev = row->prev_in_queue;
    struct weir_queue *queue = weir_edit_touch(edit, WEIR_TABLE_QUEUES, row->queue);
    struct weir_workload *neighbour;

    if (queue == NULL)
        return WEIR_E_NO_MEMORY;
    queue->n_workloads--;
    if (prev == WEIR_NONE) {
        queue->first_workload = next;
    } else {
        neighbour = weir_edit_touch(edit, WEIR_TABLE_WORKLOADS, prev);
        if (neighbour == NULL)
            return WEIR_E_NO_MEMORY;
        neighbour->next_in_queue = next;
    }
    if (next == WEIR_NONE)
        return 0;
    neighbour = weir_edit_touch(edit, WEIR_TABLE_WORKLOADS, next);
    if (neighbour == NULL)
        return WEIR_E_NO_MEMORY;
    neighbour->prev_in_queue = prev;
    return 0;
}

/* Nobody makes room for it any more: its index is given out again. */
static int forget_workload(struct weir_edit *edit, uint32_t workload)
{
    const struct weir_world *state = edit->state;

    for (uint32_t at = weir_world_first(state, WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(state, WEIR_TABLE_TASKS, at)) {
        struct weir_task *task;

        if (weir_world_task(state, at)->for_whom != workload)
            continue;
        task = weir_edit_touch(edit, WEIR_TABLE_TASKS, at);
        if (task == NULL)
            return WEIR_E_NO_MEMORY;
        task->for_whom = WEIR_NONE;
    }
    return 0;
}

int weir_edit_remove_workload(struct weir_edit *edit, uint32_t index)
{
    const struct weir_workload *row = weir_edit_peek(edit, WEIR_TABLE_WORKLOADS, index);
    uint32_t task = row->first_task;
    uint32_t role = row->first_role;

    while (task != WEIR_NONE) {
        const struct weir_task *each = weir_edit_peek(edit, WEIR_TABLE_TASKS, task);
        uint32_t next = each->next_in_workload;

        if (!weir_task_state_is_final(each->state) &&
            weir_edit_task_state(edit, task, WEIR_TASK_CANCELLED) < 0)
            return WEIR_E_NO_MEMORY;
        if (weir_edit_free_row(edit, WEIR_TABLE_TASKS, task) < 0)
            return WEIR_E_NO_MEMORY;
        task = next;
    }
    while (role != WEIR_NONE) {
        uint32_t next = ((const struct weir_role *)weir_edit_peek(edit, WEIR_TABLE_ROLES, role))
                            ->next_in_workload;

        if (weir_edit_free_row(edit, WEIR_TABLE_ROLES, role) < 0)
            return WEIR_E_NO_MEMORY;
        role = next;
    }
    if (forget_workload(edit, index) < 0 || unlink_workload(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_edit_free_row(edit, WEIR_TABLE_WORKLOADS, index);
}
