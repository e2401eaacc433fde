/* app/service_impl.h — what the files of the service share; for service*.c only. */
#ifndef WEIR_APP_SERVICE_IMPL_H
#define WEIR_APP_SERVICE_IMPL_H

#include "app/resource.h"
#include "app/server.h"

/* ---- service.c ---- */
/* WEIR_E_UNAVAILABLE: without a state, or stopping. */
int weir_service_check_ready(const struct weir_server *server, struct weir_err *err);
int weir_service_check_role(const struct weir_actor *actor, enum weir_actor_role role,
                            const char *what, struct weir_err *err);
/* An error with this code, and the nearest name of a queue. Returns the code. */
int weir_service_no_queue(const struct weir_server *server, int code, struct weir_str name,
                          struct weir_err *err);
uint32_t weir_service_find_workload(const struct weir_server *server, uint64_t number);
/* "user:NAME", written to text. */
struct weir_str weir_service_actor_name(const struct weir_actor *actor, char *text, size_t size);
int weir_service_event(struct weir_server *server, const struct weir_actor *actor, const char *kind,
                       const char *subject_kind, struct weir_str name, struct weir_str after,
                       struct weir_err *err);

/* ---- service_submit.c ---- */
struct weir_submission {
    const struct weir_actor *actor;
    struct weir_resource_workload ask;
    struct weir_str name;
    struct weir_str spec;
    struct weir_str request; /* idempotency key; empty: none */
    uint8_t digest[16];      /* of what was asked, where there is one */
    bool is_demo;
};

/* Finds everything that can be wrong, before anything is written; ret lives as long as doc and
 * arena. ret->spec is there even where something is wrong. */
int weir_submission_check(struct weir_server *server, const struct weir_actor *actor,
                          const struct weir_tree *doc, struct weir_arena *arena,
                          struct weir_submission *ret, struct weir_err *err);
/* Writes it into the transaction and the edit. A failure fails the transaction. */
int weir_submission_accept(struct weir_server *server, struct weir_submission *s,
                           uint64_t *ret_number, struct weir_err *err);
int weir_service_submit(void *ctx, const struct weir_actor *actor, const struct weir_tree *doc,
                        struct weir_str key, struct weir_done done, struct weir_err *err);

/* ---- service_queue.c ---- */
struct weir_queue_change {
    struct weir_str name;
    struct weir_str spec;
    struct weir_str parent;
    struct weir_queue row;
    uint32_t index; /* WEIR_NONE until a new one is written */
    bool is_new;
    bool unchanged;
    bool is_written;
    struct weir_queue old; /* the row before it was changed */
};

int weir_queue_change_check(struct weir_server *server, const struct weir_tree *doc,
                            struct weir_arena *arena, struct weir_queue_change *ret,
                            struct weir_err *err);
/* The parent may be one of this apply: the tree is checked when all queues of it are known. */
int weir_queue_change_check_parents(struct weir_server *server, const struct weir_tree *const *docs,
                                    const struct weir_queue_change *changes, uint32_t n,
                                    struct weir_err *err);
/* Row and record first, for all queues; then the parents (below). */
int weir_queue_change_write(struct weir_server *server, const struct weir_actor *actor,
                            struct weir_queue_change *change, struct weir_err *err);
/* Parents change in two steps, each for all queues: whatever is to have another parent becomes a
 * root, then gets it. So no order of them closes a circle that the result has not. `back`: to what
 * was before the change. WEIR_E_TOO_LARGE as in weir_edit_move_queue(). */
int weir_queue_change_unlink(struct weir_server *server, const struct weir_queue_change *change,
                             bool back);
int weir_queue_change_link(struct weir_server *server, const struct weir_queue_change *change,
                           bool back);
/* Taking back, when the parents are as before: removed, or set as it was. */
int weir_queue_change_undo(struct weir_server *server, const struct weir_queue_change *change);
int weir_service_delete_queue(void *ctx, const struct weir_actor *actor, struct weir_str name,
                              struct weir_done done, struct weir_err *err);

/* ---- service_setup.c ---- */
struct weir_setup_change {
    struct weir_str name;
    struct weir_str spec;
    bool is_new;
    bool unchanged;
};

int weir_setup_change_check(struct weir_server *server, const struct weir_tree *doc,
                            struct weir_arena *arena, struct weir_setup_change *ret,
                            struct weir_err *err);
int weir_setup_change_write(struct weir_server *server, const struct weir_actor *actor,
                            const struct weir_setup_change *change, struct weir_err *err);
/* What is written counts from now on; also after it was taken back. */
int weir_setup_change_take_over(struct weir_server *server, struct weir_err *err);
int weir_service_delete_setup(void *ctx, const struct weir_actor *actor, struct weir_str name,
                              struct weir_done done, struct weir_err *err);

/* ---- service_gpu.c ---- */
int weir_service_delete_gpu(void *ctx, const struct weir_actor *actor, struct weir_str name,
                            struct weir_done done, struct weir_err *err);

/* ---- service_apply.c, service_change.c ---- */
int weir_service_apply(void *ctx, const struct weir_actor *actor,
                       const struct weir_tree *const *docs, uint32_t n_docs, bool dry_run,
                       struct weir_arena *arena, struct weir_apply_result **ret_results,
                       struct weir_done done, struct weir_err *err);
int weir_service_cancel(void *ctx, const struct weir_actor *actor, uint64_t number,
                        struct weir_done done, struct weir_err *err);
int weir_service_signal(void *ctx, const struct weir_actor *actor, uint64_t number,
                        int signal_number, struct weir_err *err);
int weir_service_set_phase(void *ctx, const struct weir_actor *actor, enum weir_subject kind,
                           struct weir_str name, enum weir_node_phase phase, bool without_test,
                           struct weir_done done, struct weir_err *err);

/* ---- service_simulate.c ---- */
int weir_service_befall(void *ctx, const struct weir_actor *actor, struct weir_str faults,
                        struct weir_done done, struct weir_err *err);

#endif
