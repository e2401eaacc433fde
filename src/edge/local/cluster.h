/* edge/local/cluster.h — port/cluster.h on this machine: launcher, shims, slots, output files. */
#ifndef WEIR_EDGE_LOCAL_CLUSTER_H
#define WEIR_EDGE_LOCAL_CLUSTER_H

#include "port/cluster.h"

struct weir_local;

struct weir_local_config {
    const char *data_dir;             /* absolute */
    const char *launcher_exe;         /* NULL: this program */
    const char *const *launcher_argv; /* NULL-terminated; leads to weir_launcher_main() */
    const char *cgroup;    /* v2 directory in which each attempt gets its own; "": none */
    uint64_t serial_floor; /* serials given out are above this and above what the slots hold */
};

int weir_local_open(const struct weir_local_config *config, struct weir_local **ret_local,
                    struct weir_cluster *ret_port, struct weir_err *err);
/* Whether it can be told, or will be, what became of an attempt of an earlier server.
 * WEIR_E_CORRUPT. */
int weir_local_check(const struct weir_local *local, const struct weir_cluster_ref *ref,
                     struct weir_err *err);
/* Once the attempts of the store are adopted: ends those that run and are none of them, because the
 * store is another than the one they were written into. What they hold is given to others from now
 * on. WEIR_E_UNAVAILABLE: one cannot be ended. */
int weir_local_end_strangers(const struct weir_local *local, uint32_t *ret_n, struct weir_err *err);
/* Jobs go on. */
struct weir_local *weir_local_close(struct weir_local *local);

/* False: jobs have no cgroup that takes a memory limit, and run without. */
bool weir_local_limits_memory(const struct weir_local *local);

/* The launcher's socket, to be watched for reading, and for writing while weir_local_wants_write().
 * Changes when the launcher had to be started anew; -1: there is none. */
int weir_local_launcher_fd(const struct weir_local *local);
bool weir_local_wants_write(const struct weir_local *local);
/* Sends on and takes refusals in; starts a new launcher where the old one died or none could be
 * started. After an error of that the launcher's fd is -1: call it again after a while. */
int weir_local_service(struct weir_local *local, struct weir_err *err);

#endif
