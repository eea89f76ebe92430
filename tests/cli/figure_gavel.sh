#!/bin/sh
# The scenario of Gavel's figures with 400 jobs: pairs shorten completion times by a tenth or more.
. tests/cli/lib.sh
optimised

data=../shared/data/job_traces/gavel_dl_training_throughputs_k80_p100_v100.json
[ -r $data ] || skip "needs $data"

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
