/* edge/local/command.h — what the server asks of a running shim: a real-time signal with a payload.
 *
 * The kernel lets only the shim's own user and root send it. It needs no socket, and works for any
 * server that reads the slot. */
#ifndef WEIR_EDGE_LOCAL_COMMAND_H
#define WEIR_EDGE_LOCAL_COMMAND_H

#include "edge/local/attempt.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct weir_err;

#define WEIR_COMMAND_SIGNAL        (SIGRTMIN + 5)
#define WEIR_COMMAND_GRACE_DEFAULT UINT32_MAX /* the launch request's grace_ms */

enum weir_command_op {
    WEIR_COMMAND_FORWARD = 1, /* signal to the process group of main */
    WEIR_COMMAND_STOP,        /* SIGTERM to all of the job, after grace_ms SIGKILL */
    WEIR_COMMAND_CHECKPOINT,  /* signal to main, after grace_ms as STOP with the default grace */
    WEIR_COMMAND_KILL,        /* SIGKILL to all of the job */
    WEIR_COMMAND_OP_MAX
};

struct weir_command {
    enum weir_command_op op;
    uint8_t signal;    /* FORWARD, CHECKPOINT: 1 … 64 */
    uint32_t grace_ms; /* STOP, CHECKPOINT */
};

/* The signal's 64-bit payload, and back (false: not one of ours). */
uint64_t weir_command_pack(const struct weir_command *command);
bool weir_command_unpack(uint64_t payload, struct weir_command *ret_command);

/* To the shim named by status (pid and start time: never to a process that got its pid later).
 * Commands are queued, none is merged; a shim that is ending may not act on it. WEIR_E_NOT_FOUND:
 * that shim is gone; WEIR_E_DENIED; WEIR_E_UNAVAILABLE: its signal queue is full, try again. */
int weir_command_send(const struct weir_attempt_status *status, const struct weir_command *command,
                      struct weir_err *err);

#endif
