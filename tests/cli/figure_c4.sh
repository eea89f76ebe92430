#!/bin/sh
# The figures of C4 as they are shipped; and that the order of terms fails when saves are rare.
. tests/cli/lib.sh
optimised

run 0 figure run c4/paths c4/errors -o "$T" --json
equal "$(verdict 'planned paths are as fast')" pass 'planned paths'
equal "$(verdict 'each term lowers')" pass 'terms'
equal "$(verdict 'the job with C4')" pass 'useful shares'

# Hashed paths cost a job the less, the more its steps compute.
sql "$T/c4/paths.db" "select count(*) from (
    select b.value > a.value as rises from metric as a join metric as b on b.run_id = a.run_id + 1
    where a.name = 'job.network_speed' and b.name = a.name and a.run_id between 1 and 4) where rises" 4
sql "$T/c4/paths.db" "select min(value), max(value) from metric where name = 'job.network_speed' and run_id > 5" '1.0|1.0'

# The page has these numbers.
page() { tr '\n' ' ' <configs/figures/c4/README.md | grep -qF -- "$1" || complain "the page does not have '$1'"; }
page "lost by hashed paths | $(sqlite3 "$T/c4/paths.db" ".read configs/figures/c4/paths.sql" \
    "select group_concat(printf('%.0f %%', 100 * (1 - speed)), ' | ') from (select * from paths where paths = 'ecmp' order by batch)") |"
errors() { sqlite3 "$T/c4/errors.db" ".read configs/figures/c4/errors.sql" "with e as (select terms, 100 * lost as lost, 100 * saves as saves from errors) $1"; }
page "$(errors "select printf('they cost %.1f %% and %.1f %%', a.lost, b.lost) from e a join e b where a.terms = 0 and b.terms = 3")"
for term in 0:'hangs found in seconds' 1:'causes found without people' 2:'saves every ten minutes'; do
    page "| ${term#*:} | $(errors "select printf('%.1f', a.lost - b.lost) from e a join e b on b.terms = a.terms + 1 where a.terms = ${term%%:*}") |"
done
page "$(errors "select printf('then take %.1f %%', saves) from e where terms = 3")"

# Saves that are even rarer help nobody.
mkdir "$T/data"
cp -r configs "$T/data/"
sed -i 's/"10min"/"12h"/' "$T/data/configs/figures/c4/errors.study.json"
sed -i "s/'600s'/'12h'/" "$T/data/configs/figures/c4/errors.sql"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 1 figure run c4/errors -o "$T/worse" --json
equal "$(verdict 'each term lowers')" fail 'rare saves'
finish
