/* core/heal/budget.h — jobs that use more of a shared GPU's memory than their budget.
 *
 * Over it in one sample is told; over it in the next as well, the job is stopped where its queue
 * says so (as it does where it says nothing), and fails: again while retries are left. Neighbours
 * are never touched. One that is within its budget again before that is forgiven; that is told once
 * it has stayed so for some samples, so that one who comes and goes does not fill the books. */
#ifndef WEIR_CORE_HEAL_BUDGET_H
#define WEIR_CORE_HEAL_BUDGET_H

#include "core/tick.h"

/* Whether it is to be stopped for it. */
bool weir_budget_is_broken(const struct weir_world *world, const struct weir_running *running);
/* Tells of those that go on running: after everything else was decided. 0 or WEIR_E_NO_MEMORY. */
int weir_budget_notify(struct weir_tick *tick);

#endif
