# shellcheck shell=bash
# What the commands of ./dev need from Debian 12, and how it gets there. Sourced by ./dev.
# Only bash, coreutils and dpkg may be taken for granted here.

# Who needs what: THIRD_PARTY.md.
declare -A packages=(
    [build]="gcc libc6-dev meson ninja-build pkg-config
        libuv1-dev libsqlite3-dev libyaml-dev zlib1g-dev"
    [check]="git python3 python3-venv python3-yaml
        clang clang-format clang-tidy libclang-rt-14-dev llvm
        libcmocka-dev libjansson-dev libhttp-parser-dev
        codespell pmccabe shellcheck valgrind"
)

# Those of the given ones that are not installed, one a line.
missing_packages() {
    local -A there=()
    local name status

    while read -r status name; do
        [ "$status" != installed ] || there[$name]=1
    done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
    for name in "$@"; do
        [ -n "${there[$name]:-}" ] || echo "$name"
    done
}

# need_packages NEED…: installs what is missing, or says how and exits 3.
need_packages() {
    local need wanted=() missing=() as_root=()

    for need in "$@"; do
        # One word, one package.
        # shellcheck disable=SC2206
        wanted+=(${packages[$need]})
    done
    if ! command -v dpkg-query >/dev/null; then
        echo "dev: not a Debian system: install the like of ${wanted[*]}" >&2
        return 0
    fi
    mapfile -t missing < <(missing_packages "${wanted[@]}")
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "dev: missing packages: ${missing[*]}" >&2
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
            echo "dev: as root, run: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
            exit 3
        fi
        as_root=(sudo -n)
    fi
    echo "dev: installing them" >&2
    install_packages "${missing[@]}"
}

# Quiet unless it fails. Uses the array as_root of its caller.
install_packages() {
    local log

    log=$(mktemp)
    # A list that cannot be brought up to date may still do; the install tells.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update >"$log" 2>&1 || true
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" \
        >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "dev: apt-get could not install $*" >&2
        exit 3
    fi
    rm -f "$log"
}

# The Python programs that only checks use, in .venv, at the versions the file pins.
need_python_tools() {
    local list=tools/requirements-check.txt output

    if [ -x .venv/bin/python ] && cmp -s "$list" .venv/installed.txt; then
        return 0
    fi
    echo "dev: installing the Python tools of $list into .venv" >&2
    rm -rf .venv
    # Debian's own: the one that python3-venv belongs to.
    /usr/bin/python3 -m venv .venv
    output=$(.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "$list" 2>&1) || {
        echo "$output" >&2
        echo "dev: pip could not install what $list names" >&2
        exit 3
    }
    cp "$list" .venv/installed.txt
}

# NVIDIA's nvidia-ctk, which a test asks whether it believes the simulated NVML. It is built, by a newer Go than Debian 12
# has: without one that test is skipped, and says so.
need_nvidia_ctk() {
    local version=v1.20.2 log

    if [ "$(cat .venv/nvidia-ctk.txt 2>/dev/null)" = "$version" ] || ! command -v go >/dev/null; then
        return 0
    fi
    echo "dev: building nvidia-ctk $version into .venv" >&2
    log=$(mktemp)
    if GOBIN="$PWD/.venv/bin" GOFLAGS=-buildvcs=false GOTOOLCHAIN=local \
        go install "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk@$version" >"$log" 2>&1; then
        echo "$version" >.venv/nvidia-ctk.txt
    else
        tail -n 3 "$log" >&2
        echo "dev: no nvidia-ctk, its test will be skipped" >&2
    fi
    rm -f "$log"
}
