#!/bin/sh
# `orrery explain cost` takes one iteration apart by operator: the rows add up to what the iteration takes, and to what
# the table of iterations says, and each names where its parameters come from.
. tests/cli/lib.sh

# ask EXPRESSION: an SQL expression over `rows`, the JSON on standard output with one row per operator.
ask() {
    sqlite3 :memory: "with rows as (select value v, json_extract(value, '\$.operator') operator,
        json_extract(value, '\$.ms') ms, json_extract(value, '\$.share_frac') share from json_each(readfile('$T/out')))
        select $1 from rows"
}
holds_true() { equal "$(ask "$1")" 1 "$1"; }

service() { # LLM, TENSOR_PARALLEL, ENGINE
    cat >"$T/s.json" <<END
{ "cluster": {"gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "$1", "tensor_parallel": $2, "cost": {"kind": "operators", "engine": "$3"},
                        "trace": {"format": "generate", "count": 1}}} }
END
}

service llama-2-7b 2 none
run 0 explain cost "$T/s.json" --json
ms=$(sqlite3 :memory: "select json_extract(value, '\$.ms') from json_each(readfile('$T/out')) where json_extract(value,
    '\$.phase') = 'decode' and json_extract(value, '\$.sequences') = 32 and json_extract(value, '\$.tokens_each') = 2048")
run 0 explain cost "$T/s.json" --operators --batch 32 --context 2048 --json
holds_true "abs(sum(ms) / $ms - 1) < 0.02"
holds_true 'abs(sum(share) - 1) < 1e-9'
holds_true "count(*) = count(distinct operator)"
for operator in norm qkv rotary kv_write decode_attention out up activation down residual all_reduce head host; do
    holds_true "sum(operator = '$operator') = 1"
done
holds_true "sum(operator = 'prefill_attention') = 0"
holds_true "sum(json_extract(v, '\$.launches') * (operator in ('qkv', 'decode_attention'))) = 64"
holds_true "sum(json_extract(v, '\$.launches') * (operator = 'all_reduce')) = 65"

# Two halves of a layer's 7B weights in fp16: 32 (4 * 4096^2 + 3 * 4096 * 11008) numbers, and the head once.
bytes="sum(json_extract(v, '\$.gb') * (operator in ('qkv', 'out', 'up', 'down', 'head')))"
holds_true "$bytes between 6.607 and 6.607 * 1.02"
holds_true "sum(operator <> 'host' and json_extract(v, '\$.bound') not in ('compute', 'memory', 'network', 'overhead')) = 0"
holds_true "sum(json_extract(v, '\$.efficiency') > 0) = count(*) - 1"
holds_true "sum(json_extract(v, '\$.kernel') is null) = 1"
holds_true "sum(operator <> 'host' and json_extract(v, '\$.domain') in ('in', 'out', 'partly out')) = count(*) - 1"
holds_true "sum(operator <> 'host' and json_extract(v, '\$.parameters') is null) = 0"

# Both tables for people; a prompt alone decodes nothing.
run 0 explain cost "$T/s.json"
out 'tokens_per_s'
out 'chat: one iteration over 32 sequences that decode at 1024 tokens each takes '
out 'decode_attention'
run 0 explain cost "$T/s.json" --operators --prompt 512
out 'chat: one iteration over a prompt of 512 tokens takes '
out 'prefill_attention'
grep -qE 'decode_attention|tokens_per_s' "$T/out" && complain 'rows that nobody asked for'
run 0 explain cost "$T/s.json" --prompt 512 --batch 8 --context 100
out 'over a prompt of 512 tokens and 8 sequences that decode at 100 tokens each takes '

# Latent attention, shared experts, dense layers first; nothing but this kind of cost knows them.
service deepseek-v2-lite 1 none
run 0 explain cost "$T/s.json" --operators --json
for operator in up experts router; do holds_true "sum(operator = '$operator') = 1"; done
holds_true "sum(json_extract(v, '\$.launches') * (operator = 'experts')) = 26"
holds_true "sum(json_extract(v, '\$.launches') * (operator = 'up')) = 27"
run 2 explain cost "$T/s.json" --set services.chat.cost=roofline
err 'knows neither latent, linear nor chunked attention'

# What is misspelt is refused before anything runs, whoever misspelt it.
service llama-2-7b 1 none
for verb in validate run 'explain cost'; do
    run 2 $verb "$T/s.json" --set services.chat.cost.kernels=isolatd
    err "no calibration of this GPU has a set 'isolatd'; did you mean 'isolated'?"
    run 2 $verb "$T/s.json" --set services.chat.cost.calibration=nowhere.json
    err "error: there is no calibration 'nowhere.json'"
    run 2 $verb "$T/s.json" --set services.chat.cost.calibration=a100-80-sxn
    err "unknown calibration 'a100-80-sxn'; did you mean 'a100-80-sxm'?"
done
sed 's/"kernels": "in-model"/"kernels": "nonsense"/' configs/engines/vllm-0.2.json >"$T/engine.json"
run 2 validate "$T/s.json" --set services.chat.cost.engine="$T/engine.json"
err "$T/engine.json: error: no calibration of this GPU has a set 'nonsense'"
run 2 run "$T/s.json" --set services.chat.cost.calibration=default --strict-domain
err 'the operators cost is not calibrated'
run 0 run "$T/s.json" --set services.chat.cost.calibration=h100-sxm
err "warning: the calibration 'h100-sxm' is of 'h100-sxm', but the GPU is 'a100-80-sxm'"

# Parts of an LLM in formats of their own: `weights` first, then what the other keys name.
service llama-2-7b 1 none
run 0 explain cost "$T/s.json" --operators --csv --set cluster.gpu=b200-sxm --set services.chat.formats.weights=nvfp4 \
    --set services.chat.formats.attention_weights=bf16 --set services.chat.formats.head_weights=fp8
equal "$(tr -d '\r' <"$T/out" | awk -F, '$14 ~ /gemm/ { printf "%s %s, ", $2, $14 }')" \
    'qkv gemm, out gemm, up gemm_nvfp4, down gemm_nvfp4, head gemm_fp8, ' 'kernels by part'
run 2 explain cost "$T/s.json" --set services.chat.formats.expert_weights=fp8
err "llama-2-7b cannot have the 'formats' of service 'chat': 'expert_weights' is given, but it has no experts"
# `llm` keeps a part as the LLM's file has it, beside other `weights`; a part that the LLM lacks stays without one.
service gpt-oss-120b 1 none
run 0 explain cost "$T/s.json" --operators --csv --set cluster.gpu=b200-sxm --set services.chat.formats.weights=fp8 \
    --set services.chat.formats.expert_weights=llm --set services.chat.formats.shared_weights=llm
equal "$(tr -d '\r' <"$T/out" | awk -F, '$14 ~ /gemm|moe/ { printf "%s %s, ", $2, $14 }')" \
    'qkv gemm_fp8, out gemm_fp8, router gemm, experts moe_mxfp4, head gemm, ' 'kernels of the parts that stay'
run 2 explain cost "$T/s.json" --set services.chat.formats.dense_weights=fp8
err "'dense_weights' is given, but all its layers have experts"

# What would be ignored is refused.
service llama-2-7b 1 none
run 2 explain cost "$T/s.json" --operators --set services.chat.cost=roofline
err "no service has a cost model with operators"
run 2 explain cost "$T/s.json" --batch 4 --json
err 'add --operators'
run 2 explain cost "$T/s.json" --batch 0
err 'no batch and no prompt'
run 2 explain cost "$T/s.json" --context 0
err "option '--context' must be a whole number from 1 to 1073741824, got '0'"
run 2 explain cost "$T/s.json" --prompt 1e3
err "option '--prompt' must be"
run 2 explain config "$T/s.json" --operators
err 'leave them out'
finish
