/* edge/local/attempt.h — one attempt to run a job: who it is, and what its shim writes down of it.
 *
 * The shim of an attempt (see shim.h) writes its status into a slot of DATA/slots (see slots.h);
 * the server reads it there. A slot is two records of 512 bytes, written in turn (copy = seq & 1),
 * each with a CRC-32C, so that a torn write or a writer that dies in the middle leaves the earlier
 * state readable. Little-endian, fixed size, written in place: a full disk cannot lose an exit
 * status. */
#ifndef WEIR_EDGE_LOCAL_ATTEMPT_H
#define WEIR_EDGE_LOCAL_ATTEMPT_H

#include "port/cluster.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct weir_err;

/* Who an attempt is. The server gives it out, and writes it down before it launches. */
struct weir_attempt_id {
    uint64_t serial; /* > 0; rises with every attempt ever made under one data directory */
    uint64_t nonce;  /* random: sets attempts of different servers on one machine apart */
    uint32_t slot;   /* its record in DATA/slots; free again once its end has been noted */
};

enum weir_attempt_phase {
    WEIR_ATTEMPT_NONE,      /* nothing was written for this attempt: it may still start */
    WEIR_ATTEMPT_FORBIDDEN, /* the server forbade it before it began: it never ran, never will */
    WEIR_ATTEMPT_CLAIMED,   /* a shim has it. If the shim is dead: it may have run for a moment */
    WEIR_ATTEMPT_RUNNING,   /* main was started. If the shim is dead: lost, see sweep.h */
    WEIR_ATTEMPT_EXITED,    /* main ended, nothing of the job is left; wait_status tells how */
    WEIR_ATTEMPT_FAILED,    /* the command could not be started: start_errno, what; wait_status */
    WEIR_ATTEMPT_PHASE_MAX
};

enum weir_attempt_flag {
    WEIR_ATTEMPT_TIME_LIMIT = 1 << 0,      /* the time limit was hit */
    WEIR_ATTEMPT_STOP_ASKED = 1 << 1,      /* a stop, checkpoint or kill command came */
    WEIR_ATTEMPT_CHECKPOINT_SENT = 1 << 2, /* main got the checkpoint signal */
    WEIR_ATTEMPT_KILL_SENT = 1 << 3,  /* main got SIGKILL from the shim: it outlived the grace */
    WEIR_ATTEMPT_OOM_KNOWN = 1 << 4,  /* the kernel killed in the job's cgroup for memory */
    WEIR_ATTEMPT_OOM_LIKELY = 1 << 5, /* SIGKILL of unknown origin while the kernel killed */
    WEIR_ATTEMPT_OUTPUT_ROTATED = 1 << 6, /* older output was deleted to keep the cap */
    WEIR_ATTEMPT_OUTPUT_DROPPED = 1 << 7, /* output could not be written (disk full) */
    WEIR_ATTEMPT_LEFT_BEHIND = 1 << 8,    /* a process of the job that the shim may not kill */
};

enum {
    WEIR_ATTEMPT_WHAT_MAX = 64,
    WEIR_ATTEMPT_SUBJECT_MAX = 192,
    WEIR_ATTEMPT_WHY_MAX = 320,
    WEIR_ATTEMPT_RECORD_BYTES = 512,
    WEIR_ATTEMPT_SLOT_BYTES = 1024
};

struct weir_attempt_status {
    uint64_t seq; /* rises with every record written into the slot */
    struct weir_attempt_id id;
    enum weir_attempt_phase phase;
    uint32_t flags;      /* enum weir_attempt_flag */
    int32_t start_errno; /* failed: why, as errno (ECANCELED: stopped before it began) */
    char what[WEIR_ATTEMPT_WHAT_MAX];       /* failed: at what ("exec", "working directory", …) */
    char subject[WEIR_ATTEMPT_SUBJECT_MAX]; /* failed: the command or the folder, maybe cut */
    pid_t shim_pid;
    pid_t main_pid;            /* also the process group of main; 0 before it runs */
    uint64_t shim_start_ticks; /* field 22 of /proc/PID/stat: with the pid it names one process */
    uint64_t main_start_ticks;
    uid_t uid; /* the job's */
    uint8_t boot_id[16];
    int64_t claimed_wall_ms;
    int64_t started_wall_ms; /* 0: not */
    int64_t started_mono_ms; /* CLOCK_BOOTTIME, comparable within boot_id only */
    int64_t ended_wall_ms;
    int64_t ended_mono_ms;
    int32_t
        wait_status; /* as of wait(2). Failed: exit status 127 (not found) or 126, like shells */
    int64_t user_us; /* of main and of every descendant that was waited for */
    int64_t system_us;
    int64_t maxrss_kib;   /* of the largest single process */
    uint64_t out_bytes;   /* written by the job, whether kept or not; set at the end */
    uint64_t err_bytes;   /* the same */
    uint64_t out_dropped; /* of out_bytes: lost to a full disk */
    uint64_t err_dropped;
};

/* True for the phases that no shim changes any more. */
bool weir_attempt_is_final(enum weir_attempt_phase phase);

/* weir_cluster_marker() of the attempt. */
void weir_attempt_marker(const struct weir_attempt_id *id, char ret_text[WEIR_CLUSTER_MARKER_MAX]);

/* Why it failed, in one line: "cannot run 'x': No such file or directory". */
void weir_attempt_why(const struct weir_attempt_status *status,
                      char ret_text[WEIR_ATTEMPT_WHY_MAX]);

/* One record. Text in what and subject is cut to fit. */
void weir_attempt_record_encode(const struct weir_attempt_status *status,
                                uint8_t ret_record[WEIR_ATTEMPT_RECORD_BYTES]);
/* Fails with WEIR_E_CORRUPT (CRC, mark, phase out of range); ret_status is untouched then. */
int weir_attempt_record_decode(const uint8_t record[WEIR_ATTEMPT_RECORD_BYTES],
                               struct weir_attempt_status *ret_status, struct weir_err *err);

/* The newer of the two valid records of a slot. A slot in which no record was ever completed gives
 * phase WEIR_ATTEMPT_NONE and serial 0. Fails with WEIR_E_CORRUPT when neither record is valid, or
 * carries another slot's number. */
int weir_attempt_slot_decode(const uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES], uint32_t slot,
                             struct weir_attempt_status *ret_status, struct weir_err *err);

#endif
