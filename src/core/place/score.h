/* core/place/score.h — which of the nodes that fit, and which of its devices.
 *
 * Best fit: a share goes where a shared device has room before a fresh one is opened; then the node
 * with the fewest free GPUs; then by position. On the node a share goes on a device that is shared
 * already, with the least room left: of memory where it has a budget, else of time; whole devices
 * are taken from the smallest NVLink group that has enough, else from one NUMA node, else from the
 * lowest index. */
#ifndef WEIR_CORE_PLACE_SCORE_H
#define WEIR_CORE_PLACE_SCORE_H

#include "core/place/filter.h"

/* The best spot for one task, with its grants written down but not yet held. 1; 0 if nothing fits;
 * or WEIR_E_NO_MEMORY. */
int weir_score_find(struct weir_overlay *overlay, uint32_t views,
                    const struct weir_request *request, const struct weir_scope *scope,
                    struct weir_spot *ret_spot);

/* The same on a node of which the filter said that it fits. 0 or WEIR_E_NO_MEMORY. */
int weir_score_devices(struct weir_overlay *overlay, uint32_t views, uint32_t node,
                       const struct weir_request *request, struct weir_spot *ret_spot);

#endif
