/* app/up.h — one machine: control plane, API and jobs in one process tree. */
#ifndef WEIR_APP_UP_H
#define WEIR_APP_UP_H

#include <stdbool.h>
#include <stdint.h>

struct weir_err;

struct weir_up_options {
    const char *data_dir; /* NULL: the default place */
    const char *listen;   /* "127.0.0.1:7433"; port 0: any; "": no TCP */
    const char *host;     /* another name under which TCP clients may address it; NULL: none */
    const char *simulate; /* as weir_gpus_open(); NULL: the driver of this machine */
    const char *simulate_faults; /* a file (app/fault_plan.h); NULL: none */
    const char *mps_control;     /* the MPS control program; NULL: nvidia-cuda-mps-control along
                                    PATH, on simulated GPUs a simulated one; "off": no MPS */
    const char *cgroup;          /* "auto", "off" or a cgroup v2 directory */
    const char *gpu_test;        /* a line for /bin/sh that tries a GPU; NULL: none */
    int64_t gpu_test_timeout_ms;
    bool removes_orphans; /* MIG instances that nobody holds, found at the start */
    bool demo;            /* on a simulated fleet, submit the demo set */
    const char *version;  /* what `weir --version` says */
};

#define WEIR_UP_LISTEN_DEFAULT "127.0.0.1:7433"

/* Runs until SIGTERM or SIGINT; jobs go on without it, and the next weir_up() on the same directory
 * takes them over. Prints "ready …" once it serves. */
int weir_up(const struct weir_up_options *options, struct weir_err *err);

#endif
