#!/bin/sh
# The figure of Lucid's sharing as it is shipped: its orders hold, and fail where jobs never share.
. tests/cli/lib.sh
optimised

data=../shared/data/job_traces/gavel_dl_training_throughputs_k80_p100_v100.json
[ -r $data ] || skip "needs $data"

verdicts() {
    sqlite3 :memory: "select group_concat(json_extract(value, '\$.verdict')) from json_each(readfile('$T/out'))
        where json_extract(value, '\$.claim') is not null"
}

run 0 figure run lucid/packing -o "$T" --json
equal "$(verdicts)" 'pass,pass,pass,pass,reported,reported,pass' 'verdicts'

mkdir "$T/data"
ln -s "$(realpath ../shared)" "$T/shared"
cp -r configs "$T/data/"
sed -i 's/"policy": "lucid"}/"policy": "lucid", "least_speed": 1, "most_ratio": 0}/' "$T/data/configs/figures/lucid/packing.study.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run lucid/packing -o "$T/alone" --json
equal "$(verdicts)" 'pass,fail,fail,fail,reported,reported,pass' 'verdicts where jobs never share'
finish
