#include "app/gpu_codec.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/tree.h"
#include "fmt/json.h"

#include <stddef.h>

enum { LIST_MAX = 256 };

/* ---- texts and numbers ---- */

static const struct {
    const char *name;
    size_t at;
} texts[] = {
    {"name", offsetof(struct weir_gpu_device, name)},
    {"class", offsetof(struct weir_gpu_device, class)},
    {"node", offsetof(struct weir_gpu_device, node)},
    {"pci", offsetof(struct weir_gpu_device, pci)},
    {"serial", offsetof(struct weir_gpu_device, serial)},
};

/* Those that are 0 are left out. */
struct numbers {
    int64_t index, valid, minor, pci_id;
    int64_t compute_major, compute_minor, compute_mode, numa_node;
    int64_t memory_bytes, reserved_bytes;
    int64_t mig, mig_pending;
};

static const struct {
    const char *name;
    size_t at;
    int64_t max;
} fields[] = {
    {"index", offsetof(struct numbers, index), UINT32_MAX},
    {"valid", offsetof(struct numbers, valid), UINT32_MAX},
    {"minor", offsetof(struct numbers, minor), UINT32_MAX},
    {"pci_id", offsetof(struct numbers, pci_id), UINT32_MAX},
    {"compute_major", offsetof(struct numbers, compute_major), UINT32_MAX},
    {"compute_minor", offsetof(struct numbers, compute_minor), UINT32_MAX},
    {"compute_mode", offsetof(struct numbers, compute_mode), UINT32_MAX},
    {"numa_node", offsetof(struct numbers, numa_node), UINT32_MAX},
    {"memory_bytes", offsetof(struct numbers, memory_bytes), INT64_MAX},
    {"reserved_bytes", offsetof(struct numbers, reserved_bytes), INT64_MAX},
    {"mig", offsetof(struct numbers, mig), 1},
    {"mig_pending", offsetof(struct numbers, mig_pending), 1},
};

/* Of the lists only these are kept. */
enum { VALID_KEPT = WEIR_GPU_HAS_LINKS - 1 };

static struct numbers numbers_of(const struct weir_gpu_device *gpu)
{
    return (struct numbers){
        .index = gpu->index,
        .valid = gpu->valid & VALID_KEPT,
        .minor = gpu->minor,
        .pci_id = gpu->pci_id,
        .compute_major = gpu->compute_major,
        .compute_minor = gpu->compute_minor,
        .compute_mode = gpu->compute_mode,
        .numa_node = gpu->numa_node,
        .memory_bytes = gpu->memory_total_bytes,
        .reserved_bytes = gpu->memory_reserved_bytes,
        .mig = gpu->mig_mode,
        .mig_pending = gpu->mig_pending,
    };
}

static void take_numbers(const struct numbers *n, struct weir_gpu_device *gpu)
{
    gpu->index = (uint32_t)n->index;
    gpu->valid = (uint32_t)n->valid & VALID_KEPT;
    gpu->minor = (uint32_t)n->minor;
    gpu->pci_id = (uint32_t)n->pci_id;
    gpu->compute_major = (uint32_t)n->compute_major;
    gpu->compute_minor = (uint32_t)n->compute_minor;
    gpu->compute_mode = (uint32_t)n->compute_mode;
    gpu->numa_node = (uint32_t)n->numa_node;
    gpu->memory_total_bytes = n->memory_bytes;
    gpu->memory_reserved_bytes = n->reserved_bytes;
    gpu->mig_mode = n->mig != 0;
    gpu->mig_pending = n->mig_pending != 0;
}

static int64_t *number(struct numbers *numbers, size_t field)
{
    return (int64_t *)(void *)((char *)numbers + fields[field].at);
}

static void put_number(struct weir_json_writer *w, const char *key, uint64_t value)
{
    weir_json_key(w, key);
    weir_json_u64(w, value);
}

static void put_text(struct weir_json_writer *w, const char *key, struct weir_str text)
{
    if (text.len == 0)
        return;
    weir_json_key(w, key);
    weir_json_str(w, text);
}

/* ---- MIG: writing ---- */

static void put_profile(struct weir_json_writer *w, const struct weir_gpu_mig_profile *profile)
{
    weir_json_object_begin(w);
    put_number(w, "id", profile->id);
    put_text(w, "name", profile->name);
    put_number(w, "slices", profile->slices);
    put_number(w, "max", profile->instances_max);
    put_number(w, "multiprocessors", profile->n_multiprocessors);
    put_number(w, "memory_bytes", (uint64_t)profile->memory_bytes);
    weir_json_key(w, "placements");
    weir_json_array_begin(w);
    for (uint32_t i = 0; i < profile->n_placements; i++) {
        weir_json_u64(w, profile->placements[i].start);
        weir_json_u64(w, profile->placements[i].size);
    }
    weir_json_array_end(w);
    weir_json_object_end(w);
}

static void put_instance(struct weir_json_writer *w, const struct weir_gpu_instance *instance)
{
    weir_json_object_begin(w);
    put_number(w, "id", instance->id);
    put_number(w, "profile", instance->profile_id);
    put_number(w, "start", instance->placement.start);
    put_number(w, "size", instance->placement.size);
    weir_json_key(w, "compute");
    weir_json_array_begin(w);
    for (uint32_t i = 0; i < instance->n_compute; i++) {
        weir_json_object_begin(w);
        put_number(w, "id", instance->compute[i].id);
        put_number(w, "profile", instance->compute[i].profile_id);
        put_text(w, "uuid", instance->compute[i].uuid);
        weir_json_object_end(w);
    }
    weir_json_array_end(w);
    weir_json_object_end(w);
}

int weir_gpu_encode(const struct weir_gpu_device *gpu, struct weir_buf *out, struct weir_err *err)
{
    struct numbers numbers = numbers_of(gpu);
    struct weir_json_writer w;

    weir_json_writer_init(&w, out, false);
    weir_json_object_begin(&w);
    for (size_t i = 0; i < WEIR_COUNT_OF(texts); i++)
        put_text(&w, texts[i].name,
                 *(const struct weir_str *)(const void *)((const char *)gpu + texts[i].at));
    for (size_t i = 0; i < WEIR_COUNT_OF(fields); i++)
        if (*number(&numbers, i) != 0)
            put_number(&w, fields[i].name, (uint64_t)*number(&numbers, i));
    weir_json_key(&w, "profiles");
    weir_json_array_begin(&w);
    for (uint32_t i = 0; i < gpu->n_profiles; i++)
        put_profile(&w, &gpu->profiles[i]);
    weir_json_array_end(&w);
    weir_json_key(&w, "instances");
    weir_json_array_begin(&w);
    for (uint32_t i = 0; i < gpu->n_instances; i++)
        put_instance(&w, &gpu->instances[i]);
    weir_json_array_end(&w);
    weir_json_object_end(&w);
    return weir_json_writer_end(&w, "what a GPU is", err);
}

/* ---- MIG: reading ---- */

struct reader {
    struct weir_arena *arena;
    struct weir_err *err;
};

static int read_u32(struct reader *reader, const struct weir_tree *object, const char *key,
                    uint32_t *ret)
{
    const struct weir_tree *node = weir_tree_get(object, key);
    int64_t value = 0;
    int r = node != NULL ? weir_tree_i64(node, 0, UINT32_MAX, &value, reader->err) : 0;

    if (r == 0)
        *ret = (uint32_t)value;
    return r;
}

static struct weir_str read_text(const struct weir_tree *object, const char *key)
{
    const struct weir_tree *node = weir_tree_get(object, key);

    return node != NULL && node->kind == WEIR_TREE_STRING ? node->text : WEIR_STR("");
}

/* Of the elements of a list that there may be; NULL: memory is short, or there are too many. */
static void *make_list(struct reader *reader, const struct weir_tree *list, size_t size,
                       uint32_t *ret_n)
{
    uint32_t n = list != NULL ? list->n_children : 0;
    void *items = n <= LIST_MAX ? weir_arena_alloc(reader->arena, size * (n + 1u)) : NULL;

    *ret_n = n;
    if (items == NULL)
        weir_error(reader->err, n > LIST_MAX ? WEIR_E_INVALID : WEIR_E_NO_MEMORY,
                   n > LIST_MAX ? "a list is too long" : "no memory for what a GPU is");
    return items;
}

static int read_placements(struct reader *reader, const struct weir_tree *list,
                           struct weir_gpu_mig_profile *profile)
{
    struct weir_gpu_placement *placements;
    uint32_t n;
    uint32_t i = 0;

    placements = make_list(reader, list, sizeof(placements[0]), &n);
    if (placements == NULL)
        return weir_error_code(reader->err);
    for (const struct weir_tree *at = list != NULL ? list->first : NULL;
         at != NULL && at->next != NULL; at = at->next->next) {
        int64_t start = 0;
        int64_t size = 0;
        int r = weir_tree_i64(at, 0, UINT16_MAX, &start, reader->err);

        if (r == 0)
            r = weir_tree_i64(at->next, 0, UINT16_MAX, &size, reader->err);
        if (r < 0)
            return r;
        placements[i++] = (struct weir_gpu_placement){(uint32_t)start, (uint32_t)size};
    }
    profile->placements = placements;
    profile->n_placements = i;
    return 0;
}

static int read_profile(struct reader *reader, const struct weir_tree *from,
                        struct weir_gpu_mig_profile *profile)
{
    const struct weir_tree *memory = weir_tree_get(from, "memory_bytes");
    int r = read_u32(reader, from, "id", &profile->id);

    if (r == 0)
        r = read_u32(reader, from, "slices", &profile->slices);
    if (r == 0)
        r = read_u32(reader, from, "max", &profile->instances_max);
    if (r == 0)
        r = read_u32(reader, from, "multiprocessors", &profile->n_multiprocessors);
    if (r == 0 && memory != NULL)
        r = weir_tree_i64(memory, 0, INT64_MAX, &profile->memory_bytes, reader->err);
    profile->name = read_text(from, "name");
    return r < 0 ? r : read_placements(reader, weir_tree_get(from, "placements"), profile);
}

static int read_profiles(struct reader *reader, const struct weir_tree *list,
                         struct weir_gpu_device *gpu)
{
    struct weir_gpu_mig_profile *profiles;
    uint32_t n;
    uint32_t i = 0;
    int r = 0;

    profiles = make_list(reader, list, sizeof(profiles[0]), &n);
    if (profiles == NULL)
        return weir_error_code(reader->err);
    for (const struct weir_tree *at = n > 0 ? list->first : NULL; at != NULL && r == 0;
         at = at->next) {
        profiles[i] = (struct weir_gpu_mig_profile){.id = 0};
        r = read_profile(reader, at, &profiles[i++]);
    }
    gpu->profiles = profiles;
    gpu->n_profiles = n;
    return r;
}

static int read_compute(struct reader *reader, const struct weir_tree *list,
                        struct weir_gpu_instance *instance)
{
    struct weir_gpu_compute_instance *compute;
    uint32_t n;
    uint32_t i = 0;
    int r = 0;

    compute = make_list(reader, list, sizeof(compute[0]), &n);
    if (compute == NULL)
        return weir_error_code(reader->err);
    for (const struct weir_tree *at = n > 0 ? list->first : NULL; at != NULL && r == 0;
         at = at->next, i++) {
        compute[i] = (struct weir_gpu_compute_instance){.uuid = read_text(at, "uuid")};
        r = read_u32(reader, at, "id", &compute[i].id);
        if (r == 0)
            r = read_u32(reader, at, "profile", &compute[i].profile_id);
    }
    instance->compute = compute;
    instance->n_compute = n;
    return r;
}

static int read_instance(struct reader *reader, const struct weir_tree *from,
                         struct weir_gpu_instance *instance)
{
    int r = read_u32(reader, from, "id", &instance->id);

    if (r == 0)
        r = read_u32(reader, from, "profile", &instance->profile_id);
    if (r == 0)
        r = read_u32(reader, from, "start", &instance->placement.start);
    if (r == 0)
        r = read_u32(reader, from, "size", &instance->placement.size);
    return r < 0 ? r : read_compute(reader, weir_tree_get(from, "compute"), instance);
}

static int read_instances(struct reader *reader, const struct weir_tree *list,
                          struct weir_gpu_device *gpu)
{
    struct weir_gpu_instance *instances;
    uint32_t n;
    uint32_t i = 0;
    int r = 0;

    instances = make_list(reader, list, sizeof(instances[0]), &n);
    if (instances == NULL)
        return weir_error_code(reader->err);
    for (const struct weir_tree *at = n > 0 ? list->first : NULL; at != NULL && r == 0;
         at = at->next) {
        instances[i] = (struct weir_gpu_instance){.id = 0};
        r = read_instance(reader, at, &instances[i++]);
    }
    gpu->instances = instances;
    gpu->n_instances = n;
    return r;
}

int weir_gpu_decode(struct weir_str text, struct weir_arena *arena, struct weir_gpu_device *ret_gpu,
                    struct weir_err *err)
{
    struct weir_gpu_device gpu = {.is_remembered = true};
    struct reader reader = {arena, err};
    struct numbers numbers = {0};
    struct weir_tree *doc = NULL;
    int r = weir_json_read(text, NULL, arena, &doc, err);

    if (r == 0 && doc->kind != WEIR_TREE_OBJECT)
        r = weir_tree_error(doc, err, "an object expected");
    for (size_t i = 0; r == 0 && i < WEIR_COUNT_OF(texts); i++)
        *(struct weir_str *)(void *)((char *)&gpu + texts[i].at) = read_text(doc, texts[i].name);
    for (size_t i = 0; r == 0 && i < WEIR_COUNT_OF(fields); i++) {
        const struct weir_tree *node = weir_tree_get(doc, fields[i].name);

        if (node != NULL)
            r = weir_tree_i64(node, 0, fields[i].max, number(&numbers, i), err);
    }
    if (r == 0)
        r = read_profiles(&reader, weir_tree_get(doc, "profiles"), &gpu);
    if (r == 0)
        r = read_instances(&reader, weir_tree_get(doc, "instances"), &gpu);
    if (r < 0)
        return r;
    take_numbers(&numbers, &gpu);
    *ret_gpu = gpu;
    return 0;
}
