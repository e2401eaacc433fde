/* What a workload asks of GPUs: whole ones of a model, a part of one, instances. */
#include "app/resource_impl.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/char.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/tree.h"
#include "base/units.h"
#include "model/gpu_catalogue.h"

enum { SLICES_USUAL = 7 }; /* of compute, where the GPU is not there to tell */

/* ---- GPU classes ---- */

/* The resource of a class, by any name of the model; WEIR_NONE if the world does not know it. */
static uint32_t find_class(const struct weir_world *world, struct weir_str model)
{
    const struct weir_gpu_model *known = weir_gpu_catalogue_find(model);
    struct weir_str id = known != NULL ? weir_str(known->id) : model;

    for (uint32_t i = 0; i < weir_world_n_resources(world); i++) {
        if (weir_world_resource(world, i)->kind == WEIR_RESOURCE_GPU_CLASS &&
            weir_str_eq_nocase(weir_world_gpu_class_name(world, i), id))
            return i;
    }
    return WEIR_NONE;
}

/* A class is also known from quotas and from what was accepted before. A device that is known only
 * as the holder of a task (load.c) tells nothing of its class. */
static bool is_here(const struct weir_world *world, uint32_t class)
{
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i)) {
        const struct weir_device *row = weir_world_device(world, i);

        if (row->gpu_class == class && row->memory_bytes > 0)
            return true;
    }
    return false;
}

static void list_classes(const struct weir_world *world, struct weir_buf *out)
{
    for (uint32_t i = 0; i < weir_world_n_resources(world); i++) {
        if (weir_world_resource(world, i)->kind != WEIR_RESOURCE_GPU_CLASS || !is_here(world, i))
            continue;
        weir_buf_puts(out, out->len > 0 ? ", " : "");
        weir_buf_str(out, weir_world_gpu_class_name(world, i));
    }
}

static int unknown_class(const struct weir_tree *node, const struct weir_world *world,
                         struct weir_err *err)
{
    struct weir_buf here = WEIR_BUF_INIT(200);

    list_classes(world, &here);
    weir_error(err, WEIR_E_IMPOSSIBLE, "no GPU here is of the model '%.*s'",
               WEIR_STR_ARG(node->text));
    weir_error_hint(err, here.len > 0 ? "there are: %s" : "there are no GPUs%s",
                    weir_buf_cstr(&here));
    weir_buf_finish(&here);
    return weir_tree_place(node, err);
}

/* The class as a resource of the world, whether or not a device has it: named as the device will
 * be (edge/nvml/gpus.c). */
static int intern_class(struct weir_edit *edit, struct weir_str model, uint32_t *ret_resource,
                        struct weir_err *err)
{
    const struct weir_gpu_model *known = weir_gpu_catalogue_find(model);
    char class[160];
    int r;

    *ret_resource = find_class(weir_edit_view(edit), model);
    if (*ret_resource != WEIR_NONE)
        return 0;
    weir_str_format(class, sizeof(class), "%.*s",
                    WEIR_STR_ARG(known != NULL ? weir_str(known->id) : model));
    for (char *c = class; *c != '\0'; c++)
        *c = weir_char_lower(*c);
    r = weir_edit_gpu_class(edit, weir_str(class), ret_resource);
    if (r == WEIR_E_NO_MEMORY)
        return weir_error(err, r, "no memory for a kind of GPU");
    return r < 0 ? weir_error(err, r, "too many kinds of GPU") : 0;
}

/* ---- MIG profiles ---- */

/* The first offer of that profile. */
static bool find_offer(const struct weir_world *world, uint32_t profile, uint32_t class,
                       struct weir_mig_offer *ret_offer, uint32_t *ret_device)
{
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i)) {
        const struct weir_device *row = weir_world_device(world, i);

        for (uint32_t k = 0; k < weir_world_n_mig_offers(world, row); k++) {
            *ret_offer = weir_world_mig_offer(world, row, k);
            *ret_device = i;
            if (ret_offer->profile == profile && (class == WEIR_NONE || row->gpu_class == class))
                return true;
        }
    }
    return false;
}

/* WEIR_NONE: the world has never heard of it. */
static uint32_t find_profile(const struct weir_world *world, struct weir_str name)
{
    for (uint32_t i = 0; i < weir_world_n_resources(world); i++)
        if (weir_world_resource(world, i)->kind == WEIR_RESOURCE_MIG &&
            weir_str_eq_nocase(weir_world_mig_name(world, i), name))
            return i;
    return WEIR_NONE;
}

static int unknown_profile(const struct weir_tree *node, struct weir_str name,
                           const struct weir_world *world, struct weir_err *err)
{
    struct weir_str names[WEIR_RESOURCE_MAX];
    weir_cleanup_buf struct weir_buf here = WEIR_BUF_INIT(200);
    struct weir_mig_offer offer;
    uint32_t device;
    size_t n = 0;
    ptrdiff_t near;

    for (uint32_t i = 0; i < weir_world_n_resources(world); i++) {
        if (weir_world_resource(world, i)->kind != WEIR_RESOURCE_MIG ||
            !find_offer(world, i, WEIR_NONE, &offer, &device))
            continue;
        names[n] = weir_world_mig_name(world, i);
        weir_buf_puts(&here, n > 0 ? ", " : "");
        weir_buf_str(&here, names[n++]);
    }
    near = weir_str_nearest(name, names, n);
    weir_error(err, WEIR_E_IMPOSSIBLE, "no GPU here takes MIG instances '%.*s'",
               WEIR_STR_ARG(name));
    if (near >= 0)
        weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[near]));
    else
        weir_error_hint(err,
                        n > 0 ? "they take: %s"
                              : "no GPU here is in MIG mode: a GpuSetup turns it on%s",
                        weir_buf_cstr(&here));
    return weir_tree_place(node, err);
}

/* Whoever asks for a profile that is not here is told so. One who was accepted waits for it. */
static int read_profile(const struct weir_tree *node, struct weir_str name, uint32_t class,
                        enum weir_resource_origin origin, struct weir_edit *edit,
                        uint32_t *ret_profile, struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(edit);
    uint32_t profile = find_profile(world, name);
    struct weir_mig_offer offer;
    uint32_t device;
    int r;

    if (origin == WEIR_RESOURCE_ASKED &&
        (profile == WEIR_NONE || !find_offer(world, profile, class, &offer, &device)))
        return unknown_profile(node, name, world, err);
    if (profile != WEIR_NONE) {
        *ret_profile = profile;
        return 0;
    }
    r = weir_edit_mig_profile(edit, name, ret_profile);
    if (r == WEIR_E_NO_MEMORY)
        return weir_error(err, r, "no memory for a kind of instance");
    return r < 0 ? weir_error(err, r, "too many kinds of GPU and instance") : 0;
}

/* What of a GPU an instance counts as in quotas: its part of the compute slices, of which the
 * largest instance has all. */
static int64_t part_of_instance(const struct weir_world *world, uint32_t profile, uint32_t class)
{
    struct weir_str name = weir_world_mig_name(world, profile);
    uint32_t most = SLICES_USUAL;
    uint32_t slices = 1;
    struct weir_mig_offer offer;
    uint32_t device;
    int64_t part;

    if (find_offer(world, profile, class, &offer, &device)) {
        const struct weir_device *row = weir_world_device(world, device);

        slices = offer.slices;
        most = slices;
        for (uint32_t k = 0; k < weir_world_n_mig_offers(world, row); k++)
            if (weir_world_mig_offer(world, row, k).slices > most)
                most = weir_world_mig_offer(world, row, k).slices;
    } else if (name.len > 0 && weir_char_is_digit(name.ptr[0])) { /* "3g.40gb" */
        slices = (uint32_t)(name.ptr[0] - '0');
    }
    part = (int64_t)WEIR_MGPU_PER_GPU * slices / (most > 0 ? most : 1);
    if (part < 1)
        return 1;
    return part < WEIR_MGPU_PER_GPU ? part : WEIR_MGPU_PER_GPU;
}

/* ---- keys of amounts ---- */

static int class_of_key(const struct weir_tree *node, struct weir_str model, struct weir_edit *edit,
                        enum weir_resource_origin origin, uint32_t *ret_resource,
                        struct weir_err *err)
{
    /* A class may be given a quota before its first device comes, if it is one that exists. */
    if (origin == WEIR_RESOURCE_ASKED && weir_gpu_catalogue_find(model) == NULL &&
        find_class(weir_edit_view(edit), model) == WEIR_NONE)
        return weir_tree_error(node, err, "unknown GPU model '%.*s'", WEIR_STR_ARG(model));
    return intern_class(edit, model, ret_resource, err);
}

int weir_resource_class_of_key(const struct weir_tree *node, struct weir_edit *edit,
                               enum weir_resource_origin origin, uint32_t *ret_resource,
                               struct weir_err *err)
{
    struct weir_str mig = WEIR_STR(WEIR_MIG_PREFIX);

    if (weir_str_starts_with(node->key, mig))
        return read_profile(node, weir_str_sub(node->key, mig.len, node->key.len), WEIR_NONE,
                            origin, edit, ret_resource, err);
    return class_of_key(node,
                        weir_str_sub(node->key, sizeof(WEIR_GPU_CLASS_PREFIX) - 1, node->key.len),
                        edit, origin, ret_resource, err);
}

/* ---- shapes ---- */

static int check_mig(const struct weir_tree *spec, const struct weir_resource_numbers *n,
                     struct weir_err *err)
{
    const struct weir_tree *mig = weir_tree_get(spec, "mig");
    const struct weir_tree *memory = weir_tree_get(spec, "gpuMemory");

    if (memory != NULL) {
        weir_tree_error(memory, err, "an instance has the memory of its profile");
        return weir_error_hint(err, "give mig, or gpuMemory with isolation hardware for the "
                                    "smallest instance that has so much");
    }
    if (n->gpus_mgpu == 0 || n->gpus_mgpu % WEIR_MGPU_PER_GPU != 0) {
        weir_tree_error(weir_tree_get(spec, "gpus"), err,
                        "with mig it is the number of instances '%.*s': whole, and not 0",
                        WEIR_STR_ARG(mig->text));
        return weir_error_hint(err, "1 if it is left out");
    }
    return 0;
}

int weir_resource_check_gpus(const struct weir_tree *spec, const struct weir_resource_numbers *n,
                             struct weir_err *err)
{
    const struct weir_tree *gpus = weir_tree_get(spec, "gpus");

    if (weir_tree_get(spec, "mig") != NULL)
        return check_mig(spec, n, err);
    if (n->gpus_mgpu % WEIR_MGPU_PER_GPU == 0)
        return 0;
    if (n->gpus_mgpu > WEIR_MGPU_PER_GPU) {
        weir_tree_error(gpus, err, "'%.*s' GPUs: it must be a whole number, or less than 1",
                        WEIR_STR_ARG(gpus->text));
        return weir_error_hint(err, "a part of one is asked for by its memory, gpuMemory without "
                                    "gpus, or as a fraction like 0.25");
    }
    if (n->gpu_memory_bytes > 0) {
        weir_tree_error(gpus, err, "a part of a GPU is asked for as a fraction or by its memory");
        return weir_error_hint(err, "give either gpus or gpuMemory");
    }
    return 0;
}

static void add_amount(struct weir_shape *shape, uint32_t resource, int64_t amount)
{
    uint32_t at = shape->n_amounts;

    if (amount <= 0)
        return;
    while (at > 0 && shape->amounts[at - 1].resource > resource) {
        shape->amounts[at] = shape->amounts[at - 1];
        at--;
    }
    shape->amounts[at] = (struct weir_shape_amount){.resource = resource, .amount = amount};
    shape->n_amounts++;
}

/* Whoever asks for a class that is not here is told so. One who was accepted waits for it. */
static int read_class(const struct weir_tree *model, enum weir_resource_origin origin,
                      struct weir_edit *edit, uint32_t *ret_class, struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(edit);
    uint32_t class;

    if (origin == WEIR_RESOURCE_STORED)
        return intern_class(edit, model->text, ret_class, err);
    class = find_class(world, model->text);
    if (class == WEIR_NONE || !is_here(world, class))
        return unknown_class(model, world, err);
    *ret_class = class;
    return 0;
}

/* What of a GPU a budget counts as, in quotas and on the device: its part of the largest that it
 * can be on. More than that it may be of a smaller one, which then has no memory left for others
 * before it has no time. */
static int64_t part_of_budget(const struct weir_world *world, uint32_t class, int64_t bytes)
{
    int64_t largest = bytes;
    int64_t part;

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i)) {
        const struct weir_device *row = weir_world_device(world, i);

        if ((class == WEIR_NONE || row->gpu_class == class) && row->memory_bytes > largest)
            largest = row->memory_bytes;
    }
    part = bytes / (largest / WEIR_MGPU_PER_GPU + 1);
    if (part < 1)
        return 1;
    return part < WEIR_MGPU_PER_GPU ? part : WEIR_MGPU_PER_GPU - 1;
}

static int read_model(const struct weir_tree *spec, enum weir_resource_origin origin,
                      struct weir_edit *edit, struct weir_shape *shape, struct weir_err *err)
{
    const struct weir_tree *model = weir_tree_get(spec, "gpuModel");
    const struct weir_tree *mig = weir_tree_get(spec, "mig");
    int r = model != NULL ? read_class(model, origin, edit, &shape->gpu_class, err) : 0;

    if (r == 0 && mig != NULL)
        r = read_profile(mig, mig->text, shape->gpu_class, origin, edit, &shape->mig_profile, err);
    return r;
}

int weir_resource_shape(const struct weir_tree *spec, const struct weir_resource_numbers *n,
                        enum weir_resource_origin origin, struct weir_edit *edit,
                        struct weir_shape *shape, struct weir_err *err)
{
    const struct weir_tree *isolation = weir_tree_get(spec, "isolation");
    bool is_fraction = n->gpus_mgpu % WEIR_MGPU_PER_GPU != 0;
    int64_t mgpu = n->gpus_mgpu;
    int r;

    *shape = (struct weir_shape){.gpu_class = WEIR_NONE,
                                 .mig_profile = WEIR_NONE,
                                 .labels = WEIR_NONE,
                                 .device_mgpu = WEIR_MGPU_PER_GPU,
                                 .device_memory_bytes = n->gpu_memory_bytes};
    r = read_model(spec, origin, edit, shape, err);
    if (r < 0)
        return r;
    if (n->has_budget)
        mgpu = part_of_budget(weir_edit_view(edit), shape->gpu_class, shape->device_memory_bytes);
    if (n->has_budget || is_fraction)
        shape->device_mgpu = mgpu;
    shape->n_devices = n->has_budget || is_fraction ? 1 : (uint32_t)(mgpu / WEIR_MGPU_PER_GPU);
    /* A whole device is its own wall, as an instance is; a part of one accepts what it asks for. */
    shape->isolation = mgpu >= WEIR_MGPU_PER_GPU ? WEIR_ISOLATION_HARDWARE : WEIR_ISOLATION_NONE;
    if (isolation != NULL)
        shape->isolation = (uint32_t)weir_isolation_from_name(isolation->text);
    if (shape->mig_profile != WEIR_NONE) {
        shape->isolation = WEIR_ISOLATION_HARDWARE;
        add_amount(shape, shape->mig_profile, mgpu);
        mgpu = shape->n_devices *
               part_of_instance(weir_edit_view(edit), shape->mig_profile, shape->gpu_class);
    }
    if (shape->gpu_class != WEIR_NONE)
        add_amount(shape, shape->gpu_class, mgpu);
    add_amount(shape, WEIR_RES_GPU, mgpu);
    add_amount(shape, WEIR_RES_CPU, n->cpu_mcpu);
    add_amount(shape, WEIR_RES_MEMORY, n->memory_bytes);
    return 0;
}
