#!/bin/sh
# Traces outside any run: checked, described, converted there and back, made up.
. tests/cli/lib.sh

# A trace that is made up is the same for the same seed, and reads back as what it is.
run 0 trace generate -o "$T/g.csv" --set count=500 --seed 3
out_is <<END
$T/g.csv: 500 requests
END
run 0 trace generate -o "$T/same.csv" --set count=500 --seed 3
cmp -s "$T/g.csv" "$T/same.csv" || complain 'another trace from the same seed'
run 0 trace generate -o "$T/other.csv" --set count=500
cmp -s "$T/g.csv" "$T/other.csv" && complain 'the same trace from another seed'
run 0 trace check "$T/g.csv" -f csv
grep -qE ": ok, 500 requests in 500 rows, over [0-9.]+ s; [0-9.]+/s, [0-9.]+ prompt and [0-9.]+ output tokens on average$" "$T/out" || complain 'what it found'

# There and back, plain and compressed; what it says about both is the same.
run 0 trace stat "$T/g.csv" -f csv --json
cp "$T/out" "$T/stat.json"
valid_json
json '$.requests' 500
run 0 trace convert "$T/g.csv" -f csv -o "$T/a.csv.gz" --to azure-llm
run 0 trace convert "$T/a.csv.gz" -f azure-llm -o "$T/b.csv"
gzip -t "$T/a.csv.gz" || complain 'it is not compressed'
run 0 trace stat "$T/b.csv" -f csv --json
for key in requests prompt_tokens_sum output_tokens_sum prompt_tokens.p50 output_tokens.max; do
    json "\$.$key" "$(json_of "$T/stat.json" "\$.$key")"
done
run 0 trace stat "$T/b.csv" -f csv
out 'prompt_tokens_sum'
grep -qE '^quantity +mean +cv +min +p5 ' "$T/out" || complain 'the table of quantities'

# Arrivals over the span, and a beginning that is sparse: 3 jobs in 20 h, then one each minute for 5 h.
awk 'BEGIN { print "submit_s,duration_s,gpus"
             for (t = 100; t < 72000; t += 28800) print t ",60,1"
             for (t = 72100; t < 90100; t += 60) print t ",60,1" }' >"$T/sparse.csv"
columns='columns={"submit": "submit_s", "duration": "duration_s"}'
run 0 trace stat "$T/sparse.csv" -f csv-jobs --set "$columns"
out 'arrivals by tenth of the span, in %: 0.33 0 0 0.33 0 0 0.33 0.66 49.5 48.8'
out 'sparse beginning: 3 of 303 jobs in the first 718'
window=$(sed -n 's/^without sparse parts: "window": //p' "$T/out")
run 0 trace stat "$T/sparse.csv" -f csv-jobs --set "$columns" --set "window=$window" --json
cp "$T/out" "$T/by_list"
# A window may be written as the stretches of other options are; it does not take dates.
run 0 trace stat "$T/sparse.csv" -f csv-jobs --set "$columns" --set "window=$(echo "$window" | tr -d '[]" ' | tr , :)" --json
cmp -s "$T/out" "$T/by_list" || complain 'FROM:TO is another window'
run 2 trace stat "$T/sparse.csv" -f csv-jobs --set "$columns" --set window=9s:1s
err "'window' is \"9s:1s\", which ends before it begins"
run 2 trace stat "$T/sparse.csv" -f csv-jobs --set "$columns" --set window=1s
err 'write "2h:3h", or ["2h", "3h"]'
run 2 trace stat "$T/sparse.csv" -f csv-jobs --set "$columns" --set 'window=2023-11-16 18:00:2023-11-16 19:00'
err "'window' takes no dates, such as '2023-11-16 18:00:2023-11-16 19:00'; time 0 is the first record of most logs"
cp "$T/by_list" "$T/out"
json '$.jobs' 300
json '$.sparse_beginning' ''
equal "$(sqlite3 :memory: "select sum(value) from json_each(readfile('$T/out'), '\$.arrivals_by_tenth')")" 300 'arrivals of the tenths'
run 0 trace stat "$T/g.csv" -f csv
! grep -q sparse "$T/out" || complain 'a Poisson process is called sparse'

# Transforms on the way.
run 0 trace convert "$T/g.csv" -f csv -o "$T/c.csv" --set limit=100 --set max_total_tokens=64
out_is <<END
$T/c.csv: 100 requests
END
err 'warning: '
run 0 trace check "$T/c.csv" -f csv

# Jobs.
mixed
run 0 trace check "$T/jobs.csv" -f csv-jobs
out_is <<END
$T/jobs.csv: ok, 300 jobs in 300 rows, over 99 s
END
run 0 trace convert "$T/jobs.csv" -f csv-jobs -o "$T/philly.csv" --to philly
run 0 trace stat "$T/philly.csv" -f philly --json
json '$.jobs' 300
json '$.gpu_s' "$(awk -F, 'NR > 1 { sum += $2 * $3 } END { print sum }' "$T/jobs.csv")"

# Jobs that are made up have types, and none has more GPUs than it may.
run 0 trace generate -f generate-jobs -o "$T/seren.csv" -t csv-jobs --set mix=seren --set count=2000 --set max_gpus=4
err 'jobs of more GPUs made as large as "max_gpus"'
run 0 trace stat "$T/seren.csv" -f csv-jobs --json
equal "$(sqlite3 :memory: "select sum(value ->> 'jobs'), abs(sum(value ->> 'gpu_s') / $(json_of "$T/out" '$.gpu_s') - 1) < 1e-9
    from json_each(readfile('$T/out'), '$.types')")" '2000|1' 'jobs of all types, and their GPU time'
json '$.gpus.max' 4
for fate in failed cancelled; do
    json "\$.${fate}_jobs" "$(awk -F, -v fate=$fate '$11 == fate' "$T/seren.csv" | wc -l)"
    json "\$.${fate}_gpu_s" "$(awk -F, -v fate=$fate '$11 == fate { sum += $3 * $4 } END { print sum }' "$T/seren.csv")"
done

# Requests of classes are counted by class.
run 0 trace generate -f generate -o "$T/classes.csv" -t csv --set count=60 --set 'classes={"a": {"share": 2}, "b": {"share": 1}}'
run 0 trace stat "$T/classes.csv" -f csv --json
equal "$(sqlite3 :memory: "select count(*), sum(value ->> 'requests'), sum(value ->> 'share')
    from json_each(readfile('$T/out'), '$.classes')")" '2|60|1.0' 'classes, their requests and shares'

# Sessions are written and read, and become single requests. Other requests are of no session.
run 0 trace convert traces/samples/agents.jsonl -o "$T/agents.jsonl"
out "$T/agents.jsonl: 40 sessions"
equal "$(cksum <"$T/agents.jsonl")" "$(cksum <traces/samples/agents.jsonl)" 'sessions that were read and written'
run 0 trace check traces/samples/agents.jsonl
out ': ok, 272 requests in 40 rows'
run 0 trace convert traces/samples/agents.jsonl -o "$T/agents.csv" -t csv
equal "$(wc -l <"$T/agents.csv")" 273 'lines of single requests'
for to in csv mooncake; do # prefix blocks of another size are said, and read back
    run 0 trace convert traces/samples/agents.jsonl -o "$T/blocks.$to" -t $to
    err "$T/blocks.$to: warning: its prefix blocks have 64 tokens"
    run 0 trace check "$T/blocks.$to" -f $to --set block_tokens=64
done
# What a format cannot hold is named, once.
printf '%s\n' arrival_s,prompt_tokens,output_tokens,prefix_blocks,class 0,1024,5,'1 2',gold 1,1024,5,'1 3',gold >"$T/rich.csv"
run 0 trace convert "$T/rich.csv" -f csv --set columns.class=class -o "$T/poor.csv" -t azure-llm
equal "$(grep -c 'the prefix blocks of its prompts are left out' "$T/err")" 1 'warnings of blocks'
equal "$(grep -c 'the classes of its requests are left out' "$T/err")" 1 'warnings of classes'
run 0 trace convert "$T/rich.csv" -f csv --set columns.class=class -o "$T/poor.jsonl" -t mooncake
equal "$(grep -c 'left out' "$T/err")" 1 'warnings of classes alone'
for to in csv jsonl; do
    run 0 trace convert "$T/rich.csv" -f csv --set columns.class=class -o "$T/same.$to" -t $to
    ! grep -q 'left out' "$T/err" || complain "$to holds all of it"
done
printf '%s\n' arrival_s,prompt_tokens,output_tokens,chunks 0,100,5, 1,512,5,17:512 2,512,5,18:512 >"$T/chunks.csv"
for to in csv azure-llm mooncake csv-chunks jsonl; do # the first request has none
    run 0 trace convert "$T/chunks.csv" -f csv -o "$T/of_chunks.$to" -t $to
    case $to in csv-chunks | jsonl) n=0 ;; *) n=1 ;; esac
    equal "$(grep -c 'the chunks of its prompts are left out' "$T/err")" $n "warnings of chunks in $to"
done
run 2 trace convert traces/samples/chat.csv -o "$T/never.jsonl" -t sessions
err "requests of 'azure-llm' are of no sessions"

# A format that is not named is guessed; other verbs say nothing of it.
run 0 trace check "$T/g.csv"
out "$T/g.csv: format csv, guessed from its beginning"
run 0 trace stat traces/samples/sessions.jsonl --json
json '$.requests' 200
run 0 trace convert traces/samples/jobs.csv -o "$T/guessed.csv"
out_is <<END
$T/guessed.csv: 500 jobs
END

# A table of one's own: comments, semicolons and times of ISO 8601.
printf '# from a gateway\nwhen;in;out\n2024-01-01T00:00:00+01:00;10;5\n2023-12-31T23:00:01.5Z;20;7\n' >"$T/iso.csv"
run 0 trace check "$T/iso.csv" -f csv --set columns.arrival=when --set columns.prompt=in --set columns.output=out
out_is <<END
$T/iso.csv: ok, 2 requests in 2 rows, over 1.5 s; 0.667/s, 15 prompt and 6 output tokens on average
END

run 0 trace check "$T/iso.csv" -f csv --set columns.arrival=when --set columns.prompt=out --set columns.output=in
err_is </dev/null
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,31\n' >"$T/swapped.csv"
run 0 trace check "$T/swapped.csv"
err 'outputs are 3.1 times as long as prompts; see that the columns of prompts and outputs are not swapped'

# A document is one whole: it has no rows to count when it is wrong.
printf '{"input_lens": [1]' >"$T/cut.json"
run 3 trace check "$T/cut.json" -f vllm-bench
out_is <<END
$T/cut.json: cannot be read
END

# Every wrong row is reported.
cat >"$T/bad.csv" <<'END'
TIMESTAMP,ContextTokens,GeneratedTokens
2024-01-01 00:00:00,100,10
2024-01-01 00:00:01,many,10
2024-01-01 00:00:02,100,10
2024-01-01 00:00:01,100,10
END
run 3 trace check "$T/bad.csv" -f azure-llm
out_is <<END
$T/bad.csv: 2 of 4 rows are wrong
END
err_is <<END
$T/bad.csv:3:21: error: 'ContextTokens' must be a whole number, got 'many'; correct the row, or let "allow_bad_rows" leave such rows out
$T/bad.csv:5:1: error: 'TIMESTAMP' runs backwards: 1 s before the latest row above; sort the file, or set "sort": true
END
run 3 trace convert "$T/bad.csv" -f azure-llm -o "$T/never.csv"
no_file "$T/never.csv"
run 3 trace stat "$T/nowhere.csv" -f csv
err_is <<END
$T/nowhere.csv: error: cannot open: No such file or directory
END
run 3 trace convert "$T/g.csv" -f csv -o "$T/nowhere/x.csv"
err "$T/nowhere/x.csv: error: "

# Usage.
run 2 trace chek "$T/g.csv"
err_is <<'END'
error: unknown topic 'chek'; did you mean 'check'?
END
run 2 trace check
err_is <<'END'
error: there is no trace to read; usage: orrery trace check FILE
END
printf 'when|in|out\n' >"$T/own.csv"
run 3 trace check "$T/own.csv"
err_is <<END
$T/own.csv: error: no format fits: the first row is 'when|in|out'; name it with -f; csv and csv-jobs read any table, with --set columns.KEY=NAME
END
run 2 trace stat "$T/g.csv" -f azure
err_is <<'END'
error: unknown format 'azure'; did you mean 'azure-llm'?
END
run 2 trace convert "$T/g.csv" -f csv
err_is <<'END'
error: the new trace has no file; name it with -o
END
run 2 trace convert "$T/g.csv" -f csv -o "$T/x.csv" --to philly
err "error: unknown format for requests 'philly'; known: csv"
run 2 trace generate "$T/g.csv" -o "$T/x.csv"
err_is <<'END'
error: a generator reads no file; name the new file with -o
END
run 2 trace generate -o "$T/x.csv" --set cout=5 --seed many
err "--set cout: error: unknown key 'cout'; did you mean 'count'?"
no_file "$T/x.csv"
# Prefix caches, tried on the blocks of prompts: two conversations in turn, and what breaks a prefix.
cat >"$T/blocks.jsonl" <<'END'
{"timestamp": 0, "input_length": 1536, "output_length": 9, "hash_ids": [1, 2, 3]}
{"timestamp": 1, "input_length": 1024, "output_length": 9, "hash_ids": [7, 8]}
{"timestamp": 2, "input_length": 2000, "output_length": 9, "hash_ids": [1, 2, 3, 4]}
{"timestamp": 3, "input_length": 512, "output_length": 9, "hash_ids": [7]}
{"timestamp": 4, "input_length": 1024, "output_length": 9, "hash_ids": [9, 2]}
END
run 0 trace stat "$T/blocks.jsonl" -f mooncake --json --prefix-cache lru=2,5,inf --prefix-cache s3-fifo:small=0.5=3 \
    --prefix-cache belady=5
valid_json
json '$.requests' 5
json '$.prefix_cache[0].policy' lru
json '$.prefix_cache[0].capacity_blocks' 2
json '$.prefix_cache[0].block_hits' 0
json '$.prefix_cache[1].block_hits' 3 # 1 2 3; 4 takes the place of 7
json '$.prefix_cache[1].blocks_found' 4 # 2 behind 9
json '$.prefix_cache[1].blocks' 12
json '$.prefix_cache[1].hit_frac' 0.25
json '$.prefix_cache[2].capacity_blocks' ''
json '$.prefix_cache[2].block_hits' 4
json '$.prefix_cache[2].evictions' 0
json '$.prefix_cache[3].policy' s3-fifo:small=0.5
json '$.prefix_cache[4].blocks_found' 5
json '$.prefix_cache[5]' ''
# Ids of blocks of a copy are read back. Each copy hits as often as the trace.
run 0 trace convert "$T/blocks.jsonl" -f mooncake --set upscale.factor=2 -o "$T/copies.jsonl" -t mooncake
run 0 trace stat "$T/copies.jsonl" -f mooncake --json --prefix-cache lru=inf
json '$.requests' 10
json '$.prefix_cache[0].blocks' 24
json '$.prefix_cache[0].block_hits' 8
run 2 trace stat traces/samples/chat.csv --set 'window=["10h","11h"]' --set upscale.factor=2
err 'nothing is left of the trace after "window"'
run 0 trace stat "$T/blocks.jsonl" -f mooncake --prefix-cache lru=5,inf
grep -qE '^lru +5 +12 +3 +0.25 +4 +' "$T/out" || complain 'the table of caches'
grep -qE '^lru +inf +12 +4 ' "$T/out" || complain 'the cache without a limit'
run 0 trace stat "$T/blocks.jsonl" -f mooncake --json
json '$.prefix_cache' ''
# The seed is that of the draws.
for seed in 1 2 3 4 5 6; do
    run 0 trace stat traces/samples/sessions.jsonl -f mooncake --json --prefix-cache marking=200 --seed $seed
    json_of "$T/out" '$.prefix_cache[0].block_hits'
done | sort -u | wc -l | grep -qx 1 && complain 'the seed changes nothing'

run 2 trace stat "$T/blocks.jsonl" -f mooncake --prefix-cache lur=5
err_is <<'END'
--prefix-cache: error: unknown eviction policy 'lur'; did you mean 'lru'?
END
form="write POLICY=BLOCKS,BLOCKS,... with parameters as POLICY:KEY=VALUE=BLOCKS; 'inf' is no limit"
for text in lru =5 lru= lru=0 lru=5, lru=1.5 lru=-3 lru:x=1=5; do
    run 2 trace stat "$T/blocks.jsonl" -f mooncake --prefix-cache $text
    err "$form"
done
run 2 trace stat "$T/blocks.jsonl" -f mooncake --prefix-cache discard-bit:eror=0.1=5
err "--prefix-cache: error: unknown key 'eror'"
err "did you mean 'error'?"
run 2 trace stat "$T/blocks.jsonl" -f mooncake --prefix-cache discard-bit:error=2=5
run 3 trace stat "$T/g.csv" -f csv --prefix-cache lru=5
err_is <<'END'
--prefix-cache: error: the trace does not name the blocks of its prompts; the format 'mooncake' has them
END
run 3 trace stat "$T/jobs.csv" -f csv-jobs --prefix-cache lru=5
run 2 trace check "$T/blocks.jsonl" -f mooncake --prefix-cache lru=5
err "this tries no prefix caches; 'orrery trace stat' does"
run 2 trace check "$T/blocks.jsonl" -f mooncake --json
err "this prints no table; --json, --csv and --latex are for 'orrery trace stat' and 'replay'"

# Unix times start at the first record; in other units they are told of. Rows that are wrong are counted once.
printf 'arrival_s,prompt_tokens,output_tokens\n1709281801.5,10,5\n1709281803,10,5\n' >"$T/unix.csv"
run 0 trace convert "$T/unix.csv" -f csv --to csv -o "$T/from_first.csv"
equal "$(cut -d, -f1 "$T/from_first.csv" | tr '\n' ' ')" 'arrival_s 0 1.5 ' 'times from the first record on'
sed 's/1709281801.5/1709281801500/; s/1709281803,/1709281803000,/' "$T/unix.csv" >"$T/unix_ms.csv"
run 3 trace check "$T/unix_ms.csv" -f csv
err 'for a Unix time in ms set time_unit to "ms"'
out '2 of 2 rows are wrong'
run 0 trace check "$T/unix_ms.csv" -f csv --set time_unit=ms
out 'over 1.5 s'
printf 'arrival_s,prompt_tokens,output_tokens\n999999999,10,5\n1000000000,10,5\n' >"$T/zero.csv"
run 0 trace convert "$T/zero.csv" -f csv --to csv -o "$T/from_zero.csv"
equal "$(sed -n 2p "$T/from_zero.csv" | cut -d, -f1)" 999999999 'a time from the zero of the file'

# Jobs that come after others: a table says so, and only one with a column for it.
printf 'job_id,submit_s,duration_s,gpus,after\n3,0,5,1,\n5,0,7,1,3:1.5\n9,1,2,1,"1of 3! 5:2!"\n' >"$T/graph.csv"
run 2 trace convert "$T/graph.csv" -f csv-jobs -o "$T/plain.csv"
err "job 5 comes after others, which 'csv-jobs' cannot say"
run 0 trace convert "$T/graph.csv" -f csv-jobs -o "$T/again.csv" --to csv-graphs
equal "$(cut -d, -f1,12 "$T/again.csv" | tr '\n' ' ')" 'job_id,after 3, 5,3:1.5 9,1of 3! 5:2! ' 'what comes after what'
run 0 trace convert "$T/again.csv" -f csv-jobs -o "$T/third.csv" --to csv-graphs
cmp -s "$T/again.csv" "$T/third.csv" || complain 'a table of graphs is not read back as it was written'
run 2 trace convert "$T/graph.csv" -f csv-jobs -o "$T/left.csv" --to csv-graphs --set window='["1s", "9s"]'
err 'that a transform has left out'

# The calendar does not come into a converted log: the answer says which time became 0.
printf 'arrival_s,prompt_tokens,output_tokens\n2026-03-01T08:00:00.75Z,10,5\n2026-03-01T09:00:00Z,10,5\n' >"$T/calendar.csv"
run 0 trace convert "$T/calendar.csv" -f csv -o "$T/plain.csv"
out "$T/plain.csv: 2 requests; its time 0 was 2026-03-01T08:00:00.75Z"
run 0 trace convert "$T/plain.csv" -f csv -o "$T/again.csv"
out "$T/again.csv: 2 requests"
grep -q 'time 0' "$T/out" && complain 'a file without a calendar has an origin'
cmp -s "$T/plain.csv" "$T/again.csv" || complain 'a converted log is another one'

# Jobs with the number of an earlier one are told, and why cannot name them.
printf 'job_id,submit_s,duration_s,gpus\n7,0,5,1\n8,1,5,1\n7,2,5,1\n7,3,5,1\n' >"$T/same.csv"
run 0 trace check "$T/same.csv"
err "warning: 2 jobs have the id of an earlier one, the first 7: each"
run 0 trace check "$T/graph.csv" -f csv-jobs
! grep -q 'an earlier one' "$T/err" || complain 'jobs with numbers of their own are told'
echo '{"jobs": {"trace": {"format": "csv-jobs", "path": "same.csv"}}}' >"$T/same.json"
run 0 run "$T/same.json" -q -o "$T/same.db"
run 2 why "$T/same.db" job 7
err '3 jobs of run 1 have the number 7; give each job of the trace a number of its own'
run 0 why "$T/same.db" job 8
finish
