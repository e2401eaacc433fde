/* edge/api/spec.h — the spec of a workload as it was submitted. */
#ifndef WEIR_EDGE_API_SPEC_H
#define WEIR_EDGE_API_SPEC_H

#include "base/str.h"

#include <stdbool.h>

struct weir_arena;
struct weir_err;
struct weir_json_writer;

/* Member "spec". Without secrets the variables of the environment have null for their values. */
int weir_api_put_spec(struct weir_json_writer *w, struct weir_str spec, bool with_secrets,
                      struct weir_arena *arena, struct weir_err *err);

#endif
