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
sql "$T/pollux/jobload.pollux.db" "select sum(value) from metric where name = 'job.finished'" 1280.0

mkdir "$T/data"
ln -s "$(realpath ../shared)" "$T/shared"
cp -r configs "$T/data/"
sed -i 's/"pollux"}/{"policy": "pollux", "round": "2h"}}/' "$T/data/configs/figures/pollux/pollux.study.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run pollux/jobload -o "$T/held" --json
equal "$(verdict 'mean completion time under Pollux')" fail 'Pollux that decides every two hours'
finish
