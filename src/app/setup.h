/* app/setup.h — setups of GPUs (data/schema/gpusetup.json): what people want of MIG and of sharing.
 *
 * They are in the store, and here as documents; the rows of devices say what counts for each. */
#ifndef WEIR_APP_SETUP_H
#define WEIR_APP_SETUP_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;
struct weir_gpu_device;
struct weir_server;
struct weir_tree;

/* Reads the store's again: what is applied from now on. */
int weir_setups_load(struct weir_server *server, struct weir_err *err);
void weir_setups_unload(struct weir_server *server);
/* What they say of a whole device goes into its row. */
int weir_setups_apply_to(struct weir_server *server, uint32_t device,
                         const struct weir_gpu_device *seen, struct weir_err *err);
/* Of all devices. Where the driver is away, with its next reading. */
int weir_setups_apply(struct weir_server *server, struct weir_err *err);

/* The entry of a spec that counts for the device; NULL: none. */
const struct weir_tree *weir_setup_entry(const struct weir_server *server,
                                         const struct weir_tree *spec,
                                         const struct weir_gpu_device *seen);
/* Whether its entries can be: by themselves, and on the devices that are here. Errors have line,
 * column and field. */
int weir_setup_check(struct weir_server *server, const struct weir_tree *spec,
                     struct weir_err *err);

#endif
