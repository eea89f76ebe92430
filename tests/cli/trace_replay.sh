#!/bin/sh
# A log is replayed: what a simulation has written comes back without any error, what another engine took is found
# again, and wrong calls and logs are told.
. tests/cli/lib.sh

cat >"$T/s.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1, "gpus_per_node": 1},
  "services": {"chat": {"llm": "llama-2-7b", "cost": {"kind": "operators", "engine": "none"},
                        "trace": {"format": "generate", "count": 150, "max_total_tokens": 4000,
                                  "arrival": {"process": "poisson", "rate": "3/s"}}}} }
END
slow='--set services.chat.cost.overhead.iteration=3ms --set services.chat.cost.overhead.sequence=40us
      --set services.chat.cost.overhead.prompt=2ms'
run 0 run "$T/s.json" $slow -o "$T/r.db" -q
run 0 export "$T/r.db" request -o "$T/log.csv"

# The results of a run are a log of it, and its scenario takes exactly as long once more.
run 0 trace replay "$T/log.csv" --scenario "$T/s.json" $slow --json -o "$T/again.db"
valid_json
json '$.format' request-log
json '$.service' chat
json '$.finished' 150
json '$.distributions[4].time' ttft_s
equal "$(sqlite3 :memory: "select count(*), max(abs(value ->> 'error_percent')) from
    json_each(readfile('$T/out'), '$.distributions')")" '16|0' 'distributions'
equal "$(sqlite3 :memory: "select max(value ->> 'mean_abs_s') from json_each(readfile('$T/out'), '$.per_request')")" 0 bias
json '$.throughput[0].error_percent' 0
equal "$(sqlite3 "$T/again.db" "attach '$T/r.db' as r; select count(*) from request as a join r.request as b
    using (prompt_tokens, output_tokens, queue_s, ttft_s, tpot_s, e2e_s)")" 150 'requests with the same times'

# Without the CPU overhead it is faster, and the worst requests have their names.
run 0 trace replay "$T/log.csv" --scenario "$T/s.json"
out 'Request by request, simulated - measured'
out 'Worst requests'
cp "$T/out" "$T/first"
run 0 trace replay "$T/log.csv" --scenario "$T/s.json"
cmp -s "$T/out" "$T/first" || complain 'another report of the same replay'
grep -qE '^tpot_s +mean +0\.0[0-9]+ +0\.0[0-9]+ +-[0-9.]+$' "$T/out" || complain 'the mean of TPOT'

# The CPU overhead is found on the first half, and holds on the second.
run 0 trace replay "$T/log.csv" --scenario "$T/s.json" --refit overhead --json
valid_json
equal "$(sqlite3 :memory: "select count(*), max(abs(value ->> 'mean_after') > 2) from
    json_each(readfile('$T/out'), '$.refit') where value ->> 'time' in ('tpot_s', 'e2e_s')")" '4|0' 'refitted means'
found=$(json_of "$T/out" '$.overhead')
[ "$(json_of "$T/out" '$.evaluations')" -gt 1 ] || complain 'no number of simulations'
run 0 trace replay "$T/log.csv" --scenario "$T/s.json" --set "services.chat.cost.overhead=$found" --json
equal "$(sqlite3 :memory: "select max(abs(value ->> 'error_percent') < 2) from
    json_each(readfile('$T/out'), '$.distributions') where value ->> 'time' = 'tpot_s'
    and value ->> 'statistic' = 'mean'")" 1 'TPOT with what was found'

# Also where it lies beside every point that the search begins with.
for truth in 2ms:0us 5ms:40us; do
    rm -f "$T/off.db"
    run 0 run "$T/s.json" --set services.chat.cost.overhead.iteration=${truth%:*} \
        --set services.chat.cost.overhead.sequence=${truth#*:} --set services.chat.cost.overhead.prompt=0ms -o "$T/off.db" -q
    run 0 export "$T/off.db" request -o "$T/off.csv"
    run 0 trace replay "$T/off.csv" --scenario "$T/s.json" --refit overhead --json
    json '$.converged' 1
    equal "$(sqlite3 :memory: "select count(*), max(abs(value ->> 'mean_after') > 1) from
        json_each(readfile('$T/out'), '$.refit') where value ->> 'time' in ('tpot_s', 'e2e_s')")" '4|0' "means after $truth"
done

# What holds already is kept.
run 0 trace replay "$T/log.csv" --scenario "$T/s.json" $slow --refit overhead
out '"overhead": {"iteration": "3ms", "sequence": "40us", "prompt": "2ms"}'
out 'nothing else fitted the first part better'

# Rows that are wrong are told, or left out when so many may be.
sed '3s/,chat,/,chat,x/; 5s/,chat,/,chat,x/' "$T/log.csv" >"$T/wrong.csv"
run 3 trace replay "$T/wrong.csv" --scenario "$T/s.json"
err "$T/wrong.csv:3:"
err 'let "allow_bad_rows" leave such rows out'
run 3 trace replay "$T/wrong.csv" --scenario "$T/s.json" --allow-bad-rows 1
err "$T/wrong.csv:5:"
run 0 trace replay "$T/wrong.csv" --scenario "$T/s.json" --allow-bad-rows 2 --json
json '$.finished' 148
err 'rows that cannot be read left out'
run 2 trace replay "$T/wrong.csv" --scenario "$T/s.json" --allow-bad-rows=-1
err "option '--allow-bad-rows' must be a count of rows, 0 or more, got '-1'"
run 2 trace check "$T/log.csv" -f request-log --allow-bad-rows 1
err '--allow-bad-rows is for logs that are replayed; write --set allow_bad_rows=N'

# Wrong calls.
run 2 trace replay "$T/log.csv"
err 'a log is replayed through a scenario'
run 2 trace replay "$T/log.csv" --scenario philly-cluster
err "the scenario has no service that the log's requests could go to; name a scenario with \"services\""
run 2 trace replay "$T/log.csv" --scenario "$T/s.json" --service draft
err "the scenario has no service 'draft'"
run 2 trace replay "$T/log.csv" --scenario "$T/s.json" --refit overhead --train 1.5
err "option '--train' must be a share between 0 and 1, got '1.5'"
run 2 trace replay "$T/log.csv" --scenario "$T/s.json" --train 0.5
err '--train goes with --refit'
run 2 trace replay "$T/log.csv" --scenario "$T/s.json" -f csv
err "the format 'csv' has no measured times"
run 2 trace replay "$T/log.csv" --scenario "$T/s.json" -o "$T/log.csv"
run 2 trace check "$T/log.csv" -f csv --scenario "$T/s.json"
err 'this replays nothing'
run 2 trace replay "$T/log.csv" --scenario "$T/s.json" --refit overhead \
    --set 'services.chat.cost={"kind": "table", "engine": null, "prefill": [{"tokens": 1, "time": "1ms"}],
                               "decode": [{"tokens": 1, "time": "1ms"}]}'
err "service 'chat' has no engine whose CPU overhead could be fitted"
mixed
run 2 trace replay "$T/log.csv" --scenario "$T/mixed.json"
err 'the scenario has 2 services, but the log belongs to one'
run 0 trace replay "$T/log.csv" --scenario "$T/mixed.json" --service draft --json
json '$.service' draft

# A wrong log: the place, what was expected, and no database.
sed '3s/,[0-9]*,chat/,2,chat/' "$T/log.csv" >"$T/twice.csv"
run 3 trace replay "$T/twice.csv" --scenario "$T/s.json" -o "$T/x.db"
err "twice.csv:3:"
err "is also in line 2"
no_file "$T/x.db"
run 3 trace replay "$T/none.csv" --scenario "$T/s.json"
err 'none.csv: error: cannot open'
finish
