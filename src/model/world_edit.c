/* The sums of a row change only through add_amounts() and set_state(); lists only through the link
 * helpers. */
#include "model/world_edit.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

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

const struct weir_world *weir_edit_view(const struct weir_edit *edit)
{
    return edit->state;
}

static struct weir_table *table_of(struct weir_edit *edit, enum weir_table_id id)
{
    return &edit->state->tables[id];
}

/* A row for changing: marks it changed and gives it a new gen. */
static void *touch(struct weir_edit *edit, enum weir_table_id id, uint32_t index)
{
    struct weir_row *row = weir_table_edit(table_of(edit, id), index, edit->state->epoch);

    if (row == NULL || weir_vec_push(&edit->changes, (uint64_t)id << 32 | index) < 0)
        return NULL;
    row->gen++;
    return row;
}

static const void *peek(const struct weir_edit *edit, enum weir_table_id id, uint32_t index)
{
    return weir_table_row(&edit->state->tables[id], index);
}

static int new_row(struct weir_edit *edit, enum weir_table_id id, const struct weir_key *key,
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
        row = touch(edit, id, index);
        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        edit->free[id].n--;
        row->live = 1;
        table->n_live++;
    } else {
        if (weir_table_append(table, edit->state->epoch, &index) < 0)
            return WEIR_E_NO_MEMORY;
        row = touch(edit, id, index);
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

static int free_row(struct weir_edit *edit, enum weir_table_id id, uint32_t index)
{
    struct weir_table *table = table_of(edit, id);
    struct weir_row *row = touch(edit, id, index);
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

/* Copies the fields after `row`. */
static void copy_fields(void *row, const void *like, size_t size)
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
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
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
    r = new_row(edit, WEIR_TABLE_STRINGS, NULL, &index, &row);
    if (r < 0)
        return r;
    row->len = (uint32_t)text.len;
    if (text.len > 0)
        memcpy(row->text, text.ptr, text.len);
    r = weir_map_set(&edit->strings, text, index);
    if (r == 0)
        *ret_string = index;
    return r;
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

        if (new_row(edit, WEIR_TABLE_SPANS, NULL, &index, &cell) < 0)
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
    uint32_t string;
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
    if (new_row(edit, WEIR_TABLE_RESOURCES, NULL, &index, &row) < 0 ||
        weir_map_set(&edit->resources, name, index) < 0)
        return WEIR_E_NO_MEMORY;
    row->kind = kind;
    row->name = string;
    row->grain = grain;
    *ret_resource = index;
    return 0;
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
    if (new_row(edit, WEIR_TABLE_SHAPES, NULL, &index, &row) < 0 ||
        weir_map_set(&edit->shapes, text, index) < 0)
        return WEIR_E_NO_MEMORY;
    copy_fields(row, like, sizeof(*like));
    *ret_shape = index;
    return 0;
}

/* ---- nodes and devices ---- */

int weir_edit_add_node(struct weir_edit *edit, const struct weir_key *key,
                       const struct weir_node *like, uint32_t *ret_index)
{
    struct weir_node *row;
    int r = new_row(edit, WEIR_TABLE_NODES, key, ret_index, &row);

    if (r < 0)
        return r;
    copy_fields(row, like, sizeof(*like));
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
    int r = new_row(edit, WEIR_TABLE_DEVICES, key, &index, &row);

    if (r < 0)
        return r;
    node = touch(edit, WEIR_TABLE_NODES, like->node);
    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    copy_fields(row, like, sizeof(*like));
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

/* A freed index is given out again: nothing may go on naming it. */
static int forget_node(struct weir_edit *edit, uint32_t node)
{
    const struct weir_world *state = edit->state;

    for (uint32_t i = weir_world_first(state, WEIR_TABLE_TASKS); i != WEIR_NONE;
         i = weir_world_after(state, WEIR_TABLE_TASKS, i)) {
        struct weir_task *task;

        if (weir_world_task(state, i)->node != node)
            continue;
        task = touch(edit, WEIR_TABLE_TASKS, i);
        if (task == NULL)
            return WEIR_E_NO_MEMORY;
        task->node = WEIR_NONE;
    }
    for (uint32_t i = weir_world_first(state, WEIR_TABLE_INTENTS); i != WEIR_NONE;
         i = weir_world_after(state, WEIR_TABLE_INTENTS, i)) {
        struct weir_intent *intent;

        if (weir_world_intent(state, i)->node != node)
            continue;
        intent = touch(edit, WEIR_TABLE_INTENTS, i);
        if (intent == NULL)
            return WEIR_E_NO_MEMORY;
        intent->node = WEIR_NONE;
    }
    return 0;
}

static int forget_device(struct weir_edit *edit, uint32_t device)
{
    const struct weir_world *state = edit->state;

    for (uint32_t i = weir_world_first(state, WEIR_TABLE_INTENTS); i != WEIR_NONE;
         i = weir_world_after(state, WEIR_TABLE_INTENTS, i)) {
        struct weir_intent *intent;

        if (weir_world_intent(state, i)->device != device)
            continue;
        intent = touch(edit, WEIR_TABLE_INTENTS, i);
        if (intent == NULL)
            return WEIR_E_NO_MEMORY;
        intent->device = WEIR_NONE;
    }
    return 0;
}

int weir_edit_remove_node(struct weir_edit *edit, uint32_t index)
{
    const struct weir_node *node = peek(edit, WEIR_TABLE_NODES, index);

    if (node->first_device != WEIR_NONE || node->first_task != WEIR_NONE)
        return WEIR_E_INVALID;
    if (forget_node(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return free_row(edit, WEIR_TABLE_NODES, index);
}

static bool has_instances(const struct weir_edit *edit, uint32_t device)
{
    const struct weir_device *row = peek(edit, WEIR_TABLE_DEVICES, device);
    const struct weir_node *node = peek(edit, WEIR_TABLE_NODES, row->node);

    for (uint32_t at = node->first_device; at != WEIR_NONE; at = row->next_on_node) {
        row = peek(edit, WEIR_TABLE_DEVICES, at);
        if (row->parent == device)
            return true;
    }
    return false;
}

static int unlink_device(struct weir_edit *edit, uint32_t index)
{
    const struct weir_device *device = peek(edit, WEIR_TABLE_DEVICES, index);
    uint32_t next = device->next_on_node;
    struct weir_node *node = touch(edit, WEIR_TABLE_NODES, device->node);
    struct weir_device *before;
    uint32_t at;

    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    node->n_devices--;
    if (node->first_device == index) {
        node->first_device = next;
        return 0;
    }
    for (at = node->first_device;;) {
        const struct weir_device *row = peek(edit, WEIR_TABLE_DEVICES, at);

        if (row->next_on_node == index)
            break;
        at = row->next_on_node;
    }
    before = touch(edit, WEIR_TABLE_DEVICES, at);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    before->next_on_node = next;
    return 0;
}

int weir_edit_remove_device(struct weir_edit *edit, uint32_t index)
{
    const struct weir_device *device = peek(edit, WEIR_TABLE_DEVICES, index);

    if (device->first_hold != WEIR_NONE || has_instances(edit, index))
        return WEIR_E_INVALID;
    if (forget_device(edit, index) < 0 || unlink_device(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return free_row(edit, WEIR_TABLE_DEVICES, index);
}

/* ---- queues ---- */

static int link_queue(struct weir_edit *edit, uint32_t index, uint32_t parent)
{
    struct weir_queue *row = touch(edit, WEIR_TABLE_QUEUES, index);
    struct weir_queue *above;

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->parent = parent;
    row->next_sibling = WEIR_NONE;
    if (parent == WEIR_NONE)
        return 0;
    above = touch(edit, WEIR_TABLE_QUEUES, parent);
    if (above == NULL)
        return WEIR_E_NO_MEMORY;
    row->next_sibling = above->first_child;
    above->first_child = index;
    return 0;
}

static int unlink_queue(struct weir_edit *edit, uint32_t index)
{
    const struct weir_queue *row = peek(edit, WEIR_TABLE_QUEUES, index);
    uint32_t next = row->next_sibling;
    struct weir_queue *before;
    uint32_t at;

    if (row->parent == WEIR_NONE)
        return 0;
    before = touch(edit, WEIR_TABLE_QUEUES, row->parent);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    if (before->first_child == index) {
        before->first_child = next;
        return 0;
    }
    for (at = before->first_child;;) {
        const struct weir_queue *child = peek(edit, WEIR_TABLE_QUEUES, at);

        if (child->next_sibling == index)
            break;
        at = child->next_sibling;
    }
    before = touch(edit, WEIR_TABLE_QUEUES, at);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    before->next_sibling = next;
    return 0;
}

static uint32_t root_of(const struct weir_edit *edit, uint32_t queue)
{
    for (;;) {
        const struct weir_queue *row = peek(edit, WEIR_TABLE_QUEUES, queue);

        if (row->parent == WEIR_NONE)
            return queue;
        queue = row->parent;
    }
}

/* Whether the sums of a root can take these amounts (each at most WEIR_AMOUNT_MAX) as well. */
static bool has_room(const struct weir_edit *edit, uint32_t root, const struct weir_amounts *more)
{
    const struct weir_queue *row = peek(edit, WEIR_TABLE_QUEUES, root);

    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        if (more->of[i] > WEIR_AMOUNT_MAX - row->held.of[i] - row->wanted.of[i])
            return false;
    return true;
}

enum queue_sum { QUEUE_HELD, QUEUE_WANTED };

/* Adds times × shape to a queue and all above it. */
static int add_to_queues(struct weir_edit *edit, uint32_t queue, enum queue_sum which,
                         const struct weir_shape *shape, int64_t times)
{
    while (queue != WEIR_NONE) {
        struct weir_queue *row = touch(edit, WEIR_TABLE_QUEUES, queue);
        struct weir_amounts *sum;

        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        sum = which == QUEUE_HELD ? &row->held : &row->wanted;
        for (uint32_t i = 0; i < shape->n_amounts; i++)
            sum->of[shape->amounts[i].resource] += shape->amounts[i].amount * times;
        queue = row->parent;
    }
    return 0;
}

static int want(struct weir_edit *edit, uint32_t queue, const struct weir_amounts *more)
{
    while (queue != WEIR_NONE) {
        struct weir_queue *row = touch(edit, WEIR_TABLE_QUEUES, queue);

        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
            row->wanted.of[i] += more->of[i];
        queue = row->parent;
    }
    return 0;
}

/* Adds a queue's own sums to all above it, or takes them away. */
static int carry_sums(struct weir_edit *edit, uint32_t queue, int64_t sign)
{
    const struct weir_queue *from = peek(edit, WEIR_TABLE_QUEUES, queue);
    struct weir_amounts held = from->held;
    struct weir_amounts wanted = from->wanted;

    for (uint32_t at = from->parent; at != WEIR_NONE;) {
        struct weir_queue *row = touch(edit, WEIR_TABLE_QUEUES, at);

        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        for (int i = 0; i < WEIR_RESOURCE_MAX; i++) {
            row->held.of[i] += sign * held.of[i];
            row->wanted.of[i] += sign * wanted.of[i];
        }
        at = row->parent;
    }
    return 0;
}

static bool has_workloads(const struct weir_edit *edit, uint32_t queue)
{
    const struct weir_queue *row;

    if (queue == WEIR_NONE)
        return false;
    row = peek(edit, WEIR_TABLE_QUEUES, queue);
    return row->first_workload != WEIR_NONE;
}

int weir_edit_add_queue(struct weir_edit *edit, const struct weir_key *key,
                        const struct weir_queue *like, uint32_t *ret_index)
{
    struct weir_queue *row;
    uint32_t index;
    int r;

    if (has_workloads(edit, like->parent))
        return WEIR_E_INVALID;
    r = new_row(edit, WEIR_TABLE_QUEUES, key, &index, &row);
    if (r < 0)
        return r;
    copy_fields(row, like, sizeof(*like));
    row->first_child = WEIR_NONE;
    row->first_workload = WEIR_NONE;
    row->n_workloads = 0;
    memset(&row->held, 0, sizeof(row->held));
    memset(&row->wanted, 0, sizeof(row->wanted));
    if (link_queue(edit, index, like->parent) < 0)
        return WEIR_E_NO_MEMORY;
    *ret_index = index;
    return 0;
}

int weir_edit_move_queue(struct weir_edit *edit, uint32_t queue, uint32_t parent)
{
    const struct weir_queue *moved = peek(edit, WEIR_TABLE_QUEUES, queue);
    struct weir_amounts more;

    if (moved->parent == parent)
        return 0;
    if (has_workloads(edit, parent))
        return WEIR_E_INVALID;
    for (uint32_t at = parent; at != WEIR_NONE;) {
        const struct weir_queue *row = peek(edit, WEIR_TABLE_QUEUES, at);

        if (at == queue)
            return WEIR_E_INVALID;
        at = row->parent;
    }
    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        more.of[i] = moved->held.of[i] + moved->wanted.of[i];
    if (parent != WEIR_NONE && root_of(edit, parent) != root_of(edit, queue) &&
        !has_room(edit, root_of(edit, parent), &more))
        return WEIR_E_TOO_LARGE;
    if (carry_sums(edit, queue, -1) < 0 || unlink_queue(edit, queue) < 0 ||
        link_queue(edit, queue, parent) < 0)
        return WEIR_E_NO_MEMORY;
    return carry_sums(edit, queue, 1);
}

int weir_edit_remove_queue(struct weir_edit *edit, uint32_t index)
{
    const struct weir_queue *row = peek(edit, WEIR_TABLE_QUEUES, index);

    if (row->first_child != WEIR_NONE || row->first_workload != WEIR_NONE)
        return WEIR_E_INVALID;
    if (unlink_queue(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return free_row(edit, WEIR_TABLE_QUEUES, index);
}

/* ---- workloads ---- */

static const struct weir_shape *shape_of_role(const struct weir_edit *edit, uint32_t role)
{
    const struct weir_role *row = peek(edit, WEIR_TABLE_ROLES, role);

    return peek(edit, WEIR_TABLE_SHAPES, row->shape);
}

static int add_task(struct weir_edit *edit, uint32_t workload, uint32_t role, uint32_t member,
                    uint32_t *first)
{
    struct weir_task *task;
    uint32_t index;

    if (new_row(edit, WEIR_TABLE_TASKS, NULL, &index, &task) < 0)
        return WEIR_E_NO_MEMORY;
    task->workload = workload;
    task->role = role;
    task->member = member;
    task->state = WEIR_TASK_QUEUED;
    task->node = WEIR_NONE;
    task->next_on_node = WEIR_NONE;
    task->first_hold = WEIR_NONE;
    task->next_in_workload = *first;
    *first = index;
    return 0;
}

/* Roles and tasks are linked so that walking the lists gives them in order of member. */
static int add_roles(struct weir_edit *edit, uint32_t workload, const struct weir_role *roles,
                     uint32_t n_roles, uint32_t *ret_first_role, uint32_t *ret_first_task)
{
    uint32_t member = 0;

    for (uint32_t i = 0; i < n_roles; i++)
        member += roles[i].n_tasks;
    for (uint32_t i = n_roles; i-- > 0;) {
        struct weir_role *role;
        uint32_t index;

        if (new_row(edit, WEIR_TABLE_ROLES, NULL, &index, &role) < 0)
            return WEIR_E_NO_MEMORY;
        copy_fields(role, &roles[i], sizeof(*role));
        role->workload = workload;
        role->next_in_workload = *ret_first_role;
        *ret_first_role = index;
        for (uint32_t t = 0; t < roles[i].n_tasks; t++)
            if (add_task(edit, workload, index, --member, ret_first_task) < 0)
                return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* What all tasks of these roles want together. WEIR_E_TOO_LARGE beyond what the books can hold. */
static int sum_roles(const struct weir_edit *edit, const struct weir_role *roles, uint32_t n_roles,
                     struct weir_amounts *ret_sum, uint32_t *ret_n_tasks)
{
    struct weir_amounts sum = {0};
    uint64_t n_tasks = 0;

    for (uint32_t i = 0; i < n_roles; i++) {
        const struct weir_shape *shape = peek(edit, WEIR_TABLE_SHAPES, roles[i].shape);

        n_tasks += roles[i].n_tasks;
        for (uint32_t k = 0; k < shape->n_amounts; k++) {
            int64_t *to = &sum.of[shape->amounts[k].resource];
            int64_t more;

            if (__builtin_mul_overflow(shape->amounts[k].amount, (int64_t)roles[i].n_tasks,
                                       &more) ||
                more > WEIR_AMOUNT_MAX - *to)
                return WEIR_E_TOO_LARGE;
            *to += more;
        }
    }
    if (n_tasks >= WEIR_NONE)
        return WEIR_E_TOO_LARGE;
    *ret_sum = sum;
    *ret_n_tasks = (uint32_t)n_tasks;
    return 0;
}

static int link_workload(struct weir_edit *edit, uint32_t index, struct weir_workload *row)
{
    struct weir_queue *queue = touch(edit, WEIR_TABLE_QUEUES, row->queue);

    if (queue == NULL)
        return WEIR_E_NO_MEMORY;
    row->prev_in_queue = WEIR_NONE;
    row->next_in_queue = queue->first_workload;
    if (queue->first_workload != WEIR_NONE) {
        struct weir_workload *next = touch(edit, WEIR_TABLE_WORKLOADS, queue->first_workload);

        if (next == NULL)
            return WEIR_E_NO_MEMORY;
        next->prev_in_queue = index;
    }
    queue->first_workload = index;
    queue->n_workloads++;
    return 0;
}

int weir_edit_add_workload(struct weir_edit *edit, const struct weir_key *key,
                           const struct weir_workload *like, const struct weir_role *roles,
                           uint32_t n_roles, uint32_t *ret_index)
{
    const struct weir_queue *queue = peek(edit, WEIR_TABLE_QUEUES, like->queue);
    struct weir_workload *row;
    struct weir_amounts sum;
    uint32_t index;
    uint32_t n_tasks;
    uint32_t first_role = WEIR_NONE;
    uint32_t first_task = WEIR_NONE;
    int r;

    if (queue->first_child != WEIR_NONE)
        return WEIR_E_INVALID;
    r = sum_roles(edit, roles, n_roles, &sum, &n_tasks);
    if (r < 0)
        return r;
    if (!has_room(edit, root_of(edit, like->queue), &sum))
        return WEIR_E_TOO_LARGE;
    r = new_row(edit, WEIR_TABLE_WORKLOADS, key, &index, &row);
    if (r < 0)
        return r;
    copy_fields(row, like, sizeof(*like));
    row->n_tasks = n_tasks;
    row->n_waiting = n_tasks;
    row->n_running = 0;
    row->n_done = 0;
    if (link_workload(edit, index, row) < 0 ||
        add_roles(edit, index, roles, n_roles, &first_role, &first_task) < 0 ||
        want(edit, like->queue, &sum) < 0)
        return WEIR_E_NO_MEMORY;
    row->first_role = first_role;
    row->first_task = first_task;
    *ret_index = index;
    return 0;
}

static int unlink_workload(struct weir_edit *edit, uint32_t index)
{
    const struct weir_workload *row = peek(edit, WEIR_TABLE_WORKLOADS, index);
    uint32_t next = row->next_in_queue;
    uint32_t prev = row->prev_in_queue;
    struct weir_queue *queue = touch(edit, WEIR_TABLE_QUEUES, row->queue);
    struct weir_workload *neighbour;

    if (queue == NULL)
        return WEIR_E_NO_MEMORY;
    queue->n_workloads--;
    if (prev == WEIR_NONE) {
        queue->first_workload = next;
    } else {
        neighbour = touch(edit, WEIR_TABLE_WORKLOADS, prev);
        if (neighbour == NULL)
            return WEIR_E_NO_MEMORY;
        neighbour->next_in_queue = next;
    }
    if (next == WEIR_NONE)
        return 0;
    neighbour = touch(edit, WEIR_TABLE_WORKLOADS, next);
    if (neighbour == NULL)
        return WEIR_E_NO_MEMORY;
    neighbour->prev_in_queue = prev;
    return 0;
}

int weir_edit_remove_workload(struct weir_edit *edit, uint32_t index)
{
    const struct weir_workload *row = peek(edit, WEIR_TABLE_WORKLOADS, index);
    uint32_t task = row->first_task;
    uint32_t role = row->first_role;

    while (task != WEIR_NONE) {
        const struct weir_task *each = peek(edit, WEIR_TABLE_TASKS, task);
        uint32_t next = each->next_in_workload;

        if (!weir_task_state_is_final(each->state) &&
            weir_edit_task_state(edit, task, WEIR_TASK_CANCELLED) < 0)
            return WEIR_E_NO_MEMORY;
        if (free_row(edit, WEIR_TABLE_TASKS, task) < 0)
            return WEIR_E_NO_MEMORY;
        task = next;
    }
    while (role != WEIR_NONE) {
        uint32_t next =
            ((const struct weir_role *)peek(edit, WEIR_TABLE_ROLES, role))->next_in_workload;

        if (free_row(edit, WEIR_TABLE_ROLES, role) < 0)
            return WEIR_E_NO_MEMORY;
        role = next;
    }
    if (unlink_workload(edit, index) < 0)
        return WEIR_E_NO_MEMORY;
    return free_row(edit, WEIR_TABLE_WORKLOADS, index);
}

/* ---- tasks and holds ---- */

/* from × to. STARTING and RUNNING may go back to QUEUED for a retry; a final state is final. */
static const uint8_t legal[WEIR_TASK_STATE_MAX][WEIR_TASK_STATE_MAX] = {
    [WEIR_TASK_QUEUED] =
        {[WEIR_TASK_STARTING] = 1, [WEIR_TASK_FAILED] = 1, [WEIR_TASK_CANCELLED] = 1},
    [WEIR_TASK_STARTING] = {[WEIR_TASK_QUEUED] = 1,
                            [WEIR_TASK_RUNNING] = 1,
                            [WEIR_TASK_STOPPING] = 1,
                            [WEIR_TASK_SUCCEEDED] = 1,
                            [WEIR_TASK_FAILED] = 1,
                            [WEIR_TASK_CANCELLED] = 1,
                            [WEIR_TASK_LOST] = 1},
    [WEIR_TASK_RUNNING] = {[WEIR_TASK_QUEUED] = 1,
                           [WEIR_TASK_STOPPING] = 1,
                           [WEIR_TASK_SUCCEEDED] = 1,
                           [WEIR_TASK_FAILED] = 1,
                           [WEIR_TASK_CANCELLED] = 1,
                           [WEIR_TASK_LOST] = 1},
    [WEIR_TASK_STOPPING] = {[WEIR_TASK_QUEUED] = 1,
                            [WEIR_TASK_SUCCEEDED] = 1,
                            [WEIR_TASK_FAILED] = 1,
                            [WEIR_TASK_CANCELLED] = 1,
                            [WEIR_TASK_LOST] = 1},
};

static int add_hold(struct weir_edit *edit, uint32_t task, struct weir_task *holder,
                    const struct weir_grant *grant)
{
    struct weir_hold *hold;
    struct weir_device *device;
    uint32_t index;

    if (new_row(edit, WEIR_TABLE_HOLDS, NULL, &index, &hold) < 0)
        return WEIR_E_NO_MEMORY;
    device = touch(edit, WEIR_TABLE_DEVICES, grant->device);
    if (device == NULL)
        return WEIR_E_NO_MEMORY;
    hold->device = grant->device;
    hold->task = task;
    hold->part_mgpu = grant->part_mgpu;
    hold->memory_bytes = grant->memory_bytes;
    hold->slots = grant->slots;
    hold->next_of_device = device->first_hold;
    hold->next_of_task = holder->first_hold;
    device->first_hold = index;
    device->n_sharers++;
    device->held_mgpu += grant->part_mgpu;
    device->held_memory_bytes += grant->memory_bytes;
    device->slots_used |= grant->slots;
    holder->first_hold = index;
    return 0;
}

static int unlink_hold(struct weir_edit *edit, struct weir_device *device, uint32_t index,
                       uint32_t next)
{
    struct weir_hold *before;
    uint32_t at = device->first_hold;

    if (at == index) {
        device->first_hold = next;
        return 0;
    }
    for (;;) {
        const struct weir_hold *row = peek(edit, WEIR_TABLE_HOLDS, at);

        if (row->next_of_device == index)
            break;
        at = row->next_of_device;
    }
    before = touch(edit, WEIR_TABLE_HOLDS, at);
    if (before == NULL)
        return WEIR_E_NO_MEMORY;
    before->next_of_device = next;
    return 0;
}

static int drop_holds(struct weir_edit *edit, struct weir_task *task)
{
    while (task->first_hold != WEIR_NONE) {
        uint32_t index = task->first_hold;
        /* A copy: unlinking a neighbour may replace the chunk it lies in. */
        struct weir_hold hold = *(const struct weir_hold *)peek(edit, WEIR_TABLE_HOLDS, index);
        struct weir_device *device = touch(edit, WEIR_TABLE_DEVICES, hold.device);

        if (device == NULL || unlink_hold(edit, device, index, hold.next_of_device) < 0)
            return WEIR_E_NO_MEMORY;
        device->n_sharers--;
        device->held_mgpu -= hold.part_mgpu;
        device->held_memory_bytes -= hold.memory_bytes;
        device->slots_used = (uint16_t)(device->slots_used & ~hold.slots);
        task->first_hold = hold.next_of_task;
        if (free_row(edit, WEIR_TABLE_HOLDS, index) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static int add_to_node(struct weir_edit *edit, uint32_t node, const struct weir_shape *shape,
                       int64_t times)
{
    struct weir_node *row = touch(edit, WEIR_TABLE_NODES, node);

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < shape->n_amounts; i++)
        row->held.of[shape->amounts[i].resource] += shape->amounts[i].amount * times;
    return 0;
}

static int leave_node(struct weir_edit *edit, uint32_t index, struct weir_task *task)
{
    struct weir_node *node = touch(edit, WEIR_TABLE_NODES, task->node);
    struct weir_task *before;
    uint32_t at;

    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    if (node->first_task == index) {
        node->first_task = task->next_on_node;
    } else {
        for (at = node->first_task;;) {
            const struct weir_task *each = peek(edit, WEIR_TABLE_TASKS, at);

            if (each->next_on_node == index)
                break;
            at = each->next_on_node;
        }
        before = touch(edit, WEIR_TABLE_TASKS, at);
        if (before == NULL)
            return WEIR_E_NO_MEMORY;
        before->next_on_node = task->next_on_node;
    }
    task->next_on_node = WEIR_NONE;
    return 0;
}

static int64_t counts_as_waiting(uint32_t state)
{
    return state == WEIR_TASK_QUEUED;
}

/* The one place where a task changes state: the counts of its workload and the sums of its queues
 * follow. */
static int set_state(struct weir_edit *edit, uint32_t index, struct weir_task *task,
                     enum weir_task_state state)
{
    const struct weir_shape *shape = shape_of_role(edit, task->role);
    struct weir_workload *workload = touch(edit, WEIR_TABLE_WORKLOADS, task->workload);
    int64_t held = weir_task_state_holds(state) - weir_task_state_holds(task->state);
    int64_t waiting = counts_as_waiting(state) - counts_as_waiting(task->state);

    if (workload == NULL)
        return WEIR_E_NO_MEMORY;
    workload->n_waiting = (uint32_t)(workload->n_waiting + waiting);
    workload->n_running = (uint32_t)(workload->n_running + held);
    workload->n_done += weir_task_state_is_final(state);
    if (waiting != 0 && add_to_queues(edit, workload->queue, QUEUE_WANTED, shape, waiting) < 0)
        return WEIR_E_NO_MEMORY;
    if (held != 0 && (add_to_queues(edit, workload->queue, QUEUE_HELD, shape, held) < 0 ||
                      add_to_node(edit, task->node, shape, held) < 0))
        return WEIR_E_NO_MEMORY;
    task->state = state;
    if (weir_task_state_holds(state))
        return 0;
    task->stop_cause = 0;
    task->ended = WEIR_END_NOT;
    if (held < 0 && (leave_node(edit, index, task) < 0 || drop_holds(edit, task) < 0))
        return WEIR_E_NO_MEMORY;
    if (state == WEIR_TASK_QUEUED)
        task->node = WEIR_NONE;
    return 0;
}

static bool may_start(const struct weir_edit *edit, uint32_t task, uint32_t node,
                      const struct weir_grant *grants, uint32_t n_grants)
{
    const struct weir_world *state = edit->state;

    if (weir_world_task(state, task)->state != WEIR_TASK_QUEUED ||
        !weir_table_is_live(&state->tables[WEIR_TABLE_NODES], node))
        return false;
    for (uint32_t i = 0; i < n_grants; i++)
        if (!weir_table_is_live(&state->tables[WEIR_TABLE_DEVICES], grants[i].device) ||
            weir_world_device(state, grants[i].device)->node != node)
            return false;
    return true;
}

int weir_edit_task_start(struct weir_edit *edit, uint32_t task, uint32_t node,
                         const struct weir_grant *grants, uint32_t n_grants, int64_t wall_ms,
                         int64_t mono_ms)
{
    struct weir_task *row;
    struct weir_node *host;

    if (!may_start(edit, task, node, grants, n_grants))
        return WEIR_E_INVALID;
    row = touch(edit, WEIR_TABLE_TASKS, task);
    host = touch(edit, WEIR_TABLE_NODES, node);
    if (row == NULL || host == NULL)
        return WEIR_E_NO_MEMORY;
    row->node = node;
    row->next_on_node = host->first_task;
    host->first_task = task;
    row->attempt++;
    row->started_wall_ms = wall_ms;
    row->started_mono_ms = mono_ms;
    row->checkpoint_mono_ms = 0;
    /* From the last to the first, so that the list is in the order of the grants. */
    for (uint32_t i = n_grants; i-- > 0;)
        if (add_hold(edit, task, row, &grants[i]) < 0)
            return WEIR_E_NO_MEMORY;
    return set_state(edit, task, row, WEIR_TASK_STARTING);
}

int weir_edit_task_state(struct weir_edit *edit, uint32_t task, enum weir_task_state state)
{
    const struct weir_task *now = peek(edit, WEIR_TABLE_TASKS, task);
    struct weir_task *row;

    if (state >= WEIR_TASK_STATE_MAX || !legal[now->state][state] || state == WEIR_TASK_STARTING)
        return WEIR_E_INVALID;
    row = touch(edit, WEIR_TABLE_TASKS, task);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    return set_state(edit, task, row, state);
}

/* ---- the rest ---- */

int weir_edit_add_signal(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_signal *like, uint32_t *ret_index)
{
    struct weir_signal *row;
    int r = new_row(edit, WEIR_TABLE_SIGNALS, key, ret_index, &row);

    if (r == 0)
        copy_fields(row, like, sizeof(*like));
    return r;
}

int weir_edit_add_intent(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_intent *like, uint32_t *ret_index)
{
    struct weir_intent *row;
    int r = new_row(edit, WEIR_TABLE_INTENTS, key, ret_index, &row);

    if (r == 0)
        copy_fields(row, like, sizeof(*like));
    return r;
}

int weir_edit_add_price(struct weir_edit *edit, const struct weir_key *key,
                        const struct weir_price *like, uint32_t *ret_index)
{
    struct weir_price *row;
    int r = new_row(edit, WEIR_TABLE_PRICES, key, ret_index, &row);

    if (r == 0)
        copy_fields(row, like, sizeof(*like));
    return r;
}

int weir_edit_remove_plain(struct weir_edit *edit, enum weir_table_id table, uint32_t index)
{
    if (table != WEIR_TABLE_SIGNALS && table != WEIR_TABLE_INTENTS && table != WEIR_TABLE_PRICES)
        return WEIR_E_INVALID;
    return free_row(edit, table, index);
}

struct weir_node *weir_edit_node(struct weir_edit *edit, uint32_t index)
{
    return touch(edit, WEIR_TABLE_NODES, index);
}

struct weir_device *weir_edit_device(struct weir_edit *edit, uint32_t index)
{
    return touch(edit, WEIR_TABLE_DEVICES, index);
}

struct weir_queue *weir_edit_queue(struct weir_edit *edit, uint32_t index)
{
    return touch(edit, WEIR_TABLE_QUEUES, index);
}

struct weir_workload *weir_edit_workload(struct weir_edit *edit, uint32_t index)
{
    return touch(edit, WEIR_TABLE_WORKLOADS, index);
}

struct weir_task *weir_edit_task(struct weir_edit *edit, uint32_t index)
{
    return touch(edit, WEIR_TABLE_TASKS, index);
}

struct weir_signal *weir_edit_signal(struct weir_edit *edit, uint32_t index)
{
    return touch(edit, WEIR_TABLE_SIGNALS, index);
}

struct weir_intent *weir_edit_intent(struct weir_edit *edit, uint32_t index)
{
    return touch(edit, WEIR_TABLE_INTENTS, index);
}
