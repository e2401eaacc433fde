/* edge/nvml/nvml_abi_fabric.h — NVML's interface for NVLink fabrics that span nodes, for peers and
 * for throttled time. Restated and checked as in edge/nvml/nvml_abi.h. Needs libc only. */
#ifndef WEIR_EDGE_NVML_ABI_FABRIC_H
#define WEIR_EDGE_NVML_ABI_FABRIC_H

#include "edge/nvml/nvml_abi.h"

enum {
    WEIR_NVML_FABRIC_NOT_SUPPORTED = 0,
    WEIR_NVML_FABRIC_NOT_STARTED = 1,
    WEIR_NVML_FABRIC_IN_PROGRESS = 2,
    WEIR_NVML_FABRIC_COMPLETED = 3
};

enum { WEIR_NVML_FABRIC_UUID_BYTES = 16 };

struct weir_nvml_fabric_v1 {
    uint8_t cluster_uuid[WEIR_NVML_FABRIC_UUID_BYTES];
    int32_t status; /* enum weir_nvml_return */
    uint32_t clique_id;
    uint8_t state;
};

struct weir_nvml_fabric_v2 {
    uint32_t version;
    uint8_t cluster_uuid[WEIR_NVML_FABRIC_UUID_BYTES];
    int32_t status;
    uint32_t clique_id;
    uint8_t state;
    uint32_t health_mask;
};

struct weir_nvml_fabric_v3 {
    uint32_t version;
    uint8_t cluster_uuid[WEIR_NVML_FABRIC_UUID_BYTES];
    int32_t status;
    uint32_t clique_id;
    uint8_t state;
    uint32_t health_mask;
    uint8_t health_summary;
};

/* What nvmlDeviceGetP2PStatus asks for, and answers. */
enum {
    WEIR_NVML_P2P_READ = 0,
    WEIR_NVML_P2P_WRITE = 1,
    WEIR_NVML_P2P_NVLINK = 2,
    WEIR_NVML_P2P_ATOMICS = 3,
    WEIR_NVML_P2P_PCI = 4
};

enum {
    WEIR_NVML_P2P_OK = 0,
    WEIR_NVML_P2P_CHIPSET_NOT_SUPPORTED = 1,
    WEIR_NVML_P2P_GPU_NOT_SUPPORTED = 2,
    WEIR_NVML_P2P_IOH_NOT_SUPPORTED = 3,
    WEIR_NVML_P2P_DISABLED = 4,
    WEIR_NVML_P2P_NOT_SUPPORTED = 5
};

enum weir_nvml_perf_policy {
    WEIR_NVML_PERF_POLICY_POWER = 0,
    WEIR_NVML_PERF_POLICY_THERMAL = 1,
    WEIR_NVML_PERF_POLICY_RELIABILITY = 5,
    WEIR_NVML_PERF_POLICY_APP_CLOCKS = 10,
    WEIR_NVML_PERF_POLICY_BASE_CLOCKS = 11
};

struct weir_nvml_violation {
    uint64_t reference_us;
    uint64_t violated_ns;
};

_Static_assert(sizeof(struct weir_nvml_fabric_v1) == 28, "GpuFabricInfo");
_Static_assert(sizeof(struct weir_nvml_fabric_v2) == 36, "GpuFabricInfo_v2");
_Static_assert(sizeof(struct weir_nvml_fabric_v3) == 40, "GpuFabricInfo_v3");
_Static_assert(sizeof(struct weir_nvml_violation) == 16, "ViolationTime");

#endif
