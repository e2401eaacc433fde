#include "edge/nvml/nvml_symbols.h"

#include "base/count.h"

#include <dlfcn.h>
#include <string.h>

struct wanted {
    size_t at; /* in struct weir_nvml_symbols */
    bool is_required;
    const char *names[3]; /* newest first */
};

#define AT(member) offsetof(struct weir_nvml_symbols, member)

static const struct wanted table[] = {
    {AT(error_string), false, {"nvmlErrorString", NULL, NULL}},
    {AT(init), true, {"nvmlInit_v2", "nvmlInit", NULL}},
    {AT(shutdown), true, {"nvmlShutdown", NULL, NULL}},
    {AT(count), true, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", NULL}},
    {AT(by_index), true, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", NULL}},
    {AT(uuid), true, {"nvmlDeviceGetUUID", NULL, NULL}},
    {AT(by_uuid), true, {"nvmlDeviceGetHandleByUUID", NULL, NULL}},
    {AT(driver_version), false, {"nvmlSystemGetDriverVersion", NULL, NULL}},
    {AT(name), false, {"nvmlDeviceGetName", NULL, NULL}},
    {AT(serial), false, {"nvmlDeviceGetSerial", NULL, NULL}},
    {AT(node), false, {"weirSimDeviceGetNode", NULL, NULL}},
    {AT(minor), false, {"nvmlDeviceGetMinorNumber", NULL, NULL}},
    {AT(pci_info),
     false,
     {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}},
    {AT(memory_v2), false, {"nvmlDeviceGetMemoryInfo_v2", NULL, NULL}},
    {AT(memory_v1), false, {"nvmlDeviceGetMemoryInfo", NULL, NULL}},
    {AT(compute_capability), false, {"nvmlDeviceGetCudaComputeCapability", NULL, NULL}},
    {AT(compute_mode), false, {"nvmlDeviceGetComputeMode", NULL, NULL}},
    {AT(memory_affinity), false, {"nvmlDeviceGetMemoryAffinity", NULL, NULL}},
    {AT(numa_node), false, {"nvmlDeviceGetNumaNodeId", NULL, NULL}},
    {AT(max_clock), false, {"nvmlDeviceGetMaxClockInfo", NULL, NULL}},
    {AT(power_limit_enforced),
     false,
     {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit", NULL}},
    {AT(power_limit_default), false, {"nvmlDeviceGetPowerManagementDefaultLimit", NULL, NULL}},
    {AT(power_limit_range), false, {"nvmlDeviceGetPowerManagementLimitConstraints", NULL, NULL}},
    {AT(threshold), false, {"nvmlDeviceGetTemperatureThreshold", NULL, NULL}},
    {AT(pcie_generation_max), false, {"nvmlDeviceGetMaxPcieLinkGeneration", NULL, NULL}},
    {AT(pcie_width_max), false, {"nvmlDeviceGetMaxPcieLinkWidth", NULL, NULL}},
    {AT(nvlink_state), false, {"nvmlDeviceGetNvLinkState", NULL, NULL}},
    {AT(nvlink_remote_pci),
     false,
     {"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo", NULL}},
    {AT(nvlink_remote_type), false, {"nvmlDeviceGetNvLinkRemoteDeviceType", NULL, NULL}},
    {AT(utilization), false, {"nvmlDeviceGetUtilizationRates", NULL, NULL}},
    {AT(power), false, {"nvmlDeviceGetPowerUsage", NULL, NULL}},
    {AT(energy), false, {"nvmlDeviceGetTotalEnergyConsumption", NULL, NULL}},
    {AT(temperature_v1), false, {"nvmlDeviceGetTemperatureV", NULL, NULL}},
    {AT(temperature), false, {"nvmlDeviceGetTemperature", NULL, NULL}},
    {AT(clock), false, {"nvmlDeviceGetClockInfo", NULL, NULL}},
    {AT(clock_reasons),
     false,
     {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons", NULL}},
    {AT(performance_state), false, {"nvmlDeviceGetPerformanceState", NULL, NULL}},
    {AT(fan), false, {"nvmlDeviceGetFanSpeed", NULL, NULL}},
    {AT(encoder), false, {"nvmlDeviceGetEncoderUtilization", NULL, NULL}},
    {AT(decoder), false, {"nvmlDeviceGetDecoderUtilization", NULL, NULL}},
    {AT(ecc_total), false, {"nvmlDeviceGetTotalEccErrors", NULL, NULL}},
    {AT(ecc_location), false, {"nvmlDeviceGetMemoryErrorCounter", NULL, NULL}},
    {AT(sram_status), false, {"nvmlDeviceGetSramEccErrorStatus", NULL, NULL}},
    {AT(remapped_rows), false, {"nvmlDeviceGetRemappedRows", NULL, NULL}},
    {AT(remap_histogram), false, {"nvmlDeviceGetRowRemapperHistogram", NULL, NULL}},
    {AT(pcie_throughput), false, {"nvmlDeviceGetPcieThroughput", NULL, NULL}},
    {AT(pcie_replays), false, {"nvmlDeviceGetPcieReplayCounter", NULL, NULL}},
    {AT(pcie_generation), false, {"nvmlDeviceGetCurrPcieLinkGeneration", NULL, NULL}},
    {AT(pcie_width), false, {"nvmlDeviceGetCurrPcieLinkWidth", NULL, NULL}},
    {AT(fields), false, {"nvmlDeviceGetFieldValues", NULL, NULL}},
    {AT(process_samples), false, {"nvmlDeviceGetProcessUtilization", NULL, NULL}},
    {AT(gpm_supported), false, {"nvmlGpmQueryDeviceSupport", NULL, NULL}},
    {AT(gpm_alloc), false, {"nvmlGpmSampleAlloc", NULL, NULL}},
    {AT(gpm_free), false, {"nvmlGpmSampleFree", NULL, NULL}},
    {AT(gpm_get), false, {"nvmlGpmSampleGet", NULL, NULL}},
    {AT(gpm_get_instance), false, {"nvmlGpmMigSampleGet", NULL, NULL}},
    {AT(gpm_metrics), false, {"nvmlGpmMetricsGet", NULL, NULL}},
    {AT(mig_mode), false, {"nvmlDeviceGetMigMode", NULL, NULL}},
    {AT(mig_set_mode), false, {"nvmlDeviceSetMigMode", NULL, NULL}},
    {AT(mig_devices_max), false, {"nvmlDeviceGetMaxMigDeviceCount", NULL, NULL}},
    {AT(mig_device), false, {"nvmlDeviceGetMigDeviceHandleByIndex", NULL, NULL}},
    {AT(gi_of_device), false, {"nvmlDeviceGetGpuInstanceId", NULL, NULL}},
    {AT(ci_of_device), false, {"nvmlDeviceGetComputeInstanceId", NULL, NULL}},
    {AT(gi_profile_v), false, {"nvmlDeviceGetGpuInstanceProfileInfoV", NULL, NULL}},
    {AT(gi_profile), false, {"nvmlDeviceGetGpuInstanceProfileInfo", NULL, NULL}},
    {AT(gi_placements),
     false,
     {"nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetGpuInstancePossiblePlacements",
      NULL}},
    {AT(gi_list), false, {"nvmlDeviceGetGpuInstances", NULL, NULL}},
    {AT(gi_by_id), false, {"nvmlDeviceGetGpuInstanceById", NULL, NULL}},
    {AT(gi_info), false, {"nvmlGpuInstanceGetInfo", NULL, NULL}},
    {AT(gi_create), false, {"nvmlDeviceCreateGpuInstance", NULL, NULL}},
    {AT(gi_create_at), false, {"nvmlDeviceCreateGpuInstanceWithPlacement", NULL, NULL}},
    {AT(gi_destroy), false, {"nvmlGpuInstanceDestroy", NULL, NULL}},
    {AT(ci_profile), false, {"nvmlGpuInstanceGetComputeInstanceProfileInfo", NULL, NULL}},
    {AT(ci_list), false, {"nvmlGpuInstanceGetComputeInstances", NULL, NULL}},
    {AT(ci_info), false, {"nvmlComputeInstanceGetInfo_v2", "nvmlComputeInstanceGetInfo", NULL}},
    {AT(ci_create), false, {"nvmlGpuInstanceCreateComputeInstance", NULL, NULL}},
    {AT(ci_destroy), false, {"nvmlComputeInstanceDestroy", NULL, NULL}},
    {AT(event_set_create), false, {"nvmlEventSetCreate", NULL, NULL}},
    {AT(event_set_free), false, {"nvmlEventSetFree", NULL, NULL}},
    {AT(event_types), false, {"nvmlDeviceGetSupportedEventTypes", NULL, NULL}},
    {AT(event_register), false, {"nvmlDeviceRegisterEvents", NULL, NULL}},
    {AT(event_wait), false, {"nvmlEventSetWait_v2", "nvmlEventSetWait", NULL}},
};

static void *find(void *library, const char *const names[3])
{
    for (int i = 0; i < 3 && names[i] != NULL; i++) {
        void *symbol = dlsym(library, names[i]);

        if (symbol != NULL)
            return symbol;
    }
    return NULL;
}

/* In driver 535.43 to 535.86 the _v3 functions fill records of 32 bytes instead of 24. Those
 * drivers have the first of these functions and not yet the second. */
static bool has_wide_records(void *library)
{
    return dlsym(library, "nvmlDeviceGetConfComputeMemSizeInfo") != NULL &&
           dlsym(library, "nvmlDeviceGetRunningProcessDetailList") == NULL;
}

static struct weir_nvml_process_list find_list(void *library, const char *v3, const char *v2,
                                               const char *v1)
{
    const char *const newest[3] = {v3, v2, NULL};
    const char *const safe[3] = {v2, NULL, NULL};
    const char *const oldest[3] = {v1, NULL, NULL};
    struct weir_nvml_process_list list = {NULL, false};
    void *symbol = find(library, has_wide_records(library) ? safe : newest);

    if (symbol == NULL) {
        symbol = find(library, oldest);
        list.is_v1 = true;
    }
    memcpy(&list.call, &symbol, sizeof(symbol));
    return list;
}

const char *weir_nvml_symbols_load(void *library, struct weir_nvml_symbols *ret_symbols)
{
    struct weir_nvml_symbols symbols = {0};

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++) {
        void *symbol = find(library, table[i].names);

        if (symbol == NULL && table[i].is_required)
            return table[i].names[0];
        memcpy((char *)&symbols + table[i].at, &symbol, sizeof(symbol));
    }
    symbols.compute = find_list(library, "nvmlDeviceGetComputeRunningProcesses_v3",
                                "nvmlDeviceGetComputeRunningProcesses_v2",
                                "nvmlDeviceGetComputeRunningProcesses");
    symbols.graphics = find_list(library, "nvmlDeviceGetGraphicsRunningProcesses_v3",
                                 "nvmlDeviceGetGraphicsRunningProcesses_v2",
                                 "nvmlDeviceGetGraphicsRunningProcesses");
    symbols.mps = find_list(library, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                            "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                            "nvmlDeviceGetMPSComputeRunningProcesses");
    *ret_symbols = symbols;
    return NULL;
}
