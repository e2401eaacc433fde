#include "edge/nvml/simlib/simlib.h"

#include <time.h>

API int nvmlDeviceGetUtilizationRates(struct weir_nvml_handle *device,
                                      struct weir_nvml_utilization *out);
API int nvmlDeviceGetEncoderUtilization(struct weir_nvml_handle *device, unsigned *out,
                                        unsigned *period_us);
API int nvmlDeviceGetDecoderUtilization(struct weir_nvml_handle *device, unsigned *out,
                                        unsigned *period_us);
API int nvmlDeviceGetTemperature(struct weir_nvml_handle *device, unsigned sensor, unsigned *out);
API int nvmlDeviceGetTemperatureV(struct weir_nvml_handle *device,
                                  struct weir_nvml_temperature_v1 *out);
API int nvmlDeviceGetPowerUsage(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetEnforcedPowerLimit(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetPowerManagementLimit(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetPowerManagementDefaultLimit(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetTotalEnergyConsumption(struct weir_nvml_handle *device,
                                            unsigned long long *out);
API int nvmlDeviceGetClockInfo(struct weir_nvml_handle *device, unsigned domain, unsigned *out);
API int nvmlDeviceGetMaxClockInfo(struct weir_nvml_handle *device, unsigned domain, unsigned *out);
API int nvmlDeviceGetPcieThroughput(struct weir_nvml_handle *device, unsigned counter,
                                    unsigned *out);
API int nvmlDeviceGetPerformanceState(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetPersistenceMode(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetDisplayActive(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetDisplayMode(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetComputeMode(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetNumFans(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetEccMode(struct weir_nvml_handle *device, unsigned *current, unsigned *pending);
API int nvmlDeviceGetTotalEccErrors(struct weir_nvml_handle *device, unsigned type,
                                    unsigned counter, unsigned long long *out);
API int nvmlDeviceGetCurrentClocksEventReasons(struct weir_nvml_handle *device,
                                               unsigned long long *out);
API int nvmlDeviceGetCurrentClocksThrottleReasons(struct weir_nvml_handle *device,
                                                  unsigned long long *out);
API int nvmlDeviceGetFieldValues(struct weir_nvml_handle *device, int count,
                                 struct weir_nvml_field_value *values);

enum { SAMPLING_PERIOD_US = 167000 };

/* A 32-bit number of the view, by its place there. */
static int number(const struct weir_nvml_handle *device, unsigned *out, size_t offset)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        memcpy(out, (const char *)&view + offset, sizeof(*out));
    return result;
}

static int constant(const struct weir_nvml_handle *device, unsigned *out, unsigned value)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = value;
    return result;
}

static int rate(const struct weir_nvml_handle *device, unsigned *out, unsigned *period_us,
                size_t offset)
{
    int result = number(device, out, offset);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (period_us == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *period_us = SAMPLING_PERIOD_US;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetUtilizationRates(struct weir_nvml_handle *device,
                                  struct weir_nvml_utilization *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    out->gpu = view.state.gpu_percent;
    out->memory = view.state.memory_percent;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetEncoderUtilization(struct weir_nvml_handle *device, unsigned *out,
                                    unsigned *period_us)
{
    return rate(device, out, period_us, offsetof(struct weir_sim_view, state.encoder_percent));
}

int nvmlDeviceGetDecoderUtilization(struct weir_nvml_handle *device, unsigned *out,
                                    unsigned *period_us)
{
    return rate(device, out, period_us, offsetof(struct weir_sim_view, state.decoder_percent));
}

int nvmlDeviceGetTemperature(struct weir_nvml_handle *device, unsigned sensor, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (sensor != 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = view.state.temperature_c;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetTemperatureV(struct weir_nvml_handle *device, struct weir_nvml_temperature_v1 *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (out->version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_temperature_v1, 1))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    if (out->sensor != 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    out->temperature = (int32_t)view.state.temperature_c;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetPowerUsage(struct weir_nvml_handle *device, unsigned *out)
{
    return number(device, out, offsetof(struct weir_sim_view, state.power_mw));
}

int nvmlDeviceGetEnforcedPowerLimit(struct weir_nvml_handle *device, unsigned *out)
{
    return number(device, out, offsetof(struct weir_sim_view, facts.power_limit_mw));
}

int nvmlDeviceGetPowerManagementLimit(struct weir_nvml_handle *device, unsigned *out)
{
    return number(device, out, offsetof(struct weir_sim_view, facts.power_limit_mw));
}

int nvmlDeviceGetPowerManagementDefaultLimit(struct weir_nvml_handle *device, unsigned *out)
{
    return number(device, out, offsetof(struct weir_sim_view, facts.power_limit_mw));
}

int nvmlDeviceGetTotalEnergyConsumption(struct weir_nvml_handle *device, unsigned long long *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.state.energy_mj;
    return result;
}

int nvmlDeviceGetClockInfo(struct weir_nvml_handle *device, unsigned domain, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (domain > WEIR_NVML_CLOCK_VIDEO)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = domain == WEIR_NVML_CLOCK_MEM ? view.state.memory_clock_mhz : view.state.sm_clock_mhz;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(struct weir_nvml_handle *device, unsigned domain, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (domain > WEIR_NVML_CLOCK_VIDEO)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = domain == WEIR_NVML_CLOCK_MEM ? view.facts.memory_clock_max_mhz
                                         : view.facts.sm_clock_max_mhz;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetPcieThroughput(struct weir_nvml_handle *device, unsigned counter, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (counter > 1)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = counter == 0 ? view.state.pcie_tx_kib_s : view.state.pcie_rx_kib_s;
    return WEIR_NVML_SUCCESS;
}

/* P0 under load, P8 when idle. */
int nvmlDeviceGetPerformanceState(struct weir_nvml_handle *device, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.state.gpu_percent > 0 ? 0 : 8;
    return result;
}

int nvmlDeviceGetPersistenceMode(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, 1);
}

int nvmlDeviceGetDisplayActive(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, 0);
}

int nvmlDeviceGetDisplayMode(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, 0);
}

int nvmlDeviceGetComputeMode(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, 0);
}

int nvmlDeviceGetNumFans(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, 0);
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

int nvmlDeviceGetTotalEccErrors(struct weir_nvml_handle *device, unsigned type, unsigned counter,
                                unsigned long long *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (type > 1 || counter > 1)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = type == 0 ? view.state.ecc_corrected : view.state.ecc_uncorrected;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(struct weir_nvml_handle *device, unsigned long long *out)
{
    enum { REASON_IDLE = 1 };
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.state.gpu_percent > 0 ? 0 : REASON_IDLE;
    return result;
}

/* The name before driver 535. */
int nvmlDeviceGetCurrentClocksThrottleReasons(struct weir_nvml_handle *device,
                                              unsigned long long *out)
{
    return nvmlDeviceGetCurrentClocksEventReasons(device, out);
}

static void fill_field(const struct weir_sim_view *view, struct weir_nvml_field_value *field)
{
    field->result = WEIR_NVML_SUCCESS;
    field->value_type = WEIR_NVML_VALUE_UNSIGNED_INT;
    field->value.u64 = 0;
    switch (field->field) {
    case WEIR_NVML_FIELD_MEMORY_TEMP:
        field->value.u32 = view->state.memory_temperature_c;
        return;
    case WEIR_NVML_FIELD_TOTAL_ENERGY:
        field->value_type = WEIR_NVML_VALUE_UNSIGNED_LONG_LONG;
        field->value.u64 = view->state.energy_mj;
        return;
    case WEIR_NVML_FIELD_POWER_AVERAGE:
    case WEIR_NVML_FIELD_POWER_INSTANT:
        field->value.u32 = view->state.power_mw;
        return;
    case WEIR_NVML_FIELD_RECOVERY_ACTION:
        return; /* 0: none */
    default:
        field->result = WEIR_NVML_NOT_SUPPORTED;
    }
}

int nvmlDeviceGetFieldValues(struct weir_nvml_handle *device, int count,
                             struct weir_nvml_field_value *values)
{
    struct weir_sim_view view;
    struct timespec now;
    int result = weir_sim_look(device, values, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (count <= 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        fill_field(&view, &values[i]);
        values[i].timestamp_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        values[i].latency_us = 0;
    }
    return WEIR_NVML_SUCCESS;
}
