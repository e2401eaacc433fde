/* The whole state in one document, of one moment: it is made at once, and sent as it is read. */
#include "base/clock.h"
#include "base/count.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/nouns.h"
#include "edge/api/spec.h"

enum { SNAPSHOT_BYTES_MAX = 256 * 1024 * 1024, SNAPSHOT_VERSION = 1 };

struct taking {
    struct weir_api *api;
    struct weir_json_writer *w;
    struct weir_arena scratch;
    const uint32_t *queues;
    uint32_t n_queues;
    struct weir_err *err;
};

static void put_nouns(struct taking *t, const char *key, const struct weir_api_noun *noun,
                      struct weir_arena *arena)
{
    uint32_t n = 0;
    const uint32_t *rows = weir_api_noun_rows(noun, t->api->index.world, arena, &n);

    weir_json_key(t->w, key);
    weir_json_array_begin(t->w);
    for (uint32_t i = 0; rows != NULL && i < n; i++)
        noun->put(t->w, t->api, rows[i]);
    weir_json_array_end(t->w);
}

/* ---- queues ---- */

static int put_queue(void *arg, const struct weir_queue_record *record)
{
    struct taking *t = arg;
    const struct weir_world *world = t->api->index.world;
    int r;

    weir_arena_reset(&t->scratch);
    weir_json_object_begin(t->w);
    for (uint32_t i = 0; i < t->n_queues; i++)
        if (weir_str_eq(record->name,
                        weir_world_string(world, weir_world_queue(world, t->queues[i])->name)))
            weir_api_put_queue_facts(t->w, t->api, t->queues[i]);
    r = weir_api_put_spec(t->w, record->spec, true, &t->scratch, t->err);
    weir_json_object_end(t->w);
    return r;
}

static int put_queues(struct taking *t, struct weir_arena *arena, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(t->api);
    int r;

    t->queues = weir_api_noun_rows(&weir_api_queues, t->api->index.world, arena, &t->n_queues);
    if (t->queues == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a snapshot");
    weir_json_key(t->w, "queues");
    weir_json_array_begin(t->w);
    r = store->each_queue(store->ctx, put_queue, t, err);
    weir_json_array_end(t->w);
    return r;
}

/* ---- workloads ---- */

static int put_live_task(void *arg, const struct weir_task_record *task)
{
    struct taking *t = arg;

    if (!weir_task_state_is_final(task->state))
        weir_api_put_task(t->w, task);
    return 0;
}

static int put_workload(void *arg, const struct weir_workload_record *record)
{
    struct taking *t = arg;
    const struct weir_store *store = weir_api_store(t->api);
    struct weir_api_task_counts counts;
    uint32_t n_read = 0;
    int r = 0;

    weir_arena_reset(&t->scratch);
    if (record->n_tasks > 1)
        r = weir_api_count_tasks(t->api, record, &counts, &n_read, t->err);
    if (r < 0)
        return r;
    weir_json_object_begin(t->w);
    weir_api_put_workload(t->w, t->api, record, record->n_tasks > 1 ? &counts : NULL);
    r = weir_api_put_spec(t->w, record->spec, false, &t->scratch, t->err);
    if (r < 0)
        return r;
    weir_json_key(t->w, "tasks");
    weir_json_array_begin(t->w);
    r = store->each_task(store->ctx, record->number, put_live_task, t, t->err);
    weir_json_array_end(t->w);
    weir_json_object_end(t->w);
    return r;
}

static int put_workloads(struct taking *t, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(t->api);
    struct weir_workload_filter filter = {.state = -1};
    int r;

    weir_json_key(t->w, "workloads");
    weir_json_array_begin(t->w);
    r = store->each_workload(store->ctx, &filter, true, put_workload, t, err);
    if (r == 0)
        weir_json_array_end(t->w);
    return r;
}

/* ---- all of it ---- */

static void put_policy(struct weir_json_writer *w, const struct weir_policy *policy)
{
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {
        {"fault_retries", policy->fault_retries},
        {"backoff_ms", policy->backoff_ms},
        {"backoff_max_ms", policy->backoff_max_ms},
        {"start_backoff_ms", policy->start_backoff_ms},
        {"prior_p50_ms", policy->prior_p50_ms},
        {"prior_p90_ms", policy->prior_p90_ms},
        {"stop_grace_ms", policy->stop_grace_ms},
        {"verdict_ms", policy->verdict_ms},
        {"claim_ms", policy->claim_ms},
    };

    weir_json_key(w, "policy");
    weir_json_object_begin(w);
    weir_json_key(w, "actions");
    weir_json_u64(w, policy->actions);
    for (size_t i = 0; i < WEIR_COUNT_OF(fields); i++) {
        weir_json_key(w, fields[i].name);
        weir_json_i64(w, fields[i].value);
    }
    weir_json_object_end(w);
}

static int take(struct taking *t, struct weir_api_call *call, struct weir_err *err)
{
    struct weir_api *api = call->api;
    int r;

    weir_json_object_begin(t->w);
    weir_json_key(t->w, "version");
    weir_json_u64(t->w, SNAPSHOT_VERSION);
    weir_api_put_str(t->w, "weir", WEIR_STR(WEIR_VERSION));
    weir_api_put_time(t->w, "taken_ms", weir_clock_wall_ms());
    weir_json_key(t->w, "event_seq");
    weir_json_i64(t->w, api->last_seq);
    put_policy(t->w, api->service.policy(api->service.ctx));
    put_nouns(t, "nodes", &weir_api_nodes, call->arena);
    put_nouns(t, "gpus", &weir_api_gpus, call->arena);
    r = put_queues(t, call->arena, err);
    if (r == 0)
        r = put_workloads(t, err);
    if (r == 0)
        weir_json_object_end(t->w);
    return r;
}

int weir_api_get_snapshot(struct weir_api_call *call, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf body = WEIR_BUF_INIT(SNAPSHOT_BYTES_MAX);
    struct weir_json_writer w;
    struct taking t = {.api = call->api, .w = &w, .scratch = WEIR_ARENA_INIT, .err = err};
    int r = weir_api_index_make(&call->api->index, &call->api->service, err);

    if (r < 0)
        return r;
    weir_json_writer_init(&w, &body, false);
    r = take(&t, call, err);
    weir_arena_finish(&t.scratch);
    if (r == 0)
        r = weir_json_writer_end(&w, "the snapshot", err);
    if (r < 0)
        return r;
    weir_buf_putc(&body, '\n');
    return weir_api_stream_body(call, "application/json", &body, err);
}
