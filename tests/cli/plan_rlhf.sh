#!/bin/sh
# orrery plan FILE.rlhf.json: a plan for each call of a step of RLHF.
. tests/cli/lib.sh

number() { sqlite3 :memory: "select json_extract(readfile('$T/out'), '$1')"; }
is_true() { equal "$(sqlite3 :memory: "select $1")" 1 "$1"; }
sample=configs/figures/rl/ppo-7b.rlhf.json

# The calls, the moves, and plans with one split for all calls, which are never faster.
run 0 plan $sample
out 'no plan is faster'
out 'train critic'
run 0 plan $sample --json
json '$.is_optimum' 1
best_s=$(number '$.step_s')
is_true "$(number '$.symmetric[1].step_s') >= $best_s"
is_true "$(number '$.symmetric[0].step_s') >= $(number '$.symmetric[1].step_s')"
is_true "abs((select max(json_extract(value, '\$.start_s') + json_extract(value, '\$.seconds')) from json_each(readfile('$T/out'), '\$.calls')) / $best_s - 1) < 1e-12"
is_true "(select max(json_extract(value, '\$.memory_gib')) from json_each(readfile('$T/out'), '\$.calls')) < 80 * 0.94"
is_true "(select count(*) from json_each(readfile('$T/out'), '\$.calls') where json_extract(value, '\$.gpus') = json_extract(value, '\$.tensor_parallel') * json_extract(value, '\$.pipeline_parallel') * json_extract(value, '\$.data_parallel')) = 6"
# Bytes of a move are those of the weights in the new split: norms are copied to each tensor rank.
data=$(sqlite3 :memory: "select json_extract(value, '\$.data_parallel') from json_each(readfile('$T/out'), '\$.calls') where json_extract(value, '\$.call') = 'generate'")
tensor=$(sqlite3 :memory: "select json_extract(value, '\$.tensor_parallel') from json_each(readfile('$T/out'), '\$.calls') where json_extract(value, '\$.call') = 'generate'")
norms=$((65 * 4096))
is_true "$(number '$.moves[0].kept_bytes') + $(number '$.moves[0].node_bytes') + $(number '$.moves[0].network_bytes') = 2 * $data * (6738415616 + ($tensor - 1) * $norms)"
run 0 plan $sample --csv
out 'call,llm,first_gpu'
equal "$(wc -l <"$T/out")" 7 'a header and six calls'

# Less searching, and more GPUs: never a faster plan, never a slower one.
run 0 plan $sample --set search.visits=0 --set search.proposals=100 --json
json '$.is_optimum' 0
is_true "$(number '$.step_s') >= $best_s"
run 0 plan $sample --set search.visits=0 --set gpus=32 --json
is_true "$(number '$.step_s') <= $best_s"
# Inside a node too: a mesh divides the node's GPUs, however many of them the cluster has.
small="--set actor.shape.layers=8 --set critic.shape.layers=8"
previous_s=1e9
for gpus in 4 5 6 7 8; do
    # shellcheck disable=SC2086
    run 0 plan $sample $small --set "gpus=$gpus" --json
    json '$.is_optimum' 1
    is_true "$(number '$.step_s') <= $previous_s"
    previous_s=$(number '$.step_s')
done
# Training by itself is a step of orrery plan, once for each update.
run 0 plan $sample --set gpus=1 --set actor.shape.layers=2 --set critic.shape.layers=2 --set prompts=64 --json
json '$.symmetric[0].plan' megatron
train_s=$(sqlite3 :memory: "select json_extract(value, '\$.seconds') from json_each(readfile('$T/out'), '\$.calls') where json_extract(value, '\$.call') = 'train actor'")
micro=$(sqlite3 :memory: "select json_extract(value, '\$.micro_batch') from json_each(readfile('$T/out'), '\$.calls') where json_extract(value, '\$.call') = 'train actor'")
run 0 plan llama-2-7b -g a100-80-sxm -n 1 -b 16 --sequence 512 --set shape.layers=2 --set tensor_parallel=1 --set micro_batch="$micro" --json
is_true "abs($train_s / (4 * $(number '$.step.step_s')) - 1) < 1e-12"

# No plan fits: an answer. What cannot be has a reason and a hint.
run 0 plan $sample --set gpus=1
out 'No plan fits'
run 0 plan $sample --set gpus=1 --json
json '$.step_s' ''
json '$.is_exhausted' 1
run 0 plan $sample --set critic.recompute=selective --json
equal "$(sqlite3 :memory: "select json_extract(value, '\$.recompute') from json_each(readfile('$T/out'), '\$.calls') where json_extract(value, '\$.call') = 'train critic'")" selective recompute
equal "$(number '$.updates'),$(number '$.prompt_tokens'),$(number '$.output_tokens')" 4,128,384 'the step'
is_true "abs($(number '$.tokens_per_s') * $(number '$.step_s') / (256 * 512) - 1) < 1e-12"
run 2 plan $sample --set gpus=12
err 'not a multiple of the 8 GPUs'
run 2 plan $sample --set updates=3
err "256 sequences are not a multiple of 3 updates"
run 2 plan $sample --set actor.tensor_parallel=2
err 'the search chooses splits'
run 2 plan $sample --set actor.tiers.optimizer=host
err "'tiers' is not free in a plan of RLHF"
run 2 plan $sample --set 'critic.nics={"clusters": [{"stages": 1, "network": "25GB/s"}]}'
err "'nics' is not free in a plan of RLHF"
run 2 plan $sample --set critic.zero=3
err 'do not know weights that data ranks share'
run 2 plan $sample --set actor.llm=mixtral-8x7b
err 'neither experts nor latent or linear attention'
run 2 plan $sample --set actor.offload.optimizer=1
err "'offload' is not free in a plan of RLHF"
err 'keep all states on GPUs'
run 2 plan $sample --set critic.recompute=as-needed
err "'recompute' that looks at the memory of one model"
run 2 plan $sample --set critic.reserve=0.1
err 'it holds for all models'
# Keys that exclude each other in every split are no lack of memory.
run 2 plan $sample --set actor.overlap_gradients=true --set actor.gradient_parts=3
err "no split trains the actor: 'gradient_parts' and 'overlap_gradients' exclude each other"
err 'leave one of the two out'
run 2 plan $sample --set critic.precision=fp8
err 'no split trains the critic: this GPU has no units for fp8'
err 'critic.precision'
run 2 plan $sample --set output_tokens=5000
err 'prompt and output have 5128 tokens, and the context of llama-2-7b has at most 4096'
err output_tokens
run 2 plan $sample --set cost=affine
err "iterations of 'cost' take no time"
sed 's/"critic": {"llm": "llama-2-7b"}/"critic": {"llm": "llama-2-8b"}/' $sample >"$T/name.rlhf.json"
run 2 plan "$T/name.rlhf.json"
err 'name.rlhf.json:5:'
run 2 plan $sample --set prompt=1
err "did you mean 'prompts'"
run 2 plan $sample --gpus 8
err '--set gpus=16'
cat >"$T/apart.rlhf.json" <<END
{"gpu": "h100-sxm", "gpus": 16, "actor": {"llm": "llama-3.1-8b"}, "critic": {"llm": "llama-3.1-8b"},
 "prompts": 8, "prompt_tokens": 16, "output_tokens": 16}
END
run 2 plan "$T/apart.rlhf.json"
err 'no network connects the nodes'
# Options of a plan say nothing about one of RLHF.
for option in --gpu=h100-sxm --gpus=8 --batch=64 --sequence=4096 --search; do
    run 2 plan $sample $option
    err 'a plan of RLHF is set by its keys alone'
done
finish
