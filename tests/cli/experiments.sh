#!/bin/sh
# Published experiments too large for sanitizers, whose policies run under these in other suites: the suite fgd, by the optimised build.
. tests/cli/lib.sh

[ -n "${OPTIMISED:-}" ] || skip 'no optimised build: the suites run in this one'
last="$OPTIMISED/tests/run fgd"
OPTIMISED='' TEST_WORKERS=1 "$OPTIMISED/tests/run" fgd >"$T/out" 2>"$T/err" || { complain 'it failed'; cat "$T/out"; }
grep -q '^[1-9][0-9]* tests ran, 0 failed' "$T/out" || complain 'no test ran'
finish
