#!/bin/sh
# The figure of Pollux's workloads as it is shipped: its claims pass, and fail if Pollux decides too rarely.
. tests/cli/lib.sh
optimised

data=../shared/data/scheduler_runs/pollux_osdi21_sim__workloads.csv
[ -r $data ] || skip "needs $data"

verdict() { # the start of the claim
    sqlite3 :memory: "select json_extract(value, '\$.verdict') from json_each(readfile('$T/out'))
        where json_extract(value, '\$.claim') like '$1%' limit 1"
}

run 0 figure run pollux/jobload -o "$T" --json
for claim in 'mean completion time under Tiresias' 'median completion time under Tiresias' 'mean completion times rise' \
    'mean completion time under Tiresias, over' 'mean completion time under Optimus, over'; do
    equal "$(verdict "$claim")" pass "$claim"
done
# The page has these numbers.
mean() { sqlite3 :memory: "select printf('%.0f s under $1', value ->> 'ours_value') from json_each(readfile('$T/out')) where value ->> 'claim' = 'mean completion time under $1'"; }
for policy in Tiresias Optimus Pollux; do grep -qF "$(mean $policy)" configs/figures/README.md || complain "the page does not have $(mean $policy)"; done
optimus=$(mean Optimus)
grep -qF "| ${optimus% under*} |" policies/scheduler/goodput/README.md || complain "the page of goodput does not have $optimus"
sql "$T/pollux/jobload.pollux.db" "select sum(value) from metric where name = 'job.finished'" 1280.0

# Loads that no choice looked at. The page counts what fails.
run 0 figure run pollux/loads -o "$T" --json
equal "$(verdict 'load 2.0: mean completion time under Optimus')" pass 'Optimus at load 2.0'
equal "$(grep -o '"verdict": "[a-z ]*"' "$T/out" | sort | uniq -c | tr -s ' \n' ' ')" \
    ' 3 "verdict": "known to fail" 11 "verdict": "pass" ' 'verdicts'
sql "$T/pollux/loads.pollux.db" "select sum(value) from metric where name = 'job.finished'" 4480.0

mkdir "$T/data"
ln -s "$(realpath ../shared)" "$T/shared"
cp -r configs "$T/data/"
sed -i 's/"pollux"}/{"policy": "pollux", "round": "2h"}}/' "$T/data/configs/figures/pollux/pollux.study.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run pollux/jobload -o "$T/held" --json
equal "$(verdict 'mean completion time under Pollux')" fail 'Pollux that decides every two hours'
finish
