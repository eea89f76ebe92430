#!/bin/sh
# clang-tidy over all sources, by .clang-tidy. The first time it takes minutes: `make lint` runs it, `make test` does
# not. A clean file is checked again only when it, one of its headers, the checks or clang-tidy change: build/tidy
# keeps a sum of what was checked.
[ -n "$LINT_ALL" ] || { echo 'clang-tidy takes minutes; make lint runs it'; exit 77; }
command -v clang-tidy >/dev/null || { echo 'clang-tidy is not installed'; exit 77; }
flags="-std=c17 -I. -I${BUILD:-build/release} -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE"
mpi=$(pkg-config --cflags ompi-c 2>/dev/null) || mpi=
checks=$({ cat .clang-tidy tests/lint/tidy.sh; clang-tidy --version; } | cksum)
export flags mpi checks
mkdir -p build/tidy
find sim models policies traces analysis -name '*.c' | if [ -n "$mpi" ]; then cat; else grep -v '^sim/study/mpi\.c$'; fi |
    LC_ALL=C sort | xargs -P "$(nproc)" -n 1 sh -c '
        sum="$checks $(${CC:-cc} -E -C -P $flags $mpi "$1" | cksum)"
        stamp=build/tidy/$(echo "$1" | tr / _)
        [ "$(cat "$stamp" 2>/dev/null)" != "$sum" ] || exit 0
        clang-tidy --quiet "$1" -- $flags $mpi 2>/dev/null && echo "$sum" >"$stamp"' tidy
