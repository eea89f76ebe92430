#!/bin/sh
# The OpenMetrics text of runs: a checker of the format's rules accepts it, and every metric of the runs is a sample.
. tests/cli/lib.sh

mixed
db=$T/r.db
run 0 run "$T/mixed.json" --quiet -o "$db" --keep metrics --name 'a "quoted" \ name'
run 0 run tests/golden/cases/scarce-kv.json --quiet -o "$db" --keep metrics
sqlite3 "$db" "update run set name = name || char(10) || 'of two lines' where id = 1;
    insert into metric values (2, 'slo.attained_frac[chat/batch]', 0.5, '1'); update metric set value = 9e999 where run_id = 2 and name = 'sim.end_s'"

# Rules of OpenMetrics 1.0: lines, the order of a family's lines, units as suffixes, one family in one place, no sample
# twice, the end. Prints what breaks one.
cat >"$T/check.awk" <<'END'
function wrong(what) { print NR ": " what ": " $0; n_wrong++ }
function begin(name) {
    if (name == family) return
    if (name in families) wrong("a family in two places")
    families[name]; family = name; type = ""
}
ended { wrong("a line behind the end") }
/^# EOF$/ { ended = 1; next }
/^# (TYPE|UNIT|HELP) [a-zA-Z_:][a-zA-Z0-9_:]* [^ ]/ {
    begin($3)
    if (($2, $3) in seen) wrong("a second " $2)
    if (($3, "sample") in seen) wrong($2 " behind samples")
    seen[$2, $3]
    if ($2 == "TYPE") type = $4
    if ($2 == "TYPE" && $4 !~ /^(gauge|info)$/) wrong("a type that no metric of a run has")
    if ($2 == "UNIT" && substr($3, length($3) - length($4)) != "_" $4) wrong("the unit does not end the name")
    next
}
/^#/ { wrong("neither TYPE, UNIT, HELP nor EOF"); next }
{
    if (!match($0, /^[a-zA-Z_:][a-zA-Z0-9_:]*\{[a-z_]+="([^"\\]|\\[n"\\])*"(,[a-z_]+="([^"\\]|\\[n"\\])*")*\} /)) { wrong("no sample"); next }
    labels = substr($0, 1, RLENGTH - 1)
    value = substr($0, RLENGTH + 1)
    name = labels; sub(/\{.*/, "", name)
    if (type == "info") sub(/_info$/, "", name)
    if (name != family) wrong("a sample without a family above it")
    if (value !~ /^([-+]Inf|NaN|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?)$/) wrong("no number")
    if (labels in samples) wrong("a second sample")
    samples[labels]; seen[name, "sample"]; n++
}
END {
    for (name in families) if (!(("TYPE", name) in seen) || !(("HELP", name) in seen)) { print name ": no TYPE or HELP"; n_wrong++ }
    if (!ended) { print "no # EOF"; n_wrong++ }
    print n " samples" > "/dev/stderr"
    exit n_wrong > 0
}
END
check() {
    awk -f "$T/check.awk" "$T/out" >"$T/wrong" 2>"$T/samples" || { complain 'it breaks a rule'; head -5 "$T/wrong"; }
}
n_metrics() { sqlite3 "$db" "select count(*) from metric where value not null and $1"; }

run 0 export "$db" --openmetrics
check
equal "$(cat "$T/samples")" "$(($(n_metrics 1) + 2)) samples" samples
out 'name="a \"quoted\" \\ name\nof two lines"'
grep -q '^orrery_sim_end_seconds{run="2",name="golden: scarce KV"} +Inf$' "$T/out" || complain 'no infinity'
out "orrery_request_ttft_p99_seconds{run=\"2\",name=\"golden: scarce KV\"} $(sqlite3 "$db" "select value from metric where run_id = 2 and name = 'request.ttft_s.p99'")"
out 'orrery_slo_attained_ratio{run="2",name="golden: scarce KV",entity="chat/batch"} 0.5'
grep -q '^# HELP orrery_request_finished request.finished: requests that arrived' "$T/out" || complain 'no definition'
cp "$T/out" "$T/all"
run 0 export "$db" --openmetrics -o "$T/metrics.txt.gz"
gzip -dc "$T/metrics.txt.gz" | cmp -s - "$T/all" || complain 'a file has other bytes than standard output'
run 0 export "$db:2" --openmetrics
check
equal "$(cat "$T/samples")" "$(($(n_metrics 'run_id = 2') + 1)) samples" 'samples of one run'
! grep -q 'run="1"' "$T/out" || complain 'it has another run'
run 3 export "$db:9" --openmetrics
err 'no run 9'

# Names of all metrics of the dictionary: no abbreviation of a unit is left before the unit, nor a unit twice.
run 0 list metrics --csv
cp "$T/out" "$T/dictionary.csv"
cp "$db" "$T/names.db"
sqlite3 "$T/names.db" '.mode csv' ".import $T/dictionary.csv dictionary" 'delete from metric' \
    'insert into metric select 1, metric, 1, unit from dictionary' 'drop table dictionary'
run 0 export "$T/names.db:1" --openmetrics
check
equal "$(cat "$T/samples")" "$(($(wc -l <"$T/dictionary.csv") )) samples" 'samples of the dictionary'
awk '$2 == "TYPE" && $3 ~ /_(j|w|s|gpu_s)(_|$)/ || $3 ~ /_(usd|joules|watts|seconds|bytes)_.*_(usd|joules|watts|seconds|bytes)(_|$)/ &&
    $2 == "TYPE" { print $3 }' "$T/out" >"$T/odd"
[ ! -s "$T/odd" ] || { complain 'odd names:'; cat "$T/odd"; }
out '# UNIT orrery_energy_joules_per_job joules_per_job'
out 'orrery_energy_joules_per_request{'

# The checker finds faults.
for fault in 's/^# EOF$//' 's/seconds{/second{/' '/^# TYPE orrery_sim/d' 's/} \([0-9]\)/} x\1/' 's/^# UNIT \(.*\) seconds$/# UNIT \1 hours/' '$p'; do
    last="a fault planted by: $fault"
    sed "$fault" "$T/all" | awk -f "$T/check.awk" >"$T/wrong" 2>"$T/samples" && complain 'it is not found'
done
finish
