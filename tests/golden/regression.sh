#!/bin/sh
# The scenarios of configs/regression give the results of their baseline, decision by decision. When they move on
# purpose, say why in the body of the commit and run "make accept".
. tests/cli/lib.sh
baseline=configs/regression/baseline.json
if [ "${ACCEPT:-}" = 1 ]; then
    "$ORRERY" check --baseline $baseline --update
    exit
fi

run 0 check --baseline $baseline
[ $failures = 0 ] || cat "$T/out"
out '40 scenarios: 40 the same'

# Nothing else than what a scenario of the folder is for: each of them is in the baseline.
for file in configs/regression/*.json; do
    [ "$file" = $baseline ] || grep -q "\"scenario\": \"${file##*/}\"" $baseline || complain "$baseline has no ${file##*/}"
done
finish
