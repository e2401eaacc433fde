#include "model/world_codec.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/plan.h"

#include <string.h>

enum { LAYOUT_VERSION = 2 };
enum { KIND_KEYFRAME = 'K', KIND_DELTA = 'D' };
/* A row that differs: gap, number of runs, one run of one word. */
enum { WORD_BYTES = 8, MIN_ROW_BYTES = 3 + WORD_BYTES, NUMBER_BYTES_MAX = 10 };

#define WORDS_OF(type)                                                                             \
    _Static_assert(sizeof(struct type) % WORD_BYTES == 0, "rows are written in whole words")
WORDS_OF(weir_resource);
WORDS_OF(weir_shape);
WORDS_OF(weir_node);
WORDS_OF(weir_device);
WORDS_OF(weir_hold);
WORDS_OF(weir_queue);
WORDS_OF(weir_workload);
WORDS_OF(weir_role);
WORDS_OF(weir_task);
WORDS_OF(weir_signal);
WORDS_OF(weir_intent);
WORDS_OF(weir_price);
WORDS_OF(weir_string);
WORDS_OF(weir_span_cell);

uint64_t weir_world_layout(void)
{
    uint32_t parts[] = {
        LAYOUT_VERSION,       WEIR_RESOURCE_KIND_MAX, WEIR_ISOLATION_MAX,     WEIR_NODE_PHASE_MAX,
        WEIR_TOPOLOGY_LEVELS, WEIR_DEVICE_KIND_MAX,   WEIR_DEVICE_HEALTH_MAX, WEIR_BINDER_MAX,
        WEIR_CLASS_MAX,       WEIR_TASK_STATE_MAX,    WEIR_END_MAX,           WEIR_SUBJECT_MAX,
        WEIR_INTENT_KIND_MAX, WEIR_CAUSE_MAX,         WEIR_TABLE_MAX,         WEIR_OVER_BUDGET_MAX,
    };
    uint64_t layout = weir_hash_sip13(1, 2, parts, sizeof(parts));

    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++)
        layout = weir_hash_mix64(layout + weir_table_row_bytes(id));
    return layout;
}

/* ---- writing ---- */

static void put_number(struct weir_buf *out, uint64_t value)
{
    while (value >= 0x80) {
        weir_buf_putc(out, (char)(value | 0x80));
        value >>= 7;
    }
    weir_buf_putc(out, (char)value);
}

static uint64_t word_at(const void *row, uint32_t i)
{
    uint64_t word;

    memcpy(&word, (const char *)row + (size_t)i * WORD_BYTES, sizeof(word));
    return word;
}

static uint64_t difference(const void *row, const void *base, uint32_t i)
{
    return base == NULL ? word_at(row, i) : word_at(row, i) ^ word_at(base, i);
}

/* The first word from `from` on that differs (or, with `same`, does not), or n_words. */
static uint32_t next_word(const void *row, const void *base, uint32_t from, uint32_t n_words,
                          bool same)
{
    while (from < n_words && (difference(row, base, from) == 0) != same)
        from++;
    return from;
}

static void write_row(const void *row, const void *base, uint32_t n_words, struct weir_buf *out)
{
    uint32_t n_runs = 0;
    uint32_t end = 0;

    for (uint32_t at = 0; (at = next_word(row, base, at, n_words, false)) < n_words; n_runs++)
        at = next_word(row, base, at, n_words, true);
    put_number(out, n_runs);
    for (; n_runs > 0; n_runs--) {
        uint32_t from = next_word(row, base, end, n_words, false);

        put_number(out, from - end);
        end = next_word(row, base, from, n_words, true);
        put_number(out, end - from);
        for (uint32_t i = from; i < end; i++) {
            uint64_t word = difference(row, base, i);

            weir_buf_append(out, &word, sizeof(word));
        }
    }
}

/* The first row from `from` on that differs, or n_rows. Shared chunks are equal without a look. */
static uint32_t next_difference(const struct weir_table *table, const struct weir_table *base,
                                uint32_t from)
{
    if (table->spine == base->spine)
        return table->n_rows;
    while (from < base->n_rows) {
        uint32_t chunk = from >> table->shift;
        uint32_t end = (chunk + 1) << table->shift;

        if (table->spine->chunks[chunk] == base->spine->chunks[chunk])
            from = end < base->n_rows ? end : base->n_rows;
        else if (memcmp(weir_table_row(table, from), weir_table_row(base, from), table->row_size) !=
                 0)
            return from;
        else
            from++;
    }
    return from;
}

static void write_whole_table(const struct weir_table *table, struct weir_buf *out)
{
    put_number(out, table->n_rows);
    for (uint32_t i = 0; i < table->n_rows; i++)
        write_row(weir_table_row(table, i), NULL, table->row_size / WORD_BYTES, out);
}

static void write_difference(const struct weir_table *table, const struct weir_table *base,
                             struct weir_buf *out)
{
    uint32_t n = 0;
    uint32_t end = 0;

    put_number(out, table->n_rows);
    for (uint32_t i = next_difference(table, base, 0); i < table->n_rows;
         i = next_difference(table, base, i + 1))
        n++;
    put_number(out, n);
    for (uint32_t i = next_difference(table, base, 0); i < table->n_rows;
         i = next_difference(table, base, i + 1)) {
        put_number(out, i - end);
        end = i + 1;
        write_row(weir_table_row(table, i), i < base->n_rows ? weir_table_row(base, i) : NULL,
                  table->row_size / WORD_BYTES, out);
    }
}

bool weir_world_is_earlier(const struct weir_world *base, const struct weir_world *world)
{
    if (base->version > world->version)
        return false;
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++)
        if (base->tables[id].n_rows > world->tables[id].n_rows)
            return false;
    return true;
}

int weir_world_write(const struct weir_world *world, const struct weir_world *base,
                     struct weir_buf *out)
{
    uint64_t layout = weir_world_layout();

    if (base != NULL && !weir_world_is_earlier(base, world))
        return WEIR_E_INVALID;
    weir_buf_append(out, &layout, sizeof(layout));
    weir_buf_putc(out, base == NULL ? KIND_KEYFRAME : KIND_DELTA);
    put_number(out, world->version);
    if (base != NULL)
        put_number(out, base->version);
    weir_buf_append(out, world->boot_id, sizeof(world->boot_id));
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        if (base == NULL)
            write_whole_table(&world->tables[id], out);
        else
            write_difference(&world->tables[id], &base->tables[id], out);
    }
    return out->failed;
}

/* ---- reading ---- */

struct word_list weir_vec(uint32_t);

struct reader {
    struct weir_str all;
    size_t at;
    enum weir_table_id table; /* being read, for messages */
    struct word_list changes;
    struct weir_err *err;
};

static int corrupt(const struct reader *in, const char *what)
{
    return weir_error(in->err, WEIR_E_CORRUPT, "world: %s (%s, at byte %zu of %zu)", what,
                      weir_table_name(in->table), in->at, in->all.len);
}

static size_t left(const struct reader *in)
{
    return in->all.len - in->at;
}

static int get_bytes(struct reader *in, void *ret_bytes, size_t n)
{
    if (left(in) < n)
        return corrupt(in, "it ends too early");
    memcpy(ret_bytes, in->all.ptr + in->at, n);
    in->at += n;
    return 0;
}

static int get_number(struct reader *in, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
        uint8_t byte = 0;
        int r = get_bytes(in, &byte, 1);

        if (r < 0)
            return r;
        if (i == NUMBER_BYTES_MAX - 1 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            if (byte == 0 && i > 0)
                break;
            *ret_value = value;
            return 0;
        }
    }
    return corrupt(in, "a number is badly formed");
}

static int get_small_number(struct reader *in, uint64_t max, const char *what, uint32_t *ret_value)
{
    uint64_t value = 0;
    int r = get_number(in, &value);

    if (r < 0)
        return r;
    if (value > max)
        return corrupt(in, what);
    *ret_value = (uint32_t)value;
    return 0;
}

static int read_run(struct reader *in, unsigned char *row, uint32_t n_words, bool is_first,
                    uint32_t *at)
{
    uint32_t skip = 0;
    uint32_t n = 0;
    int r = get_small_number(in, n_words - *at, "a run begins beyond its row", &skip);

    if (r < 0)
        return r;
    if (skip == 0 && !is_first)
        return corrupt(in, "two runs touch");
    *at += skip;
    r = get_small_number(in, n_words - *at, "a run ends beyond its row", &n);
    if (r < 0)
        return r;
    if (n == 0)
        return corrupt(in, "a run is empty");
    for (uint32_t i = 0; i < n; i++, (*at)++) {
        uint64_t word = 0;
        uint64_t was = word_at(row, *at);

        r = get_bytes(in, &word, sizeof(word));
        if (r < 0)
            return r;
        if (word == 0)
            return corrupt(in, "a word of a run does not differ");
        was ^= word;
        memcpy(row + (size_t)*at * WORD_BYTES, &was, sizeof(was));
    }
    return 0;
}

static int read_row(struct reader *in, struct weir_table *table, uint32_t index, uint32_t epoch)
{
    uint32_t n_words = table->row_size / WORD_BYTES;
    unsigned char *row = weir_table_edit(table, index, epoch);
    const struct weir_row *head = (const struct weir_row *)(const void *)row;
    uint32_t n_runs = 0;
    uint32_t at = 0;
    int r;

    if (row == NULL)
        return weir_error(in->err, WEIR_E_NO_MEMORY, "no memory for a world");
    table->n_live -= head->live != 0;
    r = get_small_number(in, n_words, "a row has more runs than words", &n_runs);
    if (r < 0)
        return r;
    if (n_runs == 0)
        return corrupt(in, "a row does not differ");
    for (uint32_t i = 0; i < n_runs; i++) {
        r = read_run(in, row, n_words, i == 0, &at);
        if (r < 0)
            return r;
    }
    table->n_live += head->live != 0;
    return 0;
}

static int append_row(struct reader *in, struct weir_table *table, uint32_t epoch)
{
    uint32_t index;
    struct weir_row *row;

    if (weir_table_append(table, epoch, &index) < 0)
        return weir_error(in->err, WEIR_E_NO_MEMORY, "no memory for a world");
    /* Live as it was appended; its bytes say what it is. */
    row = weir_table_edit(table, index, epoch);
    row->live = 0;
    table->n_live--;
    return read_row(in, table, index, epoch);
}

static int read_whole_table(struct reader *in, struct weir_table *table, uint32_t epoch)
{
    uint32_t n_rows = 0;
    int r = get_small_number(in, left(in) / (MIN_ROW_BYTES - 1), "more rows than bytes", &n_rows);

    for (uint32_t i = 0; r == 0 && i < n_rows; i++)
        r = append_row(in, table, epoch);
    return r;
}

static int read_difference(struct reader *in, struct weir_table *table, uint32_t epoch)
{
    uint32_t n_rows = 0;
    uint32_t n_changed = 0;
    uint32_t at = 0;
    int r = get_small_number(in, WEIR_NONE - 1, "more rows than can be", &n_rows);

    if (r == 0)
        r = get_small_number(in, left(in) / MIN_ROW_BYTES, "more rows than bytes", &n_changed);
    if (r < 0)
        return r;
    if (n_rows < table->n_rows || n_rows - table->n_rows > n_changed)
        return corrupt(in, "the number of rows does not follow from the base");
    table->changed_from = n_changed > 0 ? (uint32_t)in->changes.n : 0;
    table->n_changed = n_changed;
    for (uint32_t i = 0; i < n_changed; i++) {
        uint32_t gap = 0;

        if (at >= n_rows)
            return corrupt(in, "a row is beyond the table");
        r = get_small_number(in, n_rows - 1 - at, "a row is beyond the table", &gap);
        if (r < 0)
            return r;
        at += gap;
        if (at > table->n_rows)
            return corrupt(in, "a new row is left out");
        r = at == table->n_rows ? append_row(in, table, epoch) : read_row(in, table, at, epoch);
        if (r < 0)
            return r;
        if (weir_vec_push(&in->changes, at) < 0)
            return weir_error(in->err, WEIR_E_NO_MEMORY, "no memory for a world");
        at++;
    }
    if (table->n_rows != n_rows)
        return corrupt(in, "new rows are left out");
    return 0;
}

/* Everything before the tables. */
static int read_head(struct reader *in, const struct weir_world *base, struct weir_world *world)
{
    uint64_t layout = 0;
    uint8_t kind = 0;
    int r = get_bytes(in, &layout, sizeof(layout));

    if (r < 0)
        return r;
    if (layout != weir_world_layout()) {
        weir_error(in->err, WEIR_E_UNSUPPORTED,
                   "world: written by a build with another layout (%016llx, ours is %016llx)",
                   (unsigned long long)layout, (unsigned long long)weir_world_layout());
        return weir_error_hint(in->err, "read it with the version of weir that wrote it");
    }
    r = get_bytes(in, &kind, 1);
    if (r == 0 && kind != KIND_KEYFRAME && kind != KIND_DELTA)
        return corrupt(in, "it is neither keyframe nor delta");
    if (r == 0)
        r = get_number(in, &world->version);
    if (r < 0)
        return r;
    world->is_keyframe = kind == KIND_KEYFRAME;
    if (!world->is_keyframe) {
        uint64_t version = 0;

        r = get_number(in, &version);
        if (r < 0)
            return r;
        if (base == NULL)
            return weir_error(in->err, WEIR_E_INVALID,
                              "world: a delta against version %llu, which is not at hand",
                              (unsigned long long)version);
        if (base->version != version)
            return weir_error(in->err, WEIR_E_INVALID,
                              "world: a delta against version %llu, not against %llu",
                              (unsigned long long)version, (unsigned long long)base->version);
        if (world->version < version)
            return corrupt(in, "it is older than its base");
    }
    return get_bytes(in, world->boot_id, sizeof(world->boot_id));
}

static int read_tables(struct reader *in, const struct weir_world *base, struct weir_world *world)
{
    world->epoch = world->is_keyframe ? 1 : base->epoch + 1;
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        if (world->is_keyframe) {
            weir_table_init(&world->tables[id], weir_table_row_bytes(id));
            continue;
        }
        world->tables[id] = weir_table_share(&base->tables[id]);
        world->tables[id].changed_from = 0;
        world->tables[id].n_changed = 0;
    }
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        int r;

        in->table = id;
        r = world->is_keyframe ? read_whole_table(in, &world->tables[id], world->epoch)
                               : read_difference(in, &world->tables[id], world->epoch);
        if (r < 0)
            return r;
    }
    if (left(in) > 0)
        return corrupt(in, "something follows its end");
    return 0;
}

int weir_world_read(struct weir_str bytes, const struct weir_world *base,
                    const struct weir_world **ret_world, struct weir_err *err)
{
    struct reader in = {.all = bytes, .err = err};
    struct weir_world *world = weir_mem_alloc_array(1, sizeof(*world));
    int r;

    if (world == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a world");
    atomic_init(&world->refs, 1);
    r = read_head(&in, base, world);
    if (r == 0)
        r = read_tables(&in, base, world);
    world->changes = in.changes.items;
    world->n_changes = (uint32_t)in.changes.n;
    if (r < 0) {
        weir_world_unref(world);
        return r;
    }
    *ret_world = world;
    return 0;
}
