#include "edge/nvml/nvml_internal.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum {
    N_SLOTS = 1 + WEIR_NVML_METERED_INSTANCES, /* the device, then its GPU instances by id */
    INTERVAL_MIN_US = 100000,                  /* NVML's counters are renewed this often */
    /* NVML's own structure has room for all metrics its version knows, here some to spare. */
    ROOM = 1024
};

struct slot {
    struct weir_nvml_gpm_sample *before; /* NULL: none */
    struct weir_nvml_gpm_sample *spare;
    int64_t before_us;
};

struct weir_nvml_meter {
    const struct weir_nvml_symbols *call;
    bool is_asked;
    bool is_supported;
    struct slot slots[N_SLOTS];
    struct weir_nvml_gpm_metrics *metrics;
};

struct wanted {
    uint32_t id;
    enum weir_gpu_metric metric;
    double factor;
};

#define PERCENT 10000.0 /* in ppm */
#define MIB_S   1048576.0

static const struct wanted table[] = {
    {WEIR_NVML_GPM_GRAPHICS, WEIR_GPU_GRAPHICS_ACTIVE_PPM, PERCENT},
    {WEIR_NVML_GPM_SM, WEIR_GPU_SM_ACTIVE_PPM, PERCENT},
    {WEIR_NVML_GPM_SM_OCCUPANCY, WEIR_GPU_SM_OCCUPANCY_PPM, PERCENT},
    {WEIR_NVML_GPM_ANY_TENSOR, WEIR_GPU_TENSOR_ACTIVE_PPM, PERCENT},
    {WEIR_NVML_GPM_DRAM, WEIR_GPU_DRAM_ACTIVE_PPM, PERCENT},
    {WEIR_NVML_GPM_FP64, WEIR_GPU_FP64_ACTIVE_PPM, PERCENT},
    {WEIR_NVML_GPM_FP32, WEIR_GPU_FP32_ACTIVE_PPM, PERCENT},
    {WEIR_NVML_GPM_FP16, WEIR_GPU_FP16_ACTIVE_PPM, PERCENT},
    {WEIR_NVML_GPM_PCIE_TX, WEIR_GPU_PCIE_SENT_BYTES_S, MIB_S},
    {WEIR_NVML_GPM_PCIE_RX, WEIR_GPU_PCIE_RECEIVED_BYTES_S, MIB_S},
    {WEIR_NVML_GPM_NVLINK_TX, WEIR_GPU_NVLINK_SENT_BYTES_S, MIB_S},
    {WEIR_NVML_GPM_NVLINK_RX, WEIR_GPU_NVLINK_RECEIVED_BYTES_S, MIB_S},
};

enum { N_WANTED = WEIR_COUNT_OF(table) };

struct weir_nvml_meter *weir_nvml_meter_create(const struct weir_nvml *nvml)
{
    struct weir_nvml_meter *meter = weir_mem_alloc_array(1, sizeof(*meter));

    if (meter != NULL)
        meter->call = &nvml->call;
    return meter;
}

static void free_sample(const struct weir_nvml_meter *meter, struct weir_nvml_gpm_sample *sample)
{
    if (sample != NULL && meter->call->gpm_free != NULL)
        meter->call->gpm_free(sample);
}

struct weir_nvml_meter *weir_nvml_meter_destroy(struct weir_nvml_meter *meter)
{
    if (meter == NULL)
        return NULL;
    weir_nvml_meter_forget(meter);
    weir_mem_free(meter->metrics);
    return weir_mem_free(meter);
}

void weir_nvml_meter_forget(struct weir_nvml_meter *meter)
{
    for (size_t i = 0; i < N_SLOTS; i++) {
        free_sample(meter, meter->slots[i].before);
        free_sample(meter, meter->slots[i].spare);
    }
    memset(meter->slots, 0, sizeof(meter->slots));
    meter->is_asked = false;
    meter->is_supported = false;
}

void weir_nvml_meter_keep(struct weir_nvml_meter *meter, uint32_t instances)
{
    for (size_t i = 1; i < N_SLOTS; i++) {
        struct slot *slot = &meter->slots[i];

        if ((instances >> (i - 1) & 1) != 0)
            continue;
        free_sample(meter, slot->before);
        free_sample(meter, slot->spare);
        *slot = (struct slot){.before = NULL};
    }
}

static bool is_supported(struct weir_nvml_reader *reader, struct weir_nvml_meter *meter)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_gpm_support support = {WEIR_NVML_GPM_SUPPORT_VERSION, 0};

    if (meter->is_asked)
        return meter->is_supported;
    meter->is_supported = call->gpm_supported != NULL && call->gpm_alloc != NULL &&
                          call->gpm_free != NULL && call->gpm_get != NULL &&
                          call->gpm_metrics != NULL &&
                          weir_nvml_ok(reader, call->gpm_supported(reader->handle, &support)) &&
                          support.is_supported != 0;
    meter->is_asked = reader->failed == WEIR_NVML_SUCCESS;
    return meter->is_supported;
}

static bool take(struct weir_nvml_reader *reader, int gpu_instance,
                 struct weir_nvml_gpm_sample **sample)
{
    const struct weir_nvml_symbols *call = reader->call;

    if (*sample == NULL && !weir_nvml_ok(reader, call->gpm_alloc(sample))) {
        *sample = NULL;
        return false;
    }
    if (gpu_instance < 0)
        return weir_nvml_ok(reader, call->gpm_get(reader->handle, *sample));
    return call->gpm_get_instance != NULL &&
           weir_nvml_ok(reader,
                        call->gpm_get_instance(reader->handle, (unsigned)gpu_instance, *sample));
}

static void compute(struct weir_nvml_reader *reader, struct weir_nvml_meter *meter,
                    struct weir_nvml_gpm_sample *before, struct weir_nvml_gpm_sample *now,
                    struct weir_gpu_metrics *metrics)
{
    struct weir_nvml_gpm_metrics *answer = meter->metrics;

    if (answer == NULL)
        answer = weir_mem_alloc_array(1, sizeof(*answer) + ROOM * sizeof(answer->metrics[0]));
    meter->metrics = answer;
    if (answer == NULL)
        return; /* as if there were none; memory may be there at the next sample */
    *answer = (struct weir_nvml_gpm_metrics){
        .version = WEIR_NVML_GPM_VERSION, .n_metrics = N_WANTED, .sample1 = before, .sample2 = now};
    for (size_t i = 0; i < N_WANTED; i++)
        answer->metrics[i] = (struct weir_nvml_gpm_metric){.id = table[i].id};
    if (!weir_nvml_ok(reader, reader->call->gpm_metrics(answer)))
        return;
    for (size_t i = 0; i < N_WANTED; i++) {
        double value = answer->metrics[i].value * table[i].factor;

        if (answer->metrics[i].result == WEIR_NVML_SUCCESS && isfinite(value) && value >= 0 &&
            value < 0x1p62)
            weir_gpu_set_metric(metrics, table[i].metric, (int64_t)(value + 0.5));
    }
}

void weir_nvml_read_gpm(struct weir_nvml_reader *reader, struct weir_nvml_meter *meter,
                        int gpu_instance, struct weir_gpu_metrics *metrics)
{
    int64_t now_us = weir_clock_mono_us();
    struct slot *slot;
    struct weir_nvml_gpm_sample *now;

    if (gpu_instance >= WEIR_NVML_METERED_INSTANCES || !is_supported(reader, meter))
        return;
    slot = &meter->slots[gpu_instance + 1];
    if (slot->before != NULL && now_us - slot->before_us < INTERVAL_MIN_US)
        return;
    if (!take(reader, gpu_instance, &slot->spare))
        return;
    now = slot->spare;
    if (slot->before != NULL)
        compute(reader, meter, slot->before, now, metrics);
    slot->spare = slot->before;
    slot->before = now;
    slot->before_us = now_us;
}
