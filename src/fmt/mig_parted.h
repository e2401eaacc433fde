/* fmt/mig_parted.h — configuration files of mig-parted (version v1), as a GPU setup.
 *
 * Of its named configurations one is taken. Its entries become entries of a GpuSetup "mig-parted"
 * (data/schema/gpusetup.json), in their order: a device list becomes select.index, a device-filter
 * select.pciId, of which the subsystem part is not looked at. mig-parted demands that no GPU is in
 * two entries; here that is an error where both name it by number, else the first counts. */
#ifndef WEIR_FMT_MIG_PARTED_H
#define WEIR_FMT_MIG_PARTED_H

#include "base/str.h"

#include <stdbool.h>

struct weir_arena;
struct weir_err;
struct weir_tree;

#define WEIR_MIG_PARTED_SETUP "mig-parted"

/* Whether a document is such a file. */
bool weir_mig_parted_is(const struct weir_tree *doc);
/* The setup, in the arena, with the places of the file. config: which of the configurations; empty:
 * the only one. WEIR_E_INVALID with line, column and field. */
int weir_mig_parted_read(const struct weir_tree *doc, struct weir_str config,
                         struct weir_arena *arena, const struct weir_tree **ret_setup,
                         struct weir_err *err);

#endif
