/* edge/nvml/prober_core.h — what the loop's side of the prober (prober.c) and its threads
 * (prober_thread.c) share.
 *
 * The core lives until the last of them lets go of it. Under the lock: everything down to `todo`.
 * What follows belongs to the one worker that is active. */
#ifndef WEIR_EDGE_PROBER_CORE_H
#define WEIR_EDGE_PROBER_CORE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/queue.h"
#include "base/vec.h"
#include "edge/nvml/nvml.h"
#include "edge/nvml/prober.h"

#include <pthread.h>

enum message_kind {
    MESSAGE_OPENED,
    MESSAGE_DRIVER,
    MESSAGE_FACTS,
    MESSAGE_SAMPLE,
    MESSAGE_EVENT,
    MESSAGE_MIG
};

/* From a thread to the loop, which owns it then. */
struct message {
    struct weir_queue_item item; /* first */
    enum message_kind kind;
    uint32_t index;          /* FACTS, SAMPLE */
    uint32_t generation;     /* DRIVER, FACTS, SAMPLE */
    struct weir_arena arena; /* what it points to */
    union {
        struct weir_err err; /* OPENED; code 0: it is open */
        struct {
            uint32_t n_devices;
            struct weir_err err; /* code not 0: there is no driver any more */
        } driver;
        struct weir_gpu_device device;
        struct {
            struct weir_gpu_sample sample;
            struct weir_nvml_health health;
        } sampled;
        struct weir_gpu_event event;
        struct weir_gpu_mig_result mig;
    } as;
};

/* From the loop to the worker. */
struct errand {
    struct weir_queue_item item; /* first */
    struct weir_gpu_mig_request request;
    char uuid[WEIR_GPU_UUID_BYTES];
    uint32_t index;
    uint64_t ticket;
};

/* A device, by its index. Whoever holds it may use the meter. */
struct seat {
    const struct worker *holder; /* NULL: nobody */
    struct weir_nvml_meter *meter;
    bool forget;      /* the meter is of a driver that is gone */
    bool wants_facts; /* at the next occasion */
    bool is_failing;
};

enum { AT_NOTHING = -1, AT_DRIVER = -2 };

struct worker {
    struct core *core;
    int64_t at; /* index of the device it asks, or AT_… */
    int64_t since_ms;
    uint64_t ticket; /* of the errand it is on; 0: none */
    bool is_left_behind;
};

struct seats weir_vec(struct seat *);

struct core {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_users; /* the loop's side, and each thread */
    bool is_stopping;
    bool is_reloading;
    bool has_events;       /* the event thread has a set */
    bool is_set_stale;     /* that set went with the driver */
    struct worker *active; /* NULL: it must be replaced */
    struct weir_nvml *nvml;
    uint32_t n_devices;
    uint32_t generation;          /* 0: no driver yet */
    uint32_t n_recoveries;        /* a device came back: its events are to be asked for again */
    struct seats seats;           /* never fewer */
    struct weir_queue_item *todo; /* errands taken from the inbox */

    int64_t next_sample_ms;
    int64_t next_facts_ms;
    uint32_t told_devices;
    uint32_t told_generation;
    int told_code;

    struct weir_prober_options options; /* these never change */
    const char *path;
    struct weir_queue inbox;
    struct weir_queue outbox;
    struct weir_queue_item stop;
};

struct message *message_free(struct message *message);
/* Lets go of the core. */
void core_release(struct core *core);
/* A thread that runs start(core), and has a hold on the core. */
int core_start_thread(struct core *core, void *(*start)(void *arg), void *arg,
                      struct weir_err *err);

void *prober_work(void *worker);
void *prober_watch_events(void *core);

#endif
