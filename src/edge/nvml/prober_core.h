/* edge/nvml/prober_core.h — what the loop's side of the prober (prober.c) and its threads
 * (prober_thread.c, prober_events.c) share.
 *
 * One worker is active: it goes round the devices, and alone talks to the driver as a whole. One
 * stands by: it leaves the active one behind with a device that takes too long, and goes on in its
 * place. A worker that was left behind finishes with that device and ends; so there is at most one
 * for each device, besides the two. A device that was slow before is given to a worker of its own
 * from the start.
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

/* A device, by its index. Whoever holds it reads the device, and has the meter to itself. */
struct seat {
    const struct worker *holder; /* NULL: nobody */
    int64_t since_ms;            /* of what the holder asks now */
    uint32_t generation;         /* of the driver, when it was taken */
    bool is_changing;            /* that is a change of MIG, which takes longer */
    struct weir_nvml_meter *meter;
    bool is_stale;    /* what the meter remembers is of before: the holder's to forget */
    bool forget;      /* … of a driver that is gone: said to who takes the seat next */
    bool wants_facts; /* at the next occasion */
    bool is_failing;
    bool is_slow;      /* it took longer than a round has for it */
    bool is_unwatched; /* it did not answer when events were asked for */
};

enum {
    AT_NOTHING = -1,
    AT_DRIVER = -2,
    AT_INIT = -3 /* the driver went, and the library is being initialised anew */
};

struct worker {
    struct core *core;
    int64_t at; /* index of the device it asks, or AT_… */
    int64_t since_ms;
    bool is_left_behind; /* or on a device of its own from the start: then … */
    bool with_facts;     /* … so it reads it */
};

struct seats weir_vec(struct seat *);

/* One round over the devices. */
struct round {
    uint32_t n;    /* devices in it; of none there is no round */
    uint32_t next; /* of them */
    bool with_facts;
};

struct core {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the event thread, and whoever waits for it */
    pthread_cond_t due;     /* for the worker that stands by */
    unsigned n_users;       /* the loop's side, and each thread */
    bool is_stopping;
    bool is_reloading;
    bool has_events;       /* the event thread has a set */
    bool is_set_stale;     /* that set went with the driver */
    bool has_standby;      /* a worker stands by */
    struct worker *active; /* NULL: the library is not open */
    struct weir_nvml *nvml;
    uint32_t n_devices;
    uint32_t generation;   /* 0: no driver yet */
    uint32_t n_recoveries; /* a device came back: its events are to be asked for again */
    struct seats seats;    /* never fewer */
    struct round round;
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

/* ---- prober_core.c ---- */
struct message *message_new(enum message_kind kind);
struct message *message_free(struct message *message);
/* Lets go of the core. */
void core_release(struct core *core);
/* A thread that runs start(core), and has a hold on the core. */
int core_start_thread(struct core *core, void *(*start)(void *arg), void *arg,
                      struct weir_err *err);
/* Sleeps with the lock given up until the condition is signalled, at most `ms`. */
bool core_wait(struct core *core, pthread_cond_t *cond, int64_t ms);
bool core_is_stopping(struct core *core);
/* Under the lock, of a seat that is held: its holder waits for an answer for longer than what it
 * asked for can take. */
bool core_is_late(const struct core *core, const struct seat *seat, int64_t now_ms);
/* Waits while the loop is behind. */
void core_tell(struct core *core, struct message *message);

/* ---- prober_thread.c ---- */
/* The first worker: opens the library. */
void *prober_work(void *worker);
/* Starts one that stands by, where none does. */
void prober_have_standby(struct core *core);

/* ---- prober_events.c ---- */
void *prober_watch_events(void *core);

#endif
