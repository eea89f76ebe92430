#!/bin/sh
# The figures of speculation as they are shipped; and that the goodput rule fails when it should: without the CPU time
# of drafts it takes them at 32 users.
. tests/cli/lib.sh
optimised

mkdir "$T/data"
cp -r configs "$T/data/"
F=$T/data/configs/figures/speculation
ORRERY_DATA=$T/data
export ORRERY_DATA

run 0 figure run speculation/acceptance -o "$T"
run 0 figure run speculation/goodput -o "$T"
sql "$T/speculation/goodput.pair.db" "select count(*) from run where status = 'done'" 28

sed -i 's/"sequence_overhead": "650us"/"sequence_overhead": "0s"/' "$F/pair.scenario.json"
run 1 figure run speculation/goodput -o "$T/free" --json
equal "$(sqlite3 :memory: "select json_extract(value, '\$.verdict') from json_each(readfile('$T/out'))
    where json_extract(value, '\$.claim') like 'batch 32: iterations%'")" fail 'drafts at 32 users'
finish
