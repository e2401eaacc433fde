/* edge/nvml/sim_model.h — what a simulated GPU does at an instant: a function of its facts, its
 * loads and the time, in closed form. Asking for any instant costs the same, changes nothing, and
 * gives the same answer each time.
 *
 * A load's utilisation is a mean and a few sinusoids, which follow from its profile and seed and
 * never leave 0 … 1, under a start of a few seconds. Loads that together could exceed what their
 * GPU (or GPU instance) has are scaled down to fit, each by the same factor.
 *
 * Power is idle power plus a share of the rest by utilisation, through a low-pass of 2 s;
 * temperature is that of an idle GPU plus a rise by power, through a low-pass of 45 s. All terms
 * are complex exponentials, so their low-passes and their integrals are, too. A power cap scales
 * what the loads may draw, so that their highest peak just reaches it. Throttling lowers the clock
 * and sets its reasons, and feeds nothing back.
 *
 * Needs libc and libm only: the library is built from it. */
#ifndef WEIR_EDGE_NVML_SIM_MODEL_H
#define WEIR_EDGE_NVML_SIM_MODEL_H

#include "edge/nvml/sim_layout.h"

#include <stdbool.h>
#include <stdint.h>

/* Utilisations are 0 … 1. */
struct weir_sim_reading {
    struct weir_sim_base base; /* power, temperature and all sums at the instant */
    double gpu;
    double memory; /* the share of time that memory is read or written */
    double encoder;
    double decoder;
    double tensor;
    double memory_temperature_c;
    double pcie_tx_kib_s;
    double pcie_rx_kib_s;
    double nvlink_kib_s;    /* each way, all links together */
    uint64_t clock_reasons; /* WEIR_NVML_CLOCK_REASON_… */
    uint64_t used_bytes;    /* by all loads, without the reserved part; never more than there is */
    uint32_t sm_clock_mhz;
    uint32_t memory_clock_mhz;
};

struct weir_sim_activity {
    double sm; /* of the whole GPU */
    double memory;
    double encoder;
    double decoder;
};

/* Before the state's own instant (base.at_ms), the reading is the one at that instant. */
void weir_sim_model_read(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                         int64_t at_ms, struct weir_sim_reading *ret_reading);
/* Of one load, at its share of the GPU. */
void weir_sim_model_activity(const struct weir_sim_state *state, uint32_t load, int64_t at_ms,
                             struct weir_sim_activity *ret_activity);
/* What a load holds at the instant: it grows within a minute and stays. */
uint64_t weir_sim_model_memory(const struct weir_sim_load *load, int64_t at_ms);
/* What the loads of a GPU instance hold together; WEIR_NVML_NO_INSTANCE: all of the GPU. */
uint64_t weir_sim_model_used(const struct weir_sim_state *state, uint32_t gpu_instance,
                             int64_t at_ms);
/* What the loads of a GPU instance have done since each began, at the share they have now: only the
 * sums of the base are filled. */
void weir_sim_model_instance(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                             uint32_t gpu_instance, int64_t at_ms, struct weir_sim_base *ret_sums);
/* The state's base as of a GPU that has been idle for long. */
void weir_sim_model_rest(const struct weir_sim_facts *facts, int64_t at_ms,
                         struct weir_sim_base *ret_base);
/* Moves the base to a later instant (not to an earlier one), so that what is changed in the state
 * afterwards changes nothing before: no curve jumps. */
void weir_sim_model_advance(const struct weir_sim_facts *facts, struct weir_sim_state *state,
                            int64_t at_ms);

const char *weir_sim_profile_name(uint32_t profile); /* "saw-tooth" */
/* False when there is no such profile. */
bool weir_sim_profile_from_name(const char *name, size_t len, uint32_t *ret_profile);

#endif
