/* model/guarantee.h — can the guarantees of the queues be met with what is there? */
#ifndef WEIR_MODEL_GUARANTEE_H
#define WEIR_MODEL_GUARANTEE_H

#include "model/world.h"

struct weir_shortfall {
    uint32_t resource; /* WEIR_NONE: none, the guarantee can be met */
    uint32_t reserved;
    int64_t guaranteed; /* to the queue */
    int64_t there;      /* of all nodes, in use or not: what is cordoned or broken may come back */
    int64_t others;     /* guaranteed to other queues besides */
};

/* The first resource of which all queues together are guaranteed more than is there, this one
 * among them. What is guaranteed to a queue counts towards the guarantee of those above it. */
struct weir_shortfall weir_guarantee_shortfall(const struct weir_world *world, uint32_t queue);

#endif
