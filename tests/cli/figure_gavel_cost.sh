#!/bin/sh
# Gavel's figure of cost as it is shipped, and failing where no job has an SLO.
. tests/cli/lib.sh
optimised

verdicts() {
    sqlite3 :memory: "select group_concat(json_extract(value, '\$.verdict')) from json_each(readfile('$T/out'))
        where json_extract(value, '\$.claim') is not null"
}

run 0 figure run gavel/cost -o "$T" --json
equal "$(verdicts)" 'pass,pass,pass,known to fail' 'verdicts of cost'
sql "$T/gavel/cost.slos.db" "select count(*), sum(status = 'finished') from job" '1500|1500'

mkdir "$T/data"
ln -s "$(realpath ../shared)" "$T/shared"
cp -r configs "$T/data/"
sed -i 's/"slos": {.*}}},/"slos": {}}},/' "$T/data/configs/figures/gavel/cost-slos.study.json"
ORRERY_DATA=$T/data run 1 figure run gavel/cost -o "$T/without" --json
equal "$(verdicts)" 'pass,pass,fail,known to fail' 'verdicts of cost without SLOs'
finish
