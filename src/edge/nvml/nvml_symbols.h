/* edge/nvml/nvml_symbols.h — the functions found in a loaded NVML, each in the newest form there.
 *
 * A pointer is NULL where no form was found. Inside of edge/nvml/nvml.c only. */
#ifndef WEIR_EDGE_NVML_SYMBOLS_H
#define WEIR_EDGE_NVML_SYMBOLS_H

#include "edge/nvml/nvml_abi.h"

#include <stdbool.h>

/* Process records are of one of two forms; out points to room for *count of them. */
typedef int weir_nvml_processes_fn(struct weir_nvml_handle *device, unsigned *count, void *out);

struct weir_nvml_process_list {
    weir_nvml_processes_fn *call;
    bool is_v1; /* struct weir_nvml_process_v1, else _v2 */
};

struct weir_nvml_symbols {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*driver_version)(char *out, unsigned length);
    int (*count)(unsigned *out);
    int (*by_index)(unsigned index, struct weir_nvml_handle **out);
    int (*by_uuid)(const char *uuid, struct weir_nvml_handle **out);
    int (*uuid)(struct weir_nvml_handle *device, char *out, unsigned length);
    int (*name)(struct weir_nvml_handle *device, char *out, unsigned length);
    int (*serial)(struct weir_nvml_handle *device, char *out, unsigned length);
    int (*node)(struct weir_nvml_handle *device, char *out, unsigned length); /* simulated only */
    int (*minor)(struct weir_nvml_handle *device, unsigned *out);
    int (*pci_info)(struct weir_nvml_handle *device, struct weir_nvml_pci_info *out);
    int (*memory_v2)(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *out);
    int (*memory_v1)(struct weir_nvml_handle *device, struct weir_nvml_memory_v1 *out);
    int (*compute_capability)(struct weir_nvml_handle *device, int *major, int *minor);
    int (*mig_mode)(struct weir_nvml_handle *device, unsigned *current, unsigned *pending);
    struct weir_nvml_process_list compute;
    struct weir_nvml_process_list graphics;
    struct weir_nvml_process_list mps;
};

/* Looks all up in a library that dlopen() gave. Returns the name of a function without which
 * nothing works and that is missing, or NULL. */
const char *weir_nvml_symbols_load(void *library, struct weir_nvml_symbols *ret_symbols);

#endif
