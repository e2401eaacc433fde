#include "api_fixture.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/units.h"
#include "fmt/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, ANSWER_BYTES_MAX = 512 * 1024 * 1024 };

const char *const api_admin_token = "admin-token-0123456789";
const char *const api_submit_token = "submit-token-0123456789";
const char *const api_read_token = "read-token-0123456789";

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "api fixture: %s failed (errno %d)\n", what, errno);
        abort();
    }
}

/* ---- the service ---- */

static void note_actor(struct api_fixture *f, const struct weir_actor *actor)
{
    static const char *const roles[] = {"read", "submit", "admin"};

    snprintf(f->asker, sizeof(f->asker), "%.*s %u %s", WEIR_STR_ARG(actor->user), actor->uid,
             roles[actor->role]);
}

static int take(struct api_fixture *f, struct weir_done done, uint64_t outcome,
                struct weir_err *err)
{
    struct api_done entry = {done, outcome};

    if (f->refuse != 0) {
        int code = f->refuse;

        f->refuse = 0;
        weir_error(err, code, "refused as told");
        weir_error_at(err, 3, 7);
        weir_error_field(err, "spec.gpus");
        return weir_error_hint(err, "tell it otherwise");
    }
    if (weir_vec_push(&f->dones, entry) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a done");
    return 0;
}

static void begin(struct api_fixture *f)
{
    if (!f->in_transaction)
        must(f->store.begin(f->store.ctx, NULL) == 0, "begin");
    f->in_transaction = true;
}

static const struct weir_world *fake_world(void *ctx)
{
    return ((struct api_fixture *)ctx)->world;
}

static const struct weir_world *fake_plan_world(void *ctx)
{
    return ((struct api_fixture *)ctx)->plan_world;
}

static const struct weir_plan *fake_plan(void *ctx)
{
    return &((struct api_fixture *)ctx)->plan;
}

static const struct weir_store *fake_store(void *ctx)
{
    return &((struct api_fixture *)ctx)->store;
}

static const struct weir_cluster *fake_cluster(void *ctx)
{
    return &((struct api_fixture *)ctx)->cluster;
}

static const struct weir_policy *fake_policy(void *ctx)
{
    return &((struct api_fixture *)ctx)->policy;
}

static struct weir_service_counters fake_counters(void *ctx)
{
    (void)ctx;
    return (struct weir_service_counters){17, 2};
}

static bool fake_is_ready(void *ctx)
{
    return ((struct api_fixture *)ctx)->is_ready;
}

struct weir_service_eta {
    int64_t p50;
    int64_t p90;
    uint32_t takes_ms;
};

static int fake_eta_begin(void *ctx, uint64_t number, struct weir_service_eta **ret_eta,
                          struct weir_err *err)
{
    const struct api_fixture *f = ctx;

    if (f->eta_p50 == 0)
        return weir_error(err, WEIR_E_NOT_FOUND, "workload %llu does not wait",
                          (unsigned long long)number);
    *ret_eta = weir_mem_alloc(sizeof(**ret_eta));
    if (*ret_eta == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a simulation");
    **ret_eta = (struct weir_service_eta){f->eta_p50, f->eta_p90, f->eta_takes_ms};
    return 0;
}

static int fake_eta_run(struct weir_service_eta *eta, int64_t *ret_p50, int64_t *ret_p90,
                        struct weir_err *err)
{
    usleep(1000 * eta->takes_ms); /* the loop goes on meanwhile */
    if (eta->p90 == 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "too large to simulate");
    *ret_p50 = eta->p50;
    *ret_p90 = eta->p90;
    return 0;
}

static void fake_eta_end(struct weir_service_eta *eta)
{
    weir_mem_free(eta);
}

static int fake_submit(void *ctx, const struct weir_actor *actor, const struct weir_tree *doc,
                       struct weir_str key, struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;
    const struct weir_tree *name = weir_tree_path(doc, "metadata.name");
    char text[128];
    uint64_t number = 0;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "submit key=%.*s", WEIR_STR_ARG(key));
    if (name == NULL)
        return weir_tree_error(doc, err, "no name");
    snprintf(text, sizeof(text), "%.*s", WEIR_STR_ARG(name->text));
    if (f->refuse == 0)
        number = api_add(f, text, "default", 1, false);
    return take(f, done, number, err);
}

static int fake_apply(void *ctx, const struct weir_actor *actor,
                      const struct weir_tree *const *docs, uint32_t n_docs, bool dry_run,
                      struct weir_arena *arena, struct weir_apply_result **ret_results,
                      struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;
    struct weir_apply_result *results = weir_arena_new_n(arena, struct weir_apply_result, n_docs);

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "apply %u%s", n_docs, dry_run ? " dry" : "");
    if (results == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for results");
    for (uint32_t i = 0; i < n_docs; i++) {
        const struct weir_tree *kind = weir_tree_get(docs[i], "kind");
        const struct weir_tree *name = weir_tree_path(docs[i], "metadata.name");

        if (kind == NULL || name == NULL)
            return weir_tree_error(docs[i], err, "not a resource");
        results[i] = (struct weir_apply_result){kind->text, name->text,
                                                weir_str_eq_c(kind->text, "Workload") ? 7 + i : 0,
                                                (enum weir_applied)(i % 3)};
    }
    *ret_results = results;
    return take(f, done, 0, err);
}

static int fake_delete_queue(void *ctx, const struct weir_actor *actor, struct weir_str name,
                             struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "delete %.*s", WEIR_STR_ARG(name));
    return take(f, done, 0, err);
}

static int fake_cancel(void *ctx, const struct weir_actor *actor, uint64_t number,
                       struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "cancel %llu", (unsigned long long)number);
    return take(f, done, number, err);
}

static int fake_signal(void *ctx, const struct weir_actor *actor, uint64_t number,
                       int signal_number, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "signal %llu %d", (unsigned long long)number,
             signal_number);
    if (f->refuse != 0)
        return weir_error(err, f->refuse, "refused as told");
    return 0;
}

static int fake_set_phase(void *ctx, const struct weir_actor *actor, enum weir_subject kind,
                          struct weir_str name, enum weir_node_phase phase, struct weir_done done,
                          struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "phase %s %.*s %s",
             kind == WEIR_SUBJECT_NODE ? "node" : "gpu", WEIR_STR_ARG(name),
             weir_node_phase_name(phase));
    return take(f, done, 0, err);
}

static struct api_output *find_output(struct api_fixture *f, uint64_t number, uint32_t member,
                                      uint32_t attempt, enum weir_stream stream)
{
    for (uint32_t i = 0; i < f->n_outputs; i++) {
        struct api_output *o = &f->outputs[i];

        if (o->number == number && o->member == member && o->attempt == attempt &&
            o->stream == stream)
            return o;
    }
    return NULL;
}

static int fake_read_output(void *ctx, uint64_t number, uint32_t member, uint32_t attempt,
                            enum weir_stream stream, uint64_t offset, size_t max,
                            uint64_t *ret_first, struct weir_buf *out, struct weir_err *err)
{
    struct api_fixture *f = ctx;
    const struct api_output *o = find_output(f, number, member, attempt, stream);
    uint64_t at;

    f->n_reads++;
    if (o == NULL)
        return weir_error(err, WEIR_E_NOT_FOUND, "nothing was written");
    *ret_first = o->first;
    at = offset > o->first ? offset - o->first : 0;
    if (at >= o->data.len)
        return 0;
    weir_buf_str(out, weir_str_sub(weir_buf_view(&o->data), at, max));
    return 0;
}

/* ---- the world ---- */

static struct weir_key key_of(const char *kind, const char *name)
{
    struct weir_key key;

    weir_hash_key128(weir_str(kind), weir_str(name), key.bytes);
    return key;
}

static uint32_t string_of(struct api_fixture *f, const char *text)
{
    uint32_t string;

    must(weir_edit_string(f->edit, weir_str(text), &string) == 0, "string");
    return string;
}

static uint32_t add_node(struct api_fixture *f, const char *name, int64_t n_gpus)
{
    struct weir_node like = {.name = string_of(f, name),
                             .pool = WEIR_NONE,
                             .phase = WEIR_NODE_READY,
                             .labels = WEIR_NONE,
                             .taints = WEIR_NONE,
                             .phase_cause = WEIR_NONE};
    struct weir_key key = key_of("node", name);
    uint32_t index;

    for (int i = 0; i < WEIR_TOPOLOGY_LEVELS; i++)
        like.topology[i] = WEIR_NONE;
    like.capacity.of[WEIR_RES_GPU] = n_gpus * 1000;
    like.capacity.of[WEIR_RES_CPU] = 8500;
    like.capacity.of[WEIR_RES_MEMORY] = 64 * WEIR_GIB;
    must(weir_edit_add_node(f->edit, &key, &like, &index) == 0, "node");
    return index;
}

static uint32_t add_gpu(struct api_fixture *f, uint32_t node, const char *uuid, uint32_t number)
{
    struct weir_device like = {.uuid = string_of(f, uuid),
                               .model = string_of(f, "NVIDIA H100 80GB HBM3"),
                               .node = node,
                               .parent = WEIR_NONE,
                               .index = number,
                               .mig_profile = WEIR_NONE,
                               .numa = WEIR_NONE,
                               .nvlink = WEIR_NONE,
                               .isolation = WEIR_ISOLATION_HARDWARE,
                               .max_sharers = 1,
                               .memory_bytes = 80 * WEIR_GIB,
                               .health_cause = WEIR_NONE};
    struct weir_key key = key_of("gpu", uuid);
    uint32_t index;

    must(weir_edit_resource(f->edit, WEIR_RESOURCE_GPU_CLASS, WEIR_STR("gpu/h100-sxm"), 1000,
                            &like.gpu_class) == 0,
         "class");
    must(weir_edit_add_device(f->edit, &key, &like, &index) == 0, "GPU");
    return index;
}

static uint32_t add_queue(struct api_fixture *f, const char *name, int64_t guaranteed,
                          int64_t limit)
{
    struct weir_queue_record record = {weir_str(name), WEIR_STR("{\"weight\":1}"), 1000};
    struct weir_queue like = {.name = string_of(f, name),
                              .parent = WEIR_NONE,
                              .weight = 1,
                              .preemptible = 1,
                              .created_wall_ms = 1000,
                              .run_limit_ms = INT64_MAX,
                              .budget_uusd = INT64_MAX,
                              .open_hours = WEIR_NONE};
    struct weir_key key = key_of("queue", name);
    uint32_t index;

    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        like.limit.of[i] = INT64_MAX;
    like.guaranteed.of[WEIR_RES_GPU] = guaranteed;
    like.limit.of[WEIR_RES_GPU] = limit;
    must(weir_edit_add_queue(f->edit, &key, &like, &index) == 0, "queue");
    begin(f);
    must(f->store.put_queue(f->store.ctx, &record, NULL) == 0, "put queue");
    return index;
}

static void make_world(struct api_fixture *f)
{
    static const uint8_t boot[16] = {1};
    struct weir_shape shape = {.n_amounts = 1,
                               .gpu_class = WEIR_NONE,
                               .mig_profile = WEIR_NONE,
                               .device_mgpu = 1000,
                               .n_devices = 1,
                               .labels = WEIR_NONE,
                               .amounts = {{WEIR_RES_GPU, 0, 1000}}};

    f->edit = weir_edit_create(boot);
    must(f->edit != NULL, "edit");
    f->nodes[0] = add_node(f, "alpha", 2);
    f->nodes[1] = add_node(f, "beta", 1);
    f->gpus[0] = add_gpu(f, f->nodes[0], "GPU-0", 0);
    f->gpus[1] = add_gpu(f, f->nodes[0], "GPU-1", 1);
    f->gpus[2] = add_gpu(f, f->nodes[1], "GPU-2", 0);
    f->default_queue = add_queue(f, "default", 0, INT64_MAX);
    f->research = add_queue(f, "research", 1000, 2000);
    must(weir_edit_shape(f->edit, &shape, &f->shape) == 0, "shape");
}

/* ---- what happens ---- */

static uint64_t add(struct api_fixture *f, const struct weir_workload_record *like)
{
    struct weir_workload_record record = *like;
    struct weir_workload row = {.queue = weir_str_eq_c(like->queue, "research") ? f->research
                                                                                : f->default_queue,
                                .independent = like->independent,
                                .gang_min = like->independent ? 1 : like->n_tasks,
                                .retry_on = WEIR_NONE,
                                .submitted_wall_ms = 1000000,
                                .runtime = {INT64_MAX, 0, 0},
                                .topology = {WEIR_NONE, WEIR_NONE, WEIR_NONE, 0}};
    struct weir_role role = {
        .name = WEIR_NONE, .shape = f->shape, .n_tasks = like->n_tasks, .n_min = row.gang_min};
    struct weir_key key;
    uint32_t index;

    begin(f);
    must(f->store.next_number(f->store.ctx, &record.number, NULL) == 0, "next_number");
    record.state = WEIR_TASK_QUEUED;
    record.submitted_wall_ms = row.submitted_wall_ms;
    must(f->store.add_workload(f->store.ctx, &record, NULL) == 0, "add_workload");
    key = weir_key_of_number(f->store.space, record.number);
    row.number = record.number;
    row.owner = string_of(f, "ana");
    must(weir_edit_add_workload(f->edit, &key, &row, &role, 1, &index) == 0, "workload");
    return record.number;
}

uint64_t api_add(struct api_fixture *f, const char *name, const char *queue, uint32_t n_tasks,
                 bool is_array)
{
    struct weir_workload_record record = {
        .name = weir_str(name),
        .queue = weir_str(queue),
        .owner = WEIR_STR("ana"),
        .uid = 1000,
        .spec = WEIR_STR("{\"command\":[\"true\"],\"env\":{\"SECRET\":\"hush\"}}"),
        .n_tasks = n_tasks,
        .independent = is_array,
    };

    return add(f, &record);
}

uint64_t api_add_as(struct api_fixture *f, const char *name, const char *owner, uint32_t uid,
                    const char *spec)
{
    struct weir_workload_record record = {.name = weir_str(name),
                                          .queue = WEIR_STR("default"),
                                          .owner = weir_str(owner),
                                          .uid = uid,
                                          .spec = weir_str(spec),
                                          .n_tasks = 1};

    return add(f, &record);
}

uint32_t api_row(const struct api_fixture *f, uint64_t number)
{
    struct weir_key key = weir_key_of_number(f->store.space, number);
    uint32_t row = weir_edit_find(f->edit, WEIR_TABLE_WORKLOADS, &key);

    must(row != WEIR_NONE, "find the workload");
    return row;
}

static uint32_t task_of(const struct api_fixture *f, uint64_t number, uint32_t member)
{
    const struct weir_world *world = weir_edit_view(f->edit);
    uint32_t task = weir_world_workload(world, api_row(f, number))->first_task;

    while (task != WEIR_NONE && weir_world_task(world, task)->member != member)
        task = weir_world_task(world, task)->next_in_workload;
    must(task != WEIR_NONE, "find the task");
    return task;
}

/* State of the whole, as the server sums it up. */
static enum weir_task_state sum_up(const struct weir_world *world, const struct weir_workload *w)
{
    uint32_t n[WEIR_TASK_STATE_MAX] = {0};

    for (uint32_t t = w->first_task; t != WEIR_NONE;
         t = weir_world_task(world, t)->next_in_workload)
        n[weir_world_task(world, t)->state]++;
    if (w->n_done < w->n_tasks)
        return n[WEIR_TASK_RUNNING] > 0    ? WEIR_TASK_RUNNING
               : n[WEIR_TASK_STARTING] > 0 ? WEIR_TASK_STARTING
               : n[WEIR_TASK_STOPPING] > 0 ? WEIR_TASK_STOPPING
                                           : WEIR_TASK_QUEUED;
    return n[WEIR_TASK_FAILED] > 0      ? WEIR_TASK_FAILED
           : n[WEIR_TASK_LOST] > 0      ? WEIR_TASK_LOST
           : n[WEIR_TASK_CANCELLED] > 0 ? WEIR_TASK_CANCELLED
                                        : WEIR_TASK_SUCCEEDED;
}

static void store_task(struct api_fixture *f, uint64_t number, uint32_t task, const char *gpu)
{
    const struct weir_world *world = weir_edit_view(f->edit);
    const struct weir_task *row = weir_world_task(world, task);
    const struct weir_workload *w = weir_world_workload(world, row->workload);
    enum weir_task_state state = sum_up(world, w);
    bool is_over = weir_task_state_is_final(row->state);
    char grants[64] = "";
    struct weir_task_record record;
    struct weir_workload_record whole;

    if (gpu[0] != '\0')
        snprintf(grants, sizeof(grants), "%s:1000:0:0", gpu);
    record = (struct weir_task_record){
        .number = number,
        .member = row->member,
        .state = row->state,
        .attempt = row->attempt,
        .stop_cause = row->stop_cause,
        .cause = row->cause,
        .exit_status = row->exit_status,
        .node = gpu[0] != '\0' ? WEIR_STR("alpha") : WEIR_STR(""),
        .grants = weir_str(grants),
        .started_wall_ms = row->attempt > 0 ? 2000000 : 0,
        .ended_wall_ms = is_over ? 3000000 : 0,
    };
    whole = (struct weir_workload_record){
        .number = number,
        .state = state,
        .cause = row->cause,
        .attempt = row->attempt,
        .exit_status = row->exit_status,
        .gpus = weir_str(gpu),
        .node = record.node,
        .started_wall_ms = record.started_wall_ms,
        .ended_wall_ms = weir_task_state_is_final(state) ? 3000000 : 0,
    };
    begin(f);
    must(f->store.put_task(f->store.ctx, &record, NULL) == 0, "put_task");
    must(f->store.update_workload(f->store.ctx, &whole, NULL) == 0, "update_workload");
}

static const char *gpu_of(const struct api_fixture *f, uint32_t task)
{
    const struct weir_world *world = weir_edit_view(f->edit);
    uint32_t hold = weir_world_task(world, task)->first_hold;
    static char text[64];

    text[0] = '\0';
    if (hold != WEIR_NONE)
        snprintf(text, sizeof(text), "%.*s",
                 WEIR_STR_ARG(weir_world_string(
                     world, weir_world_device(world, weir_world_hold(world, hold)->device)->uuid)));
    return text;
}

void api_start(struct api_fixture *f, uint64_t number, uint32_t member, int gpu)
{
    uint32_t task = task_of(f, number, member);
    struct weir_grant grant = {.part_mgpu = 1000};
    uint32_t node = f->nodes[0];

    if (gpu >= 0) {
        grant.device = f->gpus[gpu];
        node = weir_world_device(weir_edit_view(f->edit), grant.device)->node;
    }
    must(weir_edit_task_start(f->edit, task, node, &grant, gpu >= 0, 2000000, 2000) == 0, "start");
    store_task(f, number, task, gpu_of(f, task));
}

static void step(struct api_fixture *f, uint64_t number, uint32_t member,
                 enum weir_task_state state, enum weir_cause cause, int exit_status)
{
    uint32_t task = task_of(f, number, member);
    char gpu[64];
    struct weir_task *row;

    snprintf(gpu, sizeof(gpu), "%s", gpu_of(f, task));
    must(weir_edit_task_state(f->edit, task, state) == 0, "state");
    row = weir_edit_task(f->edit, task);
    must(row != NULL, "task");
    row->cause = cause;
    row->exit_status = exit_status;
    if (state == WEIR_TASK_STOPPING)
        row->stop_cause = cause;
    store_task(f, number, task, gpu);
}

void api_run(struct api_fixture *f, uint64_t number, uint32_t member)
{
    step(f, number, member, WEIR_TASK_RUNNING, WEIR_CAUSE_PLACED, 0);
}

void api_end(struct api_fixture *f, uint64_t number, uint32_t member, enum weir_task_state state,
             enum weir_cause cause, int exit_status)
{
    step(f, number, member, state, cause, exit_status);
}

void api_stop(struct api_fixture *f, uint64_t number, uint32_t member, enum weir_cause cause)
{
    step(f, number, member, WEIR_TASK_STOPPING, cause, 0);
}

void api_retire(struct api_fixture *f, uint64_t number)
{
    must(weir_edit_remove_workload(f->edit, api_row(f, number)) == 0, "retire");
}

void api_event(struct api_fixture *f, const char *kind, const char *subject)
{
    static const uint8_t boot[16] = {1};
    struct weir_event_record event = {.wall_ms = 5000000,
                                      .boot_id = boot,
                                      .actor = WEIR_STR("weir"),
                                      .kind = weir_str(kind),
                                      .subject = weir_str(subject)};

    begin(f);
    must(f->store.append_event(f->store.ctx, &event, NULL) == 0, "event");
}

void api_tick(struct api_fixture *f)
{
    struct api_dones dones = f->dones;
    int fail = f->fail;

    f->dones = (struct api_dones){0};
    f->fail = 0;
    if (f->in_transaction)
        must(f->store.commit(f->store.ctx, true, NULL) == 0, "commit");
    f->in_transaction = false;
    weir_world_unref(f->plan_world);
    weir_world_unref(f->world);
    f->plan_world = weir_edit_seal(f->edit);
    f->world = weir_edit_seal(f->edit);
    must(f->world != NULL && f->plan_world != NULL, "seal");
    for (size_t i = 0; i < dones.n; i++) {
        struct weir_err err = WEIR_ERR_INIT;

        if (fail != 0)
            weir_error(&err, fail, "it failed as told");
        dones.items[i].done.fn(dones.items[i].done.arg, fail, dones.items[i].outcome,
                               fail != 0 ? &err : NULL);
    }
    weir_vec_finish(&dones);
    weir_api_changed(f->api);
}

void api_write(struct api_fixture *f, uint64_t number, uint32_t member, uint32_t attempt,
               enum weir_stream stream, const char *text)
{
    struct api_output *o = find_output(f, number, member, attempt, stream);

    if (o == NULL) {
        must(f->n_outputs < API_OUTPUTS_MAX, "room for an output");
        o = &f->outputs[f->n_outputs++];
        *o = (struct api_output){number, member, attempt, stream, 0, WEIR_BUF_INIT(1 << 28)};
    }
    weir_buf_puts(&o->data, text);
}

void api_rotate(struct api_fixture *f, uint64_t number, uint32_t member, uint32_t attempt,
                enum weir_stream stream, uint64_t offset)
{
    struct api_output *o = find_output(f, number, member, attempt, stream);

    must(o != NULL && offset >= o->first && offset - o->first <= o->data.len, "rotate");
    weir_buf_consume(&o->data, offset - o->first);
    o->first = offset;
}

/* ---- life ---- */

static void make_service(struct api_fixture *f)
{
    f->cluster = (struct weir_cluster){.ctx = f, .read_output = fake_read_output};
    f->policy = weir_policy_default();
    f->service = (struct weir_service){
        .ctx = f,
        .world = fake_world,
        .plan = fake_plan,
        .plan_world = fake_plan_world,
        .store = fake_store,
        .cluster = fake_cluster,
        .eta_begin = fake_eta_begin,
        .eta_run = fake_eta_run,
        .eta_end = fake_eta_end,
        .is_ready = fake_is_ready,
        .policy = fake_policy,
        .counters = fake_counters,
        .submit = fake_submit,
        .apply = fake_apply,
        .delete_queue = fake_delete_queue,
        .cancel = fake_cancel,
        .signal = fake_signal,
        .set_phase = fake_set_phase,
    };
}

static void write_tokens(const char *path)
{
    FILE *file = fopen(path, "we");

    must(file != NULL && fchmod(fileno(file), 0600) == 0, "tokens");
    fprintf(file, "# for tests\n%s admin ada\n%s submit sam\n%s read rea\n", api_admin_token,
            api_submit_token, api_read_token);
    fclose(file);
}

void api_fixture_init(struct api_fixture *f, const char *host)
{
    char path[128];
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_api_config config;

    memset(f, 0, sizeof(*f));
    snprintf(f->dir, sizeof(f->dir), "/tmp/weir-api-XXXXXX");
    must(mkdtemp(f->dir) != NULL, "mkdtemp");
    snprintf(f->socket, sizeof(f->socket), "%s/s", f->dir);
    snprintf(f->tokens, sizeof(f->tokens), "%s/tokens", f->dir);
    snprintf(path, sizeof(path), "%s/store", f->dir);
    must(weir_sqlite_open(path, &f->sqlite, &f->store, &err) == 0, err.text);
    make_service(f);
    make_world(f);
    write_tokens(f->tokens);
    f->is_ready = true;
    must(uv_loop_init(&f->loop) == 0, "loop");
    config = (struct weir_api_config){.tokens_path = f->tokens,
                                      .host = host,
                                      .version_text = "weir with tests inside",
                                      .uid = getuid(),
                                      .gid = getgid()};
    must(f->store.commit(f->store.ctx, true, &err) == 0, err.text);
    f->in_transaction = false;
    must(weir_api_create(&f->loop, &config, &f->service, &f->api, &err) == 0, err.text);
    must(weir_api_listen_unix(f->api, f->socket, &err) == 0, err.text);
    must(weir_api_listen_tcp(f->api, "127.0.0.1:0", &f->port, &err) == 0, err.text);
    api_tick(f);
}

static void note_closed(void *ctx)
{
    ((struct api_fixture *)ctx)->is_closed = true;
}

void api_fixture_finish(struct api_fixture *f)
{
    static const char *const files[] = {"store", "store-wal", "store-shm", "tokens"};
    char path[160];
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    weir_api_shutdown(f->api, 0, note_closed, f);
    while (!f->is_closed) {
        api_turn(f);
        must(weir_clock_mono_ms() < until, "shutdown in time");
    }
    api_turn(f);
    must(uv_loop_close(&f->loop) == 0, "close the loop");
    for (size_t i = 0; i < f->dones.n; i++)
        f->dones.items[i].done.fn(f->dones.items[i].done.arg, WEIR_E_UNAVAILABLE, 0, NULL);
    weir_vec_finish(&f->dones);
    weir_world_unref(f->world);
    weir_world_unref(f->plan_world);
    weir_edit_destroy(f->edit);
    weir_sqlite_close(f->sqlite);
    for (uint32_t i = 0; i < f->n_outputs; i++)
        weir_buf_finish(&f->outputs[i].data);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->dir, files[i]);
        unlink(path);
    }
    must(rmdir(f->dir) == 0, "removal of the folder");
}

/* ---- asking ---- */

void api_turn(struct api_fixture *f)
{
    uv_run(&f->loop, UV_RUN_NOWAIT);
}

int api_dial(struct api_fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->socket);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    return fd;
}

int api_dial_tcp(struct api_fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(f->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    return fd;
}

void api_say(struct api_fixture *f, int fd, const char *text, size_t n)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    while (n > 0 && weir_clock_mono_ms() < until) {
        ssize_t sent = send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return; /* the server has answered and closed: what it said can still be heard */
        if (sent < 0) {
            api_turn(f);
            continue;
        }
        text += sent;
        n -= (size_t)sent;
    }
}

/* False at the end. */
static bool hear_some(int fd, struct weir_buf *heard)
{
    char room[65536];
    ssize_t n = recv(fd, room, sizeof(room), MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        return false;
    if (n > 0)
        weir_buf_append(heard, room, (size_t)n);
    return true;
}

bool api_hear(struct api_fixture *f, int fd, struct weir_buf *heard, const char *text)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;

    while (weir_clock_mono_ms() < until) {
        size_t before = heard->len;

        if (text != NULL && weir_str_find(weir_buf_view(heard), weir_str(text)) >= 0)
            return true;
        api_turn(f);
        if (!hear_some(fd, heard))
            return text == NULL || weir_str_find(weir_buf_view(heard), weir_str(text)) >= 0;
        if (heard->len == before)
            usleep(200);
    }
    return false;
}

void api_hear_for(struct api_fixture *f, int fd, struct weir_buf *heard, int ms)
{
    int64_t until = weir_clock_mono_ms() + ms;

    do {
        api_turn(f);
        if (!hear_some(fd, heard))
            return;
        usleep(500);
    } while (weir_clock_mono_ms() < until);
}

/* Feeds the parser with what comes, and ticks when the service waits for it. */
static void hear_answer(struct api_fixture *f, int fd, bool is_head, struct api_answer *answer)
{
    struct weir_buf heard = WEIR_BUF_INIT(ANSWER_BYTES_MAX);
    struct weir_http1_parser parser;
    struct weir_err err = WEIR_ERR_INIT;
    enum weir_http1_event event = WEIR_HTTP1_EVENT_MORE;
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;
    bool is_open = true;

    weir_http1_parser_init(&parser, WEIR_HTTP1_RESPONSE);
    weir_http1_parser_begin(&parser, &answer->arena);
    weir_http1_parser_set_body_max(&parser, ANSWER_BYTES_MAX);
    if (is_head)
        weir_http1_parser_answers_head(&parser);
    while (event != WEIR_HTTP1_EVENT_END && event != WEIR_HTTP1_EVENT_ERROR) {
        struct weir_str input;

        must(weir_clock_mono_ms() < until, "an answer in time");
        api_turn(f);
        if (f->dones.n > 0)
            api_tick(f);
        weir_buf_reset(&heard);
        is_open = is_open && hear_some(fd, &heard);
        input = weir_buf_view(&heard);
        while ((event = weir_http1_next(&parser, &input, &err)) != WEIR_HTTP1_EVENT_MORE &&
               event != WEIR_HTTP1_EVENT_END && event != WEIR_HTTP1_EVENT_ERROR)
            if (event == WEIR_HTTP1_EVENT_BODY)
                weir_buf_str(&answer->body, parser.piece);
        if (event == WEIR_HTTP1_EVENT_MORE && !is_open)
            event = weir_http1_end_of_input(&parser, &err);
        must(event != WEIR_HTTP1_EVENT_MORE || is_open, "an answer before the end");
    }
    must(event == WEIR_HTTP1_EVENT_END, err.text);
    answer->head = parser.head;
    answer->status = parser.head.status;
    weir_http1_parser_finish(&parser);
    weir_buf_finish(&heard);
}

static void ask(struct api_fixture *f, int fd, const char *method, const char *target,
                const char *headers, const char *body, struct api_answer *answer)
{
    struct weir_buf text = WEIR_BUF_INIT(64 * 1024 * 1024);
    const struct weir_str *type;

    *answer = (struct api_answer){.body = WEIR_BUF_INIT(ANSWER_BYTES_MAX)};
    weir_buf_printf(&text, "%s %s HTTP/1.1\r\n", method, target);
    if (headers == NULL || strstr(headers, "Host:") == NULL)
        weir_buf_puts(&text, "Host: 127.0.0.1\r\n");
    weir_buf_puts(&text, headers != NULL ? headers : "");
    if (body != NULL)
        weir_buf_printf(&text, "Content-Length: %zu\r\n", strlen(body));
    weir_buf_puts(&text, "\r\n");
    weir_buf_puts(&text, body != NULL ? body : "");
    api_say(f, fd, text.data, text.len);
    weir_buf_finish(&text);
    hear_answer(f, fd, strcmp(method, "HEAD") == 0, answer);
    close(fd);
    type = weir_http1_find(&answer->head, "Content-Type");
    if (type != NULL && weir_str_eq_c(*type, "application/json") && answer->body.len > 0)
        must(weir_json_read(weir_buf_view(&answer->body), NULL, &answer->arena, &answer->json,
                            NULL) == 0,
             "well-formed JSON");
}

void api_ask(struct api_fixture *f, const char *method, const char *target, const char *headers,
             const char *body, struct api_answer *ret_answer)
{
    ask(f, api_dial(f), method, target, headers, body, ret_answer);
}

void api_ask_tcp(struct api_fixture *f, const char *method, const char *target, const char *headers,
                 const char *body, struct api_answer *ret_answer)
{
    ask(f, api_dial_tcp(f), method, target, headers, body, ret_answer);
}

void api_answer_finish(struct api_answer *answer)
{
    weir_buf_finish(&answer->body);
    weir_arena_finish(&answer->arena);
}

static const char *keep(struct weir_str text)
{
    static char kept[8][2048];
    static unsigned turn;
    char *to = kept[turn++ % 8];

    snprintf(to, sizeof(kept[0]), "%.*s", WEIR_STR_ARG(text));
    return to;
}

const char *api_text(const struct api_answer *answer, const char *path)
{
    const struct weir_tree *node = weir_tree_path(answer->json, path);

    if (node == NULL)
        return "";
    return node->kind == WEIR_TREE_NULL ? "null" : keep(node->text);
}

const char *api_header(const struct api_answer *answer, const char *name)
{
    const struct weir_str *value = weir_http1_find(&answer->head, name);

    return value == NULL ? "" : keep(*value);
}
