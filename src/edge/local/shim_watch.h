/* edge/local/shim_watch.h — within the shim: its state, and the part from start to end of the job.
 *
 * Stages only go forward: RUN → (CHECKPOINT →) TERM → KILL. Each but RUN has a deadline, after
 * which the next one begins; in KILL the deadline is that of the next round. Main's exit begins
 * TERM for what it left behind. */
#ifndef WEIR_EDGE_LOCAL_SHIM_WATCH_H
#define WEIR_EDGE_LOCAL_SHIM_WATCH_H

#include "edge/local/attempt.h"
#include "edge/local/cgroup.h"
#include "edge/local/launch.h"
#include "edge/local/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum weir_shim_stage {
    WEIR_SHIM_RUN,
    WEIR_SHIM_CHECKPOINT, /* main has the checkpoint signal */
    WEIR_SHIM_TERM,       /* all have SIGTERM */
    WEIR_SHIM_KILL        /* all get SIGKILL, in rounds */
};

struct weir_shim {
    struct weir_launch launch;
    struct weir_attempt_status status;
    struct weir_cgroup cgroup;
    struct weir_sink sinks[WEIR_OUTPUT_STREAM_MAX];
    int slot_fd;
    int signal_fd;
    enum weir_shim_stage stage;
    int64_t deadline_us;     /* of the stage, CLOCK_MONOTONIC; INT64_MAX: none */
    int64_t note_us;         /* when to say that it runs; INT64_MAX: said, or no more to be */
    int64_t limit_us;        /* when the time limit strikes; INT64_MAX: never */
    int64_t round_us;        /* KILL: pause after the next round */
    int64_t denied_since_us; /* KILL: since when nothing but untouchable processes is left; 0: no */
    bool is_main_gone;
    bool is_all_gone;
};

/* Takes what was asked before the start; true when that was to stop. */
bool weir_shim_is_stopped_early(struct weir_shim *shim);
/* Tells the server to look at the slot; waits so long for room. */
void weir_shim_note(const struct weir_shim *shim, int wait_ms);
/* Until nothing of the job is left. Fills in wait_status and the flags. */
void weir_shim_watch(struct weir_shim *shim);

#endif
