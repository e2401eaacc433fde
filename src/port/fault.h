/* port/fault.h — where faults are told: the log of this machine's kernel. */
#ifndef WEIR_PORT_FAULT_H
#define WEIR_PORT_FAULT_H

#include "base/err.h"
#include "model/fault.h"

#include <stdint.h>

/* seq grows within a boot and names the record; several events may be of one. The event's time is
 * of weir_clock_mono_ms(), its node is 0; texts live for the time of the call. 0, or a negative
 * code that ends the reading. */
typedef int (*weir_fault_each)(void *arg, uint64_t seq, const struct weir_fault_event *event);

struct weir_fault_source {
    void *ctx;
    /* Every event of records above `after` that was not told yet; where `after` is less than what
     * was, that is told again, as far as it is still there. Never waits. Returns 1 where more is
     * there than one call reads, each()'s code where that ended it, or an error of its own. NULL:
     * there is no such log. */
    int (*read)(void *ctx, uint64_t after, weir_fault_each each, void *arg, struct weir_err *err);
};

#endif
