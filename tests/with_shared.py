#!/usr/bin/env python3
"""Runs a test program on a file of the shared folder, which lies beside the checkout or where WEIR_SHARED says.

with_shared.py PROGRAM FILE: FILE is relative to that folder. Without the folder the test is skipped (status 77), or
fails if WEIR_REQUIRE_SHARED=1."""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parent.parent


def find(name):
    """The file, or None. A linked worktree lies one folder deeper than the checkout."""
    named = os.environ.get("WEIR_SHARED")
    folders = [pathlib.Path(named)] if named else [ROOT.parent / "shared", ROOT.parent.parent / "shared"]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def main():
    program, name = sys.argv[1:]
    path = find(name)
    if path is None:
        print(f"there is no {name} in a shared folder; WEIR_SHARED names one", file=sys.stderr)
        return 1 if os.environ.get("WEIR_REQUIRE_SHARED") == "1" else SKIPPED
    return subprocess.run([program, path], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
