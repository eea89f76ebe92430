#!/bin/sh
# The tables about accuracy on the pages are those of the calibration files and presets, and every calibration file is
# read.
. tests/cli/lib.sh

# Each part "<!-- generated: analysis/calibrate/accuracy.sh TOPIC TABLE -->" holds what this prints.
last='analysis/calibrate/accuracy.sh'
n_parts=0
for page in configs/calibration/README.md configs/calibration/releases/README.md configs/calibration/power/README.md \
    configs/engines/README.md; do
    for part in $(sed -n 's/^<!-- generated: analysis\/calibrate\/accuracy.sh \(.*\) -->$/\1/p' "$page" | tr ' ' ,); do
        topic=${part%,*} table=${part#*,}
        n_parts=$((n_parts + 1))
        analysis/calibrate/accuracy.sh "$topic" "$table" >"$T/table" || complain "'$topic $table' failed"
        sed -n "/^<!-- generated: .* $topic $table -->/,/^<!-- end of generated part -->/p" "$page" |
            grep -v '^<!--\|^$' >"$T/page"
        diff "$T/page" "$T/table" >"$T/difference" ||
            { complain "$page, '$topic $table': 'make accuracy' has not been run"; head -5 "$T/difference"; }
        [ "$(wc -l <"$T/table")" -gt 2 ] || complain "the table '$topic $table' is empty"
        [ "$(awk -F '|' 'NF > most { most = NF } END { print most - 2 }' "$T/table")" -le 6 ] ||
            complain "the table '$topic $table' has more than six columns"
    done
done
[ $n_parts -ge 15 ] || complain "the pages hold $n_parts tables only"
run_accuracy() { # STATUS ARGUMENTS...
    want=$1
    shift
    analysis/calibrate/accuracy.sh "$@" >"$T/out" 2>"$T/err"
    equal $? "$want" "the status of accuracy.sh $*"
}
run_accuracy 2 nonsense
run_accuracy 1 power nonsense

# Each file is of a GPU of the catalog, or of all of them, and a prediction reads it.
printf 'kernel,tokens,width,time_us\nnorm,64,4096,5\nnorm,4096,4096,50\n' >"$T/norm.csv"
run 0 list gpus --json
cp "$T/out" "$T/gpus.json"
for file in configs/calibration/*.json; do
    [ "$file" = configs/calibration/sources.json ] && continue
    gpu=$(json_of "$file" '$.gpu')
    equal "$gpu" "$(n=${file##*/} && echo "${n%.json}")" "the GPU of $file"
    [ "$gpu" = default ] && gpu=l4
    equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/gpus.json')) where json_extract(value, '\$.gpu') = '$gpu'")" \
        1 "$gpu in the catalog"
    run 0 calibrate --predict "$gpu" --set in-model "$T/norm.csv"
done

# Every file that was fitted to is the one that sources.json names, and `make` reads it there.
last='analysis/calibrate/sources.sh'
for part in calibration:configs/calibration power:configs/calibration/power engines:configs/engines; do
    for name in $(analysis/calibrate/sources.sh "${part%%:*}"); do
        for list in files $(analysis/calibrate/sources.sh "${part%%:*}" "$name" sets); do
            DATA=. analysis/calibrate/sources.sh "${part%%:*}" "$name" "$list"
        done | sed 's|.*/||' | LC_ALL=C sort -u >"$T/sources"
        grep -o '"file": *"[^"]*"' "${part##*:}/$name.json" | cut -d'"' -f4 | LC_ALL=C sort -u >"$T/fitted"
        cmp -s "$T/sources" "$T/fitted" || complain "$name was fitted to other files than sources.json names"
    done
done
finish
