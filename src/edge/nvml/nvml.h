/* edge/nvml/nvml.h — GPUs through NVIDIA's management library, loaded at run time.
 *
 * Nothing of NVIDIA's is linked or needed to build. A function that the driver lacks is replaced by
 * an older form of it or makes its value invalid; it is never an error of the whole.
 *
 * A call may take as long as the driver does, or for ever: edge/nvml/prober.h makes them on threads
 * of their own. Any thread may read any device; weir_nvml_count() is for one thread at a time, and
 * a meter is for one at a time. */
#ifndef WEIR_EDGE_NVML_H
#define WEIR_EDGE_NVML_H

#include "edge/nvml/nvml_abi.h"
#include "port/gpu.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_nvml;

/* Loads the library at path (NULL: libnvidia-ml.so.1 where the loader looks) and initialises it.
 * Errors: WEIR_E_UNSUPPORTED (no library, or not one of NVML), WEIR_E_UNAVAILABLE (driver not
 * loaded, or of another version than the library), WEIR_E_DENIED, WEIR_E_NOT_FOUND (no GPU). */
int weir_nvml_open(const char *path, struct weir_nvml **ret_nvml, struct weir_err *err);
struct weir_nvml *weir_nvml_close(struct weir_nvml *nvml);

/* When the library was opened: "570.133.20", or "" when the driver does not tell. */
const char *weir_nvml_driver_version(const struct weir_nvml *nvml);

/* How many devices there are. When the driver was reloaded the library is initialised anew, and the
 * generation counts up: an index may mean another device then. before_reload (may be NULL) is
 * called first. Errors: WEIR_E_UNAVAILABLE (no driver any more), and what weir_nvml_open() says. */
int weir_nvml_count(struct weir_nvml *nvml, void (*before_reload)(void *arg), void *arg,
                    uint32_t *ret_n, uint32_t *ret_generation, struct weir_err *err);

/* ---- one device ---- */

/* What a device is, all but its sample. It is an answer, too, that the device does not answer: then
 * state and cause are set, and what else could be read, the uuid empty where not even that.
 * Fails with WEIR_E_NO_MEMORY only. */
int weir_nvml_read_facts(const struct weir_nvml *nvml, uint32_t index, struct weir_arena *arena,
                         struct weir_gpu_device *ret_device, struct weir_err *err);

/* What a sample needs to know of the one before. */
struct weir_nvml_meter;

/* NULL: no memory. */
struct weir_nvml_meter *weir_nvml_meter_create(const struct weir_nvml *nvml);
struct weir_nvml_meter *weir_nvml_meter_destroy(struct weir_nvml_meter *meter);
/* The driver was reloaded, or the index means another device: the next sample is the first. */
void weir_nvml_meter_forget(struct weir_nvml_meter *meter);

struct weir_nvml_health {
    enum weir_gpu_state state;
    char cause[160];
};

/* How a device is, now. Where the device fails under way, ret_health tells, and the sample holds
 * what was read before. Fails with WEIR_E_NO_MEMORY only. */
int weir_nvml_read_sample(const struct weir_nvml *nvml, uint32_t index,
                          struct weir_nvml_meter *meter, struct weir_arena *arena,
                          struct weir_gpu_sample *ret_sample, struct weir_nvml_health *ret_health,
                          struct weir_err *err);

/* Carries out a request. ret_result tells how it went, ticket apart. */
void weir_nvml_change_mig(const struct weir_nvml *nvml, const struct weir_gpu_mig_request *request,
                          struct weir_gpu_mig_result *ret_result);

/* ---- events ---- */

struct weir_nvml_events;

/* Everything that the devices can tell, from now on; those that cannot tell anything are left out,
 * and those of `skips` (by index; NULL: none).
 * Errors: WEIR_E_UNSUPPORTED, WEIR_E_UNAVAILABLE, WEIR_E_NO_MEMORY. */
int weir_nvml_events_open(const struct weir_nvml *nvml, uint32_t n_devices, const bool *skips,
                          struct weir_nvml_events **ret_events, struct weir_err *err);
/* is_stale: the driver went, and the set with it. */
struct weir_nvml_events *weir_nvml_events_close(struct weir_nvml_events *events, bool is_stale);
/* Sleeps until the next one, at most timeout_ms. True: ret_event is set (seen_ms apart). False: no
 * event; ret_is_broken says whether the set is of no use any more. */
bool weir_nvml_events_wait(struct weir_nvml_events *events, uint32_t timeout_ms,
                           struct weir_gpu_event *ret_event, bool *ret_is_broken);

#endif
