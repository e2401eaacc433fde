/* core/health/subcode.h — what the registers of an NVLink error say.
 *
 * Xid 144 to 150: word 0 names the unit in one of two forms, word 1 its status
 * (model/xid_catalogue.h). Xid 74: seven registers of bits. Of several bits the one with the
 * heaviest action counts. */
#ifndef WEIR_CORE_HEALTH_SUBCODE_H
#define WEIR_CORE_HEALTH_SUBCODE_H

#include "model/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_subcode {
    const char *unit; /* 144 to 150: the unit's name; NULL: not decoded */
    bool is_any;      /* … of which the rule asks no register: whatever they say, it is that */
    uint8_t action;
    uint8_t then;    /* 74: the action from the `repeats`th time on, on one link */
    uint8_t repeats; /* 0: repetition changes nothing */
    uint8_t reg;     /* 74: where the bit stands; 0: none */
    uint8_t bit;
};

/* False when the registers are missing or no rule knows them: then the error is to be watched. */
bool weir_subcode_decode(const struct weir_fault_event *event, struct weir_subcode *ret_subcode);
/* Whether the code is one whose registers decide. */
bool weir_subcode_applies(uint32_t xid);

#endif
