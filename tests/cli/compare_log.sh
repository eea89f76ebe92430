#!/bin/sh
# Results of serving benchmarks, written from a run, against simulated times: the run's own come back without an error,
# and what cannot be compared is told.
. tests/cli/lib.sh

db=$T/r.db
run 0 run quickstart --set services.chat.trace.limit=150 -q --interval never -o "$db"

# A file as these programs write it, from the rows of the run, with further members.
written() { # FILE MEMBERS [MORE]: before its lists, and behind them
    sqlite3 "$db" "select json_object($2, 'total_input_tokens', sum(prompt_tokens), 'input_lens', json_group_array(prompt_tokens), 'output_lens', json_group_array(output_tokens),
        'ttfts', json_group_array(ttft_s), 'itls', json_group_array(json('[' ||
            rtrim(replace(hex(zeroblob(output_tokens - 1)), '00', tpot_s || ','), ',') || ']')) $3) from (select * from request order by id)" >"$1"
}
starts=", 'start_times', json_group_array(1000 + arrival_s)"
vllm="'model_id', 'm', 'num_prompts', count(*), 'request_rate', 4.0"
written "$T/vllm.json" "$vllm" "$starts"
written "$T/late.json" "$vllm, 'max_concurrency', 32"
written "$T/sglang.json" "'total_output_tokens_retokenized', 1, 'request_rate', 4.0"

# All errors of the report in JSON, and how many statistics there are.
errors() { sqlite3 :memory: "select count(*), max(abs(value ->> 'error_percent')) < 1e-6 from json_each(readfile('$T/out'), '\$.distributions')"; }

run 0 trace replay "$T/vllm.json" --scenario quickstart --json
valid_json
json '$.format' vllm-bench
json '$.same_arrivals' 1
equal "$(errors)" '12|1' 'TTFT, TPOT and E2E without an error'
json '$.throughput[0].rate' requests_per_s

# The same of a stored run whose trace was the file, in either order.
trace="services.chat.trace={\"format\": \"vllm-bench\", \"path\": \"$T/vllm.json\"}"
run 0 run quickstart --set services.chat.trace=null --set "$trace" -q --interval never -o "$T/bench.db"
run 0 compare "$T/bench.db" "$T/vllm.json" --json
valid_json
equal "$(errors)" '12|1' 'of the stored run'
json '$.finished' 150
cp "$T/out" "$T/first"
run 0 compare "$T/vllm.json" "$T/bench.db:1" --json
cmp -s "$T/out" "$T/first" || complain 'another order, another answer'
run 0 compare "$T/bench.db" "$T/vllm.json"
out "simulated  $T/bench.db:1 (quickstart, seed 1): 150 of them finished"
! grep -q 'more$' "$T/out" || complain 'the run has more than all requests'
out 'Worst requests'

# Requests of the run that the log does not have are counted.
cp "$db" "$T/cut.db"
sqlite3 "$T/cut.db" 'delete from request where id >= 100'
(db=$T/cut.db && written "$T/cut.json" "$vllm" "$starts")
run 0 compare "$T/bench.db" "$T/cut.json"
out "simulated  $T/bench.db:1 (quickstart, seed 1): 100 of them finished; the run has 50 more"

# A run of a part of the file begins at another time of it: on both sides rates count from the first of its requests.
run 0 run quickstart --set services.chat.trace=null --set "$trace" --set 'services.chat.trace.window=["10s", "1h"]' -q --interval never -o "$T/part.db"
run 0 compare "$T/part.db" "$T/vllm.json" --json
json '$.same_arrivals' 1
first=$(sqlite3 "$T/part.db" 'select min(id) from request')
rate() { sqlite3 "$1" "select count(*) / (max(arrival_s + e2e_s) - min(arrival_s)) from request where id >= $first"; }
sql :memory: "select count(*), max(abs((value ->> 'measured') / $(rate "$db") - 1) < 1e-6), max(abs((value ->> 'simulated') / $(rate "$T/part.db") - 1) < 1e-6)
    from json_each(readfile('$T/out'), '\$.throughput') where value ->> 'rate' = 'requests_per_s'" '1|1|1'

# Measured medians and percentiles are those of the file.
median() { sqlite3 "$db" "select avg(v) from (select $1 as v, row_number() over (order by $1) as n, count(*) over () as m from request
    where $1 not null) where n in ((m + 1) / 2, m / 2 + 1)"; }
run 0 compare "$T/bench.db" "$T/vllm.json" --json
for time in ttft_s tpot_s e2e_s; do
    sql :memory: "select abs((value ->> 'measured') / $(median $time) - 1) < 0.02 from json_each(readfile('$T/out'), '\$.distributions')
        where value ->> 'time' = '$time' and value ->> 'statistic' = 'p50'" 1
done

# A faster deployment errs by what it is faster.
run 0 run quickstart --set services.chat.trace=null --set "$trace" --set services.chat.replicas=8 -q --interval never -o "$T/fast.db"
run 0 compare "$T/fast.db" "$T/vllm.json" --csv
grep -qE '^ttft_s,mean,[0-9.]+,[0-9.]+,-[0-9.]+' "$T/out" || complain 'it is not faster'

# Without start times the arrivals are drawn: distributions alone compare.
run 3 trace replay "$T/late.json" --scenario quickstart
err "'start_times' is missing"
run 0 trace replay "$T/late.json" --scenario quickstart --set 'services.chat.trace.arrival={"process": "poisson", "rate": "4/s"}'
out 'The arrivals are not the measured ones: distributions can be compared, single requests and throughput cannot.'
out 'The benchmark kept at most 32 requests open'
! grep -q 'Worst requests' "$T/out" || complain 'single requests are compared'
run 0 trace replay "$T/sglang.json" --scenario quickstart --json --set 'services.chat.trace.arrival={"process": "poisson", "rate": "4/s"}'
json '$.format' sglang-bench
json '$.same_arrivals' 0
run 0 compare "$db" "$T/sglang.json" --json
equal "$(errors)" '12|1' 'of SGLang'
json '$.same_arrivals' 0

# What does not fit is told.
run 3 compare "$T/bench.db" "$T/none.json"
run 2 compare "$T/bench.db" traces/samples/chat.csv
err 'this looks like a trace of format azure-llm, which has no measured times'
run 2 compare "$T/bench.db" "$T/vllm.json" --metric ttft_s
err 'a log has measured times of requests, and no metrics to choose or to judge'
run 2 trace replay "$T/vllm.json" --scenario quickstart --allow-bad-rows 3
err "a file of format 'vllm-bench' has no rows that could be left out"
sqlite3 "$T/fast.db" 'update request set output_tokens = 7 where id = 5'
run 3 compare "$T/fast.db" "$T/vllm.json"
err 'the run did not replay'
run 0 run quickstart --set services.chat.trace.limit=10 --keep metrics -q --interval never -o "$T/few.db"
run 3 compare "$T/few.db" "$T/vllm.json"
err 'the run has no rows of requests; repeat the run with --keep rows'

# What the file is, where it is neither: cut off, packed, a picture, a scenario, several benchmarks in a list or not. A
# list of one is that benchmark.
told() { # FILE TEXT
    run 3 compare "$T/bench.db" "$T/$1"
    err "$T/$1$2"
}
head -c 2000 "$T/vllm.json" >"$T/cut.json"
told cut.json ':1:2001: error: expected '
err ', but the file ends here; the file is cut off, or still being written'
echo '{"model_id": "m", "date": ' >"$T/early.json"
told early.json ': error: this is JSON that is cut off: expected a value, got the end of the text; copy it again'
printf 'PK\003\004 of a zip' >"$T/bench.zip"
told bench.zip ': error: is a zip archive, neither results nor the measured times of a benchmark; unpack'
printf '\211PNG\r\n\032\n' >"$T/chart.png"
told chart.png ': error: is a picture (PNG), neither'
printf '\001\002\003abcdefg\004\200\201\000' >"$T/bytes"
told bytes ': error: is binary data, neither'
echo '{"a": 1}' >"$T/other.json"
told other.json ': error: this is JSON, neither results nor the measured times of a benchmark; name a file that a run'
echo '{"jobs": {}}' >"$T/site.json"
told site.json ": error: this is a scenario, not results; first: orrery run $T/site.json -o results.db"
cat "$T/vllm.json" "$T/vllm.json" >"$T/two.json"
told two.json ': error: the file has several benchmarks; copy one of them to a file of its own'
{ echo '['; cat "$T/vllm.json"; echo ','; cat "$T/vllm.json"; echo ']'; } >"$T/list.json"
told list.json ': error: the file has several benchmarks; copy one of them to a file of its own'
{ echo '['; cat "$T/vllm.json"; echo ']'; } >"$T/list.json"
run 0 compare "$T/bench.db" "$T/list.json" --json
equal "$(errors)" '12|1' 'of a list of one benchmark'

finish
