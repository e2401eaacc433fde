#include "app/resource.h"

#include "app/resource_impl.h"
#include "app/schemas.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "base/time.h"
#include "base/tree.h"
#include "base/units.h"
#include "fmt/json.h"
#include "fmt/quantity.h"
#include "fmt/schema.h"
#include "model/signals.h"

enum { JSON_BYTES_MAX = 4 * 1024 * 1024, STOP_GRACE_MAX_MS = 1 << 30 };

int weir_resource_check(const struct weir_tree *doc, enum weir_kind *ret_kind, struct weir_err *err)
{
    static const struct weir_str kinds[] = {[WEIR_KIND_QUEUE] = {"Queue", 5},
                                            [WEIR_KIND_WORKLOAD] = {"Workload", 8},
                                            [WEIR_KIND_GPU_SETUP] = {"GpuSetup", 8}};
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
        return weir_error_hint(err, "one of Queue, Workload, GpuSetup");
    }
    for (int i = 0; i < WEIR_KIND_MAX; i++) {
        if (weir_str_eq(kind->text, kinds[i])) {
            *ret_kind = (enum weir_kind)i;
            return weir_schema_check(weir_schema_of((enum weir_kind)i), doc, err);
        }
    }
    weir_tree_error(kind, err, "unknown kind '%.*s'", WEIR_STR_ARG(kind->text));
    nearest = weir_str_nearest(kind->text, kinds, WEIR_KIND_MAX);
    if (nearest >= 0)
        return weir_error_hint(err, "did you mean '%s'?", kinds[nearest].ptr);
    return weir_error_hint(err, "one of Queue, Workload, GpuSetup");
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

/* ---- queue ---- */

static int read_class_amount(const struct weir_tree *node, struct weir_edit *edit,
                             enum weir_resource_origin origin, struct weir_amounts *amounts,
                             struct weir_err *err)
{
    uint32_t resource;
    int r = weir_resource_class_of_key(node, edit, origin, &resource, err);

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

static int read_numbers(const struct weir_tree *spec, struct weir_resource_numbers *n,
                        struct weir_err *err)
{
    const struct weir_tree *cpu = weir_tree_get(spec, "cpu");
    const struct weir_tree *gpus = weir_tree_get(spec, "gpus");
    int r;

    *n = (struct weir_resource_numbers){.gpus_mgpu = WEIR_MGPU_PER_GPU, .members = 1};
    r = read_amount(gpus, false, &n->gpus_mgpu, err);
    if (r == 0)
        r = read_amount(weir_tree_get(spec, "gpuMemory"), true, &n->gpu_memory_bytes, err);
    n->has_budget = gpus == NULL && n->gpu_memory_bytes > 0 && weir_tree_get(spec, "mig") == NULL;
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

static int check_numbers(const struct weir_tree *spec, const struct weir_resource_numbers *n,
                         struct weir_err *err)
{
    int r = weir_resource_check_gpus(spec, n, err);

    if (r < 0)
        return r;
    if (n->array > 0 && n->members > 1)
        return weir_tree_error(weir_tree_get(spec, "array"), err,
                               "an array of gangs is not offered: give either array or members");
    if (n->min_members > n->members)
        return weir_tree_error(weir_tree_get(spec, "minMembers"), err, "more than the %lld members",
                               (long long)n->members);
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

static int read_workload_row(const struct weir_tree *spec, const struct weir_resource_numbers *n,
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
    struct weir_resource_numbers n;
    int r = read_numbers(spec, &n, err);

    if (r == 0)
        r = check_numbers(spec, &n, err);
    if (r == 0)
        r = weir_resource_shape(spec, &n, origin, edit, &ask.shape, err);
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
