#!/bin/sh
# The figure of ElasticFlow as it is shipped: no scheduler keeps as many deadlines. `edf` keeps as many where all are
# late.
. tests/cli/lib.sh
optimised

run 0 figure run elasticflow/kept -o "$T" --json
for other in themis tiresias chronus edf gandiva; do
    equal "$(verdict "elasticflow keeps more deadlines than $other")" pass "$other"
done
# The page has these numbers.
sql "$T/elasticflow/kept.db" "select count(*) from run where status = 'done'" 120
shares=$(sqlite3 "$T/elasticflow/kept.db" ".read configs/figures/elasticflow/kept.sql" \
    "select printf('%.0f', 100 * kept) from kept where scheduler in ('edf', 'elasticflow') order by 1")
equal "$(echo $shares)" '33 67' shares

mkdir "$T/data"
cp -r configs "$T/data/"
sed -i 's/"least": 0.5, "most": 1.5/"least": 5000, "most": 5000/' "$T/data/configs/scenarios/deadlines.json"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run elasticflow/kept -o "$T/late" --json
equal "$(verdict 'elasticflow keeps more deadlines than edf')" fail 'late deadlines'
finish
