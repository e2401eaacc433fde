/* The store is a projection of the world: every workload and task row that changed is written. */
#include "app/faults.h"
#include "app/server.h"
#include "base/bitset.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "model/signals.h"

enum { GRANTS_BYTES_MAX = 64 * 1024, DETAIL_BYTES_MAX = 1024 };

/* Of a workload from its tasks, as people see it. */
static enum weir_task_state state_of(const struct weir_world *world, uint32_t workload)
{
    const struct weir_workload *w = weir_world_workload(world, workload);
    uint32_t n[WEIR_TASK_STATE_MAX] = {0};

    for (uint32_t t = w->first_task; t != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(world, t);

        n[task->state]++;
        t = task->next_in_workload;
    }
    if (w->n_done < w->n_tasks) {
        if (n[WEIR_TASK_RUNNING] > 0)
            return WEIR_TASK_RUNNING;
        if (n[WEIR_TASK_STARTING] > 0)
            return WEIR_TASK_STARTING;
        return n[WEIR_TASK_STOPPING] > 0 ? WEIR_TASK_STOPPING : WEIR_TASK_QUEUED;
    }
    if (n[WEIR_TASK_FAILED] > 0)
        return WEIR_TASK_FAILED;
    if (n[WEIR_TASK_LOST] > 0)
        return WEIR_TASK_LOST;
    return n[WEIR_TASK_CANCELLED] > 0 ? WEIR_TASK_CANCELLED : WEIR_TASK_SUCCEEDED;
}

/* "KEY:mgpu:bytes:slots,…" of what the task holds in this version; with keys_only just "KEY,…". */
static void put_grants(const struct weir_world *world, uint32_t task, bool keys_only,
                       struct weir_buf *out)
{
    const struct weir_task *row = weir_world_task(world, task);

    for (uint32_t h = row->first_hold; h != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        const struct weir_device *device = weir_world_device(world, hold->device);

        if (out->len > 0)
            weir_buf_putc(out, ',');
        weir_buf_str(out, weir_world_string(world, device->uuid));
        if (!keys_only)
            weir_buf_printf(out, ":%lld:%lld:%u", (long long)hold->part_mgpu,
                            (long long)hold->memory_bytes, hold->slots);
        h = hold->next_of_task;
    }
}

/* The version that tells what the task holds, or, where it has ended, held last. One that waits
 * again holds nothing, whatever it had. */
static const struct weir_world *holding_version(const struct weir_world *before,
                                                const struct weir_world *after, uint32_t task)
{
    if (weir_task_state_is_final(weir_world_task(after, task)->state) &&
        weir_table_is_live(&before->tables[WEIR_TABLE_TASKS], task))
        return before;
    return after;
}

static struct weir_str node_name(const struct weir_world *world, uint32_t node)
{
    return node == WEIR_NONE ? WEIR_STR("")
                             : weir_world_string(world, weir_world_node(world, node)->name);
}

/* When a task that has ended, or had to leave and waits again, did: as its shim saw it, where one
 * did. */
static int64_t ended_at(const struct weir_task *task, struct weir_now now)
{
    if (task->state == WEIR_TASK_QUEUED && weir_cause_requeues(task->cause))
        return task->ended_wall_ms;
    if (!weir_task_state_is_final(task->state))
        return 0;
    return task->ended_wall_ms > 0 ? task->ended_wall_ms : now.wall_ms;
}

/* It leaves for somebody, or has left and leaves him the room. */
static bool has_made_room(const struct weir_task *task)
{
    return task->state == WEIR_TASK_STOPPING ||
           (task->state == WEIR_TASK_QUEUED && weir_cause_makes_room(task->cause));
}

/* The number of the workload that it makes room for, or 0. */
static uint64_t for_whom(const struct weir_world *world, const struct weir_task *task)
{
    if (!has_made_room(task) || task->for_whom == WEIR_NONE ||
        !weir_table_is_live(&world->tables[WEIR_TABLE_WORKLOADS], task->for_whom))
        return 0;
    return weir_world_workload(world, task->for_whom)->number;
}

/* Why its attempt could not be started or had to leave; "" where neither, or nothing is known. */
static const char *detail_of(struct weir_server *server, uint32_t task)
{
    const struct weir_server_attempt *attempt = weir_server_attempt_of(server, task);

    return attempt != NULL && attempt->detail != NULL ? attempt->detail : "";
}

static int persist_task(struct weir_server *server, const struct weir_world *before,
                        const struct weir_world *after, uint32_t index, struct weir_now now,
                        struct weir_err *err)
{
    const struct weir_task *task = weir_world_task(after, index);
    const struct weir_world *held = holding_version(before, after, index);
    const struct weir_task *held_task = weir_world_task(held, index);
    const struct weir_server_attempt *attempt = weir_server_attempt_of(server, index);
    struct weir_buf grants = WEIR_BUF_INIT(GRANTS_BYTES_MAX);
    struct weir_task_record record;
    int r;

    if (attempt == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an attempt");
    put_grants(held, index, false, &grants);
    record = (struct weir_task_record){
        .number = weir_world_workload(after, task->workload)->number,
        .member = task->member,
        .state = task->state,
        .attempt = task->attempt,
        .stop_cause = task->stop_cause,
        .end = task->ended,
        .cause = task->cause,
        .exit_status = task->exit_status,
        .n_failures = task->n_failures,
        .for_whom = for_whom(after, task),
        .serial = attempt->ref.serial,
        .nonce = attempt->ref.nonce,
        .slot = attempt->ref.slot,
        .node = node_name(held, held_task->node),
        .grants = weir_buf_view(&grants),
        .detail = weir_str(detail_of(server, index)),
        .started_wall_ms = task->started_wall_ms,
        .started_mono_ms = task->started_mono_ms,
        .ended_wall_ms = ended_at(task, now),
        .not_before_wall_ms = task->not_before_wall_ms,
    };
    r = weir_buf_check(&grants, "the devices of a task", err);
    if (r == 0)
        r = server->store.put_task(server->store.ctx, &record, err);
    weir_buf_finish(&grants);
    return r;
}

/* Which of its tasks tells how a workload ended. */
struct end_told {
    bool by_failure;
    uint32_t member;
};

/* How a workload ended is how the first of its tasks that failed did; a member that was stopped for
 * that tells nothing. */
static void sum_up_end(const struct weir_task *task, struct end_told *told,
                       struct weir_workload_record *record)
{
    bool failed = task->state == WEIR_TASK_FAILED || task->state == WEIR_TASK_LOST;

    if (told->by_failure || (!failed && record->exit_status != 0))
        return;
    if (failed || task->exit_status != 0)
        record->exit_status = task->exit_status;
    if (failed || record->cause == WEIR_CAUSE_NONE || task->exit_status != 0)
        record->cause = task->cause;
    *told = (struct end_told){failed, task->member};
}

/* What a workload's record takes from its tasks. */
static void sum_up_tasks(const struct weir_world *before, const struct weir_world *after,
                         const struct weir_workload *w, struct weir_now now,
                         struct weir_workload_record *record, struct end_told *ret_told,
                         struct weir_buf *gpus)
{
    bool has_ended = weir_task_state_is_final(record->state);
    struct end_told told = {0};

    for (uint32_t t = w->first_task; t != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(after, t);
        const struct weir_world *held = has_ended ? holding_version(before, after, t) : after;

        sum_up_end(task, &told, record);
        if (task->attempt > record->attempt)
            record->attempt = task->attempt;
        if (task->started_wall_ms > 0 &&
            (record->started_wall_ms == 0 || task->started_wall_ms < record->started_wall_ms))
            record->started_wall_ms = task->started_wall_ms;
        if (ended_at(task, now) > record->ended_wall_ms)
            record->ended_wall_ms = ended_at(task, now);
        put_grants(held, t, true, gpus);
        if (record->node.len == 0 && (has_ended || weir_task_state_holds(task->state)))
            record->node = node_name(held, weir_world_task(held, t)->node);
        t = task->next_in_workload;
    }
    *ret_told = told;
}

/* What only the records of tasks say. */
struct told_by_records {
    struct weir_buf gpus;
    struct weir_buf detail;
    uint32_t detail_member;
};

/* Whether a comma-separated list has it. Not as a part of another: "NODE#1" is in "NODE#10". */
static bool has_item(struct weir_str list, struct weir_str wanted)
{
    struct weir_str item;

    while (list.len > 0 && weir_str_split(&list, ',', &item))
        if (weir_str_eq(item, wanted))
            return true;
    return false;
}

/* Adds the keys of one stored "KEY:mgpu:bytes:slots,…" that are not there yet. */
static void add_keys(struct weir_str rest, struct weir_buf *gpus)
{
    struct weir_str grant;

    while (rest.len > 0 && weir_str_split(&rest, ',', &grant)) {
        ptrdiff_t colon = weir_str_find_char(grant, ':');
        struct weir_str key = weir_str_sub(grant, 0, colon > 0 ? (size_t)colon : grant.len);

        if (has_item(weir_buf_view(gpus), key))
            continue;
        weir_buf_puts(gpus, gpus->len > 0 ? "," : "");
        weir_buf_str(gpus, key);
    }
}

static int read_task(void *arg, const struct weir_task_record *task)
{
    struct told_by_records *told = arg;

    add_keys(task->grants, &told->gpus);
    if (task->member == told->detail_member)
        weir_buf_str(&told->detail, task->detail);
    return 0;
}

/* Tasks of one workload end at different times: what each held last is in its record. */
static int read_tasks(struct weir_server *server, uint64_t number, struct told_by_records *told,
                      struct weir_err *err)
{
    weir_buf_reset(&told->gpus);
    return server->store.each_task(server->store.ctx, number, read_task, told, err);
}

/* Of what waits again: why it had to leave. */
static void sum_up_leaving(struct weir_server *server, const struct weir_world *after,
                           const struct weir_workload *w, struct weir_workload_record *record,
                           struct weir_buf *detail)
{
    for (uint32_t t = w->first_task; t != WEIR_NONE && detail->len == 0;) {
        const struct weir_task *task = weir_world_task(after, t);

        if (task->state == WEIR_TASK_QUEUED && weir_cause_requeues(task->cause)) {
            record->cause = task->cause;
            weir_buf_puts(detail, detail_of(server, t));
        }
        t = task->next_in_workload;
    }
}

static int persist_workload(struct weir_server *server, const struct weir_world *before,
                            const struct weir_world *after, uint32_t index, struct weir_now now,
                            struct weir_err *err)
{
    const struct weir_workload *w = weir_world_workload(after, index);
    struct told_by_records tasks = {.gpus = WEIR_BUF_INIT(GRANTS_BYTES_MAX),
                                    .detail = WEIR_BUF_INIT(WEIR_CLUSTER_DETAIL_MAX)};
    struct end_told told;
    struct weir_workload_record record = {
        .number = w->number,
        .state = state_of(after, index),
        .cancelled = w->cancelled,
        .n_failures = w->n_failures,
        .not_before_wall_ms = w->not_before_wall_ms,
    };
    int r = 0;

    sum_up_tasks(before, after, w, now, &record, &told, &tasks.gpus);
    tasks.detail_member = told.member;
    if (!weir_task_state_is_final(record.state))
        record.ended_wall_ms = 0;
    if (record.state == WEIR_TASK_QUEUED)
        sum_up_leaving(server, after, w, &record, &tasks.detail);
    else if (!weir_task_state_is_final(record.state))
        weir_buf_reset(&tasks.detail);
    else if (w->n_tasks > 1)
        r = read_tasks(server, w->number, &tasks, err);
    else
        weir_buf_puts(&tasks.detail, detail_of(server, w->first_task));
    record.gpus = weir_buf_view(&tasks.gpus);
    record.detail = weir_buf_view(&tasks.detail);
    if (r == 0)
        r = weir_buf_check(&tasks.gpus, "the devices of a workload", err);
    if (r == 0)
        r = weir_buf_check(&tasks.detail, "why a workload did not start", err);
    if (r == 0)
        r = server->store.update_workload(server->store.ctx, &record, err);
    weir_buf_finish(&tasks.gpus);
    weir_buf_finish(&tasks.detail);
    return r;
}

static const char *event_kind(const struct weir_action *action)
{
    switch ((enum weir_action_kind)action->kind) {
    case WEIR_ACTION_START:
        return "workload.started";
    case WEIR_ACTION_STOP:
        return action->state != 0 ? "workload.ended" : "workload.stopping";
    case WEIR_ACTION_EVICT:
        return "workload.evicting";
    case WEIR_ACTION_SETTLE:
        return action->state == WEIR_TASK_QUEUED ? "workload.requeued" : "workload.ended";
    case WEIR_ACTION_NOTIFY:
        return action->cause == WEIR_CAUSE_OVER_BUDGET ? "workload.over-budget"
                                                       : "workload.within-budget";
    case WEIR_ACTION_RESHAPE:
    case WEIR_ACTION_SHARE:
    case WEIR_ACTION_CORDON:
    case WEIR_ACTION_DRAIN:
    case WEIR_ACTION_REQUEST_NODE:
    case WEIR_ACTION_SCALE:
    case WEIR_ACTION_ROUTE:
    case WEIR_ACTION_KIND_MAX:
        break;
    }
    return "plan.action";
}

struct weir_str weir_server_task_name(const struct weir_world *world, uint32_t task,
                                      char ret_text[WEIR_SERVER_TASK_NAME_MAX])
{
    const struct weir_task *row = weir_world_task(world, task);
    const struct weir_workload *w = weir_world_workload(world, row->workload);
    int n = snprintf(ret_text, WEIR_SERVER_TASK_NAME_MAX, "workload/%llu",
                     (unsigned long long)w->number);

    if (w->n_tasks > 1)
        snprintf(ret_text + n, (size_t)(WEIR_SERVER_TASK_NAME_MAX - n), "/%u", row->member);
    return weir_str(ret_text);
}

/* Of an MPS daemon: that it is to begin or to end, and why. */
static int write_share_event(struct weir_server *server, const struct weir_world *after,
                             const struct weir_action *action, struct weir_err *err)
{
    struct weir_str uuid = weir_world_string(after, weir_world_device(after, action->device)->uuid);
    char subject[WEIR_GPU_UUID_BYTES + 8];
    int r = weir_server_begin(server, err);

    if (r < 0)
        return r;
    snprintf(subject, sizeof(subject), "gpu/%.*s",
             WEIR_STR_ARG(weir_str_cut(uuid, WEIR_GPU_UUID_BYTES)));
    return weir_server_event(server, WEIR_STR("weir"),
                             action->amount > 0 ? "gpu.mps-begins" : "gpu.mps-ends",
                             weir_str(subject),
                             weir_str(weir_cause_name((enum weir_cause)action->cause)),
                             WEIR_STR(""), WEIR_STR(""), err);
}

static int write_action_event(struct weir_server *server, const struct weir_world *before,
                              const struct weir_world *after, const struct weir_action *action,
                              struct weir_err *err)
{
    const struct weir_task *was = weir_world_task(before, action->task);
    const struct weir_task *is = weir_world_task(after, action->task);
    const char *why = detail_of(server, action->task);
    char name[WEIR_SERVER_TASK_NAME_MAX];
    char status[WEIR_STATUS_TEXT_MAX];
    struct weir_buf detail = WEIR_BUF_INIT(DETAIL_BYTES_MAX);
    int r;

    weir_buf_puts(&detail, weir_task_state_name((enum weir_task_state)is->state));
    if (action->kind == WEIR_ACTION_START && action->n_grants > 0) {
        weir_buf_puts(&detail, " on ");
        weir_buf_str(&detail, node_name(after, is->node));
    }
    if (action->kind == WEIR_ACTION_EVICT && action->for_whom != WEIR_NONE)
        weir_buf_printf(&detail, " for job %llu",
                        (unsigned long long)weir_world_workload(after, action->for_whom)->number);
    if (action->kind == WEIR_ACTION_NOTIFY && action->cause == WEIR_CAUSE_OVER_BUDGET) {
        weir_buf_reset(&detail);
        weir_server_put_use(after, action->task, action->amount, &detail);
    }
    if (action->kind == WEIR_ACTION_SETTLE && is->exit_status != 0)
        weir_buf_printf(&detail, " %s", weir_status_text(is->exit_status, status));
    if (action->kind == WEIR_ACTION_SETTLE && why[0] != '\0')
        weir_buf_printf(&detail, ": %s", why);
    r = weir_buf_check(&detail, "an event", err);
    if (r == 0)
        r = weir_server_event(server, WEIR_STR("weir"), event_kind(action),
                              weir_server_task_name(after, action->task, name),
                              weir_str(weir_cause_name((enum weir_cause)action->cause)),
                              weir_str(weir_task_state_name((enum weir_task_state)was->state)),
                              weir_buf_view(&detail), err);
    weir_buf_finish(&detail);
    return r;
}

/* ---- what changed ---- */

static bool same_task(const struct weir_task *a, const struct weir_task *b)
{
    return a->state == b->state && a->attempt == b->attempt && a->stop_cause == b->stop_cause &&
           a->cause == b->cause && a->exit_status == b->exit_status &&
           a->n_failures == b->n_failures && a->not_before_wall_ms == b->not_before_wall_ms &&
           a->for_whom == b->for_whom;
}

static bool same_workload(const struct weir_workload *a, const struct weir_workload *b)
{
    return a->n_waiting == b->n_waiting && a->n_running == b->n_running && a->n_done == b->n_done &&
           a->cancelled == b->cancelled && a->n_failures == b->n_failures &&
           a->not_before_wall_ms == b->not_before_wall_ms;
}

/* Whether the row says what it said in `base`, as far as the store knows it (links and gens aside).
 * A row that was not there before came in with a record of its own. */
static bool is_stored(const struct weir_world *base, const struct weir_world *list,
                      enum weir_table_id id, uint32_t index)
{
    const struct weir_task *a;
    const struct weir_task *b;

    if (!weir_table_is_live(&base->tables[id], index))
        return true;
    if (id == WEIR_TABLE_WORKLOADS) {
        const struct weir_workload *x = weir_world_workload(base, index);
        const struct weir_workload *y = weir_world_workload(list, index);

        return x->number != y->number || same_workload(x, y);
    }
    a = weir_world_task(base, index);
    b = weir_world_task(list, index);
    return a->workload != b->workload || a->member != b->member || same_task(a, b);
}

/* Rows to be written, by index. */
struct due {
    struct weir_bitset tasks;
    struct weir_bitset workloads; /* also those of tasks: their state follows from them */
};

static void collect(const struct weir_world *base, const struct weir_world *list,
                    const struct weir_world *after, struct due *due)
{
    static const enum weir_table_id ids[] = {WEIR_TABLE_WORKLOADS, WEIR_TABLE_TASKS};

    for (size_t k = 0; k < WEIR_COUNT_OF(ids); k++) {
        const struct weir_table *table = &list->tables[ids[k]];

        for (uint32_t i = 0; i < table->n_changed; i++) {
            uint32_t index = list->changes[table->changed_from + i];

            if (!weir_table_is_live(&after->tables[ids[k]], index) ||
                is_stored(base, list, ids[k], index))
                continue;
            if (ids[k] == WEIR_TABLE_TASKS) {
                weir_bitset_add(&due->tasks, index);
                index = weir_world_task(after, index)->workload;
            }
            weir_bitset_add(&due->workloads, index);
        }
    }
}

static int write_due(struct weir_server *server, const struct due *due,
                     const struct weir_world *before, const struct weir_world *after,
                     struct weir_now now, struct weir_err *err)
{
    size_t i = weir_bitset_next(&due->workloads, 0);
    int r = i < due->workloads.n_bits ? weir_server_begin(server, err) : 0;

    for (size_t t = weir_bitset_next(&due->tasks, 0); r == 0 && t < due->tasks.n_bits;
         t = weir_bitset_next(&due->tasks, t + 1))
        r = persist_task(server, before, after, (uint32_t)t, now, err);
    /* After their tasks, whose records they read. */
    for (; r == 0 && i < due->workloads.n_bits; i = weir_bitset_next(&due->workloads, i + 1))
        r = persist_workload(server, before, after, (uint32_t)i, now, err);
    return r;
}

/* Which of its GPUs failed, and how that showed. */
static void say_what_failed(const struct weir_world *world, const struct weir_task *task,
                            char text[WEIR_CLUSTER_DETAIL_MAX])
{
    snprintf(text, WEIR_CLUSTER_DETAIL_MAX, "its GPU failed");
    for (uint32_t h = task->first_hold; h != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        const struct weir_device *device = weir_world_device(world, hold->device);
        struct weir_str uuid = weir_world_string(world, device->uuid);
        struct weir_str cause = weir_world_string(world, device->health_cause);

        h = hold->next_of_task;
        if (device->health != WEIR_DEVICE_UNHEALTHY)
            continue;
        snprintf(text, WEIR_CLUSTER_DETAIL_MAX, "%.*s failed: %.*s",
                 WEIR_STR_ARG(weir_str_cut(uuid, 48)),
                 WEIR_STR_ARG(weir_str_cut(cause, WEIR_CLUSTER_DETAIL_MAX - 64)));
        return;
    }
}

/* What the driver said of its GPUs while it ran, of what jobs do wrong themselves; "": nothing. */
static void say_own_fault(struct weir_server *server, const struct weir_world *world,
                          const struct weir_task *task, char text[WEIR_CLUSTER_DETAIL_MAX])
{
    text[0] = '\0';
    for (uint32_t h = task->first_hold; text[0] == '\0' && h != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        const struct weir_device *device = weir_world_device(world, hold->device);
        uint32_t whole = device->parent != WEIR_NONE ? device->parent : hold->device;
        struct weir_str uuid = weir_world_string(world, weir_world_device(world, whole)->uuid);
        const char *said = weir_server_faults_of_job(server, uuid, task->started_mono_ms);

        h = hold->next_of_task;
        if (said != NULL)
            snprintf(text, WEIR_CLUSTER_DETAIL_MAX, "%.*s on %.*s",
                     WEIR_STR_ARG(weir_str_cut(weir_str(said), WEIR_CLUSTER_DETAIL_MAX - 64)),
                     WEIR_STR_ARG(weir_str_cut(uuid, 48)));
    }
}

/* Of one that failed by itself, and did not say why. */
static bool is_unexplained(struct weir_server *server, const struct weir_action *action)
{
    const struct weir_server_attempt *attempt = weir_server_attempt_of(server, action->task);

    return (action->cause == WEIR_CAUSE_EXITED || action->cause == WEIR_CAUSE_RETRIED) &&
           action->state != WEIR_TASK_SUCCEEDED && attempt != NULL && attempt->detail == NULL;
}

/* "": there is nothing to say. */
static void say_why_left(const struct weir_world *before, const struct weir_action *action,
                         char text[WEIR_CLUSTER_DETAIL_MAX])
{
    const struct weir_task *task = weir_world_task(before, action->task);
    struct weir_str node = node_name(before, task->node);
    uint64_t other = for_whom(before, task);

    text[0] = '\0';
    if (action->state != WEIR_TASK_QUEUED || !weir_cause_requeues(action->cause))
        return;
    if (action->cause == WEIR_CAUSE_DEVICE_FAULT)
        say_what_failed(before, task, text);
    else if (action->cause == WEIR_CAUSE_DRAINED)
        snprintf(text, WEIR_CLUSTER_DETAIL_MAX, "drained off node %.*s", WEIR_STR_ARG(node));
    else if (other != 0)
        snprintf(text, WEIR_CLUSTER_DETAIL_MAX, "%s for job %llu",
                 weir_cause_name((enum weir_cause)action->cause), (unsigned long long)other);
    else
        snprintf(text, WEIR_CLUSTER_DETAIL_MAX, "%s",
                 weir_cause_name((enum weir_cause)action->cause));
}

/* Why an attempt had to leave, or what its GPU said when it failed, is kept with its task. */
static int note_why(struct weir_server *server, const struct weir_world *before,
                    const struct weir_action *action, struct weir_err *err)
{
    struct weir_server_attempt *attempt;
    char text[WEIR_CLUSTER_DETAIL_MAX];

    if (action->kind != WEIR_ACTION_SETTLE)
        return 0;
    if (is_unexplained(server, action))
        say_own_fault(server, before, weir_world_task(before, action->task), text);
    else
        say_why_left(before, action, text);
    if (text[0] == '\0')
        return 0;
    attempt = weir_server_attempt_of(server, action->task);
    if (attempt == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for why an attempt left");
    weir_mem_free(attempt->detail);
    attempt->detail = weir_mem_strdup(text);
    return attempt->detail != NULL
               ? 0
               : weir_error(err, WEIR_E_NO_MEMORY, "no memory for why an attempt left");
}

/* Those of devices are told when they are done. */
static bool is_of_task(const struct weir_action *action)
{
    return action->task != WEIR_NONE;
}

int weir_server_persist(struct weir_server *server, const struct weir_world *before,
                        const struct weir_world *after, const struct weir_plan *plan,
                        struct weir_now now, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct due due;
    int r = 0;

    if (weir_bitset_init(&due.tasks, after->tables[WEIR_TABLE_TASKS].n_rows, &arena) < 0 ||
        weir_bitset_init(&due.workloads, after->tables[WEIR_TABLE_WORKLOADS].n_rows, &arena) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to store what changed");
    collect(server->world, before, after, &due);
    collect(before, after, after, &due);
    for (uint32_t i = 0; r == 0 && i < plan->n_actions; i++)
        if (is_of_task(&plan->actions[i]))
            r = note_why(server, before, &plan->actions[i], err);
    if (r == 0)
        r = write_due(server, &due, before, after, now, err);
    for (uint32_t i = 0; r == 0 && i < plan->n_actions; i++)
        if (plan->actions[i].kind == WEIR_ACTION_SHARE)
            r = write_share_event(server, after, &plan->actions[i], err);
        else if (is_of_task(&plan->actions[i]))
            r = write_action_event(server, before, after, &plan->actions[i], err);
    return r;
}

int weir_server_assign_attempts(struct weir_server *server, const struct weir_plan *plan,
                                struct weir_err *err)
{
    for (uint32_t i = 0; i < plan->n_actions; i++) {
        const struct weir_action *action = &plan->actions[i];
        struct weir_server_attempt *attempt;
        struct weir_cluster_ref ref;

        if (action->kind != WEIR_ACTION_START)
            continue;
        attempt = weir_server_attempt_of(server, action->task);
        if (attempt == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an attempt");
        if (server->cluster.new_ref(server->cluster.ctx, &ref, err) < 0)
            return weir_error_code(err);
        weir_server_attempt_set(attempt, &ref);
        if (weir_map_set(&server->by_serial, weir_server_serial_key(&ref.serial), action->task) < 0)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an attempt");
    }
    return 0;
}
