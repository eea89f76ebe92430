#!/bin/sh
# How 'orrery why' is asked: the one that took or waited longest, errors that name the next call, and what its answer
# compares with.
. tests/cli/lib.sh

db=$T/r.db
mixed
run 0 run "$T/mixed.json" --quiet --set until=40s -o "$db"
row() { sqlite3 "$db" "select $1"; }

# Percentiles are of a service's requests, or of all jobs, and say so.
for service in chat draft; do
    run 0 why "$db" request 5 --service $service
    of="from request where service = '$service' and status <> 'rejected'"
    share=$(row "printf('%.1f', 100.0 * avg(ttft_s <= (select ttft_s $of and id = 5))) $of and ttft_s not null")
    base="requests to $service"
    [ "$(row "count(*) $of and ttft_s is null")" = 0 ] || base="$base that have one"
    grep -qx "ttft_s [0-9.e-]*: $share % of the $base are no larger" "$T/out" || complain "not $share % of the $base"
done
run 0 why "$db" job 0
out " % of the run's jobs are no larger"

# The one that waited longest: in all its waits, until the end of the run if it has not ended.
stays="select distinct job, start_s, end_s from placement"
waits="select id, coalesce(jct_s, (select value from metric where name = 'sim.end_s') - submit_s)
    - coalesce((select sum(end_s - start_s) from ($stays) where job = id), 0) as wait_s, status from job where status <> 'rejected'"
longest=$(row "id from ($waits) order by round(wait_s, 6) desc, id limit 1")
equal "$(row "status from job where id = $longest")" unfinished 'the longest waiter of this run'
run 0 why "$db" job longest-wait --with-warmup
out "job $longest: "
run 0 why "$db" job longest-wait
out "job $(row "id from ($waits) where id in (select id from job where submit_s >= 2) order by round(wait_s, 6) desc, id limit 1"): "
run 0 why "$db" job longest-wait --with-warmup --json
json '$.percentiles.wait_s' 100
run 0 why "$db" request longest-wait --service draft --with-warmup
queues="select id, service, coalesce(queue_s, (select value from metric where name = 'sim.end_s') - arrival_s)
    as queue_s from request where status <> 'rejected'"
out "request $(row "id from ($queues) where service = 'draft' order by queue_s desc, id limit 1") of draft"
run 0 why "$db" request longest-wait --with-warmup --json
json '$.service' "$(row "service from ($queues) order by queue_s desc, id, service limit 1")"
run 2 why "$db" job longest
err "'longest' is not an id; give a number, 'slowest' for the one that took longest, 'longest-wait', or for a request 'longest-ttft'"

# What came during the warm-up is in no metric, so words for the slowest leave it out, unless it is asked for.
run 0 run quickstart --set services.chat.trace.limit=400 --quiet -o "$T/warm.db"
of_warm() { sqlite3 "$T/warm.db" "select id from request where run_id = $1 and arrival_s >= $2 order by $3 desc, id limit 1"; }
warmup=$(sqlite3 "$T/warm.db" "select printf('%.6f', arrival_s + 0.001) from request where id in ($(of_warm 1 0 ttft_s), $(of_warm 1 0 e2e_s))
    order by arrival_s desc limit 1")
run 0 run quickstart --set services.chat.trace.limit=400 --set warmup=${warmup}s --quiet -o "$T/warm.db"
for pick in slowest:e2e_s longest-ttft:ttft_s longest-wait:queue_s; do
    run 0 why "$T/warm.db:1" request ${pick%:*}
    out "request $(of_warm 1 0 ${pick#*:}) of chat"
    ! grep -q warm-up "$T/out" || complain 'a warm-up of a run without one'
    run 0 why "$T/warm.db:2" request ${pick%:*}
    out "request $(of_warm 2 $warmup ${pick#*:}) of chat"
    out "${pick%:*} of the requests that come after the warm-up of "
    run 0 why "$T/warm.db:2" request ${pick%:*} --with-warmup --json
    json '$.id' "$(of_warm 1 0 ${pick#*:})"
    valid_json
done
[ "$(of_warm 2 0 e2e_s)" != "$(of_warm 2 $warmup e2e_s)" ] || complain 'the slowest request is not of the warm-up'
run 2 why "$db" job longest-ttft
err "'longest-ttft' is for requests; 'slowest' or 'longest-wait'"
run 0 run quickstart --set services.chat.trace.limit=4 --set warmup=10min --quiet -o "$T/cold.db"
run 2 why "$T/cold.db" request slowest
err 'run 1 stored no request that finished; --with-warmup also takes what came during the warm-up'

# Requests that still wait at the end have waited longer than all that were scheduled: the first of them longest. One
# that was refused has not waited.
cat >"$T/late.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm", "nodes": 1, "gpus_per_node": 1}, "until": "60s", "services": {"chat": {
 "llm": "mistral-7b", "batching": {"policy": "vllm-v1", "max_sequences": 2}, "kv": {"blocks": 100},
 "cost": {"kind": "affine", "prefill": {"fixed": "900ms"}, "decode": {"fixed": "110ms"}},
 "trace": {"format": "csv", "path": "late.csv"}}}}
END
awk 'BEGIN { print "arrival_s,prompt_tokens,output_tokens\n0,9000,50"
    for (i = 0; i < 100; i++) print i / 2 ",100,50" }' \
    >"$T/late.csv"
run 0 run "$T/late.json" --quiet -o "$T/late.db"
late() { sqlite3 "$T/late.db" "select $1"; }
never='from request where queue_s is null'
equal "$(late "count(*) > 9, sum(status = 'rejected') $never")" '1|1' 'requests never scheduled'
first=$(late "min(id) $never and status <> 'rejected'")
wait_s=$(late "printf('%.6g', 60 - arrival_s) from request where id = $first")
run 0 why "$T/late.db" request longest-wait
out "request $first of chat"
out "queue_s $wait_s: 100.0 % of the requests to chat are no larger"
last=$(late "id from request where queue_s not null order by queue_s desc, id limit 1")
of="request where id = $last"
share=$(late "printf('%.1f', 100.0 * avg(coalesce(queue_s, 60 - arrival_s) <= (select queue_s from $of)))
    from request where status <> 'rejected'")
run 0 why "$T/late.db" request "$last"
out "queue_s $(late "printf('%.6g', queue_s) from $of"): $share % of the requests to chat are no larger"
out "ttft_s $(late "printf('%.6g', ttft_s) from $of"): 100.0 % of the requests to chat that have one are no larger"

# The error has the call to make.
run 2 why "$db:1" request 5
err "several services have a request 5; choose with --service: chat draft; as 'orrery why $db:1 request 5 --service chat'"

# Jobs have no service, and a service must be of the run. Each service has its own ids.
for job in slowest longest-wait 0; do
    run 2 why "$db" job $job --service chat
    err "'--service' is for requests"
done
run 2 why "$db" request 5 --service chta
err "run 1 has no requests to a service 'chta'; did you mean 'chat'?"
run 2 why "$db" request slowest --service none
err "run 1 has no requests to a service 'none'; its services: chat draft"
last_of() { row "max(id) from request where service = '$1'"; }
run 2 why "$db" request 99999
err "run 1 has no request 99999; it has 0 to $(last_of chat) of chat, 0 to $(last_of draft) of draft"
run 2 why "$db" request 99999 --service draft
err "run 1 has no request 99999 of draft; it has 0 to $(last_of draft)"

# One pipe for both streams: the closing message follows the answer.
"$ORRERY" why "$db" job "$longest" >"$T/both" 2>&1
equal "$(tail -n 1 "$T/both")" 'simulated once more from the scenario of run 1; the result hash is the same' 'last line of both streams'
"$ORRERY" why "$db" job "$longest" >"$T/out" 2>"$T/err"
cat "$T/out" "$T/err" | cmp -s - "$T/both" || complain 'one pipe has other lines than two'
finish
