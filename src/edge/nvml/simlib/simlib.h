/* edge/nvml/simlib/simlib.h — inside the simulated libnvidia-ml.so.1.
 *
 * The library is a file of its own: C, libc and the fleet file, nothing else of weir. It finds its
 * fleet in $WEIR_SIM_FLEET, or beside itself: DATA/lib/libnvidia-ml.so.1 reads DATA/sim/fleet.
 *
 * A handle is the address of an element of a constant array, so it stays good over shutdown and
 * init. Every call holds a read lock while it looks into the map; init and shutdown hold it for
 * writing. */
#ifndef WEIR_EDGE_NVML_SIMLIB_H
#define WEIR_EDGE_NVML_SIMLIB_H

#include "edge/nvml/nvml_abi.h"
#include "edge/nvml/sim_layout.h"

#define API __attribute__((visibility("default")))

/* Copies of what a device is and does, taken at one instant. */
struct weir_sim_view {
    uint32_t index;
    struct weir_sim_facts facts;
    struct weir_sim_state state;
};

/* WEIR_NVML_SUCCESS when the library is initialised and its fleet still stands. */
int weir_sim_ready(void);
/* Looks at a device. A NULL `output` (what the caller wants filled) is an invalid argument. */
int weir_sim_look(const struct weir_nvml_handle *handle, const void *output,
                  struct weir_sim_view *ret_view);
/* The first device of which match() is true; NOT_FOUND when there is none. */
int weir_sim_find(bool (*match)(const struct weir_sim_facts *facts, const void *wanted),
                  const void *wanted, struct weir_nvml_handle **ret_handle);
/* Copies text with its NUL, or INSUFFICIENT_SIZE. */
int weir_sim_text(char *out, unsigned room, const char *text);

#endif
