#!/bin/sh
# orrery calibrate lifetimes: what it reads, prints and writes; what it refuses.
. tests/cli/lib.sh

# Quantiles of a Weibull law of shape 2 and scale 1000, all failed.
awk 'BEGIN { print "age_h,failed"; for (i = 0; i < 2000; i++) print 1000 * sqrt(-log(1 - (i + 0.5) / 2000)) ",1" }' >"$T/complete.csv"
run 0 calibrate lifetimes "$T/complete.csv" -o "$T/law.json"
out 'shape     2.0008'
out 'scale_h     1000'
equal "$(json_of "$T/law.json" '$.lifetime.law')" weibull law
equal "$(json_of "$T/law.json" '$.lifetime.shape' | awk '{ print ($1 > 1.98 && $1 < 2.02) }')" 1 shape

# The law is one of a cause.
cat >"$T/site.json" <<END
{"cluster": {"nodes": 2}, "failures": {"causes": {"gpu": $(sed 's/^{/{"scope": "gpu",/' "$T/law.json")}},
 "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"submit": "0s", "duration": "1h", "gpus": 8}]}}}
END
run 0 validate "$T/site.json"

# Half of the units leave at 500 h; all are seen from 100 h on.
awk -F, 'NR == 1 { print "age_h,failed,from_h"; next } $1 > 100 { print ($1 < 500 || NR % 2 ? $1 ",1" : "500,0") ",100" }' \
    "$T/complete.csv" >"$T/field.csv"
run 0 calibrate lifetimes "$T/field.csv" --csv
out 'units,1980'

# Dates of deployment that are known of returned units only.
{
    echo shipped_h,end_h,window_h,lag_h,age_h
    for i in 1 2 3 4 5 6 7 8 9; do
        echo "$i,36,12,$((i % 4 + 1)),$((i + 1))"
        for k in 1 2 3 4; do echo "$k,36,12,,"; done
    done
} >"$T/shipped.csv"
run 0 calibrate lifetimes "$T/shipped.csv" --json
out '"lag_h"'
cp "$T/out" "$T/first"
run 0 calibrate lifetimes "$T/shipped.csv" --json
out_is <"$T/first"

# The mean that is shown is that of the law that is written, within the six digits of the law's.
run 0 calibrate lifetimes "$T/shipped.csv" --csv -o "$T/law.json"
shown=$(awk -F, '$1 == "mean_h" { print $2 }' "$T/out")
equal "$(json_of "$T/law.json" '$.lifetime.mean')" "$(awk -v h="$shown" 'BEGIN { printf "%.6gh", h }')" 'mean of the law'
equal "$(json_of "$T/law.json" '$.source' | grep -c "mean $(awk -v h="$shown" 'BEGIN { printf "%.4g", h }') h, spread of the chain ")" 1 source
equal "$(awk -F, '$1 == "mean_h" { print ($3 < $2 && $2 < $4) }' "$T/out")" 1 'spread of the mean'

# A log of failures: what it does not say is warned of; what it says is in the source of the law.
cat >"$T/log.csv" <<'END'
node,down_at,up_at
n1,2024-01-05 08:00:00,2024-01-05 12:00:00
n2,2024-01-20 00:00:00,2024-01-21 00:00:00
n1,2024-02-03 00:00:00,2024-02-03 06:00:00
n3,2024-02-20 00:00:00,
END
run 0 calibrate lifetimes "$T/log.csv"
err 'nodes without a failure are not in the log, and none is counted'
err 'the observation is taken to last from the first to the last time of the log'
run 0 calibrate lifetimes "$T/log.csv" --from 2024-01-01 --until 2024-03-01 --nodes 50 -o "$T/law.json" --csv
equal "$(grep -c warning "$T/err")" 0 'warnings of a log that says all'
out 'units,53'
equal "$(awk -F, '$1 == "mean_h" { print ($3 < $2 && $2 < $4) }' "$T/out")" 1 'interval of the mean'
equal "$(json_of "$T/law.json" '$.source' | grep -c '^log.csv: 4 rows, 50 nodes from 2024-01-01 00:00:00 to 2024-03-01 00:00:00, 53 lives, 4 failures; mean .* h, 95 % interval .* h; orrery ')" 1 source
cat >"$T/logged.json" <<END
{"cluster": {"nodes": 2}, "failures": {"causes": {"node": $(sed 's/^{/{"scope": "node",/' "$T/law.json")}},
 "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"submit": "0s", "duration": "1h", "gpus": 8}]}}}
END
run 0 validate "$T/logged.json"

# Without a column of the ends, a node is up again when it goes down: as a log that says so.
cut -d, -f1,2 "$T/log.csv" >"$T/downs.csv"
awk -F, '{ print $1 "," $2 "," (NR == 1 ? "up_at" : $2) }' "$T/log.csv" >"$T/at_once.csv"
run 0 calibrate lifetimes "$T/at_once.csv" --from 2024-01-01 --until 2024-03-01 --nodes 50 --csv
equal "$(grep -c warning "$T/err")" 0 'warnings of a log that says all'
cp "$T/out" "$T/first"
run 0 calibrate lifetimes "$T/downs.csv" --from 2024-01-01 --until 2024-03-01 --nodes 50 --csv
err "there is no column 'up_at': each node is taken to be up again at once"
out_is <"$T/first"

# Units of which a file also says where they were and when are units, and no log; a flag beside a log's columns is none.
awk '{ print $0 (NR == 1 ? ",node,down_at" : ",n" NR ",5") }' "$T/field.csv" >"$T/both.csv"
run 0 calibrate lifetimes "$T/field.csv" --csv
cp "$T/out" "$T/first"
run 0 calibrate lifetimes "$T/both.csv" --csv
out_is <"$T/first"
awk '{ print $0 (NR == 1 ? ",node,down_at" : ",n" NR ",5") }' "$T/shipped.csv" >"$T/both.csv"
run 0 calibrate lifetimes "$T/shipped.csv" --csv
cp "$T/out" "$T/first"
run 0 calibrate lifetimes "$T/both.csv" --csv
out_is <"$T/first"
awk '{ print $0 (NR == 1 ? ",failed" : ",1") }' "$T/log.csv" >"$T/both.csv"
run 0 calibrate lifetimes "$T/log.csv" --csv
cp "$T/out" "$T/first"
run 0 calibrate lifetimes "$T/both.csv" --csv
out_is <"$T/first"
run 3 calibrate lifetimes "$T/log.csv" --nodes 2
err 'the log has 3 nodes, and --nodes says 2'
run 2 calibrate lifetimes "$T/log.csv" --until 5
err "--until '5' is a number, and the log has calendar times"
run 2 calibrate lifetimes "$T/complete.csv" --nodes 5
err 'only a log of failures (node,down_at) does not'
run 2 calibrate --gpu l4 "$T/complete.csv" --nodes 5
err 'only a log of failures has such an observation'

run 2 calibrate lifetimes
run 2 calibrate lifetimes --gpu l4 "$T/field.csv"
err 'field data of lifetimes are one file'
refuse() {
    printf '%s\n' "$@" >"$T/bad.csv"
    run 3 calibrate lifetimes "$T/bad.csv"
}
refuse age_h,failed 5,2
err "bad.csv:2:3: error: 'failed' must be 0 or 1"
refuse age_h,failed,from_h 5,1,6
err "'age_h' must be above 'from_h'"
refuse age_h 5
err "neither a column 'failed' nor a column 'shipped_h'"
refuse age_h,failed 5,1 6,0
err '1 failures do not determine a Weibull law'
refuse shipped_h,end_h,window_h,lag_h,age_h 1,36,12,2,13
err "must be above 0, and end within 'window_h'"
refuse node,down_at,up_at a,5,4
err "bad.csv:2:5: error: 'up_at' must not be before 'down_at'"
refuse node,down_at,up_at a,5, a,9,10
err "bad.csv:3: error: node 'a' goes down, and is down since line 2"
refuse node,down_at,up_at a,5,6 a,2024-01-01,
err "'down_at' must be of the kind of the times above it"
finish
