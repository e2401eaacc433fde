/* core/decide.h — THE decision: a pure function from a version of the world to a plan.
 *
 * The live cluster, the single machine, the simulator, the estimate of start times, `explain` and
 * the tests all call this one function. It reads no clock, does no I/O, allocates only in `arena`,
 * has no state. The same arguments give the same plan, byte for byte, and worlds that differ only
 * in the order in which their rows were added give the same plan but for row indices. `cache` would
 * hold derived values only and change nothing but the time taken; there is none yet: NULL.
 *
 * Stages, each seeing an overlay of what the earlier ones decided:
 *   1. heal    settle attempts that were seen to end (succeed, fail, retry after a back-off), end
 *              gangs that lost a member, stop what was cancelled, empty nodes that drain;
 *   2. share   who is next: the queue tree with guarantee and limit, then priority, then time;
 *   3. place   filter, score, grant; all members of a gang or none; preempt within a queue and
 *              reclaim between queues where that makes room and policy allows;
 *   4. shape   GPUs are cut, their instances made and destroyed, MPS daemons begun and ended, for
 * who waits and as their layouts say (core/mig/stage.h). Rollout and scaling stages stand before
 * share, pools after place, when they exist.
 *
 * Left alone, decisions come to rest: with no arrivals and no ends but of what is asked to leave,
 * there comes one that starts and asks nobody (core/preempt/victims.h says why). */
#ifndef WEIR_CORE_DECIDE_H
#define WEIR_CORE_DECIDE_H

#include "model/plan.h"
#include "model/policy.h"
#include "model/world.h"

struct weir_arena;
struct weir_cache;
struct weir_err;

/* Writes the plan; everything in it lives in `arena` or is an index into `world`.
 * The world must be one that weir_world_check() accepts: it is not looked at again here.
 * Fails only with WEIR_E_NO_MEMORY (the arena's limit). */
int weir_decide(const struct weir_world *world, const struct weir_policy *policy,
                struct weir_now now, uint64_t seed, struct weir_cache *cache,
                struct weir_arena *arena, struct weir_plan *ret_plan, struct weir_err *err);

#endif
