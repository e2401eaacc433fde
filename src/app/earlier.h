/* app/earlier.h — what the store says of the attempts that earlier servers launched. */
#ifndef WEIR_APP_EARLIER_H
#define WEIR_APP_EARLIER_H

#include "port/store.h"

#include <stdint.h>

struct weir_err;
struct weir_local;

/* The highest serial that an attempt of what has not ended got; 0: there was none. */
int weir_earlier_serial(const struct weir_store *store, uint64_t *ret_serial, struct weir_err *err);
/* That what became of each of those that may still run can be told: WEIR_E_CORRUPT names the
 * workload. */
int weir_earlier_check(const struct weir_store *store, const struct weir_local *local,
                       struct weir_err *err);

#endif
