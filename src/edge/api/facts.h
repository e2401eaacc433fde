/* edge/api/facts.h — the nouns as JSON, as docs/api.md spells them. Numbers that name things are
 * texts, times are null where they have not come yet. */
#ifndef WEIR_EDGE_API_FACTS_H
#define WEIR_EDGE_API_FACTS_H

#include "fmt/json.h"
#include "model/guarantee.h"
#include "model/world.h"
#include "port/gpu.h"
#include "port/store.h"

struct weir_api;

/* Tasks of a workload by state. */
struct weir_api_task_counts {
    uint32_t n[WEIR_TASK_STATE_MAX];
};

/* The members of a workload's object; the caller opens and closes it. The index must be made.
 * counts may be NULL: a workload of one task. */
void weir_api_put_workload(struct weir_json_writer *w, const struct weir_api *api,
                           const struct weir_workload_record *record,
                           const struct weir_api_task_counts *counts);
/* Counts in the world, or in the store where it has left the world; *n_read is what that cost, in
 * records. */
int weir_api_count_tasks(const struct weir_api *api, const struct weir_workload_record *record,
                         struct weir_api_task_counts *ret_counts, uint32_t *n_read,
                         struct weir_err *err);
void weir_api_put_task(struct weir_json_writer *w, const struct weir_task_record *task);
void weir_api_put_queue(struct weir_json_writer *w, const struct weir_api *api, uint32_t queue);
/* "warning": that the guarantee cannot be met; null where it can. */
void weir_api_put_shortfall(struct weir_json_writer *w, const struct weir_world *world,
                            const struct weir_shortfall *shortfall);
/* The members of its object. */
void weir_api_put_queue_facts(struct weir_json_writer *w, const struct weir_api *api,
                              uint32_t queue);
void weir_api_put_gpu(struct weir_json_writer *w, const struct weir_api *api, uint32_t device);
/* Without the braces. */
void weir_api_put_gpu_members(struct weir_json_writer *w, const struct weir_api *api,
                              uint32_t device);
/* reading.c: what its driver said of it last. */
void weir_api_put_reading(struct weir_json_writer *w, struct weir_api *api,
                          const struct weir_gpu_device *gpu);
void weir_api_put_node(struct weir_json_writer *w, const struct weir_api *api, uint32_t node);
void weir_api_put_event(struct weir_json_writer *w, const struct weir_event_record *event);

void weir_api_put_id(struct weir_json_writer *w, const char *key, uint64_t number);
void weir_api_put_time(struct weir_json_writer *w, const char *key, int64_t wall_ms);
void weir_api_put_str(struct weir_json_writer *w, const char *key, struct weir_str text);
/* null when empty */
void weir_api_put_name(struct weir_json_writer *w, const char *key, struct weir_str text);
void weir_api_put_amount(struct weir_json_writer *w, const struct weir_world *world,
                         uint32_t resource, int64_t amount);

/* ---- facts_mig.c ---- */
/* Members of a GPU: what it is of MIG, and how it is shared. */
void weir_api_put_gpu_mig(struct weir_json_writer *w, const struct weir_world *world,
                          const struct weir_device *device);
/* The instances that it takes. */
void weir_api_put_mig_offers(struct weir_json_writer *w, const struct weir_world *world,
                             const struct weir_device *device);

#endif
