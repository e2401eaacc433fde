/* app/decision_log.h — what was decided, and on what: enough to decide it all again.
 *
 * DATA/decisions holds segments of records: keyframes (the whole world, the policy) and ticks (what
 * the world changed since the record before, clocks, seed, the plan's digest, its actions). The
 * whole is bounded; the oldest segments go. The log helps to understand, nothing depends on it:
 * whatever goes wrong with it is logged and counted here, and never stops a tick. After a failure
 * (the disk is full) it is off for a while and goes on in a new segment, so that no gap looks
 * whole. The tick flushes each decision (one write, measured as 4 µs): a kill loses none that was
 * told, at most the last is cut off. Not synced to the disk: a power cut loses what the kernel had
 * not written.
 *
 * decision_reader.h reads it, decision_replay.h decides again. */
#ifndef WEIR_APP_DECISION_LOG_H
#define WEIR_APP_DECISION_LOG_H

#include "model/plan.h"
#include "model/policy.h"
#include "model/world.h"

#include <stdbool.h>

struct weir_err;
struct weir_decision_log;

struct weir_decision_limits {
    int64_t total_bytes;   /* of all segments, always kept */
    int64_t segment_bytes; /* about: a segment ends with the first keyframe due beyond it */
    int64_t
        keyframe_bytes; /* of ticks between two keyframes; the size of a keyframe if that is more */
};

struct weir_decision_stats {
    uint64_t n_written; /* ticks in files */
    uint64_t n_lost;    /* ticks that were not kept */
    int64_t bytes;      /* on disk, of all segments */
    bool is_off;        /* waits before it tries again */
};

/* 256 MiB, 16 MiB, 4 MiB. */
struct weir_decision_limits weir_decision_limits_default(void);

/* Makes DATA/decisions if need be. Segments that are there are kept, within the bound. */
int weir_decision_log_open(const char *data_dir, struct weir_decision_limits limits,
                           struct weir_decision_log **ret_log, struct weir_err *err);
/* Takes down one decision, in memory. A reference to `world` is kept until the next one. Writes by
 * itself only when 1 MiB has gathered or a segment is full. */
void weir_decision_log_tick(struct weir_decision_log *log, const struct weir_world *world,
                            const struct weir_policy *policy, struct weir_now now, uint64_t seed,
                            const struct weir_plan *plan);
/* Writes what has gathered. */
void weir_decision_log_flush(struct weir_decision_log *log);
struct weir_decision_stats weir_decision_log_stats(const struct weir_decision_log *log);
/* Flushes and frees. NULL is fine; returns NULL. */
struct weir_decision_log *weir_decision_log_close(struct weir_decision_log *log);

#endif
