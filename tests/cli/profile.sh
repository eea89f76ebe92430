#!/bin/sh
# orrery profile on a folder as the measuring kit writes it, with committed rows of an H200: what it prints and writes,
# and what it says to wrong folders.
. tests/cli/lib.sh

measured=configs/calibration/measured
folder() { # NAME: a folder of its own, with few rows, which are fitted fast
    mkdir "$T/$1"
    awk 'NR == 1 || /^gemm/ && NR % 40 == 0 || /^activation/' $measured/h200-sxm-isolated.csv >"$T/$1/kernels-isolated.csv"
    cp $measured/h200-sxm-iterations.csv "$T/$1/iterations.csv"
    cp $measured/h200-sxm-power.csv "$T/$1/power.csv"
    printf 'copy,host,beside,bytes_per_s\nh2d,pinned,,5.5e10\nd2h,pageable,,6e10\nh2d,pinned,a kernel,6e10\n' >"$T/$1/copies.csv"
    cat >"$T/$1/manifest.json" <<'END'
{ "kit": 1, "date": "2026-05-01T12:00:00Z", "gpu": "NVIDIA H200", "gpus": 1, "sms": 132, "memory_bytes": 150754820096,
  "driver": "580.159.04", "torch": "2.11.0", "power_limit_w": 700,
  "parts": {
    "bf16": {"status": "partial", "measured": 437, "planned": 1968, "seconds": 31.5, "reason": "its time was over",
             "files": ["kernels-isolated.csv"]},
    "copies": {"status": "done", "measured": 3, "planned": 3, "seconds": 1, "files": ["copies.csv"]},
    "collectives": {"status": "skipped", "measured": 0, "planned": 0, "seconds": 0, "reason": "one GPU"},
    "iterations": {"status": "done", "measured": 11, "planned": 11, "seconds": 9, "files": ["iterations.csv"]},
    "power": {"status": "done", "measured": 17, "planned": 17, "seconds": 20, "files": ["power.csv"]} } }
END
}
folder rows

run 0 profile
out 'orrery profile --kit kit'
run 0 profile "$T/rows" -o "$T/gpu.json" --power "$T/power.json"
out 'NVIDIA H200, 132 SMs, 143771 MiB: h200-sxm of the catalog'
out 'collectives  skipped         0        0        0  one GPU'
out 'host to GPU        55             64    85.94'
out '"calibration": "'"$T"'/gpu.json"'
out "Runs use the power in '$T/power.json' once it is copied to configs/calibration/power/h200-sxm.json."
out "orrery run quickstart --set cluster.gpu=h200-sxm --set services.chat.cost.calibration=$T/gpu.json"
cp "$T/out" "$T/said"
# The page explains every column.
for column in $(grep -E '^(part|set|iterations|copy|rows_that_were) ' "$T/said" | tr -s ' ' '\n' | grep -v '^[0-9]'); do
    holds analysis/calibrate/kit/README.md "\`$column\`"
done

optimised
# The fits are those of orrery calibrate on the single files, to the byte.
run 0 calibrate --gpu h200-sxm --library 'PyTorch 2.11.0, 2026' "$T/rows/kernels-isolated.csv" -o "$T/kernels.json"
cmp -s "$T/kernels.json" "$T/gpu.json" || complain 'another fit of kernels'
run 0 calibrate power --gpu h200-sxm "$T/rows/power.csv" -o "$T/watts.json"
cmp -s "$T/watts.json" "$T/power.json" || complain 'another fit of power'

# The JSON has the numbers of the tables.
run 0 profile "$T/rows" --json
valid_json
json '$.iterations[0].rows' 4
json '$.iterations[1].rows' 3
equal "$(awk '$1 == "prefill" && NF == 6 { print $3; exit }' "$T/said")" "$(json_of "$T/out" '$.iterations[1]."median_%"')" 'error of prompts'
equal "$(awk '$2 == "gemm" && NF == 7 { print $6 }' "$T/said")" "$(json_of "$T/out" '$.fits[0]."held_out_median_%"')" 'error of products'

# A file of power alone is told of, too.
run 0 profile "$T/rows" --power "$T/power.json"
out "Runs use the power in '$T/power.json'"
grep -q 'Nothing was written' "$T/out" && complain 'a file of power counts for nothing'

# Other folders.
change() { # NAME FILE SED
    folder "$1"
    sed -i "$3" "$T/$1/$2"
}
change fast kernels-isolated.csv 's/,\([0-9]*\)[0-9.]*,cuBLAS/,0.\1,cuBLAS/'
run 0 profile "$T/fast"
grep -q "rows are faster than the peak of 'h200-sxm', and are left out; wrong GPU, LLM or unit of time?" "$T/err" ||
    complain 'impossible rates pass'
change other manifest.json 's/"NVIDIA H200"/"NVIDIA H800"/'
run 2 profile "$T/other"
err "manifest.json: error: the catalog has no GPU like 'NVIDIA H800' with 132 SMs and 143771 MiB; name it with --gpu;"
run 0 profile "$T/other" --gpu h200-sxm
run 0 profile "$T/rows" --gpu h100-pcie
err "rows: warning: the measured GPU has 132 SMs, 'h100-pcie' has 114; is another GPU meant with --gpu?"
err "143771 MiB of memory"
change limited manifest.json 's/"power_limit_w": 700/"power_limit_w": 500/'
run 0 profile "$T/limited"
err "measured under a limit of 500 W, 'h200-sxm' is delivered with 700 W"
change newer manifest.json 's/"kit": 1/"kit": 2/'
run 2 profile "$T/newer"
err 'manifest.json:1:10: error: the manifest has version 2, read is 1; measure with the kit of this program'
change outside manifest.json 's/"iterations.csv"/"..\/iterations.csv"/'
run 2 profile "$T/outside"
err "part 'iterations' names the file '../iterations.csv'"
change broken kernels-isolated.csv '2s/^gemm,qkv,\([^,]*\),[0-9]*,/gemm,qkv,\1,many,/'
run 3 profile "$T/broken" -o "$T/not.json"
err "kernels-isolated.csv:2:"
no_file "$T/not.json"
change shapeless iterations.csv '1s/past/passed/'
run 3 profile "$T/shapeless"
err 'iterations.csv:1:1: error: a column of the kit is missing'
folder missing
rm "$T/missing/kernels-isolated.csv"
run 3 profile "$T/missing"
err 'kernels-isolated.csv: error'
folder empty
echo '{"kit": 1, "date": "today", "gpu": "NVIDIA H200", "gpus": 1, "sms": 132, "memory_bytes": 150754820096}' >"$T/empty/manifest.json"
run 0 profile "$T/empty"
out 'No kernels were measured'
run 3 profile "$T/empty" -o "$T/not.json"
err 'no kernels were measured: there is nothing to write'
run 3 profile "$T/empty" --power "$T/not.json"
err 'there is no fit of power to write: it was not measured'
run 3 profile "$T/nowhere"
err 'nowhere/manifest.json: error'
run 2 profile -o "$T/not.json"
err "there is no folder to read; usage: orrery profile DIR"
run 2 profile "$T/rows" --kit "$T/kit"
err "'--kit' only writes the kit; leave out all but --kit"
run 2 profile "$T/rows" -o "$T/rows/power.csv"
err "$T/rows/power.csv"
cmp -s $measured/h200-sxm-power.csv "$T/rows/power.csv" || complain 'an input is changed'
run 3 profile --kit "$T/rows/power.csv"
err 'cannot make the directory'
finish
