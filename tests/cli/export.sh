#!/bin/sh
# Tables come back from their CSV as they were; every view of analysis/sql is made by its file, in sqlite3 as in `orrery
# export`, and says what the metrics of the run say.
. tests/cli/lib.sh

mixed
db=$T/r.db
run 0 run "$T/mixed.json" --quiet -o "$db" --keep decisions --name 'a "quoted", name'
run 0 run tests/golden/cases/scarce-kv.json --quiet -o "$db" --set warmup=0s

# The column of classes is there when a request has one: else the file, read as a trace, would have the class 'default'.
run 0 export "$db" request
head -1 "$T/out" | grep -q 'status.$' || complain 'a column of classes without classes'
printf '{"cluster": {"gpu": "a100-80-sxm"}, "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "csv", "path": "c.csv"}}}}' >"$T/c.json"
printf 'arrival_s,prompt_tokens,output_tokens,class\n0,10,5,batch\n1,10,5,\n' >"$T/c.csv"
run 0 run "$T/c.json" -q -o "$T/c.db"
run 0 export "$T/c.db" request
head -1 "$T/out" | grep -q 'status,class.$' || complain 'no column of classes'

# Texts with everything that needs quotes, and numbers with many digits, go through CSV and back; SQLite itself reads
# numbers to some fifteen digits.
sqlite3 "$db" "update request set service = 'a, \"b\"' || char(13, 10) || 'c ' where id = 7;
    update request set tpot_s = 0.1 + 0.2, ttft_s = 1e-300, queue_s = 9e999 where id = 8"
for table in $(sqlite3 "$db" "select name from sqlite_schema where type = 'table'"); do
    run 0 export "$db" "$table" -o "$T/$table.csv"
    [ "$(sqlite3 "$db" "select count(*) from $table")" = 0 ] && continue
    fields=$(sqlite3 "$db" "select group_concat(iif(type = 'REAL', 'iif(' || name || ' <> '''', printf(''%.15g'', ' || name ||
        '), null)', 'nullif(' || name || ', '''')')) from pragma_table_info('$table') where '$table.' || name <> 'request.class'")
    columns=$(sqlite3 "$db" "select group_concat(name || ' ' || type) from pragma_table_info('$table') where '$table.' || name <> 'request.class'")
    sqlite3 "$T/$table.db" "create table back ($columns)" ".import --csv --skip 1 $T/$table.csv back"
    sql "$T/$table.db" "attach '$db' as r; select (select count(*) from back) - (select count(*) from r.$table),
        (select count(*) from (select $fields from r.$table except select $fields from back))" '0|0'
done
grep -q '9e999' "$T/request.csv" || complain 'the infinity is gone'
[ "$(tr -cd '\r' <"$T/metric.csv" | wc -c)" = "$(wc -l <"$T/metric.csv")" ] || complain 'lines do not end as RFC 4180 has it'
run 0 export "$db" metric
cmp -s "$T/out" "$T/metric.csv" || complain 'a file has other bytes than standard output'
run 0 export "$db" metric -o "$T/metric.csv.gz"
gzip -dc "$T/metric.csv.gz" | cmp -s - "$T/metric.csv" || complain 'compressed'
run 0 export "$db:2" request -o "$T/two.csv"
run 0 export "$db" request --run 1 -o "$T/one.csv"
equal "$(($(grep -c '^2,' "$T/two.csv") + $(grep -c '^1,' "$T/one.csv")))" "$(sqlite3 "$db" 'select count(*) from request')" 'rows by run'
rm "$db"
run 0 run "$T/mixed.json" --quiet -o "$db" --keep decisions
run 0 run tests/golden/cases/scarce-kv.json --quiet -o "$db"

# Every file: a comment of two to four lines, the first a question or a title, and the view of its name.
for file in analysis/sql/*.sql; do
    view=${file##*/} view=${view%.sql}
    last=$file
    comment=$(awk '!/^-- / { exit } { n++ } END { print n }' "$file")
    [ "$comment" -ge 2 ] && [ "$comment" -le 4 ] || complain "a comment of $comment lines"
    equal "$(sqlite3 -readonly "$db" ".read $file" "select name from temp.sqlite_schema where type = 'view'")" "$view" view
    sqlite3 -readonly -csv -header -nullvalue '' "$db" ".read $file" "select * from $view" | head -1 | tr -d '\r' >"$T/header"
    run 0 export "$db" "$view"
    equal "$(head -1 "$T/out" | tr -d '\r')" "$(cat "$T/header")" 'columns'
    [ "$(wc -l <"$T/out")" -gt 1 ] || complain 'no rows'
    cp "$T/out" "$T/$view.csv"
    sqlite3 "$T/views.db" ".import --csv $T/$view.csv $view"
    run 0 export "$db" --list
    out "$view"
done

# What they say is what the metrics of the runs say.
v() { sql "$T/views.db" "attach '$db' as r; $1" "$2"; }
metric() { sqlite3 "$db" "select value from metric where run_id = $1 and name = '$2'"; }
v "select count(*), max(cast(e2e_s as real)) = $(metric 2 request.e2e_s.max) from slowest_requests where run_id = '2'" '20|1'
v "select max(abs(queue_s + prefill_s + decode_s - e2e_s)) < 1e-9, min(cast(percentile as real)) > 80 from slowest_requests" '1|1'
v "select count(*), max(abs(p99 / m.value - 1)) < 2e-3 from service_percentiles as s join r.metric as m
    on s.run_id = m.run_id and m.name = 'request.' || quantity || '.p99' where s.run_id = '2' and m.value > 0" '5|1'
v "select max(cast(p50 as real) > p90 or cast(p90 as real) > p99 or cast(p99 as real) > max) from service_percentiles" 0
v "select count(*) from slo_attainment as s where s.run_id = '1' and abs(met_frac - (select avg(status = 'finished' and
    ttft_s <= ttft_target_s and coalesce(tpot_s, 0) <= tpot_target_s) from r.request as q
    where q.run_id = 1 and q.service = s.service)) > 1e-12" 0
v "select sum(jobs), abs(sum(jobs * jct_mean_s) / sum(jobs) / $(metric 1 job.jct_s.mean) - 1) < 0.05 from job_waits" \
    "$(sqlite3 "$db" 'select count(*) from job where gpus > 0 and start_s not null')|1"
v "select abs(avg(gpus_in_use) / $(metric 1 cluster.gpus_in_use.mean) - 1) < 0.01, max(cast(used_frac as real)) <= 1
    from utilisation where run_id = '1'" '1|1'
v "select sum(preemptions) from preemption_hot_spots where run_id = '2'" "$(sqlite3 "$db" 'select sum(preemptions) from request where run_id = 2')"
v "select count(*), sum(decisions) from decisions_by_reason where action = 'route' and run_id = '1'" \
    "$(sqlite3 "$db" "select count(distinct replica || service), count(*) from request where run_id = 1 and replica >= 0")"
v "select count(*), sum(requests) from metrics_by_run" "2|$(sqlite3 "$db" "select cast(sum(value) as int) from metric where name = 'request.finished'")"
v 'select min(events > 0 and simulated_per_wall > 0) from execution_cost' 1

# LaTeX: every row and column of the CSV, and nothing that LaTeX would take for a command.
for source in job_waits request; do
    run 0 export "$db:1" $source
    cp "$T/out" "$T/csv"
    run 0 export "$db:1" $source --latex
    equal "$(grep -c ' \\\\$' "$T/out")" "$(wc -l <"$T/csv")" 'rows of LaTeX'
    equal "$(awk -F' & ' '/ & / && NF != n { bad++ } / & / && n == 0 { n = NF } END { print n "/" bad + 0 }' "$T/out")" \
        "$(head -1 "$T/csv" | awk -F, '{ print NF }')/1" 'columns/rows before their number is known'
    equal "$(sed -n '1s/.*{\([lr]*\)}$/\1/p' "$T/out" | tr -d '\n' | wc -c)" "$(head -1 "$T/csv" | awk -F, '{ print NF }')" alignments
done
run 0 export "$db" run --latex
! grep -q '[^\\][_%#$]' "$T/out" || complain 'a special character of LaTeX is not escaped'

# What is wrong is said.
run 2 export "$db" request --json
err "'--json' belongs to '--list'"
run 2 export "$db" request --openmetrics
err "'--openmetrics' takes no table or view"
run 2 export "$db" --openmetrics --latex
err "'--openmetrics' is a form of its own"
run 2 export "$db"
err "name a table or view to export; '--list' shows them"
run 2 export "$db" slowest_request
err "did you mean 'slowest_requests'?"
run 2 export "$db:1" study
err "'study' is not stored by run"
run 2 export "$db" job --run last
run 2 export "$db" job --run 0
err "--run: error: '0' is not the number of a run"
run 3 export "$db:9" job
err 'no run 9'
run 3 export "$T/nowhere.db" job
run 3 export "$db" job -o "$T/nowhere/job.csv"
printf 'CREATE TEMP VIEW broken AS SELECT nonsense FROM request;' >"$T/broken.sql"
mkdir -p "$T/data/analysis" && cp -r analysis/sql "$T/data/analysis/" && cp "$T/broken.sql" "$T/data/analysis/sql/"
ORRERY_DATA=$T/data run 3 export "$db" job
err 'no such column: nonsense'
ORRERY_DATA=$T/nowhere run 2 export "$db" job_waits
err "there are no views; set ORRERY_DATA to the directory that holds 'configs' and 'analysis'"
finish
