#!/bin/sh
# The figure of DistServe's attainment with four replications: who attains more at which rate, and what cannot.
. tests/cli/lib.sh

mkdir "$T/data"
cp -r configs "$T/data/"
sed -i 's/"seeds": [0-9]*/"seeds": 4/' "$T/data/configs/figures/distserve/"*-13b.study.json \
    "$T/data/configs/figures/distserve/"*-66b.study.json
ORRERY_DATA=$T/data
export ORRERY_DATA

run 0 figure run distserve/attainment -o "$T" --json
verdicts() { # the start of the claim, the start of the verdict
    sqlite3 :memory: "select count(*) from json_each(readfile('$T/out')) where json_extract(value, '\$.claim') like '$1%'
        and json_extract(value, '\$.verdict') like '$2%'"
}
equal "$(verdicts 'OPT-66B, ' pass)" 7 'orders of OPT-66B'
equal "$(verdicts 'OPT-13B, two ' pass)" 7 'orders of OPT-13B with two decoding instances'
equal "$(verdicts 'OPT-13B, ' pass)" 11 'orders of OPT-13B, four of them with one decoding instance'
equal "$(verdicts 'OPT-13B, ' 'known to fail')" 3 'rates at which one decoding instance is full'
equal "$(verdicts '' reported)" 3 'numbers that are shown'
equal "$(verdicts '' '')" 24 'claims'
finish
