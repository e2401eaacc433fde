/* edge/nvml/nvml_abi_base.h — devices, memory, processes, field values and events of NVML.
 * Restated and checked as edge/nvml/nvml_abi.h says. Needs libc only. */
#ifndef WEIR_EDGE_NVML_ABI_BASE_H
#define WEIR_EDGE_NVML_ABI_BASE_H

#include <stddef.h>
#include <stdint.h>

enum weir_nvml_return {
    WEIR_NVML_SUCCESS = 0,
    WEIR_NVML_UNINITIALIZED = 1,
    WEIR_NVML_INVALID_ARGUMENT = 2,
    WEIR_NVML_NOT_SUPPORTED = 3,
    WEIR_NVML_NO_PERMISSION = 4,
    WEIR_NVML_NOT_FOUND = 6,
    WEIR_NVML_INSUFFICIENT_SIZE = 7,
    WEIR_NVML_DRIVER_NOT_LOADED = 9,
    WEIR_NVML_TIMEOUT = 10,
    WEIR_NVML_IRQ_ISSUE = 11,
    WEIR_NVML_FUNCTION_NOT_FOUND = 13,
    WEIR_NVML_GPU_IS_LOST = 15,
    WEIR_NVML_RESET_REQUIRED = 16,
    WEIR_NVML_OPERATING_SYSTEM = 17,
    WEIR_NVML_LIB_RM_VERSION_MISMATCH = 18,
    WEIR_NVML_IN_USE = 19,
    WEIR_NVML_MEMORY = 20,
    WEIR_NVML_NO_DATA = 21,
    WEIR_NVML_INSUFFICIENT_RESOURCES = 23,
    WEIR_NVML_ARGUMENT_VERSION_MISMATCH = 25,
    WEIR_NVML_DEPRECATED = 26,
    WEIR_NVML_NOT_READY = 27,
    WEIR_NVML_GPU_NOT_FOUND = 28,
    WEIR_NVML_INVALID_STATE = 29,
    WEIR_NVML_UNKNOWN = 999
};

enum {
    WEIR_NVML_NAME_BYTES = 96,
    WEIR_NVML_UUID_BYTES = 96,
    WEIR_NVML_SERIAL_BYTES = 30,
    WEIR_NVML_VERSION_BYTES = 80,
    WEIR_NVML_PCI_BUS_ID_BYTES = 32,
    WEIR_NVML_PCI_BUS_ID_LEGACY_BYTES = 16
};

enum { WEIR_NVML_CLOCK_GRAPHICS, WEIR_NVML_CLOCK_SM, WEIR_NVML_CLOCK_MEM, WEIR_NVML_CLOCK_VIDEO };

enum weir_nvml_value_type {
    WEIR_NVML_VALUE_DOUBLE = 0,
    WEIR_NVML_VALUE_UNSIGNED_INT = 1,
    WEIR_NVML_VALUE_UNSIGNED_LONG = 2,
    WEIR_NVML_VALUE_UNSIGNED_LONG_LONG = 3,
    WEIR_NVML_VALUE_SIGNED_LONG_LONG = 4,
    WEIR_NVML_VALUE_SIGNED_INT = 5,
    WEIR_NVML_VALUE_UNSIGNED_SHORT = 6
};

/* Event types are bits. */
#define WEIR_NVML_EVENT_SINGLE_BIT_ECC          UINT64_C(0x0001)
#define WEIR_NVML_EVENT_DOUBLE_BIT_ECC          UINT64_C(0x0002)
#define WEIR_NVML_EVENT_PSTATE                  UINT64_C(0x0004)
#define WEIR_NVML_EVENT_XID                     UINT64_C(0x0008)
#define WEIR_NVML_EVENT_CLOCK                   UINT64_C(0x0010)
#define WEIR_NVML_EVENT_POWER_SOURCE            UINT64_C(0x0080)
#define WEIR_NVML_EVENT_MIG_CHANGE              UINT64_C(0x0100)
#define WEIR_NVML_EVENT_SINGLE_BIT_ECC_STORM    UINT64_C(0x0200)
#define WEIR_NVML_EVENT_DRAM_RETIREMENT         UINT64_C(0x0400)
#define WEIR_NVML_EVENT_DRAM_RETIREMENT_FAILURE UINT64_C(0x0800)
#define WEIR_NVML_EVENT_NON_FATAL_POISON        UINT64_C(0x1000)
#define WEIR_NVML_EVENT_FATAL_POISON            UINT64_C(0x2000)
#define WEIR_NVML_EVENT_GPU_UNAVAILABLE         UINT64_C(0x4000)
#define WEIR_NVML_EVENT_RECOVERY_ACTION         UINT64_C(0x8000)

/* A structure that carries its version says size and number in its first word. */
#define WEIR_NVML_STRUCT_VERSION(type, number) ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)

/* "not available" in a 64-bit amount, "no instance" in an instance id. */
#define WEIR_NVML_VALUE_NOT_AVAILABLE UINT64_MAX
#define WEIR_NVML_NO_INSTANCE         UINT32_MAX

/* Opaque; only pointers to them are exchanged. */
struct weir_nvml_handle;
struct weir_nvml_event_set;

/* PciInfo_v3. The first two versions end before bus_id, after four reserved words. */
struct weir_nvml_pci_info {
    char bus_id_legacy[WEIR_NVML_PCI_BUS_ID_LEGACY_BYTES]; /* "0000:18:00.0" */
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t pci_device_id;                  /* device << 16 | vendor */
    uint32_t pci_subsystem_id;               /* likewise */
    char bus_id[WEIR_NVML_PCI_BUS_ID_BYTES]; /* "00000000:18:00.0" */
};

struct weir_nvml_memory_v1 {
    uint64_t total;
    uint64_t free;
    uint64_t used; /* the reserved part included */
};

struct weir_nvml_memory_v2 {
    uint32_t version;
    uint64_t total;
    uint64_t reserved;
    uint64_t free;
    uint64_t used; /* the reserved part not included */
};

struct weir_nvml_bar1_memory {
    uint64_t total;
    uint64_t free;
    uint64_t used;
};

struct weir_nvml_utilization {
    uint32_t gpu;
    uint32_t memory;
};

struct weir_nvml_temperature_v1 {
    uint32_t version;
    uint32_t sensor;
    int32_t temperature;
};

/* Of the functions without a version. */
struct weir_nvml_process_v1 {
    uint32_t pid;
    uint64_t used_bytes;
};

/* Of the _v2 and _v3 functions. */
struct weir_nvml_process_v2 {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance;
    uint32_t compute_instance;
};

struct weir_nvml_process_sample {
    uint32_t pid;
    uint64_t timestamp_us;
    uint32_t sm_percent;
    uint32_t memory_percent;
    uint32_t encoder_percent;
    uint32_t decoder_percent;
};

union weir_nvml_value {
    double f64;
    uint32_t u32;
    uint64_t u64;
};

struct weir_nvml_field_value {
    uint32_t field;
    uint32_t scope;
    int64_t timestamp_us;
    int64_t latency_us;
    uint32_t value_type;
    int32_t result; /* enum weir_nvml_return of this field alone */
    union weir_nvml_value value;
};

struct weir_nvml_event_data {
    struct weir_nvml_handle *device;
    uint64_t type;
    uint64_t data;
    uint32_t gpu_instance;
    uint32_t compute_instance;
};

_Static_assert(sizeof(struct weir_nvml_pci_info) == 68, "PciInfo_v3");
_Static_assert(offsetof(struct weir_nvml_pci_info, bus_id) == 36, "PciInfo_v3");
_Static_assert(sizeof(struct weir_nvml_memory_v1) == 24, "Memory");
_Static_assert(sizeof(struct weir_nvml_memory_v2) == 40, "Memory_v2");
_Static_assert(sizeof(struct weir_nvml_bar1_memory) == 24, "BAR1Memory");
_Static_assert(sizeof(struct weir_nvml_utilization) == 8, "Utilization");
_Static_assert(sizeof(struct weir_nvml_temperature_v1) == 12, "Temperature_v1");
_Static_assert(sizeof(struct weir_nvml_process_v1) == 16, "ProcessInfo_v1");
_Static_assert(sizeof(struct weir_nvml_process_v2) == 24, "ProcessInfo_v2");
_Static_assert(sizeof(struct weir_nvml_process_sample) == 32, "ProcessUtilizationSample");
_Static_assert(sizeof(struct weir_nvml_field_value) == 40, "FieldValue");
_Static_assert(sizeof(struct weir_nvml_event_data) == 32, "EventData");

#endif
