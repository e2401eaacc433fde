/* edge/local/slots.h — DATA/slots: one preallocated file with a slot for every attempt under way.
 *
 * Why one file and not a directory for each attempt: making and deleting inodes costs ext4 0.1 to
 * 0.3 ms of CPU each when many were deleted lately (it will not hand out a recently freed inode),
 * as much as the job's own exec; here a launch makes none, recovery reads one file, and a full disk
 * cannot refuse what was preallocated.
 *
 * Exactly once: a shim takes an OFD write lock on its slot's byte range, then compares serials:
 * only an attempt newer than the slot's record may claim it. It holds the lock for its life, so "is
 * the lock held" is "is the shim alive". The server forbids a late start by the same lock and
 * comparison. Serials must therefore never fall: see weir_slots_max_serial().
 *
 * Records survive the death of any process, but are not synced: after a reboot an attempt that was
 * sent to a launcher before it is lost unless its slot says how it ended, even where the slot says
 * that it never began. */
#ifndef WEIR_EDGE_LOCAL_SLOTS_H
#define WEIR_EDGE_LOCAL_SLOTS_H

#include "edge/local/attempt.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;

#define WEIR_SLOTS_FILE "slots"

enum { WEIR_SLOTS_MAX = 1 << 20 };

struct weir_slots {
    int fd;
    uint32_t n;
    /* Whole slots that the file had when it was opened. What an earlier attempt wrote into a later
     * one is gone: with the file, or with its end. */
    uint32_t n_found;
};

#define WEIR_SLOTS_INIT                                                                            \
    {                                                                                              \
        -1, 0, 0                                                                                   \
    }

struct weir_attempt_view {
    struct weir_attempt_status status; /* phase NONE when the slot holds nothing of this attempt */
    bool is_alive;                     /* a shim holds the slot */
};

/* Opens or makes DATA/slots with room for at least n_min slots; every byte is really written, so
 * that no later status can miss space. WEIR_E_NO_SPACE, WEIR_E_DENIED, WEIR_E_IO. */
int weir_slots_open(const char *data_dir, uint32_t n_min, struct weir_slots *ret_slots,
                    struct weir_err *err);
/* Makes room for n slots in all (never shrinks). On failure the old ones stay usable. */
int weir_slots_grow(struct weir_slots *slots, uint32_t n, struct weir_err *err);
void weir_slots_close(struct weir_slots *slots);

/* Whether the slot tells what it holds, or will: a damaged one whose shim lives does, once that
 * ends. WEIR_E_CORRUPT. */
int weir_slots_check(const struct weir_slots *slots, uint32_t slot, struct weir_err *err);

/* Which attempt has the slot, whichever that is: 1 with what its shim, which lives, wrote last; 0
 * where none has it, or it has written nothing that can be read. */
int weir_slots_holder(const struct weir_slots *slots, uint32_t slot,
                      struct weir_attempt_status *ret_status, struct weir_err *err);

/* The highest serial ever claimed: the server goes on above it and above its own last one. A
 * corrupt slot counts as 0. */
int weir_slots_max_serial(const struct weir_slots *slots, uint64_t *ret_serial,
                          struct weir_err *err);

/* What is known of an attempt now. Consistent: phase CLAIMED or RUNNING with is_alive false means
 * that the shim died without writing the end. WEIR_E_INVALID (no such slot), WEIR_E_CORRUPT,
 * WEIR_E_EXISTS (a newer attempt has the slot: the caller gave it away too early). */
int weir_slots_view(const struct weir_slots *slots, const struct weir_attempt_id *id,
                    struct weir_attempt_view *ret_view, struct weir_err *err);

/* Forbids a start from now on, and repairs a corrupt slot. Writes to ret_status what the slot says
 * then: phase FORBIDDEN when it never started, or what a shim that is gone left behind.
 * WEIR_E_UNAVAILABLE: a live shim has it (command it to stop instead); WEIR_E_EXISTS as above. */
int weir_slots_forbid(const struct weir_slots *slots, const struct weir_attempt_id *id,
                      struct weir_attempt_status *ret_status, struct weir_err *err);

/* For the shim; fd is its own open file of DATA/slots, kept for its life. Return 0 or an errno
 * value: EBUSY (a live attempt holds the slot), ESTALE (forbidden, or already used by this or a
 * newer attempt), EBADMSG (corrupt), ERANGE (no such slot). On success *ret_seq is the last seq
 * used. */
int weir_slot_claim(int fd, const struct weir_attempt_id *id, uint64_t *ret_seq);
/* Writes the next record: raises status->seq. 0 or an errno value; after a failure the next call
 * writes the same record again, so that the other one stays good. */
int weir_slot_write(int fd, struct weir_attempt_status *status);

#endif
