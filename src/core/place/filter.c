#include "core/place/filter.h"

#include "base/count.h"
#include "core/mig/room.h"
#include "core/share/share.h"

uint32_t weir_request_resource(const struct weir_shape *shape)
{
    if (shape->n_devices == 0)
        return shape->n_amounts > 0 ? shape->amounts[0].resource : (uint32_t)WEIR_RES_CPU;
    if (shape->mig_profile != WEIR_NONE)
        return shape->mig_profile;
    return shape->gpu_class != WEIR_NONE ? shape->gpu_class : (uint32_t)WEIR_RES_GPU;
}

/* One that is given in turns is not given whole. */
static uint32_t kind_of_whole(const struct weir_overlay_device *device,
                              const struct weir_request *request)
{
    bool is_in_turns = device->sharing == WEIR_SHARING_REPLICAS && device->replicas > 0;
    bool is_weak = device->kind == WEIR_DEVICE_SHARE && device->isolation < request->isolation;

    return is_in_turns || is_weak ? WEIR_REASON_ISOLATION : WEIR_REASON_NONE;
}

uint32_t weir_filter_kind(const struct weir_overlay_device *device,
                          const struct weir_request *request)
{
    const struct weir_shape *shape = request->shape;
    uint32_t code;

    if (weir_request_wants_instance(request))
        return weir_mig_kind(device, request);
    if (device->kind == WEIR_DEVICE_MIG ||
        (shape->gpu_class != WEIR_NONE && device->gpu_class != shape->gpu_class))
        return WEIR_REASON_GPU_CLASS;
    if (shape->device_memory_bytes > device->memory_bytes)
        return WEIR_REASON_GPU_MEMORY;
    code = weir_request_is_share(request) ? weir_share_kind(device, request)
                                          : kind_of_whole(device, request);
    if (code != WEIR_REASON_NONE)
        return code;
    return device->will_give == WEIR_GIVES_WHOLE ? WEIR_REASON_NONE : WEIR_REASON_MIG_MODE;
}

int64_t weir_filter_memory_left(const struct weir_overlay_device *device, enum weir_view view)
{
    return device->memory_bytes - device->foreign_bytes - device->used[view].memory_bytes;
}

/* NONE: there is room. */
static uint32_t why_no_room(const struct weir_overlay_device *device, enum weir_view view,
                            const struct weir_request *request)
{
    if ((device->n_children > 0 || device->mig != NULL) && !weir_mig_is_empty(device, view))
        return WEIR_REASON_DEVICE_BUSY;
    if (weir_request_is_share(request))
        return weir_share_why_no_room(device, view, request);
    if (device->used[view].n_sharers > 0)
        return WEIR_REASON_DEVICE_BUSY;
    return device->mps != WEIR_MPS_OFF && view == WEIR_VIEW_NOW && !device->is_settled
               ? WEIR_REASON_RESHAPING
               : WEIR_REASON_NONE;
}

uint32_t weir_filter_device(const struct weir_overlay_device *device, uint32_t views,
                            const struct weir_request *request)
{
    uint32_t code = weir_filter_kind(device, request);

    if (code != WEIR_REASON_NONE)
        return code;
    if (device->out != WEIR_REASON_NONE)
        return device->out;
    if (device->parent != NULL && device->parent->out != WEIR_REASON_NONE)
        return device->parent->out;
    if (weir_request_wants_instance(request))
        return weir_mig_why_not(device, views, request);
    if (device->gives != WEIR_GIVES_WHOLE && !device->is_settled)
        return WEIR_REASON_RESHAPING;
    if (device->n_foreign > 0 && !weir_request_is_share(request))
        return WEIR_REASON_DEVICE_FOREIGN;
    if (views & WEIR_IN_NOW)
        code = why_no_room(device, WEIR_VIEW_NOW, request);
    if (code != WEIR_REASON_NONE || (views & WEIR_IN_SOON) == 0)
        return code;
    code = why_no_room(device, WEIR_VIEW_SOON, request);
    if (code != WEIR_REASON_NONE && device->used[WEIR_VIEW_SOON].n_given > 0)
        return WEIR_REASON_RESERVED;
    return code;
}

static bool has_labels(const struct weir_world *world, uint32_t labels, uint32_t wanted)
{
    uint32_t n = weir_world_span_len(world, labels);

    for (uint32_t w = 0; w < weir_world_span_len(world, wanted); w += 2) {
        uint32_t at = 0;

        while (
            at < n &&
            (weir_world_span_at(world, labels, at) != weir_world_span_at(world, wanted, w) ||
             weir_world_span_at(world, labels, at + 1) != weir_world_span_at(world, wanted, w + 1)))
            at += 2;
        if (at >= n)
            return false;
    }
    return true;
}

/* Devices say themselves what is free of them; where others hand them out, only the sums know. */
static bool is_counted(const struct weir_overlay *overlay, const struct weir_overlay_node *node,
                       uint32_t resource)
{
    if (!weir_overlay_is_gpu(overlay, resource))
        return true;
    return node->n_devices == 0 || overlay->devices[node->first_device].binder != WEIR_BINDER_OURS;
}

static uint32_t code_of_resource(const struct weir_overlay *overlay, uint32_t resource)
{
    uint32_t kind = weir_world_resource(overlay->world, resource)->kind;

    if (kind == WEIR_RESOURCE_CPU)
        return WEIR_REASON_CPU;
    return kind == WEIR_RESOURCE_MEMORY ? WEIR_REASON_MEMORY : WEIR_REASON_RESOURCES;
}

static void filter_amounts(const struct weir_overlay *overlay, uint32_t views, uint32_t node,
                           const struct weir_shape *shape, struct weir_fit *fit)
{
    for (uint32_t i = 0; i < shape->n_amounts; i++) {
        const struct weir_shape_amount *need = &shape->amounts[i];

        if (!is_counted(overlay, &overlay->nodes[node], need->resource))
            continue;
        for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++) {
            int64_t have = weir_overlay_free(overlay, view, node, need->resource);

            if ((views & 1u << view) == 0 || have >= need->amount)
                continue;
            fit->code = code_of_resource(overlay, need->resource);
            fit->resource = need->resource;
            fit->have = have;
            fit->need = need->amount;
            return;
        }
    }
}

/* What stands in the way of one device more, from what passes by itself to what never does. */
static uint32_t blocking_code(const uint32_t counts[WEIR_REASON_CODE_MAX], uint32_t missing)
{
    static const uint32_t order[] = {
        WEIR_REASON_RESHAPING,        WEIR_REASON_RESERVED,        WEIR_REASON_DEVICE_FULL,
        WEIR_REASON_DEVICE_BUSY,      WEIR_REASON_DEVICE_CORDONED, WEIR_REASON_DEVICE_FOREIGN,
        WEIR_REASON_DEVICE_UNHEALTHY, WEIR_REASON_MIG_MODE,        WEIR_REASON_ISOLATION,
        WEIR_REASON_GPU_MEMORY,
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(order); i++) {
        if (counts[order[i]] >= missing)
            return order[i];
        missing -= counts[order[i]];
    }
    return WEIR_REASON_GPU_CLASS;
}

/* What is free of those in service, and who would do. */
static void count_devices(const struct weir_overlay *overlay, uint32_t views,
                          const struct weir_overlay_node *node, const struct weir_request *request,
                          uint32_t counts[WEIR_REASON_CODE_MAX], struct weir_fit *fit)
{
    for (uint32_t i = 0; i < node->n_devices; i++) {
        const struct weir_overlay_device *device = &overlay->devices[node->first_device + i];
        uint32_t code = weir_filter_device(device, views, request);

        counts[code]++;
        if (device->out == WEIR_REASON_NONE && device->kind != WEIR_DEVICE_MIG &&
            weir_overlay_gives(device) == WEIR_GIVES_WHOLE)
            fit->free_mgpu += 1000 - device->used[WEIR_VIEW_SOON].mgpu;
        if (code == WEIR_REASON_NONE)
            fit->n_fresh += device->used[WEIR_VIEW_SOON].n_sharers == 0;
    }
}

static void filter_devices(const struct weir_overlay *overlay, uint32_t views,
                           const struct weir_overlay_node *node, const struct weir_request *request,
                           struct weir_fit *fit)
{
    uint32_t counts[WEIR_REASON_CODE_MAX] = {0};
    uint32_t need = request->shape->n_devices;

    if (weir_request_wants_instance(request))
        weir_mig_filter(overlay, views, node, request, counts, fit);
    else
        count_devices(overlay, views, node, request, counts, fit);
    fit->n_devices = counts[WEIR_REASON_NONE];
    if (fit->n_devices >= need || fit->code != WEIR_REASON_NONE)
        return;
    fit->code = blocking_code(counts, need - fit->n_devices);
    /* A node of the right kind that is too small. */
    if (fit->code == WEIR_REASON_GPU_CLASS && counts[WEIR_REASON_GPU_CLASS] < node->n_devices)
        fit->code = WEIR_REASON_RESOURCES;
    fit->resource = weir_request_resource(request->shape);
    fit->have = (int64_t)fit->n_devices * 1000;
    fit->need = (int64_t)need * 1000;
}

void weir_filter_node(const struct weir_overlay *overlay, uint32_t views, uint32_t node,
                      const struct weir_request *request, struct weir_fit *ret_fit)
{
    const struct weir_overlay_node *n = &overlay->nodes[node];

    if (n->out == WEIR_REASON_NONE)
        weir_filter_inside(overlay, views, node, request, ret_fit);
    else
        *ret_fit = (struct weir_fit){.code = n->out, .resource = WEIR_NONE};
}

void weir_filter_inside(const struct weir_overlay *overlay, uint32_t views, uint32_t node,
                        const struct weir_request *request, struct weir_fit *ret_fit)
{
    const struct weir_overlay_node *n = &overlay->nodes[node];

    *ret_fit = (struct weir_fit){.code = WEIR_REASON_NONE, .resource = WEIR_NONE};
    if (!has_labels(overlay->world, n->row->labels, request->shape->labels)) {
        ret_fit->code = WEIR_REASON_LABELS;
        return;
    }
    filter_amounts(overlay, views, node, request->shape, ret_fit);
    filter_devices(overlay, views, n, request, ret_fit);
}

uint32_t weir_filter_most_telling(const uint32_t counts[WEIR_REASON_CODE_MAX])
{
    static const uint32_t order[] = {
        WEIR_REASON_RESHAPING,
        WEIR_REASON_RESERVED,
        WEIR_REASON_DEVICE_FULL,
        WEIR_REASON_DEVICE_BUSY,
        WEIR_REASON_DEVICE_FOREIGN,
        WEIR_REASON_DEVICE_UNHEALTHY,
        WEIR_REASON_DEVICE_CORDONED,
        WEIR_REASON_NODE_CORDONED,
        WEIR_REASON_NODE_DRAINING,
        WEIR_REASON_NODE_NOT_READY,
        WEIR_REASON_CPU,
        WEIR_REASON_MEMORY,
        WEIR_REASON_RESOURCES,
        WEIR_REASON_MIG_MODE,
        WEIR_REASON_ISOLATION,
        WEIR_REASON_GPU_MEMORY,
        WEIR_REASON_GPU_CLASS,
        WEIR_REASON_LABELS,
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(order); i++)
        if (counts[order[i]] > 0)
            return order[i];
    return WEIR_REASON_RESOURCES;
}
