#!/bin/sh
# orrery compare on real runs: two routers, equal runs, groups over seeds, the gate, and what is said to wrong
# questions.
. tests/cli/lib.sh

serving 300 20
db=$T/results.db
for routing in round-robin least-outstanding round-robin; do
    run 0 run "$T/serve.json" -o "$db" -q --set services.chat.routing=$routing
done

# Two routers on one trace: every request that was served pairs.
served=$(sqlite3 "$db" "select count(*) from request where run_id = 1 and status = 'finished'")
[ "$served" -gt 200 ] || complain "only $served requests were served"
run 0 compare "$db:1" "$db:2"
out "base  $db:1 (serve, seed 1)"
out "note: $served requests are paired by id; intervals are over these, at one seed"
equal "$(awk '/^note: / { print last; exit } { last = $0 }' "$T/out")" '' 'the line before the first note'
grep -qE '^request.ttft_s.p99 +s +lower .* bootstrap, n=' "$T/out" || complain 'no interval of a percentile'
[ "$(grep -cE '^[a-z_]+\.[a-z0-9_.]+ ' "$T/out")" -le 6 ] || complain 'more than six metrics are shown unasked'
out ' more metrics: --all shows them'
out 'worst regressions in request.e2e_s'
awk 'length > 200 { exit 1 }' "$T/out" || complain 'a very long line'
cp "$T/out" "$T/first"
run 0 compare "$db:1" "$db:2"
cmp -s "$T/out" "$T/first" || complain 'another answer the second time'

run 0 compare "$db:1" "$db:2" --json
valid_json
json '$.paired_rows' "$served"
mean=$(sqlite3 "$db" "select avg(b.ttft_s - a.ttft_s) from request a join request b using (service, id) where a.run_id = 1 and b.run_id = 2")
equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/out'), '\$.metrics') where value ->> 'metric' = 'request.ttft_s.mean'
    and abs((value ->> 'delta') - ($mean)) < 1e-9 and (value ->> 'low') < ($mean) and (value ->> 'high') > ($mean)")" 1 'mean difference'
worst=$(sqlite3 "$db" "select b.id from request a join request b using (service, id) where a.run_id = 1 and b.run_id = 2
    order by b.e2e_s - a.e2e_s desc limit 1")
equal "$(sqlite3 :memory: "select value ->> 'id' from json_each(readfile('$T/out'), '\$.worst')
    where value ->> 'metric' = 'request.e2e_s' limit 1")" "$worst" 'worst request'

# All metrics on request; above +200 % a change is a ratio.
run 0 compare "$db:1" "$db:2" --all
grep -qE '^request.ttft_s.mean +s +lower .* bootstrap, n=' "$T/out" || complain 'no interval of the mean'
grep -qE '^request.ttft_s.p95 ' "$T/out" || complain 'no p95'
grep -q 'more metrics' "$T/out" && complain 'metrics are left out of all'

# Equal runs: the same everywhere, by exactly nothing.
run 0 compare "$db:1" "$db:3" --json --fail-on worse
equal "$(sqlite3 :memory: "select count(*), sum(value ->> 'verdict' = 'same'), max(abs(value ->> 'delta')), max(abs(value ->> 'high'))
    from json_each(readfile('$T/out'), '\$.metrics')")" "$(sqlite3 "$db" "select count(*), count(*), '0.0', '0.0' from metric where run_id = 1" |
    sed 's/0\.0/0/g')" 'metrics that are the same'
run 0 compare "$db:1" "$db:3" --steady
out 'the result hashes are equal'

# What is shown is corrected for itself, the rest for all; the first line counts only what is shown.
run 0 compare "$db:1" "$db:2"
cp "$T/out" "$T/first"
run 0 compare "$db:1" "$db:2" --json
tests=$(sqlite3 :memory: "select group_concat(distinct value ->> 'tests') from (select value from
    json_each(readfile('$T/out'), '\$.metrics') where value ->> 'metric' in ('request.ttft_s.p99', 'request.e2e_s.p99'))")
if [ "$tests" = 0 ]; then said='(margin '; else said="Holm's correction for $tests tests)"; fi
holds "$T/first" "$said"
equal "$(sed -n '3s/ (.*//p' "$T/first" | grep -o '[0-9]*' | awk '{ n += $1 } END { print n }')" 6 'verdicts of the metrics shown'
better=$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/out'), '\$.metrics')
    where value ->> 'verdict' = 'better' and (value ->> 'tests') > $tests")
[ "$better" -eq 0 ] || grep -qE "^$better of them (is|are) better, corrected for all [0-9]+ tests: [a-z]" "$T/first" ||
    complain 'better metrics are not named'

# Fewer replicas are worse, and the gate says so.
run 0 run "$T/serve.json" -o "$db" -q --set services.chat.replicas=1
run 1 compare "$db:1" "$db:4" --fail-on worse
grep -qE '^error: [0-9]+ metrics are worse, the first is request.queue_s.mean$' "$T/err" || complain 'the gate'
run 0 compare "$db:1" "$db:4" --all
grep -qE ' [0-9.]+x +' "$T/out" || complain 'no ratio'
grep -qE '[^.] +\+([3-9][0-9][0-9]|[1-9][0-9]{3,}) %' "$T/out" && complain 'percentages above 200'
run 0 compare "$db:4" "$db:1" --fail-on worse -m ttft_s.mean
out '1 better'
run 0 compare "$db" --base replicas=1 --new run=1 --markdown -m ttft_s.mean
out '| request.ttft_s.mean | s | lower |'
run 2 compare "$db:1" "$db:4" --margin lots
err_is <<'END2'
error: '--margin' does not take 'lots'; write a percentage of 0 to 100, like 1%
END2
# Both ends of what it takes, and what is just beyond them.
for margin in 0 100 '100 %' 0%; do run 0 compare "$db:1" "$db:4" -m ttft_s.mean --margin "$margin"; done
for margin in -0.1 100.1 %; do run 2 compare "$db:1" "$db:4" -m ttft_s.mean "--margin=$margin"; done

# Groups: five seeds of each, with rows of nothing but metrics.
seeds=$T/seeds.db
for seed in 1 2 3 4 5; do
    for replicas in 1 2; do
        run 0 run "$T/serve.json" -o "$seeds" -q --keep metrics --seed $seed --name "on $replicas" \
            --set services.chat.replicas=$replicas
    done
done
run 0 compare "$seeds" --base services.chat.replicas=1 --new services.chat.replicas=2 -m ttft_s
out 'note: 5 pairs of runs, 5 seeds at 1 configuration: intervals are over the seeds'
grep -qE '^request.ttft_s.mean .* t over seeds, n=5  better$' "$T/out" || complain 'over seeds'
run 0 compare "$seeds:1" "$seeds:2" -m ttft_s
out 'no requests or jobs are paired'

# A study: chosen by one of its axes, paired by the other one and by seed.
cat >"$T/study.json" <<END2
{ "name": "routing", "question": "which", "scenario": "serve.json", "seeds": 3,
  "axes": [ {"key": "services.chat.routing", "values": ["round-robin", "least-outstanding"]},
            {"key": "services.chat.replicas", "values": [2, 3]} ] }
END2
run 0 sweep "$T/study.json" -o "$T/study.db" -q
run 0 compare "$T/study.db" --base routing=round-robin --new routing=least-outstanding -m ttft_s.mean --points
out 'note: 6 pairs of runs, 3 seeds at 2 configurations: intervals are over the seeds, of their means over the configurations'
out '  at services.chat.replicas=2 '
mean=$(sqlite3 "$T/study.db" "select avg(iif(p.value = 'least-outstanding', m.value, -m.value)) * 2
    from metric m join param p using (run_id) where m.name = 'request.ttft_s.mean' and p.key = 'services.chat.routing'")
run 0 compare "$T/study.db" --base routing=round-robin --new routing=least-outstanding -m ttft_s.mean --json
equal "$(sqlite3 :memory: "select abs((value ->> 'delta') - ($mean)) < 1e-9 from json_each(readfile('$T/out'), '\$.metrics')
    where value ->> 'point' is null")" 1 'difference over all points'
run 2 compare "$T/study.db" --base routin=random --new routing=least-outstanding
err "did you mean 'routing'? a key is a parameter of the study (services.chat.replicas, services.chat.routing), seed, name"

# One seed: what the points say is shown, and is no verdict.
run 0 compare "$T/study.db" --base routing=round-robin,seed=1 --new routing=least-outstanding,seed=1 -m ttft_s.mean --json
json '$.metrics[0].verdict' unclear
json '$.metrics[0].note' 'one seed'

# The gate shows the points at which it fails, and counts metrics: on fewer replicas both routings are worse.
run 1 compare "$T/study.db" --base replicas=3 --new replicas=2 -m ttft_s.mean --margin 0 --fail-on worse
shown=$(grep -cE '^ +at .* worse$' "$T/out")
[ "$shown" -gt 0 ] || complain 'the gate fails at points that it does not show'
err 'error: 1 metric is worse, the first is request.ttft_s.mean'
run 1 compare "$T/study.db" --base replicas=3 --new replicas=2 -m ttft_s.mean --margin 0 --fail-on worse --points
equal "$(grep -cE '^ +at .* worse$' "$T/out")" "$shown" 'points that fail the gate'
run 0 compare "$T/study.db" --base replicas=3 --new replicas=2 -m ttft_s.mean --margin 0
equal "$(grep -c '^ *at ' "$T/out")" 0 'points that nobody asked for'

# Different seeds and traces are told, and do not pair.
run 0 compare "$seeds:1" "$seeds:3" -m ttft_s.mean
err 'warning: the two runs have different seeds'
run 0 run "$T/serve.json" -o "$db" -q --seed 2
run 0 compare "$db:1" "$db:5" --json
[ "$(json_of "$T/out" '$.unpaired_rows')" -gt 200 ] || complain 'requests of another seed pair'
grep -qE '0 in the base only, 0 in the new run only, [0-9]+ have one of another size' "$T/out" || complain 'sizes'

# Two files.
cp "$seeds" "$T/other.db"
run 0 compare "$seeds" "$T/other.db"
out "base  $seeds"
out 'note: 10 pairs of runs, 5 seeds at 2 configurations'
grep -qE '^[0-9]+ same \(' "$T/out" || complain 'equal files are the same'
run 2 compare "$db" "$T/other.db"
err "have the same seed and parameters"

run 2 compare "$db"
err_is <<END2
error: there is nothing to compare with; name two runs, as results.db:1 results.db:2, or choose groups with --base and --new
END2
run 2 compare "$db" --base seed=1
err_is <<'END2'
error: --base and --new go together
END2
run 2 compare "$db:1" --base seed=1 --new seed=2
err 'choose runs of a whole file'
run 2 compare "$db" --base seed=9 --new seed=1
err 'no run has seed=9'
run 2 compare "$db:1" "$db:2" -m tttf_s.mean
err "the runs have no metric 'tttf_s.mean'"
run 3 compare "$db:1" "$db:9"
err 'it contains no run 9'
run 3 compare "$T/none.db:1" "$db:2"
err 'none.db'

# The example of the page prints what stands there.
page=analysis/compare/README.md
(
    export ORRERY_DATA="$PWD"
    ORRERY=$(realpath "$ORRERY")
    cd "$T" || exit 1
    "$ORRERY" run quickstart -o routers.db -q --set services.chat.routing=round-robin >/dev/null 2>&1
    "$ORRERY" run quickstart -o routers.db -q >/dev/null 2>&1
    "$ORRERY" compare routers.db:1 routers.db:2 --metric ttft_s >example 2>/dev/null
)
{
    head -3 "$T/example"
    sed -n 5,10p "$T/example" | cut -c1-20,38-120
} >"$T/expected"
awk '/^\$ / { show = /orrery compare routers.db:1 routers.db:2 --metric/; n += show; next } /^```/ && n { exit } show' $page >"$T/shown"
last=$page
[ -s "$T/shown" ] || complain 'the page has no example'
diff "$T/shown" "$T/expected" || complain 'the example is out of date'
# Policies that differ in a parameter by their defaults are told of, in both verbs and on the page; by the study's own
# values they are not. With equal budgets both batchers form the same batches.
cat >"$T/base.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "generate", "count": 40,
                        "arrival": {"process": "poisson", "rate": "20/s"}}}} }
END
study() { # VALUE OF THE SECOND POLICY
    echo '{"scenario": "base.json", "axes": [{"key": "services.chat.batching", "values": ["vllm-v1", '"$1"']}],
          "show": ["request.ttft_s.p99"]}' >"$T/study.json"
}
study '"sarathi"'
run 0 sweep "$T/study.json" -q -o "$T/unequal.db"
out 'note: vllm-v1 has token_budget 2048, sarathi 512'
run 0 compare "$T/unequal.db:2" "$T/unequal.db:1"
out 'note: sarathi has token_budget 512, vllm-v1 2048'
run 0 compare "$T/unequal.db" -b batching=vllm-v1 -n batching=sarathi
out 'note: vllm-v1 has token_budget 2048, sarathi 512'
run 0 report "$T/unequal.db" -o "$T/unequal.html"
holds "$T/unequal.html" 'compared policies differ in a parameter: vllm-v1 has token_budget 2048, sarathi 512'
study '{"policy": "sarathi", "token_budget": 2048, "max_sequences": 256}'
run 0 sweep "$T/study.json" -q -o "$T/equal.db"
! grep -q '^note' "$T/out" || complain 'equal parameters are told of'
sql "$T/equal.db" "select count(distinct value) from metric where name = 'request.ttft_s.p99'" 1
study '{"policy": "sarathi", "token_budget": 512}, {"policy": "sarathi", "token_budget": 1024}'
run 0 sweep "$T/study.json" -q -o "$T/varied.db" --json
json '$.notes[0]' 'vllm-v1 has max_sequences 256, sarathi 128'
json '$.notes[1]' ''

# A run that rejects long prompts is faster for the others: that is no gain. Against it, the other run is worse.
limited() { # PARAMS
    run 0 run quickstart --set 'services.chat.batching={"policy": "vllm-v0"'"$1"'}' -q --interval never -o "$T/limited.db"
}
limited ''
limited ', "max_batched_tokens": 1500'
frac=$(sqlite3 "$T/limited.db" "select r.value / a.value from metric r, metric a where r.run_id = 2 and a.run_id = 2
    and r.name = 'request.rejected' and a.name = 'request.arrived'")
run 0 compare "$T/limited.db:1" "$T/limited.db:2" -m ttft_s
out 'differs: 16 % of the requests rejected, 0 % in the base'
out 'note: requests rejected: 0 % in the base, 16 % in the new run; times are of the others, so a gain of time, energy or cost is no better'
! grep -qE '  better$' "$T/out" || complain 'rejections count as a gain'
run 0 compare "$T/limited.db:1" "$T/limited.db:2" --json
valid_json
json '$.base_rejected_frac' 0
sql :memory: "select abs(json_extract(readfile('$T/out'), '\$.new_rejected_frac') - $frac) < 1e-12" 1
equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/out'), '\$.metrics') where value ->> 'verdict' = 'better'
    and value ->> 'metric' like 'request.%'")" 0 'gains of times'
equal "$(sqlite3 :memory: "select count(*) > 3 from json_each(readfile('$T/out'), '\$.metrics') where value ->> 'verdict' = 'differs'
    and value ->> 'note' like '%of the requests rejected%' and (value ->> 'delta') < 0")" 1 'gains that are none'
run 0 compare "$T/limited.db:2" "$T/limited.db:1" -m ttft_s.mean
out ' worse'
out 'note: requests rejected: 16 % in the base, 0 % in the new run; times are of the others'
run 1 compare "$T/limited.db:2" "$T/limited.db:1" -m ttft_s.mean --fail-on worse

# The same of groups, over all configurations and at one of them.
cat >"$T/served.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm"}, "services": {"chat": {"llm": "llama-3.1-8b", "batching": "vllm-v0",
  "trace": {"format": "generate", "count": 200, "arrival": {"process": "poisson", "rate": "3/s"}}}}}
END
cat >"$T/rejecting.json" <<'END'
{"scenario": "served.json", "seeds": [1, 2, 3, 4],
 "axes": [{"key": "services.chat.batching.max_batched_tokens", "values": [0, 1000]},
          {"key": "services.chat.replicas", "values": [1, 2]}], "show": ["request.ttft_s.mean"]}
END
run 0 sweep "$T/rejecting.json" -q -o "$T/rejecting.db"
run 0 compare "$T/rejecting.db" -b max_batched_tokens=0 -n max_batched_tokens=1000 -m ttft_s.mean --points --json
equal "$(sqlite3 :memory: "select count(*), min(value ->> 'note' like '%of the requests rejected, 0 % in the base')
    from json_each(readfile('$T/out'), '\$.metrics') where value ->> 'verdict' = 'differs'")" '3|1' 'gains of groups'
frac() { sqlite3 "$T/rejecting.db" "select sum(r.value) / sum(a.value) from metric r join metric a using (run_id) join param p using (run_id)
    where r.name = 'request.rejected' and a.name = 'request.arrived' and p.key like '%max_batched_tokens' and p.value = '$1'"; }
sql :memory: "select abs(json_extract(readfile('$T/out'), '\$.new_rejected_frac') - $(frac 1000)) < 1e-12" 1
# Changes of parts without an interval are counted behind the whole of them, unless they are asked for.
mixed
parts=$T/parts.db
run 0 run "$T/mixed.json" --quiet --set services=null -o "$parts"
run 0 run "$T/mixed.json" --quiet --set services=null --set jobs.scheduler=fifo -o "$parts"
run 0 compare "$parts:1" "$parts:2" -m job.queue_s
! grep -q '^job.queue_s[^ ]*[[]' "$T/out" || complain 'parts between the metrics'
n=$(sqlite3 "$parts" "select count(*) from metric as a join metric as b using (name) where a.run_id = 1 and b.run_id = 2
    and a.value <> b.value and name like 'job.queue!_s%[%' escape '!'")
[ "$n" -gt 3 ] || complain 'too few parts'
out "$n changes of parts without an interval, such as job.queue_s."
out ': --all shows them'
run 0 compare "$parts:1" "$parts:2" -m job.queue_s --all
equal "$(grep -c '^job.queue_s[^ ]*[[]' "$T/out")" "$n" 'parts with --all'
run 0 compare "$parts:1" "$parts:2" -m 'job.queue_s.mean[1 GPU]'
grep -q '^job.queue_s.mean[[]1 GPU[]]' "$T/out" || complain 'no part, though it is asked for'

# One of ten jobs waits 600 s on one node, none on two: what falls below -100 % is told in seconds, as is its interval.
cat >"$T/waits.json" <<'END'
{ "cluster": {"nodes": 1}, "jobs": {"trace": {"format": "csv-jobs", "path": "few.csv"}} }
END
awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 10; i++) print (i < 2 ? 0 : i * 1000) "," 600 "," 8 }' >"$T/few.csv"
run 0 run "$T/waits.json" --quiet -o "$T/waits.db"
run 0 run "$T/waits.json" --quiet --set cluster.nodes=2 -o "$T/waits.db"
run 0 compare "$T/waits.db:1" "$T/waits.db:2" -m job.queue_s.mean
grep -qE '^job.queue_s.mean  s     lower  .* -60 s +-[0-9.]+ [.][.] -?[0-9.]+ s ' "$T/out" || { complain 'two units in a row'; cat "$T/out"; }
finish
