#!/bin/sh
# orrery sweep at its edges: runs that fail, more columns than a table has room for, outputs that cannot be, memory run
# by run.
. tests/cli/lib.sh

cat >"$T/base.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "replicas": 2,
                        "trace": {"format": "generate", "count": 20,
                                  "arrival": {"process": "poisson", "rate": "4/s"}}}} }
END

# The first point fails: the others keep their columns, and the count of seeds is that of the runs that ended in order.
cat >"$T/first.json" <<'END'
{ "scenario": "base.json", "seeds": 2,
  "axes": [ {"key": "services.chat.routing", "values": ["round-robin", "least-outstanding"]},
            {"key": "services.chat.routing.count", "values": ["queued"]} ] }
END
run 2 sweep "$T/first.json" -o "$T/first.db" -q -j 2
err 'run 1 (services.chat.routing=round-robin, services.chat.routing.count=queued, seed 1) failed: '
err "$T/first.json:3:63: unknown key 'count' in 'services.chat.routing'"
out 'request.ttft_s.p99'
grep -q '^round-robin  *queued  *0 *-' "$T/out" || complain 'no seed of the first point ended in order'
grep -q '^least-outstanding  *queued  *2 *[0-9]' "$T/out" || complain 'the second point has no values'
run 2 sweep "$T/first.json" -o "$T/json.db" -q --json
json '$.points[0].seeds' 0
json '$.points[1].seeds' 2
json '$.points[1].metrics."request.finished"' \
    "$(sqlite3 "$T/first.db" "select avg(value) from metric where name = 'request.finished' and run_id in (3, 4)")"
json '$.points[0].metrics."request.finished"' ''

# A run that failed has nothing to tell but why.
for call in 'run --from @:1' 'why @:1 request 1'; do
    run 2 $(echo "$call" | sed "s|@|$T/first.db|")
    err "$T/first.db: error: run 1 failed: $T/first.json:3:63: unknown key 'count' in 'services.chat.routing'"
    err 'it was to have services.chat.routing=round-robin, services.chat.routing.count=queued, seed 1'
done
run 0 report "$T/first.db" -o "$T/study.html"
run 0 report "$T/first.db:1" -o -
out "The run has status &#39;failed&#39; and no result"
out "unknown key &#39;count&#39; in &#39;services.chat.routing&#39;"
grep -q SIM_E_ "$T/out" "$T/study.html" && complain 'the name of an error code on a page'

# Findings of a dry run are at the line of the study.
run 2 sweep "$T/first.json" --dry-run
err "$T/first.json:3:63: error: unknown key 'count' in 'services.chat.routing'"

# A value with which no run can be loaded, or its world built, is refused before the first run. One that only some of
# its runs refuse is left to them.
cat >"$T/wrong.json" <<'END'
{ "scenario": "base.json",
  "axes": [ {"key": "services.chat.routing", "values": ["round-robin", "least-outstandng"]},
            {"key": "cluster.gpu", "values": ["a100-80-sxm", "h1000-sxm"]},
            {"key": "services.chat.replicas", "values": [1, 9]} ] }
END
run 2 sweep "$T/wrong.json" -o "$T/wrong.db" -q
err "$T/wrong.json:2:72: error: unknown routing policy 'least-outstandng' (your own need --plugin); did you mean 'least-outstanding'?"
err "$T/wrong.json:3:62: error: unknown GPU 'h1000-sxm'; did you mean 'h100-sxm'?"
[ "$(grep -c error: "$T/err")" = 2 ] || complain 'an error for each wrong value, once'
[ ! -e "$T/wrong.db" ] && [ ! -e "$T/wrong.db.shards" ] || complain 'runs of a study that is refused'
sed 's/\["round-robin", "least.*/["round-robin"]},/; s/round-robin/round-robbin/' "$T/wrong.json" >"$T/all.json"
run 2 sweep "$T/all.json" -q -o "$T/wrong.db"
[ "$(grep -c round-robbin "$T/err")" = 1 ] || complain 'what every run refuses is told once'

# So is a name that many points have: a few of them that blame it are enough.
cat >"$T/spread.json" <<'END'
{ "scenario": "base.json",
  "axes": [ {"key": "services.chat.routing", "values": ["round-robin", "least-outstandng"]},
            {"key": "services.chat.trace.count", "linear": {"from": 2, "to": 102, "n": 101}} ] }
END
run 2 sweep "$T/spread.json" -o "$T/wrong.db" -q
err "$T/spread.json:2:72: error: unknown routing policy 'least-outstandng'"
[ "$(grep -c error: "$T/err")" = 1 ] || complain 'an error for the wrong value, once'
# A trace from a pipe is left for the run.
sed -e 's/"replicas": 2/"routing": "round-robin"/' -e '/"arrival"/d' \
    -e 's/"format": "generate".*/"format": "csv", "path": "\/dev\/stdin"}}} }/' "$T/base.json" >"$T/piped.json"
echo '{ "scenario": "piped.json", "axes": [ {"key": "services.chat.routing", "values": ["round-robin"]} ] }' \
    >"$T/pipe.json"
last='orrery sweep of a trace from a pipe'
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,10\n1,10,10\n' |
    "$ORRERY" sweep "$T/pipe.json" -o "$T/pipe.db" -q -j 1 >"$T/out" 2>"$T/err" || complain 'it fails'
sql "$T/pipe.db" "select value from metric where name = 'request.finished'" '2.0'

# A key within another has its effect whichever is written first.
for order in 'rate outer' 'outer rate'; do
    rate='{"key": "services.chat.trace.count", "values": [5, 9]}'
    outer='{"key": "services.chat.trace", "values": [{"format": "generate", "arrival": {"process": "poisson", "rate": "7/s"}}]}'
    eval "axes=\"\$${order% *}, \$${order#* }\""
    echo "{\"scenario\": \"base.json\", \"axes\": [$axes]}" >"$T/nested.json"
    rm -f "$T/nested.db"
    run 0 sweep "$T/nested.json" -o "$T/nested.db" -q
    sql "$T/nested.db" "select group_concat(value, ' ') from (select value from metric where name = 'request.finished' order by run_id)" '5.0 9.0'
    sql "$T/nested.db" "select group_concat(distinct json_extract(scenario, '\$.services.chat.trace.arrival.rate')) from run" '7/s'
done

# More than a table holds is said, and all of it is in the JSON.
cat >"$T/many.json" <<'END'
{ "scenario": "base.json",
  "axes": [ {"zip": {"services.chat.replicas": [1, 2], "services.chat.trace.count": [5, 6], "services.chat.tensor_parallel": [1, 1],
             "cluster.nodes": [2, 2], "warmup": ["0s", "0s"], "name": ["a", "b"], "services.chat.llm": ["llama-2-7b", "llama-2-7b"],
             "services.chat.routing": ["round-robin", "round-robin"], "services.chat.trace.arrival.rate": ["4/s", "5/s"]}} ],
  "show": ["request.ttft_s.p50", "request.ttft_s.p90", "request.ttft_s.p99", "request.tpot_s.p50", "request.tpot_s.p90",
           "request.tpot_s.p99", "request.finished", "request.e2e_s.p99"] }
END
run 0 sweep "$T/many.json" -o "$T/many.db" -q
out '... and 1 more keys of the axes: --json has all'
out '... and 2 more metrics: --json has all'
run 0 sweep "$T/many.json" -o "$T/many2.db" -q --json
json '$.points[1].metrics."request.finished"' 6
equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/out'), '$.points[1].metrics')")" 8 'metrics'
equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/out'), '$.points[1].params')")" 9 'keys'

# What cannot be written is said before the first run.
run 2 sweep "$T/first.json" -o ''
err 'the name of the file is empty'
[ ! -e .shards ] || complain 'it left .shards behind'
run 2 merge "$T/first.db" -o ''
err 'the name of the file is empty'
mkdir "$T/directory"
run 2 sweep "$T/first.json" -o "$T/directory"
err 'the results database would be a directory; name a file in it'
run 2 sweep "$T/first.json" -o "$T/directory/"
err 'the results database would be a directory; name a file in it'
[ ! -e "$T/directory.shards" ] && [ ! -e "$T/directory/.shards" ] || complain 'it left shards behind'
for name in ../esc/x .hidden -x 'a
b'; do
    run 2 sweep "$T/first.json" --name "$name"
    err "is not usable as a file name; name the results database with -o"
done
run 2 sweep "$T/first.json" --name ''
err 'the name is empty'

# The memory of a run is its own: that of a small one behind a large one in one process is smaller. Where the system
# does not tell, there is none.
cat >"$T/sizes.json" <<'END'
{ "scenario": "base.json", "set": {"services.chat.trace.arrival.rate": "100000/s"},
  "axes": [ {"key": "services.chat.trace.count", "values": [200000, 5]} ] }
END
export ASAN_OPTIONS="$ASAN_OPTIONS:quarantine_size_mb=1" # what is freed goes back to the system
run 0 sweep "$T/sizes.json" -o "$T/sizes.db" -q -j 1 --set until=10s
sql "$T/sizes.db" "select count(*) from run_cost where peak_rss_bytes <= 0" 0
peaks=$(sqlite3 "$T/sizes.db" "select group_concat(peak_rss_bytes / 1048576, ' ') from (select * from run_cost order by run_id)")
[ -n "$peaks" ] || echo 'this system does not tell the memory of a run'
[ -z "$peaks" ] || [ "${peaks#* }" -lt "${peaks% *}" ] || complain "the peaks of a large and a small run are $peaks MiB"
sql "$T/first.db" "select count(*), count(peak_rss_bytes) from run_cost where run_id <= 2" '2|0'

# A bare name is a study that comes with the program, but for a file of that name.
run 0 sweep routing --dry-run
out 'least-outstanding'
run 2 sweep no-such-study --dry-run
err "error: no study 'no-such-study'; name a file, or one of"

# Times of what ended hide what did not: most of 25 jobs are left on the one GPU. Those of two GPUs never run there.
cat >"$T/left.json" <<'END'
{"cluster": {"nodes": 1, "gpus_per_node": 1}, "until": "10s", "jobs": {"trace": {"format": "generate-job-types",
 "count": 25, "types": {"a": {"arrival": {"process": "fixed", "rate": "10/s"},
                              "run_time": {"law": "fixed", "mean": "9s"}}}}}}
END
echo '{"scenario": "left.json", "axes": [{"key": "jobs.trace.types.a.gpus", "values": [1, 2]}]}' >"$T/left_out.json"
run 0 sweep "$T/left_out.json" -o "$T/left.db" -q
err 'saturated: in 1 of 2 runs more than 5 % of the requests, or of the jobs beyond one for each GPU, were left at'
err 'rejected: in 1 of 2 runs some jobs, or 5 % of the requests, were rejected'

# The mean over seeds that replicate no trace has its interval by Student's t: of two seeds 12.7062 times half their
# distance. A value that all seeds have stands alone, and so does that of a study whose seeds have no effect.
cat >"$T/apart.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b",
                        "trace": {"format": "generate", "count": 30, "arrival": {"process": "poisson", "rate": "9/s"},
                                  "prompt": {"distribution": "fixed", "tokens": 900},
                                  "output": {"distribution": "fixed", "tokens": 40}}}} }
END
cat >"$T/pairs.json" <<'END'
{ "scenario": "apart.json", "seeds": 2, "axes": [{"key": "services.chat.replicas", "values": [1, 2]}],
  "show": ["request.ttft_s.p99", "request.finished"] }
END
run 0 sweep "$T/pairs.json" -q -o "$T/pairs.db" --json
valid_json
cp "$T/out" "$T/pairs.out"
for point in 0 1; do
    sql "$T/pairs.db" "with pair as (select avg(value) as mean, 12.7062047364 * (max(value) - min(value)) / 2 as half from metric
            where name = 'request.ttft_s.p99' and (run_id - 1) / 2 = $point)
        select abs(low / (mean - half) - 1) < 1e-9 and abs(high / (mean + half) - 1) < 1e-9 from pair, (select
            json_extract(readfile('$T/pairs.out'), '\$.points[$point].low.\"request.ttft_s.p99\"') as low,
            json_extract(readfile('$T/pairs.out'), '\$.points[$point].high.\"request.ttft_s.p99\"') as high)" 1
done
run 0 sweep "$T/pairs.json" -q -o "$T/pairs.db" --resume
grep -qE '^1 +2 +[0-9.]+ \(-?[0-9.]+ \.\. [0-9.]+\) +30$' "$T/out" || complain 'no interval in the table'
out "in brackets: 95 % interval of the mean over the seeds, by Student's t"
run 0 sweep "$T/pairs.json" -q -o "$T/fixed.db" --set services.chat.trace.arrival.process=fixed
! grep -q 'in brackets' "$T/out" || complain 'an interval of seeds without effect'
finish
