#!/bin/sh
# The runner of tests, for one test alone: `make test` learns from its exit status whether the test passed, failed, was
# skipped or does not exist.
. tests/cli/lib.sh

runner=${BUILD:-build/asan}/tests/run
[ -x "$runner" ] || skip "$runner is not built"
alone() { # STATUS TEST
    last="$runner --alone $2"
    OPTIMISED='' "$runner" --alone "$2" >"$T/out" 2>"$T/err"
    status=$?
    [ $status = "$1" ] || { complain "exit status $status, expected $1"; cat "$T/out" "$T/err"; }
}

alone 0 lp/refused_programs
out 'passed lp/refused_programs'
alone 1 lp/no_such_test
err 'no test is called lp/no_such_test'
alone 1 refused_programs

# Where data are absent: the last line is the reason.
mkdir "$T/elsewhere"
runner=$(realpath "$runner")
cd "$T/elsewhere" || exit 1
alone 77 philly/unlimited_cluster_uses_what_the_trace_says
equal "$(tail -1 "$T/out")" 'needs ../shared/data/job_traces/philly_2017_jobs__13_virtual_clusters.csv' 'the last line'

# Where the project's own files are absent, a test that reads them fails.
alone 1 catalog_storage/every_entry_is_whole_and_sourced
out 'FAILED catalog_storage/every_entry_is_whole_and_sourced'
finish
