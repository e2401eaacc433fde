/* edge/api/index.h — from the numbers people use to rows of the world, and from workloads to what
 * the plan says of them. Made when first asked for after a tick, in one walk over the tables. */
#ifndef WEIR_EDGE_API_INDEX_H
#define WEIR_EDGE_API_INDEX_H

#include "model/plan.h"
#include "port/service.h"

struct weir_api_index {
    const struct weir_world *world;      /* referenced; NULL: not made */
    const struct weir_world *plan_world; /* referenced */
    const struct weir_plan *plan;
    uint32_t *slots; /* row + 1 of the workload, by hash of its number; 0: free */
    uint32_t n_slots;
    uint32_t *verdict_of; /* position + 1 in plan->verdicts, by row of the workload; 0: none */
    uint32_t n_rows;
    uint32_t *waiting_of; /* workloads with waiting tasks, by row of the queue, subtree included */
    uint32_t n_queues;
};

void weir_api_index_finish(struct weir_api_index *index);
/* To be called when there is a new plan. */
void weir_api_index_forget(struct weir_api_index *index);
/* Brings the index up to the newest world. WEIR_E_NO_MEMORY; WEIR_E_UNAVAILABLE if there is no
 * world. */
int weir_api_index_make(struct weir_api_index *index, const struct weir_service *service,
                        struct weir_err *err);

/* After make: */
/* Row of a live workload, or WEIR_NONE. */
uint32_t weir_api_index_find(const struct weir_api_index *index, uint64_t number);
/* What the plan says of it, or NULL. Its rows are of plan_world. */
const struct weir_verdict *weir_api_index_verdict(const struct weir_api_index *index, uint32_t row);
uint32_t weir_api_index_waiting(const struct weir_api_index *index, uint32_t queue);

#endif
