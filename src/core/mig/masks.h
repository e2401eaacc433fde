/* core/mig/masks.h — where instances may lie on a device: arithmetic on its memory slices, one bit
 * each. Nothing here knows of worlds.
 *
 * A placement is an offer at one of its starts; it covers `size` slices from there. What the driver
 * allows is just this: the starts that it lists, no overlap, no more than instances_max of a kind.
 */
#ifndef WEIR_CORE_MIG_MASKS_H
#define WEIR_CORE_MIG_MASKS_H

#include "model/world.h"

/* The slices of a placement. */
static inline uint32_t weir_mig_slots(const struct weir_mig_offer *offer, uint32_t start)
{
    return ((1u << offer->size) - 1) << start;
}

static inline bool weir_mig_may_start(const struct weir_mig_offer *offer, uint32_t start)
{
    return (offer->starts & 1u << start) != 0;
}

/* The starts of an offer that are free of `blocked`, as bits. */
uint32_t weir_mig_free_starts(const struct weir_mig_offer *offer, uint32_t blocked);
/* How many instances of one offer fit side by side beside `blocked`: from the lowest start up,
 * which for equal sizes is the most. */
uint32_t weir_mig_count(const struct weir_mig_offer *offer, uint32_t blocked);
/* Placements of all offers, one by one, that are possible beside `blocked` and not any more once
 * `slots` are taken. */
uint32_t weir_mig_loss(const struct weir_mig_offer *offers, uint32_t n, uint32_t blocked,
                       uint32_t slots);

struct weir_mig_placement {
    uint8_t offer;
    uint8_t start;
};

/* What a layout still asks for, on a device where some slots are taken for good. */
struct weir_mig_puzzle {
    const struct weir_mig_offer *offers;
    uint32_t n_offers;
    uint8_t missing[WEIR_DEVICE_SLOTS_MAX]; /* of each offer; beyond so many offers none is */
    uint32_t blocked;
    uint16_t idle[WEIR_DEVICE_SLOTS_MAX]; /* of each offer: starts where one is that may stay */
};

/* A place for each, those that are there already first; where not all can have one, as many as find
 * it, larger ones first. Returns how many, in ret_placements. */
uint32_t weir_mig_solve(const struct weir_mig_puzzle *puzzle,
                        struct weir_mig_placement ret_placements[WEIR_DEVICE_SLOTS_MAX]);

#endif
