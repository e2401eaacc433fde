#include "api_fixture_impl.h"

#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the world ---- */

static uint32_t string_of(struct api_fixture *f, const char *text)
{
    uint32_t string;

    api_must(weir_edit_string(f->edit, weir_str(text), &string) == 0, "string");
    return string;
}

static uint32_t add_node(struct api_fixture *f, const char *name, int64_t n_gpus)
{
    struct weir_node like = weir_node_blank();
    struct weir_key key = weir_key_of_node(weir_str(name));
    uint32_t index;

    like.name = string_of(f, name);
    like.phase = WEIR_NODE_READY;
    like.capacity.of[WEIR_RES_GPU] = n_gpus * 1000;
    like.capacity.of[WEIR_RES_CPU] = 8500;
    like.capacity.of[WEIR_RES_MEMORY] = 64 * WEIR_GIB;
    api_must(weir_edit_add_node(f->edit, &key, &like, &index) == 0, "node");
    return index;
}

static uint32_t add_gpu(struct api_fixture *f, uint32_t node, const char *uuid, uint32_t number)
{
    struct weir_device like = weir_device_blank();
    struct weir_key key = weir_key_of_device(weir_str(uuid));
    uint32_t index;

    like.uuid = string_of(f, uuid);
    like.model = string_of(f, "NVIDIA H100 80GB HBM3");
    like.node = node;
    like.index = number;
    like.memory_bytes = 80 * WEIR_GIB;
    api_must(weir_edit_gpu_class(f->edit, WEIR_STR("h100-sxm"), &like.gpu_class) == 0, "class");
    api_must(weir_edit_add_device(f->edit, &key, &like, &index) == 0, "GPU");
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
    struct weir_key key = weir_key_of_queue(weir_str(name));
    uint32_t index;

    for (int i = 0; i < WEIR_RESOURCE_MAX; i++)
        like.limit.of[i] = INT64_MAX;
    like.guaranteed.of[WEIR_RES_GPU] = guaranteed;
    like.limit.of[WEIR_RES_GPU] = limit;
    api_must(weir_edit_add_queue(f->edit, &key, &like, &index) == 0, "queue");
    api_begin(f);
    api_must(f->store.put_queue(f->store.ctx, &record, NULL) == 0, "put queue");
    return index;
}

void api_make_world(struct api_fixture *f)
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
    api_must(f->edit != NULL, "edit");
    f->nodes[0] = add_node(f, "alpha", 2);
    f->nodes[1] = add_node(f, "beta", 1);
    f->gpus[0] = add_gpu(f, f->nodes[0], "GPU-0", 0);
    f->gpus[1] = add_gpu(f, f->nodes[0], "GPU-1", 1);
    f->gpus[2] = add_gpu(f, f->nodes[1], "GPU-2", 0);
    f->default_queue = add_queue(f, "default", 0, INT64_MAX);
    f->research = add_queue(f, "research", 1000, 2000);
    api_must(weir_edit_shape(f->edit, &shape, &f->shape) == 0, "shape");
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

    api_begin(f);
    api_must(f->store.next_number(f->store.ctx, &record.number, NULL) == 0, "next_number");
    record.state = WEIR_TASK_QUEUED;
    record.submitted_wall_ms = row.submitted_wall_ms;
    api_must(f->store.add_workload(f->store.ctx, &record, NULL) == 0, "add_workload");
    key = weir_key_of_number(f->store.space, record.number);
    row.number = record.number;
    row.owner = string_of(f, "ana");
    api_must(weir_edit_add_workload(f->edit, &key, &row, &role, 1, &index) == 0, "workload");
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

    api_must(row != WEIR_NONE, "find the workload");
    return row;
}

static uint32_t task_of(const struct api_fixture *f, uint64_t number, uint32_t member)
{
    const struct weir_world *world = weir_edit_view(f->edit);
    uint32_t task = weir_world_workload(world, api_row(f, number))->first_task;

    while (task != WEIR_NONE && weir_world_task(world, task)->member != member)
        task = weir_world_task(world, task)->next_in_workload;
    api_must(task != WEIR_NONE, "find the task");
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
    api_begin(f);
    api_must(f->store.put_task(f->store.ctx, &record, NULL) == 0, "put_task");
    api_must(f->store.update_workload(f->store.ctx, &whole, NULL) == 0, "update_workload");
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
    api_must(weir_edit_task_start(f->edit, task, node, &grant, gpu >= 0, 2000000, 2000) == 0,
             "start");
    store_task(f, number, task, gpu_of(f, task));
}

static void step(struct api_fixture *f, uint64_t number, uint32_t member,
                 enum weir_task_state state, enum weir_cause cause, int exit_status)
{
    uint32_t task = task_of(f, number, member);
    char gpu[64];
    struct weir_task *row;

    snprintf(gpu, sizeof(gpu), "%s", gpu_of(f, task));
    api_must(weir_edit_task_state(f->edit, task, state) == 0, "state");
    row = weir_edit_task(f->edit, task);
    if (row == NULL)
        abort();
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
    api_must(weir_edit_remove_workload(f->edit, api_row(f, number)) == 0, "retire");
}

void api_event(struct api_fixture *f, const char *kind, const char *subject)
{
    api_event_at(f, 5000000, kind, subject);
}

void api_event_at(struct api_fixture *f, int64_t wall_ms, const char *kind, const char *subject)
{
    static const uint8_t boot[16] = {1};
    struct weir_event_record event = {.wall_ms = wall_ms,
                                      .boot_id = boot,
                                      .actor = WEIR_STR("weir"),
                                      .kind = weir_str(kind),
                                      .subject = weir_str(subject)};

    api_begin(f);
    api_must(f->store.append_event(f->store.ctx, &event, NULL) == 0, "event");
}

void api_tick(struct api_fixture *f)
{
    struct api_dones dones = f->dones;
    int fail = f->fail;

    f->dones = (struct api_dones){0};
    f->fail = 0;
    if (f->in_transaction)
        api_must(f->store.commit(f->store.ctx, true, NULL) == 0, "commit");
    f->in_transaction = false;
    weir_world_unref(f->plan_world);
    weir_world_unref(f->world);
    f->plan_world = weir_edit_seal(f->edit);
    f->world = weir_edit_seal(f->edit);
    api_must(f->world != NULL && f->plan_world != NULL, "seal");
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
    struct api_output *o = api_find_output(f, number, member, attempt, stream);

    if (o == NULL) {
        api_must(f->n_outputs < API_OUTPUTS_MAX, "room for an output");
        o = &f->outputs[f->n_outputs++];
        *o = (struct api_output){number, member, attempt, stream, 0, WEIR_BUF_INIT(1 << 28)};
    }
    weir_buf_puts(&o->data, text);
}

void api_rotate(struct api_fixture *f, uint64_t number, uint32_t member, uint32_t attempt,
                enum weir_stream stream, uint64_t offset)
{
    struct api_output *o = api_find_output(f, number, member, attempt, stream);

    if (o == NULL || offset < o->first || offset - o->first > o->data.len)
        abort();
    weir_buf_consume(&o->data, offset - o->first);
    o->first = offset;
}
