#!/bin/sh
# What the README shows can be done as it stands there: its shell blocks run, its C compiles, its JSON parses, and what
# it calls a verb, an option or a table is one.
. tests/cli/lib.sh

root=$PWD
blocks() { # LANGUAGE: the blocks of that language, one after the other
    awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print } $0 == fence { inside = 1 }' README.md
}

# The shell blocks, in a directory that has the configurations and the program where the README says they are.
mkdir -p "$T/clone/build" "$T/clone/tests"
ln -s "$root/tests/fixtures" "$T/clone/tests/"
ln -s "$root/configs" "$root/traces" "$root/analysis" "$T/clone/"
optimised # these worlds run under sanitizers in other tests
ln -s "$(realpath "$ORRERY")" "$T/clone/build/orrery"
blocks sh >"$T/blocks.sh"
last='the shell blocks of README.md'
[ -s "$T/blocks.sh" ] || complain 'there are none'
(cd "$T/clone" && sh -eu "$T/blocks.sh" >"$T/out" 2>"$T/err") || { complain 'a command failed'; tail -5 "$T/err"; }
sanitized
sql "$T/clone/results.db" 'select count(*), min(status) from run' '4|done'

# The policy compiles as it stands.
blocks c >"$T/policy.c"
last='the C block of README.md'
${CC:-gcc} -std=c17 -Wall -Wextra -Wconversion -Werror -D_POSIX_C_SOURCE=200809L -I. -c -o "$T/policy.o" "$T/policy.c" ||
    complain 'it does not compile'

# block N: the N-th JSON block.
block() {
    awk -v n="$1" '$0 == "```" { inside = 0 } inside { print } $0 == "```json" { inside = ++count == n }' README.md
}

# The scenario is valid, and so is the table of one's own.
block 1 | sed "s|\.\./clusters|$root/configs/clusters|; s|\.\./\.\./traces|$root/traces|" >"$T/scenario.json"
echo submit_s,duration_s,gpus >"$T/jobs.csv"
run 0 validate "$T/scenario.json"
{
    echo '{"extends": ["'"$root"'/configs/clusters/dgx-h100.json"], "services": {"own": {"llm": "llama-3-8b", "trace":'
    block 4
    echo '}}}'
} >"$T/own.json"
printf 'out,in,when\n5,10,1000\n7,20,1500\n' >"$T/mine.csv"
run 0 run "$T/own.json" --json
json '$.metrics."request.prompt_tokens.sum"' 30
json '$.metrics."request.output_tokens.sum"' 12

# The classes have the limits that the text says.
block 2 | sed '1s|{|{"cluster": {"gpu": "h100-sxm"}, |' >"$T/classes.json"
run 0 run "$T/classes.json" --json
json '$.metrics."request.arrived"' 2000
out '"slo.tpot_kept_frac[chat/batch]": '
json '$.metrics."slo.e2e_kept_frac[chat/interactive]"' ''

# The study is valid.
block 5 | sed 's|"quickstart.json"|"quickstart"|' >"$T/study.json"
run 0 sweep "$T/study.json" --dry-run

# The baseline of a gate can be written by hand as it stands there.
serving 20 5
mv "$T/serve.json" "$T/chat.json"
block 6 >"$T/gate.json"
run 0 check --baseline "$T/gate.json" --update
run 0 check --baseline "$T/gate.json"
out 'chat, four replicas  same'

# The market is one, for these types of jobs.
{
    echo '{"cluster": {"nodes": 8, "gpus_per_node": 8, "gpu": "h100-sxm"}, "jobs": {"placement": "counted",'
    echo '"types": {"train": {"speedup": {"law": "amdahl", "parallel_frac": 0.9}}, "tune": {"speedup": {"law": "power", "exponent": 0.5}}},'
    echo '"trace": {"format": "inline-jobs", "jobs": [{"submit": "0s", "duration": "1h", "gpus": 1}]}}, "market":'
    awk '$0 == "```" { if (inside && text ~ /fixed-width/) printf "%s", text; inside = 0 } inside { text = text $0 "\n" }
        $0 == "```json" { inside = 1; text = "" }' README.md
    echo '}'
} >"$T/market.json"
run 0 run "$T/market.json" --json
json '$.metrics."rental.leases"' 1

# What it names exists.
for word in $(grep -oE 'orrery (run|validate|explain|list|trace|[a-z]+) ' README.md | cut -d' ' -f2 | sort -u); do
    case $word in simulates) continue ;; esac
    run 0 "$word" --help
done
for table in run run_cost metric request job histogram sample decision warning; do
    grep -q "\`$table\`" README.md || complain "the table $table is not described"
    sql "$T/clone/results.db" "select count(*) from sqlite_master where name = '$table' and type = 'table'" 1
done
finish
