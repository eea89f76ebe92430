#!/bin/sh
# Public traces, whole: every request finishes with exactly its tokens, every job gets exactly its GPU-seconds.
. tests/cli/lib.sh
optimised

data=../shared/data
requests=$data/request_traces/azure_llm_2023_conversation.csv
jobs=$data/job_traces/philly_2017_jobs__13_virtual_clusters.csv
prompts=$data/request_traces/mooncake_fast25_conversation.jsonl
[ -r $requests ] && [ -r $jobs ] && [ -r $prompts ] || skip "needs $requests, $jobs and $prompts"

run 0 run configs/scenarios/azure-conversation.json --set services.chat.trace.path=$requests --json -o "$T/azure.db"
json '$.metrics."request.arrived"' 19366
json '$.metrics."request.finished"' 19366
sql "$T/azure.db" "select count(*), sum(prompt_tokens), sum(output_tokens) from request where status = 'finished'" \
    "$(awk -F, 'NR > 1 { n++; prompt += $2; output += $3 } END { printf "%d|%d|%d", n, prompt, output }' $requests)"

for how in '' '--set cluster.unlimited=true'; do
    run 0 run configs/scenarios/philly-cluster.json --set jobs.trace.path=$jobs --json $how
    json '$.metrics."job.ended"' 70783
    json '$.metrics."job.gpu_s.sum"' 2303146934
done
equal "$(sqlite3 :memory: "select printf('%.2f', json_extract(readfile('$T/out'), '\$.metrics.\"job.gpus_in_use.mean\"'))")" \
    244.79 'mean number of GPUs in use'
json '$.metrics."job.queue_s.max"' 0

# In groups of one prefix a cache of 300 blocks finds nearly what one without limit finds in any order.
for order in as-it-is prefix-groups; do
    run 0 trace convert $prompts -o "$T/$order.jsonl" -t mooncake --set offline=$order
    run 0 trace stat "$T/$order.jsonl" --prefix-cache lru=300,1000000 --json
    cp "$T/out" "$T/$order"
done
hits() { sqlite3 :memory: "select json_extract(readfile('$T/$1'), '\$.prefix_cache[$2].block_hits')"; }
equal "$(hits as-it-is 1)" "$(hits prefix-groups 1)" 'hits of a cache without limit'
sql :memory: "select $(hits prefix-groups 0) > 0.97 * $(hits prefix-groups 1), $(hits as-it-is 0) < 0.2 * $(hits prefix-groups 0)" '1|1'
finish
