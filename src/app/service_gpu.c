/* What is to be known of GPUs. */
#include "app/known.h"
#include "app/service_impl.h"
#include "base/cleanup.h"
#include "base/units.h"

static int check_holders(const struct weir_server *server, uint32_t index, struct weir_str name,
                         struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);

    for (uint32_t i = index; i != WEIR_NONE;
         i = weir_world_next_instance(world, index, i == index ? WEIR_NONE : i)) {
        const struct weir_device *row = weir_world_device(world, i);
        uint32_t task;

        if (row->n_sharers == 0)
            continue;
        task = weir_world_hold(world, row->first_hold)->task;
        weir_error(err, WEIR_E_EXISTS, "GPU '%.*s' is held by workload %llu", WEIR_STR_ARG(name),
                   (unsigned long long)weir_world_workload(world,
                                                           weir_world_task(world, task)->workload)
                       ->number);
        return weir_error_hint(err, "end it first: `weir cancel` does");
    }
    return 0;
}

/* One that the driver still has is back at once. */
static int check_absent(const struct weir_server *server, struct weir_str name,
                        struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_gpu_port *port = &server->gpu;
    bool is_there = port->has != NULL && port->has(port->ctx, name);
    struct weir_gpu_device *devices = NULL;
    struct weir_err away = WEIR_ERR_INIT;
    uint32_t n = 0;
    int r = port->list(port->ctx, &arena, &devices, &n, &away);

    if (r == WEIR_E_NO_MEMORY)
        return weir_error_pass(err, &away);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        is_there |= weir_str_eq(devices[i].uuid, name);
    if (!is_there)
        return 0;
    weir_error(err, WEIR_E_EXISTS, "GPU '%.*s' is there: the driver shows it", WEIR_STR_ARG(name));
    return weir_error_hint(err, "`weir cordon` takes it out of use");
}

static int remove_rows(struct weir_server *server, uint32_t index, struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    const struct weir_device row = *weir_world_device(world, index);
    struct weir_node *node;
    uint32_t next;
    int r = 0;

    for (uint32_t i = weir_world_next_instance(world, index, WEIR_NONE); r == 0 && i != WEIR_NONE;
         i = next) {
        next = weir_world_next_instance(world, index, i);
        weir_server_forget_gpu(server, i);
        r = weir_edit_remove_device(server->edit, i);
    }
    weir_server_forget_gpu(server, index);
    if (r == 0)
        r = weir_edit_remove_device(server->edit, index);
    node = r == 0 ? weir_edit_node(server->edit, row.node) : NULL;
    if (node == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to delete a GPU");
    if (!weir_str_eq_c(weir_world_gpu_class_name(world, row.gpu_class),
                       WEIR_SERVER_CLASS_UNKNOWN)) {
        node->capacity.of[WEIR_RES_GPU] -= WEIR_MGPU_PER_GPU;
        node->capacity.of[row.gpu_class] -= WEIR_MGPU_PER_GPU;
    }
    if (node->n_devices == 0)
        node->phase = WEIR_NODE_GONE;
    return 0;
}

int weir_service_delete_gpu(void *ctx, const struct weir_actor *actor, struct weir_str name,
                            struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    uint32_t index;
    int r = weir_service_check_ready(server, err);

    if (r == 0)
        r = weir_service_check_role(actor, WEIR_ROLE_ADMIN, "delete GPUs", err);
    if (r < 0)
        return r;
    index = weir_edit_find_device(server->edit, name);
    if (index == WEIR_NONE) {
        weir_error(err, WEIR_E_NOT_FOUND, "there is no GPU '%.*s'", WEIR_STR_ARG(name));
        return weir_error_hint(err, "`weir get gpus` lists them");
    }
    if (weir_world_device(weir_edit_view(server->edit), index)->kind == WEIR_DEVICE_MIG) {
        weir_error(err, WEIR_E_EXISTS, "'%.*s' is an instance of a GPU", WEIR_STR_ARG(name));
        return weir_error_hint(err, "a GpuSetup says which instances there are");
    }
    r = check_absent(server, name, err);
    if (r == 0)
        r = check_holders(server, index, name, err);
    if (r == 0)
        r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    r = weir_service_event(server, actor, "gpu.deleted", "gpu", name, WEIR_STR(""), err);
    if (r == 0)
        r = remove_rows(server, index, err);
    if (r == 0)
        r = weir_known_forget(server, name, err);
    return r < 0 ? weir_server_fail(server, r, err) : weir_server_add_done(server, done, 0, err);
}
