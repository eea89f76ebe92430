#!/bin/sh
# Every file in configs/ is JSON with // comments and says first what it is for; every scenario is valid, every study
# of a figure lists its runs, every figure, GPU, LLM, storage device and engine can be listed.
. tests/cli/lib.sh
optimised

for file in $(find configs -name '*.json' | LC_ALL=C sort); do
    case $file in
    configs/scenarios/* | configs/figures/*.scenario.json) run 0 validate "$file" ;;
    configs/figures/*.study.json) run 0 sweep "$file" --dry-run ;;
    configs/clusters/*)
        printf '{"extends": ["%s"], "jobs": {"trace": {"format": "csv-jobs", "path": "%s"}}}' \
            "$PWD/$file" "$T/jobs.csv" >"$T/s.json"
        printf 'submit_s,duration_s,gpus\n0,1,1\n' >"$T/jobs.csv"
        run 0 validate "$T/s.json"
        ;;
    esac
    case $file in
    configs/studies/*) run 0 sweep "$file" --dry-run ;;
    esac
    case $file in
    configs/scenarios/* | configs/clusters/* | configs/figures/* | configs/studies/*)
        case $(head -n 1 "$file") in
        '// '*) ;;
        *) complain "$file does not begin with a comment" ;;
        esac
        ;;
    esac
done
run 0 figure list
for kind in gpus:hardware llms:llms storage:storage engines:engines clusters:clusters; do
    run 0 list "${kind%%:*}" --json
    equal "$(sqlite3 :memory: "select json_array_length(readfile('$T/out'))")" \
        "$(ls "configs/${kind##*:}"/*.json | wc -l)" "number of ${kind%%:*}"
done
run 0 list prices --json
equal "$(sqlite3 :memory: "select count(distinct value->>'prices') from json_each(readfile('$T/out'))")" \
    "$(ls configs/prices/*.json | wc -l)" "number of price lists"
finish
