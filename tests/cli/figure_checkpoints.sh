#!/bin/sh
# The figure of checkpoints as it is shipped; and that it fails when FastPersist's saves are not hidden.
. tests/cli/lib.sh
optimised

run 0 figure run checkpoints/designs -o "$T" --json
equal "$(verdict 'FastPersist: a checkpoint')" pass FastPersist
equal "$(verdict 'synchronous saves')" pass synchronous
equal "$(verdict 'DataStates-LLM: training')" reported DataStates

# The saves that are not hidden are another figure.
run 0 figure run checkpoints/designs -o "$T" --set jobs.types.default.checkpoint.overlap=0.1s
out 'checkpoints/designs-changed: '
out 'Changed by jobs.types.default.checkpoint.overlap=0.1s: FastPersist and DataStates-LLM'
out 'of a figure that --set has changed'
grep -q "tolerances committed" "$T/out" && complain "a changed figure says when tolerances were committed"
run 2 figure run checkpoints/designs rl/crossing --set seed=2
err "it goes with 'run' and one figure"
run 2 figure run checkpoints/designs -o "$T/typo" --set jobs.nosuch=1
err "unknown key 'nosuch' in 'jobs'"
equal "$(grep -c 'error: ' "$T/err")" 1 'one error of a typo'
[ ! -e "$T/typo" ] || complain 'a typo is refused before the first run'
run 2 figure run checkpoints/designs -o "$T" --set seed=3
err 'change "seeds" of its study'
mkdir "$T/mine"
cp configs/figures/rl/* "$T/mine"
run 3 figure run "$T/mine/crossing.json" -o "$T"
err 'its scenario is not there: '

mkdir "$T/data"
cp -r configs "$T/data/"
sed -i 's/"overlap": "3s"/"overlap": "0.1s"/' "$T/data/configs/figures/checkpoints/designs.scenario.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run checkpoints/designs -o "$T/slow" --json
equal "$(verdict 'FastPersist: a checkpoint')" fail 'not hidden'
finish
