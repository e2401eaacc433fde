#include "model/guarantee.h"

static int64_t add(int64_t a, int64_t b)
{
    return a > WEIR_AMOUNT_MAX - b ? WEIR_AMOUNT_MAX : a + b;
}

/* What has to be there for a queue and all below it: its own guarantee, or theirs where that is
 * more. */
static int64_t claim(const struct weir_world *world, uint32_t queue, uint32_t resource)
{
    const struct weir_queue *row = weir_world_queue(world, queue);
    int64_t below = 0;

    for (uint32_t child = row->first_child; child != WEIR_NONE;
         child = weir_world_queue(world, child)->next_sibling)
        below = add(below, claim(world, child, resource));
    return row->guaranteed.of[resource] > below ? row->guaranteed.of[resource] : below;
}

static int64_t claim_of_all(const struct weir_world *world, uint32_t resource)
{
    int64_t all = 0;

    for (uint32_t queue = weir_world_first(world, WEIR_TABLE_QUEUES); queue != WEIR_NONE;
         queue = weir_world_after(world, WEIR_TABLE_QUEUES, queue))
        if (weir_world_queue(world, queue)->parent == WEIR_NONE)
            all = add(all, claim(world, queue, resource));
    return all;
}

static int64_t capacity(const struct weir_world *world, uint32_t resource)
{
    int64_t all = 0;

    for (uint32_t node = weir_world_first(world, WEIR_TABLE_NODES); node != WEIR_NONE;
         node = weir_world_after(world, WEIR_TABLE_NODES, node))
        if (weir_world_node(world, node)->phase != WEIR_NODE_GONE)
            all = add(all, weir_world_node(world, node)->capacity.of[resource]);
    return all;
}

struct weir_shortfall weir_guarantee_shortfall(const struct weir_world *world, uint32_t queue)
{
    const struct weir_amounts *guaranteed = &weir_world_queue(world, queue)->guaranteed;

    for (uint32_t resource = weir_world_first(world, WEIR_TABLE_RESOURCES); resource != WEIR_NONE;
         resource = weir_world_after(world, WEIR_TABLE_RESOURCES, resource)) {
        int64_t all;
        int64_t there;

        if (guaranteed->of[resource] == 0)
            continue;
        all = claim_of_all(world, resource);
        there = capacity(world, resource);
        if (all > there)
            return (struct weir_shortfall){
                .resource = resource,
                .guaranteed = guaranteed->of[resource],
                .there = there,
                .others = all - claim(world, queue, resource),
            };
    }
    return (struct weir_shortfall){.resource = WEIR_NONE};
}
