#!/bin/sh
# clang-tidy over all sources, by .clang-tidy. It takes minutes: `make lint` runs it, `make test` does not.
[ -n "$LINT_ALL" ] || { echo 'clang-tidy takes minutes; make lint runs it'; exit 77; }
command -v clang-tidy >/dev/null || { echo 'clang-tidy is not installed'; exit 77; }
find sim models policies traces analysis -name '*.c' 2>/dev/null | LC_ALL=C sort |
    xargs -P "$(nproc)" -n 4 sh -c 'clang-tidy --quiet "$@" -- -std=c17 -I. -I"${BUILD:-build/release}" -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE 2>/dev/null' tidy
