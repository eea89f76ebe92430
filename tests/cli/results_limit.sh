#!/bin/sh
# A run that has written more than a limit fails and leaves nothing behind; long before, it warns. A study stops.
. tests/cli/lib.sh

serving 3000000 50
optimised
run 3 run "$T/serve.json" -o "$T/x.db" --results-limit 20MB
err "$T/x.db: warning: 0.0"
err 'and the run fails at 0.02 GB: keep less (--keep metrics), or allow more (--results-limit)'
err "$T/x.db: error: the results of this run are larger than --results-limit, 0.02 GB; keep less"
sanitized
no_file "$T/x.db"

# What an earlier run has written does not count, and is kept.
serving 20 50
run 0 run "$T/serve.json" -o "$T/x.db" --results-limit 1MB -q
serving 50000 50
run 3 run "$T/serve.json" -o "$T/x.db" --results-limit 1MB
err "$T/x.db: error: the results of this run are larger than --results-limit, 0.001 GB; keep less"
sql "$T/x.db" 'select count(*), min(status) from run' '1|done'
run 0 run "$T/serve.json" -o "$T/x.db" --results-limit 1MB --keep metrics -q
equal "$(grep -c warning: "$T/err")" 0 'warnings of a small run: number'

# Samples are written between two events.
echo '{"cluster": {}, "until": "10h", "sample": {"period": "1ms"}, "jobs": {"trace": {"format": "inline-jobs",
    "jobs": [{"duration": "9h"}]}}}' >"$T/samples.json"
run 3 run "$T/samples.json" -o "$T/y.db" --results-limit 1MB
no_file "$T/y.db"

# A study counts all runs, keeps those that ended, and goes on with a larger limit. Nothing is left to do at the second
# call but to note the size.
serving 500 50
echo '{"name": "big", "scenario": "serve.json", "keep": "rows", "seeds": 3}' >"$T/big.json"
for resume in '' --resume; do
    run 3 sweep "$T/big.json" -o "$T/big.db" --results-limit 1.5MB -j 1 $resume
    err "$T/big.db.shards: error: the results so far are larger than --results-limit, 0.0015 GB"
    err '; allow more (--results-limit) and go on with --resume; "keep": "curves" in the study leaves out the rows of'
    no_file "$T/big.db"
done
sql "$T/big.db.shards/0000.db" 'select count(*) > 0, min(status) from run' '1|done'
run 0 sweep "$T/big.json" -o "$T/big.db" --resume -q
sql "$T/big.db" 'select count(*), min(status) from run' '3|done'
[ ! -e "$T/big.db.shards" ] || complain 'the sweep left its shards behind'
run 3 figure run long-context/sessions -o "$T/figures" --results-limit 10kB
err 'sessions.session.db.shards: error: the results so far are larger than --results-limit, 1e-05 GB'
no_file "$T/figures/long-context/sessions.session.db"
for verb in "sweep $T/big.json -o $T/z.db" "figure run long-context/sessions -o $T/none"; do
    run 2 $verb --results-limit large
    err "--results-limit: error: 'large'"
done

run 2 run "$T/serve.json" -o "$T/y.db" --results-limit large
err "--results-limit: error: 'large'"
run 2 run "$T/serve.json" -o "$T/y.db" --results-limit 0B
no_file "$T/y.db"
finish
