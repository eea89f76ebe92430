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
cp -r analysis "$T/"
sed -i 's,source("orrery.R"),source("analysis/python/orrery.R"),' "$T/page.R"
(cd "$T" && Rscript page.R) >"$T/out" 2>"$T/err" || { complain 'it fails'; cat "$T/err"; }
median=$(sqlite3 "$T/results.db" "with q as (select ttft_s, row_number() over (order by ttft_s) as i, count(*) over () as n
    from request where status = 'finished') select substr(avg(ttft_s), 1, 7) from q where i in ((n + 1) / 2, (n + 2) / 2)")
grep -q "^1 *1 *chat *$median" "$T/out" || { complain "it does not print the median $median"; cat "$T/out"; }

# All tables and views, in all runs and in one, have the names, columns and rows of orrery export.
run 0 run "$T/serve.json" -q -o "$T/results.db" --seed 2
run 0 export "$T/results.db" --list
cp "$T/out" "$T/listed"
cat >"$T/all.R" <<'END'
source("analysis/python/orrery.R")
for (name in c("results.db", "results.db:2")) {
  results <- frames(name)
  for (view in names(results)) {
    rows <- results[[view]]
    cat(name, view, nrow(rows), paste(names(rows), collapse = ","), "\n")
  }
  stopifnot(identical(results$job, results[["job"]]))
  close(results)
}
print(try(frames("results.db")[["nothing"]]))
print(try(frames("nothing.db")))
print(try(frames("results.db", 99)))
dir.create("alone")
file.copy("analysis/python/orrery.R", "alone/orrery.R")
setwd("alone")
source("orrery.R")
print(try(frames("../results.db")[["service_percentiles"]]))
END
(cd "$T" && Rscript all.R) >"$T/all" 2>"$T/err" || { complain 'it fails'; cat "$T/err"; }
grep -q "there are .*service_percentiles" "$T/err" || complain 'the names are not told'
grep -q 'results.db: there is no run 99; it has 1, 2' "$T/err" || complain 'the absent run is not told'
grep -q "for views, set ORRERY_DATA to the directory that holds 'analysis'" "$T/err" || complain 'the absent views are not told'
grep -q 'nothing.db: no such file' "$T/err" || complain 'the absent file is not told'
n=0
while read -r database view rows columns; do
    [ "$database $view" != "results.db:2 study" ] || continue # which export takes from whole files only
    n=$((n + 1))
    run 0 export "$T/$database" "$view"
    header=$(head -1 "$T/out" | tr -d '\r')
    case $columns in # export leaves out an optional last column without values
    "$header" | "$header",*) ;;
    *) complain "columns of $view are $columns" ;;
    esac
    equal "$rows" "$(sqlite3 :memory: '.mode csv' ".import '$T/out' t" 'select count(*) from t')" "rows of $view in $database"
    grep -q "^ *$view\b" "$T/listed" || complain "export --list has no $view"
done <<END
$(grep '^results' "$T/all")
END
[ $n -gt 40 ] || complain "only $n tables and views"
finish
