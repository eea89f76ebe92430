#!/bin/sh
# `orrery explain links` tells how fast each way is, alone and shared, and by which links it goes.
. tests/cli/lib.sh

cat >"$T/s.json" <<END
{ "cluster": {"nodes": 2, "gpus_per_node": 4, "gpu": "h100-sxm", "pcie": "50GB/s",
              "pcie_switch": {"gpus": 2, "bandwidth": "60GB/s"},
              "host": {"device": "host-dram-pcie4"}, "network": {"bandwidth": "25GB/s"},
              "storage": {"fs": {"device": "samsung-980-pro", "count": 2, "software": "flexgen"},
                          "csd": {"device": "instcsd", "count": 2}}},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "generate", "count": 1}}} }
END
run 0 explain links "$T/s.json"
out_is <<'END'
from  to                   gpu_gb_per_s  node_gb_per_s  latency_us  way
gpu   host                           50            120          10  node0/gpu0/pcie-out node0/switch0-out node0/host/memory
host  gpu                            50            120          10  node0/host/memory node0/switch0-in node0/gpu0/pcie-in
host  attention there            150.16         150.16          10  node0/host/memory
gpu   fs                           10.2           10.2          27  node0/gpu0/pcie-out node0/switch0-out node0/host/memory node0/host/memory node0/fs/in node0/fs/write
fs    gpu                           1.1            1.1          55  node0/fs/read node0/fs/out node0/fs/software-read node0/host/memory node0/host/memory node0/switch0-in node0/gpu0/pcie-in
gpu   csd                          7.56           7.56          20  node0/gpu0/pcie-out node0/switch0-out node0/csd/in node0/csd/write
csd   gpu                            14             14          50  node0/csd/read node0/csd/out node0/switch0-in node0/gpu0/pcie-in
csd   attention there             15.32          15.32          50  node0/csd/read
gpu   next gpu                      450           1800           0  node0/gpu0/nvlink-out node0/gpu1/nvlink-in
gpu   gpu of another node            25            100           5  node0/gpu0/pcie-out node0/gpu0/nic-out node1/gpu0/nic-in node1/gpu0/pcie-in
END
run 0 explain links "$T/s.json" --json
equal "$(json_of "$T/out" '$[1].node_gb_per_s')" 120 'GB/s of a node, in JSON'

# However many drives there are, a GPU gets no more than its own port carries.
run 0 explain links "$T/s.json" --json --set cluster.storage.csd.count=20
equal "$(json_of "$T/out" '$[6].from') $(json_of "$T/out" '$[6].gpu_gb_per_s') $(json_of "$T/out" '$[6].node_gb_per_s')" 'csd 50 120' \
    'GB/s from 20 drives to a GPU, and to all four'

# A site of several types of nodes: each of them, and the ways from one to the other.
run 0 explain links disaggregated
out_is <<'END'
from         to                   gpu_gb_per_s  node_gb_per_s  latency_us  way
gpu          host                           32            256           0  node0/gpu0/pcie-out
host         gpu                            32            256           0  node0/gpu0/pcie-in
gpu          next gpu                      300           2400           0  node0/gpu0/nvlink-out node0/gpu1/nvlink-in
gpu          gpu of another node            25            200           5  node0/gpu0/pcie-out node0/gpu0/nic-out node1/gpu0/nic-in node1/gpu0/pcie-in
gpu          hopper gpu                     25            200           5  node0/gpu0/pcie-out node0/gpu0/nic-out node2/gpu0/nic-in node2/gpu0/pcie-in
hopper gpu   hopper host                    64            512           0  node2/gpu0/pcie-out
hopper host  hopper gpu                     64            512           0  node2/gpu0/pcie-in
hopper gpu   next hopper gpu               450           3600           0  node2/gpu0/nvlink-out node2/gpu1/nvlink-in
hopper gpu   gpu                            25            200           5  node2/gpu0/pcie-out node2/gpu0/nic-out node0/gpu0/nic-in node0/gpu0/pcie-in
END
run 0 explain links disaggregated --set cluster.node_types.hopper.nodes=2 --set cluster.nodes=1
out 'hopper gpu   hopper gpu of another node            25            200'
equal "$(grep -c '^gpu .*gpu of another node' "$T/out")" 0 'ways to other nodes of a type with one'
run 0 explain links disaggregated --set cluster.network=null --set services.chat.kv_transfer.bandwidth=25GB/s
equal "$(grep -c 'hopper gpu  *gpu ' "$T/out")" 0 'ways between types without a network'

# What the catalog does not know is told, with what it does.
run 2 explain links "$T/s.json" --set cluster.storage.fs.software=vllm
err_is <<'END'
--set cluster.storage.fs.software: error: storage device 'samsung-980-pro' has no software 'vllm'; 'samsung-980-pro' lists "flexgen", "flexgen-gds"
END
run 2 explain links "$T/s.json" --batch 3
finish
