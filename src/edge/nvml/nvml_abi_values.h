/* edge/nvml/nvml_abi_values.h — NVML's interface for readings: clocks, power, errors, links, field
 * values and GPM. Restated and checked as edge/nvml/nvml_abi.h says. Needs libc only. */
#ifndef WEIR_EDGE_NVML_ABI_VALUES_H
#define WEIR_EDGE_NVML_ABI_VALUES_H

#include "edge/nvml/nvml_abi_base.h"

/* Why the clock is what it is: bits. */
#define WEIR_NVML_CLOCK_REASON_GPU_IDLE       UINT64_C(0x001)
#define WEIR_NVML_CLOCK_REASON_APPLICATION    UINT64_C(0x002)
#define WEIR_NVML_CLOCK_REASON_SW_POWER_CAP   UINT64_C(0x004)
#define WEIR_NVML_CLOCK_REASON_HW_SLOWDOWN    UINT64_C(0x008)
#define WEIR_NVML_CLOCK_REASON_SYNC_BOOST     UINT64_C(0x010)
#define WEIR_NVML_CLOCK_REASON_SW_THERMAL     UINT64_C(0x020)
#define WEIR_NVML_CLOCK_REASON_HW_THERMAL     UINT64_C(0x040)
#define WEIR_NVML_CLOCK_REASON_HW_POWER_BRAKE UINT64_C(0x080)
#define WEIR_NVML_CLOCK_REASON_DISPLAY        UINT64_C(0x100)
#define WEIR_NVML_CLOCK_REASON_BOARD_LIMIT    UINT64_C(0x200)
#define WEIR_NVML_CLOCK_REASON_RELIABILITY    UINT64_C(0x400)

enum { WEIR_NVML_TEMPERATURE_GPU = 0 };

enum weir_nvml_temperature_threshold {
    WEIR_NVML_THRESHOLD_SHUTDOWN = 0,
    WEIR_NVML_THRESHOLD_SLOWDOWN = 1,
    WEIR_NVML_THRESHOLD_MEMORY_MAX = 2,
    WEIR_NVML_THRESHOLD_GPU_MAX = 3
};

enum { WEIR_NVML_PSTATE_MAX = 15, WEIR_NVML_PSTATE_UNKNOWN = 32 };

enum weir_nvml_compute_mode {
    WEIR_NVML_COMPUTE_DEFAULT = 0,
    WEIR_NVML_COMPUTE_EXCLUSIVE_THREAD = 1,
    WEIR_NVML_COMPUTE_PROHIBITED = 2,
    WEIR_NVML_COMPUTE_EXCLUSIVE_PROCESS = 3
};

enum { WEIR_NVML_ECC_CORRECTED = 0, WEIR_NVML_ECC_UNCORRECTED = 1 };
enum { WEIR_NVML_ECC_VOLATILE = 0, WEIR_NVML_ECC_AGGREGATE = 1 };

enum weir_nvml_memory_location {
    WEIR_NVML_LOCATION_L1 = 0,
    WEIR_NVML_LOCATION_L2 = 1,
    WEIR_NVML_LOCATION_DRAM = 2,
    WEIR_NVML_LOCATION_REGISTERS = 3,
    WEIR_NVML_LOCATION_TEXTURE = 4,
    WEIR_NVML_LOCATION_TEXTURE_SHARED = 5,
    WEIR_NVML_LOCATION_CBU = 6,
    WEIR_NVML_LOCATION_SRAM = 7,
    WEIR_NVML_LOCATION_COUNT = 8
};

enum { WEIR_NVML_PCIE_TX = 0, WEIR_NVML_PCIE_RX = 1 };

enum { WEIR_NVML_AFFINITY_NODE = 0, WEIR_NVML_AFFINITY_SOCKET = 1 };

enum weir_nvml_recovery_action {
    WEIR_NVML_RECOVERY_NONE = 0,
    WEIR_NVML_RECOVERY_GPU_RESET = 1,
    WEIR_NVML_RECOVERY_NODE_REBOOT = 2,
    WEIR_NVML_RECOVERY_DRAIN_P2P = 3,
    WEIR_NVML_RECOVERY_DRAIN_AND_RESET = 4,
    WEIR_NVML_RECOVERY_RECOVER_IMEX_DOMAIN = 5,
    WEIR_NVML_RECOVERY_BUS_RESET = 6,
    WEIR_NVML_RECOVERY_SYSTEM_REBOOT = 7
};

/* Links beyond what a driver knows are an invalid argument to it. */
enum { WEIR_NVML_NVLINK_LINKS_MAX = 36 };

enum weir_nvml_nvlink_capability {
    WEIR_NVML_NVLINK_CAP_P2P = 0,
    WEIR_NVML_NVLINK_CAP_SYSMEM_ACCESS = 1,
    WEIR_NVML_NVLINK_CAP_P2P_ATOMICS = 2,
    WEIR_NVML_NVLINK_CAP_SYSMEM_ATOMICS = 3,
    WEIR_NVML_NVLINK_CAP_SLI_BRIDGE = 4,
    WEIR_NVML_NVLINK_CAP_VALID = 5
};

enum weir_nvml_nvlink_remote {
    WEIR_NVML_NVLINK_REMOTE_GPU = 0x00,
    WEIR_NVML_NVLINK_REMOTE_NPU = 0x01,
    WEIR_NVML_NVLINK_REMOTE_SWITCH = 0x02,
    WEIR_NVML_NVLINK_REMOTE_UNKNOWN = 0xff
};

enum weir_nvml_nvlink_error {
    WEIR_NVML_NVLINK_ERROR_REPLAY = 0,
    WEIR_NVML_NVLINK_ERROR_RECOVERY = 1,
    WEIR_NVML_NVLINK_ERROR_CRC_FLIT = 2,
    WEIR_NVML_NVLINK_ERROR_CRC_DATA = 3,
    WEIR_NVML_NVLINK_ERROR_ECC_DATA = 4
};

enum weir_nvml_topology_level {
    WEIR_NVML_TOPOLOGY_INTERNAL = 0,
    WEIR_NVML_TOPOLOGY_SINGLE = 10,
    WEIR_NVML_TOPOLOGY_MULTIPLE = 20,
    WEIR_NVML_TOPOLOGY_HOSTBRIDGE = 30,
    WEIR_NVML_TOPOLOGY_NODE = 40,
    WEIR_NVML_TOPOLOGY_SYSTEM = 50
};

/* nvmlDeviceGetFieldValues. Violations are nanoseconds since the driver came up, energy is mJ,
 * power mW, NVLink data KiB, the TLIMITs degrees left. */
enum weir_nvml_field {
    WEIR_NVML_FIELD_ECC_SBE_VOLATILE = 3,
    WEIR_NVML_FIELD_ECC_DBE_VOLATILE = 4,
    WEIR_NVML_FIELD_ECC_SBE_AGGREGATE = 5,
    WEIR_NVML_FIELD_ECC_DBE_AGGREGATE = 6,
    WEIR_NVML_FIELD_RETIRED_SBE = 29,
    WEIR_NVML_FIELD_RETIRED_DBE = 30,
    WEIR_NVML_FIELD_RETIRED_PENDING = 31,
    WEIR_NVML_FIELD_NVLINK_CRC_FLIT_TOTAL = 38,
    WEIR_NVML_FIELD_NVLINK_CRC_DATA_TOTAL = 45,
    WEIR_NVML_FIELD_NVLINK_REPLAY_TOTAL = 52,
    WEIR_NVML_FIELD_NVLINK_RECOVERY_TOTAL = 59,
    WEIR_NVML_FIELD_VIOLATION_POWER = 74,
    WEIR_NVML_FIELD_VIOLATION_THERMAL = 75,
    WEIR_NVML_FIELD_VIOLATION_SYNC_BOOST = 76,
    WEIR_NVML_FIELD_VIOLATION_BOARD_LIMIT = 77,
    WEIR_NVML_FIELD_VIOLATION_LOW_UTILIZATION = 78,
    WEIR_NVML_FIELD_VIOLATION_RELIABILITY = 79,
    WEIR_NVML_FIELD_VIOLATION_APP_CLOCKS = 80,
    WEIR_NVML_FIELD_VIOLATION_BASE_CLOCKS = 81,
    WEIR_NVML_FIELD_MEMORY_TEMP = 82,
    WEIR_NVML_FIELD_TOTAL_ENERGY = 83,
    WEIR_NVML_FIELD_NVLINK_SPEED_COMMON = 90,
    WEIR_NVML_FIELD_NVLINK_LINK_COUNT = 91,
    WEIR_NVML_FIELD_PCIE_REPLAY = 94,
    WEIR_NVML_FIELD_PCIE_REPLAY_ROLLOVER = 95,
    WEIR_NVML_FIELD_NVLINK_DATA_TX = 138, /* scope: the link, or WEIR_NVML_SCOPE_ALL_LINKS */
    WEIR_NVML_FIELD_NVLINK_DATA_RX = 139,
    WEIR_NVML_FIELD_NVLINK_RAW_TX = 140,
    WEIR_NVML_FIELD_NVLINK_RAW_RX = 141,
    WEIR_NVML_FIELD_REMAPPED_CORRECTABLE = 142,
    WEIR_NVML_FIELD_REMAPPED_UNCORRECTABLE = 143,
    WEIR_NVML_FIELD_REMAPPED_PENDING = 144,
    WEIR_NVML_FIELD_REMAPPED_FAILURE = 145,
    WEIR_NVML_FIELD_NVLINK_ECC_TOTAL = 160,
    WEIR_NVML_FIELD_POWER_AVERAGE = 185,
    WEIR_NVML_FIELD_POWER_INSTANT = 186,
    WEIR_NVML_FIELD_POWER_LIMIT_MIN = 187,
    WEIR_NVML_FIELD_POWER_LIMIT_MAX = 188,
    WEIR_NVML_FIELD_POWER_LIMIT_DEFAULT = 189,
    WEIR_NVML_FIELD_POWER_LIMIT_CURRENT = 190,
    WEIR_NVML_FIELD_TLIMIT_SHUTDOWN = 193,
    WEIR_NVML_FIELD_TLIMIT_SLOWDOWN = 194,
    WEIR_NVML_FIELD_TLIMIT_MEMORY_MAX = 195,
    WEIR_NVML_FIELD_TLIMIT_GPU_MAX = 196,
    WEIR_NVML_FIELD_RECOVERY_ACTION = 230 /* enum weir_nvml_recovery_action */
};

#define WEIR_NVML_SCOPE_ALL_LINKS UINT32_MAX

struct weir_nvml_ecc_counts {
    uint64_t l1;
    uint64_t l2;
    uint64_t device_memory;
    uint64_t registers;
};

/* In banks, by how many spare rows they have left. */
struct weir_nvml_remap_histogram {
    uint32_t max;
    uint32_t high;
    uint32_t partial;
    uint32_t low;
    uint32_t none;
};

/* nvmlDeviceGetSramEccErrorStatus */
struct weir_nvml_sram_status_v1 {
    uint32_t version;
    uint64_t aggregate_uncorrected_parity;
    uint64_t aggregate_uncorrected_secded;
    uint64_t aggregate_corrected;
    uint64_t volatile_uncorrected_parity;
    uint64_t volatile_uncorrected_secded;
    uint64_t volatile_corrected;
    uint64_t bucket_l2;
    uint64_t bucket_sm;
    uint64_t bucket_pcie;
    uint64_t bucket_mcu;
    uint64_t bucket_other;
    uint32_t is_threshold_exceeded;
};

/* ---- GPM: performance metrics, from Hopper on ---- */

enum {
    WEIR_NVML_GPM_VERSION = 1,        /* of struct weir_nvml_gpm_metrics: a plain number */
    WEIR_NVML_GPM_SUPPORT_VERSION = 1 /* likewise */
};

/* Utilisations and occupancy are percent; what passes per second is MiB/s. */
enum weir_nvml_gpm_metric_id {
    WEIR_NVML_GPM_GRAPHICS = 1,
    WEIR_NVML_GPM_SM = 2,
    WEIR_NVML_GPM_SM_OCCUPANCY = 3,
    WEIR_NVML_GPM_INTEGER = 4,
    WEIR_NVML_GPM_ANY_TENSOR = 5,
    WEIR_NVML_GPM_DFMA_TENSOR = 6,
    WEIR_NVML_GPM_HMMA_TENSOR = 7,
    WEIR_NVML_GPM_DMMA_TENSOR = 8,
    WEIR_NVML_GPM_IMMA_TENSOR = 9,
    WEIR_NVML_GPM_DRAM = 10,
    WEIR_NVML_GPM_FP64 = 11,
    WEIR_NVML_GPM_FP32 = 12,
    WEIR_NVML_GPM_FP16 = 13,
    WEIR_NVML_GPM_PCIE_TX = 20,
    WEIR_NVML_GPM_PCIE_RX = 21,
    WEIR_NVML_GPM_NVDEC_0 = 30, /* … NVDEC_7 */
    WEIR_NVML_GPM_NVDEC_7 = 37,
    WEIR_NVML_GPM_NVJPG_0 = 40, /* … NVJPG_7 */
    WEIR_NVML_GPM_NVJPG_7 = 47,
    WEIR_NVML_GPM_NVOFA_0 = 50,
    WEIR_NVML_GPM_NVOFA_1 = 51,
    WEIR_NVML_GPM_NVLINK_RX = 60,
    WEIR_NVML_GPM_NVLINK_TX = 61,
    WEIR_NVML_GPM_NVLINK_L0_RX = 62, /* then TX, then the other links */
    WEIR_NVML_GPM_NVLINK_L17_TX = 97
};

/* Opaque; only pointers to it are exchanged. */
struct weir_nvml_gpm_sample;

struct weir_nvml_gpm_metric {
    uint32_t id;
    int32_t result; /* enum weir_nvml_return of this metric alone */
    double value;
    char *short_name; /* these three are the library's */
    char *long_name;
    char *unit;
};

/* NVML's own has room for every metric its version knows, and the same version throughout: nothing
 * but n_metrics may be trusted on either side. */
struct weir_nvml_gpm_metrics {
    uint32_t version;
    uint32_t n_metrics;
    struct weir_nvml_gpm_sample *sample1;
    struct weir_nvml_gpm_sample *sample2;
    struct weir_nvml_gpm_metric metrics[];
};

struct weir_nvml_gpm_support {
    uint32_t version;
    uint32_t is_supported;
};

_Static_assert(sizeof(struct weir_nvml_ecc_counts) == 32, "EccErrorCounts");
_Static_assert(sizeof(struct weir_nvml_remap_histogram) == 20, "RowRemapperHistogramValues");
_Static_assert(sizeof(struct weir_nvml_sram_status_v1) == 104, "EccSramErrorStatus_v1");
_Static_assert(sizeof(struct weir_nvml_gpm_metric) == 40, "GpmMetric");
_Static_assert(offsetof(struct weir_nvml_gpm_metrics, metrics) == 24, "GpmMetricsGet");
_Static_assert(sizeof(struct weir_nvml_gpm_support) == 8, "GpmSupport");

#endif
