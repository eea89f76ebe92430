#!/bin/sh
# The figure of Splitwise's provisioning: its file holds together, and its queries find limits where they must be.
. tests/cli/lib.sh
optimised

run 0 figure list
out splitwise/provisioning
F=configs/figures/splitwise
mkdir "$T/data"
cp -r configs "$T/data/"
S=$T/data/$F
sed -i 's/"70\/s", .*"130\/s"\]/"70\/s", "130\/s"]/; s/"services.bloom.trace.count": \[.*\]/"services.bloom.trace.count": [1400, 2600]/' \
    "$S/iso-power-aa.study.json" "$S/baseline-h100.study.json"
sed -i 's/"40\/s", .*"70\/s"\]/"40\/s", "70\/s"]/; s/"services.bloom.trace.count": \[.*\]/"services.bloom.trace.count": [1400, 2600]/' \
    "$S/baseline-a100.study.json"
load() { # STUDY PROMPTS RATE, the limit that is most exceeded, as a share of it, against 1
    sqlite3 "$T/$1.db" ".read $F/provisioning.sql" "select worst < 1 from load where prompts = $2 and rate = $3"
}
for study in iso-power-aa baseline-a100 baseline-h100; do
    run 0 sweep "$S/$study.study.json" -o "$T/$study.db"
done
equal "$(load iso-power-aa 45 70)" 1 'Splitwise-AA at 70 requests/s'
equal "$(load iso-power-aa 40 130)" 0 'Splitwise-AA with too few prompt machines at 130 requests/s'
equal "$(load baseline-a100 70 40)" 1 'Baseline-A100 at 40 requests/s'
equal "$(load baseline-a100 70 70)" 0 'Baseline-A100 at 70 requests/s'
equal "$(load baseline-h100 40 70)" 1 'Baseline-H100 at 70 requests/s'
finish
