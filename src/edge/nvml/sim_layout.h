/* edge/nvml/sim_layout.h — the mapped file that holds a simulated fleet.
 *
 * Header with the ring of events, then n_devices records. Facts never change after the file is in
 * place. What a GPU does now is not in the file but follows from it and from the time
 * (edge/nvml/sim_model.h). Two parts of a record change, each published whole:
 *
 *     two slots and a counter. The slot of the counter's last bit is current. A writer fills the
 *     other one and then counts up; a reader copies the current one and accepts the copy if the
 *     counter still stands. So a writer that dies half-way leaves the last state readable, and a
 *     reader never waits for anyone.
 *
 * The state (loads, faults) has one writer, edge/nvml/sim_fleet.h. MIG instances are written by
 * whoever calls the library, one at a time under a lock (edge/nvml/sim_mig.h). Readers are the
 * clients of the simulated NVML library, each in its own process.
 *
 * Instants are milliseconds of CLOCK_BOOTTIME. They are moved to the new boot by the first writer
 * after it. Needs libc only: the library is built from it alone. */
#ifndef WEIR_EDGE_NVML_SIM_LAYOUT_H
#define WEIR_EDGE_NVML_SIM_LAYOUT_H

#include "edge/nvml/nvml_abi.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    WEIR_SIM_VERSION = 2, /* a reader takes exactly its own */
    WEIR_SIM_DEVICES_MAX = 4096,
    WEIR_SIM_PROCESSES_MAX = 48, /* as many clients as MPS lets on a GPU; each has one load */
    WEIR_SIM_NODE_BYTES = 64,
    WEIR_SIM_LABEL_BYTES = 32,
    WEIR_SIM_EVENTS_MAX = 256,
    WEIR_SIM_MIG_PROFILES_MAX = 16,
    WEIR_SIM_GPU_INSTANCES_MAX = 16, /* ids from 0 to 15 */
    WEIR_SIM_COMPUTE_INSTANCES_MAX = 8
};

#define WEIR_SIM_MAGIC "WEIRSIM" /* 8 bytes with the NUL */
#define WEIR_SIM_NEVER INT64_MAX

struct weir_sim_event {
    uint64_t type; /* WEIR_NVML_EVENT_… */
    uint64_t data; /* the XID */
    uint32_t device;
    uint32_t gpu_instance; /* WEIR_NVML_NO_INSTANCE: of the whole GPU */
    uint32_t compute_instance;
    uint32_t reserved;
    int64_t at_ms;
};

struct weir_sim_header {
    /* These four keep their place in every version. */
    char magic[8];
    uint32_t version;
    uint32_t retired; /* atomic; 1 once another file has taken the place of this one */
    uint64_t seed;

    uint32_t header_bytes;
    uint32_t device_bytes;
    uint32_t n_devices;
    uint32_t cuda_version; /* 12080 is 12.8 */
    char driver_version[WEIR_NVML_VERSION_BYTES];
    char nvml_version[WEIR_NVML_VERSION_BYTES];
    uint8_t boot_id[16];          /* of the instants */
    uint32_t driver_loads;        /* atomic; counts how often the driver was loaded anew */
    uint32_t event_bell;          /* atomic; a futex that changes with n_events */
    int64_t driver_down_until_ms; /* atomic; no library can be initialised before */
    uint64_t kmsg_seq;            /* of the kernel's last record in this boot; the writer's own */
    uint64_t n_events; /* atomic; so far, of which the last WEIR_SIM_EVENTS_MAX are here */
    struct weir_sim_event events[WEIR_SIM_EVENTS_MAX]; /* number n at n % WEIR_SIM_EVENTS_MAX */
};

/* A GPU instance profile. */
struct weir_sim_mig_profile {
    char name[24]; /* "1g.10gb" */
    uint64_t memory_mib;
    uint16_t sm_count;
    uint16_t start_mask; /* bit k: may start at memory slice k */
    uint8_t enumeration; /* enum weir_nvml_gi_profile: what a client asks for */
    uint8_t id;          /* what the answer, and everything after it, says */
    uint8_t compute_slices;
    uint8_t memory_slices;
    uint8_t max_instances;
    uint8_t media_engines; /* 0, 1, or all */
    uint8_t reserved[6];
};

enum weir_sim_link { WEIR_SIM_LINK_NONE, WEIR_SIM_LINK_SWITCH, WEIR_SIM_LINK_BRIDGE };

struct weir_sim_facts {
    char uuid[WEIR_NVML_UUID_BYTES];
    char name[WEIR_NVML_NAME_BYTES];
    char node[WEIR_SIM_NODE_BYTES];
    char zone[WEIR_SIM_LABEL_BYTES];
    char rack[WEIR_SIM_LABEL_BYTES];
    char serial[32];
    uint64_t memory_total_bytes;
    uint64_t memory_reserved_bytes;
    uint32_t pci_domain;
    uint32_t pci_bus;
    uint32_t pci_device_id; /* device << 16 | vendor */
    uint32_t pci_subsystem_id;
    uint32_t cc_major;
    uint32_t cc_minor;
    uint32_t architecture; /* NVML's number */
    uint32_t sm_count;
    uint32_t numa_node;
    uint32_t pcie_gen;
    uint32_t power_idle_mw;
    uint32_t power_limit_mw; /* from the factory; the largest, too */
    uint32_t sm_clock_idle_mhz;
    uint32_t sm_clock_max_mhz;
    uint32_t memory_clock_max_mhz;
    uint32_t slowdown_c;
    uint32_t shutdown_c;
    uint32_t memory_max_c;

    uint32_t link; /* enum weir_sim_link */
    uint32_t link_gen;
    uint32_t n_links;
    uint32_t link_mb_per_s;  /* of one link, one way */
    uint32_t link_domain;    /* GPUs of one number reach each other over links; 0: none */
    uint8_t fabric_uuid[16]; /* of a domain that spans nodes; else zero */

    uint32_t mig_compute_slices; /* 0: no MIG */
    uint32_t mig_memory_slices;
    uint32_t n_mig_profiles;
    struct weir_sim_mig_profile mig_profiles[WEIR_SIM_MIG_PROFILES_MAX];
};

enum weir_sim_health { WEIR_SIM_OK, WEIR_SIM_LOST, WEIR_SIM_RESET_REQUIRED };
enum weir_sim_process_kind { WEIR_SIM_COMPUTE, WEIR_SIM_GRAPHICS, WEIR_SIM_MPS };

/* What a process does on a GPU. */
enum weir_sim_profile {
    WEIR_SIM_PROFILE_HELD,        /* holds its memory from the start on; nothing else */
    WEIR_SIM_PROFILE_STEADY,      /* busy without a pause */
    WEIR_SIM_PROFILE_SAW_TOOTH,   /* stalls again and again: data does not come fast enough */
    WEIR_SIM_PROFILE_IDLE,        /* fills its memory, then does nothing */
    WEIR_SIM_PROFILE_STARVED,     /* mostly waits for its input */
    WEIR_SIM_PROFILE_BURSTY,      /* requests come and go */
    WEIR_SIM_PROFILE_INTERACTIVE, /* someone tries something now and then */
    WEIR_SIM_PROFILE_MAX
};

struct weir_sim_load {
    uint32_t pid;
    uint16_t kind;    /* enum weir_sim_process_kind */
    uint16_t profile; /* enum weir_sim_profile */
    uint64_t seed;
    int64_t begin_ms;
    uint64_t memory_bytes;
    uint32_t gpu_instance; /* WEIR_NVML_NO_INSTANCE outside of MIG */
    uint32_t compute_instance;
    uint32_t share_milli; /* of the GPU that it can use at most; the writer fills it in */
    uint32_t reserved;
};

/* What has inertia, or adds up, as it was at one instant. */
struct weir_sim_base {
    int64_t at_ms;
    double power_w;
    double temperature_c;
    double energy_j; /* since the driver was loaded, as all sums here */
    double busy_s;   /* the time integral of the utilisation, as the next two */
    double memory_busy_s;
    double tensor_busy_s;
    double pcie_tx_kib;
    double pcie_rx_kib;
    double nvlink_kib; /* each way */
    double power_violation_s;
    double thermal_violation_s;
};

struct weir_sim_state {
    struct weir_sim_base base;
    int64_t hang_until_ms;    /* a call on this device does not return before */
    uint32_t health;          /* enum weir_sim_health */
    uint32_t recovery_action; /* enum weir_nvml_recovery_action */
    uint32_t power_cap_mw;    /* 0: the limit from the factory */
    uint32_t thermal_limit_c; /* 0: the one from the factory */
    uint64_t ecc_volatile[2]; /* by WEIR_NVML_ECC_CORRECTED and …_UNCORRECTED */
    uint64_t ecc_aggregate[2];
    uint32_t remapped_correctable;
    uint32_t remapped_uncorrectable;
    uint32_t remap_pending;
    uint32_t remap_failed;
    uint32_t reserved;
    uint32_t n_loads;
    struct weir_sim_load loads[WEIR_SIM_PROCESSES_MAX];
};

struct weir_sim_compute_instance {
    uint8_t slices; /* 0: not there */
    uint8_t start;  /* in compute slices of the GPU instance */
};

struct weir_sim_gpu_instance {
    uint8_t is_there;
    uint8_t profile; /* index in the facts */
    uint8_t start;   /* memory slice */
    uint8_t reserved[5];
    struct weir_sim_compute_instance compute[WEIR_SIM_COMPUTE_INSTANCES_MAX]; /* by id */
};

struct weir_sim_mig {
    uint32_t is_enabled;
    uint32_t is_pending; /* the mode after the next reset */
    struct weir_sim_gpu_instance gpu[WEIR_SIM_GPU_INSTANCES_MAX]; /* by id */
};

_Static_assert(sizeof(struct weir_sim_state) % sizeof(uint64_t) == 0, "copied word by word");
_Static_assert(sizeof(struct weir_sim_mig) % sizeof(uint64_t) == 0, "copied word by word");

enum {
    WEIR_SIM_STATE_WORDS = sizeof(struct weir_sim_state) / sizeof(uint64_t),
    WEIR_SIM_MIG_WORDS = sizeof(struct weir_sim_mig) / sizeof(uint64_t)
};

struct weir_sim_device {
    struct weir_sim_facts facts;
    uint64_t count; /* atomic; publications of the state so far */
    uint64_t slots[2][WEIR_SIM_STATE_WORDS];
    uint64_t mig_count; /* likewise, of the MIG part */
    uint64_t mig_slots[2][WEIR_SIM_MIG_WORDS];
};

/* For the writer of a part, which is the only one at that time. */
static inline void weir_sim_publish_words(uint64_t *count, uint64_t *slots, const void *part,
                                          size_t n_words)
{
    uint64_t now = __atomic_load_n(count, __ATOMIC_RELAXED);
    uint64_t *slot = slots + ((now + 1) & 1) * n_words;

    /* A reader that sees a word of this state must see the count that made the slot stale, too. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t i = 0; i < n_words; i++) {
        uint64_t word;

        memcpy(&word, (const char *)part + i * sizeof(word), sizeof(word));
        __atomic_store_n(&slot[i], word, __ATOMIC_RELAXED);
    }
    __atomic_store_n(count, now + 1, __ATOMIC_RELEASE);
}

/* One try; false when the part was published twice meanwhile. */
static inline bool weir_sim_try_read_words(const uint64_t *count, const uint64_t *slots,
                                           void *ret_part, size_t n_words)
{
    uint64_t now = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    const uint64_t *slot = slots + (now & 1) * n_words;

    for (size_t i = 0; i < n_words; i++) {
        uint64_t word = __atomic_load_n(&slot[i], __ATOMIC_RELAXED);

        memcpy((char *)ret_part + i * sizeof(word), &word, sizeof(word));
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(count, __ATOMIC_RELAXED) == now;
}

static inline void weir_sim_publish(struct weir_sim_device *device,
                                    const struct weir_sim_state *state)
{
    weir_sim_publish_words(&device->count, device->slots[0], state, WEIR_SIM_STATE_WORDS);
}

/* False also where the state is damaged. What it wrote to ret_state then is of no use. */
static inline bool weir_sim_try_read(const struct weir_sim_device *device,
                                     struct weir_sim_state *ret_state)
{
    return weir_sim_try_read_words(&device->count, device->slots[0], ret_state,
                                   WEIR_SIM_STATE_WORDS) &&
           ret_state->n_loads <= WEIR_SIM_PROCESSES_MAX;
}

static inline void weir_sim_publish_mig(struct weir_sim_device *device,
                                        const struct weir_sim_mig *mig)
{
    weir_sim_publish_words(&device->mig_count, device->mig_slots[0], mig, WEIR_SIM_MIG_WORDS);
}

static inline bool weir_sim_try_read_mig(const struct weir_sim_device *device,
                                         struct weir_sim_mig *ret_mig)
{
    return weir_sim_try_read_words(&device->mig_count, device->mig_slots[0], ret_mig,
                                   WEIR_SIM_MIG_WORDS);
}

#endif
