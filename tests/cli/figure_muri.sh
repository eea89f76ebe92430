#!/bin/sh
# The figure of Muri's testbed as it is shipped: its claims pass, and fail where jobs run alone.
. tests/cli/lib.sh
optimised

data=../shared/data/scheduler_runs/muri_64v100__trace.csv
[ -r $data ] || skip "needs $data"

run 0 figure run muri/testbed -o "$T" --json
equal "$(sqlite3 :memory: "select group_concat(json_extract(value, '\$.verdict')) from json_each(readfile('$T/out'))
    where json_extract(value, '\$.claim') is not null")" 'pass,pass,pass,pass' 'verdicts'
sql "$T/muri/testbed.muri.db" "select value from metric where name = 'job.finished'" 400.0

mkdir "$T/data"
ln -s "$(realpath ../shared)" "$T/shared"
cp -r configs "$T/data/"
sed -i 's/"most": 4/"most": 1/' "$T/data/configs/figures/muri/muri.study.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run muri/testbed -o "$T/alone" --json
finish
