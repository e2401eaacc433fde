/* core/overlay.h — what the stages of one decision have decided on top of the immutable world.
 *
 * Two views are kept. NOW is what is free at this moment. SOON is what will be free when everything
 * that was asked to leave has left, less the room that is promised to somebody. A start takes room
 * in both, a promise in SOON only, an eviction gives room back in SOON only. So room that is being
 * made for one workload cannot be started on by another, and NOW only shrinks during a decision.
 *
 * An instance that is to be made for somebody is a grant of its whole device with slots, in SOON
 * only; idle instances that are in the way, and what is about to go, are no obstacle there.
 *
 * Nodes stand in the order (rank, key), the devices of a node side by side in the order (index,
 * key), instances behind their device in the order of their slots, running tasks in the order (key
 * of the workload, member): positions in these arrays are the tie-break everywhere, and depend on
 * no row index.
 *
 * Every change is a step in a journal; weir_overlay_rollback() undoes all steps since a mark, so
 * that a trial costs what it touches. */
#ifndef WEIR_CORE_OVERLAY_H
#define WEIR_CORE_OVERLAY_H

#include "model/plan.h"
#include "model/world.h"

#include <stdbool.h>

struct weir_arena;

struct weir_mig_offer;

enum weir_view { WEIR_VIEW_NOW, WEIR_VIEW_SOON, WEIR_VIEW_MAX };

/* Sets of views. */
enum {
    WEIR_IN_NOW = 1 << WEIR_VIEW_NOW,
    WEIR_IN_SOON = 1 << WEIR_VIEW_SOON,
    WEIR_IN_BOTH = WEIR_IN_NOW | WEIR_IN_SOON
};

/* How the fleet is taken. */
enum {
    WEIR_FLEET_EMPTY = 1 << 0,      /* as if nothing ran */
    WEIR_FLEET_UNCORDONED = 1 << 1, /* as if nothing were cordoned */
    WEIR_FLEET_REPAIRED = 1 << 2,   /* as if all devices were healthy, all nodes there, and nothing
                                       of others ran */
    WEIR_FLEET_OURS = 1 << 3,       /* as if no foreign process used a GPU */
    WEIR_FLEET_SETTLED = 1 << 4     /* weir_overlay_settle() */
};

struct weir_overlay_part {
    int64_t mgpu;
    int64_t memory_bytes;
    uint32_t n_sharers;
    uint32_t n_given; /* of these: by this decision */
};

/* Who shares a device that has to do with MPS. Over the owners of the sharers, x each: the sum of x
 * and of x². All are of one owner x exactly if these are n · x and n · x²: so it does not matter in
 * which order they come and go. */
struct weir_overlay_mps {
    uint32_t n[WEIR_VIEW_MAX]; /* sharers under MPS, or to be */
    uint64_t owners[WEIR_VIEW_MAX];
    uint64_t owners_squared[WEIR_VIEW_MAX];
};

/* What a whole device is given out as. */
enum weir_gives { WEIR_GIVES_WHOLE, WEIR_GIVES_INSTANCES, WEIR_GIVES_NOTHING };

/* A whole device that can be cut into instances. */
struct weir_overlay_mig {
    const struct weir_mig_offer *offers;
    uint32_t n_offers;
    uint32_t n_to_make;            /* of a layout: what is missing, */
    const uint8_t *counts;         /* of a layout: how many of each offer; NULL: there is none */
    uint16_t fresh[WEIR_VIEW_MAX]; /* slots of instances that are to be made for somebody */
    uint8_t fresh_offer[WEIR_VIEW_MAX][WEIR_DEVICE_SLOTS_MAX]; /* at their first slots: 1 + offer */
    uint8_t to_make[WEIR_DEVICE_SLOTS_MAX][2];                 /* offer and start */
};

struct weir_overlay_device {
    uint32_t row;
    uint32_t out; /* enum weir_reason_code: why nothing new may go on it, or NONE */
    uint32_t kind;
    uint32_t gpu_class;
    uint32_t mig_profile;
    uint32_t isolation;
    uint32_t max_sharers;
    uint32_t numa;
    uint32_t nvlink;
    uint32_t binder;
    uint32_t n_foreign;
    uint32_t n_children; /* instances: they follow it */
    uint32_t replicas;
    uint16_t slots;
    uint8_t gives;     /* enum weir_gives: now, */
    uint8_t will_give; /* and once what is under way with it has ended */
    uint8_t phase;     /* enum weir_device_phase */
    uint8_t sharing;   /* enum weir_sharing */
    uint8_t mps;       /* enum weir_mps */
    uint8_t can_mps;
    uint8_t is_settled; /* 1: as if what takes time with devices took none */
    uint8_t is_frozen;  /* 1: no change may be begun on it now */
    uint8_t is_surplus; /* an instance that its device's layout does not have */
    uint8_t is_changed; /* 1: this decision begins something with it */
    uint32_t reserved;
    const struct weir_overlay_device *parent; /* of an instance, or NULL */
    struct weir_overlay_mps *who;             /* NULL: it has nothing to do with MPS */
    struct weir_overlay_mig *mig;             /* of a whole device with offers, or NULL */
    int64_t memory_bytes;                     /* usable */
    int64_t foreign_bytes;                    /* of it: used by foreign processes */
    struct weir_overlay_part used[WEIR_VIEW_MAX];
};

struct weir_overlay_node {
    const struct weir_node *row;
    uint32_t index; /* its row */
    uint32_t out;   /* enum weir_reason_code, or NONE */
    uint32_t first_device;
    uint32_t n_devices;
    uint32_t first_running; /* the first of its running tasks, or WEIR_NONE */
};

enum weir_running_state {
    WEIR_RUNNING_LIVE,
    WEIR_RUNNING_LEAVING, /* asked to leave: its room is free in SOON */
    WEIR_RUNNING_GONE     /* settled in this decision: its room is free */
};

/* A task that holds something in the world. */
struct weir_running {
    const struct weir_task *row;
    const struct weir_workload *job;
    const struct weir_shape *shape;
    uint32_t task;
    uint32_t workload;
    uint32_t node; /* position */
    uint32_t next_on_node;
    uint32_t next_in_queue;
    uint32_t state; /* enum weir_running_state */
};

/* Are others leaving to make room for it? What is taken back by guarantee comes first. */
enum weir_owed { WEIR_OWED_NOTHING, WEIR_OWED_BY_PRIORITY, WEIR_OWED_BY_GUARANTEE };

struct weir_overlay_job {
    uint32_t first_running; /* its running tasks lie side by side */
    uint32_t n_running;
    uint32_t n_live;
    uint32_t n_succeeded; /* of gangs only */
    uint32_t is_closed;   /* 1: healing has to do with it, it gets no room in this decision */
    uint32_t is_owed;     /* enum weir_owed */
    uint32_t is_growing;  /* 1: this decision has started tasks of it */
    uint32_t reserved;
};

/* Where a task goes: position of the node, and parts of its devices in overlay.grants. */
struct weir_spot {
    uint32_t node;
    uint32_t first_grant;
    uint32_t n_grants;
};

/* The nodes of one topology domain, or all. */
struct weir_scope {
    uint32_t level; /* enum weir_topology_level, or WEIR_NONE: all nodes */
    uint32_t value; /* string; WEIR_NONE: the node at `node` alone (a host without a name) */
    uint32_t node;  /* position of its first node */
    uint32_t reserved;
    int64_t free_mgpu; /* as listed: free in it, SOON */
};

#define WEIR_SCOPE_ALL    ((struct weir_scope){WEIR_NONE, WEIR_NONE, WEIR_NONE, 0, 0})
#define WEIR_TOPOLOGY_ANY ((struct weir_topology_demand){WEIR_NONE, WEIR_NONE, WEIR_NONE, 0})

/* Who takes it. */
struct weir_taker {
    uint32_t leaf;
    uint32_t workload; /* row, or WEIR_NONE: not of this world */
    uint32_t owner;    /* string, or WEIR_NONE */
};

struct weir_overlay_step {
    const struct weir_shape *shape;
    struct weir_spot spot;
    struct weir_taker taker;
    uint32_t running; /* WEIR_NONE: a new part */
    uint32_t old_state;
    uint32_t views;
    int32_t sign;
};

struct weir_overlay_mark {
    uint32_t n_steps;
    uint32_t n_grants;
    uint32_t freed;
};

struct weir_overlay {
    const struct weir_world *world;
    struct weir_arena *arena;
    uint32_t n_resources;
    uint32_t gpu_resources; /* bit set: GPUs, their classes, MIG profiles */
    uint32_t has_shaping;   /* 1: some device can be cut or has to do with MPS */
    uint32_t mps_owners;    /* 1: some device has to do with MPS: it matters who shares it */
    uint32_t n_nodes;
    struct weir_overlay_node *nodes;
    struct weir_overlay_device *devices;
    uint32_t n_devices;
    uint32_t n_running;
    struct weir_running *running;
    struct weir_overlay_job *jobs;   /* by row */
    uint32_t *position_of_node;      /* by row */
    uint32_t *position_of_device;    /* by row */
    int64_t *free[WEIR_VIEW_MAX];    /* n_resources of each node */
    int64_t *held[WEIR_VIEW_MAX];    /* n_resources of each queue, by row */
    int64_t *kept;                   /* of held SOON: less what is promised */
    struct weir_grant *grants;       /* of this decision, started or promised */
    struct weir_overlay_step *steps; /* the journal */
    uint32_t n_grants;
    uint32_t cap_grants;
    uint32_t n_steps;
    uint32_t cap_steps;
    uint32_t freed; /* grows whenever room is given back: what found no room may look again */
    uint32_t n_marks;
};

/* All functions that return int: 0, or WEIR_E_NO_MEMORY. */
int weir_overlay_init(struct weir_overlay *overlay, const struct weir_world *world, uint32_t fleet,
                      struct weir_arena *arena);

int weir_overlay_grant(struct weir_overlay *overlay, const struct weir_grant *grant);
/* A task of this shape takes the spot in these views. */
int weir_overlay_hold(struct weir_overlay *overlay, uint32_t views, struct weir_taker taker,
                      const struct weir_shape *shape, struct weir_spot spot);
/* Takes back all that is held in SOON only: every promise. Not inside a trial. */
void weir_overlay_take_back(struct weir_overlay *overlay);
/* What step number `step` of the journal held is given back. */
int weir_overlay_give_back(struct weir_overlay *overlay, uint32_t step);
/* A running task gives its room back: GONE in both views, LEAVING in SOON. */
int weir_overlay_leave(struct weir_overlay *overlay, uint32_t running,
                       enum weir_running_state state);
/* One that was LEAVING stays after all. */
int weir_overlay_stay(struct weir_overlay *overlay, uint32_t running);

/* From now on as if what takes time with devices (making an instance, beginning an MPS daemon) took
 * none: for judging what will fit. */
void weir_overlay_settle(struct weir_overlay *overlay);
/* Devices that no change may be begun on now. Returns when the first of them may be changed again,
 * INT64_MAX: there is none. */
int64_t weir_overlay_freeze(struct weir_overlay *overlay, int64_t now_wall_ms);

bool weir_scope_has(const struct weir_overlay *overlay, const struct weir_scope *scope,
                    uint32_t node);

/* Trials nest. Each mark is either rolled back or kept. */
struct weir_overlay_mark weir_overlay_mark(struct weir_overlay *overlay);
void weir_overlay_rollback(struct weir_overlay *overlay, struct weir_overlay_mark mark);
void weir_overlay_keep(struct weir_overlay *overlay);

/* enum weir_gives */
static inline uint32_t weir_overlay_gives(const struct weir_overlay_device *device)
{
    return device->is_settled ? device->will_give : device->gives;
}

static inline bool weir_overlay_is_gpu(const struct weir_overlay *overlay, uint32_t resource)
{
    return (overlay->gpu_resources & 1u << resource) != 0;
}

static inline int64_t weir_overlay_free(const struct weir_overlay *overlay, enum weir_view view,
                                        uint32_t node, uint32_t resource)
{
    return overlay->free[view][(size_t)node * overlay->n_resources + resource];
}

static inline int64_t weir_overlay_held(const struct weir_overlay *overlay, enum weir_view view,
                                        uint32_t queue, uint32_t resource)
{
    return overlay->held[view][(size_t)queue * overlay->n_resources + resource];
}

static inline int64_t weir_overlay_kept(const struct weir_overlay *overlay, uint32_t queue,
                                        uint32_t resource)
{
    return overlay->kept[(size_t)queue * overlay->n_resources + resource];
}

#endif
