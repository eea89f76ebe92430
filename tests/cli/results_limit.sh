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
err "$T/y.db: warning: the time series until the end of the run take at least 3.2 GB, and the run fails at 0.001 GB: sample less"
no_file "$T/y.db"
run 0 run "$T/samples.json" -o "$T/y.db" --set sample.period=1s -q
equal "$(grep -c warning: "$T/err")" 0 'warnings of a small time series: number'
sql "$T/y.db" "select (select count(*) from sample) * 30.0 / $(wc -c <"$T/y.db") between 0.9 and 1.1" 1
rm "$T/y.db"

# Of a huge site the memory is told before the run.
huge() {
    cat >"$T/huge.json" <<EOF
{"cluster": {"gpu": "a100-80-sxm", "nodes": $2}, "services": {"chat": {"llm": "llama-3.1-8b", "replicas": $1, "trace":
    {"format": "generate", "count": 1, "arrival": {"process": "poisson", "rate": "1/s"}, "output": {"distribution": "fixed", "tokens": 10}}}}}
EOF
}
if [ -n "$OPTIMISED" ]; then
    optimised
    huge 900000 10000000
    (ulimit -v 1500000 && "$ORRERY" run "$T/huge.json" >"$T/out" 2>"$T/err") && complain 'it found enough memory'
    err 'warning: 900000 replicas and 10000000 nodes take 2.8 GB of memory, and 11 GB once all replicas have had requests: '
    # Replicas that come later count, too.
    echo '{"extends": ["huge.json"], "services": {"chat": {"replicas": 1,
        "scaling": {"max": 900000, "policy": "target-outstanding"}}}}' >"$T/later.json"
    (ulimit -v 1500000 && "$ORRERY" run "$T/later.json" >"$T/out" 2>"$T/err") && complain 'it found enough memory'
    err 'warning: 900000 replicas and 10000000 nodes take 2.8 GB of memory'
    for n in 100 10100; do # by how much the memory of a run grows
        huge $n 20000
        run 0 run "$T/huge.json" -o "$T/huge.db" -q --interval never
        ! grep -q 'GB of memory' "$T/err" || complain "a warning of $n replicas"
    done
    sql "$T/huge.db" 'select (max(peak_rss_bytes) - min(peak_rss_bytes)) / 10000 between 2400 and 3600 from run_cost' 1
    sanitized
fi

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
