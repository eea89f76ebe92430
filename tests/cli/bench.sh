#!/bin/sh
# Every benchmark runs to its end, with a tiny load, and prints results in lines of JSON; its first line says what it
# measures.
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
    case $(head -1 "$source") in '/* Measures '*) ;; *) complain "$source does not begin with what it measures" ;; esac
done
finish
