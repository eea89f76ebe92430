#!/bin/sh
# The tables "Accuracy", "Power" and "Engines" of README.md are those of the calibration files and presets, and every
# calibration file is read.
. tests/cli/lib.sh

last='analysis/calibrate/accuracy.sh'
analysis/calibrate/accuracy.sh >"$T/tables" || complain 'it failed'
sed -n '/^<!-- accuracy/,/^<!-- end of accuracy/p; /^<!-- power/,/^<!-- end of power/p; /^<!-- engines/,/^<!-- end of engines/p' README.md | grep -v '^<!--' >"$T/readme"
[ -s "$T/readme" ] || complain 'README.md has no such tables'
diff "$T/readme" "$T/tables" >"$T/difference" || { complain "'make accuracy' has not been run"; head -5 "$T/difference"; }

# Put in twice, they stand there once.
cp README.md "$T/README.md"
analysis/calibrate/accuracy.sh "$T/README.md" && analysis/calibrate/accuracy.sh "$T/README.md"
cmp -s README.md "$T/README.md" || complain 'it changes what is right'
echo 'no markers' >"$T/none.md"
analysis/calibrate/accuracy.sh "$T/none.md" && complain 'it found markers where there are none'
equal "$(cat "$T/none.md")" 'no markers' 'a file without markers'

# Each file is of a GPU of the catalog, or of all of them, and a prediction reads it.
printf 'kernel,tokens,width,time_us\nnorm,64,4096,5\nnorm,4096,4096,50\n' >"$T/norm.csv"
run 0 list gpus --json
cp "$T/out" "$T/gpus.json"
for file in configs/calibration/*.json; do
    [ "$file" = configs/calibration/sources.json ] && continue
    gpu=$(json_of "$file" '$.gpu')
    equal "$gpu" "$(basename "$file" .json)" "the GPU of $file"
    [ "$gpu" = default ] && gpu=l4
    equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/gpus.json')) where json_extract(value, '\$.gpu') = '$gpu'")" \
        1 "$gpu in the catalog"
    run 0 calibrate --predict "$gpu" --set in-model "$T/norm.csv"
done

# Every file that was fitted to is the one that sources.json names, and `make` reads it there.
last='analysis/calibrate/sources.sh'
for part in calibration:configs/calibration power:configs/calibration/power engines:configs/engines; do
    for name in $(analysis/calibrate/sources.sh "${part%%:*}"); do
        DATA=. analysis/calibrate/sources.sh "${part%%:*}" "$name" files | sed 's|.*/||' | LC_ALL=C sort -u >"$T/sources"
        grep -o '"file": *"[^"]*"' "${part##*:}/$name.json" | cut -d'"' -f4 | LC_ALL=C sort -u >"$T/fitted"
        cmp -s "$T/sources" "$T/fitted" || complain "$name was fitted to other files than sources.json names"
    done
done
finish
