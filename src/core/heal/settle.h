/* core/heal/settle.h — the actions that healing is made of; the overlay follows each. All return 0
 * or WEIR_E_NO_MEMORY. */
#ifndef WEIR_CORE_HEAL_SETTLE_H
#define WEIR_CORE_HEAL_SETTLE_H

#include "core/tick.h"

/* A running task was seen to end. `not_before_wall_ms` counts for QUEUED only. */
int weir_settle_running(struct weir_tick *tick, uint32_t running, enum weir_task_state state,
                        enum weir_cause cause, int64_t not_before_wall_ms);
/* A member that had succeeded runs again with its gang. */
int weir_settle_again(struct weir_tick *tick, uint32_t task);
/* What runs is asked to leave: to be queued again, or for good. */
int weir_settle_evict(struct weir_tick *tick, uint32_t running, enum weir_cause cause,
                      uint32_t for_whom);
int weir_settle_stop(struct weir_tick *tick, uint32_t running, enum weir_cause cause);
/* Nothing is done, but it is told. */
int weir_settle_notify(struct weir_tick *tick, uint32_t running, enum weir_cause cause,
                       int64_t amount);
/* What waits ends at once. */
int weir_settle_cancel(struct weir_tick *tick, uint32_t task, enum weir_cause cause);

#endif
