/* edge/kernlog/fault_line.h — lines of kernel logs as fault events. */
#ifndef WEIR_EDGE_KERNLOG_FAULT_LINE_H
#define WEIR_EDGE_KERNLOG_FAULT_LINE_H

#include "base/str.h"
#include "model/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_kmsg;

/* One line without its newline, which may have a text log's prefix (fmt/log_prefix.h). node and
 * at_ms go into the event. False: it says nothing about GPUs. Texts point into the line. */
bool weir_fault_from_line(struct weir_str line, uint32_t node, int64_t at_ms,
                          struct weir_fault_event *ret_event);

/* The next event of a record of /dev/kmsg; *at starts at 0 and counts the message's lines. The
 * kernel's own records (facility 0) are evidence, all others are ORIGIN_USER. False at the end. */
bool weir_fault_from_kmsg(const struct weir_kmsg *kmsg, uint32_t node, int64_t at_ms, size_t *at,
                          struct weir_fault_event *ret_event);

#endif
