#include "edge/nvml/simlib/simlib.h"

#include "edge/nvml/nvml_abi_values.h"

#include <stdlib.h>

API int nvmlGpmQueryDeviceSupport(struct weir_nvml_handle *device,
                                  struct weir_nvml_gpm_support *out);
API int nvmlGpmSampleAlloc(struct weir_nvml_gpm_sample **ret);
API int nvmlGpmSampleFree(struct weir_nvml_gpm_sample *sample);
API int nvmlGpmSampleGet(struct weir_nvml_handle *device, struct weir_nvml_gpm_sample *sample);
API int nvmlGpmMigSampleGet(struct weir_nvml_handle *device, unsigned gpu_instance,
                            struct weir_nvml_gpm_sample *sample);
API int nvmlGpmMetricsGet(struct weir_nvml_gpm_metrics *metrics);

/* The sums at the instant of the sample: a metric is the difference of two, by the time between. */
struct weir_nvml_gpm_sample {
    bool is_filled;
    uint32_t n_links;
    double share; /* of the GPU that is the sample's, for a GPU instance */
    struct weir_sim_base sums;
};

static int look_with_gpm(struct weir_nvml_handle *device, const void *output,
                         struct weir_sim_view *view)
{
    int result = weir_sim_look(device, output, view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    return view->facts.cc_major >= 9 && view->facts.cc_major != 12 ? WEIR_NVML_SUCCESS
                                                                   : WEIR_NVML_NOT_SUPPORTED;
}

int nvmlGpmQueryDeviceSupport(struct weir_nvml_handle *device, struct weir_nvml_gpm_support *out)
{
    struct weir_sim_view view;
    int result = look_with_gpm(device, out, &view);

    if (result != WEIR_NVML_SUCCESS && result != WEIR_NVML_NOT_SUPPORTED)
        return result;
    if (out->version != WEIR_NVML_GPM_SUPPORT_VERSION)
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    out->is_supported = result == WEIR_NVML_SUCCESS;
    return WEIR_NVML_SUCCESS;
}

int nvmlGpmSampleAlloc(struct weir_nvml_gpm_sample **ret)
{
    struct weir_nvml_gpm_sample *sample;

    if (ret == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    sample = calloc(1, sizeof(*sample));
    if (sample == NULL)
        return WEIR_NVML_MEMORY;
    *ret = sample;
    return WEIR_NVML_SUCCESS;
}

int nvmlGpmSampleFree(struct weir_nvml_gpm_sample *sample)
{
    if (sample == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    free(sample);
    return WEIR_NVML_SUCCESS;
}

int nvmlGpmSampleGet(struct weir_nvml_handle *device, struct weir_nvml_gpm_sample *sample)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = look_with_gpm(device, sample, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    weir_sim_model_read(&view.facts, &view.state, view.at_ms, &now);
    *sample = (struct weir_nvml_gpm_sample){
        .is_filled = true, .n_links = view.facts.n_links, .share = 1, .sums = now.base};
    return WEIR_NVML_SUCCESS;
}

int nvmlGpmMigSampleGet(struct weir_nvml_handle *device, unsigned gpu_instance,
                        struct weir_nvml_gpm_sample *sample)
{
    const struct weir_sim_gpu_instance *instance;
    struct weir_sim_view view;
    int result = look_with_gpm(device, sample, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (gpu_instance >= WEIR_SIM_GPU_INSTANCES_MAX)
        return WEIR_NVML_INVALID_ARGUMENT;
    instance = &view.mig.gpu[gpu_instance];
    if (!instance->is_there || instance->profile >= view.facts.n_mig_profiles)
        return WEIR_NVML_NOT_FOUND;
    *sample = (struct weir_nvml_gpm_sample){.is_filled = true};
    sample->share =
        (double)view.facts.mig_profiles[instance->profile].sm_count / view.facts.sm_count;
    weir_sim_model_instance(&view.facts, &view.state, gpu_instance, view.at_ms, &sample->sums);
    return WEIR_NVML_SUCCESS;
}

static double ratio(double percent)
{
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

/* Between two samples, per second of them; d is what they differ by. */
static void fill_metric(const struct weir_sim_base *d, double s,
                        const struct weir_nvml_gpm_sample *of, struct weir_nvml_gpm_metric *metric)
{
    double busy = ratio(100 * d->busy_s / s / of->share);
    double tensor = ratio(100 * d->tensor_busy_s / s / of->share);

    switch (metric->id) {
    case WEIR_NVML_GPM_GRAPHICS:
        metric->value = busy;
        return;
    case WEIR_NVML_GPM_SM:
        metric->value = 0.9 * busy;
        return;
    case WEIR_NVML_GPM_SM_OCCUPANCY:
        metric->value = 0.35 * busy;
        return;
    case WEIR_NVML_GPM_ANY_TENSOR:
    case WEIR_NVML_GPM_HMMA_TENSOR:
        metric->value = tensor;
        return;
    case WEIR_NVML_GPM_DRAM:
        metric->value = ratio(100 * d->memory_busy_s / s / of->share);
        return;
    case WEIR_NVML_GPM_INTEGER:
        metric->value = 0.2 * busy;
        return;
    case WEIR_NVML_GPM_FP32:
        metric->value = 0.15 * busy;
        return;
    case WEIR_NVML_GPM_FP16:
        metric->value = 0.05 * busy;
        return;
    case WEIR_NVML_GPM_FP64:
    case WEIR_NVML_GPM_DFMA_TENSOR:
    case WEIR_NVML_GPM_DMMA_TENSOR:
    case WEIR_NVML_GPM_IMMA_TENSOR:
        return;
    case WEIR_NVML_GPM_PCIE_TX:
        metric->value = d->pcie_tx_kib / s / 1024;
        return;
    case WEIR_NVML_GPM_PCIE_RX:
        metric->value = d->pcie_rx_kib / s / 1024;
        return;
    default:
        break;
    }
    if (metric->id == WEIR_NVML_GPM_NVLINK_RX || metric->id == WEIR_NVML_GPM_NVLINK_TX)
        metric->value = d->nvlink_kib / s / 1024;
    else if (metric->id >= WEIR_NVML_GPM_NVLINK_L0_RX &&
             metric->id < WEIR_NVML_GPM_NVLINK_L0_RX + 2 * of->n_links)
        metric->value = d->nvlink_kib / s / 1024 / of->n_links;
    else
        metric->result = WEIR_NVML_NOT_SUPPORTED;
}

/* The caller's array may be shorter than what some version of the interface has room for: only
 * n_metrics of it are touched. */
int nvmlGpmMetricsGet(struct weir_nvml_gpm_metrics *metrics)
{
    const struct weir_nvml_gpm_sample *a;
    const struct weir_nvml_gpm_sample *b;
    struct weir_sim_base d;
    double s;
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (metrics == NULL || metrics->sample1 == NULL || metrics->sample2 == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (metrics->version != WEIR_NVML_GPM_VERSION)
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    a = metrics->sample1;
    b = metrics->sample2;
    s = (double)(b->sums.at_ms - a->sums.at_ms) / 1000;
    if (!a->is_filled || !b->is_filled || s <= 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    d = (struct weir_sim_base){.busy_s = b->sums.busy_s - a->sums.busy_s,
                               .memory_busy_s = b->sums.memory_busy_s - a->sums.memory_busy_s,
                               .tensor_busy_s = b->sums.tensor_busy_s - a->sums.tensor_busy_s,
                               .pcie_tx_kib = b->sums.pcie_tx_kib - a->sums.pcie_tx_kib,
                               .pcie_rx_kib = b->sums.pcie_rx_kib - a->sums.pcie_rx_kib,
                               .nvlink_kib = b->sums.nvlink_kib - a->sums.nvlink_kib};
    for (uint32_t i = 0; i < metrics->n_metrics; i++) {
        metrics->metrics[i].value = 0;
        metrics->metrics[i].result = WEIR_NVML_SUCCESS;
        metrics->metrics[i].short_name = NULL;
        metrics->metrics[i].long_name = NULL;
        metrics->metrics[i].unit = NULL;
        fill_metric(&d, s, b, &metrics->metrics[i]);
    }
    return WEIR_NVML_SUCCESS;
}
