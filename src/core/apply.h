/* core/apply.h — a plan carried out on a world: the same code for the live state and for
 * simulation. */
#ifndef WEIR_CORE_APPLY_H
#define WEIR_CORE_APPLY_H

#include "model/plan.h"
#include "model/policy.h"

struct weir_err;

/* Makes every action of the plan true in `edit` (which must be at plan->world_version): starts hold
 * their grants, stops and evictions are STOPPING (a queued task is ended), settled tasks have their
 * state, failures are counted, devices are on their way to what they are to be. Actions whose task
 * or device was changed since (task_gen, device_gen) are refused with WEIR_E_EXISTS, which is a
 * programming error of the caller. */
int weir_plan_apply(const struct weir_plan *plan, struct weir_now now, struct weir_edit *edit,
                    struct weir_err *err);

#endif
