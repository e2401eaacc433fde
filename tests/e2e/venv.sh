#!/bin/sh
# Installs what the tests need from PyPI into BUILD/venv: venv.sh [BUILD]. Does nothing when it is there already.
set -eu
here=$(dirname "$0")
venv=${1:-build}/venv
if ! cmp -s "$here/requirements.txt" "$venv/installed.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/installed.txt"
fi
