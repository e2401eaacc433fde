/* app/faults.h — faults of GPUs: what is told of them, what core/health makes of it, and which GPUs
 * are out of service for it.
 *
 * The truth is in the store: the events of the last day, from which the state of core/health is
 * built again at the start, and the marks of GPUs that are out of service. A mark stays until the
 * GPU was seen to be reset, its node was booted (where that is what it takes), or a person puts the
 * GPU back into use; then it becomes one of a GPU that is to be tested (app/selftest.h). weir
 * resets and boots nothing by itself. */
#ifndef WEIR_APP_FAULTS_H
#define WEIR_APP_FAULTS_H

#include "app/selftest.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/health/incident.h"
#include "model/world.h"
#include "port/gpu.h"

#include <stdbool.h>

struct weir_server;

/* A GPU out of service; texts are owned. */
struct weir_server_mark {
    char *key;
    char *cause;
    char *class;
    uint32_t action; /* enum weir_fault_action */
    uint32_t then;
    int64_t since_wall_ms;
    uint8_t boot_id[16];
    bool was_down; /* it was lost, or asked for a reset: of that it can be seen to be well */
    int64_t since_mono_ms; /* readings from before do not count; 0: none is older */
    struct weir_selftest test;
    char shown[160]; /* of one that is to be tested: why it is suspect */
};

/* As long as repetition counts. */
#define WEIR_SERVER_FAULTS_KEPT_MS ((int64_t)24 * 60 * 60 * 1000)

struct weir_server_faults {
    struct weir_health health;
    struct weir_server_marks weir_vec(struct weir_server_mark) marks;
    uint64_t n_judged; /* of health.n_changes */
    uint64_t n_loaded; /* likewise: what was decided up to there an earlier life may have judged */
    uint64_t passed_seq; /* read and not stored: nothing more came of it; 0: none since the last */
    int64_t stored_mono_ms[WEIR_INCIDENTS_MAX]; /* when an event of the incident was stored last */
    uint64_t last_seq;                          /* of the kernel's log, in this boot */
    bool has_past;              /* an earlier life read that log: what is new in it came since */
    int64_t read_mono_ms;       /* when it was read to its end; 0: not yet */
    struct weir_map recoveries; /* by its place: which recovery the driver asked for last */
    bool is_changed;            /* the devices are to be looked at again */
    uint64_t held[WEIR_INCIDENTS_MAX]; /* ids of those that the breaker keeps from being judged */
    bool is_held;                      /* the circuit breaker is open */
};

/* Builds it from the store; the nodes must be there. */
int weir_server_faults_load(struct weir_server *server, struct weir_err *err);
void weir_server_faults_unload(struct weir_server *server);

/* Reads what the kernel's log says since the last time. A failure to read is logged; one to store
 * fails. */
int weir_server_faults_read(struct weir_server *server, struct weir_err *err);
/* What the driver told. */
int weir_server_faults_note(struct weir_server *server, const struct weir_gpu_event *event,
                            struct weir_err *err);
/* Takes GPUs out of service for what has settled by now. */
int weir_server_faults_judge(struct weir_server *server, struct weir_err *err);
/* When the next incident settles, as mono ms; INT64_MAX: nothing waits for that. */
int64_t weir_server_faults_due(const struct weir_server *server);

/* How it stands with a device that the driver shows so, and why; the text lives until the faults
 * change. Where the driver's own state is a fault, it is noted. */
int weir_server_faults_of(struct weir_server *server, const struct weir_gpu_device *seen,
                          enum weir_device_health *ret_health, struct weir_str *ret_cause,
                          struct weir_err *err);
/* What was said since then of a GPU that jobs bring about themselves, the newest of it; NULL:
 * nothing. The text lives until the faults change. */
const char *weir_server_faults_of_job(struct weir_server *server, struct weir_str key,
                                      int64_t since_mono_ms);
/* NULL: it is not out of service for a fault. */
const struct weir_server_mark *weir_server_faults_mark(const struct weir_server *server,
                                                       struct weir_str key);
/* The GPU is good again, says `why`: where it is out of service it is tested, or serves at once.
 * Of one that does not answer nobody can say so: it stays as it is. */
int weir_server_faults_clear(struct weir_server *server, struct weir_str key, const char *why,
                             bool without_test, struct weir_err *err);

#endif
