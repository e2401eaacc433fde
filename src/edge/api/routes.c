/* Every route, as data. data/openapi.json describes the same ones; a test compares. */
#include "base/count.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "model/world.h"

enum { APPLY_BYTES_MAX = 8 * 1024 * 1024, SUBMIT_BYTES_MAX = 4 * 1024 * 1024 };

#define GET  WEIR_HTTP1_METHOD_GET
#define POST WEIR_HTTP1_METHOD_POST

const struct weir_api_route weir_api_routes[] = {
    {GET, "/", WEIR_API_ANYBODY, .handle = weir_api_get_root, .without_state = true},
    {GET, "/healthz", WEIR_API_ANYBODY, .handle = weir_api_get_healthz, .without_state = true},
    {GET, "/readyz", WEIR_API_ANYBODY, .handle = weir_api_get_readyz, .without_state = true},
    {GET, "/metrics", WEIR_API_READ, .handle = weir_api_get_metrics, .without_state = true},
    {GET, "/v1/openapi.json", WEIR_API_ANYBODY, .handle = weir_api_get_openapi,
     .without_state = true},
    {GET, "/v1/version", WEIR_API_READ, .handle = weir_api_get_version, .without_state = true},
    {GET, "/v1/whoami", WEIR_API_READ, .handle = weir_api_get_whoami, .without_state = true},

    {POST, "/v1/workloads", WEIR_API_SUBMIT, .handle = weir_api_submit,
     .body = WEIR_API_BODY_RESOURCES, .body_max_bytes = SUBMIT_BYTES_MAX},
    {GET, "/v1/workloads", WEIR_API_READ, .handle = weir_api_list_workloads,
     .query = "all queue owner name state limit after"},
    {GET, "/v1/workloads/{id}", WEIR_API_READ, .handle = weir_api_get_workload,
     .query = "limit after"},
    {GET, "/v1/workloads/{id}/tasks", WEIR_API_READ, .handle = weir_api_list_tasks,
     .query = "state limit after"},
    {POST, "/v1/workloads/{id}/cancel", WEIR_API_SUBMIT, .handle = weir_api_cancel},
    {POST, "/v1/workloads/{id}/signal", WEIR_API_SUBMIT, .handle = weir_api_signal,
     .body = WEIR_API_BODY_JSON},
    {GET, "/v1/workloads/{id}/explain", WEIR_API_READ, .handle = weir_api_explain},
    {GET, "/v1/workloads/{id}/logs", WEIR_API_READ, .handle = weir_api_get_logs,
     .query = "stream member attempt offset follow"},
    {GET, "/v1/workloads/{id}/attach", WEIR_API_READ, .handle = weir_api_attach,
     .query = "member attempt stdout stderr"},

    {GET, "/v1/queues", WEIR_API_READ, .handle = weir_api_list_queues, .query = "limit after"},
    {GET, "/v1/queues/{name}", WEIR_API_READ, .handle = weir_api_get_queue},
    {WEIR_HTTP1_METHOD_DELETE, "/v1/queues/{name}", WEIR_API_ADMIN,
     .handle = weir_api_delete_queue},
    {GET, "/v1/gpusetups", WEIR_API_READ, .handle = weir_api_list_setups, .query = "limit after"},
    {GET, "/v1/gpusetups/{name}", WEIR_API_READ, .handle = weir_api_get_setup},
    {WEIR_HTTP1_METHOD_DELETE, "/v1/gpusetups/{name}", WEIR_API_ADMIN,
     .handle = weir_api_delete_setup},
    {POST, "/v1/apply", WEIR_API_SUBMIT, .handle = weir_api_apply, .query = "dryRun migConfig",
     .body = WEIR_API_BODY_RESOURCES, .body_max_bytes = APPLY_BYTES_MAX},

    {GET, "/v1/gpus", WEIR_API_READ, .handle = weir_api_list_gpus, .query = "limit after"},
    {GET, "/v1/gpus/{key}", WEIR_API_READ, .handle = weir_api_get_gpu},
    {WEIR_HTTP1_METHOD_DELETE, "/v1/gpus/{key}", WEIR_API_ADMIN, .handle = weir_api_delete_gpu},
    {POST, "/v1/gpus/{key}/cordon", WEIR_API_ADMIN, .handle = weir_api_set_gpu_phase,
     .arg = WEIR_NODE_CORDONED},
    {POST, "/v1/gpus/{key}/uncordon", WEIR_API_ADMIN, .handle = weir_api_set_gpu_phase,
     .query = "test", .arg = WEIR_NODE_READY},
    {GET, "/v1/nodes", WEIR_API_READ, .handle = weir_api_list_nodes, .query = "limit after"},
    {GET, "/v1/nodes/{name}", WEIR_API_READ, .handle = weir_api_get_node},
    {POST, "/v1/nodes/{name}/cordon", WEIR_API_ADMIN, .handle = weir_api_set_node_phase,
     .arg = WEIR_NODE_CORDONED},
    {POST, "/v1/nodes/{name}/uncordon", WEIR_API_ADMIN, .handle = weir_api_set_node_phase,
     .arg = WEIR_NODE_READY},
    {POST, "/v1/nodes/{name}/drain", WEIR_API_ADMIN, .handle = weir_api_set_node_phase,
     .arg = WEIR_NODE_DRAINING},

    {POST, "/v1/simulation/faults", WEIR_API_ADMIN, .handle = weir_api_order_faults,
     .body = WEIR_API_BODY_JSON},

    {GET, "/v1/events", WEIR_API_READ, .handle = weir_api_get_events,
     .query = "limit after subject tail since_ms"},
    {GET, "/v1/snapshot", WEIR_API_READ, .handle = weir_api_get_snapshot},
};

const uint32_t weir_api_n_routes = WEIR_COUNT_OF(weir_api_routes);

_Static_assert(WEIR_COUNT_OF(weir_api_routes) <= WEIR_API_ROUTES_MAX, "WEIR_API_ROUTES_MAX");
