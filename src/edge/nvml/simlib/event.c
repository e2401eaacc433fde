#include "edge/nvml/simlib/simlib.h"

#include <stdlib.h>
#include <time.h>

API int nvmlEventSetCreate(struct weir_nvml_event_set **ret);
API int nvmlEventSetFree(struct weir_nvml_event_set *set);
API int nvmlEventSetWait(struct weir_nvml_event_set *set, void *data, unsigned timeout_ms);
API int nvmlEventSetWait_v2(struct weir_nvml_event_set *set, struct weir_nvml_event_data *data,
                            unsigned timeout_ms);
API int nvmlDeviceGetSupportedEventTypes(struct weir_nvml_handle *device,
                                         unsigned long long *types);
API int nvmlDeviceRegisterEvents(struct weir_nvml_handle *device, unsigned long long types,
                                 struct weir_nvml_event_set *set);

#define SUPPORTED                                                                                  \
    (WEIR_NVML_EVENT_SINGLE_BIT_ECC | WEIR_NVML_EVENT_DOUBLE_BIT_ECC | WEIR_NVML_EVENT_PSTATE |    \
     WEIR_NVML_EVENT_XID | WEIR_NVML_EVENT_CLOCK)

struct weir_nvml_event_set {
    struct weir_nvml_handle **devices;
    size_t n_devices;
};

int nvmlEventSetCreate(struct weir_nvml_event_set **ret)
{
    struct weir_nvml_event_set *set;
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (ret == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    set = calloc(1, sizeof(*set));
    if (set == NULL)
        return WEIR_NVML_MEMORY;
    *ret = set;
    return WEIR_NVML_SUCCESS;
}

int nvmlEventSetFree(struct weir_nvml_event_set *set)
{
    if (set == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    free(set->devices);
    free(set);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetSupportedEventTypes(struct weir_nvml_handle *device, unsigned long long *types)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, types, &view);

    if (result == WEIR_NVML_SUCCESS)
        *types = SUPPORTED;
    return result;
}

int nvmlDeviceRegisterEvents(struct weir_nvml_handle *device, unsigned long long types,
                             struct weir_nvml_event_set *set)
{
    struct weir_sim_view view;
    struct weir_nvml_handle **devices;
    int result = weir_sim_look(device, set, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if ((types & ~SUPPORTED) != 0)
        return WEIR_NVML_NOT_SUPPORTED;
    for (size_t i = 0; i < set->n_devices; i++)
        if (set->devices[i] == device)
            return WEIR_NVML_SUCCESS;
    devices = reallocarray(set->devices, set->n_devices + 1, sizeof(struct weir_nvml_handle *));
    if (devices == NULL)
        return WEIR_NVML_MEMORY;
    devices[set->n_devices++] = device;
    set->devices = devices;
    return WEIR_NVML_SUCCESS;
}

/* What may end a wait before its time: the fleet is gone, or a device that was listened to. */
static int check_devices(const struct weir_nvml_event_set *set)
{
    struct weir_sim_view view;
    int result = weir_sim_ready();

    for (size_t i = 0; i < set->n_devices && result == WEIR_NVML_SUCCESS; i++)
        result = weir_sim_look(set->devices[i], set, &view);
    return result;
}

/* A healthy fleet has no events, but clients wait in a loop without a pause of their own: the time
 * must pass here. */
int nvmlEventSetWait_v2(struct weir_nvml_event_set *set, struct weir_nvml_event_data *data,
                        unsigned timeout_ms)
{
    enum { SLICE_MS = 100 };
    unsigned left_ms = timeout_ms;

    if (set == NULL || data == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (;;) {
        unsigned slice_ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
        struct timespec slice = {0, (long)slice_ms * 1000000};
        int result = check_devices(set);

        if (result != WEIR_NVML_SUCCESS)
            return result;
        if (left_ms == 0)
            return WEIR_NVML_TIMEOUT;
        nanosleep(&slice, NULL);
        left_ms -= slice_ms;
    }
}

int nvmlEventSetWait(struct weir_nvml_event_set *set, void *data, unsigned timeout_ms)
{
    return nvmlEventSetWait_v2(set, data, timeout_ms);
}
