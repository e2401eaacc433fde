#include "core/overlay.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/sort.h"
#include "core/mig/load.h"

/* ---- changes ---- */

static void add_to_queues(const struct weir_overlay *o, int64_t *sums, uint32_t leaf,
                          const struct weir_shape *shape, int64_t sign)
{
    for (uint32_t queue = leaf; queue != WEIR_NONE;
         queue = weir_world_queue(o->world, queue)->parent) {
        int64_t *sum = sums + (size_t)queue * o->n_resources;

        for (uint32_t i = 0; i < shape->n_amounts; i++)
            sum[shape->amounts[i].resource] += sign * shape->amounts[i].amount;
    }
}

static void add_amounts(struct weir_overlay *o, uint32_t view, uint32_t node, uint32_t leaf,
                        const struct weir_shape *shape, int64_t sign)
{
    int64_t *free = o->free[view] + (size_t)node * o->n_resources;

    for (uint32_t i = 0; i < shape->n_amounts; i++)
        free[shape->amounts[i].resource] -= sign * shape->amounts[i].amount;
    add_to_queues(o, o->held[view], leaf, shape, sign);
}

/* A part of a device that comes or goes. */
struct part {
    int64_t mgpu;
    int64_t memory_bytes;
    uint32_t owner;
    bool is_given; /* by this decision */
    bool is_mps;
};

static void add_part(struct weir_overlay_device *device, uint32_t view, const struct part *part,
                     int32_t sign)
{
    struct weir_overlay_part *used = &device->used[view];
    uint64_t owner = part->owner;

    used->mgpu += sign * part->mgpu;
    used->memory_bytes += sign * part->memory_bytes;
    used->n_sharers += (uint32_t)sign;
    used->n_given += part->is_given ? (uint32_t)sign : 0;
    if (device->who == NULL)
        return;
    device->who->n[view] += part->is_mps ? (uint32_t)sign : 0;
    device->who->owners[view] += (uint64_t)(int64_t)sign * owner;
    device->who->owners_squared[view] += (uint64_t)(int64_t)sign * (owner * owner);
}

/* An instance that is to be made. */
static void add_fresh(struct weir_overlay_mig *mig, uint32_t view, const struct weir_grant *grant,
                      int32_t sign)
{
    uint32_t start = 0;

    while ((grant->slots & 1u << start) == 0)
        start++;
    mig->fresh[view] =
        (uint16_t)(sign > 0 ? mig->fresh[view] | grant->slots : mig->fresh[view] & ~grant->slots);
    mig->fresh_offer[view][start] = sign > 0 ? (uint8_t)grant->offer : 0;
}

static void change_new(struct weir_overlay *o, const struct weir_overlay_step *step, uint32_t view,
                       int32_t sign)
{
    add_amounts(o, view, step->spot.node, step->taker.leaf, step->shape, sign);
    if (step->views == WEIR_IN_BOTH && view == WEIR_VIEW_SOON)
        add_to_queues(o, o->kept, step->taker.leaf, step->shape, sign);
    for (uint32_t i = 0; i < step->spot.n_grants; i++) {
        const struct weir_grant *grant = &o->grants[step->spot.first_grant + i];
        struct weir_overlay_device *device = &o->devices[o->position_of_device[grant->device]];
        const struct part part = {grant->part_mgpu, grant->memory_bytes, step->taker.owner, true,
                                  grant->mps != 0};

        if (grant->offer != 0)
            add_fresh(device->mig, view, grant, sign);
        else
            add_part(device, view, &part, sign);
    }
}

static void change_running(struct weir_overlay *o, uint32_t running, uint32_t view, int32_t sign)
{
    const struct weir_running *r = &o->running[running];

    add_amounts(o, view, r->node, r->job->queue, r->shape, sign);
    if (view == WEIR_VIEW_SOON)
        add_to_queues(o, o->kept, r->job->queue, r->shape, sign);
    for (uint32_t at = r->row->first_hold; at != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(o->world, at);
        struct weir_overlay_device *device = &o->devices[o->position_of_device[hold->device]];
        const struct part part = {hold->part_mgpu, hold->memory_bytes, r->job->owner, false,
                                  device->mps != WEIR_MPS_OFF};

        add_part(device, view, &part, sign);
        at = hold->next_of_task;
    }
}

static void set_running_state(struct weir_overlay *o, uint32_t running, uint32_t state)
{
    struct weir_running *r = &o->running[running];
    struct weir_overlay_job *job = &o->jobs[r->workload];

    job->n_live -= r->state == WEIR_RUNNING_LIVE;
    job->n_live += state == WEIR_RUNNING_LIVE;
    r->state = state;
}

static void change(struct weir_overlay *o, const struct weir_overlay_step *step, int32_t sign)
{
    for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++) {
        if ((step->views & 1u << view) == 0)
            continue;
        if (step->running == WEIR_NONE)
            change_new(o, step, view, sign);
        else
            change_running(o, step->running, view, sign);
    }
}

static int take_step(struct weir_overlay *o, struct weir_overlay_step step)
{
    if (weir_arena_grow(o->arena, &o->steps, &o->cap_steps, o->n_steps + 1, sizeof(step)) < 0)
        return WEIR_E_NO_MEMORY;
    o->steps[o->n_steps++] = step;
    change(o, &step, step.sign);
    return 0;
}

int weir_overlay_grant(struct weir_overlay *o, const struct weir_grant *grant)
{
    if (weir_arena_grow(o->arena, &o->grants, &o->cap_grants, o->n_grants + 1, sizeof(*grant)) < 0)
        return WEIR_E_NO_MEMORY;
    o->grants[o->n_grants++] = *grant;
    return 0;
}

int weir_overlay_hold(struct weir_overlay *o, uint32_t views, struct weir_taker taker,
                      const struct weir_shape *shape, struct weir_spot spot)
{
    return take_step(o, (struct weir_overlay_step){.shape = shape,
                                                   .spot = spot,
                                                   .taker = taker,
                                                   .running = WEIR_NONE,
                                                   .views = views,
                                                   .sign = 1});
}

void weir_overlay_take_back(struct weir_overlay *o)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < o->n_steps; i++) {
        if (o->steps[i].running == WEIR_NONE && o->steps[i].views == WEIR_IN_SOON)
            change(o, &o->steps[i], -1);
        else
            o->steps[n++] = o->steps[i];
    }
    o->n_steps = n;
    o->freed++;
}

int weir_overlay_give_back(struct weir_overlay *o, uint32_t step)
{
    struct weir_overlay_step back = o->steps[step];

    back.sign = -back.sign;
    if (take_step(o, back) < 0)
        return WEIR_E_NO_MEMORY;
    o->freed++;
    return 0;
}

int weir_overlay_leave(struct weir_overlay *o, uint32_t running, enum weir_running_state state)
{
    uint32_t old = o->running[running].state;
    uint32_t views = old == WEIR_RUNNING_LIVE ? WEIR_IN_SOON : 0;

    if (state == WEIR_RUNNING_GONE)
        views |= WEIR_IN_NOW;
    if (take_step(o, (struct weir_overlay_step){
                         .running = running, .old_state = old, .views = views, .sign = -1}) < 0)
        return WEIR_E_NO_MEMORY;
    set_running_state(o, running, state);
    o->freed++;
    return 0;
}

int weir_overlay_stay(struct weir_overlay *o, uint32_t running)
{
    if (take_step(o, (struct weir_overlay_step){.running = running,
                                                .old_state = o->running[running].state,
                                                .views = WEIR_IN_SOON,
                                                .sign = 1}) < 0)
        return WEIR_E_NO_MEMORY;
    set_running_state(o, running, WEIR_RUNNING_LIVE);
    return 0;
}

struct weir_overlay_mark weir_overlay_mark(struct weir_overlay *o)
{
    o->n_marks++;
    return (struct weir_overlay_mark){o->n_steps, o->n_grants, o->freed};
}

void weir_overlay_rollback(struct weir_overlay *o, struct weir_overlay_mark mark)
{
    while (o->n_steps > mark.n_steps) {
        const struct weir_overlay_step *step = &o->steps[--o->n_steps];

        change(o, step, -step->sign);
        if (step->running != WEIR_NONE)
            set_running_state(o, step->running, step->old_state);
    }
    o->n_grants = mark.n_grants;
    o->freed = mark.freed;
    o->n_marks--;
}

void weir_overlay_keep(struct weir_overlay *o)
{
    o->n_marks--;
}

bool weir_scope_has(const struct weir_overlay *overlay, const struct weir_scope *scope,
                    uint32_t node)
{
    if (scope->level == WEIR_NONE)
        return true;
    if (scope->value == WEIR_NONE)
        return scope->node == node;
    return overlay->nodes[node].row->topology[scope->level] == scope->value;
}

void weir_overlay_settle(struct weir_overlay *overlay)
{
    for (uint32_t i = 0; i < overlay->n_devices; i++)
        overlay->devices[i].is_settled = 1;
}

int64_t weir_overlay_freeze(struct weir_overlay *overlay, int64_t now_wall_ms)
{
    int64_t first = INT64_MAX;

    for (uint32_t i = 0; overlay->has_shaping && i < overlay->n_devices; i++) {
        struct weir_overlay_device *device = &overlay->devices[i];
        int64_t until = weir_world_device(overlay->world, device->row)->change_not_before_wall_ms;

        device->is_frozen = until > now_wall_ms;
        if (device->is_frozen && until < first)
            first = until;
    }
    return first;
}

/* ---- from the world ---- */

static uint32_t why_node_is_out(const struct weir_node *node, uint32_t fleet)
{
    switch ((enum weir_node_phase)node->phase) {
    case WEIR_NODE_READY:
        return WEIR_REASON_NONE;
    case WEIR_NODE_DRAINING:
        return fleet & WEIR_FLEET_UNCORDONED ? WEIR_REASON_NONE : WEIR_REASON_NODE_DRAINING;
    case WEIR_NODE_CORDONED:
    case WEIR_NODE_QUARANTINED:
        return fleet & WEIR_FLEET_UNCORDONED ? WEIR_REASON_NONE : WEIR_REASON_NODE_CORDONED;
    case WEIR_NODE_REQUESTED:
    case WEIR_NODE_BOOTING:
        return fleet & WEIR_FLEET_REPAIRED ? WEIR_REASON_NONE : WEIR_REASON_NODE_NOT_READY;
    case WEIR_NODE_GONE:
    case WEIR_NODE_PHASE_MAX:
        break;
    }
    return WEIR_REASON_NODE_NOT_READY;
}

static uint32_t why_device_is_out(const struct weir_device *device, uint32_t fleet)
{
    bool repaired = (fleet & WEIR_FLEET_REPAIRED) != 0;

    if (device->health != WEIR_DEVICE_HEALTHY && !repaired)
        return WEIR_REASON_DEVICE_UNHEALTHY;
    if (device->cordoned && (fleet & WEIR_FLEET_UNCORDONED) == 0)
        return WEIR_REASON_DEVICE_CORDONED;
    return WEIR_REASON_NONE;
}

/* Whose its holders are. */
static int load_who(struct weir_overlay *o, struct weir_overlay_device *to,
                    const struct weir_device *from, uint32_t fleet)
{
    if (from->mps == WEIR_MPS_OFF && !from->can_mps && from->sharing != WEIR_SHARING_MPS)
        return 0;
    o->mps_owners = 1;
    o->has_shaping = 1;
    to->who = weir_arena_new(o->arena, struct weir_overlay_mps);
    if (to->who == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t at = (fleet & WEIR_FLEET_EMPTY) == 0 ? from->first_hold : WEIR_NONE;
         at != WEIR_NONE; at = weir_world_hold(o->world, at)->next_of_device) {
        const struct weir_task *task =
            weir_world_task(o->world, weir_world_hold(o->world, at)->task);
        uint64_t owner = weir_world_workload(o->world, task->workload)->owner;

        for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++) {
            to->who->n[view] += from->mps != WEIR_MPS_OFF;
            to->who->owners[view] += owner;
            to->who->owners_squared[view] += owner * owner;
        }
    }
    return 0;
}

static int load_device(struct weir_overlay *o, struct weir_overlay_device *to, uint32_t row,
                       uint32_t fleet)
{
    const struct weir_device *from = weir_world_device(o->world, row);
    struct weir_overlay_part used = {from->held_mgpu, from->held_memory_bytes, from->n_sharers, 0};

    *to = (struct weir_overlay_device){
        .row = row,
        .out = why_device_is_out(from, fleet),
        .kind = from->kind,
        .gpu_class = from->gpu_class,
        .mig_profile = from->mig_profile,
        .isolation = from->isolation,
        .max_sharers = from->max_sharers,
        .numa = from->numa,
        .nvlink = from->nvlink,
        .binder = from->binder,
        .memory_bytes = from->memory_bytes,
        .phase = (uint8_t)from->phase,
        .sharing = (uint8_t)from->sharing,
        .replicas = from->replicas,
        .mps = (uint8_t)from->mps,
        .can_mps = (uint8_t)from->can_mps,
        .slots = from->slots,
        .is_settled = (fleet & WEIR_FLEET_SETTLED) != 0,
    };
    /* Out of MIG mode the driver tells no offers. */
    o->has_shaping |= from->kind == WEIR_DEVICE_MIG || from->offers != WEIR_NONE ||
                      from->mig == WEIR_MIG_ON || from->mig_wanted != WEIR_MIG_NONE ||
                      from->phase != WEIR_DEVICE_THERE;
    if ((fleet & (WEIR_FLEET_REPAIRED | WEIR_FLEET_OURS)) == 0) {
        to->n_foreign = from->n_foreign;
        to->foreign_bytes = from->memory_foreign_bytes;
    }
    if ((fleet & WEIR_FLEET_EMPTY) == 0)
        for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++)
            to->used[view] = used;
    return load_who(o, to, from, fleet);
}

static const struct weir_device *whole_of(const struct weir_overlay *o,
                                          const struct weir_device *device)
{
    return device->kind == WEIR_DEVICE_MIG && device->parent != WEIR_NONE
               ? weir_world_device(o->world, device->parent)
               : device;
}

static uint32_t first_slot(uint32_t slots)
{
    uint32_t at = 0;

    while (at < WEIR_DEVICE_SLOTS_MAX && (slots & 1u << at) == 0)
        at++;
    return at;
}

static bool device_is_before(const struct weir_overlay *o, uint32_t a, uint32_t b)
{
    const struct weir_device *x = weir_world_device(o->world, a);
    const struct weir_device *y = weir_world_device(o->world, b);
    const struct weir_device *x_whole = whole_of(o, x);
    const struct weir_device *y_whole = whole_of(o, y);

    if (x_whole->index != y_whole->index)
        return x_whole->index < y_whole->index;
    if (x_whole != y_whole)
        return weir_key_cmp(&x_whole->row.key, &y_whole->row.key) < 0;
    if ((x == x_whole) != (y == y_whole))
        return x == x_whole;
    if (first_slot(x->slots) != first_slot(y->slots))
        return first_slot(x->slots) < first_slot(y->slots);
    return weir_key_cmp(&x->row.key, &y->row.key) < 0;
}

/* By insertion: a node has few devices, and they are in order as a rule. */
static int load_devices(struct weir_overlay *o, struct weir_overlay_node *node, uint32_t fleet)
{
    struct weir_overlay_device *devices = o->devices + o->n_devices;
    uint32_t n = 0;

    node->first_device = o->n_devices;
    for (uint32_t row = node->row->first_device; row != WEIR_NONE;
         row = weir_world_device(o->world, row)->next_on_node) {
        uint32_t at = n++;

        for (; at > 0 && device_is_before(o, row, devices[at - 1].row); at--)
            devices[at] = devices[at - 1];
        if (load_device(o, &devices[at], row, fleet) < 0)
            return WEIR_E_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++)
        o->position_of_device[devices[i].row] = o->n_devices + i;
    node->n_devices = n;
    o->n_devices += n;
    return 0;
}

static int compare_nodes(const void *a, const void *b, const void *ctx)
{
    const struct weir_overlay_node *x = a;
    const struct weir_overlay_node *y = b;

    (void)ctx;
    if (x->row->rank != y->row->rank)
        return x->row->rank < y->row->rank ? -1 : 1;
    return weir_key_cmp(&x->row->row.key, &y->row->row.key);
}

static void load_free(struct weir_overlay *o, uint32_t node, uint32_t fleet)
{
    const struct weir_node *row = o->nodes[node].row;

    for (uint32_t r = 0; r < o->n_resources; r++) {
        int64_t amount = row->capacity.of[r];

        if ((fleet & WEIR_FLEET_REPAIRED) == 0)
            amount -= row->foreign.of[r];
        if ((fleet & WEIR_FLEET_EMPTY) == 0)
            amount -= row->held.of[r];
        for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++)
            o->free[view][(size_t)node * o->n_resources + r] = amount;
    }
}

static int load_nodes(struct weir_overlay *o, uint32_t fleet)
{
    const struct weir_table *nodes = weir_world_table(o->world, WEIR_TABLE_NODES);
    const struct weir_table *devices = weir_world_table(o->world, WEIR_TABLE_DEVICES);

    o->nodes = weir_arena_new_n(o->arena, struct weir_overlay_node, nodes->n_live);
    o->devices = weir_arena_new_n(o->arena, struct weir_overlay_device, devices->n_live);
    o->position_of_node = weir_arena_new_n(o->arena, uint32_t, nodes->n_rows);
    o->position_of_device = weir_arena_new_n(o->arena, uint32_t, devices->n_rows);
    if (o->nodes == NULL || o->devices == NULL || o->position_of_node == NULL ||
        o->position_of_device == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t row = weir_world_first(o->world, WEIR_TABLE_NODES); row != WEIR_NONE;
         row = weir_world_after(o->world, WEIR_TABLE_NODES, row))
        o->nodes[o->n_nodes++] = (struct weir_overlay_node){.row = weir_world_node(o->world, row),
                                                            .index = row,
                                                            .first_running = WEIR_NONE};
    if (weir_sort(o->nodes, o->n_nodes, sizeof(o->nodes[0]), compare_nodes, NULL, o->arena) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++) {
        o->free[view] = weir_arena_new_n(o->arena, int64_t, (size_t)o->n_nodes * o->n_resources);
        if (o->free[view] == NULL)
            return WEIR_E_NO_MEMORY;
    }
    for (uint32_t i = 0; i < o->n_nodes; i++) {
        o->nodes[i].out = why_node_is_out(o->nodes[i].row, fleet);
        o->position_of_node[o->nodes[i].index] = i;
        if (load_devices(o, &o->nodes[i], fleet) < 0)
            return WEIR_E_NO_MEMORY;
        load_free(o, i, fleet);
    }
    return o->has_shaping ? weir_mig_load(o) : 0;
}

static int64_t *load_held(struct weir_overlay *o, uint32_t fleet)
{
    uint32_t n = weir_world_table(o->world, WEIR_TABLE_QUEUES)->n_rows;
    int64_t *held = weir_arena_new_n(o->arena, int64_t, (size_t)n * o->n_resources);

    for (uint32_t row = 0; held != NULL && (fleet & WEIR_FLEET_EMPTY) == 0 && row < n; row++)
        memcpy(held + (size_t)row * o->n_resources, weir_world_queue(o->world, row)->held.of,
               o->n_resources * sizeof(int64_t));
    return held;
}

static int load_queues(struct weir_overlay *o, uint32_t fleet)
{
    o->held[WEIR_VIEW_NOW] = load_held(o, fleet);
    o->held[WEIR_VIEW_SOON] = load_held(o, fleet);
    o->kept = load_held(o, fleet);
    return o->held[WEIR_VIEW_NOW] != NULL && o->held[WEIR_VIEW_SOON] != NULL && o->kept != NULL
               ? 0
               : WEIR_E_NO_MEMORY;
}

static int compare_running(const void *a, const void *b, const void *ctx)
{
    const struct weir_running *x = a;
    const struct weir_running *y = b;
    int by_key = x->job == y->job ? 0 : weir_key_cmp(&x->job->row.key, &y->job->row.key);

    (void)ctx;
    if (by_key != 0)
        return by_key;
    return (x->row->member > y->row->member) - (x->row->member < y->row->member);
}

static uint32_t count_running(const struct weir_overlay *o)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < o->n_nodes; i++)
        for (uint32_t task = o->nodes[i].row->first_task; task != WEIR_NONE;
             task = weir_world_task(o->world, task)->next_on_node)
            n++;
    return n;
}

static int load_running(struct weir_overlay *o)
{
    o->running = weir_arena_new_n(o->arena, struct weir_running, count_running(o));
    if (o->running == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < o->n_nodes; i++) {
        const struct weir_task *row;

        for (uint32_t task = o->nodes[i].row->first_task; task != WEIR_NONE;
             task = row->next_on_node) {
            row = weir_world_task(o->world, task);
            o->running[o->n_running++] = (struct weir_running){
                .row = row,
                .job = weir_world_workload(o->world, row->workload),
                .shape = weir_world_shape(o->world, weir_world_role(o->world, row->role)->shape),
                .task = task,
                .workload = row->workload,
                .node = i,
            };
        }
    }
    return weir_sort(o->running, o->n_running, sizeof(o->running[0]), compare_running, NULL,
                     o->arena);
}

/* Links running tasks to their nodes and workloads, and gives what is leaving back to SOON. */
static void index_running(struct weir_overlay *o)
{
    for (uint32_t i = o->n_running; i-- > 0;) {
        struct weir_running *r = &o->running[i];
        struct weir_overlay_job *job = &o->jobs[r->workload];

        r->next_on_node = o->nodes[r->node].first_running;
        o->nodes[r->node].first_running = i;
        job->first_running = i;
        job->n_running++;
        if (r->row->state == WEIR_TASK_STOPPING) {
            r->state = WEIR_RUNNING_LEAVING;
            change_running(o, i, WEIR_VIEW_SOON, -1);
        } else {
            job->n_live++;
        }
    }
}

static uint32_t gpu_resources(const struct weir_world *world)
{
    uint32_t set = 0;

    for (uint32_t r = 0; r < weir_world_n_resources(world); r++) {
        uint32_t kind = weir_world_resource(world, r)->kind;

        if (kind == WEIR_RESOURCE_GPU || kind == WEIR_RESOURCE_GPU_CLASS ||
            kind == WEIR_RESOURCE_MIG)
            set |= 1u << r;
    }
    return set;
}

int weir_overlay_init(struct weir_overlay *overlay, const struct weir_world *world, uint32_t fleet,
                      struct weir_arena *arena)
{
    const struct weir_table *workloads = weir_world_table(world, WEIR_TABLE_WORKLOADS);

    *overlay = (struct weir_overlay){
        .world = world,
        .arena = arena,
        .n_resources = weir_world_n_resources(world),
        .gpu_resources = gpu_resources(world),
    };
    overlay->jobs = weir_arena_new_n(arena, struct weir_overlay_job, workloads->n_rows);
    if (overlay->jobs == NULL || load_nodes(overlay, fleet) < 0 || load_queues(overlay, fleet) < 0)
        return WEIR_E_NO_MEMORY;
    if (fleet & WEIR_FLEET_EMPTY)
        return 0;
    if (load_running(overlay) < 0)
        return WEIR_E_NO_MEMORY;
    index_running(overlay);
    return 0;
}
