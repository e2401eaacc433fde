#include "edge/nvml/simlib/simlib.h"

#include "edge/nvml/nvml_abi_values.h"

API int nvmlDeviceGetEccMode(struct weir_nvml_handle *device, unsigned *current, unsigned *pending);
API int nvmlDeviceGetTotalEccErrors(struct weir_nvml_handle *device, unsigned type,
                                    unsigned counter, unsigned long long *out);
API int nvmlDeviceGetDetailedEccErrors(struct weir_nvml_handle *device, unsigned type,
                                       unsigned counter, struct weir_nvml_ecc_counts *out);
API int nvmlDeviceGetMemoryErrorCounter(struct weir_nvml_handle *device, unsigned type,
                                        unsigned counter, unsigned location,
                                        unsigned long long *out);
API int nvmlDeviceGetRemappedRows(struct weir_nvml_handle *device, unsigned *correctable,
                                  unsigned *uncorrectable, unsigned *pending, unsigned *failed);
API int nvmlDeviceGetRowRemapperHistogram(struct weir_nvml_handle *device,
                                          struct weir_nvml_remap_histogram *out);
API int nvmlDeviceGetSramEccErrorStatus(struct weir_nvml_handle *device,
                                        struct weir_nvml_sram_status_v1 *out);

static bool has_row_remapper(const struct weir_sim_view *view)
{
    return view->facts.cc_major >= 8;
}

int nvmlDeviceGetEccMode(struct weir_nvml_handle *device, unsigned *current, unsigned *pending)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, current, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (pending == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *current = 1;
    *pending = 1;
    return WEIR_NVML_SUCCESS;
}

static int errors(struct weir_nvml_handle *device, unsigned type, unsigned counter,
                  const void *output, uint64_t *ret_errors)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, output, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (type > WEIR_NVML_ECC_UNCORRECTED || counter > WEIR_NVML_ECC_AGGREGATE)
        return WEIR_NVML_INVALID_ARGUMENT;
    *ret_errors = counter == WEIR_NVML_ECC_VOLATILE ? view.state.ecc_volatile[type]
                                                    : view.state.ecc_aggregate[type];
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(struct weir_nvml_handle *device, unsigned type, unsigned counter,
                                unsigned long long *out)
{
    uint64_t n;
    int result = errors(device, type, counter, out, &n);

    if (result == WEIR_NVML_SUCCESS)
        *out = n;
    return result;
}

/* All simulated errors are those of the device's memory. */
int nvmlDeviceGetDetailedEccErrors(struct weir_nvml_handle *device, unsigned type, unsigned counter,
                                   struct weir_nvml_ecc_counts *out)
{
    uint64_t n;
    int result = errors(device, type, counter, out, &n);

    if (result == WEIR_NVML_SUCCESS)
        *out = (struct weir_nvml_ecc_counts){.device_memory = n};
    return result;
}

int nvmlDeviceGetMemoryErrorCounter(struct weir_nvml_handle *device, unsigned type,
                                    unsigned counter, unsigned location, unsigned long long *out)
{
    uint64_t n;
    int result = errors(device, type, counter, out, &n);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (location >= WEIR_NVML_LOCATION_COUNT)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (location != WEIR_NVML_LOCATION_DRAM && location != WEIR_NVML_LOCATION_SRAM)
        return WEIR_NVML_NOT_SUPPORTED;
    *out = location == WEIR_NVML_LOCATION_DRAM ? n : 0;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetRemappedRows(struct weir_nvml_handle *device, unsigned *correctable,
                              unsigned *uncorrectable, unsigned *pending, unsigned *failed)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, correctable, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (uncorrectable == NULL || pending == NULL || failed == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (!has_row_remapper(&view))
        return WEIR_NVML_NOT_SUPPORTED;
    *correctable = view.state.remapped_correctable;
    *uncorrectable = view.state.remapped_uncorrectable;
    *pending = view.state.remap_pending;
    *failed = view.state.remap_failed;
    return WEIR_NVML_SUCCESS;
}

/* Each remapped row is in another bank; a failure means that one bank has no spare row left. */
int nvmlDeviceGetRowRemapperHistogram(struct weir_nvml_handle *device,
                                      struct weir_nvml_remap_histogram *out)
{
    enum { BANKS = 640 };
    struct weir_sim_view view;
    uint32_t touched;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (!has_row_remapper(&view))
        return WEIR_NVML_NOT_SUPPORTED;
    touched = view.state.remapped_correctable + view.state.remapped_uncorrectable;
    if (touched > BANKS - 1)
        touched = BANKS - 1;
    *out = (struct weir_nvml_remap_histogram){.max = BANKS - touched - view.state.remap_failed,
                                              .high = touched,
                                              .none = view.state.remap_failed};
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetSramEccErrorStatus(struct weir_nvml_handle *device,
                                    struct weir_nvml_sram_status_v1 *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (out->version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_sram_status_v1, 1))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    if (view.facts.cc_major < 8)
        return WEIR_NVML_NOT_SUPPORTED;
    *out = (struct weir_nvml_sram_status_v1){.version = out->version};
    return WEIR_NVML_SUCCESS;
}
