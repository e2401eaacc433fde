/* core/tick.h — what the stages of one decision share: its input, the overlay, the plan in the
 * making. For core/ only. */
#ifndef WEIR_CORE_TICK_H
#define WEIR_CORE_TICK_H

#include "core/overlay.h"
#include "model/plan.h"
#include "model/policy.h"

struct weir_draft {
    struct weir_arena *arena;
    struct weir_action *actions;
    struct weir_grant *grants;
    struct weir_verdict *verdicts;
    struct weir_reason *reasons;
    struct weir_holder *holders;
    struct weir_awaited *ends;
    struct weir_cordoned *cordons;
    uint32_t n_actions;
    uint32_t cap_actions;
    uint32_t n_grants;
    uint32_t cap_grants;
    uint32_t n_verdicts;
    uint32_t cap_verdicts;
    uint32_t n_reasons;
    uint32_t cap_reasons;
    uint32_t n_holders;
    uint32_t cap_holders;
    uint32_t n_ends;
    uint32_t cap_ends;
    uint32_t n_cordons;
    uint32_t cap_cordons;
};

struct weir_tick {
    const struct weir_world *world;
    const struct weir_policy *policy;
    struct weir_now now;
    struct weir_arena *arena;
    struct weir_overlay overlay;
    struct weir_draft draft;
    int64_t wake_wall_ms;
};

/* Decides; with verdicts or, where nobody asks why, without. 0 or WEIR_E_NO_MEMORY. */
int weir_tick_decide(const struct weir_world *world, const struct weir_policy *policy,
                     struct weir_now now, bool explain, struct weir_arena *arena,
                     struct weir_plan *ret_plan);

/* Appends an action, numbered. 0 or WEIR_E_NO_MEMORY; so the others. */
int weir_draft_action(struct weir_draft *draft, struct weir_action action);
/* Appends a start with its grants. */
int weir_draft_start(struct weir_draft *draft, struct weir_action action,
                     const struct weir_grant *grants, uint32_t n_grants);
int weir_draft_verdict(struct weir_draft *draft, struct weir_verdict verdict);
/* *ret_reason is its index. */
int weir_draft_reason(struct weir_draft *draft, struct weir_reason reason, uint32_t *ret_reason);
int weir_draft_holder(struct weir_draft *draft, struct weir_holder holder);
int weir_draft_end(struct weir_draft *draft, struct weir_awaited end);
int weir_draft_cordon(struct weir_draft *draft, struct weir_cordoned cordon);
void weir_draft_finish(const struct weir_draft *draft, struct weir_plan *ret_plan);

/* The decision wants to be made again at this time. */
static inline void weir_tick_wake(struct weir_tick *tick, int64_t wall_ms)
{
    if (wall_ms < tick->wake_wall_ms)
        tick->wake_wall_ms = wall_ms;
}

/* Whether what began at a time may still be waited for, so long at most; wakes when it may no more.
 * Both are times of the wall clock: one that was set back makes the wait at most twice as long. */
static inline bool weir_tick_awaits(struct weir_tick *tick, int64_t since_wall_ms,
                                    int64_t at_most_ms)
{
    int64_t left_ms = since_wall_ms + at_most_ms - tick->now.wall_ms;

    if (left_ms <= 0 || left_ms > 2 * at_most_ms)
        return false;
    weir_tick_wake(tick, since_wall_ms + at_most_ms);
    return true;
}

#endif
