/* model/world_check.h — is this world whole? What core/ relies on, in one place.
 *
 * Holds for every version that world_edit.h makes; a world that came from bytes (world_codec.h) is
 * believed only after this. Checked are, of every table: its frame (counts, freed rows zero, keys
 * distinct), every field against world.h (rows that exist, strings, spans, enumerations, amounts
 * and times in bounds), every list (acyclic, each row in the one list it belongs to, counts), that
 * interned rows are distinct, that queues form a forest with workloads in its leaves only, that
 * every sum kept by world_edit equals its parts, and that no device is given out beyond what it
 * has.
 *
 * Time and memory are linear in the world. */
#ifndef WEIR_MODEL_WORLD_CHECK_H
#define WEIR_MODEL_WORLD_CHECK_H

#include "model/world.h"

struct weir_err;

/* 0; or WEIR_E_INVALID, where err says table, row, key and field of the first fault, and its
 * `field` is like "devices[3].held_mgpu"; or WEIR_E_NO_MEMORY. */
int weir_world_check(const struct weir_world *world, struct weir_err *err);

#endif
