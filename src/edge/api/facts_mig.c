/* How a GPU is cut and shared, and what an instance is. */
#include "edge/api/facts.h"
#include "edge/api/impl.h"

static const char *mode_name(uint32_t mode)
{
    static const char *const names[WEIR_MIG_MODE_MAX] = {NULL, "off", "on"};

    return mode < WEIR_MIG_MODE_MAX ? names[mode] : NULL;
}

static void put_slots(struct weir_json_writer *w, uint32_t slots)
{
    weir_json_array_begin(w);
    for (uint32_t k = 0; k < WEIR_DEVICE_SLOTS_MAX; k++)
        if ((slots >> k & 1) != 0)
            weir_json_u64(w, k);
    weir_json_array_end(w);
}

static void put_layout(struct weir_json_writer *w, const struct weir_world *world, uint32_t layout)
{
    if (layout == WEIR_NONE) {
        weir_json_null(w);
        return;
    }
    weir_json_object_begin(w);
    for (uint32_t i = 0; i + 1 < weir_world_span_len(world, layout); i += 2) {
        weir_json_key_str(w, weir_world_mig_name(world, weir_world_span_at(world, layout, i)));
        weir_json_u64(w, weir_world_span_at(world, layout, i + 1));
    }
    weir_json_object_end(w);
}

/* Why the last change failed, and until when none is tried. */
static void put_setback(struct weir_json_writer *w, const struct weir_world *world,
                        const struct weir_device *d)
{
    weir_json_key(w, "last_change");
    if (d->change_cause == WEIR_NONE) {
        weir_json_null(w);
        return;
    }
    weir_json_object_begin(w);
    weir_api_put_str(w, "failed", weir_world_string(world, d->change_cause));
    weir_api_put_time(w, "not_before_ms", d->change_not_before_wall_ms);
    weir_json_object_end(w);
}

void weir_api_put_gpu_mig(struct weir_json_writer *w, const struct weir_world *world,
                          const struct weir_device *d)
{
    bool is_instance = d->kind == WEIR_DEVICE_MIG;

    weir_json_key(w, "kind");
    weir_json_text(w, is_instance ? "mig" : "gpu");
    weir_api_put_name(w, "parent",
                      d->parent != WEIR_NONE
                          ? weir_world_string(world, weir_world_device(world, d->parent)->uuid)
                          : WEIR_STR(""));
    weir_api_put_name(w, "mig_profile",
                      is_instance ? weir_world_mig_name(world, d->mig_profile) : WEIR_STR(""));
    weir_json_key(w, "slots");
    if (is_instance)
        put_slots(w, d->slots);
    else
        weir_json_null(w);
    weir_json_key(w, "mig");
    if (is_instance || d->mig == WEIR_MIG_NONE) {
        weir_json_null(w);
    } else {
        weir_json_object_begin(w);
        weir_json_key(w, "mode");
        weir_json_text(w, mode_name(d->mig));
        weir_json_key(w, "wanted");
        weir_json_text(w, mode_name(d->mig_wanted));
        weir_json_key(w, "layout");
        put_layout(w, world, d->layout);
        weir_json_object_end(w);
    }
    weir_json_key(w, "sharing");
    weir_json_text(w, is_instance ? NULL : weir_sharing_name((enum weir_sharing)d->sharing));
    weir_json_key(w, "replicas");
    if (d->replicas > 0)
        weir_json_u64(w, d->replicas);
    else
        weir_json_null(w);
    put_setback(w, world, d);
}

void weir_api_put_mig_offers(struct weir_json_writer *w, const struct weir_world *world,
                             const struct weir_device *d)
{
    weir_json_key(w, "mig_offers");
    weir_json_array_begin(w);
    for (uint32_t i = 0; i < weir_world_n_mig_offers(world, d); i++) {
        struct weir_mig_offer offer = weir_world_mig_offer(world, d, i);

        weir_json_object_begin(w);
        weir_api_put_str(w, "profile", weir_world_mig_name(world, offer.profile));
        weir_json_key(w, "memory_bytes");
        weir_json_i64(w, (int64_t)offer.memory_mib << 20);
        weir_json_key(w, "at_most");
        weir_json_u64(w, offer.instances_max);
        weir_json_key(w, "size");
        weir_json_u64(w, offer.size);
        weir_json_key(w, "starts");
        put_slots(w, offer.starts);
        weir_json_object_end(w);
    }
    weir_json_array_end(w);
}
