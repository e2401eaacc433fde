/* core/mig/stage.h — what is to be done with devices themselves: the stage after placement.
 *
 * What was promised to somebody on slots, or under an MPS daemon, that are not there yet is begun:
 * idle instances in the way are destroyed, then (in a later decision, when they are gone) the new
 * one is made. Devices are brought into the mode and the layout that is wanted of them, as far as
 * nobody is in the way, and daemons that nobody needs are ended. Nothing that anybody holds, or is
 * to get, is touched. */
#ifndef WEIR_CORE_MIG_STAGE_H
#define WEIR_CORE_MIG_STAGE_H

#include "core/tick.h"

/* RESHAPE and SHARE actions into the draft. 0 or WEIR_E_NO_MEMORY. */
int weir_mig_reshape(struct weir_tick *tick);

#endif
