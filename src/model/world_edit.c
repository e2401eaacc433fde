#include "model/world_edit.h"

#include "base/count.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "model/world_edit_impl.h"

#include <string.h>

const struct weir_world *weir_edit_view(const struct weir_edit *edit)
{
    return edit->state;
}

static struct weir_table *table_of(struct weir_edit *edit, enum weir_table_id id)
{
    return &edit->state->tables[id];
}

void *weir_edit_touch(struct weir_edit *edit, enum weir_table_id id, uint32_t index)
{
    struct weir_row *row = weir_table_edit(table_of(edit, id), index, edit->state->epoch);

    if (row == NULL || weir_vec_push(&edit->changes, (uint64_t)id << 32 | index) < 0)
        return NULL;
    if (++row->gen == 0)
        row->gen = 1;
    return row;
}

int weir_edit_new_row(struct weir_edit *edit, enum weir_table_id id, const struct weir_key *key,
                      uint32_t *ret_index, void *ret_row)
{
    struct weir_table *table = table_of(edit, id);
    struct weir_str text =
        key != NULL ? weir_str_n((const char *)key->bytes, sizeof(key->bytes)) : WEIR_STR("");
    uint64_t known;
    uint32_t index;
    struct weir_row *row;

    if (key != NULL && weir_map_get(&edit->by_key[id], text, &known))
        return WEIR_E_EXISTS;
    if (edit->free[id].n > 0) {
        index = edit->free[id].items[edit->free[id].n - 1];
        row = weir_edit_touch(edit, id, index);
        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        edit->free[id].n--;
        row->live = 1;
        table->n_live++;
    } else {
        if (weir_table_append(table, edit->state->epoch, &index) < 0)
            return WEIR_E_NO_MEMORY;
        row = weir_edit_touch(edit, id, index);
        if (row == NULL)
            return WEIR_E_NO_MEMORY;
    }
    if (key != NULL) {
        if (weir_map_set(&edit->by_key[id], text, index) < 0)
            return WEIR_E_NO_MEMORY;
        row->key = *key;
    }
    *ret_index = index;
    memcpy(ret_row, &row, sizeof(row));
    return 0;
}

int weir_edit_free_row(struct weir_edit *edit, enum weir_table_id id, uint32_t index)
{
    struct weir_table *table = table_of(edit, id);
    struct weir_row *row = weir_edit_touch(edit, id, index);
    uint32_t gen;

    if (row == NULL || weir_vec_push(&edit->free[id], index) < 0)
        return WEIR_E_NO_MEMORY;
    weir_map_remove(&edit->by_key[id],
                    weir_str_n((const char *)row->key.bytes, sizeof(row->key.bytes)));
    gen = row->gen;
    memset(row, 0, table->row_size);
    row->gen = gen;
    table->n_live--;
    return 0;
}

void weir_edit_copy_fields(void *row, const void *like, size_t size)
{
    memcpy((char *)row + sizeof(struct weir_row), (const char *)like + sizeof(struct weir_row),
           size - sizeof(struct weir_row));
}

uint32_t weir_edit_find(const struct weir_edit *edit, enum weir_table_id table,
                        const struct weir_key *key)
{
    uint64_t index;

    if (!weir_map_get(&edit->by_key[table],
                      weir_str_n((const char *)key->bytes, sizeof(key->bytes)), &index))
        return WEIR_NONE;
    return (uint32_t)index;
}

uint32_t weir_edit_find_node(const struct weir_edit *edit, struct weir_str name)
{
    struct weir_key key = weir_key_of_node(name);

    return weir_edit_find(edit, WEIR_TABLE_NODES, &key);
}

uint32_t weir_edit_find_device(const struct weir_edit *edit, struct weir_str uuid)
{
    struct weir_key key = weir_key_of_device(uuid);

    return weir_edit_find(edit, WEIR_TABLE_DEVICES, &key);
}

uint32_t weir_edit_find_queue(const struct weir_edit *edit, struct weir_str name)
{
    struct weir_key key = weir_key_of_queue(name);

    return weir_edit_find(edit, WEIR_TABLE_QUEUES, &key);
}

/* ---- life ---- */

struct weir_edit *weir_edit_create(const uint8_t boot_id[16])
{
    static const struct {
        enum weir_resource_kind kind;
        const char *name;
        int64_t grain;
    } first[] = {{WEIR_RESOURCE_GPU, "gpu", 1000},
                 {WEIR_RESOURCE_CPU, "cpu", 1},
                 {WEIR_RESOURCE_MEMORY, "memory", 1}};
    struct weir_edit *edit = weir_mem_alloc_array(1, sizeof(*edit));
    uint32_t index;

    if (edit == NULL)
        return NULL;
    edit->state = weir_mem_alloc_array(1, sizeof(*edit->state));
    if (edit->state == NULL)
        return weir_edit_destroy(edit);
    atomic_init(&edit->state->refs, 1);
    edit->state->epoch = 1;
    edit->is_first = 1;
    memcpy(edit->state->boot_id, boot_id, 16);
    for (int id = 0; id < WEIR_TABLE_MAX; id++)
        weir_table_init(&edit->state->tables[id], weir_table_row_bytes((enum weir_table_id)id));
    for (size_t i = 0; i < WEIR_COUNT_OF(first); i++)
        if (weir_edit_resource(edit, first[i].kind, weir_str(first[i].name), first[i].grain,
                               &index) < 0)
            return weir_edit_destroy(edit);
    return edit;
}

struct weir_edit *weir_edit_fork(const struct weir_world *world)
{
    struct weir_edit *edit = weir_mem_alloc_array(1, sizeof(*edit));

    if (edit == NULL)
        return NULL;
    edit->state = weir_mem_alloc_array(1, sizeof(*edit->state));
    if (edit->state == NULL)
        return weir_edit_destroy(edit);
    atomic_init(&edit->state->refs, 1);
    edit->state->epoch = world->epoch + 1;
    edit->state->version = world->version;
    memcpy(edit->state->boot_id, world->boot_id, sizeof(world->boot_id));
    for (int id = 0; id < WEIR_TABLE_MAX; id++) {
        edit->state->tables[id] = weir_table_share(&world->tables[id]);
        edit->state->tables[id].changed_from = 0;
        edit->state->tables[id].n_changed = 0;
    }
    return edit;
}

struct weir_edit *weir_edit_destroy(struct weir_edit *edit)
{
    if (edit == NULL)
        return NULL;
    weir_world_unref(edit->state);
    for (int id = 0; id < WEIR_TABLE_MAX; id++) {
        weir_map_finish(&edit->by_key[id]);
        weir_vec_finish(&edit->free[id]);
    }
    weir_map_finish(&edit->strings);
    weir_map_finish(&edit->spans);
    weir_map_finish(&edit->resources);
    weir_map_finish(&edit->shapes);
    weir_vec_finish(&edit->changes);
    return weir_mem_free(edit);
}

static int compare_changes(const void *a, const void *b)
{
    uint64_t x;
    uint64_t y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/* Writes the distinct changes, by table and index, into the version. */
static int list_changes(struct weir_edit *edit, struct weir_world *world)
{
    struct change_list *changes = &edit->changes;
    uint32_t n = 0;

    if (changes->n == 0 || world->is_keyframe)
        return 0;
    world->changes = weir_mem_alloc(changes->n * sizeof(*world->changes));
    if (world->changes == NULL)
        return WEIR_E_NO_MEMORY;
    qsort(changes->items, changes->n, sizeof(changes->items[0]), compare_changes);
    for (size_t i = 0; i < changes->n; i++) {
        struct weir_table *table = &world->tables[changes->items[i] >> 32];

        if (i > 0 && changes->items[i] == changes->items[i - 1])
            continue;
        if (table->n_changed++ == 0)
            table->changed_from = n;
        world->changes[n++] = (uint32_t)changes->items[i];
    }
    world->n_changes = n;
    return 0;
}

const struct weir_world *weir_edit_seal(struct weir_edit *edit)
{
    struct weir_world *state = edit->state;
    struct weir_world *world = weir_mem_alloc_array(1, sizeof(*world));

    if (world == NULL)
        return NULL;
    atomic_init(&world->refs, 1);
    world->epoch = state->epoch;
    world->version = state->version + 1;
    world->is_keyframe = edit->is_first;
    memcpy(world->boot_id, state->boot_id, sizeof(world->boot_id));
    for (int id = 0; id < WEIR_TABLE_MAX; id++)
        world->tables[id] = weir_table_share(&state->tables[id]);
    if (list_changes(edit, world) < 0) {
        weir_world_unref(world);
        return NULL;
    }
    edit->changes.n = 0;
    edit->is_first = 0;
    state->version++;
    state->epoch++;
    return world;
}

/* ---- interning ---- */

int weir_edit_string(struct weir_edit *edit, struct weir_str text, uint32_t *ret_string)
{
    uint64_t known;
    uint32_t index;
    struct weir_string *row;
    int r;

    if (weir_map_get(&edit->strings, text, &known)) {
        *ret_string = (uint32_t)known;
        return 0;
    }
    if (text.len >= sizeof(row->text))
        return WEIR_E_TOO_LARGE;
    r = weir_edit_new_row(edit, WEIR_TABLE_STRINGS, NULL, &index, &row);
    if (r < 0)
        return r;
    row->len = (uint32_t)text.len;
    if (text.len > 0)
        memcpy(row->text, text.ptr, text.len);
    r = weir_map_set(&edit->strings, text, index);
    if (r < 0)
        return r;
    *ret_string = index;
    return 0;
}

int weir_edit_span(struct weir_edit *edit, const uint32_t *values, uint32_t n, uint32_t *ret_span)
{
    struct weir_str text = weir_str_n((const char *)values, n * sizeof(*values));
    uint64_t known;
    uint32_t first = WEIR_NONE;

    if (n == 0) {
        *ret_span = WEIR_NONE;
        return 0;
    }
    if (weir_map_get(&edit->spans, text, &known)) {
        *ret_span = (uint32_t)known;
        return 0;
    }
    /* Cells are only ever appended, so they lie side by side. */
    for (uint32_t i = 0; i <= n; i++) {
        struct weir_span_cell *cell;
        uint32_t index;

        if (weir_edit_new_row(edit, WEIR_TABLE_SPANS, NULL, &index, &cell) < 0)
            return WEIR_E_NO_MEMORY;
        cell->value = i == 0 ? n : values[i - 1];
        if (i == 0)
            first = index;
    }
    if (weir_map_set(&edit->spans, text, first) < 0)
        return WEIR_E_NO_MEMORY;
    *ret_span = first;
    return 0;
}

int weir_edit_resource(struct weir_edit *edit, enum weir_resource_kind kind, struct weir_str name,
                       int64_t grain, uint32_t *ret_resource)
{
    struct weir_resource *row;
    uint64_t known;
    uint32_t index;
    uint32_t string = 0;
    int r;

    if (weir_map_get(&edit->resources, name, &known)) {
        *ret_resource = (uint32_t)known;
        return 0;
    }
    if (edit->state->tables[WEIR_TABLE_RESOURCES].n_rows >= WEIR_RESOURCE_MAX)
        return WEIR_E_TOO_LARGE;
    r = weir_edit_string(edit, name, &string);
    if (r < 0)
        return r;
    if (weir_edit_new_row(edit, WEIR_TABLE_RESOURCES, NULL, &index, &row) < 0 ||
        weir_map_set(&edit->resources, name, index) < 0)
        return WEIR_E_NO_MEMORY;
    row->kind = kind;
    row->name = string;
    row->grain = grain;
    *ret_resource = index;
    return 0;
}

int weir_edit_gpu_class(struct weir_edit *edit, struct weir_str class, uint32_t *ret_resource)
{
    char name[sizeof(WEIR_GPU_CLASS_PREFIX) + 128];

    weir_str_format(name, sizeof(name), WEIR_GPU_CLASS_PREFIX "%.*s",
                    WEIR_STR_ARG(weir_str_sub(class, 0, 128)));
    return weir_edit_resource(edit, WEIR_RESOURCE_GPU_CLASS, weir_str(name), WEIR_MGPU_PER_GPU,
                              ret_resource);
}

int weir_edit_mig_profile(struct weir_edit *edit, struct weir_str profile, uint32_t *ret_resource)
{
    char name[sizeof(WEIR_MIG_PREFIX) + 128];

    weir_str_format(name, sizeof(name), WEIR_MIG_PREFIX "%.*s",
                    WEIR_STR_ARG(weir_str_sub(profile, 0, 128)));
    return weir_edit_resource(edit, WEIR_RESOURCE_MIG, weir_str(name), WEIR_MGPU_PER_GPU,
                              ret_resource);
}

int weir_edit_shape(struct weir_edit *edit, const struct weir_shape *like, uint32_t *ret_shape)
{
    struct weir_str text = weir_str_n((const char *)like + sizeof(struct weir_row),
                                      sizeof(*like) - sizeof(struct weir_row));
    struct weir_shape *row;
    uint64_t known;
    uint32_t index;

    if (weir_map_get(&edit->shapes, text, &known)) {
        *ret_shape = (uint32_t)known;
        return 0;
    }
    if (weir_edit_new_row(edit, WEIR_TABLE_SHAPES, NULL, &index, &row) < 0 ||
        weir_map_set(&edit->shapes, text, index) < 0)
        return WEIR_E_NO_MEMORY;
    weir_edit_copy_fields(row, like, sizeof(*like));
    *ret_shape = index;
    return 0;
}

/* ---- the rest ---- */

int weir_edit_add_signal(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_signal *like, uint32_t *ret_index)
{
    struct weir_signal *row;
    int r = weir_edit_new_row(edit, WEIR_TABLE_SIGNALS, key, ret_index, &row);

    if (r == 0)
        weir_edit_copy_fields(row, like, sizeof(*like));
    return r;
}

int weir_edit_add_intent(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_intent *like, uint32_t *ret_index)
{
    struct weir_intent *row;
    int r = weir_edit_new_row(edit, WEIR_TABLE_INTENTS, key, ret_index, &row);

    if (r == 0)
        weir_edit_copy_fields(row, like, sizeof(*like));
    return r;
}

int weir_edit_add_price(struct weir_edit *edit, const struct weir_key *key,
                        const struct weir_price *like, uint32_t *ret_index)
{
    struct weir_price *row;
    int r = weir_edit_new_row(edit, WEIR_TABLE_PRICES, key, ret_index, &row);

    if (r == 0)
        weir_edit_copy_fields(row, like, sizeof(*like));
    return r;
}

int weir_edit_remove_plain(struct weir_edit *edit, enum weir_table_id table, uint32_t index)
{
    if (table != WEIR_TABLE_SIGNALS && table != WEIR_TABLE_INTENTS && table != WEIR_TABLE_PRICES)
        return WEIR_E_INVALID;
    return weir_edit_free_row(edit, table, index);
}

struct weir_node *weir_edit_node(struct weir_edit *edit, uint32_t index)
{
    return weir_edit_touch(edit, WEIR_TABLE_NODES, index);
}

struct weir_device *weir_edit_device(struct weir_edit *edit, uint32_t index)
{
    return weir_edit_touch(edit, WEIR_TABLE_DEVICES, index);
}

struct weir_queue *weir_edit_queue(struct weir_edit *edit, uint32_t index)
{
    return weir_edit_touch(edit, WEIR_TABLE_QUEUES, index);
}

struct weir_workload *weir_edit_workload(struct weir_edit *edit, uint32_t index)
{
    return weir_edit_touch(edit, WEIR_TABLE_WORKLOADS, index);
}

struct weir_task *weir_edit_task(struct weir_edit *edit, uint32_t index)
{
    return weir_edit_touch(edit, WEIR_TABLE_TASKS, index);
}
