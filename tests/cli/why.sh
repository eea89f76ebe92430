#!/bin/sh
# The life of a request or a job, told from a run that is simulated once more, agrees with its row.
. tests/cli/lib.sh

db=$T/r.db
run 0 run tests/golden/cases/scarce-kv.json --quiet -o "$db"
mixed
run 0 run "$T/mixed.json" --quiet -o "$db"
row() { sqlite3 "$db" "select $1 from $2"; }

# Every request that was preempted often: all its tokens, its wait, its longest gap.
for id in $(row id 'request where run_id = 1 and preemptions > 1'); do
    of="request where run_id = 1 and id = $id"
    run 0 why "$db:1" request "$id" --json
    valid_json
    sql :memory: "select sum(cast(value ->> 'text' as integer)) + (select count(*) from json_each(readfile('$T/out'), '\$.events')
        where value ->> 'what' = 'prefill') from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = 'decoded'" \
        "$(row output_tokens "$of")"
    sql :memory: "select group_concat(value ->> 'what', ' ') from (select value from json_each(readfile('$T/out'), '\$.events')
        where value ->> 'what' in ('admit', 'finish', 'route'))" 'route admit finish'
    sql :memory: "select count(*) from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = 'preempt'" \
        "$(row preemptions "$of")"
    sql :memory: "select abs(value ->> 't_s' - $(row 'arrival_s + queue_s' "$of")) < 1e-9 from json_each(readfile('$T/out'),
        '\$.events') where value ->> 'what' = 'admit'" 1
    sql :memory: "select abs(json_extract(readfile('$T/out'), '\$.percentiles.e2e_s') - $(row "(select 100.0 * avg(e2e_s <=
        (select e2e_s from $of)) from request where run_id = 1)" "$of")) < 1e-9" 1
    run 0 why "$db:1" request "$id"
    gap=$(sed -n 's/^longest wait for a token: \([0-9.e-]*\) s.*/\1/p' "$T/out")
    sql :memory: "select $gap = $(row max_gap_s "$of")" 1
    err 'the result hash is the same'
done
[ -n "$id" ] || complain 'no request was preempted twice'

# Pieces of a long prompt give no token but the last: the longest gap is that of the run's rows.
cat >"$T/pieces.json" <<END
{"cluster": {"gpu": "h100-sxm"}, "services": {"chat": {"llm": "llama-3.1-8b",
 "trace": {"format": "generate", "count": 3, "arrival": {"process": "poisson", "rate": "5/s"},
           "prompt": {"distribution": "fixed", "tokens": 20000}, "output": {"distribution": "fixed", "tokens": 5}}}}}
END
run 0 run "$T/pieces.json" --quiet -o "$T/pieces.db"
run 0 why "$T/pieces.db:1" request 0
more=$(sed -n 's/.* chunk    \([0-9]*\) more pieces of its prompt, up to .* s; --all shows each$/\1/p' "$T/out")
run 0 why "$T/pieces.db:1" request 0 --all
equal "$(grep -c ' chunk ' "$T/out")" $((more + 2)) 'pieces: the first, the last and those between'
for id in 0 1 2; do
    run 0 why "$T/pieces.db" request $id
    gap=$(sed -n 's/^longest wait for a token: \([0-9.e-]*\) s.*/\1/p' "$T/out")
    sql :memory: "select $gap = $(sqlite3 "$T/pieces.db" "select max_gap_s from request where id = $id")" 1
done

# An iteration that a failure cuts short ends at the failure, and is not told as a completed one.
cat >"$T/cut.json" <<END
{"cluster": {"gpu": "h100-sxm", "nodes": 2, "gpus_per_node": 1}, "until": "60s",
 "failures": {"causes": {"gpu": {"scope": "gpu", "lifetime": {"mean": "10s"}, "repair": {"mean": "5s"}}}},
 "services": {"chat": {"llm": "llama-3.1-8b", "replicas": 1, "batching": {"policy": "vllm-v1", "token_budget": 32768},
  "trace": {"format": "generate", "count": 100, "arrival": {"process": "fixed", "rate": "3/s"},
            "prompt": {"distribution": "fixed", "tokens": 20000}, "output": {"distribution": "fixed", "tokens": 5}}}}}
END
run 0 run "$T/cut.json" --quiet --interval never -o "$T/cut.db"
n=0
for id in $(sqlite3 "$T/cut.db" "select distinct r.id from request r join decision d on d.action = 'fail' and
    r.arrival_s + r.queue_s < d.t_s and coalesce(r.arrival_s + r.e2e_s, 99) > d.t_s order by 1 limit 8"); do
    run 0 why "$T/cut.db" request "$id" --json
    sql :memory: "with e as (select value ->> 't_s' as t, value ->> 'what' as what, value ->> 'text' as text
        from json_each(readfile('$T/out'), '\$.events')) select count(*) from e as p join e as q on q.t = p.t
        where p.what = 'prefill' and q.what = 'requeue' and p.text not like 'an iteration cut short after %'" 0
    n=$((n + $(grep -c 'an iteration cut short after ' "$T/out")))
done
[ $n -ge 2 ] || complain "only $n iterations were cut short"

# Requests that were swapped: where their KV was, all their tokens, their longest gap.
swapped=$T/swapped.db
run 0 run shared-pcie --quiet --set services.chat.trace.rate_scale=1.3 -o "$swapped"
n=0
for id in $(sqlite3 "$swapped" 'select id from request where preemptions > 0 order by id limit 4'); do
    of="request where id = $id"
    run 0 why "$swapped" request "$id" --json
    sql :memory: "select sum(cast(value ->> 'text' as integer)) + (select count(*) from json_each(readfile('$T/out'), '\$.events')
        where value ->> 'what' = 'prefill') from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = 'decoded'" \
        "$(sqlite3 "$swapped" "select output_tokens from $of")"
    for what in preempt swap-out swap-in; do
        sql :memory: "select count(*) from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = '$what'" \
            "$(sqlite3 "$swapped" "select preemptions from $of")"
    done
    run 0 why "$swapped" request "$id"
    gap=$(sed -n 's/^longest wait for a token: \([0-9.e-]*\) s.*/\1/p' "$T/out")
    sql :memory: "select $gap = $(sqlite3 "$swapped" "select max_gap_s from $of")" 1
    n=$((n + 1))
done
[ "$n" -eq 4 ] || complain 'too few requests were swapped'

# Requests of sessions: what of their prompt was cached.
run 0 run prefix-cache --quiet -o "$T/prefix.db"
for id in $(sqlite3 "$T/prefix.db" 'select id from request order by cached_tokens desc, id limit 2'); do
    run 0 why "$T/prefix.db" request "$id"
    cached=$(sqlite3 "$T/prefix.db" "select cached_tokens from request where id = $id")
    out " tokens, $cached found or scheduled in the prefix cache, takes "
done

# A request that the power brake slows down: who ordered it, when and why, and what it costs. Of the time of a prompt
# 95 % scale with the clock.
braked=$T/braked.db
run 0 run power-capped-row --set until=2min --set cluster.power.budget=48kW --quiet -o "$braked"
at=$(sqlite3 "$braked" "select t_s from decision where action = 'brake' order by t_s limit 1")
id=$(sqlite3 "$braked" "select id from request where service = 'chat' and arrival_s between $at + 5 and $at + 8
    order by prompt_tokens desc limit 1")
run 0 why "$braked" request "$id" --service chat
out "power    polca: brake in row0, ordered at $(printf %.6f "$at") s: 288 MHz: power is above the budget ("
let_go=$(sqlite3 "$braked" "select min(t_s) from decision where action = 'release' and t_s > $at")
out " kW of 48 kW); in force from $(printf %.6f "$((${at%.*} + 5))") s to $(printf %.6f "$((${let_go%.*} + 5))") s; clock at"
watts=$(sed -n 's/.*power is above the budget (\([0-9.]*\) kW of 48 kW).*/\1/p' "$T/out")
sql :memory: "select $watts > 48 and $watts < 100" 1
out 'clock at 20.4 % of the highest'
sed -n 's/.*an iteration of \([0-9.]*\) ms: .*, \([0-9.]*\) ms longer than at the highest clock$/\1 \2/p' "$T/out" >"$T/took"
awk 'BEGIN { factor = 0.05 + 0.95 * 1410 / 288 } { ratio = $1 / ($1 - $2) / factor; ok = ratio > 0.998 && ratio < 1.002 }
    END { exit !ok }' "$T/took" || complain "not the time at that clock: $(cat "$T/took")"

# A brake that has ended before the first iteration of a request, which waited meanwhile for the batches that it slowed.
run 0 run power-capped-row --set until=2min --set cluster.power.budget=44kW --quiet -o "$T/waited.db"
sqlite3 "$T/waited.db" "select r.id, r.service, l.t_s + 5 from request as r join decision as l on l.action = 'release'
    where r.arrival_s + r.queue_s > l.t_s + 5 and r.arrival_s between l.t_s and l.t_s + 5 order by r.id" >"$T/ids"
n=0
while IFS='|' read -r id service until; do
    run 0 why "$T/waited.db" request "$id" --service "$service"
    grep ' power ' "$T/out" | grep -q "brake in row0.* to $(printf %.6f "$until") s; clock at 20.4 %" ||
        complain "the brake until $until s is not told of request $id of $service"
    out ' longer than at the highest clock'
    n=$((n + 1))
done <"$T/ids"
[ "$n" -ge 2 ] || complain 'no request waited beyond the end of a brake'

# Requests that a batcher pauses: all their tokens, their longest gap.
cat >"$T/turns.c" <<END
#include "sim/world/policy/batching.h"
static int take_turns(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    if (view->n_waiting > 0 && replica_view_running(view) < 5)
        batch_plan_prefill(plan, view->waiting, view->waiting->prompt_tokens);
    else if (view->n_decoding > 1)
        batch_plan_pause(plan, view->youngest_decoding);
    if (view->n_paused > 0) batch_plan_resume(plan, view->paused, false);
    plan->decode = plan->n_prefills > 0 || view->n_decoding + view->n_paused > 0;
    plan->iterations = 4;
    return 0;
}
static const struct batcher turns = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct batcher),
    .family = POLICY_BATCHING, .name = "turns", .summary = "they take turns"}, .compose = take_turns};
ORRERY_PLUGIN(&turns.policy)
END
${CC:-cc} -std=c17 -fPIC -shared -I. -o "$T/turns.so" "$T/turns.c" || complain 'it does not compile'
paused=$T/paused.db
run 0 run quickstart --plugin "$T/turns.so" --set services.chat.batching=turns --set services.chat.trace.limit=60 \
    --keep decisions --quiet -o "$paused"
n=0
for id in $(sqlite3 "$paused" "select subject from decision where action = 'pause' group by 1 order by count(*) desc, 1 limit 3"); do
    of="request where id = $id"
    run 0 why "$paused" request "$id" --json --plugin "$T/turns.so"
    sql :memory: "select sum(cast(value ->> 'text' as integer)) + (select count(*) from json_each(readfile('$T/out'), '\$.events')
        where value ->> 'what' = 'prefill') from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = 'decoded'" \
        "$(sqlite3 "$paused" "select output_tokens from $of")"
    sql :memory: "select sum(value ->> 'what' = 'pause') > 1, sum(value ->> 'what' = 'pause') - sum(value ->> 'what' = 'continue')
        from json_each(readfile('$T/out'), '\$.events')" '1|0'
    run 0 why "$paused" request "$id" --plugin "$T/turns.so"
    gap=$(sed -n 's/^longest wait for a token: \([0-9.e-]*\) s.*/\1/p' "$T/out")
    sql :memory: "select $gap = $(sqlite3 "$paused" "select max_gap_s from $of")" 1
    n=$((n + 1))
done
[ "$n" -eq 3 ] || complain 'too few requests were paused'

# Jobs: what they held adds up.
for id in $(row id 'job where run_id = 2 and preemptions > 0 limit 3'); do
    run 0 why "$db" job "$id"
    out 'preempt'
    sql :memory: "select abs($(sed -n 's/.*held *\([0-9]*\) GPUs\{0,1\} .* for \([0-9.]*\) s$/\1 * \2 +/p' "$T/out") 0
        - $(row gpu_s "job where run_id = 2 and id = $id")) < 1e-3" 1
    held="select distinct start_s, end_s from placement where run_id = 2 and job = $id"
    waited=$(sed -n 's/^waited \([0-9.e+-]*\) s in all, in .* stops\{0,1\}; longest .*/\1/p' "$T/out")
    sql "$db" "select abs(jct_s - (select sum(end_s - start_s) from ($held)) - $waited) < 1e-3 from job
        where run_id = 2 and id = $id" 1
done
[ -n "$id" ] || complain 'no job was preempted'

# A job that waits: 4 GPUs are free, but no node has more than 2. Job 3 would fit, but comes after it. All of them run
# at a lower clock: half of their time scales with it, so they run at 1 / (0.5 + 0.5 * 1410 / 705) of their speed.
cat >"$T/waits.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 2, "server_power": {"idle": "680W", "per_gpu_watt": 0.66},
              "power": {"budget": "3kW", "level": "site", "capping": {"policy": "static-lock", "clock": "705MHz"}}},
  "jobs": {"scheduler": "fifo", "trace": {"format": "csv-jobs", "path": "waits.csv"},
           "types": {"default": {"power": {"mean": "330W", "clock_share": 0.5, "priority": "low"}}}} }
END
printf '%s\n' submit_s,duration_s,gpus 0,100,6 0,50,6 10,10,4 20,5,2 >"$T/waits.csv"
run 0 run "$T/waits.json" --quiet -o "$T/waits.db"
run 0 why "$T/waits.db" job 2
out '10.000000 s  submit   asks for 4 GPUs: 4 GPUs free, at most 2 of them on one node; jobs waiting: 0, running: 2'
out 'holders  GPUs were in use by job 0 (6 GPUs until 150 s), job 1 (6 GPUs until 75 s)'
out '65 s for GPUs; of 2 decisions meanwhile, 2 found 4 GPUs free or more, 2 of them not on one node; at most 4 were free'
! grep -q 'with room' "$T/out" || complain 'no node had room'
out 'power    static-lock: lower clock for priority low in site, ordered at 0.000000 s: 705 MHz: as configured; in force'
out 'runs at 66.7 % of its full speed'
run 0 why "$T/waits.db" job 3
out 'submit   asks for 2 GPUs: 4 GPUs free, at most 2 of them on one node; jobs waiting: 1, running: 2'
out 'waited   55 s for GPUs; of 1 decision meanwhile, 1 found 2 GPUs free or more; at most 4 were free; with room for it, 1 started none'
run 0 why "$T/waits.db" job 0
! grep -qE ' (waited|holders|passed|taken) ' "$T/out" || complain 'a job that started at once has waited for others'

# A job that never starts: who passed it is told, and that it waits so far.
cat >"$T/never.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1}, "until": "50s",
  "jobs": {"scheduler": "fifo-skip", "placement": "first-fit", "trace": {"format": "inline-jobs", "jobs": [
      {"duration": "100s", "gpus": 4}, {"submit": "1s", "duration": "30s", "gpus": 8},
      {"submit": "2s", "duration": "30s", "gpus": 4}]}} }
END
run 0 run "$T/never.json" --quiet -o "$T/never.db"
run 0 why "$T/never.db" job 1
out 'holders  GPUs were in use by job 0 (4 GPUs)'
out 'passed   submitted later, but started first: job 2 (4 GPUs)'
out '50.000000 s  waits    49 s for GPUs so far; of '
out 'wait_s 49: 100.0 % of'
out 'waited 49 s in all so far, in 1 part: 49 s before its first start; longest 49 s, from 1.000000 s on'

# A job that shorter ones preempt, and which waits when the run ends: all its waits count, up to that end.
cat >"$T/short.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1}, "until": "100s",
  "jobs": {"scheduler": "srtf", "placement": "first-fit", "trace": {"format": "inline-jobs", "jobs": [
      {"duration": "100s", "gpus": 8}, {"submit": "10s", "duration": "20s", "gpus": 8},
      {"submit": "40s", "duration": "20s", "gpus": 8}, {"submit": "70s", "duration": "300s", "gpus": 8},
      {"submit": "75s", "duration": "10s", "gpus": 8}, {"submit": "96s", "duration": "10s", "gpus": 8}]}} }
END
run 0 run "$T/short.json" --quiet -o "$T/short.db"
out '3 unfinished (in none of these times)'
run 0 why "$T/short.db" job 0
out 'queue_s 0: '
out 'wait_s 54: '
out 'waited 54 s in all so far, in 4 parts: 0 s before its first start, 54 s after 4 stops; longest 20 s, from 10.000000 s on'
equal "$(grep -c ' passed ' "$T/out")" 4 'waits in which others started'
out '10.000000 s  ahead    the scheduler starts at this moment, as this one has had 80 GPU-s: job 1 (8 GPUs, after 0 GPU-s)'
out '30.000000 s  passed   in this wait others started: job 1 (8 GPUs)'
out '60.000000 s  passed   in this wait others started: job 2 (8 GPUs)'
run 0 why "$T/short.db" job 3
out '1 found 8 GPUs free or more; at most 8 were free; with room for it, 1 started another job (last: job 0)'

# Of every preempted job, others and their GPUs agree with the tables; a later one passes it only if it started first.
run 0 run "$T/waits.json" --set jobs.scheduler=srtf --set jobs.trace.path="$T/jobs.csv" --quiet -o "$T/passed.db"
id=
for id in $(sqlite3 "$T/passed.db" "select id from job where preemptions > 1 order by start_s - submit_s desc limit 2"); do
    run 0 why "$T/passed.db" job "$id"
    own="(select * from job where id = $id) o"
    sql "$T/passed.db" "select count(*) from job j, $own where j.submit_s > o.submit_s and j.start_s < o.start_s" \
        "$(sed -n 's/.*passed .*started first: //p' "$T/out" | awk '{ n = gsub(/job/, "job"); if (match($0, /and [0-9]+ more/)) n += substr($0, RSTART + 4) }
            END { print n + 0 }')"
    sql "$T/passed.db" "select count(distinct p.job) from placement p, $own where p.job <> o.id and p.start_s <= o.submit_s
        and p.end_s > o.submit_s" \
        "$(sed -n 's/.*holders .* by //p' "$T/out" | awk '{ n = gsub(/job/, "job"); if (match($0, /and [0-9]+ more/)) n += substr($0, RSTART + 4) }
            END { print n + 0 }')"
    equal "$(grep -c ' waited ' "$T/out")" "$(grep -cE ' (start|resume) ' "$T/out")" 'waits of a job that never starts at once'
    # Each later wait: jobs that started in it, by the ends and starts of its own placements.
    sqlite3 "$T/passed.db" "select count(distinct p.job) as n from (select end_s as from_s, lead(start_s) over (order by start_s) as to_s
        from (select distinct start_s, end_s from placement where job = $id)) as w join placement as p
        on p.job <> $id and p.start_s >= w.from_s and p.start_s < w.to_s group by w.from_s order by w.from_s" >"$T/expected"
    sed -n 's/.*passed .*others started: //p' "$T/out" | awk '{ n = gsub(/job/, "job"); if (match($0, /and [0-9]+ more/)) n += substr($0, RSTART + 4)
        print n }' >"$T/passed"
    cmp -s "$T/expected" "$T/passed" || complain "jobs that started in later waits of job $id: $(tr '\n' ' ' <"$T/passed")not $(tr '\n' ' ' <"$T/expected")"
done
[ -n "$id" ] || complain 'no job is preempted twice'

# A replica that came up a short while ago: the requests that it took since. A job that yields: the service that takes
# its GPUs; one that waits: what services hold.
cat >"$T/site.json" <<'END'
{ "cluster": {"nodes": 1, "gpus_per_node": 8, "gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "mistral-7b", "replicas": 1,
    "scaling": {"policy": {"policy": "target-outstanding", "target": 16, "down_window": "1min"},
                "min": 1, "max": 6, "interval": "10s", "start_delay": "30s"},
    "trace": {"format": "generate", "duration": "3min", "arrival": {"process": "gamma", "rate": "5/s", "cv": 3}}}},
  "jobs": {"preemptible": true, "yield": "latest-start", "scheduler": "fifo-skip",
    "types": {"pretrain": {"preemptible": false}},
    "trace": {"format": "inline-jobs", "jobs": [{"duration": "15min", "gpus": 4, "type": "pretrain"},
      {"duration": "15min", "gpus": 2}, {"duration": "15min", "gpus": 1}, {"submit": "1s", "duration": "15min", "gpus": 1}]}} }
END
site=$T/site.db
run 0 run "$T/site.json" --quiet --keep decisions -o "$site"
id=$(sqlite3 "$site" "select subject from decision where action = 'interrupt' order by t_s, rowid desc limit 1")
run 0 why "$site" job "$id"
out "yielded  to chat, target-outstanding: replica "
run 0 why "$site" job 3
out 'submit   asks for 1 GPU: 0 GPUs free; in use by services: 1; jobs waiting: 0, running: 3'
n=0
for of in $(sqlite3 "$site" "select d.subject || '|' || u.t_s || '|' || d.rowid || '|' || substr(d.reason, 4, 9) from decision as d, decision as u
    where u.action = 'up' and d.action = 'route' and d.reason like 'to ' || substr(u.reason, 1, 9) || ' %' and d.t_s between u.t_s and u.t_s + 60
    group by u.rowid" | tr ' ' _); do
    IFS='|' read -r id up_s row to <<END
$of
END
    run 0 why "$site" request "$id"
    others=$(sqlite3 "$site" "select count(*) || ' other requests since then it took ' || sum(reason like 'to $(echo "$to" | tr _ ' ') %')
        from decision where action = 'route' and t_s >= $up_s and rowid < $row")
    grep -qE "replica  chat/[0-9]* came up [0-9.e-]* s before; of $(echo "$others" | sed 's/^1 other requests/1 other request/')" "$T/out" ||
        complain "not told of request $id: $others"
    n=$((n + 1))
done
[ $n -gt 1 ] || complain 'no replica came up'

# What the replica did while a request waited less than an iteration is one iteration, however many had been folded into
# one; of decoding, those that took prompts of others are told.
waits=$T/waits-short.db
run 0 run quickstart --quiet --set services.chat.trace.limit=400 -o "$waits"
n=0
for id in $(sqlite3 "$waits" "select id from request where queue_s between 1e-6 and 0.004 order by queue_s desc limit 5"); do
    run 0 why "$waits" request "$id"
    equal "$(sed -n 's/.*meanwhile .* did \([0-9]*\) iterations\{0,1\} with prompts ([0-9]* tokens) and \([0-9]*\) of decoding alone$/\1 \2/p' \
        "$T/out" | awk '{ print $1 + $2 }')" 1 "iterations while request $id waits"
    n=$((n + 1))
done
[ $n -eq 5 ] || complain 'too few requests waited'
id=$(sqlite3 "$waits" "select id from request where output_tokens > 10 order by tpot_s desc limit 1")
run 0 why "$waits" request "$id"
out ' others on average; '
sed -n 's/.* tokens, one every .* took \([0-9.]* m*s\) of \([0-9.]* m*s\)$/\1 \2/p' "$T/out" |
    awk -v decoded_ms="$(sqlite3 "$waits" "select 1000 * (e2e_s - ttft_s) from request where id = $id")" \
        '{ n++; took = $1 * ($2 == "s" ? 1000 : 1); of = $3 * ($4 == "s" ? 1000 : 1)
           ok = took > 0 && took <= of && of / decoded_ms > 0.994 && of / decoded_ms < 1.006 } END { exit !(n == 1 && ok) }' ||
    complain 'prompts beside its decoding are not told'

# Of a job that starts where others are preempted, these are named.
for id in $(sqlite3 "$T/passed.db" "select distinct s.subject from decision as s, decision as p where s.t_s = p.t_s
    and s.action in ('start', 'resume') and p.action = 'preempt' and s.subject <> p.subject limit 3"); do
    run 0 why "$T/passed.db" job "$id"
    for other in $(sqlite3 "$T/passed.db" "select p.subject from decision as s, decision as p where s.t_s = p.t_s and s.subject = $id
        and s.action in ('start', 'resume') and p.action = 'preempt' and p.subject <> $id limit 1"); do
        grep -E 'the scheduler preempts at this moment:' "$T/out" | grep -qE " job $other(,|$| and)" || complain "job $other is not named"
    done
done

# A run is told from another directory: its inputs are looked for beside its results.
mkdir -p "$T/there"
cp "$T/waits.csv" "$T/waits.json" "$T/there"
program=$(readlink -f "$ORRERY")
(cd "$T/there" && "$program" run waits.json --quiet -o there.db >out 2>&1) || complain 'no run there'
run 0 why "$T/there/there.db" job 2
out '10.000000 s  submit   asks for 4 GPUs'
run 0 run --from "$T/there/there.db" --quiet -o "$T/again.db"

# A file of the same name in the current directory does not replace that beside the results, whose bytes the run read.
# If neither has these bytes, the answer says so.
mkdir -p "$T/here"
printf '%s\n' submit_s,duration_s,gpus 0,1,1 0,1,1 1,1,1 2,1,1 >"$T/here/waits.csv"
(cd "$T/here" && "$program" why ../there/there.db job 2 >"$T/out" 2>"$T/err") || complain 'the file of the current directory is taken'
out '10.000000 s  submit   asks for 4 GPUs'
(cd "$T/here" && "$program" run --from ../there/there.db --quiet >"$T/out" 2>"$T/err") || complain 'not repeated'
cp "$T/there/waits.csv" "$T/kept.csv"
printf '%s\n' submit_s,duration_s,gpus 0,1,1 0,2,1 1,1,1 2,1,1 >"$T/there/waits.csv"
(cd "$T/here" && "$program" why ../there/there.db job 2 >"$T/out" 2>"$T/err")
equal $? 1 'status of a run whose files are others'
err "the run's input files are in several directories, and in none with the bytes that it read; taken are those at '.'"
cp "$T/kept.csv" "$T/there/waits.csv"

rm "$T/there/waits.csv"
run 3 why "$T/there/there.db" job 2
err 'waits.csv: error: an input of the run is not here; relative paths start at the directory in which the run was made'

# The slowest one: by its end-to-end time, of a service if that is named, or by its completion time.
slowest() { sqlite3 "$db" "select id from request where run_id = 2 and service = '$1' order by e2e_s desc, id limit 1"; }
for own in chat draft; do
    run 0 why "$db" request slowest --service $own --with-warmup
    out "request $(slowest $own) of $own"
done
run 0 why "$db" request slowest --with-warmup --json
json '$.service' "$(row service 'request where run_id = 2 order by e2e_s desc, id, service limit 1')"
json '$.percentiles.e2e_s' 100
run 0 why "$db" job slowest --with-warmup
out "job $(row id 'job where run_id = 2 and jct_s not null order by jct_s desc, id limit 1'): "
run 2 why "$db:1" job slowest
err 'run 1 stored no job that finished; repeat the run with --keep rows, or name an id'

# Two services have the same ids.
run 2 why "$db" request 5
err 'several services have a request 5; choose with --service: chat draft'
run 0 why "$db" request 5 --service draft
out 'request 5 of draft'
run 2 why "$db" request 5 --service chta
err "run 2 has no requests to a service 'chta'; did you mean 'chat'?"
run 2 why "$db:1" request 777
err 'run 1 has no request 777; it has 0 to 199'
run 2 why "$db:1" job 1
err 'run 1 has no job 1'
run 2 why "$db:1" jbo 1
err "did you mean 'job'?"
run 2 why "$db:1" job one
err "'one' is not an id; give a number, 'slowest' for the one that took longest, 'longest-wait', or for a request 'longest-ttft'"
run 3 why "$db:7" job 1

# Two services under the same policies, and jobs, count alike: what is told of each happened to it, from its arrival to
# its end.
cat >"$T/twins.json" <<END
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 3},
  "services": {
    "east": {"llm": "llama-2-7b", "replicas": 2, "kv": {"blocks": 100}, "cost": "roofline",
             "trace": {"format": "generate", "count": 60, "max_total_tokens": 1500,
                       "arrival": {"process": "fixed", "rate": "60/s"}}},
    "west": {"llm": "llama-2-7b", "replicas": 2, "kv": {"blocks": 100}, "cost": "roofline",
             "trace": {"format": "generate", "count": 60, "max_total_tokens": 1500,
                       "arrival": {"process": "fixed", "rate": "60/s"}}}},
  "jobs": {"scheduler": "srtf", "placement": "first-fit", "trace": {"format": "csv-jobs", "path": "jobs.csv"}} }
END
repeated=$db
db=$T/twins.db
run 0 run "$T/twins.json" --quiet -o "$db" --keep decisions
sql "$db" "select count(*), count(distinct policy) from decision where action in ('route', 'admit') and service <> ''" '240|2'
sql "$db" "select count(*), min(n) > 5 from (select sum(preemptions) as n from request group by service)" '2|1'
sql "$db" "select count(*) from decision as d where not exists (select 1 from request as r where d.service = r.service
    and d.subject = r.id and d.t_s between arrival_s - 1e-9 and arrival_s + e2e_s + 1e-9
    union all select 1 from job as j where d.service = '' and d.subject = j.id and d.t_s between submit_s and end_s)" 0
life() { # FROM END PREEMPTIONS OTHER: what was told lies between, in order, ends once, and names no other service
    sql :memory: "select count(*) > 1, min(value ->> 't_s') >= $1 - 1e-9, max(value ->> 't_s') <= $2 + 1e-9,
        sum(value ->> 'what' in ('route', 'start')), sum(value ->> 'what' = 'finish'), sum(value ->> 'what' = 'preempt'),
        sum(value ->> 'text' like '%$4%') from json_each(readfile('$T/out'), '\$.events')" "1|1|1|1|1|$3|0"
    sql :memory: "select count(*) from (select value ->> 't_s' as t_s, lag(value ->> 't_s') over (order by key) as before
        from json_each(readfile('$T/out'), '\$.events')) where t_s < before" 0
}
for id in 0 1 17 42 59 $(row id 'request order by preemptions desc limit 3'); do
    for own in east west; do
        of="request where service = '$own' and id = $id"
        other=$(row "distinct service" "request where service <> '$own'")
        run 0 why "$db" request "$id" --service $own --json
        life "$(row arrival_s "$of")" "$(row 'arrival_s + e2e_s' "$of")" "$(row preemptions "$of")" "$other"
    done
    run 0 why "$db" job "$id" --json
    of="job where id = $id"
    life "$(row submit_s "$of")" "$(row end_s "$of")" "$(row preemptions "$of")" ' of _est'
done

# The views count a request of one service and its namesake of the other as two.
for view in preemption_hot_spots decisions_by_reason; do
    run 0 export "$db" $view -o "$T/$view.csv"
    sqlite3 "$db" ".import --csv $T/$view.csv $view"
done
sql "$db" "select sum(decisions), sum(subjects) from decisions_by_reason where action = 'finish'" \
    "$(row "count(*), count(distinct service || ' ' || subject)" "decision where action = 'finish'" | tr -d ' ')"
sql "$db" "select group_concat(service || ' ' || n) from (select service, sum(subjects) as n from decisions_by_reason
    where action = 'route' group by service order by service)" 'east 60,west 60'
sql "$db" "select service <> '', sum(preemptions), sum(preempted) from preemption_hot_spots group by 1" \
    "$(row "service <> '', count(*), count(distinct service || ' ' || subject || ' ' || cast(60 * t_s / value as integer))" \
        "decision as d, metric as m where action = 'preempt' and m.name = 'sim.end_s' group by 1")"
sql "$db" "select count(*) > 20, sum(most <> (select count(*) from decision as d where d.action = 'preempt' and d.t_s >= v.from_s
    and d.t_s < v.to_s and d.service = v.service and d.subject = most_id)) from preemption_hot_spots as v" '1|0'

# With drafts that are always right an iteration brings three tokens: 31 tokens, the first of the prompt, take ten.
cat >"$T/drafts.json" <<'END'
{"cluster": {"nodes": 1, "gpus_per_node": 1, "gpu": "a100-80-sxm"}, "services": {"chat": {"llm": "llama-3.1-8b",
  "speculation": {"policy": "ngram", "drafts": 2}, "acceptance": {"rates": [1]},
  "trace": {"format": "generate", "count": 1, "arrival": {"process": "fixed", "rate": "1/s"},
    "prompt": {"distribution": "fixed", "tokens": 100}, "output": {"distribution": "fixed", "tokens": 31}}}}}
END
run 0 run "$T/drafts.json" -q -o "$T/drafts.db"
run 0 why "$T/drafts.db" request 0
out 'decoded  10 iterations, one every '

# The second turn of the first session loads what the second session has evicted; its iteration starts after that.
cat >"$T/turns.jsonl" <<'END'
{"arrival_s": 0, "input": [800, 20], "output": [10, 9], "wait_s": [0, 30]}
{"arrival_s": 10, "input": [1200], "output": [10]}
END
cat >"$T/loads.json" <<'END'
{"cluster": {"nodes": 1, "gpus_per_node": 1, "gpu": "a100-80-sxm", "host": {"device": "host-dram-pcie4"}},
 "services": {"chat": {"llm": "llama-3.1-8b", "kv": {"blocks": 90, "prefix_cache": "lru", "prefix_store": {"load": "always",
   "tiers": {"host": {"capacity": "4GB"}}}}, "trace": {"format": "sessions", "path": "turns.jsonl"}}}}
END
run 0 run "$T/loads.json" -q -o "$T/loads.db"
run 0 why "$T/loads.db" request 1
out 'loaded, takes'
out 'ms for loads, an iteration of'
out 'decoded  8 tokens'

# A run that does not repeat is not explained.
sqlite3 "$repeated" "update run set result_hash = 'ff' where id = 1"
run 1 why "$repeated:1" request 3
err 'run 1 does not repeat'
# A job of two nodes waits while only one is wholly free.
cat >"$T/scattered.json" <<'END'
{"cluster": {"nodes": 4, "gpus_per_node": 8}, "keep": "rows",
 "jobs": {"scheduler": "fifo-skip", "placement": "consolidated", "trace": {"format": "inline-jobs", "jobs": [
   {"submit": "0s", "duration": "1h", "gpus": 5}, {"submit": "0s", "duration": "1h", "gpus": 5},
   {"submit": "0s", "duration": "1h", "gpus": 5}, {"submit": "1s", "duration": "10min", "gpus": 16},
   {"submit": "2s", "duration": "1min", "gpus": 1}]}}}
END
run 0 run "$T/scattered.json" -o "$T/scattered.db" -q
run 0 why "$T/scattered.db" job 3
out '3 found 16 GPUs free or more, 3 of them not on 2 nodes; at most 17 were free'
! grep -q 'with room for it' "$T/out" || complain 'there was no room for it'
run 2 why "$T/scattered.db" request 1
err 'it has only jobs'

# Of Tiresias also the queues that jobs are in: by the GPU time they have had, where it alone decides.
cat >"$T/queues.json" <<'EOF'
{ "cluster": { "gpu": "a100-80-sxm", "nodes": 1 }, "jobs": { "scheduler": { "policy": "tiresias", "limits": [1000, 8000] },
  "trace": { "format": "inline-jobs", "jobs": [ { "submit": "0s", "duration": "1000s", "gpus": 8 },
    { "submit": "10s", "duration": "100s", "gpus": 4 }, { "submit": "800s", "duration": "100s", "gpus": 8 } ] } } }
EOF
run 0 run "$T/queues.json" -q -o "$T/queues.db" --keep decisions
run 0 why "$T/queues.db" job 0
out 'as this one has had 1000 GPU-s and is in queue 2 of 3: job 1 (4 GPUs, after 0 GPU-s, in queue 1)'
run 0 run "$T/queues.json" -q -o "$T/queues.db" --keep decisions --set jobs.scheduler.promote_knob=1
run 0 why "$T/queues.db:2" job 0
out 'as this one has had 1000 GPU-s: job 1 (4 GPUs, after 0 GPU-s)'

finish
