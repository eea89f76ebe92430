#!/bin/sh
# Calibration from the command line: fitting a profile, the files it writes, predicting a profile, findings.
. tests/cli/lib.sh

# Rows of three groups by a law of our own: norms of an A100 that reach a share of its bandwidth, after 5 us.
profile() { # BANDWIDTH_SHARE
    awk -v share="$1" 'BEGIN {
        print "kernel,tokens,width,number_bytes,time_us,group"
        for (i = 0; i < 60; i++) {
            tokens = 2 ^ (i % 15); width = 1024 * (1 + i % 4)
            printf "norm,%d,%d,2,%.9g,llm %d\n", tokens, width, 5 + 1e6 * tokens * width * 2 / (share * 2.039e12), i % 3
        }
    }'
}
profile 0.5 >"$T/norm.csv"

# The model comes close to the law, also on rows that it has not seen.
run 0 calibrate --gpu a100-80-sxm "$T/norm.csv" -o "$T/out.json" --report "$T/report"
out 'norm.csv  orrery  isolated    60       3  group'
for title in 'error by class' 'error by part' 'held-out error by fold' parameters; do out "a100-80-sxm, isolated: $title"; done
equal "$(awk '/: error by part/ { part = 1 } /^$/ { part = 0 } part && $1 == "norm" { sum += $3; n++ } END { print sum, n }' \
    "$T/out")" '120 5' 'rows by tokens and by operator' # none without rows
json_is() { equal "$(json_of "$T/out.json" "$1")" "$2" "$1"; }
below() { # PATH LIMIT
    equal "$(sqlite3 :memory: "select json_extract(readfile('$T/out.json'), '$1') between 0 and $2")" 1 "$1 below $2"
}
below '$.sets.isolated.norm.fit.all.median' 0.02
below '$.sets.isolated.norm.held_out.error.all.median' 0.05
for plot in isolated-norm isolated-error-by-band; do
    grep -q '^</svg>$' "$T/report/$plot.svg" || complain "no plot $plot"
    ! command -v xmllint >/dev/null || xmllint --noout "$T/report/$plot.svg" || complain "$plot is no XML"
done
cp "$T/out.json" "$T/first.json"
json_is '$.gpu' a100-80-sxm
json_is '$.sets.isolated.norm.rows' 60
json_is '$.sets.isolated.norm.held_out.by' group
json_is '$.sets.isolated.norm.range.tokens[1]' 16384
json_is '$.sets.isolated.norm.profiles[0].file' norm.csv

# The same again gives the same bytes; another set is laid beside it, and a class fitted anew takes the old one's place.
run 0 calibrate --gpu a100-80-sxm "$T/norm.csv" -o "$T/out.json" --report "$T/again"
cmp -s "$T/first.json" "$T/out.json" || complain 'other bytes from the same profile'
diff -r "$T/report" "$T/again" >/dev/null || complain 'other plots from the same profile'
run 0 calibrate --gpu a100-80-sxm --set mine "$T/norm.csv" -o "$T/out.json"
json_is '$.sets.mine.norm.rows' 60
json_is '$.sets.mine.norm.parameters.bandwidth_efficiency' \
    "$(json_of "$T/first.json" '$.sets.isolated.norm.parameters.bandwidth_efficiency')"
profile 0.25 >"$T/norm.csv"
run 0 calibrate --gpu a100-80-sxm --set mine "$T/norm.csv" -o "$T/out.json"
below '$.sets.mine.norm.parameters.bandwidth_efficiency' 0.4
json_is '$.sets.isolated.norm.parameters.bandwidth_efficiency' \
    "$(json_of "$T/first.json" '$.sets.isolated.norm.parameters.bandwidth_efficiency')"
run 0 calibrate --gpu a100-80-sxm --json "$T/norm.csv"
valid_json
json '$.profiles[0].rows' 60
json '$.profiles[0].set' isolated
json '$.sets.isolated.norm.rows' 60

# One GPU is a number of GPUs.
cp "$T/out" "$T/plain"
run 0 calibrate --gpu a100-80-sxm --json --tp 1 "$T/norm.csv"
cmp -s "$T/out" "$T/plain" || complain 'other parameters with --tp 1'
run 2 calibrate --gpu a100-80-sxm --json --tp 0 "$T/norm.csv"
err "option '--tp' must be a whole number from 1, got '0'"
cp "$T/plain" "$T/out"

# CSV of the errors: those of the JSON, of all rows and of held-out ones; every fold once.
cp "$T/out" "$T/fit.json"
run 0 calibrate --gpu a100-80-sxm --csv "$T/norm.csv"
sqlite3 "$T/errors.db" ".import --csv '$T/out' e"
error_of() { json_of "$T/fit.json" "\$.sets.isolated.norm.$1.all.$2"; }
sql "$T/errors.db" "select e.'rows', abs(median_frac - $(error_of fit median)) < 1e-6, abs(p90_frac - $(error_of fit p90)) < 1e-6
    from e where part = 'all' and rows_that_were = 'fitted' and class = 'norm' and e.'set' = 'isolated'" '60|1|1'
sql "$T/errors.db" "select abs(median_frac - $(error_of held_out.error median)) < 1e-6 from e
    where part = 'all' and rows_that_were = 'held out'" 1
sql "$T/errors.db" "select count(*), sum(e.'rows') from e where rows_that_were = 'held out: fold'" '3|60'

# Measured points beside the law: costs take them where they meet their shape. Here 64 rows are as slow as no law says.
awk 'BEGIN {
    print "kernel,tokens,width,number_bytes,time_us"
    for (i = 0; i < 13; i++) printf "norm,%d,8192,2,%.9g\n", 2 ^ i, i == 6 ? 40 : 5 + 2 ^ i / 100
}' >"$T/points.csv"
run 0 calibrate --gpu a100-80-sxm --set in-model --table "$T/points.csv" -o "$T/table.json"
equal "$(json_of "$T/table.json" '$.sets.in-model.norm.table[0].tokens[6]')" 64 'rows of the seventh point'
run 0 calibrate --predict a100-80-sxm "$T/points.csv" --set in-model --calibration "$T/table.json"
out 'inside the fitted range, 100.0 % in a table'
run 0 calibrate --predict a100-80-sxm "$T/points.csv" --set in-model --calibration "$T/table.json" --json
json '$.table_frac' 1
json '$.rows' 13
cp "$T/out" "$T/predicted.json"
run 0 calibrate --predict a100-80-sxm "$T/points.csv" --set in-model --calibration "$T/table.json" --csv
sqlite3 "$T/predicted.db" ".import --csv '$T/out' e"
sql "$T/predicted.db" "select e.'rows', median_frac - $(json_of "$T/predicted.json" '$.median_abs_error') = 0 from e where part = 'all'" '13|1'
run 2 calibrate --predict a100-80-sxm "$T/points.csv" --calibration "$T/nowhere.json"
err "--calibration: error: there is no calibration '$T/nowhere.json'"
run 2 calibrate --predict a100-80-sxm "$T/points.csv" --set nonsense
err "--set: error: no calibration of this GPU has a set 'nonsense'"
run 2 calibrate --gpu a100-80-sxm "$T/points.csv" --calibration "$T/table.json"
err 'only a prediction takes a calibration; leave out --calibration'
cat >"$T/table-run.json" <<END
{ "cluster": {"gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "llama-2-7b", "cost": {"kind": "operators", "calibration": "table.json"},
                        "trace": {"format": "generate", "count": 1}}} }
END
run 0 explain cost "$T/table-run.json" --operators --batch 64 --json
norm() { sqlite3 :memory: "select json_extract(value, '$.$1') from json_each(readfile('$T/out'))
    where json_extract(value, '$.operator') $2 'norm'" | sort -u; }
equal "$(norm by =)" table 'what the norms rest on'
equal "$(norm ms =)" 2.6 'milliseconds of 65 norms'
equal "$(norm by '<>' | tr -d '\n')" fit 'what all others rest on'
run 0 explain cost "$T/table-run.json" --operators --batch 5000 --json
equal "$(norm by =)" fit 'what norms of many more rows rest on'
equal "$(json_of "$T/table.json" '$.sets.in-model.norm.law')" in-model 'the law of few rows'
equal "$(json_of "$T/table.json" '$.sets.in-model.norm.parameters.start')" \
    "$(json_of configs/calibration/a100-80-sxm.json '$.sets.in-model.norm.parameters.start')" 'its start'
equal "$(json_of "$T/table.json" '$.sets.in-model.norm.range.width[1]')" \
    "$(json_of configs/calibration/a100-80-sxm.json '$.sets.in-model.norm.range.width[1]')" 'its widest rows'
equal "$(norm parameters '<>' | grep -c default)" 0 'sets of other GPUs'
# Four products in fp16 that bf16 looks up too.
printf 'kernel,m,n,k,weights,compute,time_us\n' >"$T/few.csv"
for m in 16 64 256 1024; do echo "gemm,$m,4096,4096,fp16,fp16,$((40 + m / 5))"; done >>"$T/few.csv"
run 0 calibrate --gpu a100-80-sxm --set in-model --table "$T/few.csv" -o "$T/few.json"
err "warning: 'gemm' keeps the fit of 'in-model' beside its table: 4 rows for "
sed 's/fp16/bf16/g' "$T/few.csv" >"$T/bf16.csv"
run 0 calibrate --predict a100-80-sxm "$T/bf16.csv" --set in-model --calibration "$T/few.json" --json
json '$.table_frac' 1
run 0 calibrate --gpu a100-80-sxm --set in-model "$T/few.csv" -o "$T/few.json"
equal "$(json_of "$T/few.json" '$.sets.in-model.gemm.law')" '' 'the law of a fit'
run 2 calibrate --gpu default "a100-80-sxm=$T/norm.csv" --table
err 'measured points are those of one GPU; name the GPU with --gpu'
run 2 calibrate --predict a100-80-sxm "$T/norm.csv" --table
err 'measured points are those of one GPU; name the GPU with --gpu'

# One law for several GPUs.
run 0 calibrate --gpu default "a100-80-sxm=$T/norm.csv" "a100-40-sxm=$T/norm.csv" --json
json '$.sets.isolated.norm.held_out.by' gpu
json '$.sets.isolated.norm.rows' 120
json '$.sets.isolated.norm.range' ''

# A GPU given as a file goes by its name, and its calibration is another file.
cp configs/hardware/a100-80-sxm.json "$T/my-gpu.json"
profile 0.5 >"$T/mine.csv"
run 0 calibrate --gpu "$T/my-gpu.json" "$T/mine.csv" -o "$T/my-fit.json" --json
json '$.gpu' my-gpu
equal "$(json_of "$T/my-fit.json" '$.gpu')" my-gpu 'the GPU of the file'
run 0 calibrate --predict "$T/my-gpu.json" --json "$T/mine.csv"
json '$.gpu' my-gpu
json '$.default' 1
run 2 calibrate --gpu "$T/my-gpu.json" "$T/mine.csv" -o "$T/my-fit.json" --table
err 'a calibration finds the GPU of its measured points in the catalog'

# What fails leaves the old file as it was.
cp "$T/out.json" "$T/kept.json"
run 2 calibrate --gpu h100-sxm "$T/norm.csv" -o "$T/out.json"
err_is <<END
$T/out.json:2:10: error: this calibration is of 'a100-80-sxm', not of 'h100-sxm'; name another file with -o
END
run 3 calibrate --gpu a100-80-sxm "$T/nowhere.csv" -o "$T/out.json"
err "$T/nowhere.csv: error: cannot open: No such file or directory"
cmp -s "$T/kept.json" "$T/out.json" || complain 'a failed calibration changed the file'
run 3 calibrate --gpu a100-80-sxm "$T/norm.csv" -o "$T/nowhere/x.json"
err "$T/nowhere/x.json: error: "
run 3 calibrate --gpu a100-80-sxm "$T/norm.csv" --report "$T/nowhere/plots" -o "$T/unwritten.json"
no_file "$T/unwritten.json"
err "$T/nowhere/plots: error: cannot make the directory: No such file or directory"
ls "$T"/.*-part >/dev/null 2>&1 && complain 'it left a part behind'

# Profiles of another GPU, and options that a profile has no use for.
awk 'BEGIN {
    print "kernel,m,n,k,time_us"
    for (i = 0; i < 12; i++) printf "gemm,%d,4096,4096,%.9g\n", 2 ^ i, 20 + 2 ^ i * 0.15
}' >"$T/fast.csv"
run 0 calibrate --gpu a100-80-sxm --llm llama-2-7b --tp 3 "$T/fast.csv"
err "$T/fast.csv: warning: '--llm' is not used"
err "$T/fast.csv: warning: '--tp' is not used"
run 2 calibrate --gpu a100-80-sxm --llm lama-2-7b "$T/fast.csv"
err "--llm: error: unknown LLM 'lama-2-7b'; did you mean 'llama-2-7b'?"
run 0 calibrate --gpu k80 "$T/fast.csv"
err "$T/fast.csv: warning: 10 of 12 rows are faster than the peak of 'k80', and are left out; wrong GPU, LLM or unit of time?"
run 0 calibrate --predict k80 "$T/fast.csv"
err 'rows are faster than the peak'
out '10 rows left out: '
awk 'BEGIN {
    print "kernel,tokens,width,time_us"
    for (i = 0; i < 20; i++) printf "norm,%d,4096,%.9g\n", 2 ^ (i % 10), i % 2 ? 5 : 50000
}' >"$T/wild.csv"
run 0 calibrate --gpu a100-80-sxm "$T/wild.csv"
err "warning: 'norm' is fitted badly: its median error is"

# Findings in profiles.
printf 'a,b\n1,2\n' >"$T/unknown.csv"
run 3 calibrate --gpu a100-80-sxm "$T/unknown.csv"
err "$T/unknown.csv:1:1: error: no known profile has these columns"
printf 'kernel,tokens,width,time_us\nnorm,1,4096,5\nnorm,2,40' >"$T/cut.csv"
run 3 calibrate --gpu a100-80-sxm "$T/cut.csv"
err_is <<END
$T/cut.csv:3:10: error: the row has 3 fields, the header 4; was the file cut off?
END
printf 'kernel,tokens,width,time_us\nnorm,1,4096,5\nnorm,2,4096,\nnorm,4,4096,0\n' >"$T/few.csv"
run 3 calibrate --gpu a100-80-sxm "$T/few.csv"
err "warning: 'norm' is not fitted: 1 rows for 8 parameters; measure more shapes"
err "error: set 'isolated' has no rows to fit"

# Predicting: the shipped model of a GPU that was measured, and the defaults of one that was not.
if [ -f configs/calibration/a100-80-sxm.json ]; then
    profile 0.5 >"$T/norm.csv"
    run 0 calibrate --predict a100-80-sxm --set in-model --json "$T/norm.csv"
    valid_json
    json '$.set' in-model
    json '$.sets.norm' in-model
    json '$.default' 0
    json '$.rows' 60
    json '$.by_operator.norm.rows' 60
    json "\$.by_band.\"17-256\".rows" 16
    for part in '$' '$.by_operator.norm' '$.by_band."1-16"'; do
        equal "$(sqlite3 :memory: "select json_type(readfile('$T/out'), '$part.median_abs_error') = 'real'
            and json_type(readfile('$T/out'), '$part.p90_abs_error') = 'real'")" 1 "$part"
    done
    run 0 calibrate --predict k80 --json "$T/norm.csv"
    json '$.sets.norm' default
    json '$.default' 1
    json '$.in_range_frac' 0
    err "k80: warning: this GPU has no measurements for some of the rows; the models of 'default' stand in"
    run 0 calibrate --predict a30 "$T/norm.csv"
    err "a30: warning: this GPU has no measurements for some of the rows; the models of 'a100-80-sxm' stand in"
    run 0 calibrate --predict a100-80-sxm --set in-model "$T/norm.csv"
    grep -qE '^norm +60 ' "$T/out" || complain 'the error of the operator'
fi

# Usage.
run 2 calibrate
err "error: 'orrery calibrate' needs an argument"
run 2 calibrate "$T/norm.csv"
err_is <<'END'
error: exactly one of --gpu, --predict and --engine is needed; --gpu GPU fits a model to the profiles, --predict GPU reports the error of the shipped one, --engine NAME fits the CPU overhead of an engine
END
run 2 calibrate --gpu a100-80-sxn "$T/norm.csv"
err "--gpu: error: unknown GPU 'a100-80-sxn'; did you mean 'a100-80-sxm'?"
run 2 calibrate --predict a100-80-sxm -o x.json "$T/norm.csv"
err 'error: a prediction fits nothing, and writes no files'
run 2 calibrate --predict default "$T/norm.csv"
err "error: 'default' is no GPU; name the GPU that was measured"
run 2 calibrate --gpu default "$T/norm.csv"
err "error: no GPU before '$T/norm.csv'; write GPU=PROFILE"
run 2 calibrate --gpu a100-80-sxm --tp many "$T/norm.csv"
err "error: option '--tp' must be a whole number from 1, got 'many'"
run 2 calibrate --gpu a100-80-sxm --set 'in model' "$T/norm.csv"
err "error: a set's name may hold only letters, digits, '_', '.' and '-', got 'in model'"
run 0 calibrate --help
out 'kernel,m,n,k,weights,compute,time_us,group'
out '  moe, moe_fp8, moe_fp8_tensor, moe_nvfp4, moe_mxfp4, moe_int4, moe_fp8_masked, moe_fp8_contiguous'
out '      tokens hidden inner chosen experts [held] [matrices] [skew] [in_turn] [dealt] [dispatched]'
finish
