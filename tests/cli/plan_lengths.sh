#!/bin/sh
# orrery plan: sequences of unlike length, and rings of queries and linear layers over nodes; jobs that train with them.
. tests/cli/lib.sh

number() { sqlite3 :memory: "select json_extract(readfile('$T/out'), '$1')"; }
is_true() { equal "$(sqlite3 :memory: "select $1")" 1 "$1"; }
near() { is_true "abs(($1) / ($2) - 1) < 1e-6"; }
keys='-s context_parallel=16 -s tensor_parallel=1 -s recompute=full -s network=50GB/s'
law='-s lengths.law=lognormal -s lengths.median=2048 -s lengths.spread=1.5'
price() { # ARGUMENTS
    # shellcheck disable=SC2086
    run 0 plan llama-3.1-8b -g h100-sxm -n 32 --sequence 131072 $keys "$@" --json
}

# Each split has its step, none is below the bound or slower than the static one; one split is the plan.
# shellcheck disable=SC2086
price --batch 64 $law -s lengths.split=hybrid
json '$.lengths.split' hybrid
static_s=$(number '$.lengths.splits[0].step_s')
flexible_s=$(number '$.lengths.splits[1].step_s')
hybrid_s=$(number '$.lengths.splits[2].step_s')
near "$(number '$.step.step_s')" "$hybrid_s"
best_s=$(number '$.lengths.splits[3].step_s')
is_true "$best_s <= $static_s"
near "$(number '$.lengths.splits[2].speedup') * $hybrid_s" "$best_s"
is_true "$(number '$.lengths.splits[3].speedup') = 1"
is_true "$(number '$.lengths.bound_s') <= $hybrid_s and $hybrid_s <= $static_s and $flexible_s <= $static_s"
near "(select sum(value) from json_each(readfile('$T/out'), '\$.step') where key <> 'step_s')" "$hybrid_s"
near "$(number '$.tokens_per_s') * $hybrid_s" "64 * $(number '$.lengths.mean_tokens')"
# shellcheck disable=SC2086
run 0 plan llama-3.1-8b -g h100-sxm -n 32 --sequence 131072 --batch 64 $keys $law
out 'no split of this plan into its widths takes less than'
out 'waiting for the last rank'

# The base of speedups is the fastest static plan of all numbers of context ranks; batches that fall back are counted.
least_s=$static_s
for context in 1 2 4 8 32; do
    # shellcheck disable=SC2086
    price --batch 64 $law -s context_parallel=$context
    test "$(number '$.memory.fits')" = 0 && continue
    near "$(number '$.lengths.splits[3].step_s')" "$best_s"
    least_s=$(sqlite3 :memory: "select min($least_s, $(number '$.lengths.splits[0].step_s'))")
done
near "$least_s" "$best_s"
# shellcheck disable=SC2086
run 0 plan llama-3.1-8b -g h100-sxm -n 32 --sequence 2048 --batch 64 $keys -s lengths.law=pareto \
    -s lengths.median=2048 -s lengths.spread=0 --json
is_true "$(number '$.lengths.splits[3].step_s') < 0.9 * $(number '$.lengths.splits[0].step_s')"
is_true "$(number '$.lengths.splits[0].speedup') < 0.9"
is_true "$(number '$.lengths.splits[1].fell_back') = 1"

# Draws depend on the seed alone. All sequences that reach the limit are as long, and the step is that of equal ones.
# shellcheck disable=SC2086
price --batch 64 $law -s lengths.seed=2
is_true "abs($(number '$.lengths.splits[0].step_s') / $static_s - 1) > 1e-3"
# shellcheck disable=SC2086
price --batch 64 $law -s lengths.seed=1
near "$(number '$.step.step_s')" "$static_s"
price --batch 8 -s lengths.law=pareto -s lengths.median=131072 -s lengths.spread=0 -s lengths.batches=1
mixed_s=$(number '$.step.step_s')
price --batch 8
near "$mixed_s" "$(number '$.step.step_s')"

# A search says how long sequences are.
# shellcheck disable=SC2086
run 0 plan llama-3.1-8b -g h100-sxm -n 8 --batch 16 $law -s recompute=full -s zero=1 --sequence 8192 -s micro_batch=1 \
    -s lengths.batches=1
out 'tokens on the mean; static split'

# What cannot be has a reason.
refuse() { # TEXT ARGUMENTS
    text=$1
    shift
    # shellcheck disable=SC2086
    run 2 plan llama-3.1-8b -g h100-sxm -n 32 --sequence 131072 $keys "$@"
    err "$text"
}
# shellcheck disable=SC2086
refuse "need the number of sequences of a step, 'global_batch'" $law -s global_batch_tokens=8388608
# shellcheck disable=SC2086
refuse 'at most 4096 sequences of a step' $law --batch 5000
# shellcheck disable=SC2086
refuse "'zero' is at most 1" $law --batch 64 -s zero=2
# shellcheck disable=SC2086
refuse "need 'pipeline_parallel' 1" $law --batch 64 -s pipeline_parallel=2
# shellcheck disable=SC2086
refuse 'need a trainer whose attention is one kernel' $law --batch 64 -s trainer=megatron-2021
run 2 plan llama-3.1-8b -g h100-sxm -n 64 -s tensor_parallel=1 -s network=50GB/s --sequence 8 -s micro_batch=8 \
    --batch 64 -s lengths.law=lognormal -s lengths.median=4
err "need 'sequence_tokens' of at least 64"
refuse 'have no effect without' --batch 64 -s lengths.split=hybrid
refuse 'have no effect without' --batch 64 -s lengths.median=2048
refuse "'lengths.median' is above 'sequence_tokens'" --batch 64 -s lengths.law=pareto -s lengths.median=131073
refuse "the LLM has fewer layers than 'linear_layers'" --batch 64 -s shape.linear_layers=33
refuse "'linear_layers' needs a trainer whose attention is one kernel" --batch 64 -s trainer=megatron-2021 \
    -s shape.linear_layers=8
refuse "unknown context_form 'tokenring'" --batch 64 -s context_form=tokenring

# What 'rl' trains follows from its service.
run 2 run rl-rollouts -q -o "$T/x.db" --set rl.training.lengths.law=pareto
err 'packed into sequences of equal length'
run 2 run rl-rollouts -q -o "$T/x.db" --set rl.training.shape.linear_layers=8
err 'services generate with softmax attention in all layers'

# A job takes as long as its steps.
cat >"$T/s.json" <<END
{"cluster": {"nodes": 4, "gpus_per_node": 8, "gpu": "h100-sxm", "network": {"bandwidth": "50GB/s"}},
 "jobs": {"types": {"mixed": {"training": {"llm": "llama-3.1-8b", "context_parallel": 16, "sequence_tokens": 131072,
     "global_batch": 64, "recompute": "full",
     "lengths": {"law": "lognormal", "median": 2048, "spread": 1.5, "split": "hybrid"}}}},
   "trace": {"format": "inline-jobs", "jobs": [{"type": "mixed", "gpus": 32, "steps": 50}]}}}
END
run 0 run "$T/s.json" -q -o "$T/r.db"
near "$(sqlite3 "$T/r.db" 'select end_s - start_s from job')" "50 * $hybrid_s"
finish
