/* core/heal/gang.h — healing of a gang: its members have one fate (rules in heal.h). */
#ifndef WEIR_CORE_HEAL_GANG_H
#define WEIR_CORE_HEAL_GANG_H

#include "core/tick.h"

/* Settles and stops what there is to settle and stop, and notes in overlay.jobs how many members
 * have succeeded and whether it may get room in this decision. 0 or WEIR_E_NO_MEMORY. */
int weir_heal_gang(struct weir_tick *tick, uint32_t workload);

#endif
