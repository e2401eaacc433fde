/* Builds small worlds for the tests of core/, by name, and moves them on.
 *
 *     struct bench b;
 *     bench_init(&b);
 *     add_node(&b, (struct node_spec){.name = "n1", .gpus = 8});
 *     add_queue(&b, (struct queue_spec){.name = "a", .guaranteed_gpus = 4});
 *     add_job(&b, (struct job_spec){.name = "j1", .queue = "a", .gpus = 2});
 *     tick(&b);
 *     assert_string_equal(states(&b, "j1"), "S");
 *     bench_finish(&b);
 *
 * Keys come from names, so that the order of insertion is free. A fleet is "h100" GPUs of 80 GiB
 * unless said otherwise; nodes have 64 CPUs and 512 GiB. */
#ifndef TESTS_CORE_BUILD_WORLD_H
#define TESTS_CORE_BUILD_WORLD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/rng.h"
#include "core/apply.h"
#include "core/decide.h"
#include "model/world_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GIB_BITS = 30 };

struct bench {
    struct weir_edit *edit;
    const struct weir_world *world; /* the last one decided on */
    struct weir_arena arena;        /* holds the last plan */
    struct weir_plan plan;
    struct weir_policy policy;
    struct weir_now now;
    uint64_t n_jobs;
    const char *(*tell)(const struct bench *b); /* the last plan, for messages */
};

struct node_spec {
    const char *name; /* its number is its rank */
    int gpus;
    const char *class;          /* "h100" */
    int gpu_gib;                /* 80 */
    int cpus;                   /* 64 */
    int gib;                    /* 512 */
    int sharers;                /* 1 */
    int foreign;                /* GPUs that foreign processes use, from the first on */
    int foreign_gib;            /* of each of them */
    const char *rack;           /* unknown */
    const char *label;          /* of "label=VALUE"; none */
    enum weir_node_phase phase; /* ready */
    bool requested;
    int nvlink; /* GPUs per NVLink group; 0: unknown */
    const struct weir_mig_offer *(*offers)(struct bench *b,
                                           uint32_t *n); /* it can be cut; NULL: not */
    enum weir_mig_mode mig;
    enum weir_mig_mode mig_wanted;
    const char *layout; /* "3g.20gb 1g.5gb 1g.5gb"; none */
    enum weir_sharing sharing;
    int replicas;
    bool can_mps;
};

struct queue_spec {
    const char *name;
    const char *parent;
    int guaranteed_gpus;
    int limit_gpus; /* 0: none; -1: zero */
    int guaranteed_cpus;
    int guaranteed_gib;
    int guaranteed_h100;
    int priority;
    int weight; /* 1 */
    bool fixed; /* what it runs is never taken back */
    int64_t run_limit_ms;
    enum weir_isolation isolation;
    enum weir_over_budget over_budget;
    int64_t opens_ms; /* from the base 0; 0: always open */
    int64_t created_ms;
};

struct job_spec {
    const char *name;
    const char *queue;
    int gpus;      /* per task */
    int mgpu;      /* of one GPU, instead of gpus */
    int gpu_gib;   /* per GPU, or the budget of a share */
    int cpus;      /* 1 */
    int gib;       /* 0 */
    int tasks;     /* 1 */
    bool array;    /* tasks are independent */
    int min;       /* of a gang; 0: all */
    int lead_cpus; /* a first role of one task without GPUs, with so many CPUs */
    int priority;
    const char *class;
    const char *label;
    bool fixed; /* not preemptible */
    bool held;
    int retries;
    uint32_t retry_on; /* one exit status; 0: any */
    int64_t begin_ms;
    int64_t submitted_ms; /* in order of addition */
    enum weir_isolation isolation;
    bool same_rack;
    int64_t p50_ms;
    int64_t limit_ms;
    const char *mig;   /* instances of this profile, as many as `gpus` (1) */
    const char *owner; /* none */
};

static inline void must(int r)
{
    if (r < 0)
        fail_msg("failed: %s", weir_code_name(r));
}

static inline struct weir_key key_of(const char *kind, const char *name)
{
    struct weir_key key;

    weir_hash_key128(weir_str(kind), weir_str(name), key.bytes);
    return key;
}

static inline void bench_init(struct bench *b)
{
    static const uint8_t boot[16] = {1};

    *b = (struct bench){.policy = weir_policy_default(), .now = {1000000, 500000}};
    b->edit = weir_edit_create(boot);
    assert_non_null(b->edit);
}

static inline void bench_finish(struct bench *b)
{
    weir_world_unref(b->world);
    weir_arena_finish(&b->arena);
    b->edit = weir_edit_destroy(b->edit);
}

static inline uint32_t text_of(struct bench *b, const char *text)
{
    uint32_t index = WEIR_NONE;

    if (text != NULL)
        must(weir_edit_string(b->edit, weir_str(text), &index));
    return index;
}

static inline uint32_t class_of(struct bench *b, const char *class)
{
    uint32_t index;

    must(weir_edit_gpu_class(b->edit, weir_str(class), &index));
    return index;
}

static inline uint32_t labels_of(struct bench *b, const char *value)
{
    uint32_t pair[2];
    uint32_t span = WEIR_NONE;

    if (value == NULL)
        return WEIR_NONE;
    pair[0] = text_of(b, "label");
    pair[1] = text_of(b, value);
    must(weir_edit_span(b->edit, pair, 2, &span));
    return span;
}

static inline uint32_t node_at(const struct bench *b, const char *name)
{
    struct weir_key key = key_of("node", name);

    return weir_edit_find(b->edit, WEIR_TABLE_NODES, &key);
}

static inline uint32_t queue_at(const struct bench *b, const char *name)
{
    struct weir_key key = key_of("queue", name);

    return weir_edit_find(b->edit, WEIR_TABLE_QUEUES, &key);
}

static inline uint32_t job_at(const struct bench *b, const char *name)
{
    struct weir_key key = key_of("job", name);

    return weir_edit_find(b->edit, WEIR_TABLE_WORKLOADS, &key);
}

static inline uint32_t device_at(const struct bench *b, const char *node, int gpu)
{
    char name[64];
    struct weir_key key;

    snprintf(name, sizeof(name), "%s#%d", node, gpu);
    key = key_of("device", name);
    return weir_edit_find(b->edit, WEIR_TABLE_DEVICES, &key);
}

static inline uint32_t profile_of(struct bench *b, const char *profile)
{
    uint32_t index;

    must(weir_edit_mig_profile(b->edit, weir_str(profile), &index));
    return index;
}

/* Pairs of profile and count, of names that may come several times. */
static inline uint32_t layout_of(struct bench *b, const char *names)
{
    uint32_t cells[2 * WEIR_DEVICE_SLOTS_MAX];
    uint32_t span = WEIR_NONE;
    uint32_t n = 0;

    while (names != NULL && *names != '\0') {
        size_t len = strcspn(names, " ");
        char name[32];
        uint32_t profile;
        uint32_t at = 0;

        snprintf(name, sizeof(name), "%.*s", (int)len, names);
        profile = profile_of(b, name);
        while (at < n && cells[at] != profile)
            at += 2;
        cells[at] = profile;
        cells[at + 1] = at < n ? cells[at + 1] + 1 : 1;
        n = at < n ? n : n + 2;
        names += len + (names[len] == ' ');
    }
    if (n > 0)
        must(weir_edit_span(b->edit, cells, n, &span));
    return span;
}

static inline void make_cuttable(struct bench *b, const struct node_spec *spec,
                                 struct weir_device *device)
{
    uint32_t n;
    const struct weir_mig_offer *offers;

    device->mig = spec->mig;
    device->mig_wanted = spec->mig_wanted;
    if (spec->offers == NULL)
        return;
    offers = spec->offers(b, &n);
    must(weir_edit_span(b->edit, (const uint32_t *)offers, n * WEIR_MIG_OFFER_CELLS,
                        &device->offers));
    for (uint32_t i = 0; i < n; i++)
        device->slots |= (uint16_t)((1u << offers[i].size) - 1);
    device->layout = layout_of(b, spec->layout);
}

static inline void add_gpu(struct bench *b, const struct node_spec *spec, uint32_t node, int i)
{
    const char *class = spec->class != NULL ? spec->class : "h100";
    char name[64];
    char group[64];
    struct weir_key key;
    struct weir_device device;
    uint32_t index;

    snprintf(name, sizeof(name), "%s#%d", spec->name, i);
    snprintf(group, sizeof(group), "link-%d", spec->nvlink > 0 ? i / spec->nvlink : 0);
    key = key_of("device", name);
    device = (struct weir_device){
        .instance = WEIR_NONE,
        .offers = WEIR_NONE,
        .layout = WEIR_NONE,
        .change_cause = WEIR_NONE,
        .uuid = text_of(b, name),
        .model = text_of(b, class),
        .node = node,
        .parent = WEIR_NONE,
        .index = (uint32_t)i,
        .gpu_class = class_of(b, class),
        .mig_profile = WEIR_NONE,
        .numa = WEIR_NONE,
        .nvlink = spec->nvlink > 0 ? text_of(b, group) : WEIR_NONE,
        .isolation = spec->sharers > 1 ? WEIR_ISOLATION_MEMORY : WEIR_ISOLATION_HARDWARE,
        .max_sharers = spec->sharers > 0 ? (uint32_t)spec->sharers : 1,
        .memory_bytes = (int64_t)(spec->gpu_gib > 0 ? spec->gpu_gib : 80) << GIB_BITS,
        .n_foreign = i < spec->foreign,
        .memory_foreign_bytes = i < spec->foreign ? (int64_t)spec->foreign_gib << GIB_BITS : 0,
        .health_cause = WEIR_NONE,
        .sharing = spec->sharing,
        .replicas = (uint32_t)spec->replicas,
        .can_mps = spec->can_mps,
    };
    make_cuttable(b, spec, &device);
    must(weir_edit_add_device(b->edit, &key, &device, &index));
}

static inline void add_node(struct bench *b, struct node_spec spec)
{
    const char *class = spec.class != NULL ? spec.class : "h100";
    struct weir_key key = key_of("node", spec.name);
    struct weir_node node = {
        .name = text_of(b, spec.name),
        .pool = WEIR_NONE,
        .phase = spec.requested    ? WEIR_NODE_REQUESTED
                 : spec.phase == 0 ? WEIR_NODE_READY
                                   : spec.phase,
        .rank = (uint32_t)strtoul(spec.name + strcspn(spec.name, "0123456789"), NULL, 10),
        .labels = labels_of(b, spec.label),
        .taints = WEIR_NONE,
        .phase_cause = WEIR_NONE,
    };
    uint32_t index;

    for (int level = 0; level < WEIR_TOPOLOGY_LEVELS; level++)
        node.topology[level] = WEIR_NONE;
    node.topology[WEIR_TOPOLOGY_RACK] = text_of(b, spec.rack);
    node.topology[WEIR_TOPOLOGY_HOST] = text_of(b, spec.name);
    node.capacity.of[WEIR_RES_GPU] = spec.gpus * 1000;
    node.capacity.of[WEIR_RES_CPU] = (spec.cpus > 0 ? spec.cpus : 64) * 1000;
    node.capacity.of[WEIR_RES_MEMORY] = (int64_t)(spec.gib > 0 ? spec.gib : 512) << GIB_BITS;
    if (spec.gpus > 0)
        node.capacity.of[class_of(b, class)] = spec.gpus * 1000;
    must(weir_edit_add_node(b->edit, &key, &node, &index));
    for (int i = 0; i < spec.gpus; i++)
        add_gpu(b, &spec, index, i);
}

/* A bench with the node "n1". */
static inline void bench_with_node(struct bench *b, int gpus)
{
    bench_init(b);
    add_node(b, (struct node_spec){.name = "n1", .gpus = gpus});
}

static inline void add_queue(struct bench *b, struct queue_spec spec)
{
    struct weir_key key = key_of("queue", spec.name);
    struct weir_queue queue = {
        .name = text_of(b, spec.name),
        .parent = spec.parent != NULL ? queue_at(b, spec.parent) : WEIR_NONE,
        .priority = spec.priority,
        .weight = spec.weight > 0 ? (uint32_t)spec.weight : 1,
        .isolation = spec.isolation,
        .over_budget = spec.over_budget,
        .preemptible = !spec.fixed,
        .created_wall_ms = spec.created_ms,
        .run_limit_ms = spec.run_limit_ms > 0 ? spec.run_limit_ms : INT64_MAX,
        .budget_uusd = INT64_MAX,
        .open_hours = WEIR_NONE,
    };
    uint32_t index;

    if (spec.opens_ms > 0) {
        uint32_t hours[2] = {(uint32_t)(spec.opens_ms / 60000), 1u << 30};

        must(weir_edit_span(b->edit, hours, 2, &queue.open_hours));
    }
    for (int r = 0; r < WEIR_RESOURCE_MAX; r++)
        queue.limit.of[r] = INT64_MAX;
    queue.guaranteed.of[WEIR_RES_GPU] = spec.guaranteed_gpus * 1000;
    queue.guaranteed.of[WEIR_RES_CPU] = spec.guaranteed_cpus * 1000;
    queue.guaranteed.of[WEIR_RES_MEMORY] = (int64_t)spec.guaranteed_gib << GIB_BITS;
    if (spec.guaranteed_h100 > 0)
        queue.guaranteed.of[class_of(b, "h100")] = spec.guaranteed_h100 * 1000;
    if (spec.limit_gpus != 0)
        queue.limit.of[WEIR_RES_GPU] = spec.limit_gpus > 0 ? spec.limit_gpus * 1000 : 0;
    must(weir_edit_add_queue(b->edit, &key, &queue, &index));
}

static inline void add_amount(struct weir_shape *shape, uint32_t resource, int64_t amount)
{
    if (amount > 0)
        shape->amounts[shape->n_amounts++] =
            (struct weir_shape_amount){.resource = resource, .amount = amount};
}

static inline void sort_amounts(struct weir_shape *shape)
{
    for (uint32_t i = 1; i < shape->n_amounts; i++)
        for (uint32_t k = i; k > 0 && shape->amounts[k].resource < shape->amounts[k - 1].resource;
             k--) {
            struct weir_shape_amount held = shape->amounts[k];

            shape->amounts[k] = shape->amounts[k - 1];
            shape->amounts[k - 1] = held;
        }
}

static inline struct weir_shape shape_of(struct bench *b, const struct job_spec *spec)
{
    int n = spec->mig != NULL && spec->gpus == 0 ? 1 : spec->gpus;
    int64_t mgpu = spec->mgpu > 0 ? spec->mgpu : n * 1000;
    struct weir_shape shape = {
        .gpu_class = spec->class != NULL ? class_of(b, spec->class) : WEIR_NONE,
        .mig_profile = spec->mig != NULL ? profile_of(b, spec->mig) : WEIR_NONE,
        .isolation = spec->isolation,
        .device_mgpu = spec->mgpu > 0 ? spec->mgpu : 1000,
        .device_memory_bytes = (int64_t)spec->gpu_gib << GIB_BITS,
        .n_devices = spec->mgpu > 0 ? 1 : (uint32_t)n,
        .labels = labels_of(b, spec->label),
    };

    add_amount(&shape, WEIR_RES_GPU, spec->mig != NULL ? 0 : mgpu);
    add_amount(&shape, WEIR_RES_CPU, (spec->cpus > 0 ? spec->cpus : 1) * 1000);
    add_amount(&shape, WEIR_RES_MEMORY, (int64_t)spec->gib << GIB_BITS);
    if (shape.gpu_class != WEIR_NONE)
        add_amount(&shape, shape.gpu_class, mgpu);
    if (spec->mig != NULL)
        add_amount(&shape, shape.mig_profile, mgpu);
    sort_amounts(&shape);
    return shape;
}

static inline struct weir_workload workload_of(struct bench *b, const struct job_spec *spec)
{
    struct weir_workload job = {
        .number = ++b->n_jobs,
        .queue = queue_at(b, spec->queue),
        .owner = text_of(b, spec->owner),
        .priority = spec->priority,
        .preemptible = !spec->fixed,
        .independent = spec->array,
        .gang_min = (uint32_t)spec->min,
        .held = spec->held,
        .retries_max = (uint32_t)spec->retries,
        .retry_on = WEIR_NONE,
        .submitted_wall_ms =
            spec->submitted_ms > 0 ? spec->submitted_ms : 1000 + (int64_t)b->n_jobs,
        .not_before_wall_ms = spec->begin_ms,
        .runtime = {spec->limit_ms > 0 ? spec->limit_ms : INT64_MAX, spec->p50_ms, spec->p50_ms},
        .topology = {WEIR_NONE, WEIR_NONE, WEIR_NONE, 0},
    };

    if (spec->same_rack)
        job.topology.required = WEIR_TOPOLOGY_RACK;
    if (spec->retry_on > 0)
        must(weir_edit_span(b->edit, &spec->retry_on, 1, &job.retry_on));
    return job;
}

static inline uint32_t roles_of(struct bench *b, const struct job_spec *spec,
                                struct weir_role roles[2], struct weir_shape shapes[2])
{
    uint32_t n = 0;

    if (spec->lead_cpus > 0) {
        struct job_spec lead = {.cpus = spec->lead_cpus};

        shapes[n] = shape_of(b, &lead);
        roles[n] = (struct weir_role){.name = WEIR_NONE, .n_tasks = 1, .n_min = 1};
        must(weir_edit_shape(b->edit, &shapes[n], &roles[n].shape));
        n++;
    }
    shapes[n] = shape_of(b, spec);
    roles[n] = (struct weir_role){.name = WEIR_NONE,
                                  .n_tasks = spec->tasks > 0 ? (uint32_t)spec->tasks : 1};
    must(weir_edit_shape(b->edit, &shapes[n], &roles[n].shape));
    return n + 1;
}

static inline uint32_t add_job(struct bench *b, struct job_spec spec)
{
    struct weir_key key = key_of("job", spec.name);
    struct weir_role roles[2];
    struct weir_shape shapes[2];
    uint32_t n_roles = roles_of(b, &spec, roles, shapes);
    struct weir_workload job = workload_of(b, &spec);
    uint32_t index;

    must(weir_edit_add_workload(b->edit, &key, &job, roles, n_roles, &index));
    return index;
}

/* The task of a job by its number. */
static inline uint32_t task_at(const struct bench *b, const char *job, uint32_t member)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t at = weir_world_workload(view, job_at(b, job))->first_task;

    while (weir_world_task(view, at)->member != member)
        at = weir_world_task(view, at)->next_in_workload;
    return at;
}

static inline const struct weir_task *task_of(const struct bench *b, const char *job,
                                              uint32_t member)
{
    return weir_world_task(weir_edit_view(b->edit), task_at(b, job, member));
}

/* One letter a task: Queued, Starting, Running, (X) stopping, succeeded (D), Failed, Cancelled,
 * Lost. */
static inline const char *states(const struct bench *b, const char *job)
{
    static char text[4096];
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t n = 0;

    for (uint32_t at = weir_world_workload(view, job_at(b, job))->first_task; at != WEIR_NONE;
         at = weir_world_task(view, at)->next_in_workload)
        text[n++] = "QSRXDFCL"[weir_world_task(view, at)->state];
    text[n] = '\0';
    return text;
}

/* The node a task is on, or "". */
static inline const char *node_of(const struct bench *b, const char *job, uint32_t member)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t node = task_of(b, job, member)->node;

    return node == WEIR_NONE ? "" : weir_world_string(view, weir_world_node(view, node)->name).ptr;
}

/* The indices of the devices a task holds: "0 1". */
static inline const char *gpus_of(const struct bench *b, const char *job, uint32_t member)
{
    static char text[4096];
    const struct weir_world *view = weir_edit_view(b->edit);
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t at = task_of(b, job, member)->first_hold; at != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(view, at);

        n += (size_t)snprintf(text + n, sizeof(text) - n, n > 0 ? " %u" : "%u",
                              weir_world_device(view, hold->device)->index);
        at = hold->next_of_task;
    }
    return text;
}

/* Seals, decides, leaves the plan in b->plan. */
static inline void decide(struct bench *b)
{
    struct weir_err err = WEIR_ERR_INIT;

    weir_world_unref(b->world);
    b->world = weir_edit_seal(b->edit);
    assert_non_null(b->world);
    weir_arena_reset(&b->arena);
    if (weir_decide(b->world, &b->policy, b->now, 1, NULL, &b->arena, &b->plan, &err) < 0)
        fail_msg("decide: %s", err.text);
}

static inline void apply(struct bench *b)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_plan_apply(&b->plan, b->now, b->edit, &err) < 0)
        fail_msg("apply: %s", err.text);
}

static inline void tick(struct bench *b)
{
    decide(b);
    apply(b);
}

/* What was started runs. */
static inline uint32_t run_started(struct bench *b)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t n = 0;

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_TASKS, at))
        if (weir_world_task(view, at)->state == WEIR_TASK_STARTING) {
            must(weir_edit_task_state(b->edit, at, WEIR_TASK_RUNNING));
            n++;
        }
    return n;
}

static inline void tick_and_run(struct bench *b)
{
    tick(b);
    run_started(b);
}

static inline void end_task(struct bench *b, const char *job, uint32_t member, enum weir_end end,
                            int32_t status)
{
    struct weir_task *task = weir_edit_task(b->edit, task_at(b, job, member));

    assert_non_null(task);
    task->ended = end;
    task->ended_wall_ms = b->now.wall_ms;
    task->exit_status = status;
}

/* What was asked to leave has left. */
static inline uint32_t end_stopping(struct bench *b)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t n = 0;

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_TASKS, at))
        if (weir_world_task(view, at)->state == WEIR_TASK_STOPPING) {
            struct weir_task *task = weir_edit_task(b->edit, at);

            task->ended = WEIR_END_STOPPED;
            task->ended_wall_ms = b->now.wall_ms;
            n++;
        }
    return n;
}

/* Ticks, and lets what follows happen, until nothing more does; fails after n rounds. Returns how
 * many it took. */
static inline int settle(struct bench *b, int n)
{
    for (int round = 1; round <= n; round++) {
        uint32_t n_changes;

        tick(b);
        n_changes = b->plan.n_actions + run_started(b) + end_stopping(b);
        b->now.wall_ms++;
        b->now.mono_ms++;
        if (n_changes == 0)
            return round;
    }
    fail_msg("the world does not come to rest:\n%s", b->tell != NULL ? b->tell(b) : "");
    return n;
}

static inline const struct weir_action *action_on(const struct bench *b, const char *job,
                                                  uint32_t member)
{
    uint32_t task = task_at(b, job, member);

    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        if (b->plan.actions[i].task == task)
            return &b->plan.actions[i];
    return NULL;
}

static inline const struct weir_verdict *verdict_of(const struct bench *b, const char *job)
{
    uint32_t row = job_at(b, job);

    for (uint32_t i = 0; i < b->plan.n_verdicts; i++)
        if (b->plan.verdicts[i].workload == row)
            return &b->plan.verdicts[i];
    return NULL;
}

/* The name of the code that blocks a job; "" without a verdict. */
static inline const char *why(const struct bench *b, const char *job)
{
    const struct weir_verdict *verdict = verdict_of(b, job);

    if (verdict == NULL)
        return "";
    return weir_reason_name((enum weir_reason_code)b->plan.reasons[verdict->blocking].code);
}

static inline uint64_t test_seed(uint64_t otherwise)
{
    const char *text = getenv("WEIR_SEED");

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

#endif
