/* edge/api/output.h — following a workload and reading what it writes: for logs and attach. */
#ifndef WEIR_EDGE_API_OUTPUT_H
#define WEIR_EDGE_API_OUTPUT_H

#include "model/world.h"
#include "port/cluster.h"
#include "port/store.h"

struct weir_api;
struct weir_api_call;
struct weir_buf;
struct weir_err;

enum { WEIR_API_OUTPUT_PIECE = 64 * 1024 };

/* One workload over many versions of the world; remembers where it was. */
struct weir_api_watch {
    uint64_t number;
    uint32_t row;  /* WEIR_NONE: not known */
    uint32_t task; /* the same for one of its tasks */
};

/* Its row in the newest world. WEIR_NONE: it has left the world, or there is none now. */
uint32_t weir_api_watch_workload(struct weir_api *api, struct weir_api_watch *watch);

struct weir_api_member {
    uint32_t state; /* enum weir_task_state */
    uint32_t attempt;
};
/* How one of its tasks stands now, from the world or the store. */
int weir_api_watch_member(struct weir_api *api, struct weir_api_watch *watch, uint32_t member,
                          struct weir_api_member *ret_member, struct weir_err *err);

/* Appends up to max bytes from *at on, and sets *at to where what was appended begins: higher than
 * asked for where output was rotated away. Nothing appended: nothing more now, or not yet. */
int weir_api_read_output(struct weir_api *api, uint64_t number, uint32_t member, uint32_t attempt,
                         enum weir_stream stream, uint64_t *at, size_t max, struct weir_buf *out,
                         struct weir_err *err);
/* member=, below n_tasks. */
int weir_api_query_member(const struct weir_api_call *call, uint32_t n_tasks, uint32_t *member,
                          struct weir_err *err);

#endif
