#!/bin/sh
# Wrong traces: the place in the file, what was expected, exit status 3, and no database.
. tests/cli/lib.sh

cat >"$T/s.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "azure-llm", "path": "trace.csv"}}} }
END

# rejected TEXT ...: the run fails with these findings.
rejected() {
    run 3 run "$T/s.json" -o "$T/x.db"
    printf '%s\n' "$@" | sed "s|@|$T/trace.csv|g" >"$T/wanted"
    err_is <"$T/wanted"
    no_file "$T/x.db"
}

rejected "@: error: cannot open: No such file or directory; its path is given at $T/s.json:2:87"

write() {
    printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n' >"$T/trace.csv"
    printf '%s\n' "$@" >>"$T/trace.csv"
}
first='2024-01-01 00:00:00,100,10'

write "$first" '2024-01-01 00:00:01,12ab,20'
rejected "@:3:21: error: 'ContextTokens' must be a whole number, got '12ab'; correct the row, or let \"allow_bad_rows\" leave such rows out"
write "$first" '2024-01-01 00:00:01,100,-5'
rejected "@:3:25: error: 'GeneratedTokens' must be at least 0, got '-5'; correct the row, or let \"allow_bad_rows\" leave such rows out"
write "$first" '2023-12-31 23:59:59,100,5'
rejected "@:3:1: error: 'TIMESTAMP' runs backwards: 1 s before the latest row above; sort the file, or set \"sort\": true"
write "$first" '2024-01-01 00:00:01,100'
rejected "@:3:24: error: row has 2 fields, but 'GeneratedTokens' is column 3; correct the row, or let \"allow_bad_rows\" leave such rows out"
write "$first" 'yesterday,100,3'
rejected "@:3:1: error: 'TIMESTAMP' must be a time such as 2023-11-16 18:15:46.68, got 'yesterday'; correct the row, or let \"allow_bad_rows\" leave such rows out"
printf 'TIME,ContextTokens,GeneratedTokens\n%s\n' "$first" >"$T/trace.csv"
named="$T/s.json:2:66: error: here the format of the trace is azure-llm; if the file has another one: --set services.chat.trace.format=NAME"
rejected "@:1:1: error: no column 'TIMESTAMP' in the header; the columns are TIME,ContextTokens,GeneratedTokens" "$named"
printf 'request_id,arrival_s,prompt_tokens,output_tokens\n1,0,5,6\n' >"$T/trace.csv"
other="in the header; the file is of the format csv; the columns are request_id,arrival_s,prompt_tokens,output_tokens"
rejected "@:1:1: error: no column 'TIMESTAMP' $other" "@:1:1: error: no column 'ContextTokens' $other" \
    "@:1:1: error: no column 'GeneratedTokens' $other" "$named"
: >"$T/trace.csv"
rejected '@: error: file is empty; expected a header with the column names'

# A compressed file that ends early.
i=0
while [ $i -lt 2000 ]; do
    printf '2024-01-01 00:%02d:%02d,%d,%d\n' $((i / 60)) $((i % 60)) $((i * 7919 % 4001)) $((i % 97 + 1))
    i=$((i + 1))
done >"$T/rows"
{ echo TIMESTAMP,ContextTokens,GeneratedTokens; cat "$T/rows"; } | gzip -c | head -c 4000 >"$T/trace.csv"
rejected '@: error: compressed data end too early; copy or download the file again'

# A pipe is read once, whole, by the run; its bytes cannot also be hashed. (One of the rows has no prompt.)
for i in 1 2; do
    { echo TIMESTAMP,ContextTokens,GeneratedTokens; cat "$T/rows"; } >"$T/whole.csv"
    rm -f "$T/trace.csv" "$T/p.db"
    if [ $i = 1 ]; then
        cp "$T/whole.csv" "$T/trace.csv"
    else
        mkfifo "$T/trace.csv"
        cat "$T/whole.csv" >"$T/trace.csv" &
    fi
    run 0 run "$T/s.json" -o "$T/p.db"
    sql "$T/p.db" 'select count(*) from request' 1999
    sql "$T/p.db" 'select trace_hash is null from run' $((i - 1))
done
err "$T/trace.csv: warning: "
rm "$T/trace.csv"

# A format that is left out is guessed from the file, whose place in the scenario is named when that fails.
guess='{"cluster": {"gpu": "a100-80-sxm"}, "services": {"chat": {"llm": "llama-2-7b", "trace":
    {"path": "trace.csv"}}}}'
printf '%s\n' "$guess" >"$T/g.json"
write "$first" '2024-01-01 00:00:02,5,5'
run 0 run "$T/g.json" -o "$T/guessed.db"
sql "$T/guessed.db" 'select count(*) from request' 2
run 0 explain config "$T/g.json"
grep -qE "trace.format +azure-llm +guessed from 'path'" "$T/out" || complain 'where the format comes from'
not_guessed() {
    run 2 run "$T/g.json"
    printf '%s\n' "$T/g.json:2:14: error: $T/trace.csv: $1" >"$T/wanted"
    err_is <"$T/wanted"
}
printf 'when,in,out\n1,2,3\n' >"$T/trace.csv"
not_guessed "no format fits: the first row is 'when,in,out'; name it: --set services.chat.trace.format=NAME; \"csv\" reads any table whose \"columns\" are named"
printf 'arrival_s,prompt_tokens,output_tokens,num_prefill_tokens,num_decode_tokens\n' >"$T/trace.csv"
not_guessed "several formats fit: lengths, csv; name it: --set services.chat.trace.format=NAME; \"csv\" reads any table whose \"columns\" are named"
printf 'submit_s,duration_s,gpus\n' >"$T/trace.csv"
not_guessed 'this is a trace of jobs, format csv-jobs; expected requests'
rm "$T/trace.csv"
mkfifo "$T/trace.csv"
not_guessed 'the format of what is no regular file cannot be guessed; name its format'
rm "$T/trace.csv"
not_guessed 'cannot open: No such file or directory'

# Documents: a benchmark without times says what its rate was; conversations have none to say.
not_read() { # TEXT
    run 3 run "$T/g.json"
    printf '%s\n' "$1" | sed "s|@|$T/trace.csv|g" >"$T/wanted"
    err_is <"$T/wanted"
}
lengths='"model_id": "m", "num_prompts": 2, "total_input_tokens": 9, "input_lens": [5, 4]'
printf '{%s, "output_lens": [7, 2], "request_rate": 4}\n' "$lengths" >"$T/trace.csv"
not_read "@: error: 'start_times' is missing: the file does not say when requests were sent; its request_rate was 4: set \"arrival\": {\"process\": \"poisson\", \"rate\": \"4/s\"} in its \"trace\", or --set 'services.chat.trace.arrival={\"process\": \"poisson\", \"rate\": \"4/s\"}'"
printf '{%s}\n' "$lengths" >"$T/trace.csv"
not_read "@: error: 'output_lens' is missing: the file has no lengths of single requests; let vllm bench serve write it with --save-detailed, SGLang's bench_serving with --output-details"
printf '{%s,\n "output_lens": [7, -2], "start_times": [1, 1]}\n' "$lengths" >"$T/trace.csv"
not_read "@:2:21: error: 'output_lens' must be a whole number from 0 to 2147483647, got '-2'; write {\"input_lens\": [9], \"output_lens\": [4], \"start_times\": [0.5]}"
printf '{%s, "output_lens": [7, 2], "start_times": [1, 1.5]}\n' "$lengths" >"$T/trace.csv"
run 0 run "$T/g.json" --json
json '$.metrics."request.finished"' 2
printf '{"total_output_tokens_retokenized": 9, %s, "output_lens": [7, 2], "start_times": [1]}\n' "$lengths" |
    sed 's/"model_id"/"id"/' >"$T/trace.csv"
not_read "@: error: 'input_lens' has 2 entries, 'start_times' has 1; a benchmark has one entry of each for a request"
printf '[{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hi"}]}]' >"$T/trace.csv"
run 2 run "$T/g.json"
err "error: missing 'arrival' in 'services.chat.trace'; expected an object with \"process\""
run 0 run "$T/g.json" --set services.chat.trace.arrival.process=poisson --set services.chat.trace.arrival.rate=2/s --json
json '$.metrics."request.finished"' 1
printf '[{"conversations": [{"from": "human", "value": 3}]}]' >"$T/trace.csv"
run 3 run "$T/g.json" --set services.chat.trace.arrival.process=poisson --set services.chat.trace.arrival.rate=2/s
err "$T/trace.csv:1:48: error: expected a string; write [{"

# Bytes that are no text are not read as rows.
for kind in '\211PNG\r\n\032\n:a picture (PNG)' '%%PDF-1.4:a PDF document' '\377\376a\000:text in UTF-16' \
    '\001\200\201ab\000\302:binary data'; do
    printf "${kind%%:*}" >"$T/bytes"
    for format in '' '-f csv'; do
        run 3 trace stat "$T/bytes" $format
        err "$T/bytes: error: is ${kind#*:}; expected text, or text in gzip; unpack or convert it first"
    done
done
printf 'TIMESTAMP,ContextTokens,GeneratedTokens # caf\351\n2024-01-01 00:00:01,12,20\n' >"$T/latin.csv"
run 3 trace stat "$T/latin.csv"
! grep -q 'binary' "$T/err" || complain 'text in Latin-1 is no binary data'
# Cyrillic in CP1251, Greek in ISO 8859-7: most bytes are letters beyond ASCII, and none is a control character.
for letters in '\357\360\350\342\345\362' '\341\342\343\344\345\346'; do
    { printf '# '; for i in 1 2 3 4 5 6 7 8 9; do printf "$letters "; done; } >"$T/letters.csv"
    printf '\nTIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:01,12,20\n' >>"$T/letters.csv"
    run 3 trace stat "$T/letters.csv"
    ! grep -q 'binary' "$T/err" || complain "text in 8 bits is no binary data: $letters"
    printf "TIMESTAMP,ContextTokens,GeneratedTokens,$letters$letters$letters$letters\n" >"$T/letters.csv"
    printf "2023-11-16 18:00:01,12,20,$letters\n" >>"$T/letters.csv"
    run 0 trace stat "$T/letters.csv"
    printf '{"a": "'"$letters$letters$letters"'"}' >"$T/letters.json"
    run 2 run "$T/letters.json"
    ! grep -q 'binary' "$T/err" || complain "text in 8 bits is no binary data: $letters"
done

# What is allowed is counted.
write "$first" '2024-01-01 00:00:01,12ab,20' '2024-01-01 00:00:02,5,5'
run 0 run "$T/s.json" --set services.chat.trace.allow_bad_rows=1 --json
json '$.metrics."request.finished"' 2
write "$first" '2024-01-01 00:00:05,100,5' '2024-01-01 00:00:02,5,5'
run 0 run "$T/s.json" --set services.chat.trace.sort=true --json
json '$.metrics."request.finished"' 3
# Ids of jobs that are no numbers give way to those of the rows; numbers stay.
for ids in 'a1 a2 a3:0,1,2' '17 4 99:4,17,99'; do
    echo name,submit_s,duration_s,gpus >"$T/named.csv"
    for id in ${ids%%:*}; do echo "$id,0,5,1" >>"$T/named.csv"; done
    rm -f "$T/named.db"
    echo '{"cluster": {"nodes": 1}, "jobs": {"trace": {"format": "csv-jobs", "path": "named.csv", "columns": {"id": "name"}}}}' \
        >"$T/named.json"
    run 0 run "$T/named.json" -o "$T/named.db"
    sql "$T/named.db" "select group_concat(id) from (select id from job order by id)" "${ids#*:}"
done
run 0 list parameters job-trace
out 'number of the job, else of its row (from 0)'

finish
