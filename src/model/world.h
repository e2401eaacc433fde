/* model/world.h — what is: one immutable version of everything a decision may look at.
 *
 * A world is tables of plain rows. Versions share unchanged chunks (table.h); world_edit.h makes
 * the next one. Whoever holds a reference may read it from any thread. Nothing here is specific to
 * one machine or to Kubernetes: adapters fill it, core/ reads it.
 *
 * Conventions
 *   - every row begins with `struct weir_row` (persistent key, gen, live);
 *   - a field named like a table (`node`, `queue`…) is a row index of that table, or WEIR_NONE;
 *   - lists are intrusive: `first_…` in the owner, `next_…` in the member, WEIR_NONE at the end;
 *   - `_wall_ms` is wall time, `_mono_ms` counts within the boot named by the world; 0 in a time
 * means "not yet";
 *   - units are in the name; INT64_MAX in a limit means unbounded;
 *   - amounts are 0 … WEIR_AMOUNT_MAX, and so are their sums over a table; times and durations are
 *     0 … WEIR_MS_MAX: a few of them can be added without a thought of overflow;
 *   - workloads are in queues without children only;
 *   - order never depends on indices or addresses: where an order is needed it is by `rank` or
 * time, then by key. */
#ifndef WEIR_MODEL_WORLD_H
#define WEIR_MODEL_WORLD_H

#include "base/str.h"
#include "model/key.h"
#include "model/table.h"

#include <stdint.h>

enum {
    WEIR_RESOURCE_MAX = 32,     /* interned resources of one world */
    WEIR_SHAPE_AMOUNTS_MAX = 8, /* resources one request may name */
    WEIR_TOPOLOGY_LEVELS = 5,
    WEIR_DEVICE_SLOTS_MAX = 16, /* memory slices of one device (MIG: 8, 4 or 12) */
};

#define WEIR_AMOUNT_MAX ((int64_t)1 << 60)
#define WEIR_MS_MAX     ((int64_t)1 << 53)

/* ---- resources: what is counted
 * --------------------------------------------------------------------------------- */

enum weir_resource_kind {
    WEIR_RESOURCE_GPU,       /* all GPUs together; unit mgpu */
    WEIR_RESOURCE_GPU_CLASS, /* GPUs of one model; unit mgpu */
    WEIR_RESOURCE_MIG,       /* instances of one profile; unit 1/1000 instance */
    WEIR_RESOURCE_CPU,       /* mcpu */
    WEIR_RESOURCE_MEMORY,    /* bytes */
    WEIR_RESOURCE_OTHER,     /* extended resources, in thousandths */
    WEIR_RESOURCE_KIND_MAX
};

/* The first three rows exist in every world, in this order. */
enum { WEIR_RES_GPU = 0, WEIR_RES_CPU = 1, WEIR_RES_MEMORY = 2 };

struct weir_resource {
    struct weir_row row;
    uint32_t kind; /* enum weir_resource_kind */
    uint32_t name; /* string: "gpu", "gpu/h100-sxm", "mig/1g.10gb", "cpu", "memory",
                      "vendor.com/thing" */
    int64_t grain; /* the smallest amount that is handed out, > 0 */
};

/* An amount of every resource, by resource index. */
struct weir_amounts {
    int64_t of[WEIR_RESOURCE_MAX];
};

/* ---- shapes: what one task asks for, interned: equal requests share one row
 * --------------------------------------- */

enum weir_isolation {
    WEIR_ISOLATION_NONE,     /* neighbours may share the device's memory and time without a wall */
    WEIR_ISOLATION_MEMORY,   /* a memory budget that is watched or enforced (MPS) */
    WEIR_ISOLATION_HARDWARE, /* a whole device or a MIG instance */
    WEIR_ISOLATION_MAX
};

struct weir_shape_amount {
    uint32_t resource;
    uint32_t reserved;
    int64_t amount; /* > 0 */
};

struct weir_shape {
    struct weir_row row;
    uint32_t n_amounts;
    uint32_t gpu_class;          /* resource of kind GPU_CLASS that it must be, or WEIR_NONE: any */
    uint32_t mig_profile;        /* resource of kind MIG, or WEIR_NONE */
    uint32_t isolation;          /* enum weir_isolation, the least it accepts */
    int64_t device_mgpu;         /* of one device: 1000 for a whole GPU or instance, less for a
                                    share; of one with a budget, about what that is of the device's
                                    memory. A share that must have HARDWARE isolation gets an
                                    instance: the smallest that has its memory */
    int64_t device_memory_bytes; /* at least so much on each device; on a shared one: the budget. 0:
                                    no demand */
    uint32_t n_devices;          /* devices per task, 0 for CPU-only work */
    uint32_t labels;             /* labels a node must have: span of pairs, or WEIR_NONE */
    struct weir_shape_amount amounts[WEIR_SHAPE_AMOUNTS_MAX]; /* sorted by resource */
};

/* ---- nodes
 * -------------------------------------------------------------------------------------------------------
 */

enum weir_node_phase {
    WEIR_NODE_REQUESTED, /* asked for; may never come */
    WEIR_NODE_BOOTING,   /* promised (ready P50/P90), never started on */
    WEIR_NODE_READY,
    WEIR_NODE_CORDONED,    /* runs what it has, takes nothing new */
    WEIR_NODE_DRAINING,    /* cordoned, and what runs is asked to leave */
    WEIR_NODE_QUARANTINED, /* cordoned by weir, with evidence */
    WEIR_NODE_GONE,
    WEIR_NODE_PHASE_MAX
};

enum weir_topology_level {
    WEIR_TOPOLOGY_ZONE,
    WEIR_TOPOLOGY_BLOCK,
    WEIR_TOPOLOGY_RACK,
    WEIR_TOPOLOGY_NVLINK, /* NVLink domain across hosts (NVL72) */
    WEIR_TOPOLOGY_HOST,
};

struct weir_node {
    struct weir_row row;
    uint32_t name;                           /* string */
    uint32_t pool;                           /* string, or WEIR_NONE */
    uint32_t phase;                          /* enum weir_node_phase */
    uint32_t rank;                           /* breaks ties between equal nodes; smaller first */
    uint32_t topology[WEIR_TOPOLOGY_LEVELS]; /* strings; WEIR_NONE where unknown */
    uint32_t labels;                         /* span of (key, value) string pairs, or WEIR_NONE */
    uint32_t taints; /* span of (key, value, effect) string triples, or WEIR_NONE */
    uint32_t n_devices;
    uint32_t first_device;
    uint32_t first_task;  /* tasks that hold something here */
    uint32_t phase_cause; /* string: who or what cordoned, drained, quarantined it */
    uint32_t reserved;
    uint8_t boot_id[16];       /* all zero: unknown */
    int64_t ready_p50_wall_ms; /* while requested or booting */
    int64_t ready_p90_wall_ms;
    struct weir_amounts capacity; /* allocatable; devices that are unhealthy still count */
    struct weir_amounts held;     /* by tasks of ours: kept by world_edit */
    struct weir_amounts foreign;  /* used by what weir did not start */
};

/* ---- devices
 * -----------------------------------------------------------------------------------------------------
 */

enum weir_device_kind {
    WEIR_DEVICE_WHOLE, /* a physical GPU */
    WEIR_DEVICE_MIG,   /* a MIG instance of `parent` */
    WEIR_DEVICE_SHARE, /* one replica of a shared GPU (time-slicing, MPS) */
    WEIR_DEVICE_CLAIM, /* known by a claim only (DRA) */
    WEIR_DEVICE_KIND_MAX
};

enum weir_device_health {
    WEIR_DEVICE_HEALTHY,
    WEIR_DEVICE_SUSPECT,   /* evidence, not yet out of service: nothing new is started on it */
    WEIR_DEVICE_UNHEALTHY, /* out of service */
    WEIR_DEVICE_LOST,      /* does not answer */
    WEIR_DEVICE_HEALTH_MAX
};

/* Whether a whole device is cut into instances. */
enum weir_mig_mode {
    WEIR_MIG_NONE /* it cannot be, or nobody knows */,
    WEIR_MIG_OFF,
    WEIR_MIG_ON,
    WEIR_MIG_MODE_MAX
};

/* What is under way with a device. Only what is THERE is given out. A plan's RESHAPE begins a
 * change (core/apply.h), the driver's next reading ends it. */
enum weir_device_phase {
    WEIR_DEVICE_THERE,
    WEIR_DEVICE_MAKING,    /* an instance that is not yet: it has no uuid and no `instance` */
    WEIR_DEVICE_UNMAKING,  /* an instance that is about to be destroyed */
    WEIR_DEVICE_SWITCHING, /* a whole device on its way to the other MIG mode */
    WEIR_DEVICE_PHASE_MAX
};

/* How a whole device is given to several. */
enum weir_sharing {
    WEIR_SHARING_BUDGETS,  /* by memory: budgets that are watched, under MPS where a job asks for it
                              and the device can */
    WEIR_SHARING_MPS,      /* by memory: always under MPS */
    WEIR_SHARING_REPLICAS, /* in `replicas` equal turns, without budgets (time-slicing) */
    WEIR_SHARING_NEVER,
    WEIR_SHARING_MAX
};

/* The MPS control daemon of a whole device. A plan's SHARE has it begun and ended. */
enum weir_mps { WEIR_MPS_OFF, WEIR_MPS_STARTING, WEIR_MPS_ON, WEIR_MPS_STOPPING, WEIR_MPS_MAX };

/* A kind of instance that a whole device takes: a group of cells in the span weir_device.offers. */
struct weir_mig_offer {
    uint32_t profile;       /* resource of kind MIG */
    uint32_t driver_id;     /* the driver's number of it */
    uint32_t slices;        /* of compute */
    uint32_t size;          /* memory slices that it spans, side by side */
    uint32_t starts;        /* bit k: may start at memory slice k */
    uint32_t instances_max; /* at a time */
    uint32_t memory_mib;
};
enum { WEIR_MIG_OFFER_CELLS = sizeof(struct weir_mig_offer) / sizeof(uint32_t) };

/* Who says which device a task gets. Where it is not weir, the plan names node and count (or a
 * claim selector) and the device is read back. */
enum weir_binder { WEIR_BINDER_OURS, WEIR_BINDER_KUBELET, WEIR_BINDER_DRA, WEIR_BINDER_MAX };

struct weir_device {
    struct weir_row row;
    uint32_t uuid;  /* string: "GPU-…"; or "NODE#k" where only a count is known */
    uint32_t model; /* string: the driver's product name */
    uint32_t node;
    uint32_t parent; /* device; WEIR_NONE for a whole one */
    uint32_t next_on_node;
    uint32_t index;       /* the driver's index on its node; WEIR_NONE: no driver listed it yet */
    uint32_t kind;        /* enum weir_device_kind */
    uint32_t health;      /* enum weir_device_health */
    uint32_t binder;      /* enum weir_binder */
    uint32_t gpu_class;   /* resource of kind GPU_CLASS */
    uint32_t mig_profile; /* resource of kind MIG, for MIG instances; else WEIR_NONE */
    uint32_t cordoned;    /* 0 or 1 */
    uint32_t numa;        /* NUMA node, or WEIR_NONE */
    uint32_t nvlink;      /* string: its NVLink group on the node, or WEIR_NONE */
    uint32_t phase;       /* enum weir_device_phase */
    uint32_t instance;    /* MIG: the driver's id of the GPU instance, or WEIR_NONE */
    uint16_t slots;       /* the memory slices it spans, one bit each */
    uint16_t slots_used;  /* of a whole device: taken by instances, also by those under way; kept by
                             world_edit */
    uint32_t isolation;   /* enum weir_isolation: the best it can promise to those who share it */
    uint32_t max_sharers; /* 1: not shared; not below n_sharers */
    uint32_t n_sharers;   /* holds on it: kept by world_edit */
    uint32_t first_hold;
    uint32_t n_foreign; /* processes on it that weir did not start: never given out, never killed */
    int64_t memory_bytes; /* usable: total less reserved */
    int64_t memory_foreign_bytes;
    int64_t held_mgpu;         /* kept by world_edit */
    int64_t held_memory_bytes; /* kept by world_edit */
    uint32_t health_cause;     /* string: evidence, or WEIR_NONE */
    /* Of a whole device: what it can, and what is wanted of it. */
    uint32_t mig;        /* enum weir_mig_mode: what it is in */
    uint32_t mig_wanted; /* the same: what it is to be in; NONE: as it is */
    uint32_t offers;     /* span of struct weir_mig_offer, by size and then by name; WEIR_NONE: none
                            are known */
    uint32_t layout;     /* span of (resource of kind MIG, count): its instances are to be these.
                            WEIR_NONE: they are made as jobs need them */
    uint32_t sharing;    /* enum weir_sharing */
    uint32_t replicas;   /* under REPLICAS: how many, else 0 */
    uint32_t can_mps;    /* 1: an MPS daemon can be begun on it */
    uint32_t mps;        /* enum weir_mps */
    uint32_t change_cause; /* string: why the last RESHAPE or SHARE failed, or WEIR_NONE */
    int64_t
        change_not_before_wall_ms; /* no RESHAPE or SHARE of it, or on it, before; 0: any time */
};

/* A part of a device in the hands of a task. */
struct weir_hold {
    struct weir_row row;
    uint32_t device;
    uint32_t task;
    uint32_t next_of_device;
    uint32_t next_of_task;
    int64_t part_mgpu;
    int64_t memory_bytes; /* budget; 0: none */
    int64_t used_bytes;   /* while it is over: what it used in the newest sample; else 0 */
    uint32_t n_over;      /* samples in a row in which it used more than its budget; at most
                             WEIR_SAMPLES_MAX, as the next */
    uint32_t n_under;     /* samples since then in which it did not, while is_warned */
    uint32_t is_warned;   /* 1: that it is over was told, and not yet that it is no more */
    uint16_t slots;
    uint16_t reserved;
};

enum { WEIR_SAMPLES_MAX = 16 };

/* ---- queues
 * ------------------------------------------------------------------------------------------------------
 */

/* What follows where a job goes on using more of a GPU's memory than its budget. */
enum weir_over_budget {
    WEIR_OVER_BUDGET_INHERIT, /* as the queue above says; where none does, STOP */
    WEIR_OVER_BUDGET_STOP,
    WEIR_OVER_BUDGET_WARN,
    WEIR_OVER_BUDGET_MAX
};

struct weir_queue {
    struct weir_row row;
    uint32_t name; /* string */
    uint32_t parent;
    uint32_t first_child;
    uint32_t next_sibling;
    uint32_t first_workload; /* live workloads of a leaf, in no particular order */
    uint32_t n_workloads;
    int32_t priority;     /* higher first */
    uint32_t weight;      /* for what is over the guarantee */
    uint32_t isolation;   /* enum weir_isolation: the weakest it allows */
    uint32_t preemptible; /* 1: what runs over its guarantee may be taken back */
    int64_t created_wall_ms;
    int64_t run_limit_ms; /* longest run of one task; INT64_MAX: none */
    int64_t budget_uusd;  /* per calendar month; INT64_MAX: none */
    int64_t spent_uusd;
    uint32_t open_hours;  /* span of (from, to) UTC minute pairs from open_hours_base; WEIR_NONE:
                             always open */
    uint32_t over_budget; /* enum weir_over_budget */
    int64_t open_hours_base_wall_ms;
    struct weir_amounts guaranteed;
    struct weir_amounts limit;   /* INT64_MAX: unbounded */
    struct weir_amounts held;    /* by running tasks in the subtree: kept by world_edit */
    struct weir_amounts wanted;  /* by waiting tasks in the subtree: kept by world_edit */
    struct weir_amounts decayed; /* use × time with a half-life, from the ledger */
};

/* ---- workloads, their roles and tasks
 * ---------------------------------------------------------------------------- */

enum weir_class {
    WEIR_CLASS_BATCH,
    WEIR_CLASS_TRAINING,
    WEIR_CLASS_SERVICE,
    WEIR_CLASS_DEV,
    WEIR_CLASS_MAX
};

/* Quantiles of how long a task will run, in ms. 0: unknown. */
struct weir_runtime {
    int64_t limit_ms; /* hard, declared; INT64_MAX: none */
    int64_t p50_ms;   /* learned or declared */
    int64_t p90_ms;
};

struct weir_topology_demand {
    uint32_t required; /* enum weir_topology_level that all tasks share, or WEIR_NONE */
    uint32_t preferred;
    uint32_t
        slice_level; /* equal parts of slice_size tasks per domain of this level, or WEIR_NONE */
    uint32_t slice_size;
};

struct weir_workload {
    struct weir_row row;
    uint64_t number; /* what people call it by */
    uint32_t queue;
    uint32_t next_in_queue;
    uint32_t prev_in_queue;
    uint32_t owner;   /* string: user (and namespace) of the submitter */
    uint32_t class;   /* enum weir_class */
    int32_t priority; /* higher first */
    uint32_t preemptible;
    uint32_t
        independent;   /* 1: an array: every task is a job of its own; 0: the tasks form a gang */
    uint32_t gang_min; /* tasks that must run together */
    uint32_t first_role;
    uint32_t first_task;
    uint32_t n_tasks;
    uint32_t n_waiting;         /* of these: kept by world_edit */
    uint32_t n_running;         /* starting, running or stopping: kept by world_edit */
    uint32_t n_done;            /* ended for good: kept by world_edit */
    uint32_t held;              /* 1: not to be started (by its owner, by a hard budget) */
    uint32_t cancelled;         /* 1: asked to end */
    uint32_t checkpoint_signal; /* before it is evicted; 0: none */
    uint32_t stop_grace_ms;     /* between SIGTERM and SIGKILL; 0: as the policy says */
    uint32_t n_failures;        /* attempts of the gang that failed by their own fault */
    uint32_t retries_max;       /* failures that are answered with another attempt */
    uint32_t retry_on;  /* span of exit statuses that are worth a retry; WEIR_NONE: all but 0 */
    int64_t backoff_ms; /* before the first retry; doubles with each, up to policy.backoff_max_ms */
    int64_t submitted_wall_ms;
    int64_t not_before_wall_ms;  /* a begin time or a back-off; 0: none */
    int64_t deadline_wall_ms;    /* 0: none */
    int64_t checkpoint_grace_ms; /* time between checkpoint signal and stop; 0: no checkpoint */
    struct weir_runtime runtime;
    struct weir_topology_demand topology;
};

struct weir_role {
    struct weir_row row;
    uint32_t workload;
    uint32_t next_in_workload;
    uint32_t name;  /* string, or WEIR_NONE */
    uint32_t shape; /* of each task */
    uint32_t n_tasks;
    uint32_t n_min;
    uint32_t is_leader; /* placed together with the workers' domain */
    uint32_t reserved;
};

enum weir_task_state {
    WEIR_TASK_QUEUED,
    WEIR_TASK_STARTING, /* decided and written down; holds its devices */
    WEIR_TASK_RUNNING,
    WEIR_TASK_STOPPING, /* asked to end; holds its devices until it is gone */
    WEIR_TASK_SUCCEEDED,
    WEIR_TASK_FAILED,
    WEIR_TASK_CANCELLED,
    WEIR_TASK_LOST, /* ended unseen, and not retried */
    WEIR_TASK_STATE_MAX
};

/* How a running attempt was seen to end. It keeps its devices in the books until decide() has said
 * what follows. */
enum weir_end {
    WEIR_END_NOT,           /* it has not */
    WEIR_END_EXITED,        /* by itself, exit_status tells how */
    WEIR_END_TIME_LIMIT,    /* stopped by its shim at its time limit */
    WEIR_END_OUT_OF_MEMORY, /* killed by the kernel for memory */
    WEIR_END_STOPPED,       /* after it was asked to */
    WEIR_END_LOST,          /* unseen: reboot, or its shim was killed */
    WEIR_END_NOT_STARTED, /* the start itself failed (no space, no process): not the job's fault */
    WEIR_END_MAX
};

struct weir_task {
    struct weir_row row;
    uint32_t workload;
    uint32_t role;
    uint32_t next_in_workload;
    uint32_t member;  /* 0 … n_tasks-1 within the workload */
    uint32_t state;   /* enum weir_task_state */
    uint32_t attempt; /* 0 before the first start */
    uint32_t node;    /* while it holds, and after its end as long as the node exists */
    uint32_t next_on_node;
    uint32_t first_hold;
    uint32_t stop_cause; /* enum weir_cause (plan.h) while stopping, else 0 */
    uint32_t
        ended; /* enum weir_end: what was observed of the running attempt; decide() settles it */
    int32_t exit_status; /* as a shell gives it: 0 … 255, 128 + n for signal n; meaningful when
                            ended by itself */
    uint32_t n_failures; /* attempts that failed by their own fault (arrays count per task) */
    uint32_t cause;      /* enum weir_cause (plan.h): why it is in its state */
    uint32_t for_whom;   /* workload its room is being made for, or WEIR_NONE: not known, or
                            removed; meaningful while stopping, and while it waits after it had to
                            leave */
    uint32_t reserved;
    int64_t started_wall_ms;
    int64_t started_mono_ms;
    int64_t ended_wall_ms; /* when the last attempt was over, as its shim saw it; 0: not known */
    int64_t checkpoint_mono_ms; /* last known checkpoint; 0: none */
    int64_t not_before_wall_ms; /* back-off after a failure; 0: none. Further ahead than a back-off
                                   can be long, it is none either (core/heal/fate.h) */
};

/* ---- signals, intents, prices
 * ------------------------------------------------------------------------------------ */

enum weir_subject {
    WEIR_SUBJECT_NONE,
    WEIR_SUBJECT_NODE,
    WEIR_SUBJECT_DEVICE,
    WEIR_SUBJECT_QUEUE,
    WEIR_SUBJECT_WORKLOAD,
    WEIR_SUBJECT_TASK,
    WEIR_SUBJECT_POOL,
    WEIR_SUBJECT_MAX
};

/* A measured fact over a window. Unknown is not zero: `valid` says whether value means anything. */
struct weir_signal {
    struct weir_row row;
    uint32_t subject_kind; /* enum weir_subject */
    uint32_t metric;       /* string */
    struct weir_key subject;
    int64_t window_ms;
    int64_t value_milli; /* in thousandths of the metric's unit */
    int64_t observed_wall_ms;
    uint32_t valid;
    uint32_t reserved;
};

enum weir_intent_kind {
    WEIR_INTENT_EVICT, /* evict-then-start */
    WEIR_INTENT_RESHAPE,
    WEIR_INTENT_NODE,
    WEIR_INTENT_DRAIN,
    WEIR_INTENT_REMEDY,
    WEIR_INTENT_ROLLOUT,
    WEIR_INTENT_BACKOFF,
    WEIR_INTENT_KIND_MAX
};

/* What is under way and takes longer than a tick. Written down before the first side effect,
 * removed when its end was observed. */
struct weir_intent {
    struct weir_row row;
    uint32_t kind;         /* enum weir_intent_kind */
    uint32_t phase;        /* meaning by kind; 0 first */
    uint32_t subject_kind; /* enum weir_subject: for whom */
    uint32_t attempts;
    struct weir_key subject;
    struct weir_key object;    /* on whom: the victim, the device, the node */
    struct weir_key waits_for; /* another intent, or all zero */
    int64_t created_wall_ms;
    int64_t not_before_wall_ms;
    int64_t deadline_wall_ms;
    uint32_t device; /* reserved for the subject until then, or WEIR_NONE */
    uint32_t node;
    int64_t reserved_mgpu;
};

struct weir_price {
    struct weir_row row;
    uint32_t gpu_class; /* resource */
    uint32_t pool;      /* string, or WEIR_NONE: everywhere */
    int64_t uusd_per_gpu_hour;
    int64_t from_wall_ms;
    uint32_t source; /* string */
    uint32_t spot;
};

/* ---- the world
 * ---------------------------------------------------------------------------------------------------
 */

enum weir_table_id {
    WEIR_TABLE_RESOURCES,
    WEIR_TABLE_SHAPES,
    WEIR_TABLE_NODES,
    WEIR_TABLE_DEVICES,
    WEIR_TABLE_HOLDS,
    WEIR_TABLE_QUEUES,
    WEIR_TABLE_WORKLOADS,
    WEIR_TABLE_ROLES,
    WEIR_TABLE_TASKS,
    WEIR_TABLE_SIGNALS,
    WEIR_TABLE_INTENTS,
    WEIR_TABLE_PRICES,
    WEIR_TABLE_STRINGS, /* rows of struct weir_string */
    WEIR_TABLE_SPANS,   /* rows of struct weir_span_cell */
    WEIR_TABLE_MAX
};

enum { WEIR_STRING_BYTES = 224 };

/* An interned string: equal strings have one index. */
struct weir_string {
    struct weir_row row;
    uint32_t len;
    char text[WEIR_STRING_BYTES - 4];
};

/* A span is a run of cells: `span` is its first index, which holds the count; the values follow. */
struct weir_span_cell {
    struct weir_row row;
    uint32_t value;
    uint32_t reserved;
};

struct weir_world {
    atomic_uint refs;
    uint32_t epoch;
    uint64_t version;    /* grows by one per seal */
    uint8_t boot_id[16]; /* of the machine that counts `_mono_ms` */
    struct weir_table tables[WEIR_TABLE_MAX];
    /* Rows that differ from the version before: (table, index) by weir_table.changed_from; empty in
     * a keyframe. */
    uint32_t *changes;
    uint32_t n_changes;
    uint32_t is_keyframe; /* 1: nothing before it, all rows count as changed */
};

void weir_world_ref(const struct weir_world *world);
void weir_world_unref(const struct weir_world *world); /* NULL is fine */

#define WEIR_WORLD_ACCESSOR(name, type, id)                                                        \
    static inline const struct type *weir_world_##name(const struct weir_world *world,             \
                                                       uint32_t index)                             \
    {                                                                                              \
        return (const struct type *)weir_table_row(&world->tables[id], index);                     \
    }
WEIR_WORLD_ACCESSOR(resource, weir_resource, WEIR_TABLE_RESOURCES)
WEIR_WORLD_ACCESSOR(shape, weir_shape, WEIR_TABLE_SHAPES)
WEIR_WORLD_ACCESSOR(node, weir_node, WEIR_TABLE_NODES)
WEIR_WORLD_ACCESSOR(device, weir_device, WEIR_TABLE_DEVICES)
WEIR_WORLD_ACCESSOR(hold, weir_hold, WEIR_TABLE_HOLDS)
WEIR_WORLD_ACCESSOR(queue, weir_queue, WEIR_TABLE_QUEUES)
WEIR_WORLD_ACCESSOR(workload, weir_workload, WEIR_TABLE_WORKLOADS)
WEIR_WORLD_ACCESSOR(role, weir_role, WEIR_TABLE_ROLES)
WEIR_WORLD_ACCESSOR(task, weir_task, WEIR_TABLE_TASKS)
WEIR_WORLD_ACCESSOR(signal, weir_signal, WEIR_TABLE_SIGNALS)
WEIR_WORLD_ACCESSOR(intent, weir_intent, WEIR_TABLE_INTENTS)
WEIR_WORLD_ACCESSOR(price, weir_price, WEIR_TABLE_PRICES)
#undef WEIR_WORLD_ACCESSOR

static inline const struct weir_table *weir_world_table(const struct weir_world *world,
                                                        enum weir_table_id id)
{
    return &world->tables[id];
}

/* for (uint32_t i = weir_world_first(w, T); i != WEIR_NONE; i = weir_world_after(w, T, i)) */
static inline uint32_t weir_world_first(const struct weir_world *world, enum weir_table_id id)
{
    return weir_table_next(&world->tables[id], 0);
}

static inline uint32_t weir_world_after(const struct weir_world *world, enum weir_table_id id,
                                        uint32_t index)
{
    return weir_table_next(&world->tables[id], index + 1);
}

/* The text of an interned string; empty for WEIR_NONE. Lives as long as the world. */
struct weir_str weir_world_string(const struct weir_world *world, uint32_t string);
/* Cells of a span; 0 for WEIR_NONE. */
uint32_t weir_world_span_len(const struct weir_world *world, uint32_t span);
uint32_t weir_world_span_at(const struct weir_world *world, uint32_t span, uint32_t i);

/* The longest run of one task in the queue: the least of its own limit and those above it;
 * INT64_MAX: none. */
int64_t weir_world_run_limit_ms(const struct weir_world *world, uint32_t queue);

/* The instances of a whole device, in no particular order: after WEIR_NONE comes the first, after
 * the last WEIR_NONE. Before one is removed the next is to be asked for. */
uint32_t weir_world_next_instance(const struct weir_world *world, uint32_t device, uint32_t after);

uint32_t weir_world_n_mig_offers(const struct weir_world *world, const struct weir_device *device);
struct weir_mig_offer weir_world_mig_offer(const struct weir_world *world,
                                           const struct weir_device *device, uint32_t i);
/* "1g.10gb" of "mig/1g.10gb". */
#define WEIR_MIG_PREFIX "mig/"
struct weir_str weir_world_mig_name(const struct weir_world *world, uint32_t resource);

/* The least isolation in the queue: the strictest of its own and those above it. */
enum weir_isolation weir_world_queue_isolation(const struct weir_world *world, uint32_t queue);

/* STOP or WARN: as the queue says, or the next above it that does. */
enum weir_over_budget weir_world_over_budget(const struct weir_world *world, uint32_t queue);

uint32_t weir_world_n_resources(const struct weir_world *world);
/* What the resource of a class of GPUs is called behind its prefix: "h100-sxm" of "gpu/h100-sxm".
 */
#define WEIR_GPU_CLASS_PREFIX "gpu/"
struct weir_str weir_world_gpu_class_name(const struct weir_world *world, uint32_t resource);
uint32_t weir_table_row_bytes(enum weir_table_id id);
const char *weir_table_name(enum weir_table_id id); /* "tasks" */

/* A node, and a whole GPU, of which nothing more is known: they refer to nothing. */
struct weir_node weir_node_blank(void);
struct weir_device weir_device_blank(void);

/* What is between the holder and others on the device: HARDWARE where it has it alone, for who
 * shares it what the device promises. enum weir_isolation. */
uint32_t weir_world_hold_isolation(const struct weir_world *world, uint32_t hold);

/* States in words, as the API spells them. */
const char *weir_task_state_name(enum weir_task_state state);
const char *weir_class_name(enum weir_class class);
const char *weir_over_budget_name(enum weir_over_budget over_budget);
const char *weir_isolation_name(enum weir_isolation isolation);
const char *weir_node_phase_name(enum weir_node_phase phase);
const char *weir_device_health_name(enum weir_device_health health);
const char *weir_mps_name(enum weir_mps mps); /* "off", "starting", "on", "stopping" */
const char *weir_sharing_name(
    enum weir_sharing sharing); /* "budgets", "mps", "time-slicing", "never" */
/* Back from the word; negative if unknown. */
int weir_over_budget_from_name(struct weir_str name); /* never INHERIT */
int weir_class_from_name(struct weir_str name);
int weir_isolation_from_name(struct weir_str name);
int weir_sharing_from_name(struct weir_str name);

/* True where the task holds devices. */
static inline bool weir_task_state_holds(uint32_t state)
{
    return state == WEIR_TASK_STARTING || state == WEIR_TASK_RUNNING || state == WEIR_TASK_STOPPING;
}

static inline bool weir_task_state_is_final(uint32_t state)
{
    return state >= WEIR_TASK_SUCCEEDED;
}

#endif
