#!/bin/sh
# Tables about the accuracy of calibrations, power models and engine presets, as Markdown, from the files in configs.
#
# usage: accuracy.sh TOPIC TABLE   one table: accuracy in-model, power activity, engines errors ...
#        accuracy.sh TOPIC         the names of its tables: the views of analysis/calibrate/**/TOPIC.sql
#        accuracy.sh               all tables
#
# The pages below configs/ hold them as generated parts.
set -e

case ${1-} in
'')
    for topic in accuracy power engines; do
        for table in $("$0" $topic); do
            echo "$topic $table:"
            "$0" $topic "$table"
            echo
        done
    done
    exit ;;
accuracy) sql=analysis/calibrate/accuracy.sql files=$(ls configs/calibration/*.json | grep -v /sources.json) ;;
power) sql=analysis/calibrate/power/power.sql files=$(ls configs/calibration/power/*.json) ;;
engines) sql=analysis/calibrate/engine/engines.sql files=$(ls configs/engines/*.json) ;;
*) echo "accuracy.sh: '$1' is none of accuracy, power, engines" >&2; exit 2 ;;
esac

query() { # STATEMENT, after the views of the topic
    {
        echo 'create table file (name text, json text);'
        for file in $files; do
            name=${file##*/}
            echo "insert into file values ('${name%.json}', readfile('$file'));"
        done
        cat "$sql"
        echo "$1"
    } | sqlite3 -batch -bail :memory:
}

# Columns of numbers, such as "4.6 / 12.8" and "115", stand on the right. Nothing to read is an error.
markdown() {
    awk -F '\t' '
        NR == 1 { names = $0; n = NF; next }
        { rows[NR] = $0; for (i = 1; i <= n; i++) if ($i != "" && $i !~ /^[0-9.]+( \/ [0-9.]+)?$/) words[i] = 1 }
        function row(text) { gsub(/\t/, " | ", text); print "| " text " |" }
        END {
            if (NR == 0) exit 1
            row(names)
            for (i = 1; i <= n; i++) rule = rule "|---" (i in words ? "" : ":")
            print rule "|"
            for (i = 2; i <= NR; i++) row(rows[i])
        }'
}

if [ -n "${2-}" ]; then
    query ".mode tabs
.headers on
select * from \"$2\";" | markdown
else
    query ".mode list
select name from sqlite_master where type = 'view' order by rowid;"
fi
