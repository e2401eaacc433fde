#include "core/share/share.h"

#include "base/units.h"

/* It runs under MPS, or not at all. */
static bool needs_mps(const struct weir_overlay_device *device, const struct weir_request *request)
{
    return (device->can_mps || device->mps != WEIR_MPS_OFF) &&
           (device->sharing == WEIR_SHARING_MPS || request->isolation >= WEIR_ISOLATION_MEMORY);
}

static bool is_replica(const struct weir_overlay_device *device)
{
    return device->sharing == WEIR_SHARING_REPLICAS && device->replicas > 0;
}

uint32_t weir_share_kind(const struct weir_overlay_device *device,
                         const struct weir_request *request)
{
    const struct weir_shape *shape = request->shape;
    bool fits_turn =
        !is_replica(device) ||
        (shape->device_memory_bytes == 0 && request->isolation == WEIR_ISOLATION_NONE &&
         shape->device_mgpu <= WEIR_MGPU_PER_GPU / device->replicas);
    bool has_mps =
        device->sharing != WEIR_SHARING_MPS || device->can_mps || device->mps != WEIR_MPS_OFF;

    return device->max_sharers > 1 && device->sharing != WEIR_SHARING_NEVER &&
                   device->isolation >= request->isolation && fits_turn && has_mps
               ? WEIR_REASON_NONE
               : WEIR_REASON_ISOLATION;
}

void weir_share_part(const struct weir_overlay_device *device, const struct weir_request *request,
                     struct weir_grant *grant)
{
    const struct weir_shape *shape = request->shape;

    grant->part_mgpu = shape->device_mgpu;
    grant->memory_bytes = shape->device_memory_bytes;
    if (is_replica(device)) {
        grant->part_mgpu = WEIR_MGPU_PER_GPU / device->replicas;
        return;
    }
    if (grant->memory_bytes == 0) {
        int64_t mib = device->memory_bytes / WEIR_MIB;

        grant->memory_bytes = (mib / WEIR_MGPU_PER_GPU * shape->device_mgpu +
                               mib % WEIR_MGPU_PER_GPU * shape->device_mgpu / WEIR_MGPU_PER_GPU) *
                              WEIR_MIB;
    }
    grant->mps = device->mps == WEIR_MPS_ON || device->mps == WEIR_MPS_STARTING ||
                 needs_mps(device, request);
}

/* All that share it are of this owner. */
static bool is_of(const struct weir_overlay_device *device, enum weir_view view, uint32_t owner)
{
    uint64_t n = device->used[view].n_sharers;
    uint64_t x = owner;

    return device->who->owners[view] == n * x && device->who->owners_squared[view] == n * (x * x);
}

static uint32_t why_not_mps(const struct weir_overlay_device *device, enum weir_view view,
                            const struct weir_request *request)
{
    bool may_take_time = view == WEIR_VIEW_SOON || device->is_settled;
    bool is_on = device->mps == WEIR_MPS_ON || (device->mps == WEIR_MPS_STARTING && may_take_time);

    if (is_on)
        return is_of(device, view, request->owner) ? WEIR_REASON_NONE : WEIR_REASON_DEVICE_BUSY;
    if (!may_take_time && (device->mps != WEIR_MPS_OFF || needs_mps(device, request)))
        return WEIR_REASON_RESHAPING;
    if (!needs_mps(device, request))
        return device->who->n[view] > 0 ? WEIR_REASON_RESERVED : WEIR_REASON_NONE;
    if (device->who->n[view] < device->used[view].n_sharers || !is_of(device, view, request->owner))
        return WEIR_REASON_DEVICE_BUSY;
    return device->is_frozen ? WEIR_REASON_RESHAPING : WEIR_REASON_NONE;
}

uint32_t weir_share_why_no_room(const struct weir_overlay_device *device, enum weir_view view,
                                const struct weir_request *request)
{
    const struct weir_overlay_part *used = &device->used[view];
    int64_t left = weir_filter_memory_left(device, view);
    struct weir_grant part = {.device = device->row};

    weir_share_part(device, request, &part);
    if (used->mgpu >= WEIR_MGPU_PER_GPU && used->memory_bytes == 0 && !is_replica(device))
        return WEIR_REASON_DEVICE_BUSY;
    if (used->n_sharers >= device->max_sharers ||
        (is_replica(device) && used->n_sharers >= device->replicas) ||
        used->mgpu + part.part_mgpu > WEIR_MGPU_PER_GPU)
        return WEIR_REASON_DEVICE_FULL;
    if (part.memory_bytes > left)
        return part.memory_bytes <= left + device->foreign_bytes ? WEIR_REASON_DEVICE_FOREIGN
                                                                 : WEIR_REASON_DEVICE_FULL;
    return device->who != NULL ? why_not_mps(device, view, request) : WEIR_REASON_NONE;
}

bool weir_share_is_sound(const struct weir_overlay_device *device, uint32_t owner)
{
    if (device->who == NULL || device->who->n[WEIR_VIEW_SOON] == 0)
        return true;
    return device->who->n[WEIR_VIEW_SOON] == device->used[WEIR_VIEW_SOON].n_sharers &&
           is_of(device, WEIR_VIEW_SOON, owner);
}
