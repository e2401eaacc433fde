/* A small world out of bytes: every byte decides something, and after the last all are zero. */
#ifndef TESTS_FUZZ_DECIDE_FUZZ_WORLD_H
#define TESTS_FUZZ_DECIDE_FUZZ_WORLD_H

#include "base/err.h"
#include "base/hash.h"
#include "model/policy.h"
#include "model/world_edit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { NODES_MAX = 5, DEVICES_MAX = 5, QUEUES_MAX = 7, JOBS_MAX = 16, TASKS_MAX = 5 };

struct input {
    const uint8_t *data;
    size_t size;
};

static inline uint8_t input_byte(struct input *in)
{
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

static inline uint32_t input_below(struct input *in, uint32_t n)
{
    uint32_t value = input_byte(in);

    if (n > 256)
        value = value << 8 | input_byte(in);
    return value % n;
}

struct builder {
    struct input *in;
    struct weir_edit *edit;
    uint32_t classes[2];
    uint32_t profile;
    uint32_t large_profile;
    uint32_t words[4]; /* strings */
    uint32_t labels;   /* span of a pair */
    uint32_t n_keys;
};

static inline struct weir_key next_key(struct builder *b)
{
    char text[16];
    struct weir_key key;

    /* Keys go neither up nor down with the rows. */
    snprintf(text, sizeof(text), "%u", b->n_keys++);
    weir_hash_key128(WEIR_STR("fuzz"), weir_str(text), key.bytes);
    return key;
}

static inline uint32_t one_of(struct builder *b, const uint32_t *values, uint32_t n)
{
    uint32_t i = input_below(b->in, n + 1);

    return i < n ? values[i] : WEIR_NONE;
}

static inline void build_words(struct builder *b)
{
    static const char *const words[] = {"one", "two", "three", "four"};

    for (uint32_t i = 0; i < 4; i++)
        WEIR_ASSERT(weir_edit_string(b->edit, weir_str(words[i]), &b->words[i]) == 0);
    WEIR_ASSERT(weir_edit_span(b->edit, b->words, 2, &b->labels) == 0);
    WEIR_ASSERT(weir_edit_gpu_class(b->edit, WEIR_STR("a"), &b->classes[0]) == 0);
    WEIR_ASSERT(weir_edit_gpu_class(b->edit, WEIR_STR("b"), &b->classes[1]) == 0);
    WEIR_ASSERT(
        weir_edit_resource(b->edit, WEIR_RESOURCE_MIG, WEIR_STR("mig/1g"), 1000, &b->profile) == 0);
    WEIR_ASSERT(weir_edit_resource(b->edit, WEIR_RESOURCE_MIG, WEIR_STR("mig/3g"), 1000,
                                   &b->large_profile) == 0);
}

/* ---- the fleet ---- */

static inline uint32_t build_device(struct builder *b, uint32_t node, uint32_t index,
                                    uint32_t parent)
{
    struct input *in = b->in;
    struct weir_key key = next_key(b);
    struct weir_device device = {
        .instance = WEIR_NONE,
        .offers = WEIR_NONE,
        .layout = WEIR_NONE,
        .change_cause = WEIR_NONE,
        .uuid = b->words[0],
        .model = b->words[1],
        .node = node,
        .parent = parent,
        .index = index,
        .kind = parent == WEIR_NONE ? WEIR_DEVICE_WHOLE : WEIR_DEVICE_MIG,
        .health = input_below(in, 8) == 0 ? WEIR_DEVICE_UNHEALTHY : WEIR_DEVICE_HEALTHY,
        .binder = input_below(in, 8) == 0 ? WEIR_BINDER_KUBELET : WEIR_BINDER_OURS,
        .gpu_class = b->classes[input_below(in, 2)],
        .mig_profile = parent == WEIR_NONE ? WEIR_NONE : b->profile,
        .cordoned = input_below(in, 8) == 0,
        .numa = input_below(in, 3),
        .nvlink = one_of(b, b->words, 2),
        .isolation = input_below(in, WEIR_ISOLATION_MAX),
        .max_sharers = 1 + input_below(in, 4),
        .n_foreign = input_below(in, 8) == 0,
        .memory_bytes = (int64_t)input_below(in, 5) << 33,
        .memory_foreign_bytes = (int64_t)input_below(in, 3) << 32,
        .health_cause = WEIR_NONE,
    };
    uint32_t row;

    WEIR_ASSERT(weir_edit_add_device(b->edit, &key, &device, &row) == 0);
    return row;
}

static inline void build_node(struct builder *b)
{
    struct input *in = b->in;
    struct weir_key key = next_key(b);
    uint32_t n_devices = input_below(in, DEVICES_MAX);
    struct weir_node node = {
        .name = b->words[input_below(in, 4)],
        .pool = WEIR_NONE,
        .phase = input_below(in, 4) == 0 ? input_below(in, WEIR_NODE_PHASE_MAX) : WEIR_NODE_READY,
        .rank = input_below(in, 3),
        .labels = input_below(in, 2) == 0 ? WEIR_NONE : b->labels,
        .taints = WEIR_NONE,
        .phase_cause = WEIR_NONE,
    };
    uint32_t row;

    for (uint32_t i = 0; i < WEIR_TOPOLOGY_LEVELS; i++)
        node.topology[i] = one_of(b, b->words, 3);
    node.capacity.of[WEIR_RES_GPU] = 1000 * (int64_t)n_devices;
    node.capacity.of[b->classes[0]] = node.capacity.of[WEIR_RES_GPU];
    node.capacity.of[b->classes[1]] = node.capacity.of[WEIR_RES_GPU];
    node.capacity.of[b->profile] = 1000 * (int64_t)input_below(in, 3);
    node.capacity.of[WEIR_RES_CPU] = 1000 * (int64_t)input_below(in, 9);
    node.capacity.of[WEIR_RES_MEMORY] = (int64_t)input_below(in, 9) << 33;
    node.foreign.of[WEIR_RES_CPU] = 500 * (int64_t)input_below(in, 3);
    WEIR_ASSERT(weir_edit_add_node(b->edit, &key, &node, &row) == 0);
    for (uint32_t i = 0; i < n_devices; i++) {
        uint32_t device = build_device(b, row, i, WEIR_NONE);

        if (input_below(in, 6) == 0)
            build_device(b, row, i + 10, device);
    }
}

/* ---- queues ---- */

static inline void build_queue(struct builder *b, uint32_t *rows, uint32_t n)
{
    struct input *in = b->in;
    struct weir_key key = next_key(b);
    struct weir_queue queue = {
        .name = b->words[input_below(in, 4)],
        .parent = one_of(b, rows, n),
        .priority = (int32_t)input_below(in, 3) - 1,
        .weight = input_below(in, 4),
        .isolation = input_below(in, 4) == 0 ? input_below(in, WEIR_ISOLATION_MAX) : 0,
        .over_budget = input_below(in, WEIR_OVER_BUDGET_MAX),
        .preemptible = input_below(in, 4) > 0,
        .created_wall_ms = input_below(in, 3),
        .run_limit_ms = input_below(in, 6) == 0 ? 100 : INT64_MAX,
        .budget_uusd = INT64_MAX,
        .open_hours = WEIR_NONE,
    };

    if (input_below(in, 8) == 0) {
        uint32_t hours[2] = {input_below(in, 64), 64 + input_below(in, 64)};

        WEIR_ASSERT(weir_edit_span(b->edit, hours, 2, &queue.open_hours) == 0);
    }
    for (uint32_t r = 0; r < WEIR_RESOURCE_MAX; r++)
        queue.limit.of[r] = INT64_MAX;
    queue.guaranteed.of[WEIR_RES_GPU] = 500 * (int64_t)input_below(in, 7);
    queue.guaranteed.of[WEIR_RES_CPU] = 1000 * (int64_t)input_below(in, 4);
    queue.guaranteed.of[WEIR_RES_MEMORY] = (int64_t)input_below(in, 4) << 33;
    queue.guaranteed.of[b->classes[0]] = 1000 * (int64_t)input_below(in, 3);
    if (input_below(in, 3) == 0)
        queue.limit.of[input_below(in, 6)] = 1000 * (int64_t)input_below(in, 6);
    WEIR_ASSERT(weir_edit_add_queue(b->edit, &key, &queue, &rows[n]) == 0);
}

/* ---- jobs ---- */

static inline void add_amount(struct weir_shape *shape, uint32_t resource, int64_t amount)
{
    if (amount > 0)
        shape->amounts[shape->n_amounts++] =
            (struct weir_shape_amount){.resource = resource, .amount = amount};
}

static inline uint32_t build_shape(struct builder *b)
{
    struct input *in = b->in;
    uint32_t kind = input_below(in, 8);
    bool is_mig = kind == 0;
    bool is_share = kind == 1 || kind == 7;
    uint32_t profile = kind == 0 && input_below(in, 3) == 2 ? b->large_profile : b->profile;
    struct weir_shape shape = {
        .gpu_class = input_below(in, 4) == 0 ? b->classes[input_below(in, 2)] : WEIR_NONE,
        .mig_profile = is_mig ? profile : WEIR_NONE,
        .isolation = input_below(in, 6) == 0 ? input_below(in, WEIR_ISOLATION_MAX) : 0,
        .n_devices = is_mig || is_share ? 1 : input_below(in, 4),
        .device_mgpu = is_share ? 100 * (int64_t)(1 + input_below(in, 9)) : 1000,
        .device_memory_bytes = (int64_t)input_below(in, 3) << 32,
        .labels = input_below(in, 6) == 0 ? b->labels : WEIR_NONE,
    };
    int64_t mgpu = shape.device_mgpu * shape.n_devices;
    uint32_t row;

    add_amount(&shape, WEIR_RES_GPU, is_mig ? 0 : mgpu);
    add_amount(&shape, WEIR_RES_CPU, 500 * (int64_t)input_below(in, 5));
    add_amount(&shape, WEIR_RES_MEMORY, (int64_t)input_below(in, 4) << 32);
    if (is_mig)
        add_amount(&shape, profile, mgpu);
    else if (shape.gpu_class != WEIR_NONE)
        add_amount(&shape, shape.gpu_class, mgpu);
    WEIR_ASSERT(weir_edit_shape(b->edit, &shape, &row) == 0);
    return row;
}

static inline void build_job(struct builder *b, const uint32_t *queues, uint32_t n_queues)
{
    struct input *in = b->in;
    struct weir_key key = next_key(b);
    uint32_t n_roles = 1 + (input_below(in, 4) == 0);
    struct weir_role roles[2] = {0};
    struct weir_workload job = {
        .number = b->n_keys,
        .queue = queues[input_below(in, n_queues)],
        .owner = WEIR_NONE,
        .class = input_below(in, WEIR_CLASS_MAX),
        .priority = (int32_t)input_below(in, 6) - 2,
        .preemptible = input_below(in, 6) > 0,
        .independent = input_below(in, 3) == 0,
        .held = input_below(in, 12) == 0,
        .retries_max = input_below(in, 3),
        .retry_on = WEIR_NONE,
        .submitted_wall_ms = input_below(in, 4),
        .not_before_wall_ms = input_below(in, 8) == 0 ? 1000500 : 0,
        .runtime = {.limit_ms = input_below(in, 3) == 0 ? 1000 : INT64_MAX,
                    .p50_ms = input_below(in, 3) * 500,
                    .p90_ms = input_below(in, 3) * 900},
        .topology = {WEIR_NONE, WEIR_NONE, WEIR_NONE, 0},
    };
    uint32_t n_tasks = 0;
    uint32_t row;

    if (input_below(in, 4) == 0)
        job.topology.required = input_below(in, WEIR_TOPOLOGY_LEVELS);
    if (input_below(in, 4) == 0)
        job.topology.preferred = input_below(in, WEIR_TOPOLOGY_LEVELS);
    for (uint32_t i = 0; i < n_roles; i++) {
        roles[i].name = WEIR_NONE;
        roles[i].shape = build_shape(b);
        roles[i].n_tasks = 1 + input_below(in, TASKS_MAX);
        roles[i].n_min = input_below(in, roles[i].n_tasks + 1);
        n_tasks += roles[i].n_tasks;
    }
    job.gang_min = input_below(in, n_tasks + 1);
    /* A queue with children takes none. */
    WEIR_ASSERT(weir_edit_add_workload(b->edit, &key, &job, roles, n_roles, &row) !=
                WEIR_E_NO_MEMORY);
}

/* ---- how GPUs are cut and shared ---- */

static inline bool has_instances(const struct weir_world *view, uint32_t row)
{
    for (uint32_t at = weir_world_first(view, WEIR_TABLE_DEVICES); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_DEVICES, at))
        if (weir_world_device(view, at)->parent == row)
            return true;
    return false;
}

static inline void make_cuttable(struct builder *b, struct weir_device *device)
{
    const struct weir_mig_offer offers[] = {{.profile = b->profile,
                                             .driver_id = 0,
                                             .slices = 1,
                                             .size = 1,
                                             .starts = 0x7f,
                                             .instances_max = 7,
                                             .memory_mib = 4864},
                                            {.profile = b->large_profile,
                                             .driver_id = 1,
                                             .slices = 3,
                                             .size = 4,
                                             .starts = 0x11,
                                             .instances_max = 2,
                                             .memory_mib = 19968}};
    const uint32_t layout[] = {b->profile, 1 + input_below(b->in, 3), b->large_profile, 1};

    device->mig = WEIR_MIG_OFF + input_below(b->in, 2);
    device->mig_wanted = input_below(b->in, WEIR_MIG_MODE_MAX);
    device->slots = 0xff;
    WEIR_ASSERT(weir_edit_span(b->edit, (const uint32_t *)offers, 2 * WEIR_MIG_OFFER_CELLS,
                               &device->offers) == 0);
    if (input_below(b->in, 2) == 1)
        WEIR_ASSERT(weir_edit_span(b->edit, layout, 4, &device->layout) == 0);
}

static inline void make_shared(struct builder *b, struct weir_device *device)
{
    device->sharing = input_below(b->in, WEIR_SHARING_MAX);
    device->can_mps = input_below(b->in, 2);
    device->max_sharers = 1 + input_below(b->in, 16);
    if (device->sharing == WEIR_SHARING_REPLICAS)
        device->replicas = 2 + input_below(b->in, 15);
}

/* Behind all else, so that older inputs build what they built. */
static inline void build_sharing(struct builder *b)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t n = weir_world_table(view, WEIR_TABLE_DEVICES)->n_rows;

    for (uint32_t row = 0; row < n; row++) {
        uint32_t what = input_below(b->in, 4);
        struct weir_device *device;

        if (what < 2 || weir_world_device(view, row)->kind != WEIR_DEVICE_WHOLE ||
            has_instances(view, row))
            continue;
        device = weir_edit_device(b->edit, row);
        WEIR_ASSERT(device != NULL);
        if (what == 2)
            make_cuttable(b, device);
        else
            make_shared(b, device);
    }
}

static inline struct weir_edit *build_world(struct input *in)
{
    static const uint8_t boot[16] = {1};
    struct builder b = {.in = in, .edit = weir_edit_create(boot)};
    uint32_t queues[QUEUES_MAX];
    uint32_t n_queues;

    WEIR_ASSERT(b.edit != NULL);
    build_words(&b);
    for (uint32_t n = 1 + input_below(in, NODES_MAX); n > 0; n--)
        build_node(&b);
    n_queues = 1 + input_below(in, QUEUES_MAX);
    for (uint32_t i = 0; i < n_queues; i++)
        build_queue(&b, queues, i);
    for (uint32_t n = input_below(in, JOBS_MAX); n > 0; n--)
        build_job(&b, queues, n_queues);
    build_sharing(&b);
    return b.edit;
}

#endif
