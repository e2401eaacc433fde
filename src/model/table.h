/* model/table.h — rows of one kind in immutable, reference-counted chunks that versions of the
 * world share.
 *
 * A row is a plain struct without pointers, zeroed before use, so that its bytes can be written
 * down and compared. It begins with `struct weir_row`. A table of a sealed version never changes.
 * The one writer (world_edit.h) copies a chunk before its first change after a seal; readers of
 * older versions, also in other threads, see nothing of it.
 *
 * Row indices are valid in one version and stay the same over versions while the row lives; a freed
 * index may be used again with another `gen`. */
#ifndef WEIR_MODEL_TABLE_H
#define WEIR_MODEL_TABLE_H

#include "model/key.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of a chunk are a power of two, so that a chunk is about this large: what one change after a
 * seal copies. */
enum { WEIR_TABLE_CHUNK_BYTES = 8192 };

struct weir_row {
    struct weir_key key;
    uint32_t
        gen; /* changes with every change of the row, never 0; acting on a row revalidates it */
    uint32_t live; /* 0 or 1 */
};

struct weir_table_chunk {
    atomic_uint refs;
    uint32_t epoch; /* the edit that may change it in place */
    _Alignas(16) unsigned char rows[];
};

struct weir_table_spine {
    atomic_uint refs;
    uint32_t epoch;
    uint32_t n_chunks;
    uint32_t cap_chunks;
    struct weir_table_chunk *chunks[];
};

struct weir_table {
    struct weir_table_spine *spine; /* NULL: no rows */
    uint32_t row_size;
    uint32_t shift;  /* rows per chunk = 1 << shift */
    uint32_t n_rows; /* indices 0 … n_rows-1 exist, live or not */
    uint32_t n_live;
    uint32_t changed_from; /* of changed rows: [changed_from, changed_from + n_changed) of the
                              world's change list */
    uint32_t n_changed;
};

static inline const void *weir_table_row(const struct weir_table *table, uint32_t index)
{
    const struct weir_table_chunk *chunk = table->spine->chunks[index >> table->shift];

    return chunk->rows + (size_t)(index & ((1u << table->shift) - 1)) * table->row_size;
}

static inline bool weir_table_is_live(const struct weir_table *table, uint32_t index)
{
    return index < table->n_rows &&
           ((const struct weir_row *)weir_table_row(table, index))->live != 0;
}

/* The next live index at or after `from`, or WEIR_NONE. */
uint32_t weir_table_next(const struct weir_table *table, uint32_t from);

/* For the writer only. `epoch` grows with every seal; chunks of an older epoch are copied first. */
void weir_table_init(struct weir_table *table, uint32_t row_size);
void *weir_table_edit(struct weir_table *table, uint32_t index,
                      uint32_t epoch); /* NULL: no memory */
/* Appends a zeroed, live row. 0, or WEIR_E_NO_MEMORY with the table unchanged. */
int weir_table_append(struct weir_table *table, uint32_t epoch, uint32_t *ret_index);
/* A second reference to the same rows. */
struct weir_table weir_table_share(const struct weir_table *table);
void weir_table_release(struct weir_table *table);

#endif
