#include "edge/nvml/simlib/simlib.h"

#include <time.h>

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

/* No process is an MPS client: nothing in a fleet file says so. */
enum { KIND_MPS = 2 };

/* Fills whichever of the two record forms is given. A call with room 0 asks for the number. */
static int list(struct weir_nvml_handle *device, uint32_t kind, unsigned *count,
                struct weir_nvml_process_v1 *v1, struct weir_nvml_process_v2 *v2)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, count, &view);
    unsigned room;
    unsigned n = 0;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    room = v1 != NULL || v2 != NULL ? *count : 0;
    for (uint32_t i = 0; i < view.state.n_processes; i++) {
        const struct weir_sim_process *process = &view.state.processes[i];

        if (process->kind != kind)
            continue;
        if (n < room && v1 != NULL)
            v1[n] = (struct weir_nvml_process_v1){process->pid, process->used_bytes};
        if (n < room && v2 != NULL)
            v2[n] = (struct weir_nvml_process_v2){process->pid, process->used_bytes,
                                                  WEIR_NVML_NO_INSTANCE, WEIR_NVML_NO_INSTANCE};
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
    return list(device, KIND_MPS, count, out, NULL);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v2(struct weir_nvml_handle *device, unsigned *count,
                                               struct weir_nvml_process_v2 *out)
{
    return list(device, KIND_MPS, count, NULL, out);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct weir_nvml_handle *device, unsigned *count,
                                               struct weir_nvml_process_v2 *out)
{
    return list(device, KIND_MPS, count, NULL, out);
}

int nvmlDeviceGetProcessUtilization(struct weir_nvml_handle *device,
                                    struct weir_nvml_process_sample *out, unsigned *count,
                                    unsigned long long last_seen_us)
{
    struct weir_sim_view view;
    struct timespec now;
    uint64_t now_us;
    unsigned room;
    int result = weir_sim_look(device, count, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    clock_gettime(CLOCK_REALTIME, &now);
    now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    room = out != NULL ? *count : 0;
    *count = view.state.n_processes;
    if (view.state.n_processes == 0 || last_seen_us >= now_us)
        return WEIR_NVML_NOT_FOUND;
    if (room < view.state.n_processes)
        return WEIR_NVML_INSUFFICIENT_SIZE;
    for (uint32_t i = 0; i < view.state.n_processes; i++)
        out[i] = (struct weir_nvml_process_sample){view.state.processes[i].pid,
                                                   now_us,
                                                   view.state.processes[i].sm_percent,
                                                   view.state.processes[i].memory_percent,
                                                   0,
                                                   0};
    return WEIR_NVML_SUCCESS;
}
