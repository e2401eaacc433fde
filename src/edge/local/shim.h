/* edge/local/shim.h — one small process per attempt: it starts the job's command, keeps its output,
 * holds its limits, writes down its end, and outlives the server.
 *
 * The launcher forks it. Life: session and subreaper → slot claimed (slots.h) → command started
 * (spawn.h) → watched: output (sink.h), commands (command.h), time limit → main ended, or told to →
 * what is left of the job is ended → pipes drained → status final → note (note.h) → gone.
 *
 * The job ends when main exits. What is left of it then (daemons, other sessions: all are
 * reparented to the shim) gets SIGTERM, a second later SIGKILL, again and again until nothing is
 * left; only a process that became another user by itself is given up on
 * (WEIR_ATTEMPT_LEFT_BEHIND). */
#ifndef WEIR_EDGE_LOCAL_SHIM_H
#define WEIR_EDGE_LOCAL_SHIM_H

#include "edge/local/attempt.h"

#include <stddef.h>
#include <stdint.h>

enum { WEIR_REFUSAL_BYTES = 16 };

/* What the launcher hands to a shim. */
struct weir_shim_context {
    int reply_fd;              /* the launcher's socket: for a refusal; closed when claimed */
    int64_t oom_kills;         /* the kernel's count, a moment old; -1: unknown */
    const char *oom_score_adj; /* what the job's is to be set to; NULL: leave it */
    const uint8_t *boot_id;    /* 16 bytes */
    char *request;             /* the request's body, page-aligned; its pages are given back */
    size_t request_bytes;      /* of the body */
    size_t request_mapped_bytes;
};

/* In the forked child: runs the attempt and exits. Before the slot is claimed a failure is answered
 * with a refusal, afterwards with status FAILED. The current directory is DATA; every signal is
 * blocked, none is caught. */
_Noreturn void weir_shim_run(const struct weir_shim_context *context);

/* A refusal on the launcher's socket: "this attempt was not claimed, and will not be". Never
 * blocks. */
void weir_refusal_send(int fd, const struct weir_attempt_id *id, int errnum);
void weir_refusal_decode(const uint8_t bytes[WEIR_REFUSAL_BYTES], uint64_t *ret_serial,
                         uint32_t *ret_slot, int *ret_errnum);

#endif
