#!/usr/bin/env python3
"""Puts files into the binary: embed.py OUT.S NAME=FILE...

Each becomes read-only data from NAME up to NAME_end, with a NUL behind it. The build must list
the files as inputs of this command: an assembler's .incbin is in no depfile. Paths stay relative
to the folder where the compiler runs, so that none of the building machine ends up in the object."""
import re
import sys


def main():
    lines = ["/* Made by tools/embed.py. */", "  .section .rodata"]
    for pair in sys.argv[2:]:
        name, _, path = pair.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or not path or '"' in path:
            sys.exit(f"embed.py: '{pair}' is not NAME=FILE")
        lines += [
            f"  .global {name}, {name}_end",
            "  .balign 16",
            f"{name}:",
            f'  .incbin "{path}"',
            f"{name}_end:",
            "  .byte 0",
        ]
    # Without this note the linker takes the stack for executable.
    lines += ['  .section .note.GNU-stack,"",%progbits', ""]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    main()
