#!/bin/sh
# The figure of vLLM's paper as it is shipped, with a tenth of the requests at the rates that its shares are read at.
. tests/cli/lib.sh

mkdir "$T/data"
cp -r configs "$T/data/"
F=$T/data/configs/figures/vllm
sed -i 's/"count": 7200/"count": 1500/' "$F/serving.scenario.json"
sed -i 's|"values": \["0.1/s".*|"values": ["0.2/s", "0.5/s", "1/s",|; s|^      "0.8/s".*|      "2/s", "4/s"]}|; s/"seeds": 3/"seeds": 1/' "$F/rates.study.json"
ORRERY_DATA=$T/data
export ORRERY_DATA

"$ORRERY" figure run vllm/serving -o "$T" --json >"$T/out" 2>"$T/err" # few requests: ratios of rates may miss, which is 1
status=$?
[ $status -le 1 ] || { complain "exit status $status of the figure"; head -5 "$T/err"; }
verdict() { # the start of the claim
    sqlite3 :memory: "select json_extract(value, '\$.verdict') from json_each(readfile('$T/out'))
        where json_extract(value, '\$.claim') like '$1%'"
}
for system in 'Orca (max)' 'Orca (pow2)' 'Orca (oracle)' 'vLLM'; do
    equal "$(verdict "$system at 2 requests/s: share")" pass "slots that hold a token, $system"
done
equal "$(verdict 'share of the slots that hold')" pass 'the order of shares'
equal "$(verdict 'sequences batched at 2 requests/s: max, oracle')" pass 'the order of batches'
finish
