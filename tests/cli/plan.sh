#!/bin/sh
# orrery plan: one plan, a search, what cannot be; and jobs of a scenario that take as long as their steps.
. tests/cli/lib.sh

number() { sqlite3 :memory: "select json_extract(readfile('$T/out'), '$1')"; }
is_true() { equal "$(sqlite3 :memory: "select $1")" 1 "$1"; }

# One plan: its parts are its step, in text and as JSON.
run 0 plan llama-3.1-8b -g a100-80-sxm -n 16 --batch 64 --set tensor_parallel=2 --set network=25GB/s
out 'TP 2, PP 1, DP 8'
out 'fits'
run 0 plan llama-3.1-8b -g a100-80-sxm -n 16 --batch 64 --set tensor_parallel=2 --set network=25GB/s --json
json '$.data_parallel' 8
json '$.memory.fits' 1
is_true "abs((select sum(value) from json_each(readfile('$T/out'), '\$.step') where key <> 'step_s') / $(number '$.step.step_s') - 1) < 1e-9"
sixteen_s=$(number '$.step.step_s')
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set tensor_parallel=2 --json
eight_s=$(number '$.step.step_s')

# A search: the fastest first; what does not fit is an answer.
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --json
is_true "$(number '$.plans[0].tokens_per_s') >= $(number '$.plans[1].tokens_per_s')"
is_true "$(number '$.plans[0].step_s') <= $eight_s"
run 0 plan deepseek-v3 -g a100-80-sxm -n 8 --batch 64
out 'No plan fits. The least memory has'
run 0 plan deepseek-v3 -g a100-80-sxm -n 8 --batch 64 --json
json '$.plans' '[]'

# A search keeps to a key that is set: ranks that share states are not chosen.
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set zero=1 --csv
equal "$(grep -c 'shards' "$T/out")" 0 'plans that share other states than zero=1'
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --search --set shard_weights=2 --set shard_gradients=2 \
    --set shard_optimizer=8 --csv
equal "$(grep -c 'shards 2/2/8' "$T/out")" "$(($(wc -l <"$T/out") - 1))" 'plans that share states as set'
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --search --set shard_weights=2 --json
json '$.plans' '[]'

# Where no layout is a plan, the search says why: with the reason of one such layout alone.
reason=$(json_of "$T/out" '$.refused[0].reason')
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set shard_weights=2
out "No plan has the keys that are set"
out "$reason"
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set shard_weights=2 --set tensor_parallel=1
err "$reason"
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --search --set pipeline_parallel=3
out "the layers are not a multiple of 'pipeline_parallel'"
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --search --set tensor_parallel=3
out 'the GPUs are not a multiple of tensor and pipeline parallelism together'
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --search --set pipeline_parallel=16
out "'pipeline_parallel' is above the GPUs or the layers"

# Each key that is set is kept to, also beside others that are free.
search() { run 0 plan llama-3.1-8b -g h100-sxm -n 8 --search "$@"; }
all_have() { # TEXT WHAT: the first two columns of each plan
    equal "$(sed '1d; s/^\("[^"]*",[0-9]*\),.*/\1/' "$T/out" | grep -c "$1")" "$(($(wc -l <"$T/out") - 1))" "$2"
}
search --batch 64 --set schedule=1f1b --json
priced=$(number '$.priced')
search --batch 64 --set pipeline_chunks=1 --json
json '$.priced' "$priced"
search --set micro_batches=4 --csv
all_have ',1$' 'plans of a sequence at a time'
search --batch 64 --set micro_batch=2 --csv
all_have ',2$' 'plans of two sequences at a time'
for key in shard_optimizer=8 shard_gradients=1; do
    search --batch 64 --set $key --json
    json '$.plans' '[]'
done
search --batch 64 --set shard_secondary=2 --csv
all_have 'second copy 2' 'plans with a second copy on two ranks'
equal "$(sort "$T/out" | uniq -d | wc -l)" 0 'plans that are listed twice'
search --batch 64 --set recompute=full --csv
all_have 'full recomputation' 'plans that recompute as set'
# From 32768 tokens on, ranks may share a sequence.
search --batch 64 --sequence 32767 --csv
equal "$(grep -c 'CP ' "$T/out")" 0 'plans that share a sequence of 32767 tokens'
search --batch 64 --sequence 32768 --csv
out '"TP 1, PP 1, CP 4, DP 2'

# What cannot be has a reason and a hint.
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 62 --set tensor_parallel=2
err 'the global batch is not a multiple of the data ranks'
err '62 sequences on 4 data ranks times 1; take 60 or 64'
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set tensor_parallel=2
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 3 --set tensor_parallel=2
err '3 sequences on 4 data ranks times 1; take 4'
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set global_batch_tokens=262144
err "'global_batch' and 'global_batch_tokens' exclude each other; leave one of the two out"
for recompute in none selective; do
    run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set tensor_parallel=2 --set recompute=$recompute --set recompute_layers=4
    err "'recompute_layers' needs \"recompute\": \"full\""
done
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set tensor_parallel=2 --set recompute=full --set recompute_layers=4
echo '{"llm": "llama-3.1-8b", "global_batch": 8}' >"$T/no-gpu.plan.json"
run 2 plan "$T/no-gpu.plan.json"
err "no-gpu.plan.json:1:1: error: missing 'gpu'"
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --global-batch 64
err "it is --batch N"
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --dp 4 --batch 64
err "data parallelism is what '--gpus' leaves"
run 2 plan quickstart -g a100-80-sxm -n 8 --batch 64
err "this is a scenario, not an LLM; 'orrery run' simulates it"
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8
err "a plan needs 'global_batch'"
err '--batch 512'
run 2 plan llama-3.1-8b -g a100-80-sxm -n 16 --batch 64 --set tensor_parallel=2
err 'no network connects nodes'
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set tensor_parallel=3
err 'error'
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set precision=fp8
err 'no units for fp8'
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set tensor_paralel=2
err "did you mean 'tensor_parallel'"

# States beyond the GPU: what moves, and the tier without room.
tiers='{"weights": "host", "gradients": "host", "optimizer": "disk", "disk_read": "9GB/s", "disk_write": "4GB/s"}'
run 0 plan llama-3.1-8b -g a100-80-sxm -n 1 --batch 4 --set tensor_parallel=1 --set "tiers=$tiers"
out 'states beyond the GPU'
out 'host memory of a node: '
out 'a node reads 96.36 GB and writes 96.36 GB'
run 0 plan llama-3.1-8b -g a100-80-sxm -n 1 --batch 4 --set tensor_parallel=1 --set "tiers=$tiers" --json
is_true "abs((select sum(value) from json_each(readfile('$T/out'), '\$.step') where key <> 'step_s') / $(number '$.step.step_s') - 1) < 1e-9"
json '$.memory.fits' 1
run 0 plan llama-3.1-8b -g a100-80-sxm -n 1 --batch 4 --set tensor_parallel=1 --set "tiers=$tiers" --set tiers.host_memory=1GB
out 'of 0.9313 GiB: does not fit'
run 2 plan llama-3.1-8b -g a100-80-sxm -n 1 --batch 4 --set tensor_parallel=1 --set 'tiers={"optimizer": "disk"}'
err "states on drives need 'tiers.disk_read' and 'tiers.disk_write'"

# Clusters with equal NICs are an ordinary plan, and stages apart are no slower than mixed ones.
clusters() { # SECOND BETWEEN OPTION...
    nics="{\"clusters\": [{\"stages\": 1, \"network\": \"25GB/s\"}, {\"stages\": 1, \"network\": \"$1\"}], \"between\": \"$2\"}"
    shift 2
    run 0 plan llama-3.1-8b -g a100-80-sxm -n 32 --batch 64 --set tensor_parallel=2 --set pipeline_parallel=2 \
        --set "nics=$nics" "$@" --json
}
run 0 plan llama-3.1-8b -g a100-80-sxm -n 32 --batch 64 --set tensor_parallel=2 --set pipeline_parallel=2 \
    --set network=25GB/s --json
ordinary_s=$(number '$.step.step_s')
clusters 25GB/s 25GB/s
json '$.step.step_s' "$ordinary_s"
clusters 2GB/s 1GB/s --set nics.groups=mixed
mixed_s=$(number '$.step.step_s')
clusters 2GB/s 1GB/s
is_true "$(number '$.step.step_s') < $mixed_s"
clusters 2GB/s 1GB/s --set global_batch=16
is_true "$(number '$.stage_layers[0]') > $(number '$.stage_layers[1]')"
run 2 plan llama-3.1-8b -g a100-80-sxm -n 32 --batch 64 --set pipeline_parallel=2 --set network=25GB/s --set "nics=$nics"
err "'nics' states the networks of its clusters"

# Sequences of unlike length have one stage, and states on the GPU.
run 2 plan llama-3.1-8b -g a100-80-sxm -n 32 --batch 64 --set pipeline_parallel=2 --set lengths.law=pareto --set "nics=$nics"
err "'lengths' and 'nics' exclude each other"
err 'leave one of the two out'
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 --set lengths.law=pareto --set "tiers=$tiers"
err "'lengths' and 'tiers' exclude each other"

# A job lasts as long as its steps, on the GPUs that it asks for and on others.
scenario() { # JOB, TYPE KEYS
    cat >"$T/s.json" <<END
{"cluster": {"nodes": 2, "gpus_per_node": 8, "gpu": "a100-80-sxm", "network": {"bandwidth": "25GB/s"}},
 "jobs": {"types": {"chat": {"training": {"llm": "llama-3.1-8b", "tensor_parallel": 2, "global_batch": 64$2}}},
          "trace": {"format": "inline-jobs", "jobs": [{"type": "chat", $1}]}}}
END
}
refuses() { # JOB, TYPE KEYS, FINDING
    scenario "$1" "$2"
    run 2 run "$T/s.json" -q -o "$T/x.db"
    err "$3"
}
lasts() { # SECONDS
    is_true "abs((select 1.0) * $(sqlite3 "$T/r.db" 'select end_s - start_s from job') / ($1) - 1) < 1e-6"
    rm "$T/r.db"
}
scenario '"gpus": 16, "steps": 100' ''
run 0 run "$T/s.json" -q -o "$T/r.db"
lasts "100 * $sixteen_s"
scenario '"gpus": 8' ', "steps": 50'
run 0 run "$T/s.json" -q -o "$T/r.db"
lasts "50 * $eight_s"
run 0 run "$T/s.json" -q -o "$T/r.db" --set jobs.scheduler=equi
lasts "50 * $sixteen_s"
scenario '"gpus": 8, "duration": "1000s"' ''
run 0 run "$T/s.json" -q -o "$T/r.db" --set jobs.scheduler=equi
lasts "1000 * $sixteen_s / $eight_s"
# Of a job, too, as few layers are recomputed as fit.
as_needed='--set tensor_parallel=2 --set micro_batch=8 --set recompute=as-needed'
# shellcheck disable=SC2086
run 0 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 $as_needed --json
is_true "$(number '$.recompute_layers') between 1 and 31"
needed_s=$(number '$.step.step_s')
scenario '"gpus": 8, "steps": 50' ', "micro_batch": 8, "recompute": "as-needed"'
run 0 run "$T/s.json" -q -o "$T/r.db"
lasts "50 * $needed_s"
run 2 run "$T/s.json" -q -o "$T/x.db" --set jobs.types.chat.training.recompute_layers=4
err 'jobs.types.chat.training'
err "leave 'recompute_layers' out"
# shellcheck disable=SC2086
run 2 plan llama-3.1-8b -g a100-80-sxm -n 8 --batch 64 $as_needed --set recompute_layers=4
err "'recompute_layers' needs \"full\""

# Shards of states, and a second copy of weights, need data ranks that only the job's GPUs give.
shares() { # KEYS of the plan as JSON members
    settings=$(printf '%s' "$1" | tr -d '" ' | tr ',' '\n' | sed 's/:/=/; s/^/--set /')
    # shellcheck disable=SC2086
    run 0 plan llama-3.1-8b -g a100-80-sxm -n 16 --batch 64 --set tensor_parallel=2 --set network=25GB/s $settings --json
    shared_s=$(number '$.step.step_s')
    scenario '"gpus": 16, "steps": 50' ", $1"
    run 0 run "$T/s.json" -q -o "$T/r.db"
    lasts "50 * $shared_s"
}
shares '"shard_weights": 2, "shard_gradients": 4, "shard_optimizer": 8'
shares '"zero": 3, "shard_secondary": 4'
shares '"zero": 3, "shard_secondary": 4, "weight_messages": "int8", "gradient_messages": "int4"'
shares '"shard_weights": 4, "shard_gradients": 4, "shard_optimizer": 8, "shard_secondary": 2, "gradient_messages": "int4"'
refuses '"gpus": 16, "steps": 50' ', "shard_secondary": 4' "'shard_secondary' needs weights that ranks share"
refuses '"gpus": 16, "steps": 50' ', "shard_weights": 4, "shard_gradients": 2, "shard_optimizer": 8' 'shards of weights divide those of gradients'
# Of a job whose ranks the shards do not divide, the plan is refused with its reason.
scenario '"gpus": 12, "steps": 50' ', "shard_weights": 4, "shard_gradients": 4, "shard_optimizer": 4'
run 0 run "$T/s.json" -q -o "$T/r.db"
out "type 'chat' cannot train on 12 a100-80-sxm: shards of weights divide those of gradients"
rm "$T/r.db"

# Checkpoints of a job that trains have the parameters of its LLM, with its shape.
saves() { # TYPE KEYS, CHECKPOINT KEYS
    scenario '"gpus": 16, "duration": "1h"' ", $1"
    run 0 run "$T/s.json" -q -o "$T/r.db" --set 'cluster.storage={"far": {"device": "rdma-h800"}}' \
        --set "jobs.types.chat.checkpoint={\"policy\": {\"policy\": \"periodic\", \"interval\": \"10min\"}, \"to\": \"far\"$2}"
    sqlite3 "$T/r.db" "select value from metric where name = 'job.checkpoint_gpu_s.sum'"
    rm "$T/r.db"
}
is_true "$(saves '"zero": 1' '') = $(saves '"zero": 1' ', "params": 8030261248') and $(saves '"zero": 1' '') > 0"
is_true "$(saves '"zero": 1' ', "bytes_per_param": 28') > 1.9 * $(saves '"zero": 1' '')"
is_true "$(saves '"shape": {"layers": 16}' '') < $(saves '"zero": 1' '')"

# What does not fit is rejected with a warning, what makes no sense refused.
scenario '"gpus": 2, "steps": 100' ''
run 0 run "$T/s.json" -q -o "$T/r.db"
out "type 'chat' cannot train on 2 a100-80-sxm: it does not fit into the memory of a GPU"
sql "$T/r.db" 'select status from job' rejected
run 0 validate "$T/s.json"
err "job 0 asks for 2 GPUs, and its type cannot train on 2 a100-80-sxm: it does not fit into the memory of a GPU"
run 0 run "$T/s.json" -q -o "$T/r.db" --set jobs.types.chat.training.reserve=0.5
out ', and 40 are usable'
run 0 run "$T/s.json" -q -o "$T/r.db" --set 'jobs.types.chat.training.tiers={"optimizer": "host", "host_memory": "1GB"}'
out "its states do not fit into the host memory of a node"
# A job is told what keeps it itself from running, not what kept another one from other GPUs.
cat >"$T/two.json" <<'END'
{"cluster": {"nodes": 2, "gpus_per_node": 8, "gpu": "h100-sxm", "network": {"bandwidth": "50GB/s"},
             "node_types": {"large": {"nodes": 2, "gpus_per_node": 8, "gpu": "b200-sxm"}}},
 "jobs": {"scheduler": "gavel",
  "types": {"big": {"training": {"llm": "llama-3.1-70b", "tensor_parallel": 8, "zero": 1, "global_batch": 64}}},
  "trace": {"format": "inline-jobs", "jobs": [{"gpus": 16, "steps": 10, "type": "big"},
                                              {"gpus": 4, "duration": "10s", "type": "big"}]}}}
END
run 0 run "$T/two.json" -q
out "type 'big' cannot train on 16 h100-sxm: it does not fit into the memory of a GPU"
out 'job 1 can never run: it asks for 4 GPUs, and its type cannot train on fewer than the 8 GPUs of a data rank'
# One part is the whole: it is not "1 parts".
run 0 plan configs/figures/training/experts-in-parts.plan.json --set expert_parts=0 --set sequence_tokens=64
out 'experts get whole micro-batches: no number of parts is faster'
refuses '"gpus": 8' '' 'job 0 has neither a duration nor steps'
refuses '"gpus": 8, "steps": 5, "duration": "1h"' '' "has a 'duration' and 'steps'"
refuses '"gpus": 8, "steps": 5' ', "pipeline_parallel": 3' "multiple of 'pipeline_parallel'"
sed -i 's/"type": "chat"/"type": "none"/' "$T/s.json"
run 2 run "$T/s.json" -q -o "$T/x.db" --set jobs.types.chat.training.pipeline_parallel=1
err 'job 0 counts steps, but its type does not say what it trains'
finish
