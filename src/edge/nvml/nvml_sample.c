#include "edge/nvml/nvml_internal.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>

typedef int number_fn(struct weir_nvml_handle *device, unsigned *out);
typedef int kind_fn(struct weir_nvml_handle *device, unsigned kind, unsigned *out);

/* ---- field values: one call for all ---- */

struct field {
    uint32_t field;
    uint32_t scope;
    enum weir_gpu_metric metric;
    int32_t factor;
};

static const struct field fields[] = {
    {WEIR_NVML_FIELD_MEMORY_TEMP, 0, WEIR_GPU_MEMORY_TEMPERATURE_C, 1},
    {WEIR_NVML_FIELD_TOTAL_ENERGY, 0, WEIR_GPU_ENERGY_MJ, 1},
    {WEIR_NVML_FIELD_POWER_AVERAGE, 0, WEIR_GPU_POWER_AVERAGE_MW, 1},
    {WEIR_NVML_FIELD_POWER_INSTANT, 0, WEIR_GPU_POWER_MW, 1},
    {WEIR_NVML_FIELD_RECOVERY_ACTION, 0, WEIR_GPU_RECOVERY_ACTION, 1},
    {WEIR_NVML_FIELD_RETIRED_SBE, 0, WEIR_GPU_RETIRED_PAGES_CORRECTABLE, 1},
    {WEIR_NVML_FIELD_RETIRED_DBE, 0, WEIR_GPU_RETIRED_PAGES_UNCORRECTABLE, 1},
    {WEIR_NVML_FIELD_RETIRED_PENDING, 0, WEIR_GPU_RETIREMENT_PENDING, 1},
    {WEIR_NVML_FIELD_REMAPPED_CORRECTABLE, 0, WEIR_GPU_REMAPPED_CORRECTABLE, 1},
    {WEIR_NVML_FIELD_REMAPPED_UNCORRECTABLE, 0, WEIR_GPU_REMAPPED_UNCORRECTABLE, 1},
    {WEIR_NVML_FIELD_REMAPPED_PENDING, 0, WEIR_GPU_REMAP_PENDING, 1},
    {WEIR_NVML_FIELD_REMAPPED_FAILURE, 0, WEIR_GPU_REMAP_FAILED, 1},
    {WEIR_NVML_FIELD_NVLINK_DATA_TX, WEIR_NVML_SCOPE_ALL_LINKS, WEIR_GPU_NVLINK_SENT_BYTES, 1024},
    {WEIR_NVML_FIELD_NVLINK_DATA_RX, WEIR_NVML_SCOPE_ALL_LINKS, WEIR_GPU_NVLINK_RECEIVED_BYTES,
     1024},
    {WEIR_NVML_FIELD_NVLINK_CRC_FLIT_TOTAL, 0, WEIR_GPU_NVLINK_CRC_FLIT_ERRORS, 1},
    {WEIR_NVML_FIELD_NVLINK_CRC_DATA_TOTAL, 0, WEIR_GPU_NVLINK_CRC_DATA_ERRORS, 1},
    {WEIR_NVML_FIELD_NVLINK_REPLAY_TOTAL, 0, WEIR_GPU_NVLINK_REPLAY_ERRORS, 1},
    {WEIR_NVML_FIELD_NVLINK_RECOVERY_TOTAL, 0, WEIR_GPU_NVLINK_RECOVERY_ERRORS, 1},
    {WEIR_NVML_FIELD_NVLINK_ECC_TOTAL, 0, WEIR_GPU_NVLINK_ECC_ERRORS, 1},
    {WEIR_NVML_FIELD_VIOLATION_POWER, 0, WEIR_GPU_VIOLATION_POWER_NS, 1},
    {WEIR_NVML_FIELD_VIOLATION_THERMAL, 0, WEIR_GPU_VIOLATION_THERMAL_NS, 1},
    {WEIR_NVML_FIELD_VIOLATION_SYNC_BOOST, 0, WEIR_GPU_VIOLATION_SYNC_BOOST_NS, 1},
    {WEIR_NVML_FIELD_VIOLATION_BOARD_LIMIT, 0, WEIR_GPU_VIOLATION_BOARD_LIMIT_NS, 1},
    {WEIR_NVML_FIELD_VIOLATION_LOW_UTILIZATION, 0, WEIR_GPU_VIOLATION_LOW_UTILIZATION_NS, 1},
    {WEIR_NVML_FIELD_VIOLATION_RELIABILITY, 0, WEIR_GPU_VIOLATION_RELIABILITY_NS, 1},
};

enum { N_FIELDS = WEIR_COUNT_OF(fields) };

/* False for a type that is not known, or a value that is none. */
static bool field_number(const struct weir_nvml_field_value *from, int64_t *ret)
{
    union {
        uint64_t u64;
        int64_t i64;
    } wide = {.u64 = from->value.u64};
    union {
        uint32_t u32;
        int32_t i32;
    } narrow = {.u32 = from->value.u32};

    switch (from->value_type) {
    case WEIR_NVML_VALUE_DOUBLE:
        *ret = fabs(from->value.f64) < 0x1p62 ? (int64_t)from->value.f64 : 0;
        return fabs(from->value.f64) < 0x1p62;
    case WEIR_NVML_VALUE_UNSIGNED_INT:
        *ret = narrow.u32;
        return true;
    case WEIR_NVML_VALUE_UNSIGNED_LONG:
    case WEIR_NVML_VALUE_UNSIGNED_LONG_LONG:
        *ret = weir_nvml_amount(wide.u64);
        return wide.u64 != WEIR_NVML_VALUE_NOT_AVAILABLE;
    case WEIR_NVML_VALUE_SIGNED_LONG_LONG:
        *ret = wide.i64;
        return true;
    case WEIR_NVML_VALUE_SIGNED_INT:
        *ret = narrow.i32;
        return true;
    case WEIR_NVML_VALUE_UNSIGNED_SHORT:
        *ret = narrow.u32 & 0xffffu;
        return true;
    default:
        return false;
    }
}

static void read_fields(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    struct weir_nvml_field_value values[N_FIELDS] = {{.field = 0}};

    for (size_t i = 0; i < N_FIELDS; i++) {
        values[i].field = fields[i].field;
        values[i].scope = fields[i].scope;
        values[i].result = WEIR_NVML_NOT_SUPPORTED;
    }
    if (reader->call->fields == NULL ||
        !weir_nvml_ok(reader, reader->call->fields(reader->handle, N_FIELDS, values)))
        return;
    for (size_t i = 0; i < N_FIELDS; i++) {
        int64_t value;

        if (weir_nvml_ok(reader, values[i].result) && field_number(&values[i], &value) &&
            value <= INT64_MAX / fields[i].factor && value >= INT64_MIN / fields[i].factor)
            weir_gpu_set_metric(metrics, fields[i].metric, value * fields[i].factor);
    }
}

/* ---- functions of their own ---- */

static void number(struct weir_nvml_reader *reader, number_fn *call, enum weir_gpu_metric metric,
                   struct weir_gpu_metrics *metrics)
{
    unsigned value = 0;

    if (call != NULL && weir_nvml_ok(reader, call(reader->handle, &value)))
        weir_gpu_set_metric(metrics, metric, value);
}

static void number_of(struct weir_nvml_reader *reader, kind_fn *call, unsigned kind,
                      enum weir_gpu_metric metric, int64_t factor, struct weir_gpu_metrics *metrics)
{
    unsigned value = 0;

    if (call != NULL && weir_nvml_ok(reader, call(reader->handle, kind, &value)))
        weir_gpu_set_metric(metrics, metric, value * factor);
}

static void read_load(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_utilization load = {0, 0};
    unsigned percent = 0;
    unsigned period_us = 0;

    if (call->utilization != NULL &&
        weir_nvml_ok(reader, call->utilization(reader->handle, &load))) {
        weir_gpu_set_metric(metrics, WEIR_GPU_UTILIZATION_PERCENT, load.gpu);
        weir_gpu_set_metric(metrics, WEIR_GPU_MEMORY_UTILIZATION_PERCENT, load.memory);
    }
    if (call->encoder != NULL &&
        weir_nvml_ok(reader, call->encoder(reader->handle, &percent, &period_us)))
        weir_gpu_set_metric(metrics, WEIR_GPU_ENCODER_PERCENT, percent);
    if (call->decoder != NULL &&
        weir_nvml_ok(reader, call->decoder(reader->handle, &percent, &period_us)))
        weir_gpu_set_metric(metrics, WEIR_GPU_DECODER_PERCENT, percent);
}

static void read_temperature(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_temperature_v1 v1 = {WEIR_NVML_STRUCT_VERSION(v1, 1),
                                          WEIR_NVML_TEMPERATURE_GPU, 0};

    if (call->temperature_v1 != NULL &&
        weir_nvml_ok(reader, call->temperature_v1(reader->handle, &v1)))
        weir_gpu_set_metric(metrics, WEIR_GPU_TEMPERATURE_C, v1.temperature);
    else
        number_of(reader, call->temperature, WEIR_NVML_TEMPERATURE_GPU, WEIR_GPU_TEMPERATURE_C, 1,
                  metrics);
}

static void read_power_and_heat(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    const struct weir_nvml_symbols *call = reader->call;
    unsigned long long amount = 0;

    read_temperature(reader, metrics);
    number(reader, call->fan, WEIR_GPU_FAN_PERCENT, metrics);
    /* Newer drivers have both as field values: power as it is now, not as a mean. */
    if (!weir_gpu_has_metric(metrics, WEIR_GPU_POWER_MW))
        number(reader, call->power, WEIR_GPU_POWER_MW, metrics);
    if (!weir_gpu_has_metric(metrics, WEIR_GPU_ENERGY_MJ) && call->energy != NULL &&
        weir_nvml_ok(reader, call->energy(reader->handle, &amount)))
        weir_gpu_set_metric(metrics, WEIR_GPU_ENERGY_MJ, weir_nvml_amount(amount));
}

static void read_clocks(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    const struct weir_nvml_symbols *call = reader->call;
    unsigned long long reasons = 0;
    unsigned state = 0;

    number_of(reader, call->clock, WEIR_NVML_CLOCK_GRAPHICS, WEIR_GPU_GRAPHICS_CLOCK_MHZ, 1,
              metrics);
    number_of(reader, call->clock, WEIR_NVML_CLOCK_SM, WEIR_GPU_SM_CLOCK_MHZ, 1, metrics);
    number_of(reader, call->clock, WEIR_NVML_CLOCK_MEM, WEIR_GPU_MEMORY_CLOCK_MHZ, 1, metrics);
    number_of(reader, call->clock, WEIR_NVML_CLOCK_VIDEO, WEIR_GPU_VIDEO_CLOCK_MHZ, 1, metrics);
    if (call->clock_reasons != NULL &&
        weir_nvml_ok(reader, call->clock_reasons(reader->handle, &reasons)))
        weir_gpu_set_metric(metrics, WEIR_GPU_CLOCK_REASONS, weir_nvml_amount(reasons));
    if (call->performance_state != NULL &&
        weir_nvml_ok(reader, call->performance_state(reader->handle, &state)) &&
        state <= WEIR_NVML_PSTATE_MAX)
        weir_gpu_set_metric(metrics, WEIR_GPU_PERFORMANCE_STATE, state);
}

static void errors_total(struct weir_nvml_reader *reader, unsigned kind, unsigned since,
                         enum weir_gpu_metric metric, struct weir_gpu_metrics *metrics)
{
    unsigned long long count = 0;

    if (reader->call->ecc_total != NULL &&
        weir_nvml_ok(reader, reader->call->ecc_total(reader->handle, kind, since, &count)))
        weir_gpu_set_metric(metrics, metric, weir_nvml_amount(count));
}

static void errors_in(struct weir_nvml_reader *reader, unsigned where, enum weir_gpu_metric metric,
                      struct weir_gpu_metrics *metrics)
{
    unsigned long long count = 0;

    if (reader->call->ecc_location != NULL &&
        weir_nvml_ok(reader, reader->call->ecc_location(reader->handle, WEIR_NVML_ECC_UNCORRECTED,
                                                        WEIR_NVML_ECC_VOLATILE, where, &count)))
        weir_gpu_set_metric(metrics, metric, weir_nvml_amount(count));
}

static void read_ecc(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    struct weir_nvml_sram_status_v1 sram = {.version = WEIR_NVML_STRUCT_VERSION(sram, 1)};

    errors_total(reader, WEIR_NVML_ECC_CORRECTED, WEIR_NVML_ECC_VOLATILE,
                 WEIR_GPU_ECC_CORRECTED_ERRORS, metrics);
    errors_total(reader, WEIR_NVML_ECC_UNCORRECTED, WEIR_NVML_ECC_VOLATILE,
                 WEIR_GPU_ECC_UNCORRECTED_ERRORS, metrics);
    errors_total(reader, WEIR_NVML_ECC_CORRECTED, WEIR_NVML_ECC_AGGREGATE,
                 WEIR_GPU_ECC_CORRECTED_AGGREGATE_ERRORS, metrics);
    errors_total(reader, WEIR_NVML_ECC_UNCORRECTED, WEIR_NVML_ECC_AGGREGATE,
                 WEIR_GPU_ECC_UNCORRECTED_AGGREGATE_ERRORS, metrics);
    errors_in(reader, WEIR_NVML_LOCATION_DRAM, WEIR_GPU_ECC_UNCORRECTED_DRAM_ERRORS, metrics);
    errors_in(reader, WEIR_NVML_LOCATION_SRAM, WEIR_GPU_ECC_UNCORRECTED_SRAM_ERRORS, metrics);
    if (reader->call->sram_status != NULL &&
        weir_nvml_ok(reader, reader->call->sram_status(reader->handle, &sram)))
        weir_gpu_set_metric(metrics, WEIR_GPU_SRAM_THRESHOLD_EXCEEDED,
                            sram.is_threshold_exceeded != 0);
}

static void read_remaps(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_remap_histogram banks = {0, 0, 0, 0, 0};
    unsigned rows[4] = {0};

    if (!weir_gpu_has_metric(metrics, WEIR_GPU_REMAPPED_CORRECTABLE) &&
        call->remapped_rows != NULL &&
        weir_nvml_ok(reader,
                     call->remapped_rows(reader->handle, &rows[0], &rows[1], &rows[2], &rows[3]))) {
        weir_gpu_set_metric(metrics, WEIR_GPU_REMAPPED_CORRECTABLE, rows[0]);
        weir_gpu_set_metric(metrics, WEIR_GPU_REMAPPED_UNCORRECTABLE, rows[1]);
        weir_gpu_set_metric(metrics, WEIR_GPU_REMAP_PENDING, rows[2] != 0);
        weir_gpu_set_metric(metrics, WEIR_GPU_REMAP_FAILED, rows[3] != 0);
    }
    if (call->remap_histogram == NULL ||
        !weir_nvml_ok(reader, call->remap_histogram(reader->handle, &banks)))
        return;
    weir_gpu_set_metric(metrics, WEIR_GPU_REMAP_BANKS_FULL, banks.max);
    weir_gpu_set_metric(metrics, WEIR_GPU_REMAP_BANKS_HIGH, banks.high);
    weir_gpu_set_metric(metrics, WEIR_GPU_REMAP_BANKS_PARTIAL, banks.partial);
    weir_gpu_set_metric(metrics, WEIR_GPU_REMAP_BANKS_LOW, banks.low);
    weir_gpu_set_metric(metrics, WEIR_GPU_REMAP_BANKS_NONE, banks.none);
}

static void read_pcie(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    const struct weir_nvml_symbols *call = reader->call;

    /* The driver watches the bus for 20 ms to answer this; GPM has it at no cost. */
    if (!weir_gpu_has_metric(metrics, WEIR_GPU_PCIE_SENT_BYTES_S))
        number_of(reader, call->pcie_throughput, WEIR_NVML_PCIE_TX, WEIR_GPU_PCIE_SENT_BYTES_S,
                  1024, metrics);
    if (!weir_gpu_has_metric(metrics, WEIR_GPU_PCIE_RECEIVED_BYTES_S))
        number_of(reader, call->pcie_throughput, WEIR_NVML_PCIE_RX, WEIR_GPU_PCIE_RECEIVED_BYTES_S,
                  1024, metrics);
    number(reader, call->pcie_replays, WEIR_GPU_PCIE_REPLAYS, metrics);
    number(reader, call->pcie_generation, WEIR_GPU_PCIE_GENERATION, metrics);
    number(reader, call->pcie_width, WEIR_GPU_PCIE_WIDTH, metrics);
}

static void read_memory(struct weir_nvml_reader *reader, struct weir_gpu_metrics *metrics)
{
    struct weir_nvml_memory memory;

    if (weir_nvml_read_memory(reader, reader->handle, &memory))
        weir_gpu_set_metric(metrics, WEIR_GPU_MEMORY_USED_BYTES, memory.used_bytes);
}

/* ---- instances ---- */

/* Compute instances of one GPU instance are MIG devices of their own, and share its memory. */
static bool is_listed(const struct weir_gpu_instance_sample *samples, uint32_t n, uint32_t gi)
{
    for (uint32_t i = 0; i < n; i++)
        if (samples[i].gpu_instance == gi)
            return true;
    return false;
}

static void read_instance(struct weir_nvml_reader *reader, struct weir_nvml_meter *meter,
                          struct weir_nvml_handle *handle, struct weir_gpu_instance_sample *sample)
{
    struct weir_nvml_memory memory;

    if (weir_nvml_read_memory(reader, handle, &memory)) {
        sample->memory_total_bytes = memory.total_bytes;
        weir_gpu_set_metric(&sample->metrics, WEIR_GPU_MEMORY_USED_BYTES, memory.used_bytes);
    }
    if (sample->gpu_instance < WEIR_NVML_METERED_INSTANCES)
        weir_nvml_read_gpm(reader, meter, (int)sample->gpu_instance, &sample->metrics);
}

static int read_instances(struct weir_nvml_reader *reader, struct weir_nvml_meter *meter,
                          struct weir_gpu_sample *sample, struct weir_err *err)
{
    enum { MAX = 64 };
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_gpu_instance_sample *samples;
    uint32_t seen = 0;
    unsigned max = 0;
    uint32_t n = 0;

    if (call->mig_devices_max == NULL || call->mig_device == NULL || call->gi_of_device == NULL ||
        !weir_nvml_ok(reader, call->mig_devices_max(reader->handle, &max)) || max == 0)
        return 0;
    max = max < MAX ? max : MAX;
    samples = weir_arena_new_n(reader->arena, struct weir_gpu_instance_sample, max);
    if (samples == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU's instances");
    for (unsigned i = 0; i < max; i++) {
        struct weir_nvml_handle *handle = NULL;
        unsigned gi = 0;

        if (!weir_nvml_ok(reader, call->mig_device(reader->handle, i, &handle)) ||
            !weir_nvml_ok(reader, call->gi_of_device(handle, &gi)) || is_listed(samples, n, gi))
            continue;
        samples[n].gpu_instance = gi;
        seen |= gi < WEIR_NVML_METERED_INSTANCES ? 1u << gi : 0;
        read_instance(reader, meter, handle, &samples[n++]);
    }
    weir_nvml_meter_keep(meter, seen);
    sample->instances = samples;
    sample->n_instances = n;
    return 0;
}

/* ---- the whole ---- */

static bool has_mig(struct weir_nvml_reader *reader)
{
    unsigned current = 0;
    unsigned pending = 0;

    return reader->call->mig_mode != NULL &&
           weir_nvml_ok(reader, reader->call->mig_mode(reader->handle, &current, &pending)) &&
           current == WEIR_NVML_MIG_ENABLE;
}

static int read_all(struct weir_nvml_reader *reader, struct weir_nvml_meter *meter,
                    struct weir_gpu_sample *sample, struct weir_err *err)
{
    struct weir_gpu_metrics *metrics = &sample->metrics;
    bool is_mig = has_mig(reader);
    int r;

    read_memory(reader, metrics);
    read_fields(reader, metrics);
    read_load(reader, metrics);
    read_power_and_heat(reader, metrics);
    read_clocks(reader, metrics);
    read_ecc(reader, metrics);
    read_remaps(reader, metrics);
    weir_nvml_read_gpm(reader, meter, WEIR_GPU_NO_INSTANCE, metrics);
    read_pcie(reader, metrics);
    /* A GPU that went away has nothing to say of who uses it. */
    if (reader->failed != WEIR_NVML_SUCCESS)
        return 0;
    r = weir_nvml_read_processes(reader, is_mig, sample, err);
    if (!is_mig)
        weir_nvml_meter_keep(meter, 0);
    return r < 0 || !is_mig ? r : read_instances(reader, meter, sample, err);
}

int weir_nvml_read_sample(const struct weir_nvml *nvml, uint32_t index,
                          struct weir_nvml_meter *meter, struct weir_arena *arena,
                          struct weir_gpu_sample *ret_sample, struct weir_nvml_health *ret_health,
                          struct weir_err *err)
{
    struct weir_nvml_reader reader = {&nvml->call, NULL, arena, WEIR_NVML_SUCCESS};
    struct weir_gpu_sample sample = {.read_ms = weir_clock_mono_ms()};
    struct weir_nvml_health health = {.state = WEIR_GPU_READY};
    int result = nvml->call.by_index(index, &reader.handle);
    int r = 0;

    if (result != WEIR_NVML_SUCCESS)
        reader.failed = result;
    else
        r = read_all(&reader, meter, &sample, err);
    if (r < 0)
        return r;
    if (reader.failed != WEIR_NVML_SUCCESS) {
        health.state = weir_nvml_state(reader.failed);
        snprintf(health.cause, sizeof(health.cause), "%s",
                 weir_nvml_words(reader.call, reader.failed));
    }
    *ret_sample = sample;
    *ret_health = health;
    return 0;
}
