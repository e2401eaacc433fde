/* A world with a random past: every operation of model/world_edit.h, in any order, from a seed.
 *
 * One step does one operation and says what it did and what came of it, so that a test can do the
 * same to a model of its own. Steps that must be refused are among them. */
#ifndef WEIR_TESTS_WORLD_HISTORY_H
#define WEIR_TESTS_WORLD_HISTORY_H

#include "base/rng.h"
#include "model/world_edit.h"

enum { HISTORY_SHAPES = 5, HISTORY_ROLES_MAX = 3, HISTORY_GRANTS_MAX = 4 };

enum history_kind {
    HISTORY_ADD_NODE,
    HISTORY_ADD_DEVICE,
    HISTORY_ADD_QUEUE,
    HISTORY_MOVE_QUEUE,
    HISTORY_REMOVE_QUEUE,
    HISTORY_ADD_WORKLOAD,
    HISTORY_REMOVE_WORKLOAD,
    HISTORY_START,
    HISTORY_STATE,
    HISTORY_CHANGE_FIELDS,
    HISTORY_ADD_PLAIN,
    HISTORY_REMOVE_PLAIN,
    HISTORY_KIND_MAX
};

struct history_op {
    enum history_kind kind;
    int result;
    struct weir_key key; /* of what was added */
    uint32_t index;      /* of what was added, removed, moved, started or changed */
    uint32_t other; /* node of a device, parent or queue, node of a start, table of a plain row */
    enum weir_task_state state;
    uint32_t n_roles;
    struct weir_role roles[HISTORY_ROLES_MAX];
    uint32_t n_grants;
    struct weir_grant grants[HISTORY_GRANTS_MAX];
};

struct history {
    struct weir_edit *edit;
    struct weir_rng rng;
    uint64_t next_number;
    int64_t now_ms;
    uint32_t max_nodes; /* about: no more are added above */
    uint32_t max_workloads;
    uint32_t gpu_class;
    uint32_t mig_profile;
    uint32_t shapes[HISTORY_SHAPES]; /* cpu only, a GPU, two GPUs, a shared GPU, a MIG instance */
};

/* 0 or WEIR_E_NO_MEMORY; history_finish() is due in both cases. */
int history_init(struct history *history, uint64_t seed, uint32_t max_nodes,
                 uint32_t max_workloads);
void history_finish(struct history *history);
/* One operation. 0, and what came of it is op->result; or WEIR_E_NO_MEMORY. */
int history_step(struct history *history, struct history_op *ret_op);
/* Some steps. 0 or WEIR_E_NO_MEMORY. */
int history_run(struct history *history, unsigned n_steps);

/* A fleet of nodes with 8 devices each, and queued workloads of one task in one queue, as many as
 * asked for. 0 or WEIR_E_NO_MEMORY. */
int history_fill(struct history *history, uint32_t n_nodes, uint32_t n_workloads);

/* A random live row, or WEIR_NONE. */
uint32_t history_any(struct history *history, enum weir_table_id table);

#endif
