#!/bin/sh
# The R code of analysis/python/README.md prints percentiles of a results database.
. tests/cli/lib.sh

command -v Rscript >/dev/null || skip 'no R'
Rscript -e 'stopifnot(requireNamespace("RSQLite"))' >"$T/out" 2>&1 || skip 'R without RSQLite'
serving 40 20
run 0 run "$T/serve.json" -q -o "$T/results.db"
last='the R code of analysis/python/README.md'
awk '/^```/ { inside = $0 == "```r"; next } inside' analysis/python/README.md >"$T/page.R"
equal "$(wc -l <"$T/page.R")" 5 lines
(cd "$T" && Rscript page.R) >"$T/out" 2>"$T/err" || { complain 'it fails'; cat "$T/err"; }
median=$(sqlite3 "$T/results.db" "with q as (select ttft_s, row_number() over (order by ttft_s) as i, count(*) over () as n
    from request where status = 'finished') select substr(avg(ttft_s), 1, 7) from q where i in ((n + 1) / 2, (n + 2) / 2)")
grep -q "^1 *1 *chat *$median" "$T/out" || { complain "it does not print the median $median"; cat "$T/out"; }
finish
