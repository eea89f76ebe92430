#!/bin/sh
# orrery plan: the bytes of a step over each level of links are those that a job with this plan moves, and the job is
# slower exactly where racks are oversubscribed by more than the plan says.
. tests/cli/lib.sh

metric() {
    value=$(sqlite3 "$T/run.db" "select value from metric where name = '$1'")
    echo "${value:-0}"
}
near() { # EXPRESSION EXPECTED
    equal "$(sqlite3 :memory: "select abs(($1) - ($2)) <= 1e-9 * ($2)")" 1 "$plan, racks of $rack: $1, near $2"
}
# 50 steps on 32 GPUs of 4 nodes, with one wide port above each rack.
job() { # OVERSUBSCRIPTION
    cat >"$T/job.json" <<END
{"cluster": {"nodes": 4, "gpus_per_node": 8, "gpu": "h100-sxm",
   "network": {"bandwidth": "50GB/s", "topology": "leaf-spine", "nodes_per_leaf": $rack, "uplink": "100TB/s",
     "oversubscription": $1}},
 "jobs": {"types": {"t": {"training": {$plan}}},
   "trace": {"format": "inline-jobs", "jobs": [{"submit": "0s", "type": "t", "gpus": 32, "steps": 50}]}}}
END
    rm -f "$T/run.db"
    run 0 run "$T/job.json" -q -o "$T/run.db"
}
check() { # PLAN
    plan=$1
    for rack in 1 2 3 4; do
        cat >"$T/p.plan.json" <<END
{"gpu": "h100-sxm", "gpus": 32, "gpus_per_node": 8, "nodes_per_rack": $rack, "network": "50GB/s", $plan}
END
        run 0 plan "$T/p.plan.json" --json
        rack_bytes=$(json_of "$T/out" '$.traffic.rack_bytes') site_bytes=$(json_of "$T/out" '$.traffic.site_bytes')
        binds=$(json_of "$T/out" '$.traffic.binds_at_oversubscription')
        job 1
        near "$(metric link.network.bytes)" "2 * 50 * ($rack_bytes + $site_bytes)"
        [ $rack = 4 ] || near "$(metric link.uplink.bytes)" "2 * 50 * $site_bytes"
        [ $rack != 4 ] || equal "$site_bytes$binds" 0 'one rack sends nothing to others'
        [ -n "$binds" ] || continue
        job "$(sqlite3 :memory: "select 0.9999 * $binds")"
        equal "$(sqlite3 :memory: "select $(metric job.network_speed) = 1.0")" 1 "$plan, racks of $rack below $binds"
        job "$(sqlite3 :memory: "select 1.05 * $binds")"
        equal "$(sqlite3 :memory: "select $(metric job.network_speed) < 1.0")" 1 "$plan, racks of $rack above $binds"
    done
}
check '"llm": "llama-3.1-8b", "tensor_parallel": 4, "global_batch": 64'
check '"llm": "llama-3.1-8b", "tensor_parallel": 2, "pipeline_parallel": 4, "global_batch": 64'
check '"llm": "llama-3.1-8b", "tensor_parallel": 16, "global_batch": 64'
check '"llm": "qwen3-30b-a3b", "tensor_parallel": 1, "expert_parallel": 16, "global_batch": 64, "recompute": "full"'
check '"llm": "llama-3.1-8b", "tensor_parallel": 2, "context_parallel": 8, "recompute": "full", "sequence_tokens": 32768,
    "global_batch": 8'
check '"llm": "llama-3.1-8b", "tensor_parallel": 1, "context_parallel": 16, "context_form": "all-to-all", "recompute": "full",
    "sequence_tokens": 32768, "global_batch": 8'
check '"llm": "llama-3.1-8b", "tensor_parallel": 4, "pipeline_parallel": 4, "pipeline_chunks": 2, "schedule": "interleaved",
    "global_batch": 64'
check '"llm": "llama-3.1-8b", "tensor_parallel": 1, "zero": 3, "global_batch": 64, "recompute": "full"'

# Bytes per token are those of the step; a plan on one node has none between nodes.
run 0 plan llama-3.1-8b -g h100-sxm -n 8 --batch 64 --set tensor_parallel=4 --json
equal "$(json_of "$T/out" '$.traffic.rack_bytes')" 0 'between nodes of one node'
equal "$(sqlite3 :memory: "select abs(json_extract(readfile('$T/out'), '\$.traffic.node_bytes')
    / json_extract(readfile('$T/out'), '\$.traffic.node_bytes_per_token') / (64 * 4096) - 1) < 1e-9")" 1 'bytes per token'
finish
