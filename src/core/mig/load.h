/* core/mig/load.h — what an overlay has to know of devices that can be cut. For core/overlay.c. */
#ifndef WEIR_CORE_MIG_LOAD_H
#define WEIR_CORE_MIG_LOAD_H

#include "core/overlay.h"

/* Once all devices are there: which instance belongs to which, what each offers, what it is given
 * out as, and where its layout puts what. 0 or WEIR_E_NO_MEMORY. */
int weir_mig_load(struct weir_overlay *overlay);

#endif
