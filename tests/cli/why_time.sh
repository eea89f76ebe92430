#!/bin/sh
# What happened in a stretch of time, told from a run that is simulated once more, agrees with the rows, and stretches
# that follow each other add up.
. tests/cli/lib.sh

# The site of the scenarios, an hour of it: power commands, failures, replicas that start and stop, jobs that yield.
cat >"$T/site.json" <<END
{"extends": ["$PWD/configs/scenarios/mixed-site.json"], "until": "1h", "jobs": {"trace": {"rate_scale": 0.6}}, "cluster": {"power": {"budget": "26kW"}},
 "failures": {"causes": {"node": {"scope": "node", "lifetime": {"mean": "6h"}, "repair": {"mean": "10min"}},
                         "gpu": {"scope": "gpu", "lifetime": {"mean": "60h"}, "repair": {"mean": "10min"}}}}}
END
optimised
db=$T/site.db
run 0 run "$T/site.json" -q --interval never --keep decisions -o "$db"
end=$(sqlite3 "$db" "select value from metric where name = 'sim.end_s'")
field() { sqlite3 :memory: "select json_extract(readfile('$T/$1.json'), '\$.$2')"; }
near() { sql :memory: "select abs(($1) - ($2)) <= $3" 1; } # VALUE EXPECTED TOLERANCE

# Three stretches: what is counted is what the tables have; an end is the beginning of the next.
told() { # NAME FROM TO TO_OR_MORE: the stretch up to the end of the run contains what happens then
    run 0 why "$db" time "$2s:$3s" --json
    valid_json
    cp "$T/out" "$T/$1.json"
    for service in chat assistant; do
        of="from request where service = '$service'"
        equal "$(field "$1" "services.$service.arrivals")" "$(sqlite3 "$db" "select count(*) $of and arrival_s >= $2 and arrival_s < $4")" arrivals
        equal "$(field "$1" "services.$service.finished")" \
            "$(sqlite3 "$db" "select count(*) $of and arrival_s + e2e_s >= $2 and arrival_s + e2e_s < $4")" finished
        # What comes, less what a batch takes for the first time. What comes back does not count.
        near "$(field "$1" "services.$service.not_scheduled_to") - $(field "$1" "services.$service.not_scheduled_from")" \
            "$(sqlite3 "$db" "select sum(arrival_s >= $2 and arrival_s < $4) - total(arrival_s + queue_s >= $2 and
            arrival_s + queue_s < $4) from request where service = '$service' and status <> 'rejected'")" 0
        equal "$(field "$1" "services.$service.restarted")" "$(sqlite3 "$db" "select count(*) from decision where service = '$service'
            and action = 'requeue' and t_s >= $2 and t_s < $4")" restarted
        for action in fail start up drain stop; do
            sql :memory: "select count(*) from json_each(readfile('$T/$1.json'), '\$.events') where value ->> 'what' = '$action'
                and value ->> 'text' like '$service, %'" "$(sqlite3 "$db" "select count(*) from decision where service = '$service'
                and subject = -1 and action = '$action' and t_s >= $2 and t_s < $4")"
        done
    done
    for action in start resume preempt; do
        case $action in start) key=started ;; resume) key=resumed ;; *) key=preempted ;; esac
        equal "$(field "$1" jobs.$key)" "$(sqlite3 "$db" "select count(*) from decision where service = '' and action = '$action'
            and t_s >= $2 and t_s < $4")" "$key"
    done
    equal "$(field "$1" jobs.yielded)" "$(sqlite3 "$db" "select count(*) from decision where service = '' and action = 'interrupt'
        and reason like 'yields%' and t_s >= $2 and t_s < $4")" yielded
    # Jobs come, and start or end without a start; as many are left as the events leave.
    equal "$(field "$1" jobs.submitted)" "$(sqlite3 "$db" "select count(*) from job where submit_s >= $2 and submit_s < $4")" submitted
    equal "$(field "$1" jobs.ended)" "$(sqlite3 "$db" "select count(*) from job where end_s >= $2 and end_s < $4")" ended
    near "$(field "$1" jobs.not_started_to) - $(field "$1" jobs.not_started_from)" "$(field "$1" jobs.submitted) - $(field "$1" jobs.started) -
        $(sqlite3 "$db" "select count(*) from job where start_s is null and (end_s >= $2 and end_s < $4 or
        status = 'rejected' and submit_s >= $2 and submit_s < $4)")" 0
    # Commands of which some part lies in the stretch.
    sql :memory: "select count(*) from json_each(readfile('$T/$1.json'), '\$.events') where value ->> 't_s' < $2 or value ->> 't_s' >= $4" 0
}
told first 0 1000 1000
told second 1000 2500 2500
told third 2500 "$end" 1e9
run 0 why "$db" time : --json
cp "$T/out" "$T/whole.json"
for service in chat assistant; do
    equal "$(field first "services.$service.not_scheduled_to")" "$(field second "services.$service.not_scheduled_from")" 'not scheduled at 1000 s'
    equal "$(field first "services.$service.not_scheduled_from")" 0 'not scheduled at the start'
    for what in arrivals finished preempted restarted output_tokens; do
        near "$(field first "services.$service.$what") + $(field second "services.$service.$what") + $(field third "services.$service.$what")" \
            "$(field whole "services.$service.$what")" 1e-3
    done
done
equal "$(field first jobs.not_started_to)" "$(field second jobs.not_started_from)" 'not started at 1000 s'
equal "$(field whole jobs.not_started_from)" 0 'not started at the start'
# The stretch that is the run is like the run.
sql :memory: "select count(*) > 10, sum(value ->> 'stretch' is not value ->> 'run') from json_each(readfile('$T/whole.json'), '\$.load')" '1|0'
# All of it has happened.
sql :memory: "select group_concat(what, ' ') from (select distinct value ->> 'what' as what from json_each(readfile('$T/whole.json'),
    '\$.events') order by 1)" 'back down drain fail power start stop up yield'

# A command that ends where a stretch begins is no more in force. Another begins there.
powers="select value ->> 't_s' as t_s, value ->> 'text' as text from json_each(readfile('$T/whole.json'), '\$.events') where value ->> 'what' = 'power'"
cut=$(sqlite3 :memory: "with power as ($powers) select cast(t_s as integer) from power where exists (select * from power as other
    where other.text like printf('%% to %.6f s%%', power.t_s)) limit 1")
run 0 why "$db" time "${cut}s:$((cut + 1))s"
equal "$(grep -c "in force .* to $cut.000000 s" "$T/out")" 0 'commands that have ended'
grep -q "in force from $cut.000000 s" "$T/out" || complain 'the next command is not in force'

# What comes at the very end of a stretch belongs to the next one, requests and jobs alike.
printf 'arrival_s,prompt_tokens,output_tokens\n0,100,20\n1,100,20\n2,100,20\n3,100,20\n' >"$T/four.csv"
printf 'submit_s,duration_s,gpus\n0,5,8\n1,5,8\n2,5,8\n3,5,8\n' >"$T/jobs.csv"
cat >"$T/cuts.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 2},
  "services": {"chat": {"llm": "llama-3.1-8b", "trace": {"format": "csv", "path": "four.csv"}}},
  "jobs": {"scheduler": "fifo", "trace": {"format": "csv-jobs", "path": "jobs.csv"}} }
END
run 0 run "$T/cuts.json" -q --interval never -o "$T/cuts.db"
for from in 0 1 2; do
    run 0 why "$T/cuts.db" time "${from}s:$((from + 1))s" --json
    json '$.services.chat.arrivals' 1
    json '$.jobs.submitted' 1
    json '$.services.chat.not_scheduled_to' 0
    json '$.jobs.not_started_to' $from
done

# Without preemptions, failures and drafts all tokens are those of the rows; a stretch has those between its ends.
run 0 run quickstart -q --interval never -o "$T/quick.db"
run 0 why "$T/quick.db" time : --json
cp "$T/out" "$T/quick.json"
near "$(field quick services.chat.output_tokens)" "$(sqlite3 "$T/quick.db" 'select sum(output_tokens) from request')" 1e-3
equal "$(field quick services.chat.finished)" "$(sqlite3 "$T/quick.db" "select count(*) from request where status = 'finished'")" 'up to the end'
# The percentile of a stretch is that of its requests, by rank; a histogram tells it to 0.1 %.
run 0 why "$T/quick.db" time 10s:1min --json
cp "$T/out" "$T/minute.json"
rank=$(sqlite3 "$T/quick.db" "select ttft_s from request where arrival_s >= 10 and arrival_s < 60 order by ttft_s
    limit 1 offset (select cast(ceil(0.99 * count(*)) as integer) - 1 from request
    where arrival_s >= 10 and arrival_s < 60)")
whole=$(sqlite3 "$T/quick.db" "select value from metric where name = 'request.ttft_s.p99'")
for of in "minute stretch $rank" "quick run $whole"; do
    set -- $of
    told=$(sqlite3 :memory: "select value ->> '$2' from json_each(readfile('$T/$1.json'), '\$.load')
        where value ->> 'quantity' = 'ttft_p99_s'")
    near "${told:-0}" "$3" "0.001 * $3"
done
run 0 why "$T/quick.db" time :1000h --json
cmp -s "$T/out" "$T/quick.json" || complain 'an end behind that of the run is another one'
run 0 why "$T/quick.db" time 1min:2min
out 'chat: requests not yet scheduled at the start '
out 'chat     arrivals_per_s'
out '60.000000 s to 120.000000 s, 60 s of a run of '
run 0 run speculation -q --interval never -o "$T/drafts.db"
run 0 why "$T/drafts.db" time 10s: --json
sql :memory: "select count(*), sum(value ->> 'stretch' is null) from json_each(readfile('$T/out'), '\$.load')
    where value ->> 'quantity' = 'output_tokens_per_s'" '1|1'

# Several sequences of a request give tokens that no row of it counts.
run 0 run best-of -q --interval never -o "$T/several.db"
run 0 why "$T/several.db" time 10s: --json
sql :memory: "select count(*) > 0, sum(value ->> 'stretch' is not null or value ->> 'run' is not null) from json_each(readfile('$T/out'), '\$.load')
    where value ->> 'quantity' = 'output_tokens_per_s'" '1|0'

# Batches of a replica with pipeline stages overlap, and no row tells whose they are.
run 0 run quickstart --set services.chat.pipeline_parallel=2 -q --interval never -o "$T/stages.db"
run 0 why "$T/stages.db" time : --json
sql :memory: "select group_concat(value ->> 'quantity'), sum(value ->> 'run' is not null) from json_each(readfile('$T/out'), '\$.load')
    where value ->> 'stretch' is null" 'busy_replicas,slowed_percent|0'
json '$.services.chat.left_out' 'busy_replicas and slowed_percent: batches of pipeline stages overlap'
run 0 why "$T/stages.db" time :
out 'chat: left out: busy_replicas and slowed_percent: batches of pipeline stages overlap'
run 0 why "$T/stages.db" request 7 --json
json '$.left_out' 'its decoding beside others: batches of pipeline stages overlap, and no row tells which one is its own'
run 0 why "$T/stages.db" request 7
out ' finish '
out 'left out: its decoding beside others: batches of pipeline stages overlap, and no row tells which one is its own'
! grep -q ' decoded ' "$T/out" || complain 'iterations of other batches count as its own'
run 0 why "$T/quick.db" request 7
out ' decoded '
! grep -q 'left out' "$T/out" || complain 'a story without stages leaves something out'

# Each node that goes down comes back after the time that its repair takes, or stays down to the end. The power of the
# site is that of the samples in the stretch; over the whole run their mean is near that of its energy.
run 0 run failing-site -q --interval never -s until=6h -s failures.causes.gpu.lifetime.mean=2d -o "$T/failing.db"
run 0 why "$T/failing.db" time : --json
sql :memory: "with e as (select value ->> 't_s' as t, value ->> 'what' as what, value ->> 'text' as text,
    substr(value ->> 'text', 1, instr(value ->> 'text', ',')) as node from json_each(readfile('$T/out'), '\$.events')),
    d as (select *, lead(t, 1, 21600) over (partition by node order by t) as until_s, lead(what) over (partition by node
    order by t) as next from e where what in ('down', 'back'))
    select count(*) >= 3, sum(next = 'back') >= 2, sum(next = 'down') from d where what = 'down'" '1|1|0'
mean_w=$(sqlite3 "$T/failing.db" "select value from metric where name = 'power.site_w.mean'")
near "json_extract(readfile('$T/out'), '\$.power.mean_w') / $mean_w" 1 0.03
run 0 why "$T/failing.db" time 60min:70min --json
sql :memory: "select json_extract(readfile('$T/out'), '\$.power.samples'), json_extract(readfile('$T/out'), '\$.power.max_w')" \
    "$(sqlite3 "$T/failing.db" "select count(*), max(value) from sample where series = 'power.site_w' and t_s >= 3600 and t_s < 4200")"
run 0 why "$T/failing.db" job slowest
grep -Eq 'submit   asks for [0-9]+ GPUs?, of type (Pretrain|Evaluation|Debug|SFT|MLLM|Other)' "$T/out" || complain 'the job has no type'
run 0 why "$T/failing.db" time 60min:70min
out 'power of the site: mean '

run 2 why "$db" time 10min
err "'10min' has no ':'; write a stretch of time, as 10min:12min"
run 2 why "$db" time 2min:1min
err 'ends before it begins'
run 2 why "$db" time 2h:
err "'2h:' begins after the end of the run at 3600 s"
run 2 why "$db" time 1x:2min
run 2 why "$db" time 1min:2min --service chat
err "'--service' is for requests"

finish
