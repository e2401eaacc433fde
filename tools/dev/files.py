#!/usr/bin/env python3
"""Which files of the tree are ours, by kind: those git knows or would add.

usage: files.py c|shell|python|text     (NUL-separated, for xargs -0)
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Inputs of tests and data: not prose, and not laid out by us.
FOREIGN_PARTS = {"seeds", "crashes"}


def listed():
    """Paths relative to ROOT, sorted. Without git (an unpacked archive) everything but build folders."""
    if (ROOT / ".git").exists():
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = [name for name in done.stdout.split("\0") if name]
    else:
        names = [
            str(path.relative_to(ROOT))
            for path in ROOT.rglob("*")
            if not path.relative_to(ROOT).parts[0].startswith(("build", ".venv"))
        ]
    # A symbolic link is judged where it points, a file deleted but not staged not at all.
    return sorted(name for name in set(names) if (ROOT / name).is_file() and not (ROOT / name).is_symlink())


def first_line(name):
    with (ROOT / name).open("rb") as file:
        return file.readline(200)


def is_text(name):
    with (ROOT / name).open("rb") as file:
        return b"\0" not in file.read(4096)


def is_script(name, suffix, interpreters):
    if name.endswith(suffix):
        return True
    line = first_line(name)
    return line.startswith(b"#!") and line.split(b"/")[-1].split()[-1] in interpreters


def files(kind):
    """Files of one kind, as names relative to ROOT."""
    names = [name for name in listed() if not FOREIGN_PARTS & set(name.split("/"))]
    if kind == "c":
        return [name for name in names if name.endswith((".c", ".h"))]
    if kind == "shell":
        return [name for name in names if is_script(name, ".sh", {b"bash", b"sh"})]
    if kind == "python":
        return [name for name in names if is_script(name, ".py", {b"python3"})]
    if kind == "text":
        return [name for name in names if is_text(name)]
    raise ValueError(kind)


if __name__ == "__main__":
    sys.stdout.write("".join(name + "\0" for name in files(sys.argv[1])))
