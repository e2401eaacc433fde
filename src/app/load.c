/* Builds the state from what is: devices, queues, live workloads, their tasks, cordons. */
#include "app/faults.h"
#include "app/known.h"
#include "app/resource.h"
#include "app/server.h"
#include "app/setup.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tree.h"
#include "fmt/json.h"

/* A task that makes room for a workload, which may come after its own. */
struct promise {
    uint32_t task;
    uint64_t for_whom; /* number */
};

struct loading {
    struct weir_server *server;
    struct weir_err *err;
    bool parents; /* second pass over the queues */
    struct promises weir_vec(struct promise) promises;
};

void weir_server_unload(struct weir_server *server)
{
    weir_server_faults_unload(server);
    weir_setups_unload(server);
    weir_known_unload(server);
    weir_world_unref(server->plan_world);
    weir_world_unref(server->world);
    server->plan_world = NULL;
    server->world = NULL;
    server->plan = (struct weir_plan){0};
    server->edit = weir_edit_destroy(server->edit);
    weir_vec_foreach (attempt, &server->attempts)
        weir_mem_free(attempt->detail);
    weir_vec_finish(&server->attempts);
    weir_map_finish(&server->by_serial);
    weir_server_forget_gpus(server);
}

/* ---- queues ---- */

static int load_queue(void *arg, const struct weir_queue_record *record)
{
    struct loading *loading = arg;
    struct weir_edit *edit = loading->server->edit;
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *spec;
    struct weir_queue queue;
    struct weir_str parent;
    struct weir_key key = weir_key_of_queue(record->name);
    uint32_t above;
    uint32_t index;
    int r = weir_json_read(record->spec, NULL, &arena, &spec, loading->err);

    if (r < 0)
        return weir_error_wrap(loading->err, "stored queue '%.*s'", WEIR_STR_ARG(record->name));
    if (loading->parents) {
        parent = weir_resource_queue_parent(spec);
        if (parent.len == 0)
            return 0;
        above = weir_edit_find_queue(edit, parent);
        r = above == WEIR_NONE
                ? WEIR_E_CORRUPT
                : weir_edit_move_queue(edit, weir_edit_find_queue(edit, record->name), above);
        return r < 0 ? weir_error(loading->err, r, "stored queue '%.*s' cannot be below '%.*s'",
                                  WEIR_STR_ARG(record->name), WEIR_STR_ARG(parent))
                     : 0;
    }
    r = weir_resource_queue(spec, WEIR_RESOURCE_STORED, edit, &queue, loading->err);
    if (r < 0)
        return weir_error_wrap(loading->err, "stored queue '%.*s'", WEIR_STR_ARG(record->name));
    queue.created_wall_ms = record->created_wall_ms;
    r = weir_edit_string(edit, record->name, &queue.name);
    if (r == 0)
        r = weir_edit_add_queue(edit, &key, &queue, &index);
    return r < 0 ? weir_error(loading->err, r, "cannot take in queue '%.*s'",
                              WEIR_STR_ARG(record->name))
                 : 0;
}

/* ---- tasks ---- */

/* A device that holds a running task but that the driver does not list: known, and not answering.
 */
static int add_lost_device(struct weir_server *server, const struct weir_key *key,
                           struct weir_str uuid, uint32_t node, uint32_t *ret_index,
                           struct weir_err *err)
{
    struct weir_device like = weir_device_blank();
    struct weir_server_cordon cordon;
    int r = weir_server_find_cordon(server, WEIR_SUBJECT_DEVICE, uuid, &cordon, err);

    if (r == 0)
        r = weir_edit_string(server->edit, uuid, &like.uuid);
    like.cordoned = r == 0 && cordon.phase != WEIR_NODE_READY;
    if (r == 0 && weir_str_starts_with(uuid, WEIR_STR("MIG-"))) { /* of which GPU is not known */
        like.kind = WEIR_DEVICE_MIG;
        r = weir_edit_mig_profile(server->edit, WEIR_STR(WEIR_SERVER_CLASS_UNKNOWN),
                                  &like.mig_profile);
    }
    like.node = node;
    like.index = WEIR_NONE;
    like.health = WEIR_DEVICE_LOST;
    like.max_sharers = UINT32_MAX; /* it is not known how many it had, and nobody comes to them */
    like.isolation = WEIR_ISOLATION_NONE;
    if (r == 0)
        r = weir_edit_string(server->edit, WEIR_STR("unknown"), &like.model);
    if (r == 0)
        r = weir_edit_gpu_class(server->edit, WEIR_STR(WEIR_SERVER_CLASS_UNKNOWN), &like.gpu_class);
    return r < 0 ? r : weir_edit_add_device(server->edit, key, &like, ret_index);
}

/* A node the driver no longer shows, because something still runs on it. It is gone, whether or not
 * it was cordoned: that shows when it comes back. */
static int add_gone_node(struct weir_server *server, struct weir_str name, uint32_t *ret_index)
{
    struct weir_node like = weir_node_blank();
    struct weir_key key = weir_key_of_node(name);
    int r = weir_edit_string(server->edit, name, &like.name);

    like.phase = WEIR_NODE_GONE;
    return r < 0 ? r : weir_edit_add_node(server->edit, &key, &like, ret_index);
}

/* One "KEY:mgpu:bytes:slots". */
static int parse_grant(struct weir_server *server, struct weir_str text, uint32_t node,
                       struct weir_grant *ret_grant, struct weir_err *err)
{
    struct weir_str part[4] = {{0}};
    struct weir_key key;
    int64_t slots;

    *ret_grant = (struct weir_grant){0};
    for (int i = 0; i < 4; i++)
        if (!weir_str_split(&text, ':', &part[i]))
            return WEIR_E_CORRUPT;
    if (!weir_str_to_i64(part[1], &ret_grant->part_mgpu) ||
        !weir_str_to_i64(part[2], &ret_grant->memory_bytes) || !weir_str_to_i64(part[3], &slots))
        return WEIR_E_CORRUPT;
    ret_grant->slots = (uint16_t)slots;
    key = weir_key_of_device(part[0]);
    ret_grant->device = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
    if (ret_grant->device != WEIR_NONE)
        return 0;
    return add_lost_device(server, &key, part[0], node, &ret_grant->device, err);
}

static int restore_holds(struct weir_server *server, uint32_t task,
                         const struct weir_task_record *record, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_str rest = record->grants;
    struct weir_str text;
    struct weir_grant *grants;
    uint32_t n = 0;
    uint32_t n_max = 1;
    uint32_t node = weir_edit_find_node(server->edit, record->node);

    for (size_t i = 0; i < rest.len; i++)
        n_max += rest.ptr[i] == ',';
    grants = weir_arena_new_n(&arena, struct weir_grant, n_max);
    if (grants == NULL || (node == WEIR_NONE && add_gone_node(server, record->node, &node) < 0))
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a running task");
    while (rest.len > 0 && weir_str_split(&rest, ',', &text)) {
        int r = parse_grant(server, text, node, &grants[n++], err);

        if (r < 0)
            return weir_error(err, r, "stored devices of workload %llu cannot be read",
                              (unsigned long long)record->number);
    }
    if (weir_edit_task_start(server->edit, task, node, grants, n, record->started_wall_ms,
                             record->started_mono_ms) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a running task");
    return 0;
}

/* Between commit and launch lies an instant: an attempt that never began is kept from beginning
 * now. */
static int restore_attempt(struct weir_server *server, uint32_t task,
                           const struct weir_task_record *record, struct weir_err *err)
{
    struct weir_server_attempt *attempt = weir_server_attempt_of(server, task);
    struct weir_cluster_ref ref = {record->serial, record->nonce, record->slot};
    struct weir_cluster_facts facts = {0};
    struct weir_err cannot = WEIR_ERR_INIT;
    int r;

    if (attempt == NULL ||
        weir_map_set(&server->by_serial, weir_server_serial_key(&ref.serial), task) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an attempt");
    weir_server_attempt_set(attempt, &ref);
    r = server->cluster.adopt(server->cluster.ctx, &ref, err);
    if (r < 0)
        return r;
    /* What cannot be told now is asked again with every look: it stays in doubt until then. */
    if (server->cluster.settle(server->cluster.ctx, &ref, &facts, &cannot) < 0)
        weir_log_warn("attempt.settle", "workload %llu, member %u: %s",
                      (unsigned long long)record->number, record->member, cannot.text);
    return 0; /* the first tick looks at every attempt */
}

/* Why the last attempt of what waits again had to leave. */
static int restore_detail(struct weir_server *server, uint32_t task,
                          const struct weir_task_record *record, struct weir_err *err)
{
    struct weir_server_attempt *attempt;
    char *detail;

    if (record->detail.len == 0 || !weir_cause_requeues(record->cause))
        return 0;
    attempt = weir_server_attempt_of(server, task);
    detail = attempt != NULL ? weir_mem_strndup(record->detail.ptr, record->detail.len) : NULL;
    if (detail == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for why an attempt left");
    attempt->detail = detail;
    return 0;
}

struct task_loading {
    struct loading *all;
    struct weir_server *server;
    struct weir_err *err;
    uint32_t next_task; /* members come in order: so do the tasks */
};

/* It held devices, and may do so still. */
static int load_holding(struct task_loading *loading, uint32_t task, struct weir_task *row,
                        const struct weir_task_record *record)
{
    struct weir_server *server = loading->server;
    struct promise promise = {task, record->for_whom};
    int r;

    row->attempt--; /* starting counts it again */
    r = restore_holds(server, task, record, loading->err);
    if (r == 0 && record->state != WEIR_TASK_STARTING &&
        weir_edit_task_state(server->edit, task, (enum weir_task_state)record->state) < 0)
        r = weir_error(loading->err, WEIR_E_NO_MEMORY, "no memory for a task");
    row->stop_cause = record->stop_cause;
    row->cause = record->cause;
    if (r == 0 && promise.for_whom != 0 && weir_vec_push(&loading->all->promises, promise) < 0)
        r = weir_error(loading->err, WEIR_E_NO_MEMORY, "no memory for a task");
    return r < 0 ? r : restore_attempt(server, task, record, loading->err);
}

static int load_task(void *arg, const struct weir_task_record *record)
{
    struct task_loading *loading = arg;
    struct weir_server *server = loading->server;
    const struct weir_world *state = weir_edit_view(server->edit);
    struct weir_task *row;
    uint32_t task;

    while (loading->next_task != WEIR_NONE &&
           weir_world_task(state, loading->next_task)->member < record->member)
        loading->next_task = weir_world_task(state, loading->next_task)->next_in_workload;
    task = loading->next_task;
    if (task == WEIR_NONE || weir_world_task(state, task)->member != record->member ||
        record->state >= WEIR_TASK_STATE_MAX)
        return weir_error(loading->err, WEIR_E_CORRUPT,
                          "stored task %u of workload %llu is none of its", record->member,
                          (unsigned long long)record->number);
    row = weir_edit_task(server->edit, task);
    if (row == NULL)
        return weir_error(loading->err, WEIR_E_NO_MEMORY, "no memory for a task");
    row->attempt = record->attempt;
    row->exit_status = record->exit_status;
    row->n_failures = record->n_failures;
    row->not_before_wall_ms = record->not_before_wall_ms;
    row->cause = record->cause;
    if (weir_task_state_holds(record->state))
        return load_holding(loading, task, row, record);
    if (record->state == WEIR_TASK_QUEUED) {
        row->ended_wall_ms = record->ended_wall_ms;
        return restore_detail(server, task, record, loading->err);
    }
    row->started_wall_ms = record->started_wall_ms;
    if (weir_edit_task_end(server->edit, task, (enum weir_task_state)record->state) < 0)
        return weir_error(loading->err, WEIR_E_NO_MEMORY, "no memory for a task");
    return 0;
}

/* ---- workloads ---- */

static int load_workload(void *arg, const struct weir_workload_record *record)
{
    struct loading *loading = arg;
    struct weir_server *server = loading->server;
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *spec;
    struct weir_resource_workload ask;
    struct task_loading tasks = {loading, server, loading->err, WEIR_NONE};
    struct weir_key key = weir_key_of_number(server->store.space, record->number);
    uint32_t index;
    int r = weir_json_read(record->spec, NULL, &arena, &spec, loading->err);

    if (r == 0)
        r = weir_resource_workload(spec, WEIR_RESOURCE_STORED, &server->policy, server->edit, &ask,
                                   loading->err);
    if (r < 0)
        return weir_error_wrap(loading->err, "stored workload %llu",
                               (unsigned long long)record->number);
    ask.workload.number = record->number;
    ask.workload.queue = weir_edit_find_queue(server->edit, record->queue);
    ask.workload.submitted_wall_ms = record->submitted_wall_ms;
    ask.workload.cancelled = record->cancelled;
    ask.workload.n_failures = record->n_failures;
    ask.workload.not_before_wall_ms = record->not_before_wall_ms;
    if (ask.workload.queue == WEIR_NONE)
        return weir_error(loading->err, WEIR_E_CORRUPT, "stored workload %llu is in no queue",
                          (unsigned long long)record->number);
    r = weir_edit_string(server->edit, record->owner, &ask.workload.owner);
    if (r == 0)
        r = weir_edit_shape(server->edit, &ask.shape, &ask.role.shape);
    if (r == 0)
        r = weir_edit_add_workload(server->edit, &key, &ask.workload, &ask.role, 1, &index);
    if (r < 0)
        return weir_error(loading->err, r, "cannot take in workload %llu",
                          (unsigned long long)record->number);
    tasks.next_task = weir_world_workload(weir_edit_view(server->edit), index)->first_task;
    return server->store.each_task(server->store.ctx, record->number, load_task, &tasks,
                                   loading->err);
}

/* Where the workload is there no more, nobody has a claim on the room. */
static int keep_promises(struct loading *loading)
{
    struct weir_edit *edit = loading->server->edit;

    weir_vec_foreach (promise, &loading->promises) {
        struct weir_key key = weir_key_of_number(loading->server->store.space, promise->for_whom);
        struct weir_task *row = weir_edit_task(edit, promise->task);

        if (row == NULL)
            return weir_error(loading->err, WEIR_E_NO_MEMORY, "no memory for a task");
        row->for_whom = weir_edit_find(edit, WEIR_TABLE_WORKLOADS, &key);
    }
    return 0;
}

static int load_all(struct weir_server *server, struct weir_err *err)
{
    struct weir_workload_filter live = {.state = -1};
    struct loading loading = {server, err, false, {0}};
    int r = weir_setups_load(server, err);

    if (r == 0)
        r = weir_known_load(server, err);
    if (r == 0)
        r = weir_server_observe_devices(server, err);
    if (r == 0)
        r = server->store.each_queue(server->store.ctx, load_queue, &loading, err);
    if (r == 0)
        r = weir_server_faults_load(server, err);
    loading.parents = true;
    if (r == 0)
        r = server->store.each_queue(server->store.ctx, load_queue, &loading, err);
    if (r == 0)
        r = server->store.each_workload(server->store.ctx, &live, true, load_workload, &loading,
                                        err);
    if (r == 0)
        r = keep_promises(&loading);
    weir_vec_finish(&loading.promises);
    if (r == 0)
        r = server->store.last_event(server->store.ctx, &server->last_seq, err);
    return r;
}

/* Nothing is given out before it is known what is on it. */
static int observe_use(struct weir_server *server, struct weir_err *err)
{
    struct weir_err cannot = WEIR_ERR_INIT;
    int r = weir_server_observe_use(server, &cannot);

    if (r == WEIR_E_NO_MEMORY)
        return weir_error_pass(err, &cannot);
    if (r < 0)
        weir_log_warn("gpus.use", "%s", cannot.text);
    return 0;
}

int weir_server_load(struct weir_server *server, struct weir_err *err)
{
    int r;

    weir_server_unload(server);
    server->cluster.forget(server->cluster.ctx);
    server->edit = weir_edit_create(server->boot_id);
    if (server->edit == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the state");
    r = load_all(server, err);
    if (r == 0)
        r = observe_use(server, err);
    if (r == 0) {
        server->world = weir_edit_seal(server->edit);
        if (server->world == NULL)
            r = weir_error(err, WEIR_E_NO_MEMORY, "no memory for the state");
    }
    if (r < 0) {
        weir_server_unload(server);
        return r;
    }
    weir_world_ref(server->world);
    server->plan_world = server->world;
    server->look_at_all = true;
    server->dirty = true;
    return 0;
}

int weir_server_first_run(struct weir_server *server, struct weir_err *err)
{
    struct weir_queue_record record = {WEIR_STR("default"), WEIR_STR("{}"),
                                       server->clock.now(server->clock.ctx).wall_ms};
    int r;

    if (weir_world_first(weir_edit_view(server->edit), WEIR_TABLE_QUEUES) != WEIR_NONE)
        return 0;
    r = server->store.begin(server->store.ctx, err);
    if (r < 0)
        return r;
    r = server->store.put_queue(server->store.ctx, &record, err);
    if (r < 0) {
        server->store.rollback(server->store.ctx);
        return r;
    }
    r = server->store.commit(server->store.ctx, true, err);
    return r < 0 ? r : weir_server_load(server, err);
}
