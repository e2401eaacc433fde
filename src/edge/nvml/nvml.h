/* edge/nvml/nvml.h — GPUs through NVIDIA's management library, loaded at run time.
 *
 * Nothing of NVIDIA's is linked or needed to build. A function that the driver lacks is replaced by
 * an older form of it or makes its value invalid; it is never an error of the whole. Every value
 * has a bit that says whether it was read: an unknown number is not zero.
 *
 * One owner at a time. A call may take as long as the driver does. */
#ifndef WEIR_EDGE_NVML_H
#define WEIR_EDGE_NVML_H

#include "edge/nvml/nvml_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;
struct weir_nvml;

enum weir_nvml_state {
    WEIR_NVML_STATE_READY,
    WEIR_NVML_STATE_LOST,           /* fell off the bus; only what was known before is told */
    WEIR_NVML_STATE_RESET_REQUIRED, /* does not answer until it is reset */
    WEIR_NVML_STATE_UNREADABLE,     /* another failure of the driver: see result */
    WEIR_NVML_STATE_MAX
};

enum weir_nvml_valid {
    WEIR_NVML_VALID_UUID = 1 << 0,
    WEIR_NVML_VALID_NAME = 1 << 1,
    WEIR_NVML_VALID_SERIAL = 1 << 2,
    WEIR_NVML_VALID_PCI = 1 << 3,
    WEIR_NVML_VALID_MINOR = 1 << 4,
    WEIR_NVML_VALID_COMPUTE_CAPABILITY = 1 << 5,
    WEIR_NVML_VALID_MIG_MODE = 1 << 6, /* not set where the GPU has no MIG */
    WEIR_NVML_VALID_MEMORY_TOTAL = 1 << 7,
    WEIR_NVML_VALID_MEMORY_RESERVED = 1 << 8,
    WEIR_NVML_VALID_MEMORY_USED = 1 << 9
};

struct weir_nvml_device {
    uint32_t index;
    uint32_t valid; /* enum weir_nvml_valid */
    uint8_t state;  /* enum weir_nvml_state */
    bool mig_enabled;
    bool mig_pending; /* the mode after the next reset */
    uint16_t cc_major;
    uint16_t cc_minor;
    int32_t result;  /* what NVML answered, when the state is not READY */
    uint32_t minor;  /* /dev/nvidiaN */
    uint32_t pci_id; /* vendor << 16 | device */
    int64_t memory_total_bytes;
    int64_t memory_reserved_bytes;
    int64_t memory_used_bytes; /* without the reserved part where that is valid, else with it */
    char uuid[WEIR_NVML_UUID_BYTES];
    char name[WEIR_NVML_NAME_BYTES];
    char node[64];       /* of a simulated fleet; "" with a real driver */
    char pci_bus_id[16]; /* as in /sys/bus/pci/devices: "0000:18:00.0" */
    char serial[32];
};

enum weir_nvml_process_kind {
    WEIR_NVML_PROCESS_COMPUTE = 1 << 0,
    WEIR_NVML_PROCESS_GRAPHICS = 1 << 1,
    WEIR_NVML_PROCESS_MPS = 1 << 2
};

struct weir_nvml_process {
    uint32_t pid;
    uint32_t kinds;  /* enum weir_nvml_process_kind */
    bool used_valid; /* false where the driver does not tell (inside some containers) */
    int64_t used_bytes;
    uint32_t gpu_instance; /* WEIR_NVML_NO_INSTANCE outside MIG */
    uint32_t compute_instance;
};

/* Loads the library at path (NULL: libnvidia-ml.so.1 where the loader looks) and initialises it.
 * Errors: WEIR_E_UNSUPPORTED (no library, or not one of NVML), WEIR_E_UNAVAILABLE (driver not
 * loaded, or of another version than the library), WEIR_E_DENIED, WEIR_E_NOT_FOUND (no GPU). */
int weir_nvml_open(const char *path, struct weir_nvml **ret_nvml, struct weir_err *err);
struct weir_nvml *weir_nvml_close(struct weir_nvml *nvml);

/* "570.133.20", or "" when the driver does not tell. */
const char *weir_nvml_driver_version(const struct weir_nvml *nvml);

/* All devices in the order of their index, in the arena; none is no error. A device that fails is
 * listed with its state, under the identity it had when it was last read. When the driver was
 * reloaded the library is initialised anew. Errors: WEIR_E_UNAVAILABLE (no driver any more),
 * WEIR_E_NO_MEMORY. */
int weir_nvml_list(struct weir_nvml *nvml, struct weir_arena *arena,
                   struct weir_nvml_device **ret_devices, uint32_t *ret_n, struct weir_err *err);

/* The processes on one device, each pid (and MIG instance) once, in the order of the pids.
 * Errors: WEIR_E_NOT_FOUND (no such device), WEIR_E_UNAVAILABLE (lost, or no driver),
 * WEIR_E_UNSUPPORTED (the driver does not list processes), WEIR_E_NO_MEMORY. */
int weir_nvml_processes(struct weir_nvml *nvml, const char *uuid, struct weir_arena *arena,
                        struct weir_nvml_process **ret_processes, uint32_t *ret_n,
                        struct weir_err *err);

#endif
