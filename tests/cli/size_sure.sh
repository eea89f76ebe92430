#!/bin/sh
# orrery size: no fleet without a known error is sure, and no fleet whose requests never end is recommended.
. tests/cli/lib.sh

experts() { # TPOT OPTIONS...: no measured run has attention in groups, so the error of those fleets is not known
    tpot=$1
    shift
    run 0 size qwen3-30b-a3b -g h200-sxm --max-gpus 8 --rate 12/s --requests 150 --prompt 1500 --output-tokens 100 \
        --slo ttft.p99=2s --slo tpot.p99="$tpot" --set services.llm.cost.engine=sglang-0.5 -q "$@"
}
second() { sed -n 2p "$T/out"; }
third() { sed -n 3p "$T/out"; }

# The best as predicted has a known error; some fleets of groups keep the limits as predicted, and none is sure.
experts 6ms
out ', as predicted; if the model errs to its slow side, it misses tpot p99'
equal "$(third)" '  to be sure: no fleet of at most 8 GPUs is known to keep the limits at both ends of the interval' 'the fleet to be sure'
optimised
experts 6ms --json
valid_json
json '$.sure' '{}'

# The best as predicted is one of groups: the fleet to be sure is another, whose slow end differs from its prediction.
experts 7.7ms --json
valid_json
sql :memory: "select value ->> '\$.cheapest.dp' > 1,
    json_type(value, '\$.cheapest.objectives[1].slow_s'), value ->> '\$.sure.dp',
    value ->> '\$.sure.objectives[1].slow_s' > value ->> '\$.sure.objectives[1].predicted_s',
    value ->> '\$.sure.objectives[1].slow_s' <= 0.0077 from (select readfile('$T/out') as value)" '1|null|1|1|1'
sql :memory: "select count(*) > 0 from json_each(readfile('$T/out'), '\$.best') where value ->> 'dp' > 1 and value ->> 'slow_end' is null
    and json_type(value, '\$.tpot_p99_slow_s') is 'null'" 1
sure=$(json_of "$T/out" '$.sure.fleet')
experts 7.7ms
case $(second) in *', as predicted; the error of its times is not known') ;; *) complain 'the first line is silent on the error' ;; esac
case $(third) in "  to be sure: $sure, "*) ;; *) complain 'the line names another fleet than the field' ;; esac

# Asked for fleets that are sure, the search answers with that one, and has none of groups.
experts 7.7ms --sure --json
json '$.cheapest.fleet' "$sure"
sql :memory: "select count(*) filter (where value ->> 'dp' > 1), count(*) filter (where value ->> 'slow_end' is not 'kept')
    from json_each(readfile('$T/out'), '\$.best')" '0|0'
sql :memory: "select $(json_of "$T/out" '$.uncertain') > 0" 1

# Where no error is known at all, no fleet is sure, and nothing more is said without --sure.
of_roofline() {
    run 0 size llama-3.1-8b --rate 12/s --requests 100 --max-gpus 2 --gpu h100-sxm -q --slo ttft.p99=0.5s \
        --set services.llm.cost.kind=roofline "$@"
}
of_roofline
! grep -q 'to be sure' "$T/out" || complain 'a fleet to be sure without any known error'
of_roofline --sure
grep -qE '^no configuration of at most 2 GPUs meets this; [0-9]+ cannot be sure, as the error of their times is not known$' "$T/out" ||
    complain 'no word on the unknown error'

# What an option of 'size' says, or what would end a run before its requests, is no setting.
refuses() { # SETTING TEXT
    run 2 size llama-3.1-8b --rate 5/s --requests 50 --slo ttft.p99=1s -g h100-sxm --max-gpus 4 -q --set "$1"
    err "--set: error: $2"
}
refuses until=1s "until has no place in 'size'; --requests N, or --set services.llm.trace.window=0s:60s, shortens the load"
refuses market.prices=verda "market has no place in 'size'; --gpu 'NAME=\$2.50/h' or --prices LIST prices GPUs"
refuses 'market={"prices": "verda"}' "market has no place in 'size'"
refuses 'cluster.gpu_price=$9/h' "cluster.gpu_price has no place in 'size'; --gpu 'NAME=\$2.50/h' or --prices LIST"
refuses services.llm.slo.ttft=1ms "services.llm.slo has no place in 'size'; give limits with --slo"
refuses 'services.llm={"slo": {"ttft": "1s"}}' "services.llm.slo has no place in 'size'"
refuses services.llm.trace.arrival.rate=500/s "services.llm.trace.arrival.rate has no place in 'size'; give it with --rate"
refuses services.llm.trace.count=7 "services.llm.trace.count has no place in 'size'; give it with --requests"
refuses services.llm.llm=llama-3.1-70b "services.llm.llm has no place in 'size'; the LLM is the argument"
refuses keep=decisions "keep has no place in 'size'; 'size' stores no runs: --study FILE writes a study"
refuses cluster.nodes=1 "cluster.nodes is what 'size' searches; --max-gpus limits it"
refuses cluster.gpus_per_node=4 "cluster.gpus_per_node is what 'size' searches; its nodes have 8 GPUs"
refuses cluster.node_types.a.nodes=2 "cluster.node_types is what 'size' searches"
refuses services.llm.scaling.max=3 "services.llm.scaling is what 'size' searches"

# A setting by which no fleet can run is an error, with the status and the text of 'orrery run'.
run 2 size llama-3.1-8b --rate 5/s --requests 50 --slo ttft.p99=1s -g h100-sxm -q --set cluster.power.budget=1kW
err "--set cluster.power.budget: error: 'cluster.power' needs to know what a node draws beside its GPUs"
# An LLM that fits nowhere stays an answer.
run 0 size llama-3.1-70b --rate 1/s --requests 20 --gpu l4 --max-gpus 2 --slo ttft.p99=9s -q --set cluster.power.budget=1kW
out 'cannot hold llama-3.1-70b'

# Requests that arrive during the warm-up do not count, as in the metrics of a run. All limits are judged on the others.
warm() { # WARM-UP: the predicted value, and that of a run of this fleet
    run 0 size llama-3.1-8b --rate 12/s --requests 200 --slo ttft.p50=1s -g h100-sxm --max-gpus 1 -q --json \
        --study "$T/warm.json" --set "warmup=$1"
    value=$(json_of "$T/out" '$.cheapest.objectives[0].predicted_s')
    rm -f "$T/warm.db"
    run 0 sweep "$T/warm.json" -q -o "$T/warm.db"
    sql "$T/warm.db" "select abs(value / $value - 1) < 0.01 from metric where name = 'request.ttft_s.p50' and run_id = 1" 1
}
warm 0s
cold=$value
warm 8s
[ "$value" != "$cold" ] || complain 'the warm-up has no effect'
run 2 size llama-3.1-8b --rate 12/s --requests 200 --slo ttft.p50=1s -g h100-sxm -q --set warmup=1h
err 'warmup: error: all 200 requests arrive before the warm-up ends: none counts; a shorter warm-up, or a longer load'

# The help tells the network of the study that 'size' writes.
run 0 size llama-3.1-8b --rate 12/s --requests 60 -g h100-sxm --max-gpus 2 -d -q --slo ttft.p99=2s --study "$T/pools.json"
run 0 sweep "$T/pools.json" -q -o "$T/pools.db"
sql "$T/pools.db" "select distinct scenario ->> '\$.cluster.network.per' from run
    where scenario ->> '\$.services.llm.pools' is not null" gpu
run 0 help size
out 'KV moves over a network of 50 GB/s per GPU'
finish
