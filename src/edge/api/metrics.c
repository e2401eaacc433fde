/* weir's own figures. Labels are names of queues, GPU classes, states and routes: none of them
 * grows with the work. */
#include "base/count.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/nouns.h"
#include "fmt/prom.h"
#include "model/standing.h"

enum { METRICS_BYTES_MAX = 16 * 1024 * 1024, MILLI = 1000, CLASSES_MAX = WEIR_RESOURCE_MAX };

static struct weir_prom_label label(const char *name, struct weir_str value)
{
    return (struct weir_prom_label){weir_str(name), value};
}

/* ---- workloads ---- */

static enum weir_task_state state_of(const struct weir_world *world, const struct weir_workload *w)
{
    enum weir_task_state best = WEIR_TASK_QUEUED;

    if (w->n_running == 0)
        return WEIR_TASK_QUEUED;
    for (uint32_t t = w->first_task; t != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(world, t);

        if (task->state == WEIR_TASK_RUNNING)
            return WEIR_TASK_RUNNING;
        if (task->state == WEIR_TASK_STARTING)
            best = WEIR_TASK_STARTING;
        else if (task->state == WEIR_TASK_STOPPING && best == WEIR_TASK_QUEUED)
            best = WEIR_TASK_STOPPING;
        t = task->next_in_workload;
    }
    return best;
}

static void put_workloads(struct weir_prom *prom, const struct weir_world *world)
{
    uint32_t n[WEIR_TASK_STOPPING + 1] = {0};

    for (uint32_t row = weir_world_first(world, WEIR_TABLE_WORKLOADS); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_WORKLOADS, row)) {
        const struct weir_workload *w = weir_world_workload(world, row);

        if (w->n_done < w->n_tasks)
            n[state_of(world, w)]++;
    }
    weir_prom_family(prom, "weir_workloads", WEIR_PROM_GAUGE,
                     "Workloads that have not ended, by state.");
    for (int s = 0; s <= WEIR_TASK_STOPPING; s++) {
        struct weir_prom_label labels[] = {
            label("state", weir_str(weir_task_state_name((enum weir_task_state)s)))};

        weir_prom_i64(prom, "", labels, 1, n[s]);
    }
}

/* ---- queues ---- */

static void put_amounts(struct weir_prom *prom, const struct weir_world *world,
                        const uint32_t *queues, uint32_t n, const char *name, const char *help,
                        size_t offset)
{
    weir_prom_family(prom, name, WEIR_PROM_GAUGE, help);
    for (uint32_t i = 0; i < n; i++) {
        const struct weir_queue *queue = weir_world_queue(world, queues[i]);
        const struct weir_amounts *amounts =
            (const struct weir_amounts *)((const char *)queue + offset);

        for (uint32_t r = weir_world_first(world, WEIR_TABLE_RESOURCES); r != WEIR_NONE;
             r = weir_world_after(world, WEIR_TABLE_RESOURCES, r)) {
            const struct weir_resource *resource = weir_world_resource(world, r);
            struct weir_prom_label labels[] = {
                label("queue", weir_world_string(world, queue->name)),
                label("resource", weir_world_string(world, resource->name))};

            if (amounts->of[r] == INT64_MAX || (amounts->of[r] == 0 && r != WEIR_RES_GPU))
                continue;
            if (resource->kind == WEIR_RESOURCE_MEMORY)
                weir_prom_i64(prom, "", labels, 2, amounts->of[r]);
            else
                weir_prom_f64(prom, "", labels, 2, (double)amounts->of[r] / MILLI);
        }
    }
}

static int put_queues(struct weir_prom *prom, struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_world *world = call->api->index.world;
    uint32_t n = 0;
    const uint32_t *queues = weir_api_noun_rows(&weir_api_queues, world, call->arena, &n);

    if (queues == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the metrics");
    put_amounts(prom, world, queues, n, "weir_queue_guaranteed",
                "What a queue gets whenever it asks (GPUs, CPUs, bytes).",
                offsetof(struct weir_queue, guaranteed));
    put_amounts(prom, world, queues, n, "weir_queue_limit", "The most a queue may hold.",
                offsetof(struct weir_queue, limit));
    put_amounts(prom, world, queues, n, "weir_queue_held", "What its running workloads hold.",
                offsetof(struct weir_queue, held));
    put_amounts(prom, world, queues, n, "weir_queue_wanted", "What its waiting workloads ask for.",
                offsetof(struct weir_queue, wanted));
    weir_prom_family(prom, "weir_queue_waiting", WEIR_PROM_GAUGE,
                     "Workloads of a queue that wait, whole or in part.");
    for (uint32_t i = 0; i < n; i++) {
        struct weir_prom_label labels[] = {
            label("queue", weir_world_string(world, weir_world_queue(world, queues[i])->name))};

        weir_prom_i64(prom, "", labels, 1, weir_api_index_waiting(&call->api->index, queues[i]));
    }
    return 0;
}

/* ---- nodes and GPUs ---- */

static void put_nodes(struct weir_prom *prom, const struct weir_world *world)
{
    uint32_t n[WEIR_NODE_STANDING_MAX] = {0};

    for (uint32_t row = weir_world_first(world, WEIR_TABLE_NODES); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_NODES, row))
        n[weir_node_standing(weir_world_node(world, row))]++;
    weir_prom_family(prom, "weir_nodes", WEIR_PROM_GAUGE, "Nodes by state.");
    for (int s = 0; s < WEIR_NODE_STANDING_MAX; s++) {
        struct weir_prom_label labels[] = {
            label("state", weir_str(weir_node_standing_name((enum weir_node_standing)s)))};

        weir_prom_i64(prom, "", labels, 1, n[s]);
    }
}

static void put_gpus(struct weir_prom *prom, const struct weir_world *world)
{
    uint32_t n[CLASSES_MAX][WEIR_DEVICE_STANDING_MAX] = {{0}};
    bool has[CLASSES_MAX] = {false};

    for (uint32_t row = weir_world_first(world, WEIR_TABLE_DEVICES); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_DEVICES, row)) {
        const struct weir_device *d = weir_world_device(world, row);

        if (d->kind == WEIR_DEVICE_MIG)
            continue;
        has[d->gpu_class] = true;
        n[d->gpu_class][weir_device_standing(d, weir_world_node(world, d->node))]++;
    }
    weir_prom_family(prom, "weir_gpus", WEIR_PROM_GAUGE, "GPUs by class and state.");
    for (uint32_t c = 0; c < CLASSES_MAX; c++) {
        for (int s = 0; has[c] && s < WEIR_DEVICE_STANDING_MAX; s++) {
            struct weir_prom_label labels[] = {
                label("class", weir_world_gpu_class_name(world, c)),
                label("state", weir_str(weir_device_standing_name((enum weir_device_standing)s)))};

            weir_prom_i64(prom, "", labels, 2, n[c][s]);
        }
    }
}

static void put_instances(struct weir_prom *prom, const struct weir_world *world)
{
    uint32_t n[CLASSES_MAX][WEIR_DEVICE_STANDING_MAX] = {{0}};
    bool has[CLASSES_MAX] = {false};

    for (uint32_t row = weir_world_first(world, WEIR_TABLE_DEVICES); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_DEVICES, row)) {
        const struct weir_device *d = weir_world_device(world, row);

        if (d->kind != WEIR_DEVICE_MIG)
            continue;
        has[d->mig_profile] = true;
        n[d->mig_profile][weir_device_standing(d, weir_world_node(world, d->node))]++;
    }
    weir_prom_family(prom, "weir_gpu_instances", WEIR_PROM_GAUGE,
                     "MIG instances by profile and state.");
    for (uint32_t c = 0; c < CLASSES_MAX; c++) {
        for (int s = 0; has[c] && s < WEIR_DEVICE_STANDING_MAX; s++) {
            struct weir_prom_label labels[] = {
                label("profile", weir_world_mig_name(world, c)),
                label("state", weir_str(weir_device_standing_name((enum weir_device_standing)s)))};

            weir_prom_i64(prom, "", labels, 2, n[c][s]);
        }
    }
}

/* ---- the server ---- */

static void put_single(struct weir_prom *prom, const char *name, enum weir_prom_type type,
                       const char *help, uint64_t value)
{
    weir_prom_family(prom, name, type, help);
    weir_prom_i64(prom, "", NULL, 0, (int64_t)value);
}

static void put_requests(struct weir_prom *prom, const struct weir_api *api)
{
    static const char *const classes[] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};

    weir_prom_family(prom, "weir_http_requests_total", WEIR_PROM_COUNTER,
                     "Answers by route and class of status.");
    for (uint32_t i = 0; i <= weir_api_n_routes; i++) {
        bool is_route = i < weir_api_n_routes;
        const uint64_t *n = is_route ? api->n_answers[i] : api->n_unrouted;
        const char *method = is_route ? weir_http1_method_name(weir_api_routes[i].method) : "other";

        for (size_t c = 0; c < WEIR_COUNT_OF(classes); c++) {
            struct weir_prom_label labels[] = {
                label("method", weir_str(method)),
                label("route", weir_str(is_route ? weir_api_routes[i].path : "other")),
                label("status", weir_str(classes[c]))};

            if (n[c] > 0)
                weir_prom_i64(prom, "", labels, 3, (int64_t)n[c]);
        }
    }
}

static void put_server(struct weir_prom *prom, const struct weir_api *api)
{
    struct weir_service_counters counters = api->service.counters(api->service.ctx);
    struct weir_http_server_stats stats;

    weir_http_server_stats(api->http, &stats);
    put_single(prom, "weir_ready", WEIR_PROM_GAUGE, "1 when the store has been read.",
               api->service.is_ready(api->service.ctx));
    put_single(prom, "weir_ticks_total", WEIR_PROM_COUNTER, "Decisions made.", counters.n_ticks);
    put_single(prom, "weir_ticks_failed_total", WEIR_PROM_COUNTER,
               "Decisions that could not be written down or made.", counters.n_failed_ticks);
    put_single(prom, "weir_decisions_logged_total", WEIR_PROM_COUNTER,
               "Decisions written to the decision log.", counters.n_logged);
    put_single(prom, "weir_decisions_lost_total", WEIR_PROM_COUNTER,
               "Decisions that could not be written to the decision log.", counters.n_not_logged);
    put_single(prom, "weir_decision_log_bytes", WEIR_PROM_GAUGE, "Size of the decision log.",
               (uint64_t)counters.log_bytes);
    put_single(prom, "weir_decision_log_off", WEIR_PROM_GAUGE,
               "1 while the decision log cannot be written to.", counters.log_is_off);
    put_single(prom, "weir_events_total", WEIR_PROM_COUNTER,
               "Events ever written to this data directory.", (uint64_t)api->last_seq);
    put_single(prom, "weir_http_connections", WEIR_PROM_GAUGE, "Open connections.", stats.n_open);
    put_single(prom, "weir_http_connections_total", WEIR_PROM_COUNTER, "Connections accepted.",
               stats.n_accepted);
    put_single(prom, "weir_http_timeouts_total", WEIR_PROM_COUNTER,
               "Connections closed because a time ran out.", stats.n_timeouts);
    put_requests(prom, api);
}

int weir_api_get_metrics(struct weir_api_call *call, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(METRICS_BYTES_MAX);
    struct weir_api *api = call->api;
    struct weir_prom prom;
    int r = 0;
    int finished;

    weir_prom_init(&prom, &text);
    put_server(&prom, api);
    if (weir_api_world(api) != NULL) {
        r = weir_api_index_make(&api->index, &api->service, err);
        if (r == 0) {
            put_workloads(&prom, api->index.world);
            put_nodes(&prom, api->index.world);
            put_gpus(&prom, api->index.world);
            put_instances(&prom, api->index.world);
            r = put_queues(&prom, call, err);
        }
    }
    finished = weir_prom_finish(&prom, r < 0 ? NULL : err);
    if (r < 0 || finished < 0)
        return r < 0 ? r : finished;
    weir_api_reply(call, 200, WEIR_PROM_CONTENT_TYPE, weir_buf_view(&text));
    return 0;
}
