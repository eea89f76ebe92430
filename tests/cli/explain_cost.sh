#!/bin/sh
# `orrery explain cost` counts what the cost models price; files of a GPU or an LLM are found beside the scenario that
# names them.
. tests/cli/lib.sh

# Jobs have no iterations.
printf '{"jobs": {"trace": {"format": "inline-jobs", "jobs": [{"duration": "5s"}]}}, "cluster": {"nodes": 1}}\n' >"$T/jobs.json"
run 2 explain cost "$T/jobs.json"
err 'error: the scenario has no services, whose iterations have a cost'

# near PATH EXPECTED: the number at this path of the JSON is EXPECTED, an SQL expression, within 1e-9 of it.
near() {
    ok=$(sqlite3 :memory: "select abs(json_extract(readfile('$T/out'), '$1') / ($2) - 1) < 1e-9")
    equal "$ok" 1 "$1 = $(json_of "$T/out" "$1"), near $2"
}
# row PHASE SEQUENCES TOKENS: the index of this row.
row() {
    sqlite3 :memory: "select key from json_each(readfile('$T/out')) where json_extract(value, '\$.phase') = '$1'
        and json_extract(value, '\$.sequences') = $2 and json_extract(value, '\$.tokens_each') = $3"
}
service() { # LLM, COST
    cat >"$T/s.json" <<END
{ "cluster": {"gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "$1", "cost": $2, "tensor_parallel": 2,
                        "trace": {"format": "generate", "count": 1}}} }
END
    run 0 explain cost "$T/s.json" --json
}

# Llama-2-7B: 2 FLOP per weight of the layers for each token, the head once per sequence, 4 * 4096 per layer and pair;
# 2 bytes per weight of the layers and the head, 524288 per token of context.
layers='32.0 * (4 * 4096 * 4096 + 3 * 4096 * 11008)' head='32000.0 * 4096'
service llama-2-7b '"roofline"'
p=$(row prefill 1 2048) d=$(row decode 8 2048)
near "\$[$p].tflop" "(2 * (2048 * $layers + $head) + 4.0 * 4096 * 32 * 2048 * 2048 / 2) / 1e12"
near "\$[$p].gb" "(2 * ($layers + $head) + 524288.0 * 2048) / 1e9"
near "\$[$d].tflop" "(2 * 8 * ($layers + $head) + 4.0 * 4096 * 32 * 8 * 2048) / 1e12"
near "\$[$d].gb" "(2 * ($layers + $head) + 524288.0 * 8 * 2048) / 1e9"
near "\$[$d].tokens_per_s" "8e3 / $(json_of "$T/out" "\$[$d].ms")"
near "\$[$d].compute_frac" "$(json_of "$T/out" "\$[$d].tflop") / (2 * 312 * $(json_of "$T/out" "\$[$d].ms") / 1e3)"

# Mistral-7B looks back 4096 tokens: a prompt of 8192 has 4096^2 / 2 + 4096 * 4096 pairs; decoding reads 4096 of 8192.
layers='32.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)'
service mistral-7b '"roofline"'
p=$(row prefill 1 8192) d=$(row decode 1 8192)
near "\$[$p].tflop" "(2 * (8192 * $layers + $head) + 4.0 * 4096 * 32 * 1.5 * 4096 * 4096) / 1e12"
near "\$[$d].tflop" "(2 * ($layers + $head) + 4.0 * 4096 * 32 * 4096) / 1e12"
near "\$[$d].gb" "(2 * ($layers + $head) + 131072.0 * 4096) / 1e9"

# Gemma 3 looks back 1024 tokens in 52 layers, and at all in 10: 8192 bytes of keys and values per layer and token.
service gemma-3-27b '"roofline"'
at() { echo "\$[$(row decode 8 "$1")].gb"; }
near "$(at 8192)" \
    "json_extract(readfile('$T/out'), '$(at 512)') + 8 * (10 * (8192 - 512) + 52 * (1024 - 512)) * 8192 / 1e9"

# What takes no time has no rate.
service llama-2-7b '{"kind": "affine"}'
json '$[0].ms' 0
json '$[0].tokens_per_s' ''
json '$[0].memory_frac' ''
run 0 explain cost "$T/s.json"
grep -qE 'inf|nan' "$T/out" && complain 'a rate without time'
grep -qE '^chat +prefill +1 +128 +0 +- .* - +0$' "$T/out" || complain 'no dash for what is undefined'

# An LLM that is too large for its GPUs; an engine that was measured on others.
service opt-175b '{"kind": "operators", "engine": "vllm-0.12"}'
run 0 explain cost "$T/s.json"
out 'chat: opt-175b does not fit into this memory: no run will start'
out 'chat: engine vllm-0.12 was measured on h100-sxm with 2, 4 and 8 GPUs; its CPU overhead for 2 x a100-80-sxm is that of 2 GPUs'

# Files ending in .json are found beside the document that names them, in --set from the current directory.
mkdir -p "$T/site/llms" "$T/scenarios"
cp configs/hardware/t4.json "$T/site/mine.json"
cp configs/llms/phi-2.json "$T/site/llms/small.json"
cat >"$T/site/base.json" <<'END'
{ "cluster": {"gpu": "mine.json"}, "services": {"chat": {"llm": "./llms/small.json"}} }
END
cat >"$T/scenarios/s.json" <<'END'
{ "extends": ["../site/base.json"], "services": {"chat": {"trace": {"format": "generate", "count": 3}}} }
END
run 0 explain cost "$T/scenarios/s.json"
out 'chat: small on 1 x mine, operators cost, uncalibrated'
run 0 explain config "$T/scenarios/s.json"
out "$T/site/llms/small.json"
run 0 run --quiet "$T/scenarios/s.json" -o "$T/r.db"
run 0 explain cost "$T/scenarios/s.json" --set services.chat.llm=configs/llms/opt-6.7b.json
out 'chat: opt-6.7b on 1 x mine'
run 0 explain cost "$T/scenarios/s.json" --set cluster.gpu="$T/site/mine.json"
out 'on 1 x mine'
run 3 explain cost "$T/scenarios/s.json" --set services.chat.llm=llms/small.json
err 'llms/small.json'

# A prompt with weights in fp8 is no slower than in 16 bits wherever the GPU multiplies fp8 at twice the rate.
prompt_ms() { # GPU, FORMAT
    run 0 explain cost quickstart --set cluster.gpu="$1" --set services.chat.formats.weights="$2" --operators \
        --prompt 2048 --json
    sqlite3 :memory: "select sum(json_extract(value, '\$.ms')) from json_each(readfile('$T/out'))
        where json_extract(value, '\$.operator') is not null"
}
for gpu in l4 l40s rtx-4090 rtx-pro-6000 mi300x h100-sxm h200-sxm b200-sxm; do
    for format in fp8 fp8_block; do
        wide=$(prompt_ms $gpu bf16) narrow=$(prompt_ms $gpu $format)
        equal "$(sqlite3 :memory: "select $narrow < $wide")" 1 "$gpu: $narrow ms in $format, $wide ms in bf16"
    done
done
finish
