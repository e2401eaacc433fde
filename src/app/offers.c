/* Which instances a GPU takes: as its driver tells, or, while it is not yet in the mode in which
 * drivers tell, as the catalogue has its model. */
#include "app/server.h"
#include "base/log.h"
#include "base/units.h"
#include "model/gpu_catalogue.h"

#include <stdlib.h>

enum { OFFERS_MAX = 32 };

struct named_offer {
    struct weir_mig_offer offer;
    struct weir_str name;
};

struct offers {
    struct named_offer of[OFFERS_MAX];
    uint32_t n;
};

static int compare_offers(const void *a, const void *b)
{
    const struct named_offer *x = a;
    const struct named_offer *y = b;

    if (x->offer.size != y->offer.size)
        return x->offer.size < y->offer.size ? -1 : 1;
    return weir_str_cmp(x->name, y->name);
}

/* Where it may start, and how many slots it takes: of one size, as drivers have it. */
static bool place_offer(const struct weir_gpu_mig_profile *profile, struct weir_mig_offer *offer)
{
    for (uint32_t i = 0; i < profile->n_placements; i++) {
        const struct weir_gpu_placement *at = &profile->placements[i];

        if (at->size == 0 || at->start + at->size > WEIR_DEVICE_SLOTS_MAX ||
            (offer->size != 0 && offer->size != at->size))
            continue;
        offer->size = at->size;
        offer->starts |= 1u << at->start;
    }
    return offer->starts != 0 && profile->name.len > 0;
}

static void say_too_many(struct weir_server *server, struct weir_str uuid, struct weir_str name)
{
    if (server->said_too_many_profiles)
        return;
    server->said_too_many_profiles = true;
    weir_log_error("gpu.profiles",
                   "%.*s: there are more than %d kinds of GPUs and instances: '%.*s' and what "
                   "comes after it cannot be given out",
                   WEIR_STR_ARG(uuid), WEIR_RESOURCE_MAX, WEIR_STR_ARG(name));
}

/* What there is no room for is left out. */
static int add(struct weir_server *server, struct weir_str uuid, struct named_offer *one,
               struct offers *offers)
{
    int r;

    if (offers->n == OFFERS_MAX)
        return 0;
    r = weir_edit_mig_profile(server->edit, one->name, &one->offer.profile);
    if (r == WEIR_E_TOO_LARGE) {
        say_too_many(server, uuid, one->name);
        return 0;
    }
    if (r == 0)
        offers->of[offers->n++] = *one;
    return r;
}

static uint32_t mib_of(int64_t bytes)
{
    int64_t mib = bytes / WEIR_MIB;

    return mib < UINT32_MAX ? (uint32_t)mib : UINT32_MAX;
}

static int list_told(struct weir_server *server, const struct weir_gpu_device *seen,
                     struct offers *offers)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < seen->n_profiles; i++) {
        const struct weir_gpu_mig_profile *profile = &seen->profiles[i];
        struct named_offer one = {.name = profile->name,
                                  .offer = {.driver_id = profile->id,
                                            .slices = profile->slices,
                                            .instances_max = profile->instances_max,
                                            .memory_mib = mib_of(profile->memory_bytes)}};

        if (place_offer(profile, &one.offer))
            r = add(server, seen->uuid, &one, offers);
    }
    return r;
}

static int list_catalogued(struct weir_server *server, const struct weir_gpu_device *seen,
                           struct offers *offers)
{
    const struct weir_gpu_model *model = weir_gpu_catalogue_find(seen->class);
    int r = 0;

    for (uint32_t i = 0; r == 0 && model != NULL && i < model->n_mig_profiles; i++) {
        const struct weir_mig_profile *profile = &model->mig_profiles[i];
        struct named_offer one = {.name = weir_str(profile->name),
                                  .offer = {.driver_id = profile->gi_profile_id,
                                            .slices = profile->compute_slices,
                                            .size = profile->memory_slices,
                                            .starts = profile->start_mask,
                                            .instances_max = profile->max_instances,
                                            .memory_mib = mib_of(profile->memory_bytes)}};

        r = add(server, seen->uuid, &one, offers);
    }
    return r;
}

/* The slots on which any of them may lie. */
static uint16_t slots_of(const struct offers *offers)
{
    uint16_t slots = 0;

    for (uint32_t i = 0; i < offers->n; i++)
        for (uint32_t k = 0; k < WEIR_DEVICE_SLOTS_MAX; k++)
            if ((offers->of[i].offer.starts >> k & 1) != 0)
                slots |= (uint16_t)(((1u << offers->of[i].offer.size) - 1) << k);
    return slots;
}

static bool is_to_be_cut(const struct weir_device *row)
{
    return row->mig_wanted == WEIR_MIG_ON && row->mig == WEIR_MIG_OFF;
}

int weir_server_offers_of(struct weir_server *server, const struct weir_device *row,
                          const struct weir_gpu_device *seen, uint32_t *ret_span,
                          uint16_t *ret_slots, struct weir_err *err)
{
    uint32_t cells[OFFERS_MAX * WEIR_MIG_OFFER_CELLS];
    struct offers offers = {.n = 0};
    uint32_t span = WEIR_NONE;
    int r = list_told(server, seen, &offers);

    if (r == 0 && offers.n == 0 && is_to_be_cut(row))
        r = list_catalogued(server, seen, &offers);
    qsort(offers.of, offers.n, sizeof(offers.of[0]), compare_offers);
    for (uint32_t i = 0; i < offers.n; i++)
        memcpy(&cells[i * WEIR_MIG_OFFER_CELLS], &offers.of[i].offer, sizeof(offers.of[i].offer));
    if (r == 0 && offers.n > 0)
        r = weir_edit_span(server->edit, cells, offers.n * WEIR_MIG_OFFER_CELLS, &span);
    if (r < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the instances of a GPU");
    *ret_span = span;
    *ret_slots = slots_of(&offers);
    return 0;
}
