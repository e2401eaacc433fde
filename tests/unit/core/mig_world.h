/* GPUs that can be cut, and a small model of their driver, for the tests of core/. */
#ifndef TESTS_CORE_MIG_WORLD_H
#define TESTS_CORE_MIG_WORLD_H

#include "base/count.h"
#include "build_world.h"

struct offer_spec {
    const char *name;
    uint32_t slices;
    uint32_t size;
    uint32_t starts;
    uint32_t max;
    uint32_t mib;
};

static inline const struct weir_mig_offer *offers_of(struct bench *b,
                                                     const struct offer_spec *specs, uint32_t n)
{
    static struct weir_mig_offer offers[16];

    for (uint32_t i = 0; i < n; i++)
        offers[i] = (struct weir_mig_offer){.profile = profile_of(b, specs[i].name),
                                            .driver_id = i,
                                            .slices = specs[i].slices,
                                            .size = specs[i].size,
                                            .starts = specs[i].starts,
                                            .instances_max = specs[i].max,
                                            .memory_mib = specs[i].mib};
    return offers;
}

/* Of a GPU of 40 GB: 8 memory slices. */
static inline const struct weir_mig_offer *offers_a100(struct bench *b, uint32_t *n)
{
    static const struct offer_spec specs[] = {
        {"1g.5gb", 1, 1, 0x7f, 7, 4864},   {"1g.5gb+me", 1, 1, 0x7f, 1, 4864},
        {"1g.10gb", 1, 2, 0x55, 4, 9856},  {"2g.10gb", 2, 2, 0x15, 3, 9856},
        {"3g.20gb", 3, 4, 0x11, 2, 19968}, {"4g.20gb", 4, 4, 0x01, 1, 19968},
        {"7g.40gb", 7, 8, 0x01, 1, 40192},
    };

    *n = WEIR_COUNT_OF(specs);
    return offers_of(b, specs, *n);
}

/* Of a GPU of 80 GB of the next generation. */
static inline const struct weir_mig_offer *offers_h100(struct bench *b, uint32_t *n)
{
    static const struct offer_spec specs[] = {
        {"1g.10gb", 1, 1, 0x7f, 7, 9984},  {"1g.20gb", 1, 2, 0x55, 4, 20096},
        {"2g.20gb", 2, 2, 0x15, 3, 20096}, {"3g.40gb", 3, 4, 0x11, 2, 40448},
        {"4g.40gb", 4, 4, 0x01, 1, 40448}, {"7g.80gb", 7, 8, 0x01, 1, 81152},
    };

    *n = WEIR_COUNT_OF(specs);
    return offers_of(b, specs, *n);
}

/* Of a small GPU: 4 memory slices. */
static inline const struct weir_mig_offer *offers_a30(struct bench *b, uint32_t *n)
{
    static const struct offer_spec specs[] = {
        {"1g.6gb", 1, 1, 0x0f, 4, 5952},
        {"2g.12gb", 2, 2, 0x05, 2, 12032},
        {"4g.24gb", 4, 4, 0x01, 1, 24125},
    };

    *n = WEIR_COUNT_OF(specs);
    return offers_of(b, specs, *n);
}

static inline bool is_under_way(const struct weir_device *row)
{
    return row->phase != WEIR_DEVICE_THERE || row->mps == WEIR_MPS_STARTING ||
           row->mps == WEIR_MPS_STOPPING;
}

/* The driver ends one thing that is under way, as it was asked to. */
static inline void end_change(struct bench *b, uint32_t at)
{
    static uint32_t next_instance = 1;
    struct weir_device *row = weir_edit_device(b->edit, at);

    assert_non_null(row);
    if (row->phase == WEIR_DEVICE_UNMAKING) {
        must(weir_edit_remove_device(b->edit, at));
        return;
    }
    if (row->phase == WEIR_DEVICE_MAKING)
        row->instance = next_instance++;
    if (row->phase == WEIR_DEVICE_SWITCHING)
        row->mig = row->mig == WEIR_MIG_ON ? WEIR_MIG_OFF : WEIR_MIG_ON;
    row->phase = WEIR_DEVICE_THERE;
    row->mps = row->mps == WEIR_MPS_STARTING   ? WEIR_MPS_ON
               : row->mps == WEIR_MPS_STOPPING ? WEIR_MPS_OFF
                                               : row->mps;
}

/* It fails: all is as before, and not tried again for a second. */
static inline void fail_change(struct bench *b, uint32_t at)
{
    struct weir_device *row = weir_edit_device(b->edit, at);
    uint32_t changed = row->phase == WEIR_DEVICE_MAKING ? row->parent : at;

    if (row->phase == WEIR_DEVICE_MAKING)
        must(weir_edit_remove_device(b->edit, at));
    row = weir_edit_device(b->edit, changed);
    row->phase = WEIR_DEVICE_THERE;
    row->mps = row->mps == WEIR_MPS_STARTING   ? WEIR_MPS_OFF
               : row->mps == WEIR_MPS_STOPPING ? WEIR_MPS_ON
                                               : row->mps;
    row->change_not_before_wall_ms = b->now.wall_ms + 1000;
}

/* One of `chance` of what is under way ends; of these one of `failing` fails, 0: none. */
static inline uint32_t drive(struct bench *b, struct weir_rng *rng, uint64_t chance,
                             uint64_t failing)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t next;
    uint32_t n = 0;

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_DEVICES); at != WEIR_NONE; at = next) {
        next = weir_world_after(view, WEIR_TABLE_DEVICES, at);
        if (!is_under_way(weir_world_device(view, at)))
            continue;
        n++;
        if (rng != NULL && weir_rng_below(rng, chance) != 0)
            continue;
        if (rng != NULL && failing > 0 && weir_rng_below(rng, failing) == 0)
            fail_change(b, at);
        else
            end_change(b, at);
    }
    return n;
}

/* The instances of a GPU by their first slot: "0:3g.20gb 4:1g.5gb*", * where somebody has it. */
static inline const char *instances_of(const struct bench *b, const char *node, int gpu)
{
    static char text[1024];
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t whole = device_at(b, node, gpu);
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t slot = 0; slot < WEIR_DEVICE_SLOTS_MAX; slot++)
        for (uint32_t at = weir_world_first(view, WEIR_TABLE_DEVICES); at != WEIR_NONE;
             at = weir_world_after(view, WEIR_TABLE_DEVICES, at)) {
            const struct weir_device *row = weir_world_device(view, at);

            if (row->kind != WEIR_DEVICE_MIG || row->parent != whole ||
                (row->slots & ((2u << slot) - 1)) != 1u << slot)
                continue;
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u:%.*s%s%s", n > 0 ? " " : "",
                                  slot, WEIR_STR_ARG(weir_world_mig_name(view, row->mig_profile)),
                                  row->phase == WEIR_DEVICE_MAKING     ? "+"
                                  : row->phase == WEIR_DEVICE_UNMAKING ? "-"
                                                                       : "",
                                  row->n_sharers > 0 ? "*" : "");
        }
    return text;
}

/* Decides, starts, ends what leaves and what is under way, until nothing more happens. */
static inline int settle_all(struct bench *b, int n)
{
    for (int round = 1; round <= n; round++) {
        uint32_t n_changes;

        tick(b);
        n_changes = b->plan.n_actions + run_started(b) + end_stopping(b) + drive(b, NULL, 1, 0);
        b->now.wall_ms++;
        b->now.mono_ms++;
        if (n_changes == 0)
            return round;
    }
    fail_msg("the world does not come to rest:\n%s", b->tell != NULL ? b->tell(b) : "");
    return n;
}

static inline const struct weir_action *action_of_kind(const struct bench *b,
                                                       enum weir_action_kind kind)
{
    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        if (b->plan.actions[i].kind == kind)
            return &b->plan.actions[i];
    return NULL;
}

#endif
