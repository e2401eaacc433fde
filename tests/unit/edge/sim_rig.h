/* A simulated fleet and its library, loaded as a client does it. */
#ifndef WEIR_TEST_SIM_RIG_H
#define WEIR_TEST_SIM_RIG_H

#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"

#include "base/clock.h"
#include "base/err.h"

#include "sim_api.h"
#include "temp_dir.h"

static struct weir_sim_fleet *fleet;

static int sim_rig_open(void **state, const char *spec)
{
    if (temp_dir_make(state) != 0 ||
        weir_sim_install(temp_dir, weir_str(spec), 1, &fleet, NULL) < 0 ||
        !sim_api_load(temp_path(WEIR_SIM_LIBRARY_PATH)))
        return -1;
    return sim.InitWithFlags(0);
}

static int sim_rig_close(void **state)
{
    sim.SimSetInstant(0);
    while (sim.Shutdown() == WEIR_NVML_SUCCESS)
        ;
    dlclose(sim.library);
    fleet = weir_sim_fleet_close(fleet);
    return temp_dir_remove(state);
}

static gpu handle(unsigned index)
{
    gpu device = NULL;

    assert_int_equal(sim.DeviceGetHandleByIndex_v2(index, &device), 0);
    assert_non_null(device);
    return device;
}

#endif
