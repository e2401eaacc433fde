/* app/fault_codec.h — a fault event as the JSON that the store keeps of it. */
#ifndef WEIR_APP_FAULT_CODEC_H
#define WEIR_APP_FAULT_CODEC_H

#include "model/fault.h"

struct weir_arena;
struct weir_buf;
struct weir_err;

/* Everything but the node and the time, which the record has beside it. */
int weir_fault_encode(const struct weir_fault_event *event, struct weir_buf *out,
                      struct weir_err *err);
/* Texts are in the arena. A kind of a later version is WEIR_E_UNSUPPORTED. */
int weir_fault_decode(struct weir_str text, struct weir_arena *arena,
                      struct weir_fault_event *ret_event, struct weir_err *err);

#endif
