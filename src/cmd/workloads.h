/* cmd/workloads.h — how jobs are shown in tables. */
#ifndef WEIR_CMD_WORKLOADS_H
#define WEIR_CMD_WORKLOADS_H

#include "cmd/output.h"

extern const struct weir_output_kind weir_workloads_kind;

#endif
