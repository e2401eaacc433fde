#include "model/table.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

static size_t chunk_bytes(const struct weir_table *table)
{
    return (size_t)table->row_size << table->shift;
}

uint32_t weir_table_next(const struct weir_table *table, uint32_t from)
{
    for (uint32_t i = from; i < table->n_rows; i++)
        if (((const struct weir_row *)weir_table_row(table, i))->live != 0)
            return i;
    return WEIR_NONE;
}

void weir_table_init(struct weir_table *table, uint32_t row_size)
{
    uint32_t shift = 0;

    while (row_size << (shift + 1) <= WEIR_TABLE_CHUNK_BYTES)
        shift++;
    *table = (struct weir_table){.row_size = row_size, .shift = shift};
}

static void release_chunk(struct weir_table_chunk *chunk)
{
    if (atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel) == 1)
        weir_mem_free(chunk);
}

static void release_spine(struct weir_table_spine *spine)
{
    if (spine == NULL || atomic_fetch_sub_explicit(&spine->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < spine->n_chunks; i++)
        release_chunk(spine->chunks[i]);
    weir_mem_free(spine);
}

/* A spine of this epoch with room for n_chunks (at least what it has); the old one is released. */
static struct weir_table_spine *own_spine(struct weir_table *table, uint32_t n_chunks,
                                          uint32_t epoch)
{
    struct weir_table_spine *old = table->spine;
    uint32_t n_old = old != NULL ? old->n_chunks : 0;
    struct weir_table_spine *spine;

    uint32_t cap = n_chunks > n_old ? n_chunks + n_chunks / 2 + 2 : n_old;

    if (old != NULL && old->epoch == epoch && n_chunks <= old->cap_chunks)
        return old;
    spine = weir_mem_alloc(sizeof(*spine) + cap * sizeof(spine->chunks[0]));
    if (spine == NULL)
        return NULL;
    atomic_init(&spine->refs, 1);
    spine->epoch = epoch;
    spine->cap_chunks = cap;
    spine->n_chunks = n_old;
    for (uint32_t i = 0; i < n_old; i++) {
        spine->chunks[i] = old->chunks[i];
        atomic_fetch_add_explicit(&spine->chunks[i]->refs, 1, memory_order_relaxed);
    }
    table->spine = spine;
    release_spine(old);
    return spine;
}

static struct weir_table_chunk *new_chunk(const struct weir_table *table, uint32_t epoch)
{
    struct weir_table_chunk *chunk = weir_mem_alloc(sizeof(*chunk) + chunk_bytes(table));

    if (chunk == NULL)
        return NULL;
    atomic_init(&chunk->refs, 1);
    chunk->epoch = epoch;
    return chunk;
}

void *weir_table_edit(struct weir_table *table, uint32_t index, uint32_t epoch)
{
    uint32_t at = (index >> table->shift);
    struct weir_table_spine *spine = own_spine(table, at + 1, epoch);
    struct weir_table_chunk *chunk;

    if (spine == NULL)
        return NULL;
    chunk = spine->chunks[at];
    if (chunk->epoch != epoch) {
        struct weir_table_chunk *copy = new_chunk(table, epoch);

        if (copy == NULL)
            return NULL;
        memcpy(copy->rows, chunk->rows, chunk_bytes(table));
        spine->chunks[at] = copy;
        release_chunk(chunk);
        chunk = copy;
    }
    return chunk->rows + (size_t)(index & ((1u << table->shift) - 1)) * table->row_size;
}

int weir_table_append(struct weir_table *table, uint32_t epoch, uint32_t *ret_index)
{
    uint32_t index = table->n_rows;
    uint32_t n_chunks = (index >> table->shift) + 1;
    struct weir_row *row;

    if (index == WEIR_NONE - 1)
        return WEIR_E_NO_MEMORY;
    if (table->spine == NULL || n_chunks > table->spine->n_chunks) {
        struct weir_table_chunk *chunk = new_chunk(table, epoch);
        struct weir_table_spine *spine = chunk != NULL ? own_spine(table, n_chunks, epoch) : NULL;

        if (spine == NULL) {
            weir_mem_free(chunk);
            return WEIR_E_NO_MEMORY;
        }
        memset(chunk->rows, 0, chunk_bytes(table));
        spine->chunks[spine->n_chunks++] = chunk;
    }
    row = weir_table_edit(table, index, epoch);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->live = 1;
    table->n_rows++;
    table->n_live++;
    *ret_index = index;
    return 0;
}

struct weir_table weir_table_share(const struct weir_table *table)
{
    if (table->spine != NULL)
        atomic_fetch_add_explicit(&table->spine->refs, 1, memory_order_relaxed);
    return *table;
}

void weir_table_release(struct weir_table *table)
{
    release_spine(table->spine);
    table->spine = NULL;
    table->n_rows = 0;
    table->n_live = 0;
}
