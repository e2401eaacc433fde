/* core/sim/devices.h — for simulations: what takes time with devices has come to its end. */
#ifndef WEIR_CORE_SIM_DEVICES_H
#define WEIR_CORE_SIM_DEVICES_H

#include "model/world_edit.h"

/* Instances under way are there (under a number of their own) or gone, modes are switched, daemons
 * on or off. 1 where anything was under way, 0, or WEIR_E_NO_MEMORY. */
int weir_sim_settle_devices(struct weir_edit *edit);

#endif
