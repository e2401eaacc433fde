/* A small world that has something of everything; then each promise is broken by itself, and the
 * check has to name the very field. */
#include "base/err.h"
#include "base/units.h"
#include "model/world_check.h"
#include "model/world_edit.h"
#include "world_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Row indices of the fixture: rows are numbered in the order in which they are made. */
enum { NODE_A, NODE_B };
enum { DEVICE_WHOLE, DEVICE_SHARED, DEVICE_SLICED, DEVICE_INSTANCE, DEVICE_B };
enum { QUEUE_ROOT, QUEUE_LEFT, QUEUE_RIGHT, QUEUE_OTHER };
enum { WORKLOAD_GANG, WORKLOAD_SECOND, WORKLOAD_RIGHT, WORKLOAD_OTHER };
enum { SHAPE_CPU, SHAPE_GPU, SHAPE_SHARE };
enum { CLASS_H100 = 3, PROFILE_1G = 4 };

struct fixture {
    struct weir_edit *edit;
    const struct weir_world *world; /* the second version: it has a change list */
    uint32_t labels;                /* spans */
    uint32_t taints;
    uint32_t hours;
    uint32_t statuses;
    uint32_t gang[3]; /* tasks: running on NODE_A, starting on it, queued */
    uint32_t second;  /* stopping on NODE_A */
    uint32_t ended;   /* of WORKLOAD_RIGHT, was on NODE_B */
};

static void must(int result)
{
    assert_int_equal(result, 0);
}

static struct weir_key key(uint64_t n)
{
    return weir_key_of_number(9, n);
}

static uint32_t string(struct fixture *f, const char *text)
{
    uint32_t index = 0;

    must(weir_edit_string(f->edit, weir_str(text), &index));
    return index;
}

static void make_interned(struct fixture *f)
{
    struct weir_shape shapes[] = {
        {.n_amounts = 1,
         .gpu_class = WEIR_NONE,
         .mig_profile = WEIR_NONE,
         .labels = WEIR_NONE,
         .amounts = {{WEIR_RES_CPU, 0, 4000}}},
        {.n_amounts = 2,
         .gpu_class = CLASS_H100,
         .mig_profile = WEIR_NONE,
         .device_mgpu = 1000,
         .n_devices = 1,
         .isolation = WEIR_ISOLATION_HARDWARE,
         .amounts = {{WEIR_RES_GPU, 0, 1000}, {WEIR_RES_MEMORY, 0, WEIR_GIB}}},
        {.n_amounts = 1,
         .gpu_class = WEIR_NONE,
         .mig_profile = WEIR_NONE,
         .device_mgpu = 250,
         .device_memory_bytes = 10 * WEIR_GIB,
         .n_devices = 1,
         .labels = WEIR_NONE,
         .amounts = {{WEIR_RES_GPU, 0, 250}}},
    };
    const uint32_t pairs[] = {string(f, "zone"), string(f, "a"), string(f, "disk"),
                              string(f, "ssd")};
    const uint32_t taint[] = {pairs[0], pairs[1], string(f, "NoSchedule")};
    const uint32_t hours[] = {480, 1080, 1920, 2520};
    const uint32_t statuses[] = {1, 137};
    uint32_t index;

    must(weir_edit_span(f->edit, pairs, 4, &f->labels));
    must(weir_edit_span(f->edit, taint, 3, &f->taints));
    must(weir_edit_span(f->edit, hours, 4, &f->hours));
    must(weir_edit_span(f->edit, statuses, 2, &f->statuses));
    must(weir_edit_resource(f->edit, WEIR_RESOURCE_GPU_CLASS, WEIR_STR("gpu/h100"), 1000, &index));
    assert_int_equal(index, CLASS_H100);
    must(weir_edit_resource(f->edit, WEIR_RESOURCE_MIG, WEIR_STR("mig/1g.10gb"), 1000, &index));
    assert_int_equal(index, PROFILE_1G);
    shapes[SHAPE_GPU].labels = f->labels;
    for (uint32_t i = 0; i < 3; i++) {
        must(weir_edit_shape(f->edit, &shapes[i], &index));
        assert_int_equal(index, i);
    }
}

static void make_fleet(struct fixture *f)
{
    struct weir_node node = {.name = string(f, "node-a"),
                             .pool = string(f, "pool"),
                             .phase = WEIR_NODE_READY,
                             .labels = f->labels,
                             .taints = f->taints,
                             .phase_cause = WEIR_NONE};
    struct weir_device device = {.uuid = string(f, "GPU-1"),
                                 .model = string(f, "H100"),
                                 .node = NODE_A,
                                 .parent = WEIR_NONE,
                                 .gpu_class = CLASS_H100,
                                 .mig_profile = WEIR_NONE,
                                 .nvlink = WEIR_NONE,
                                 .numa = WEIR_NONE,
                                 .health_cause = WEIR_NONE,
                                 .slots = 0xff,
                                 .max_sharers = 1,
                                 .memory_bytes = 80 * WEIR_GIB};
    struct weir_key k;
    uint32_t index;

    for (int i = 0; i < WEIR_TOPOLOGY_LEVELS; i++)
        node.topology[i] = WEIR_NONE;
    node.capacity.of[WEIR_RES_GPU] = 4000;
    for (uint32_t i = 0; i < 2; i++) {
        k = key(i + 1);
        must(weir_edit_add_node(f->edit, &k, &node, &index));
    }
    for (uint32_t i = 0; i <= DEVICE_B; i++) {
        struct weir_device like = device;

        like.node = i == DEVICE_B ? NODE_B : NODE_A;
        if (i == DEVICE_SHARED)
            like.max_sharers = 2;
        if (i == DEVICE_SLICED)
            like.slots_used = 3;
        if (i == DEVICE_INSTANCE) {
            like.kind = WEIR_DEVICE_MIG;
            like.parent = DEVICE_SLICED;
            like.mig_profile = PROFILE_1G;
            like.slots = 3;
        }
        k = key(i + 1);
        must(weir_edit_add_device(f->edit, &k, &like, &index));
        assert_int_equal(index, i);
    }
}

static void make_queues(struct fixture *f)
{
    struct weir_queue queue = {.name = string(f, "queue"),
                               .weight = 1,
                               .run_limit_ms = INT64_MAX,
                               .budget_uusd = INT64_MAX,
                               .open_hours = f->hours};
    static const uint32_t parents[] = {WEIR_NONE, QUEUE_ROOT, QUEUE_ROOT, WEIR_NONE};
    struct weir_key k;
    uint32_t index;

    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        queue.limit.of[i] = INT64_MAX;
    for (uint32_t i = 0; i < 4; i++) {
        queue.parent = parents[i];
        k = key(i + 1);
        must(weir_edit_add_queue(f->edit, &k, &queue, &index));
        assert_int_equal(index, i);
    }
}

static void make_workloads(struct fixture *f)
{
    static const uint32_t queues[] = {QUEUE_LEFT, QUEUE_LEFT, QUEUE_RIGHT, QUEUE_OTHER};
    struct weir_workload workload = {.owner = string(f, "ann"),
                                     .gang_min = 1,
                                     .retry_on = f->statuses,
                                     .runtime = {.limit_ms = INT64_MAX},
                                     .topology = {.required = WEIR_TOPOLOGY_RACK,
                                                  .preferred = WEIR_NONE,
                                                  .slice_level = WEIR_NONE}};
    struct weir_role roles[2] = {{.name = WEIR_NONE, .shape = SHAPE_GPU, .n_tasks = 1, .n_min = 1},
                                 {.name = WEIR_NONE, .shape = SHAPE_SHARE, .n_tasks = 2}};
    uint32_t index;

    for (uint32_t i = 0; i < 4; i++) {
        struct weir_key k = key(i + 1);

        workload.number = i + 1;
        workload.queue = queues[i];
        must(weir_edit_add_workload(f->edit, &k, &workload, roles, i == 0 ? 2 : 1, &index));
        assert_int_equal(index, i);
    }
}

static void run_tasks(struct fixture *f)
{
    const struct weir_world *world = weir_edit_view(f->edit);
    struct weir_grant whole = {.device = DEVICE_WHOLE, .part_mgpu = 1000};
    struct weir_grant part = {.device = DEVICE_SHARED,
                              .part_mgpu = 250,
                              .memory_bytes = 10 * WEIR_GIB};
    struct weir_grant slice = {.device = DEVICE_SLICED, .part_mgpu = 1000, .slots = 4};
    struct weir_grant b = {.device = DEVICE_B, .part_mgpu = 1000};

    f->gang[0] = weir_world_workload(world, WORKLOAD_GANG)->first_task;
    f->gang[1] = weir_world_task(world, f->gang[0])->next_in_workload;
    f->gang[2] = weir_world_task(world, f->gang[1])->next_in_workload;
    f->second = weir_world_workload(world, WORKLOAD_SECOND)->first_task;
    f->ended = weir_world_workload(world, WORKLOAD_RIGHT)->first_task;
    must(weir_edit_task_start(f->edit, f->gang[0], NODE_A, &whole, 1, 1000, 10));
    must(weir_edit_task_state(f->edit, f->gang[0], WEIR_TASK_RUNNING));
    must(weir_edit_task_start(f->edit, f->gang[1], NODE_A, &part, 1, 1000, 10));
    must(weir_edit_task_start(f->edit, f->second, NODE_A, &slice, 1, 1000, 10));
    must(weir_edit_task_state(f->edit, f->second, WEIR_TASK_STOPPING));
    must(weir_edit_task_start(f->edit, f->ended, NODE_B, &b, 1, 1000, 10));
    must(weir_edit_task_state(f->edit, f->ended, WEIR_TASK_SUCCEEDED));
}

static void make_plain(struct fixture *f)
{
    struct weir_signal signal = {.metric = string(f, "util"), .valid = 1};
    struct weir_intent intent = {.device = DEVICE_B, .node = NODE_B};
    struct weir_price price = {.gpu_class = CLASS_H100,
                               .pool = WEIR_NONE,
                               .source = string(f, "list")};
    struct weir_key k;
    uint32_t index;

    for (uint64_t i = 1; i <= 3; i++) {
        k = key(i);
        must(weir_edit_add_signal(f->edit, &k, &signal, &index));
    }
    must(weir_edit_remove_plain(f->edit, WEIR_TABLE_SIGNALS, 1));
    k = key(1);
    must(weir_edit_add_intent(f->edit, &k, &intent, &index));
    must(weir_edit_add_price(f->edit, &k, &price, &index));
}

static int set_up(void **state)
{
    static const uint8_t boot_id[16] = {1};
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    f.edit = weir_edit_create(boot_id);
    assert_non_null(f.edit);
    make_interned(&f);
    make_fleet(&f);
    weir_world_unref(weir_edit_seal(f.edit));
    make_queues(&f);
    make_workloads(&f);
    run_tasks(&f);
    make_plain(&f);
    f.world = weir_edit_seal(f.edit);
    assert_non_null(f.world);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    weir_world_unref(f->world);
    weir_edit_destroy(f->edit);
    return 0;
}

/* ---- breaking ---- */

static void *mutable(const void *row)
{
    return (void *)(uintptr_t)row;
}

static void expect(const struct fixture *f, const char *field, const char *text)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r = weir_world_check(f->world, &err);

    if (r != WEIR_E_INVALID || strcmp(err.field, field) != 0 || strstr(err.text, text) == NULL)
        fail_msg("expected %s, '%s': got %d, %s, '%s'", field, text, r, err.field, err.text);
    assert_int_equal(weir_world_check(f->world, NULL), WEIR_E_INVALID);
}

static void expect_whole(const struct fixture *f)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_world_check(f->world, &err) < 0)
        fail_msg("%s", err.text);
}

/* One value written over one field. */
struct fault {
    enum weir_table_id table;
    uint32_t index;
    uint32_t offset;
    uint32_t size;
    int64_t value;
    const char *field; /* as the check must name it */
    const char *text;  /* and what it must say */
};

#define FAULT(id, index, type, member, value, text)                                                \
    FAULT_NAMED(id, index, type, member, value, #member, text)
#define FAULT_NAMED(id, index, type, member, value, name, text)                                    \
    {                                                                                              \
        WEIR_TABLE_##id, index, (uint32_t)offsetof(struct type, member),                           \
            (uint32_t)sizeof(((struct type *)NULL)->member), value, name, text                     \
    }

static void break_each(const struct fixture *f, const struct fault *faults, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct fault *fault = &faults[i];
        char *row = mutable(weir_table_row(&f->world->tables[fault->table], fault->index));
        char kept[2048];
        char field[128];

        assert_true(weir_table_row_bytes(fault->table) <= sizeof(kept));
        memcpy(kept, row, weir_table_row_bytes(fault->table));
        memcpy(row + fault->offset, &fault->value, fault->size);
        snprintf(field, sizeof(field), "%s[%u].%s", weir_table_name(fault->table), fault->index,
                 fault->field);
        expect(f, field, fault->text);
        memcpy(row, kept, weir_table_row_bytes(fault->table));
    }
    expect_whole(f);
}

#define BREAK_EACH(f, faults) break_each(f, faults, sizeof(faults) / sizeof((faults)[0]))

static void is_whole_to_begin_with(void **state)
{
    const struct fixture *f = *state;

    expect_whole(f);
    assert_int_equal(weir_world_check(weir_edit_view(f->edit), NULL), 0);
    assert_false(f->world->is_keyframe);
}

static void names_faults_of_resources_and_shapes(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT_NAMED(RESOURCES, 0, weir_resource, kind, WEIR_RESOURCE_CPU, "name",
                    "must be 'gpu' of kind 0"),
        FAULT(RESOURCES, 4, weir_resource, kind, WEIR_RESOURCE_KIND_MAX, "is 6, not below 6"),
        FAULT(RESOURCES, 3, weir_resource, name, 9999, "is 9999, not a string"),
        FAULT(RESOURCES, 2, weir_resource, name, 0, "must be 'memory'"),
        FAULT(RESOURCES, 4, weir_resource, name, weir_world_resource(f->world, 3)->name,
              "is that of row 3 as well"),
        FAULT(RESOURCES, 3, weir_resource, grain, 0, "is 0"),
        FAULT(RESOURCES, 3, weir_resource, grain, -1, "is -1, not within"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, n_amounts, 9, "is 9, not below 9"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, n_amounts, 3, "amounts[2]",
                    "resource 0 after 2"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, n_amounts, 1, "amounts[1]",
                    "not used, but not zero"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[0].resource, 5, "amounts[0]",
                    "names resource 5 of 5"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[1].resource, 0, "amounts[1]",
                    "names resource 0 after 0"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[1].amount, 0, "amounts[1]",
                    "is 0, not within 1"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[1].amount, WEIR_AMOUNT_MAX + 1,
                    "amounts[1]", "not within 1"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[0].reserved, 1, "amounts[0]",
                    "not zero"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, gpu_class, PROFILE_1G, "not a resource of kind 1"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, gpu_class, 5, "is 5, not a resource"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, mig_profile, CLASS_H100, "not a resource of kind 2"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, isolation, WEIR_ISOLATION_MAX, "not below 3"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, device_mgpu, 1001, "not within 1 and 1000"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, device_mgpu, 0, "is 0 for 1 devices"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, device_memory_bytes, -1, "is -1, not within"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, labels, 1, "is 1, not a span"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, labels, 12345678, "not a span"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_nodes(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(NODES, NODE_A, weir_node, name, 9999, "not a string"),
        FAULT(NODES, NODE_A, weir_node, pool, 9999, "not a string"),
        FAULT(NODES, NODE_A, weir_node, phase, WEIR_NODE_PHASE_MAX, "is 7, not below 7"),
        FAULT_NAMED(NODES, NODE_B, weir_node, topology[2], 9999, "topology[2]", "not a string"),
        FAULT(NODES, NODE_A, weir_node, labels, f->taints, "not of groups of 2"),
        FAULT(NODES, NODE_A, weir_node, taints, f->labels, "not of groups of 3"),
        FAULT(NODES, NODE_A, weir_node, labels, f->hours, "has 480 in cell 0 of its span"),
        FAULT(NODES, NODE_A, weir_node, n_devices, 3, "is 3, its list has 4"),
        FAULT(NODES, NODE_A, weir_node, first_device, 77, "not a live row of devices"),
        FAULT(NODES, NODE_A, weir_node, first_device, DEVICE_B, "which is not of it"),
        FAULT(NODES, NODE_A, weir_node, first_task, 77, "not a live row of tasks"),
        FAULT(NODES, NODE_A, weir_node, first_task, f->ended, "which is not of it"),
        FAULT(NODES, NODE_A, weir_node, first_task, f->gang[2], "which is not of it"),
        FAULT(NODES, NODE_A, weir_node, phase_cause, 9999, "not a string"),
        FAULT(NODES, NODE_A, weir_node, reserved, 1, "is not 0"),
        FAULT(NODES, NODE_A, weir_node, ready_p50_wall_ms, -1, "is -1, not within"),
        FAULT(NODES, NODE_A, weir_node, ready_p90_wall_ms, INT64_MAX, "not within"),
        FAULT_NAMED(NODES, NODE_A, weir_node, capacity.of[3], -1, "capacity[3]", "is -1"),
        FAULT_NAMED(NODES, NODE_B, weir_node, capacity.of[0], WEIR_AMOUNT_MAX, "capacity[0]",
                    "sum over the table"),
        FAULT_NAMED(NODES, NODE_A, weir_node, foreign.of[31], WEIR_AMOUNT_MAX + 1, "foreign[31]",
                    "not within"),
        FAULT_NAMED(NODES, NODE_A, weir_node, held.of[0], 2249, "held[0]",
                    "is 2249, its tasks sum to 2250"),
        FAULT_NAMED(NODES, NODE_B, weir_node, held.of[31], 1, "held[31]",
                    "is 1, its tasks sum to 0"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_devices(void **state)
{
    const struct fault faults[] = {
        FAULT(DEVICES, DEVICE_B, weir_device, uuid, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, model, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, nvlink, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, health_cause, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, node, WEIR_NONE, "not a live row of nodes"),
        FAULT(DEVICES, DEVICE_B, weir_device, node, 2, "not a live row of nodes"),
        FAULT(DEVICES, DEVICE_B, weir_device, parent, 77, "not a live row of devices"),
        FAULT(DEVICES, DEVICE_B, weir_device, parent, DEVICE_WHOLE, "no parent for kind 0"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, parent, DEVICE_INSTANCE, "no parent for kind"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, parent, DEVICE_B, "on node 1, not on node 0"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, kind, WEIR_DEVICE_KIND_MAX, "not below 4"),
        FAULT_NAMED(DEVICES, DEVICE_B, weir_device, kind, WEIR_DEVICE_MIG, "mig_profile",
                    "device of kind 1"),
        FAULT(DEVICES, DEVICE_B, weir_device, health, WEIR_DEVICE_HEALTH_MAX, "not below 4"),
        FAULT(DEVICES, DEVICE_B, weir_device, binder, WEIR_BINDER_MAX, "not below 3"),
        FAULT(DEVICES, DEVICE_B, weir_device, gpu_class, PROFILE_1G, "not a resource of kind 1"),
        FAULT(DEVICES, DEVICE_B, weir_device, mig_profile, CLASS_H100, "not a resource of kind 2"),
        FAULT(DEVICES, DEVICE_B, weir_device, mig_profile, PROFILE_1G, "for a device of kind 0"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, mig_profile, WEIR_NONE, "device of kind 1"),
        FAULT(DEVICES, DEVICE_B, weir_device, cordoned, 2, "not below 2"),
        FAULT(DEVICES, DEVICE_B, weir_device, isolation, WEIR_ISOLATION_MAX, "not below 3"),
        FAULT(DEVICES, DEVICE_B, weir_device, slots_used, 0x100, "not within its slots 0xff"),
        FAULT(DEVICES, DEVICE_B, weir_device, max_sharers, 0, "is 0"),
        FAULT(DEVICES, DEVICE_B, weir_device, memory_bytes, -1, "is -1, not within"),
        FAULT(DEVICES, DEVICE_B, weir_device, memory_foreign_bytes, INT64_MIN, "not within"),
        FAULT(DEVICES, DEVICE_B, weir_device, reserved, 7, "is not 0"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, first_hold, 77, "not a live row of holds"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, n_sharers, 0, "is 0, its list has 1"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, held_mgpu, 999, "is 999, its holds sum to 1000"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, held_mgpu, -1, "is -1, not within"),
        FAULT(DEVICES, DEVICE_SHARED, weir_device, held_memory_bytes, 1, "its holds sum to"),
        FAULT_NAMED(DEVICES, DEVICE_SHARED, weir_device, memory_bytes, 10 * WEIR_GIB - 1,
                    "held_memory_bytes", "more than the 10737418239 it has"),
    };

    BREAK_EACH(*state, faults);
}

static struct weir_device *device(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_device(f->world, index));
}

static struct weir_hold *hold(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_hold(f->world, index));
}

static struct weir_task *task(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_task(f->world, index));
}

static struct weir_queue *queue(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_queue(f->world, index));
}

static struct weir_workload *workload(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_workload(f->world, index));
}

static void names_circles_of_devices(void **state)
{
    const struct fixture *f = *state;

    /* The newest is first. */
    device(f, DEVICE_WHOLE)->next_on_node = DEVICE_INSTANCE;
    expect(f, "devices[3].next_on_node", "into a list twice, or into a circle");
    device(f, DEVICE_WHOLE)->next_on_node = DEVICE_B;
    expect(f, "nodes[0].first_device", "leads to row 4 of devices, which is not of it");
}

static void no_device_is_given_out_twice(void **state)
{
    const struct fixture *f = *state;
    uint32_t whole = device(f, DEVICE_WHOLE)->first_hold;
    uint32_t slice = device(f, DEVICE_SLICED)->first_hold;
    uint32_t index;
    struct weir_grant more = {.device = DEVICE_SHARED, .part_mgpu = 1};

    hold(f, whole)->part_mgpu = 1001;
    device(f, DEVICE_WHOLE)->held_mgpu = 1001;
    expect(f, "devices[0].held_mgpu", "is 1001, more than the device has");
    hold(f, whole)->part_mgpu = 1000;
    device(f, DEVICE_WHOLE)->held_mgpu = 1000;
    hold(f, slice)->slots = 0x80;
    expect(f, "holds[2].slots", "not in use on its device");
    hold(f, slice)->slots = 4;
    expect_whole(f);
    /* Two tasks with the same slice, then one sharer too many. */
    device(f, DEVICE_SHARED)->max_sharers = 1;
    must(weir_edit_task_start(f->edit, f->gang[2], NODE_A, &more, 1, 1, 1));
    weir_world_unref(f->world);
    ((struct fixture *)*state)->world = weir_edit_seal(f->edit);
    device(f, DEVICE_SHARED)->max_sharers = 1;
    expect(f, "devices[1].n_sharers", "is 2, more than its 1");
    device(f, DEVICE_SHARED)->max_sharers = 2;
    index = device(f, DEVICE_SHARED)->first_hold;
    device(f, DEVICE_SHARED)->slots_used = 1;
    hold(f, index)->slots = 1;
    hold(f, hold(f, index)->next_of_device)->slots = 1;
    expect(f, "holds[1].slots", "is 0x1, taken by another hold");
}

static void names_faults_of_holds(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(HOLDS, 0, weir_hold, device, 77, "not a live row of devices"),
        FAULT(HOLDS, 0, weir_hold, device, WEIR_NONE, "not a live row of devices"),
        FAULT(HOLDS, 0, weir_hold, task, 77, "not a live row of tasks"),
        FAULT(HOLDS, 0, weir_hold, next_of_device, 77, "not a live row of holds"),
        FAULT(HOLDS, 0, weir_hold, next_of_task, 77, "not a live row of holds"),
        FAULT(HOLDS, 0, weir_hold, next_of_device, 0, "twice, or into a circle"),
        FAULT(HOLDS, 0, weir_hold, next_of_task, 0, "twice, or into a circle"),
        FAULT(HOLDS, 0, weir_hold, part_mgpu, -1, "is -1, not within"),
        FAULT(HOLDS, 0, weir_hold, memory_bytes, -1, "is -1, not within"),
        FAULT_NAMED(HOLDS, 0, weir_hold, reserved[2], 1, "reserved", "is not 0"),
    };
    char field[64];

    BREAK_EACH(f, faults);
    task(f, f->gang[0])->first_hold = WEIR_NONE;
    expect(f, "holds[0].next_of_task", "in no list of tasks");
    task(f, f->gang[0])->first_hold = 0;
    hold(f, 0)->task = f->ended;
    snprintf(field, sizeof(field), "tasks[%u].first_hold", f->gang[0]);
    expect(f, field, "leads to row 0 of holds, which is not of it");
    task(f, f->ended)->first_hold = 0;
    task(f, f->gang[0])->first_hold = WEIR_NONE;
    expect(f, "holds[0].task", "which is succeeded and holds nothing");
    task(f, f->ended)->first_hold = WEIR_NONE;
    task(f, f->gang[0])->first_hold = 0;
    hold(f, 0)->task = f->gang[0];
    expect_whole(f);
    /* On a device of another node. */
    hold(f, 0)->device = DEVICE_B;
    device(f, DEVICE_B)->first_hold = 0;
    device(f, DEVICE_B)->n_sharers = 1;
    device(f, DEVICE_WHOLE)->first_hold = WEIR_NONE;
    device(f, DEVICE_WHOLE)->n_sharers = 0;
    device(f, DEVICE_WHOLE)->held_mgpu = 0;
    expect(f, "holds[0].device", "is 4 on node 1, its task is on node 0");
}

static void names_faults_of_queues(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, name, 9999, "not a string"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, parent, 77, "not a live row of queues"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, first_child, 77, "not a live row of queues"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, next_sibling, 77, "not a live row of queues"),
        FAULT(QUEUES, QUEUE_OTHER, weir_queue, next_sibling, QUEUE_LEFT, "in no list"),
        FAULT(QUEUES, QUEUE_RIGHT, weir_queue, next_sibling, QUEUE_RIGHT, "into a circle"),
        FAULT(QUEUES, QUEUE_OTHER, weir_queue, first_child, QUEUE_LEFT, "which is not of it"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, first_workload, 77, "not a live row of workloads"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, first_workload, WORKLOAD_OTHER, "not of it"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, n_workloads, 1, "is 1, its list has 2"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, isolation, WEIR_ISOLATION_MAX, "not below 3"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, preemptible, 2, "not below 2"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, created_wall_ms, -1, "is -1"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, run_limit_ms, WEIR_MS_MAX + 1, "not within"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, budget_uusd, INT64_MAX - 1, "not within"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, spent_uusd, INT64_MAX, "not within"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, open_hours, f->statuses + 1, "not a span"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, open_hours, f->taints, "not of groups of 2"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, reserved, 1, "is not 0"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, open_hours_base_wall_ms, -1, "is -1"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, guaranteed.of[2], INT64_MAX, "guaranteed[2]",
                    "not within"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, limit.of[0], -1, "limit[0]", "is -1"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, decayed.of[1], -1, "decayed[1]", "is -1"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, held.of[0], 0, "held[0]",
                    "is 0, its tasks sum to 2250"),
        FAULT_NAMED(QUEUES, QUEUE_ROOT, weir_queue, held.of[0], 0, "held[0]",
                    "is 0, its tasks sum to 2250"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, wanted.of[0], 0, "wanted[0]",
                    "is 0, its tasks sum to 250"),
        FAULT_NAMED(QUEUES, QUEUE_OTHER, weir_queue, wanted.of[30], -5, "wanted[30]",
                    "is -5, its tasks sum to 0"),
    };

    BREAK_EACH(f, faults);
}

static void names_circles_of_queues(void **state)
{
    const struct fixture *f = *state;

    /* Its own parent and child. */
    queue(f, QUEUE_OTHER)->parent = QUEUE_OTHER;
    expect(f, "queues[3].next_sibling", "in no list of queues");
    workload(f, WORKLOAD_OTHER)->queue = QUEUE_LEFT;
    queue(f, QUEUE_OTHER)->first_child = QUEUE_OTHER;
    expect(f, "queues[3].first_workload", "which is not of it");
    workload(f, WORKLOAD_OTHER)->queue = QUEUE_OTHER;
    expect(f, "queues[3].first_workload", "although the queue has children");
    queue(f, QUEUE_OTHER)->first_child = WEIR_NONE;
    queue(f, QUEUE_OTHER)->parent = WEIR_NONE;
    expect_whole(f);
    /* The root below one that has nothing else, which is below the root. */
    must(weir_edit_remove_workload(f->edit, WORKLOAD_RIGHT));
    weir_world_unref(f->world);
    ((struct fixture *)*state)->world = weir_edit_seal(f->edit);
    expect_whole(f);
    queue(f, QUEUE_ROOT)->parent = QUEUE_RIGHT;
    queue(f, QUEUE_RIGHT)->first_child = QUEUE_ROOT;
    expect(f, "queues[0].parent", "is 2, and leads back to it");
}

static void sums_past_the_bound_are_refused(void **state)
{
    const struct fixture *f = *state;
    struct weir_shape *shape = mutable(weir_world_shape(f->world, SHAPE_SHARE));

    shape->amounts[0].amount = WEIR_AMOUNT_MAX;
    expect(f, "nodes[0].held", "is too large to be summed");
    shape->amounts[0].amount = WEIR_AMOUNT_MAX - 2000;
    expect(f, "nodes[0].held[0]", "its tasks sum to");
    ((struct weir_node *)mutable(weir_world_node(f->world, NODE_A)))->held.of[0] = WEIR_AMOUNT_MAX;
    queue(f, QUEUE_LEFT)->held.of[0] = WEIR_AMOUNT_MAX;
    queue(f, QUEUE_LEFT)->wanted.of[0] = WEIR_AMOUNT_MAX - 2000;
    expect(f, "queues[1].wanted", "is too large together with held");
}

static void names_faults_of_workloads_and_roles(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, queue, 77, "not a live row of queues"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, next_in_queue, 77, "not a live row of"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, prev_in_queue, 77, "not a live row of"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, prev_in_queue, WEIR_NONE,
              "the one before it is 1"),
        FAULT(WORKLOADS, WORKLOAD_SECOND, weir_workload, next_in_queue, WORKLOAD_SECOND,
              "into a circle"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, owner, 9999, "not a string"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, class, WEIR_CLASS_MAX, "not below 4"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, preemptible, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, independent, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, gang_min, 4, "is 4 of 3 tasks"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, first_role, 77, "not a live row of roles"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, first_task, 77, "not a live row of tasks"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, first_task, f->second, "not of it"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, n_tasks, 2, "is 2, its list has 3"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, n_waiting, 2, "is 2, its tasks count 1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, n_running, 1, "is 1, its tasks count 2"),
        FAULT(WORKLOADS, WORKLOAD_RIGHT, weir_workload, n_done, 0, "is 0, its tasks count 1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, held, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, cancelled, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, retry_on, f->hours, "has 480 in cell 0"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, backoff_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, checkpoint_signal, 65, "not below 65"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, reserved, 1, "is not 0"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, submitted_wall_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, not_before_wall_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, deadline_wall_ms, INT64_MAX, "not within"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, checkpoint_grace_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, runtime.limit_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, runtime.p50_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, runtime.p90_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.required, 5, "is 5, not below 5"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.preferred, 5, "not below 5"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.slice_level, 5, "not below 5"),
        FAULT_NAMED(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.slice_level, 1,
                    "topology.slice_size", "is 0 although"),
        FAULT(ROLES, 0, weir_role, workload, 77, "not a live row of workloads"),
        FAULT(ROLES, 0, weir_role, next_in_workload, 77, "not a live row of roles"),
        FAULT(ROLES, 0, weir_role, next_in_workload, 0, "into a circle"),
        FAULT(ROLES, 0, weir_role, name, 9999, "not a string"),
        FAULT(ROLES, 0, weir_role, shape, 3, "not a live row of shapes"),
        FAULT(ROLES, 0, weir_role, n_tasks, 3, "is 3, there are 2 tasks"),
        FAULT(ROLES, 0, weir_role, n_min, 3, "is 3 of 2 tasks"),
        FAULT(ROLES, 0, weir_role, is_leader, 2, "not below 2"),
        FAULT(ROLES, 0, weir_role, reserved, 1, "is not 0"),
    };
    char field[64];

    BREAK_EACH(f, faults);
    ((struct weir_role *)mutable(weir_world_role(f->world, 0)))->n_tasks = 1;
    snprintf(field, sizeof(field), "tasks[%u].role", f->gang[2]);
    expect(f, field, "all roles of the workload are full");
}

static void names_faults_of_tasks(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(TASKS, f->gang[0], weir_task, workload, 77, "not a live row of workloads"),
        FAULT(TASKS, f->gang[0], weir_task, role, 77, "not a live row of roles"),
        FAULT(TASKS, f->gang[0], weir_task, role, 0, "its place in the workload is in role 1"),
        FAULT(TASKS, f->gang[0], weir_task, next_in_workload, 77, "not a live row of tasks"),
        FAULT(TASKS, f->gang[0], weir_task, next_in_workload, f->gang[0], "into a circle"),
        FAULT(TASKS, f->gang[1], weir_task, member, 2, "is 2 at place 1"),
        FAULT(TASKS, f->gang[0], weir_task, state, WEIR_TASK_STATE_MAX, "not below 8"),
        FAULT(TASKS, f->gang[0], weir_task, attempt, 0, "is 0 although it was started"),
        FAULT(TASKS, f->gang[0], weir_task, node, 77, "not a live row of nodes"),
        FAULT(TASKS, f->gang[0], weir_task, node, WEIR_NONE, "is none although it is running"),
        FAULT(TASKS, f->gang[2], weir_task, node, NODE_A, "although it is queued"),
        FAULT(TASKS, f->ended, weir_task, next_on_node, f->gang[2], "although the row is in no"),
        FAULT(TASKS, f->gang[0], weir_task, next_on_node, 77, "not a live row of tasks"),
        FAULT(TASKS, f->gang[0], weir_task, next_on_node, f->gang[0], "into a circle"),
        FAULT(TASKS, f->gang[0], weir_task, first_hold, 77, "not a live row of holds"),
        FAULT(TASKS, f->gang[0], weir_task, first_hold, 1, "which is not of it"),
        FAULT(TASKS, f->second, weir_task, stop_cause, 99, "is 99, not below"),
        FAULT(TASKS, f->gang[0], weir_task, stop_cause, 1, "although it is running"),
        FAULT(TASKS, f->gang[0], weir_task, ended, WEIR_END_MAX, "not below 7"),
        FAULT(TASKS, f->gang[2], weir_task, ended, WEIR_END_EXITED, "although it is queued"),
        FAULT(TASKS, f->gang[0], weir_task, exit_status, 256, "is 256, not below 256"),
        FAULT(TASKS, f->gang[0], weir_task, exit_status, -1, "not below 256"),
        FAULT(TASKS, f->gang[0], weir_task, cause, 99, "is 99, not below"),
        FAULT(TASKS, f->gang[0], weir_task, reserved, 1, "is not 0"),
        FAULT(TASKS, f->gang[0], weir_task, started_wall_ms, -1, "is -1"),
        FAULT(TASKS, f->gang[0], weir_task, started_mono_ms, -1, "is -1"),
        FAULT(TASKS, f->gang[0], weir_task, checkpoint_mono_ms, -1, "is -1"),
        FAULT(TASKS, f->gang[0], weir_task, not_before_wall_ms, -1, "is -1"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_signals_intents_and_prices(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(SIGNALS, 0, weir_signal, subject_kind, WEIR_SUBJECT_MAX, "not below 7"),
        FAULT(SIGNALS, 0, weir_signal, metric, 9999, "not a string"),
        FAULT(SIGNALS, 0, weir_signal, window_ms, -1, "is -1"),
        FAULT(SIGNALS, 0, weir_signal, observed_wall_ms, -1, "is -1"),
        FAULT(SIGNALS, 0, weir_signal, valid, 2, "not below 2"),
        FAULT(SIGNALS, 0, weir_signal, reserved, 1, "is not 0"),
        FAULT(INTENTS, 0, weir_intent, kind, WEIR_INTENT_KIND_MAX, "not below 7"),
        FAULT(INTENTS, 0, weir_intent, subject_kind, WEIR_SUBJECT_MAX, "not below 7"),
        FAULT(INTENTS, 0, weir_intent, created_wall_ms, -1, "is -1"),
        FAULT(INTENTS, 0, weir_intent, not_before_wall_ms, -1, "is -1"),
        FAULT(INTENTS, 0, weir_intent, deadline_wall_ms, INT64_MAX, "not within"),
        FAULT(INTENTS, 0, weir_intent, device, 77, "not a live row of devices"),
        FAULT(INTENTS, 0, weir_intent, node, 77, "not a live row of nodes"),
        FAULT(INTENTS, 0, weir_intent, reserved_mgpu, -1, "is -1"),
        FAULT(PRICES, 0, weir_price, gpu_class, WEIR_RES_CPU, "not a resource of kind 1"),
        FAULT(PRICES, 0, weir_price, pool, 9999, "not a string"),
        FAULT(PRICES, 0, weir_price, uusd_per_gpu_hour, -1, "is -1"),
        FAULT(PRICES, 0, weir_price, from_wall_ms, -1, "is -1"),
        FAULT(PRICES, 0, weir_price, source, 9999, "not a string"),
        FAULT(PRICES, 0, weir_price, spot, 2, "not below 2"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_rows_strings_and_spans(void **state)
{
    const struct fixture *f = *state;
    const uint32_t last = f->world->tables[WEIR_TABLE_SPANS].n_rows - 1;
    const struct fault faults[] = {
        FAULT_NAMED(SIGNALS, 1, weir_signal, window_ms, 5, "row", "is free, but not zero"),
        FAULT_NAMED(SIGNALS, 1, weir_signal, row.key.bytes[3], 5, "row", "is free, but not zero"),
        FAULT_NAMED(SIGNALS, 0, weir_signal, row.gen, 0, "gen", "is 0"),
        FAULT_NAMED(SIGNALS, 1, weir_signal, row.gen, 0, "gen", "is 0"),
        FAULT_NAMED(SIGNALS, 0, weir_signal, row.live, 2, "live", "is 2, not below 2"),
        FAULT_NAMED(STRINGS, 0, weir_string, row.live, 0, "live", "never freed"),
        FAULT_NAMED(SPANS, 0, weir_span_cell, row.live, 0, "live", "never freed"),
        FAULT_NAMED(TASKS, 0, weir_task, row.key.bytes[0], 1, "key", "have none"),
        FAULT(STRINGS, 0, weir_string, len, 220, "is 220, not below 220"),
        FAULT_NAMED(STRINGS, 0, weir_string, len, 2, "text", "goes on after its 2 bytes"),
        FAULT_NAMED(STRINGS, 0, weir_string, text[219], 1, "text", "goes on after its 3 bytes"),
        FAULT(SPANS, f->labels, weir_span_cell, value, 0, "counts 0 cells"),
        FAULT(SPANS, last - 2, weir_span_cell, value, 3, "counts 3 cells, 2 follow"),
        FAULT(SPANS, last - 2, weir_span_cell, value, WEIR_NONE, "2 follow"),
        FAULT(SPANS, last, weir_span_cell, reserved, 1, "is not 0"),
    };

    BREAK_EACH(f, faults);
}

/* A value of a shared span: the row that first uses it is named. */
static void names_faults_in_spans(void **state)
{
    const struct fixture *f = *state;
    struct weir_span_cell *cell =
        mutable(weir_table_row(&f->world->tables[WEIR_TABLE_SPANS], f->hours + 2));

    cell->value = 480;
    expect(f, "queues[0].open_hours", "has 480 in cell 1 of its span");
    cell->value = 1080;
    cell = mutable(weir_table_row(&f->world->tables[WEIR_TABLE_SPANS], f->statuses + 1));
    cell->value = 256;
    expect(f, "workloads[0].retry_on", "has 256 in cell 0 of its span");
    cell->value = 1;
    cell = mutable(weir_table_row(&f->world->tables[WEIR_TABLE_SPANS], f->labels + 3));
    cell->value = 9999;
    expect(f, "shapes[1].labels", "has 9999 in cell 2 of its span");
}

static void names_rows_that_are_there_twice(void **state)
{
    const struct fixture *f = *state;
    static const enum weir_table_id keyed[] = {WEIR_TABLE_NODES, WEIR_TABLE_DEVICES,
                                               WEIR_TABLE_QUEUES, WEIR_TABLE_WORKLOADS,
                                               WEIR_TABLE_SIGNALS};
    struct weir_string kept =
        *(const struct weir_string *)weir_table_row(&f->world->tables[WEIR_TABLE_STRINGS], 1);
    struct weir_string *string = mutable(weir_table_row(&f->world->tables[WEIR_TABLE_STRINGS], 4));
    struct weir_shape *shape = mutable(weir_world_shape(f->world, 1));

    for (size_t i = 0; i < sizeof(keyed) / sizeof(keyed[0]); i++) {
        uint32_t index = keyed[i] == WEIR_TABLE_SIGNALS ? 2 : 1;
        struct weir_row *row = mutable(weir_table_row(&f->world->tables[keyed[i]], index));
        struct weir_key was = row->key;
        char field[64];

        row->key = ((const struct weir_row *)weir_table_row(&f->world->tables[keyed[i]], 0))->key;
        snprintf(field, sizeof(field), "%s[%u].key", weir_table_name(keyed[i]), index);
        expect(f, field, "is that of row 0 as well");
        row->key = was;
    }
    {
        struct weir_string was = *string;

        string->len = kept.len;
        memcpy(string->text, kept.text, sizeof(kept.text));
        expect(f, "strings[4].value", "is that of row 1 as well");
        *string = was;
    }
    {
        struct weir_shape was = *shape;

        memcpy((char *)shape + sizeof(shape->row),
               (const char *)weir_world_shape(f->world, 0) + sizeof(shape->row),
               sizeof(*shape) - sizeof(shape->row));
        expect(f, "shapes[1].value", "is that of row 0 as well");
        *shape = was;
    }
    expect_whole(f);
}

static void names_faults_of_tables(void **state)
{
    const struct fixture *f = *state;
    struct weir_world *world = mutable(f->world);
    struct weir_table *tasks = &world->tables[WEIR_TABLE_TASKS];
    struct weir_table kept = *tasks;

    tasks->n_live++;
    expect(f, "tasks.n_live", "rows are live");
    *tasks = kept;
    tasks->row_size += 8;
    expect(f, "tasks.row_size", "must be");
    *tasks = kept;
    tasks->shift--;
    expect(f, "tasks.row_size", "with shift");
    *tasks = kept;
    tasks->n_rows += 1u << tasks->shift;
    expect(f, "tasks.n_rows", "which takes 2 chunks; there are 1");
    *tasks = kept;
    tasks->spine = NULL;
    expect(f, "tasks.n_rows", "there are 0");
    *tasks = kept;
    tasks->changed_from++;
    expect(f, "tasks.n_changed", "beside the change list");
    *tasks = kept;
    tasks->n_changed = 1000;
    expect(f, "tasks.n_changed", "beside the change list");
    *tasks = kept;
    world->changes[tasks->changed_from + 1] = world->changes[tasks->changed_from];
    expect(f, "tasks.changes", "out of order or of range");
    world->changes[tasks->changed_from + 1] = 500;
    expect(f, "tasks.changes", "name row 500");
    world->changes[tasks->changed_from + 1] = 1;
    expect_whole(f);
    world->n_changes++;
    expect(f, "", "n_changes is");
    world->n_changes--;
    world->is_keyframe = 1;
    expect(f, "nodes.n_changed", "beside the change list");
}

/* ---- arbitrary worlds ---- */

/* What the check lets through can be worked with: everything that can happen to tasks, happens. */
static void exercise(const struct weir_world *world)
{
    struct weir_edit *fork = weir_edit_fork(world);
    const struct weir_world *then;

    assert_non_null(fork);
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_TASKS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_TASKS, i))
        if (!weir_task_state_is_final(weir_world_task(world, i)->state))
            must(weir_edit_task_state(fork, i, WEIR_TASK_CANCELLED));
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_WORKLOADS, i))
        must(weir_edit_remove_workload(fork, i));
    then = weir_edit_seal(fork);
    assert_non_null(then);
    must(weir_world_check(then, NULL));
    for (uint32_t i = weir_world_first(then, WEIR_TABLE_QUEUES); i != WEIR_NONE;
         i = weir_world_after(then, WEIR_TABLE_QUEUES, i))
        for (int k = 0; k < WEIR_RESOURCE_MAX; k++)
            assert_true(weir_world_queue(then, i)->held.of[k] == 0 &&
                        weir_world_queue(then, i)->wanted.of[k] == 0);
    weir_world_unref(then);
    weir_edit_destroy(fork);
}

static void random_damage_is_refused_or_harmless(void **state)
{
    static const uint32_t values[] = {0, 1, 2, 3, 7, 255, 0x7fffffff, 0x80000000, WEIR_NONE};
    unsigned n_refused = 0;
    unsigned n_passed = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct history history;
        const struct weir_world *world;

        assert_int_equal(history_init(&history, seed, 6, 20), 0);
        assert_int_equal(history_run(&history, 1000), 0);
        world = weir_edit_seal(history.edit);
        must(weir_world_check(world, NULL));
        exercise(world);
        for (int i = 0; i < 1500; i++) {
            enum weir_table_id id =
                (enum weir_table_id)weir_rng_below(&history.rng, WEIR_TABLE_MAX);
            const struct weir_table *table = &world->tables[id];
            uint32_t *row;
            uint32_t at;
            uint32_t kept;

            if (table->n_rows == 0)
                continue;
            row = mutable(
                weir_table_row(table, (uint32_t)weir_rng_below(&history.rng, table->n_rows)));
            at = (uint32_t)weir_rng_below(&history.rng, table->row_size / 4);
            kept = row[at];
            row[at] = values[weir_rng_below(&history.rng, sizeof(values) / sizeof(values[0]))];
            if (weir_world_check(world, NULL) < 0) {
                n_refused++;
            } else {
                n_passed++;
                exercise(world);
            }
            row[at] = kept;
        }
        weir_world_unref(world);
        history_finish(&history);
    }
    assert_true(n_refused > 500 && n_passed > 50);
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(is_whole_to_begin_with),
        WITH_FIXTURE(names_faults_of_resources_and_shapes),
        WITH_FIXTURE(names_faults_of_nodes),
        WITH_FIXTURE(names_faults_of_devices),
        WITH_FIXTURE(names_circles_of_devices),
        WITH_FIXTURE(no_device_is_given_out_twice),
        WITH_FIXTURE(names_faults_of_holds),
        WITH_FIXTURE(names_faults_of_queues),
        WITH_FIXTURE(names_circles_of_queues),
        WITH_FIXTURE(sums_past_the_bound_are_refused),
        WITH_FIXTURE(names_faults_of_workloads_and_roles),
        WITH_FIXTURE(names_faults_of_tasks),
        WITH_FIXTURE(names_faults_of_signals_intents_and_prices),
        WITH_FIXTURE(names_faults_of_rows_strings_and_spans),
        WITH_FIXTURE(names_faults_in_spans),
        WITH_FIXTURE(names_rows_that_are_there_twice),
        WITH_FIXTURE(names_faults_of_tables),
        cmocka_unit_test(random_damage_is_refused_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
