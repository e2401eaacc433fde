#include "edge/nvml/simlib/simlib.h"

#include "edge/nvml/nvml_abi_fabric.h"
#include "edge/nvml/nvml_abi_values.h"

#include <math.h>

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
API int nvmlDeviceGetPowerManagementLimitConstraints(struct weir_nvml_handle *device, unsigned *min,
                                                     unsigned *max);
API int nvmlDeviceGetTemperatureThreshold(struct weir_nvml_handle *device, unsigned type,
                                          unsigned *out);
API int nvmlDeviceGetCurrPcieLinkGeneration(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetMaxPcieLinkGeneration(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetCurrPcieLinkWidth(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetMaxPcieLinkWidth(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetPcieReplayCounter(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetViolationStatus(struct weir_nvml_handle *device, unsigned policy,
                                     struct weir_nvml_violation *out);
API int nvmlDeviceGetSupportedClocksEventReasons(struct weir_nvml_handle *device,
                                                 unsigned long long *out);
API int nvmlDeviceGetCurrentClocksEventReasons(struct weir_nvml_handle *device,
                                               unsigned long long *out);
API int nvmlDeviceGetCurrentClocksThrottleReasons(struct weir_nvml_handle *device,
                                                  unsigned long long *out);

enum { SAMPLING_PERIOD_US = 167000, PCIE_LANES = 16 };

/* A 32-bit number of the facts, by its place there. */
static int number(const struct weir_nvml_handle *device, unsigned *out, size_t offset)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        memcpy(out, (const char *)&view.facts + offset, sizeof(*out));
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

static unsigned percent(double share)
{
    return (unsigned)lround(100 * share);
}

static int engine(const struct weir_nvml_handle *device, bool is_encoder, unsigned *out,
                  unsigned *period_us)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (period_us == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = percent(is_encoder ? now.encoder : now.decoder);
    *period_us = SAMPLING_PERIOD_US;
    return WEIR_NVML_SUCCESS;
}

/* A GPU in MIG mode has no utilisation of its own. */
int nvmlDeviceGetUtilizationRates(struct weir_nvml_handle *device,
                                  struct weir_nvml_utilization *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (view.mig.is_enabled)
        return WEIR_NVML_NOT_SUPPORTED;
    out->gpu = percent(now.gpu);
    out->memory = percent(now.memory);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetEncoderUtilization(struct weir_nvml_handle *device, unsigned *out,
                                    unsigned *period_us)
{
    return engine(device, true, out, period_us);
}

int nvmlDeviceGetDecoderUtilization(struct weir_nvml_handle *device, unsigned *out,
                                    unsigned *period_us)
{
    return engine(device, false, out, period_us);
}

int nvmlDeviceGetTemperature(struct weir_nvml_handle *device, unsigned sensor, unsigned *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (sensor != 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = (unsigned)lround(now.base.temperature_c);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetTemperatureV(struct weir_nvml_handle *device, struct weir_nvml_temperature_v1 *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (out->version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_temperature_v1, 1))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    if (out->sensor != 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    out->temperature = (int32_t)lround(now.base.temperature_c);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetPowerUsage(struct weir_nvml_handle *device, unsigned *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result == WEIR_NVML_SUCCESS)
        *out = (unsigned)lround(now.base.power_w * 1000);
    return result;
}

int nvmlDeviceGetEnforcedPowerLimit(struct weir_nvml_handle *device, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.state.power_cap_mw > 0 ? view.state.power_cap_mw : view.facts.power_limit_mw;
    return result;
}

int nvmlDeviceGetPowerManagementLimit(struct weir_nvml_handle *device, unsigned *out)
{
    return nvmlDeviceGetEnforcedPowerLimit(device, out);
}

/* Down to two sevenths of the limit, as with the boards of 700 W that can be set to 200 W. */
int nvmlDeviceGetPowerManagementLimitConstraints(struct weir_nvml_handle *device, unsigned *min,
                                                 unsigned *max)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, min, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (max == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *min = view.facts.power_limit_mw / 7 * 2;
    *max = view.facts.power_limit_mw;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetPowerManagementDefaultLimit(struct weir_nvml_handle *device, unsigned *out)
{
    return number(device, out, offsetof(struct weir_sim_facts, power_limit_mw));
}

int nvmlDeviceGetTotalEnergyConsumption(struct weir_nvml_handle *device, unsigned long long *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result == WEIR_NVML_SUCCESS)
        *out = (unsigned long long)(now.base.energy_j * 1000);
    return result;
}

int nvmlDeviceGetClockInfo(struct weir_nvml_handle *device, unsigned domain, unsigned *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (domain > WEIR_NVML_CLOCK_VIDEO)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = domain == WEIR_NVML_CLOCK_MEM ? now.memory_clock_mhz : now.sm_clock_mhz;
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
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (counter > 1)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = (unsigned)lround(counter == WEIR_NVML_PCIE_TX ? now.pcie_tx_kib_s : now.pcie_rx_kib_s);
    return WEIR_NVML_SUCCESS;
}

/* P0 as soon as a process is there, P8 without. */
int nvmlDeviceGetPerformanceState(struct weir_nvml_handle *device, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.state.n_loads > 0 ? 0 : 8;
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

static uint32_t threshold_c(const struct weir_sim_view *view, unsigned type)
{
    uint32_t slowdown =
        view->state.thermal_limit_c > 0 ? view->state.thermal_limit_c : view->facts.slowdown_c;

    switch (type) {
    case WEIR_NVML_THRESHOLD_SHUTDOWN:
        return view->facts.shutdown_c;
    case WEIR_NVML_THRESHOLD_SLOWDOWN:
    case WEIR_NVML_THRESHOLD_GPU_MAX:
        return slowdown;
    case WEIR_NVML_THRESHOLD_MEMORY_MAX:
        return view->facts.memory_max_c;
    default:
        return 0;
    }
}

int nvmlDeviceGetTemperatureThreshold(struct weir_nvml_handle *device, unsigned type, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (threshold_c(&view, type) == 0)
        return WEIR_NVML_NOT_SUPPORTED;
    *out = threshold_c(&view, type);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkGeneration(struct weir_nvml_handle *device, unsigned *out)
{
    return number(device, out, offsetof(struct weir_sim_facts, pcie_gen));
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct weir_nvml_handle *device, unsigned *out)
{
    return number(device, out, offsetof(struct weir_sim_facts, pcie_gen));
}

int nvmlDeviceGetCurrPcieLinkWidth(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, PCIE_LANES);
}

int nvmlDeviceGetMaxPcieLinkWidth(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, PCIE_LANES);
}

int nvmlDeviceGetPcieReplayCounter(struct weir_nvml_handle *device, unsigned *out)
{
    return constant(device, out, 0);
}

int nvmlDeviceGetViolationStatus(struct weir_nvml_handle *device, unsigned policy,
                                 struct weir_nvml_violation *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    double s = 0;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (policy > WEIR_NVML_PERF_POLICY_BASE_CLOCKS)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (policy == WEIR_NVML_PERF_POLICY_POWER)
        s = now.base.power_violation_s;
    if (policy == WEIR_NVML_PERF_POLICY_THERMAL)
        s = now.base.thermal_violation_s;
    if (policy >= WEIR_NVML_PERF_POLICY_APP_CLOCKS)
        s = fmax(now.base.power_violation_s, now.base.thermal_violation_s);
    *out = (struct weir_nvml_violation){weir_sim_wall_us(), (uint64_t)(s * 1e9)};
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(struct weir_nvml_handle *device, unsigned long long *out)
{
    struct weir_sim_reading now;
    struct weir_sim_view view;
    int result = weir_sim_measure(device, out, &view, &now);

    if (result == WEIR_NVML_SUCCESS)
        *out = now.clock_reasons;
    return result;
}

/* The name before driver 535. */
int nvmlDeviceGetCurrentClocksThrottleReasons(struct weir_nvml_handle *device,
                                              unsigned long long *out)
{
    return nvmlDeviceGetCurrentClocksEventReasons(device, out);
}

int nvmlDeviceGetSupportedClocksEventReasons(struct weir_nvml_handle *device,
                                             unsigned long long *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = WEIR_NVML_CLOCK_REASON_GPU_IDLE | WEIR_NVML_CLOCK_REASON_SW_POWER_CAP |
               WEIR_NVML_CLOCK_REASON_SW_THERMAL;
    return result;
}
