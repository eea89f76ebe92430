#!/bin/sh
# The hours of federated rounds that the page of generated traces gives are those of the scenario.
. tests/cli/lib.sh
optimised

page=traces/generate/README.md
hours() { # KEY=VALUE...
    run 0 run federated-rounds -q --keep metrics --json "$@"
    json_of "$T/out" '$.metrics."job.makespan_s"' | awk '{ printf "%.1f", $1 / 3600 }'
}
row() { # WHAT KEY=VALUE...: both columns
    what=$1
    shift
    lazy=$(hours "$@")
    eager=$(hours --set jobs.trace.folding=eager "$@")
    grep -qxF -e "| $what | $lazy | $eager |" $page || complain "$page does not say: | $what | $lazy | $eager |"
}
row 'a tree of eight inputs'
row one --set jobs.trace.fan_in=0
row 'one, for the first 56 clients' --set jobs.trace.fan_in=0 --set jobs.trace.enough=56
run 2 run federated-rounds -q --set jobs.trace.folding=eager --set jobs.trace.fan_in=0 --set jobs.trace.clients=5000
err 'an eager aggregator has at most 4096 inputs, not 5000'
finish
