/* model/world_check_impl.h — what the files of the check share; for world_check*.c only. They run
 * in the order frame, fields, lists, sums: each may rely on what the ones before it have seen. */
#ifndef WEIR_MODEL_WORLD_CHECK_IMPL_H
#define WEIR_MODEL_WORLD_CHECK_IMPL_H

#include "base/arena.h"
#include "model/world.h"

struct weir_err;

struct weir_check {
    const struct weir_world *world;
    struct weir_arena *arena;
    struct weir_err *err;
};

/* Where a fault is. */
struct weir_check_place {
    enum weir_table_id table;
    uint32_t index; /* WEIR_NONE: the table as a whole */
    const char *field;
    int element; /* of a field that is an array, or -1 */
};

static inline struct weir_check_place weir_check_at(enum weir_table_id table, uint32_t index,
                                                    const char *field)
{
    return (struct weir_check_place){table, index, field, -1};
}

static inline struct weir_check_place weir_check_at_element(enum weir_table_id table,
                                                            uint32_t index, const char *field,
                                                            uint32_t element)
{
    return (struct weir_check_place){table, index, field, (int)element};
}

/* Makes the error "TABLE row N (key K): FIELD …" and returns WEIR_E_INVALID. */
int weir_check_fault(const struct weir_check *check, struct weir_check_place place,
                     const char *format, ...) __attribute__((format(printf, 3, 4)));
int weir_check_no_memory(const struct weir_check *check);

int weir_check_fields(const struct weir_check *check);
/* Called by weir_check_fields() after the fields of this row; of rows it names only that they live
 * is known then. */
int weir_check_row(const struct weir_check *check, enum weir_table_id id, uint32_t index);
int weir_check_lists(const struct weir_check *check);
int weir_check_sums(const struct weir_check *check);

#endif
