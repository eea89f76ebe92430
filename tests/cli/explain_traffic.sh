#!/bin/sh
# `orrery explain cost --traffic`: its closed forms are the bytes that a run moves over links, and a replica that is
# alone on the network is slower exactly where racks are oversubscribed by more than it says.
. tests/cli/lib.sh

cat >"$T/wide.json" <<'END'
{"cluster": {"nodes": 8, "gpus_per_node": 4, "gpu": "a100-80-sxm",
   "network": {"bandwidth": "20GB/s", "topology": "leaf-spine", "nodes_per_leaf": 1, "uplink": "10TB/s"}},
 "services": {"chat": {"llm": "llama-2-7b", "tensor_parallel": 16, "cost": {"kind": "operators", "kernels": "isolated"},
   "trace": {"format": "generate", "count": 1, "arrival": {"process": "fixed", "rate": "1/s"},
     "prompt": {"distribution": "fixed", "tokens": 192}, "output": {"distribution": "fixed", "tokens": 101}}}}}
END
shared=cluster.network.collectives=shared
bytes() { # LINKS: of the iteration in the output
    sqlite3 :memory: "select json_extract(value, '\$.bytes_per_iteration') from json_each(readfile('$T/out'))
        where json_extract(value, '\$.links') = '$1'"
}
near() { # EXPRESSION EXPECTED SLACK
    equal "$(sqlite3 :memory: "select abs(($1) - ($2)) <= $3")" 1 "$1, near $2"
}
metric() {
    value=$(sqlite3 "$T/run.db" "select value from metric where name = '$1'")
    echo "${value:-0}"
}

# A prompt of 192 tokens, and 100 iterations of one token. What leaves a GPU arrives at another one: over two NICs and
# two ports.
moves() { # SETTINGS...
    sets=
    for set; do sets="$sets --set $set"; done
    run 0 explain cost "$T/wide.json" --traffic --prompt 192 --json $sets
    prompt_rack=$(bytes 'between nodes of a rack') prompt_site=$(bytes 'between racks')
    run 0 explain cost "$T/wide.json" --traffic --batch 1 --json $sets
    token_rack=$(bytes 'between nodes of a rack') token_site=$(bytes 'between racks')
    rm -f "$T/run.db"
    run 0 run "$T/wide.json" -q -o "$T/run.db" --set $shared $sets
    site="$prompt_site + 100 * $token_site"
    near "$(metric link.uplink.bytes)" "2 * ($site)" 200
    near "$(metric link.network.bytes)" "2 * ($prompt_rack + 100 * $token_rack + $site)" 200
}
for leaf in 1 2 3 4 8; do
    for wide in 8 16 32; do
        moves cluster.network.nodes_per_leaf=$leaf services.chat.tensor_parallel=$wide
    done
    for each in 1 2 4; do
        moves cluster.network.nodes_per_leaf=$leaf services.chat.llm=mixtral-8x7b services.chat.tensor_parallel=8 \
            services.chat.data_parallel=8 services.chat.cost.expert_parallel=8 cluster.gpus_per_node=$each
    done
done

# Where it says that racks bind.
first_token() {
    rm -f "$T/run.db"
    run 0 run "$T/wide.json" -q -o "$T/run.db" "$@"
    sqlite3 "$T/run.db" "select ttft_s from request"
}
for leaf in 1 2 3; do
    set -- --set cluster.network.nodes_per_leaf=$leaf --set services.chat.tensor_parallel=32
    run 0 explain cost "$T/wide.json" --traffic --prompt 192 --json "$@"
    binds=$(json_of "$T/out" '$[2].binds_at_oversubscription')
    equal "$(sqlite3 :memory: "select abs($binds - $leaf / 0.75) < 1e-9")" 1 "a ring leaves a rack over the GPUs of a node"
    alone=$(first_token "$@")
    below=$(sqlite3 :memory: "select $binds * 0.999") above=$(sqlite3 :memory: "select $binds * 1.01")
    equal "$(first_token "$@" --set $shared --set cluster.network.oversubscription="$below")" "$alone" 'as fast as alone'
    slow=$(first_token "$@" --set $shared --set cluster.network.oversubscription="$above")
    equal "$(sqlite3 :memory: "select $slow > $alone")" 1 "$slow is slower than $alone"
done

run 0 explain cost "$T/wide.json" --traffic
out 'between racks'
run 2 explain cost "$T/wide.json" --traffic --set services.chat.tensor_parallel=4
err 'no service has replicas over nodes whose cost says what they send'
run 2 explain cost "$T/wide.json" --traffic --operators
err "'--operators' and '--traffic' exclude each other"

# Shares of the time: of collectives within nodes and of those that leave them, each once.
for leaf in 1 2 8; do
    run 0 explain cost "$T/wide.json" --traffic --prompt 192 --json --set cluster.network.nodes_per_leaf=$leaf \
        --set services.chat.tensor_parallel=32
    sql :memory: "select count(json_extract(value, '\$.time_frac')) || ' ' ||
        (sum(json_extract(value, '\$.time_frac')) between 0.1 and 1) from json_each(readfile('$T/out'))" '2 1'
done

finish
