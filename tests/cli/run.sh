#!/bin/sh
# A run from its scenario to its rows: summary, JSON and database say the same.
. tests/cli/lib.sh

serving 300 10 '"warmup": "5s"'
run 0 run "$T/serve.json"
cp "$T/out" "$T/summary"
equal "$(sed -n 1p "$T/out" | sed 's/; engine.*; lengths/; lengths/')" \
    'chat: llama-2-7b on a100-80-sxm, TP 1, 4 replicas; lengths of azure-conversation, arrivals poisson at 10/s; no SLO' 'what ran'
out 'serve, seed 1: done'
out 'result hash '
out 'request.ttft_s '
out "warning: engine: service 'chat': engine vllm-0.12 was measured on h100-sxm with 2, 4 and 8 GPUs"
grep -qE '^requests +[0-9,]+ arrived, .* requests/s' "$T/out" || complain 'the line of the requests'
[ "$(awk '/^metric/ { on = 1 } /^warning/ { exit } on && NF' "$T/out" | wc -l)" -le 16 ] || complain 'a long summary'
grep -q uncalibrated "$T/out" && complain 'a GPU with a calibration counts as uncalibrated'
grep -qE '^[0-9]+ events in [0-9.]+ s, [0-9.]+ M events/s$' "$T/err" || complain 'the closing line'
hash=$(sed -n 's/^result hash //p' "$T/out")

# All metrics of the run, in two tables.
run 0 run "$T/serve.json" --verbose --quiet
out 'model.extrapolated_frac '
for metric in $("$ORRERY" run "$T/serve.json" --csv 2>/dev/null | sed 1d | sed -n 's/^\([a-z][a-z0-9_.]*\),.*/\1/p' | sed 's/\.\(mean\|p[0-9]*\|max\)$//'); do
    grep -qF "$metric" "$T/out" || complain "the verbose summary has no $metric"
done

# A warm-up beyond the trace measures nothing; the warning is of the summary, not of the rows.
run 0 run "$T/serve.json" -o "$T/cold.db" --quiet --set warmup=1h
out 'warning: unmeasured: no request arrives after the warm-up of 60 min'
sql "$T/cold.db" "select count(*) from warning where code = 'unmeasured'" 0

# With a warm-up one line says what it leaves out, and the numbers are of that; without one there is none.
mixed
run 0 run "$T/mixed.json" -o "$T/windows.db" --quiet --set services.chat.slo.ttft=1s
of_window() { sqlite3 "$T/windows.db" "select printf('%,d', count(*)) from $1"; }
window='warm-up of 2 s: times, requests, SLO and intervals are of what comes after it; all else is of the whole run'
grep -qxF "$window" "$T/out" || complain 'the window of the numbers'
grep -q "^requests  $(of_window 'request where arrival_s >= 2') arrived, " "$T/out" || complain 'the window of the requests'
grep -q "^jobs      $(of_window job) submitted, " "$T/out" || complain 'the window of the jobs'
run 0 show "$T/windows.db"
grep -qxF "$window" "$T/out" || complain 'show names another window'
run 0 run "$T/mixed.json" --quiet --set warmup=0s
! grep -q 'warm-up\|whole run' "$T/out" || complain 'windows without a warm-up'

run 0 run "$T/serve.json" --quiet --set until=1ns --set warmup=0s
out 'warning: unmeasured: no request arrives before the run ends: nothing is measured'
run 0 run "$T/serve.json" --quiet --set services.chat.kv.blocks=999999999
out "warning: kv-beyond-memory: service 'chat': kv.blocks is 999999999, but beside the weights "

# The same to a database; --quiet says nothing on standard error.
run 0 run "$T/serve.json" -o "$T/r.db" --quiet
cmp -s "$T/summary" "$T/out" || complain 'another summary with -o'
[ ! -s "$T/err" ] || complain 'standard error with --quiet'
sql "$T/r.db" 'select count(*) from request' 300
sql "$T/r.db" "select name, status, seed, result_hash from run" "serve|done|1|$hash"
sql "$T/r.db" "select count(*) from run where git_commit is null or platform is null or scenario_hash is null" 0
sql "$T/r.db" "select policies from run" 'services.chat.batching=vllm-v1 services.chat.routing=round-robin'
sql "$T/r.db" 'select count(*) = 1, min(events) > 0, min(wall_s) >= 0 from run_cost' '1|1|1'
sql "$T/r.db" "select value from metric where name = 'request.finished'" \
    "$(sqlite3 "$T/r.db" "select count(*) * 1.0 from request where arrival_s >= 5 and status = 'finished'")"

# As JSON, every metric of the database and nothing else.
run 0 run "$T/serve.json" --json
valid_json
json '$.version' "$("$ORRERY" --version | cut -d' ' -f2)"
json '$.scenario' serve
json '$.seed' 1
json '$.status' done
json '$.result_hash' "$hash"
equal "$(sqlite3 "$T/r.db" "select count(*) from metric m left join json_each(readfile('$T/out'), '\$.metrics') j
    on j.key = m.name where j.value is not m.value")" 0 'metrics that differ'
equal "$(sqlite3 "$T/r.db" "select count(*) from json_each(readfile('$T/out'), '\$.metrics')")" \
    "$(sqlite3 "$T/r.db" 'select count(*) from metric')" 'number of metrics'

# More runs go into the same file.
run 0 run "$T/serve.json" -o "$T/r.db" --seed 2 --name 'another seed'
err '; run 2 in '
out 'another seed, seed 2: done'
sql "$T/r.db" 'select r.id, name, seed, count(*) from run r join request on run_id = r.id group by r.id order by r.id' \
    "1|serve|1|300
2|another seed|2|300"
sql "$T/r.db" 'select count(distinct result_hash) from run' 2
hash2=$(sqlite3 "$T/r.db" 'select result_hash from run where id = 2')

# Only metrics: the same ones.
run 0 run "$T/serve.json" -o "$T/m.db" --keep metrics
sql "$T/m.db" 'select count(*) from request' 0
sql "$T/m.db" "attach '$T/r.db' as rows; select count(*) from metric m join rows.metric r
    on r.run_id = 1 and r.name = m.name where r.value is not m.value" 0

# A run of the database again: its hash and that of its rows hold, until somebody changes one of them.
run 0 run --from "$T/r.db:2"
err 'the result hash is that of run 2'
out 'another seed, seed 2: done'
run 0 run --from "$T/r.db" --quiet
[ ! -s "$T/err" ] || complain 'standard error with --quiet'
sqlite3 "$T/r.db" 'update request set ttft_s = 0 where run_id = 1 and id = 7'
run 1 run --from "$T/r.db:1"
err "$T/r.db:1: error: the rows of run 1 have the hash "
err ", but were written with $hash; the file was changed after the run"
grep -q 'the result hash is' "$T/err" && complain 'it speaks of the result hash, which is right'
run 0 run --from "$T/r.db:2"
sqlite3 "$T/r.db" "update run set result_hash = '00000000000000000000000000000000' where id = 2"
run 1 run --from "$T/r.db:2"
err "$T/r.db:2: error: the rows of run 2 have the hash $hash2, but were written with 00000000000000000000000000000000"
err "$T/r.db:2: error: the result hash is $hash2, that of run 2 is 00000000000000000000000000000000"

# The resolved scenario runs alike.
run 0 run "$T/serve.json" --set services.chat.kv.block_tokens=32 --seed 5 --dump-config
cp "$T/out" "$T/dump.json"
valid_json
json '$.services.chat.kv.block_tokens' 32
run 0 run "$T/serve.json" --set services.chat.kv.block_tokens=32 --seed 5
cp "$T/out" "$T/first"
run 0 run "$T/dump.json"
cmp -s "$T/first" "$T/out" || complain 'the dumped scenario gives another summary'
run 0 run "$T/dump.json" --dump-config
cmp -s "$T/dump.json" "$T/out" || complain 'the dumped scenario dumps to another one'

# Outside the range of a cost model: told, and with --strict-domain a gate that is not met.
serving 50 2
table='services.chat.cost={"kind": "table",
    "prefill": [{"tokens": 100, "time": "10ms"}, {"tokens": 1000, "time": "50ms"}],
    "decode": [{"tokens": 1, "time": "10ms"}, {"tokens": 64, "time": "20ms"}]}'
run 0 run "$T/serve.json" --set "$table"
out 'warning: extrapolated: '
run 1 run "$T/serve.json" --set "$table" --strict-domain -o "$T/strict.db"
err " % of the kernels' time is modelled outside the fitted range of the cost model"
sql "$T/strict.db" 'select status, extrapolated_frac > 0 from run' 'done|1'
run 0 run "$T/serve.json" --strict-domain --set 'services.chat.cost={"kind": "affine",
    "prefill": {"fixed": "10ms"}, "decode": {"fixed": "20ms"}}' --json
json '$.metrics."model.extrapolated_frac"' 0

# Of kernels, all but a head over 128256 words was measured on this GPU.
covered='services.chat.cost={"kind": "operators", "engine": "none", "kernels": "isolated"}'
for gpu in a100-80-sxm h100-sxm; do
    run 0 run "$T/serve.json" --set cluster.gpu=$gpu --set "$covered" --strict-domain --json --set services.chat.batching=vllm-v0 \
        --set services.chat.llm=llama-2-70b --set services.chat.tensor_parallel=4
    json '$.metrics."model.extrapolated_frac"' 0
    run 1 run "$T/serve.json" --set cluster.gpu=$gpu --set "$covered" --strict-domain \
        --set services.chat.llm=llama-3.1-8b
done

# Without a calibration nobody knows what is outside: no share is told, and a strict run does not begin.
run 0 run "$T/serve.json" --set services.chat.cost=roofline -o "$T/unknown.db" --json
json '$.warnings[#-1].code' uncalibrated
sql "$T/unknown.db" 'select extrapolated_frac is null from run' 1
sql "$T/unknown.db" "select count(*) from metric where name = 'model.extrapolated_frac'" 0
run 2 run "$T/serve.json" --strict-domain --set services.chat.cost=roofline -o "$T/refused.db"
err "error: service 'chat': the roofline cost is not calibrated, so it has no range that a strict run could keep to; take"
no_file "$T/refused.db"
run 2 run "$T/serve.json" --strict-domain --set cluster.gpu=v100-32-sxm
err "error: service 'chat': the operators cost is not calibrated, so it has no range that a strict run could keep to; take"
run 0 run "$T/serve.json" --set cluster.gpu=v100-32-sxm
out "warning: uncalibrated: service 'chat': the operators cost of llama-2-7b on v100-32-sxm is not calibrated"

# GPUs without a price are told, and a scenario may give one, in place of the list price, too.
out "warning: unpriced: service 'chat': the price of v100-32-sxm is unknown, so cost.* is absent; set cluster.gpu_price"

# The error of measured GPUs says nothing about others: their runs have no interval.
run 0 run "$T/serve.json" --set cluster.gpu=v100-32-sxm
out 'interval  none, as '
run 0 run "$T/serve.json" --set cluster.gpu=mi300x
out "on mi300x is not calibrated: no kernel of AMD's GPUs was measured"
out 'interval  none, as no kernel of mi300x was measured'
cat >"$T/two.json" <<'END'
{"cluster": {"gpu": "h100-sxm", "nodes": 1}, "services": {
 "a": {"llm": "llama-3.1-8b", "trace": {"format": "generate", "count": 50, "arrival": {"process": "poisson", "rate": "5/s"},
       "prompt": {"distribution": "fixed", "tokens": 100}, "output": {"distribution": "fixed", "tokens": 20}}},
 "b": {"llm": "llama-3.1-8b", "cost": {"kind": "roofline"}, "trace": {"format": "generate", "count": 50,
       "arrival": {"process": "poisson", "rate": "5/s"}, "prompt": {"distribution": "fixed", "tokens": 100},
       "output": {"distribution": "fixed", "tokens": 20}}}}}
END
run 0 run "$T/two.json"
out 'as predicted, since no error is known: (llama-3.1-8b on h100-sxm, '
run 0 run "$T/serve.json" --set cluster.gpu=v100-32-sxm --set 'cluster.gpu_price=$2/h' --json
json '$.metrics."cost.usd_per_h"' 8
equal "$(grep -c unpriced "$T/out")" 0 'warnings of prices'
run 0 run "$T/serve.json" --set 'cluster.gpu_price=$2/h' --json
json '$.metrics."cost.usd_per_h"' 8
run 0 run disaggregated --set 'cluster.node_types.hopper.gpu_price=$10/h' --json
json '$.metrics."cost.usd_per_h"' 17.34
run 0 run mixed-site -q --interval never --set until=20min --set 'cluster.gpu_price=$5/h'
err 'gpu_price of a100-80-sxm, $5/h, has no effect: offer '"'site'"' of the market prices them at $1.29/h; set '"'price'"
out ' for services, '
run 0 run mixed-site -q --interval never --set until=20min --set 'cluster.gpu_price=$1.29/h'
! grep -q gpu_price "$T/err" || complain 'a price that is that of the offer has an effect'

# The highest power of a replica is bounded by its GPUs, so no error widens it, of one service neither.
run 0 run mixed-site -q --set until=20min --json
sql :memory: "select sum(key like 'power.replica_w.max%') > 0 from json_each(readfile('$T/out'), '\$.metrics')" 1
sql :memory: "select sum(key like 'power.replica_w.max%'), count(*) > 9 from json_each(readfile('$T/out'), '\$.intervals.metrics')" '0|1'
run 2 run "$T/serve.json" --set cluster.gpu_price=2
err "'gpu_price' needs a unit, got 2; write \"\$2/h\""
run 0 list gpus --json
equal "$(sqlite3 :memory: "select value ->> 'usd_per_h' from json_each(readfile('$T/out')) where value ->> 'gpu' = 'l4'")" 0.7 'price of an L4'

# So is a prefix cache that no request can use, and how much room the requests lacked.
run 0 run "$T/serve.json" --set services.chat.kv.prefix_cache=lru
out "warning: no-prefixes: service 'chat': kv.prefix_cache has no effect: no request has prefix blocks"
run 0 run prefix-cache -q
equal "$(grep -c no-prefixes "$T/out")" 0 'warnings of caches that are used'
run 0 run disaggregated --set services.chat.pools.tokens.kv.blocks=3 -q
out "requests longer than the context of llama-3.1-8b (131072 tokens) or the KV cache of a replica (48) (2000 times)"

run 2 run "$T/serve.json" --set 'services.chat.cost={"kind": "operators", "calibration": "a41"}'
err "unknown calibration 'a41'; did you mean 'a40'?"
run 2 run "$T/serve.json" --set 'services.chat.cost={"kind": "operators", "engine": "vlm"}'
err "unknown engine 'vlm'"
run 2 run "$T/serve.json" --set 'services.chat.cost={"kind": "operators", "expert_parallel": 2}'
err 'cannot split llama-2-7b over 1 GPUs: '
# What was run is known by the bytes of all files that went into it, wherever they lie.
hash_of() { # ROOT
    rm -f "$T/h.db"
    last="ORRERY_DATA=$1 orrery run"
    ORRERY_DATA=$1 "$ORRERY" run "$T/hashed.json" -q -o "$T/h.db" >/dev/null 2>"$T/err" || complain 'no run'
    sqlite3 "$T/h.db" 'select trace_hash from run'
}
mkdir "$T/data" && cp -r configs "$T/data/configs"
cat >"$T/hashed.json" <<END
{ "cluster": {"gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "generate", "count": 1}}} }
END
shipped=$(hash_of .)
[ ${#shipped} = 32 ] || complain "no hash: '$shipped'"
equal "$(hash_of "$T/data")" "$shipped" 'the hash of the same files elsewhere'
for file in calibration/a100-80-sxm engines/vllm-0.12 llms/llama-2-7b hardware/a100-80-sxm; do
    echo >>"$T/data/configs/$file.json"
    [ "$(hash_of "$T/data")" != "$shipped" ] || complain "the same hash, but another $file"
    cp "configs/$file.json" "$T/data/configs/$file.json"
done
echo >>"$T/data/configs/calibration/h200-sxm.json"
equal "$(hash_of "$T/data")" "$shipped" 'the hash with another file that was not read'
# A scenario or a study that comes through a pipe is read once, and its paths start at the current directory.
printf 'submit_s,duration_s,gpus\n0,5,1\n' >"$T/piped.csv"
echo '{"cluster": {"nodes": 1}, "jobs": {"scheduler": "fifo", "trace": {"format": "csv-jobs", "path": "piped.csv"}}}' >"$T/jobs.json"
run 0 run "$T/jobs.json" --csv -q
cp "$T/out" "$T/named"
case $ORRERY in /*) ;; *) ORRERY=$PWD/$ORRERY ;; esac
cat "$T/jobs.json" | (cd "$T" && "$ORRERY" run /dev/stdin --csv -q) >"$T/out" 2>"$T/err"
cmp -s "$T/out" "$T/named" || complain 'a scenario from a pipe gives another result'
mkfifo "$T/pipe"
(cd "$T" && { cat jobs.json >pipe & "$ORRERY" run pipe --csv -q; }) >"$T/out" 2>"$T/err"
cmp -s "$T/out" "$T/named" || complain 'a scenario from a named pipe gives another result'
if [ -d /dev/shm ] && shm=$(mktemp -d /dev/shm/orrery-test.XXXXXX); then
    cp "$T/jobs.json" "$T/piped.csv" "$shm/"
    run 0 run "$shm/jobs.json" --csv -q # paths of a file below /dev start beside it
    cmp -s "$T/out" "$T/named" || complain 'a scenario below /dev/shm gives another result'
    rm -r "$shm"
fi
echo '{"scenario": "quickstart", "set": {"services.chat.trace.limit": 20}, "axes": [{"key": "services.chat.replicas", "values": [1, 2]}]}' \
    >"$T/piped-study.json"
last='orrery sweep /dev/stdin'
"$ORRERY" sweep /dev/stdin -q -o "$T/piped.db" <"$T/piped-study.json" >"$T/out" 2>"$T/err" || complain 'no sweep of a file'
rm "$T/piped.db"
cat "$T/piped-study.json" | "$ORRERY" sweep /dev/stdin -q -o "$T/piped.db" >"$T/out" 2>"$T/err" || complain 'no sweep of a pipe'
sql "$T/piped.db" "select count(*) from run where status = 'done'" 2
# Placers that score nodes keep those of several node types apart.
for placer in best-fit fgd; do
    run 0 run gavel-heterogeneous -q --set jobs.placement=$placer --set cluster.node_types.p100.nodes=5 \
        --set cluster.node_types.k80.nodes=7
done
! grep -q 'ignores further node types' "$T/out" "$T/err" || complain 'a warning of a scheduler that uses node types'
# Schedulers that use the first node type alone: the run says which nodes stay idle, and so does a comparison.
run 0 run gavel-heterogeneous -q --set jobs.scheduler=fifo -o "$T/idle.db"
out "warning: idle-node-types: scheduler 'fifo' ignores further node types: nothing runs on 'p100', 'k80'; 'gavel', 'sia'"
run 0 run gavel-heterogeneous -q -o "$T/idle.db"
run 0 compare "$T/idle.db:1" "$T/idle.db:2" -m jct_s.mean
out "note: only the base warns (idle-node-types): scheduler 'fifo' ignores further node types"
run 0 validate gavel-heterogeneous --set jobs.scheduler=fifo
err "warning: scheduler 'fifo' ignores further node types: nothing runs on 'p100', 'k80'"
run 0 run disaggregated -q --set until=1s
! grep -q 'ignores further node types' "$T/out" "$T/err" || complain 'a warning of node types that a service uses'
# A type of jobs that no job has is told of, with the names that jobs have; "default" needs no job.
cat >"$T/types.json" <<'EOF'
{ "cluster": { "gpu": "a100-80-sxm", "nodes": 1 },
  "jobs": { "trace": { "format": "inline-jobs", "jobs": [{ "submit": "0s", "duration": "10s", "gpus": 1, "type": "BERT" },
                                                         { "submit": "0s", "duration": "10s", "gpus": 1, "type": "lm" }] },
            "types": { "default": {}, "lm": { "preemptible": false },
                       "bert": { "preemptible": false } } } }
EOF
run 0 run "$T/types.json" -q
err_is <<EOF
$T/types.json:5:32: warning: no job was of type 'bert', which jobs.types names; jobs had these types, which it does not name: 'BERT'
EOF
# Of many such names the first eight are shown.
many() { # N
    seq "$1" | sed 's/.*/{"duration": "1s", "gpus": 1, "type": "t&"}/' | paste -s -d, -
}
run 0 run "$T/types.json" -q --set "jobs.trace.jobs=[$(many 9)]"
err "it does not name: 't1', 't2', 't3', 't4', 't5', 't6', 't7', 't8', ..."
run 0 run "$T/types.json" -q --set "jobs.trace.jobs=[$(many 8)]"
err "'t7', 't8'"
! grep -q "'t8', " "$T/err" || complain 'names that are left out, of eight'
sed 's/ }\] },/ }, { "submit": "9s", "duration": "1s", "gpus": 1 }] },/' "$T/types.json" >"$T/later.json"
run 0 run "$T/later.json" -q --set until=5s
! grep -q 'no job was of type' "$T/err" || complain 'types of jobs that a run ends before'
run 0 run "$T/types.json" -q --set jobs.trace.jobs=[]
! grep -q 'no job was of type' "$T/err" || complain 'types of no jobs at all'
# Types that a generator has with other parameters are no slips.
run 0 run decoupled-evaluation -q
! grep -q 'no job was of type' "$T/err" || complain 'types of another coordinator'
! grep -q 'its coordinator' "$T/err" || complain 'a coordinator that suits its cluster'
# What a coordinator counts must be what the cluster has, and its loaders must load.
run 0 run decoupled-evaluation -q --set cluster.nodes=4
grep -q "coordinator loads on 'nodes' nodes" "$T/err" || complain 'a coordinator with fewer nodes'
run 0 run decoupled-evaluation -q --set cluster.nodes=4 --set jobs.trace.coordinator=none
! grep -q 'its coordinator' "$T/err" || complain 'no coordinator'
run 0 run decoupled-evaluation -q --set cluster.gpus_per_node=16
grep -q "loaders take 'gpus_per_node' GPUs" "$T/err" || complain 'loaders that take half a node'
sed '/"loader":/d; s/\("trial": .*\),$/\1/' configs/scenarios/decoupled-evaluation.json >"$T/free.json"
run 0 run "$T/free.json" -q
grep -q "type 'loader' have no" "$T/err" || complain 'loaders that do not load'

# The summary says what a prefix store gives, and, beside failures, which share of the GPU time was of use.
run 0 run prefix-tiers -q --set services.chat.trace.count=300 -o "$T/tiers.db"
loaded=$(sqlite3 "$T/tiers.db" "select printf('%,d', value) from metric where name = 'store.loaded_tokens.sum'")
[ "$loaded" != 0 ] || complain 'nothing is loaded'
out ", $loaded prompt tokens loaded from stores"
jobs='{"cluster": {"nodes": 2}, "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"gpus": 16, "duration": "10h"}]}}}'
echo "$jobs" >"$T/jobs.json"
run 0 run "$T/jobs.json" -q
! grep -q 'work they keep' "$T/out" || complain 'there are no failures'
run 0 run "$T/jobs.json" -q -o "$T/failing.db" \
    --set 'failures={"causes": {"node": {"scope": "node", "lifetime": {"mean": "10h"}, "repair": {"mean": "1h"}}}}' \
    --set 'jobs.types.default.checkpoint={"policy": {"policy": "periodic", "interval": "1h"}, "bytes": "1TB", "write": "10GB/s"}'
useful=$(sqlite3 "$T/failing.db" "select printf('%.3g', 100 * value) from metric where name = 'job.goodput_frac'")
out ", $useful % of the GPU time that jobs hold is work they keep, less all losses: failures, restarts, saves, preemptions, "
# What lowers the share where nothing fails, here restarts, is not laid to failures.
run 0 run failing-site -q -s until=3h -s failures.causes=null --interval never -o "$T/whole.db" \
    -s 'failures.outages={"x": {"node": 0, "from": "100d", "until": "101d"}}'
! grep -q '^failures .*work they keep' "$T/out" || complain 'the line of failures has a loss by other things'
sql "$T/whole.db" "select sum(name = 'failure.events' and value = 0), sum(name = 'job.goodput_frac' and value < 0.95)
    from metric" '1|1'

# The line of cost says where its prices are from, in a run and in what is stored of it; a run names a price that the
# catalog derives from others.
serving 20 5
cost() { # WORDS ARGUMENTS...
    words=$1
    shift
    rm -f "$T/cost.db"
    run 0 run "$T/serve.json" -q --interval never -o "$T/cost.db" "$@"
    grep -q "^cost .* per hour, $words of the services' GPUs, " "$T/out" || complain "no $words: $(grep ^cost "$T/out")"
    grep ^cost "$T/out" >"$T/line"
    run 0 show "$T/cost.db"
    equal "$(grep ^cost "$T/out")" "$(cat "$T/line")" 'the stored cost'
}
cost 'list price'
! grep -q 'is derived' "$T/err" || complain 'a price that is not derived'
cost 'given price' --set 'cluster.gpu_price=$2/h'
types='cluster.node_types={"more": {"nodes": 1, "gpus_per_node": 8, "gpu": "h100-sxm"'
cost 'price, given or listed,' --set "$types}}" --set 'cluster.gpu_price=$2/h'
cost 'given price' --set "$types, \"gpu_price\": \"\$3/h\"}}" --set 'cluster.gpu_price=$2/h'
run 0 run "$T/serve.json" -q --interval never --set cluster.gpu=b200-sxm
err "warning: the list price of b200-sxm is derived, nobody's offer: RunPod's \$4.69/h of an H100 (2024) times "
run 0 run "$T/serve.json" -q --interval never --set cluster.gpu=b200-sxm --set 'cluster.gpu_price=$2/h'
! grep -q 'is derived' "$T/err" || complain 'a given price is derived'
finish
