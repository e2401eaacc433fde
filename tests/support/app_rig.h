/* A control plane on a real store in a folder of its own, with a cluster, devices and a clock that
 * do as they are told.
 *
 * The fleet: node "alpha" with RIG_GPUS GPUs of 80 GiB, "GPU-0" and on. The attempts live in the
 * rig: they outlive a server, as real ones do. */
#ifndef WEIR_TESTS_SUPPORT_APP_RIG_H
#define WEIR_TESTS_SUPPORT_APP_RIG_H

#include "app/server.h"
#include "base/buf.h"
#include "edge/sqlite/store.h"

#include <stdbool.h>

enum { RIG_GPUS = 4, RIG_ATTEMPTS_MAX = 512, RIG_ANSWERS_MAX = 64, RIG_PROCESSES_MAX = 32 };

#define RIG_GPU_BYTES ((int64_t)80 << 30)

/* One attempt that was launched or settled. */
struct app_attempt {
    struct weir_cluster_ref ref;
    uint64_t number;
    uint32_t member;
    uint32_t attempt;
    bool was_launched;
    bool is_released;
    bool noticed; /* it changed and nobody was told yet */
    struct weir_cluster_facts facts;
    uint32_t n_stops;
    uint32_t n_checkpoints;
    uint32_t n_signals;
    char devices[128];    /* CUDA_VISIBLE_DEVICES */
    int64_t budget_bytes; /* WEIR_GPU_MEMORY_BYTES; 0: its devices are its own */
    char mps[256];        /* all CUDA_MPS_…, a line each */
};

/* A process on a GPU. */
struct app_process {
    uint32_t gpu;
    uint32_t pid;  /* that of an attempt is its facts.pid; others are nobody's */
    int64_t bytes; /* < 0: not known */
    bool is_gone;  /* it is in the sample, and has ended since */
    bool only_draws;
};

struct app_answer {
    int result;
    uint64_t outcome;
};

struct app_rig {
    struct weir_server server;
    struct weir_service service;
    struct weir_sqlite *sqlite;
    struct weir_store real;
    char dir[64];
    struct weir_now now;

    /* the cluster */
    struct app_attempt attempts[RIG_ATTEMPTS_MAX];
    uint32_t n_attempts;
    uint64_t next_serial;
    uint32_t n_launches; /* asked for */
    int launch_result;   /* what launch() says; 0: it begins */
    bool swallows;       /* launch() says 0, and nothing begins: as if the server died before */
    int command_result;
    int look_result;

    /* the devices */
    bool gpu_is_absent[RIG_GPUS];
    bool gpu_is_lost[RIG_GPUS];
    bool gpu_hangs[RIG_GPUS];
    bool gpus_count_on;    /* those that are not absent are counted without gaps */
    bool gpu_hides_memory; /* all of them */
    bool shows_pci;        /* GPU-n is at 0000:0n:00.0: without, no fault is of it */
    bool gpu_is_exclusive[RIG_GPUS];
    uint32_t gpu_major; /* of the compute capability of all */
    int list_result;
    const struct weir_gpu_port *own_gpus;            /* instead of all that; NULL: none */
    struct app_process processes[RIG_PROCESSES_MAX]; /* by pid */
    uint32_t n_processes;
    int64_t sample_ms; /* of all devices; 0: there is none */
    int owners_result;

    /* the store: call number `fail_at` of those that write fails (< 0: none) */
    int64_t fail_at;
    int64_t n_writes;
    bool is_broken; /* every call fails, reads too */

    /* whoever asked */
    struct app_answer answers[RIG_ANSWERS_MAX];
    uint32_t n_answers;
};

/* Ends the test program where something that must hold does not. */
void app_must(bool ok, const char *what);

void app_rig_init(struct app_rig *rig);
void app_rig_finish(struct app_rig *rig);
/* The server goes as in a crash: what is open is rolled back, attempts go on. Then another loads.
 */
void app_rig_crash(struct app_rig *rig);
/* The same, where loading may fail. */
int app_rig_try_crash(struct app_rig *rig);

/* One tick; then the world must be whole and no device in two hands. Returns its result. */
int app_rig_tick(struct app_rig *rig);
/* Checks the world, and that live attempts hold devices of their own. */
void app_rig_check(struct app_rig *rig);
void app_rig_pass(struct app_rig *rig, int64_t ms);

/* ---- what uses the GPUs ---- */

/* The process uses so much of that GPU from now on; 0: it is there no more. */
void app_rig_use(struct app_rig *rig, uint32_t gpu, uint32_t pid, int64_t bytes);
/* A second later: one more sample, looked at, and a tick where one is due. */
void app_rig_sample(struct app_rig *rig);
/* Some of them, so that GPUs which came back have been looked at, and serve. */
void app_rig_test_gpus(struct app_rig *rig);

/* ---- asking ---- */

extern const struct weir_actor app_ana;  /* submit */
extern const struct weir_actor app_root; /* admin */

struct weir_done app_done(struct app_rig *rig);
/* spec: JSON of the spec; key: idempotency key or "". The number comes with the tick. */
int app_rig_submit(struct app_rig *rig, const char *spec, const char *key, struct weir_err *err);
/* text: a JSON array of resources. */
int app_rig_apply(struct app_rig *rig, const char *text, bool dry_run, struct weir_err *err);

/* ---- what happens ---- */

/* The newest attempt of a member; NULL: none. */
struct app_attempt *app_rig_attempt(struct app_rig *rig, uint64_t number, uint32_t member);
/* All that were launched and have not begun begin. */
void app_rig_begin_all(struct app_rig *rig);
void app_rig_end(struct app_rig *rig, struct app_attempt *attempt, enum weir_end end, int status);
/* All that run end: as asked where they were asked to stop, else well. */
void app_rig_end_all(struct app_rig *rig);

/* ---- looking ---- */

/* "succeeded attempt=1 exit=0 gpus=GPU-0" of the workload's record; valid until the next call. */
const char *app_rig_record(struct app_rig *rig, uint64_t number);
/* "kind:cause:before>after" of all events of a subject, each followed by a line end. */
const char *app_rig_events(struct app_rig *rig, const char *subject);
uint32_t app_rig_n_live(const struct app_rig *rig); /* workloads in the world */

#endif
