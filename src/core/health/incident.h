/* core/health/incident.h — events in, incidents out: one for each thing that went wrong with a
 * device, however many lines it took to say so.
 *
 * An incident is of one node and one device (or of the node, where no device is named). Into it go
 *   any event of that device within WEIR_INCIDENT_MERGE_MS of the last one,
 *   an event of the same family, a child or the driver's verdict within WEIR_INCIDENT_EPISODE_MS.
 * Where a line is of one GPU and does not say of which, it is of the GPU that fails in the same
 * moment (WEIR_INCIDENT_MERGE_MS, be it said before or after); only where none does, it is the
 * node's. Its cause is the heaviest event that is no child. While it SETTLEs
 * (WEIR_INCIDENT_SETTLE_MS: the driver sends an Xid 154 behind many others) its action may still
 * change; then it is DECIDED, and a heavier event settles it anew. A lost GPU, once it is known
 * which, is decided at once: nothing better will come. After the episode without an event it is
 * CLOSED, and its place may be taken.
 *
 * Of the authorities the driver's verdict comes first, but it never makes an action lighter that
 * the registers or the catalogue give: "GPU reset required" does not bring a lost GPU back.
 *
 * Repetition within a day makes more of it, and so does spread; see repeat.h and the constants
 * here.
 *
 * The state is plain data: no pointers, no clock, nothing allocated. It may be copied and kept.
 * Time comes with the events and may not go back. */
#ifndef WEIR_CORE_HEALTH_INCIDENT_H
#define WEIR_CORE_HEALTH_INCIDENT_H

#include "core/health/classify.h"
#include "model/fault.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WEIR_INCIDENT_MERGE_MS = 5000,
    WEIR_INCIDENT_EPISODE_MS = 3 * 60 * 1000,
    WEIR_INCIDENT_SETTLE_MS = 2500,
    WEIR_INCIDENTS_MAX = 256,
    WEIR_INCIDENT_EVIDENCE_MAX = 200,
    WEIR_INCIDENT_PIDS_MAX = 8,
    WEIR_INCIDENT_CODES_MAX = 8,
    WEIR_FAULT_HISTORY_MAX = 512,
    WEIR_FAULT_HISTORY_TIMES = 8,
    WEIR_FAULT_HEADS_MAX = 16,
    /* The same link error on so many devices of a node at once is the fabric's, not theirs. */
    WEIR_INCIDENT_SPREAD_MIN = 4,
    WEIR_FAULT_BREAKER_MS = 10 * 60 * 1000,
    WEIR_FAULT_BREAKER_PART = 4, /* one of so many */
    WEIR_FAULT_BREAKER_MIN = 3,
};

enum weir_incident_state {
    WEIR_INCIDENT_FREE,
    WEIR_INCIDENT_SETTLING,
    WEIR_INCIDENT_DECIDED,
    WEIR_INCIDENT_CLOSED,
    WEIR_INCIDENT_STATE_MAX
};

struct weir_incident {
    uint64_t id;      /* grows, never used again */
    uint64_t changed; /* number of the change that touched it last: weir_health.n_changes */
    uint64_t decided; /* … and of the one that decided it last; 0: none has yet */
    uint8_t state;    /* enum weir_incident_state */
    uint8_t action;   /* enum weir_fault_action */
    uint8_t then;
    uint8_t scope;
    uint8_t authority; /* which of them decided the action */
    uint8_t family;
    uint8_t recovery; /* the driver's verdict; ABSENT without one */
    uint8_t kind;     /* of the cause, enum weir_fault_kind */
    uint32_t code;    /* of the cause */
    struct weir_fault_device device;
    bool is_to_test;  /* it may be the device's fault, and may not: see repeat.h */
    bool is_nameless; /* its cause is of one device, and does not say of which */
    int32_t gpu_instance;
    int64_t first_ms;
    int64_t last_ms;
    int64_t settled_ms;  /* when it is, or was, decided */
    uint64_t n_events;   /* children too */
    uint32_t n_episodes; /* of this cause on this device within a day, this one too */
    uint32_t n_pids;
    int64_t pids[WEIR_INCIDENT_PIDS_MAX]; /* processes that the events name */
    uint32_t n_codes;
    uint32_t codes[WEIR_INCIDENT_CODES_MAX]; /* noted in the history already */
    char class[WEIR_FAULT_CLASS_MAX];
    char why[WEIR_INCIDENT_EVIDENCE_MAX];
    char evidence[WEIR_INCIDENT_EVIDENCE_MAX]; /* the text of the cause, one line of it */
};

/* When a code was seen on a device: one time for each episode. */
struct weir_fault_history {
    struct weir_fault_device device;
    uint32_t code;                           /* 0: the entry is free */
    uint32_t n;                              /* times kept */
    int64_t at_ms[WEIR_FAULT_HISTORY_TIMES]; /* oldest first */
    uint64_t user[WEIR_FAULT_HISTORY_TIMES]; /* 0: unknown */
    int64_t place[WEIR_FAULT_HISTORY_TIMES]; /* in the device; -1: unknown */
    int64_t tested_ms; /* up to then it led to a test of the device; 0: to none */
};

struct weir_fault_head {
    struct weir_fault_device device;
    int64_t at_ms;
};

struct weir_health {
    uint64_t n_changes;
    uint64_t n_dropped; /* events that found no place: every incident was heavier and open */
    uint64_t next_id;
    uint32_t n_heads;
    struct weir_fault_head heads[WEIR_FAULT_HEADS_MAX];
    struct weir_incident incidents[WEIR_INCIDENTS_MAX];
    struct weir_fault_history history[WEIR_FAULT_HISTORY_MAX];
};

void weir_health_init(struct weir_health *health);
/* Takes one event in. Returns the incident it went to, or NULL where it is none of its own: no
 * fault, one half of a message, or no place left. */
struct weir_incident *weir_health_feed(struct weir_health *health,
                                       const struct weir_fault_event *event);
/* The device is good again: whatever is said of it from now on is another incident. */
void weir_health_close(struct weir_health *health, const struct weir_fault_device *device);
/* Time has passed: decides what is settled, closes what is over. */
void weir_health_tick(struct weir_health *health, int64_t now_ms);
/* When the next tick is due; INT64_MAX: not before the next event. */
int64_t weir_health_due_ms(const struct weir_health *health);

/* What weir makes of an incident. Resets and reboots are only ever proposed, in words. */
enum weir_fault_outcome {
    WEIR_FAULT_OUTCOME_NONE,
    WEIR_FAULT_OUTCOME_RECORD,
    WEIR_FAULT_OUTCOME_WATCH,
    WEIR_FAULT_OUTCOME_JOB,  /* the job fails by its own fault, or with its memory; nothing else */
    WEIR_FAULT_OUTCOME_TEST, /* the job's as well, and the GPU is tested before it serves others */
    WEIR_FAULT_OUTCOME_DEVICE, /* the GPU is unhealthy: nothing is placed on it */
    WEIR_FAULT_OUTCOME_FABRIC, /* so are the GPUs behind that switch */
    WEIR_FAULT_OUTCOME_NODE,   /* some GPU of the node is, and it is not known which */
    WEIR_FAULT_OUTCOME_MAX
};

/* Of a class or an incident: by its action, its family and whether the device is known. */
enum weir_fault_outcome weir_fault_outcome(enum weir_fault_action action,
                                           enum weir_fault_family family, bool device_is_known);
enum weir_fault_outcome weir_incident_outcome(const struct weir_incident *incident);
/* Whether more of the fleet failed at once than faults of single GPUs explain, so that what fails
 * next is to be told and left in service: of n GPUs a quarter, and at least three, within
 * WEIR_FAULT_BREAKER_MS. */
bool weir_fault_breaker(uint32_t n_gpus, uint32_t n_failed_lately);

const char *weir_fault_outcome_name(enum weir_fault_outcome outcome);
/* What weir does for it: the rest of a sentence. */
const char *weir_fault_outcome_words(enum weir_fault_outcome outcome);

#endif
