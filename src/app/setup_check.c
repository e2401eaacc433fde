/* Whether a setup can be: what is wrong with it is said before it is taken. */
#include "app/known.h"
#include "app/server.h"
#include "app/setup.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/tree.h"
#include "core/mig/masks.h"
#include "model/gpu_catalogue.h"

enum { OFFERS_MAX = 32 };

/* ---- by itself ---- */

static int64_t count_of(const struct weir_tree *node)
{
    int64_t n = 0;

    return weir_str_to_i64(node->text, &n) ? n : 0;
}

static int check_mig(const struct weir_tree *mig, struct weir_err *err)
{
    const struct weir_tree *enabled = weir_tree_get(mig, "enabled");
    const struct weir_tree *devices = weir_tree_get(mig, "devices");
    int64_t n = 0;

    if (devices == NULL || devices->first == NULL)
        return 0;
    weir_tree_foreach (each, devices)
        n += count_of(each);
    if (n == 0)
        return weir_tree_error(devices, err, "every count is 0: it asks for no instance");
    if (enabled != NULL && weir_str_eq_c(enabled->text, "false")) {
        weir_tree_error(devices, err, "instances, and MIG mode off");
        return weir_error_hint(err, "leave out the devices, or enabled: false");
    }
    return 0;
}

static bool wants_mig(const struct weir_tree *entry)
{
    const struct weir_tree *mig = weir_tree_get(entry, "mig");
    const struct weir_tree *enabled = weir_tree_get(mig, "enabled");
    const struct weir_tree *devices = weir_tree_get(mig, "devices");

    if (enabled != NULL)
        return weir_str_eq_c(enabled->text, "true");
    return devices != NULL && devices->first != NULL;
}

static int check_sharing(const struct weir_tree *entry, struct weir_err *err)
{
    const struct weir_tree *sharing = weir_tree_get(entry, "sharing");
    const struct weir_tree *replicas = weir_tree_get(entry, "replicas");
    bool is_sliced = sharing != NULL && weir_str_eq_c(sharing->text, "time-slicing");

    if (replicas != NULL && !is_sliced)
        return weir_tree_error(replicas, err, "replicas are those of sharing: time-slicing");
    if (is_sliced && replicas == NULL) {
        weir_tree_error(sharing, err, "time-slicing among how many");
        return weir_error_hint(err, "for example replicas: 4");
    }
    if (sharing != NULL && wants_mig(entry) && !weir_str_eq_c(sharing->text, "never") &&
        !weir_str_eq_c(sharing->text, "budgets"))
        return weir_tree_error(sharing, err, "a GPU in MIG mode is shared by its instances only");
    return 0;
}

static int check_entry(const struct weir_tree *entry, struct weir_err *err)
{
    const struct weir_tree *all = weir_tree_path(entry, "select.all");
    int r;

    if (all != NULL && weir_str_eq_c(all->text, "false")) {
        weir_tree_error(all, err, "an entry that selects nothing");
        return weir_error_hint(err, "leave it out, and say index, node, class or uuid");
    }
    r = check_mig(weir_tree_get(entry, "mig"), err);
    return r < 0 ? r : check_sharing(entry, err);
}

/* ---- on a device ---- */

/* The instances that it takes, in the order of its list. */
struct takes {
    struct weir_str names[OFFERS_MAX];
    struct weir_mig_offer offers[OFFERS_MAX];
    size_t n;
};

static void add_offer(struct takes *takes, struct weir_str name, uint32_t size, uint32_t starts,
                      uint32_t at_most)
{
    if (takes->n == OFFERS_MAX || size == 0 || starts == 0)
        return;
    takes->names[takes->n] = name;
    takes->offers[takes->n++] =
        (struct weir_mig_offer){.size = size, .starts = starts, .instances_max = at_most};
}

/* Drivers tell of a GPU in MIG mode where instances may be; of others the catalogue does. */
static void list_takes(const struct weir_gpu_device *seen, struct takes *takes)
{
    const struct weir_gpu_model *model = weir_gpu_catalogue_find(seen->class);
    bool is_told;

    takes->n = 0;
    for (uint32_t i = 0; i < seen->n_profiles; i++) {
        const struct weir_gpu_mig_profile *profile = &seen->profiles[i];
        uint32_t starts = 0;

        for (uint32_t p = 0; p < profile->n_placements; p++)
            starts |= 1u << (profile->placements[p].start & 15);
        add_offer(takes, profile->name, profile->n_placements > 0 ? profile->placements[0].size : 0,
                  starts, profile->instances_max);
    }
    is_told = takes->n > 0;
    for (uint32_t i = 0; !is_told && model != NULL && i < model->n_mig_profiles; i++) {
        const struct weir_mig_profile *profile = &model->mig_profiles[i];

        add_offer(takes, weir_str(profile->name), profile->memory_slices, profile->start_mask,
                  profile->max_instances);
    }
}

static int unknown_profile(const struct weir_tree *node, const struct weir_gpu_device *seen,
                           const struct takes *takes, struct weir_err *err)
{
    ptrdiff_t near = weir_str_nearest(node->key, takes->names, takes->n);

    weir_tree_error(node, err, "%.*s (%.*s) takes no instances '%.*s'", WEIR_STR_ARG(seen->uuid),
                    WEIR_STR_ARG(seen->name), WEIR_STR_ARG(node->key));
    if (near >= 0)
        return weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(takes->names[near]));
    return weir_error_hint(err, "`weir describe gpu %.*s` says which it takes",
                           WEIR_STR_ARG(seen->uuid));
}

static int too_many(const struct weir_tree *node, const struct weir_gpu_device *seen,
                    const struct weir_mig_offer *offer, struct weir_err *err)
{
    weir_tree_error(node, err, "%.*s (%.*s) takes at most %u instances %.*s",
                    WEIR_STR_ARG(seen->uuid), WEIR_STR_ARG(seen->name), offer->instances_max,
                    WEIR_STR_ARG(node->key));
    return weir_error_code(err);
}

static int check_layout(const struct weir_tree *devices, const struct weir_gpu_device *seen,
                        struct weir_err *err)
{
    struct takes takes;
    struct weir_mig_offer offers[WEIR_DEVICE_SLOTS_MAX];
    struct weir_mig_placement placements[WEIR_DEVICE_SLOTS_MAX];
    struct weir_mig_puzzle puzzle = {.offers = offers};
    int64_t n = 0;

    list_takes(seen, &takes);
    if (takes.n == 0)
        return 0;
    weir_tree_foreach (each, devices) {
        size_t i = 0;

        while (i < takes.n && !weir_str_eq(takes.names[i], each->key))
            i++;
        if (i == takes.n)
            return unknown_profile(each, seen, &takes, err);
        if (count_of(each) > takes.offers[i].instances_max)
            return too_many(each, seen, &takes.offers[i], err);
        if (count_of(each) == 0 || puzzle.n_offers == WEIR_DEVICE_SLOTS_MAX)
            continue;
        puzzle.missing[puzzle.n_offers] = (uint8_t)count_of(each);
        offers[puzzle.n_offers++] = takes.offers[i];
        n += count_of(each);
    }
    if (n <= WEIR_DEVICE_SLOTS_MAX && weir_mig_solve(&puzzle, placements) == (uint32_t)n)
        return 0;
    weir_tree_error(devices, err, "these instances do not fit side by side on %.*s (%.*s)",
                    WEIR_STR_ARG(seen->uuid), WEIR_STR_ARG(seen->name));
    return weir_error_hint(err,
                           "in MIG mode `weir describe gpu %.*s` says how large each is and "
                           "where it may be",
                           WEIR_STR_ARG(seen->uuid));
}

/* Who names GPUs one by one means these; who takes all of a kind means those that can. */
static bool is_named(const struct weir_tree *entry)
{
    return weir_tree_path(entry, "select.index") != NULL ||
           weir_tree_path(entry, "select.uuid") != NULL;
}

static int check_device(const struct weir_server *server, const struct weir_tree *spec,
                        const struct weir_gpu_device *seen, struct weir_err *err)
{
    const struct weir_tree *entry = weir_setup_entry(server, spec, seen);
    const struct weir_tree *devices = weir_tree_path(entry, "mig.devices");

    if (entry == NULL || seen->state != WEIR_GPU_READY || !wants_mig(entry))
        return 0;
    if ((seen->valid & WEIR_GPU_HAS_MIG_MODE) == 0) {
        if (!is_named(entry))
            return 0;
        return weir_tree_error(weir_tree_get(entry, "mig"), err, "%.*s (%.*s) has no MIG",
                               WEIR_STR_ARG(seen->uuid), WEIR_STR_ARG(seen->name));
    }
    return devices != NULL ? check_layout(devices, seen, err) : 0;
}

int weir_setup_check(struct weir_server *server, const struct weir_tree *spec, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    const struct weir_tree *entries = weir_tree_get(spec, "gpus");
    struct weir_err away = WEIR_ERR_INIT;
    uint32_t n = 0;
    int r = 0;

    weir_tree_foreach (entry, entries) {
        r = check_entry(entry, err);
        if (r < 0)
            return r;
    }
    /* A driver that is away says nothing against it. */
    if (weir_known_list(server, &arena, &devices, &n, &away) < 0)
        return 0;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = check_device(server, spec, &devices[i], err);
    return r;
}
