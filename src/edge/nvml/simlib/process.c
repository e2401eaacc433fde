#include "edge/nvml/simlib/simlib.h"

#include <math.h>

API int nvmlDeviceGetComputeRunningProcesses(struct weir_nvml_handle *device, unsigned *count,
                                             struct weir_nvml_process_v1 *out);
API int nvmlDeviceGetComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *count,
                                                struct weir_nvml_process_v2 *out);
API int nvmlDeviceGetComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *count,
                                                struct weir_nvml_process_v2 *out);
API int nvmlDeviceGetGraphicsRunningProcesses(struct weir_nvml_handle *device, unsigned *count,
                                              struct weir_nvml_process_v1 *out);
API int nvmlDeviceGetGraphicsRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *count,
                                                 struct weir_nvml_process_v2 *out);
API int nvmlDeviceGetGraphicsRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *count,
                                                 struct weir_nvml_process_v2 *out);
API int nvmlDeviceGetMPSComputeRunningProcesses(struct weir_nvml_handle *device, unsigned *count,
                                                struct weir_nvml_process_v1 *out);
API int nvmlDeviceGetMPSComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *count,
                                                   struct weir_nvml_process_v2 *out);
API int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *count,
                                                   struct weir_nvml_process_v2 *out);
API int nvmlDeviceGetProcessUtilization(struct weir_nvml_handle *device,
                                        struct weir_nvml_process_sample *out, unsigned *count,
                                        unsigned long long last_seen_us);

static uint32_t percent(double share)
{
    return (uint32_t)lround(100 * share);
}

/* Those of an instance where the device is a MIG device; on its GPU all, with their instances. */
static bool is_on(const struct weir_sim_load *load, const struct weir_sim_view *view)
{
    return view->gpu_instance == WEIR_NVML_NO_INSTANCE ||
           (load->gpu_instance == view->gpu_instance &&
            load->compute_instance == view->compute_instance);
}

/* Fills whichever of the two record forms is given. A call with room 0 asks for the number. */
static int list(struct weir_nvml_handle *device, uint32_t kind, unsigned *count,
                struct weir_nvml_process_v1 *v1, struct weir_nvml_process_v2 *v2)
{
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, count, WEIR_SIM_ACCEPT_MIG, &view);
    unsigned room;
    unsigned n = 0;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    room = v1 != NULL || v2 != NULL ? *count : 0;
    for (uint32_t i = 0; i < view.state.n_loads; i++) {
        const struct weir_sim_load *load = &view.state.loads[i];
        uint64_t used = weir_sim_model_memory(load, view.at_ms);

        if (load->kind != kind || !is_on(load, &view))
            continue;
        if (n < room && v1 != NULL)
            v1[n] = (struct weir_nvml_process_v1){load->pid, used};
        if (n < room && v2 != NULL)
            v2[n] = (struct weir_nvml_process_v2){load->pid, used, load->gpu_instance,
                                                  load->compute_instance};
        n++;
    }
    *count = n;
    return n <= room ? WEIR_NVML_SUCCESS : WEIR_NVML_INSUFFICIENT_SIZE;
}

int nvmlDeviceGetComputeRunningProcesses(struct weir_nvml_handle *device, unsigned *count,
                                         struct weir_nvml_process_v1 *out)
{
    return list(device, WEIR_SIM_COMPUTE, count, out, NULL);
}

int nvmlDeviceGetComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *count,
                                            struct weir_nvml_process_v2 *out)
{
    return list(device, WEIR_SIM_COMPUTE, count, NULL, out);
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *count,
                                            struct weir_nvml_process_v2 *out)
{
    return list(device, WEIR_SIM_COMPUTE, count, NULL, out);
}

int nvmlDeviceGetGraphicsRunningProcesses(struct weir_nvml_handle *device, unsigned *count,
                                          struct weir_nvml_process_v1 *out)
{
    return list(device, WEIR_SIM_GRAPHICS, count, out, NULL);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *count,
                                             struct weir_nvml_process_v2 *out)
{
    return list(device, WEIR_SIM_GRAPHICS, count, NULL, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *count,
                                             struct weir_nvml_process_v2 *out)
{
    return list(device, WEIR_SIM_GRAPHICS, count, NULL, out);
}

int nvmlDeviceGetMPSComputeRunningProcesses(struct weir_nvml_handle *device, unsigned *count,
                                            struct weir_nvml_process_v1 *out)
{
    return list(device, WEIR_SIM_MPS, count, out, NULL);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *count,
                                               struct weir_nvml_process_v2 *out)
{
    return list(device, WEIR_SIM_MPS, count, NULL, out);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *count,
                                               struct weir_nvml_process_v2 *out)
{
    return list(device, WEIR_SIM_MPS, count, NULL, out);
}

int nvmlDeviceGetProcessUtilization(struct weir_nvml_handle *device,
                                    struct weir_nvml_process_sample *out, unsigned *count,
                                    unsigned long long last_seen_us)
{
    struct weir_sim_view view;
    uint64_t now_us = weir_sim_wall_us();
    unsigned room;
    int result = weir_sim_look(device, count, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (view.mig.is_enabled)
        return WEIR_NVML_NOT_SUPPORTED;
    room = out != NULL ? *count : 0;
    *count = view.state.n_loads;
    if (view.state.n_loads == 0 || last_seen_us >= now_us)
        return WEIR_NVML_NOT_FOUND;
    if (room < view.state.n_loads)
        return WEIR_NVML_INSUFFICIENT_SIZE;
    for (uint32_t i = 0; i < view.state.n_loads; i++) {
        struct weir_sim_activity now;

        weir_sim_model_activity(&view.state, i, view.at_ms, &now);
        out[i] = (struct weir_nvml_process_sample){.pid = view.state.loads[i].pid,
                                                   .timestamp_us = now_us,
                                                   .sm_percent = percent(now.sm),
                                                   .memory_percent = percent(now.memory),
                                                   .encoder_percent = percent(now.encoder),
                                                   .decoder_percent = percent(now.decoder)};
    }
    return WEIR_NVML_SUCCESS;
}
