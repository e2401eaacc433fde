/* app/fault_impl.h — what the files of faults share; for fault*.c only. */
#ifndef WEIR_APP_FAULT_IMPL_H
#define WEIR_APP_FAULT_IMPL_H

#include "app/faults.h"
#include "app/server.h"

/* ---- faults.c ---- */
/* Where on the bus of which node; false: the driver does not tell. */
bool weir_fault_address_of(const struct weir_server *server, const struct weir_gpu_device *gpu,
                           struct weir_fault_device *ret_device);
bool weir_fault_same_address(const struct weir_fault_device *a, const struct weir_fault_device *b);
/* The devices as they were last read; none where the driver is away. */
uint32_t weir_fault_list(struct weir_server *server, struct weir_arena *arena,
                         struct weir_gpu_device **ret_devices);

/* ---- fault_judge.c ---- */
/* Whether the incident, with that outcome, is this device's. */
bool weir_fault_concerns(const struct weir_incident *incident, enum weir_fault_outcome outcome,
                         const struct weir_fault_device *at);

/* ---- fault_marks.c ---- */
enum { WEIR_FAULT_SUBJECT_BYTES = WEIR_GPU_UUID_BYTES + 8 };
/* "gpu/KEY", as events have it; returns text. */
const char *weir_fault_subject(struct weir_str key, char text[WEIR_FAULT_SUBJECT_BYTES]);
/* NULL: there is none. */
struct weir_server_mark *weir_fault_find_mark(const struct weir_server *server,
                                              struct weir_str key);
int weir_fault_add_mark(struct weir_server *server, const struct weir_mark_record *record,
                        struct weir_err *err);
void weir_fault_free_mark(struct weir_server_mark *mark);
/* An event of the GPU's, in the transaction that is open. */
int weir_fault_tell(struct weir_server *server, const char *kind, struct weir_str key,
                    struct weir_str cause, struct weir_str after, struct weir_err *err);
/* Stores the mark in the place of the one that the GPU has; event NULL: nothing is told. A failure
 * fails the transaction. */
int weir_fault_put_mark(struct weir_server *server, const struct weir_mark_record *record,
                        const char *event, struct weir_str event_cause, struct weir_str event_after,
                        struct weir_err *err);
/* The GPU serves again, if it did not. */
int weir_fault_drop(struct weir_server *server, struct weir_str key, const char *why,
                    struct weir_err *err);

#endif
