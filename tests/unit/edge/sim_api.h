/* The simulated library as a client has it: loaded by path, functions looked up by name. */
#ifndef WEIR_TEST_SIM_API_H
#define WEIR_TEST_SIM_API_H

#include "base/count.h"
#include "edge/nvml/nvml_abi.h"
#include "edge/nvml/nvml_abi_fabric.h"
#include "edge/nvml/nvml_abi_mig.h"
#include "edge/nvml/nvml_abi_values.h"

#include <dlfcn.h>
#include <stddef.h>

typedef struct weir_nvml_handle *gpu;

static struct {
    void *library;
    int (*Init)(void);
    int (*Init_v2)(void);
    int (*InitWithFlags)(unsigned);
    int (*Shutdown)(void);
    const char *(*ErrorString)(int);
    int (*SystemGetDriverVersion)(char *, unsigned);
    int (*SystemGetNVMLVersion)(char *, unsigned);
    int (*SystemGetCudaDriverVersion)(int *);
    int (*SystemGetProcessName)(unsigned, char *, unsigned);
    int (*DeviceGetCount_v2)(unsigned *);
    int (*DeviceGetHandleByIndex_v2)(unsigned, gpu *);
    int (*DeviceGetHandleByUUID)(const char *, gpu *);
    int (*DeviceGetHandleBySerial)(const char *, gpu *);
    int (*DeviceGetHandleByPciBusId_v2)(const char *, gpu *);
    int (*DeviceGetIndex)(gpu, unsigned *);
    int (*DeviceGetName)(gpu, char *, unsigned);
    int (*DeviceGetUUID)(gpu, char *, unsigned);
    int (*DeviceGetSerial)(gpu, char *, unsigned);
    int (*DeviceGetPciInfo_v2)(gpu, struct weir_nvml_pci_info *);
    int (*DeviceGetPciInfo_v3)(gpu, struct weir_nvml_pci_info *);
    int (*DeviceGetMemoryInfo)(gpu, struct weir_nvml_memory_v1 *);
    int (*DeviceGetMemoryInfo_v2)(gpu, struct weir_nvml_memory_v2 *);
    int (*DeviceGetUtilizationRates)(gpu, struct weir_nvml_utilization *);
    int (*DeviceGetTemperature)(gpu, unsigned, unsigned *);
    int (*DeviceGetTemperatureV)(gpu, struct weir_nvml_temperature_v1 *);
    int (*DeviceGetPowerUsage)(gpu, unsigned *);
    int (*DeviceGetFanSpeed)(gpu, unsigned *);
    int (*DeviceGetMigMode)(gpu, unsigned *, unsigned *);
    int (*DeviceGetMigDeviceHandleByIndex)(gpu, unsigned, gpu *);
    int (*DeviceGetFieldValues)(gpu, int, struct weir_nvml_field_value *);
    int (*DeviceGetComputeRunningProcesses)(gpu, unsigned *, struct weir_nvml_process_v1 *);
    int (*DeviceGetComputeRunningProcesses_v2)(gpu, unsigned *, struct weir_nvml_process_v2 *);
    int (*DeviceGetComputeRunningProcesses_v3)(gpu, unsigned *, struct weir_nvml_process_v2 *);
    int (*DeviceGetGraphicsRunningProcesses_v3)(gpu, unsigned *, struct weir_nvml_process_v2 *);
    int (*DeviceGetProcessUtilization)(gpu, struct weir_nvml_process_sample *, unsigned *,
                                       unsigned long long);
    int (*DeviceGetMaxMigDeviceCount)(gpu, unsigned *);
    int (*DeviceIsMigDeviceHandle)(gpu, unsigned *);
    int (*DeviceSetMigMode)(gpu, unsigned, int *);
    int (*DeviceGetGpuInstanceProfileInfo)(gpu, unsigned, struct weir_nvml_gi_profile_info_v1 *);
    int (*DeviceGetGpuInstanceProfileInfoV)(gpu, unsigned, void *);
    int (*DeviceGetGpuInstancePossiblePlacements_v2)(gpu, unsigned, struct weir_nvml_placement *,
                                                     unsigned *);
    int (*DeviceGetGpuInstanceRemainingCapacity)(gpu, unsigned, unsigned *);
    int (*DeviceCreateGpuInstance)(gpu, unsigned, struct weir_nvml_gi_handle **);
    int (*DeviceCreateGpuInstanceWithPlacement)(gpu, unsigned, const struct weir_nvml_placement *,
                                                struct weir_nvml_gi_handle **);
    int (*GpuInstanceDestroy)(struct weir_nvml_gi_handle *);
    int (*DeviceGetGpuInstances)(gpu, unsigned, struct weir_nvml_gi_handle **, unsigned *);
    int (*GpuInstanceGetInfo)(struct weir_nvml_gi_handle *, struct weir_nvml_gi_info *);
    int (*GpuInstanceGetComputeInstanceProfileInfo)(struct weir_nvml_gi_handle *, unsigned,
                                                    unsigned,
                                                    struct weir_nvml_ci_profile_info_v1 *);
    int (*GpuInstanceCreateComputeInstance)(struct weir_nvml_gi_handle *, unsigned,
                                            struct weir_nvml_ci_handle **);
    int (*ComputeInstanceDestroy)(struct weir_nvml_ci_handle *);
    int (*ComputeInstanceGetInfo_v2)(struct weir_nvml_ci_handle *, struct weir_nvml_ci_info_v2 *);
    int (*DeviceGetGpuInstanceId)(gpu, unsigned *);
    int (*DeviceGetComputeInstanceId)(gpu, unsigned *);
    int (*DeviceGetDeviceHandleFromMigDeviceHandle)(gpu, gpu *);
    int (*DeviceGetAttributes_v2)(gpu, struct weir_nvml_attributes *);
    int (*GpmQueryDeviceSupport)(gpu, struct weir_nvml_gpm_support *);
    int (*GpmSampleAlloc)(struct weir_nvml_gpm_sample **);
    int (*GpmSampleFree)(struct weir_nvml_gpm_sample *);
    int (*GpmSampleGet)(gpu, struct weir_nvml_gpm_sample *);
    int (*GpmMigSampleGet)(gpu, unsigned, struct weir_nvml_gpm_sample *);
    int (*GpmMetricsGet)(struct weir_nvml_gpm_metrics *);
    int (*DeviceGetTotalEccErrors)(gpu, unsigned, unsigned, unsigned long long *);
    int (*DeviceGetRemappedRows)(gpu, unsigned *, unsigned *, unsigned *, unsigned *);
    int (*DeviceGetNvLinkState)(gpu, unsigned, unsigned *);
    int (*DeviceGetNvLinkRemoteDeviceType)(gpu, unsigned, unsigned *);
    int (*DeviceGetNvLinkRemotePciInfo_v2)(gpu, unsigned, struct weir_nvml_pci_info *);
    int (*DeviceGetP2PStatus)(gpu, gpu, unsigned, unsigned *);
    int (*DeviceGetTopologyCommonAncestor)(gpu, gpu, unsigned *);
    int (*DeviceGetNumaNodeId)(gpu, unsigned *);
    int (*DeviceGetGpuFabricInfoV)(gpu, void *);
    int (*DeviceGetCurrentClocksEventReasons)(gpu, unsigned long long *);
    int (*DeviceGetClockInfo)(gpu, unsigned, unsigned *);
    int (*DeviceGetEnforcedPowerLimit)(gpu, unsigned *);
    int (*EventSetCreate)(struct weir_nvml_event_set **);
    int (*EventSetFree)(struct weir_nvml_event_set *);
    int (*EventSetWait_v2)(struct weir_nvml_event_set *, struct weir_nvml_event_data *, unsigned);
    int (*DeviceRegisterEvents)(gpu, unsigned long long, struct weir_nvml_event_set *);
    int (*SimDeviceGetNode)(gpu, char *, unsigned);
    int (*SimDeviceGetLabel)(gpu, const char *, char *, unsigned);
    void (*SimSetInstant)(int64_t);
} sim;

#define SIM_NAME(prefix, name)                                                                     \
    {                                                                                              \
        prefix #name, offsetof(__typeof__(sim), name)                                              \
    }

/* True when the library is there with every function above. */
static int sim_api_load(const char *path)
{
    static const struct {
        const char *name;
        size_t at;
    } names[] = {
        SIM_NAME("nvml", Init),
        SIM_NAME("nvml", Init_v2),
        SIM_NAME("nvml", InitWithFlags),
        SIM_NAME("nvml", Shutdown),
        SIM_NAME("nvml", ErrorString),
        SIM_NAME("nvml", SystemGetDriverVersion),
        SIM_NAME("nvml", SystemGetNVMLVersion),
        SIM_NAME("nvml", SystemGetCudaDriverVersion),
        SIM_NAME("nvml", SystemGetProcessName),
        SIM_NAME("nvml", DeviceGetCount_v2),
        SIM_NAME("nvml", DeviceGetHandleByIndex_v2),
        SIM_NAME("nvml", DeviceGetHandleByUUID),
        SIM_NAME("nvml", DeviceGetHandleBySerial),
        SIM_NAME("nvml", DeviceGetHandleByPciBusId_v2),
        SIM_NAME("nvml", DeviceGetIndex),
        SIM_NAME("nvml", DeviceGetName),
        SIM_NAME("nvml", DeviceGetUUID),
        SIM_NAME("nvml", DeviceGetSerial),
        SIM_NAME("nvml", DeviceGetPciInfo_v2),
        SIM_NAME("nvml", DeviceGetPciInfo_v3),
        SIM_NAME("nvml", DeviceGetMemoryInfo),
        SIM_NAME("nvml", DeviceGetMemoryInfo_v2),
        SIM_NAME("nvml", DeviceGetUtilizationRates),
        SIM_NAME("nvml", DeviceGetTemperature),
        SIM_NAME("nvml", DeviceGetTemperatureV),
        SIM_NAME("nvml", DeviceGetPowerUsage),
        SIM_NAME("nvml", DeviceGetFanSpeed),
        SIM_NAME("nvml", DeviceGetMigMode),
        SIM_NAME("nvml", DeviceGetMigDeviceHandleByIndex),
        SIM_NAME("nvml", DeviceGetFieldValues),
        SIM_NAME("nvml", DeviceGetComputeRunningProcesses),
        SIM_NAME("nvml", DeviceGetComputeRunningProcesses_v2),
        SIM_NAME("nvml", DeviceGetComputeRunningProcesses_v3),
        SIM_NAME("nvml", DeviceGetGraphicsRunningProcesses_v3),
        SIM_NAME("nvml", DeviceGetProcessUtilization),
        SIM_NAME("nvml", DeviceGetMaxMigDeviceCount),
        SIM_NAME("nvml", DeviceIsMigDeviceHandle),
        SIM_NAME("nvml", DeviceSetMigMode),
        SIM_NAME("nvml", DeviceGetGpuInstanceProfileInfo),
        SIM_NAME("nvml", DeviceGetGpuInstanceProfileInfoV),
        SIM_NAME("nvml", DeviceGetGpuInstancePossiblePlacements_v2),
        SIM_NAME("nvml", DeviceGetGpuInstanceRemainingCapacity),
        SIM_NAME("nvml", DeviceCreateGpuInstance),
        SIM_NAME("nvml", DeviceCreateGpuInstanceWithPlacement),
        SIM_NAME("nvml", GpuInstanceDestroy),
        SIM_NAME("nvml", DeviceGetGpuInstances),
        SIM_NAME("nvml", GpuInstanceGetInfo),
        SIM_NAME("nvml", GpuInstanceGetComputeInstanceProfileInfo),
        SIM_NAME("nvml", GpuInstanceCreateComputeInstance),
        SIM_NAME("nvml", ComputeInstanceDestroy),
        SIM_NAME("nvml", ComputeInstanceGetInfo_v2),
        SIM_NAME("nvml", DeviceGetGpuInstanceId),
        SIM_NAME("nvml", DeviceGetComputeInstanceId),
        SIM_NAME("nvml", DeviceGetDeviceHandleFromMigDeviceHandle),
        SIM_NAME("nvml", DeviceGetAttributes_v2),
        SIM_NAME("nvml", GpmQueryDeviceSupport),
        SIM_NAME("nvml", GpmSampleAlloc),
        SIM_NAME("nvml", GpmSampleFree),
        SIM_NAME("nvml", GpmSampleGet),
        SIM_NAME("nvml", GpmMigSampleGet),
        SIM_NAME("nvml", GpmMetricsGet),
        SIM_NAME("nvml", DeviceGetTotalEccErrors),
        SIM_NAME("nvml", DeviceGetRemappedRows),
        SIM_NAME("nvml", DeviceGetNvLinkState),
        SIM_NAME("nvml", DeviceGetNvLinkRemoteDeviceType),
        SIM_NAME("nvml", DeviceGetNvLinkRemotePciInfo_v2),
        SIM_NAME("nvml", DeviceGetP2PStatus),
        SIM_NAME("nvml", DeviceGetTopologyCommonAncestor),
        SIM_NAME("nvml", DeviceGetNumaNodeId),
        SIM_NAME("nvml", DeviceGetGpuFabricInfoV),
        SIM_NAME("nvml", DeviceGetCurrentClocksEventReasons),
        SIM_NAME("nvml", DeviceGetClockInfo),
        SIM_NAME("nvml", DeviceGetEnforcedPowerLimit),
        SIM_NAME("nvml", EventSetCreate),
        SIM_NAME("nvml", EventSetFree),
        SIM_NAME("nvml", EventSetWait_v2),
        SIM_NAME("nvml", DeviceRegisterEvents),
        SIM_NAME("weir", SimDeviceGetNode),
        SIM_NAME("weir", SimDeviceGetLabel),
        SIM_NAME("weir", SimSetInstant),
    };

    sim.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (sim.library == NULL)
        return 0;
    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++) {
        void *symbol = dlsym(sim.library, names[i].name);

        if (symbol == NULL)
            return 0;
        __builtin_memcpy((char *)&sim + names[i].at, &symbol, sizeof(symbol));
    }
    return 1;
}

#endif
