#!/bin/sh
# Requests of several classes from the command line: what is wrong with them, and where they show.
. tests/cli/lib.sh

scenario() { # SLO, TRACE
    printf '{"cluster": {"gpu": "a100-80-sxm"}, "services": {"chat": {"llm": "llama-2-7b", "cost": "roofline",\n "slo": %s,\n "trace": %s}}}\n' \
        "$1" "$2" >"$T/s.json"
}
generated='{"format": "generate", "mix": "sharegpt", "count": 60, "classes": {"interactive": {"share": 2}, "batch": {"share": 1}}}'

# Bad input: limits that are none, a class named twice, a name that is none, a class that never comes, a column that is
# not there.
scenario '{"classes": {"batch": {"ttft": "-1s"}}}' "$generated"
run 2 run "$T/s.json"
err "s.json:2:40: error: 'ttft' must be above 0, got \"-1s\""
scenario '{"classes": {"batch": {"ttft": "1s"}, "batch": {"e2e": "9s"}}}' "$generated"
run 2 run "$T/s.json"
err "s.json:2:47: error: duplicate key 'batch'; the one before is at "
scenario '{"classes": {"batch": {"tttf": "1s"}}}' "$generated"
run 2 run "$T/s.json"
err "unknown key 'tttf' in 'services.chat.slo.classes.batch'; did you mean 'ttft'?"
scenario '{"classes": {"bad name": {}}}' "$generated"
run 2 run "$T/s.json"
err "the name 'bad name' may hold only letters, digits, '_', '.' and '-'"
scenario '{"classes": {"bacth": {"ttft": "1s"}}}' "$generated"
run 0 run "$T/s.json"
out "warning: class-absent: service 'chat': no request was of class 'bacth', which slo.classes names; there were 'interactive', 'batch'"
scenario '{}' "$generated"
run 0 run "$T/s.json" --set services.chat.batching=vllm-v1 --set services.chat.batching.order=priority \
    --set services.chat.batching.priorities.bacth=1 --set services.chat.batching.priorities.batch=2
out "warning: class-absent: service 'chat': no request was of class 'bacth', which batching.priorities names; there were 'interactive', 'batch'"
[ "$(grep -c class-absent "$T/out")" = 1 ] || complain 'one class is absent'
printf 'arrival_s,prompt_tokens,output_tokens,class\n0,10,5,a\n1,10,5,b/c\n' >"$T/t.csv"
scenario '{}' '{"format": "csv", "path": "t.csv"}'
run 3 run "$T/s.json"
err "t.csv:3:8: error: 'class' must be a name of at most 64 letters, digits, '_', '.' and '-', got 'b/c'"
run 3 run "$T/s.json" --set services.chat.trace.columns.class=tier
err "no column 'tier' in the header; the columns are arrival_s,prompt_tokens,output_tokens,class"

# Where they show: rows, metrics, the story, the report, a comparison, exports, the trace itself.
scenario '{"ttft": "200ms", "classes": {"batch": {"ttft": "2s"}}}' "$generated"
db=$T/r.db
run 0 run "$T/s.json" -o "$db" --verbose
out 'request.ttft_s[chat/batch] '
run 0 run --from "$db"
sql "$db" "select group_concat(class || ' ' || n, ', ') from (select class, count(*) as n from request group by class)" \
    "$(sqlite3 "$db" "select 'batch ' || cast(b.value as int) || ', interactive ' || cast(i.value as int) from metric b, metric i
        where b.name = 'request.arrived[chat/batch]' and i.name = 'request.arrived[chat/interactive]'")"
sql "$db" "select abs(value - (select avg(ttft_s) from request where class = 'batch')) < 1e-9 from metric
    where name = 'request.ttft_s.mean[chat/batch]'" 1
sql "$db" "select abs(value - (select avg(ttft_s <= 0.2) from request where class = 'interactive')) < 1e-9 from metric
    where name = 'slo.attained_frac[chat/interactive]'" 1
id=$(sqlite3 "$db" "select min(id) from request where class = 'batch'")
run 0 why "$db" request "$id"
out "request $id of chat, class batch: "
run 0 why "$db" request "$id" --json
json '$.class' batch
run 0 report "$db" -o "$T/report.html"
grep -q 'request.ttft_s\[chat/batch\]' "$T/report.html" || complain 'the report has no distribution of a class'
sed '/<caption>Intervals/,$d' "$T/report.html" | grep -q 'request.ttft_s.p99\[' && complain 'the report has parts of it as single values'
run 0 run "$T/s.json" --set services.chat.trace.rate_scale=2 -o "$db"
run 0 compare "$db:1" "$db:2" -m 'slo.attained_frac[chat/batch]' -m 'request.ttft_s.mean[chat/batch]' --json
valid_json
out '"better_is": "higher"'
out '"better_is": "lower"'
run 0 trace generate -o "$T/g.csv" --set count=50 --set 'classes={"a": {"share": 1}, "b": {"share": 1}}'
run 0 trace convert "$T/g.csv" -f csv -o "$T/h.csv"
cmp -s "$T/g.csv" "$T/h.csv" || complain 'classes do not survive a conversion'
run 0 trace stat "$T/g.csv" -f csv --json
json '$.classes[0].requests' "$(grep -c ",$(sed -n 2p "$T/g.csv" | sed 's/.*,//')\$" "$T/g.csv")"
run 0 export "$db:1" request -o "$T/log.csv"
run 0 trace stat "$T/log.csv" -f request-log --json
json '$.classes[0].class' "$(sqlite3 "$db" 'select class from request where run_id = 1 order by rowid limit 1')"

# Without classes the column is NULL; shards with and without classes merge.
run 0 run tests/golden/cases/chat.json -o "$T/plain.db"
sql "$T/plain.db" 'select count(class) from request' 0
cat >"$T/study.json" <<END
{"scenario": "plain.json", "axes": [{"key": "services.chat.trace", "values": [$generated, {"count": 50}]}], "keep": "rows"}
END
scenario '{}' '{"format": "generate", "mix": "sharegpt", "count": 40}'
mv "$T/s.json" "$T/plain.json"
for i in 1 2; do run 0 sweep "$T/study.json" -o "$T/shard$i.db" --shard $i/2; done
run 0 merge "$T/shard1.db" "$T/shard2.db" -o "$T/merged.db"
run 0 merge "$T/shard2.db" "$T/shard1.db" -o "$T/other.db"
for merged in merged other; do
    sql "$T/$merged.db" "select group_concat(n) from (select count(class) as n from request group by run_id order by run_id)" 60,0
    run 0 run --from "$T/$merged.db:1"
    run 0 run --from "$T/$merged.db:2"
done

# More files than SQLite attaches are copied row by row.
sed 's/"keep"/"seeds": 6, "keep"/' "$T/study.json" >"$T/seeds.json"
shards=
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    run 0 sweep "$T/seeds.json" -o "$T/of11.$i.db" --shard $i/11
    shards="$shards $T/of11.$i.db"
done
run 0 merge $shards -o "$T/all11.db"
sql "$T/all11.db" "select count(class) || ' of ' || count(*) from request" '360 of 660'

# The largest rate at which one class keeps its limits is not that of all.
scenario '{"ttft": "200ms", "classes": {"batch": {"ttft": "2s"}}}' "$generated"
cat >"$T/search.json" <<'END'
{"scenario": "s.json", "search": {"largest": "services.chat.trace.rate_scale", "from": 0.1, "to": 100, "scale": "log",
    "tolerance": 0.05, "where": [{"metric": "slo.attained_frac[chat/batch]", "at_least": 0.9}]},
 "show": ["slo.attained_frac[chat/interactive]"]}
END
run 0 sweep "$T/search.json" -o "$T/batch.db"
out 'slo.attained_frac[chat/batch] at least 0.9'
sed 's/\[chat.batch\]//' "$T/search.json" >"$T/all.json"
run 0 sweep "$T/all.json" -o "$T/all.db"
sql "$T/batch.db" "attach '$T/all.db' as o; select cast(m.value as real) > cast(n.value as real) from main.outcome m, o.outcome n" 1
finish
