#!/bin/sh
# Muri's eight simulated traces beside the testbed: each ratio that the figure reports is that of the points it draws.
. tests/cli/lib.sh
optimised

figure=configs/figures/muri/traces.json
last=$figure
sed 's|^ *//.*||' $figure >"$T/traces.json"
equal "$(sqlite3 :memory: "
    with file as (select readfile('$T/traces.json') as text),
         point as (select series.value ->> '\$.name' as name, points.value ->> '\$.x' as x, points.value ->> '\$.y' as y
             from file, json_each(text, '\$.charts[0].series') as series, json_each(series.value, '\$.paper.points') as points)
    select group_concat(abs(claim.value ->> '\$.value' - srtf.y * 1.0 / muri.y) < 0.0006, '')
    from file, json_each(text, '\$.claims') as claim join point as srtf on srtf.name = 'SRTF' and srtf.x = claim.key + 1
        join point as muri on muri.name = 'Muri-S' and muri.x = srtf.x")" 11111111 'ratios that follow from the points'

data=../shared/data/scheduler_runs/muri_64v100__trace.csv
[ -r $data ] || { finish; }
run 0 figure run muri/traces -o "$T" --json
equal "$(sqlite3 :memory: "select group_concat(distinct json_extract(value, '\$.verdict')), count(*)
    from json_each(readfile('$T/out')) where json_extract(value, '\$.claim') is not null")" 'reported|8' 'verdicts'
finish
