/* edge/api/lookup.h — workloads by what people call them. */
#ifndef WEIR_EDGE_API_LOOKUP_H
#define WEIR_EDGE_API_LOOKUP_H

#include "port/store.h"

#include <stdint.h>

struct weir_api_call;
struct weir_err;

/* The workload that the path names: by number, or by a name that one workload has, or one live one.
 * WEIR_E_NOT_FOUND, or WEIR_E_EXISTS with the numbers. */
int weir_api_find_workload(struct weir_api_call *call, uint64_t *ret_number, struct weir_err *err);
/* Its record, copied into the request's arena. */
int weir_api_load_workload(struct weir_api_call *call, uint64_t number,
                           struct weir_workload_record *ret_record, struct weir_err *err);
/* Both, and the index is made. */
int weir_api_get_record(struct weir_api_call *call, struct weir_workload_record *ret_record,
                        struct weir_err *err);

#endif
