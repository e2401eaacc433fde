/* app/decision_reader.h — reads the decision log back, tick by tick (decision_log.h writes it).
 *
 * The files are taken for hostile. A segment that ends in the middle of a record (its writer was
 * killed) is read up to there. What cannot be read is left out up to the next segment, which begins
 * with a keyframe; such a gap is seen by `follows`. A log that is being written may be read. */
#ifndef WEIR_APP_DECISION_READER_H
#define WEIR_APP_DECISION_READER_H

#include "base/err.h"
#include "model/plan.h"
#include "model/policy.h"
#include "model/world.h"

struct weir_decision_reader;

/* All of it lives until the next call. */
struct weir_decision {
    uint64_t run; /* of which process; its ticks are numbered from 1 */
    uint64_t seq;
    bool follows; /* on the tick before this one, without a gap */
    uint32_t segment;
    const struct weir_world *world; /* weir_world_check() has seen it */
    struct weir_policy policy;
    struct weir_now now;
    uint64_t seed;
    uint8_t digest[16]; /* of the plan */
    const struct weir_action *actions;
    const struct weir_grant *grants;
    uint32_t n_actions;
    uint32_t n_grants;
};

/* What was left out so far. */
struct weir_decision_damage {
    uint32_t n_torn;       /* segments that end within a record */
    uint32_t n_corrupt;    /* segments with something that does not read back */
    uint32_t n_foreign;    /* segments that another build wrote */
    struct weir_err first; /* about the first corrupt or foreign one */
};

/* WEIR_E_NOT_FOUND where there is no log. */
int weir_decision_reader_open(const char *data_dir, struct weir_decision_reader **ret_reader,
                              struct weir_err *err);
/* 1: a tick; 0: the end. WEIR_E_UNSUPPORTED at the end if there are segments, and all of them are
 * of other builds. */
int weir_decision_reader_next(struct weir_decision_reader *reader,
                              struct weir_decision *ret_decision, struct weir_err *err);
const struct weir_decision_damage *weir_decision_reader_damage(
    const struct weir_decision_reader *reader);
/* NULL is fine; returns NULL. */
struct weir_decision_reader *weir_decision_reader_close(struct weir_decision_reader *reader);

#endif
