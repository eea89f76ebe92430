#!/bin/sh
# What a call writes may not be what it reads, nor another thing that it writes: exit status 2, and every file as it
# was.
. tests/cli/lib.sh

kept() { # FILE...: what is refused below leaves them as they are
    for file in "$@"; do cp "$file" "$file.kept"; done
    files=$*
}
refuse() { # WHAT [WORD]...: what standard error holds, and the call
    said=$1
    shift
    run 2 "$@"
    err "$said"
    for file in $files; do cmp -s "$file" "$file.kept" || complain "it changed $file"; done
}
replace='would replace what is read from'
same='would be the same file'

printf 'arrival_s,prompt_tokens,output_tokens\n1,10,10\n2,10,10\n' >"$T/trace.csv"
cat >"$T/base.json" <<'END2'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1} }
END2
cat >"$T/s.json" <<'END2'
{ "extends": ["base.json"],
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "csv", "path": "trace.csv"}}} }
END2
run 0 run "$T/s.json" -o "$T/r.db"
ln "$T/r.db" "$T/hard.db"
ln "$T/r.db" "$T/hard.html"
ln -s r.db "$T/soft.db"
ln -s r.db "$T/soft.csv"

# Results, by whatever name.
kept "$T/r.db" "$T/s.json" "$T/base.json" "$T/trace.csv"
refuse '--output: error: what is written is HTML, not .db' report "$T/r.db" -o "$T/r.db"
refuse "$T/hard.html: error: --output $replace '$T/r.db'; name another file" report "$T/r.db:1" -o "$T/hard.html"
refuse "$replace" report "$T/soft.db" -o "$T/./hard.html"
refuse "$replace" export "$T/r.db" request -o "$T/soft.csv"
[ -L "$T/soft.csv" ] || complain 'the link is gone'

# Runs: results and timeline apart, and neither is what the scenario was made from.
refuse "$same" run "$T/s.json" -o "$T/r.db" --timeline "$T/r.db"
refuse "$same" run "$T/s.json" -o "$T/new.db" --timeline "$T/../$(basename "$T")/new.db"
no_file "$T/new.db"
for input in s.json base.json trace.csv; do
    refuse "$T/$input: error: --timeline $replace" run "$T/s.json" --timeline "$T/$input"
    refuse "$T/$input: error: --output $replace" run "$T/s.json" -o "$T/$input"
    refuse "$T/$input: error: --timeline $replace" run "$T/s.json" -o "$T/new.db" --timeline "$T/$input"
    refuse "$T/$input: error: --output $replace" run "$T/s.json" -o "$T/$input" --timeline "$T/new.json"
done
no_file "$T/new.db"
refuse "$replace" run --from "$T/r.db:1" --timeline "$T/hard.db"
run 0 run "$T/s.json" -o "$T/r.db" --timeline "$T/t.json"
run 0 run --from "$T/r.db:1" -o "$T/r.db" --timeline "$T/t.json"
sql "$T/r.db" 'select count(*) from run' 3
run 0 run "$T/s.json" -o "$T/dev.db" --timeline /dev/null

# Studies and their shards.
echo '{"scenario": "s.json", "seeds": 2}' >"$T/study.json"
kept "$T/study.json" "$T/s.json"
refuse "$replace" sweep "$T/study.json" -o "$T/study.json"
refuse "$replace" sweep "$T/study.json" -o "$T/s.json"
run 0 sweep "$T/study.json" --shard 1/2 -o "$T/1.db"
kept "$T/1.db"
refuse "$replace" merge "$T/1.db" -o "$T/1.db"

# The gate.
run 0 check --baseline "$T/gate.json" --update "$T/s.json"
kept "$T/gate.json" "$T/gate.decisions.csv.gz" "$T/s.json"
refuse "$same" check --baseline "$T/gate.json" --junit "$T/gate.json"
refuse "$same" check --baseline "$T/gate.json" --update --markdown "$T/gate.decisions.csv.gz"
refuse "$same" check --baseline "$T/gate.json" --junit "$T/x" --markdown "$T/x"
refuse "$replace" check --baseline "$T/gate.json" --markdown "$T/s.json"
refuse "$same" check --baseline "$T/fresh.json" --update "$T/s.json" --junit "$T/fresh.json"
no_file "$T/fresh.json"

# Traces, calibrations.
kept "$T/trace.csv"
refuse "$replace" trace convert "$T/trace.csv" -f csv -o "$T/trace.csv" --set limit=1
refuse "$replace" calibrate --gpu a100-80-sxm "$T/trace.csv" -o "$T/trace.csv"

# A figure whose own file is where a result would go.
mkdir -p "$T/results/long-context"
cp -r configs/figures/long-context "$T/long-context"
ln "$T/long-context/sessions.json" "$T/results/long-context/sessions.md"
kept "$T/long-context/sessions.json"
refuse "a result below --output $replace" figure run "$T/long-context/sessions.json" -o "$T/results"
equal "$(ls "$T/results/long-context")" sessions.md 'what there is of results'
finish
