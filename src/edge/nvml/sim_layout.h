/* edge/nvml/sim_layout.h — the mapped file that holds the state of a simulated fleet.
 *
 * One writer (edge/nvml/sim_fleet.h), any number of readers in other processes (the simulated NVML
 * library, which every client maps into itself). Header, then n_devices records. Facts never change
 * after the file is in place; the state of a device is published whole:
 *
 *     two slots and a counter. The slot of the counter's last bit is current. The writer fills the
 *     other one and then counts up; a reader copies the current one and accepts the copy if the
 *     counter still stands. So a writer that dies half-way leaves the last state readable, and a
 *     reader never waits for anyone.
 *
 * Needs libc only: the library is built from it alone. */
#ifndef WEIR_EDGE_NVML_SIM_LAYOUT_H
#define WEIR_EDGE_NVML_SIM_LAYOUT_H

#include "edge/nvml/nvml_abi.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    WEIR_SIM_VERSION = 1, /* a reader takes exactly its own */
    WEIR_SIM_DEVICES_MAX = 4096,
    WEIR_SIM_PROCESSES_MAX = 64,
    WEIR_SIM_NODE_BYTES = 64
};

#define WEIR_SIM_MAGIC "WEIRSIM" /* 8 bytes with the NUL */

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
};

struct weir_sim_facts {
    char uuid[WEIR_NVML_UUID_BYTES];
    char name[WEIR_NVML_NAME_BYTES];
    char node[WEIR_SIM_NODE_BYTES];
    char serial[32];
    uint64_t memory_total_bytes;
    uint64_t memory_reserved_bytes;
    uint32_t pci_domain;
    uint32_t pci_bus;
    uint32_t pci_device_id; /* device << 16 | vendor */
    uint32_t pci_subsystem_id;
    uint32_t cc_major;
    uint32_t cc_minor;
    uint32_t architecture;       /* NVML's number */
    uint32_t mig_compute_slices; /* 0: no MIG */
    uint32_t power_limit_mw;
    uint32_t sm_clock_max_mhz;
    uint32_t memory_clock_max_mhz;
    uint32_t reserved;
};

enum weir_sim_health { WEIR_SIM_OK, WEIR_SIM_LOST };
enum weir_sim_process_kind { WEIR_SIM_COMPUTE, WEIR_SIM_GRAPHICS };

struct weir_sim_process {
    uint32_t pid;
    uint32_t kind; /* enum weir_sim_process_kind */
    uint64_t used_bytes;
    uint32_t sm_percent;
    uint32_t memory_percent;
};

struct weir_sim_state {
    uint32_t health; /* enum weir_sim_health */
    uint32_t n_processes;
    uint32_t gpu_percent;
    uint32_t memory_percent;
    uint32_t encoder_percent;
    uint32_t decoder_percent;
    uint32_t power_mw;
    uint32_t temperature_c;
    uint32_t memory_temperature_c;
    uint32_t sm_clock_mhz;
    uint32_t memory_clock_mhz;
    uint32_t pcie_tx_kib_s;
    uint32_t pcie_rx_kib_s;
    uint32_t reserved;
    uint64_t energy_mj;
    uint64_t other_used_bytes; /* memory in use that no listed process holds */
    uint64_t ecc_corrected;
    uint64_t ecc_uncorrected;
    struct weir_sim_process processes[WEIR_SIM_PROCESSES_MAX];
};

_Static_assert(sizeof(struct weir_sim_state) % sizeof(uint64_t) == 0, "copied word by word");

enum { WEIR_SIM_STATE_WORDS = sizeof(struct weir_sim_state) / sizeof(uint64_t) };

struct weir_sim_device {
    struct weir_sim_facts facts;
    uint64_t count; /* atomic; publications so far */
    uint64_t slots[2][WEIR_SIM_STATE_WORDS];
};

/* What the device holds, without the reserved part; never more than there is. */
static inline uint64_t weir_sim_used_bytes(const struct weir_sim_facts *facts,
                                           const struct weir_sim_state *state)
{
    uint64_t room = facts->memory_total_bytes - facts->memory_reserved_bytes;
    uint64_t used = state->other_used_bytes;

    for (uint32_t i = 0; i < state->n_processes; i++)
        used += state->processes[i].used_bytes;
    return used < room ? used : room;
}

/* For the one writer. */
static inline void weir_sim_publish(struct weir_sim_device *device,
                                    const struct weir_sim_state *state)
{
    uint64_t words[WEIR_SIM_STATE_WORDS];
    uint64_t count = __atomic_load_n(&device->count, __ATOMIC_RELAXED);
    uint64_t *slot = device->slots[(count + 1) & 1];

    memcpy(words, state, sizeof(words));
    /* A reader that sees a word of this state must see the count that made the slot stale, too. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (int i = 0; i < WEIR_SIM_STATE_WORDS; i++)
        __atomic_store_n(&slot[i], words[i], __ATOMIC_RELAXED);
    __atomic_store_n(&device->count, count + 1, __ATOMIC_RELEASE);
}

/* One try; false when the writer published twice meanwhile. */
static inline bool weir_sim_try_read(const struct weir_sim_device *device,
                                     struct weir_sim_state *ret_state)
{
    uint64_t words[WEIR_SIM_STATE_WORDS];
    uint64_t count = __atomic_load_n(&device->count, __ATOMIC_ACQUIRE);
    const uint64_t *slot = device->slots[count & 1];

    for (int i = 0; i < WEIR_SIM_STATE_WORDS; i++)
        words[i] = __atomic_load_n(&slot[i], __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&device->count, __ATOMIC_RELAXED) != count)
        return false;
    memcpy(ret_state, words, sizeof(*ret_state));
    return ret_state->n_processes <= WEIR_SIM_PROCESSES_MAX;
}

#endif
