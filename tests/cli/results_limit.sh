#!/bin/sh
# A run that has written more than a limit fails and leaves nothing behind; long before, it warns.
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

run 2 run "$T/serve.json" -o "$T/y.db" --results-limit large
err "--results-limit: error: 'large'"
run 2 run "$T/serve.json" -o "$T/y.db" --results-limit 0B
no_file "$T/y.db"
finish
