/* edge/nvml/prober.h — reads GPUs on threads of its own, because a question to a driver may never
 * return (docs/decisions/0007).
 *
 * One worker reads all devices in rounds, and carries out changes of MIG between two devices. One
 * that stands by goes on with the others when a device takes long: so one that hangs delays no
 * other's samples. The worker that was left behind with its call tells what it read when the call
 * returns, and ends. A device that does not answer within the deadline is HUNG. Another thread
 * waits for events.
 *
 * What these functions do not say is for one thread, the loop's; none of them calls the driver, and
 * only opening waits. */
#ifndef WEIR_EDGE_PROBER_H
#define WEIR_EDGE_PROBER_H

#include "port/gpu.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_prober;

struct weir_prober_options {
    uint32_t sample_ms;     /* between two samples of a device */
    uint32_t facts_ms;      /* between two looks at everything else */
    uint32_t slow_ms;       /* that a round waits for one device; then it goes on without it */
    uint32_t deadline_ms;   /* for what is asked of one device: then it hangs */
    uint32_t change_ms;     /* for a change of MIG: then it is given up */
    uint32_t open_ms;       /* how long opening waits for the driver … */
    uint32_t first_ms;      /* … and then for a first reading of all devices */
    uint32_t event_wait_ms; /* how long the driver is asked to wait for an event */
    /* Opening does not fail for want of a driver: it is looked for until it is there. */
    bool may_be_away;
};

/* 1 s, 5 s, 300 ms, 3 s, 60 s, 10 s, 2 s, 1 s, false. */
struct weir_prober_options weir_prober_defaults(void);

/* Loads the library (weir_nvml_open) and starts reading. Errors: those of weir_nvml_open(),
 * WEIR_E_TIMEOUT (the driver does not answer), WEIR_E_IO (no thread, no descriptor). */
int weir_prober_open(const char *path, const struct weir_prober_options *options,
                     struct weir_prober **ret_prober, struct weir_err *err);
/* Waits for no thread: the last one to end closes the library. */
struct weir_prober *weir_prober_close(struct weir_prober *prober);

const char *weir_prober_driver_version(const struct weir_prober *prober);
/* As port/gpu.h says. */
int weir_prober_fd(const struct weir_prober *prober);
bool weir_prober_collect(struct weir_prober *prober, const struct weir_gpu_sink *sink);
int weir_prober_list(struct weir_prober *prober, struct weir_arena *arena,
                     struct weir_gpu_device **ret_devices, uint32_t *ret_n, struct weir_err *err);
int weir_prober_mig(struct weir_prober *prober, const struct weir_gpu_mig_request *request,
                    uint64_t *ret_ticket, struct weir_err *err);

#endif
