/* model/standing.h — how a node or a GPU stands, in one word for people: whatever shows them says
 * the same. It is read off the world, and nothing is decided by it. */
#ifndef WEIR_MODEL_STANDING_H
#define WEIR_MODEL_STANDING_H

#include "model/world.h"

/* A node's phase; but where it is draining and no task holds anything there any more: drained. */
enum weir_node_standing {
    WEIR_NODE_STANDING_REQUESTED,
    WEIR_NODE_STANDING_BOOTING,
    WEIR_NODE_STANDING_READY,
    WEIR_NODE_STANDING_CORDONED,
    WEIR_NODE_STANDING_DRAINING,
    WEIR_NODE_STANDING_DRAINED,
    WEIR_NODE_STANDING_QUARANTINED,
    WEIR_NODE_STANDING_GONE,
    WEIR_NODE_STANDING_MAX
};

/* The first that holds: what is wrong with it, that it is being made, destroyed, or on its way to
 * another MIG mode, that it is in use, that it or its node takes nothing
 * new (drained: the node is being emptied, and this GPU is empty), that only others use it. */
enum weir_device_standing {
    WEIR_DEVICE_STANDING_FREE,
    WEIR_DEVICE_STANDING_IN_USE,
    WEIR_DEVICE_STANDING_CORDONED,
    WEIR_DEVICE_STANDING_DRAINED,
    WEIR_DEVICE_STANDING_FOREIGN,
    WEIR_DEVICE_STANDING_SUSPECT,
    WEIR_DEVICE_STANDING_UNHEALTHY,
    WEIR_DEVICE_STANDING_LOST,
    WEIR_DEVICE_STANDING_MAKING,
    WEIR_DEVICE_STANDING_UNMAKING,
    WEIR_DEVICE_STANDING_SWITCHING,
    WEIR_DEVICE_STANDING_MAX
};

enum weir_node_standing weir_node_standing(const struct weir_node *node);
enum weir_device_standing weir_device_standing(const struct weir_device *device,
                                               const struct weir_node *node);

/* As the API spells them: "in-use". */
const char *weir_node_standing_name(enum weir_node_standing standing);
const char *weir_device_standing_name(enum weir_device_standing standing);

#endif
