/* edge/nvml/nvml_internal.h — what the files nvml*.c share. */
#ifndef WEIR_EDGE_NVML_INTERNAL_H
#define WEIR_EDGE_NVML_INTERNAL_H

#include "edge/nvml/nvml.h"
#include "edge/nvml/nvml_symbols.h"

struct weir_nvml {
    void *library;
    bool initialised;
    uint32_t generation;
    struct weir_nvml_symbols call;
    char driver_version[WEIR_NVML_VERSION_BYTES];
};

/* One device under questioning. */
struct weir_nvml_reader {
    const struct weir_nvml_symbols *call;
    struct weir_nvml_handle *handle;
    struct weir_arena *arena;
    int failed; /* what NVML answered that means: no more questions; else SUCCESS */
};

/* Whether a question was answered; takes note of a device that went away. */
static inline bool weir_nvml_ok(struct weir_nvml_reader *reader, int result)
{
    if (result == WEIR_NVML_GPU_IS_LOST || result == WEIR_NVML_RESET_REQUIRED)
        reader->failed = result;
    return result == WEIR_NVML_SUCCESS;
}

/* Amounts past INT64_MAX are that. */
static inline int64_t weir_nvml_amount(uint64_t amount)
{
    return amount <= INT64_MAX ? (int64_t)amount : INT64_MAX;
}

/* enum weir_code for a result of NVML, never 0. */
int weir_nvml_code(int result);
/* An error "WHAT: NVML answers '…' (n)" with a hint where there is one. Returns its code. */
int weir_nvml_fail(const struct weir_nvml_symbols *call, int result, const char *what,
                   struct weir_err *err);
enum weir_gpu_state weir_nvml_state(int result);
/* The result in words: "GPU is lost". */
const char *weir_nvml_words(const struct weir_nvml_symbols *call, int result);

/* "0001:0b:00.0", as in sysfs, from the numbers, which every version has; the texts differ. */
void weir_nvml_bus_id(const struct weir_nvml_pci_info *pci, char ret_text[16]);

/* ---- nvml_memory.c ---- */
struct weir_nvml_memory {
    bool has_reserved;
    int64_t total_bytes;
    int64_t reserved_bytes;
    int64_t used_bytes; /* the reserved part not included, where it is known */
};
bool weir_nvml_read_memory(struct weir_nvml_reader *reader, struct weir_nvml_handle *handle,
                           struct weir_nvml_memory *ret_memory);
/* 0 or WEIR_E_NO_MEMORY; a driver that lists none leaves has_processes false. */
int weir_nvml_read_processes(struct weir_nvml_reader *reader, bool is_mig,
                             struct weir_gpu_sample *sample, struct weir_err *err);

/* ---- nvml_mig.c ---- */
/* Modes, profiles and instances. 0 or WEIR_E_NO_MEMORY. */
int weir_nvml_read_mig(struct weir_nvml_reader *reader, struct weir_gpu_device *device,
                       struct weir_err *err);

/* ---- nvml_gpm.c ---- */
enum { WEIR_NVML_METERED_INSTANCES = 16 };

/* The metrics since the last call, of the device or, for gpu_instance not negative, of an instance
 * below WEIR_NVML_METERED_INSTANCES. None at the first call, or where the device has none. */
void weir_nvml_read_gpm(struct weir_nvml_reader *reader, struct weir_nvml_meter *meter,
                        int gpu_instance, struct weir_gpu_metrics *metrics);

/* The GPU instances that there are, bits by id: a new one may have the id of one that is gone,
 * whose last counts are forgotten. */
void weir_nvml_meter_keep(struct weir_nvml_meter *meter, uint32_t instances);

#endif
