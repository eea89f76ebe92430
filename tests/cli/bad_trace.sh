#!/bin/sh
# Wrong traces: the place in the file, what was expected, exit status 3, and no database.
. tests/cli/lib.sh

cat >"$T/s.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm"},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "azure-llm", "path": "trace.csv"}}} }
END

# rejected TEXT: the run fails with this finding.
rejected() {
    run 3 run "$T/s.json" -o "$T/x.db"
    printf '%s\n' "$1" | sed "s|@|$T/trace.csv|g" >"$T/wanted"
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
rejected "@:3:1: error: 'TIMESTAMP' runs backwards: 1 s before the row above; sort the file, or set \"sort\": true"
write "$first" '2024-01-01 00:00:01,100'
rejected "@:3:24: error: row has 2 fields, but 'GeneratedTokens' is column 3; correct the row, or let \"allow_bad_rows\" leave such rows out"
write "$first" 'yesterday,100,3'
rejected "@:3:1: error: 'TIMESTAMP' must be a time such as 2023-11-16 18:15:46.68, got 'yesterday'; correct the row, or let \"allow_bad_rows\" leave such rows out"
printf 'TIME,ContextTokens,GeneratedTokens\n%s\n' "$first" >"$T/trace.csv"
rejected "@:1:1: error: no column 'TIMESTAMP' in the header; the columns are TIME,ContextTokens,GeneratedTokens"
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

# What is allowed is counted.
write "$first" '2024-01-01 00:00:01,12ab,20' '2024-01-01 00:00:02,5,5'
run 0 run "$T/s.json" --set services.chat.trace.allow_bad_rows=1 --json
json '$.metrics."request.finished"' 2
write "$first" '2024-01-01 00:00:05,100,5' '2024-01-01 00:00:02,5,5'
run 0 run "$T/s.json" --set services.chat.trace.sort=true --json
json '$.metrics."request.finished"' 3
finish
