/* Whether a setup can be: what is wrong with it is said before it is taken. */
#include "app/server.h"
#include "app/setup.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/tree.h"

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

struct kind {
    const struct weir_gpu_mig_profile *profile;
    int64_t n;
};

/* Puts the rest of them beside what is taken; a place for each is found if there is one. */
static bool fits(struct kind *kinds, size_t n_kinds, uint32_t taken)
{
    size_t i = 0;

    while (i < n_kinds && kinds[i].n == 0)
        i++;
    if (i == n_kinds)
        return true;
    for (uint32_t p = 0; p < kinds[i].profile->n_placements; p++) {
        const struct weir_gpu_placement *at = &kinds[i].profile->placements[p];
        uint32_t slots = ((1u << (at->size & 31)) - 1) << (at->start & 31);
        bool is_placed;

        if ((taken & slots) != 0)
            continue;
        kinds[i].n--;
        is_placed = fits(kinds, n_kinds, taken | slots);
        kinds[i].n++;
        if (is_placed)
            return true;
    }
    return false;
}

static int unknown_profile(const struct weir_tree *node, const struct weir_gpu_device *seen,
                           struct weir_err *err)
{
    struct weir_str names[OFFERS_MAX];
    size_t n = 0;
    ptrdiff_t near;

    while (n < seen->n_profiles && n < OFFERS_MAX) {
        names[n] = seen->profiles[n].name;
        n++;
    }
    near = weir_str_nearest(node->key, names, n);
    weir_tree_error(node, err, "%.*s (%.*s) takes no instances '%.*s'", WEIR_STR_ARG(seen->uuid),
                    WEIR_STR_ARG(seen->name), WEIR_STR_ARG(node->key));
    if (near >= 0)
        return weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[near]));
    return weir_error_hint(err, "`weir describe gpu %.*s` says which it takes",
                           WEIR_STR_ARG(seen->uuid));
}

static int check_room(const struct weir_tree *devices, const struct weir_gpu_device *seen,
                      struct kind kinds[OFFERS_MAX], size_t n, struct weir_err *err)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t most = kinds[i].profile->instances_max;

        if (kinds[i].n <= most)
            continue;
        weir_tree_error(devices, err, "%.*s takes %u instances %.*s at most, not %lld",
                        WEIR_STR_ARG(seen->uuid), most, WEIR_STR_ARG(kinds[i].profile->name),
                        (long long)kinds[i].n);
        return weir_error_hint(err, "%.*s: %u", WEIR_STR_ARG(kinds[i].profile->name), most);
    }
    if (fits(kinds, n, 0))
        return 0;
    weir_tree_error(devices, err, "these instances do not fit side by side on %.*s (%.*s)",
                    WEIR_STR_ARG(seen->uuid), WEIR_STR_ARG(seen->name));
    return weir_error_hint(err,
                           "`weir describe gpu %.*s` says how large each is and where it may "
                           "be",
                           WEIR_STR_ARG(seen->uuid));
}

static int check_layout(const struct weir_tree *devices, const struct weir_gpu_device *seen,
                        struct weir_err *err)
{
    struct kind kinds[OFFERS_MAX];
    size_t n = 0;

    weir_tree_foreach (each, devices) {
        const struct weir_gpu_mig_profile *profile = NULL;

        for (uint32_t i = 0; i < seen->n_profiles; i++)
            if (weir_str_eq(seen->profiles[i].name, each->key))
                profile = &seen->profiles[i];
        if (profile == NULL)
            return unknown_profile(each, seen, err);
        if (n < OFFERS_MAX)
            kinds[n++] = (struct kind){profile, count_of(each)};
    }
    return check_room(devices, seen, kinds, n, err);
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
    return devices != NULL && seen->n_profiles > 0 ? check_layout(devices, seen, err) : 0;
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
    if (server->gpu.list(server->gpu.ctx, &arena, &devices, &n, &away) < 0)
        return 0;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = check_device(server, spec, &devices[i], err);
    return r;
}
