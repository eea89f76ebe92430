#!/bin/sh
# A run whose estimated run times are all true says so, unless its scheduler reads none.
. tests/cli/lib.sh

run 0 list policies --json
sqlite3 :memory: "select value ->> '\$.policy' from json_each(readfile('$T/out')) where value ->> '\$.family' = 'scheduler'" \
    >"$T/schedulers"
small() { # SCHEDULER DB [ARGUMENT...]: 150 jobs that compete for two nodes
    scheduler=$1 db=$2
    shift 2
    run 0 run philly-cluster --set jobs.trace.limit=150 --set cluster.nodes=2 --set "jobs.scheduler=$scheduler" --keep metrics \
        -q -o "$T/$db.db" "$@"
}

# Other estimates change no result of a scheduler that is said to read none. Most of the others change.
n_ignoring=0 unmoved=
while read -r scheduler; do
    small "$scheduler" true
    grep -c 'exact-estimates: all estimates of run times are exact' "$T/out" >"$T/warned"
    oracle=$(sqlite3 "$T/true.db" 'select oracle from run order by id desc limit 1')
    small "$scheduler" wrong --set jobs.estimates.law=lognormal
    equal "$(grep -c exact-estimates "$T/out")" 0 "warnings of $scheduler with wrong estimates"
    [ "$(sqlite3 "$T/true.db" 'select result_hash from run order by id desc limit 1')" = \
        "$(sqlite3 "$T/wrong.db" 'select result_hash from run order by id desc limit 1')" ] && same=1 || same=0
    case $oracle in
    *'exact estimates'*)
        equal "$(cat "$T/warned")" 1 "warnings of $scheduler"
        [ $same = 0 ] || unmoved="$unmoved $scheduler"
        ;;
    *)
        equal "$(cat "$T/warned")" 0 "warnings of $scheduler"
        equal $same 1 "results of $scheduler that do not hang on estimates"
        n_ignoring=$((n_ignoring + 1))
        ;;
    esac
done <"$T/schedulers"
equal "$unmoved" ' gavel-packed lucid qssf elasticflow dispatch synergy' \
    'schedulers whose defaults read estimates, without effect on these jobs'
[ $n_ignoring -gt 15 ] || complain "only $n_ignoring schedulers ignore estimates"

# An objective of gavel reads estimates if it weighs the work that is left.
small '{"policy": "gavel", "objective": "makespan"}' makespan
out 'exact-estimates: all estimates of run times are exact'
small '{"policy": "gavel", "objective": "fifo"}' order
equal "$(grep -c exact-estimates "$T/out")" 0 'warnings of gavel in order of arrival'

# One estimate that is not the run time is enough. What is stored is shown later, and a sweep says it once.
jobs() { # ESTIMATE: of the first of two jobs
    echo '{"cluster": {"gpus_per_node": 8, "gpu": "h100-sxm"}, "jobs": {"scheduler": "sjf", "trace": {"format": "inline-jobs",
        "jobs": [{"submit": "0s", "gpus": 8, "duration": "60s", "estimate": "'"$1"'"},
                 {"submit": "1s", "gpus": 8, "duration": "60s"}]}}}' >"$T/jobs.json"
}
jobs 90s
run 0 run "$T/jobs.json" -q -o "$T/jobs.db"
equal "$(grep -c exact-estimates "$T/out")" 0 'warnings of one estimate'
sql "$T/jobs.db" 'select oracle from run' ''
jobs 60s
run 0 run "$T/jobs.json" -q -o "$T/jobs.db"
out exact-estimates
run 0 show "$T/jobs.db:2"
out exact-estimates
run 0 show "$T/jobs.db:1"
equal "$(grep -c exact-estimates "$T/out")" 0 'warnings of a stored run'
echo '{"scenario": "jobs.json", "axes": [{"key": "jobs.scheduler", "values": ["fifo", "sjf", "srtf"]}]}' >"$T/study.json"
run 0 sweep "$T/study.json" -o "$T/study.db" -q
err 'exact estimates: in 1 of 3 runs all estimates of run times are exact, and the scheduler may read them'
sql "$T/study.db" 'select group_concat(oracle, "/") from (select oracle from run order by id)' '/exact estimates/duration'
finish
