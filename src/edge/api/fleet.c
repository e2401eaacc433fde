/* Nodes and their GPUs. */
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/nouns.h"
#include "model/fault.h"

enum { GPU_PREFIX_MIN = 4 }; /* "GPU-": what is shorter is no beginning of a key */

static struct weir_str node_name(const struct weir_world *world, uint32_t row)
{
    return weir_world_string(world, weir_world_node(world, row)->name);
}

static struct weir_str gpu_name(const struct weir_world *world, uint32_t row)
{
    return weir_world_string(world, weir_world_device(world, row)->uuid);
}

/* "3", the driver's number on its node; "node-1:3". */
static bool gpu_is_called(const struct weir_world *world, uint32_t row, struct weir_str word)
{
    const struct weir_device *device = weir_world_device(world, row);
    ptrdiff_t colon = weir_str_find_char(word, ':');
    struct weir_str number = weir_str_sub(word, (size_t)(colon + 1), word.len);
    uint64_t index;

    if (device->kind == WEIR_DEVICE_MIG || !weir_str_to_u64(number, &index) ||
        index != device->index)
        return false;
    return colon < 0 ||
           weir_str_eq(weir_str_sub(word, 0, (size_t)colon), node_name(world, device->node));
}

/* The GPU that it is, or is a part of. */
static const struct weir_device *whole_of(const struct weir_world *world,
                                          const struct weir_device *device)
{
    return device->parent != WEIR_NONE ? weir_world_device(world, device->parent) : device;
}

/* A GPU, then its instances by where they are. */
static int compare_parts(const struct weir_device *a, const struct weir_device *b)
{
    bool is_part_a = a->kind == WEIR_DEVICE_MIG;
    bool is_part_b = b->kind == WEIR_DEVICE_MIG;

    if (!is_part_a || !is_part_b)
        return is_part_a - is_part_b;
    return __builtin_ffs(a->slots) - __builtin_ffs(b->slots);
}

/* By node, then as the driver counts them. */
static int compare_gpus(const struct weir_world *world, uint32_t a, uint32_t b)
{
    const struct weir_device *device_a = weir_world_device(world, a);
    const struct weir_device *device_b = weir_world_device(world, b);
    int by_node = device_a->node == device_b->node ? 0
                                                   : weir_str_cmp(node_name(world, device_a->node),
                                                                  node_name(world, device_b->node));

    if (by_node != 0)
        return by_node;
    if (whole_of(world, device_a) == whole_of(world, device_b))
        return compare_parts(device_a, device_b);
    return (device_a->index > device_b->index) - (device_a->index < device_b->index);
}

static void put_action(struct weir_json_writer *w, const char *key, uint32_t action)
{
    bool is_one = action > WEIR_FAULT_ACTION_NOT_EVENT && action < WEIR_FAULT_ACTION_MAX;

    weir_json_key(w, key);
    weir_json_text(w, is_one ? weir_fault_action_words((enum weir_fault_action)action) : NULL);
}

/* Why it is out of service, and what is to be done about it: that is a person's. */
static void put_fault(struct weir_json_writer *w, const struct weir_api_call *call,
                      struct weir_str key)
{
    const struct weir_service *service = &call->api->service;
    struct weir_mark_record mark;

    weir_json_key(w, "fault");
    if (!service->fault(service->ctx, key, call->arena, &mark)) {
        weir_json_null(w);
        return;
    }
    weir_json_object_begin(w);
    weir_api_put_str(w, "class", mark.class);
    weir_api_put_str(w, "evidence", mark.cause);
    weir_api_put_time(w, "since_ms", mark.since_wall_ms);
    put_action(w, "to_do", mark.action);
    put_action(w, "if_that_does_not_help", mark.then);
    weir_json_object_end(w);
}

static void put_gpu_with_reading(struct weir_json_writer *w, const struct weir_api_call *call,
                                 uint32_t row)
{
    const struct weir_service *service = &call->api->service;
    const struct weir_gpu_device *gpu =
        service->gpu(service->ctx, gpu_name(call->api->index.world, row), call->arena);

    weir_json_object_begin(w);
    weir_api_put_gpu_members(w, call->api, row);
    weir_api_put_mig_offers(w, call->api->index.world,
                            weir_world_device(call->api->index.world, row));
    put_fault(w, call, gpu_name(call->api->index.world, row));
    weir_json_key(w, "reading");
    if (gpu != NULL)
        weir_api_put_reading(w, call->api, gpu);
    else
        weir_json_null(w);
    weir_json_object_end(w);
}

const struct weir_api_noun weir_api_gpus = {
    .table = WEIR_TABLE_DEVICES,
    .word = "GPU",
    .list = "`weir get gpus` lists them",
    .name = gpu_name,
    .compare = compare_gpus,
    .prefix_min = GPU_PREFIX_MIN,
    .is_called = gpu_is_called,
    .put = weir_api_put_gpu,
    .put_one = put_gpu_with_reading,
};

const struct weir_api_noun weir_api_nodes = {
    .table = WEIR_TABLE_NODES,
    .word = "node",
    .list = "`weir get nodes` lists them",
    .name = node_name,
    .put = weir_api_put_node,
};

int weir_api_list_gpus(struct weir_api_call *call, struct weir_err *err)
{
    return weir_api_noun_list(call, &weir_api_gpus, err);
}

int weir_api_get_gpu(struct weir_api_call *call, struct weir_err *err)
{
    return weir_api_noun_get(call, &weir_api_gpus, err);
}

int weir_api_list_nodes(struct weir_api_call *call, struct weir_err *err)
{
    return weir_api_noun_list(call, &weir_api_nodes, err);
}

int weir_api_get_node(struct weir_api_call *call, struct weir_err *err)
{
    return weir_api_noun_get(call, &weir_api_nodes, err);
}

/* Why a GPU that was taken back into use does not serve; "": it does. */
static struct weir_str why_not_serving(const struct weir_api_call *call)
{
    const struct weir_world *world = call->api->index.world;
    struct weir_key key = weir_key_of_device(call->params[0]);

    for (uint32_t row = weir_world_first(world, WEIR_TABLE_DEVICES); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_DEVICES, row)) {
        const struct weir_device *device = weir_world_device(world, row);

        if (weir_key_eq(&device->row.key, &key))
            return device->health != WEIR_DEVICE_HEALTHY
                       ? weir_world_string(world, device->health_cause)
                       : WEIR_STR("");
    }
    return WEIR_STR("");
}

/* By its whole name: a GPU may have been named by a part of it. */
static int finish_phase(struct weir_api_call *call, uint64_t outcome, struct weir_err *err)
{
    bool is_back = call->route->arg == WEIR_NODE_READY;
    struct weir_api_json json;
    int r = weir_api_index_make(&call->api->index, &call->api->service, err);

    (void)outcome;
    if (r < 0)
        return r;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_str(&json.w, "name", call->params[0]);
    weir_api_put_name(&json.w, "not_serving", is_back ? why_not_serving(call) : WEIR_STR(""));
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 202, &json, err);
}

/* The service knows things by their whole names only. */
static int find_name(struct weir_api_call *call, const struct weir_api_noun *noun,
                     struct weir_err *err)
{
    uint32_t row = WEIR_NONE;
    int r = weir_api_noun_find(call, noun, &row, err);
    const char *copy;

    if (r < 0)
        return r;
    copy = weir_str_dup(noun->name(call->api->index.world, row), call->arena);
    if (copy == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a name");
    call->params[0] = weir_str(copy);
    return 0;
}

static int set_phase(struct weir_api_call *call, const struct weir_api_noun *noun,
                     enum weir_subject kind, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_done done = {0};
    bool with_test = true;
    int r = find_name(call, noun, err);

    if (r == 0)
        r = weir_api_query_bool(call, "test", &with_test, err);
    if (r == 0)
        r = weir_api_pending_new(call, finish_phase, &done, err);
    if (r < 0)
        return r;
    r = service->set_phase(service->ctx, &call->actor, kind, call->params[0],
                           (enum weir_node_phase)call->route->arg, !with_test, done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

int weir_api_delete_gpu(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_done done = {0};
    int r = find_name(call, &weir_api_gpus, err);

    if (r == 0)
        r = weir_api_pending_new(call, finish_phase, &done, err);
    if (r < 0)
        return r;
    r = service->delete_gpu(service->ctx, &call->actor, call->params[0], done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

int weir_api_set_gpu_phase(struct weir_api_call *call, struct weir_err *err)
{
    return set_phase(call, &weir_api_gpus, WEIR_SUBJECT_DEVICE, err);
}

int weir_api_set_node_phase(struct weir_api_call *call, struct weir_err *err)
{
    return set_phase(call, &weir_api_nodes, WEIR_SUBJECT_NODE, err);
}
