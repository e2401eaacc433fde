/* edge/api/handlers.h — what the routes of routes.c do. Each answers, or starts something that
 * will, or returns why not. */
#ifndef WEIR_EDGE_API_HANDLERS_H
#define WEIR_EDGE_API_HANDLERS_H

#include <stdint.h>

struct weir_api_call;
struct weir_err;
struct weir_tree;

/* about.c */
int weir_api_get_root(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_healthz(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_readyz(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_openapi(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_version(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_whoami(struct weir_api_call *call, struct weir_err *err);
/* metrics.c */
int weir_api_get_metrics(struct weir_api_call *call, struct weir_err *err);
/* workloads.c */
int weir_api_submit(struct weir_api_call *call, struct weir_err *err);
int weir_api_list_workloads(struct weir_api_call *call, struct weir_err *err);
int weir_api_list_tasks(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_workload(struct weir_api_call *call, struct weir_err *err);
int weir_api_cancel(struct weir_api_call *call, struct weir_err *err);
int weir_api_signal(struct weir_api_call *call, struct weir_err *err);
/* explain.c */
int weir_api_explain(struct weir_api_call *call, struct weir_err *err);
/* logs.c, attach.c */
int weir_api_get_logs(struct weir_api_call *call, struct weir_err *err);
int weir_api_attach(struct weir_api_call *call, struct weir_err *err);
/* queues.c */
int weir_api_list_queues(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_queue(struct weir_api_call *call, struct weir_err *err);
int weir_api_delete_queue(struct weir_api_call *call, struct weir_err *err);
int weir_api_apply(struct weir_api_call *call, struct weir_err *err);
/* setups.c */
int weir_api_list_setups(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_setup(struct weir_api_call *call, struct weir_err *err);
int weir_api_delete_setup(struct weir_api_call *call, struct weir_err *err);
/* Files of mig-parted among the documents become setups. */
int weir_api_read_mig_parted(struct weir_api_call *call, const struct weir_tree **docs, uint32_t n,
                             struct weir_err *err);
/* fleet.c */
int weir_api_list_gpus(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_gpu(struct weir_api_call *call, struct weir_err *err);
int weir_api_delete_gpu(struct weir_api_call *call, struct weir_err *err);
int weir_api_set_gpu_phase(struct weir_api_call *call, struct weir_err *err);
int weir_api_list_nodes(struct weir_api_call *call, struct weir_err *err);
int weir_api_get_node(struct weir_api_call *call, struct weir_err *err);
int weir_api_set_node_phase(struct weir_api_call *call, struct weir_err *err);
/* simulation.c */
int weir_api_order_faults(struct weir_api_call *call, struct weir_err *err);
/* events.c */
int weir_api_get_events(struct weir_api_call *call, struct weir_err *err);
/* snapshot.c */
int weir_api_get_snapshot(struct weir_api_call *call, struct weir_err *err);

#endif
