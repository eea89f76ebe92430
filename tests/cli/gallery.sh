#!/bin/sh
# The pictures of the pages are what the program draws: two cheap ones, byte by byte. All of them are small.
. tests/cli/lib.sh
optimised
export ORRERY

last='configs/scenarios/pictures/draw.sh'
sh $last -o "$T" quickstart schedulers >"$T/out" 2>&1 || { complain 'it failed'; cat "$T/out"; }
for name in quickstart schedulers; do
    cmp "$T/$name.svg" "configs/scenarios/pictures/$name.svg" || complain "$name.svg is stale: make pictures"
done
n_pictures=0
for picture in configs/scenarios/pictures/*.svg; do
    n_pictures=$((n_pictures + 1))
    [ "$(wc -c <"$picture")" -le 40000 ] || complain "$picture has more than 40 kB"
done
[ $n_pictures -le 10 ] || complain "there are $n_pictures pictures, more than ten"
finish
