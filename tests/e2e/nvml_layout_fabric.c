/* nvml_abi_fabric.h against NVIDIA's header. */
#include "edge/nvml/nvml_abi_fabric.h"

#include <nvml.h>

#define SAME(ours, theirs)      _Static_assert((ours) == (theirs), #ours)
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))

SAME_SIZE(struct weir_nvml_fabric_v1, nvmlGpuFabricInfo_t);
SAME_SIZE(struct weir_nvml_fabric_v2, nvmlGpuFabricInfo_v2_t);
SAME_SIZE(struct weir_nvml_fabric_v3, nvmlGpuFabricInfo_v3_t);
SAME_SIZE(struct weir_nvml_violation, nvmlViolationTime_t);
SAME(offsetof(struct weir_nvml_fabric_v1, clique_id), offsetof(nvmlGpuFabricInfo_t, cliqueId));
SAME(offsetof(struct weir_nvml_fabric_v1, state), offsetof(nvmlGpuFabricInfo_t, state));
SAME(offsetof(struct weir_nvml_fabric_v2, health_mask),
     offsetof(nvmlGpuFabricInfo_v2_t, healthMask));
SAME(offsetof(struct weir_nvml_fabric_v3, status), offsetof(nvmlGpuFabricInfo_v3_t, status));
SAME(offsetof(struct weir_nvml_fabric_v3, state), offsetof(nvmlGpuFabricInfo_v3_t, state));
SAME(offsetof(struct weir_nvml_fabric_v3, health_summary),
     offsetof(nvmlGpuFabricInfo_v3_t, healthSummary));
SAME(offsetof(struct weir_nvml_violation, violated_ns),
     offsetof(nvmlViolationTime_t, violationTime));
SAME(WEIR_NVML_FABRIC_UUID_BYTES, NVML_GPU_FABRIC_UUID_LEN);
SAME(WEIR_NVML_FABRIC_COMPLETED, NVML_GPU_FABRIC_STATE_COMPLETED);
SAME(WEIR_NVML_FABRIC_NOT_SUPPORTED, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
SAME(WEIR_NVML_P2P_NVLINK, NVML_P2P_CAPS_INDEX_NVLINK);
SAME(WEIR_NVML_P2P_ATOMICS, NVML_P2P_CAPS_INDEX_ATOMICS);
SAME(WEIR_NVML_P2P_PCI, NVML_P2P_CAPS_INDEX_PCI);
SAME(WEIR_NVML_P2P_OK, NVML_P2P_STATUS_OK);
SAME(WEIR_NVML_P2P_NOT_SUPPORTED, NVML_P2P_STATUS_NOT_SUPPORTED);
SAME(WEIR_NVML_PERF_POLICY_POWER, NVML_PERF_POLICY_POWER);
SAME(WEIR_NVML_PERF_POLICY_THERMAL, NVML_PERF_POLICY_THERMAL);
SAME(WEIR_NVML_PERF_POLICY_RELIABILITY, NVML_PERF_POLICY_RELIABILITY);
SAME(WEIR_NVML_PERF_POLICY_APP_CLOCKS, NVML_PERF_POLICY_TOTAL_APP_CLOCKS);
SAME(WEIR_NVML_PERF_POLICY_BASE_CLOCKS, NVML_PERF_POLICY_TOTAL_BASE_CLOCKS);
