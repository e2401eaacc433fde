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
UNSUPPORTED(nvmlDeviceGetApplicationsClock)
UNSUPPORTED(nvmlDeviceGetAutoBoostedClocksEnabled)
UNSUPPORTED(nvmlDeviceGetBoardPartNumber)
UNSUPPORTED(nvmlDeviceGetBridgeChipInfo)
UNSUPPORTED(nvmlDeviceGetClock)
UNSUPPORTED(nvmlDeviceGetCpuAffinity)
UNSUPPORTED(nvmlDeviceGetCpuAffinityWithinScope)
UNSUPPORTED(nvmlDeviceGetDriverModel)
UNSUPPORTED(nvmlDeviceGetDriverModel_v2)
UNSUPPORTED(nvmlDeviceGetEncoderCapacity)
UNSUPPORTED(nvmlDeviceGetEncoderStats)
UNSUPPORTED(nvmlDeviceGetFBCSessions)
UNSUPPORTED(nvmlDeviceGetFanSpeed)
UNSUPPORTED(nvmlDeviceGetFanSpeed_v2)
UNSUPPORTED(nvmlDeviceGetGspFirmwareVersion)
UNSUPPORTED(nvmlDeviceGetHostVgpuMode)
UNSUPPORTED(nvmlDeviceGetInforomConfigurationChecksum)
UNSUPPORTED(nvmlDeviceGetInforomImageVersion)
UNSUPPORTED(nvmlDeviceGetMemClkMinMaxVfOffset)
UNSUPPORTED(nvmlDeviceGetMemoryBusWidth)
UNSUPPORTED(nvmlDeviceGetModuleId)
UNSUPPORTED(nvmlDeviceGetPowerManagementMode)
UNSUPPORTED(nvmlDeviceGetPowerState)
UNSUPPORTED(nvmlDeviceGetRetiredPages)
UNSUPPORTED(nvmlDeviceGetRetiredPagesPendingStatus)
UNSUPPORTED(nvmlDeviceGetRetiredPages_v2)
UNSUPPORTED(nvmlDeviceGetSamples)
UNSUPPORTED(nvmlDeviceGetSupportedGraphicsClocks)
UNSUPPORTED(nvmlDeviceGetSupportedMemoryClocks)
UNSUPPORTED(nvmlDeviceGetTargetFanSpeed)
UNSUPPORTED(nvmlDeviceGetVirtualizationMode)
UNSUPPORTED(nvmlDeviceResetNvLinkErrorCounters)
UNSUPPORTED(nvmlDeviceSetPersistenceMode)
UNSUPPORTED(nvmlDeviceSetPowerManagementLimit)
