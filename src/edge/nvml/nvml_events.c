#include "edge/nvml/nvml_internal.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

struct device {
    struct weir_nvml_handle *handle;
    char uuid[WEIR_GPU_UUID_BYTES];
};

struct weir_nvml_events {
    const struct weir_nvml_symbols *call;
    struct weir_nvml_event_set *set;
    uint32_t n_devices;
    struct device devices[]; /* who is who: a lost GPU does not tell its name any more */
};

/* What no one needs to hear of: changes of clock and performance state come by the thousand. */
#define UNWANTED (WEIR_NVML_EVENT_PSTATE | WEIR_NVML_EVENT_CLOCK | WEIR_NVML_EVENT_POWER_SOURCE)

static void add_device(struct weir_nvml_events *events, uint32_t index)
{
    const struct weir_nvml_symbols *call = events->call;
    struct device *device = &events->devices[events->n_devices];
    unsigned long long types = 0;

    if (call->by_index(index, &device->handle) != WEIR_NVML_SUCCESS ||
        call->uuid(device->handle, device->uuid, sizeof(device->uuid)) != WEIR_NVML_SUCCESS)
        return;
    device->uuid[sizeof(device->uuid) - 1] = '\0';
    if (call->event_types == NULL || call->event_types(device->handle, &types) != WEIR_NVML_SUCCESS)
        types = WEIR_NVML_EVENT_XID | WEIR_NVML_EVENT_DOUBLE_BIT_ECC;
    types &= ~UNWANTED;
    if (types != 0 && call->event_register(device->handle, types, events->set) == WEIR_NVML_SUCCESS)
        events->n_devices++;
}

int weir_nvml_events_open(const struct weir_nvml *nvml, uint32_t n_devices, const bool *skips,
                          struct weir_nvml_events **ret_events, struct weir_err *err)
{
    const struct weir_nvml_symbols *call = &nvml->call;
    struct weir_nvml_events *events;
    int result;

    if (call->event_set_create == NULL || call->event_set_free == NULL ||
        call->event_register == NULL || call->event_wait == NULL)
        return weir_error(err, WEIR_E_UNSUPPORTED, "this driver tells of no events");
    events = weir_mem_alloc_array(1, sizeof(*events) + n_devices * sizeof(events->devices[0]));
    if (events == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the events of GPUs");
    events->call = call;
    result = call->event_set_create(&events->set);
    if (result != WEIR_NVML_SUCCESS) {
        weir_mem_free(events);
        return weir_nvml_fail(call, result, "wait for events of GPUs", err);
    }
    for (uint32_t i = 0; i < n_devices; i++)
        if (skips == NULL || !skips[i])
            add_device(events, i);
    if (events->n_devices == 0) {
        weir_nvml_events_close(events, false);
        return weir_error(err, WEIR_E_UNSUPPORTED, "no GPU here tells of events");
    }
    *ret_events = events;
    return 0;
}

struct weir_nvml_events *weir_nvml_events_close(struct weir_nvml_events *events, bool is_stale)
{
    if (events == NULL)
        return NULL;
    if (!is_stale)
        events->call->event_set_free(events->set);
    return weir_mem_free(events);
}

static int32_t instance_id(uint32_t id)
{
    return id <= INT32_MAX ? (int32_t)id : WEIR_GPU_NO_INSTANCE;
}

static const struct device *device_of(const struct weir_nvml_events *events,
                                      const struct weir_nvml_handle *handle)
{
    for (uint32_t i = 0; i < events->n_devices; i++)
        if (events->devices[i].handle == handle)
            return &events->devices[i];
    return NULL;
}

bool weir_nvml_events_wait(struct weir_nvml_events *events, uint32_t timeout_ms,
                           struct weir_gpu_event *ret_event, bool *ret_is_broken)
{
    /* The first form of the function leaves the instances alone. */
    struct weir_nvml_event_data data = {.gpu_instance = WEIR_NVML_NO_INSTANCE,
                                        .compute_instance = WEIR_NVML_NO_INSTANCE};
    const struct device *device;
    int result = events->call->event_wait(events->set, &data, timeout_ms);

    *ret_is_broken =
        result != WEIR_NVML_SUCCESS && result != WEIR_NVML_TIMEOUT && result != WEIR_NVML_NO_DATA;
    if (result != WEIR_NVML_SUCCESS)
        return false;
    device = device_of(events, data.device);
    if (device == NULL)
        return false;
    *ret_event = (struct weir_gpu_event){.type = data.type,
                                         .data = data.data,
                                         .gpu_instance = instance_id(data.gpu_instance),
                                         .compute_instance = instance_id(data.compute_instance)};
    memcpy(ret_event->uuid, device->uuid, sizeof(ret_event->uuid));
    return true;
}
