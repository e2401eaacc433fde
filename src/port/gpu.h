/* port/gpu.h — what a node's GPU driver must tell. A value that the driver did not give is absent,
 * never zero.
 *
 * Nothing here waits for the driver: readings are taken elsewhere, and the newest one is given out
 * with its time. Times are weir_clock_mono_ms(). */
#ifndef WEIR_PORT_GPU_H
#define WEIR_PORT_GPU_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_arena;

enum weir_gpu_state {
    WEIR_GPU_READY,
    WEIR_GPU_LOST,           /* fell off the bus */
    WEIR_GPU_RESET_REQUIRED, /* does not answer until it is reset */
    WEIR_GPU_HUNG,           /* a question to it does not return */
    WEIR_GPU_UNREADABLE,     /* another failure of the driver, or no driver any more */
    WEIR_GPU_ABSENT,         /* it was there, and the driver does not list it */
    WEIR_GPU_STATE_MAX
};

enum { WEIR_GPU_NO_INSTANCE = -1, WEIR_GPU_ANY_PLACE = -1 };
#define WEIR_GPU_UNKNOWN_PROFILE UINT32_MAX

/* ---- numbers ---- */

/* What hardly changes. */
enum weir_gpu_limit {
    WEIR_GPU_POWER_LIMIT_MW, /* in force */
    WEIR_GPU_POWER_LIMIT_DEFAULT_MW,
    WEIR_GPU_POWER_LIMIT_MIN_MW,
    WEIR_GPU_POWER_LIMIT_MAX_MW,
    WEIR_GPU_SM_CLOCK_MAX_MHZ,
    WEIR_GPU_MEMORY_CLOCK_MAX_MHZ,
    WEIR_GPU_SHUTDOWN_C,
    WEIR_GPU_SLOWDOWN_C,
    WEIR_GPU_MEMORY_MAX_C,
    WEIR_GPU_OPERATING_MAX_C,
    WEIR_GPU_PCIE_GENERATION_MAX,
    WEIR_GPU_PCIE_WIDTH_MAX,
    WEIR_GPU_LIMIT_MAX
};

/* One sample. Counters (…_ERRORS, energy, violations, NVLink bytes, replays) count since the driver
 * came up, aggregate ones over the life of the GPU; a ratio of 1 is 1,000,000 ppm. */
enum weir_gpu_metric {
    WEIR_GPU_UTILIZATION_PERCENT,
    WEIR_GPU_MEMORY_UTILIZATION_PERCENT,
    WEIR_GPU_MEMORY_USED_BYTES, /* without the reserved part where that is known */
    WEIR_GPU_POWER_MW,
    WEIR_GPU_POWER_AVERAGE_MW,
    WEIR_GPU_ENERGY_MJ,
    WEIR_GPU_TEMPERATURE_C,
    WEIR_GPU_MEMORY_TEMPERATURE_C,
    WEIR_GPU_GRAPHICS_CLOCK_MHZ,
    WEIR_GPU_SM_CLOCK_MHZ,
    WEIR_GPU_MEMORY_CLOCK_MHZ,
    WEIR_GPU_VIDEO_CLOCK_MHZ,
    WEIR_GPU_CLOCK_REASONS, /* NVML's bits */
    WEIR_GPU_PERFORMANCE_STATE,
    WEIR_GPU_FAN_PERCENT,
    WEIR_GPU_ENCODER_PERCENT,
    WEIR_GPU_DECODER_PERCENT,
    WEIR_GPU_ECC_CORRECTED_ERRORS,
    WEIR_GPU_ECC_UNCORRECTED_ERRORS,
    WEIR_GPU_ECC_CORRECTED_AGGREGATE_ERRORS,
    WEIR_GPU_ECC_UNCORRECTED_AGGREGATE_ERRORS,
    WEIR_GPU_ECC_UNCORRECTED_DRAM_ERRORS,
    WEIR_GPU_ECC_UNCORRECTED_SRAM_ERRORS,
    WEIR_GPU_SRAM_THRESHOLD_EXCEEDED, /* 0, 1 */
    WEIR_GPU_REMAPPED_CORRECTABLE,
    WEIR_GPU_REMAPPED_UNCORRECTABLE,
    WEIR_GPU_REMAP_PENDING,    /* 0, 1 */
    WEIR_GPU_REMAP_FAILED,     /* 0, 1 */
    WEIR_GPU_REMAP_BANKS_FULL, /* memory banks by what spare rows they have: all of them … */
    WEIR_GPU_REMAP_BANKS_HIGH,
    WEIR_GPU_REMAP_BANKS_PARTIAL,
    WEIR_GPU_REMAP_BANKS_LOW,
    WEIR_GPU_REMAP_BANKS_NONE, /* … none */
    WEIR_GPU_RETIRED_PAGES_CORRECTABLE,
    WEIR_GPU_RETIRED_PAGES_UNCORRECTABLE,
    WEIR_GPU_RETIREMENT_PENDING, /* 0, 1 */
    WEIR_GPU_RECOVERY_ACTION,    /* NVML's number: what the driver wants done */
    WEIR_GPU_PCIE_SENT_BYTES_S,
    WEIR_GPU_PCIE_RECEIVED_BYTES_S,
    WEIR_GPU_PCIE_REPLAYS,
    WEIR_GPU_PCIE_GENERATION,
    WEIR_GPU_PCIE_WIDTH,
    WEIR_GPU_NVLINK_SENT_BYTES,
    WEIR_GPU_NVLINK_RECEIVED_BYTES,
    WEIR_GPU_NVLINK_CRC_FLIT_ERRORS,
    WEIR_GPU_NVLINK_CRC_DATA_ERRORS,
    WEIR_GPU_NVLINK_REPLAY_ERRORS,
    WEIR_GPU_NVLINK_RECOVERY_ERRORS,
    WEIR_GPU_NVLINK_ECC_ERRORS,
    WEIR_GPU_VIOLATION_POWER_NS,
    WEIR_GPU_VIOLATION_THERMAL_NS,
    WEIR_GPU_VIOLATION_SYNC_BOOST_NS,
    WEIR_GPU_VIOLATION_BOARD_LIMIT_NS,
    WEIR_GPU_VIOLATION_LOW_UTILIZATION_NS,
    WEIR_GPU_VIOLATION_RELIABILITY_NS,
    /* Means since the sample before, from Hopper on. */
    WEIR_GPU_GRAPHICS_ACTIVE_PPM,
    WEIR_GPU_SM_ACTIVE_PPM,
    WEIR_GPU_SM_OCCUPANCY_PPM,
    WEIR_GPU_TENSOR_ACTIVE_PPM,
    WEIR_GPU_DRAM_ACTIVE_PPM,
    WEIR_GPU_FP64_ACTIVE_PPM,
    WEIR_GPU_FP32_ACTIVE_PPM,
    WEIR_GPU_FP16_ACTIVE_PPM,
    WEIR_GPU_NVLINK_SENT_BYTES_S,
    WEIR_GPU_NVLINK_RECEIVED_BYTES_S,
    WEIR_GPU_METRIC_MAX
};

struct weir_gpu_limits {
    uint64_t valid; /* bit n: enum weir_gpu_limit n was read */
    int64_t of[WEIR_GPU_LIMIT_MAX];
};

struct weir_gpu_metrics {
    uint64_t valid[2]; /* bit n % 64 of word n / 64: enum weir_gpu_metric n was read */
    int64_t of[WEIR_GPU_METRIC_MAX];
};

_Static_assert(WEIR_GPU_LIMIT_MAX <= 64 && WEIR_GPU_METRIC_MAX <= 128, "bits of the masks");

static inline bool weir_gpu_has_limit(const struct weir_gpu_limits *limits,
                                      enum weir_gpu_limit which)
{
    return (limits->valid >> which & 1) != 0;
}

static inline void weir_gpu_set_limit(struct weir_gpu_limits *limits, enum weir_gpu_limit which,
                                      int64_t value)
{
    limits->of[which] = value;
    limits->valid |= UINT64_C(1) << which;
}

static inline bool weir_gpu_has_metric(const struct weir_gpu_metrics *metrics,
                                       enum weir_gpu_metric which)
{
    return (metrics->valid[which / 64] >> which % 64 & 1) != 0;
}

static inline void weir_gpu_set_metric(struct weir_gpu_metrics *metrics, enum weir_gpu_metric which,
                                       int64_t value)
{
    metrics->of[which] = value;
    metrics->valid[which / 64] |= UINT64_C(1) << which % 64;
}

/* ---- MIG ---- */

struct weir_gpu_placement {
    uint32_t start; /* in memory slices */
    uint32_t size;
};

/* A kind of GPU instance, and where the device takes one when it is empty. */
struct weir_gpu_mig_profile {
    uint32_t id;
    uint32_t slices; /* of compute */
    uint32_t instances_max;
    uint32_t n_multiprocessors;
    int64_t memory_bytes;
    struct weir_str name; /* "1g.10gb"; empty where the driver is too old to tell */
    const struct weir_gpu_placement *placements;
    uint32_t n_placements;
};

struct weir_gpu_compute_instance {
    uint32_t id; /* within its GPU instance */
    uint32_t profile_id;
    struct weir_str uuid; /* "MIG-…", what CUDA_VISIBLE_DEVICES takes; empty: not known */
};

struct weir_gpu_instance {
    uint32_t id;
    uint32_t profile_id;                 /* WEIR_GPU_UNKNOWN_PROFILE: not known, nor … */
    struct weir_gpu_placement placement; /* … where it is: size 0 */
    const struct weir_gpu_compute_instance *compute;
    uint32_t n_compute;
};

/* ---- devices ---- */

enum weir_gpu_link_kind {
    WEIR_GPU_LINK_TO_GPU,
    WEIR_GPU_LINK_TO_SWITCH,
    WEIR_GPU_LINK_TO_CPU,
    WEIR_GPU_LINK_TO_UNKNOWN,
    WEIR_GPU_LINK_KIND_MAX
};

/* An NVLink. */
struct weir_gpu_nvlink {
    uint32_t link;
    uint32_t kind; /* enum weir_gpu_link_kind */
    bool is_active;
    struct weir_str peer_pci; /* empty: not known */
};

enum weir_gpu_process_kind {
    WEIR_GPU_PROCESS_COMPUTE = 1 << 0,
    WEIR_GPU_PROCESS_GRAPHICS = 1 << 1,
    WEIR_GPU_PROCESS_MPS = 1 << 2
};

enum weir_gpu_process_valid {
    WEIR_GPU_PROCESS_HAS_MEMORY = 1 << 0,
    WEIR_GPU_PROCESS_HAS_SM = 1 << 1
};

struct weir_gpu_process {
    uint32_t pid;
    uint32_t kinds; /* enum weir_gpu_process_kind */
    uint32_t valid; /* enum weir_gpu_process_valid */
    uint32_t sm_percent;
    int64_t used_bytes;
    int32_t gpu_instance; /* WEIR_GPU_NO_INSTANCE outside MIG */
    int32_t compute_instance;
};

struct weir_gpu_instance_sample {
    uint32_t gpu_instance;
    int64_t memory_total_bytes; /* 0: not known */
    struct weir_gpu_metrics metrics;
};

struct weir_gpu_sample {
    int64_t read_ms;
    struct weir_gpu_metrics metrics;
    bool has_processes;
    const struct weir_gpu_process *processes; /* by pid, GPU and compute instance */
    uint32_t n_processes;
    const struct weir_gpu_instance_sample *instances;
    uint32_t n_instances;
};

enum weir_gpu_valid {
    WEIR_GPU_HAS_MEMORY = 1 << 0,
    WEIR_GPU_HAS_MEMORY_RESERVED = 1 << 1,
    WEIR_GPU_HAS_PCI = 1 << 2,
    WEIR_GPU_HAS_MIG_MODE = 1 << 3, /* not where the GPU has no MIG */
    WEIR_GPU_HAS_COMPUTE_CAPABILITY = 1 << 4,
    WEIR_GPU_HAS_MINOR = 1 << 5,
    WEIR_GPU_HAS_NUMA = 1 << 6,
    WEIR_GPU_HAS_COMPUTE_MODE = 1 << 7,
    WEIR_GPU_HAS_PROFILES = 1 << 8, /* the list of MIG profiles is the device's */
    /* Likewise that of the GPU instances. Not where only the administrator may read it: then those
     * are listed that MIG devices show. */
    WEIR_GPU_HAS_INSTANCES = 1 << 9,
    WEIR_GPU_HAS_LINKS = 1 << 10
};

struct weir_gpu_device {
    struct weir_str uuid;
    struct weir_str name;  /* the driver's product name */
    struct weir_str class; /* our name of the model ("h100-sxm"), or one made of the product name */
    struct weir_str node;  /* empty: this machine */
    struct weir_str pci;   /* as in /sys/bus/pci/devices: "0000:18:00.0" */
    struct weir_str serial;
    struct weir_str cause; /* why the state is not READY; one line */
    bool is_remembered;    /* what it is was read earlier; index, state and cause are of now */
    uint32_t index;
    uint32_t valid; /* enum weir_gpu_valid */
    enum weir_gpu_state state;
    int64_t read_ms; /* when what follows was read */
    bool mig_mode;
    bool mig_pending; /* the mode after the next reset */
    uint32_t minor;   /* /dev/nvidiaN */
    uint32_t pci_id;  /* vendor << 16 | device */
    uint32_t compute_major;
    uint32_t compute_minor;
    uint32_t compute_mode; /* NVML's number */
    uint32_t numa_node;
    int64_t memory_total_bytes;
    int64_t memory_reserved_bytes;
    struct weir_gpu_limits limits;
    const struct weir_gpu_mig_profile *profiles;
    uint32_t n_profiles;
    const struct weir_gpu_instance *instances;
    uint32_t n_instances;
    const struct weir_gpu_nvlink *links;
    uint32_t n_links;
    const struct weir_gpu_sample *sample; /* NULL: none yet */
};

/* ---- what happens ---- */

enum { WEIR_GPU_UUID_BYTES = 96 };

struct weir_gpu_event {
    char uuid[WEIR_GPU_UUID_BYTES]; /* of the GPU, also for an event of an instance */
    uint64_t type;                  /* NVML's bit */
    uint64_t data;                  /* the XID */
    int32_t gpu_instance;           /* WEIR_GPU_NO_INSTANCE: of the whole GPU */
    int32_t compute_instance;
    int64_t seen_ms;
};

enum weir_gpu_mig_action {
    WEIR_GPU_MIG_ENABLE,
    WEIR_GPU_MIG_DISABLE,
    WEIR_GPU_MIG_CREATE,  /* a GPU instance and the compute instance that fills it */
    WEIR_GPU_MIG_DESTROY, /* a GPU instance with its compute instances */
    WEIR_GPU_MIG_ACTION_MAX
};

struct weir_gpu_mig_request {
    struct weir_str uuid; /* of the GPU */
    enum weir_gpu_mig_action action;
    uint32_t profile_id;   /* CREATE */
    int32_t start;         /* CREATE; WEIR_GPU_ANY_PLACE: the device chooses */
    uint32_t size;         /* CREATE at a start: of the placement */
    uint32_t gpu_instance; /* DESTROY */
};

/* err.code: 0, WEIR_E_UNAVAILABLE (in use, no room, lost), WEIR_E_DENIED, WEIR_E_UNSUPPORTED,
 * WEIR_E_INVALID, WEIR_E_NOT_FOUND, WEIR_E_TIMEOUT (it hangs: what became of it shows when the
 * device is read again). */
struct weir_gpu_mig_result {
    uint64_t ticket;
    struct weir_err err;
    bool needs_reset;      /* the mode changes with the next reset of the GPU */
    uint32_t gpu_instance; /* made */
    uint32_t compute_instance;
    struct weir_gpu_placement placement;
};

struct weir_gpu_sink {
    void (*event)(void *arg, const struct weir_gpu_event *event);     /* may be NULL */
    void (*mig)(void *arg, const struct weir_gpu_mig_result *result); /* likewise */
    void *arg;
};

/* A process that weir started, as a simulated driver has to know it. */
struct weir_gpu_occupant {
    uint32_t pid;
    uint32_t class;          /* enum weir_class */
    struct weir_str profile; /* what it does; empty: as the class does */
    uint64_t seed;           /* the same one gives the same readings again */
    int64_t began_ms;
    int64_t past_ms; /* as if it had begun so much earlier, where the device was idle by then */
    int64_t memory_bytes; /* 0: not known */
};

struct weir_gpu_port {
    void *ctx;
    /* All devices that the driver has, in order of node and index, with their newest reading and
     * sample. One that did not say which it is has no uuid, and nothing but index, state and cause.
     * The array is in the arena, what it points to lives until the next collect().
     * WEIR_E_UNAVAILABLE: there is no driver, and nothing is known. */
    int (*list)(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                uint32_t *ret_n_devices, struct weir_err *err);
    /* Takes over new readings and gives out what happened. To be called when notice_fd is readable,
     * and once a second: hung devices are found here. True: a device came, went, changed its state
     * or its instances. NULL for devices that do not change by themselves; then notice_fd is
     * without meaning. */
    bool (*collect)(void *ctx, const struct weir_gpu_sink *sink);
    int notice_fd;
    /* Asks for a change; the result comes by collect(), under the ticket. NULL: no MIG here.
     * Errors: WEIR_E_NOT_FOUND (no such device), WEIR_E_UNAVAILABLE (it hangs, or too many requests
     * wait), WEIR_E_NO_MEMORY. */
    int (*mig)(void *ctx, const struct weir_gpu_mig_request *request, uint64_t *ret_ticket,
               struct weir_err *err);
    /* For a simulated driver: task processes come and go on a device; NULL for a real one. One that
     * is there already stays as it is, but for what is said of it now. */
    int (*occupy)(void *ctx, struct weir_str uuid, const struct weir_gpu_occupant *occupant,
                  struct weir_err *err);
    int (*vacate)(void *ctx, struct weir_str uuid, uint32_t pid, struct weir_err *err);
    /* Likewise: whether it has a device of that name at all. Of a real one nobody knows. */
    bool (*has)(void *ctx, struct weir_str uuid);
    /* Likewise: what befalls its devices now, a line each (docs/simulation.md). only_check: nothing
     * does, it only says what is wrong with the text. WEIR_E_INVALID, WEIR_E_NOT_FOUND,
     * WEIR_E_TOO_LARGE with line and column. */
    int (*befall)(void *ctx, struct weir_str faults, bool only_check, struct weir_err *err);
};

#endif
