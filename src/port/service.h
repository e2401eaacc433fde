/* port/service.h — what the API asks of the control plane. app/ implements it.
 *
 * Writes are answered later: `done` is called from the loop once the change is on disk (result 0),
 * or has failed. A function that returns an error has refused at once and will not call `done`. */
#ifndef WEIR_PORT_SERVICE_H
#define WEIR_PORT_SERVICE_H

#include "base/str.h"
#include "base/tree.h"
#include "model/guarantee.h"
#include "model/plan.h"
#include "model/policy.h"
#include "port/cluster.h"
#include "port/gpu.h"
#include "port/store.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;
struct weir_service_eta;

enum weir_actor_role { WEIR_ROLE_READ, WEIR_ROLE_SUBMIT, WEIR_ROLE_ADMIN };

struct weir_actor {
    struct weir_str user;
    uint32_t uid;
    uint32_t gid;
    enum weir_actor_role role;
};

/* A user owns what this user submitted: the same name, and where weir knows accounts the same one.
 * A weir that is not root runs the jobs of all tokens under its own uid. */
static inline bool weir_actor_owns(const struct weir_actor *actor, struct weir_str owner,
                                   uint32_t uid)
{
    return actor->uid == uid && weir_str_eq(actor->user, owner);
}

struct weir_service_counters {
    uint64_t n_ticks;
    uint64_t n_failed_ticks;
    /* Of the decision log; 0 where there is none. */
    uint64_t n_logged;
    uint64_t n_not_logged;
    int64_t log_bytes; /* now */
    bool log_is_off;   /* now: it could not be written to, and is tried again */
};

struct weir_done {
    /* `outcome` is the workload's number for a submission, else 0. */
    void (*fn)(void *arg, int result, uint64_t outcome, const struct weir_err *err);
    void *arg;
};

/* What became of one resource of an apply. */
enum weir_applied { WEIR_APPLIED_CREATED, WEIR_APPLIED_CONFIGURED, WEIR_APPLIED_UNCHANGED };

struct weir_apply_result {
    struct weir_str kind;
    struct weir_str name;
    uint64_t number; /* of a workload */
    enum weir_applied applied;
    struct weir_shortfall shortfall; /* of a queue's guarantee, as it is then */
    /* Of a workload: the fields its spec leaves out, with what counts instead; NULL of a queue. */
    const struct weir_tree *assumed;
};

/* Whose a process on a GPU is. */
struct weir_service_process {
    uint32_t uid;
    uint64_t number; /* of the workload; 0: of none */
    bool is_foreign; /* it has no business there */
};

struct weir_service {
    void *ctx;

    /* ---- reading: valid until control returns to the loop ---- */
    const struct weir_world *(*world)(void *ctx);
    const struct weir_plan *(*plan)(void *ctx); /* its indices are of plan_world() */
    const struct weir_world *(*plan_world)(void *ctx);
    const struct weir_store *(*store)(void *ctx);
    const struct weir_cluster *(*cluster)(void *ctx);
    /* Expected start of a workload, from simulation, which may take long: begin takes what it needs
     * from the loop's thread (WEIR_E_NOT_FOUND if the workload does not wait), run may be called
     * once from any thread, also when the service is gone, and end frees it. */
    int (*eta_begin)(void *ctx, uint64_t number, struct weir_service_eta **ret_eta,
                     struct weir_err *err);
    int (*eta_run)(struct weir_service_eta *eta, int64_t *ret_p50_wall_ms, int64_t *ret_p90_wall_ms,
                   bool *ret_is_assumed, struct weir_err *err);
    void (*eta_end)(struct weir_service_eta *eta);
    /* What the driver said of a GPU last; NULL: nothing is known, or no memory for it. */
    const struct weir_gpu_device *(*gpu)(void *ctx, struct weir_str uuid, struct weir_arena *arena);
    /* Why a GPU is out of service; false: it is not for a fault, nor to be tested after one. Texts
     * live until something is changed, or as long as the arena. */
    bool (*fault)(void *ctx, struct weir_str uuid, struct weir_arena *arena,
                  struct weir_mark_record *ret_mark);
    /* False: nothing is known of it yet, or it has ended. */
    bool (*process)(void *ctx, struct weir_str uuid, uint32_t pid,
                    struct weir_service_process *ret_process);
    bool (*is_ready)(void *ctx);
    const struct weir_policy *(*policy)(void *ctx);
    struct weir_service_counters (*counters)(void *ctx); /* since the start */

    /* ---- writing ---- */
    /* One Workload resource. `key` is the idempotency key (empty: none): the same key and content
     * gives the same number. */
    int (*submit)(void *ctx, const struct weir_actor *actor, const struct weir_tree *doc,
                  struct weir_str key, struct weir_done done, struct weir_err *err);
    /* All or nothing. ret_results lives in the arena and has n_docs entries. */
    int (*apply)(void *ctx, const struct weir_actor *actor, const struct weir_tree *const *docs,
                 uint32_t n_docs, bool dry_run, struct weir_arena *arena,
                 struct weir_apply_result **ret_results, struct weir_done done,
                 struct weir_err *err);
    int (*delete_queue)(void *ctx, const struct weir_actor *actor, struct weir_str name,
                        struct weir_done done, struct weir_err *err);
    int (*delete_setup)(void *ctx, const struct weir_actor *actor, struct weir_str name,
                        struct weir_done done, struct weir_err *err);
    /* A GPU that is not there any more, by its whole name. WEIR_E_EXISTS: it is, or is held. */
    int (*delete_gpu)(void *ctx, const struct weir_actor *actor, struct weir_str name,
                      struct weir_done done, struct weir_err *err);
    int (*cancel)(void *ctx, const struct weir_actor *actor, uint64_t number, struct weir_done done,
                  struct weir_err *err);
    /* To every running task. WEIR_E_UNAVAILABLE: there was none. Other errors: the first of a task
     * that could not be told; the others were. */
    int (*signal)(void *ctx, const struct weir_actor *actor, uint64_t number, int signal_number,
                  struct weir_err *err);
    /* phase: READY, CORDONED, DRAINING. A GPU that is out of service for a fault is tested before
     * it is READY, unless without_test. */
    int (*set_phase)(void *ctx, const struct weir_actor *actor, enum weir_subject kind,
                     struct weir_str name, enum weir_node_phase phase, bool without_test,
                     struct weir_done done, struct weir_err *err);
    /* Faults of simulated GPUs, a line each (port/gpu.h): all of them or, where one is wrong, none.
     * WEIR_E_UNSUPPORTED: they are real. */
    int (*befall)(void *ctx, const struct weir_actor *actor, struct weir_str faults,
                  struct weir_done done, struct weir_err *err);
};

#endif
