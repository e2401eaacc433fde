#include "core/mig/room.h"

#include "base/err.h"
#include "base/units.h"
#include "core/mig/masks.h"

/* What this search has picked already: grants that are not yet held. */
struct picks {
    const struct weir_grant *grants;
    uint32_t n;
};

static const struct picks none = {NULL, 0};

/* ---- which kind ---- */

static bool has_enough(const struct weir_mig_offer *offer, const struct weir_request *request)
{
    return (int64_t)offer->memory_mib * WEIR_MIB >= request->shape->device_memory_bytes;
}

static bool is_smaller(const struct weir_mig_offer *a, const struct weir_mig_offer *b)
{
    return a->size != b->size ? a->size < b->size : a->slices < b->slices;
}

/* The offer that it gets on this device: the profile it names, or the smallest with enough memory
 * of those that the device is to have. NULL, and why, where there is none. */
static const struct weir_mig_offer *offer_for(const struct weir_overlay_mig *mig,
                                              const struct weir_request *request,
                                              uint32_t *ret_code)
{
    uint32_t profile = request->shape->mig_profile;
    const struct weir_mig_offer *best = NULL;

    *ret_code = profile != WEIR_NONE ? WEIR_REASON_GPU_CLASS : WEIR_REASON_GPU_MEMORY;
    for (uint32_t k = 0; k < mig->n_offers; k++) {
        const struct weir_mig_offer *offer = &mig->offers[k];

        if (profile != WEIR_NONE && offer->profile != profile)
            continue;
        if (!has_enough(offer, request)) {
            *ret_code = WEIR_REASON_GPU_MEMORY;
            continue;
        }
        if (mig->counts != NULL && mig->counts[k] == 0) {
            *ret_code = WEIR_REASON_MIG_MODE;
            continue;
        }
        if (best == NULL || is_smaller(offer, best))
            best = offer;
    }
    return best;
}

static bool is_class(const struct weir_overlay_device *device, const struct weir_request *request)
{
    return request->shape->gpu_class == WEIR_NONE || device->gpu_class == request->shape->gpu_class;
}

/* An instance of which nothing is known but itself. */
static uint32_t kind_of_row(const struct weir_overlay_device *child,
                            const struct weir_request *request)
{
    if (request->shape->mig_profile != WEIR_NONE &&
        request->shape->mig_profile != child->mig_profile)
        return WEIR_REASON_GPU_CLASS;
    return request->shape->device_memory_bytes > child->memory_bytes ? WEIR_REASON_GPU_MEMORY
                                                                     : WEIR_REASON_NONE;
}

uint32_t weir_mig_kind(const struct weir_overlay_device *device, const struct weir_request *request)
{
    const struct weir_overlay_device *whole = device->parent != NULL ? device->parent : device;
    uint32_t code;

    if (!is_class(device, request))
        return WEIR_REASON_GPU_CLASS;
    if (whole->kind == WEIR_DEVICE_WHOLE && whole->mig != NULL) {
        if (offer_for(whole->mig, request, &code) == NULL)
            return code;
        return whole->will_give == WEIR_GIVES_INSTANCES ? WEIR_REASON_NONE : WEIR_REASON_MIG_MODE;
    }
    if (device->kind == WEIR_DEVICE_MIG)
        return kind_of_row(device, request);
    return request->shape->mig_profile != WEIR_NONE ? WEIR_REASON_GPU_CLASS : WEIR_REASON_ISOLATION;
}

/* ---- what is taken ---- */

static bool is_held(const struct weir_overlay_device *device, uint32_t views)
{
    for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++)
        if (views & 1u << view && device->used[view].n_sharers > 0)
            return true;
    return false;
}

static uint32_t fresh_of(const struct weir_overlay_mig *mig, uint32_t views)
{
    uint32_t slots = 0;

    for (uint32_t view = 0; view < WEIR_VIEW_MAX; view++)
        if (views & 1u << view)
            slots |= mig->fresh[view];
    return slots;
}

static bool is_picked(const struct picks *picks, const struct weir_overlay_device *child)
{
    for (uint32_t i = 0; i < picks->n; i++)
        if (picks->grants[i].device == child->row)
            return true;
    return false;
}

/* Itself, or something that is to be made on its slots. */
static bool is_in_picks(const struct picks *picks, const struct weir_overlay_device *child)
{
    for (uint32_t i = 0; i < picks->n; i++) {
        const struct weir_grant *grant = &picks->grants[i];

        if (grant->device == child->row ||
            (child->parent != NULL && grant->device == child->parent->row &&
             (grant->slots & child->slots) != 0))
            return true;
    }
    return false;
}

/* Slots of a whole device that nothing new may lie on, and how many of the offer are among what
 * does. Idle instances are no obstacle. */
struct taken {
    uint32_t slots;
    uint32_t n;
};

static struct taken taken_of(const struct weir_overlay_device *whole, uint32_t views,
                             const struct weir_mig_offer *offer, const struct picks *picks)
{
    const struct weir_overlay_mig *mig = whole->mig;
    uint32_t view = views & WEIR_IN_SOON ? WEIR_VIEW_SOON : WEIR_VIEW_NOW;
    struct taken taken = {fresh_of(mig, views), 0};

    for (uint32_t start = 0; start < WEIR_DEVICE_SLOTS_MAX; start++)
        taken.n += mig->fresh_offer[view][start] == (uint32_t)(offer - mig->offers) + 1;
    for (uint32_t i = 1; i <= whole->n_children; i++) {
        const struct weir_overlay_device *child = &whole[i];

        if (!is_held(child, views) && child->n_foreign == 0 && child->out == WEIR_REASON_NONE &&
            !is_picked(picks, child))
            continue;
        taken.slots |= child->slots;
        taken.n += child->mig_profile == offer->profile;
    }
    for (uint32_t i = 0; i < picks->n; i++) {
        if (picks->grants[i].device != whole->row)
            continue;
        taken.slots |= picks->grants[i].slots;
        taken.n++;
    }
    return taken;
}

/* ---- instances that are there ---- */

static bool is_of_kind(const struct weir_overlay_device *child, const struct weir_request *request)
{
    uint32_t code;
    const struct weir_mig_offer *offer;

    if (child->parent == NULL || child->parent->mig == NULL)
        return kind_of_row(child, request) == WEIR_REASON_NONE;
    offer = offer_for(child->parent->mig, request, &code);
    return offer != NULL && offer->profile == child->mig_profile;
}

static uint32_t why_not_child(const struct weir_overlay_device *child, uint32_t views,
                              const struct weir_request *request)
{
    const struct weir_overlay_device *whole = child->parent;
    bool is_given = child->used[WEIR_VIEW_SOON].n_given > 0;

    if (!is_of_kind(child, request))
        return is_held(child, views) ? WEIR_REASON_DEVICE_BUSY : WEIR_REASON_GPU_CLASS;
    if (child->n_foreign > 0)
        return WEIR_REASON_DEVICE_FOREIGN;
    if (is_held(child, views & WEIR_IN_NOW))
        return WEIR_REASON_DEVICE_BUSY;
    if (is_held(child, views))
        return is_given ? WEIR_REASON_RESERVED : WEIR_REASON_DEVICE_BUSY;
    if (whole != NULL && whole->mig != NULL && (fresh_of(whole->mig, views) & child->slots) != 0)
        return WEIR_REASON_RESERVED;
    if (child->is_surplus || child->phase == WEIR_DEVICE_UNMAKING ||
        (child->phase != WEIR_DEVICE_THERE && views & WEIR_IN_NOW && !child->is_settled) ||
        (whole != NULL && weir_overlay_gives(whole) != WEIR_GIVES_INSTANCES))
        return WEIR_REASON_RESHAPING;
    return WEIR_REASON_NONE;
}

static bool would_do(const struct weir_overlay_device *child, uint32_t views,
                     const struct weir_request *request, const struct picks *picks)
{
    return weir_filter_device(child, views, request) == WEIR_REASON_NONE &&
           !is_in_picks(picks, child);
}

/* ---- instances that could be made ---- */

static bool may_make(const struct weir_overlay_device *whole, uint32_t views)
{
    if (whole->mig == NULL || weir_overlay_gives(whole) != WEIR_GIVES_INSTANCES ||
        whole->out != WEIR_REASON_NONE || whole->is_frozen || whole->binder != WEIR_BINDER_OURS)
        return false;
    /* What a layout lacks is made in any case, as soon as it can be. */
    if (!whole->is_settled && (views & WEIR_IN_NOW || whole->mig->counts != NULL))
        return false;
    return !is_held(whole, views);
}

static uint32_t limit_of(const struct weir_overlay_mig *mig, const struct weir_mig_offer *offer)
{
    uint32_t counted = mig->counts != NULL ? mig->counts[offer - mig->offers] : UINT32_MAX;

    return offer->instances_max < counted ? offer->instances_max : counted;
}

/* How many of the offer could be made, beside those there that would do. */
static uint32_t n_to_make(const struct weir_overlay_device *whole, uint32_t views,
                          const struct weir_request *request, const struct weir_mig_offer *offer,
                          const struct picks *picks)
{
    struct taken taken = taken_of(whole, views, offer, picks);
    uint32_t limit = limit_of(whole->mig, offer);
    uint32_t n;

    for (uint32_t i = 1; i <= whole->n_children; i++) {
        if (!would_do(&whole[i], views, request, picks))
            continue;
        taken.slots |= whole[i].slots;
        taken.n++;
    }
    if (taken.n >= limit)
        return 0;
    n = weir_mig_count(offer, taken.slots);
    return n < limit - taken.n ? n : limit - taken.n;
}

static uint32_t why_not_whole(const struct weir_overlay_device *whole, uint32_t views,
                              const struct weir_request *request)
{
    uint32_t code;
    const struct weir_mig_offer *offer = offer_for(whole->mig, request, &code);

    if (offer == NULL)
        return code;
    if (weir_overlay_gives(whole) != WEIR_GIVES_INSTANCES)
        return WEIR_REASON_RESHAPING;
    if (may_make(whole, views) && n_to_make(whole, views, request, offer, &none) > 0)
        return WEIR_REASON_NONE;
    if (whole->is_frozen)
        return WEIR_REASON_RESHAPING;
    return fresh_of(whole->mig, views) != 0 ? WEIR_REASON_RESERVED : WEIR_REASON_DEVICE_BUSY;
}

uint32_t weir_mig_why_not(const struct weir_overlay_device *device, uint32_t views,
                          const struct weir_request *request)
{
    return device->kind == WEIR_DEVICE_MIG ? why_not_child(device, views, request)
                                           : why_not_whole(device, views, request);
}

bool weir_mig_is_empty(const struct weir_overlay_device *device, enum weir_view view)
{
    for (uint32_t i = 1; i <= device->n_children; i++)
        if (device[i].used[view].n_sharers > 0 || device[i].n_foreign > 0)
            return false;
    return device->mig == NULL || device->mig->fresh[view] == 0;
}

bool weir_mig_is_sound(const struct weir_overlay_device *child)
{
    const struct weir_overlay_device *whole = child->parent;

    if (whole == NULL || whole->mig == NULL)
        return true;
    if ((whole->mig->fresh[WEIR_VIEW_SOON] & child->slots) != 0)
        return false;
    for (uint32_t k = 0; k < whole->mig->n_offers; k++) {
        const struct weir_mig_offer *offer = &whole->mig->offers[k];

        if (whole->mig->fresh[WEIR_VIEW_SOON] != 0 && offer->profile == child->mig_profile &&
            taken_of(whole, WEIR_IN_SOON, offer, &none).n > offer->instances_max)
            return false;
    }
    return true;
}

/* ---- the best ---- */

/* Where one of those could go. What is there before what would have to be made; of these what
 * leaves most placements to others, on all devices together; on a device that is in use before one
 * that is not. */
struct place {
    const struct weir_overlay_device *device;
    const struct weir_mig_offer *offer; /* to be made; NULL: it is there */
    uint32_t start;
    uint32_t is_leaving; /* somebody still has it */
    uint32_t loss;
    uint32_t is_unused;
};

static bool is_better(const struct place *a, const struct place *b)
{
    if (b->device == NULL)
        return true;
    if ((a->offer != NULL) != (b->offer != NULL))
        return a->offer == NULL;
    if (a->is_leaving != b->is_leaving)
        return a->is_leaving < b->is_leaving;
    if (a->loss != b->loss)
        return a->loss < b->loss;
    return a->is_unused < b->is_unused;
}

struct search {
    const struct weir_overlay *overlay;
    const struct weir_overlay_node *node;
    const struct weir_request *request;
    uint32_t views;
    uint32_t n_more; /* that must find a place besides */
    struct picks picks;
};

static const struct weir_overlay_device *device_at(const struct search *s, uint32_t i)
{
    return &s->overlay->devices[s->node->first_device + i];
}

/* How many there are on the node. */
static uint32_t count_all(const struct search *s, const struct picks *picks)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->node->n_devices; i++) {
        const struct weir_overlay_device *device = device_at(s, i);
        uint32_t code;

        if (device->kind == WEIR_DEVICE_MIG)
            n += would_do(device, s->views, s->request, picks);
        else if (weir_filter_kind(device, s->request) == WEIR_REASON_NONE &&
                 may_make(device, s->views))
            n += n_to_make(device, s->views, s->request, offer_for(device->mig, s->request, &code),
                           picks);
    }
    return n;
}

static struct weir_grant grant_of(const struct search *s, const struct place *place)
{
    const struct weir_overlay_device *device = place->device;
    struct weir_grant grant = {
        .device = device->row,
        .device_gen = weir_world_device(s->overlay->world, device->row)->row.gen,
        .part_mgpu = WEIR_MGPU_PER_GPU,
    };

    if (place->offer != NULL) {
        grant.slots = (uint16_t)weir_mig_slots(place->offer, place->start);
        grant.offer = (uint16_t)(place->offer - device->mig->offers + 1);
    }
    return grant;
}

/* Would the rest still find a place? Only an offer whose starts lie across each other can say no.
 */
static bool leaves_enough(const struct search *s, const struct place *place)
{
    enum { PICKS_MAX = 64 };
    struct weir_grant grants[PICKS_MAX];
    struct picks picks = {grants, s->picks.n + 1};

    if (s->n_more == 0 || s->picks.n >= PICKS_MAX)
        return true;
    if (s->picks.n > 0)
        memcpy(grants, s->picks.grants, s->picks.n * sizeof(grants[0]));
    grants[s->picks.n] = grant_of(s, place);
    return count_all(s, &picks) >= s->n_more;
}

static void try_child(const struct search *s, const struct weir_overlay_device *child,
                      struct place *best)
{
    const struct weir_overlay_device *whole = child->parent;
    struct place place = {.device = child, .is_leaving = is_held(child, WEIR_IN_NOW)};

    if (!would_do(child, s->views, s->request, &s->picks))
        return;
    if (whole != NULL && whole->mig != NULL && whole->mig->n_offers > 0) {
        struct taken taken = taken_of(whole, s->views, &whole->mig->offers[0], &s->picks);

        place.loss =
            weir_mig_loss(whole->mig->offers, whole->mig->n_offers, taken.slots, child->slots);
        place.is_unused = taken.slots == 0;
    }
    if (is_better(&place, best))
        *best = place;
}

static void try_whole(const struct search *s, const struct weir_overlay_device *whole,
                      struct place *best)
{
    uint32_t code;
    const struct weir_mig_offer *offer;
    struct taken taken;
    uint32_t starts;

    if (weir_filter_kind(whole, s->request) != WEIR_REASON_NONE || !may_make(whole, s->views))
        return;
    offer = offer_for(whole->mig, s->request, &code);
    if (n_to_make(whole, s->views, s->request, offer, &s->picks) == 0)
        return;
    taken = taken_of(whole, s->views, offer, &s->picks);
    starts = weir_mig_free_starts(offer, taken.slots);
    for (uint32_t start = 0; starts >> start != 0; start++) {
        struct place place = {whole, offer, start, 0, 0, taken.slots == 0};

        if ((starts & 1u << start) == 0)
            continue;
        place.loss = weir_mig_loss(whole->mig->offers, whole->mig->n_offers, taken.slots,
                                   weir_mig_slots(offer, start));
        if (is_better(&place, best) && leaves_enough(s, &place))
            *best = place;
    }
}

static struct place best_place(const struct search *s)
{
    struct place best = {NULL, NULL, 0, 0, 0, 0};

    for (uint32_t i = 0; i < s->node->n_devices; i++) {
        const struct weir_overlay_device *device = device_at(s, i);

        if (device->kind == WEIR_DEVICE_MIG)
            try_child(s, device, &best);
        else if (best.device == NULL || best.offer != NULL)
            try_whole(s, device, &best);
    }
    return best;
}

static bool has_match(const struct weir_overlay_device *device, const struct weir_request *request)
{
    return device->kind != WEIR_DEVICE_MIG || is_of_kind(device, request);
}

void weir_mig_filter(const struct weir_overlay *overlay, uint32_t views,
                     const struct weir_overlay_node *node, const struct weir_request *request,
                     uint32_t counts[WEIR_REASON_CODE_MAX], struct weir_fit *fit)
{
    const struct search s = {overlay, node, request, views, 0, {NULL, 0}};
    uint32_t n_there = 0;
    struct place best;

    for (uint32_t i = 0; i < node->n_devices; i++) {
        const struct weir_overlay_device *device = device_at(&s, i);
        uint32_t code = weir_filter_device(device, views, request);

        if (code == WEIR_REASON_NONE && device->kind == WEIR_DEVICE_MIG)
            n_there++;
        else if (code != WEIR_REASON_NONE && has_match(device, request))
            counts[code]++;
    }
    counts[WEIR_REASON_NONE] = count_all(&s, &none);
    if (counts[WEIR_REASON_NONE] == 0)
        return;
    best = best_place(&s);
    fit->n_to_make = n_there < request->shape->n_devices ? request->shape->n_devices - n_there : 0;
    fit->loss = best.loss;
    fit->n_fresh = best.is_unused;
}

int weir_mig_grant(struct weir_overlay *overlay, uint32_t views,
                   const struct weir_overlay_node *node, const struct weir_request *request,
                   struct weir_spot *spot)
{
    struct search s = {overlay, node, request, views, request->shape->n_devices, {NULL, 0}};

    while (s.n_more > 0) {
        struct place best;
        struct weir_grant grant;

        s.n_more--;
        s.picks.n = spot->n_grants;
        s.picks.grants = s.picks.n > 0 ? overlay->grants + spot->first_grant : NULL;
        best = best_place(&s);
        WEIR_ASSERT(best.device != NULL); /* the node was filtered: it has enough */
        grant = grant_of(&s, &best);
        if (weir_overlay_grant(overlay, &grant) < 0)
            return WEIR_E_NO_MEMORY;
        spot->n_grants++;
    }
    return 0;
}
