#!/bin/sh
# The figure of Muri's testbed as it is shipped: its claims pass, and fail where jobs run alone.
. tests/cli/lib.sh
optimised

data=../shared/data/scheduler_runs/muri_64v100__trace.csv
[ -r $data ] || skip "needs $data"

run 0 figure run muri/testbed -o "$T" --json
equal "$(sqlite3 :memory: "select group_concat(json_extract(value, '\$.verdict')) from json_each(readfile('$T/out'))
    where json_extract(value, '\$.claim') is not null")" 'pass,pass,pass,pass' 'verdicts'

# The page has these means, to the hundred seconds, and the ratio of the first two.
page=policies/scheduler/sharing/README.md
mean() { sqlite3 "$T/muri/testbed.$1.db" "select value from metric where name = 'job.jct_s.mean'"; }
for scheduler in muri srtf tiresias; do
    shown=$(mean $scheduler | awk '{ n = sprintf("%.0f", $1 / 100); printf "%d,%d00", n / 10, n % 10 }')
    grep -q "^| .$scheduler. | [0-9,]* s | $shown s |$" $page || complain "$page does not say $shown s of $scheduler"
done
ratio_of() { echo "$1 $2" | awk '{ gsub(/,/, ""); printf "%.2f", $1 / $2 }'; }
paper() { sed -n "s/^| .$1. | \([0-9,]*\) s | .* s |$/\1/p" $page; }
says="So SRTF takes $(ratio_of "$(paper srtf)" "$(paper muri)") times as long as Muri-S on the testbed, and \
$(ratio_of "$(mean srtf)" "$(mean muri)") times here."
tr '\n' ' ' <$page | grep -qF "$says" || complain "$page does not say: $says"
sql "$T/muri/testbed.muri.db" "select value from metric where name = 'job.finished'" 400.0

mkdir "$T/data"
ln -s "$(realpath ../shared)" "$T/shared"
cp -r configs "$T/data/"
sed -i 's/"most": 4/"most": 1/' "$T/data/configs/figures/muri/muri.study.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run muri/testbed -o "$T/alone" --json
finish
