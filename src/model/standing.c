#include "model/standing.h"

#include "base/err.h"

enum weir_node_standing weir_node_standing(const struct weir_node *node)
{
    switch ((enum weir_node_phase)node->phase) {
    case WEIR_NODE_REQUESTED:
        return WEIR_NODE_STANDING_REQUESTED;
    case WEIR_NODE_BOOTING:
        return WEIR_NODE_STANDING_BOOTING;
    case WEIR_NODE_READY:
        return WEIR_NODE_STANDING_READY;
    case WEIR_NODE_CORDONED:
        return WEIR_NODE_STANDING_CORDONED;
    case WEIR_NODE_DRAINING:
        return node->first_task != WEIR_NONE ? WEIR_NODE_STANDING_DRAINING
                                             : WEIR_NODE_STANDING_DRAINED;
    case WEIR_NODE_QUARANTINED:
        return WEIR_NODE_STANDING_QUARANTINED;
    case WEIR_NODE_GONE:
        return WEIR_NODE_STANDING_GONE;
    case WEIR_NODE_PHASE_MAX:
        break;
    }
    WEIR_BUG("a node in no phase");
}

static enum weir_device_standing of_idle(const struct weir_device *device,
                                         const struct weir_node *node)
{
    if (device->cordoned)
        return WEIR_DEVICE_STANDING_CORDONED;
    if (node->phase == WEIR_NODE_DRAINING)
        return WEIR_DEVICE_STANDING_DRAINED;
    if (node->phase != WEIR_NODE_READY)
        return WEIR_DEVICE_STANDING_CORDONED;
    return device->n_foreign > 0 ? WEIR_DEVICE_STANDING_FOREIGN : WEIR_DEVICE_STANDING_FREE;
}

/* One that is well. */
static enum weir_device_standing of_phase(const struct weir_device *device,
                                          const struct weir_node *node)
{
    switch ((enum weir_device_phase)device->phase) {
    case WEIR_DEVICE_MAKING:
        return WEIR_DEVICE_STANDING_MAKING;
    case WEIR_DEVICE_UNMAKING:
        return WEIR_DEVICE_STANDING_UNMAKING;
    case WEIR_DEVICE_SWITCHING:
        return WEIR_DEVICE_STANDING_SWITCHING;
    case WEIR_DEVICE_THERE:
    case WEIR_DEVICE_PHASE_MAX:
        break;
    }
    return device->first_hold != WEIR_NONE ? WEIR_DEVICE_STANDING_IN_USE : of_idle(device, node);
}

enum weir_device_standing weir_device_standing(const struct weir_device *device,
                                               const struct weir_node *node)
{
    switch ((enum weir_device_health)device->health) {
    case WEIR_DEVICE_HEALTHY:
        return of_phase(device, node);
    case WEIR_DEVICE_SUSPECT:
        return WEIR_DEVICE_STANDING_SUSPECT;
    case WEIR_DEVICE_UNHEALTHY:
        return WEIR_DEVICE_STANDING_UNHEALTHY;
    case WEIR_DEVICE_LOST:
        return WEIR_DEVICE_STANDING_LOST;
    case WEIR_DEVICE_HEALTH_MAX:
        break;
    }
    WEIR_BUG("a GPU of no health");
}

const char *weir_node_standing_name(enum weir_node_standing standing)
{
    static const char *const names[WEIR_NODE_STANDING_MAX] = {"requested",   "booting",  "ready",
                                                              "cordoned",    "draining", "drained",
                                                              "quarantined", "gone"};

    return standing < WEIR_NODE_STANDING_MAX ? names[standing] : "unknown";
}

const char *weir_device_standing_name(enum weir_device_standing standing)
{
    static const char *const names[WEIR_DEVICE_STANDING_MAX] = {"free",      "in-use",   "cordoned",
                                                                "drained",   "foreign",  "suspect",
                                                                "unhealthy", "lost",     "making",
                                                                "unmaking",  "switching"};

    return standing < WEIR_DEVICE_STANDING_MAX ? names[standing] : "unknown";
}
