#include "edge/api/facts.h"

#include "base/units.h"
#include "edge/api/impl.h"
#include "edge/api/words.h"
#include "model/standing.h"

enum { MILLI = 1000, OF_MANY_MAX = 48 };

/* ---- values ---- */

void weir_api_put_id(struct weir_json_writer *w, const char *key, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    weir_json_key(w, key);
    weir_json_text(w, text);
}

void weir_api_put_time(struct weir_json_writer *w, const char *key, int64_t wall_ms)
{
    weir_json_key(w, key);
    if (wall_ms > 0 && wall_ms < INT64_MAX)
        weir_json_i64(w, wall_ms);
    else
        weir_json_null(w);
}

void weir_api_put_str(struct weir_json_writer *w, const char *key, struct weir_str text)
{
    weir_json_key(w, key);
    weir_json_str(w, text);
}

void weir_api_put_name(struct weir_json_writer *w, const char *key, struct weir_str text)
{
    weir_json_key(w, key);
    if (text.len > 0)
        weir_json_str(w, text);
    else
        weir_json_null(w);
}

static void put_text(struct weir_json_writer *w, const char *key, const char *text)
{
    weir_json_key(w, key);
    weir_json_text(w, text);
}

static void put_u64(struct weir_json_writer *w, const char *key, uint64_t value)
{
    weir_json_key(w, key);
    weir_json_u64(w, value);
}

static void put_bool(struct weir_json_writer *w, const char *key, bool value)
{
    weir_json_key(w, key);
    weir_json_bool(w, value);
}

static void put_milli(struct weir_json_writer *w, int64_t milli)
{
    if (milli % MILLI == 0)
        weir_json_i64(w, milli / MILLI);
    else
        weir_json_f64(w, (double)milli / MILLI);
}

void weir_api_put_amount(struct weir_json_writer *w, const struct weir_world *world,
                         uint32_t resource, int64_t amount)
{
    if (amount == INT64_MAX)
        weir_json_null(w);
    else if (weir_world_resource(world, resource)->kind == WEIR_RESOURCE_MEMORY)
        weir_json_i64(w, amount);
    else
        put_milli(w, amount);
}

/* {"gpu": 2, "cpu": 0.5, "memory": 1024}: GPUs and CPUs, bytes of memory. What is `left_out` does
 * not appear. */
static void put_amounts(struct weir_json_writer *w, const char *key, const struct weir_world *world,
                        const struct weir_amounts *amounts, int64_t left_out)
{
    weir_json_key(w, key);
    weir_json_object_begin(w);
    for (uint32_t r = weir_world_first(world, WEIR_TABLE_RESOURCES); r != WEIR_NONE;
         r = weir_world_after(world, WEIR_TABLE_RESOURCES, r)) {
        if (amounts->of[r] == left_out)
            continue;
        weir_json_key_str(w, weir_world_string(world, weir_world_resource(world, r)->name));
        weir_api_put_amount(w, world, r, amounts->of[r]);
    }
    weir_json_object_end(w);
}

/* "KEY,KEY" or "KEY:mgpu:bytes:slots,…" as a list of keys. */
static void put_keys(struct weir_json_writer *w, const char *key, struct weir_str list)
{
    struct weir_str item;

    weir_json_key(w, key);
    weir_json_array_begin(w);
    while (list.len > 0 && weir_str_split(&list, ',', &item)) {
        ptrdiff_t end = weir_str_find_char(item, ':');

        weir_json_str(w, weir_str_sub(item, 0, end < 0 ? item.len : (size_t)end));
    }
    weir_json_array_end(w);
}

/* ---- workloads ---- */

/* Whether the status is one that the command gave. */
static bool has_exit_status(uint32_t state, uint32_t cause, uint32_t attempt)
{
    return weir_task_state_is_final(state) && state != WEIR_TASK_LOST && attempt > 0 &&
           cause != WEIR_CAUSE_NOT_STARTED;
}

static void put_exit_status(struct weir_json_writer *w, uint32_t state, uint32_t cause,
                            uint32_t attempt, int32_t exit_status)
{
    weir_json_key(w, "exit_status");
    if (has_exit_status(state, cause, attempt))
        weir_json_i64(w, exit_status);
    else
        weir_json_null(w);
}

/* Why the first of its tasks is stopping. */
static uint32_t stop_cause(const struct weir_world *world, uint32_t row)
{
    for (uint32_t t = weir_world_workload(world, row)->first_task; t != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(world, t);

        if (task->state == WEIR_TASK_STOPPING)
            return task->stop_cause;
        t = task->next_in_workload;
    }
    return WEIR_CAUSE_NONE;
}

/* The first of its tasks that holds something; WEIR_NONE: none does. */
static uint32_t first_holding(const struct weir_world *world, const struct weir_workload *w)
{
    uint32_t t = w->n_running > 0 ? w->first_task : WEIR_NONE;

    while (t != WEIR_NONE && !weir_task_state_holds(weir_world_task(world, t)->state))
        t = weir_world_task(world, t)->next_in_workload;
    return t;
}

/* The instances that it holds, or asks for by profile. */
static void put_profile(struct weir_json_writer *w, const struct weir_world *world,
                        const struct weir_shape *shape, uint32_t hold)
{
    uint32_t profile = shape != NULL ? shape->mig_profile : WEIR_NONE;

    if (hold != WEIR_NONE)
        profile = weir_world_device(world, weir_world_hold(world, hold)->device)->mig_profile;
    weir_api_put_name(w, "mig_profile",
                      profile != WEIR_NONE ? weir_world_mig_name(world, profile) : WEIR_STR(""));
}

/* Its part or its budget of a GPU that it shares, and what walls it off there. */
static void put_sharing(struct weir_json_writer *w, const struct weir_world *world, uint32_t row)
{
    const struct weir_workload *job = row != WEIR_NONE ? weir_world_workload(world, row) : NULL;
    const struct weir_shape *shape = NULL;
    uint32_t task = job != NULL ? first_holding(world, job) : WEIR_NONE;
    uint32_t hold = task != WEIR_NONE ? weir_world_task(world, task)->first_hold : WEIR_NONE;
    bool is_part;

    if (job != NULL)
        shape = weir_world_shape(world, weir_world_role(world, job->first_role)->shape);
    is_part = shape != NULL && shape->n_devices > 0 && shape->device_mgpu < WEIR_MGPU_PER_GPU;
    weir_json_key(w, "gpu_memory_bytes");
    if (is_part && shape->device_memory_bytes > 0)
        weir_json_i64(w, shape->device_memory_bytes);
    else
        weir_json_null(w);
    weir_json_key(w, "gpu_part");
    if (is_part && shape->device_memory_bytes == 0)
        put_milli(w, shape->device_mgpu);
    else
        weir_json_null(w);
    put_profile(w, world, shape, hold);
    weir_api_put_name(w, "isolation",
                      hold == WEIR_NONE
                          ? WEIR_STR("")
                          : weir_str(weir_isolation_name(
                                (enum weir_isolation)weir_world_hold_isolation(world, hold))));
}

/* "Resources (preempted for job 89)": why it waits, and waits again. */
static void put_waiting(struct weir_json_writer *w, const char *why, struct weir_str stopped)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_WORDS_END_MAX);

    weir_buf_puts(&text, why != NULL ? why : "");
    if (stopped.len > 0)
        weir_buf_printf(&text, why != NULL ? " (%.*s)" : "%.*s", WEIR_STR_ARG(stopped));
    weir_json_str(w, weir_buf_view(&text));
}

static bool is_over(const struct weir_world *world, const struct weir_hold *hold)
{
    (void)world;
    return hold->n_over > 0;
}

static bool is_bad(const struct weir_world *world, const struct weir_hold *hold)
{
    return weir_world_device(world, hold->device)->health != WEIR_DEVICE_HEALTHY;
}

/* The first of its holds of which that is so, or WEIR_NONE. */
static uint32_t first_hold(const struct weir_world *world, const struct weir_workload *job,
                           bool (*is_so)(const struct weir_world *world,
                                         const struct weir_hold *hold))
{
    const struct weir_task *task;

    for (uint32_t t = job->n_running > 0 ? job->first_task : WEIR_NONE; t != WEIR_NONE;
         t = task->next_in_workload) {
        task = weir_world_task(world, t);
        for (uint32_t h = task->first_hold; h != WEIR_NONE;
             h = weir_world_hold(world, h)->next_of_task)
            if (is_so(world, weir_world_hold(world, h)))
                return h;
    }
    return WEIR_NONE;
}

/* "its GPU GPU-8f1c… is lost: the driver does not list it" */
static void put_bad_gpu(const struct weir_world *world, uint32_t hold, struct weir_buf *text)
{
    const struct weir_device *device =
        weir_world_device(world, weir_world_hold(world, hold)->device);
    struct weir_str cause = weir_world_string(world, device->health_cause);

    weir_buf_puts(text, "its GPU ");
    weir_buf_str(text, weir_world_string(world, device->uuid));
    weir_buf_printf(text, " is %s",
                    weir_device_health_name((enum weir_device_health)device->health));
    if (cause.len > 0)
        weir_buf_printf(text, ": %.*s", WEIR_STR_ARG(cause));
}

static void put_over(const struct weir_world *world, uint32_t hold, struct weir_buf *text)
{
    weir_buf_puts(text, "over its GPU memory budget: ");
    weir_units_format_bytes(weir_world_hold(world, hold)->used_bytes, text);
    weir_buf_puts(text, " of ");
    weir_units_format_bytes(weir_world_hold(world, hold)->memory_bytes, text);
}

/* What is wrong while it runs; or null. */
static void put_warning(struct weir_json_writer *w, const struct weir_world *world, uint32_t row)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_WORDS_END_MAX);
    const struct weir_workload *job = row != WEIR_NONE ? weir_world_workload(world, row) : NULL;
    uint32_t bad = job != NULL ? first_hold(world, job, is_bad) : WEIR_NONE;
    uint32_t over = job != NULL ? first_hold(world, job, is_over) : WEIR_NONE;

    if (bad != WEIR_NONE)
        put_bad_gpu(world, bad, &text);
    else if (over != WEIR_NONE)
        put_over(world, over, &text);
    if (text.len > 0)
        weir_json_str(w, weir_buf_view(&text));
    else
        weir_json_null(w);
}

static void put_reason(struct weir_json_writer *w, const struct weir_api *api,
                       const struct weir_workload_record *record, uint32_t row,
                       const struct weir_api_task_counts *counts)
{
    char text[WEIR_WORDS_END_MAX];
    char of_many[WEIR_WORDS_END_MAX + OF_MANY_MAX];
    const char *how;
    const struct weir_verdict *verdict =
        row != WEIR_NONE ? weir_api_index_verdict(&api->index, row) : NULL;

    weir_json_key(w, "reason");
    if (weir_task_state_is_final(record->state)) {
        how = weir_words_end_and_why(record->state, record->cause, record->exit_status,
                                     record->detail, text);
        if (counts != NULL && record->state == WEIR_TASK_FAILED) {
            snprintf(of_many, sizeof(of_many), "%u of %u failed: %s", counts->n[WEIR_TASK_FAILED],
                     record->n_tasks, how);
            how = of_many;
        }
        weir_json_text(w, how);
        return;
    }
    if (record->state == WEIR_TASK_STOPPING && row != WEIR_NONE)
        weir_json_text(w, weir_words_stopping(stop_cause(api->index.world, row)));
    else if (record->state == WEIR_TASK_QUEUED && (verdict != NULL || record->detail.len > 0))
        put_waiting(w, verdict != NULL ? weir_words_waiting(api->index.plan, verdict) : NULL,
                    record->detail);
    else
        put_warning(w, api->index.world, row);
}

static void put_counts(struct weir_json_writer *w, const struct weir_api_task_counts *counts)
{
    weir_json_key(w, "tasks_by_state");
    weir_json_object_begin(w);
    for (int s = 0; s < WEIR_TASK_STATE_MAX; s++) {
        if (counts->n[s] == 0)
            continue;
        put_u64(w, weir_task_state_name((enum weir_task_state)s), counts->n[s]);
    }
    weir_json_object_end(w);
}

void weir_api_put_workload(struct weir_json_writer *w, const struct weir_api *api,
                           const struct weir_workload_record *record,
                           const struct weir_api_task_counts *counts)
{
    bool is_final = weir_task_state_is_final(record->state);
    uint32_t row = is_final ? WEIR_NONE : weir_api_index_find(&api->index, record->number);

    weir_api_put_id(w, "id", record->number);
    weir_api_put_str(w, "name", record->name);
    weir_api_put_str(w, "queue", record->queue);
    weir_api_put_str(w, "owner", record->owner);
    put_text(w, "class", weir_class_name((enum weir_class)record->class));
    weir_json_key(w, "priority");
    weir_json_i64(w, record->priority);
    put_text(w, "state", weir_task_state_name((enum weir_task_state)record->state));
    put_u64(w, "attempt", record->attempt);
    put_exit_status(w, record->state, record->cause, record->attempt, record->exit_status);
    put_keys(w, "gpus", record->gpus);
    put_sharing(w, api->index.world, row);
    weir_api_put_name(w, "node", record->node);
    weir_api_put_time(w, "submitted_ms", record->submitted_wall_ms);
    weir_api_put_time(w, "started_ms", record->started_wall_ms);
    weir_api_put_time(w, "ended_ms", record->ended_wall_ms);
    put_reason(w, api, record, row, counts);
    weir_api_put_name(w, "stopped",
                      record->state == WEIR_TASK_QUEUED ? record->detail : WEIR_STR(""));
    put_u64(w, "members", record->n_tasks);
    put_bool(w, "array", record->independent != 0);
    put_bool(w, "demo", record->is_demo != 0);
    if (counts != NULL)
        put_counts(w, counts);
}

struct counting {
    struct weir_api_task_counts counts;
    uint32_t n;
};

static int count_task(void *arg, const struct weir_task_record *task)
{
    struct counting *counting = arg;

    counting->n++;
    if (task->state < WEIR_TASK_STATE_MAX)
        counting->counts.n[task->state]++;
    return 0;
}

int weir_api_count_tasks(const struct weir_api *api, const struct weir_workload_record *record,
                         struct weir_api_task_counts *ret_counts, uint32_t *n_read,
                         struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(api);
    const struct weir_world *world = api->index.world;
    uint32_t row = weir_api_index_find(&api->index, record->number);
    struct counting counting = {0};
    int r = 0;

    if (row != WEIR_NONE) {
        for (uint32_t t = weir_world_workload(world, row)->first_task; t != WEIR_NONE;) {
            const struct weir_task *task = weir_world_task(world, t);

            counting.counts.n[task->state]++;
            t = task->next_in_workload;
        }
    } else {
        r = store->each_task(store->ctx, record->number, count_task, &counting, err);
        if (r < 0)
            return r;
        if (counting.n < record->n_tasks)
            counting.counts.n[WEIR_TASK_QUEUED] += record->n_tasks - counting.n;
    }
    *n_read += counting.n;
    *ret_counts = counting.counts;
    return 0;
}

/* ---- tasks ---- */

void weir_api_put_task(struct weir_json_writer *w, const struct weir_task_record *task)
{
    bool is_final = weir_task_state_is_final(task->state);
    char text[WEIR_WORDS_END_MAX];

    weir_json_object_begin(w);
    put_u64(w, "member", task->member);
    put_text(w, "state", weir_task_state_name((enum weir_task_state)task->state));
    put_u64(w, "attempt", task->attempt);
    put_exit_status(w, task->state, task->cause, task->attempt, task->exit_status);
    put_keys(w, "gpus", task->grants);
    weir_api_put_name(w, "node", task->node);
    weir_api_put_time(w, "started_ms", task->started_wall_ms);
    weir_api_put_time(w, "ended_ms", is_final ? task->ended_wall_ms : 0);
    weir_json_key(w, "reason");
    if (is_final)
        weir_json_text(w, weir_words_end_and_why(task->state, task->cause, task->exit_status,
                                                 task->detail, text));
    else if (task->state == WEIR_TASK_STOPPING)
        weir_json_text(w, weir_words_stopping(task->stop_cause));
    else
        weir_json_null(w);
    weir_json_object_end(w);
}

/* ---- queues ---- */

void weir_api_put_shortfall(struct weir_json_writer *w, const struct weir_world *world,
                            const struct weir_shortfall *shortfall)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_WORDS_END_MAX);

    weir_words_shortfall(world, shortfall, &text);
    weir_api_put_name(w, "warning", weir_buf_view(&text));
}

void weir_api_put_queue_facts(struct weir_json_writer *w, const struct weir_api *api,
                              uint32_t queue)
{
    const struct weir_world *world = api->index.world;
    const struct weir_queue *q = weir_world_queue(world, queue);
    struct weir_shortfall shortfall = weir_guarantee_shortfall(world, queue);

    weir_api_put_str(w, "name", weir_world_string(world, q->name));
    weir_api_put_name(w, "parent",
                      q->parent == WEIR_NONE
                          ? WEIR_STR("")
                          : weir_world_string(world, weir_world_queue(world, q->parent)->name));
    weir_json_key(w, "priority");
    weir_json_i64(w, q->priority);
    put_u64(w, "weight", q->weight);
    put_text(w, "isolation", weir_isolation_name((enum weir_isolation)q->isolation));
    put_text(w, "over_budget", weir_over_budget_name(weir_world_over_budget(world, queue)));
    put_bool(w, "preemptible", q->preemptible != 0);
    weir_json_key(w, "max_run_ms");
    if (q->run_limit_ms == INT64_MAX)
        weir_json_null(w);
    else
        weir_json_i64(w, q->run_limit_ms);
    put_amounts(w, "guaranteed", world, &q->guaranteed, 0);
    put_amounts(w, "limit", world, &q->limit, INT64_MAX);
    put_amounts(w, "held", world, &q->held, 0);
    put_amounts(w, "wanted", world, &q->wanted, 0);
    put_u64(w, "waiting", weir_api_index_waiting(&api->index, queue));
    weir_api_put_shortfall(w, world, &shortfall);
    weir_api_put_time(w, "created_ms", q->created_wall_ms);
}

void weir_api_put_queue(struct weir_json_writer *w, const struct weir_api *api, uint32_t queue)
{
    weir_json_object_begin(w);
    weir_api_put_queue_facts(w, api, queue);
    weir_json_object_end(w);
}

/* ---- devices and nodes ---- */

struct holder {
    struct weir_json_writer *w;
};

static int put_holder_name(void *arg, const struct weir_workload_record *record)
{
    struct holder *holder = arg;

    weir_api_put_str(holder->w, "name", record->name);
    weir_api_put_str(holder->w, "owner", record->owner);
    return 0;
}

static void put_holders(struct weir_json_writer *w, const struct weir_api *api,
                        const struct weir_device *device)
{
    const struct weir_store *store = weir_api_store(api);
    const struct weir_world *world = api->index.world;
    struct holder holder = {w};

    weir_json_key(w, "holders");
    weir_json_array_begin(w);
    for (uint32_t h = device->first_hold; h != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        const struct weir_task *task = weir_world_task(world, hold->task);
        uint64_t number = weir_world_workload(world, task->workload)->number;

        weir_json_object_begin(w);
        weir_api_put_id(w, "id", number);
        store->get_workload(store->ctx, number, put_holder_name, &holder, NULL);
        put_u64(w, "member", task->member);
        weir_json_key(w, "gpus");
        put_milli(w, hold->part_mgpu);
        weir_json_key(w, "memory_bytes");
        if (hold->memory_bytes > 0)
            weir_json_i64(w, hold->memory_bytes);
        else
            weir_json_null(w);
        put_text(w, "isolation",
                 weir_isolation_name((enum weir_isolation)weir_world_hold_isolation(world, h)));
        weir_json_object_end(w);
        h = hold->next_of_device;
    }
    weir_json_array_end(w);
}

/* The largest number stands for one that is not known. */
static void put_u32_or_null(struct weir_json_writer *w, const char *key, uint32_t value)
{
    weir_json_key(w, key);
    if (value == UINT32_MAX)
        weir_json_null(w);
    else
        weir_json_u64(w, value);
}

void weir_api_put_gpu_members(struct weir_json_writer *w, const struct weir_api *api,
                              uint32_t device)
{
    const struct weir_world *world = api->index.world;
    const struct weir_device *d = weir_world_device(world, device);
    const struct weir_node *node = weir_world_node(world, d->node);

    weir_api_put_name(w, "key", weir_world_string(world, d->uuid)); /* one that is made has none */
    weir_api_put_str(w, "model", weir_world_string(world, d->model));
    weir_api_put_str(w, "class", weir_world_gpu_class_name(world, d->gpu_class));
    weir_api_put_str(w, "node", weir_world_string(world, node->name));
    put_u32_or_null(w, "index", d->index);
    put_text(w, "state", weir_device_standing_name(weir_device_standing(d, node)));
    put_text(w, "health", weir_device_health_name((enum weir_device_health)d->health));
    weir_api_put_name(w, "cause", weir_world_string(world, d->health_cause));
    put_bool(w, "cordoned", d->cordoned != 0);
    put_holders(w, api, d);
    put_u64(w, "foreign_processes", d->n_foreign);
    weir_json_key(w, "foreign_memory_bytes");
    weir_json_i64(w, d->memory_foreign_bytes);
    weir_json_key(w, "memory_bytes");
    weir_json_i64(w, d->memory_bytes);
    weir_json_key(w, "held");
    put_milli(w, d->held_mgpu);
    weir_json_key(w, "held_memory_bytes");
    weir_json_i64(w, d->held_memory_bytes);
    put_u32_or_null(w, "sharers_max", d->max_sharers);
    put_text(w, "sharers_isolation", weir_isolation_name((enum weir_isolation)d->isolation));
    weir_json_key(w, "mps");
    if (d->can_mps != 0 || d->mps != WEIR_MPS_OFF)
        weir_json_str(w, weir_str(weir_mps_name((enum weir_mps)d->mps)));
    else
        weir_json_null(w);
    weir_api_put_gpu_mig(w, world, d);
}

void weir_api_put_gpu(struct weir_json_writer *w, const struct weir_api *api, uint32_t device)
{
    weir_json_object_begin(w);
    weir_api_put_gpu_members(w, api, device);
    weir_json_object_end(w);
}

/* Instances are parts of GPUs. */
static uint32_t n_gpus(const struct weir_world *world, const struct weir_node *node)
{
    uint32_t n = 0;

    for (uint32_t d = node->first_device; d != WEIR_NONE;
         d = weir_world_device(world, d)->next_on_node)
        n += weir_world_device(world, d)->kind != WEIR_DEVICE_MIG;
    return n;
}

void weir_api_put_node(struct weir_json_writer *w, const struct weir_api *api, uint32_t node)
{
    const struct weir_world *world = api->index.world;
    const struct weir_node *n = weir_world_node(world, node);

    weir_json_object_begin(w);
    weir_api_put_str(w, "name", weir_world_string(world, n->name));
    weir_api_put_name(w, "pool", weir_world_string(world, n->pool));
    put_text(w, "state", weir_node_standing_name(weir_node_standing(n)));
    put_text(w, "phase", weir_node_phase_name((enum weir_node_phase)n->phase));
    weir_api_put_name(w, "cause", weir_world_string(world, n->phase_cause));
    put_u64(w, "gpus", n_gpus(world, n));
    put_amounts(w, "capacity", world, &n->capacity, 0);
    put_amounts(w, "held", world, &n->held, 0);
    weir_json_object_end(w);
}

/* ---- events ---- */

void weir_api_put_event(struct weir_json_writer *w, const struct weir_event_record *event)
{
    weir_json_object_begin(w);
    weir_json_key(w, "seq");
    weir_json_i64(w, event->seq);
    weir_api_put_time(w, "at_ms", event->wall_ms);
    weir_api_put_str(w, "actor", event->actor);
    weir_api_put_str(w, "kind", event->kind);
    weir_api_put_str(w, "subject", event->subject);
    weir_api_put_name(w, "cause", event->cause);
    weir_api_put_name(w, "before", event->before);
    weir_api_put_name(w, "after", event->after);
    weir_json_object_end(w);
}
