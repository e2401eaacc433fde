"""The virtual environment that ./dev check makes: where it is, and what to do when it is not there."""
import os
import sys
from pathlib import Path

SKIPPED = 77


def find():
    """The folder of the environment. Ends the test as skipped, or as failed with WEIR_REQUIRE_CLIENTS=1, if there is none."""
    venv = Path(__file__).resolve().parents[2] / ".venv"
    if (venv / "installed.txt").exists():
        return venv
    print("no virtual environment: run ./dev check once", file=sys.stderr)
    sys.exit(1 if os.environ.get("WEIR_REQUIRE_CLIENTS") == "1" else SKIPPED)
