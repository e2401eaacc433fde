/* core/queue/quota.h — guarantees and limits of the queue tree, against what is held in the
 * overlay.
 *
 * What work is judged by: one that asks for GPUs by its GPUs alone (all, by class, by MIG profile),
 * other work by everything it asks for. A queue speaks of a resource if it guarantees some of it;
 * of GPUs as a whole it always speaks, unless it guarantees GPUs by class or profile only. */
#ifndef WEIR_CORE_QUEUE_QUOTA_H
#define WEIR_CORE_QUEUE_QUOTA_H

#include "core/overlay.h"

struct weir_quota_over {
    uint32_t queue;
    uint32_t resource;
    int64_t held;
    int64_t limit;
};

void weir_quota_add_shape(struct weir_amounts *amounts, const struct weir_shape *shape,
                          int64_t times);

/* May this much more be held in `leaf`, as far as the limits of it and all above it go? If not,
 * *ret_over (may be NULL) says where first, from the leaf up. */
bool weir_quota_fits_limits(const struct weir_overlay *overlay, uint32_t views, uint32_t leaf,
                            const struct weir_amounts *ask, struct weir_quota_over *ret_over);

/* The same of one queue alone. */
bool weir_quota_fits_limit_of(const struct weir_overlay *overlay, uint32_t views, uint32_t queue,
                              const struct weir_amounts *ask, struct weir_quota_over *ret_over);

/* GPUs of any kind among them? */
bool weir_quota_asks_for_gpus(const struct weir_overlay *overlay, const struct weir_amounts *ask);

/* Does the queue, with this much more, stay within its guarantee? False if it speaks of nothing
 * that the work is judged by. */
bool weir_quota_is_within(const struct weir_overlay *overlay, uint32_t queue,
                          const struct weir_amounts *ask);

/* May `freed` be taken from the queue for work that asks for `ask`: it holds more than its
 * guarantee of something that is asked for, and is left with its guarantee of all that is taken. */
bool weir_quota_can_give(const struct weir_overlay *overlay, uint32_t queue,
                         const struct weir_amounts *ask, const struct weir_amounts *freed);

#endif
