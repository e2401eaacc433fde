/* core/place/filter.h — may this task go onto this node, and if not, why not. One judge for
 * placement, preemption, admission and reasons. */
#ifndef WEIR_CORE_PLACE_FILTER_H
#define WEIR_CORE_PLACE_FILTER_H

#include "core/overlay.h"

/* What one task needs. */
struct weir_request {
    const struct weir_shape *shape;
    uint32_t isolation; /* enum weir_isolation: the stricter of shape and queues */
    uint32_t shape_row; /* or WEIR_NONE: not of this world */
    uint32_t owner;     /* string, or WEIR_NONE: of the workload */
};

struct weir_fit {
    uint32_t code;     /* enum weir_reason_code; NONE: it fits */
    uint32_t resource; /* that is short, or WEIR_NONE */
    int64_t have;      /* of it */
    int64_t need;
    uint32_t n_devices; /* devices that would do */
    uint32_t n_fresh;   /* of these: wholly free; of instances: 1 if the best is on an unused GPU */
    uint32_t n_to_make; /* of instances: so many are not there yet */
    uint32_t loss;      /* of the best instance: placements that it takes from others */
    int64_t free_mgpu;  /* of the node's devices that are in service */
};

/* A MIG instance: of the profile it names, or with hardware around a part of a GPU. */
static inline bool weir_request_wants_instance(const struct weir_request *request)
{
    return request->shape->n_devices > 0 &&
           (request->shape->mig_profile != WEIR_NONE ||
            (request->shape->device_mgpu < 1000 && request->isolation == WEIR_ISOLATION_HARDWARE));
}

/* Less than a whole device: a part of its time, with a budget of its memory or without one. */
static inline bool weir_request_is_share(const struct weir_request *request)
{
    return request->shape->n_devices > 0 && request->shape->device_mgpu < 1000 &&
           !weir_request_wants_instance(request);
}

/* The resource it is about: its GPUs by profile, by class, or any; without GPUs the first amount.
 */
uint32_t weir_request_resource(const struct weir_shape *shape);

/* Whether the device can ever serve the request, whatever goes on on it: NONE, GPU_CLASS,
 * GPU_MEMORY, ISOLATION or MIG_MODE. For one that wants an instance: whether the device, or the one
 * that an instance is a part of, could give one. */
uint32_t weir_filter_kind(const struct weir_overlay_device *device,
                          const struct weir_request *request);

/* What those who share it can still have of its memory. Foreign processes keep what they use. */
int64_t weir_filter_memory_left(const struct weir_overlay_device *device, enum weir_view view);

/* Why this device would not do, in these views; NONE if it would. Fixed properties come first:
 * GPU_CLASS, GPU_MEMORY, ISOLATION; then what may pass: DEVICE_UNHEALTHY, DEVICE_CORDONED,
 * DEVICE_FOREIGN (in the way of who wants it whole, and of who would find room without what they
 * use), DEVICE_BUSY (held, or given out by this decision), DEVICE_FULL (by those who share it),
 * RESERVED (promised to others), RESHAPING (not as it has to be yet). */
uint32_t weir_filter_device(const struct weir_overlay_device *device, uint32_t views,
                            const struct weir_request *request);

/* Whether one more task fits onto the node in these views. */
void weir_filter_node(const struct weir_overlay *overlay, uint32_t views, uint32_t node,
                      const struct weir_request *request, struct weir_fit *ret_fit);

/* The same, as if the node were in service. */
void weir_filter_inside(const struct weir_overlay *overlay, uint32_t views, uint32_t node,
                        const struct weir_request *request, struct weir_fit *ret_fit);

/* Where no node would do: of the codes that the nodes give, with their counts, the one to name,
 * from what may pass to what never does. RESOURCES if there is no node at all. */
uint32_t weir_filter_most_telling(const uint32_t counts[WEIR_REASON_CODE_MAX]);

#endif
