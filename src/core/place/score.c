#include "core/place/score.h"

#include "base/err.h"
#include "core/mig/room.h"
#include "core/share/share.h"

/* Of instances: what is there before what has to be made, then what is least missed. */
static bool is_better_instance(const struct weir_fit *a, const struct weir_fit *b)
{
    if (a->n_to_make != b->n_to_make)
        return a->n_to_make < b->n_to_make;
    if (a->loss != b->loss)
        return a->loss < b->loss;
    return a->n_fresh < b->n_fresh;
}

static bool is_better(const struct weir_fit *a, const struct weir_fit *b, bool share)
{
    bool a_opens = share && a->n_fresh == a->n_devices;
    bool b_opens = share && b->n_fresh == b->n_devices;

    if (a_opens != b_opens)
        return b_opens;
    return a->free_mgpu < b->free_mgpu;
}

int weir_score_find(struct weir_overlay *overlay, uint32_t views,
                    const struct weir_request *request, const struct weir_scope *scope,
                    struct weir_spot *ret_spot)
{
    bool share = weir_request_is_share(request);
    bool instance = weir_request_wants_instance(request);
    uint32_t best = WEIR_NONE;
    struct weir_fit best_fit = {0};

    for (uint32_t node = 0; node < overlay->n_nodes; node++) {
        struct weir_fit fit;

        if (!weir_scope_has(overlay, scope, node))
            continue;
        weir_filter_node(overlay, views, node, request, &fit);
        if (fit.code != WEIR_REASON_NONE ||
            (best != WEIR_NONE &&
             !(instance ? is_better_instance(&fit, &best_fit) : is_better(&fit, &best_fit, share))))
            continue;
        best = node;
        best_fit = fit;
    }
    if (best == WEIR_NONE)
        return 0;
    return weir_score_devices(overlay, views, best, request, ret_spot) < 0 ? WEIR_E_NO_MEMORY : 1;
}

static int grant(struct weir_overlay *overlay, const struct weir_overlay_device *device,
                 const struct weir_request *request, struct weir_spot *spot)
{
    struct weir_grant part = {
        .device = device->row,
        .device_gen = weir_world_device(overlay->world, device->row)->row.gen,
        .part_mgpu = request->shape->device_mgpu,
    };

    if (weir_request_is_share(request))
        weir_share_part(device, request, &part);
    spot->n_grants++;
    return weir_overlay_grant(overlay, &part);
}

enum closeness { CLOSE_NVLINK, CLOSE_NUMA, CLOSE_MAX };

static uint32_t group_of(const struct weir_overlay_device *device, enum closeness closeness)
{
    return closeness == CLOSE_NVLINK ? device->nvlink : device->numa;
}

struct picker {
    const struct weir_overlay *overlay;
    const struct weir_overlay_node *node;
    const struct weir_request *request;
    uint32_t views;
};

static bool fits_in_group(const struct picker *p, uint32_t i, enum closeness closeness,
                          uint32_t group)
{
    const struct weir_overlay_device *device = &p->overlay->devices[p->node->first_device + i];

    return (closeness == CLOSE_MAX || group_of(device, closeness) == group) &&
           weir_filter_device(device, p->views, p->request) == WEIR_REASON_NONE;
}

/* The smallest group with n devices that fit, or WEIR_NONE. */
static uint32_t smallest_group(const struct picker *p, enum closeness closeness, uint32_t n)
{
    uint32_t best = WEIR_NONE;
    uint32_t best_size = UINT32_MAX;

    for (uint32_t i = 0; i < p->node->n_devices; i++) {
        uint32_t group = group_of(&p->overlay->devices[p->node->first_device + i], closeness);
        uint32_t size = 0;

        if (group == WEIR_NONE || group == best)
            continue;
        for (uint32_t other = 0; other < p->node->n_devices; other++)
            size += fits_in_group(p, other, closeness, group);
        if (size >= n && size < best_size) {
            best = group;
            best_size = size;
        }
    }
    return best;
}

static int64_t room_left(const struct weir_overlay_device *device,
                         const struct weir_request *request)
{
    return request->shape->device_memory_bytes > 0 ? weir_filter_memory_left(device, WEIR_VIEW_SOON)
                                                   : 1000 - device->used[WEIR_VIEW_SOON].mgpu;
}

static bool is_fuller(const struct weir_overlay_device *a, const struct weir_overlay_device *b,
                      const struct weir_request *request)
{
    bool a_is_shared = a->used[WEIR_VIEW_SOON].n_sharers > 0;
    bool b_is_shared = b->used[WEIR_VIEW_SOON].n_sharers > 0;

    if (a_is_shared != b_is_shared)
        return a_is_shared;
    return room_left(a, request) < room_left(b, request);
}

static const struct weir_overlay_device *fullest(const struct picker *p)
{
    const struct weir_overlay_device *best = NULL;

    for (uint32_t i = 0; i < p->node->n_devices; i++) {
        const struct weir_overlay_device *device = &p->overlay->devices[p->node->first_device + i];

        if (fits_in_group(p, i, CLOSE_MAX, WEIR_NONE) &&
            (best == NULL || is_fuller(device, best, p->request)))
            best = device;
    }
    return best;
}

static int grant_whole(struct weir_overlay *overlay, const struct picker *p, struct weir_spot *spot)
{
    uint32_t n = p->request->shape->n_devices;
    enum closeness closeness = CLOSE_NVLINK;
    uint32_t group = WEIR_NONE;

    if (n == 1)
        closeness = CLOSE_MAX;
    for (; closeness < CLOSE_MAX; closeness++) {
        group = smallest_group(p, closeness, n);
        if (group != WEIR_NONE)
            break;
    }
    for (uint32_t i = 0; i < p->node->n_devices && spot->n_grants < n; i++)
        if (fits_in_group(p, i, closeness, group) &&
            grant(overlay, &overlay->devices[p->node->first_device + i], p->request, spot) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

int weir_score_devices(struct weir_overlay *overlay, uint32_t views, uint32_t node,
                       const struct weir_request *request, struct weir_spot *ret_spot)
{
    struct picker p = {overlay, &overlay->nodes[node], request, views};
    struct weir_spot spot = {.node = node, .first_grant = overlay->n_grants};
    int r = 0;

    if (weir_request_wants_instance(request)) {
        r = weir_mig_grant(overlay, views, p.node, request, &spot);
    } else if (weir_request_is_share(request) && request->shape->n_devices == 1) {
        const struct weir_overlay_device *device = fullest(&p);

        WEIR_ASSERT(device != NULL); /* the node was filtered: it has one */
        r = grant(overlay, device, request, &spot);
    } else if (request->shape->n_devices > 0)
        r = grant_whole(overlay, &p, &spot);
    if (r == 0)
        *ret_spot = spot;
    return r;
}
