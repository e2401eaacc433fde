/* model/plan.h — what is to be done, and why what waits waits. Made by weir_decide() in its arena;
 * plain rows, so that a plan can be written down, compared byte for byte, and carried out or
 * simulated by the same code (core/apply.h).
 *
 * Reasons are codes and numbers; words are made at the edge. */
#ifndef WEIR_MODEL_PLAN_H
#define WEIR_MODEL_PLAN_H

#include "model/world.h"
#include "model/world_edit.h"

struct weir_arena;
struct weir_buf;

enum weir_action_kind {
    WEIR_ACTION_START, /* task onto node with grants */
    WEIR_ACTION_STOP,  /* a running task is to end for good; a queued one ends at once (state
                          CANCELLED or FAILED) */
    WEIR_ACTION_EVICT, /* a running task is to leave and to be queued again; checkpoint signal first
                        */
    WEIR_ACTION_SETTLE,  /* an attempt that was seen to end: the task gets `state`, QUEUED for
                            another attempt */
    WEIR_ACTION_RESHAPE, /* devices: create and destroy instances */
    WEIR_ACTION_SHARE,   /* device: begin or end sharing */
    WEIR_ACTION_CORDON,  /* node or device */
    WEIR_ACTION_DRAIN,   /* node */
    WEIR_ACTION_REQUEST_NODE,
    WEIR_ACTION_SCALE, /* workload to amount tasks */
    WEIR_ACTION_ROUTE,
    WEIR_ACTION_NOTIFY, /* of a running task: it is over its budget, or no more; nothing is done */
    WEIR_ACTION_KIND_MAX
};

/* Why an action is taken. */
enum weir_cause {
    WEIR_CAUSE_NONE,
    WEIR_CAUSE_PLACED,      /* its turn, and it fits */
    WEIR_CAUSE_BACKFILLED,  /* before its turn, without delaying anyone */
    WEIR_CAUSE_PREEMPTED,   /* for a higher priority in its queue */
    WEIR_CAUSE_RECLAIMED,   /* for the guarantee of another queue */
    WEIR_CAUSE_CANCELLED,   /* by a person */
    WEIR_CAUSE_DRAINED,     /* its node is being emptied */
    WEIR_CAUSE_GANG_BROKEN, /* another member failed */
    WEIR_CAUSE_RUN_LIMIT,   /* of its queue */
    WEIR_CAUSE_EXITED,      /* settled: it exited */
    WEIR_CAUSE_TIME_LIMIT,  /* settled: its own limit */
    WEIR_CAUSE_OUT_OF_MEMORY,
    WEIR_CAUSE_LOST,
    WEIR_CAUSE_NOT_STARTED,
    WEIR_CAUSE_RETRIED,       /* settled: failed, and goes again */
    WEIR_CAUSE_DEVICE_FAULT,  /* a GPU that it holds is unhealthy */
    WEIR_CAUSE_OVER_BUDGET,   /* it uses more of a GPU's memory than its budget */
    WEIR_CAUSE_WITHIN_BUDGET, /* … and does no more */
    WEIR_CAUSE_MAX
};

struct weir_action {
    uint32_t kind;      /* enum weir_action_kind */
    uint32_t cause;     /* enum weir_cause */
    uint32_t order;     /* position in the plan; effects are carried out in this order */
    uint32_t waits_for; /* order + 1 of the action whose observed end this one needs; 0: none */
    uint32_t workload;
    uint32_t task;
    uint32_t task_gen; /* as decided on; acting revalidates */
    uint32_t node;
    uint32_t first_grant; /* in plan.grants */
    uint32_t n_grants;
    uint32_t state;    /* SETTLE, and STOP of a queued task: enum weir_task_state */
    uint32_t for_whom; /* EVICT: the workload that needs the room, or WEIR_NONE */
    int64_t amount;    /* SETTLE to QUEUED: not-before wall ms; SCALE: tasks; REQUEST_NODE: nodes;
                          NOTIFY: bytes it uses */
};

/* Why a workload does not run: vocabulary of Kueue and Slurm where they have a word. */
enum weir_reason_code {
    WEIR_REASON_NONE,
    WEIR_REASON_PRIORITY,     /* fits by itself, others come first (Slurm: Priority) */
    WEIR_REASON_RESOURCES,    /* not enough free resources on any node (Slurm: Resources) */
    WEIR_REASON_QUEUE_LIMIT,  /* its queue's limit (Kueue: ExceedsMaxQuota) */
    WEIR_REASON_PARENT_LIMIT, /* a limit further up the tree */
    WEIR_REASON_GANG, /* some members fit, not all (Kueue: TopologyPlacementFailed is for topology)
                       */
    WEIR_REASON_TOPOLOGY,
    WEIR_REASON_GPU_CLASS, /* nodes of another GPU model */
    WEIR_REASON_GPU_MEMORY,
    WEIR_REASON_ISOLATION,
    WEIR_REASON_NODE_CORDONED,
    WEIR_REASON_NODE_DRAINING,
    WEIR_REASON_NODE_NOT_READY,
    WEIR_REASON_DEVICE_UNHEALTHY,
    WEIR_REASON_DEVICE_CORDONED,
    WEIR_REASON_DEVICE_FOREIGN, /* in use by processes weir did not start */
    WEIR_REASON_DEVICE_BUSY,    /* held by other workloads */
    WEIR_REASON_CPU,
    WEIR_REASON_MEMORY,
    WEIR_REASON_LABELS,
    WEIR_REASON_BEGIN_TIME,    /* not before a time (Slurm: BeginTime) */
    WEIR_REASON_BACKOFF,       /* after a failure */
    WEIR_REASON_HELD,          /* (Slurm: JobHeldUser) */
    WEIR_REASON_EVICTING,      /* room is being made: victims are stopping */
    WEIR_REASON_RESERVED,      /* the free room is kept for somebody before it */
    WEIR_REASON_ALL_RUNNING,   /* elastic or array: the rest waits, nothing is wrong */
    WEIR_REASON_MISCONFIGURED, /* can never run as the fleet is now */
    WEIR_REASON_DEVICE_FULL,   /* shared, and too little of its memory is left */
    WEIR_REASON_CODE_MAX
};

/* Where in the tree of constraints a reason sits, outermost first. */
enum weir_reason_level {
    WEIR_LEVEL_WORKLOAD,
    WEIR_LEVEL_QUEUE,
    WEIR_LEVEL_GANG,
    WEIR_LEVEL_TOPOLOGY,
    WEIR_LEVEL_NODES,
    WEIR_LEVEL_DEVICES,
    WEIR_LEVEL_MAX
};

/* One node of the tree of reasons. Equal workloads share a tree. */
struct weir_reason {
    uint32_t level;        /* enum weir_reason_level */
    uint32_t code;         /* enum weir_reason_code; NONE: passed */
    uint32_t subject_kind; /* enum weir_subject */
    uint32_t subject;      /* row index, or WEIR_NONE */
    uint32_t resource;     /* or WEIR_NONE */
    uint32_t count;        /* nodes or devices this is true of */
    int64_t have;
    int64_t need;
    uint32_t first_holder; /* in plan.holders: who holds what is needed */
    uint32_t n_holders;
    uint32_t first_child; /* in plan.reasons, or WEIR_NONE */
    uint32_t next;        /* sibling, or WEIR_NONE */
};

struct weir_holder {
    uint32_t workload;
    uint32_t is_assumed; /* 1: nothing is known of when it ends: as long as the policy assumes */
    int64_t amount;      /* of the reason's resource */
    int64_t end_p50_wall_ms; /* when it is expected to let go; INT64_MAX: unknown */
};

/* A workload whose end would help: all of it ends, or those of its tasks that are leaving leave. It
 * may be the one that waits, of which other tasks run. */
struct weir_awaited {
    uint32_t workload;
    uint32_t is_assumed;     /* likewise */
    int64_t end_p50_wall_ms; /* when that is expected; INT64_MAX: unknown */
};

/* A node or device to be put back into use. */
struct weir_cordoned {
    uint32_t kind; /* enum weir_subject */
    uint32_t subject;
};

/* What would let it start. */
enum weir_unblock_kind {
    WEIR_UNBLOCK_NONE,
    WEIR_UNBLOCK_WAIT_FOR,     /* all of its ends, of which `subject` is the last */
    WEIR_UNBLOCK_WAIT_FOR_ANY, /* any of its ends, of which `subject` is the first: it fits already
                                */
    WEIR_UNBLOCK_RAISE_LIMIT,  /* of queue `subject` to `amount` of `resource` */
    WEIR_UNBLOCK_UNCORDON,     /* all of its cordons, of which `subject` is the first, and all of
                                  its ends besides */
    WEIR_UNBLOCK_ADD_CAPACITY, /* `amount` more of `resource` */
    WEIR_UNBLOCK_WAIT_UNTIL,   /* wall ms in `amount` */
    WEIR_UNBLOCK_RELEASE,      /* let go of the hold on it */
    WEIR_UNBLOCK_FOREIGN,      /* the end of foreign processes, first those on `subject` */
    WEIR_UNBLOCK_MAX
};

/* What the plan says of one workload that waits (or whose tasks do). */
struct weir_verdict {
    uint32_t workload;
    uint32_t position; /* 1: next in the order in which workloads were considered */
    uint32_t reason;   /* root of its tree in plan.reasons */
    uint32_t blocking; /* the first blocking one in it */
    uint32_t unblock;  /* enum weir_unblock_kind */
    uint32_t unblock_subject_kind;
    uint32_t unblock_subject;
    uint32_t unblock_resource;
    int64_t unblock_amount;
    uint32_t unblock_first_end; /* in plan.ends: the decisive one, then by when they are expected,
                                   away from it; equal workloads share them */
    uint32_t unblock_n_ends;
    uint32_t unblock_n_more_ends;  /* that are not listed, of too many */
    uint32_t unblock_first_cordon; /* in plan.cordons; equal workloads share them */
    uint32_t unblock_n_cordons;
    uint32_t unblock_n_more_cordons; /* that are not listed, of too many */
};

struct weir_plan {
    uint64_t world_version;
    struct weir_action *actions;
    uint32_t n_actions;
    uint32_t n_grants;
    struct weir_grant *grants;
    struct weir_intent *intents; /* new and changed ones, by key */
    uint32_t n_intents;
    uint32_t n_verdicts;
    struct weir_verdict
        *verdicts; /* of all workloads with waiting tasks that are not started whole, in order */
    struct weir_reason *reasons;
    uint32_t n_reasons;
    uint32_t n_holders;
    struct weir_holder *holders;
    struct weir_awaited *ends;
    uint32_t n_ends;
    struct weir_cordoned *cordons;
    uint32_t n_cordons;
    int64_t
        wake_wall_ms; /* decide again at this time even if nothing happens; INT64_MAX: no need */
};

const char *weir_action_name(enum weir_action_kind kind);
const char *weir_cause_name(enum weir_cause cause);
/* Whether it is why a task leaves to be queued again: preempted, reclaimed or drained. */
bool weir_cause_makes_room(uint32_t cause);
/* Whether it is why a task that waits again had to leave: those, or a device fault. */
bool weir_cause_requeues(uint32_t cause);
const char *weir_reason_name(
    enum weir_reason_code code); /* "Priority", "Resources", "QueueLimit"… */
const char *weir_level_name(enum weir_reason_level level);

/* The plan as bytes, for comparison. Layout of this build, in its byte
 * order: world_version u64, wake_wall_ms i64, then u32 counts of actions, grants, intents,
 * verdicts, reasons, holders, ends and cordons; then these arrays in this order, rows as they are.
 * The buffer's failure is returned. */
int weir_plan_write(const struct weir_plan *plan, struct weir_buf *out);
/* 128 bits over those bytes, without making them. */
void weir_plan_digest(const struct weir_plan *plan, uint8_t ret_digest[16]);

#endif
