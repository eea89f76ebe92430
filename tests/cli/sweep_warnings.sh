#!/bin/sh
# A sweep says what `orrery run` warns of, each warning once for all points that have it.
. tests/cli/lib.sh

cat >"$T/base.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "replicas": 2,
                        "trace": {"format": "generate", "count": 40,
                                  "arrival": {"process": "poisson", "rate": "60/s"}}}} }
END
cat >"$T/study.json" <<'END'
{ "scenario": "base.json", "seeds": 2, "set": {"services.chat.kv.slo_ttft": "1s"},
  "axes": [{"key": "services.chat.replicas", "values": [1, 2]},
           {"key": "cluster.gpu", "values": ["a100-80-sxm", "h100-sxm"]}] }
END
run 0 run "$T/base.json" -q --set services.chat.kv.slo_ttft=1s
err "warning: 'kv.slo_ttft' has no effect: kv.offload 'none' places nothing beyond the GPU; leave it out"
run 0 sweep "$T/study.json" -q -j 1 -o "$T/one.db"
err "warning: 'kv.slo_ttft' has no effect: kv.offload 'none' places nothing beyond the GPU; leave it out (at all 4 points)"
err '(at 2 of 4 points, first at replicas 1, gpu h100-sxm)'
cp "$T/err" "$T/first"
# Each stored warning is there once, with its numbers left aside, and with the points that have it.
sqlite3 "$T/one.db" "select code, count(distinct (run_id - 1) / 2) from warning group by code, text" | sort -u >"$T/stored"
cut -d'|' -f1 "$T/stored" | sort -u | while read -r code; do
    grep -q "^warning: $code: .* (at .* points" "$T/first" || echo "$code"
done >"$T/unsaid"
equal "$(cat "$T/unsaid")" '' 'stored warnings that the sweep does not say'
[ -s "$T/stored" ] || complain 'no run has a warning'
equal "$(sed 's/[0-9.]*[0-9]//g' "$T/first" | sort | uniq -d)" '' 'warnings that are there twice'

# The workers decide nothing, and a run has what it had. A complete study has the stored ones still.
run 0 sweep "$T/study.json" -q -j 3 -o "$T/three.db"
err_is <"$T/first"
sql "$T/three.db" "select count(*) from warning where text like '%slo_ttft%'" 0
run 0 sweep "$T/study.json" -q -o "$T/one.db" --resume
grep -v 'slo_ttft' "$T/first" | err_is

# Schedulers that leave node types idle beside one that uses them.
cat >"$T/mixed.json" <<'END'
{ "scenario": "gavel-heterogeneous", "set": {"jobs.trace.count": 12},
  "axes": [{"key": "jobs.scheduler", "values": ["gavel", "fifo", "tiresias"]}] }
END
run 0 sweep "$T/mixed.json" -q -o "$T/mixed.db"
err "warning: idle-node-types: scheduler 'fifo' ignores further node types: nothing runs on 'p100', 'k80'; 'gavel', 'sia' and others place jobs on them; else leave them out (at 1 of 3 points, scheduler fifo)"
err "warning: idle-node-types: scheduler 'tiresias' ignores further node types: nothing runs on 'p100', 'k80'; 'gavel', 'sia' and others place jobs on them; else leave them out (at 1 of 3 points, scheduler tiresias)"

# Intervals that no run can have are told: of jobs, and of services whose costs are stated.
cat >"$T/jobs.json" <<'END'
{ "cluster": {"nodes": 1}, "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"gpus": 1, "duration": "10s"}]}} }
END
echo '{"scenario": "jobs.json", "intervals": true}' >"$T/none.json"
run 0 sweep "$T/none.json" -q -o "$T/none.db"
err "warning: 'intervals' has no effect: it is about services, and there are none; leave it out"
echo '{"scenario": "base.json", "seeds": 3, "intervals": true,
       "axes": [{"key": "services.chat.cost", "values": [{"kind": "operators"}, {"kind": "roofline"}]}]}' >"$T/some.json"
run 0 sweep "$T/some.json" -q -o "$T/some.db"
err 'no intervals: no error of the cost models is known, or it moves no metric (at 1 of 2 points, cost roofline)'
# A point with known errors has intervals under its first seed alone, and a comparison of several seeds says so.
sql "$T/some.db" "select group_concat(run_id) from run_interval" 1
echo '{"scenario": "base.json", "seeds": 3, "intervals": true,
       "axes": [{"key": "services.chat.replicas", "values": [1, 2]}]}' >"$T/both.json"
run 0 sweep "$T/both.json" -q -o "$T/both.db"
! grep -q 'intervals' "$T/err" || complain 'a warning of intervals without cause'
sql "$T/both.db" "select group_concat(run_id) from run_interval" 1,4
run 0 compare "$T/both.db" --base replicas=1 --new replicas=2
out '4 of 6 runs have no interval'
out 'in a study with "intervals" only the first seed of each point has one'
run 0 compare "$T/both.db:1" "$T/both.db:4"
out ' the error of the cost models (one for both runs)'

# What a study shows and no run has is told with its definition, which says what it needs.
echo '{"scenario": "base.json", "set": {"cluster.gpu_price": "$2/h"},
       "show": ["request.ttft_s.p99", "cost.usd_per_output_token"]}' >"$T/price.json"
run 0 sweep "$T/price.json" -q -o "$T/price.db"
err "warning: no run has 'cost.usd_per_output_token': bill of the services / output tokens of finished requests; without a 'market' there is cost.output_tokens_per_usd instead"
! grep -q "no run has 'request" "$T/err" || complain 'a metric that runs have'

# At most ten lines, then their number.
cat >"$T/many.json" <<'END'
{ "scenario": "gavel-heterogeneous", "set": {"jobs.trace.count": 12},
  "axes": [{"key": "jobs.scheduler", "values": ["fifo", "fifo-skip", "fifo-migrate", "conservative", "easy",
            "sjf", "fewest-gpus", "srtf", "srsf", "tiresias", "equi", "edf"]}] }
END
run 0 sweep "$T/many.json" -q -o "$T/many.db"
equal "$(grep -c ' (at .*\(points\|point\), \|(at all ' "$T/err")" 10 'lines of warnings'
grep -qE "^... and [0-9]+ more warnings: 'orrery show' prints those of a run in .*many.db$" "$T/err" || complain 'no word on the others'
finish
