#include "app/resource.h"

#include "app/schemas.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/char.h"
#include "base/count.h"
#include "base/err.h"
#include "base/time.h"
#include "base/tree.h"
#include "base/units.h"
#include "fmt/json.h"
#include "fmt/quantity.h"
#include "fmt/schema.h"
#include "model/gpu_catalogue.h"
#include "model/signals.h"

enum { JSON_BYTES_MAX = 4 * 1024 * 1024, STOP_GRACE_MAX_MS = 1 << 30 };

int weir_resource_check(const struct weir_tree *doc, enum weir_kind *ret_kind, struct weir_err *err)
{
    static const struct weir_str kinds[] = {
        [WEIR_KIND_QUEUE] = {"Queue", 5}, [WEIR_KIND_WORKLOAD] = {"Workload", 8}};
    const struct weir_tree *kind = weir_tree_get(doc, "kind");
    const struct weir_tree *version = weir_tree_get(doc, "apiVersion");
    ptrdiff_t nearest;

    if (doc->kind != WEIR_TREE_OBJECT)
        return weir_tree_error(doc, err, "expected a resource, got %s",
                               weir_tree_kind_name((enum weir_tree_kind)doc->kind));
    if (version == NULL || !weir_str_eq_c(version->text, "weir.dev/v1")) {
        weir_tree_error(version != NULL ? version : doc, err, "apiVersion must be weir.dev/v1");
        return weir_error_field(err, "apiVersion");
    }
    if (kind == NULL || kind->kind != WEIR_TREE_STRING) {
        weir_tree_error(doc, err, "kind is missing");
        return weir_error_hint(err, "one of Queue, Workload");
    }
    for (int i = 0; i < 2; i++) {
        if (weir_str_eq(kind->text, kinds[i])) {
            *ret_kind = (enum weir_kind)i;
            return weir_schema_check(weir_schema_of((enum weir_kind)i), doc, err);
        }
    }
    weir_tree_error(kind, err, "unknown kind '%.*s'", WEIR_STR_ARG(kind->text));
    nearest = weir_str_nearest(kind->text, kinds, 2);
    if (nearest >= 0)
        return weir_error_hint(err, "did you mean '%s'?", kinds[nearest].ptr);
    return weir_error_hint(err, "one of Queue, Workload");
}

struct weir_str weir_resource_name(const struct weir_tree *doc)
{
    const struct weir_tree *name = weir_tree_path(doc, "metadata.name");

    return name != NULL ? name->text : WEIR_STR("");
}

int weir_resource_json(const struct weir_tree *node, struct weir_arena *arena,
                       struct weir_str *ret_json, struct weir_err *err)
{
    struct weir_buf text = WEIR_BUF_INIT(JSON_BYTES_MAX);
    struct weir_json_writer writer;
    char *copy;
    int r;

    weir_json_writer_init(&writer, &text, false);
    if (node == NULL || node->kind == WEIR_TREE_NULL) {
        weir_json_object_begin(&writer);
        weir_json_object_end(&writer);
    } else {
        weir_json_write_tree(&writer, node, NULL);
    }
    r = weir_json_writer_end(&writer, "the resource", err);
    if (r == 0) {
        copy = weir_arena_strndup(arena, text.data, text.len);
        if (copy == NULL)
            r = weir_error(err, WEIR_E_NO_MEMORY, "no memory for a resource");
        else
            *ret_json = weir_str_n(copy, text.len);
    }
    weir_buf_finish(&text);
    return r;
}

/* ---- reading fields; an absent one leaves the value as it is ---- */

static int read_amount(const struct weir_tree *node, bool is_bytes, int64_t *value,
                       struct weir_err *err)
{
    int r;

    if (node == NULL)
        return 0;
    r = is_bytes ? weir_quantity_bytes(node->text, value, err)
                 : weir_quantity_milli(node->text, value, err);
    return r < 0 ? weir_tree_place(node, err) : 0;
}

static int read_duration(const struct weir_tree *node, int64_t *value, struct weir_err *err)
{
    if (node != NULL && weir_duration_parse(node->text, value, err) < 0)
        return weir_tree_place(node, err);
    return 0;
}

static int read_int(const struct weir_tree *spec, const char *name, int64_t *value,
                    struct weir_err *err)
{
    const struct weir_tree *node = weir_tree_get(spec, name);

    return node == NULL ? 0 : weir_tree_i64(node, INT32_MIN, UINT32_MAX, value, err);
}

static int read_bool(const struct weir_tree *spec, const char *name, bool *value,
                     struct weir_err *err)
{
    const struct weir_tree *node = weir_tree_get(spec, name);

    return node == NULL ? 0 : weir_tree_bool(node, value, err);
}

static struct weir_str read_str(const struct weir_tree *spec, const char *name)
{
    const struct weir_tree *node = weir_tree_get(spec, name);

    return node != NULL ? node->text : WEIR_STR("");
}

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

/* ---- queue ---- */

static int read_class_amount(const struct weir_tree *node, struct weir_edit *edit,
                             enum weir_resource_origin origin, struct weir_amounts *amounts,
                             struct weir_err *err)
{
    struct weir_str model =
        weir_str_sub(node->key, sizeof(WEIR_GPU_CLASS_PREFIX) - 1, node->key.len);
    uint32_t resource;
    int r;

    /* A class may be given a quota before its first device comes, if it is one that exists. */
    if (origin == WEIR_RESOURCE_ASKED && weir_gpu_catalogue_find(model) == NULL &&
        find_class(weir_edit_view(edit), model) == WEIR_NONE)
        return weir_tree_error(node, err, "unknown GPU model '%.*s'", WEIR_STR_ARG(model));
    r = intern_class(edit, model, &resource, err);
    return r < 0 ? r : read_amount(node, false, &amounts->of[resource], err);
}

static int read_amounts(const struct weir_tree *node, struct weir_edit *edit,
                        enum weir_resource_origin origin, struct weir_amounts *amounts,
                        struct weir_err *err)
{
    int r = 0;

    if (node == NULL)
        return 0;
    weir_tree_foreach (each, node) {
        if (weir_str_eq_c(each->key, "gpu"))
            r = read_amount(each, false, &amounts->of[WEIR_RES_GPU], err);
        else if (weir_str_eq_c(each->key, "cpu"))
            r = read_amount(each, false, &amounts->of[WEIR_RES_CPU], err);
        else if (weir_str_eq_c(each->key, "memory"))
            r = read_amount(each, true, &amounts->of[WEIR_RES_MEMORY], err);
        else
            r = read_class_amount(each, edit, origin, amounts, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_limits(const struct weir_tree *spec, const struct weir_queue *queue,
                        struct weir_err *err)
{
    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        if (queue->guaranteed.of[i] > queue->limit.of[i])
            return weir_tree_error(weir_tree_get(spec, "guaranteed"), err,
                                   "more is guaranteed than the limit allows");
    return 0;
}

int weir_resource_queue(const struct weir_tree *spec, enum weir_resource_origin origin,
                        struct weir_edit *edit, struct weir_queue *ret_queue, struct weir_err *err)
{
    struct weir_queue queue = {.parent = WEIR_NONE,
                               .weight = 1,
                               .isolation = WEIR_ISOLATION_NONE,
                               .run_limit_ms = INT64_MAX,
                               .budget_uusd = INT64_MAX,
                               .open_hours = WEIR_NONE};
    struct weir_str isolation = read_str(spec, "isolation");
    struct weir_str over_budget = read_str(spec, "overBudget");
    int64_t priority = 0;
    int64_t weight = 1;
    bool preemptible = true;

    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        queue.limit.of[i] = INT64_MAX;
    if (read_int(spec, "priority", &priority, err) < 0 ||
        read_int(spec, "weight", &weight, err) < 0 ||
        read_bool(spec, "preemption", &preemptible, err) < 0 ||
        read_duration(weir_tree_get(spec, "maxRunTime"), &queue.run_limit_ms, err) < 0 ||
        read_amounts(weir_tree_get(spec, "guaranteed"), edit, origin, &queue.guaranteed, err) < 0 ||
        read_amounts(weir_tree_get(spec, "limit"), edit, origin, &queue.limit, err) < 0 ||
        check_limits(spec, &queue, err) < 0)
        return weir_error_code(err);
    if (isolation.len > 0)
        queue.isolation = (uint32_t)weir_isolation_from_name(isolation);
    if (over_budget.len > 0)
        queue.over_budget = (uint32_t)weir_over_budget_from_name(over_budget);
    queue.priority = (int32_t)priority;
    queue.weight = (uint32_t)weight;
    queue.preemptible = preemptible;
    *ret_queue = queue;
    return 0;
}

struct weir_str weir_resource_queue_parent(const struct weir_tree *spec)
{
    return read_str(spec, "parent");
}

/* ---- workload ---- */

struct numbers {
    int64_t gpus_mgpu;
    int64_t gpu_memory_bytes; /* of each GPU at least, or its budget on one */
    bool has_budget;          /* on a GPU beside others: what of it that is, is not known yet */
    int64_t cpu_mcpu;
    int64_t memory_bytes;
    int64_t members;
    int64_t min_members;
    int64_t array;
    int64_t priority;
    int64_t retries;
};

static int read_numbers(const struct weir_tree *spec, struct numbers *n, struct weir_err *err)
{
    const struct weir_tree *cpu = weir_tree_get(spec, "cpu");
    const struct weir_tree *gpus = weir_tree_get(spec, "gpus");
    int r;

    *n = (struct numbers){.gpus_mgpu = WEIR_MGPU_PER_GPU, .members = 1};
    r = read_amount(gpus, false, &n->gpus_mgpu, err);
    if (r == 0)
        r = read_amount(weir_tree_get(spec, "gpuMemory"), true, &n->gpu_memory_bytes, err);
    n->has_budget = gpus == NULL && n->gpu_memory_bytes > 0;
    if (r == 0)
        r = read_amount(cpu, false, &n->cpu_mcpu, err);
    if (r == 0)
        r = read_amount(weir_tree_get(spec, "memory"), true, &n->memory_bytes, err);
    if (r == 0)
        r = read_int(spec, "members", &n->members, err);
    n->min_members = n->members;
    if (r == 0)
        r = read_int(spec, "minMembers", &n->min_members, err);
    if (r == 0)
        r = read_int(spec, "array", &n->array, err);
    if (r == 0)
        r = read_int(spec, "priority", &n->priority, err);
    if (r == 0)
        r = read_int(spec, "retries", &n->retries, err);
    /* Work without a GPU must be held by something: a CPU, unless it says less. */
    if (cpu == NULL && n->gpus_mgpu == 0)
        n->cpu_mcpu = 1000;
    return r;
}

static int check_numbers(const struct weir_tree *spec, const struct numbers *n,
                         struct weir_err *err)
{
    const struct weir_tree *gpus = weir_tree_get(spec, "gpus");

    if (n->gpus_mgpu % WEIR_MGPU_PER_GPU != 0) {
        weir_tree_error(gpus, err, "'%.*s' GPUs: it must be a whole number",
                        WEIR_STR_ARG(gpus->text));
        return weir_error_hint(err, "a part of one is asked for by its memory: gpuMemory, without "
                                    "gpus");
    }
    if (n->array > 0 && n->members > 1)
        return weir_tree_error(weir_tree_get(spec, "array"), err,
                               "an array of gangs is not offered: give either array or members");
    if (n->min_members > n->members)
        return weir_tree_error(weir_tree_get(spec, "minMembers"), err, "more than the %lld members",
                               (long long)n->members);
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

static int read_shape(const struct weir_tree *spec, const struct numbers *n,
                      enum weir_resource_origin origin, struct weir_edit *edit,
                      struct weir_shape *shape, struct weir_err *err)
{
    const struct weir_tree *model = weir_tree_get(spec, "gpuModel");
    struct weir_str isolation = read_str(spec, "isolation");
    int64_t mgpu = n->gpus_mgpu;
    int r = 0;

    *shape = (struct weir_shape){.gpu_class = WEIR_NONE,
                                 .mig_profile = WEIR_NONE,
                                 .labels = WEIR_NONE,
                                 .device_mgpu = WEIR_MGPU_PER_GPU,
                                 .device_memory_bytes = n->gpu_memory_bytes};
    if (model != NULL)
        r = read_class(model, origin, edit, &shape->gpu_class, err);
    if (r < 0)
        return r;
    if (n->has_budget) {
        mgpu = part_of_budget(weir_edit_view(edit), shape->gpu_class, shape->device_memory_bytes);
        shape->device_mgpu = mgpu;
    }
    shape->n_devices = n->has_budget ? 1 : (uint32_t)(mgpu / WEIR_MGPU_PER_GPU);
    /* A whole device is its own wall; a part of one accepts what it asks for. */
    shape->isolation = mgpu >= WEIR_MGPU_PER_GPU ? WEIR_ISOLATION_HARDWARE : WEIR_ISOLATION_NONE;
    if (isolation.len > 0)
        shape->isolation = (uint32_t)weir_isolation_from_name(isolation);
    if (model != NULL)
        add_amount(shape, shape->gpu_class, mgpu);
    add_amount(shape, WEIR_RES_GPU, mgpu);
    add_amount(shape, WEIR_RES_CPU, n->cpu_mcpu);
    add_amount(shape, WEIR_RES_MEMORY, n->memory_bytes);
    return 0;
}

static int read_retry_on(const struct weir_tree *spec, struct weir_edit *edit, uint32_t *ret_span,
                         struct weir_err *err)
{
    const struct weir_tree *list = weir_tree_get(spec, "retryOn");
    uint32_t statuses[256];
    uint32_t n = 0;

    *ret_span = WEIR_NONE;
    if (list == NULL)
        return 0;
    weir_tree_foreach (each, list) {
        int64_t status;

        if (n == WEIR_COUNT_OF(statuses))
            return weir_tree_error(each, err, "more exit statuses than there are");
        if (weir_tree_i64(each, 0, 255, &status, err) < 0)
            return weir_error_code(err);
        statuses[n++] = (uint32_t)status;
    }
    if (weir_edit_span(edit, statuses, n, ret_span) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a workload");
    return 0;
}

/* 0 says that none was given: none at all is as good as none to speak of. */
static uint32_t stop_grace(int64_t ms)
{
    if (ms < 1)
        return 1;
    return ms < STOP_GRACE_MAX_MS ? (uint32_t)ms : STOP_GRACE_MAX_MS;
}

static int read_workload_row(const struct weir_tree *spec, const struct numbers *n,
                             const struct weir_policy *policy, struct weir_workload *w,
                             struct weir_err *err)
{
    const struct weir_tree *grace = weir_tree_get(spec, "grace");
    struct weir_str class = read_str(spec, "class");
    struct weir_str signal_name = read_str(spec, "checkpointSignal");
    int64_t limit = INT64_MAX;
    bool preemptible = true;
    int64_t grace_ms = policy->stop_grace_ms;

    if (read_bool(spec, "preemptible", &preemptible, err) < 0 ||
        read_duration(weir_tree_get(spec, "timeLimit"), &limit, err) < 0 ||
        read_duration(grace, &grace_ms, err) < 0 ||
        read_duration(weir_tree_get(spec, "backoff"), &w->backoff_ms, err) < 0)
        return weir_error_code(err);
    w->class = class.len > 0 ? (uint32_t)weir_class_from_name(class) : WEIR_CLASS_BATCH;
    w->priority = (int32_t)n->priority;
    w->preemptible = preemptible;
    w->independent = n->array > 0;
    w->gang_min = n->array > 0 ? 1 : (uint32_t)n->min_members;
    w->retries_max = (uint32_t)n->retries;
    if (signal_name.len > 0) {
        w->checkpoint_signal = (uint32_t)weir_signal_number(signal_name);
        w->checkpoint_grace_ms = grace_ms;
    } else if (grace != NULL) {
        w->stop_grace_ms = stop_grace(grace_ms);
    }
    w->runtime.limit_ms = limit > 0 ? limit : INT64_MAX;
    w->topology = (struct weir_topology_demand){WEIR_NONE, WEIR_NONE, WEIR_NONE, 0};
    return 0;
}

int weir_resource_workload(const struct weir_tree *spec, enum weir_resource_origin origin,
                           const struct weir_policy *policy, struct weir_edit *edit,
                           struct weir_resource_workload *ret_ask, struct weir_err *err)
{
    struct weir_resource_workload ask = {0};
    const struct weir_tree *command = weir_tree_get(spec, "command");
    struct numbers n;
    int r = read_numbers(spec, &n, err);

    if (r == 0)
        r = check_numbers(spec, &n, err);
    if (r == 0)
        r = read_shape(spec, &n, origin, edit, &ask.shape, err);
    if (r == 0)
        r = read_workload_row(spec, &n, policy, &ask.workload, err);
    if (r == 0)
        r = read_retry_on(spec, edit, &ask.workload.retry_on, err);
    if (r < 0)
        return r;
    ask.role.name = WEIR_NONE;
    ask.role.n_tasks = (uint32_t)(n.array > 0 ? n.array : n.members);
    ask.role.n_min = n.array > 0 ? 1 : (uint32_t)n.min_members;
    ask.queue = read_str(spec, "queue");
    if (ask.queue.len == 0)
        ask.queue = WEIR_STR("default");
    ask.first_word = command->first->text;
    *ret_ask = ask;
    return 0;
}

/* Of a GPU or CPU, which are whole where they are assumed. */
static int64_t whole_amount(const struct weir_shape *shape, uint32_t resource)
{
    for (uint32_t i = 0; i < shape->n_amounts; i++)
        if (shape->amounts[i].resource == resource)
            return shape->amounts[i].amount / 1000;
    return 0;
}

int weir_resource_assumed(const struct weir_tree *spec, const struct weir_resource_workload *ask,
                          struct weir_arena *arena, const struct weir_tree **ret_assumed,
                          struct weir_err *err)
{
    const struct weir_workload *w = &ask->workload;
    int64_t n_cpus = whole_amount(&ask->shape, WEIR_RES_CPU);
    const struct {
        const char *field;
        const char *text;
        enum weir_tree_kind kind;
        bool is_left_out;
    } fields[] = {
        {"queue", weir_str_dup(ask->queue, arena), WEIR_TREE_STRING, false},
        {"class", weir_class_name((enum weir_class)w->class), WEIR_TREE_STRING, false},
        {"priority", weir_arena_printf(arena, "%d", w->priority), WEIR_TREE_NUMBER, false},
        {"preemptible", w->preemptible ? "true" : "false", WEIR_TREE_BOOL, false},
        /* A part of a GPU is asked for by its memory: no number of whole ones stands for it. */
        {"gpus",
         weir_arena_printf(arena, "%lld", (long long)whole_amount(&ask->shape, WEIR_RES_GPU)),
         WEIR_TREE_STRING, weir_tree_get(spec, "gpuMemory") != NULL},
        {"cpu", weir_arena_printf(arena, "%lld", (long long)n_cpus), WEIR_TREE_STRING, n_cpus == 0},
    };
    struct weir_tree *assumed = weir_tree_add(NULL, WEIR_TREE_OBJECT, WEIR_STR(""), arena);

    for (size_t i = 0; assumed != NULL && i < WEIR_COUNT_OF(fields); i++) {
        struct weir_tree *node;

        if (weir_tree_get(spec, fields[i].field) != NULL || fields[i].is_left_out)
            continue;
        node = weir_tree_add(assumed, fields[i].kind, weir_str(fields[i].field), arena);
        if (node == NULL || fields[i].text == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what is assumed");
        node->text = weir_str(fields[i].text);
    }
    if (assumed == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what is assumed");
    *ret_assumed = assumed;
    return 0;
}
