#include "core/mig/stage.h"

#include "base/err.h"
#include "base/units.h"
#include "core/mig/masks.h"

static int emit(struct weir_tick *tick, struct weir_overlay_device *device,
                struct weir_action action)
{
    const struct weir_device *row = weir_world_device(tick->world, device->row);

    device->is_changed = 1;
    action.workload = WEIR_NONE;
    action.task = WEIR_NONE;
    action.node = row->node;
    action.for_whom = WEIR_NONE;
    action.device = device->row;
    action.device_gen = row->row.gen;
    if (action.kind != WEIR_ACTION_RESHAPE || action.reshape != WEIR_RESHAPE_CREATE)
        action.resource = WEIR_NONE;
    return weir_draft_action(&tick->draft, action);
}

static int begin(struct weir_tick *tick, struct weir_overlay_device *device, uint32_t reshape,
                 uint32_t cause)
{
    return emit(
        tick, device,
        (struct weir_action){.kind = WEIR_ACTION_RESHAPE, .cause = cause, .reshape = reshape});
}

static int share(struct weir_tick *tick, struct weir_overlay_device *device, bool on,
                 uint32_t cause)
{
    return emit(tick, device,
                (struct weir_action){.kind = WEIR_ACTION_SHARE, .cause = cause, .amount = on});
}

static bool is_free(const struct weir_overlay_device *device)
{
    return device->used[WEIR_VIEW_NOW].n_sharers == 0 &&
           device->used[WEIR_VIEW_SOON].n_sharers == 0;
}

/* ---- instances ---- */

static bool may_destroy(const struct weir_overlay_device *child)
{
    return child->phase == WEIR_DEVICE_THERE && is_free(child) && child->n_foreign == 0 &&
           child->out == WEIR_REASON_NONE && !child->is_frozen && !child->is_changed;
}

/* What lies on the slots goes, if it can. *ret_is_clear: nothing does. */
static int clear_slots(struct weir_tick *tick, struct weir_overlay_device *whole, uint32_t slots,
                       uint32_t cause, bool *ret_is_clear)
{
    *ret_is_clear = true;
    for (uint32_t i = 1; i <= whole->n_children; i++) {
        struct weir_overlay_device *child = &whole[i];

        if ((child->slots & slots) == 0)
            continue;
        *ret_is_clear = false;
        if (may_destroy(child) && begin(tick, child, WEIR_RESHAPE_DESTROY, cause) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* What the driver counts: also those that are about to go. */
static uint32_t n_of(const struct weir_overlay_device *whole, uint32_t profile)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i <= whole->n_children; i++)
        n += whole[i].mig_profile == profile;
    return n;
}

/* Creations of this decision on the device: of the profile, or overlapping the slots. */
static uint32_t n_created(const struct weir_tick *tick, const struct weir_overlay_device *whole,
                          uint32_t profile, uint32_t slots, bool *ret_overlaps)
{
    uint32_t n = 0;

    *ret_overlaps = false;
    for (uint32_t i = tick->draft.n_actions; i-- > 0;) {
        const struct weir_action *action = &tick->draft.actions[i];

        if (action->kind != WEIR_ACTION_RESHAPE && action->kind != WEIR_ACTION_SHARE)
            break; /* the stage's own come last */
        if (action->kind != WEIR_ACTION_RESHAPE || action->reshape != WEIR_RESHAPE_CREATE ||
            action->device != whole->row)
            continue;
        n += action->resource == profile;
        *ret_overlaps |= (action->slots & slots) != 0;
    }
    return n;
}

static int make(struct weir_tick *tick, struct weir_overlay_device *whole,
                const struct weir_mig_offer *offer, uint32_t slots, uint32_t cause)
{
    bool is_clear;
    bool overlaps;

    if (whole->is_frozen || whole->gives != WEIR_GIVES_INSTANCES)
        return 0;
    if (clear_slots(tick, whole, slots, cause, &is_clear) < 0)
        return WEIR_E_NO_MEMORY;
    if (!is_clear ||
        n_created(tick, whole, offer->profile, slots, &overlaps) + n_of(whole, offer->profile) >=
            offer->instances_max ||
        overlaps)
        return 0;
    return emit(tick, whole,
                (struct weir_action){.kind = WEIR_ACTION_RESHAPE,
                                     .cause = cause,
                                     .reshape = WEIR_RESHAPE_CREATE,
                                     .resource = offer->profile,
                                     .slots = (uint16_t)slots});
}

/* ---- for who waits ---- */

static int serve_grant(struct weir_tick *tick, const struct weir_grant *grant)
{
    struct weir_overlay *o = &tick->overlay;
    struct weir_overlay_device *device = &o->devices[o->position_of_device[grant->device]];

    if (grant->offer != 0)
        return make(tick, device, &device->mig->offers[grant->offer - 1], grant->slots,
                    WEIR_CAUSE_DEMANDED);
    if (grant->mps && device->mps == WEIR_MPS_OFF && !device->is_changed && !device->is_frozen &&
        device->used[WEIR_VIEW_NOW].n_sharers == 0)
        return share(tick, device, true, WEIR_CAUSE_DEMANDED);
    return 0;
}

static int serve_promises(struct weir_tick *tick)
{
    const struct weir_overlay *o = &tick->overlay;

    for (uint32_t i = 0; i < o->n_steps; i++) {
        const struct weir_overlay_step step = o->steps[i];

        if (step.running != WEIR_NONE || step.views != WEIR_IN_SOON)
            continue;
        for (uint32_t g = 0; g < step.spot.n_grants; g++)
            if (serve_grant(tick, &o->grants[step.spot.first_grant + g]) < 0)
                return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* ---- modes and layouts ---- */

static bool is_to_switch(const struct weir_device *row)
{
    return row->phase == WEIR_DEVICE_THERE && row->mig != WEIR_MIG_NONE &&
           row->mig_wanted != WEIR_MIG_NONE && row->mig_wanted != row->mig;
}

static int switch_mode(struct weir_tick *tick, struct weir_overlay_device *device,
                       const struct weir_device *row)
{
    bool is_on = row->mig_wanted == WEIR_MIG_ON;
    bool is_clear;

    if (clear_slots(tick, device, UINT32_MAX, WEIR_CAUSE_LAYOUT, &is_clear) < 0)
        return WEIR_E_NO_MEMORY;
    if (!is_clear || !is_free(device) || device->n_foreign > 0 || device->mps != WEIR_MPS_OFF ||
        device->is_changed)
        return 0;
    return begin(tick, device, is_on ? WEIR_RESHAPE_ENABLE : WEIR_RESHAPE_DISABLE,
                 WEIR_CAUSE_LAYOUT);
}

static int lay_out(struct weir_tick *tick, struct weir_overlay_device *device)
{
    struct weir_overlay_mig *mig = device->mig;

    for (uint32_t i = 1; i <= device->n_children; i++)
        if (device[i].is_surplus && may_destroy(&device[i]) &&
            begin(tick, &device[i], WEIR_RESHAPE_DESTROY, WEIR_CAUSE_LAYOUT) < 0)
            return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < mig->n_to_make; i++) {
        const struct weir_mig_offer *offer = &mig->offers[mig->to_make[i][0]];

        if (make(tick, device, offer, weir_mig_slots(offer, mig->to_make[i][1]),
                 WEIR_CAUSE_LAYOUT) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* ---- MPS ---- */

/* On, and nobody shares it or is to: who wants it whole waits for its end. */
static bool is_idle_mps(const struct weir_overlay_device *device)
{
    return device->who != NULL && device->mps == WEIR_MPS_ON &&
           device->used[WEIR_VIEW_NOW].n_sharers == 0 && device->who->n[WEIR_VIEW_SOON] == 0;
}

static int tend(struct weir_tick *tick, struct weir_overlay_device *device)
{
    const struct weir_device *row = weir_world_device(tick->world, device->row);

    if (row->kind != WEIR_DEVICE_WHOLE || row->binder != WEIR_BINDER_OURS || device->is_frozen)
        return 0;
    if (is_idle_mps(device) && !device->is_changed &&
        share(tick, device, false, WEIR_CAUSE_UNUSED) < 0)
        return WEIR_E_NO_MEMORY;
    if (device->out == WEIR_REASON_DEVICE_UNHEALTHY)
        return 0;
    if (is_to_switch(row))
        return switch_mode(tick, device, row);
    if (device->mig != NULL && device->mig->counts != NULL && device->gives == WEIR_GIVES_INSTANCES)
        return lay_out(tick, device);
    return 0;
}

static bool is_there(const struct weir_overlay_node *node)
{
    return node->out != WEIR_REASON_NODE_NOT_READY;
}

int weir_mig_reshape(struct weir_tick *tick)
{
    struct weir_overlay *o = &tick->overlay;

    if (!o->has_shaping || (tick->policy->actions & WEIR_POLICY_PLACE) == 0)
        return 0;
    if (serve_promises(tick) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < o->n_nodes; i++) {
        const struct weir_overlay_node *node = &o->nodes[i];

        for (uint32_t d = 0; is_there(node) && d < node->n_devices; d++)
            if (tend(tick, &o->devices[node->first_device + d]) < 0)
                return WEIR_E_NO_MEMORY;
    }
    return 0;
}
