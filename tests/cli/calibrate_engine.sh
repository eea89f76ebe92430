#!/bin/sh
# orrery calibrate --engine: what it reads, prints and writes; what it refuses.
. tests/cli/lib.sh

{
    echo model,hardware,prompt_size,batch_size,token_size,prompt_time,token_time,tensor_parallel
    for gpu in a100 h100; do
        for tp in 2 4 8; do
            for n in 128 512 1024; do echo "llama2-70b,$gpu-80gb,$n,1,128,$((n / tp + 60)),$((80 / tp + 25)),$tp"; done
            echo "llama2-70b,$gpu-80gb,512,8,128,$((4096 / tp + 60)),$((80 / tp + 30)),$tp"
        done
    done
    echo llama2-70b,h100-80gb-pcap,512,1,128,100,50,8
} >"$T/iterations.csv"

run 0 calibrate --engine vllm-0.2 "$T/iterations.csv" -o "$T/preset.json"
out 'fitted on: Llama-2-70B, batches of at most 2048 prompt tokens'
out 'computed from other rows, not measured'
equal "$(sqlite3 :memory: "select group_concat(ifnull(json_extract(value, '\$.gpu'), 'all') || ' ' ||
    json_extract(value, '\$.tensor_parallel'), ', ') from json_each(readfile('$T/preset.json'), '\$.overhead')")" \
    'a100-80-sxm 2, a100-80-sxm 4, a100-80-sxm 8, h100-sxm 2, h100-sxm 4, h100-sxm 8, all 2, all 4, all 8' \
    'hosts and degrees'
for i in 0 1 3 4 6 7; do # what is shown is what is written
    tp=$(json_of "$T/preset.json" "\$.overhead[$i].tensor_parallel")
    host=$(json_of "$T/preset.json" "\$.overhead[$i].gpu")
    time=$(json_of "$T/preset.json" "\$.overhead[$i].iteration")
    equal "$(awk -v tp="$tp" -v host="${host:-all}" -v time="$time" '$1 == host && $2 == tp && NF == 5 {
        ms = time ~ /us$/ ? time / 1000 : time + 0
        print ($3 - ms) ^ 2 <= (6e-4 * ms) ^ 2 }' "$T/out")" 1 "iteration on $tp GPUs of ${host:-all}: $time is shown"
done
equal "$(json_of "$T/preset.json" '$.fit.all.rows')" 36 "fitted rows"
equal "$(json_of "$T/preset.json" '$.held_out.all.rows')" 12 "held-out rows"

run 0 calibrate --engine vllm-0.2 "$T/iterations.csv" --json
out_is <"$T/preset.json"
run 0 calibrate --engine vllm-0.2 "$T/iterations.csv" --csv
grep -q '^vllm-0.2,,all,fitted,36,' "$T/out" || complain 'no error of the fitted rows as CSV'
grep -q '^vllm-0.2,,all,held out,12,' "$T/out" || complain 'no error of the held-out rows as CSV'

# What has no time is no measurement, and no number of the preset is null.
{
    cat "$T/iterations.csv"
    echo llama2-70b,a100-80gb,512,1,128,100,0,8
} >"$T/untimed.csv"
run 0 calibrate --engine vllm-0.2 "$T/untimed.csv" -o "$T/timed.json"
out 'no time'
grep -q null "$T/timed.json" && complain 'a null in the preset'
{
    cat "$T/iterations.csv"
    echo llama2-70b,a100-80gb,1e308,1,128,100,50,8
} >"$T/huge.csv"
run 3 calibrate --engine vllm-0.2 "$T/huge.csv"
err "$T/huge.csv:27:22: error: 'prompt_size' must be a number of at most 1e+09, got '1e308'"

# Rows of other engines are told, and not counted as read.
{
    echo backend,backend_version,model_path,system,mode,isl,osl,gemm_quant_mode,batch_size,tp_size,pp_size,silicon_tpot_ms
    for users in 1 2 4 8; do
        for engine in vllm,0.12.0 trtllm,1.0.0rc3 sglang,0.5.1.post1; do
            echo "$engine,Qwen/Qwen3-32B,h100_sxm,agg,1024,128,,$users,4.0,1.0,$((users + 10))"
        done
    done
} >"$T/serving.csv"
run 0 calibrate --engine vllm-0.12 "$T/serving.csv"
out "serving.csv     4"
out "4  of the engine 'trtllm-1.0'"
out "4  of the engine 'sglang-0.5'"

run 2 calibrate --engine vlm-0.2 "$T/iterations.csv"
err "did you mean 'vllm-0.2'"
run 2 calibrate --engine vllm-0.2 --gpu a40 "$T/iterations.csv"
run 2 calibrate --engine vllm-0.2 --report "$T" "$T/iterations.csv"
run 3 calibrate --engine vllm-2024 "$T/iterations.csv"
err "no measurements of engine 'vllm-2024'"
echo a,b >"$T/other.csv"
run 3 calibrate --engine vllm-0.2 "$T/other.csv"
err 'other.csv:1:1: error: no known table of measured iterations'
finish
