#!/bin/sh
# The tables "Accuracy", "Power" and "Engines" of README.md, made from configs/calibration and configs/engines:
# `accuracy.sh` prints them, `accuracy.sh README.md` puts them between the marker comments of that file.
set -e

query() { # SQL FILE...
    sql=$1
    shift
    {
        echo 'create table file (name text, json text);'
        for file; do echo "insert into file values ('$(basename "$file" .json)', readfile('$file'));"; done
        cat "$sql"
    } | sqlite3 -batch :memory: | sed 's/|  *\([0-9]\)/| \1/g'
}

accuracy() { query analysis/calibrate/accuracy.sql $(ls configs/calibration/*.json | grep -v /sources.json); }
power() { query analysis/calibrate/power/power.sql configs/calibration/power/*.json; }
engines() { query analysis/calibrate/engine/engines.sql configs/engines/*.json; }

replace() { # TABLE README
    "$1" >"$new"
    awk -v table="$1" -v new="$new" '
        index($0, "<!-- end of " table) == 1 { inside = 0; ends++ }
        !inside { print }
        index($0, "<!-- " table ":") == 1 { while ((getline line < new) > 0) print line; inside = 1; starts++ }
        END { exit !(starts == 1 && ends == 1) }' "$2" >"$2.part"
    cat "$2.part" >"$2"
}

[ $# = 1 ] || { accuracy; power; engines; exit; }
new=$(mktemp)
trap 'rm -f "$new" "$1.part"' EXIT
replace accuracy "$1"
replace power "$1"
replace engines "$1"
