/* edge/nvml/simlib/simlib.h — inside the simulated libnvidia-ml.so.1.
 *
 * The library is a file of its own: C, libc, libm and the fleet file, nothing else of weir. It
 * finds its fleet in $WEIR_SIM_FLEET, or beside itself: DATA/lib/libnvidia-ml.so.1 reads
 * DATA/sim/fleet.
 *
 * A handle is the address of an element of an array, so it stays good over shutdown and init. Every
 * call holds a read lock while it looks into the map, and never while it waits; init and shutdown
 * hold it for writing. */
#ifndef WEIR_EDGE_NVML_SIMLIB_H
#define WEIR_EDGE_NVML_SIMLIB_H

#include "edge/nvml/nvml_abi.h"
#include "edge/nvml/nvml_abi_mig.h"
#include "edge/nvml/sim_layout.h"
#include "edge/nvml/sim_model.h"

#define API __attribute__((visibility("default")))

/* Copies of what a device is and does, taken at one instant. */
struct weir_sim_view {
    uint32_t index;
    uint32_t gpu_instance; /* of a MIG device; WEIR_NVML_NO_INSTANCE: the view is of a GPU */
    uint32_t compute_instance;
    int64_t at_ms;
    struct weir_sim_facts facts;
    struct weir_sim_state state;
    struct weir_sim_mig mig;
};

/* What a call takes besides a healthy GPU. */
enum weir_sim_accept {
    WEIR_SIM_ACCEPT_MIG = 1 << 0,  /* a MIG device */
    WEIR_SIM_ACCEPT_RESET = 1 << 1 /* a GPU that requires a reset: identity is known without it */
};

/* WEIR_NVML_SUCCESS when the library is initialised and its fleet still stands. */
int weir_sim_ready(void);
/* Looks at a device; waits where it hangs. A NULL `output` (what the caller wants filled) is an
 * invalid argument. accept: of enum weir_sim_accept. */
int weir_sim_look_with(const struct weir_nvml_handle *handle, const void *output, unsigned accept,
                       struct weir_sim_view *ret_view);
/* At a GPU, and a healthy one. */
int weir_sim_look(const struct weir_nvml_handle *handle, const void *output,
                  struct weir_sim_view *ret_view);
/* The same, and what it does now. */
int weir_sim_measure(const struct weir_nvml_handle *handle, const void *output,
                     struct weir_sim_view *ret_view, struct weir_sim_reading *ret_reading);
/* The first device of which match() is true; NOT_FOUND when there is none. */
int weir_sim_find(bool (*match)(const struct weir_sim_facts *facts, const void *wanted),
                  const void *wanted, struct weir_nvml_handle **ret_handle);
/* The MIG device of this UUID; NOT_FOUND. */
int weir_sim_find_mig(const char *uuid, struct weir_nvml_handle **ret_handle);
/* Copies text with its NUL, or INSUFFICIENT_SIZE. */
int weir_sim_text(char *out, unsigned room, const char *text);
int64_t weir_sim_clock_ms(void); /* CLOCK_BOOTTIME */
/* The same, or the instant that weirSimSetInstant() said for this thread. */
int64_t weir_sim_now_ms(void);
uint64_t weir_sim_wall_us(void);

/* Copies from the header, by place there. */
int weir_sim_header(void *out, size_t offset, size_t size);

/* Without a look at its state; INVALID_ARGUMENT past the last device. */
int weir_sim_facts_of(uint32_t index, struct weir_sim_facts *ret_facts);
/* Without waiting where it hangs. */
bool weir_sim_is_lost(uint32_t index);
/* Waits until the bell is another one than the one given, for a while that is at most max_ms. */
void weir_sim_await_bell(uint32_t bell, int64_t max_ms);

struct weir_nvml_handle *weir_sim_gpu_handle(uint32_t index);
struct weir_nvml_handle *weir_sim_mig_handle(uint32_t index, uint32_t gi, uint32_t ci);
struct weir_nvml_gi_handle *weir_sim_gi_handle(uint32_t index, uint32_t gi);
struct weir_nvml_ci_handle *weir_sim_ci_handle(uint32_t index, uint32_t gi, uint32_t ci);
/* INVALID_ARGUMENT for what is no such handle; NOT_FOUND where the instance is gone. */
int weir_sim_look_gi(const struct weir_nvml_gi_handle *handle, const void *output,
                     struct weir_sim_view *ret_view);
int weir_sim_look_ci(const struct weir_nvml_ci_handle *handle, const void *output,
                     struct weir_sim_view *ret_view);

/* Changes the MIG part of a device under the file's lock: change() works on a copy, which is
 * published if it answers SUCCESS. */
int weir_sim_change_mig(uint32_t index,
                        int (*change)(const struct weir_sim_view *view, struct weir_sim_mig *mig,
                                      void *ctx),
                        void *ctx);

#endif
