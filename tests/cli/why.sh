#!/bin/sh
# The life of a request or a job, told from a run that is simulated once more, agrees with its row.
. tests/cli/lib.sh

db=$T/r.db
run 0 run tests/golden/cases/scarce-kv.json --quiet -o "$db"
mixed
run 0 run "$T/mixed.json" --quiet -o "$db"
row() { sqlite3 "$db" "select $1 from $2"; }

# Every request that was preempted often: all its tokens, its wait, its longest gap.
for id in $(row id 'request where run_id = 1 and preemptions > 1'); do
    of="request where run_id = 1 and id = $id"
    run 0 why "$db:1" request "$id" --json
    valid_json
    sql :memory: "select sum(cast(value ->> 'text' as integer)) + (select count(*) from json_each(readfile('$T/out'), '\$.events')
        where value ->> 'what' = 'prefill') from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = 'decoded'" \
        "$(row output_tokens "$of")"
    sql :memory: "select group_concat(value ->> 'what', ' ') from (select value from json_each(readfile('$T/out'), '\$.events')
        where value ->> 'what' in ('admit', 'finish', 'route'))" 'route admit finish'
    sql :memory: "select count(*) from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = 'preempt'" \
        "$(row preemptions "$of")"
    sql :memory: "select abs(value ->> 't_s' - $(row 'arrival_s + queue_s' "$of")) < 1e-9 from json_each(readfile('$T/out'),
        '\$.events') where value ->> 'what' = 'admit'" 1
    sql :memory: "select abs(json_extract(readfile('$T/out'), '\$.percentiles.e2e_s') - $(row "(select 100.0 * avg(e2e_s <=
        (select e2e_s from $of)) from request where run_id = 1)" "$of")) < 1e-9" 1
    run 0 why "$db:1" request "$id"
    gap=$(sed -n 's/^longest wait for a token: \([0-9.e-]*\) s.*/\1/p' "$T/out")
    sql :memory: "select abs($gap / $(row max_gap_s "$of") - 1) < 1e-5" 1
    err 'the result hash is the same'
done
[ -n "$id" ] || complain 'no request was preempted twice'

# Jobs: what they held adds up.
for id in $(row id 'job where run_id = 2 and preemptions > 0 limit 3'); do
    run 0 why "$db" job "$id"
    out 'preempt'
    sql :memory: "select abs($(sed -n 's/.*held *\([0-9]*\) GPUs\{0,1\} .* for \([0-9.]*\) s$/\1 * \2 +/p' "$T/out") 0
        - $(row gpu_s "job where run_id = 2 and id = $id")) < 1e-3" 1
done
[ -n "$id" ] || complain 'no job was preempted'

# Two services have the same ids.
run 2 why "$db" request 5
err 'several services have a request 5; choose with --service: chat draft'
run 0 why "$db" request 5 --service draft
out 'request 5 of draft'
run 2 why "$db" request 5 --service chta
err 'no request 5 of that service'
run 2 why "$db:1" request 777
err 'run 1 has no request 777; those of the run are 0 to 199'
run 2 why "$db:1" job 1
err 'run 1 has no job 1'
run 2 why "$db:1" jbo 1
err "did you mean 'job'?"
run 2 why "$db:1" job one
run 3 why "$db:7" job 1

# A run that does not repeat is not explained.
sqlite3 "$db" "update run set result_hash = 'ff' where id = 1"
run 1 why "$db:1" request 3
err 'run 1 does not repeat'
finish
