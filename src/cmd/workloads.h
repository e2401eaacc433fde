/* cmd/workloads.h — how jobs are shown in tables, and what their states mean. */
#ifndef WEIR_CMD_WORKLOADS_H
#define WEIR_CMD_WORKLOADS_H

#include "cmd/output.h"

extern const struct weir_output_kind weir_workloads_kind;

/* Whether a job in this state is over for good. */
bool weir_workload_has_ended(struct weir_str state);

#endif
