/* fmt/kmsg.h — one record of /dev/kmsg.
 *
 *     prio,seq,usec,flags[,...];message\n KEY=value\n …
 *
 * prio is facility << 3 | level. A process that writes to /dev/kmsg cannot have facility 0: the
 * kernel forces at least 1 (LOG_USER) on it, so facility 0 proves that the kernel itself spoke.
 * What is not printable in the message is written \xNN, and so is the backslash (Linux,
 * Documentation/ABI/testing/dev-kmsg and kernel/printk/printk.c). */
#ifndef WEIR_FMT_KMSG_H
#define WEIR_FMT_KMSG_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_err;

enum {
    WEIR_KMSG_RECORD_MAX = 8192, /* the kernel gives no longer ones */
    WEIR_KMSG_FACILITY_KERN = 0,
};

struct weir_kmsg {
    uint32_t facility;          /* 0: the kernel */
    uint8_t level;              /* 0 emergency … 7 debug */
    bool is_fragment;           /* flags hold 'c' or '+': a part of a line printed in pieces */
    uint64_t seq;               /* a gap in it: records were overwritten before they were read */
    uint64_t at_us;             /* since boot */
    struct weir_str message;    /* decoded, in the caller's buffer; may hold newlines and NULs */
    struct weir_str dictionary; /* lines " KEY=value", as they stand in the record */
};

/* Reads one record, which is what one read() of /dev/kmsg gives. The message is decoded into
 * buffer, which needs no more bytes than the record has; the dictionary points into the record.
 * Nothing is allocated. WEIR_E_INVALID with the column for what is not such a record,
 * WEIR_E_TOO_LARGE for a record over WEIR_KMSG_RECORD_MAX or a message over size. */
int weir_kmsg_read(struct weir_str record, char *buffer, size_t size, struct weir_kmsg *ret_kmsg,
                   struct weir_err *err);

/* The value of a key of the dictionary ("DEVICE" is "+pci:0000:3b:00.0"), still escaped; empty when
 * it is not there. */
struct weir_str weir_kmsg_value(const struct weir_kmsg *kmsg, const char *key);

#endif
