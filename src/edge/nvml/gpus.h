/* edge/nvml/gpus.h — port/gpu.h over NVML: a real driver's, or the simulated one of this binary. */
#ifndef WEIR_EDGE_NVML_GPUS_H
#define WEIR_EDGE_NVML_GPUS_H

#include "base/str.h"
#include "port/gpu.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_gpus;

/* What the data directory knows of GPUs from before. */
enum weir_gpus_known { WEIR_GPUS_KNOWN_NONE, WEIR_GPUS_KNOWN_REAL, WEIR_GPUS_KNOWN_SIMULATED };

/* simulate empty: the driver of this machine. "auto": that one where it answers or its GPUs are
 * known, else a simulated "8xH100". Anything else: a simulated fleet of this text
 * (model/fleet_spec.h), installed below data_dir. Where GPUs of the kind are known their driver may
 * be away. Errors: weir_nvml_open()'s, weir_sim_install()'s. */
int weir_gpus_open(const char *data_dir, struct weir_str simulate, enum weir_gpus_known known,
                   struct weir_gpus **ret_gpus, struct weir_gpu_port *ret_port,
                   struct weir_err *err);
struct weir_gpus *weir_gpus_close(struct weir_gpus *gpus);
bool weir_gpus_are_simulated(const struct weir_gpus *gpus);

/* What will befall simulated GPUs (edge/nvml/sim_orders.h): read whole, and checked against the
 * fleet. Errors: WEIR_E_UNSUPPORTED (real GPUs), those of weir_sim_orders_parse() and
 * weir_sim_order_check(). */
int weir_gpus_plan_faults(struct weir_gpus *gpus, struct weir_str text, struct weir_err *err);
void weir_gpus_begin_faults(struct weir_gpus *gpus, int64_t begin_ms);
/* `why` is NULL where it was carried out. */
typedef void (*weir_gpus_tell_fn)(void *arg, struct weir_str fault, const struct weir_err *why);
/* Carries out what is due. Returns the time until the next one, or INT64_MAX: none is left. */
int64_t weir_gpus_run_faults(struct weir_gpus *gpus, int64_t now_ms, weir_gpus_tell_fn tell,
                             void *arg);

/* One line for people: "simulated 8xH100", "driver 570.133.20". Lives as long as gpus. */
const char *weir_gpus_describe(const struct weir_gpus *gpus);

#endif
