/* core/heal/heal.h — the first stage: what follows from what was seen.
 *
 * Every attempt that was seen to end is settled, once:
 *   - it was asked to leave: whatever its status, it is queued again without a failure counted
 *     (preempted, reclaimed, drained), or ended (cancelled; failed at the run limit of its queue),
 *     or it has failed, as one of those below (over its budget);
 *   - it exited with 0: succeeded;
 *   - it failed (exit status, out of memory) or was lost: again after a back-off while retries are
 *     left and the status is worth one, else failed or lost. At its time limit: failed;
 *   - it could not be started: again after the start back-off, no failure counted;
 *   - it failed holding a GPU that is unhealthy, or had to leave that: as a failure, but with the
 *     policy's retries for it if those are more. While a GPU of it is suspect it is not settled.
 *
 * A gang goes on as long as what runs of it and what has succeeded is its minimum; a member that
 * fails then is retried by itself. Below that it is broken: the others are asked to leave, and it
 * either starts anew as a whole, once all are gone, or ends. Members that had succeeded run again
 * with it: the parts of one computation cannot be repeated one by one. A failed attempt counts
 * once, however many members fail in it.
 *
 * What was cancelled is stopped (what is queued ends at once), what runs longer than a queue allows
 * is stopped, and so is what goes on using more memory than its budget (budget.h); nodes that drain
 * are emptied, and so are GPUs that are unhealthy. So is what is leaving room already, with the
 * grace of a checkpoint: what ends for good does not get that grace. */
#ifndef WEIR_CORE_HEAL_HEAL_H
#define WEIR_CORE_HEAL_HEAL_H

#include "core/tick.h"

/* 0 or WEIR_E_NO_MEMORY. */
int weir_heal(struct weir_tick *tick);

#endif
