#include "model/world.h"

#include "base/mem.h"
#include "base/units.h"

static const uint32_t row_bytes[WEIR_TABLE_MAX] = {
    [WEIR_TABLE_RESOURCES] = sizeof(struct weir_resource),
    [WEIR_TABLE_SHAPES] = sizeof(struct weir_shape),
    [WEIR_TABLE_NODES] = sizeof(struct weir_node),
    [WEIR_TABLE_DEVICES] = sizeof(struct weir_device),
    [WEIR_TABLE_HOLDS] = sizeof(struct weir_hold),
    [WEIR_TABLE_QUEUES] = sizeof(struct weir_queue),
    [WEIR_TABLE_WORKLOADS] = sizeof(struct weir_workload),
    [WEIR_TABLE_ROLES] = sizeof(struct weir_role),
    [WEIR_TABLE_TASKS] = sizeof(struct weir_task),
    [WEIR_TABLE_SIGNALS] = sizeof(struct weir_signal),
    [WEIR_TABLE_INTENTS] = sizeof(struct weir_intent),
    [WEIR_TABLE_PRICES] = sizeof(struct weir_price),
    [WEIR_TABLE_STRINGS] = sizeof(struct weir_string),
    [WEIR_TABLE_SPANS] = sizeof(struct weir_span_cell),
};

uint32_t weir_table_row_bytes(enum weir_table_id id)
{
    return row_bytes[id];
}

static const char *const table_names[WEIR_TABLE_MAX] = {
    [WEIR_TABLE_RESOURCES] = "resources", [WEIR_TABLE_SHAPES] = "shapes",
    [WEIR_TABLE_NODES] = "nodes",         [WEIR_TABLE_DEVICES] = "devices",
    [WEIR_TABLE_HOLDS] = "holds",         [WEIR_TABLE_QUEUES] = "queues",
    [WEIR_TABLE_WORKLOADS] = "workloads", [WEIR_TABLE_ROLES] = "roles",
    [WEIR_TABLE_TASKS] = "tasks",         [WEIR_TABLE_SIGNALS] = "signals",
    [WEIR_TABLE_INTENTS] = "intents",     [WEIR_TABLE_PRICES] = "prices",
    [WEIR_TABLE_STRINGS] = "strings",     [WEIR_TABLE_SPANS] = "spans",
};

const char *weir_table_name(enum weir_table_id id)
{
    return id < WEIR_TABLE_MAX ? table_names[id] : "unknown";
}

/* A sealed world is const for its readers; only the count of references changes. */
static struct weir_world *counted(const struct weir_world *world)
{
    return (struct weir_world *)(uintptr_t)world;
}

void weir_world_ref(const struct weir_world *world)
{
    atomic_fetch_add_explicit(&counted(world)->refs, 1, memory_order_relaxed);
}

void weir_world_unref(const struct weir_world *world)
{
    struct weir_world *mine = counted(world);

    if (mine == NULL || atomic_fetch_sub_explicit(&mine->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int id = 0; id < WEIR_TABLE_MAX; id++)
        weir_table_release(&mine->tables[id]);
    weir_mem_free(mine->changes);
    weir_mem_free(mine);
}

int64_t weir_world_run_limit_ms(const struct weir_world *world, uint32_t queue)
{
    int64_t limit = INT64_MAX;
    const struct weir_queue *row;

    for (uint32_t at = queue; at != WEIR_NONE; at = row->parent) {
        row = weir_world_queue(world, at);
        if (row->run_limit_ms < limit)
            limit = row->run_limit_ms;
    }
    return limit;
}

enum weir_isolation weir_world_queue_isolation(const struct weir_world *world, uint32_t queue)
{
    uint32_t strictest = WEIR_ISOLATION_NONE;
    const struct weir_queue *row;

    for (uint32_t at = queue; at != WEIR_NONE; at = row->parent) {
        row = weir_world_queue(world, at);
        if (row->isolation > strictest)
            strictest = row->isolation;
    }
    return (enum weir_isolation)strictest;
}

enum weir_over_budget weir_world_over_budget(const struct weir_world *world, uint32_t queue)
{
    const struct weir_queue *row;

    for (uint32_t at = queue; at != WEIR_NONE; at = row->parent) {
        row = weir_world_queue(world, at);
        if (row->over_budget != WEIR_OVER_BUDGET_INHERIT)
            return (enum weir_over_budget)row->over_budget;
    }
    return WEIR_OVER_BUDGET_STOP;
}

struct weir_str weir_world_string(const struct weir_world *world, uint32_t string)
{
    const struct weir_string *row;

    if (string == WEIR_NONE)
        return WEIR_STR("");
    row = weir_table_row(&world->tables[WEIR_TABLE_STRINGS], string);
    return weir_str_n(row->text, row->len);
}

static uint32_t span_cell(const struct weir_world *world, uint32_t index)
{
    const struct weir_span_cell *cell = weir_table_row(&world->tables[WEIR_TABLE_SPANS], index);

    return cell->value;
}

uint32_t weir_world_span_len(const struct weir_world *world, uint32_t span)
{
    return span == WEIR_NONE ? 0 : span_cell(world, span);
}

uint32_t weir_world_span_at(const struct weir_world *world, uint32_t span, uint32_t i)
{
    return span_cell(world, span + 1 + i);
}

uint32_t weir_world_next_instance(const struct weir_world *world, uint32_t device, uint32_t after)
{
    uint32_t at =
        after != WEIR_NONE
            ? weir_world_device(world, after)->next_on_node
            : weir_world_node(world, weir_world_device(world, device)->node)->first_device;

    while (at != WEIR_NONE && weir_world_device(world, at)->parent != device)
        at = weir_world_device(world, at)->next_on_node;
    return at;
}

uint32_t weir_world_n_mig_offers(const struct weir_world *world, const struct weir_device *device)
{
    return weir_world_span_len(world, device->offers) / WEIR_MIG_OFFER_CELLS;
}

struct weir_mig_offer weir_world_mig_offer(const struct weir_world *world,
                                           const struct weir_device *device, uint32_t i)
{
    uint32_t cells[WEIR_MIG_OFFER_CELLS];

    for (uint32_t k = 0; k < WEIR_MIG_OFFER_CELLS; k++)
        cells[k] = weir_world_span_at(world, device->offers, i * WEIR_MIG_OFFER_CELLS + k);
    return (struct weir_mig_offer){
        .profile = cells[0],
        .driver_id = cells[1],
        .slices = cells[2],
        .size = cells[3],
        .starts = cells[4],
        .instances_max = cells[5],
        .memory_mib = cells[6],
    };
}

uint32_t weir_world_n_resources(const struct weir_world *world)
{
    return world->tables[WEIR_TABLE_RESOURCES].n_rows;
}

struct weir_node weir_node_blank(void)
{
    struct weir_node node = {
        .pool = WEIR_NONE, .labels = WEIR_NONE, .taints = WEIR_NONE, .phase_cause = WEIR_NONE};

    for (int i = 0; i < WEIR_TOPOLOGY_LEVELS; i++)
        node.topology[i] = WEIR_NONE;
    return node;
}

struct weir_device weir_device_blank(void)
{
    return (struct weir_device){.parent = WEIR_NONE,
                                .kind = WEIR_DEVICE_WHOLE,
                                .binder = WEIR_BINDER_OURS,
                                .mig_profile = WEIR_NONE,
                                .instance = WEIR_NONE,
                                .offers = WEIR_NONE,
                                .layout = WEIR_NONE,
                                .change_cause = WEIR_NONE,
                                .numa = WEIR_NONE,
                                .nvlink = WEIR_NONE,
                                .isolation = WEIR_ISOLATION_HARDWARE,
                                .max_sharers = 1,
                                .health_cause = WEIR_NONE};
}

static struct weir_str without_prefix(const struct weir_world *world, uint32_t resource,
                                      struct weir_str prefix)
{
    struct weir_str name = weir_world_string(world, weir_world_resource(world, resource)->name);

    return weir_str_starts_with(name, prefix) ? weir_str_sub(name, prefix.len, name.len) : name;
}

struct weir_str weir_world_gpu_class_name(const struct weir_world *world, uint32_t resource)
{
    return without_prefix(world, resource, WEIR_STR(WEIR_GPU_CLASS_PREFIX));
}

struct weir_str weir_world_mig_name(const struct weir_world *world, uint32_t resource)
{
    return without_prefix(world, resource, WEIR_STR(WEIR_MIG_PREFIX));
}

uint32_t weir_world_hold_isolation(const struct weir_world *world, uint32_t hold)
{
    const struct weir_hold *row = weir_world_hold(world, hold);
    const struct weir_device *device = weir_world_device(world, row->device);
    bool is_whole = row->memory_bytes == 0 && row->part_mgpu >= WEIR_MGPU_PER_GPU;

    if (device->kind == WEIR_DEVICE_MIG || (device->kind != WEIR_DEVICE_SHARE && is_whole))
        return WEIR_ISOLATION_HARDWARE;
    if (device->kind == WEIR_DEVICE_WHOLE && device->isolation == WEIR_ISOLATION_MEMORY &&
        device->mps != WEIR_MPS_ON)
        return WEIR_ISOLATION_NONE;
    return device->isolation;
}

static const char *const task_states[WEIR_TASK_STATE_MAX] = {"queued",    "starting",  "running",
                                                             "stopping",  "succeeded", "failed",
                                                             "cancelled", "lost"};
static const char *const classes[WEIR_CLASS_MAX] = {"batch", "training", "service", "dev"};
static const char *const over_budgets[WEIR_OVER_BUDGET_MAX] = {"", "stop", "warn"};
static const char *const isolations[WEIR_ISOLATION_MAX] = {"none", "memory", "hardware"};
static const char *const node_phases[WEIR_NODE_PHASE_MAX] = {"requested", "booting",  "ready",
                                                             "cordoned",  "draining", "quarantined",
                                                             "gone"};
static const char *const healths[WEIR_DEVICE_HEALTH_MAX] = {"healthy", "suspect", "unhealthy",
                                                            "lost"};

static const char *const mps_states[WEIR_MPS_MAX] = {"off", "starting", "on", "stopping"};
static const char *const sharings[WEIR_SHARING_MAX] = {"budgets", "mps", "time-slicing", "never"};

const char *weir_task_state_name(enum weir_task_state state)
{
    return state < WEIR_TASK_STATE_MAX ? task_states[state] : "unknown";
}

const char *weir_class_name(enum weir_class class)
{
    return class < WEIR_CLASS_MAX ? classes[class] : "unknown";
}

const char *weir_over_budget_name(enum weir_over_budget over_budget)
{
    return over_budget < WEIR_OVER_BUDGET_MAX ? over_budgets[over_budget] : "unknown";
}

const char *weir_isolation_name(enum weir_isolation isolation)
{
    return isolation < WEIR_ISOLATION_MAX ? isolations[isolation] : "unknown";
}

const char *weir_node_phase_name(enum weir_node_phase phase)
{
    return phase < WEIR_NODE_PHASE_MAX ? node_phases[phase] : "unknown";
}

const char *weir_device_health_name(enum weir_device_health health)
{
    return health < WEIR_DEVICE_HEALTH_MAX ? healths[health] : "unknown";
}

const char *weir_mps_name(enum weir_mps mps)
{
    return mps < WEIR_MPS_MAX ? mps_states[mps] : "unknown";
}

const char *weir_sharing_name(enum weir_sharing sharing)
{
    return sharing < WEIR_SHARING_MAX ? sharings[sharing] : "unknown";
}

static int index_of(const char *const *names, int n, struct weir_str name)
{
    for (int i = 0; i < n; i++)
        if (weir_str_eq_c(name, names[i]))
            return i;
    return -1;
}

int weir_over_budget_from_name(struct weir_str name)
{
    return name.len > 0 ? index_of(over_budgets, WEIR_OVER_BUDGET_MAX, name) : -1;
}

int weir_class_from_name(struct weir_str name)
{
    return index_of(classes, WEIR_CLASS_MAX, name);
}

int weir_isolation_from_name(struct weir_str name)
{
    return index_of(isolations, WEIR_ISOLATION_MAX, name);
}

int weir_sharing_from_name(struct weir_str name)
{
    return index_of(sharings, WEIR_SHARING_MAX, name);
}
