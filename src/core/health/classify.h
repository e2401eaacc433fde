/* core/health/classify.h — what one event says by itself.
 *
 * Authorities, the strongest first: the driver's own verdict (NVML field 230, Xid 154, "D-RST:
 * Yes"), the registers decoded, the catalogue, then what repetition or spread make of it, which
 * only core/health/incident.h can see. A code that nobody knows is watched, and so are registers
 * that no rule reads: neither may take a GPU out of service, and neither may be lost. */
#ifndef WEIR_CORE_HEALTH_CLASSIFY_H
#define WEIR_CORE_HEALTH_CLASSIFY_H

#include "model/fault.h"

#include <stdbool.h>
#include <stdint.h>

enum weir_fault_scope {
    WEIR_FAULT_SCOPE_NONE,
    WEIR_FAULT_SCOPE_JOB,
    WEIR_FAULT_SCOPE_DEVICE,
    WEIR_FAULT_SCOPE_FABRIC, /* every GPU behind the switches */
    WEIR_FAULT_SCOPE_NODE,
    WEIR_FAULT_SCOPE_MAX
};

enum weir_fault_authority {
    WEIR_FAULT_AUTHORITY_ORIGIN, /* who wrote it: no evidence */
    WEIR_FAULT_AUTHORITY_RULE,   /* the kind of event says all */
    WEIR_FAULT_AUTHORITY_CATALOGUE,
    WEIR_FAULT_AUTHORITY_UNKNOWN_CODE,
    WEIR_FAULT_AUTHORITY_SUBCODE,
    WEIR_FAULT_AUTHORITY_DRIVER,
    WEIR_FAULT_AUTHORITY_REPETITION,
    WEIR_FAULT_AUTHORITY_SPREAD, /* the same on many devices at once */
    WEIR_FAULT_AUTHORITY_MAX
};

/* What merges into one incident beyond the first seconds. */
enum weir_fault_family {
    WEIR_FAULT_FAMILY_APP,
    WEIR_FAULT_FAMILY_MEMORY,
    WEIR_FAULT_FAMILY_LINK,
    WEIR_FAULT_FAMILY_BUS,
    WEIR_FAULT_FAMILY_FIRMWARE,
    WEIR_FAULT_FAMILY_SWITCH,
    WEIR_FAULT_FAMILY_SOFTWARE,
    WEIR_FAULT_FAMILY_NIC,
    WEIR_FAULT_FAMILY_MAX
};

enum { WEIR_FAULT_CLASS_MAX = 80 };

struct weir_fault_class {
    char name[WEIR_FAULT_CLASS_MAX]; /* "xid:145/RLW_REMAP;depends;fabric" */
    uint8_t action;                  /* enum weir_fault_action */
    uint8_t then;                    /* when that did not help; NOT_EVENT: nothing more */
    uint8_t scope;
    uint8_t authority;
    uint8_t family;
    bool is_child;    /* follows from, or tells more of, another event: never the cause */
    bool is_nameless; /* it is of one device, and does not say of which */
    uint8_t repeats;  /* of registers: so many times on one link make it repeats_action */
    uint8_t repeats_action;
    const char *why; /* a sentence's rest, constant */
};

void weir_fault_classify(const struct weir_fault_event *event, struct weir_fault_class *ret_class);

const char *weir_fault_scope_name(enum weir_fault_scope scope);
const char *weir_fault_authority_name(enum weir_fault_authority authority);

#endif
