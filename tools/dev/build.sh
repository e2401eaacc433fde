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

install_usage() {
    echo "usage: ./dev install [--prefix=DIR]"
}

# Sets prefix from the arguments of ./dev install. It is never what an earlier install was given.
install_options() {
    prefix=/usr/local
    while [ $# -gt 0 ]; do
        case "$1" in
        --prefix=*) prefix=${1#--prefix=} ;;
        --prefix)
            [ $# -gt 1 ] || install_misuse "--prefix needs a folder"
            prefix=$2
            shift
            ;;
        -h | --help)
            install_usage
            echo "Installs the program, its man pages, completion and systemd unit to DIR (default /usr/local), below \$DESTDIR where that is set."
            exit 0
            ;;
        *) install_misuse "install does not know '$1'" ;;
        esac
        shift
    done
    case "$prefix" in
    /*) ;;
    *) install_misuse "--prefix '$prefix' is not a path from / on" ;;
    esac
    case "${DESTDIR:-/}" in
    /*) ;;
    *) install_misuse "DESTDIR '$DESTDIR' is not a path from / on" ;;
    esac
}

install_misuse() {
    echo "dev: $1" >&2
    install_usage >&2
    exit 2
}

# build_install PREFIX
build_install() {
    local below=${DESTDIR:-}

    build_setup "-Dprefix=$1"
    # All that is installed, and no test.
    quietly ninja -C build src/weir deploy/man1 deploy/weir
    quietly meson install -C build --no-rebuild --strip
    below=${below%/}${1%/}
    echo "installed: $below/bin/weir"
    echo "           $below/share/man/man1/weir*.1"
    echo "           $below/share/bash-completion/completions/weir"
    echo "           $below/lib/systemd/system/weir.service"
}
