#!/bin/sh
# A run that is interrupted keeps what happened until then, under that status; faults.sh kills runs.
. tests/cli/lib.sh

serving 100000000 20
cp "$T/serve.json" "$T/endless.json"

# A background process ignores SIGINT until the program handles it, which it does before it writes.
await() { while [ ! -e "$1" ] && kill -0 "$pid"; do sleep 0.1; done; }
await_handler() { # the mask of signals that the process catches has the bit of SIGINT
    while kill -0 "$pid" && ! grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status"; do sleep 0.1; done
}

for signal in INT TERM; do
    last="orrery run endless.json, then SIG$signal"
    "$ORRERY" run "$T/endless.json" -o "$T/$signal.db" --name $signal --quiet >"$T/out" 2>"$T/err" &
    pid=$!
    await "$T/$signal.db"
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

# A sweep says how many runs it keeps, and how to go on.
echo '{"scenario": "serve.json", "axes": [{"key": "services.chat.trace.count", "values": [20, 100000000]}]}' \
    >"$T/sweep.json"
last='orrery sweep sweep.json, then SIGINT'
"$ORRERY" sweep "$T/sweep.json" -o "$T/sweep.db" -j 1 --quiet >"$T/out" 2>"$T/err" &
pid=$!
await "$T/sweep.db.shards"
sleep 2
kill -s INT $pid
wait $pid
equal $? 130 'exit status'
err 'sweep.db: error: interrupted: 1 of 2 runs are finished and kept; the same call with --resume goes on from there'

# One event, then samples of a year.
cat >"$T/samples.json" <<'END'
{"cluster": {"nodes": 1, "gpu": "a100-80-sxm"}, "sample": {"period": "1ms"}, "until": "365d",
 "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"duration": "9000h"}]}}}
END
last='orrery run samples.json, then SIGINT'
"$ORRERY" run "$T/samples.json" -o "$T/samples.db" --quiet >"$T/out" 2>"$T/err" &
pid=$!
await "$T/samples.db"
sleep 0.5
kill -s INT $pid
wait $pid
equal $? 130 'exit status'
sql "$T/samples.db" 'select status from run' interrupted

# A search for a plan answers with the best one that it has found.
last='orrery plan ppo-7b.rlhf.json, then SIGINT'
"$ORRERY" plan configs/figures/rl/ppo-7b.rlhf.json --set search.proposals=1000000000 >"$T/out" 2>"$T/err" &
pid=$!
await_handler
sleep 1
kill -s INT $pid
wait $pid
equal $? 130 'exit status'
out 'the search was interrupted, and there may be a faster plan'
out 'train critic'
err 'error: interrupted: the answer has the best of '

# The records before a window are skipped, here for hours; the limit of CPU time ends a call that does not hear.
skips() { # ARGUMENTS...
    last="orrery $*, then SIGINT"
    (ulimit -t 5 && exec "$ORRERY" "$@") >"$T/out" 2>"$T/err" &
    pid=$!
    await_handler
    sleep 0.3
    kill -s INT $pid
    wait $pid
    equal $? 130 'exit status'
}
endless='"format": "generate", "count": 1000000000000, "arrival": {"process": "fixed", "rate": "1000/s"}'
echo '{"cluster": {"gpu": "a100-80-sxm"}, "services": {"chat": {"llm": "llama-2-7b", "trace": {'"$endless"',
    "window": ["900000000s", "900000001s"]}}}}' >"$T/skips.json"
skips run "$T/skips.json" -o "$T/skips.db" --quiet
err 'error: interrupted at 0 s'
sql "$T/skips.db" 'select status from run' interrupted
skips run "$T/skips.json" --quiet --set 'services.chat.trace.replicate={"method": "windows", "length": "1s"}'
err 'error: interrupted at 0 s'
skips trace generate -o "$T/skips.csv" --set count=1000000000000 --set 'window=["900000000s", "900000001s"]'
equal "$(cat "$T/err")" 'error: interrupted' 'finding'
no_file "$T/skips.csv"
finish
