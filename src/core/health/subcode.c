#include "core/health/subcode.h"

#include "model/xid_catalogue.h"

#include <stddef.h>

enum {
    XID_NVLINK_BITS = 74,
    XID_FIRST_UNIT = 144,
    XID_LAST_UNIT = 150,
    BITS_REGISTERS = 7,
    WORD_BITS = 32,
    REASON_SHIFT = 20,
    REASON_MASK = 0x3f,
    V1_MASK = 0x3ff,
    V2_MASK = 0x7f,
    V1_PROMOTE = 1 << 10,
    V2_PROMOTE = 1 << 7
};

bool weir_subcode_applies(uint32_t xid)
{
    return xid == XID_NVLINK_BITS || (xid >= XID_FIRST_UNIT && xid <= XID_LAST_UNIT);
}

/* Whether word 0 names the unit, and if so whether the error was promoted. */
static bool is_of_unit(const struct weir_xid_unit *rule, uint32_t info, bool *ret_promoted)
{
    if (rule->v1 == WEIR_XID_UNIT_EVERY || rule->v1 == (info & V1_MASK)) {
        *ret_promoted = (info & V1_PROMOTE) != 0;
        return true;
    }
    if (rule->v2 == (info & V2_MASK)) {
        *ret_promoted = (info & V2_PROMOTE) != 0;
        return true;
    }
    return false;
}

static bool is_of_value(const struct weir_xid_unit *rule, uint32_t reason, uint32_t status)
{
    switch ((enum weir_xid_unit_by)rule->by) {
    case WEIR_XID_UNIT_BY_ANY:
        return true;
    case WEIR_XID_UNIT_BY_STATUS:
        return (status & rule->value) != 0;
    case WEIR_XID_UNIT_BY_REASON:
        return reason == rule->value;
    case WEIR_XID_UNIT_BY_EITHER:
        return (reason != 0 ? reason : status) == rule->value;
    case WEIR_XID_UNIT_BY_MAX:
        break;
    }
    return false;
}

static bool decode_unit(const struct weir_fault_event *event, struct weir_subcode *ret)
{
    uint32_t info = event->words[0];
    uint32_t status = event->n_words > 1 ? event->words[1] : 0;
    uint32_t known_bits = 0;
    bool by_status = false;
    struct weir_subcode found = {0};

    for (size_t i = 0; i < weir_n_xid_units; i++) {
        const struct weir_xid_unit *rule = &weir_xid_units[i];
        bool promoted = false;

        if (rule->xid != event->code || !is_of_unit(rule, info, &promoted))
            continue;
        by_status = rule->by == WEIR_XID_UNIT_BY_STATUS;
        if (by_status)
            known_bits |= rule->value;
        if (!is_of_value(rule, info >> REASON_SHIFT & REASON_MASK, status) ||
            (rule->promote == WEIR_XID_PROMOTE_SET && !promoted) ||
            (rule->promote == WEIR_XID_PROMOTE_CLEAR && promoted))
            continue;
        found.unit = rule->name;
        found.is_any = rule->v1 == WEIR_XID_UNIT_EVERY && rule->by == WEIR_XID_UNIT_BY_ANY;
        if (rule->action > found.action)
            found.action = rule->action;
    }
    if (found.unit == NULL)
        return false;
    /* A bit that no rule knows must not pass as harmless beside one that is. */
    if (by_status && (status & ~known_bits) != 0 && found.action < WEIR_FAULT_ACTION_WATCH)
        found.action = WEIR_FAULT_ACTION_WATCH;
    *ret = found;
    return true;
}

static const struct weir_xid_bit *find_bit(unsigned reg, unsigned bit)
{
    for (size_t i = 0; i < weir_n_xid_bits; i++)
        if (weir_xid_bits[i].reg == reg && weir_xid_bits[i].bit == bit)
            return &weir_xid_bits[i];
    return NULL;
}

static bool decode_bits(const struct weir_fault_event *event, struct weir_subcode *ret)
{
    struct weir_subcode found = {0};
    bool is_unknown = false;

    for (unsigned at = 0; at < event->n_words && at < BITS_REGISTERS; at++)
        for (unsigned bit = 0; bit < WORD_BITS; bit++) {
            const struct weir_xid_bit *rule;

            if ((event->words[at] >> bit & 1) == 0)
                continue;
            rule = find_bit(at + 1, bit);
            is_unknown = is_unknown || rule == NULL;
            if (rule != NULL && rule->action > found.action)
                found = (struct weir_subcode){.action = rule->action,
                                              .then = rule->then,
                                              .repeats = rule->repeats,
                                              .reg = rule->reg,
                                              .bit = rule->bit};
        }
    if (found.action == WEIR_FAULT_ACTION_NOT_EVENT)
        return false;
    if (is_unknown && found.action < WEIR_FAULT_ACTION_WATCH)
        found.action = WEIR_FAULT_ACTION_WATCH;
    *ret = found;
    return true;
}

bool weir_subcode_decode(const struct weir_fault_event *event, struct weir_subcode *ret_subcode)
{
    if (event->n_words == 0)
        return false;
    if (event->code == XID_NVLINK_BITS)
        return decode_bits(event, ret_subcode);
    return weir_subcode_applies(event->code) && decode_unit(event, ret_subcode);
}
