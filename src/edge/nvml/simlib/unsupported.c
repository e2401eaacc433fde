/* What a simulated GPU does not have. Clients written in Go bind every function they may call, and
 * end when one is missing; "not supported" is the answer they know how to take.
 *
 * Absent on purpose: nvmlDeviceGetConfComputeMemSizeInfo and
 * nvmlDeviceGetRunningProcessDetailList. A client that finds the first without the second takes
 * the process records for the 32-byte ones of driver 535.43. */
#include "edge/nvml/simlib/simlib.h"

/* The arguments stay with the caller under the C calling conventions of Linux. */
#define UNSUPPORTED(name)                                                                          \
    API int name(void);                                                                            \
    int name(void)                                                                                 \
    {                                                                                              \
        int result = weir_sim_ready();                                                             \
                                                                                                   \
        return result == WEIR_NVML_SUCCESS ? WEIR_NVML_NOT_SUPPORTED : result;                     \
    }

UNSUPPORTED(nvmlDeviceGetAccountingMode)
UNSUPPORTED(nvmlDeviceGetAttributes)
UNSUPPORTED(nvmlDeviceGetAttributes_v2)
UNSUPPORTED(nvmlDeviceGetBoardPartNumber)
UNSUPPORTED(nvmlDeviceGetComputeInstanceId)
UNSUPPORTED(nvmlDeviceGetCpuAffinity)
UNSUPPORTED(nvmlDeviceGetCurrPcieLinkGeneration)
UNSUPPORTED(nvmlDeviceGetCurrPcieLinkWidth)
UNSUPPORTED(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)
UNSUPPORTED(nvmlDeviceGetDriverModel)
UNSUPPORTED(nvmlDeviceGetDriverModel_v2)
UNSUPPORTED(nvmlDeviceGetEncoderStats)
UNSUPPORTED(nvmlDeviceGetFanSpeed)
UNSUPPORTED(nvmlDeviceGetFanSpeed_v2)
UNSUPPORTED(nvmlDeviceGetGpuFabricInfo)
UNSUPPORTED(nvmlDeviceGetGpuFabricInfoV)
UNSUPPORTED(nvmlDeviceGetGpuInstanceId)
UNSUPPORTED(nvmlDeviceGetGpuInstancePossiblePlacements)
UNSUPPORTED(nvmlDeviceGetGpuInstancePossiblePlacements_v2)
UNSUPPORTED(nvmlDeviceGetGpuInstanceProfileInfo)
UNSUPPORTED(nvmlDeviceGetGpuInstanceProfileInfoV)
UNSUPPORTED(nvmlDeviceGetGpuInstances)
UNSUPPORTED(nvmlDeviceGetInforomImageVersion)
UNSUPPORTED(nvmlDeviceGetMaxPcieLinkGeneration)
UNSUPPORTED(nvmlDeviceGetMaxPcieLinkWidth)
UNSUPPORTED(nvmlDeviceGetMemoryAffinity)
UNSUPPORTED(nvmlDeviceGetMemoryBusWidth)
UNSUPPORTED(nvmlDeviceGetNumGpuCores)
UNSUPPORTED(nvmlDeviceGetNumaNodeId)
UNSUPPORTED(nvmlDeviceGetNvLinkCapability)
UNSUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo)
UNSUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2)
UNSUPPORTED(nvmlDeviceGetNvLinkState)
UNSUPPORTED(nvmlDeviceGetNvLinkVersion)
UNSUPPORTED(nvmlDeviceGetP2PStatus)
UNSUPPORTED(nvmlDeviceGetPcieReplayCounter)
UNSUPPORTED(nvmlDeviceGetPowerManagementLimitConstraints)
UNSUPPORTED(nvmlDeviceGetRemappedRows)
UNSUPPORTED(nvmlDeviceGetRetiredPages)
UNSUPPORTED(nvmlDeviceGetRetiredPages_v2)
UNSUPPORTED(nvmlDeviceGetTemperatureThreshold)
UNSUPPORTED(nvmlDeviceGetTopologyCommonAncestor)
UNSUPPORTED(nvmlDeviceGetVbiosVersion)
UNSUPPORTED(nvmlDeviceGetViolationStatus)
UNSUPPORTED(nvmlDeviceGetVirtualizationMode)
UNSUPPORTED(nvmlDeviceSetMigMode)
UNSUPPORTED(nvmlGpmQueryDeviceSupport)
