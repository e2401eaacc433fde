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
