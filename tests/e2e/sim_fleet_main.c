/* Makes a simulated fleet for tests that drive real NVML clients:
 *
 *     sim-fleet DATA SPEC [INDEX:PID:MIB | INDEX:lost]...
 *
 * What it sets stays in the fleet when it ends. */
#include "base/err.h"
#include "base/units.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"

#include <inttypes.h>
#include <stdio.h>

static int set_process(struct weir_sim_fleet *fleet, const char *text, struct weir_err *err)
{
    struct weir_sim_state state;
    uint32_t index;
    uint32_t pid;
    uint64_t mib;
    int end = 0;

    if (sscanf(text, "%" SCNu32 ":lost%n", &index, &end) == 1 && end > 0 && text[end] == '\0' &&
        index < weir_sim_fleet_size(fleet)) {
        weir_sim_fleet_read(fleet, index, &state);
        state.health = WEIR_SIM_LOST;
        return weir_sim_fleet_write(fleet, index, &state, err);
    }
    if (sscanf(text, "%" SCNu32 ":%" SCNu32 ":%" SCNu64 "%n", &index, &pid, &mib, &end) != 3 ||
        text[end] != '\0' || index >= weir_sim_fleet_size(fleet))
        return weir_error(err, WEIR_E_INVALID, "'%s' is not INDEX:PID:MIB", text);
    return weir_sim_fleet_set_process(fleet, index, pid, mib * (uint64_t)WEIR_MIB, err);
}

int main(int argc, char **argv)
{
    struct weir_sim_fleet *fleet = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    int rc;

    if (argc < 3) {
        fprintf(stderr, "usage: sim-fleet DATA SPEC [INDEX:PID:MIB | INDEX:lost]...\n");
        return 2;
    }
    rc = weir_sim_install(argv[1], weir_str(argv[2]), 1, &fleet, &err);
    for (int i = 3; i < argc && rc == 0; i++)
        rc = set_process(fleet, argv[i], &err);
    if (rc < 0)
        fprintf(stderr, "sim-fleet: %s\n", err.text);
    weir_sim_fleet_close(fleet);
    return rc == 0 ? 0 : 1;
}
