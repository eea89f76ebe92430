#!/bin/sh
# The figure of rollouts beside training as it is shipped, with smaller steps; and that it fails when it should.
. tests/cli/lib.sh
optimised

mkdir "$T/data"
cp -r configs "$T/data/"
F=$T/data/configs/figures/rl
sed -i 's/"values": \[16, 64, 256, 1024, 2048\]/"values": [16, 64]/' "$F"/*.study.json
sed -i 's/prompts = 2048/prompts = 64/g' "$F/crossing.json"
ORRERY_DATA=$T/data
export ORRERY_DATA

# Near the crossing of the sizes, the best split has 32 GPUs for training, and two sizes are enough.
sed -i 's/"values": \[256, .*304\]/"values": [272, 288]/; s/\[24, 32, 40\]/[32]/; s/\[40, 32, 24\]/[32]/' "$F"/near-*.study.json

# Steps of 64 equal prompts are small ones: the prediction for large ones does not hold for them.
run 1 figure run rl/crossing -o "$T" --json
for claim in 'apart and synchronous' 'together, the time' 'one step stale, all steps take at least' \
    'one step stale, all steps take at most' 'one step stale, a step in the long run' 'outputs of unlike lengths' \
    'outputs of one length, 16 prompts' 'first crossing of the split' 'second crossing' \
    'outputs of one length: prompts up to'; do
    equal "$(verdict "$claim")" pass "$claim"
done
equal "$(verdict 'outputs of one length, 2,048 prompts')" fail 'small steps in place of large ones'
sql "$T/rl/crossing.splits.db" "select count(*) from run where status = 'done'" 16
finish
