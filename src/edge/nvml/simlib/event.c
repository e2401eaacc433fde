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
     WEIR_NVML_EVENT_XID | WEIR_NVML_EVENT_CLOCK | WEIR_NVML_EVENT_SINGLE_BIT_ECC_STORM |          \
     WEIR_NVML_EVENT_DRAM_RETIREMENT | WEIR_NVML_EVENT_DRAM_RETIREMENT_FAILURE |                   \
     WEIR_NVML_EVENT_NON_FATAL_POISON | WEIR_NVML_EVENT_FATAL_POISON |                             \
     WEIR_NVML_EVENT_GPU_UNAVAILABLE | WEIR_NVML_EVENT_RECOVERY_ACTION)

struct registration {
    struct weir_nvml_handle *device;
    uint32_t index;
    uint64_t types;
    uint64_t from; /* number of the first event that is told */
};

struct weir_nvml_event_set {
    struct registration *devices;
    size_t n_devices;
    uint64_t next; /* number of the first event not looked at */
};

/* The fleet's events so far, and what they ring. */
static int look_at_events(uint64_t *ret_n, uint32_t *ret_bell)
{
    int result =
        weir_sim_header(ret_bell, offsetof(struct weir_sim_header, event_bell), sizeof(*ret_bell));

    return result == WEIR_NVML_SUCCESS
               ? weir_sim_header(ret_n, offsetof(struct weir_sim_header, n_events), sizeof(*ret_n))
               : result;
}

int nvmlEventSetCreate(struct weir_nvml_event_set **ret)
{
    struct weir_nvml_event_set *set;
    uint64_t n = 0;
    uint32_t bell;
    int result = look_at_events(&n, &bell);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (ret == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    set = calloc(1, sizeof(*set));
    if (set == NULL)
        return WEIR_NVML_MEMORY;
    set->next = n;
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
    struct registration *devices;
    uint64_t n = 0;
    uint32_t bell;
    int result = weir_sim_look(device, set, &view);

    if (result == WEIR_NVML_SUCCESS)
        result = look_at_events(&n, &bell);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    if ((types & ~SUPPORTED) != 0)
        return WEIR_NVML_NOT_SUPPORTED;
    for (size_t i = 0; i < set->n_devices; i++)
        if (set->devices[i].device == device) {
            set->devices[i].types |= types;
            return WEIR_NVML_SUCCESS;
        }
    devices = reallocarray(set->devices, set->n_devices + 1, sizeof(*devices));
    if (devices == NULL)
        return WEIR_NVML_MEMORY;
    devices[set->n_devices++] = (struct registration){device, view.index, types, n};
    set->devices = devices;
    return WEIR_NVML_SUCCESS;
}

static bool wants(const struct weir_nvml_event_set *set, uint64_t number,
                  const struct weir_sim_event *event, struct weir_nvml_event_data *data)
{
    for (size_t i = 0; i < set->n_devices; i++) {
        const struct registration *device = &set->devices[i];

        if (device->index != event->device || (device->types & event->type) == 0 ||
            number < device->from)
            continue;
        *data = (struct weir_nvml_event_data){.device = device->device,
                                              .type = event->type,
                                              .data = event->data,
                                              .gpu_instance = event->gpu_instance,
                                              .compute_instance = event->compute_instance};
        return true;
    }
    return false;
}

/* The next event for the set; TIMEOUT when there is none yet. A set that waited too long misses the
 * ones that the ring has forgotten. */
static int take(struct weir_nvml_event_set *set, struct weir_nvml_event_data *data)
{
    struct weir_sim_event event;
    uint64_t n = 0;
    uint32_t bell;
    int result;

    while ((result = look_at_events(&n, &bell)) == WEIR_NVML_SUCCESS && set->next < n) {
        uint64_t number = set->next;

        if (n - number >= WEIR_SIM_EVENTS_MAX) {
            set->next = n - WEIR_SIM_EVENTS_MAX + 1;
            continue;
        }
        result = weir_sim_header(&event,
                                 offsetof(struct weir_sim_header, events) +
                                     number % WEIR_SIM_EVENTS_MAX * sizeof(event),
                                 sizeof(event));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (result == WEIR_NVML_SUCCESS)
            result = look_at_events(&n, &bell);
        if (result != WEIR_NVML_SUCCESS)
            return result;
        if (n - number >= WEIR_SIM_EVENTS_MAX)
            continue;
        set->next = number + 1;
        if (wants(set, number, &event, data))
            return WEIR_NVML_SUCCESS;
    }
    return result == WEIR_NVML_SUCCESS ? WEIR_NVML_TIMEOUT : result;
}

/* What may end a wait before its time: the fleet is gone, or a device that was listened to. */
static int check_devices(const struct weir_nvml_event_set *set)
{
    int result = weir_sim_ready();

    for (size_t i = 0; i < set->n_devices && result == WEIR_NVML_SUCCESS; i++)
        if (weir_sim_is_lost(set->devices[i].index))
            result = WEIR_NVML_GPU_IS_LOST;
    return result;
}

static int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Blocks for the timeout, as clients wait in a loop without a pause of their own. */
int nvmlEventSetWait_v2(struct weir_nvml_event_set *set, struct weir_nvml_event_data *data,
                        unsigned timeout_ms)
{
    enum { CHECK_MS = 1000 };
    /* A part of the first millisecond is over. */
    int64_t until_ms = clock_ms() + timeout_ms + (timeout_ms > 0);
    int64_t check_ms = 0;
    uint32_t checked_bell = 0;

    if (set == NULL || data == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    for (;;) {
        uint64_t n;
        uint32_t bell = 0;
        int64_t left_ms;
        int result = look_at_events(&n, &bell);

        if (result == WEIR_NVML_SUCCESS)
            result = take(set, data);
        if (result != WEIR_NVML_TIMEOUT)
            return result;
        /* Whatever befalls a device rings the bell; now and then it is looked at without. */
        if (bell != checked_bell || clock_ms() >= check_ms) {
            result = check_devices(set);
            if (result != WEIR_NVML_SUCCESS)
                return result;
            checked_bell = bell;
            check_ms = clock_ms() + CHECK_MS;
        }
        left_ms = until_ms - clock_ms();
        if (left_ms <= 0)
            return WEIR_NVML_TIMEOUT;
        weir_sim_await_bell(bell, left_ms);
    }
}

/* The record of the first version ends before the instances. */
int nvmlEventSetWait(struct weir_nvml_event_set *set, void *data, unsigned timeout_ms)
{
    struct weir_nvml_event_data full;
    int result =
        data != NULL ? nvmlEventSetWait_v2(set, &full, timeout_ms) : WEIR_NVML_INVALID_ARGUMENT;

    if (result == WEIR_NVML_SUCCESS)
        memcpy(data, &full, offsetof(struct weir_nvml_event_data, gpu_instance));
    return result;
}
