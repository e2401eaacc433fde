/* port/mps.h — the MPS control daemons of this machine's GPUs: one for each GPU that is shared
 * under MPS. Nothing here waits: begin() and end() ask, what became of it is seen by looking. */
#ifndef WEIR_PORT_MPS_H
#define WEIR_PORT_MPS_H

#include "base/str.h"
#include "model/world.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;

enum { WEIR_MPS_WHY_MAX = 160 };

/* What is known of one daemon. One that died or hung without being asked to end is STARTING until
 * another answers in its place, or OFF where that was given up. */
struct weir_mps_facts {
    enum weir_mps state;
    uint32_t n_deaths;   /* how often one that had answered died or hung, unasked */
    uint32_t n_failures; /* how often a begin came to nothing, or was given up: then it is OFF */
    struct weir_str pipe_dir; /* for clients: CUDA_MPS_PIPE_DIRECTORY; lives as long as the port */
    struct weir_str log_dir;
    char why[WEIR_MPS_WHY_MAX]; /* of the last death or failure; empty: there was none */
};

struct weir_mps_port {
    void *ctx; /* NULL: no MPS here, and nothing below is called */
    bool can_begin;
    /* Errors: WEIR_E_UNSUPPORTED (there is no control program), WEIR_E_TOO_LARGE, WEIR_E_NO_MEMORY,
     * WEIR_E_IO. Of one that begins already: nothing. */
    int (*begin)(void *ctx, struct weir_str uuid, struct weir_err *err);
    /* Its clients are given a few seconds. Of one that is OFF: nothing. */
    void (*end)(void *ctx, struct weir_str uuid);
    /* Of a GPU that never had one: OFF. */
    void (*look)(void *ctx, struct weir_str uuid, struct weir_mps_facts *ret_facts);
    /* Whether the process is a daemon of these, or below one: an MPS server. */
    bool (*owns)(void *ctx, uint32_t pid);
    /* To be called when notice_fd is readable: does what is due. True: something changed. */
    bool (*service)(void *ctx);
    int notice_fd;
};

#endif
