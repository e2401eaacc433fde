#!/usr/bin/env python3
"""Makes the C tables of the Xid catalogue: gen-xids.py XID.tsv UNITS.tsv BITS.tsv SXID.tsv OUT.c

Refuses what the decoding could not live with: a code given twice, a word that fits the unit of both
forms, a rule that an earlier one hides, a register without such a bit."""
import json
import sys

ACTIONS = {"RECORD", "WATCH", "FOLLOW_154", "RESTART_APP", "CHECK_SW", "CHECK_MECH", "RESET_GPU", "RESET_FABRIC",
           "RESTART_VM", "REBOOT_NODE", "SUPPORT"}
ORIGINS = {"unknown", "app", "hardware", "driver", "firmware", "fabric", "config", "vm"}
FATAL = {"unknown", "no", "yes", "depends"}
BY = {"any": "ANY", "status": "STATUS", "reason": "REASON", "reason-or-status": "EITHER"}
PROMOTE = {"-": "ANY", "set": "SET", "clear": "CLEAR"}
CLASSES = {"-": "NONE", "corrected-ecc": "CORRECTED_ECC", "link-noise": "LINK_NOISE", "bad-response": "BAD_RESPONSE",
           "thermal": "THERMAL", "fatal-port": "FATAL_PORT", "fatal-fabric": "FATAL_FABRIC"}
NONE, EVERY = 0xFFFF, 0xFFFE
V1_BITS, V2_BITS = 10, 7


def fail(where, what):
    sys.exit(f"gen-xids.py: {where}: {what}")


def read(path, columns):
    """Rows as dictionaries, each with its place in "at"."""
    with open(path, encoding="utf-8") as source:
        lines = source.read().split("\n")
    if lines[0].split("\t") != columns or lines[-1] != "":
        fail(path, f"the first line is not {' '.join(columns)}, or the last one has no end")
    rows = []
    for number, line in enumerate(lines[1:-1], 2):
        cells = line.split("\t")
        if len(cells) != len(columns) or not all(cells):
            fail(f"{path}:{number}", f"{len(columns)} cells are needed, none of them empty")
        rows.append(dict(zip(columns, cells)) | {"at": f"{path}:{number}"})
    return rows


def text(cell):
    return "NULL" if cell == "-" else json.dumps(cell)


def action(row, column="action"):
    if row[column] == "-":
        return "WEIR_FAULT_ACTION_NOT_EVENT"
    if row[column] not in ACTIONS:
        fail(row["at"], f"'{row[column]}' is no action")
    return f"WEIR_FAULT_ACTION_{row[column]}"


def one_of(row, column, words):
    if row[column] not in words:
        fail(row["at"], f"'{row[column]}' is no {column}")
    return row[column]


def check_order(rows):
    for before, row in zip(rows, rows[1:]):
        if int(before["code"]) >= int(row["code"]):
            fail(row["at"], "the codes are not in order, each once")


def xids(rows):
    check_order(rows)
    out = ["const struct weir_xid weir_xids[] = {"]
    for row in rows:
        out.append(
            f"    {{{row['code']}, {text(row['name'])}, {text(row['meaning'])}, {text(row['investigate'])}, "
            f"{text(row['chips'])}, {text(row['branch'])}, {action(row)}, {action(row, 'then')}, "
            f"WEIR_XID_ORIGIN_{one_of(row, 'origin', ORIGINS).upper()}, WEIR_XID_FATAL_{one_of(row, 'fatal', FATAL).upper()}}},")
    return out + ["};", f"const size_t weir_n_xids = {len(rows)};", ""]


def unit_mask(row, column, n_bits):
    if row[column] in ("-", "any"):
        return NONE if row[column] == "-" else EVERY
    value = int(row[column], 16)
    if value >> n_bits:
        fail(row["at"], f"{column} has more than {n_bits} bits")
    return value


def check_units(rows):
    """No word may fit the older form of one unit and the newer of another, or a rule would need the driver's version."""
    seen = {}
    for row in rows:
        key = (row["xid"], row["unit"], row["v2"], row["value"])
        if key in seen and (row["promote"] == "-" or seen[key] in ("-", row["promote"])):
            fail(row["at"], "the rule stands above already")
        seen[key] = row["promote"]
        v1 = unit_mask(row, "v1", V1_BITS)
        for other in rows:
            v2 = unit_mask(other, "v2", V2_BITS)
            if row["xid"] == other["xid"] and v1 < EVERY and v2 < EVERY and v1 & ((1 << V2_BITS) - 1) == v2:
                fail(row["at"], f"its older form also reads as {other['unit']} in the newer")


def units(rows):
    check_units(rows)
    out = ["const struct weir_xid_unit weir_xid_units[] = {"]
    for row in rows:
        one_of(row, "by", BY)
        one_of(row, "promote", PROMOTE)
        value = 0 if row["value"] == "-" else int(row["value"], 0)
        out.append(
            f"    {{{row['xid']}, {text(row['unit'])}, 0x{unit_mask(row, 'v1', V1_BITS):04x}, "
            f"0x{unit_mask(row, 'v2', V2_BITS):04x}, WEIR_XID_UNIT_BY_{BY[row['by']]}, "
            f"WEIR_XID_PROMOTE_{PROMOTE[row['promote']]}, {action(row)}, 0x{value:x}u}},")
    return out + ["};", f"const size_t weir_n_xid_units = {len(rows)};", ""]


def bits(rows):
    out = ["const struct weir_xid_bit weir_xid_bits[] = {"]
    seen = set()
    for row in rows:
        place = (int(row["register"]), int(row["bit"]))
        if place in seen or not 1 <= place[0] <= 7 or not 0 <= place[1] <= 31:
            fail(row["at"], "there is no such bit, or it stands above already")
        seen.add(place)
        repeats = 0 if row["repeats"] == "-" else int(row["repeats"])
        out.append(f"    {{{place[0]}, {place[1]}, {action(row)}, {repeats}, {action(row, 'then')}, {text(row['meaning'])}}},")
    return out + ["};", f"const size_t weir_n_xid_bits = {len(rows)};", ""]


def sxids(rows):
    check_order(rows)
    out = ["const struct weir_sxid weir_sxids[] = {"]
    out += [f"    {{{row['code']}, {text(row['name'])}, WEIR_SXID_CLASS_{CLASSES[one_of(row, 'class', CLASSES)]}}}," for row in rows]
    return out + ["};", f"const size_t weir_n_sxids = {len(rows)};", ""]


def main():
    xid, unit, bit, sxid, target = sys.argv[1:]
    out = ["/* Made by tools/gen-xids.py from data/xid.tsv and its neighbours. */", '#include "model/xid_catalogue.h"', ""]
    out += xids(read(xid, ["code", "name", "meaning", "action", "then", "investigate", "chips", "branch", "fatal", "origin"]))
    out += units(read(unit, ["xid", "unit", "v1", "v2", "by", "value", "promote", "action"]))
    out += bits(read(bit, ["register", "bit", "action", "repeats", "then", "meaning"]))
    out += sxids(read(sxid, ["code", "name", "class"]))
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main()
