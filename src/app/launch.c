/* A job's environment is the submitting shell's, less what is weir's to say, plus who and where it
 * is. */
#include "app/launch.h"

#include "app/server.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/tree.h"
#include "base/units.h"
#include "core/heal/fate.h"
#include "fmt/json.h"
#include "fmt/quantity.h"
#include "model/signals.h"

#include <string.h>

/* The variables that weir sets, each where it applies. Where one does not, it is unset: a shell
 * that is a job itself hands its own on. WEIR_TOKEN is never set. */
static const char *const weirs_own[] = {
    "CUDA_DEVICE_ORDER",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_LOG_DIRECTORY",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "WEIR_ARRAY_INDEX",
    "WEIR_ARRAY_SIZE",
    "WEIR_ATTEMPT",
    "WEIR_GPU_MEMORY_BYTES",
    "WEIR_JOB_ATTEMPT",
    "WEIR_JOB_ID",
    "WEIR_JOB_NAME",
    "WEIR_MEMBERS",
    "WEIR_MEMBER_INDEX",
    "WEIR_NODE",
    "WEIR_QUEUE",
    "WEIR_TOKEN",
};

enum { N_WEIRS_OWN = WEIR_COUNT_OF(weirs_own) };

struct launching {
    struct weir_server *server;
    uint32_t task;
    struct weir_arena *arena;
    struct weir_err *err;
};

struct env {
    const char **entries;
    size_t n;
};

static bool put_entry(struct env *env, const char *entry)
{
    if (entry == NULL)
        return false;
    env->entries[env->n++] = entry;
    return true;
}

/* No name is put twice: those of the spec differ, and none of them is weir's own. */
static bool put_env(struct env *env, struct weir_arena *arena, struct weir_str name,
                    struct weir_str value)
{
    return put_entry(env, weir_arena_printf(arena, "%.*s=%.*s", WEIR_STR_ARG(name),
                                            WEIR_STR_ARG(value)));
}

static bool put_number(struct env *env, struct weir_arena *arena, const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return put_env(env, arena, weir_str(name), weir_str(text));
}

static bool is_weirs_own(struct weir_str name)
{
    /* They begin with few letters: most names are not looked for. */
    if (name.len == 0 || strchr("CNW", name.ptr[0]) == NULL)
        return false;
    for (size_t i = 0; i < N_WEIRS_OWN; i++)
        if (weir_str_eq_c(name, weirs_own[i]))
            return true;
    return false;
}

/* UUIDs of what the task holds, comma-separated: CUDA and the NVIDIA container runtime read them
 * alike. */
static int list_devices(const struct weir_world *world, const struct weir_task *task,
                        struct weir_buf *out)
{
    for (uint32_t h = task->first_hold; h != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        const struct weir_device *device = weir_world_device(world, hold->device);

        weir_buf_puts(out, out->len > 0 ? "," : "");
        weir_buf_str(out, weir_world_string(world, device->uuid));
        h = hold->next_of_task;
    }
    return out->failed;
}

static bool put_identity(struct env *env, struct weir_arena *arena, const struct weir_world *world,
                         const struct weir_task *task, const struct weir_workload_record *record)
{
    const struct weir_workload *w = weir_world_workload(world, task->workload);
    const struct weir_node *node = weir_world_node(world, task->node);
    bool ok = put_number(env, arena, "WEIR_JOB_ID", record->number) &&
              put_env(env, arena, WEIR_STR("WEIR_JOB_NAME"), record->name) &&
              put_env(env, arena, WEIR_STR("WEIR_QUEUE"), record->queue) &&
              put_env(env, arena, WEIR_STR("WEIR_NODE"), weir_world_string(world, node->name)) &&
              put_number(env, arena, "WEIR_JOB_ATTEMPT", task->attempt);

    if (ok && w->independent)
        return put_number(env, arena, "WEIR_ARRAY_INDEX", task->member) &&
               put_number(env, arena, "WEIR_ARRAY_SIZE", w->n_tasks);
    if (ok && w->n_tasks > 1)
        return put_number(env, arena, "WEIR_MEMBER_INDEX", task->member) &&
               put_number(env, arena, "WEIR_MEMBERS", w->n_tasks);
    return ok;
}

static bool put_devices(struct env *env, struct weir_arena *arena, const struct weir_world *world,
                        const struct weir_task *task)
{
    struct weir_buf uuids = WEIR_BUF_INIT(64 * 1024);
    bool none = task->first_hold == WEIR_NONE;
    bool ok = list_devices(world, task, &uuids) == 0 &&
              put_env(env, arena, WEIR_STR("CUDA_DEVICE_ORDER"), WEIR_STR("PCI_BUS_ID")) &&
              put_env(env, arena, WEIR_STR("CUDA_VISIBLE_DEVICES"), weir_buf_view(&uuids)) &&
              put_env(env, arena, WEIR_STR("NVIDIA_VISIBLE_DEVICES"),
                      none ? WEIR_STR("void") : weir_buf_view(&uuids));

    weir_buf_finish(&uuids);
    if (ok && !none && weir_world_hold(world, task->first_hold)->memory_bytes > 0)
        return put_number(env, arena, "WEIR_GPU_MEMORY_BYTES",
                          (uint64_t)weir_world_hold(world, task->first_hold)->memory_bytes);
    return ok;
}

/* To a client the one GPU that it sees is number 0. A UUID in CUDA_VISIBLE_DEVICES is right for
 * clients, too, where an index would be that among the daemon's. Who asked for a part of the GPU,
 * and not for memory, gets as much of its multiprocessors. */
static bool put_limits(struct env *env, struct weir_arena *arena, const struct weir_world *world,
                       const struct weir_task *task, const struct weir_hold *hold)
{
    const struct weir_shape *shape =
        weir_world_shape(world, weir_world_role(world, task->role)->shape);
    uint64_t percent = hold->part_mgpu >= 10 ? (uint64_t)hold->part_mgpu / 10 : 1;
    char limit[32];

    snprintf(limit, sizeof(limit), "0=%lldM", (long long)(hold->memory_bytes / WEIR_MIB));
    if (hold->memory_bytes > 0 &&
        !put_env(env, arena, WEIR_STR("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), weir_str(limit)))
        return false;
    return shape->device_memory_bytes > 0 ||
           put_number(env, arena, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percent);
}

/* Only a part of one GPU is under MPS. */
static bool put_mps(struct env *env, const struct launching *l, const struct weir_world *world,
                    const struct weir_task *task)
{
    const struct weir_hold *hold =
        task->first_hold != WEIR_NONE ? weir_world_hold(world, task->first_hold) : NULL;
    const struct weir_device *device = hold != NULL ? weir_world_device(world, hold->device) : NULL;
    struct weir_mps_facts facts;

    if (device == NULL || device->mps != WEIR_MPS_ON ||
        (hold->part_mgpu >= WEIR_MGPU_PER_GPU && hold->memory_bytes == 0))
        return true;
    l->server->mps.look(l->server->mps.ctx, weir_world_string(world, device->uuid), &facts);
    return put_env(env, l->arena, WEIR_STR("CUDA_MPS_PIPE_DIRECTORY"), facts.pipe_dir) &&
           put_env(env, l->arena, WEIR_STR("CUDA_MPS_LOG_DIRECTORY"), facts.log_dir) &&
           put_limits(env, l->arena, world, task, hold);
}

static const char *const *make_env(const struct launching *l, const struct weir_tree *spec,
                                   const struct weir_workload_record *record,
                                   const struct weir_cluster_ref *ref)
{
    const struct weir_world *world = weir_edit_view(l->server->edit);
    const struct weir_task *task = weir_world_task(world, l->task);
    const struct weir_tree *given = weir_tree_get(spec, "env");
    struct env env = {0};
    char marker[WEIR_CLUSTER_MARKER_MAX];

    env.entries = weir_arena_new_n(l->arena, const char *,
                                   (given != NULL ? given->n_children : 0) + N_WEIRS_OWN + 1);
    if (env.entries == NULL)
        return NULL;
    for (const struct weir_tree *e = given != NULL ? given->first : NULL; e != NULL; e = e->next)
        if (!is_weirs_own(e->key) && !put_env(&env, l->arena, e->key, e->text))
            return NULL;
    weir_cluster_marker(ref->serial, ref->nonce, marker);
    if (!put_identity(&env, l->arena, world, task, record) ||
        !put_devices(&env, l->arena, world, task) || !put_mps(&env, l, world, task) ||
        !put_entry(&env, weir_str_dup(weir_str(marker), l->arena)))
        return NULL;
    return env.entries;
}

static const char *const *make_argv(const struct weir_tree *command, struct weir_arena *arena)
{
    const char **argv = weir_arena_new_n(arena, const char *, command->n_children + 1u);
    size_t n = 0;

    if (argv == NULL)
        return NULL;
    weir_tree_foreach (word, command) {
        argv[n] = weir_str_dup(word->text, arena);
        if (argv[n++] == NULL)
            return NULL;
    }
    return argv;
}

static int64_t bytes_of(const struct weir_tree *spec, const char *name, int64_t otherwise)
{
    const struct weir_tree *node = weir_tree_get(spec, name);
    int64_t value;

    if (node == NULL || weir_quantity_bytes(node->text, &value, NULL) < 0)
        return otherwise;
    return value;
}

static int64_t run_limit(const struct weir_world *world, const struct weir_workload *w)
{
    int64_t limit = weir_world_run_limit_ms(world, w->queue);

    return w->runtime.limit_ms < limit ? w->runtime.limit_ms : limit;
}

static int launch_record(void *arg, const struct weir_workload_record *record)
{
    struct launching *l = arg;
    struct weir_server *server = l->server;
    const struct weir_world *world = weir_edit_view(server->edit);
    const struct weir_task *task = weir_world_task(world, l->task);
    const struct weir_workload *w = weir_world_workload(world, task->workload);
    const struct weir_server_attempt *attempt = weir_server_attempt_of(server, l->task);
    const struct weir_tree *cwd;
    const struct weir_tree *umask_node;
    struct weir_tree *spec;
    struct weir_cluster_launch launch;
    int64_t umask_value = 022;
    int r = weir_json_read(record->spec, NULL, l->arena, &spec, l->err);

    if (r < 0)
        return weir_error_wrap(l->err, "read the stored spec of workload %llu",
                               (unsigned long long)record->number);
    cwd = weir_tree_get(spec, "cwd");
    umask_node = weir_tree_get(spec, "umask");
    if (umask_node != NULL && weir_tree_i64(umask_node, 0, 0777, &umask_value, l->err) < 0)
        return weir_error_code(l->err);
    launch = (struct weir_cluster_launch){
        .ref = attempt->ref,
        .number = record->number,
        .member = task->member,
        .attempt = task->attempt,
        .argv = make_argv(weir_tree_get(spec, "command"), l->arena),
        .envp = make_env(l, spec, record, &attempt->ref),
        .cwd = cwd != NULL ? weir_str_dup(cwd->text, l->arena) : "/",
        .umask = (uint32_t)umask_value,
        .switch_user = server->uid == 0 && record->uid != 0,
        .uid = record->uid,
        .gid = record->gid,
        .time_limit_ms = run_limit(world, w),
        .stop_grace_ms = weir_fate_stop_grace(&server->policy, w),
        .output_max_bytes = bytes_of(spec, "outputMax", server->output_max_bytes),
        .memory_max_bytes = bytes_of(spec, "memory", 0),
    };
    if (launch.argv == NULL || launch.envp == NULL || launch.cwd == NULL)
        return weir_error(l->err, WEIR_E_NO_MEMORY, "no memory to start workload %llu",
                          (unsigned long long)record->number);
    return server->cluster.launch(server->cluster.ctx, &launch, l->err);
}

int weir_server_launch(struct weir_server *server, uint32_t task, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_world *world = weir_edit_view(server->edit);
    struct launching launching = {server, task, &arena, err};
    uint64_t number = weir_world_workload(world, weir_world_task(world, task)->workload)->number;

    return server->store.get_workload(server->store.ctx, number, launch_record, &launching, err);
}
