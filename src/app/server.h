/* app/server.h — the control plane's state, for the files of app/ that make it up.
 *
 * The truth is in the store, in the attempts' records and in the devices. What is here is built
 * from them (load.c) and may be thrown away and built again at any time; that is also what happens
 * when a write to the store fails.
 *
 * A change takes one road: it is made in `edit` and written into the open transaction; the tick
 * (reconcile.c) decides on it, commits everything, and only then answers whoever asked and acts. */
#ifndef WEIR_APP_SERVER_H
#define WEIR_APP_SERVER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/plan.h"
#include "model/policy.h"
#include "model/world_edit.h"
#include "port/clock.h"
#include "port/cluster.h"
#include "port/fault.h"
#include "port/gpu.h"
#include "port/gpu_test.h"
#include "port/mps.h"
#include "port/service.h"
#include "port/store.h"

struct weir_bitset;
struct weir_decision_log;
struct weir_server_faults;
struct weir_server_known;
struct weir_server_setups;

/* The running attempt of a task, by the task's index. serial 0: none. */
struct weir_server_attempt {
    struct weir_cluster_ref ref;
    uint32_t is_asked_to_stop; /* enum weir_cause it was last asked for; 0: not yet */
    uint32_t is_occupying;     /* the simulated devices were told */
    bool lost_mps;             /* the MPS daemon of a GPU that it holds died while it ran */
    char *detail;              /* why it could not be started, or why it had to leave; owned;
                                  NULL: nothing is known */
};

/* A process on a GPU, as of the newest sample. */
struct weir_server_process {
    uint64_t serial; /* of the attempt it is of; 0: of none */
    uint32_t pid;
    uint32_t uid;
    int64_t used_bytes; /* < 0: not known */
    uint32_t n_alien;   /* samples in a row in which it had no business there */
    bool only_draws;    /* it shows pictures, and computes nothing */
    bool is_foreign;
};

/* What is on a device, by the device's index. */
struct weir_server_gpu {
    int64_t read_ms;           /* of the sample; 0: none yet */
    int64_t half_made_mono_ms; /* since when it is an instance that serves nobody; 0: it is none */
    struct processes weir_vec(struct weir_server_process) processes; /* by pid */
};

/* What is remembered of a GPU's MPS daemon. */
struct weir_server_mps {
    char uuid[WEIR_GPU_UUID_BYTES];
    uint32_t n_deaths;   /* that were told, as port/mps.h counts them */
    uint32_t n_failures; /* likewise */
    uint32_t n_in_a_row; /* begins that came to nothing */
    int64_t not_before_wall_ms;
    char cause[WEIR_MPS_WHY_MAX + 8];
};

/* The class of a GPU that is known by its name only; the profile of such an instance. */
#define WEIR_SERVER_CLASS_UNKNOWN "unknown"

/* A change of MIG that the driver was asked for. It outlives the state, which may be built anew
 * meanwhile. */
struct weir_server_reshape {
    uint64_t ticket;
    uint32_t reshape;   /* enum weir_reshape */
    uint32_t cause;     /* enum weir_cause */
    uint16_t slots;     /* of the instance: CREATE, DESTROY */
    bool is_done;       /* it was told to be; the driver's next reading shows it */
    struct weir_key on; /* the whole device */
    char profile[32];   /* of the instance */
    char refusal[128];  /* why it could not even be asked; ticket 0 */
};

/* A device whose last change failed. */
struct weir_server_setback {
    struct weir_key on; /* the whole device */
    uint32_t n;         /* in a row */
    int64_t not_before_wall_ms;
    char cause[128];
};

struct weir_server_done {
    struct weir_done done;
    uint64_t outcome;
};

struct weir_server {
    /* ports and settings, set before weir_server_load() */
    struct weir_store store;
    struct weir_cluster cluster;
    struct weir_gpu_port gpu;
    struct weir_mps_port mps;
    struct weir_fault_source fault_source;
    struct weir_gpu_test_port gpu_test; /* start NULL: no command tries a GPU */
    struct weir_clock clock;
    struct weir_policy policy;
    struct weir_decision_log *log; /* NULL: none */
    uint8_t boot_id[16];
    uint32_t uid;               /* the server's own; 0 may run jobs as other users */
    char node_name[64];         /* of this machine, where the driver names none */
    int64_t output_max_bytes;   /* per stream, where the job names none */
    int64_t keep_ended_ms;      /* how long ended workloads stay in the store */
    void (*changed)(void *arg); /* after every tick that changed something; may be NULL */
    void *changed_arg;
    uint64_t seed;

    /* state */
    struct weir_edit *edit;
    const struct weir_world *world;      /* newest sealed version */
    const struct weir_world *plan_world; /* what `plan` was decided on */
    struct weir_plan plan;
    struct weir_now plan_now;         /* when it was decided */
    struct weir_arena plan_arenas[2]; /* of the plan, and of the one before */
    uint32_t plan_arena;
    struct attempts weir_vec(struct weir_server_attempt) attempts;
    struct weir_map by_serial; /* attempt → task */
    struct gpus weir_vec(struct weir_server_gpu) gpus;
    struct mps_marks weir_vec(struct weir_server_mps) mps_marks;   /* outlive a load */
    int64_t last_seq;                                              /* newest event in the store */
    struct weir_server_known *known;                               /* app/known.h */
    struct weir_server_faults *faults;                             /* app/faults.h */
    struct weir_server_setups *setups;                             /* app/setup.h */
    struct reshapes weir_vec(struct weir_server_reshape) reshapes; /* under way */
    struct setbacks weir_vec(struct weir_server_setback) setbacks;

    /* the tick under way */
    bool in_transaction;
    int failed; /* 0, or why the transaction cannot be committed */
    struct weir_err failure;
    struct dones weir_vec(struct weir_server_done) dones;
    bool look_at_all; /* the next tick looks at every attempt, not only at those that gave notice */
    bool dirty;       /* something may have changed: a tick is due */
    bool has_news;    /* something was seen of attempts that no tick has taken up yet */
    bool said_too_many_profiles;
    bool said_other_fleet; /* jobs hold GPUs that the simulated driver has not */
    bool is_stopping;      /* no more requests */
    int64_t
        settle_mono_ms;    /* when the news are due, where they may wait for company; 0: none are */
    int64_t retry_mono_ms; /* after a failed commit: not before; 0: none */
    uint64_t n_ticks;
    uint64_t n_failed_ticks;
};

/* The key of an attempt in by_serial. */
static inline struct weir_str weir_server_serial_key(const uint64_t *serial)
{
    return weir_str_n((const char *)serial, sizeof(*serial));
}

/* ---- load.c ---- */
/* Builds the state from store, attempts and devices. On failure the server has no state and load
 * must be tried again. */
int weir_server_load(struct weir_server *server, struct weir_err *err);
void weir_server_unload(struct weir_server *server);
/* Makes what every weir has (the queue "default"), where it is missing. In its own transaction. */
int weir_server_first_run(struct weir_server *server, struct weir_err *err);

/* ---- reconcile.c ---- */
/* One tick: observe, decide, commit, answer, act. After an error the state is built anew from the
 * store, and whoever still waited was told; what had been committed before it stays. */
int weir_server_tick(struct weir_server *server, struct weir_err *err);
/* When to tick even if nothing happens, as wall ms: now, where the wall clock was set since what
 * the last plan waits for was reckoned by it. */
int64_t weir_server_wake(const struct weir_server *server);
/* False while a tick that is due must wait, because the last one failed. */
bool weir_server_may_tick(const struct weir_server *server);
/* The last tick: what was asked until now is done and answered, or refused; what is asked from now
 * on is refused. */
void weir_server_end(struct weir_server *server);

/* ---- transaction.c ---- */
/* Opens the tick's transaction if it is not open. Fails if it has failed before. */
int weir_server_begin(struct weir_server *server, struct weir_err *err);
/* The transaction cannot be committed any more. Returns result. */
int weir_server_fail(struct weir_server *server, int result, const struct weir_err *err);
/* Whoever asked is answered when the tick has ended. A failure fails the transaction. */
int weir_server_add_done(struct weir_server *server, struct weir_done done, uint64_t outcome,
                         struct weir_err *err);
int weir_server_event(struct weir_server *server, struct weir_str actor, const char *kind,
                      struct weir_str subject, struct weir_str cause, struct weir_str before,
                      struct weir_str after, struct weir_err *err);

/* ---- observe.c ---- */
/* Takes over what attempts gave notice of, between two ticks. Where somebody watches or something
 * waits a tick is due at once, else within a few ms: the next submission's takes it along, and jobs
 * that come and go cost one transaction each. */
void weir_server_take_notices(struct weir_server *server, bool is_watched);
/* Marks ended and running attempts that gave notice (all: looks at every one). */
int weir_server_observe_attempts(struct weir_server *server, bool all, struct weir_err *err);
/* What was taken out of use by hand stays so when it is seen again, or for the first time. */
struct weir_server_cordon {
    struct weir_edit *edit;
    uint32_t phase; /* enum weir_node_phase; READY: there is none */
    uint32_t cause; /* string */
};
int weir_server_find_cordon(struct weir_server *server, uint32_t kind, struct weir_str name,
                            struct weir_server_cordon *ret, struct weir_err *err);
/* Takes over what the GPUs' driver told, and logs its events. True: the devices changed. */
bool weir_server_collect_gpus(struct weir_server *server);
/* Takes in the devices as they were last read; adds, updates, marks lost. */
int weir_server_observe_devices(struct weir_server *server, struct weir_err *err);
/* What is told of faults by now, and what that makes of the devices. */
int weir_server_observe_faults(struct weir_server *server, struct weir_err *err);
/* Both, for the devices where asked; logs what fails, and fails the transaction where that left
 * half of it in the edit. */
void weir_server_look(struct weir_server *server, bool devices_too);
/* Takes over what was seen of a task's attempt. */
int weir_server_see(struct weir_server *server, uint32_t task,
                    const struct weir_cluster_facts *facts, struct weir_err *err);
struct weir_server_attempt *weir_server_attempt_of(struct weir_server *server,
                                                   uint32_t task); /* NULL: no memory */
/* Another attempt in its place; serial 0: none. */
void weir_server_attempt_set(struct weir_server_attempt *attempt,
                             const struct weir_cluster_ref *ref);

/* ---- offers.c ---- */
/* The instances that a whole device takes, as a span for weir_device.offers, and the slots on which
 * they may lie. WEIR_NONE and 0: none are known. */
int weir_server_offers_of(struct weir_server *server, const struct weir_device *row,
                          const struct weir_gpu_device *seen, uint32_t *ret_span,
                          uint16_t *ret_slots, struct weir_err *err);

/* ---- instances.c ---- */
/* The mode of a whole device, and what it offers: as the driver tells, and as is wanted of it. */
int weir_server_observe_mode(struct weir_server *server, uint32_t device,
                             const struct weir_gpu_device *seen, struct weir_err *err);
/* What the driver tells of MIG on a whole device: mode, offers, instances. Adds, changes, removes.
 * Their rows go into `known`, which has room for them. */
int weir_server_observe_mig(struct weir_server *server, uint32_t device,
                            const struct weir_gpu_device *seen, struct weir_bitset *known,
                            struct weir_err *err);
/* Instances that nobody holds any more, of a device that the driver does not list. */
int weir_server_drop_instances(struct weir_server *server, const struct weir_bitset *known,
                               struct weir_err *err);

/* ---- reshape.c ---- */
/* Asks the driver for what a plan's RESHAPE says. */
void weir_server_reshape(struct weir_server *server, const struct weir_action *action);
/* What became of a change. */
void weir_server_reshaped(struct weir_server *server, const struct weir_gpu_mig_result *result);
/* Under way on those slots of the device (of its mode: slots 0); NULL: nothing is. */
const struct weir_server_reshape *weir_server_find_reshape(const struct weir_server *server,
                                                           const struct weir_key *on,
                                                           uint16_t slots);
/* It was seen in the driver, or is not waited for any more. */
void weir_server_forget_reshape(struct weir_server *server, const struct weir_key *on,
                                uint16_t slots);
/* The driver's newest reading of the device is from after what was told to be done there. */
void weir_server_forget_done(struct weir_server *server, const struct weir_key *on);
/* What could not be asked has failed. To be called where a transaction may be opened. */
int weir_server_take_refusals(struct weir_server *server, struct weir_err *err);
/* An instance that serves nobody was seen: one that stays so is destroyed. */
int weir_server_clear_half(struct weir_server *server, uint32_t index, struct weir_err *err);
/* The last change of it failed: said in its row. */
int weir_server_note_setback(struct weir_server *server, uint32_t device, struct weir_err *err);
/* At the start: instances without holder, process and layout are destroyed. */
void weir_server_remove_orphans(struct weir_server *server);
/* What is remembered of changes goes. */
void weir_server_forget_reshapes(struct weir_server *server);

/* ---- simulate.c ---- */
/* Tells a simulated driver once of a process of the task. What it refuses is logged; the only error
 * is WEIR_E_NO_MEMORY. */
int weir_server_occupy(struct weir_server *server, uint32_t task,
                       struct weir_server_attempt *attempt, uint32_t pid, struct weir_err *err);
/* Also what this server did not tell it itself, but before its state was built anew. */
void weir_server_vacate(struct weir_server *server, uint32_t task, uint32_t pid);
/* ---- usage.c ---- */
/* Takes in what the processes on the devices use, of each sample that was not looked at yet. */
int weir_server_observe_use(struct weir_server *server, struct weir_err *err);
/* The same; logs what fails, and fails the transaction where that left half of it in the edit. */
void weir_server_look_at_use(struct weir_server *server);
/* As it was last seen on the device of this name. */
bool weir_server_find_process(const struct weir_server *server, struct weir_str uuid, uint32_t pid,
                              struct weir_server_process *ret);
void weir_server_forget_gpus(struct weir_server *server);
struct weir_server_gpu *weir_server_gpu_of(struct weir_server *server,
                                           uint32_t device); /* NULL: no memory */
/* Of a row that is removed. */
void weir_server_forget_gpu(struct weir_server *server, uint32_t device);
/* "24.0 GiB of 20.0 GiB": what the task uses of the budgets that it holds. */
void weir_server_put_use(const struct weir_world *world, uint32_t task, int64_t used_bytes,
                         struct weir_buf *out);
/* The task of an attempt, or WEIR_NONE. */
uint32_t weir_server_task_of(const struct weir_server *server, uint64_t serial);

/* ---- mps.c ---- */
bool weir_server_can_mps(const struct weir_server *server, const struct weir_gpu_device *seen);
/* How many may share it, as it is now. */
uint32_t weir_server_sharers_of(const struct weir_gpu_device *seen,
                                const struct weir_device *device);
/* Takes over what became of a device's MPS daemon. A failure fails the transaction where that left
 * half of it. */
int weir_server_see_mps(struct weir_server *server, uint32_t device, uint32_t can_mps,
                        struct weir_err *err);
/* Begins or ends the daemon of a device, as a SHARE says. */
void weir_server_share(struct weir_server *server, const struct weir_action *action);
/* When the port's notice_fd is readable: it does what is due, and what follows is looked at. */
void weir_server_look_at_mps(struct weir_server *server);

/* ---- persist.c ---- */
/* "workload/42", of several tasks "workload/42/3": as events and the log name a task. */
enum { WEIR_SERVER_TASK_NAME_MAX = 48 };
struct weir_str weir_server_task_name(const struct weir_world *world, uint32_t task,
                                      char ret_text[WEIR_SERVER_TASK_NAME_MAX]);
/* Writes what `before` → `after` and the plan changed into the transaction. */
int weir_server_persist(struct weir_server *server, const struct weir_world *before,
                        const struct weir_world *after, const struct weir_plan *plan,
                        struct weir_now now, struct weir_err *err);
/* Gives every START of the plan an attempt, before it is persisted. */
int weir_server_assign_attempts(struct weir_server *server, const struct weir_plan *plan,
                                struct weir_err *err);

/* ---- act.c ---- */
/* Asks a task that is STOPPING to leave; to be tried again while its attempt is not asked to stop.
 */
void weir_server_stop(struct weir_server *server, uint32_t task);
void weir_server_act(struct weir_server *server, const struct weir_world *before,
                     const struct weir_plan *plan);
/* Ended workloads leave the world, settled attempts their slots. */
int weir_server_retire(struct weir_server *server, const struct weir_plan *plan,
                       struct weir_err *err);

/* ---- prune.c ---- */
/* Outside a transaction: some of what ended long ago leaves the store, with its output. True: there
 * is more. What fails is logged. */
bool weir_server_prune(struct weir_server *server, struct weir_now now);

/* ---- service.c ---- */
void weir_server_service(struct weir_server *server, struct weir_service *ret_service);

#endif
