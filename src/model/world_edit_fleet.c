/* Nodes and devices. */
#include "base/err.h"
#include "model/world_edit_impl.h"

#include <string.h>

int weir_edit_add_node(struct weir_edit *edit, const struct weir_key *key,
                       const struct weir_node *like, uint32_t *ret_index)
{
    struct weir_node *row;
    int r = weir_edit_new_row(edit, WEIR_TABLE_NODES, key, ret_index, &row);

    if (r < 0)
        return r;
    weir_edit_copy_fields(row, like, sizeof(*like));
    row->n_devices = 0;
    row->first_device = WEIR_NONE;
    row->first_task = WEIR_NONE;
    memset(&row->held, 0, sizeof(row->held));
    return 0;
}

int weir_edit_add_device(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_device *like, uint32_t *ret_index)
{
    struct weir_device *row;
    struct weir_node *node;
    uint32_t index;
    int r = weir_edit_new_row(edit, WEIR_TABLE_DEVICES, key, &index, &row);

    if (r < 0)
        return r;
    node = weir_edit_touch(edit, WEIR_TABLE_NODES, like->node);
    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    weir_edit_copy_fields(row, like, sizeof(*like));
    row->first_hold = WEIR_NONE;
    row->n_sharers = 0;
    row->held_mgpu = 0;
    row->held_memory_bytes = 0;
    row->next_on_node = node->first_device;
    node->first_device = index;
    node->n_devices++;
    *ret_index = index;
    return 0;
}

/* A freed index is given out again: nothing may go on naming it. */
static int forget_node(struct weir_edit *edit, uint32_t node)
{
    const struct weir_world *state = edit->state;

    for (uint32_t i = weir_world_first(state, WEIR_TABLE_TASKS); i != WEIR_NONE;
         i = weir_world_after(state, WEIR_TABLE_TASKS, i)) {
        struct weir_task *task;

        if (weir_world_task(state, i)->node != node)
            continue;
        task = weir_edit_touch(edit, WEIR_TABLE_TASKS, i);
        if (task == NULL)
            return WEIR_E_NO_MEMORY;
        task->node = WEIR_NONE;
    }
    for (uint32_t i = weir_world_first(state, WEIR_TABLE_INTENTS); i != WEIR_NONE;
         i = weir_world_after(state, WEIR_TABLE_INTENTS, i)) {
        struct weir_intent *intent;

        if (weir_world_intent(state, i)->node != node)
            continue;
        intent = weir_edit_touch(edit, WEIR_TABLE_INTENTS, i);
        if (intent == NULL)
            return WEIR_E_NO_MEMORY;
        intent->node = WEIR_NONE;
    }
    return 0;
}

static int forget_device(struct weir_edit *edit, uint32_t device)
{
    const struct weir_world *state = edit->state;

    for (uint32_t i = weir_world_first(state, WEIR_TABLE_INTENTS); i != WEIR_NONE;
         i = weir_world_after(state, WEIR_TABLE_INTENTS, i)) {
        struct weir_intent *intent;

        if (weir_world_intent(state, i)->device != device)
            continue;
        intent = weir_edit_touch(edit, WEIR_TABLE_INTENTS, i);
        if (intent == NULL)
            return WEIR_E_NO_MEMORY;
        intent->device = WEIR_NONE;
    }
    return 0;
}

int weir_edit_remove_node(struct weir_edit *edit, uint32_t index)
{
    const struct weir_node *node = weir_edit_peek(edit, WEIR_TABLE_NODES, index);

    if (node->first_device != WEIR_NONE || node->first_task != WEIR_NONE)
        return WEIR_E_INVALID;
    if (forget_node(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_edit_free_row(edit, WEIR_TABLE_NODES, index);
}

static bool has_instances(const struct weir_edit *edit, uint32_t device)
{
    const struct weir_device *row = weir_edit_peek(edit, WEIR_TABLE_DEVICES, device);
    const struct weir_node *node = weir_edit_peek(edit, WEIR_TABLE_NODES, row->node);

    for (uint32_t at = node->first_device; at != WEIR_NONE; at = row->next_on_node) {
        row = weir_edit_peek(edit, WEIR_TABLE_DEVICES, at);
        if (row->parent == device)
            return true;
    }
    return false;
}

static int unlink_device(struct weir_edit *edit, uint32_t index)
{
    const struct weir_device *device = weir_edit_peek(edit, WEIR_TABLE_DEVICES, index);
    uint32_t next = device->next_on_node;
    struct weir_node *node = weir_edit_touch(edit, WEIR_TABLE_NODES, device->node);
    struct weir_device *before;
    uint32_t at;

    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    node->n_devices--;
    if (node->first_device == index) {
        node->first_device = next;
        return 0;
    }
    for (at = node->first_device;;) {
        const struct weir_device *row = weir_edit_peek(edit, WEIR_TABLE_DEVICES, at);

        if (row->next_on_node == index)
            break;
        at = row->next_on_node;
    }
    before = weir_edit_touch(edit, WEIR_TABLE_DEVICES, at);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    before->next_on_node = next;
    return 0;
}

int weir_edit_remove_device(struct weir_edit *edit, uint32_t index)
{
    const struct weir_device *device = weir_edit_peek(edit, WEIR_TABLE_DEVICES, index);

    if (device->first_hold != WEIR_NONE || has_instances(edit, index))
        return WEIR_E_INVALID;
    if (forget_device(edit, index) < 0 || unlink_device(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_edit_free_row(edit, WEIR_TABLE_DEVICES, index);
}
