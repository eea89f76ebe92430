#!/bin/sh
# A timeline is JSON whose spans close, whose slices lie side by side, and which tells the same as the rows of the run;
# the same bytes whatever the queue and the stepping; with a window and a share of the requests; and never half a file.
. tests/cli/lib.sh

# events FILE: its events as a table of a database beside it.
events() {
    sqlite3 "$1.db" "
        create table event as
        select value ->> 'ph' as ph, value ->> 'pid' as pid, value ->> 'tid' as tid, value ->> 'ts' as ts,
            value ->> 'dur' as dur, value ->> 'name' as name, value ->> 'cat' as cat, value ->> 'id' as id,
            value ->> 'args' as args
        from json_each(readfile('$1'), '\$.traceEvents');"
}

# Two services, one of them with few KV blocks, and jobs beside them; cut before everything is done.
cat >"$T/site.json" <<END
{"cluster": {"nodes": 16, "gpu": "a100-80-sxm"},
 "services": {
   "chat": {"llm": "mistral-7b", "replicas": 2, "kv": {"blocks": 200}, "cost": "roofline", "trace":
     {"format": "generate", "count": 1500, "arrival": {"process": "poisson", "rate": "5/s"}}},
   "code": {"llm": "mistral-7b", "cost": "roofline", "trace":
     {"format": "generate", "count": 40, "arrival": {"process": "fixed", "rate": "1/s"}}}},
 "jobs": {"scheduler": "srtf", "trace": {"format": "csv-jobs", "path": "$PWD/tests/fixtures/tiresias/jobs400.csv",
   "columns": {"submit": "submit_s", "gpus": "num_gpus"}}}, "until": "1000s"}
END
full=$T/full.json
run 0 run "$T/site.json" --quiet -o "$T/site.db" --timeline "$full"
sql "$T/site.db" "select min(n) > 0, count(*) from (select count(*) as n from request group by status)" '1|2'
sql :memory: "select json_valid(readfile('$full'))" 1
events "$full"

# Spans: each begins once and ends once, later; together they are the requests, and last as long as the rows say.
sql "$full.db" "select count(*) from (select sum(ph = 'b'), sum(ph = 'e'), min(ts), max(ts) from event
    where ph in ('b', 'e') group by cat, id, name having sum(ph = 'b') <> 1 or sum(ph = 'e') <> 1
    or min(iif(ph = 'e', ts, 9e99)) < max(iif(ph = 'b', ts, 0)))" 0
sql "$full.db" "attach '$T/site.db' as rows; select count(*) from rows.request where status <> 'rejected' and not exists (
    select 1 from event where ph = 'b' and event.id = request.id and name = 'request ' || request.id
    and ts = round(arrival_s * 1e6, 3)
    and pid = (select pid from event where name = 'process_name' and args ->> 'name' = 'service ' || request.service))" 0
sql "$full.db" "attach '$T/site.db' as rows; select abs(sum((ph = 'e') * ts - (ph = 'b') * ts) / 1e6 -
    (select sum(coalesce(e2e_s, 1000 - arrival_s)) from rows.request where status <> 'rejected')) < 1e-3
    from event where ph in ('b', 'e') and name like 'request %'" 1
sql "$full.db" "select count(distinct name) from event where ph = 'b' and name not like 'request %'" 3

# Slices of a track do not overlap; jobs have all their GPUs, and batches all iterations.
sql "$full.db" "select count(*) from (select ts, lag(ts + dur) over (partition by pid, tid order by ts) as before from event
    where ph = 'X') where ts < before - 1e-3" 0
sql "$full.db" "attach '$T/site.db' as rows; select abs(sum(dur) / 1e6 - (select sum(gpu_s) from rows.job)) < 1e-3
    from event where ph = 'X' and name like 'job %'" 1
sql "$full.db" "attach '$T/site.db' as rows; select sum(args ->> 'iterations') =
    (select value from rows.metric where name = 'replica.iterations.sum') from event where ph = 'X' and pid < 1000" 1
sql "$full.db" "select max(tid) from event where ph = 'X' and pid >= 1000000" 8

# Every sample is a point of a counter, in its process.
sql "$full.db" "attach '$T/site.db' as rows; select count(*), sum(args ->> 'value') -
    (select sum(value) from rows.sample) from event where ph = 'C'" \
    "$(sqlite3 "$T/site.db" 'select count(*) from sample')|0.0"
sql "$full.db" "select group_concat(name, ', ') from (select distinct args ->> 'name' as name from event
    where ph = 'M' and name = 'process_name' and pid < 1000 order by 1)" 'service chat, service code, site'

# The same bytes, compressed or not, in every mode.
run 0 run "$T/site.json" --quiet --single-step --queue heap --timeline "$T/again.json.gz"
gzip -dc "$T/again.json.gz" | cmp -s - "$full" || complain 'the timeline depends on the mode'

# A part of it.
run 0 run "$T/site.json" --quiet --timeline "$T/part.json" --timeline-window 30s:40s --timeline-sample 1/4
events "$T/part.json"
sql "$T/part.json.db" "select count(*) > 100, min(ts + coalesce(dur, 0)) >= 30e6, max(iif(ph = 'X', ts, 0)) <= 40e6 from event
    where ph in ('X', 'C')" '1|1|1'
sql "$T/part.json.db" "attach '$full.db' as whole; select count(*) from event where ph <> 'M' and pid < 1000 and not exists (
    select 1 from whole.event as e where e.ph = event.ph and e.ts = event.ts and e.args is event.args and e.name = event.name)" 0
run 0 run "$T/site.json" --quiet --timeline "$T/few.json" --timeline-sample 1/4
events "$T/few.json"
sql "$T/few.json.db" "select count(*) between 300 and 460 from event where ph = 'b' and name like 'request %'" 1

# What is wrong is said, and leaves no file behind.
run 2 run quickstart --timeline "$T/none.json" --timeline-window 5:10s
err "'5:10s' needs a unit"
run 2 run quickstart --timeline "$T/none.json" --timeline-window 20s:10s --timeline-sample 4
err "'20s:10s' ends before it begins"
err "'4' is not a share of that form"
run 2 run quickstart --timeline-window :10s
err 'belong to a timeline'
run 3 run quickstart --timeline "$T/nowhere/none.json" -o "$T/none.db"
err 'cannot write'
run 3 run quickstart --timeline "$T/none.json" -o "$T/nowhere/none.db"
run 2 run quickstart --timeline "$T/none.json" --set services.chat.llm=nonesuch
[ -z "$(find "$T" -name 'none*' -o -name '*-part')" ] || complain 'a file was left behind'
# Jobs of a node are in its process, from node 0 on; jobs on no node in particular have their own.
for placement in '"consolidated"' '"counted"'; do
    cat >"$T/nodes.json" <<END
{"cluster": {"nodes": 2, "gpus_per_node": 2}, "jobs": {"placement": $placement, "trace": {"format": "inline-jobs", "jobs": [
    {"submit": "0s", "duration": "10s", "gpus": 2}, {"submit": "0s", "duration": "10s", "gpus": 2}]}}}
END
    run 0 run "$T/nodes.json" --quiet -o "$T/nodes.db" --timeline "$T/nodes.out"
    events "$T/nodes.out"
    sqlite3 "$T/nodes.out.db" "select group_concat(name, ', ') from (select distinct p.args ->> 'name' as name
        from event as e join event as p on p.pid = e.pid and p.name = 'process_name'
        where e.ph = 'X' and e.name like 'job %' order by 1)" >"$T/processes"
    case $placement in *counted*) wanted='GPUs' ;; *) wanted='node 0, node 1' ;; esac
    equal "$(cat "$T/processes")" "$wanted" "processes of jobs under $placement"
    rm -f "$T/nodes.out.db"
done

finish
