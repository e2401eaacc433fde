#include "model/world_check.h"

#include "base/bitset.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/world_check_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- saying what is wrong ---- */

static void print_key(const struct weir_key *key, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof(key->bytes); i++) {
        *ret_text++ = digits[key->bytes[i] >> 4];
        *ret_text++ = digits[key->bytes[i] & 15];
    }
    *ret_text = '\0';
}

static void print_row(const struct weir_check *check, struct weir_check_place place, char *ret_text,
                      size_t size)
{
    static const struct weir_key zero;
    const struct weir_table *table = &check->world->tables[place.table];
    const struct weir_row *row;
    char key[2 * sizeof(zero.bytes) + 1];

    if (place.index == WEIR_NONE) {
        snprintf(ret_text, size, "%s", weir_table_name(place.table));
        return;
    }
    row = weir_table_row(table, place.index);
    if (weir_key_eq(&row->key, &zero)) {
        snprintf(ret_text, size, "%s row %u", weir_table_name(place.table), place.index);
        return;
    }
    print_key(&row->key, key);
    snprintf(ret_text, size, "%s row %u (key %s)", weir_table_name(place.table), place.index, key);
}

int weir_check_fault(const struct weir_check *check, struct weir_check_place place,
                     const char *format, ...)
{
    char row[96];
    char field[64];
    char what[256];
    va_list args;

    print_row(check, place, row, sizeof(row));
    if (place.element < 0)
        snprintf(field, sizeof(field), "%s", place.field);
    else
        snprintf(field, sizeof(field), "%s[%d]", place.field, place.element);
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    weir_error(check->err, WEIR_E_INVALID, "%s: %s %s", row, field, what);
    if (place.index == WEIR_NONE)
        weir_error_field(check->err, "%s.%s", weir_table_name(place.table), field);
    else
        weir_error_field(check->err, "%s[%u].%s", weir_table_name(place.table), place.index, field);
    return WEIR_E_INVALID;
}

int weir_check_no_memory(const struct weir_check *check)
{
    return weir_error(check->err, WEIR_E_NO_MEMORY, "no memory to check the world");
}

/* ---- the frame: what must hold before a row can be looked at ---- */

static int check_frame(const struct weir_check *check, enum weir_table_id id)
{
    const struct weir_table *table = &check->world->tables[id];
    struct weir_table like;
    uint64_t n_chunks;

    weir_table_init(&like, weir_table_row_bytes(id));
    if (table->row_size != like.row_size || table->shift != like.shift)
        return weir_check_fault(check, weir_check_at(id, WEIR_NONE, "row_size"),
                                "is %u with shift %u, must be %u with %u", table->row_size,
                                table->shift, like.row_size, like.shift);
    n_chunks = ((uint64_t)table->n_rows + (1u << table->shift) - 1) >> table->shift;
    if (n_chunks != (table->spine != NULL ? table->spine->n_chunks : 0))
        return weir_check_fault(check, weir_check_at(id, WEIR_NONE, "n_rows"),
                                "is %u, which takes %llu chunks; there are %u", table->n_rows,
                                (unsigned long long)n_chunks,
                                table->spine != NULL ? table->spine->n_chunks : 0);
    return 0;
}

/* The tables whose rows have a persistent key; the others are reached through them. */
static bool is_keyed(enum weir_table_id id)
{
    return id == WEIR_TABLE_NODES || id == WEIR_TABLE_DEVICES || id == WEIR_TABLE_QUEUES ||
           id == WEIR_TABLE_WORKLOADS || id == WEIR_TABLE_SIGNALS || id == WEIR_TABLE_INTENTS ||
           id == WEIR_TABLE_PRICES;
}

/* Rows of these are never freed. */
static bool is_interned(enum weir_table_id id)
{
    return id == WEIR_TABLE_RESOURCES || id == WEIR_TABLE_SHAPES || id == WEIR_TABLE_STRINGS ||
           id == WEIR_TABLE_SPANS;
}

static bool is_zero(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static int check_row(const struct weir_check *check, enum weir_table_id id, uint32_t index)
{
    const struct weir_row *row = weir_table_row(&check->world->tables[id], index);
    bool has_key = !is_zero(&row->key, sizeof(row->key));

    if (row->live > 1)
        return weir_check_fault(check, weir_check_at(id, index, "live"), "is %u, not below 2",
                                row->live);
    if (row->gen == 0)
        return weir_check_fault(check, weir_check_at(id, index, "gen"), "is 0");
    if (row->live == 0) {
        if (is_interned(id))
            return weir_check_fault(check, weir_check_at(id, index, "live"),
                                    "is 0, but rows of this table are never freed");
        if (has_key || !is_zero(row + 1, weir_table_row_bytes(id) - sizeof(*row)))
            return weir_check_fault(check, weir_check_at(id, index, "row"),
                                    "is free, but not zero");
        return 0;
    }
    if (has_key && !is_keyed(id))
        return weir_check_fault(check, weir_check_at(id, index, "key"),
                                "is set, but rows of this table have none");
    return 0;
}

static int check_rows(const struct weir_check *check, enum weir_table_id id)
{
    const struct weir_table *table = &check->world->tables[id];
    uint32_t n_live = 0;

    for (uint32_t i = 0; i < table->n_rows; i++) {
        int r = check_row(check, id, i);

        if (r < 0)
            return r;
        n_live += weir_table_is_live(table, i);
    }
    if (n_live != table->n_live)
        return weir_check_fault(check, weir_check_at(id, WEIR_NONE, "n_live"),
                                "is %u, but %u rows are live", table->n_live, n_live);
    return 0;
}

static int check_changes(const struct weir_check *check)
{
    const struct weir_world *world = check->world;
    uint32_t at = 0;

    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        const struct weir_table *table = &world->tables[id];

        if (table->n_changed == 0)
            continue;
        if (world->is_keyframe || table->changed_from != at ||
            table->n_changed > world->n_changes - at)
            return weir_check_fault(check, weir_check_at(id, WEIR_NONE, "n_changed"),
                                    "is %u from %u, beside the change list (%u, next %u)",
                                    table->n_changed, table->changed_from, world->n_changes, at);
        for (uint32_t i = at; i < at + table->n_changed; i++)
            if (world->changes[i] >= table->n_rows ||
                (i > at && world->changes[i] <= world->changes[i - 1]))
                return weir_check_fault(check, weir_check_at(id, WEIR_NONE, "changes"),
                                        "name row %u, out of order or of range", world->changes[i]);
        at += table->n_changed;
    }
    if (at != world->n_changes || world->is_keyframe > 1)
        return weir_error(check->err, WEIR_E_INVALID,
                          "world: n_changes is %u, its tables have %u (keyframe: %u)",
                          world->n_changes, at, world->is_keyframe);
    return 0;
}

/* ---- equal rows ---- */

/* The part of a row that tells it from the others of its table. */
struct identity {
    enum weir_table_id table;
    uint32_t offset;
    uint32_t size;
    const char *field;
};

#define IDENTITY_KEY(id)                                                                           \
    {                                                                                              \
        id, 0, sizeof(struct weir_key), "key"                                                      \
    }
#define IDENTITY_FIELDS(id, type)                                                                  \
    {                                                                                              \
        id, sizeof(struct weir_row), sizeof(struct type) - sizeof(struct weir_row), "value"        \
    }

static const struct identity identities[] = {
    IDENTITY_KEY(WEIR_TABLE_NODES),
    IDENTITY_KEY(WEIR_TABLE_DEVICES),
    IDENTITY_KEY(WEIR_TABLE_QUEUES),
    IDENTITY_KEY(WEIR_TABLE_WORKLOADS),
    IDENTITY_KEY(WEIR_TABLE_SIGNALS),
    IDENTITY_KEY(WEIR_TABLE_INTENTS),
    IDENTITY_KEY(WEIR_TABLE_PRICES),
    IDENTITY_FIELDS(WEIR_TABLE_STRINGS, weir_string),
    IDENTITY_FIELDS(WEIR_TABLE_SHAPES, weir_shape),
    {WEIR_TABLE_RESOURCES, offsetof(struct weir_resource, name), sizeof(uint32_t), "name"},
};

static int check_distinct(const struct weir_check *check, const struct identity *identity)
{
    const struct weir_table *table = &check->world->tables[identity->table];
    size_t n_slots = 8;
    uint32_t *slots; /* row index + 1 */

    while (n_slots < 2 * (size_t)table->n_live)
        n_slots *= 2;
    slots = weir_arena_new_n(check->arena, uint32_t, n_slots);
    if (slots == NULL)
        return weir_check_no_memory(check);
    for (uint32_t i = weir_table_next(table, 0); i != WEIR_NONE;
         i = weir_table_next(table, i + 1)) {
        const char *mine = (const char *)weir_table_row(table, i) + identity->offset;
        size_t at = (size_t)weir_hash_sip13(1, 2, mine, identity->size) & (n_slots - 1);

        for (; slots[at] != 0; at = (at + 1) & (n_slots - 1)) {
            const char *other =
                (const char *)weir_table_row(table, slots[at] - 1) + identity->offset;

            if (memcmp(mine, other, identity->size) == 0)
                return weir_check_fault(check, weir_check_at(identity->table, i, identity->field),
                                        "is that of row %u as well", slots[at] - 1);
        }
        slots[at] = i + 1;
    }
    return 0;
}

int weir_world_check(const struct weir_world *world, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_check check = {world, &arena, err};
    int r;

    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        r = check_frame(&check, id);
        if (r < 0)
            return r;
        r = check_rows(&check, id);
        if (r < 0)
            return r;
    }
    r = check_changes(&check);
    if (r < 0)
        return r;
    r = weir_check_fields(&check);
    if (r < 0)
        return r;
    for (size_t i = 0; i < WEIR_COUNT_OF(identities); i++) {
        r = check_distinct(&check, &identities[i]);
        if (r < 0)
            return r;
    }
    r = weir_check_lists(&check);
    if (r < 0)
        return r;
    return weir_check_sums(&check);
}
