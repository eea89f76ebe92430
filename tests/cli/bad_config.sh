#!/bin/sh
# Wrong scenarios: each mistake is told with its place, what was expected, and a hint; all of them in one pass.
. tests/cli/lib.sh

# Valid scenarios also warn of their kernels, which kernel_libraries.sh is about.
err_is() {
    grep -v "'orrery list kernels' shows what was measured\$" "$T/err" >"$T/findings"
    same "$T/findings"
}

cat >"$T/trace.csv" <<'END'
TIMESTAMP,ContextTokens,GeneratedTokens
2024-01-01 00:00:00,100,10
2024-01-01 00:00:01,200,20
END

# scenario LINES: a scenario with these lines in its middle.
scenario() {
    cat >"$T/s.json" <<END
{ "cluster": {"gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "llama-2-7b",
                        "trace": {"format": "azure-llm", "path": "trace.csv"}}},
  $1
}
END
}

# rejected TEXT: running it fails with exactly these findings, and leaves no database.
rejected() {
    run 2 run "$T/s.json" -o "$T/x.db"
    printf '%s\n' "$1" | sed "s|@|$T/s.json|g" >"$T/wanted"
    err_is <"$T/wanted"
    [ ! -s "$T/out" ] || complain 'something on standard output'
    no_file "$T/x.db"
    run 2 validate "$T/s.json"
    err_is <"$T/wanted"
}

scenario '"warmup": "5s", "until": "5s"'
rejected "@:4:13: error: the warm-up does not end before 'until'"
scenario '"warmup": "4.999s", "until": "5s"'
run 0 validate "$T/s.json"
scenario '"warmup": "1s"'
run 0 validate "$T/s.json"
out_is <<END
$T/s.json: ok
END

scenario '"warmpu": "1s"'
rejected "@:4:3: error: unknown key 'warmpu'; did you mean 'warmup'?"
scenario '"warmup": 80'
rejected "@:4:13: error: 'warmup' needs a unit, got 80; write \"80s\" or \"80ms\""
scenario '"warmup": "80 parsecs"'
rejected "@:4:13: error: 'warmup' has an unknown unit, got \"80 parsecs\"; write it like \"15ms\"; units: s, ms, us, ns, min, h, d"
scenario '"seed": "many"'
rejected "@:4:11: error: 'seed' must be a whole number between 0 and 9000000000000000, got \"many\""
scenario '"seed": -1'
rejected "@:4:11: error: 'seed' must be between 0 and 9000000000000000, got -1"
scenario '"seed": 1, "seed": 2'
rejected "@:4:14: error: duplicate key 'seed'; the one before is at @:4:3"
scenario '"seed": 1,'
rejected "@:5:1: error: expected a key, got '}'; remove the comma before it"
scenario '"keep": "everything"'
rejected "@:4:11: error: unknown keep 'everything'; known: 'metrics', 'curves', 'rows', 'decisions'"
scenario '"cluster": 3'
rejected "@:4:3: error: duplicate key 'cluster'; the one before is at @:1:3"

# Several at once, in the order of the table.
cat >"$T/s.json" <<'END'
{
  "clustre": {"nodes": 1},
  "warmup": 80,
  "services": {"chat": {"llm": 7, "replicas": "four", "kv": {"reserve": 512}, "batching": "vlm-v0",
                        "trace": {"format": "azure-lmm", "path": "trace.csv"}}}
}
END
rejected "@:2:3: error: unknown key 'clustre'; did you mean 'cluster'?
@:3:13: error: 'warmup' needs a unit, got 80; write \"80s\" or \"80ms\"
@:4:32: error: 'llm' must be a string, got 7
@:4:47: error: 'replicas' must be a whole number between 1 and 1000000, got \"four\"
@:4:73: error: 'reserve' needs a unit, got 512; write \"512GB\" or \"512GiB\"
@:4:91: error: unknown batching policy 'vlm-v0' (your own need --plugin); did you mean 'vllm-v0'?
@:5:45: error: unknown request-trace format 'azure-lmm'; did you mean 'azure-llm'?"

# Names that the catalog does not know, and splits that cannot be: told where they were set.
scenario '"until": "10s"'
refused() { # SETTING TEXT
    run 2 run "$T/s.json" --set "$1" -o "$T/x.db"
    err "$2"
    no_file "$T/x.db"
}
refused cluster.gpu=a100-80-xsm "--set cluster.gpu: error: unknown GPU 'a100-80-xsm'; did you mean 'a100-80-sxm'?"
refused services.chat.llm=lama-2-7b "--set services.chat.llm: error: unknown LLM 'lama-2-7b'; did you mean 'llama-2-7b'?"
refused services.chat.tensor_parallel=3 'error: cannot split llama-2-7b over 3'
refused services.chat.replicas=99 "--set services.chat.replicas: error: the cluster has no"
refused services.chat.pipeline_parallel=100 '--set services.chat.pipeline_parallel: error: cannot split'
refused services.chat.tensor_parallel=16 'splits each layer over 16 GPUs, of which a node has'
refused services.chat.llm=no-such-9 "unknown LLM 'no-such-9'; 'orrery list llms' shows what there is"
refused cluster.gpu=h100 "did you mean 'h100-sxm'? There are also h100-pcie; 'orrery list gpus' shows all"
refused services.chat.routing=jsq "unknown routing policy 'jsq' (your own need --plugin); did you mean 'jsq-tokens'?"
refused services.chat.cost=rooflin "--set services.chat.cost: error: unknown cost kind 'rooflin'; did you mean 'roofline'?"
refused services.chat.replcas=2 "--set services.chat.replcas: error: unknown key 'replcas'"
refused services.chat "--set"
refused warmup=20s "the warm-up does not end before 'until'"

refused 'cluster.node_types={"x":{"nodes":1,"gpu":"h1000"}}' "error: unknown GPU 'h1000'"

# A service in pools: what validate passes also runs, and what nothing reads is told of.
run 2 validate disaggregated --set cluster.network=null
err 'data moves between nodes, but there is no network; add "network"'
run 0 validate disaggregated --set cluster.network=null --set services.chat.kv_transfer.bandwidth=25GB/s
run 0 validate disaggregated
err_is </dev/null
run 0 validate disaggregated --set services.chat.pools=null
err "'decode_routing' has no effect: no pool has role prefill; leave it out"
err "'kv_transfer' has no effect: no pool has role prefill; leave it out"
run 0 validate disaggregated --set services.chat.routing=splitwise
err "'decode_routing' has no effect: the 'routing' chooses both replicas on arrival; leave it out"

run 0 validate disaggregated --set services.chat.kv_transfer.mode=serial --set services.chat.kv_transfer.layer_wise_from=1
err "'kv_transfer.layer_wise_from' has no effect: mode 'serial' transfers every prompt whole; leave it out"
run 0 validate disaggregated --set services.chat.replicas=3 --set services.chat.pools.prompts.replicas=1 \
    --set services.chat.pools.tokens.replicas=2
err "--set services.chat.replicas: warning: 'replicas' has no effect: every pool has its own; leave it out"
run 0 validate disaggregated --set services.chat.replicas=1 --set services.chat.pools.prompts.replicas=1 \
    --set services.chat.pools.tokens.replicas=2 # as the default
grep -q "'replicas' has no effect" "$T/err" && complain 'a warning of a value that is the default'
for parallel in 1 2; do
    run 0 validate disaggregated --set services.chat.pipeline_parallel=$parallel \
        --set services.chat.pools.prompts.pipeline_parallel=1 --set services.chat.pools.tokens.pipeline_parallel=1
    warnings=$(grep -c "'pipeline_parallel' has no effect" "$T/err")
    equal "$warnings" $((parallel - 1)) 'warnings of pipeline_parallel'
done

# What only some offloading policies go by.
run 0 validate quickstart --set services.chat.kv.slo_ttft=1s --set services.chat.kv.workload.sequences=8 \
    --set services.chat.kv.bus_gpus=2 --set 'services.chat.kv.tiers={"host": {"device": "host-dram-pcie4"}}'
for key in tiers bus_gpus workload slo_ttft; do
    err "warning: 'kv.$key' has no effect: kv.offload 'none' places nothing beyond the GPU; leave it out"
done
host='services.chat.kv.tiers={"host": {"device": "host-dram-pcie4"}}'
run 0 validate quickstart --set "$host" --set services.chat.kv.offload=zero-inference --set services.chat.kv.slo_tpot=1s \
    --set services.chat.kv.workload.sequences=8
err "--set services.chat.kv.slo_tpot: warning: 'kv.slo_tpot' has no effect: kv.offload 'zero-inference' does not read it with these settings; leave it out"
equal "$(grep -c 'has no effect' "$T/err")" 1 'keys without effect'
run 0 validate quickstart --set "$host" --set services.chat.kv.offload=select-n --set services.chat.kv.slo_tpot=1s \
    --set services.chat.kv.slo_ttft=9s
err "'kv.slo_ttft' has no effect: kv.offload 'select-n' does not read it with these settings"
run 0 validate quickstart --set "$host" --set 'services.chat.kv.offload={"policy": "select-n", "phase": "prefill"}' \
    --set services.chat.kv.slo_ttft=9s --set services.chat.kv.bus_gpus=2 --set services.chat.kv.bus_bandwidth=20GB/s
equal "$(grep -c 'has no effect' "$T/err")" 0 'keys without effect'
run 0 validate disaggregated --set services.chat.kv.slo_tpot=1s \
    --set 'services.chat.pools.tokens.kv={"offload": "select-n", "tiers": {"host": {"device": "host-dram-pcie4"}}}'
err "--set services.chat.kv.slo_tpot: warning: 'kv.slo_tpot' has no effect: kv.offload 'none' places nothing"

# What a run tells of the power brake, validate tells before it; of each pool's kernels once.
cat >"$T/brake.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm", "server_power": {"idle": "900W", "per_gpu_watt": 1.2},
             "power": {"budget": "99kW", "commands": {"brake_clock": "3GHz"}}},
 "services": {"s": {"llm": "llama-3-8b", "pools": {"p": {}, "q": {}}, "trace": {"format": "generate", "count": 2}}}}
END
brake='a brake_clock of 3000 MHz does not slow a100-80-sxm: its highest is 1410 MHz'
run 0 validate "$T/brake.json"
err "$T/brake.json:2:70: warning: $brake"
equal "$(grep -c 'orrery list kernels' "$T/err")" 1 'warnings of kernels'
run 0 run "$T/brake.json"
out "warning: power-limit: $brake"
equal "$(grep -c 'warning: kernels' "$T/out")" 1 'warnings of kernels in a run'
run 0 validate "$T/brake.json" --set cluster.power.commands.brake_clock=1GHz
grep -q brake_clock "$T/err" && complain 'a brake that slows'
run 0 validate quickstart --set services.chat.kv.offload=zero-inference \
    --set 'services.chat.kv.tiers={"host": {"device": "host-dram-pcie4"}, "disk": {"device": "samsung-980-pro"}}'
err "--set services.chat.kv.tiers: warning: 'kv.tiers.disk' has no effect: kv.offload 'zero-inference' places nothing there"
equal "$(grep -c 'has no effect' "$T/err")" 1 'tiers without effect'

# Defaults that are written down, as in a resolved scenario, are no settings.
for scenario in quickstart disaggregated csd-whatif; do
    run 0 run $scenario --keep metrics -q -o "$T/$scenario.db"
    run 0 run --from "$T/$scenario.db" -q
    err_is </dev/null
done

# Every cause and every domain is checked, not the first alone.
cat >"$T/domains.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 8},
  "failures": {"causes": {"node": {"scope": "node", "lifetime": {"mean": "100h"}, "repair": {"mean": "1h"}}},
               "domains": {"feed": {"nodes": 2, "needed": 1}, "hall": {"nodes": 4, "needed": 2},
                           "node": {"nodes": 2, "needed": 1}}},
  "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"duration": "5s"}]}} }
END
run 2 validate "$T/domains.json"
err "'node' is the name of a cause as well; give it another name"

cat >"$T/s.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm"}}
END
run 2 validate "$T/s.json"
err "nothing arrives in this scenario; add a 'services' or a 'jobs' section"
run 3 validate "$T/nowhere.json"
err_is <<END
$T/nowhere.json: error: cannot read the file: No such file or directory
END
# A list of names that is cut ends with the command that has all.
run 2 run quickstart --set jobs.scheduler=zzzzqq --set jobs.trace.format=philly
err "unknown scheduler policy 'zzzzqq' (your own need --plugin); known: 'fifo', "
err ", ... 'orrery list policies' has all"
run 2 run quickstart --set jobs.scheduler=7 --set jobs.trace.format=philly
err ", ... 'orrery list policies' has all"
run 2 run quickstart --set services.chat.zzzzqq=1
err "known: 'llm', "
err "'priority', 'clock_share', 'trace'"
! grep -q 'has all' "$T/err" || complain 'a whole list is cut'

# Formats of traces: the nearest name, or that the format is one of the other kind.
run 2 run quickstart --set 'jobs.trace={"format": "phily", "path": "x"}'
err "unknown job-trace format 'phily'; did you mean 'philly'?"
run 2 run quickstart --set 'jobs.trace={"format": "azure-llm", "path": "x"}'
err "unknown job-trace format 'azure-llm'; it is a format of requests, for the \"trace\" of a service; 'orrery list formats'"
run 2 run quickstart --set services.chat.trace.format=philly
err "unknown request-trace format 'philly'; it is a format of jobs, for the \"trace\" of \"jobs\"; 'orrery list formats'"

# validate refuses what run refuses: jobs without a run time, and rows of a trace, both at their place. It warns of jobs
# that can never run, as the run does.
jobs() { # JOBS
    printf '{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},\n  "jobs": {"trace": {"format": "inline-jobs", "jobs": [\n' >"$T/s.json"
    printf '    %s]}} }\n' "$1" >>"$T/s.json"
}
jobs '{"duration": "5s", "gpus": 4},
    {"gpus": 2}'
rejected '@:4:5: error: job 1 has neither a duration nor steps; such as "duration": "2h", or "steps": 1000'
jobs '{"duration": "5s", "gpus": 4},
    {"steps": 4}'
rejected "@:4:5: error: job 1 counts steps, but its type does not say what it trains; give its type a section 'training'"
why="asks for 16 GPUs, and the site has 8; ask for fewer, or raise 'cluster.nodes'"
jobs '{"duration": "5s", "gpus": 16}'
run 0 validate "$T/s.json"
err "$T/s.json:3:5: warning: no job can ever run; job 0 $why"
run 0 run "$T/s.json" -q
out "warning: job-rejected: job 0 can never run: it $why"
out 'warning: rejected: the only job was rejected: no job ran'
jobs '{"duration": "5s"}, {"duration": "5s", "gpus": 16}, {"duration": "5s", "gpus": 17}'
run 0 validate "$T/s.json"
err "$T/s.json:3:25: warning: 2 of 3 jobs can never run; job 1 $why"
run 0 run "$T/s.json" -q
out "warning: job-rejected: 2 jobs can never run; the first, job 1, $why"
! grep -q 'no job ran' "$T/out" || complain 'a job ran'
run 0 run "$T/s.json" -q --set 'jobs.trace.jobs=[{"duration": "5s", "gpus": 8, "nodes": 4}]'
out "job 0 can never run: it asks for 8 GPUs on 4 nodes, and placement 'consolidated' finds no room for that"
run 0 validate "$T/s.json" --set 'jobs.trace.jobs=[{"duration": "5s", "gpus": 8, "nodes": 1}]'
err_is </dev/null
printf 'job_id,submit_s,duration_s,gpus\n1,0,5,2\n2,1,5,x\n3,2,5,9\n4,3,5,y\n' >"$T/jobs.csv"
echo '{"cluster": {"gpu": "a100-80-sxm", "nodes": 1}, "jobs": {"trace": {"format": "csv-jobs", "path": "jobs.csv"}}}' >"$T/s.json"
run 3 validate "$T/s.json"
err_is <<END
$T/jobs.csv:3:7: error: 'gpus' must be a whole number, got 'x'; correct the row, or let "allow_bad_rows" leave such rows out
$T/jobs.csv:5:7: error: 'gpus' must be a whole number, got 'y'; correct the row, or let "allow_bad_rows" leave such rows out
$T/s.json:1:67: warning: 1 of 2 jobs can never run; job 3 asks for 9 GPUs, and the site has 8; ask for fewer, or raise 'cluster.nodes'
END
printf 'job_id,submit_s,duration_s,gpus\n1,0,5,2\n2,1,5,2\n3,2,5,2\n4,3,5,y\n' >"$T/jobs.csv"
run 0 validate "$T/s.json" --set until=1s # no run reads the wrong row
run 0 run "$T/s.json" --set until=1s
run 3 validate "$T/s.json" --set until=2s
run 3 run "$T/s.json" --set until=2s
printf '2024-01-01 00:00:02,x,20\n' >>"$T/trace.csv"
scenario '"warmup": "1s"'
run 3 validate "$T/s.json"
err "$T/trace.csv:4:21: error: 'ContextTokens' must be a whole number, got 'x'"

# On worlds without markets and jobs that come after others, validate warns of as many jobs as the run rejects.
optimised
n_rejecting=0
for line in $(seq 10 40 1900); do
    sed -n ${line}p tests/golden/worlds.jsonl | sed 's/.*"scenario"://; s/}$//' >"$T/world.json"
    grep -q '"jobs":{' "$T/world.json" && ! grep -q '"market"\|"after"' "$T/world.json" || continue
    "$ORRERY" validate "$T/world.json" >"$T/valid" 2>&1 || continue
    "$ORRERY" run "$T/world.json" -q --interval never --csv >"$T/ran" 2>/dev/null || continue
    rejected=$(sed -n 's/^job.rejected,\([0-9]*\).*/\1/p' "$T/ran")
    submitted=$(sed -n 's/^job.submitted,\([0-9]*\).*/\1/p' "$T/ran")
    told=$(sed -n 's/.*warning: \([0-9]*\) of [0-9]* jobs can never run.*/\1/p' "$T/valid")
    grep -q 'warning: no job can ever run' "$T/valid" && told=$submitted
    equal "${told:-0}" "${rejected:-0}" "jobs of the world in line $line that can never run"
    [ "${rejected:-0}" = 0 ] || n_rejecting=$((n_rejecting + 1))
done
[ $n_rejecting -ge 2 ] || complain "only $n_rejecting worlds reject jobs"

# A shipped scenario that was copied names where its parts stand. Each way that the hint names works.
cp configs/scenarios/quickstart.json "$T/copied.json"
run 2 validate "$T/copied.json"
err "copied.json:3:15: error: cannot read '../clusters/dgx-a100-80.json': No such file or directory"
err "a file of this name is in '$PWD/configs/clusters': write \"$PWD/configs/clusters/dgx-a100-80.json\", or let the copy"
sed -i 's,"\.\./clusters/,"configs/clusters/,' "$T/copied.json"
run 3 validate "$T/copied.json"
err "traces/samples/chat.csv: error: cannot open: No such file or directory"
err "paths start at the folder of the scenario: write \"$PWD/traces/samples/chat.csv\", or let a copy say \"extends\": "
sed -i "s,\"\.\./\.\./traces/,\"$PWD/traces/," "$T/copied.json"
run 0 validate "$T/copied.json"
echo '{"extends": ["configs/scenarios/quickstart.json"]}' >"$T/copied.json"
run 0 validate "$T/copied.json"
finish
