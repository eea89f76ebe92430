#!/bin/sh
# The figure of sequential gradient coding as it is shipped; and that it fails when every worker is late for long.
. tests/cli/lib.sh
optimised

run 0 figure run sgc/codes -o "$T" --json
for claim in '80 steps without' '80 steps with GC' '80 steps with M-SGC' '40 steps with M-SGC' '40 steps with GC'; do
    equal "$(verdict "$claim")" pass "$claim"
done
equal "$(verdict '80 steps with SR-SGC')" 'known to fail' 'SR-SGC'

# Workers that are late for four rounds in a row: M-SGC bears one.
mkdir "$T/data"
cp -r configs "$T/data/"
sed -i 's/"late": 0.03/&, "rounds": 4/' "$T/data/configs/scenarios/gradient-codes.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run sgc/codes -o "$T/long" --json
equal "$(verdict '80 steps with M-SGC')" fail 'late for long'
equal "$(verdict '80 steps with GC')" pass 'GC bears it'
finish
