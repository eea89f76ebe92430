#!/bin/sh
# Runs every benchmark program of a folder, one after the other: each prints one JSON line per result.
#
# usage: tests/bench/run.sh FOLDER [FULL]     FULL: the whole table
set -e
for program in "$1"/*; do
    "$program" $2
done
