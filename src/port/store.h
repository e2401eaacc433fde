/* port/store.h — what must survive: the store's contract.
 *
 * The store is the truth: the world is built from it, and every accepted change is in it before
 * anybody is told. Writes happen inside begin … commit; commit returns 0 only when the changes are
 * on disk. After a failed write or commit the transaction is rolled back by the store, and the
 * caller builds its state anew (load). Texts handed to callbacks live until the callback returns.
 */
#ifndef WEIR_PORT_STORE_H
#define WEIR_PORT_STORE_H

#include "base/str.h"
#include "model/key.h"
#include "model/world.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;

struct weir_queue_record {
    struct weir_str name;
    struct weir_str spec; /* JSON of the resource's spec */
    int64_t created_wall_ms;
};

/* How GPUs are to be cut and shared. */
struct weir_setup_record {
    struct weir_str name;
    struct weir_str spec; /* JSON of the resource's spec */
    int64_t created_wall_ms;
};

/* One submission. Times are 0 where they have not come yet. */
struct weir_workload_record {
    uint64_t number;
    struct weir_str name;
    struct weir_str queue;
    struct weir_str owner; /* user name of the submitter */
    uint32_t uid;          /* whom it runs as */
    uint32_t gid;
    struct weir_str spec;    /* JSON of the resource's spec, as accepted; empty in lists */
    struct weir_str request; /* the idempotency key it came with, or empty; not read back */
    uint8_t digest[16];      /* of what was asked, where there is such a key; not read back */
    uint32_t class;          /* enum weir_class */
    int32_t priority;
    uint32_t n_tasks;
    uint32_t independent;
    uint32_t state; /* enum weir_task_state, of the whole */
    uint32_t cause; /* enum weir_cause of the last change */
    uint32_t attempt;
    int32_t exit_status; /* valid when ended: the first that is not 0, else 0 */
    uint32_t cancelled;
    uint32_t n_failures;
    uint32_t is_demo;
    struct weir_str gpus; /* comma-separated keys it holds or, ended, held last */
    struct weir_str node;
    struct weir_str detail; /* ended: why it could not be started; queued again: why it had to
                               leave; else empty */
    int64_t submitted_wall_ms;
    int64_t started_wall_ms;
    int64_t ended_wall_ms;
    int64_t not_before_wall_ms;
};

/* One task of it, from its first start on (a task that never started has no record). */
struct weir_task_record {
    uint64_t number;
    uint32_t member;
    uint32_t state; /* enum weir_task_state */
    uint32_t attempt;
    uint32_t stop_cause; /* enum weir_cause */
    uint32_t end;        /* enum weir_end of the last attempt */
    uint32_t cause;      /* enum weir_cause of the last change */
    int32_t exit_status;
    uint32_t n_failures;
    uint64_t for_whom; /* stopping: the number of the workload that needs the room; else 0 */
    uint64_t serial;   /* of the attempt: identifies it to its shim */
    uint64_t nonce;
    uint32_t slot;
    struct weir_str node;
    struct weir_str grants; /* "KEY:mgpu:bytes:slots,…" it holds or, ended, held last */
    struct weir_str detail; /* why the last attempt could not be started, or had to leave; else
                               empty */
    int64_t started_wall_ms;
    int64_t started_mono_ms;
    int64_t ended_wall_ms;
    int64_t not_before_wall_ms;
};

/* A node or GPU that was taken out of use by hand. */
struct weir_cordon_record {
    uint32_t subject_kind; /* WEIR_SUBJECT_NODE or WEIR_SUBJECT_DEVICE */
    uint32_t phase;       /* enum weir_node_phase: CORDONED or DRAINING; READY deletes the record */
    struct weir_str name; /* node name or device UUID */
    struct weir_str cause;
};

/* What was said of a fault, as it was said; kept as long as it may count. */
struct weir_fault_record {
    int64_t wall_ms;
    int64_t mono_ms;
    const uint8_t *boot_id; /* 16 bytes: that mono_ms and source_seq are of */
    int64_t source_seq;     /* of the record of the kernel's log; 0: not from there */
    struct weir_str node;
    struct weir_str event; /* JSON (app/fault_codec.h) */
};

/* A GPU that is out of service for a fault, until that is put right. */
struct weir_mark_record {
    struct weir_str key;   /* of the GPU */
    struct weir_str cause; /* one line of evidence */
    struct weir_str class; /* of the fault, as core/health names it */
    uint32_t action;       /* enum weir_fault_action: what a person is to do */
    uint32_t then;         /* when that did not help */
    int64_t since_wall_ms;
    const uint8_t *boot_id; /* in which it was seen */
};

/* A GPU that was seen, as it was when it last told all of itself; so it is known while it does not
 * answer. */
struct weir_gpu_record {
    struct weir_str key;   /* its UUID */
    struct weir_str facts; /* JSON (app/gpu_codec.h) */
    bool is_simulated;
    int64_t seen_wall_ms;
};

/* What happened. Append-only. */
struct weir_event_record {
    int64_t seq; /* given by the store: one more than the last */
    int64_t wall_ms;
    int64_t mono_ms;
    const uint8_t *boot_id; /* 16 bytes */
    struct weir_str actor;  /* "user:ana", "weir" */
    struct weir_str kind;   /* "workload.started", "queue.configured"… */
    struct weir_str cause;
    struct weir_str subject; /* "workload/42", "gpu/GPU-…" */
    struct weir_str before;
    struct weir_str after;
};

struct weir_workload_filter {
    bool all;              /* ended ones too */
    struct weir_str queue; /* empty: any */
    struct weir_str owner;
    struct weir_str name;
    int state;             /* enum weir_task_state, or -1: any */
    uint64_t after_number; /* page: numbers above this */
    uint32_t limit;
};

struct weir_event_filter {
    int64_t after;           /* seq above this … */
    int64_t until;           /* … and up to this */
    struct weir_str subject; /* empty: any; of "workload/42" also "workload/42/3" */
    uint32_t limit;
};

/* Some events in a row of those that a filter lets through. */
struct weir_event_run {
    int64_t first; /* seq; of none both are 0 */
    int64_t last;
    uint32_t n;
};

struct weir_store {
    void *ctx;

    /* Identity of the data directory, for keys (weir_key_of_number). */
    uint64_t space;

    int (*begin)(void *ctx, struct weir_err *err);
    /* durable: it survives a power cut when this returns. Else it survives the end of the process
     * (kill -9, a crash), and a power cut once `sync` or a durable commit came after it. */
    int (*commit)(void *ctx, bool durable, struct weir_err *err);
    int (*sync)(void *ctx, struct weir_err *err); /* does nothing when all is durable */
    void (*rollback)(void *ctx);
    /* Inside a transaction: marks a place, and takes back what was written since. One place at a
     * time. */
    int (*mark)(void *ctx, struct weir_err *err);
    int (*undo)(void *ctx, struct weir_err *err);

    /* What the next workload is to be called: a number that none had before, pruned ones included.
     * It is taken by adding that workload. */
    int (*next_number)(void *ctx, uint64_t *ret_number, struct weir_err *err);
    int (*put_queue)(void *ctx, const struct weir_queue_record *queue, struct weir_err *err);
    int (*delete_queue)(void *ctx, struct weir_str name, struct weir_err *err);
    int (*put_setup)(void *ctx, const struct weir_setup_record *setup, struct weir_err *err);
    int (*delete_setup)(void *ctx, struct weir_str name, struct weir_err *err);
    /* Fails where the owner has used its request before. */
    int (*add_workload)(void *ctx, const struct weir_workload_record *workload,
                        struct weir_err *err);
    /* Changes what may change: state, cause, attempt, exit_status, cancelled, n_failures, gpus,
     * node, detail, times. An end stays: ended_wall_ms 0 leaves what is there. */
    int (*update_workload)(void *ctx, const struct weir_workload_record *workload,
                           struct weir_err *err);
    int (*put_task)(void *ctx, const struct weir_task_record *task, struct weir_err *err);
    int (*put_cordon)(void *ctx, const struct weir_cordon_record *cordon, struct weir_err *err);
    int (*append_event)(void *ctx, const struct weir_event_record *event, struct weir_err *err);
    int (*append_fault)(void *ctx, const struct weir_fault_record *fault, struct weir_err *err);
    /* Those from before that time go. */
    int (*delete_faults)(void *ctx, int64_t before_wall_ms, struct weir_err *err);
    int (*put_mark)(void *ctx, const struct weir_mark_record *mark, struct weir_err *err);
    int (*delete_mark)(void *ctx, struct weir_str key, struct weir_err *err);
    int (*put_gpu)(void *ctx, const struct weir_gpu_record *gpu, struct weir_err *err);
    int (*delete_gpu)(void *ctx, struct weir_str key, struct weir_err *err);
    /* Deletes ended workloads (with tasks and requests) that ended before `wall_ms`, at most
     * `limit` tasks and workloads together, and at most as many events up to `event_seq`. What each
     * task was goes to the callback before; one that returns > 0 lets this one be the last for now.
     * A workload with more tasks than that stays, with the rest of them. 1: there is more. */
    int (*prune)(void *ctx, int64_t wall_ms, int64_t event_seq, uint32_t limit,
                 int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                 struct weir_err *err);

    /* Reading. A callback that returns non-zero ends the walk, which then returns that value. */
    int (*each_queue)(void *ctx, int (*each)(void *arg, const struct weir_queue_record *queue),
                      void *arg, struct weir_err *err);
    /* In order of name. */
    int (*each_setup)(void *ctx, int (*each)(void *arg, const struct weir_setup_record *setup),
                      void *arg, struct weir_err *err);
    /* In order of key. */
    int (*each_gpu)(void *ctx, int (*each)(void *arg, const struct weir_gpu_record *gpu), void *arg,
                    struct weir_err *err);
    /* In order of number; with_spec says whether `spec` is filled. */
    int (*each_workload)(void *ctx, const struct weir_workload_filter *filter, bool with_spec,
                         int (*each)(void *arg, const struct weir_workload_record *workload),
                         void *arg, struct weir_err *err);
    /* In order of member. */
    int (*each_task)(void *ctx, uint64_t number,
                     int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                     struct weir_err *err);
    /* The cordon of one subject; where there is none the callback is not called. */
    int (*find_cordon)(void *ctx, uint32_t subject_kind, struct weir_str name,
                       int (*each)(void *arg, const struct weir_cordon_record *cordon), void *arg,
                       struct weir_err *err);
    /* In the order in which they were appended. */
    int (*each_fault)(void *ctx, int (*each)(void *arg, const struct weir_fault_record *fault),
                      void *arg, struct weir_err *err);
    int (*each_mark)(void *ctx, int (*each)(void *arg, const struct weir_mark_record *mark),
                     void *arg, struct weir_err *err);
    /* The first `limit` of them, in order. What it takes grows with the seqs from `after` on that
     * have to be looked at, and so it does, from `until` down, with the next one. */
    int (*each_event)(void *ctx, const struct weir_event_filter *filter,
                      int (*each)(void *arg, const struct weir_event_record *event), void *arg,
                      struct weir_err *err);
    /* Where the last `limit` of them are. */
    int (*last_events)(void *ctx, const struct weir_event_filter *filter,
                       struct weir_event_run *ret_run, struct weir_err *err);
    /* Since when the wall clock showed `wall_ms`: the event behind *ret_after is no older and the
     * one at it is, or there is none. Where the clock was set back it may have shown that time more
     * than once: it is one of those moments. It takes a few looks, however many events there are.
     */
    int (*events_since)(void *ctx, int64_t wall_ms, int64_t *ret_after, struct weir_err *err);
    /* One workload with its spec. WEIR_E_NOT_FOUND. */
    int (*get_workload)(void *ctx, uint64_t number,
                        int (*each)(void *arg, const struct weir_workload_record *workload),
                        void *arg, struct weir_err *err);
    /* The workload that came with this key of this owner, and the digest of what was asked.
     * WEIR_E_NOT_FOUND when the key is new. */
    int (*get_request)(void *ctx, struct weir_str owner, struct weir_str key,
                       uint8_t ret_digest[16], uint64_t *ret_number, struct weir_err *err);
    int (*last_event)(void *ctx, int64_t *ret_seq, struct weir_err *err);
};

#endif
