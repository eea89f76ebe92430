#!/bin/sh
# The figure of checkpoints as it is shipped; and that it fails when FastPersist's saves are not hidden.
. tests/cli/lib.sh
optimised

run 0 figure run checkpoints/designs -o "$T" --json
equal "$(verdict 'FastPersist: a checkpoint')" pass FastPersist
equal "$(verdict 'synchronous saves')" pass synchronous
equal "$(verdict 'DataStates-LLM: training')" reported DataStates

mkdir "$T/data"
cp -r configs "$T/data/"
sed -i 's/"overlap": "3s"/"overlap": "0.1s"/' "$T/data/configs/figures/checkpoints/designs.scenario.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run checkpoints/designs -o "$T/slow" --json
equal "$(verdict 'FastPersist: a checkpoint')" fail 'not hidden'
finish
