# shellcheck shell=bash
# Building and installing. Sourced by ./dev.

# Runs a command; shows what it said, and ends, only when it fails.
quietly() {
    local output

    output=$("$@" 2>&1) || {
        echo "$output" >&2
        exit 1
    }
}

# build_setup [OPTION…]: build/ with gcc, configured with the options given.
build_setup() {
    if [ ! -f build/build.ninja ]; then
        CC=gcc quietly meson setup build "$@"
    elif [ $# -gt 0 ]; then
        quietly meson configure build "$@"
    fi
}

build_release() {
    [ -e build/weir ] || echo "dev: building" >&2
    build_setup
    # The stamp of the link build/weir, which needs the binary.
    quietly ninja -C build src/weir-link.stamp
}

build_install() {
    build_setup "$@"
    # All that is installed, and no test.
    quietly ninja -C build src/weir deploy/man1 deploy/weir
    quietly meson install -C build --no-rebuild --strip
}
