#!/bin/sh
# The result does not depend on how it is computed: run twice, heap or calendar, step by step, checked or not, with or
# without a database.
. tests/cli/lib.sh

mixed
simulate() { # ARGUMENT...: the result hash goes to $hash
    run 0 run "$T/mixed.json" --json --quiet "$@"
    hash=$(json_of "$T/out" '$.result_hash')
}
simulate
first=$hash
cp "$T/out" "$T/first"
json '$.metrics."request.unfinished"' 0
json '$.metrics."job.finished"' 300
[ "$(json_of "$T/out" '$.metrics."request.preemptions.sum"')" != 0 ] || complain 'no request was preempted'
[ "$(json_of "$T/out" '$.metrics."job.preemptions.sum"')" != 0 ] || complain 'no job was preempted'
for how in '' '--queue heap' '--single-step' '--queue heap --single-step' '--check event' "-o $T/r.db"; do
    simulate $how
    equal "$hash" "$first" "result hash with '$how'"
    cmp -s "$T/first" "$T/out" || complain "another summary with '$how'"
done
simulate --seed 10
[ "$hash" != "$first" ] || complain 'the seed makes no difference'
finish
