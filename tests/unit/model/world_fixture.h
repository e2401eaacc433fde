/* A small world that has something of everything, to be broken piece by piece: the check has to
 * name the very field. */
#ifndef WEIR_TESTS_WORLD_FIXTURE_H
#define WEIR_TESTS_WORLD_FIXTURE_H

#include "base/count.h"
#include "base/err.h"
#include "base/units.h"
#include "model/world_check.h"
#include "model/world_edit.h"

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

static inline void must(int result)
{
    assert_int_equal(result, 0);
}

static inline struct weir_key key(uint64_t n)
{
    return weir_key_of_number(9, n);
}

static inline uint32_t string(struct fixture *f, const char *text)
{
    uint32_t index = 0;

    must(weir_edit_string(f->edit, weir_str(text), &index));
    return index;
}

static inline void make_interned(struct fixture *f)
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
    must(weir_edit_gpu_class(f->edit, WEIR_STR("h100"), &index));
    assert_int_equal(index, CLASS_H100);
    must(weir_edit_resource(f->edit, WEIR_RESOURCE_MIG, WEIR_STR("mig/1g.10gb"), 1000, &index));
    assert_int_equal(index, PROFILE_1G);
    shapes[SHAPE_GPU].labels = f->labels;
    for (uint32_t i = 0; i < 3; i++) {
        must(weir_edit_shape(f->edit, &shapes[i], &index));
        assert_int_equal(index, i);
    }
}

static inline void make_fleet(struct fixture *f)
{
    struct weir_node node = {.name = string(f, "node-a"),
                             .pool = string(f, "pool"),
                             .phase = WEIR_NODE_READY,
                             .labels = f->labels,
                             .taints = f->taints,
                             .phase_cause = WEIR_NONE};
    struct weir_device device = {.instance = WEIR_NONE,
                                 .offers = WEIR_NONE,
                                 .layout = WEIR_NONE,
                                 .change_cause = WEIR_NONE,
                                 .uuid = string(f, "GPU-1"),
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

static inline void make_queues(struct fixture *f)
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

static inline void make_workloads(struct fixture *f)
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

static inline void run_tasks(struct fixture *f)
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

static inline void make_plain(struct fixture *f)
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

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    weir_world_unref(f->world);
    weir_edit_destroy(f->edit);
    return 0;
}

/* ---- breaking ---- */

static inline void *mutable(const void *row)
{
    return (void *)(uintptr_t)row;
}

static inline void expect(const struct fixture *f, const char *field, const char *text)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r = weir_world_check(f->world, &err);

    if (r != WEIR_E_INVALID || strcmp(err.field, field) != 0 || strstr(err.text, text) == NULL)
        fail_msg("expected %s, '%s': got %d, %s, '%s'", field, text, r, err.field, err.text);
    assert_int_equal(weir_world_check(f->world, NULL), WEIR_E_INVALID);
}

static inline void expect_whole(const struct fixture *f)
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

static inline void break_each(const struct fixture *f, const struct fault *faults, size_t n)
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

#define BREAK_EACH(f, faults) break_each(f, faults, WEIR_COUNT_OF(faults))

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static inline struct weir_device *device(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_device(f->world, index));
}

static inline struct weir_hold *hold(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_hold(f->world, index));
}

static inline struct weir_task *task(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_task(f->world, index));
}

static inline struct weir_queue *queue(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_queue(f->world, index));
}

static inline struct weir_workload *workload(const struct fixture *f, uint32_t index)
{
    return mutable(weir_world_workload(f->world, index));
}

#endif
