#include "core/queue/quota.h"

void weir_quota_add_shape(struct weir_amounts *amounts, const struct weir_shape *shape,
                          int64_t times)
{
    for (uint32_t i = 0; i < shape->n_amounts; i++)
        amounts->of[shape->amounts[i].resource] += shape->amounts[i].amount * times;
}

bool weir_quota_fits_limit_of(const struct weir_overlay *overlay, uint32_t views, uint32_t queue,
                              const struct weir_amounts *ask, struct weir_quota_over *ret_over)
{
    const struct weir_queue *row = weir_world_queue(overlay->world, queue);

    for (uint32_t r = 0; r < overlay->n_resources; r++) {
        if (ask->of[r] == 0 || row->limit.of[r] == INT64_MAX)
            continue;
        for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++) {
            int64_t held = weir_overlay_held(overlay, view, queue, r);

            if ((views & 1u << view) == 0 || ask->of[r] <= row->limit.of[r] - held)
                continue;
            *ret_over = (struct weir_quota_over){queue, r, held, row->limit.of[r]};
            return false;
        }
    }
    return true;
}

bool weir_quota_fits_limits(const struct weir_overlay *overlay, uint32_t views, uint32_t leaf,
                            const struct weir_amounts *ask, struct weir_quota_over *ret_over)
{
    struct weir_quota_over over;

    for (uint32_t queue = leaf; queue != WEIR_NONE;
         queue = weir_world_queue(overlay->world, queue)->parent) {
        if (weir_quota_fits_limit_of(overlay, views, queue, ask, &over))
            continue;
        if (ret_over != NULL)
            *ret_over = over;
        return false;
    }
    return true;
}

bool weir_quota_asks_for_gpus(const struct weir_overlay *overlay, const struct weir_amounts *ask)
{
    for (uint32_t r = 0; r < overlay->n_resources; r++)
        if (ask->of[r] > 0 && weir_overlay_is_gpu(overlay, r))
            return true;
    return false;
}

static bool speaks_of(const struct weir_overlay *overlay, const struct weir_queue *queue,
                      uint32_t resource)
{
    if (queue->guaranteed.of[resource] > 0)
        return true;
    if (resource != WEIR_RES_GPU)
        return false;
    for (uint32_t r = 0; r < overlay->n_resources; r++)
        if (r != WEIR_RES_GPU && queue->guaranteed.of[r] > 0 && weir_overlay_is_gpu(overlay, r))
            return false;
    return true;
}

bool weir_quota_is_within(const struct weir_overlay *overlay, uint32_t queue,
                          const struct weir_amounts *ask)
{
    const struct weir_queue *row = weir_world_queue(overlay->world, queue);
    bool gpus = weir_quota_asks_for_gpus(overlay, ask);
    bool speaks = false;

    for (uint32_t r = 0; r < overlay->n_resources; r++) {
        int64_t held = weir_overlay_held(overlay, WEIR_VIEW_SOON, queue, r);

        if (ask->of[r] == 0 || weir_overlay_is_gpu(overlay, r) != gpus ||
            !speaks_of(overlay, row, r))
            continue;
        if (ask->of[r] > row->guaranteed.of[r] - held)
            return false;
        speaks = true;
    }
    return speaks;
}

bool weir_quota_can_give(const struct weir_overlay *overlay, uint32_t queue,
                         const struct weir_amounts *ask, const struct weir_amounts *freed)
{
    const struct weir_queue *row = weir_world_queue(overlay->world, queue);
    bool gpus = weir_quota_asks_for_gpus(overlay, ask);
    bool has_more = false;

    if (weir_quota_asks_for_gpus(overlay, freed) != gpus)
        return false;
    for (uint32_t r = 0; r < overlay->n_resources; r++) {
        int64_t held = weir_overlay_kept(overlay, queue, r);
        int64_t guaranteed = row->guaranteed.of[r];

        if (freed->of[r] == 0 || weir_overlay_is_gpu(overlay, r) != gpus)
            continue;
        if (guaranteed > 0 && held - freed->of[r] < guaranteed)
            return false;
        has_more |= ask->of[r] > 0 && held > guaranteed;
    }
    return has_more;
}
