/* edge/nvml/nvml_symbols.h — the functions found in a loaded NVML, each in the newest form there.
 *
 * A pointer is NULL where no form was found. For the files edge/nvml/nvml*.c only. */
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
    /* the library and its devices */
    const char *(*error_string)(int result);
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *out);
    int (*by_index)(unsigned index, struct weir_nvml_handle **out);
    int (*uuid)(struct weir_nvml_handle *device, char *out, unsigned length);
    int (*by_uuid)(const char *uuid, struct weir_nvml_handle **out);
    int (*driver_version)(char *out, unsigned length);

    /* what a device is */
    int (*name)(struct weir_nvml_handle *device, char *out, unsigned length);
    int (*serial)(struct weir_nvml_handle *device, char *out, unsigned length);
    int (*node)(struct weir_nvml_handle *device, char *out, unsigned length);
    int (*minor)(struct weir_nvml_handle *device, unsigned *out);
    int (*pci_info)(struct weir_nvml_handle *device, struct weir_nvml_pci_info *out);
    int (*memory_v2)(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *out);
    int (*memory_v1)(struct weir_nvml_handle *device, struct weir_nvml_memory_v1 *out);
    int (*compute_capability)(struct weir_nvml_handle *device, int *major, int *minor);
    int (*compute_mode)(struct weir_nvml_handle *device, unsigned *out);
    int (*memory_affinity)(struct weir_nvml_handle *device, unsigned n_words, unsigned long *words,
                           unsigned scope);
    int (*numa_node)(struct weir_nvml_handle *device, unsigned *out);
    int (*max_clock)(struct weir_nvml_handle *device, unsigned clock, unsigned *out);
    int (*power_limit_enforced)(struct weir_nvml_handle *device, unsigned *out);
    int (*power_limit_default)(struct weir_nvml_handle *device, unsigned *out);
    int (*power_limit_range)(struct weir_nvml_handle *device, unsigned *min, unsigned *max);
    int (*threshold)(struct weir_nvml_handle *device, unsigned which, unsigned *out);
    int (*pcie_generation_max)(struct weir_nvml_handle *device, unsigned *out);
    int (*pcie_width_max)(struct weir_nvml_handle *device, unsigned *out);
    int (*nvlink_state)(struct weir_nvml_handle *device, unsigned link, unsigned *is_active);
    int (*nvlink_remote_pci)(struct weir_nvml_handle *device, unsigned link,
                             struct weir_nvml_pci_info *out);
    int (*nvlink_remote_type)(struct weir_nvml_handle *device, unsigned link, unsigned *out);

    /* how it is */
    int (*utilization)(struct weir_nvml_handle *device, struct weir_nvml_utilization *out);
    int (*power)(struct weir_nvml_handle *device, unsigned *out);
    int (*energy)(struct weir_nvml_handle *device, unsigned long long *out);
    int (*temperature_v1)(struct weir_nvml_handle *device, struct weir_nvml_temperature_v1 *in_out);
    int (*temperature)(struct weir_nvml_handle *device, unsigned sensor, unsigned *out);
    int (*clock)(struct weir_nvml_handle *device, unsigned clock, unsigned *out);
    int (*clock_reasons)(struct weir_nvml_handle *device, unsigned long long *out);
    int (*performance_state)(struct weir_nvml_handle *device, unsigned *out);
    int (*fan)(struct weir_nvml_handle *device, unsigned *out);
    int (*encoder)(struct weir_nvml_handle *device, unsigned *out, unsigned *period_us);
    int (*decoder)(struct weir_nvml_handle *device, unsigned *out, unsigned *period_us);
    int (*ecc_total)(struct weir_nvml_handle *device, unsigned kind, unsigned since,
                     unsigned long long *out);
    int (*ecc_location)(struct weir_nvml_handle *device, unsigned kind, unsigned since,
                        unsigned where, unsigned long long *out);
    int (*sram_status)(struct weir_nvml_handle *device, struct weir_nvml_sram_status_v1 *in_out);
    int (*remapped_rows)(struct weir_nvml_handle *device, unsigned *correctable,
                         unsigned *uncorrectable, unsigned *is_pending, unsigned *has_failed);
    int (*remap_histogram)(struct weir_nvml_handle *device, struct weir_nvml_remap_histogram *out);
    int (*pcie_throughput)(struct weir_nvml_handle *device, unsigned direction, unsigned *kib_s);
    int (*pcie_replays)(struct weir_nvml_handle *device, unsigned *out);
    int (*pcie_generation)(struct weir_nvml_handle *device, unsigned *out);
    int (*pcie_width)(struct weir_nvml_handle *device, unsigned *out);
    int (*fields)(struct weir_nvml_handle *device, int n, struct weir_nvml_field_value *in_out);
    int (*process_samples)(struct weir_nvml_handle *device, struct weir_nvml_process_sample *out,
                           unsigned *n, unsigned long long since_us);
    int (*gpm_supported)(struct weir_nvml_handle *device, struct weir_nvml_gpm_support *in_out);
    int (*gpm_alloc)(struct weir_nvml_gpm_sample **out);
    int (*gpm_free)(struct weir_nvml_gpm_sample *sample);
    int (*gpm_get)(struct weir_nvml_handle *device, struct weir_nvml_gpm_sample *sample);
    int (*gpm_get_instance)(struct weir_nvml_handle *device, unsigned gpu_instance,
                            struct weir_nvml_gpm_sample *sample);
    int (*gpm_metrics)(struct weir_nvml_gpm_metrics *in_out);

    /* MIG */
    int (*mig_mode)(struct weir_nvml_handle *device, unsigned *current, unsigned *pending);
    int (*mig_set_mode)(struct weir_nvml_handle *device, unsigned mode, int *activation);
    int (*mig_devices_max)(struct weir_nvml_handle *device, unsigned *out);
    int (*mig_device)(struct weir_nvml_handle *device, unsigned index,
                      struct weir_nvml_handle **out);
    int (*gi_of_device)(struct weir_nvml_handle *mig_device, unsigned *out);
    int (*ci_of_device)(struct weir_nvml_handle *mig_device, unsigned *out);
    int (*gi_profile_v)(struct weir_nvml_handle *device, unsigned profile, void *in_out);
    int (*gi_profile)(struct weir_nvml_handle *device, unsigned profile,
                      struct weir_nvml_gi_profile_info_v1 *out);
    int (*gi_placements)(struct weir_nvml_handle *device, unsigned profile_id,
                         struct weir_nvml_placement *out, unsigned *n);
    int (*gi_list)(struct weir_nvml_handle *device, unsigned profile_id,
                   struct weir_nvml_gi_handle **out, unsigned *n);
    int (*gi_by_id)(struct weir_nvml_handle *device, unsigned id, struct weir_nvml_gi_handle **out);
    int (*gi_info)(struct weir_nvml_gi_handle *instance, struct weir_nvml_gi_info *out);
    int (*gi_create)(struct weir_nvml_handle *device, unsigned profile_id,
                     struct weir_nvml_gi_handle **out);
    int (*gi_create_at)(struct weir_nvml_handle *device, unsigned profile_id,
                        const struct weir_nvml_placement *where, struct weir_nvml_gi_handle **out);
    int (*gi_destroy)(struct weir_nvml_gi_handle *instance);
    int (*ci_profile)(struct weir_nvml_gi_handle *instance, unsigned profile, unsigned engine,
                      struct weir_nvml_ci_profile_info_v1 *out);
    int (*ci_list)(struct weir_nvml_gi_handle *instance, unsigned profile_id,
                   struct weir_nvml_ci_handle **out, unsigned *n);
    int (*ci_info)(struct weir_nvml_ci_handle *instance, struct weir_nvml_ci_info_v2 *out);
    int (*ci_create)(struct weir_nvml_gi_handle *instance, unsigned profile_id,
                     struct weir_nvml_ci_handle **out);
    int (*ci_destroy)(struct weir_nvml_ci_handle *instance);

    /* events */
    int (*event_set_create)(struct weir_nvml_event_set **out);
    int (*event_set_free)(struct weir_nvml_event_set *set);
    int (*event_types)(struct weir_nvml_handle *device, unsigned long long *out);
    int (*event_register)(struct weir_nvml_handle *device, unsigned long long types,
                          struct weir_nvml_event_set *set);
    int (*event_wait)(struct weir_nvml_event_set *set, struct weir_nvml_event_data *out,
                      unsigned timeout_ms);
    struct weir_nvml_process_list compute;
    struct weir_nvml_process_list graphics;
    struct weir_nvml_process_list mps;
};

/* Looks all up in a library that dlopen() gave. Returns the name of a function without which
 * nothing works and that is missing, or NULL. */
const char *weir_nvml_symbols_load(void *library, struct weir_nvml_symbols *ret_symbols);

#endif
