#include "core/mig/load.h"

#include "base/arena.h"
#include "base/err.h"
#include "core/mig/masks.h"

/* The offers that were read last: devices of one model have the same. */
struct loader {
    struct weir_overlay *overlay;
    uint32_t span;
    uint32_t n_offers;
    struct weir_mig_offer *offers;
};

static int load_offers(struct loader *l, const struct weir_device *row)
{
    const struct weir_overlay *o = l->overlay;
    uint32_t n = weir_world_n_mig_offers(o->world, row);

    if (row->offers == l->span)
        return 0;
    l->offers = weir_arena_new_n(o->arena, struct weir_mig_offer, n);
    if (l->offers == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        l->offers[i] = weir_world_mig_offer(o->world, row, i);
    /* Of more than can be told apart the others are as if they were not: real devices have ten. */
    l->n_offers = n < UINT8_MAX ? n : UINT8_MAX - 1;
    l->span = row->offers;
    return 0;
}

static uint32_t offer_of(const struct weir_overlay_mig *mig, uint32_t profile)
{
    uint32_t k = 0;

    while (k < mig->n_offers && mig->offers[k].profile != profile)
        k++;
    return k;
}

/* ---- modes ---- */

static bool is_mode_to_change(const struct weir_device *row)
{
    return row->mig != WEIR_MIG_NONE && row->mig_wanted != WEIR_MIG_NONE &&
           row->mig_wanted != row->mig;
}

/* A device of which nobody knows its mode, and that has instances, is cut. */
static uint32_t gives_of_mode(uint32_t mode, uint32_t n_children)
{
    return mode == WEIR_MIG_ON || (mode == WEIR_MIG_NONE && n_children > 0) ? WEIR_GIVES_INSTANCES
                                                                            : WEIR_GIVES_WHOLE;
}

static void set_gives(struct weir_overlay_device *device, const struct weir_device *row)
{
    uint32_t mode = row->mig;

    device->gives = (uint8_t)gives_of_mode(mode, device->n_children);
    if (is_mode_to_change(row))
        mode = row->mig_wanted;
    else if (row->phase == WEIR_DEVICE_SWITCHING && row->mig_wanted == WEIR_MIG_NONE)
        mode = row->mig == WEIR_MIG_ON ? WEIR_MIG_OFF : WEIR_MIG_ON;
    device->will_give = (uint8_t)gives_of_mode(mode, device->n_children);
    if (row->phase != WEIR_DEVICE_THERE || is_mode_to_change(row))
        device->gives = WEIR_GIVES_NOTHING;
}

/* ---- layouts ---- */

static int load_counts(struct loader *l, struct weir_overlay_mig *mig, uint32_t layout)
{
    const struct weir_world *world = l->overlay->world;
    uint8_t *counts = weir_arena_new_n(l->overlay->arena, uint8_t, mig->n_offers);

    if (counts == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i + 1 < weir_world_span_len(world, layout); i += 2) {
        uint32_t k = offer_of(mig, weir_world_span_at(world, layout, i));

        if (k < mig->n_offers)
            counts[k] = (uint8_t)weir_world_span_at(world, layout, i + 1);
    }
    mig->counts = counts;
    return 0;
}

/* Stays where it is, whatever the layout says. */
static bool is_fixed(const struct weir_overlay *o, const struct weir_overlay_device *child)
{
    const struct weir_device *row = weir_world_device(o->world, child->row);

    return row->n_sharers > 0 || row->n_foreign > 0 || row->cordoned ||
           row->health != WEIR_DEVICE_HEALTHY;
}

static uint32_t start_of(const struct weir_overlay_device *child)
{
    uint32_t start = 0;

    while (start < WEIR_DEVICE_SLOTS_MAX - 1 && (child->slots & 1u << start) == 0)
        start++;
    return start;
}

static void add_children(const struct weir_overlay *o, const struct weir_overlay_device *device,
                         struct weir_mig_puzzle *puzzle)
{
    for (uint32_t i = 1; i <= device->n_children; i++) {
        struct weir_overlay_device *child = &o->devices[device - o->devices + i];
        uint32_t k = offer_of(device->mig, child->mig_profile);
        bool is_known = k < puzzle->n_offers && k < WEIR_DEVICE_SLOTS_MAX;

        child->is_surplus = child->phase != WEIR_DEVICE_UNMAKING;
        if (is_fixed(o, child)) {
            puzzle->blocked |= child->slots;
            if (is_known && puzzle->missing[k] > 0) {
                puzzle->missing[k]--;
                child->is_surplus = 0;
            }
        } else if (is_known && child->phase != WEIR_DEVICE_UNMAKING) {
            puzzle->idle[k] |= (uint16_t)(1u << start_of(child));
        }
    }
}

/* The idle one that lies there stays; 0: there is none. */
static bool keep_child(const struct weir_overlay *o, const struct weir_overlay_device *device,
                       const struct weir_mig_placement *placement)
{
    const struct weir_mig_offer *offer = &device->mig->offers[placement->offer];

    for (uint32_t i = 1; i <= device->n_children; i++) {
        struct weir_overlay_device *child = &o->devices[device - o->devices + i];

        if (child->is_surplus && child->mig_profile == offer->profile &&
            child->slots == weir_mig_slots(offer, placement->start) && !is_fixed(o, child)) {
            child->is_surplus = 0;
            return true;
        }
    }
    return false;
}

static void solve_layout(const struct weir_overlay *o, struct weir_overlay_device *device)
{
    struct weir_overlay_mig *mig = device->mig;
    struct weir_mig_puzzle puzzle = {.offers = mig->offers, .n_offers = mig->n_offers};
    struct weir_mig_placement placements[WEIR_DEVICE_SLOTS_MAX];
    uint32_t n;

    for (uint32_t k = 0; k < mig->n_offers && k < WEIR_DEVICE_SLOTS_MAX; k++)
        puzzle.missing[k] = mig->counts[k];
    add_children(o, device, &puzzle);
    n = weir_mig_solve(&puzzle, placements);
    for (uint32_t i = 0; i < n; i++)
        if (!keep_child(o, device, &placements[i])) {
            mig->to_make[mig->n_to_make][0] = placements[i].offer;
            mig->to_make[mig->n_to_make++][1] = placements[i].start;
        }
}

/* ---- one device ---- */

static int load_mig(struct loader *l, struct weir_overlay_device *device,
                    const struct weir_device *row)
{
    struct weir_overlay_mig *mig = weir_arena_new(l->overlay->arena, struct weir_overlay_mig);

    if (mig == NULL || load_offers(l, row) < 0)
        return WEIR_E_NO_MEMORY;
    mig->offers = l->offers;
    mig->n_offers = l->n_offers;
    device->mig = mig;
    if (row->layout == WEIR_NONE)
        return 0;
    if (load_counts(l, mig, row->layout) < 0)
        return WEIR_E_NO_MEMORY;
    if (device->gives == WEIR_GIVES_INSTANCES)
        solve_layout(l->overlay, device);
    return 0;
}

/* Instances stand behind their device. */
static void link_children(struct weir_overlay *o, uint32_t at)
{
    struct weir_overlay_device *device = &o->devices[at];

    for (uint32_t i = at + 1; i < o->n_devices; i++) {
        const struct weir_device *row = weir_world_device(o->world, o->devices[i].row);

        if (row->kind != WEIR_DEVICE_MIG || row->parent != device->row)
            return;
        o->devices[i].parent = device;
        device->n_children++;
    }
}

int weir_mig_load(struct weir_overlay *overlay)
{
    struct loader l = {.overlay = overlay, .span = WEIR_NONE};

    for (uint32_t i = 0; i < overlay->n_devices; i++) {
        struct weir_overlay_device *device = &overlay->devices[i];
        const struct weir_device *row = weir_world_device(overlay->world, device->row);

        if (row->kind == WEIR_DEVICE_MIG)
            continue;
        link_children(overlay, i);
        set_gives(device, row);
        if (row->offers != WEIR_NONE && row->kind == WEIR_DEVICE_WHOLE &&
            load_mig(&l, device, row) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}
