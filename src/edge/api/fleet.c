/* Nodes and their GPUs. */
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/nouns.h"

enum { GPU_PREFIX_MIN = 5 }; /* "GPU-" alone says nothing */

static struct weir_str node_name(const struct weir_world *world, uint32_t row)
{
    return weir_world_string(world, weir_world_node(world, row)->name);
}

static struct weir_str gpu_name(const struct weir_world *world, uint32_t row)
{
    return weir_world_string(world, weir_world_device(world, row)->uuid);
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
    return (device_a->index > device_b->index) - (device_a->index < device_b->index);
}

static void put_gpu_with_reading(struct weir_json_writer *w, const struct weir_api_call *call,
                                 uint32_t row)
{
    const struct weir_service *service = &call->api->service;
    const struct weir_gpu_device *gpu =
        service->gpu(service->ctx, gpu_name(call->api->index.world, row), call->arena);

    weir_json_object_begin(w);
    weir_api_put_gpu_members(w, call->api, row);
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

/* By its whole name: a GPU may have been named by a part of it. */
static int finish_phase(struct weir_api_call *call, uint64_t outcome, struct weir_err *err)
{
    struct weir_api_json json;

    (void)outcome;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_str(&json.w, "name", call->params[0]);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 202, &json, err);
}

static int set_phase(struct weir_api_call *call, enum weir_subject kind, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_done done = {0};
    int r = weir_api_pending_new(call, finish_phase, &done, err);

    if (r < 0)
        return r;
    r = service->set_phase(service->ctx, &call->actor, kind, call->params[0],
                           (enum weir_node_phase)call->route->arg, done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

/* The service knows GPUs by their whole keys only. */
int weir_api_set_gpu_phase(struct weir_api_call *call, struct weir_err *err)
{
    uint32_t row = WEIR_NONE;
    int r = weir_api_noun_find(call, &weir_api_gpus, &row, err);

    if (r == 0 && row != WEIR_NONE) {
        struct weir_str key = gpu_name(call->api->index.world, row);
        const char *copy = weir_arena_strndup(call->arena, key.ptr, key.len);

        if (copy == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a key");
        call->params[0] = weir_str_n(copy, key.len);
    }
    if (r < 0)
        return r;
    return set_phase(call, WEIR_SUBJECT_DEVICE, err);
}

int weir_api_set_node_phase(struct weir_api_call *call, struct weir_err *err)
{
    return set_phase(call, WEIR_SUBJECT_NODE, err);
}
