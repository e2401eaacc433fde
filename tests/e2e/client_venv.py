"""The virtual environment of tests/e2e/venv.sh: where it is, and what to do when it is not there."""
import os
import sys
from pathlib import Path

SKIPPED = 77


def find(build):
    """The folder of the environment. Ends the test as skipped, or as failed with WEIR_REQUIRE_CLIENTS=1, if there is none."""
    named = os.environ.get("WEIR_TEST_VENV")
    source = Path(__file__).resolve().parents[2]
    for venv in [Path(named)] if named else [Path(build) / "venv", source / "build" / "venv"]:
        if (venv / "installed.txt").exists():
            return venv
    print("no virtual environment: run tests/e2e/venv.sh", file=sys.stderr)
    sys.exit(1 if os.environ.get("WEIR_REQUIRE_CLIENTS") == "1" else SKIPPED)
