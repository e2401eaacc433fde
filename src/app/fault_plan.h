/* app/fault_plan.h — what is to befall simulated GPUs, and when: a file that is read at the start.
 */
#ifndef WEIR_APP_FAULT_PLAN_H
#define WEIR_APP_FAULT_PLAN_H

struct uv_loop_s;
struct weir_err;
struct weir_gpus;

/* Reads the file into the plan of the GPUs. What is wrong with it is WEIR_E_INVALID, with its name,
 * line and column in the text. */
int weir_fault_plan_read(struct weir_gpus *gpus, const char *path, struct weir_err *err);
/* The plan begins now. Its timer is one of the loop's, and is closed with it. */
int weir_fault_plan_start(struct weir_gpus *gpus, struct uv_loop_s *loop, struct weir_err *err);

#endif
