#!/bin/sh
# Every benchmark runs to its end, with a tiny load, and prints results in lines of JSON; its first line says what it
# measures. Every scheduler has a cell among the rounds, and among the sizes.
. tests/cli/lib.sh

programs=${BUILD:-build/release}/bench
[ -x "$programs/store" ] || skip "no benchmarks in $programs; make run-tests builds them"
export BENCH_TINY=1
for source in tests/bench/*.c; do
    name=${source##*/} name=${name%.c}
    last=$programs/$name
    "$last" >"$T/out" 2>"$T/err" || { complain "it failed"; tail -5 "$T/err"; }
    [ -s "$T/out" ] || complain 'it printed no result'
    while read -r line; do
        echo "$line" >"$T/line"
        equal "$(json_of "$T/line" '$.bench' 2>&1 | grep -c '^[a-z0-9_]*$')" 1 "the benchmark's name in $line: number"
    done <"$T/out"
    case $name in
    rounds) grep -o '"scheduler": "[^"]*"' "$T/out" | cut -d'"' -f4 | sort -u >"$T/rounds" ;;
    scale) grep '"family":"scheduler"' "$T/out" | grep -o '"policy":"[^"]*"' | cut -d'"' -f4 | sort -u >"$T/scale" ;;
    esac
    case $(head -1 "$source") in '/* Measures '*) ;; *) complain "$source does not begin with what it measures" ;; esac
done
run 0 list policies scheduler
awk 'NR > 1 {print $2}' "$T/out" | sort >"$T/schedulers"
[ "$(wc -l <"$T/schedulers")" -gt 40 ] || complain 'few schedulers are listed'
for cells in rounds scale; do
    cmp -s "$T/$cells" "$T/schedulers" || complain "not the cells of $cells: $(comm -3 "$T/$cells" "$T/schedulers")"
done
finish
