#!/bin/sh
# "replicate": seeds make other traces of one file, and comparisons know what their spread means.
. tests/cli/lib.sh

cat >"$T/chat.json" <<END
{"cluster": {"gpu": "h100-sxm"},
 "services": {"chat": {"llm": "llama-3-8b", "replicas": 2,
                       "trace": {"format": "azure-llm", "path": "$PWD/traces/samples/chat.csv", "rate_scale": 4}}}}
END
study() { # NAME REPLICATE: a study of two routers under four seeds
    cat >"$T/$1.json" <<END
{"name": "$1", "question": "Which router?", "scenario": "chat.json", "seeds": 4, "keep": "metrics",
 "set": {"services.chat.trace.replicate": $2},
 "axes": [{"key": "services.chat.routing", "values": ["round-robin", "least-outstanding"]}]}
END
    run 0 sweep "$T/$1.json" -q -o "$T/$1.db"
    equal "$(sqlite3 "$T/$1.db" 'select count(distinct result_hash) from run')" 8 'number of different runs'
    run 0 compare "$T/$1.db" -b routing=round-robin -n routing=least-outstanding -m ttft_s.mean --json
}

# A block bootstrap: the interval is the spread of the replicates, t(3) sd sqrt(1 + 1/4), by SQL.
study blocks '{"method": "block-bootstrap", "length": "20s"}'
json '$.metrics[0].method' 'spread of replicates'
json_of "$T/out" '$.metrics[0].high' >"$T/high"
sqlite3 "$T/blocks.db" "with d as (select sum(iif(p.value = 'round-robin', -m.value, m.value)) as x from run r
    join param p on p.run_id = r.id join metric m on m.run_id = r.id and m.name = 'request.ttft_s.mean' group by seed)
    select avg(x) + 3.182446305284263 * sqrt(1.25 * (sum(x * x) - 4 * avg(x) * avg(x)) / 3) from d" >"$T/expected"
awk 'NR == FNR { told = $1; next } { exit !(told - $1 < 1e-9 && $1 - told < 1e-9) }' "$T/high" "$T/expected" ||
    complain "the interval ends at $(cat "$T/high"), not at $(cat "$T/expected")"
# Its relative interval is that of the logarithms of the ratios.
json_of "$T/out" '$.metrics[0].ratio_high' >"$T/high"
sqlite3 "$T/blocks.db" "select max(iif(p.value != 'round-robin', m.value, 0)) / max(iif(p.value = 'round-robin', m.value, 0))
    from run r join param p on p.run_id = r.id join metric m on m.run_id = r.id and m.name = 'request.ttft_s.mean' group by seed" |
    awk '{ x = log($1); n++; sum += x; squares += x * x }
         END { mean = sum / n; printf "%.12g\n", exp(mean + 3.182446305284263 * sqrt(1.25 * (squares - n * mean * mean) / 3)) }' >"$T/expected"
awk 'NR == FNR { told = $1; next } { exit !(told - $1 < 1e-9 && $1 - told < 1e-9) }' "$T/high" "$T/expected" ||
    complain "the ratio's interval ends at $(cat "$T/high"), not at $(cat "$T/expected")"
run 0 compare "$T/blocks.db" -b routing=round-robin -n routing=least-outstanding -m ttft_s.mean
out 'an interval is the spread of the replicates, which more seeds do not narrow'
run 0 report "$T/blocks.db" -o "$T/blocks.html"
! grep -q '&lt;/li' "$T/blocks.html" || complain 'a tag is shown as text'
! { grep -q '<strong>recorded</strong>' "$T/blocks.html" && grep -q 'No warnings' "$T/blocks.html"; } || complain 'no warnings below a warning'

# Of 40 replicates one test can have a verdict. Three configurations are three tests: each says so, whatever it shows,
# and how many replicates they need; one of them alone must have been chosen before.
sed 's/"seeds": 4/"seeds": 40/; s/"axes": \[/"axes": [{"key": "services.chat.replicas", "values": [2, 3, 4]}, /
    s/"set": {/"set": {"services.chat.trace.limit": 60, /' "$T/blocks.json" >"$T/points.json"
run 0 sweep "$T/points.json" -q -o "$T/points.db"
run 0 compare "$T/points.db" -b routing=round-robin -n routing=least-outstanding -m ttft_s.mean --points
equal "$(grep -c '^  at .*no verdict possible at n=40 with 3 tests' "$T/out")$(grep -c '^  at .*no difference seen' "$T/out")" 30 'reasons of the configurations'
out 'note: each configuration is a test: 3 of them need 120 replicates. One alone, by keys in -b and -n, could have a verdict if chosen before'

# A figure of paired changes has the intervals of compare: by logarithms below 40 replicates, by percentiles from there.
for name in blocks points; do
    at=; [ $name = blocks ] || at=,replicas=2
    run 0 compare "$T/$name.db" -b routing=round-robin$at -n routing=least-outstanding$at -m ttft_s.mean --json
    sqlite3 :memory: "select printf('%.9g %.9g %.9g', 100 * (r ->> '$.delta') / (r ->> '$.base'), 100 * (r ->> '$.ratio_low') - 100,
        100 * (r ->> '$.ratio_high') - 100) from (select value as r from json_each(readfile('$T/out'), '$.metrics'))" >"$T/expected"
    run 0 plot "$T/$name.db" -x routing -y ttft_s.mean --relative routing=round-robin ${at:+--where replicas=2} --json
    sqlite3 :memory: "select printf('%.9g %.9g %.9g', value ->> '$.\"request.ttft_s.mean change %\"', value ->> '$.low',
        value ->> '$.high') from json_each(readfile('$T/out'))" >"$T/told"
    equal "$(cat "$T/told")" "$(cat "$T/expected")" "the change and its interval in $name"
done

# The table of the sweep has that interval, too: of each point t(3) sd sqrt(1 + 1/4) around its mean.
ends() { # DIRECTION METRIC: an end of the interval of each router, by SQL
    sqlite3 "$T/blocks.db" "select printf('%.9g', avg(x) $1 3.182446305284263 * sqrt(1.25 * (sum(x * x) - 4 * avg(x) * avg(x)) / 3))
        from (select p.value as router, m.value as x from param p join metric m on m.run_id = p.run_id and m.name = '$2')
        group by router order by router desc"
}
run 0 sweep "$T/blocks.json" -q --resume -o "$T/blocks.db" --json
for end in low:- high:+; do
    sqlite3 :memory: "select printf('%.9g', value ->> '\$.${end%:*}.\"request.ttft_s.p99\"') from json_each(readfile('$T/out'), '\$.points')" >"$T/told"
    ends "${end#*:}" request.ttft_s.p99 >"$T/expected"
    cmp -s "$T/told" "$T/expected" || complain "the ${end%:*} ends are $(tr '\n' ' ' <"$T/told"), not $(tr '\n' ' ' <"$T/expected")"
done
run 0 sweep "$T/blocks.json" -q --resume -o "$T/blocks.db"
out 'in brackets: 95 % interval of the spread of replicates, which more seeds do not narrow; below 40 seeds by '

# So does a figure: its curve, and a claim that the mean agrees with the paper, which the spread and not its standard
# error decides. The point of the paper is two standard deviations off, so four standard errors.
paper=$(sqlite3 "$T/blocks.db" "select avg(x) + 2 * sqrt((sum(x * x) - 4 * avg(x) * avg(x)) / 3) from (select m.value as x
    from param p join metric m on m.run_id = p.run_id and m.name = 'request.ttft_s.p99' and p.value = 'round-robin')")
cat >"$T/spread.json" <<END
{"title": "Spread", "paper": "A paper, 2026", "place": "figure 1", "setup": [{"says": "one trace", "tag": "src"}],
 "studies": {"blocks": "blocks.json"},
 "charts": [{"title": "TTFT", "x": {"title": "x"}, "y": {"title": "s"}, "series": [{"name": "ours", "interval": 0.95,
   "sql": "select 1.0 as x, m.value as y from param p join metric m using (run_id) where m.name = 'request.ttft_s.p99' and p.value = 'round-robin'",
   "paper": {"tag": "src", "points": [{"x": 1, "y": $paper}]}}]}],
 "claims": [{"says": "the mean agrees", "tag": "src", "test": {"kind": "interval", "series": ["ours"], "level": 0.95}}],
 "fitted": []}
END
run 0 figure run "$T/spread.json" -q -o "$T/figures" --gnuplot
out '1 of 1 within 95 %'
found=$(find "$T/figures" -name 'spread*' | xargs grep -lF "$(ends + request.ttft_s.p99 | head -1 | cut -c1-7)" | head -1)
[ -n "$found" ] || complain 'no file of the figure has the interval of the spread'

# A run of it is stored with the transform, and is repeated from the file.
run 0 run --from "$T/blocks.db:3" -q
run 0 compare "$T/blocks.db" -b routing=round-robin,seed=1 -n routing=least-outstanding,seed=2 -m ttft_s.mean

# Replicates that are too few for a verdict on what compare tests are told of before the first run.
warned() { # SEEDS TIMES
    run 0 sweep "$T/blocks.json" --dry-run --seeds "$1"
    equal "$(grep -cF "metrics: orrery sweep $T/blocks.json --seeds 240" "$T/err")" "$2" "warnings of $1 seeds"
}
warned 39 0
warned 40 1
err 'blocks: warning: 40 replicates allow a verdict on 1 metric, '
err 'then type: orrery compare blocks.db -b routing=round-robin -n routing=least-outstanding -m METRIC.'
warned 238 1
warned 240 0

# Seeds without effect are no repetitions: equal results count once, in tables, figures and pages.
sed 's/"block-bootstrap"/"windows"/; /"set"/d; s/"seeds": 4/"seeds": 3/' "$T/blocks.json" >"$T/copies.json"
run 0 sweep "$T/copies.json" -q -o "$T/copies.db" --json
err 'seeds without effect: 4 of 6 runs have the result of another seed at their point, and count once with it'
json '$.points[0].seeds' 1
run 0 plot "$T/copies.db" -x routing -y ttft_s.mean --json
err 'copies.db: warning: seeds without effect: 4 of 6 runs'
json '$[1].runs' 1
equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/out')) where value ->> '\$.low' is not null")" 0 intervals
sed -i 's/"axes": \[/&{"key": "services.chat.replicas", "values": [1, 2]}, /; s/"copies"/"chance"/' "$T/copies.json"
run 0 sweep "$T/copies.json" -q -o "$T/chance.db"
run 0 report "$T/chance.db" -o "$T/chance.html"
grep -q 'As seeds have no effect, this may be chance' "$T/chance.html" || complain 'the page calls copies seeds'
run 0 report "$T/copies.db" -o "$T/copies.html"
grep -q '4 runs repeat the result of another seed' "$T/copies.html" || complain 'the page does not name the copies'

# Windows do not overlap: Student's t.
study windows '{"method": "windows", "length": "60s"}'
json '$.metrics[0].method' 't over seeds'
run 2 run "$T/chat.json" --set 'services.chat.trace.replicate={"method": "windows", "length": "60s"}' --seed 5 --keep metrics
err 'the window of seed 5 is not whole: it ends at 300 s, and the trace at 297.26 s; take fewer seeds, or shorter windows'
run 2 run "$T/chat.json" --set 'services.chat.trace.replicate={"method": "windows", "length": "60s"}' \
    --set 'services.chat.trace.window=["0s", "2min"]' --seed 3
err '"replicate" has no window for seed 3: the trace has 2; seeds 1, 2, ... choose the windows, one each'
run 2 run "$T/chat.json" --set 'services.chat.trace.replicate={"method": "blocks", "length": "60s"}'
err 'block-bootstrap'

run 2 run "$T/chat.json" --set 'services.chat.trace.replicate={"method": "windows", "length": "60s"}' --seed 0
err '"replicate" has no window for seed 0; seeds 1, 2, ... choose the windows, one each'

# Blocks are much shorter than the trace: else all seeds give one trace, turned.
run 2 run "$T/chat.json" --set 'services.chat.trace.replicate={"method": "block-bootstrap", "length": "1h"}' --keep metrics
err 'a block of 3600 s is as long as the trace, which has 297.'
run 0 run "$T/chat.json" --set 'services.chat.trace.replicate={"method": "block-bootstrap", "length": "60s"}' --keep metrics
grep -q 'few-blocks: .*trace replicated from fewer than ten blocks' "$T/out" "$T/err" || complain 'no warning of few blocks'

# The recorded trace runs once per point, beside the seeds: it is what a run without "replicate" gives.
run 0 sweep "$T/blocks.json" -q --resume -o "$T/blocks.db" --json
cp "$T/out" "$T/points"
for router in 0:round-robin 1:least-outstanding; do
    run 0 run "$T/chat.json" --set "services.chat.routing=${router#*:}" -q -o "$T/plain.db" --keep metrics
    expected=$(sqlite3 "$T/plain.db" "select value from metric where name = 'request.ttft_s.p99' order by run_id desc limit 1")
    equal "$(json_of "$T/points" "\$.points[${router%:*}].recorded.\"request.ttft_s.p99\"")" "$expected" "recorded, ${router#*:}"
done
sql "$T/blocks.db" "select group_concat(distinct run_id) from metric_recorded" 1,5
run 0 sweep "$T/blocks.json" -q --resume -o "$T/blocks.db"
out ', recorded 0.'
out 'recorded: one run of the whole trace, without "replicate"'
run 0 compare "$T/blocks.db" -b routing=round-robin -n routing=least-outstanding -m ttft_s.mean
out 'note: the recorded trace itself, one run of each: request.ttft_s.mean '
out 'these are two questions'
run 0 report "$T/blocks.db" -o "$T/blocks.html"
grep -q ', recorded [0-9]' "$T/blocks.html" || complain 'the page has no recorded values'

# A figure of changes compares the recorded change with the interval that it draws: here with twelve times the base.
cp "$T/blocks.db" "$T/change.db"
run 0 plot "$T/change.db" -x routing -y ttft_s.mean --relative routing=round-robin --json
mean=$(json_of "$T/out" '$[0]."request.ttft_s.mean change %"')
for times in "(1 + $mean / 100)" 12; do
    sqlite3 "$T/change.db" "update metric_recorded set value = $times * (select value from metric_recorded where run_id = 1 and name = 'request.ttft_s.mean')
        where run_id = 5 and name = 'request.ttft_s.mean'"
    run 0 plot "$T/change.db" -x routing -y ttft_s.mean --relative routing=round-robin
    equal "$(grep -c 'is not like its replicates' "$T/err")" "$([ "$times" = 12 ] && echo 1 || echo 0)" "warnings at $times"
done
err 'the recorded trace is not like its replicates: 1 of its 1 changes lie outside of the 95 % intervals, such as request.ttft_s.mean 1100 % at '

# The runs of the seeds are the same without it, on shards, and as they were before there was a recorded one.
sed 's/"seeds"/"recorded": false, &/' "$T/blocks.json" >"$T/alone.json"
run 0 sweep "$T/alone.json" -q -o "$T/alone.db" --json
equal "$(json_of "$T/out" '$.points[0].recorded')" '' 'recorded values that were left out'
hashes() { # DB
    sqlite3 "$1" 'select group_concat(result_hash) from (select result_hash from run order by id)'
}
equal "$(hashes "$T/alone.db")" "$(hashes "$T/blocks.db")" 'result hashes'
sql "$T/alone.db" 'select count(*) from metric_recorded' 0
for shard in 1 2; do run 0 sweep "$T/blocks.json" -q --shard $shard/2 -o "$T/shard$shard.db"; done
run 0 merge "$T/shard1.db" "$T/shard2.db" -o "$T/merged.db"
recorded="select group_concat(run_id || name || value) from metric_recorded"
equal "$(sqlite3 "$T/merged.db" "$recorded")" "$(sqlite3 "$T/blocks.db" "$recorded")" 'recorded values of shards'
sed 's/"seeds"/"recorded": 1, &/' "$T/blocks.json" >"$T/wrong.json"
run 2 sweep "$T/wrong.json" --dry-run
err "'recorded' must be true or false"

# An overload that lasts longer than the blocks is in no replicate: the recorded mean wait lies outside, and the table,
# the comparison and the page say so. Jobs of an hour on one GPU come every 40 minutes for 90 hours, then every 4 hours.
awk 'BEGIN { print "arrival_s,duration_s,gpus"
             for (t = 0; t < 90; t += 2 / 3) printf "%.0f,3600,1\n", 3600 * t
             for (t = 90; t < 300; t += 4) printf "%.0f,3600,1\n", 3600 * t }' >"$T/overload.csv"
cat >"$T/overload.json" <<END
{"name": "overload", "cluster": {"gpu": "h100-sxm", "nodes": 1, "gpus_per_node": 1},
 "jobs": {"trace": {"format": "csv-jobs", "path": "overload.csv", "columns": {"submit": "arrival_s", "duration": "duration_s"}}}}
END
cat >"$T/over.json" <<END
{"name": "over", "scenario": "overload.json", "seeds": 12, "show": ["job.wait_s.mean"],
 "set": {"jobs.trace.replicate": {"method": "block-bootstrap", "length": "5h"}},
 "axes": [{"key": "jobs.scheduler", "values": ["fifo", "sjf"]}]}
END
run 0 sweep "$T/over.json" -q -o "$T/over.db"
err 'the recorded trace is not like its replicates: 2 of its 2 values lie outside of the 95 % intervals'
grep -q ' at scheduler [a-z]*, outside of ' "$T/err" || complain 'the warning does not name the configuration'
err 'blocks of 5 h break up what lasts longer, such as an overload of weeks; take longer blocks, or windows'
run 0 plot "$T/over.db" -x scheduler -y job.wait_s.mean
err 'warning: the recorded trace is not like its replicates: 2 of its 2 values lie outside of the 95 % intervals, such as job.wait_s.mean '
run 0 plot "$T/over.db" -x scheduler -y job.wait_s.mean --where scheduler=sjf
err 'not like its replicates: 1 of its 1 values lie'
run 0 report "$T/over.db" -o "$T/over.html"
grep -q '2 of 2 values of the recorded trace lie outside' "$T/over.html" || complain 'the page does not warn'
# The same load without an overload: jobs every 2.5 hours and blocks of 5 hours leave it inside.
awk 'BEGIN { print "arrival_s,duration_s,gpus"
             for (t = 0; t < 300; t += 2.5) printf "%.0f,%d,1\n", 3600 * t, 3600 * (1 + t % 3) }' >"$T/overload.csv"
run 0 sweep "$T/over.json" -q -o "$T/even.db"
! grep -q 'not like its replicates' "$T/err" || complain 'a warning of a trace that is like its replicates'

# Windows of very different sizes weigh alike, which is told with the window.
awk 'BEGIN { print "arrival_s,duration_s,gpus"
             for (t = 0; t < 300; t += (t < 60 ? 20 : 0.5)) printf "%.0f,600,1\n", 3600 * t }' >"$T/overload.csv"
sed 's/"block-bootstrap", "length": "5h"/"windows", "length": "60h"/; s/"seeds": 12/"seeds": 4/' "$T/over.json" >"$T/sparse.json"
run 0 sweep "$T/sparse.json" -q -o "$T/sparse.db"
err 'windows of 60 h weigh alike, and that of seed 1 has 3 arrivals, less than a tenth of their mean of 91'
err "leave sparse parts out with \"window\" of the trace; 'orrery trace stat' shows them"
run 0 report "$T/sparse.db" -o "$T/sparse.html"
grep -q 'that of seed 1 has 3 arrivals' "$T/sparse.html" || complain 'the page does not warn of the window'
sed 's/"seeds": 4/"seeds": 3/; s/"set": {/&"jobs.trace.window": ["60h", "295h"], /' "$T/sparse.json" >"$T/dense.json"
run 0 sweep "$T/dense.json" -q -o "$T/dense.db"
! grep -q 'weigh alike' "$T/err" || complain 'a warning of windows that are alike'

# A trace without it is as before.
run 0 run "$T/chat.json" --dump-config
grep -q replicate "$T/out" && complain 'replicate is dumped where it is not set'
# A recorded trace that fails beside its replicates is told of: here a row behind the windows is wrong.
{ head -n 400 traces/samples/chat.csv; echo '2023-11-16 23:59:59,ten,1'; } >"$T/bad.csv"
cat >"$T/late.json" <<END
{"name": "late", "question": "?", "scenario": "chat.json", "seeds": 2, "keep": "metrics",
 "set": {"services.chat.trace.path": "$T/bad.csv", "services.chat.trace.replicate": {"method": "windows", "length": "5s"}},
 "axes": [{"key": "services.chat.routing", "values": ["round-robin", "least-outstanding"]}]}
END
run 0 sweep "$T/late.json" -q -o "$T/late.db"
sql "$T/late.db" "select count(*), (select count(*) from metric_recorded) from run where status = 'done'" '4|0'
err "$T/bad.csv:401:21: warning: the recorded trace, without \"replicate\", failed at 2 of 2 points, so no recorded values "
err "\"recorded\": false in the study leaves that trace out"
run 0 sweep "$T/late.json" -q -o "$T/quiet.db" --set services.chat.trace.allow_bad_rows=1
! grep -q 'recorded trace, without' "$T/err" || complain 'a warning of a recorded trace that ran'

# A service may have the name "replicate": a point whose trace is not replicated lacks no recorded one.
cat >"$T/named.json" <<END
{"name": "named", "question": "?", "scenario": "named-chat.json", "seeds": 2, "keep": "metrics",
 "axes": [{"key": "services.replicate.trace", "values": [
     {"format": "azure-llm", "path": "$PWD/traces/samples/chat.csv"},
     {"format": "azure-llm", "path": "$T/bad.csv", "replicate": {"method": "windows", "length": "5s"}}]}]}
END
sed 's/"chat":/"replicate":/' "$T/chat.json" >"$T/named-chat.json"
run 0 sweep "$T/named.json" -q -o "$T/named.db"
sql "$T/named.db" "select count(*), (select count(*) from metric_recorded) from run where status = 'done'" '4|0'
err 'failed at 1 of 2 points'

# A seed that meets no failure is a value like others, though many have its result.
cat >"$T/jobs.csv" <<END
timestamp,duration,num_gpus
2024-01-01 00:00:00,36000.0,8
2024-01-01 00:00:10,36000.0,8
END
cat >"$T/rare.json" <<END
{"cluster": {"gpu": "h100-sxm", "nodes": 2}, "jobs": {"trace": {"format": "philly", "path": "jobs.csv"}},
 "failures": {"causes": {"node": {"scope": "node", "lifetime": {"mean": "40h"}, "repair": {"mean": "1h"}}}}}
END
cat >"$T/rare.study.json" <<END
{"name": "rare", "question": "What do failures cost?", "scenario": "rare.json", "seeds": 10, "keep": "metrics",
 "axes": [{"key": "failures.causes.node.repair.mean", "values": ["1h", "5h"]}]}
END
run 0 sweep "$T/rare.study.json" -q -o "$T/rare.db" --json
! grep -q 'seeds without effect' "$T/err" || complain 'seeds with failures or without are called copies'
sql "$T/rare.db" 'select count(distinct result_hash) between 2 and 19 from run' 1
json '$.points[0].seeds' 10
run 0 plot "$T/rare.db" -x mean -y jct_s.mean --json
json '$[0].runs' 10
run 0 compare "$T/rare.db" -b failures.causes.node.repair.mean=1h -n failures.causes.node.repair.mean=5h -m jct_s.mean --json
json '$.metrics[0].n' 10

finish
