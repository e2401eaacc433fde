/* fmt/log_prefix.h — what stands before a kernel message in a text log, and what it says of the
 * message's origin.
 *
 * Known forms, each optional, in this order:
 *   [journal _BOOT_ID != current]  [journal _TRANSPORT=syslog]    what a journal knows of the entry
 *   <4>                                                           priority (dmesg -r, syslog)
 *   10.0.0.7: kern: warning: [2026-01-02T03:04:05Z]:              address, facility, level, time
 *   kern  :warn  :                                                facility, level (dmesg -x)
 *   Feb 27 15:10:02 node-1 kernel:   2026-01-02T03:04:05Z node-1 kernel:   kernel:
 *   [ 1234.567890]   [Thu Feb 27 15:10:02 2025]   [T1234]         time and caller of the kernel
 *
 * Whatever else stands there is left in the message, so that a line which merely quotes a kernel
 * message does not begin with it. */
#ifndef WEIR_FMT_LOG_PREFIX_H
#define WEIR_FMT_LOG_PREFIX_H

#include "base/str.h"

enum weir_log_origin {
    WEIR_LOG_ORIGIN_UNKNOWN, /* the line does not say */
    WEIR_LOG_ORIGIN_KERNEL, /* marked as the kernel's; a text can be forged, a kmsg record cannot */
    WEIR_LOG_ORIGIN_USER,   /* written by a process */
    WEIR_LOG_ORIGIN_STALE,  /* from an earlier boot */
    WEIR_LOG_ORIGIN_MAX
};

/* The message behind the prefix; the origin is UNKNOWN where no prefix tells one. */
enum weir_log_origin weir_log_prefix_strip(struct weir_str line, struct weir_str *ret_message);

#endif
