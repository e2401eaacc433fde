#include "core/admit/refuse.h"

#include "base/count.h"
#include "base/err.h"
#include "base/units.h"

/* ---- words ---- */

struct quantity {
    char text[40];
};

/* What there is, "23.5Gi": in tenths of its unit, cut off, as it is shown elsewhere. */
static struct quantity bytes_left(int64_t amount)
{
    int64_t unit = amount >= WEIR_GIB ? WEIR_GIB : amount >= WEIR_MIB ? WEIR_MIB : 1;
    int64_t tenths = amount / unit * 10 + amount % unit * 10 / unit;
    const char *name = unit == WEIR_GIB ? "Gi" : unit == WEIR_MIB ? "Mi" : "";
    struct quantity q;

    if (tenths % 10 == 0)
        weir_str_format(q.text, sizeof(q.text), "%lld%s", (long long)(tenths / 10), name);
    else
        weir_str_format(q.text, sizeof(q.text), "%lld.%d%s", (long long)(tenths / 10),
                        (int)(tenths % 10), name);
    return q;
}

/* What is asked for, as whoever asked wrote it or could have: nothing is rounded. */
static struct quantity bytes_asked(int64_t amount)
{
    static const struct {
        int64_t size;
        const char *name;
    } units[] = {{WEIR_GIB, "Gi"}, {1000000000, "G"}, {WEIR_MIB, "Mi"}, {1000000, "M"}};
    struct quantity q;

    for (unsigned i = 0; i < WEIR_COUNT_OF(units); i++) {
        int64_t size = units[i].size;
        int64_t rest = amount % size;
        int64_t power = 1;

        for (int digits = 0; amount >= size && digits <= 3; digits++, power *= 10) {
            int64_t part = rest * power / size;

            if ((part * size + power - 1) / power != rest) /* as it is read: rounded up */
                continue;
            weir_str_format(q.text, sizeof(q.text), "%lld%s%.*lld%s", (long long)(amount / size),
                            digits > 0 ? "." : "", digits, (long long)part, units[i].name);
            return q;
        }
    }
    weir_str_format(q.text, sizeof(q.text), "%lld", (long long)amount);
    return q;
}

static struct quantity bytes(int64_t amount, bool asked)
{
    return asked ? bytes_asked(amount) : bytes_left(amount);
}

/* "4", "500m": as an option takes it. */
static struct quantity milli(int64_t amount)
{
    bool whole = amount % 1000 == 0;
    struct quantity q;

    weir_str_format(q.text, sizeof(q.text), "%lld%s", (long long)(whole ? amount / 1000 : amount),
                    whole ? "" : "m");
    return q;
}

/* "2 GPUs", "0.5 of a GPU". */
static struct quantity gpus(int64_t mgpu)
{
    int64_t rest = mgpu % WEIR_MGPU_PER_GPU;
    int digits = 3;
    struct quantity q;

    for (; digits > 1 && rest % 10 == 0; digits--)
        rest /= 10;
    if (rest == 0)
        weir_str_format(q.text, sizeof(q.text), "%lld GPU%s", (long long)(mgpu / WEIR_MGPU_PER_GPU),
                        mgpu == WEIR_MGPU_PER_GPU ? "" : "s");
    else
        weir_str_format(q.text, sizeof(q.text), "%lld.%.*lld%s",
                        (long long)(mgpu / WEIR_MGPU_PER_GPU), digits, (long long)rest,
                        mgpu < WEIR_MGPU_PER_GPU ? " of a GPU" : " GPUs");
    return q;
}

static bool is_gpu(const struct weir_admission *a, uint32_t resource)
{
    uint32_t kind = weir_world_resource(a->fleet.world, resource)->kind;

    return kind == WEIR_RESOURCE_GPU || kind == WEIR_RESOURCE_GPU_CLASS;
}

/* The memory of a shared GPU that each task asks for, which counts as a part of one; 0: it asks for
 * none, or for another resource. */
static int64_t budget_of(const struct weir_admission *a, uint32_t resource)
{
    const struct weir_shape *shape = &a->ask->shapes[0];

    return is_gpu(a, resource) && a->ask->n_roles == 1 && shape->n_devices > 0 &&
                   shape->device_mgpu < WEIR_MGPU_PER_GPU
               ? shape->device_memory_bytes
               : 0;
}

/* Of what has no name of its own: it follows. */
static struct quantity quantity(const struct weir_admission *a, uint32_t resource, int64_t amount,
                                bool asked)
{
    struct quantity number = milli(amount);
    struct quantity q;

    switch ((enum weir_resource_kind)weir_world_resource(a->fleet.world, resource)->kind) {
    case WEIR_RESOURCE_MEMORY:
        return bytes(amount, asked);
    case WEIR_RESOURCE_CPU:
        break;
    case WEIR_RESOURCE_GPU:
    case WEIR_RESOURCE_GPU_CLASS:
        return gpus(amount);
    case WEIR_RESOURCE_MIG:
    case WEIR_RESOURCE_OTHER:
    case WEIR_RESOURCE_KIND_MAX:
        return number;
    }
    weir_str_format(q.text, sizeof(q.text), "%.24s CPU%s", number.text, amount == 1000 ? "" : "s");
    return q;
}

/* What each task asks for, in the words it was asked in. */
static struct quantity asked_by_each(const struct weir_admission *a, uint32_t resource,
                                     int64_t each)
{
    int64_t budget = budget_of(a, resource);
    struct quantity q;

    if (budget == 0)
        return quantity(a, resource, each, true);
    weir_str_format(q.text, sizeof(q.text), "%.24s of GPU memory", bytes_asked(budget).text);
    return q;
}

/* The field of a Workload that says how much of it; NULL where none does. */
static const char *field_of(const struct weir_admission *a, uint32_t resource)
{
    switch ((enum weir_resource_kind)weir_world_resource(a->fleet.world, resource)->kind) {
    case WEIR_RESOURCE_MEMORY:
        return "spec.memory";
    case WEIR_RESOURCE_CPU:
        return "spec.cpu";
    case WEIR_RESOURCE_GPU:
    case WEIR_RESOURCE_GPU_CLASS:
        return budget_of(a, resource) > 0 ? "spec.gpuMemory" : "spec.gpus";
    case WEIR_RESOURCE_MIG:
    case WEIR_RESOURCE_OTHER:
    case WEIR_RESOURCE_KIND_MAX:
        break;
    }
    return NULL;
}

static int refused(struct weir_admission *a, const char *field)
{
    if (field != NULL)
        weir_error_field(a->err, "%s", field);
    return WEIR_E_IMPOSSIBLE;
}

/* Who asks, where each of several does. */
static const char *asker(const struct weir_admission *a)
{
    if (weir_ask_n_tasks(a->ask) == 1)
        return "";
    return a->ask->workload->independent ? "each element " : "each member ";
}

static const char *for_each(const struct weir_admission *a)
{
    if (weir_ask_n_tasks(a->ask) == 1)
        return "";
    return a->ask->workload->independent ? " for each element" : " for each member";
}

/* Goes after a quantity whose unit does not say of what: " of " and its name. */
static const char *of(const struct weir_admission *a, uint32_t resource)
{
    uint32_t kind = weir_world_resource(a->fleet.world, resource)->kind;

    return kind == WEIR_RESOURCE_GPU || kind == WEIR_RESOURCE_CPU ? "" : " of ";
}

/* "gpu/h100" is called "h100". */
static struct weir_str name_of(const struct weir_admission *a, uint32_t resource)
{
    struct weir_str name =
        weir_world_string(a->fleet.world, weir_world_resource(a->fleet.world, resource)->name);
    ptrdiff_t slash = weir_str_find_char(name, '/');

    return weir_overlay_is_gpu(&a->fleet, resource) && slash >= 0
               ? weir_str_sub(name, (size_t)slash + 1, name.len)
               : name;
}

static struct weir_str name_after_of(const struct weir_admission *a, uint32_t resource)
{
    return of(a, resource)[0] != '\0' ? name_of(a, resource) : WEIR_STR("");
}

/* ---- refusals: each sets the reason and says it ---- */

static void set_reason(struct weir_admission *a, uint32_t level, uint32_t code, uint32_t resource,
                       int64_t have, int64_t need)
{
    a->refusal = (struct weir_refusal){
        .reason = {.level = level,
                   .code = code,
                   .subject = WEIR_NONE,
                   .resource = resource,
                   .have = have,
                   .need = need,
                   .first_child = WEIR_NONE,
                   .next = WEIR_NONE},
        .nearest_class = WEIR_NONE,
        .nearest_queue = WEIR_NONE,
    };
}

int weir_refuse_queue(struct weir_admission *a, uint32_t nearest)
{
    const struct weir_world *world = a->fleet.world;
    struct weir_str name = weir_world_string(world, weir_world_queue(world, a->queue)->name);

    set_reason(a, WEIR_LEVEL_QUEUE, WEIR_REASON_MISCONFIGURED, WEIR_NONE, 0, 0);
    a->refusal.reason.subject_kind = WEIR_SUBJECT_QUEUE;
    a->refusal.reason.subject = a->queue;
    a->refusal.nearest_queue = nearest;
    weir_error(a->err, WEIR_E_IMPOSSIBLE, "queue '%.*s' has queues below it: name one of those",
               WEIR_STR_ARG(name));
    if (nearest != WEIR_NONE) {
        name = weir_world_string(world, weir_world_queue(world, nearest)->name);
        weir_error_hint(a->err, "'%.*s' would do", WEIR_STR_ARG(name));
    }
    return refused(a, "spec.queue");
}

int weir_refuse_limit(struct weir_admission *a, const struct weir_quota_over *over, int64_t need,
                      int64_t n_tasks)
{
    bool is_own = over->queue == a->queue;
    struct weir_str name =
        weir_world_string(a->fleet.world, weir_world_queue(a->fleet.world, over->queue)->name);
    struct quantity asked = quantity(a, over->resource, need, true);
    struct quantity limit = quantity(a, over->resource, over->limit, false);
    int64_t nearest = over->limit / n_tasks;
    int64_t budget = budget_of(a, over->resource);
    struct quantity most;
    char said[96];

    if (budget > 0)
        weir_str_format(said, sizeof(said), "%.24s of GPU memory%s (%s)", bytes_asked(budget).text,
                        n_tasks > 1 ? " each" : "", asked.text);
    else
        weir_str_format(said, sizeof(said), "%s", asked.text);
    set_reason(a, WEIR_LEVEL_QUEUE, is_own ? WEIR_REASON_QUEUE_LIMIT : WEIR_REASON_PARENT_LIMIT,
               over->resource, over->limit, need);
    a->refusal.reason.subject_kind = WEIR_SUBJECT_QUEUE;
    a->refusal.reason.subject = over->queue;
    if (nearest > weir_world_resource(a->fleet.world, over->resource)->grain)
        nearest -= nearest % weir_world_resource(a->fleet.world, over->resource)->grain;
    a->refusal.nearest = nearest;
    weir_error(a->err, WEIR_E_IMPOSSIBLE,
               "asks for %s%s%.*s at once, queue '%.*s' is limited to %s", said,
               of(a, over->resource), WEIR_STR_ARG(name_after_of(a, over->resource)),
               WEIR_STR_ARG(name), limit.text);
    if (nearest == 0 && n_tasks > 1) {
        weir_error_hint(a->err, "ask for fewer members, or raise the limit of '%.*s'",
                        WEIR_STR_ARG(name));
        return refused(a, "spec.members");
    }
    most = quantity(a, over->resource, nearest, false);
    if (budget > 0)
        most = bytes_left(budget / WEIR_MIB * nearest / (need / n_tasks) * WEIR_MIB);
    weir_error_hint(a->err, "ask for at most %s%s%s, or raise the limit of '%.*s'", most.text,
                    budget > 0 ? " of GPU memory" : "",
                    n_tasks > 1 ? " for each member" : for_each(a), WEIR_STR_ARG(name));
    return refused(a, field_of(a, over->resource));
}

int weir_refuse_amount(struct weir_admission *a, uint32_t code, uint32_t resource, int64_t have,
                       int64_t need)
{
    struct quantity asked = asked_by_each(a, resource, need);
    struct quantity most = quantity(a, resource, have, false);

    set_reason(a, WEIR_LEVEL_NODES, code, resource, have, need);
    a->refusal.nearest = have;
    weir_error(a->err, WEIR_E_IMPOSSIBLE, "%sasks for %s%s%.*s, no suitable node has more than %s",
               asker(a), asked.text, of(a, resource), WEIR_STR_ARG(name_after_of(a, resource)),
               most.text);
    if (code == WEIR_REASON_RESOURCES && have > 0 && need % have == 0 &&
        weir_ask_n_tasks(a->ask) == 1)
        weir_error_hint(a->err, "ask for at most %s, or for %lld members of %s", most.text,
                        (long long)(need / have), most.text);
    else if (have > 0)
        weir_error_hint(a->err, "ask for at most %s%s", most.text, for_each(a));
    return refused(a, field_of(a, resource));
}

/* The class of which most devices would do, were the class of no account. */
static uint32_t nearest_class(const struct weir_admission *a, const struct weir_request *request)
{
    struct weir_shape any = *request->shape;
    struct weir_request relaxed = {&any, request->isolation, WEIR_NONE, request->owner};
    uint32_t counts[WEIR_RESOURCE_MAX] = {0};
    uint32_t best = WEIR_NONE;

    any.gpu_class = WEIR_NONE;
    for (uint32_t i = 0; i < a->fleet.n_devices; i++) {
        uint32_t class = a->fleet.devices[i].gpu_class;

        if (class == WEIR_NONE || class >= WEIR_RESOURCE_MAX ||
            weir_filter_kind(&a->fleet.devices[i], &relaxed) != WEIR_REASON_NONE)
            continue;
        counts[class]++;
        if (best == WEIR_NONE || counts[class] > counts[best] ||
            (counts[class] == counts[best] &&
             weir_str_cmp(name_of(a, class), name_of(a, best)) < 0))
            best = class;
    }
    return best;
}

static int refuse_class(struct weir_admission *a, const struct weir_request *request)
{
    uint32_t resource = weir_request_resource(request->shape);
    uint32_t class = nearest_class(a, request);

    set_reason(a, WEIR_LEVEL_DEVICES, WEIR_REASON_GPU_CLASS, resource, 0,
               (int64_t)request->shape->n_devices * 1000);
    a->refusal.nearest_class = class;
    if (resource == WEIR_RES_GPU)
        weir_error(a->err, WEIR_E_IMPOSSIBLE, "asks for GPUs, there are none");
    else
        weir_error(a->err, WEIR_E_IMPOSSIBLE, "asks for GPU model '%.*s', there is none",
                   WEIR_STR_ARG(name_of(a, resource)));
    if (class != WEIR_NONE)
        weir_error_hint(a->err, "'%.*s' would do otherwise", WEIR_STR_ARG(name_of(a, class)));
    return refused(a, resource == WEIR_RES_GPU ? "spec.gpus" : "spec.gpuModel");
}

static int refuse_memory(struct weir_admission *a, const struct weir_request *request)
{
    uint32_t class = nearest_class(a, request);
    int64_t largest = 0;
    struct quantity asked = bytes(request->shape->device_memory_bytes, true);
    struct quantity most;

    for (uint32_t i = 0; i < a->fleet.n_devices; i++) {
        const struct weir_overlay_device *device = &a->fleet.devices[i];

        if ((request->shape->gpu_class == WEIR_NONE ||
             device->gpu_class == request->shape->gpu_class) &&
            device->memory_bytes > largest)
            largest = device->memory_bytes;
    }
    most = bytes(largest, false);
    set_reason(a, WEIR_LEVEL_DEVICES, WEIR_REASON_GPU_MEMORY, weir_request_resource(request->shape),
               largest, request->shape->device_memory_bytes);
    a->refusal.nearest = largest;
    a->refusal.nearest_class = class;
    weir_error(a->err, WEIR_E_IMPOSSIBLE, "asks for %s of memory on each GPU, the largest has %s",
               asked.text, most.text);
    if (class != WEIR_NONE)
        weir_error_hint(a->err, "ask for at most %s, or for '%.*s'", most.text,
                        WEIR_STR_ARG(name_of(a, class)));
    else
        weir_error_hint(a->err, "ask for at most %s", most.text);
    return refused(a, "spec.gpuMemory");
}

/* The first from its own queue up that demands as much isolation. */
static struct weir_str demanding_queue(const struct weir_admission *a)
{
    const struct weir_world *world = a->fleet.world;
    uint32_t queue = a->queue;

    while (weir_world_queue(world, queue)->isolation != a->isolation)
        queue = weir_world_queue(world, queue)->parent;
    return weir_world_string(world, weir_world_queue(world, queue)->name);
}

static int refuse_isolation(struct weir_admission *a, const struct weir_request *request)
{
    const char *name = weir_isolation_name((enum weir_isolation)request->isolation);
    bool is_of_queue = a->isolation > request->shape->isolation;

    set_reason(a, WEIR_LEVEL_DEVICES, WEIR_REASON_ISOLATION, weir_request_resource(request->shape),
               0, request->isolation);
    if (request->isolation == WEIR_ISOLATION_NONE)
        weir_error(a->err, WEIR_E_IMPOSSIBLE,
                   "asks for a part of a GPU, no GPU here can be shared");
    else if (is_of_queue)
        weir_error(a->err, WEIR_E_IMPOSSIBLE,
                   "asks for a part of a GPU, queue '%.*s' demands isolation %s, no GPU here can "
                   "be shared with that",
                   WEIR_STR_ARG(demanding_queue(a)), name);
    else
        weir_error(a->err, WEIR_E_IMPOSSIBLE,
                   "asks for a part of a GPU, no GPU here can be shared with isolation %s", name);
    weir_error_hint(a->err, "ask for whole GPUs");
    if (request->isolation == WEIR_ISOLATION_NONE)
        return refused(a, request->shape->device_memory_bytes > 0 ? "spec.gpuMemory" : "spec.gpus");
    return refused(a, is_of_queue ? "spec.queue" : "spec.isolation");
}

/* No amount of anything would do: what the nodes say most. */
int weir_refuse_kind(struct weir_admission *a, const struct weir_request *request,
                     const uint32_t counts[WEIR_REASON_CODE_MAX])
{
    uint32_t code = weir_filter_most_telling(counts);

    if (code == WEIR_REASON_GPU_CLASS)
        return refuse_class(a, request);
    if (code == WEIR_REASON_GPU_MEMORY)
        return refuse_memory(a, request);
    if (code == WEIR_REASON_ISOLATION)
        return refuse_isolation(a, request);
    set_reason(a, WEIR_LEVEL_NODES, code, WEIR_NONE, 0, 0);
    if (code == WEIR_REASON_LABELS)
        return weir_error(a->err, WEIR_E_IMPOSSIBLE, "no node has the labels it asks for");
    if (a->fleet.n_nodes == 0)
        return weir_error(a->err, WEIR_E_IMPOSSIBLE, "there is no node to run on");
    return weir_error(a->err, WEIR_E_IMPOSSIBLE, "no node has all that it asks for together");
}

/* The first resource of which the fleet has too little for so many members; WEIR_NONE: it is not a
 * matter of sums. */
static uint32_t short_of(const struct weir_admission *a, const struct weir_set *set,
                         int64_t *ret_each, int64_t *ret_have)
{
    const struct weir_shape *shape = &a->ask->shapes[0];

    for (uint32_t i = 0; a->ask->n_roles == 1 && i < shape->n_amounts; i++) {
        int64_t each = shape->amounts[i].amount;
        int64_t have = 0;

        for (uint32_t node = 0; node < a->fleet.n_nodes; node++)
            have = weir_units_add(have, weir_overlay_free(&a->fleet, WEIR_VIEW_NOW, node,
                                                          shape->amounts[i].resource));
        if (weir_units_mul(each, set->n_members) <= have)
            continue;
        *ret_each = each;
        *ret_have = have;
        return shape->amounts[i].resource;
    }
    return WEIR_NONE;
}

static void say_gang(const struct weir_admission *a, const struct weir_set *set, uint32_t most)
{
    int64_t each = 0;
    int64_t have = 0;
    uint32_t resource = short_of(a, set, &each, &have);

    if (resource == WEIR_NONE)
        weir_error(a->err, WEIR_E_IMPOSSIBLE,
                   "asks for %u members at once, no more than %u find room when nothing else runs",
                   set->n_members, most);
    else
        weir_error(a->err, WEIR_E_IMPOSSIBLE, "%u members ask for %s%s%.*s each, %s %s",
                   set->n_members, asked_by_each(a, resource, each).text, of(a, resource),
                   WEIR_STR_ARG(name_after_of(a, resource)),
                   a->fleet.n_nodes == 1 ? "this machine has" : "all nodes together have",
                   quantity(a, resource, have, false).text);
}

int weir_refuse_gang(struct weir_admission *a, const struct weir_set *set, uint32_t most)
{
    static const char *const levels[WEIR_TOPOLOGY_LEVELS] = {"zone", "block", "rack",
                                                             "NVLink domain", "host"};
    bool has_topology = set->topology.required < WEIR_TOPOLOGY_LEVELS;

    set_reason(a, has_topology ? WEIR_LEVEL_TOPOLOGY : WEIR_LEVEL_GANG,
               has_topology ? WEIR_REASON_TOPOLOGY : WEIR_REASON_GANG, WEIR_NONE, most,
               set->n_members);
    a->refusal.nearest = most;
    if (has_topology)
        weir_error(a->err, WEIR_E_IMPOSSIBLE,
                   "asks for %u members in one %s, none has room for more than %u", set->n_members,
                   levels[set->topology.required], most);
    else
        say_gang(a, set, most);
    if (most > 0)
        weir_error_hint(a->err, "ask for at most %u member%s, or let it start with fewer", most,
                        most == 1 ? "" : "s");
    return refused(a, "spec.members");
}
