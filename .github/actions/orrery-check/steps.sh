#!/bin/sh
# The steps of the action, in the source tree that it came with: deps, build, check. Inputs are in INPUT_*; the
# summary goes to $GITHUB_STEP_SUMMARY.
set -eu
source=$(cd "$(dirname "$0")/../../.." && pwd)
work=${RUNNER_TEMP:-$(mktemp -d)}

deps() {
    mkdir -p "$source/build" # before root does
    cd "$source"
    if [ "$(id -u)" = 0 ]; then .ci/deps; else .ci/deps 2>/dev/null || sudo .ci/deps; fi
}

# The path of a plug-in: what is a C file is compiled first.
plugin() {
    case $1 in
    *.c)
        object=$work/$(basename "$1" .c).so
        "${CC:-cc}" -std=c17 -Wall -O2 -ffp-contract=off -fPIC -shared -I"$source" -o "$object" "$1"
        echo "$object"
        ;;
    *) echo "$1" ;;
    esac
}

check() {
    set -- --baseline "$INPUT_BASELINE" --junit "$INPUT_JUNIT" --markdown "$work/orrery-check.md"
    for file in $INPUT_PLUGINS; do
        object=$(plugin "$file")
        set -- "$@" --plugin "$object"
    done
    for word in $INPUT_OPTIONS; do set -- "$@" "$word"; done
    status=0
    "${INPUT_ORRERY:-$source/build/orrery}" check "$@" || status=$?
    if [ -f "$work/orrery-check.md" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
        cat "$work/orrery-check.md" >>"$GITHUB_STEP_SUMMARY"
    fi
    exit $status
}

case $1 in
deps) [ -n "$INPUT_ORRERY" ] || deps ;;
build) [ -n "$INPUT_ORRERY" ] || make -C "$source" -j"$(nproc)" ;;
check) check ;;
*) echo "usage: steps.sh deps|build|check" >&2 && exit 2 ;;
esac
