/* Comparing worlds byte by byte. */
#ifndef WEIR_TESTS_WORLD_SAME_H
#define WEIR_TESTS_WORLD_SAME_H

#include "base/hash.h"
#include "model/world.h"

#include <string.h>

static inline bool world_row_same(const struct weir_world *a, const struct weir_world *b,
                                  enum weir_table_id id, uint32_t index)
{
    return memcmp(weir_table_row(&a->tables[id], index), weir_table_row(&b->tables[id], index),
                  weir_table_row_bytes(id)) == 0;
}

/* The same rows under the same version and boot id. */
static inline bool world_same(const struct weir_world *a, const struct weir_world *b)
{
    if (a->version != b->version || memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) != 0)
        return false;
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        if (a->tables[id].n_rows != b->tables[id].n_rows ||
            a->tables[id].n_live != b->tables[id].n_live)
            return false;
        for (uint32_t i = 0; i < a->tables[id].n_rows; i++)
            if (!world_row_same(a, b, id, i))
                return false;
    }
    return true;
}

/* Over all rows and the list of changes. */
static inline uint64_t world_hash(const struct weir_world *world)
{
    uint64_t hash = world->version;

    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        const struct weir_table *table = &world->tables[id];
        const uint32_t frame[] = {table->n_rows, table->n_live, table->changed_from,
                                  table->n_changed};

        hash = weir_hash_sip13(hash, id, frame, sizeof(frame));
        for (uint32_t i = 0; i < table->n_rows; i++)
            hash = weir_hash_sip13(hash, i, weir_table_row(table, i), table->row_size);
    }
    return weir_hash_sip13(hash, 0, world->changes, world->n_changes * sizeof(*world->changes));
}

#endif
