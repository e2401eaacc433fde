/* What a GPU's driver said of it last. */
#include "base/clock.h"
#include "edge/api/facts.h"
#include "edge/api/impl.h"
#include "port/gpu.h"

/* The same words as in the port, so that they need no dictionary. */
static const char *const limit_names[WEIR_GPU_LIMIT_MAX] = {
    [WEIR_GPU_POWER_LIMIT_MW] = "power_limit_mw",
    [WEIR_GPU_POWER_LIMIT_DEFAULT_MW] = "power_limit_default_mw",
    [WEIR_GPU_POWER_LIMIT_MIN_MW] = "power_limit_min_mw",
    [WEIR_GPU_POWER_LIMIT_MAX_MW] = "power_limit_max_mw",
    [WEIR_GPU_SM_CLOCK_MAX_MHZ] = "sm_clock_max_mhz",
    [WEIR_GPU_MEMORY_CLOCK_MAX_MHZ] = "memory_clock_max_mhz",
    [WEIR_GPU_SHUTDOWN_C] = "shutdown_c",
    [WEIR_GPU_SLOWDOWN_C] = "slowdown_c",
    [WEIR_GPU_MEMORY_MAX_C] = "memory_max_c",
    [WEIR_GPU_OPERATING_MAX_C] = "operating_max_c",
    [WEIR_GPU_PCIE_GENERATION_MAX] = "pcie_generation_max",
    [WEIR_GPU_PCIE_WIDTH_MAX] = "pcie_width_max",
};

static const char *const metric_names[WEIR_GPU_METRIC_MAX] = {
    [WEIR_GPU_UTILIZATION_PERCENT] = "utilization_percent",
    [WEIR_GPU_MEMORY_UTILIZATION_PERCENT] = "memory_utilization_percent",
    [WEIR_GPU_MEMORY_USED_BYTES] = "memory_used_bytes",
    [WEIR_GPU_POWER_MW] = "power_mw",
    [WEIR_GPU_POWER_AVERAGE_MW] = "power_average_mw",
    [WEIR_GPU_ENERGY_MJ] = "energy_mj",
    [WEIR_GPU_TEMPERATURE_C] = "temperature_c",
    [WEIR_GPU_MEMORY_TEMPERATURE_C] = "memory_temperature_c",
    [WEIR_GPU_GRAPHICS_CLOCK_MHZ] = "graphics_clock_mhz",
    [WEIR_GPU_SM_CLOCK_MHZ] = "sm_clock_mhz",
    [WEIR_GPU_MEMORY_CLOCK_MHZ] = "memory_clock_mhz",
    [WEIR_GPU_VIDEO_CLOCK_MHZ] = "video_clock_mhz",
    [WEIR_GPU_CLOCK_REASONS] = "clock_reasons",
    [WEIR_GPU_PERFORMANCE_STATE] = "performance_state",
    [WEIR_GPU_FAN_PERCENT] = "fan_percent",
    [WEIR_GPU_ENCODER_PERCENT] = "encoder_percent",
    [WEIR_GPU_DECODER_PERCENT] = "decoder_percent",
    [WEIR_GPU_ECC_CORRECTED_ERRORS] = "ecc_corrected_errors",
    [WEIR_GPU_ECC_UNCORRECTED_ERRORS] = "ecc_uncorrected_errors",
    [WEIR_GPU_ECC_CORRECTED_AGGREGATE_ERRORS] = "ecc_corrected_aggregate_errors",
    [WEIR_GPU_ECC_UNCORRECTED_AGGREGATE_ERRORS] = "ecc_uncorrected_aggregate_errors",
    [WEIR_GPU_ECC_UNCORRECTED_DRAM_ERRORS] = "ecc_uncorrected_dram_errors",
    [WEIR_GPU_ECC_UNCORRECTED_SRAM_ERRORS] = "ecc_uncorrected_sram_errors",
    [WEIR_GPU_SRAM_THRESHOLD_EXCEEDED] = "sram_threshold_exceeded",
    [WEIR_GPU_REMAPPED_CORRECTABLE] = "remapped_correctable",
    [WEIR_GPU_REMAPPED_UNCORRECTABLE] = "remapped_uncorrectable",
    [WEIR_GPU_REMAP_PENDING] = "remap_pending",
    [WEIR_GPU_REMAP_FAILED] = "remap_failed",
    [WEIR_GPU_REMAP_BANKS_FULL] = "remap_banks_full",
    [WEIR_GPU_REMAP_BANKS_HIGH] = "remap_banks_high",
    [WEIR_GPU_REMAP_BANKS_PARTIAL] = "remap_banks_partial",
    [WEIR_GPU_REMAP_BANKS_LOW] = "remap_banks_low",
    [WEIR_GPU_REMAP_BANKS_NONE] = "remap_banks_none",
    [WEIR_GPU_RETIRED_PAGES_CORRECTABLE] = "retired_pages_correctable",
    [WEIR_GPU_RETIRED_PAGES_UNCORRECTABLE] = "retired_pages_uncorrectable",
    [WEIR_GPU_RETIREMENT_PENDING] = "retirement_pending",
    [WEIR_GPU_RECOVERY_ACTION] = "recovery_action",
    [WEIR_GPU_PCIE_SENT_BYTES_S] = "pcie_sent_bytes_s",
    [WEIR_GPU_PCIE_RECEIVED_BYTES_S] = "pcie_received_bytes_s",
    [WEIR_GPU_PCIE_REPLAYS] = "pcie_replays",
    [WEIR_GPU_PCIE_GENERATION] = "pcie_generation",
    [WEIR_GPU_PCIE_WIDTH] = "pcie_width",
    [WEIR_GPU_NVLINK_SENT_BYTES] = "nvlink_sent_bytes",
    [WEIR_GPU_NVLINK_RECEIVED_BYTES] = "nvlink_received_bytes",
    [WEIR_GPU_NVLINK_CRC_FLIT_ERRORS] = "nvlink_crc_flit_errors",
    [WEIR_GPU_NVLINK_CRC_DATA_ERRORS] = "nvlink_crc_data_errors",
    [WEIR_GPU_NVLINK_REPLAY_ERRORS] = "nvlink_replay_errors",
    [WEIR_GPU_NVLINK_RECOVERY_ERRORS] = "nvlink_recovery_errors",
    [WEIR_GPU_NVLINK_ECC_ERRORS] = "nvlink_ecc_errors",
    [WEIR_GPU_VIOLATION_POWER_NS] = "violation_power_ns",
    [WEIR_GPU_VIOLATION_THERMAL_NS] = "violation_thermal_ns",
    [WEIR_GPU_VIOLATION_SYNC_BOOST_NS] = "violation_sync_boost_ns",
    [WEIR_GPU_VIOLATION_BOARD_LIMIT_NS] = "violation_board_limit_ns",
    [WEIR_GPU_VIOLATION_LOW_UTILIZATION_NS] = "violation_low_utilization_ns",
    [WEIR_GPU_VIOLATION_RELIABILITY_NS] = "violation_reliability_ns",
    [WEIR_GPU_GRAPHICS_ACTIVE_PPM] = "graphics_active_ppm",
    [WEIR_GPU_SM_ACTIVE_PPM] = "sm_active_ppm",
    [WEIR_GPU_SM_OCCUPANCY_PPM] = "sm_occupancy_ppm",
    [WEIR_GPU_TENSOR_ACTIVE_PPM] = "tensor_active_ppm",
    [WEIR_GPU_DRAM_ACTIVE_PPM] = "dram_active_ppm",
    [WEIR_GPU_FP64_ACTIVE_PPM] = "fp64_active_ppm",
    [WEIR_GPU_FP32_ACTIVE_PPM] = "fp32_active_ppm",
    [WEIR_GPU_FP16_ACTIVE_PPM] = "fp16_active_ppm",
    [WEIR_GPU_NVLINK_SENT_BYTES_S] = "nvlink_sent_bytes_s",
    [WEIR_GPU_NVLINK_RECEIVED_BYTES_S] = "nvlink_received_bytes_s",
};

static const char *const state_names[WEIR_GPU_STATE_MAX] = {
    [WEIR_GPU_READY] = "ready",
    [WEIR_GPU_LOST] = "lost",
    [WEIR_GPU_RESET_REQUIRED] = "reset-required",
    [WEIR_GPU_HUNG] = "hung",
    [WEIR_GPU_UNREADABLE] = "unreadable",
    [WEIR_GPU_ABSENT] = "absent",
};

static void put_i64(struct weir_json_writer *w, const char *key, int64_t value)
{
    weir_json_key(w, key);
    weir_json_i64(w, value);
}

static void put_if(struct weir_json_writer *w, const char *key, bool is_known, int64_t value)
{
    weir_json_key(w, key);
    if (is_known)
        weir_json_i64(w, value);
    else
        weir_json_null(w);
}

static void put_limits(struct weir_json_writer *w, const struct weir_gpu_limits *limits)
{
    weir_json_key(w, "limits");
    weir_json_object_begin(w);
    for (int i = 0; i < WEIR_GPU_LIMIT_MAX; i++)
        if (weir_gpu_has_limit(limits, (enum weir_gpu_limit)i))
            put_i64(w, limit_names[i], limits->of[i]);
    weir_json_object_end(w);
}

static void put_metrics(struct weir_json_writer *w, const struct weir_gpu_metrics *metrics)
{
    weir_json_key(w, "metrics");
    weir_json_object_begin(w);
    for (int i = 0; i < WEIR_GPU_METRIC_MAX; i++)
        if (weir_gpu_has_metric(metrics, (enum weir_gpu_metric)i))
            put_i64(w, metric_names[i], metrics->of[i]);
    weir_json_object_end(w);
}

/* Whose it is; all null until it was looked at. */
static void put_owner(struct weir_json_writer *w, struct weir_api *api, struct weir_str uuid,
                      uint32_t pid)
{
    struct weir_service_process owner = {0};
    bool is_known = api->service.process(api->service.ctx, uuid, pid, &owner);
    const struct weir_user *user =
        is_known ? weir_users_by_uid(&api->users, owner.uid, owner.uid) : NULL;

    weir_api_put_name(w, "user", user != NULL ? weir_str(user->name) : WEIR_STR(""));
    if (owner.number != 0) {
        weir_api_put_id(w, "workload", owner.number);
    } else {
        weir_json_key(w, "workload");
        weir_json_null(w);
    }
    weir_json_key(w, "foreign");
    if (is_known)
        weir_json_bool(w, owner.is_foreign);
    else
        weir_json_null(w);
}

static void put_process(struct weir_json_writer *w, struct weir_api *api, struct weir_str uuid,
                        const struct weir_gpu_process *process)
{
    weir_json_object_begin(w);
    put_i64(w, "pid", process->pid);
    put_owner(w, api, uuid, process->pid);
    put_if(w, "memory_bytes", (process->valid & WEIR_GPU_PROCESS_HAS_MEMORY) != 0,
           process->used_bytes);
    put_if(w, "sm_percent", (process->valid & WEIR_GPU_PROCESS_HAS_SM) != 0, process->sm_percent);
    put_if(w, "gpu_instance", process->gpu_instance != WEIR_GPU_NO_INSTANCE, process->gpu_instance);
    weir_json_object_end(w);
}

static void put_processes(struct weir_json_writer *w, struct weir_api *api, struct weir_str uuid,
                          const struct weir_gpu_sample *sample)
{
    weir_json_key(w, "processes");
    if (sample == NULL || !sample->has_processes) {
        weir_json_null(w);
        return;
    }
    weir_json_array_begin(w);
    for (uint32_t i = 0; i < sample->n_processes; i++)
        put_process(w, api, uuid, &sample->processes[i]);
    weir_json_array_end(w);
}

static struct weir_str profile_name(const struct weir_gpu_device *gpu, uint32_t profile_id)
{
    for (uint32_t i = 0; i < gpu->n_profiles; i++)
        if (gpu->profiles[i].id == profile_id)
            return gpu->profiles[i].name;
    return WEIR_STR("");
}

static void put_instance(struct weir_json_writer *w, const struct weir_gpu_device *gpu,
                         const struct weir_gpu_instance *instance)
{
    weir_json_object_begin(w);
    put_i64(w, "id", instance->id);
    weir_api_put_str(w, "profile", profile_name(gpu, instance->profile_id));
    put_i64(w, "start", instance->placement.start);
    put_i64(w, "size", instance->placement.size);
    weir_json_key(w, "keys");
    weir_json_array_begin(w);
    for (uint32_t i = 0; i < instance->n_compute; i++)
        weir_json_str(w, instance->compute[i].uuid);
    weir_json_array_end(w);
    weir_json_object_end(w);
}

static void put_mig(struct weir_json_writer *w, const struct weir_gpu_device *gpu)
{
    weir_json_key(w, "mig");
    if ((gpu->valid & WEIR_GPU_HAS_MIG_MODE) == 0) {
        weir_json_null(w);
        return;
    }
    weir_json_object_begin(w);
    weir_json_key(w, "enabled");
    weir_json_bool(w, gpu->mig_mode);
    weir_json_key(w, "after_reset");
    weir_json_bool(w, gpu->mig_pending);
    weir_json_key(w, "instances");
    weir_json_array_begin(w);
    for (uint32_t i = 0; i < gpu->n_instances; i++)
        put_instance(w, gpu, &gpu->instances[i]);
    weir_json_array_end(w);
    weir_json_object_end(w);
}

static void put_nvlinks(struct weir_json_writer *w, const struct weir_gpu_device *gpu)
{
    static const char *const kinds[WEIR_GPU_LINK_KIND_MAX] = {"gpu", "switch", "cpu", "unknown"};

    weir_json_key(w, "nvlinks");
    if ((gpu->valid & WEIR_GPU_HAS_LINKS) == 0) {
        weir_json_null(w);
        return;
    }
    weir_json_array_begin(w);
    for (uint32_t i = 0; i < gpu->n_links; i++) {
        const struct weir_gpu_nvlink *link = &gpu->links[i];

        weir_json_object_begin(w);
        put_i64(w, "link", link->link);
        weir_api_put_str(w, "to", weir_str(kinds[link->kind]));
        weir_json_key(w, "active");
        weir_json_bool(w, link->is_active);
        weir_api_put_name(w, "peer", link->peer_pci);
        weir_json_object_end(w);
    }
    weir_json_array_end(w);
}

void weir_api_put_reading(struct weir_json_writer *w, struct weir_api *api,
                          const struct weir_gpu_device *gpu)
{
    const struct weir_gpu_sample *sample = gpu->sample;
    static const struct weir_gpu_metrics none = {.valid = {0, 0}};

    weir_json_object_begin(w);
    weir_api_put_str(w, "state", weir_str(state_names[gpu->state]));
    weir_api_put_name(w, "cause", gpu->cause);
    weir_api_put_name(w, "pci", gpu->pci);
    put_if(w, "numa_node", (gpu->valid & WEIR_GPU_HAS_NUMA) != 0, gpu->numa_node);
    put_limits(w, &gpu->limits);
    put_if(w, "age_ms", sample != NULL,
           sample != NULL ? weir_clock_mono_ms() - sample->read_ms : 0);
    put_metrics(w, sample != NULL ? &sample->metrics : &none);
    put_processes(w, api, gpu->uuid, sample);
    put_mig(w, gpu);
    put_nvlinks(w, gpu);
    weir_json_object_end(w);
}
