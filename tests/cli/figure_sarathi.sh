#!/bin/sh
# The figure of Sarathi-Serve's ablation as it is shipped: every order holds, no value is judged.
. tests/cli/lib.sh
optimised

run 0 figure run sarathi/ablation -o "$T" --json
verdicts() {
    sqlite3 :memory: "select count(*) from json_each(readfile('$T/out')) where json_extract(value, '\$.verdict') like '$1%'"
}
equal "$(verdicts pass)" 12 'orders that hold'
equal "$(verdicts reported)" 12 'values that are shown'
equal "$(verdicts '')" 24 'claims'
finish
