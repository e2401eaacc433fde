/* edge/nvml/nvml_abi_mig.h — NVML's interface for MIG: profiles, placements and instances. Restated
 * and checked as edge/nvml/nvml_abi.h says. Needs libc only. */
#ifndef WEIR_EDGE_NVML_ABI_MIG_H
#define WEIR_EDGE_NVML_ABI_MIG_H

#include "edge/nvml/nvml_abi_base.h"

enum { WEIR_NVML_MIG_DISABLE = 0, WEIR_NVML_MIG_ENABLE = 1 };

/* What is asked for a profile; the profile's id, which everything else wants, is in the answer. */
enum weir_nvml_gi_profile {
    WEIR_NVML_GI_PROFILE_1_SLICE = 0x0,
    WEIR_NVML_GI_PROFILE_2_SLICE = 0x1,
    WEIR_NVML_GI_PROFILE_3_SLICE = 0x2,
    WEIR_NVML_GI_PROFILE_4_SLICE = 0x3,
    WEIR_NVML_GI_PROFILE_7_SLICE = 0x4,
    WEIR_NVML_GI_PROFILE_8_SLICE = 0x5,
    WEIR_NVML_GI_PROFILE_6_SLICE = 0x6,
    WEIR_NVML_GI_PROFILE_1_SLICE_REV1 = 0x7, /* with media engines: "+me" */
    WEIR_NVML_GI_PROFILE_2_SLICE_REV1 = 0x8, /* likewise */
    WEIR_NVML_GI_PROFILE_1_SLICE_REV2 = 0x9, /* twice the memory of 1_SLICE */
    WEIR_NVML_GI_PROFILE_1_SLICE_GFX = 0xa,
    WEIR_NVML_GI_PROFILE_2_SLICE_GFX = 0xb,
    WEIR_NVML_GI_PROFILE_4_SLICE_GFX = 0xc,
    WEIR_NVML_GI_PROFILE_1_SLICE_NO_ME = 0xd,
    WEIR_NVML_GI_PROFILE_2_SLICE_NO_ME = 0xe,
    WEIR_NVML_GI_PROFILE_1_SLICE_ALL_ME = 0xf,
    WEIR_NVML_GI_PROFILE_2_SLICE_ALL_ME = 0x10,
    WEIR_NVML_GI_PROFILE_3_SLICE_GFX = 0x11,
    WEIR_NVML_GI_PROFILE_COUNT = 0x12
};

enum weir_nvml_ci_profile {
    WEIR_NVML_CI_PROFILE_1_SLICE = 0x0,
    WEIR_NVML_CI_PROFILE_2_SLICE = 0x1,
    WEIR_NVML_CI_PROFILE_3_SLICE = 0x2,
    WEIR_NVML_CI_PROFILE_4_SLICE = 0x3,
    WEIR_NVML_CI_PROFILE_7_SLICE = 0x4,
    WEIR_NVML_CI_PROFILE_8_SLICE = 0x5,
    WEIR_NVML_CI_PROFILE_6_SLICE = 0x6,
    WEIR_NVML_CI_PROFILE_1_SLICE_REV1 = 0x7,
    WEIR_NVML_CI_PROFILE_COUNT = 0x8 /* newer drivers know one more, for NVLink-only use */
};

enum { WEIR_NVML_CI_ENGINE_SHARED = 0 };

enum { WEIR_NVML_GI_CAPS_P2P = 0x1, WEIR_NVML_GI_CAPS_GFX = 0x2, WEIR_NVML_CI_CAPS_GFX = 0x1 };

/* Opaque; only pointers to them are exchanged. */
struct weir_nvml_gi_handle;
struct weir_nvml_ci_handle;

/* nvmlDeviceGetGpuInstanceProfileInfo */
struct weir_nvml_gi_profile_info_v1 {
    uint32_t id;
    uint32_t is_p2p_supported;
    uint32_t slices;
    uint32_t instances; /* at most, on an empty GPU */
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
    uint64_t memory_mib;
};

/* nvmlDeviceGetGpuInstanceProfileInfoV with version 2 … */
struct weir_nvml_gi_profile_info_v2 {
    uint32_t version;
    uint32_t id;
    uint32_t is_p2p_supported;
    uint32_t slices;
    uint32_t instances;
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
    uint64_t memory_mib;
    char name[WEIR_NVML_NAME_BYTES]; /* "MIG 1g.10gb" */
};

/* … and with version 3. */
struct weir_nvml_gi_profile_info_v3 {
    uint32_t version;
    uint32_t id;
    uint32_t slices;
    uint32_t instances;
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
    uint64_t memory_mib;
    char name[WEIR_NVML_NAME_BYTES];
    uint32_t capabilities; /* WEIR_NVML_GI_CAPS_… */
};

/* In memory slices for a GPU instance, in compute slices of its GPU instance for a compute one. */
struct weir_nvml_placement {
    uint32_t start;
    uint32_t size;
};

struct weir_nvml_gi_info {
    struct weir_nvml_handle *device;
    uint32_t id;
    uint32_t profile_id;
    struct weir_nvml_placement placement;
};

struct weir_nvml_ci_profile_info_v1 {
    uint32_t id;
    uint32_t slices;
    uint32_t instances;
    uint32_t multiprocessors;
    uint32_t copy_engines; /* these five are shared with the other compute instances */
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
};

struct weir_nvml_ci_profile_info_v2 {
    uint32_t version;
    uint32_t id;
    uint32_t slices;
    uint32_t instances;
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
    char name[WEIR_NVML_NAME_BYTES]; /* "MIG 1c.3g.40gb" */
};

struct weir_nvml_ci_profile_info_v3 {
    uint32_t version;
    uint32_t id;
    uint32_t slices;
    uint32_t instances;
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
    char name[WEIR_NVML_NAME_BYTES];
    uint32_t capabilities; /* WEIR_NVML_CI_CAPS_… */
};

/* nvmlComputeInstanceGetInfo_v2. The first version ends before placement. */
struct weir_nvml_ci_info_v2 {
    struct weir_nvml_handle *device;
    struct weir_nvml_gi_handle *gpu_instance;
    uint32_t id;
    uint32_t profile_id;
    struct weir_nvml_placement placement;
};

/* nvmlDeviceGetAttributes_v2, of a MIG device. */
struct weir_nvml_attributes {
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
    uint32_t gi_slices;
    uint32_t ci_slices;
    uint64_t memory_mib;
};

_Static_assert(sizeof(struct weir_nvml_gi_profile_info_v1) == 48, "GpuInstanceProfileInfo");
_Static_assert(sizeof(struct weir_nvml_gi_profile_info_v2) == 152, "GpuInstanceProfileInfo_v2");
_Static_assert(sizeof(struct weir_nvml_gi_profile_info_v3) == 152, "GpuInstanceProfileInfo_v3");
_Static_assert(sizeof(struct weir_nvml_placement) == 8, "GpuInstancePlacement");
_Static_assert(sizeof(struct weir_nvml_gi_info) == 24, "GpuInstanceInfo");
_Static_assert(sizeof(struct weir_nvml_ci_profile_info_v1) == 36, "ComputeInstanceProfileInfo");
_Static_assert(sizeof(struct weir_nvml_ci_profile_info_v2) == 136, "ComputeInstanceProfileInfo_v2");
_Static_assert(sizeof(struct weir_nvml_ci_profile_info_v3) == 140, "ComputeInstanceProfileInfo_v3");
_Static_assert(sizeof(struct weir_nvml_ci_info_v2) == 32, "ComputeInstanceInfo_v2");
_Static_assert(sizeof(struct weir_nvml_attributes) == 40, "DeviceAttributes");

#endif
