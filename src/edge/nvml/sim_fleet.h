/* edge/nvml/sim_fleet.h — the writer of a simulated fleet: makes the file, changes what its GPUs
 * do and what befalls them.
 *
 * One writer at a time, held to it by a lock on the file. Readers are the clients of the simulated
 * NVML library; each sees a device as it is at the instant of its call (edge/nvml/sim_model.h).
 * Loads stay in the file when the writer ends, as jobs may outlive it: whoever opens a fleet reads
 * them back and removes those of dead processes. What a real kernel would say of a fault is
 * appended to the file "kmsg" beside the fleet (edge/nvml/sim_kmsg.h).
 *
 * Instants are milliseconds of CLOCK_BOOTTIME, as weir_clock_mono_ms() gives them. They may lie in
 * the past ("six hours ago"), in order; one before the last change of a device counts as that. A
 * new GPU has been idle for a day. */
#ifndef WEIR_EDGE_NVML_SIM_FLEET_H
#define WEIR_EDGE_NVML_SIM_FLEET_H

#include "base/str.h"
#include "edge/nvml/sim_layout.h"
#include "edge/nvml/sim_model.h"
#include "model/world.h"

#include <stdint.h>

struct weir_err;
struct weir_sim_fleet;

/* Opens the fleet file at path, and makes it where there is none (the folder must exist). A file
 * that holds the same GPUs is kept with its UUIDs, loads and faults; any other is replaced in one
 * step, and readers of the old one are told that their driver is gone. The seed
 * (model/fleet_spec.h) counts for a new file; a replaced one hands its own on, so that GPUs in both
 * fleets stay the same. A file of an earlier boot is kept with its UUIDs, but starts as after a
 * boot: no loads, no lost GPU, no MIG instances.
 *
 * The spec is a text like "8xH100", or the path of a YAML file (edge/nvml/sim_file.h), whose faults
 * befall the GPUs of a new fleet.
 *
 * Errors: those of weir_sim_file_read(), WEIR_E_UNAVAILABLE (another writer), and of the file
 * system. */
int weir_sim_fleet_open(const char *path, struct weir_str spec, uint64_t seed,
                        struct weir_sim_fleet **ret_fleet, struct weir_err *err);
struct weir_sim_fleet *weir_sim_fleet_close(struct weir_sim_fleet *fleet);

uint32_t weir_sim_fleet_size(const struct weir_sim_fleet *fleet);
/* index is below the size, here and below; valid until the fleet is closed. */
const struct weir_sim_facts *weir_sim_fleet_facts(const struct weir_sim_fleet *fleet,
                                                  uint32_t index);
void weir_sim_fleet_read(const struct weir_sim_fleet *fleet, uint32_t index,
                         struct weir_sim_state *ret_state);
void weir_sim_fleet_read_mig(const struct weir_sim_fleet *fleet, uint32_t index,
                             struct weir_sim_mig *ret_mig);
/* What a client would read at that instant. */
void weir_sim_fleet_measure(const struct weir_sim_fleet *fleet, uint32_t index, int64_t at_ms,
                            struct weir_sim_reading *ret_reading);

/* Publishes a whole state. WEIR_E_INVALID: a load without a pid, one pid twice, a MIG instance that
 * is not there (or none on a GPU in MIG mode); WEIR_E_TOO_LARGE: too many loads, or more memory
 * than the GPU or its instance has. */
int weir_sim_fleet_write(struct weir_sim_fleet *fleet, uint32_t index,
                         const struct weir_sim_state *state, struct weir_err *err);

/* What a job of the class does unless it says otherwise: training is steady, a batch has its
 * stalls, a service is bursty, a development environment interactive. */
uint32_t weir_sim_profile_of_class(enum weir_class class);
/* How much memory a load holds that asks for so much (0: what is usual for its profile, give or
 * take a tenth by its seed), as far as the others on the GPU leave it. */
uint64_t weir_sim_fleet_memory_for(const struct weir_sim_fleet *fleet, uint32_t index,
                                   const struct weir_sim_load *load, uint64_t asked_bytes);
/* Adds the load of a process, or changes it. Its begin_ms is at_ms where it is new and 0; its share
 * is filled in. Errors as above. */
int weir_sim_fleet_set_load(struct weir_sim_fleet *fleet, uint32_t index,
                            const struct weir_sim_load *load, int64_t at_ms, struct weir_err *err);
/* WEIR_E_NOT_FOUND when it is not there. */
int weir_sim_fleet_remove_load(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                               int64_t at_ms, struct weir_err *err);
/* The same at once. */
int weir_sim_fleet_remove_process(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                                  struct weir_err *err);

enum weir_sim_fault_kind {
    WEIR_SIM_FAULT_XID,            /* amount: the code. Event, kernel log; 79 also loses the GPU */
    WEIR_SIM_FAULT_LOST,           /* no XID, but the kernel's three lines */
    WEIR_SIM_FAULT_RESET_REQUIRED, /* does not answer until it recovers */
    WEIR_SIM_FAULT_RECOVERED,      /* as after a reset: pending MIG mode and remaps take effect */
    WEIR_SIM_FAULT_ACTION,         /* which: enum weir_nvml_recovery_action. XID 154 */
    WEIR_SIM_FAULT_ECC,            /* which: WEIR_NVML_ECC_…; amount more errors */
    WEIR_SIM_FAULT_REMAP,          /* which: enum weir_sim_remap; amount more rows */
    WEIR_SIM_FAULT_THERMAL,        /* amount: throttles from this °C on; 0: as made */
    WEIR_SIM_FAULT_POWER,          /* amount: a cap in mW; 0: none */
    WEIR_SIM_FAULT_HANG, /* amount: calls return only after so many ms, or WEIR_SIM_NEVER */
    WEIR_SIM_FAULT_MAX
};

enum weir_sim_remap {
    WEIR_SIM_REMAP_CORRECTABLE,
    WEIR_SIM_REMAP_UNCORRECTABLE,
    WEIR_SIM_REMAP_FAILED
};

struct weir_sim_fault {
    uint32_t kind; /* enum weir_sim_fault_kind */
    uint32_t which;
    uint64_t amount;
    uint32_t pid; /* of an XID: whose it is; 0: the device's own */
};

/* WEIR_E_INVALID: an amount that cannot be, or a GPU like this has no such limit. */
int weir_sim_fault_check(const struct weir_sim_facts *facts, const struct weir_sim_fault *fault,
                         struct weir_err *err);
/* Errors: WEIR_E_INVALID (an amount that cannot be), those of writing the kernel's log. */
int weir_sim_fleet_fault(struct weir_sim_fleet *fleet, uint32_t index,
                         const struct weir_sim_fault *fault, int64_t at_ms, struct weir_err *err);
/* The driver goes for down_ms and comes back: clients must initialise the library anew. Sums and
 * volatile counts start from zero, MIG instances are gone, every GPU is recovered. */
void weir_sim_fleet_reload_driver(struct weir_sim_fleet *fleet, int64_t down_ms, int64_t at_ms);

#endif
