/* Makes a simulated fleet for tests that drive real NVML clients:
 *
 *     sim-fleet DATA SPEC [INDEX:PID:MIB | load INDEX:PID:MIB:PROFILE:AGE_S[:GI:CI] | a fault]...
 *
 * AGE_S: since when the load runs. Faults are those of edge/nvml/sim_orders.h. What it sets stays
 * in the fleet when it ends. */
#include "../support/sim_process.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"
#include "edge/nvml/sim_orders.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int set_process(struct weir_sim_fleet *fleet, const char *text, struct weir_err *err)
{
    uint32_t index;
    uint32_t pid;
    uint64_t mib;
    int end = 0;

    if (sscanf(text, "%" SCNu32 ":%" SCNu32 ":%" SCNu64 "%n", &index, &pid, &mib, &end) != 3 ||
        text[end] != '\0' || index >= weir_sim_fleet_size(fleet))
        return weir_error(err, WEIR_E_INVALID, "'%s' is not INDEX:PID:MIB", text);
    return sim_set_process(fleet, index, pid, mib * (uint64_t)WEIR_MIB, err);
}

static int set_load(struct weir_sim_fleet *fleet, const char *text, struct weir_err *err)
{
    struct weir_sim_load load = {.gpu_instance = WEIR_NVML_NO_INSTANCE,
                                 .compute_instance = WEIR_NVML_NO_INSTANCE};
    char name[32];
    uint32_t index;
    uint32_t profile;
    int64_t age_s;
    int n = sscanf(text,
                   "%" SCNu32 ":%" SCNu32 ":%" SCNu64 ":%31[a-z-]:%" SCNd64 ":%" SCNu32 ":%" SCNu32,
                   &index, &load.pid, &load.memory_bytes, name, &age_s, &load.gpu_instance,
                   &load.compute_instance);

    if ((n != 5 && n != 7) || index >= weir_sim_fleet_size(fleet) ||
        !weir_sim_profile_from_name(name, strlen(name), &profile))
        return weir_error(err, WEIR_E_INVALID, "'%s' is not INDEX:PID:MIB:PROFILE:AGE_S[:GI:CI]",
                          text);
    load.profile = (uint16_t)profile;
    load.seed = load.pid;
    load.memory_bytes *= (uint64_t)WEIR_MIB;
    load.begin_ms = weir_clock_mono_ms() - age_s * 1000;
    return weir_sim_fleet_set_load(fleet, index, &load, load.begin_ms, err);
}

static int carry_out(struct weir_sim_fleet *fleet, const char *text, struct weir_err *err)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_sim_order *orders;
    size_t n;
    int rc = weir_sim_orders_parse(weir_str(text), &arena, &orders, &n, err);

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = weir_sim_order_carry_out(fleet, &orders[i], weir_clock_mono_ms(), err);
    weir_arena_finish(&arena);
    return rc;
}

static int set(struct weir_sim_fleet *fleet, const char *text, struct weir_err *err)
{
    if (strncmp(text, "load ", 5) == 0)
        return set_load(fleet, text + 5, err);
    return strchr(text, ' ') != NULL ? carry_out(fleet, text, err) : set_process(fleet, text, err);
}

int main(int argc, char **argv)
{
    struct weir_sim_fleet *fleet = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    int rc;

    if (argc < 3) {
        fprintf(stderr, "usage: sim-fleet DATA SPEC [INDEX:PID:MIB | load … | FAULT]...\n");
        return 2;
    }
    rc = weir_sim_install(argv[1], weir_str(argv[2]), 1, &fleet, &err);
    for (int i = 3; i < argc && rc == 0; i++)
        rc = set(fleet, argv[i], &err);
    if (rc < 0)
        fprintf(stderr, "sim-fleet: %s\n", err.text);
    weir_sim_fleet_close(fleet);
    return rc == 0 ? 0 : 1;
}
