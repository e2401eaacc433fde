/* model/gpu_catalogue.h — what is known of GPU models: memory as the driver reports it, power,
 * links, MIG geometry.
 *
 * Compiled in from data/gpus.json, which names a source for each value (data/README.md). An unknown
 * number is 0, an unknown text NULL. The table is constant: pointers into it stay valid for ever.
 *
 * A model is named by its id ("h100-sxm"), by an alias ("h100") or by the name the driver gives
 * ("NVIDIA H100 80GB HBM3"), upper or lower case. A short alias means the SXM variant, and of
 * several memory sizes the largest whose size in the driver is known: "a100" is a100-sxm4-80. */
#ifndef WEIR_MODEL_GPU_CATALOGUE_H
#define WEIR_MODEL_GPU_CATALOGUE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct weir_err;

enum weir_gpu_vendor {
    WEIR_GPU_VENDOR_NVIDIA,
    WEIR_GPU_VENDOR_AMD,
    WEIR_GPU_VENDOR_INTEL,
    WEIR_GPU_VENDOR_MAX
};

enum weir_gpu_link {
    WEIR_GPU_LINK_PCIE,          /* nothing but the bus */
    WEIR_GPU_LINK_NVLINK,        /* through switches: every GPU of the domain at full rate */
    WEIR_GPU_LINK_NVLINK_BRIDGE, /* between the few cards that a bridge joins */
    WEIR_GPU_LINK_XGMI,          /* a direct link for each pair */
    WEIR_GPU_LINK_ETHERNET,
    WEIR_GPU_LINK_MAX
};

/* A GPU instance profile. It takes memory_slices adjacent memory slices from one of its starts. */
struct weir_mig_profile {
    const char *name; /* "1g.10gb" */
    int64_t memory_bytes;
    uint16_t sm_count;
    uint16_t start_mask; /* bit k: may start at memory slice k */
    uint8_t gi_profile_id;
    uint8_t compute_slices;
    uint8_t memory_slices;
    uint8_t max_instances;
};

enum { WEIR_GPU_PCI_IDS_MAX = 4 };

struct weir_gpu_model {
    const char *id;
    const char *name;         /* for people */
    const char *device_name;  /* as NVML says it; NULL where NVML does not serve the vendor */
    const char *architecture; /* "Hopper" */
    uint8_t vendor;           /* enum weir_gpu_vendor */
    uint8_t cc_major;         /* CUDA compute capability */
    uint8_t cc_minor;
    uint8_t link; /* enum weir_gpu_link */
    int64_t memory_total_bytes;
    int64_t memory_reserved_bytes; /* part of the total that no program gets */
    uint32_t tdp_w;
    uint32_t sm_count;
    uint32_t link_mb_per_s; /* decimal megabytes per second, one way, all links together */
    uint8_t link_gen;
    uint8_t n_links;
    uint8_t n_pci_ids;
    uint16_t max_link_domain;               /* GPUs that the link can join; 1: none */
    uint32_t pci_ids[WEIR_GPU_PCI_IDS_MAX]; /* vendor << 16 | device; shared by sizes of one chip */
    uint8_t mig_memory_slices;              /* 0: no MIG */
    uint8_t mig_compute_slices;
    uint8_t n_mig_profiles;
    const struct weir_mig_profile *mig_profiles;
};

struct weir_gpu_name {
    const char *text;
    uint16_t model; /* index in weir_gpu_models */
};

/* The generated tables. */
extern const struct weir_gpu_model weir_gpu_models[];
extern const size_t weir_n_gpu_models;
extern const struct weir_gpu_name weir_gpu_names[];
extern const size_t weir_n_gpu_names;

/* By id, alias or driver's name; NULL when unknown. Blanks around the name do not count. */
const struct weir_gpu_model *weir_gpu_catalogue_find(struct weir_str name);
/* The same; WEIR_E_NOT_FOUND with the nearest names as its hint. */
int weir_gpu_catalogue_lookup(struct weir_str name, const struct weir_gpu_model **ret_model,
                              struct weir_err *err);

#endif
