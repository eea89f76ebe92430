#!/bin/sh
# The tables "Accuracy" of README.md, made from configs/calibration: `accuracy.sh` prints them, `accuracy.sh README.md`
# puts them between the two marker comments of that file.
set -e

tables() {
    {
        echo 'create table file (json text);'
        for file in configs/calibration/*.json; do echo "insert into file values (readfile('$file'));"; done
        cat analysis/calibrate/accuracy.sql
    } | sqlite3 -batch :memory: | sed 's/|  *\([0-9]\)/| \1/g'
}

[ $# = 1 ] || { tables; exit; }
new=$(mktemp)
trap 'rm -f "$new" "$1.part"' EXIT
tables >"$new"
awk -v tables="$new" '
    /^<!-- end of accuracy/ { inside = 0; ends++ }
    !inside { print }
    /^<!-- accuracy/ { while ((getline line < tables) > 0) print line; inside = 1; starts++ }
    END { exit !(starts == 1 && ends == 1) }' "$1" >"$1.part"
cat "$1.part" >"$1"
