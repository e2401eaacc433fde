#include "world_history.h"

#include "base/err.h"
#include "base/units.h"

#include <stdio.h>

enum { DEVICES_PER_NODE = 8 };

static uint32_t below(struct history *h, uint32_t n)
{
    return (uint32_t)weir_rng_below(&h->rng, n);
}

static struct weir_key new_key(struct history *h)
{
    return weir_key_of_number(7, h->next_number++);
}

static const struct weir_world *view(const struct history *h)
{
    return weir_edit_view(h->edit);
}

uint32_t history_any(struct history *h, enum weir_table_id table)
{
    const struct weir_table *rows = weir_world_table(view(h), table);
    uint32_t at;

    if (rows->n_live == 0)
        return WEIR_NONE;
    at = weir_table_next(rows, below(h, rows->n_rows));
    return at != WEIR_NONE ? at : weir_table_next(rows, 0);
}

static int name(struct history *h, const char *kind, uint32_t n, uint32_t *ret_string)
{
    char text[64];

    snprintf(text, sizeof(text), "%s-%u", kind, n);
    return weir_edit_string(h->edit, weir_str(text), ret_string);
}

static int add_shapes(struct history *h)
{
    const struct weir_shape shapes[HISTORY_SHAPES] = {
        {.n_amounts = 2,
         .gpu_class = WEIR_NONE,
         .mig_profile = WEIR_NONE,
         .labels = WEIR_NONE,
         .amounts = {{WEIR_RES_CPU, 0, 2000}, {WEIR_RES_MEMORY, 0, 4 * WEIR_GIB}}},
        {.n_amounts = 3,
         .gpu_class = h->gpu_class,
         .mig_profile = WEIR_NONE,
         .isolation = WEIR_ISOLATION_HARDWARE,
         .device_mgpu = 1000,
         .n_devices = 1,
         .labels = WEIR_NONE,
         .amounts = {{WEIR_RES_GPU, 0, 1000},
                     {WEIR_RES_CPU, 0, 8000},
                     {WEIR_RES_MEMORY, 0, 64 * WEIR_GIB}}},
        {.n_amounts = 2,
         .gpu_class = WEIR_NONE,
         .mig_profile = WEIR_NONE,
         .isolation = WEIR_ISOLATION_HARDWARE,
         .device_mgpu = 1000,
         .n_devices = 2,
         .labels = WEIR_NONE,
         .amounts = {{WEIR_RES_GPU, 0, 2000}, {WEIR_RES_CPU, 0, 16000}}},
        {.n_amounts = 1,
         .gpu_class = WEIR_NONE,
         .mig_profile = WEIR_NONE,
         .isolation = WEIR_ISOLATION_MEMORY,
         .device_mgpu = 250,
         .device_memory_bytes = 10 * WEIR_GIB,
         .n_devices = 1,
         .labels = WEIR_NONE,
         .amounts = {{WEIR_RES_GPU, 0, 250}}},
        {.n_amounts = 1,
         .gpu_class = WEIR_NONE,
         .mig_profile = h->mig_profile,
         .isolation = WEIR_ISOLATION_HARDWARE,
         .device_mgpu = 1000,
         .n_devices = 1,
         .labels = WEIR_NONE,
         .amounts = {{h->mig_profile, 0, 1000}}},
    };

    for (int i = 0; i < HISTORY_SHAPES; i++) {
        int r = weir_edit_shape(h->edit, &shapes[i], &h->shapes[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

int history_init(struct history *h, uint64_t seed, uint32_t max_nodes, uint32_t max_workloads)
{
    static const uint8_t boot_id[16] = {1, 2, 3};
    int r;

    *h = (struct history){.max_nodes = max_nodes, .max_workloads = max_workloads};
    weir_rng_init(&h->rng, seed);
    h->next_number = 1;
    h->now_ms = 1700000000000;
    h->edit = weir_edit_create(boot_id);
    if (h->edit == NULL)
        return WEIR_E_NO_MEMORY;
    r = weir_edit_gpu_class(h->edit, WEIR_STR("h100-sxm"), &h->gpu_class);
    if (r == 0)
        r = weir_edit_resource(h->edit, WEIR_RESOURCE_MIG, WEIR_STR("mig/1g.10gb"), 1000,
                               &h->mig_profile);
    return r < 0 ? r : add_shapes(h);
}

void history_finish(struct history *h)
{
    h->edit = weir_edit_destroy(h->edit);
}

/* ---- the fleet ---- */

static int add_node(struct history *h, struct history_op *op)
{
    struct weir_node node = {.pool = WEIR_NONE, .labels = WEIR_NONE, .taints = WEIR_NONE};
    uint32_t pair[2];
    int r = name(h, "node", below(h, 1000), &node.name);

    if (r == 0)
        r = name(h, "label", below(h, 5), &pair[0]);
    if (r == 0)
        r = name(h, "value", below(h, 5), &pair[1]);
    if (r == 0 && below(h, 2) == 0)
        r = weir_edit_span(h->edit, pair, 2, &node.labels);
    if (r < 0)
        return r;
    for (int i = 0; i < WEIR_TOPOLOGY_LEVELS; i++)
        node.topology[i] = WEIR_NONE;
    node.topology[WEIR_TOPOLOGY_HOST] = node.name;
    node.phase = WEIR_NODE_READY;
    node.phase_cause = WEIR_NONE;
    node.rank = below(h, 100);
    node.capacity.of[WEIR_RES_GPU] = 8000;
    node.capacity.of[WEIR_RES_CPU] = 192000;
    node.capacity.of[WEIR_RES_MEMORY] = 2048 * WEIR_GIB;
    op->key = new_key(h);
    return weir_edit_add_node(h->edit, &op->key, &node, &op->index);
}

static int add_device(struct history *h, struct history_op *op)
{
    struct weir_device device = {.instance = WEIR_NONE,
                                 .offers = WEIR_NONE,
                                 .layout = WEIR_NONE,
                                 .change_cause = WEIR_NONE,
                                 .parent = WEIR_NONE,
                                 .mig_profile = WEIR_NONE,
                                 .nvlink = WEIR_NONE,
                                 .numa = WEIR_NONE,
                                 .health_cause = WEIR_NONE,
                                 .gpu_class = h->gpu_class,
                                 .slots = 0xff,
                                 .isolation = WEIR_ISOLATION_HARDWARE,
                                 .memory_bytes = 80 * WEIR_GIB,
                                 .max_sharers = 1};
    uint32_t other = history_any(h, WEIR_TABLE_DEVICES);
    int r;

    device.node = history_any(h, WEIR_TABLE_NODES);
    if (device.node == WEIR_NONE)
        return WEIR_E_NOT_FOUND;
    if (below(h, 3) == 0)
        device.max_sharers = 4;
    if (other != WEIR_NONE && below(h, 4) == 0 &&
        weir_world_device(view(h), other)->kind == WEIR_DEVICE_WHOLE) {
        device.kind = WEIR_DEVICE_MIG;
        device.parent = other;
        device.node = weir_world_device(view(h), other)->node;
        device.mig_profile = h->mig_profile;
        device.slots = 1;
        device.memory_bytes = 10 * WEIR_GIB;
        device.max_sharers = 1;
    }
    device.index = below(h, 8);
    r = name(h, "GPU", (uint32_t)h->next_number, &device.uuid);
    if (r == 0)
        r = name(h, "model", below(h, 3), &device.model);
    if (r < 0)
        return r;
    op->key = new_key(h);
    op->other = device.node;
    return weir_edit_add_device(h->edit, &op->key, &device, &op->index);
}

/* ---- queues and workloads ---- */

static int add_queue(struct history *h, struct history_op *op)
{
    struct weir_queue queue = {.weight = 1,
                               .run_limit_ms = INT64_MAX,
                               .budget_uusd = INT64_MAX,
                               .open_hours = WEIR_NONE,
                               .created_wall_ms = h->now_ms};
    int r;

    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        queue.limit.of[i] = INT64_MAX;
    queue.guaranteed.of[WEIR_RES_GPU] = 1000 * (int64_t)below(h, 9);
    queue.parent = below(h, 3) == 0 ? WEIR_NONE : history_any(h, WEIR_TABLE_QUEUES);
    r = name(h, "queue", below(h, 100), &queue.name);
    if (r < 0)
        return r;
    op->key = new_key(h);
    op->other = queue.parent;
    return weir_edit_add_queue(h->edit, &op->key, &queue, &op->index);
}

static int move_queue(struct history *h, struct history_op *op)
{
    op->index = history_any(h, WEIR_TABLE_QUEUES);
    if (op->index == WEIR_NONE)
        return WEIR_E_NOT_FOUND;
    op->other = below(h, 4) == 0 ? WEIR_NONE : history_any(h, WEIR_TABLE_QUEUES);
    return weir_edit_move_queue(h->edit, op->index, op->other);
}

static int remove_queue(struct history *h, struct history_op *op)
{
    op->index = history_any(h, WEIR_TABLE_QUEUES);
    return op->index == WEIR_NONE ? WEIR_E_NOT_FOUND : weir_edit_remove_queue(h->edit, op->index);
}

static int add_workload(struct history *h, struct history_op *op)
{
    static const uint32_t statuses[] = {1, 137, 143};
    struct weir_workload workload = {
        .number = h->next_number,
        .class = below(h, WEIR_CLASS_MAX),
        .priority = (int32_t)below(h, 10),
        .preemptible = below(h, 2),
        .retries_max = 3,
        .retry_on = WEIR_NONE,
        .submitted_wall_ms = h->now_ms,
        .runtime = {.limit_ms = INT64_MAX, .p50_ms = 60000},
        .topology = {.required = WEIR_NONE, .preferred = WEIR_NONE, .slice_level = WEIR_NONE},
    };
    int r;

    workload.queue = history_any(h, WEIR_TABLE_QUEUES);
    if (workload.queue == WEIR_NONE)
        return WEIR_E_NOT_FOUND;
    r = name(h, "user", below(h, 20), &workload.owner);
    if (r == 0 && below(h, 4) == 0)
        r = weir_edit_span(h->edit, statuses, 1 + below(h, 3), &workload.retry_on);
    if (r < 0)
        return r;
    op->n_roles = below(h, HISTORY_ROLES_MAX + 1);
    for (uint32_t i = 0; i < op->n_roles; i++)
        op->roles[i] = (struct weir_role){.name = WEIR_NONE,
                                          .shape = h->shapes[below(h, HISTORY_SHAPES)],
                                          .n_tasks = below(h, 4),
                                          .is_leader = i == 0};
    if (below(h, 40) == 0 && op->n_roles > 0) { /* 2^32 × 4 GiB: more than the books can hold */
        op->roles[0].shape = h->shapes[0];
        op->roles[0].n_tasks = UINT32_MAX - 1;
    }
    op->key = new_key(h);
    op->other = workload.queue;
    return weir_edit_add_workload(h->edit, &op->key, &workload, op->roles, op->n_roles, &op->index);
}

static int remove_workload(struct history *h, struct history_op *op)
{
    op->index = history_any(h, WEIR_TABLE_WORKLOADS);
    return op->index == WEIR_NONE ? WEIR_E_NOT_FOUND
                                  : weir_edit_remove_workload(h->edit, op->index);
}

/* ---- tasks ---- */

static bool has_room(const struct weir_device *device, const struct weir_shape *shape)
{
    bool is_mig = device->kind == WEIR_DEVICE_MIG;

    return is_mig == (shape->mig_profile != WEIR_NONE) && device->n_sharers < device->max_sharers &&
           device->held_mgpu + shape->device_mgpu <= 1000 &&
           device->held_memory_bytes + shape->device_memory_bytes <= device->memory_bytes;
}

static void choose_grants(struct history *h, const struct weir_shape *shape, struct history_op *op)
{
    const struct weir_world *world = view(h);

    for (uint32_t at = weir_world_node(world, op->other)->first_device;
         at != WEIR_NONE && op->n_grants < shape->n_devices;
         at = weir_world_device(world, at)->next_on_node) {
        const struct weir_device *device = weir_world_device(world, at);

        if (has_room(device, shape))
            op->grants[op->n_grants++] =
                (struct weir_grant){.device = at,
                                    .device_gen = device->row.gen,
                                    .part_mgpu = shape->device_mgpu,
                                    .memory_bytes = shape->device_memory_bytes};
    }
}

static int start(struct history *h, struct history_op *op)
{
    const struct weir_world *world = view(h);
    const struct weir_shape *shape;
    uint32_t stray;

    op->index = history_any(h, WEIR_TABLE_TASKS);
    op->other = history_any(h, WEIR_TABLE_NODES);
    if (op->index == WEIR_NONE || op->other == WEIR_NONE)
        return WEIR_E_NOT_FOUND;
    shape =
        weir_world_shape(world,
                         weir_world_role(world, weir_world_task(world, op->index)->role)->shape);
    choose_grants(h, shape, op);
    if (op->n_grants < shape->n_devices)
        return WEIR_E_NOT_FOUND;
    stray = history_any(h, WEIR_TABLE_DEVICES);
    if (below(h, 10) == 0 && stray != WEIR_NONE &&
        weir_world_device(world, stray)->node != op->other)
        op->grants[op->n_grants++] = (struct weir_grant){.device = stray};
    return weir_edit_task_start(h->edit, op->index, op->other, op->grants, op->n_grants, h->now_ms,
                                h->now_ms - 1600000000000);
}

static int change_state(struct history *h, struct history_op *op)
{
    struct weir_task *task;

    op->index = history_any(h, WEIR_TABLE_TASKS);
    if (op->index == WEIR_NONE)
        return WEIR_E_NOT_FOUND;
    op->state = (enum weir_task_state)below(h, WEIR_TASK_STATE_MAX);
    if (weir_world_task(view(h), op->index)->state == WEIR_TASK_STARTING && below(h, 2) == 0)
        op->state = WEIR_TASK_RUNNING;
    if (below(h, 3) == 0 && weir_task_state_holds(weir_world_task(view(h), op->index)->state)) {
        task = weir_edit_task(h->edit, op->index);
        if (task == NULL)
            return WEIR_E_NO_MEMORY;
        task->ended = WEIR_END_EXITED;
        task->exit_status = (int32_t)below(h, 256);
        if (task->state == WEIR_TASK_STOPPING)
            task->stop_cause = 1;
    }
    return weir_edit_task_state(h->edit, op->index, op->state);
}

/* ---- the rest ---- */

static int change_fields(struct history *h, struct history_op *op)
{
    struct weir_device *device;
    struct weir_node *node;
    struct weir_queue *queue;
    struct weir_workload *workload;

    op->other = below(h, 4);
    op->index =
        history_any(h, (enum weir_table_id[]){WEIR_TABLE_DEVICES, WEIR_TABLE_NODES,
                                              WEIR_TABLE_QUEUES, WEIR_TABLE_WORKLOADS}[op->other]);
    if (op->index == WEIR_NONE)
        return WEIR_E_NOT_FOUND;
    switch (op->other) {
    case 0:
        device = weir_edit_device(h->edit, op->index);
        if (device == NULL)
            return WEIR_E_NO_MEMORY;
        device->health = below(h, WEIR_DEVICE_HEALTH_MAX);
        device->n_foreign = below(h, 3);
        return 0;
    case 1:
        node = weir_edit_node(h->edit, op->index);
        if (node == NULL)
            return WEIR_E_NO_MEMORY;
        node->phase = below(h, WEIR_NODE_PHASE_MAX);
        return 0;
    case 2:
        queue = weir_edit_queue(h->edit, op->index);
        if (queue == NULL)
            return WEIR_E_NO_MEMORY;
        queue->spent_uusd += below(h, 1000);
        return 0;
    default:
        workload = weir_edit_workload(h->edit, op->index);
        if (workload == NULL)
            return WEIR_E_NO_MEMORY;
        workload->held = below(h, 2);
        return 0;
    }
}

static const enum weir_table_id plain_tables[] = {WEIR_TABLE_SIGNALS, WEIR_TABLE_INTENTS,
                                                  WEIR_TABLE_PRICES};

static int add_plain(struct history *h, struct history_op *op)
{
    struct weir_signal signal = {.subject_kind = WEIR_SUBJECT_NODE,
                                 .window_ms = 60000,
                                 .value_milli = -5,
                                 .observed_wall_ms = h->now_ms,
                                 .valid = 1};
    struct weir_intent intent = {.kind = WEIR_INTENT_DRAIN, .created_wall_ms = h->now_ms};
    struct weir_price price = {.gpu_class = h->gpu_class,
                               .pool = WEIR_NONE,
                               .source = WEIR_NONE,
                               .uusd_per_gpu_hour = 2500000};
    int r = name(h, "metric", below(h, 10), &signal.metric);

    if (r < 0)
        return r;
    intent.device = history_any(h, WEIR_TABLE_DEVICES);
    intent.node = history_any(h, WEIR_TABLE_NODES);
    op->key = new_key(h);
    op->other = plain_tables[below(h, 3)];
    if (op->other == WEIR_TABLE_SIGNALS)
        return weir_edit_add_signal(h->edit, &op->key, &signal, &op->index);
    if (op->other == WEIR_TABLE_INTENTS)
        return weir_edit_add_intent(h->edit, &op->key, &intent, &op->index);
    return weir_edit_add_price(h->edit, &op->key, &price, &op->index);
}

static int remove_plain(struct history *h, struct history_op *op)
{
    op->other = plain_tables[below(h, 3)];
    op->index = history_any(h, (enum weir_table_id)op->other);
    if (op->index == WEIR_NONE)
        return WEIR_E_NOT_FOUND;
    return weir_edit_remove_plain(h->edit, (enum weir_table_id)op->other, op->index);
}

/* Nodes and devices stay for good. */
static bool is_full(const struct history *h, enum history_kind kind)
{
    const struct weir_world *world = weir_edit_view(h->edit);

    return (kind == HISTORY_ADD_NODE && world->tables[WEIR_TABLE_NODES].n_live > h->max_nodes) ||
           (kind == HISTORY_ADD_DEVICE &&
            world->tables[WEIR_TABLE_DEVICES].n_live > DEVICES_PER_NODE * h->max_nodes);
}

static enum history_kind choose(struct history *h)
{
    static const uint8_t weights[HISTORY_KIND_MAX] = {
        [HISTORY_ADD_NODE] = 3,        [HISTORY_ADD_DEVICE] = 8,   [HISTORY_ADD_QUEUE] = 3,
        [HISTORY_MOVE_QUEUE] = 3,      [HISTORY_REMOVE_QUEUE] = 4, [HISTORY_ADD_WORKLOAD] = 10,
        [HISTORY_REMOVE_WORKLOAD] = 5, [HISTORY_START] = 40,       [HISTORY_STATE] = 20,
        [HISTORY_CHANGE_FIELDS] = 10,  [HISTORY_ADD_PLAIN] = 3,    [HISTORY_REMOVE_PLAIN] = 2,
    };
    const struct weir_world *world = view(h);
    uint32_t at = below(h, 111);

    if (world->tables[WEIR_TABLE_WORKLOADS].n_live > h->max_workloads && below(h, 4) == 0)
        return HISTORY_REMOVE_WORKLOAD;
    for (int kind = 0; kind < HISTORY_KIND_MAX; kind++) {
        if (at < weights[kind])
            return is_full(h, (enum history_kind)kind) ? HISTORY_STATE : (enum history_kind)kind;
        at -= weights[kind];
    }
    return HISTORY_STATE;
}

int history_step(struct history *h, struct history_op *ret_op)
{
    static int (*const steps[HISTORY_KIND_MAX])(struct history *, struct history_op *) = {
        [HISTORY_ADD_NODE] = add_node,
        [HISTORY_ADD_DEVICE] = add_device,
        [HISTORY_ADD_QUEUE] = add_queue,
        [HISTORY_MOVE_QUEUE] = move_queue,
        [HISTORY_REMOVE_QUEUE] = remove_queue,
        [HISTORY_ADD_WORKLOAD] = add_workload,
        [HISTORY_REMOVE_WORKLOAD] = remove_workload,
        [HISTORY_START] = start,
        [HISTORY_STATE] = change_state,
        [HISTORY_CHANGE_FIELDS] = change_fields,
        [HISTORY_ADD_PLAIN] = add_plain,
        [HISTORY_REMOVE_PLAIN] = remove_plain,
    };

    h->now_ms += below(h, 1000);
    for (;;) {
        *ret_op = (struct history_op){.kind = choose(h), .index = WEIR_NONE};
        ret_op->result = steps[ret_op->kind](h, ret_op);
        /* NOT_FOUND: nothing there to do it to. */
        if (ret_op->result != WEIR_E_NOT_FOUND)
            return ret_op->result == WEIR_E_NO_MEMORY ? WEIR_E_NO_MEMORY : 0;
    }
}

int history_run(struct history *h, unsigned n_steps)
{
    struct history_op op;

    for (unsigned i = 0; i < n_steps; i++) {
        int r = history_step(h, &op);

        if (r < 0)
            return r;
    }
    return 0;
}

static int fill_node(struct history *h, struct weir_device *device)
{
    struct weir_node node = {.pool = WEIR_NONE,
                             .labels = WEIR_NONE,
                             .taints = WEIR_NONE,
                             .phase = WEIR_NODE_READY,
                             .phase_cause = WEIR_NONE};
    struct weir_key key = new_key(h);
    uint32_t index;
    int r = name(h, "node", (uint32_t)h->next_number, &node.name);

    for (int i = 0; i < WEIR_TOPOLOGY_LEVELS; i++)
        node.topology[i] = WEIR_NONE;
    node.capacity.of[WEIR_RES_GPU] = 8000;
    if (r == 0)
        r = weir_edit_add_node(h->edit, &key, &node, &device->node);
    for (uint32_t i = 0; r == 0 && i < 8; i++) {
        key = new_key(h);
        device->index = i;
        r = name(h, "GPU", (uint32_t)h->next_number, &device->uuid);
        if (r == 0)
            r = weir_edit_add_device(h->edit, &key, device, &index);
    }
    return r;
}

int history_fill(struct history *h, uint32_t n_nodes, uint32_t n_workloads)
{
    struct weir_device device = {.instance = WEIR_NONE,
                                 .offers = WEIR_NONE,
                                 .layout = WEIR_NONE,
                                 .change_cause = WEIR_NONE,
                                 .model = WEIR_NONE,
                                 .parent = WEIR_NONE,
                                 .gpu_class = h->gpu_class,
                                 .mig_profile = WEIR_NONE,
                                 .numa = WEIR_NONE,
                                 .nvlink = WEIR_NONE,
                                 .health_cause = WEIR_NONE,
                                 .memory_bytes = 80 * WEIR_GIB,
                                 .max_sharers = 1};
    struct weir_queue queue = {.parent = WEIR_NONE,
                               .run_limit_ms = INT64_MAX,
                               .budget_uusd = INT64_MAX,
                               .open_hours = WEIR_NONE};
    struct weir_workload workload = {
        .owner = WEIR_NONE,
        .retry_on = WEIR_NONE,
        .gang_min = 1,
        .submitted_wall_ms = h->now_ms,
        .runtime = {.limit_ms = INT64_MAX},
        .topology = {.required = WEIR_NONE, .preferred = WEIR_NONE, .slice_level = WEIR_NONE}};
    const struct weir_role role = {.name = WEIR_NONE, .shape = h->shapes[1], .n_tasks = 1};
    struct weir_key key = new_key(h);
    uint32_t index;
    int r = name(h, "queue", 1, &queue.name);

    if (r == 0)
        r = weir_edit_add_queue(h->edit, &key, &queue, &workload.queue);
    for (uint32_t i = 0; r == 0 && i < n_nodes; i++)
        r = fill_node(h, &device);
    for (uint32_t i = 0; r == 0 && i < n_workloads; i++) {
        workload.number = h->next_number;
        key = new_key(h);
        r = weir_edit_add_workload(h->edit, &key, &workload, &role, 1, &index);
    }
    return r;
}
