/* core/share/share.h — parts of a whole device: by memory, under MPS or only watched, or in equal
 * turns. */
#ifndef WEIR_CORE_SHARE_SHARE_H
#define WEIR_CORE_SHARE_SHARE_H

#include "core/place/filter.h"

/* Whether the device can ever be shared so: NONE or ISOLATION. */
uint32_t weir_share_kind(const struct weir_overlay_device *device,
                         const struct weir_request *request);

/* Why there is no room for it; NONE: there is. */
uint32_t weir_share_why_no_room(const struct weir_overlay_device *device, enum weir_view view,
                                const struct weir_request *request);

/* Its part of this device: time, memory, and whether it is to run under MPS. */
void weir_share_part(const struct weir_overlay_device *device, const struct weir_request *request,
                     struct weir_grant *grant);

/* Of one that has a part of it: it may stay beside what is promised, SOON. */
bool weir_share_is_sound(const struct weir_overlay_device *device, uint32_t owner);

#endif
