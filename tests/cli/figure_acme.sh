#!/bin/sh
# The figure of Acme's decoupled evaluation as it is shipped; and that it fails when it should.
. tests/cli/lib.sh
optimised

mkdir "$T/data"
cp -r configs "$T/data/"
F=$T/data/configs/figures/acme
ORRERY_DATA=$T/data
export ORRERY_DATA

run 0 figure run acme/evaluation -o "$T" --json
for claim in 'a trial alone' 'eight on a node' 'loading slows down' 'speed with 256 trials' 'each part'; do
    equal "$(verdict "$claim")" pass "$claim"
done
equal "$(verdict 'gain of one node')" 'known to fail' 'the gain of one node'
equal "$(sqlite3 :memory: "select json_extract(value, '\$.basis') from json_each(readfile('$T/out'))
    where json_extract(value, '\$.claim') like 'each part%'")" fitted 'four nodes are fitted'
run 0 figure run acme/saves acme/recovery -o "$T" --json
equal "$(verdict '7B: saves')" pass 'saves of 7B'
equal "$(verdict '123B: saves')" 'reported, within 5 %' 'saves of 123B'
equal "$(verdict 'people find')" pass 'share of people'
equal "$(verdict 'causes that are found')" pass 'useful time'
sql "$T/acme/evaluation.makespan.db" "select count(*) from run where status = 'done'" 2880

# Storage that is slower than the nodes' adapters: more trials load more slowly.
sed -i 's/"seeds": 40/"seeds": 2/' "$F/makespan.study.json"
sed -i 's/"device": "rdma-h800"/&, "ceiling": "10GB\/s"/' "$T/data/configs/scenarios/decoupled-evaluation.json"
run 1 figure run acme/evaluation -o "$T/slow" --json
equal "$(verdict 'speed with 256 trials')" fail 'storage of 10 GB/s'
finish
