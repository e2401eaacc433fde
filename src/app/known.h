/* app/known.h — the GPUs that this data directory has seen, with what they are.
 *
 * A driver does not show a GPU that fell off the bus, hangs, waits for a reset, or went with the
 * driver itself. It is there all the same: as capacity that is out of service, with the jobs that
 * hold it, until it comes back or a person deletes it. So what a GPU is is kept in the store from
 * when it first told all of it, and stands in where the driver has nothing to say. */
#ifndef WEIR_APP_KNOWN_H
#define WEIR_APP_KNOWN_H

#include "port/gpu.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_server;
struct weir_store;

int weir_known_load(struct weir_server *server, struct weir_err *err);
void weir_known_unload(struct weir_server *server);

/* The devices as port/gpu.h lists them, each with a uuid, and those that are known and not among
 * them. Fails where the port does and nothing is known. */
int weir_known_list(const struct weir_server *server, struct weir_arena *arena,
                    struct weir_gpu_device **ret_devices, uint32_t *ret_n, struct weir_err *err);
/* Stores what is new of them. A failure fails the transaction. */
int weir_known_note(struct weir_server *server, const struct weir_gpu_device *devices, uint32_t n,
                    struct weir_err *err);
/* It is known no more: in the transaction that is open, and from now on. */
int weir_known_forget(struct weir_server *server, struct weir_str uuid, struct weir_err *err);

/* How many GPUs a store knows of each kind. */
int weir_known_count(const struct weir_store *store, uint32_t *ret_n_real,
                     uint32_t *ret_n_simulated, struct weir_err *err);

#endif
