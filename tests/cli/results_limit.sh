#!/bin/sh
# A run whose results would exceed a limit ends early, says what to do, and leaves nothing behind.
. tests/cli/lib.sh

serving 200000 50
run 3 run "$T/serve.json" -o "$T/x.db" --results-limit 1MB
err "$T/x.db: error: "
err 'the limit is 0.001 GB; keep less (--keep metrics)'
no_file "$T/x.db"

# What an earlier run has written does not count, and is kept.
serving 20 50
run 0 run "$T/serve.json" -o "$T/x.db" --results-limit 1MB -q
serving 200000 50
run 3 run "$T/serve.json" -o "$T/x.db" --results-limit 1MB
sql "$T/x.db" 'select count(*), min(status) from run' '1|done'
run 0 run "$T/serve.json" -o "$T/x.db" --results-limit 1MB --keep metrics -q

run 2 run "$T/serve.json" -o "$T/y.db" --results-limit large
err "--results-limit: error: 'large'"
run 2 run "$T/serve.json" -o "$T/y.db" --results-limit 0B
no_file "$T/y.db"
finish
