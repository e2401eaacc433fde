#!/usr/bin/env python3
"""Our declarations of NVML against NVIDIA's own header (PyPI: nvidia-nvml-dev; it is not copied here).

nvml_layout.py LIBNVIDIA_ML

Layouts and numbers are compared by the compiler; then every function that the simulated library exports must be one that
the header declares."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import client_venv

HERE = Path(__file__).resolve().parent
OURS_ONLY = {"weirSimDeviceGetLabel", "weirSimDeviceGetNode", "weirSimSetInstant"}
# By this name clients tell drivers whose process records are wider than everybody else's.
NEVER = "nvmlDeviceGetConfComputeMemSizeInfo"


def compile_asserts(header, source):
    command = [os.environ.get("CC", "cc"), "-std=gnu17", "-fsyntax-only", f"-I{HERE.parents[1] / 'src'}", "-isystem", header.parent]
    return subprocess.run([*command, source], capture_output=True, text=True, check=False)


def check_layout(header):
    sources = sorted(HERE.glob("nvml_layout*.c"))
    for source in sources:
        done = compile_asserts(header, source)
        if done.returncode != 0:
            sys.exit(f"nvml_layout.py: our declarations differ from {header.name}:\n{done.stderr}")
    # The comparison must be able to fail.
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder) / "wrong.c"
        wrong.write_text('#include <nvml.h>\n_Static_assert(sizeof(nvmlMemory_v2_t) == 41, "");\n', encoding="utf-8")
        if compile_asserts(header, wrong).returncode == 0:
            sys.exit("nvml_layout.py: the compiler takes a wrong assertion")
    return len(sources)


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in lines.splitlines() if line.strip()}


def check_symbols(header, library):
    text = header.read_text(encoding="utf-8", errors="replace")
    declared = set(re.findall(r"\b(nvml[A-Z]\w*)\s*\(", text)) | set(re.findall(r"#define\s+(nvml\w+)\s+nvml\w+", text))
    names = exported(library)
    unknown = names - declared - OURS_ONLY
    if unknown:
        sys.exit(f"nvml_layout.py: not functions of NVML: {', '.join(sorted(unknown))}")
    if NEVER in names:
        sys.exit(f"nvml_layout.py: {NEVER} makes clients take the wrong process records")
    return len(names)


def main():
    venv = client_venv.find()
    headers = sorted(venv.glob("lib/python*/site-packages/nvidia/**/nvml.h"))
    if not headers:
        sys.exit(f"nvml_layout.py: no nvml.h below {venv}")
    print(f"layouts agree in {check_layout(headers[-1])} files, {check_symbols(headers[-1], sys.argv[1])} symbols")


if __name__ == "__main__":
    main()
