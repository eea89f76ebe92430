#!/bin/sh
# `orrery list clusters` and `explain cluster`: NICs and switches, where each number is from, and what is refused.
. tests/cli/lib.sh

# The vendor's table for 127 nodes has 32 leaves with 32 cables above each.
run 0 explain cluster superpod-h100 --csv
row() { grep "^$1," "$T/out" | cut -d, -f2; }
equal "$(row gpu) $(row nodes) $(row gpus) $(row leaves) $(row '"\{0,1\}ports above a leaf"\{0,1\}')" \
    'h100-sxm 127 1016 32 32' 'a SuperPOD'
grep -q '^nodes below a leaf,32,,configs/clusters/superpod-h100.json:[0-9]*:[0-9]*,datasheet,' "$T/out" ||
    complain 'the place and the source of the nodes below a leaf'

# --set changes it as it changes a scenario: half the nodes have half the leaves.
run 0 explain cluster superpod-h100 --csv --set cluster.nodes=64
equal "$(row nodes) $(row leaves)" '64 16' 'half a SuperPOD'
grep -q '^nodes,64,,--set cluster.nodes,' "$T/out" || complain 'the place of --set'

# A server alone has no switches. A pod with a third level has pods.
run 0 explain cluster dgx-b300 --csv
equal "$(row topology) $(row leaves)" 'flat ' 'a server'
run 0 explain cluster llama3-h100 --csv
equal "$(row pods) $(row 'oversubscription of pods')" '8 7' 'pods'

# Files and scenarios can be described too, with their types of nodes.
run 0 explain cluster disaggregated --csv
equal "$(grep -c '^"nodes of type hopper, of 8 h100-sxm",1,,' "$T/out")" 1 'a node type'
equal "$(row gpus)" 24 'GPUs of two nodes of 8 and of a type with one'
printf '{"extends": ["configs/clusters/superpod-b200.json"], "cluster": {"nodes": 64}}' >"$T/own.json"
run 0 explain cluster "$T/own.json" --csv
equal "$(row leaves)" 16 'a file'
printf '{"cluster": {"nodes": 4}}' >"$T/bare.json"
run 2 explain cluster "$T/bare.json"
err "'gpu'"

# All clusters of the list are described; the list has what the description has.
run 0 list clusters --csv
cp "$T/out" "$T/list"
for name in $(sed 1d "$T/list" | cut -d, -f1); do
    leaves=$(grep "^$name," "$T/list" | cut -d, -f9)
    run 0 explain cluster "$name" --csv
    equal "$(row leaves)" "$leaves" "leaves of $name"
    run 0 explain links "$name" --csv
done

# A cluster is no scenario, and slips are named.
run 2 run superpod-h100
err 'this is a cluster'
run 2 explain cluster superpod-h10
err "did you mean 'superpod-h100'?"
run 2 explain cluster quickstrat
err 'no cluster or scenario'
run 2 explain cluster superpod-h100 --set cluster.gpu=nope
err "--set cluster.gpu: error: unknown GPU 'nope'"
run 2 list clusters zzz
err 'zzz'
finish
