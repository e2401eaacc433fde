/* edge/nvml/nvml_abi.h — the part of NVML's binary interface that weir uses, restated by hand.
 *
 * Layouts, sizes and numbers are facts of the interface; tests/e2e/nvml_layout.py holds them to
 * NVIDIA's own header where that is installed. The adapter and the simulated library share this
 * file, and neither links to anything of NVIDIA's. Needs libc only. */
#ifndef WEIR_EDGE_NVML_ABI_H
#define WEIR_EDGE_NVML_ABI_H

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
    WEIR_NVML_FUNCTION_NOT_FOUND = 13,
    WEIR_NVML_GPU_IS_LOST = 15,
    WEIR_NVML_RESET_REQUIRED = 16,
    WEIR_NVML_OPERATING_SYSTEM = 17,
    WEIR_NVML_LIB_RM_VERSION_MISMATCH = 18,
    WEIR_NVML_MEMORY = 20,
    WEIR_NVML_ARGUMENT_VERSION_MISMATCH = 25,
    WEIR_NVML_GPU_NOT_FOUND = 28,
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

enum {
    WEIR_NVML_FIELD_MEMORY_TEMP = 82,
    WEIR_NVML_FIELD_TOTAL_ENERGY = 83,
    WEIR_NVML_FIELD_POWER_AVERAGE = 185,
    WEIR_NVML_FIELD_POWER_INSTANT = 186,
    WEIR_NVML_FIELD_RECOVERY_ACTION = 230
};

enum { WEIR_NVML_VALUE_UNSIGNED_INT = 1, WEIR_NVML_VALUE_UNSIGNED_LONG_LONG = 3 };

/* Event types are bits. */
#define WEIR_NVML_EVENT_SINGLE_BIT_ECC UINT64_C(0x01)
#define WEIR_NVML_EVENT_DOUBLE_BIT_ECC UINT64_C(0x02)
#define WEIR_NVML_EVENT_PSTATE         UINT64_C(0x04)
#define WEIR_NVML_EVENT_XID            UINT64_C(0x08)
#define WEIR_NVML_EVENT_CLOCK          UINT64_C(0x10)
#define WEIR_NVML_EVENT_ECC_STORM      UINT64_C(0x200)
#define WEIR_NVML_EVENT_DRAM_RETIRED   UINT64_C(0x400)
#define WEIR_NVML_EVENT_DRAM_FAILED    UINT64_C(0x800)
#define WEIR_NVML_EVENT_POISON         UINT64_C(0x1000) /* contained */
#define WEIR_NVML_EVENT_POISON_FATAL   UINT64_C(0x2000)
#define WEIR_NVML_EVENT_UNAVAILABLE    UINT64_C(0x4000)
#define WEIR_NVML_EVENT_RECOVERY       UINT64_C(0x8000)

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
