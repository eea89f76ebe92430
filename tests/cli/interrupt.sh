#!/bin/sh
# A run that is interrupted keeps what happened until then, under that status; one that is killed leaves no rows, and
# --resume clears it away.
. tests/cli/lib.sh

serving 40 10
run 0 run "$T/serve.json" -o "$T/r.db" --quiet
cp "$T/serve.json" "$T/short.json"
serving 100000000 20
cp "$T/serve.json" "$T/endless.json"

# Waits until a run is writing: SQLite then keeps a journal beside the database.
until_writing() {
    i=0
    while [ ! -s "$T/r.db-journal" ]; do
        i=$((i + 1))
        [ $i -lt 300 ] || { complain 'the run never began'; break; }
        sleep 0.1
    done
    sleep 0.3
}

for signal in INT TERM; do
    last="orrery run endless.json, then SIG$signal"
    "$ORRERY" run "$T/endless.json" -o "$T/$signal.db" --name $signal --quiet >"$T/out" 2>"$T/err" &
    pid=$!
    sleep 1
    kill -s $signal $pid
    wait $pid
    equal $? 130 'exit status'
    out "$signal, seed 1: interrupted"
    err 'error: interrupted at '
    sql "$T/$signal.db" 'select status from run' interrupted
    sql "$T/$signal.db" 'select count(*) > 1000 from request' 1
    sql "$T/$signal.db" "select count(*) = (select sum(value) from metric where name in ('request.arrived')) from request" 1
    sql "$T/$signal.db" 'pragma integrity_check' ok
done

# One event, then samples of a year.
cat >"$T/samples.json" <<'END'
{"cluster": {"nodes": 1, "gpu": "a100-80-sxm"}, "sample": {"period": "1ms"}, "until": "365d",
 "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"duration": "9000h"}]}}}
END
last='orrery run samples.json, then SIGINT'
"$ORRERY" run "$T/samples.json" -o "$T/samples.db" --quiet >"$T/out" 2>"$T/err" &
pid=$!
sleep 0.5
kill -s INT $pid
wait $pid
equal $? 130 'exit status'
sql "$T/samples.db" 'select status from run' interrupted

last='orrery run endless.json, then SIGKILL'
"$ORRERY" run "$T/endless.json" -o "$T/r.db" --quiet >"$T/out" 2>"$T/err" &
pid=$!
until_writing
kill -s KILL $pid
wait $pid 2>/dev/null
equal $? 137 'exit status'
sql "$T/r.db" 'select id, status from run order by id' '1|done
2|open'
sql "$T/r.db" 'select run_id, count(*) from request group by run_id' '1|40'
run 0 run "$T/short.json" -o "$T/r.db" --resume --quiet
sql "$T/r.db" 'select id, status from run order by id' '1|done
2|done'
sql "$T/r.db" 'select run_id, count(*) from request group by run_id' '1|40
2|40'
sql "$T/r.db" 'select count(distinct result_hash) from run' 1
sql "$T/r.db" 'pragma integrity_check' ok
finish
