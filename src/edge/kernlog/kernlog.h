/* edge/kernlog/kernlog.h — faults out of the kernel's log, as they come.
 *
 * The log is /dev/kmsg, or a file of such records, one to a line, as a simulated driver writes it
 * (edge/nvml/sim_kmsg.h): that may not be there yet, and may begin anew. Records that were
 * overwritten before they were read are lost; how many is counted. */
#ifndef WEIR_EDGE_KERNLOG_KERNLOG_H
#define WEIR_EDGE_KERNLOG_KERNLOG_H

#include "port/fault.h"

struct weir_kernlog;

/* Errors: WEIR_E_DENIED (the kernel's log is root's), WEIR_E_NOT_FOUND (no such device), of the
 * file system. A file need not be there. */
int weir_kernlog_open(const char *path, bool is_file, struct weir_kernlog **ret_log,
                      struct weir_fault_source *ret_source, struct weir_err *err);
/* To be polled for reading; -1: a file, to be read from time to time. */
int weir_kernlog_fd(const struct weir_kernlog *log);
uint64_t weir_kernlog_n_missed(const struct weir_kernlog *log);
/* NULL is fine; returns NULL. */
struct weir_kernlog *weir_kernlog_close(struct weir_kernlog *log);

#endif
