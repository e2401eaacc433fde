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

/* An instance takes slots of its device. */
static int take_slots(struct weir_edit *edit, uint32_t parent, uint16_t taken, uint16_t freed)
{
    struct weir_device *row;

    if (parent == WEIR_NONE || (taken | freed) == 0)
        return 0;
    row = weir_edit_touch(edit, WEIR_TABLE_DEVICES, parent);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->slots_used = (uint16_t)((row->slots_used & ~freed) | taken);
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
    return like->kind == WEIR_DEVICE_MIG ? take_slots(edit, like->parent, like->slots, 0) : 0;
}

static int unlink_from_node(struct weir_edit *edit, const struct weir_device *row, uint32_t index)
{
    struct weir_node *node = weir_edit_touch(edit, WEIR_TABLE_NODES, row->node);
    uint32_t next = row->next_on_node;
    uint32_t at;

    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    node->n_devices--;
    if (node->first_device == index) {
        node->first_device = next;
        return 0;
    }
    for (at = node->first_device;;) {
        const struct weir_device *before = weir_edit_peek(edit, WEIR_TABLE_DEVICES, at);
        struct weir_device *link;

        if (before->next_on_node != index) {
            at = before->next_on_node;
            continue;
        }
        link = weir_edit_touch(edit, WEIR_TABLE_DEVICES, at);
        if (link == NULL)
            return WEIR_E_NO_MEMORY;
        link->next_on_node = next;
        return 0;
    }
}

int weir_edit_adopt_instance(struct weir_edit *edit, uint32_t index, uint32_t parent,
                             uint16_t slots)
{
    const struct weir_device *was = weir_edit_peek(edit, WEIR_TABLE_DEVICES, index);
    struct weir_device *row;

    if (was->kind != WEIR_DEVICE_MIG || was->parent != WEIR_NONE)
        return WEIR_E_INVALID;
    row = weir_edit_touch(edit, WEIR_TABLE_DEVICES, index);
    if (row == NULL || take_slots(edit, parent, slots, 0) < 0)
        return WEIR_E_NO_MEMORY;
    row->parent = parent;
    row->slots = slots;
    return 0;
}

static bool has_instances(const struct weir_edit *edit, uint32_t index)
{
    const struct weir_world *world = weir_edit_view(edit);

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i))
        if (weir_world_device(world, i)->parent == index)
            return true;
    return false;
}

int weir_edit_remove_device(struct weir_edit *edit, uint32_t index)
{
    struct weir_device row =
        *(const struct weir_device *)weir_edit_peek(edit, WEIR_TABLE_DEVICES, index);

    bool is_instance = row.kind == WEIR_DEVICE_MIG;

    if (row.n_sharers > 0 || (!is_instance && has_instances(edit, index)))
        return WEIR_E_INVALID;
    if (unlink_from_node(edit, &row, index) < 0 ||
        (is_instance && take_slots(edit, row.parent, 0, row.slots) < 0))
        return WEIR_E_NO_MEMORY;
    return weir_edit_free_row(edit, WEIR_TABLE_DEVICES, index);
}
