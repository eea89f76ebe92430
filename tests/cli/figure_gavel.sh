#!/bin/sh
# Gavel's figure of the physical cluster as it is shipped; and the scenario of its other figures with 400 jobs: pairs
# shorten completion times by a tenth or more.
. tests/cli/lib.sh
optimised

verdicts() {
    sqlite3 :memory: "select group_concat(json_extract(value, '\$.verdict')) from json_each(readfile('$T/out'))
        where json_extract(value, '\$.claim') is not null"
}

data=../shared/data/job_traces/gavel_dl_training_throughputs_k80_p100_v100.json
[ -r $data ] || skip "needs $data"

run 0 figure run gavel/physical -o "$T" --json
equal "$(verdicts)" 'pass,pass,known to fail,reported, outside 15 %,pass,pass,pass' 'verdicts of the physical cluster'
sql "$T/gavel/physical.las.db" "select count(*), sum(status = 'finished') from job" '96|96'
sql "$T/gavel/physical.makespan.db" "select count(*), sum(status = 'finished') from job" '100|100'

seconds() { # SHARES
    run 0 run configs/figures/gavel/jobs.scenario.json --set jobs.trace.count=400 \
        --set "jobs.scheduler={\"policy\": \"gavel-packed\", \"shares\": $1}" -o "$T/$1.db" --quiet
    sqlite3 "$T/$1.db" "select cast(value as integer) from metric where name = 'job.jct_s.mean'"
}

shared=$(seconds true)
alone=$(seconds false)
test $((shared * 10)) -lt $((alone * 9)) || complain "the mean with pairs is $shared s, alone $alone s"
sql "$T/true.db" "select value from metric where name = 'job.finished'" 400.0
finish
