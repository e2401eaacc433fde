/* fmt/gpu_log_scan.h — the small steps that fmt/gpu_log*.c take through a line. For them only. */
#ifndef WEIR_FMT_GPU_LOG_SCAN_H
#define WEIR_FMT_GPU_LOG_SCAN_H

#include "base/str.h"
#include "fmt/gpu_log.h"

#include <stdbool.h>
#include <stdint.h>

/* Each takes what it names off the front of *s and returns true, or leaves *s as it was. */
bool weir_scan_literal(struct weir_str *s, const char *literal);
bool weir_scan_blanks(struct weir_str *s); /* any number, also none */
bool weir_scan_u32(struct weir_str *s, uint32_t *ret_value);
bool weir_scan_i32(struct weir_str *s, int32_t *ret_value);
/* 1 to max_digits hex digits without 0x; all that stand there, or it is none. */
bool weir_scan_hex(struct weir_str *s, unsigned max_digits, uint32_t *ret_value);
/* "0x" and 1 to 8 hex digits. */
bool weir_scan_hex_0x(struct weir_str *s, uint32_t *ret_value);
/* dddd:bb:dd[.f], with 4 or 8 digits of domain, into log. */
bool weir_scan_pci(struct weir_str *s, struct weir_gpu_log *log);
/* Where needle begins; false where it does not occur. ret_behind is what follows it. */
bool weir_scan_find(struct weir_str s, const char *needle, struct weir_str *ret_behind);

/* The shapes. Each sets log and returns true when the line is of its kind; texts point into it. */
bool weir_gpu_log_read_xid(struct weir_str line, struct weir_gpu_log *log);
bool weir_gpu_log_read_sxid(struct weir_str line, struct weir_gpu_log *log);
bool weir_gpu_log_read_aer(struct weir_str line, struct weir_gpu_log *log);
bool weir_gpu_log_read_other(struct weir_str line, struct weir_gpu_log *log);

#endif
