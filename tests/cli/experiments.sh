#!/bin/sh
# By the optimised build: published experiments too large for sanitizers (the suite fgd), whose policies run under
# these in other suites, and all checks of the suite conformance, of which the sanitizers see one run with each
# partner.
. tests/cli/lib.sh

[ -n "${OPTIMISED:-}" ] || skip 'no optimised build: the suites run in this one'
optimised
last="$OPTIMISED/tests/run fgd conformance"
OPTIMISED='' TEST_WORKERS=1 "$OPTIMISED/tests/run" fgd conformance >"$T/out" 2>"$T/err" || { complain 'it failed'; cat "$T/out"; }
grep -q '^[1-9][0-9]* tests ran, 0 failed' "$T/out" || complain 'no test ran'
for suite in fgd/ conformance/every_policy_conforms; do grep -q "^passed $suite" "$T/out" || complain "$suite did not run"; done
finish
