/* model/xid_catalogue.h — what is known of the errors NVIDIA's drivers number: Xids, the registers
 * of the NVLink ones, and the SXids of the switches.
 *
 * Compiled in from data/xid.tsv, data/xid-units.tsv, data/xid-74-bits.tsv and data/sxid.tsv
 * (data/README.md names their sources). The tables are constant: pointers into them stay valid for
 * ever. Unknown texts are NULL. */
#ifndef WEIR_MODEL_XID_CATALOGUE_H
#define WEIR_MODEL_XID_CATALOGUE_H

#include "model/fault.h"

#include <stddef.h>
#include <stdint.h>

/* Whose doing an error is. */
enum weir_xid_origin {
    WEIR_XID_ORIGIN_UNKNOWN,
    WEIR_XID_ORIGIN_APP,
    WEIR_XID_ORIGIN_HARDWARE,
    WEIR_XID_ORIGIN_DRIVER,
    WEIR_XID_ORIGIN_FIRMWARE,
    WEIR_XID_ORIGIN_FABRIC,
    WEIR_XID_ORIGIN_CONFIG,
    WEIR_XID_ORIGIN_VM,
    WEIR_XID_ORIGIN_MAX
};

enum weir_xid_fatal {
    WEIR_XID_FATAL_UNKNOWN,
    WEIR_XID_FATAL_NO,
    WEIR_XID_FATAL_YES, /* the GPU is of no use until the action is done */
    WEIR_XID_FATAL_DEPENDS,
    WEIR_XID_FATAL_MAX
};

struct weir_xid {
    uint32_t code;
    const char *name; /* the driver's, as in its header */
    const char *meaning;
    const char *investigate; /* what a person looks into when the action did not end it */
    const char *chips;       /* A: A100, H: H100, B: B100, G: GB200 */
    const char *branch;      /* the first driver branch that sends an Xid 154 with it ("R565") */
    uint8_t action;          /* enum weir_fault_action: at once */
    uint8_t then;            /* … and when that did not help; NOT_EVENT: nothing more */
    uint8_t origin;          /* enum weir_xid_origin */
    uint8_t fatal;           /* enum weir_xid_fatal */
};

/* How the registers of Xid 144 to 150 (NVLink 5) are read: word 0 names the unit and, in its bits
 * 25:20, a reason; word 1 is the unit's status. Drivers before R575 put the unit into the low ten
 * bits of word 0, later ones into the low seven; no word fits the unit of both, so the driver's
 * version need not be known. */
enum weir_xid_unit_by {
    WEIR_XID_UNIT_BY_ANY,    /* the unit alone decides */
    WEIR_XID_UNIT_BY_STATUS, /* a bit of word 1 */
    WEIR_XID_UNIT_BY_REASON, /* the reason */
    WEIR_XID_UNIT_BY_EITHER, /* the reason, or the status where that is 0 */
    WEIR_XID_UNIT_BY_MAX
};

/* Some rules ask for the bit that tells whether an error was promoted to a fatal one: bit 10 of the
 * older form, bit 7 of the newer. */
enum weir_xid_promote { WEIR_XID_PROMOTE_ANY, WEIR_XID_PROMOTE_SET, WEIR_XID_PROMOTE_CLEAR };

enum { WEIR_XID_UNIT_NONE = 0xffff, WEIR_XID_UNIT_EVERY = 0xfffe };

struct weir_xid_unit {
    uint32_t xid;
    const char *name;
    uint16_t v1; /* low ten bits; UNIT_NONE: not of this form; UNIT_EVERY: all */
    uint16_t v2; /* low seven bits */
    uint8_t by;  /* enum weir_xid_unit_by */
    uint8_t promote;
    uint8_t action;
    uint32_t value;
};

/* A bit of the registers of Xid 74 (NVLink up to 4); registers count from 1, as NVIDIA does. */
struct weir_xid_bit {
    uint8_t reg;
    uint8_t bit;
    uint8_t action;
    uint8_t repeats; /* so many times on one link make it `then`; 0: never */
    uint8_t then;
    const char *meaning;
};

enum weir_sxid_class {
    WEIR_SXID_CLASS_NONE, /* the line's own severity decides */
    WEIR_SXID_CLASS_CORRECTED_ECC,
    WEIR_SXID_CLASS_LINK_NOISE,
    WEIR_SXID_CLASS_BAD_RESPONSE,
    WEIR_SXID_CLASS_THERMAL,
    WEIR_SXID_CLASS_FATAL_PORT,   /* the GPU at the port cannot use it any more */
    WEIR_SXID_CLASS_FATAL_FABRIC, /* no GPU of the fabric can */
    WEIR_SXID_CLASS_MAX
};

struct weir_sxid {
    uint32_t code;
    const char *name; /* from 27000 on the names differ between driver branches: not here */
    uint8_t class;    /* enum weir_sxid_class */
};

/* The generated tables, by code. */
extern const struct weir_xid weir_xids[];
extern const size_t weir_n_xids;
extern const struct weir_xid_unit weir_xid_units[];
extern const size_t weir_n_xid_units;
extern const struct weir_xid_bit weir_xid_bits[];
extern const size_t weir_n_xid_bits;
extern const struct weir_sxid weir_sxids[];
extern const size_t weir_n_sxids;

/* NULL: not in the catalogue. */
const struct weir_xid *weir_xid_find(uint32_t code);
const struct weir_sxid *weir_sxid_find(uint32_t code);
const char *weir_xid_origin_name(enum weir_xid_origin origin);
const char *weir_xid_fatal_name(enum weir_xid_fatal fatal);
const char *weir_sxid_class_name(enum weir_sxid_class class);
/* What an SXid of that class does to the machine: the rest of a sentence. */
const char *weir_sxid_class_words(enum weir_sxid_class class);

#endif
