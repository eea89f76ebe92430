#!/bin/sh
# Kernels by library and version: what was measured, what is older than the engine, and how far measurements disagree.
. tests/cli/lib.sh

run 0 list kernels h100-sxm --csv
grep -q '^h100-sxm,isolated,vLLM,0.14.0,2026,"gemm, ' "$T/out" || complain 'no products of vLLM 0.14'
grep -q '^h100-sxm,isolated,NCCL,2.27.3,2025,"all_reduce, ' "$T/out" || complain 'no collectives of NCCL'
grep -q '^h100-sxm,in-model,Vidur,,2024,' "$T/out" || complain 'no operators of Vidur'
run 0 list engines vllm-0.12
out 'vLLM 0.12 (2025), NCCL (2025), DeepEP (2025)'

# A run says what is older than the engine. So do validate and explain, in the same words.
older='engine vllm-0.12 on h100-sxm is of vLLM 0.12 (2025); older are norm, rotary, activation, embedding of Vidur (2024)'
set -- quickstart --set cluster.gpu=h100-sxm --set services.chat.trace.limit=20
run 0 run "$@" -o "$T/r.db"
out "warning: kernels: service 'chat': $older"
sql "$T/r.db" "select text from warning where code = 'kernels'" "service 'chat': $older"
run 0 validate "$@"
out 'quickstart: ok'
err "quickstart: warning: service 'chat': $older; 'orrery list kernels' shows what was measured"
run 0 explain cost "$@"
out "chat: $older"
for form in --json --csv; do
    run 0 explain cost "$@" $form
    ! grep -q 'older are' "$T/out" || complain "a note among the data of $form"
    err "warning: chat: $older"
done

# A set that the scenario names is silent about its own classes alone. Without an engine nothing is said.
run 0 validate "$@" --set 'services.chat.cost={"kind": "operators", "kernels": "isolated"}'
err "service 'chat': $older"
run 0 validate "$@" --set 'services.chat.cost={"kind": "operators", "kernels": "in-model"}'
! grep -q 'norm' "$T/err" || complain 'norms of the named set are called older'
for cost in '{"kind": "operators", "engine": "none"}' '"roofline"'; do
    run 0 validate "$@" --set "services.chat.cost=$cost"
    ! grep -q 'older' "$T/err" || complain "older kernels of $cost"
done

# The GPU's sets that fit the engine are named; kernels of much later years are.
fitting="set 'vllm-0.24' has fitting gemm, prefill_attention, decode_attention"
run 0 validate "$@" --set services.chat.cost.engine=vllm-0.19
err "$fitting; 'orrery list kernels' shows"
run 0 run "$@" --set services.chat.cost.engine=vllm-0.19
out "; $fitting"
run 0 explain cost "$@" --set services.chat.cost.engine=vllm-0.19
out "; $fitting"
run 0 validate "$@" --set services.chat.cost.engine=vllm-0.2
err '; newer by years are prefill_attention, decode_attention of vLLM 0.14.0 (2026)'

# An engine for the GPUs of one maker runs on no others: an error of run, and in 'size' a GPU without a fleet.
amd="engine trtllm-1.0 runs on NVIDIA's GPUs only, and mi300x is AMD's"
run 2 run quickstart --set cluster.gpu=mi300x --set services.chat.cost.engine=trtllm-1.0
err "$amd; 'orrery list engines' lists others"
run 0 validate quickstart --set cluster.gpu=mi300x
run 0 size llama-3.1-8b --rate 1/s --requests 20 --slo ttft.p95=10s --gpu 'mi300x=$3/h' --max-gpus 1 -q \
    --set services.llm.cost.engine=trtllm-1.0
out 'no configuration of at most 1 GPU meets this'
out "mi300x: cannot run llama-3.1-8b: $amd"

# Kernels of a GPU that nobody measured are said to be those of others.
run 0 validate quickstart --set cluster.gpu=mi300x
err "engine vllm-0.12 on mi300x, with kernels measured on other GPUs (the fit 'default'), is of vLLM 0.12 (2025); older are norm"
run 0 validate quickstart --set cluster.gpu=b300-sxm
err "engine vllm-0.12 on b300-sxm, with kernels measured on other GPUs (b200-sxm, the fit 'default'), is of vLLM 0.12 (2025)"

# A format without units of the GPU is emulated.
emulated() { # GPU LINES
    run 0 run quickstart --set cluster.gpu=$1 --set services.chat.formats.weights=nvfp4 --set services.chat.trace.limit=20
    equal "$(grep -c "^warning: emulated: service 'chat': $1 has no units for products in nvfp4: " "$T/out")" "$2" "emulation on $1"
}
emulated h200-sxm 1
emulated b200-sxm 0

# Two pools of one engine on two GPUs have a line each.
run 0 validate disaggregated
err ", pool 'prompts': engine vllm-0.12 on h100-sxm is"
err ", pool 'tokens': engine vllm-0.12 on a100-80-sxm is"

# Another library, no older than the engine.
run 0 explain cost quickstart --set cluster.gpu=h200-sxm
out '; of other libraries are gemm'

# The shortest and longest time by the sets that have a class lie around that of each set; one set has no span.
run 0 explain cost quickstart --set cluster.gpu=h100-sxm --operators --json
cp "$T/out" "$T/first.json"
spans() { # FILE
    sqlite3 :memory: "select count(*), sum(least <= ms and ms <= most), sum(least < most) from (
        select value ->> '$.ms' * (1 + 1e-12) as ms, value ->> '$.least_ms' * 1.0 as least,
            value ->> '$.most_ms' * (1 + 1e-9) as most from json_each(readfile('$1')) where value ->> '$.kernel' = 'gemm')"
}
equal "$(spans "$T/first.json")" '5|5|5' 'products within their span'
equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/first.json'))
    where value ->> '$.kernel' = 'norm' and value ->> '$.least_ms' is null")" 1 'norms, which one set has'
for set in in-model isolated vllm-0.24 sglang-0.5; do
    run 0 explain cost quickstart --set cluster.gpu=h100-sxm --set services.chat.cost.kernels=$set --operators --json
    equal "$(spans "$T/out")" '5|5|5' "products of $set within their span"
    equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/first.json')) a, json_each(readfile('$T/out')) b
        where a.value ->> '$.operator' = b.value ->> '$.operator' and a.value ->> '$.kernel' = 'gemm'
        and abs(a.value ->> '$.most_ms' - b.value ->> '$.most_ms') < 1e-12")" 5 "the span by $set is the same"
done

# Sets of a GPU that this one is like count, and attention without the write to the cache beside such alone.
like='--set cluster.gpu=a100-80-pcie'
grep -q '"like": "a100-80-sxm"' configs/calibration/a100-80-pcie.json || complain 'the A100 PCIe is like no other'
run 0 explain cost quickstart $like --operators --json
equal "$(spans "$T/out")" '5|5|5' 'products of a like GPU within their span'
attention() {
    sqlite3 :memory: "select count(*), sum(value ->> '$.least_ms' is null) from json_each(readfile('$T/out'))
        where value ->> '$.kernel' = 'decode_attention'"
}
run 0 explain cost quickstart --operators --json
equal "$(attention)" '1|1' 'attention that one set has with the write'
run 0 explain cost quickstart --set cluster.gpu=h100-sxm --operators --json
equal "$(attention)" '1|0' 'attention that two sets have with the write'

# A kernel that an engine takes where told to is neither suggested nor another measurement of the one that it takes.
set -- quickstart --set cluster.gpu=b200-sxm --set cluster.gpus_per_node=8 --set services.chat.llm=deepseek-v3 \
    --set services.chat.tensor_parallel=8
span_of_experts() {
    sqlite3 :memory: "select max(abs(value ->> '$.most_ms' - $1)) < 1e-9 from json_each(readfile('$T/out'))
        where value ->> '$.operator' = 'experts'"
}
run 0 explain cost "$@" --set services.chat.cost.kernels=sglang-0.5 --operators --json
most=$(sqlite3 :memory: "select value ->> '$.ms' from json_each(readfile('$T/out')) where value ->> '$.operator' = 'experts'")
run 0 explain cost "$@" --set services.chat.cost.engine=trtllm-1.0 --operators --json
equal "$(span_of_experts "$most")" 1 'the slowest experts without those asked for'
run 0 explain cost "$@" --set services.chat.cost.engine=trtllm-1.0
! grep -q 'deepgemm' "$T/out" || complain 'kernels to be asked for are suggested'
sed 's/"own_kernels": "trtllm-1.3"/&, "experts": "trtllm-1.3-deepgemm"/' configs/engines/trtllm-1.0.json >"$T/asked.json"
run 0 explain cost "$@" --set services.chat.cost.engine="$T/asked.json" --operators --json
equal "$(sqlite3 :memory: "select value ->> '$.ms' = value ->> '$.most_ms' and value ->> '$.most_ms' > $most
    from json_each(readfile('$T/out')) where value ->> '$.operator' = 'experts'")" 1 'experts asked for'

# A preset's set of experts that no GPU has, or without experts, would be read in vain.
for set in trtllm-1.3-depgemm flash-attention-2; do
    sed "s/trtllm-1.3-deepgemm/$set/" "$T/asked.json" >"$T/vain.json"
    run 2 explain cost "$@" --set services.chat.cost.engine="$T/vain.json"
    err "vain.json: error: 'experts': no GPU has a set '$set' with such kernels"
done

# A file of one's own states its library; a set that does not exist has a hint.
printf 'kernel,tokens,width,number_bytes,time_us\n' >"$T/norm.csv"
for tokens in 1 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384; do
    echo "norm,$tokens,4096,2,$((5 + tokens / 100))" >>"$T/norm.csv"
done
run 0 calibrate --gpu a100-80-sxm --library 'our kernels 1.2, 2023' "$T/norm.csv" -o "$T/mine.json"
equal "$(json_of "$T/mine.json" '$.sets.isolated.norm.measured_with')" \
    '[{"library":"our kernels","version":"1.2","year":2023}]' 'the library of a file'
run 0 explain cost quickstart --set services.chat.cost.calibration="$T/mine.json"
out 'older are norm of our kernels 1.2 (2023)'
run 0 explain cost quickstart --set services.chat.cost.calibration="$T/mine.json" --operators --json
equal "$(sqlite3 :memory: "select count(*), sum(value ->> '$.least_ms' < value ->> '$.most_ms')
    from json_each(readfile('$T/out')) where value ->> '$.kernel' = 'norm'")" '1|1' 'norms of two files'
mkdir -p "$T/__vllm0.14.0__"
cp "$T/norm.csv" "$T/__vllm0.14.0__/vidur.csv"
run 0 calibrate --gpu a100-80-sxm "$T/__vllm0.14.0__/vidur.csv" -o "$T/folder.json"
equal "$(json_of "$T/folder.json" '$.sets.isolated.norm.measured_with')" '' 'no library by the name of a folder'
sed 's/"version": "1.2"/"version": "main"/' "$T/mine.json" >"$T/main.json"
run 2 explain cost quickstart --set services.chat.cost.calibration="$T/main.json"
err "the version 'main' of our kernels does not begin with a digit; write one like"
run 0 calibrate --gpu a100-80-sxm "$T/norm.csv" -o "$T/unstated.json"
equal "$(json_of "$T/unstated.json" '$.sets.isolated.norm.measured_with')" '' 'no library where none is known'
run 0 explain cost quickstart --set services.chat.cost.calibration="$T/unstated.json"
! grep -q 'older are .*norm' "$T/out" || complain 'norms without a library are called older'
run 2 calibrate --gpu a100-80-sxm --library vLLM "$T/norm.csv"
err "--library: error: 'vLLM' is not a library with a year"
run 2 calibrate --predict a100-80-sxm --library 'vLLM, 2026' "$T/norm.csv"
err 'only a fitted file states a library'
run 2 explain cost quickstart --set services.chat.cost.kernels=qqq
err "'orrery list kernels' shows the sets of each GPU"
finish
