/* app/decision_replay.h — decides again what the decision log holds, and compares. */
#ifndef WEIR_APP_DECISION_REPLAY_H
#define WEIR_APP_DECISION_REPLAY_H

#include "app/decision_reader.h"

struct weir_replayed {
    const struct weir_decision *recorded;
    const struct weir_plan *plan; /* decided now; NULL: the decision failed, `failure` says why */
    const struct weir_err *failure;
    bool differs; /* the plan is not, byte for byte, what was decided then */
};

struct weir_replay_summary {
    uint64_t n_ticks;
    uint64_t n_differing;
    uint64_t n_gaps;        /* ticks that do not follow on the one before, the first not counted */
    uint64_t differing_run; /* the first that differs, where n_differing > 0 */
    uint64_t differing_seq;
    struct weir_now differing_now;
    struct weir_decision_damage damage;
};

/* Goes through the log from its oldest tick. on_tick may be NULL; negative: the replay ends with
 * it. 0, and *ret_summary is filled, if it got to the end. */
int weir_decision_replay(const char *data_dir,
                         int (*on_tick)(void *arg, const struct weir_replayed *tick,
                                        struct weir_err *err),
                         void *arg, struct weir_replay_summary *ret_summary, struct weir_err *err);

#endif
