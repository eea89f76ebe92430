#!/bin/sh
# Every scenario of tests/golden/cases gives the summary that stands beside it, to the last digit. When a result moves
# on purpose, say why in the body of the commit and run ACCEPT=1 tests/golden/golden.sh.
set -u
orrery=${ORRERY:-build/orrery}
out=${TEST_TMPDIR:-$(mktemp -d)}
status=0
for case in tests/golden/cases/*.json; do
    expected=${case%.json}.txt
    actual=$out/${expected##*/}
    if ! "$orrery" run --quiet --verbose --interval never "$case" >"$actual" 2>"$actual.err"; then
        echo "$case: failed"; cat "$actual.err"; status=1; continue
    fi
    if [ "${ACCEPT:-}" = 1 ]; then cp "$actual" "$expected"; continue; fi
    diff -u "$expected" "$actual" || { echo "$case: the result has moved"; status=1; }
done
exit $status
