/* Compiled, never run: our declarations of NVML against NVIDIA's header (tests/e2e/nvml_layout.py).
 */
#include "nvml_layout.h"

SAME_VALUE(WEIR_NVML_SUCCESS, NVML_SUCCESS);
SAME_VALUE(WEIR_NVML_UNINITIALIZED, NVML_ERROR_UNINITIALIZED);
SAME_VALUE(WEIR_NVML_INVALID_ARGUMENT, NVML_ERROR_INVALID_ARGUMENT);
SAME_VALUE(WEIR_NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME_VALUE(WEIR_NVML_NO_PERMISSION, NVML_ERROR_NO_PERMISSION);
SAME_VALUE(WEIR_NVML_NOT_FOUND, NVML_ERROR_NOT_FOUND);
SAME_VALUE(WEIR_NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
SAME_VALUE(WEIR_NVML_DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED);
SAME_VALUE(WEIR_NVML_TIMEOUT, NVML_ERROR_TIMEOUT);
SAME_VALUE(WEIR_NVML_FUNCTION_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND);
SAME_VALUE(WEIR_NVML_GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST);
SAME_VALUE(WEIR_NVML_RESET_REQUIRED, NVML_ERROR_RESET_REQUIRED);
SAME_VALUE(WEIR_NVML_OPERATING_SYSTEM, NVML_ERROR_OPERATING_SYSTEM);
SAME_VALUE(WEIR_NVML_LIB_RM_VERSION_MISMATCH, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
SAME_VALUE(WEIR_NVML_MEMORY, NVML_ERROR_MEMORY);
SAME_VALUE(WEIR_NVML_ARGUMENT_VERSION_MISMATCH, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
SAME_VALUE(WEIR_NVML_GPU_NOT_FOUND, NVML_ERROR_GPU_NOT_FOUND);
SAME_VALUE(WEIR_NVML_IRQ_ISSUE, NVML_ERROR_IRQ_ISSUE);
SAME_VALUE(WEIR_NVML_IN_USE, NVML_ERROR_IN_USE);
SAME_VALUE(WEIR_NVML_NO_DATA, NVML_ERROR_NO_DATA);
SAME_VALUE(WEIR_NVML_INSUFFICIENT_RESOURCES, NVML_ERROR_INSUFFICIENT_RESOURCES);
SAME_VALUE(WEIR_NVML_DEPRECATED, NVML_ERROR_DEPRECATED);
SAME_VALUE(WEIR_NVML_NOT_READY, NVML_ERROR_NOT_READY);
SAME_VALUE(WEIR_NVML_INVALID_STATE, NVML_ERROR_INVALID_STATE);
SAME_VALUE(WEIR_NVML_UNKNOWN, NVML_ERROR_UNKNOWN);

SAME_VALUE(WEIR_NVML_NAME_BYTES, NVML_DEVICE_NAME_V2_BUFFER_SIZE);
SAME_VALUE(WEIR_NVML_UUID_BYTES, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
SAME_VALUE(WEIR_NVML_SERIAL_BYTES, NVML_DEVICE_SERIAL_BUFFER_SIZE);
SAME_VALUE(WEIR_NVML_VERSION_BYTES, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
SAME_VALUE(WEIR_NVML_VERSION_BYTES, NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE);
SAME_VALUE(WEIR_NVML_PCI_BUS_ID_BYTES, NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE);
SAME_VALUE(WEIR_NVML_PCI_BUS_ID_LEGACY_BYTES, NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE);

SAME_VALUE(WEIR_NVML_CLOCK_GRAPHICS, NVML_CLOCK_GRAPHICS);
SAME_VALUE(WEIR_NVML_CLOCK_SM, NVML_CLOCK_SM);
SAME_VALUE(WEIR_NVML_CLOCK_MEM, NVML_CLOCK_MEM);
SAME_VALUE(WEIR_NVML_CLOCK_VIDEO, NVML_CLOCK_VIDEO);
SAME_VALUE(WEIR_NVML_VALUE_UNSIGNED_INT, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME_VALUE(WEIR_NVML_VALUE_UNSIGNED_LONG_LONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME_VALUE(WEIR_NVML_VALUE_DOUBLE, NVML_VALUE_TYPE_DOUBLE);
SAME_VALUE(WEIR_NVML_VALUE_UNSIGNED_LONG, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME_VALUE(WEIR_NVML_VALUE_SIGNED_LONG_LONG, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
SAME_VALUE(WEIR_NVML_VALUE_SIGNED_INT, NVML_VALUE_TYPE_SIGNED_INT);
SAME_VALUE(WEIR_NVML_VALUE_UNSIGNED_SHORT, NVML_VALUE_TYPE_UNSIGNED_SHORT);
SAME_VALUE(WEIR_NVML_EVENT_SINGLE_BIT_ECC, nvmlEventTypeSingleBitEccError);
SAME_VALUE(WEIR_NVML_EVENT_DOUBLE_BIT_ECC, nvmlEventTypeDoubleBitEccError);
SAME_VALUE(WEIR_NVML_EVENT_PSTATE, nvmlEventTypePState);
SAME_VALUE(WEIR_NVML_EVENT_XID, nvmlEventTypeXidCriticalError);
SAME_VALUE(WEIR_NVML_EVENT_CLOCK, nvmlEventTypeClock);
SAME_VALUE(WEIR_NVML_EVENT_POWER_SOURCE, nvmlEventTypePowerSourceChange);
SAME_VALUE(WEIR_NVML_EVENT_MIG_CHANGE, nvmlEventMigConfigChange);
SAME_VALUE(WEIR_NVML_EVENT_SINGLE_BIT_ECC_STORM, nvmlEventTypeSingleBitEccErrorStorm);
SAME_VALUE(WEIR_NVML_EVENT_DRAM_RETIREMENT, nvmlEventTypeDramRetirementEvent);
SAME_VALUE(WEIR_NVML_EVENT_DRAM_RETIREMENT_FAILURE, nvmlEventTypeDramRetirementFailure);
SAME_VALUE(WEIR_NVML_EVENT_NON_FATAL_POISON, nvmlEventTypeNonFatalPoisonError);
SAME_VALUE(WEIR_NVML_EVENT_FATAL_POISON, nvmlEventTypeFatalPoisonError);
SAME_VALUE(WEIR_NVML_EVENT_GPU_UNAVAILABLE, nvmlEventTypeGpuUnavailableError);
SAME_VALUE(WEIR_NVML_EVENT_RECOVERY_ACTION, nvmlEventTypeGpuRecoveryAction);
SAME_VALUE(WEIR_NVML_VALUE_NOT_AVAILABLE, NVML_VALUE_NOT_AVAILABLE);
SAME_VALUE(WEIR_NVML_STRUCT_VERSION(struct weir_nvml_memory_v2, 2), nvmlMemory_v2);
SAME_VALUE(WEIR_NVML_STRUCT_VERSION(struct weir_nvml_temperature_v1, 1), nvmlTemperature_v1);

SAME_SIZE(struct weir_nvml_pci_info, nvmlPciInfo_t);
SAME_PLACE(struct weir_nvml_pci_info, bus_id_legacy, nvmlPciInfo_t, busIdLegacy);
SAME_PLACE(struct weir_nvml_pci_info, domain, nvmlPciInfo_t, domain);
SAME_PLACE(struct weir_nvml_pci_info, bus, nvmlPciInfo_t, bus);
SAME_PLACE(struct weir_nvml_pci_info, device, nvmlPciInfo_t, device);
SAME_PLACE(struct weir_nvml_pci_info, pci_device_id, nvmlPciInfo_t, pciDeviceId);
SAME_PLACE(struct weir_nvml_pci_info, pci_subsystem_id, nvmlPciInfo_t, pciSubSystemId);
SAME_PLACE(struct weir_nvml_pci_info, bus_id, nvmlPciInfo_t, busId);

SAME_SIZE(struct weir_nvml_memory_v1, nvmlMemory_t);
SAME_PLACE(struct weir_nvml_memory_v1, total, nvmlMemory_t, total);
SAME_PLACE(struct weir_nvml_memory_v1, free, nvmlMemory_t, free);
SAME_PLACE(struct weir_nvml_memory_v1, used, nvmlMemory_t, used);
SAME_SIZE(struct weir_nvml_memory_v2, nvmlMemory_v2_t);
SAME_PLACE(struct weir_nvml_memory_v2, version, nvmlMemory_v2_t, version);
SAME_PLACE(struct weir_nvml_memory_v2, total, nvmlMemory_v2_t, total);
SAME_PLACE(struct weir_nvml_memory_v2, reserved, nvmlMemory_v2_t, reserved);
SAME_PLACE(struct weir_nvml_memory_v2, free, nvmlMemory_v2_t, free);
SAME_PLACE(struct weir_nvml_memory_v2, used, nvmlMemory_v2_t, used);
SAME_SIZE(struct weir_nvml_bar1_memory, nvmlBAR1Memory_t);
SAME_PLACE(struct weir_nvml_bar1_memory, total, nvmlBAR1Memory_t, bar1Total);
SAME_PLACE(struct weir_nvml_bar1_memory, free, nvmlBAR1Memory_t, bar1Free);
SAME_PLACE(struct weir_nvml_bar1_memory, used, nvmlBAR1Memory_t, bar1Used);

SAME_SIZE(struct weir_nvml_utilization, nvmlUtilization_t);
SAME_PLACE(struct weir_nvml_utilization, gpu, nvmlUtilization_t, gpu);
SAME_PLACE(struct weir_nvml_utilization, memory, nvmlUtilization_t, memory);
SAME_SIZE(struct weir_nvml_temperature_v1, nvmlTemperature_v1_t);
SAME_PLACE(struct weir_nvml_temperature_v1, version, nvmlTemperature_v1_t, version);
SAME_PLACE(struct weir_nvml_temperature_v1, sensor, nvmlTemperature_v1_t, sensorType);
SAME_PLACE(struct weir_nvml_temperature_v1, temperature, nvmlTemperature_v1_t, temperature);

SAME_SIZE(struct weir_nvml_process_v1, nvmlProcessInfo_v1_t);
SAME_PLACE(struct weir_nvml_process_v1, pid, nvmlProcessInfo_v1_t, pid);
SAME_PLACE(struct weir_nvml_process_v1, used_bytes, nvmlProcessInfo_v1_t, usedGpuMemory);
SAME_SIZE(struct weir_nvml_process_v2, nvmlProcessInfo_t);
SAME_SIZE(struct weir_nvml_process_v2, nvmlProcessInfo_v2_t);
SAME_PLACE(struct weir_nvml_process_v2, pid, nvmlProcessInfo_t, pid);
SAME_PLACE(struct weir_nvml_process_v2, used_bytes, nvmlProcessInfo_t, usedGpuMemory);
SAME_PLACE(struct weir_nvml_process_v2, gpu_instance, nvmlProcessInfo_t, gpuInstanceId);
SAME_PLACE(struct weir_nvml_process_v2, compute_instance, nvmlProcessInfo_t, computeInstanceId);
SAME_SIZE(struct weir_nvml_process_sample, nvmlProcessUtilizationSample_t);
SAME_PLACE(struct weir_nvml_process_sample, pid, nvmlProcessUtilizationSample_t, pid);
SAME_PLACE(struct weir_nvml_process_sample, timestamp_us, nvmlProcessUtilizationSample_t,
           timeStamp);
SAME_PLACE(struct weir_nvml_process_sample, sm_percent, nvmlProcessUtilizationSample_t, smUtil);
SAME_PLACE(struct weir_nvml_process_sample, memory_percent, nvmlProcessUtilizationSample_t,
           memUtil);
SAME_PLACE(struct weir_nvml_process_sample, encoder_percent, nvmlProcessUtilizationSample_t,
           encUtil);
SAME_PLACE(struct weir_nvml_process_sample, decoder_percent, nvmlProcessUtilizationSample_t,
           decUtil);

SAME_SIZE(struct weir_nvml_field_value, nvmlFieldValue_t);
SAME_PLACE(struct weir_nvml_field_value, field, nvmlFieldValue_t, fieldId);
SAME_PLACE(struct weir_nvml_field_value, scope, nvmlFieldValue_t, scopeId);
SAME_PLACE(struct weir_nvml_field_value, timestamp_us, nvmlFieldValue_t, timestamp);
SAME_PLACE(struct weir_nvml_field_value, latency_us, nvmlFieldValue_t, latencyUsec);
SAME_PLACE(struct weir_nvml_field_value, value_type, nvmlFieldValue_t, valueType);
SAME_PLACE(struct weir_nvml_field_value, result, nvmlFieldValue_t, nvmlReturn);
SAME_PLACE(struct weir_nvml_field_value, value, nvmlFieldValue_t, value);
SAME_PLACE(union weir_nvml_value, f64, nvmlValue_t, dVal);
SAME_PLACE(union weir_nvml_value, u32, nvmlValue_t, uiVal);
SAME_PLACE(union weir_nvml_value, u64, nvmlValue_t, ullVal);
SAME_SIZE(struct weir_nvml_event_data, nvmlEventData_t);
SAME_PLACE(struct weir_nvml_event_data, device, nvmlEventData_t, device);
SAME_PLACE(struct weir_nvml_event_data, type, nvmlEventData_t, eventType);
SAME_PLACE(struct weir_nvml_event_data, data, nvmlEventData_t, eventData);
SAME_PLACE(struct weir_nvml_event_data, gpu_instance, nvmlEventData_t, gpuInstanceId);
SAME_PLACE(struct weir_nvml_event_data, compute_instance, nvmlEventData_t, computeInstanceId);
