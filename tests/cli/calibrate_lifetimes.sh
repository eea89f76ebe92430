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
finish
