#!/bin/sh
# Tables of the pages analysis and analysis/metrics, in Markdown.
# Usage: dictionary.sh columns            the columns of the row tables, from sim/world/rows/tables.inc
#        dictionary.sh metrics PREFIX...  metrics and their definitions, from `orrery list metrics`. Of a distribution
#                                         only the mean is listed; of the kinds of links and tiers only the first.
#                                         The page explains the marks. Unit and direction stand in brackets.
case ${1:-} in
    columns)
        printf '| table | column | unit and meaning [type] |\n|---|---|---|\n'
        awk '
            /^TABLE\(/ { sub(/^TABLE\(/, ""); sub(/,.*/, ""); table = "`" $0 "`" }
            /^(INTEGER|REAL|TEXT)\([a-z]/ || /^OPTIONAL\([A-Z]/ {
                sub(/^OPTIONAL\(/, ""); type = tolower($0); sub(/[^a-z].*/, "", type); sub(/^[A-Z]+[(,] */, "")
                column = $0; sub(/,.*/, "", column); sub(/^[^"]*"/, ""); sub(/"[^"]*$/, "")
                printf "| %s | `%s` | %s [%s] |\n", table, column, $0, type; table = "" }' sim/world/rows/tables.inc
        ;;
    metrics)
        shift
        printf '| metric | definition |\n|---|---|\n'
        for prefix; do orrery list metrics "$prefix" --markdown | sed '1,2d; s/, whole run with its warm-up//
            s/, of \(requests that arrive\|jobs that are submitted\) after the warm-up and \(finish\|end\)/ ‡/
            s/[,;] of requests that arrive after the warm-up/ †/'; done | awk '
            { name = $2; stem = name; sub(/\.(mean|p50|p90|p95|p99|max)`$/, "", stem); lines[NR] = $0; names[NR] = name; stems[NR] = stem
              known[name] = 1 }
            END { for (i = 1; i <= NR; i++) {
                if (names[i] ~ /^`(link\.(nvlink|network|host|storage|csd)|tier\.(ssd|csd|remote))\./) continue
                if (names[i] !~ /\.mean`$/ && known[stems[i] ".mean`"] && known[stems[i] ".p50`"]) continue
                split(lines[i], cells, " [|] "); sub(/ [|]$/, "", cells[4])
                better = cells[3] == "" ? "" : cells[3] " is better"
                unit = cells[2] == "1" ? "" : cells[2]
                mark = unit better == "" ? "" : " [" unit (unit == "" || better == "" ? "" : ", ") better "]"
                print cells[1] " | " cells[4] mark " |" } }'
        ;;
    *) echo 'usage: dictionary.sh columns|metrics PREFIX...' >&2; exit 2 ;;
esac
