# shellcheck shell=bash
# Building and installing. Sourced by ./dev.

# build_setup [OPTION…]: build/ with gcc, configured with the options given. Quiet unless it fails.
build_setup() {
    local output

    if [ ! -f build/build.ninja ]; then
        output=$(CC=gcc meson setup build "$@" 2>&1) || {
            echo "$output" >&2
            exit 1
        }
    elif [ $# -gt 0 ]; then
        meson configure build "$@"
    fi
}

build_release() {
    build_setup
    ninja -C build --quiet weir
}

build_install() {
    build_setup "$@"
    ninja -C build --quiet
    meson install -C build --no-rebuild --strip --quiet
}
