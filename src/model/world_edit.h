/* model/world_edit.h — the one writer of worlds: holds the newest state, makes the next version.
 *
 * An edit lives as long as its process needs a changing world. Changes go to the state at once;
 * weir_edit_seal() gives them out as an immutable version. Sums (held, wanted, n_running…) and
 * lists are kept here and nowhere else: rows got by weir_edit_node() and the like may be changed in
 * all fields but those marked "kept by world_edit", `row`, the list links, and what says where a
 * row belongs (node of a device, parent and queue, workload, role, node and state of a task).
 *
 * Every function that needs memory returns WEIR_E_NO_MEMORY and leaves the state consistent, but
 * the change may be half made: the caller throws the edit away and builds it anew from what is
 * stored. One thread. */
#ifndef WEIR_MODEL_WORLD_EDIT_H
#define WEIR_MODEL_WORLD_EDIT_H

#include "model/world.h"

struct weir_err;
struct weir_edit;

/* What a task gets of one device. */
struct weir_grant {
    uint32_t device;
    uint32_t device_gen; /* the device's gen when this was decided */
    int64_t part_mgpu;
    int64_t memory_bytes;
    uint16_t slots;
    uint16_t offer; /* within a decision: 1 + which of the device's offers is to be made on `slots`;
                       0 in a plan */
    uint16_t mps;   /* 1: a share that is to run under the device's MPS daemon */
    uint16_t reserved;
};

/* With the three resources every world has (gpu, cpu, memory). NULL: no memory. */
struct weir_edit *weir_edit_create(const uint8_t boot_id[16]);
/* An edit that starts from a sealed version and leaves it alone: for what-if. It shares all rows,
 * cannot find rows by key and cannot intern (both answer as if nothing were there): it is for what
 * happens to tasks. NULL: no memory. Epochs of two forks of one version are the same, but they
 * never share a chunk they own. */
struct weir_edit *weir_edit_fork(const struct weir_world *world);
struct weir_edit *weir_edit_destroy(struct weir_edit *edit);

/* The state as it is, for reading; valid until the next change. */
const struct weir_world *weir_edit_view(const struct weir_edit *edit);
/* The state as a version with a reference for the caller. NULL: no memory, nothing changed. */
const struct weir_world *weir_edit_seal(struct weir_edit *edit);

/* ---- interning: equal values give equal indices ---- */
/* At most WEIR_STRING_BYTES - 5 bytes, else WEIR_E_TOO_LARGE. */
int weir_edit_string(struct weir_edit *edit, struct weir_str text, uint32_t *ret_string);
int weir_edit_span(struct weir_edit *edit, const uint32_t *values, uint32_t n, uint32_t *ret_span);
/* WEIR_E_TOO_LARGE beyond WEIR_RESOURCE_MAX. */
int weir_edit_resource(struct weir_edit *edit, enum weir_resource_kind kind, struct weir_str name,
                       int64_t grain, uint32_t *ret_resource);
/* "mig/PROFILE", likewise. */
int weir_edit_mig_profile(struct weir_edit *edit, struct weir_str profile, uint32_t *ret_resource);
/* "gpu/CLASS", whose name is cut to 128 bytes. */
int weir_edit_gpu_class(struct weir_edit *edit, struct weir_str class, uint32_t *ret_resource);
/* `like` has its fields but `row`; unused amounts are zero. */
int weir_edit_shape(struct weir_edit *edit, const struct weir_shape *like, uint32_t *ret_shape);

/* ---- rows ---- */
/* By persistent key, or WEIR_NONE. */
uint32_t weir_edit_find(const struct weir_edit *edit, enum weir_table_id table,
                        const struct weir_key *key);
uint32_t weir_edit_find_node(const struct weir_edit *edit, struct weir_str name);
uint32_t weir_edit_find_device(const struct weir_edit *edit, struct weir_str uuid);
uint32_t weir_edit_find_queue(const struct weir_edit *edit, struct weir_str name);

/* Each copies the fields of `like`, then sets `row`, links and sums. WEIR_E_EXISTS if the key is in
 * use. */
int weir_edit_add_node(struct weir_edit *edit, const struct weir_key *key,
                       const struct weir_node *like, uint32_t *ret_index);
int weir_edit_add_device(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_device *like,
                         uint32_t *ret_index); /* node must be set */
int weir_edit_add_queue(struct weir_edit *edit, const struct weir_key *key,
                        const struct weir_queue *like,
                        uint32_t *ret_index); /* parent: without workloads, or WEIR_NONE */
/* With one role per shape and all its tasks, queued. members number from 0 over the roles in their
 * order. WEIR_E_INVALID if the queue has children, WEIR_E_TOO_LARGE if the sums of its root would
 * pass WEIR_AMOUNT_MAX. */
int weir_edit_add_workload(struct weir_edit *edit, const struct weir_key *key,
                           const struct weir_workload *like, const struct weir_role *roles,
                           uint32_t n_roles, uint32_t *ret_index);
/* Whether that would be refused, and how: nothing changes. */
int weir_edit_check_workload(const struct weir_edit *edit, uint32_t queue,
                             const struct weir_role *roles, uint32_t n_roles);
int weir_edit_add_signal(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_signal *like, uint32_t *ret_index);
int weir_edit_add_intent(struct weir_edit *edit, const struct weir_key *key,
                         const struct weir_intent *like, uint32_t *ret_index);
int weir_edit_add_price(struct weir_edit *edit, const struct weir_key *key,
                        const struct weir_price *like, uint32_t *ret_index);

/* For changing; NULL: no memory. */
struct weir_node *weir_edit_node(struct weir_edit *edit, uint32_t index);
struct weir_device *weir_edit_device(struct weir_edit *edit, uint32_t index);
struct weir_queue *weir_edit_queue(struct weir_edit *edit, uint32_t index);
struct weir_workload *weir_edit_workload(struct weir_edit *edit, uint32_t index);
struct weir_task *weir_edit_task(struct weir_edit *edit, uint32_t index);

/* Moves a queue under another parent (WEIR_NONE: a root). WEIR_E_INVALID if that would close a
 * circle or the parent has workloads, WEIR_E_TOO_LARGE as in weir_edit_add_workload(). */
int weir_edit_move_queue(struct weir_edit *edit, uint32_t queue, uint32_t parent);

/* An instance that was known as the holder of a task only (without parent and slots) is this one of
 * that device. WEIR_E_INVALID: not an instance, or it has a parent. */
int weir_edit_adopt_instance(struct weir_edit *edit, uint32_t index, uint32_t parent,
                             uint16_t slots);
/* An instance or a GPU that is no more; what its node has of it in its capacity is the caller's.
 * WEIR_E_INVALID: somebody holds it, or it has instances. */
int weir_edit_remove_device(struct weir_edit *edit, uint32_t index);

/* Removal. A queue with children or workloads: WEIR_E_INVALID. Removing a workload removes its
 * roles, tasks and holds; tasks that make room for it name WEIR_NONE then. Nodes and whole devices
 * stay: they are marked gone and lost. */
int weir_edit_remove_queue(struct weir_edit *edit, uint32_t index);
int weir_edit_remove_workload(struct weir_edit *edit, uint32_t index);
int weir_edit_remove_plain(struct weir_edit *edit, enum weir_table_id table,
                           uint32_t index); /* signals, intents, prices */

/* ---- what happens to tasks: all sums and holds follow ---- */
/* QUEUED → STARTING on a node with these parts of its devices; attempt grows by one.
 * WEIR_E_INVALID, and nothing changed, if the task is not queued or node or devices are not there;
 * that the parts are free is the caller's promise. */
int weir_edit_task_start(struct weir_edit *edit, uint32_t task, uint32_t node,
                         const struct weir_grant *grants, uint32_t n_grants, int64_t wall_ms,
                         int64_t mono_ms);
/* Any other legal step. To QUEUED (a retry) or to a final state the holds are dropped; stop_cause
 * is cleared by both; from QUEUED to a final one, so is ended_wall_ms. WEIR_E_INVALID on a step the
 * table in world_edit.c does not allow. */
int weir_edit_task_state(struct weir_edit *edit, uint32_t task, enum weir_task_state state);
/* One more sample: what the holder was seen to use of the device's memory. Counts in n_over and
 * n_under; 1 where one of them changed. What has no budget is never over it. */
int weir_edit_hold_use(struct weir_edit *edit, uint32_t hold, int64_t used_bytes);
/* Whether it was told that the holder is over its budget. */
int weir_edit_hold_warned(struct weir_edit *edit, uint32_t hold, bool is_warned);
/* For building a world from records: a QUEUED task that had ended in this final state. */
int weir_edit_task_end(struct weir_edit *edit, uint32_t task, enum weir_task_state state);

#endif
