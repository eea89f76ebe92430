#!/bin/sh
# The figure of vLLM's paper as it is shipped, with a fifth of the requests, one seed and five of the rates, among them
# those that its shares and batches are read at.
. tests/cli/lib.sh
optimised

mkdir "$T/data"
cp -r configs "$T/data/"
F=$T/data/configs/figures/vllm
sed -i 's/"count": 7200/"count": 1500/' "$F/serving.scenario.json"
sed -i 's|"values": \["0.1/s".*|"values": ["0.2/s", "0.5/s", "1/s",|; s|^      "0.8/s".*|      "2/s", "4/s"]}|; s/"seeds": 3/"seeds": 1/' "$F/rates.study.json"
ORRERY_DATA=$T/data
export ORRERY_DATA

verdicts() { # how many of each kind
    sqlite3 :memory: "select count(*) || ' ' || kind from (select
        substr(verdict, 1, instr(verdict || ',', ',') - 1) as kind from (select json_extract(value, '\$.verdict') as verdict
        from json_each(readfile('$T/out')))) group by kind order by kind" | paste -sd, -
}

run 0 figure run vllm/serving -o "$T" --json
equal "$(verdicts)" '10 pass,3 reported' verdicts
for system in 'Orca (max)' 'Orca (pow2)' 'Orca (oracle)' 'vLLM'; do
    equal "$(verdict "$system at 2 requests/s: share")" pass "slots that hold a token, $system"
done
equal "$(verdict 'share of the slots that hold')" pass 'the order of shares'
equal "$(verdict 'requests/s at 0.2 s per token')" pass 'the order of rates'
equal "$(verdict 'sequences batched at 2 requests/s: max, oracle')" pass 'the order of batches'

# The paper's numbers of a chart stand in it, and one without any says so; a range has its ends.
equal "$(grep -c 'No points of the paper are drawn here' "$T/index.html")" 1 'charts without points of the paper'
equal "$(grep -o 'slots, paper</text>' "$T/vllm/serving.2.svg" | wc -l | tr -d ' ')" 3 'points of the paper in the chart of slots'
holds "$T/vllm/serving.md" '2.2, midpoint of 1.7 to 2.7'
holds "$T/vllm/serving.md" '3 reported (2 within, 1 not comparable)'

# What was to be made smaller was.
D=$T/vllm/serving.db
sql "$D" "select count(*) from run where status = 'done'" 25
sql "$D" "select min(value) || ' ' || max(value) from metric where name = 'request.arrived'" '1500.0 1500.0'
sql "$D" "select count(distinct scenario ->> '\$.services.chat.trace.arrival.rate') from run" 5

# A claim that the runs do not bear out fails.
sed -i 's/"value": 20.4,/"value": 40.8,/' "$F/serving.json"
run 1 figure run vllm/serving -o "$T" --resume --json
equal "$(verdict 'Orca (max) at 2 requests/s: share')" fail 'a share that is half of what is claimed'
finish
