#!/bin/sh
# Runs benchmark programs, one after the other: each prints one JSON line per result.
#
# usage: tests/bench/run.sh FULL PROGRAM...     FULL: not empty for the whole table
set -e
full=$1
shift
for program; do
    "$program" $full
done
