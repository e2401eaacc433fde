#include "app/faults.h"
#include "app/known.h"
#include "app/server.h"
#include "base/bitset.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"

#include <string.h>

enum {
    SETTLE_MS = 5,
};

struct weir_server_attempt *weir_server_attempt_of(struct weir_server *server, uint32_t task)
{
    static const struct weir_server_attempt none;

    while (server->attempts.n <= task)
        if (weir_vec_push(&server->attempts, none) < 0)
            return NULL;
    return &server->attempts.items[task];
}

void weir_server_attempt_set(struct weir_server_attempt *attempt,
                             const struct weir_cluster_ref *ref)
{
    weir_mem_free(attempt->detail);
    *attempt = (struct weir_server_attempt){.ref = *ref};
}

/* ---- attempts ---- */

static bool has_failed(const struct weir_cluster_facts *facts)
{
    return facts->end == WEIR_END_EXITED && facts->exit_status != 0;
}

static int see_end(struct weir_server *server, uint32_t task, struct weir_server_attempt *attempt,
                   const struct weir_cluster_facts *facts, struct weir_err *err)
{
    struct weir_task *row = weir_edit_task(server->edit, task);
    const char *said = facts->detail[0] == '\0' && attempt->lost_mps && has_failed(facts)
                           ? "the MPS daemon of its GPU died while it ran"
                           : facts->detail;
    char *detail = said[0] != '\0' ? weir_mem_strdup(said) : NULL;
    char name[WEIR_SERVER_TASK_NAME_MAX];

    if (row == NULL || (detail == NULL && said[0] != '\0')) {
        weir_mem_free(detail);
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what was observed");
    }
    weir_mem_free(attempt->detail);
    attempt->detail = detail;
    weir_server_vacate(server, task, facts->pid);
    row->ended = facts->end;
    /* It was seen running: then its record is gone, and nobody knows what became of it. */
    if (facts->end == WEIR_END_NOT_STARTED && row->state == WEIR_TASK_RUNNING)
        row->ended = WEIR_END_LOST;
    row->exit_status = facts->exit_status;
    row->ended_wall_ms = facts->ended_wall_ms;
    server->has_news = true;
    if (said[0] != '\0') {
        WEIR_LOG_FIELD(field, "subject",
                       weir_server_task_name(weir_edit_view(server->edit), task, name));
        weir_log_warn("attempt.failed", "%s", said);
    }
    return 0;
}

int weir_server_see(struct weir_server *server, uint32_t task,
                    const struct weir_cluster_facts *facts, struct weir_err *err)
{
    const struct weir_task *row = weir_world_task(weir_edit_view(server->edit), task);
    struct weir_server_attempt *attempt = weir_server_attempt_of(server, task);
    int r;

    if (!weir_task_state_holds(row->state) || row->ended != WEIR_END_NOT || attempt == NULL)
        return 0;
    if (facts->phase == WEIR_SEEN_ENDED)
        return see_end(server, task, attempt, facts, err);
    if (facts->phase != WEIR_SEEN_RUNNING)
        return 0;
    r = facts->pid != 0 ? weir_server_occupy(server, task, attempt, facts->pid, err) : 0;
    if (r < 0)
        return r;
    if (row->state == WEIR_TASK_STOPPING && attempt->is_asked_to_stop != row->stop_cause)
        weir_server_stop(server, task);
    if (row->state != WEIR_TASK_STARTING)
        return 0;
    server->has_news = true;
    if (weir_edit_task_state(server->edit, task, WEIR_TASK_RUNNING) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what was observed");
    return 0;
}

static int look_at(struct weir_server *server, uint32_t task, struct weir_err *err)
{
    const struct weir_server_attempt *attempt = weir_server_attempt_of(server, task);
    struct weir_cluster_facts facts = {0};
    char name[WEIR_SERVER_TASK_NAME_MAX];
    struct weir_err cannot = WEIR_ERR_INIT;

    if (attempt == NULL || attempt->ref.serial == 0)
        return 0;
    if (server->cluster.look(server->cluster.ctx, &attempt->ref, &facts, &cannot) < 0) {
        WEIR_LOG_FIELD(field, "subject",
                       weir_server_task_name(weir_edit_view(server->edit), task, name));
        weir_log_warn("attempt.look", "%s", cannot.text);
        return 0; /* it is looked at again */
    }
    return weir_server_see(server, task, &facts, err);
}

struct noticed {
    struct weir_server *server;
    struct weir_err *err;
    int result;
};

static void on_notice(void *arg, uint64_t serial)
{
    struct noticed *noticed = arg;
    uint64_t task;

    if (noticed->result == 0 &&
        weir_map_get(&noticed->server->by_serial, weir_server_serial_key(&serial), &task))
        noticed->result = look_at(noticed->server, (uint32_t)task, noticed->err);
}

int weir_server_observe_attempts(struct weir_server *server, bool all, struct weir_err *err)
{
    struct noticed noticed = {server, err, 0};
    const struct weir_table *tasks = &weir_edit_view(server->edit)->tables[WEIR_TABLE_TASKS];
    int r = server->cluster.notices(server->cluster.ctx, on_notice, &noticed, err);

    if (r == 0)
        r = noticed.result;
    for (uint32_t t = weir_table_next(tasks, 0); all && r == 0 && t != WEIR_NONE;
         t = weir_table_next(tasks, t + 1)) {
        const struct weir_task *row = weir_table_row(tasks, t);

        if (weir_task_state_holds(row->state))
            r = look_at(server, t, err);
    }
    return r;
}

static void ignore_notice(void *arg, uint64_t serial)
{
    (void)arg;
    (void)serial;
}

void weir_server_take_notices(struct weir_server *server, bool is_watched)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r;

    if (server->edit == NULL) { /* the load to come looks at every attempt */
        server->cluster.notices(server->cluster.ctx, ignore_notice, NULL, &err);
        return;
    }
    r = weir_server_observe_attempts(server, false, &err);
    if (r < 0)
        weir_server_fail(server, r, &err);
    if (!server->has_news)
        return;
    if (is_watched || server->plan.n_verdicts > 0)
        server->dirty = true;
    else if (server->settle_mono_ms == 0)
        server->settle_mono_ms = server->clock.now(server->clock.ctx).mono_ms + SETTLE_MS;
}

/* ---- devices ---- */

/* One that fails may tell its name and not what it is: then it is known, and serves nobody. */
static bool is_told(const struct weir_gpu_device *seen)
{
    return seen->state == WEIR_GPU_READY || seen->memory_total_bytes > 0;
}

static bool was_told(const struct weir_world *world, uint32_t index)
{
    struct weir_str class =
        weir_world_gpu_class_name(world, weir_world_device(world, index)->gpu_class);

    return !weir_str_eq_c(class, WEIR_SERVER_CLASS_UNKNOWN);
}

static int intern_cause(struct weir_server *server, struct weir_str cause, uint32_t *ret,
                        struct weir_err *err)
{
    int r = cause.len > 0 ? weir_edit_string(server->edit, weir_str_cut(cause, 128), ret) : 0;

    if (cause.len == 0)
        *ret = WEIR_NONE;
    return r < 0 ? weir_error(err, r, "no room for what a GPU suffers from") : 0;
}

static int intern_device(struct weir_server *server, const struct weir_gpu_device *seen,
                         struct weir_device *device, struct weir_err *err)
{
    int r = weir_edit_string(server->edit, weir_str_sub(seen->uuid, 0, 128), &device->uuid);

    if (r == 0)
        r = weir_edit_string(server->edit, weir_str_sub(seen->name, 0, 128), &device->model);
    if (r == 0)
        r = weir_edit_gpu_class(server->edit,
                                is_told(seen) ? seen->class : WEIR_STR(WEIR_SERVER_CLASS_UNKNOWN),
                                &device->gpu_class);
    if (r < 0)
        return weir_error(err, r, "cannot take in GPU '%.*s'", WEIR_STR_ARG(seen->uuid));
    return 0;
}

static int node_of(struct weir_server *server, struct weir_str name, uint32_t *ret_node,
                   struct weir_err *err)
{
    struct weir_key key = weir_key_of_node(name);
    struct weir_node like = weir_node_blank();
    int r;

    *ret_node = weir_edit_find(server->edit, WEIR_TABLE_NODES, &key);
    if (*ret_node != WEIR_NONE)
        return 0;
    r = weir_edit_string(server->edit, weir_str_sub(name, 0, 128), &like.name);
    if (r < 0)
        return weir_error(err, r, "cannot take in node '%.*s'", WEIR_STR_ARG(name));
    like.phase = WEIR_NODE_READY;
    like.rank = weir_edit_view(server->edit)->tables[WEIR_TABLE_NODES].n_rows;
    like.topology[WEIR_TOPOLOGY_HOST] = like.name;
    memcpy(like.boot_id, server->boot_id, sizeof(like.boot_id));
    like.capacity.of[WEIR_RES_CPU] = (int64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    like.capacity.of[WEIR_RES_MEMORY] = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    r = weir_edit_add_node(server->edit, &key, &like, ret_node);
    return r < 0 ? weir_error(err, r, "cannot take in node '%.*s'", WEIR_STR_ARG(name)) : 0;
}

static int take_cordon(void *arg, const struct weir_cordon_record *record)
{
    struct weir_server_cordon *cordon = arg;

    cordon->phase = record->phase;
    return weir_edit_string(cordon->edit, record->cause, &cordon->cause);
}

int weir_server_find_cordon(struct weir_server *server, uint32_t kind, struct weir_str name,
                            struct weir_server_cordon *ret, struct weir_err *err)
{
    struct weir_server_cordon cordon = {server->edit, WEIR_NODE_READY, WEIR_NONE};
    int r = server->store.find_cordon(server->store.ctx, kind, name, take_cordon, &cordon, err);

    if (r == WEIR_E_NO_MEMORY)
        return weir_error(err, r, "no memory for a cordon");
    if (r == 0)
        *ret = cordon;
    return r;
}

static int put_back_node(struct weir_server *server, uint32_t index, struct weir_str name,
                         struct weir_err *err)
{
    struct weir_server_cordon cordon;
    struct weir_node *node;
    int r = weir_server_find_cordon(server, WEIR_SUBJECT_NODE, name, &cordon, err);

    if (r < 0)
        return r;
    node = weir_edit_node(server->edit, index);
    if (node == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a node");
    node->phase = cordon.phase;
    node->phase_cause = cordon.cause;
    return 0;
}

/* The node of a device that is listed: made where it is new, in use again where it was gone. */
static int take_in_node(struct weir_server *server, struct weir_str name, uint32_t *ret_node,
                        struct weir_err *err)
{
    uint32_t n_before = weir_edit_view(server->edit)->tables[WEIR_TABLE_NODES].n_live;
    int r = node_of(server, name, ret_node, err);

    if (r < 0)
        return r;
    if (weir_edit_view(server->edit)->tables[WEIR_TABLE_NODES].n_live == n_before &&
        weir_world_node(weir_edit_view(server->edit), *ret_node)->phase != WEIR_NODE_GONE)
        return 0;
    return put_back_node(server, *ret_node, name, err);
}

/* Everything the driver tells of a device. */
static int fill_device(struct weir_server *server, const struct weir_gpu_device *seen,
                       struct weir_device *device, struct weir_err *err)
{
    struct weir_server_cordon cordon;
    enum weir_device_health health;
    struct weir_str cause;
    int r = intern_device(server, seen, device, err);

    if (r == 0)
        r = weir_server_find_cordon(server, WEIR_SUBJECT_DEVICE, seen->uuid, &cordon, err);
    if (r == 0)
        r = weir_server_faults_of(server, seen, &health, &cause, err);
    if (r == 0)
        r = intern_cause(server, cause, &device->health_cause, err);
    if (r < 0)
        return r;
    device->index = seen->index;
    device->health = health;
    device->cordoned = cordon.phase != WEIR_NODE_READY;
    device->memory_bytes = seen->memory_total_bytes - seen->memory_reserved_bytes;
    device->can_mps = weir_server_can_mps(server, seen);
    device->max_sharers = weir_server_sharers_of(seen, device);
    if (device->max_sharers < device->n_sharers)
        device->max_sharers = device->n_sharers;
    device->isolation = WEIR_ISOLATION_NONE; /* turns are taken on it, nothing is walled off */
    return 0;
}

static int add_capacity(struct weir_server *server, uint32_t node_index, uint32_t gpu_class,
                        struct weir_err *err)
{
    struct weir_node *node = weir_edit_node(server->edit, node_index);

    if (node == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU");
    node->capacity.of[WEIR_RES_GPU] += WEIR_MGPU_PER_GPU;
    node->capacity.of[gpu_class] += WEIR_MGPU_PER_GPU;
    server->dirty = true;
    return 0;
}

static struct weir_str node_name_of(const struct weir_server *server, uint32_t node)
{
    const struct weir_world *state = weir_edit_view(server->edit);

    return weir_world_string(state, weir_world_node(state, node)->name);
}

static int add_device(struct weir_server *server, const struct weir_key *key,
                      const struct weir_gpu_device *seen, struct weir_err *err)
{
    struct weir_str name = seen->node.len > 0 ? seen->node : weir_str(server->node_name);
    struct weir_device like = weir_device_blank();
    uint32_t index;
    int r = fill_device(server, seen, &like, err);

    if (r == 0)
        r = take_in_node(server, name, &like.node, err);
    if (r < 0)
        return r;
    if (weir_edit_add_device(server->edit, key, &like, &index) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU");
    server->dirty = true;
    return is_told(seen) ? add_capacity(server, like.node, like.gpu_class, err) : 0;
}

/* One that was known by its name only: as the holder of a running task (load.c), or because it
 * failed when it was first seen. */
static int put_back_device(struct weir_server *server, uint32_t index,
                           const struct weir_gpu_device *seen, struct weir_err *err)
{
    struct weir_device *device = weir_edit_device(server->edit, index);
    uint32_t node;
    int r;

    if (device == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU");
    r = fill_device(server, seen, device, err);
    if (r == 0)
        r = take_in_node(server, node_name_of(server, device->node), &node, err);
    return r < 0 ? r : add_capacity(server, device->node, device->gpu_class, err);
}

static void log_health(const struct weir_server *server, const struct weir_device *row,
                       uint32_t before, struct weir_str cause)
{
    struct weir_str uuid = weir_world_string(weir_edit_view(server->edit), row->uuid);

    if (row->health == WEIR_DEVICE_LOST)
        weir_log_warn("gpu.lost", "%.*s does not answer: %.*s", WEIR_STR_ARG(uuid),
                      WEIR_STR_ARG(cause));
    else if (before == WEIR_DEVICE_LOST && row->health != WEIR_DEVICE_UNHEALTHY)
        weir_log_info("gpu.back", "%.*s answers again", WEIR_STR_ARG(uuid));
}

static int set_health(struct weir_server *server, uint32_t index, enum weir_device_health health,
                      struct weir_str cause, struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_device *row;
    uint32_t before;
    uint32_t why;
    int r;

    r = intern_cause(server, cause, &why, err);
    if (r < 0)
        return r;
    if (weir_world_device(world, index)->health == health &&
        weir_world_device(world, index)->health_cause == why)
        return 0;
    row = weir_edit_device(server->edit, index);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU's health");
    before = row->health;
    row->health = health;
    row->health_cause = why;
    server->dirty = true;
    log_health(server, row, before, cause);
    return 0;
}

/* As the driver shows it, and as what is known of faults has it. */
static int update_health(struct weir_server *server, uint32_t index,
                         const struct weir_gpu_device *seen, struct weir_err *err)
{
    enum weir_device_health health;
    struct weir_str cause;
    int r = weir_server_faults_of(server, seen, &health, &cause, err);

    return r < 0 ? r : set_health(server, index, health, cause, err);
}

/* What may be another number each time it is read is not followed. */
static bool is_other_memory(const struct weir_device *row, int64_t bytes)
{
    int64_t step = row->memory_bytes / 64;

    return bytes > 0 && bytes >= row->held_memory_bytes &&
           (bytes < row->memory_bytes - step || bytes > row->memory_bytes + step);
}

/* What could not be read at first, or is not as it was: after a reload GPUs are counted anew. */
static int update_facts(struct weir_server *server, uint32_t index,
                        const struct weir_gpu_device *seen, struct weir_err *err)
{
    const struct weir_device *known = weir_world_device(weir_edit_view(server->edit), index);
    int64_t bytes = seen->memory_total_bytes - seen->memory_reserved_bytes;
    struct weir_device *row;

    if (known->index == seen->index && !is_other_memory(known, bytes))
        return 0;
    row = weir_edit_device(server->edit, index);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU");
    row->index = seen->index;
    if (is_other_memory(row, bytes))
        row->memory_bytes = bytes;
    server->dirty = true;
    return 0;
}

static int update_device(struct weir_server *server, uint32_t index,
                         const struct weir_gpu_device *seen, struct weir_err *err)
{
    int r = update_facts(server, index, seen, err);

    return r < 0 ? r : update_health(server, index, seen, err);
}

/* How it is shared now. Those who share it go on. */
static int set_sharers(struct weir_server *server, uint32_t index,
                       const struct weir_gpu_device *seen, struct weir_err *err)
{
    const struct weir_device *known = weir_world_device(weir_edit_view(server->edit), index);
    bool is_ready = seen->state == WEIR_GPU_READY;
    struct weir_device *row;
    uint32_t n;
    int r = weir_server_see_mps(server, index,
                                is_ready ? weir_server_can_mps(server, seen) : known->can_mps, err);

    if (r < 0)
        return r;
    known = weir_world_device(weir_edit_view(server->edit), index);
    n = weir_server_sharers_of(seen, known);
    n = n > known->n_sharers ? n : known->n_sharers;
    if (!is_ready || known->max_sharers == n)
        return 0;
    row = weir_edit_device(server->edit, index);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for how a GPU is shared");
    row->max_sharers = n;
    server->dirty = true;
    return 0;
}

static int lose_missing(struct weir_server *server, uint32_t index, struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    const struct weir_device *device = weir_world_device(world, index);
    struct weir_str uuid = weir_world_string(world, device->uuid);
    const struct weir_server_mark *mark = weir_server_faults_mark(server, uuid);
    int r = 0;

    if (mark != NULL && !weir_selftest_is_due(mark))
        return set_health(server, index, WEIR_DEVICE_UNHEALTHY, weir_str(mark->cause), err);
    /* One that was never seen here is known as the holder of a task only. */
    if (device->health != WEIR_DEVICE_LOST && server->faults != NULL && mark == NULL)
        r = weir_selftest_require(server, uuid, "the driver lists it again", err);
    return r < 0 ? r
                 : set_health(server, index, WEIR_DEVICE_LOST,
                              WEIR_STR("the driver does not list it"), err);
}

/* Devices that the driver no longer lists do not answer: they keep their holders. */
static int mark_missing(struct weir_server *server, const struct weir_bitset *seen,
                        struct weir_err *err)
{
    const struct weir_table *devices = &weir_edit_view(server->edit)->tables[WEIR_TABLE_DEVICES];
    int r = 0;

    for (uint32_t i = weir_table_next(devices, 0); r == 0 && i != WEIR_NONE;
         i = weir_table_next(devices, i + 1))
        if (!weir_bitset_has(seen, i))
            r = lose_missing(server, i, err);
    return r;
}

static int take_in_devices(struct weir_server *server, const struct weir_gpu_device *devices,
                           uint32_t n, struct weir_arena *arena, struct weir_err *err)
{
    struct weir_bitset known;
    uint32_t n_rows = weir_edit_view(server->edit)->tables[WEIR_TABLE_DEVICES].n_rows;
    int r = 0;

    for (uint32_t i = 0; i < n; i++)
        n_rows += 1 + devices[i].n_instances + WEIR_DEVICE_SLOTS_MAX;
    if (weir_bitset_init(&known, n_rows, arena) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the devices");
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct weir_key key = weir_key_of_device(devices[i].uuid);
        uint32_t index = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);

        if (index == WEIR_NONE)
            r = add_device(server, &key, &devices[i], err);
        else if (!was_told(weir_edit_view(server->edit), index) && is_told(&devices[i]))
            r = put_back_device(server, index, &devices[i], err);
        else
            r = update_device(server, index, &devices[i], err);
        index = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
        if (r == 0 && index != WEIR_NONE)
            r = set_sharers(server, index, &devices[i], err);
        if (index != WEIR_NONE)
            weir_bitset_add(&known, index);
        if (r == 0)
            r = weir_server_observe_mig(server, index, &devices[i], &known, err);
    }
    if (r == 0)
        r = weir_server_drop_instances(server, &known, err);
    return r < 0 ? r : mark_missing(server, &known, err);
}

static int observe_devices(struct weir_server *server, bool *ret_is_half_made, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices;
    uint32_t n;
    int r = weir_known_list(server, &arena, &devices, &n, err);

    *ret_is_half_made = false;
    if (r < 0)
        return r;
    r = take_in_devices(server, devices, n, &arena, err);
    if (r == 0 && server->faults != NULL) /* else the state is being built, outside a transaction */
        r = weir_known_note(server, devices, n, err);
    /* Too many names, or too long ones, are refused before anything is changed. */
    *ret_is_half_made = r < 0 && r != WEIR_E_TOO_LARGE;
    return r;
}

static void on_mig_result(void *arg, const struct weir_gpu_mig_result *result)
{
    weir_server_reshaped(arg, result);
}

static void on_gpu_event(void *arg, const struct weir_gpu_event *event)
{
    struct weir_server *server = arg;
    struct weir_err err = WEIR_ERR_INIT;

    if (server->edit != NULL && weir_server_faults_note(server, event, &err) < 0)
        weir_log_error("gpu.event", "%s",
                       err.text); /* the transaction has failed: all is read anew */
    weir_log_debug("gpu.event", "%s: type 0x%llx, data %llu, GPU instance %d, compute instance %d",
                   event->uuid, (unsigned long long)event->type, (unsigned long long)event->data,
                   event->gpu_instance, event->compute_instance);
}

bool weir_server_collect_gpus(struct weir_server *server)
{
    const struct weir_gpu_sink sink = {.event = on_gpu_event, .mig = on_mig_result, .arg = server};

    return server->gpu.collect != NULL && server->gpu.collect(server->gpu.ctx, &sink);
}

int weir_server_observe_faults(struct weir_server *server, struct weir_err *err)
{
    bool is_half_made;
    int r = weir_server_faults_read(server, err);

    if (r == 0)
        r = weir_server_faults_judge(server, err);
    if (r == 0)
        r = weir_selftest_step(server, err);
    if (r < 0 || server->faults == NULL || !server->faults->is_changed)
        return r;
    server->faults->is_changed = false;
    r = observe_devices(server, &is_half_made, err);
    /* A driver that is away tells nothing new; what was half made is the tick's to give up. */
    return r < 0 && !is_half_made ? 0 : r;
}

int weir_server_observe_devices(struct weir_server *server, struct weir_err *err)
{
    bool is_half_made;

    return observe_devices(server, &is_half_made, err);
}

void weir_server_look(struct weir_server *server, bool devices_too)
{
    struct weir_err err = WEIR_ERR_INIT;
    bool is_half_made = false;
    int r = weir_server_observe_attempts(server, true, &err);

    if (r < 0) {
        weir_log_warn("attempts.look", "%s", err.text);
        is_half_made = r == WEIR_E_NO_MEMORY; /* else the notices could not be read */
    } else if (devices_too && (r = observe_devices(server, &is_half_made, &err)) < 0) {
        weir_log_warn("gpus.list", "%s", err.text);
    }
    if (is_half_made)
        weir_server_fail(server, r, &err);
    else if (weir_server_faults_read(server, &err) < 0)
        weir_log_warn("faults.look", "%s", err.text); /* the transaction has failed by then */
    server->dirty |= server->has_news || weir_selftest_wants_tick(server);
}
