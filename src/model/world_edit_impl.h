/* model/world_edit_impl.h — what the files of the writer share; for world_edit*.c only.
 *
 * Sums and lists change in as few places as there are: see set_state() for tasks, the link helpers
 * for lists. A pointer got by weir_edit_peek() dies with the next touch of a row of the same table:
 * the chunk it points into may be replaced. One got by weir_edit_touch() lives until the next seal.
 */
#ifndef WEIR_MODEL_WORLD_EDIT_IMPL_H
#define WEIR_MODEL_WORLD_EDIT_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "model/world_edit.h"

struct index_list weir_vec(uint32_t);
struct change_list weir_vec(uint64_t);

struct weir_edit {
    struct weir_world *state; /* refs is 1 and never given out */
    struct weir_map by_key[WEIR_TABLE_MAX];
    struct weir_map strings;
    struct weir_map spans;
    struct weir_map resources;
    struct weir_map shapes;
    struct index_list free[WEIR_TABLE_MAX];
    struct change_list changes; /* table << 32 | index, may repeat */
    uint32_t is_first;
};

static inline const void *weir_edit_peek(const struct weir_edit *edit, enum weir_table_id id,
                                         uint32_t index)
{
    return weir_table_row(&edit->state->tables[id], index);
}

static inline const struct weir_shape *weir_edit_shape_of(const struct weir_edit *edit,
                                                          uint32_t role)
{
    const struct weir_role *row = weir_edit_peek(edit, WEIR_TABLE_ROLES, role);

    return weir_edit_peek(edit, WEIR_TABLE_SHAPES, row->shape);
}

/* A row for changing: marks it changed and gives it a new gen. NULL: no memory. */
void *weir_edit_touch(struct weir_edit *edit, enum weir_table_id id, uint32_t index);
/* A live row, zero but for `row`; its address goes to *ret_row. WEIR_E_EXISTS if the key is in use.
 */
int weir_edit_new_row(struct weir_edit *edit, enum weir_table_id id, const struct weir_key *key,
                      uint32_t *ret_index, void *ret_row);
int weir_edit_free_row(struct weir_edit *edit, enum weir_table_id id, uint32_t index);
/* Copies the fields after `row`. */
void weir_edit_copy_fields(void *row, const void *like, size_t size);

enum weir_queue_sum { WEIR_QUEUE_HELD, WEIR_QUEUE_WANTED };

/* Adds times × shape to a queue and all above it. */
int weir_edit_add_to_queues(struct weir_edit *edit, uint32_t queue, enum weir_queue_sum which,
                            const struct weir_shape *shape, int64_t times);

#endif
