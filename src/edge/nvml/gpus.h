/* edge/nvml/gpus.h — port/gpu.h over NVML: a real driver's, or the simulated one of this binary. */
#ifndef WEIR_EDGE_NVML_GPUS_H
#define WEIR_EDGE_NVML_GPUS_H

#include "base/str.h"
#include "port/gpu.h"

#include <stdbool.h>

struct weir_gpus;

/* simulate empty: the driver of this machine. "auto": that one where it answers, else a simulated
 * "8xH100". Anything else: a simulated fleet of this text (model/fleet_spec.h), installed below
 * data_dir. Errors: weir_nvml_open()'s, weir_sim_install()'s. */
int weir_gpus_open(const char *data_dir, struct weir_str simulate, struct weir_gpus **ret_gpus,
                   struct weir_gpu_port *ret_port, struct weir_err *err);
struct weir_gpus *weir_gpus_close(struct weir_gpus *gpus);
bool weir_gpus_are_simulated(const struct weir_gpus *gpus);
/* One line for people: "simulated 8xH100", "driver 570.133.20". Lives as long as gpus. */
const char *weir_gpus_describe(const struct weir_gpus *gpus);

#endif
