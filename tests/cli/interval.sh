#!/bin/sh
# Intervals by the error of the cost models: what they are, where they stand, and what they do not change.
. tests/cli/lib.sh

no_line() { ! grep -q "^$2" "$T/$1" || complain "a line begins with '$2'"; }

# A catalog of round errors: measured times are 0.5 to 2 times those predicted.
mkdir -p "$T/data/configs/calibration"
for folder in engines hardware llms; do cp -r "configs/$folder" "$T/data/configs/"; done
cp -r configs/calibration/*.json configs/calibration/power "$T/data/configs/calibration/"
mkdir "$T/data/configs/calibration/releases"
errors() { # FAST SLOW
    echo '{"source": "t", "share": 0.9, "kinds": {"operators": {"rows": 7, "groups": 2, "fast": '$1', "slow": '$2'}}}' \
        >"$T/data/configs/calibration/releases/in_no_fit.json"
}
errors 0.5 2
ORRERY_DATA=$T/data
export ORRERY_DATA
printf 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,500,100\n' >"$T/one.csv"
cat >"$T/s.json" <<END
{"cluster": {"gpu": "a100-80-sxm"}, "services": {"a": {"llm": "llama-3.1-8b", "replicas": 1,
 "trace": {"format": "lengths", "path": "one.csv"}}}}
END

# A request alone takes times in proportion; energy has the error of the power model on top.
run 0 run "$T/s.json" --json -o "$T/r.db"
near() { # PATH FACTOR OF
    equal "$(sqlite3 :memory: "select abs(json_extract(readfile('$T/out'), '$1') /
        ($2 * json_extract(readfile('$T/out'), '$3')) - 1) < 1e-6")" 1 "$1"
}
near '$.intervals.metrics."request.e2e_s.max"[0]' 0.5 '$.metrics."request.e2e_s.max"'
near '$.intervals.metrics."request.e2e_s.max"[1]' 2 '$.metrics."request.e2e_s.max"'
near '$.intervals.metrics."request.tpot_s.max"[1]' 2 '$.metrics."request.tpot_s.max"'
near '$.intervals.metrics."service.output_tokens_per_s"[0]' 0.5 '$.metrics."service.output_tokens_per_s"'
json '$.intervals.share' 0.9
json '$.intervals.basis' '7 measured runs of 2 systems, each predicted without its group'
equal "$(sqlite3 :memory: "select json_extract(readfile('$T/out'), '\$.intervals.metrics.\"energy.j\"[1]') >
    json_extract(readfile('$T/out'), '\$.metrics.\"energy.j\"')")" 1 'the upper end of the energy'

# They are beside the result: the file has them, the hash does not know them, --interval never leaves them out.
sql "$T/r.db" "select share, basis from run_interval" '0.9|7 measured runs of 2 systems, each predicted without its group'
sql "$T/r.db" "select count(*) from metric_interval as i join metric as m using (run_id, name)
    where value between low and high" "$(sqlite3 "$T/r.db" 'select count(*) from metric_interval')"
run 0 run "$T/s.json" --interval never -o "$T/r.db"
no_line out interval
sql "$T/r.db" 'select count(distinct result_hash), count(distinct trace_hash) from run' '1|1'
sql "$T/r.db" 'select count(*) from run_interval where run_id = 2' 0
run 0 run "$T/s.json" --interval always
out 'interval  TTFT p99 18.'
out '; by two more runs with faster and slower iterations: within their TPOT are 90 % of 7 measured runs of 2 systems, each predicted without its group'
out '; no error of TTFT is measured: its interval is what these two runs have'
run 2 run "$T/s.json" --interval sometimes
err 'auto'

run 0 run "$T/s.json" -q -o "$T/show.db" --json
cp "$T/out" "$T/first"
run 0 show "$T/show.db" --json
cmp -s "$T/out" "$T/first" || complain 'show prints other intervals than run'

# Errors of nothing make no interval, and neither do times that the user states.
errors 1 1
run 0 run "$T/s.json"
no_line out interval
errors 0.5 2
run 0 run "$T/s.json" --set 'services.a.cost={"kind": "affine", "decode": {"fixed": "1ms"}, "prefill": {"fixed": "1ms"}}'
no_line out interval
rm "$T/data/configs/calibration/releases/in_no_fit.json"
run 0 run "$T/s.json"
no_line out interval
echo '{"source": "t", "share": 0.5, "kinds": {}}' >"$T/data/configs/calibration/releases/in_no_fit.json"
run 0 run "$T/s.json"
no_line out interval
err 'no intervals, as a run at one of their ends failed: '

errors 0.5 2

# What nobody compared has none: an overhead of one's own, offloaded keys; no pipe is read again.
reason() { # TEXT (without one: no line), SETTINGS...
    text=$1
    shift
    run 0 run "$T/s.json" "$@"
    equal "$(sed -n 's/^interval  none, as //p' "$T/out")" "$text" "why there is no interval with $*"
    equal "$(grep -c '^interval' "$T/out")" "$([ -n "$text" ] && echo 1 || echo 0)" "lines of intervals with $*"
}
reason 'no measured run has such a calibration, kernels or CPU overhead' \
    --set 'services.a.cost={"kind": "operators", "overhead": {"iteration": "10ms"}}'
reason '' --set services.a.cost=roofline
reason 'engine none was not measured' --set services.a.cost.engine=none

# Kernels that were not measured on this GPU, of any format or of this one.
reason 'no kernel of mi300x was measured' --set cluster.gpu=mi300x
reason 'no kernel of b300-sxm was measured' --set cluster.gpu=b300-sxm
reason 'never measured on h200-sxm: gemm_int4' --set cluster.gpu=h200-sxm --set services.a.formats.weights=nvfp4
reason '' --set cluster.gpu=mi300x --interval never
run 0 run "$T/s.json" --set cluster.gpu=b200-sxm --set services.a.formats.weights=nvfp4
out 'interval  TTFT p99 '
run 0 size llama-3.1-8b --rate 4/s --requests 50 --max-gpus 1 --gpu b300-sxm -q --slo e2e.p99=100s
out '  interval: none, as no kernel of b300-sxm was measured'
mkfifo "$T/pipe"
cat "$T/one.csv" >"$T/pipe" &
run 0 run "$T/s.json" --set "services.a.trace.path=$T/pipe"
wait
no_line out interval

# A run that is cut: its latencies have intervals as far as nearly the same requests finish in all three runs.
cut() { # UNTIL: requests of 0.6 s or so, three a second
    cat >"$T/cut.json" <<END
{"cluster": {"gpu": "a100-80-sxm", "nodes": 1}, "services": {"a": {"llm": "llama-3.1-8b", "replicas": 4,
 "trace": {"format": "generate", "count": 100000, "arrival": {"process": "fixed", "rate": "3.3/s"},
           "prompt": {"distribution": "fixed", "tokens": 500}, "output": {"distribution": "fixed", "tokens": 50}}}}}
END
    run 0 run "$T/cut.json" --set "until=$1" -o "$T/cut.db"
}
finished() { # how many more requests finish with fast times than with slow ones
    sqlite3 "$T/cut.db" "select fast - slow from metric_interval where run_id = (select max(id) from run) and name = 'request.finished'"
}
kept() { # METRIC 0|1: whether it has an interval
    sql "$T/cut.db" "select count(*) from metric_interval where run_id = (select max(id) from run) and name = '$1'" "$2"
}
for until in 2s 20s 1000s; do
    cut $until
    [ "$(finished)" != 0 ] && [ -n "$(finished)" ] || complain "as many requests finish at both ends until $until"
    kept request.ttft_s.max 0
    case $until in
    2s) kept request.ttft_s.p50 0; kept request.ttft_s.p99 0; err 'no interval of request.' ;;
    20s) kept request.ttft_s.p50 1; kept request.ttft_s.p99 0; err 'no interval of request.' ;;
    1000s)
        kept request.ttft_s.p50 1
        kept request.ttft_s.p99 1
        kept request.e2e_s.mean 1
        out ', requests finished '
        ! grep -q 'no interval' "$T/err" || complain 'a warning without cause'
        ;;
    esac
done

# The ends of every metric are those of its three values. What counts joules or watts has the error of the power model
# on top, and tokens for a joule have it the other way round. A maximum of power has no interval. Fewer requests are
# unfinished with fast times, and more with slow ones.
cut 20s
run_id="run_id = (select max(id) from run)"
wide="with e as (select 1 - max(value, fast, slow) / high as e from metric_interval join metric using (run_id, name)
        where $run_id and name = 'energy.j'),
    ends as (select *, min(value, fast, slow) as least, max(value, fast, slow) as most,
        case when unit in ('J', 'W', 'J/token') then 1 when unit = 'token/J' then -1 else 0 end as kind
        from metric_interval join metric using (run_id, name) join e where $run_id)"
sql "$T/cut.db" "$wide select count(*) from ends where not (
    abs(low / (least * case kind when 1 then 1 / (1 + e) when -1 then 1 - e else 1 end) - 1) < 1e-9 and
    abs(high / (most * case kind when 1 then 1 / (1 - e) when -1 then 1 + e else 1 end) - 1) < 1e-9)" 0
sql "$T/cut.db" "$wide select count(*), sum(kind = -1), min(e) > 0.05, max(e) < 1 from ends where kind <> 0" '5|1|1|1'
sql "$T/cut.db" "$wide select count(*) from ends where unit = 'W' and name like '%.max'" 0
sql "$T/cut.db" "select fast < value and value < slow from metric_interval join metric using (run_id, name)
    where $run_id and name = 'request.unfinished'" 1

# A latency has an interval if at most half as many requests are unfinished as lie beyond the statistic.
for until in 50s 300s; do
    cut $until
    sql "$T/cut.db" "with share as (select (value + max(fast, slow)) / (select value from metric
            where $run_id and name = 'request.arrived') as share
            from metric_interval join metric using (run_id, name) where $run_id and name = 'request.unfinished'),
        latency as (select name, name in (select name from metric_interval where $run_id) as is_kept,
            case when name like '%.p50' then 0.5 when name like '%.p90' then 0.1 when name like '%.p95' then 0.05
                when name like '%.max' then 0 else 0.01 end as beyond
            from metric where $run_id and (name like 'request.ttft_s.%' or name like 'request.e2e_s.%'))
        select count(*), sum(is_kept <> (share <= beyond / 2)), sum(is_kept) between 3 and 9 from latency, share" '12|0|1'
done

cut 1s # none finishes
err 'up to 100 % of what it measures is unfinished'

# Comparisons say whether a change is larger than the error; pages and sizes show the ends.
run 0 run "$T/s.json" --set cluster.gpu=h100-sxm -o "$T/r.db"
run 0 run "$T/s.json" --set services.a.tensor_parallel=2 -o "$T/r.db"
run 0 compare "$T/r.db:1" "$T/r.db:3" -m request.e2e_s.max
out 'within the error of the cost models (one for each run), maybe none on hardware: request.e2e_s.max ('
run 0 compare "$T/r.db:1" "$T/r.db:4" -m request.e2e_s.max
out 'beyond the error of the cost models (one for both runs): request.e2e_s.max ('
cp "$T/out" "$T/pair"
run 0 compare "$T/r.db:1" "$T/r.db:4" -m energy.j
out 'within the error of the cost models (one for each run), maybe none on hardware: energy.j ('

# So do comparisons of groups: of one pair as those of two runs, of more by the means at equal ends, paired or not.
words() { sed -n 's/^note: \(.*of the cost models.*)\).*$/\1/p' "$1"; }
run 0 compare "$T/r.db" --base run=1 --new run=4 -m request.e2e_s.max
[ -n "$(words "$T/out")" ] && [ "$(words "$T/out")" = "$(words "$T/pair")" ] || complain 'a pair and a group of one pair differ'
sed 's|"format": "lengths", "path": "one.csv"|"format": "generate", "count": 30, "arrival": {"process": "poisson", "rate": "2/s"}|' \
    "$T/s.json" >"$T/g.json"
for seed in 2 3 4 5; do
    for tp in 1 2; do
        run 0 run "$T/g.json" --seed $seed --set services.a.tensor_parallel=$tp -o "$T/seeds.db"
    done
done
by_means() { # BASE NEW: of runs that base and new are, their note is about the means at either end and without errors
    out ' (one for all runs): request.e2e_s.max ('
    words "$T/out" | sed -n 's/.*(\([-+.0-9]*\) \.\. \([-+.0-9]*\) %).*/\1 \2/p' >"$T/range"
    equal "$(cat "$T/range")" "$(sqlite3 "$T/seeds.db" "select printf('%+.3g %+.3g', 100 * min(f, s, v) - 100,
        100 * max(f, s, v) - 100) from (select total(fast) filter (where $2) / total(fast) filter (where $1) as f,
            total(slow) filter (where $2) / total(slow) filter (where $1) as s,
            total(value) filter (where $2) / total(value) filter (where $1) as v
        from metric_interval join metric using (run_id, name) where name = 'request.e2e_s.max')")" "range of $1, $2"
}
run 0 compare "$T/seeds.db" --base services.a.tensor_parallel=1 --new services.a.tensor_parallel=2 -m request.e2e_s.max
by_means 'run_id % 2 = 1' 'run_id % 2 = 0'
sqlite3 "$T/seeds.db" 'delete from run where id in (2, 4, 5, 7)'
run 0 compare "$T/seeds.db" --base services.a.tensor_parallel=1 --new services.a.tensor_parallel=2 -m request.e2e_s.max
out 'the runs are not paired'
by_means 'run_id in (1, 3)' 'run_id in (6, 8)'
sqlite3 "$T/seeds.db" 'delete from run_interval where run_id = 8'
run 0 compare "$T/seeds.db" --base services.a.tensor_parallel=1 --new services.a.tensor_parallel=2 -m request.e2e_s.max
out '1 of 4 runs have no interval'

# Files of GPUs may differ for one load; of jobs, and of requests whose outputs differ, that is not known.
printf 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,500,90\n' >"$T/two.csv"
for trace in one two; do
    run 0 run "$T/s.json" --set services.a.trace.path=$T/$trace.csv -o "$T/loads.db"
done
run 0 compare "$T/loads.db:1" "$T/loads.db:2"
err 'the two runs have read different input files: traces, or files of GPUs'
for gpu in a100-80-sxm h100-sxm; do
    for seed in 1 2; do run 0 run "$T/g.json" --seed $seed --set cluster.gpu=$gpu -o "$T/gpus.db"; done
done
run 0 compare "$T/gpus.db" --base cluster.gpu=a100-80-sxm --new cluster.gpu=h100-sxm
out 'the input files differ in 2 pairs: files of GPUs, LLMs, engines or calibrations, as the requests have equal sizes and times'
! grep -q 'different input files' "$T/err" || complain 'one load is warned of'
run 0 report "$T/r.db:1" -o "$T/r.html"
grep -q 'the interval is one-sided: other times move the metric that way alone' "$T/r.html" || complain 'one-sided intervals'
holds "$T/r.html" '<caption>Intervals</caption>'
holds "$T/r.html" 'Ends by the TPOT of 90 % of 7 measured runs of 2 systems, each predicted without its group. '
run 0 size llama-3.1-8b --rate 4/s --requests 50 --max-gpus 1 --gpu a100-80-sxm -q --slo e2e.p99=100s
out '  interval: e2e p99 '
out '; kept at both ends'
finish
