/* core/mig/room.h — instances for those who want one: which of a device's would do, and where one
 * could be made. For the filters, the scores and preempt/. */
#ifndef WEIR_CORE_MIG_ROOM_H
#define WEIR_CORE_MIG_ROOM_H

#include "core/place/filter.h"

/* Whether the device, whole or an instance, could ever serve it or is in the way on one that could:
 * NONE, GPU_CLASS, GPU_MEMORY, ISOLATION, MIG_MODE. */
uint32_t weir_mig_kind(const struct weir_overlay_device *device,
                       const struct weir_request *request);

/* Of an instance: why it would not do. Of a whole device: why none could be made on it. NONE if so.
 */
uint32_t weir_mig_why_not(const struct weir_overlay_device *device, uint32_t views,
                          const struct weir_request *request);

/* Whether nobody has, or is to get, an instance of the whole device. */
bool weir_mig_is_empty(const struct weir_overlay_device *device, enum weir_view view);

/* Of an instance that somebody has: it may lie where it is beside what is promised, SOON. */
bool weir_mig_is_sound(const struct weir_overlay_device *child);

/* How many the node has for it in these views, instances and places for new ones, in ret_fit:
 * n_devices, n_made of which would have to be made, and what the best of them costs others. The
 * reasons of those that would not do are counted. */
void weir_mig_filter(const struct weir_overlay *overlay, uint32_t views,
                     const struct weir_overlay_node *node, const struct weir_request *request,
                     uint32_t counts[WEIR_REASON_CODE_MAX], struct weir_fit *fit);

/* Grants for it on a node that has enough, into the spot. 0 or WEIR_E_NO_MEMORY. */
int weir_mig_grant(struct weir_overlay *overlay, uint32_t views,
                   const struct weir_overlay_node *node, const struct weir_request *request,
                   struct weir_spot *spot);

#endif
