#!/bin/sh
# orrery calibrate power: what it reads, prints and writes; what it refuses.
. tests/cli/lib.sh

# Loads of a GPU that obeys the law: 130 W idle, 80 W of kernels, 400 W at the peak of memory, 900 W at that of compute.
{
    echo load,busy_frac,instant_w,flop_per_s,bytes_per_s
    echo 'idle with context,0,130,0,0'
    for i in 1 2 3 4 5; do
        echo "decode,1,$((210 + 40 * i)),0,$((480000000000 * i))"
        echo "gemm,1,$((210 + 90 * i)),$((98900000000000 * i)),0"
        echo "memory,1,$((210 + 60 * i)),0,$((720000000000 * i))"
    done
    echo 'host copy,1,140,0,50000000000'
} >"$T/loads.csv"
run 0 calibrate power --gpu h200-sxm "$T/loads.csv" -o "$T/power.json"
out 'a copy over PCIe, without kernels'
watts() { json_of "$T/power.json" "\$.activity.parameters.$1" | sed 's/W$//'; }
for expect in 'active 80' 'compute 900' 'memory 400'; do
    set -- $expect
    equal "$(awk "BEGIN { x = $(watts "$1"); print (x > 0.99 * $2 && x < 1.01 * $2) }")" 1 "$1: $(watts "$1") W"
done
equal "$(json_of "$T/power.json" '$.activity.rows')" 16 rows

run 0 calibrate power --gpu h200-sxm "$T/loads.csv" --json
out_is <"$T/power.json"

# A GPU that the file says it is like stays so.
sed 's/"activity"/"like": "h100-sxm", "activity"/' "$T/power.json" >"$T/alike.json"
run 0 calibrate power --gpu h200-sxm "$T/loads.csv" -o "$T/alike.json"
equal "$(json_of "$T/alike.json" '$.like')" h100-sxm like

run 2 calibrate power "$T/loads.csv"
err 'power is fitted to measurements of one GPU'
run 2 calibrate power --gpu h200-sxm
run 2 calibrate power --gpu h200-sxm --set isolated "$T/loads.csv"
err 'leave out all but'
run 2 calibrate power --gpu l4 "$T/loads.csv"
err 'context_power'
run 2 calibrate power --gpu no-such "$T/loads.csv"
echo a,b >"$T/other.csv"
run 3 calibrate power --gpu h200-sxm "$T/other.csv"
err 'no known table of measured power has these columns'
sed 's/,130,/,watts,/' "$T/loads.csv" >"$T/wrong.csv"
run 3 calibrate power --gpu h200-sxm "$T/wrong.csv"
err "$T/wrong.csv:2:21: error: 'instant_w' must be a number"
head -1 "$T/loads.csv" >"$T/empty.csv"
run 3 calibrate power --gpu h200-sxm "$T/empty.csv"
err 'no rows of power'
finish
