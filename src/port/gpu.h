/* port/gpu.h — what a node's GPU driver must tell. A value that the driver did not give is absent,
 * never zero. */
#ifndef WEIR_PORT_GPU_H
#define WEIR_PORT_GPU_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;

enum weir_gpu_valid {
    WEIR_GPU_HAS_MEMORY = 1 << 0,
    WEIR_GPU_HAS_PCI = 1 << 1,
    WEIR_GPU_HAS_MIG_MODE = 1 << 2,
    WEIR_GPU_HAS_COMPUTE_CAPABILITY = 1 << 3,
};

struct weir_gpu_process {
    uint32_t pid;
    uint32_t has_memory;
    int64_t used_bytes;
};

/* Texts live in the arena of the call. */
struct weir_gpu_device {
    struct weir_str uuid;
    struct weir_str name;  /* the driver's product name */
    struct weir_str class; /* our name of the model ("h100-sxm"), or one made of the product name */
    struct weir_str node;  /* empty: this machine */
    struct weir_str pci;
    uint32_t index;
    uint32_t valid; /* enum weir_gpu_valid */
    bool is_lost;   /* known, but it does not answer */
    bool mig_mode;
    int64_t memory_total_bytes;
    int64_t memory_reserved_bytes;
    uint32_t compute_major;
    uint32_t compute_minor;
    const struct weir_gpu_process *processes;
    uint32_t n_processes;
};

struct weir_gpu_port {
    void *ctx;
    /* All devices with their processes, in order of node and index. WEIR_E_UNAVAILABLE: the driver
     * does not answer now. */
    int (*list)(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                uint32_t *ret_n_devices, struct weir_err *err);
    /* For a simulated driver: task processes come and go on a device; NULL for a real one. */
    int (*occupy)(void *ctx, struct weir_str uuid, uint32_t pid, int64_t bytes,
                  struct weir_err *err);
    int (*vacate)(void *ctx, struct weir_str uuid, uint32_t pid, struct weir_err *err);
};

#endif
