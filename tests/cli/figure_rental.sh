#!/bin/sh
# The figure of rented GPUs as it is shipped, with a tenth of the jobs and three seeds; and that it fails when it
# should.
. tests/cli/lib.sh
optimised

mkdir "$T/data"
cp -r configs "$T/data/"
F=$T/data/configs/figures/rental
sed -i 's/"count": 20000/"count": 2000/' "$F/budget.scenario.json"
sed -i 's/"seeds": 10/"seeds": 3/' "$F"/*.study.json
ORRERY_DATA=$T/data
export ORRERY_DATA

run 0 figure run rental/budget -o "$T" --json
for claim in 'width under Amdahl' 'width under a square root' 'widths of both types' 'mean response times' \
    'the mean of rented GPUs' 'the law of sizes' 'one width for both types'; do
    equal "$(verdict "$claim")" pass "$claim"
done
sql "$T/rental/budget.budgets.db" "select count(*) from run where status = 'done'" 24
sql "$T/rental/budget.budgets.db" "select min(value) || ' ' || max(value) from metric where name = 'job.finished'" '2000.0 2000.0'

# Widths that are not optimal: the plot has others.
sed -i 's/"budget_gpus"/"most_gpus": 10, &/' "$T/data/configs/scenarios/rent-on-a-budget.json"
run 1 figure run rental/budget -o "$T/capped" --json
equal "$(verdict 'width under a square root')" fail 'a width of 10 at most'
finish
