#!/bin/sh
# MIG slices: a study has the prices of its answer, and a node moves as much to and from its host cut or whole.
. tests/cli/lib.sh

run 0 size phi-2 --rate 10/s --requests 100 --prompt 300 --output-tokens 50 --gpu h100-sxm:1g.10gb --max-gpus 4 \
    --slo ttft.p99=1s -q --json --study "$T/slices.json"
price=$(json_of "$T/out" '$.best[0].usd_per_h')
json '$.prices[0].usd_per_h' 0.67
json '$.prices[0].origin' "one of 7 parts of the GPU's price: RunPod's price, 2024, in Griggs et al., Melange (2024), who scale it to Azure's level, \$7.516/h; this one is not scaled"
holds "$T/slices.json" '"gpu": "h100-sxm:1g.10gb"'
holds "$T/slices.json" '"gpu_price": "$4.69/h"'
run 0 sweep "$T/slices.json" -o "$T/slices.db" -q
equal "$(sqlite3 "$T/slices.db" "select round(min(value), 4) from metric where name = 'cost.usd_per_h'")" "$price" 'price of the study'
run 2 size phi-2 --rate 10/s --slo ttft.p99=1s -s cluster.mig=1g.10gb
err "cluster.mig is what 'size' searches; name slices with --gpu, such as h100-sxm:1g.10gb"

rates() { # PROFILE SETTINGS...: the rates of a node between GPUs, host and network
    profile=$1
    shift
    run 0 explain links "$T/links.json" -s cluster.mig="$profile" --csv "$@"
    sqlite3 :memory: ".import --csv $T/out t" 'select "from", "to", round("node_gb_per_s", 6) from t where "to" <> "next gpu"'
}

cat >"$T/links.json" <<'END'
{"cluster": {"gpu": "h100-sxm", "mig": "7g.80gb", "gpus_per_node": 8, "nodes": 2, "network": {"bandwidth": "5GB/s"}},
 "services": {"s": {"llm": "phi-2", "trace": {"format": "generate", "count": 5}}}}
END
for links in network.latency=5us pcie=20GB/s pcie_switch='{"gpus": 4, "bandwidth": "30GB/s"}'; do
    whole=$(rates 7g.80gb -s cluster."$links")
    case $whole in *'gpu|host|'*) ;; *) complain "no rates of $links" ;; esac
    case $whole in *'|40.0'*) ;; *) complain "no network of eight NICs" ;; esac
    for profile in 1g.10gb 2g.20gb; do
        equal "$(rates "$profile" -s cluster."$links")" "$whole" "rates with $links, cut by $profile"
    done
done

# A slice of a file is found beside the file that names it; mixed numbers of slices have no common switch.
cp configs/hardware/h100-sxm.json "$T/mine.json"
mkdir "$T/below"
sed 's,"gpu": "h100-sxm"\, "mig": "7g.80gb",  "gpu": "../mine.json:1g.10gb",' "$T/links.json" >"$T/below/links.json"
run 0 run "$T/below/links.json" -q -s cluster.nodes=1
run 2 run "$T/links.json" -q -s 'cluster.pcie_switch={"gpus": 4, "bandwidth": "30GB/s"}' \
    -s 'cluster.node_types={"b": {"gpu": "h100-sxm:1g.10gb"}}'
err 'node types have different numbers of MIG slices per GPU, and PCIe switches'

# What a cut changes stands beside what was before, also a default that nobody wrote.
like() { grep -qE "$1" "$T/out" || complain "nothing in its output is like: $1"; }
run 0 explain config quickstart -s cluster.mig=1g.10gb
like '^cluster.gpus_per_node +56 .*\(written: 8\) GPUs of each node'
like '^cluster.gpu +a100-80-sxm:1g.10gb .*\(written: a100-80-sxm\)'
like '^cluster.network.bandwidth +[0-9.]+B/s .*\(written: 25GB/s\)'
run 0 explain config quickstart -s cluster.mig=1g.10gb --json
sql :memory: "select value ->> 'value', value ->> 'written' from json_each(readfile('$T/out')) where value ->> 'key' = 'cluster.gpus_per_node'" '56|8'
run 0 explain config quickstart
! grep -q '(before' "$T/out" || complain 'nothing is cut'

# What follows a slice's name in errors and warnings.
run 2 run "$T/links.json" -q -s cluster.mig=1g.10gb -s services.s.llm=llama-3.1-8b
err 'take a larger profile, or whole GPUs'

finish
