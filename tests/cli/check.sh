#!/bin/sh
# The regression gate: what is the same, what has moved within or beyond its tolerance, and what must never pass for
# green.
. tests/cli/lib.sh

well_formed() {
    command -v xmllint >/dev/null || return 0
    xmllint --noout "$1" || complain "$1 is not well-formed"
    equal "$(xmllint --xpath 'count(//testcase)' "$1")" "$(xmllint --xpath 'string(/testsuites/@tests)' "$1")" tests
    equal "$(xmllint --xpath 'count(//failure)' "$1")" "$(xmllint --xpath 'string(//testsuite/@failures)' "$1")" \
        failures
    equal "$(xmllint --xpath 'count(//error)' "$1")" "$(xmllint --xpath 'string(//testsuite/@errors)' "$1")" errors
}
cost() { # FIXED: sets the time of a decode iteration
    sed -i "s/\"decode\": {\"fixed\": \"[^\"]*\"/\"decode\": {\"fixed\": \"$1\"/" "$T/gate/serve.json"
}

serving 60 8
mixed
mkdir -p "$T/gate/deep"
affine='{"kind": "affine", "prefill": {"fixed": "5ms", "per_token": "50us"}, "decode": '
affine=$affine'{"fixed": "15ms", "per_sequence": "20us"}}'
sed -i 's/"llm": "llama-2-7b",/&\n "cost": '"$affine"',/' "$T/serve.json"
mv "$T/serve.json" "$T/mixed.json" "$T/jobs.csv" "$T/gate/"
base=$T/gate/baseline.json

# A baseline comes from its first update; without one, or without scenarios, there is no gate.
run 3 check --baseline "$base"
run 2 check
err 'there is no baseline to check against'
run 2 check --baseline "$base" --seed 3
err "'--set' and '--seed' belong to a scenario"
run 0 check --baseline "$base" --update "$T/gate/serve.json" "$T/gate/mixed.json"
err '2 scenarios written to '
out 'mixed: new in the baseline'
run 0 check --baseline "$base" --update "$T/gate/serve.json" --set services.chat.replicas=2 --seed 7
err ', which has 3'
equal "$(sqlite3 :memory: "select group_concat(json_extract(value, '$.name'), '|')
                           from json_each(readfile('$base'), '$.scenarios')")" \
    'serve|mixed|serve services.chat.replicas=2 seed=7' names
run 2 check --baseline "$base" --update quickstart --set services.chat.replicas=0
err 'the baseline stays as it was'
cat >"$T/gate/ages.json" <<END
{"cluster": {"gpu": "a100-80-sxm", "nodes": 1, "gpus_per_node": 1}, "services": {"chat": {"llm": "mistral-7b",
 "cost": {"kind": "affine", "prefill": {"fixed": "2000000h"}, "decode": {"fixed": "2000000h"}},
 "trace": {"format": "generate", "count": 3, "arrival": {"process": "poisson", "rate": "5/s"}}}}}
END
run 2 check --baseline "$base" --update "$T/gate/ages.json" # an error without a place says "error" once
err "ages: error: replica 0 of service 'chat' computes for longer than 292 years"
echo '{"scenario": "ages.json", "seeds": 2, "axes": [{"key": "services.chat.replicas", "values": [1]}], "show": ["request.ttft_s.p99"]}' \
    >"$T/gate/ages.study.json"
run 2 sweep "$T/gate/ages.study.json" -o "$T/ages.db"
err "failed: replica 0 of service 'chat' computes for longer than 292 years"

# The same from anywhere, side by side or not.
run 0 check --baseline "$base"
cp "$T/out" "$T/first"
out '3 scenarios: 3 the same'
optimised
for n in 1 2 7; do
    run 0 check --baseline "$base" -j $n --junit "$T/j$n.xml"
    cmp -s "$T/out" "$T/first" || complain "-j $n gives another report"
    cmp -s "$T/j$n.xml" "$T/j1.xml" || complain "-j $n gives another JUnit file"
done
sanitized
well_formed "$T/j1.xml"
run 2 check --baseline "$base" -j 0
program=$(realpath "$ORRERY")
(cd "$T/gate/deep" && "$program" check -b ../baseline.json >"$T/there" 2>&1) ||
    complain 'not the same from another directory'
cmp -s "$T/there" "$T/first" || complain 'another directory gives another report'
run 0 check --baseline "$base" --quiet
out_is </dev/null
run 0 check --baseline "$base" --only 'mix*'
out '1 scenario: 1 the same'
run 2 check --baseline "$base" --only 'nothing*'
run 0 check --baseline "$base" "$T/gate/serve.json"
out '2 scenarios: 2 the same'

# A scenario that the baseline does not know is no success.
run 1 check --baseline "$base" "$T/gate/serve.json" --seed 8
out 'serve seed=8: not in the baseline'
run 1 check --baseline "$base" quickstart
out 'quickstart: not in the baseline'

# After a change in the last digits the message has a tolerance, and with it the gate is met.
cost 15.000001ms
run 1 check --baseline "$base" --markdown "$T/moved.md"
err 'accept what is meant, an improvement too, with --update'
holds "$T/moved.md" 'accept what is meant, an improvement too, with --update'
advice=$(sed -n 's/.*that covers every move: \("tolerances": {"\*": "[0-9.e-]*%"}\).*/\1/p' "$T/err")
[ -n "$advice" ] || complain 'the message has no tolerance'
sed "1s/{/{$advice, /" "$base" >"$T/gate/advised.json"
cp "${base%.json}.decisions.csv.gz" "$T/gate/advised.decisions.csv.gz"
run 0 check --baseline "$T/gate/advised.json"
out '1 the same, 2 within tolerance'
# A metric with a tolerance of its own is the first in the report, before those that moved by more.
sed '1s/{/{"tolerances": {"request.tpot_s.mean": "0.000001%"}, /' "$base" >"$T/gate/advised.json"
run 1 check --baseline "$T/gate/advised.json"
equal "$(sed -n '/^  metric /{n;s/^ *\([^ ]*\).*/\1/p;q}' "$T/out")" request.tpot_s.mean 'first metric'

# Something has moved: by how much, in which direction, and which decision was the first to be another one.
cost 15.003ms
run 1 check --baseline "$base" --junit "$T/moved.xml" --markdown "$T/moved.md"
err 'the gate is not met: 3 scenarios: 1 the same, 2 moved'
out 'serve: moved beyond tolerance: '
out 'first diverging decision: number '
out 'the same choice at another time'
out '    baseline  '
out '    now       '
well_formed "$T/moved.xml"
holds "$T/moved.xml" 'tests="3" failures="2" errors="0"'
holds "$T/moved.xml" '<failure type="moved" message="serve: moved beyond tolerance: '
holds "$T/moved.md" '### Regression gate: not met'
holds "$T/moved.md" '| serve | moved | '
run 1 check --baseline "$base" --json
valid_json
json '$.passed' 0
json '$.scenarios[1].verdict' same
json '$.scenarios[0].verdict' moved
equal "$(sqlite3 :memory: "select count(*) > 0 from json_each(readfile('$T/out'), '$.scenarios[0].moves')
                           where value->>'direction' = 'worse' and value->>'now' > value->>'baseline'")" 1 'worse metrics'
grep -q 'platform differs' "$T/out" "$T/moved.md" && complain 'the platform is the same'

# Within its tolerances it passes, and says that it has moved; the last pattern that fits counts, a scenario's own last
# of all.
tolerate() { # JSON of the tolerances of all, and of the first scenario
    sqlite3 :memory: "select json_set(readfile('$base'), '$.tolerances', json('$1'),
                                      '$.scenarios[0].tolerances', json('$2'))" >"$T/new"
    cp "$T/new" "$T/gate/tolerant.json"
    cp "$T/gate/baseline.decisions.csv.gz" "$T/gate/tolerant.decisions.csv.gz"
}
tolerate '{"*": "2%", "request.queue_s.*": "20%"}' '{}'
run 0 check --baseline "$T/gate/tolerant.json" --junit "$T/tolerated.xml" --markdown "$T/tolerated.md"
out 'serve: within tolerance: '
out '3 scenarios: 1 the same, 2 within tolerance'
well_formed "$T/tolerated.xml"
holds "$T/tolerated.xml" 'failures="0"'
holds "$T/tolerated.md" '### Regression gate: passed'
tolerate '{"*": "2%", "request.queue_s.*": "20%", "request.*.p99": 0}' '{}'
run 1 check --baseline "$T/gate/tolerant.json"
out '2 moved'
tolerate '{"*": "2%", "request.queue_s.*": "20%", "request.*.p99": 0}' '{"request.*": 1e-1}'
run 1 check --baseline "$T/gate/tolerant.json"
out '1 within tolerance, 1 moved'
tolerate '{"*": "0.000001%"}' '{}'
run 1 check --baseline "$T/gate/tolerant.json"
tolerate '{"*": "-1%"}' '{}'
run 2 check --baseline "$T/gate/tolerant.json"
err 'expected a tolerance of at least 0'

# What the policy saw at the first other choice: of a router the loads, from which its row tells the chosen one; of a
# scheduler free GPUs and jobs; of a batcher who waits.
parts() { # NAME FROM TO: a baseline of the scenario, and what has changed
    sed "s/$2/$3/" "$T/gate/$1.json" >"$T/gate/changed.json"
    cp "$T/gate/$1.json" "$T/gate/seen.json"
    rm -f "$T/gate/seeing.json" "$T/gate/seeing.decisions.csv.gz"
    run 0 check --baseline "$T/gate/seeing.json" --update "$T/gate/seen.json"
    cp "$T/gate/changed.json" "$T/gate/seen.json"
    run 1 check --baseline "$T/gate/seeing.json" --json
    cp "$T/out" "$T/seen.out"
    run 1 check --baseline "$T/gate/seeing.json"
    out '    seen now  '
}
cat >"$T/gate/routed.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "replicas": 3, "routing": "round-robin",
    "trace": {"format": "generate", "count": 60, "output": {"distribution": "uniform", "min": 2, "max": 400},
      "arrival": {"process": "poisson", "rate": "50/s"}}}} }
END
parts routed round-robin least-outstanding
sqlite3 :memory: "select json_extract(readfile('$T/seen.out'), '$.scenarios[0].first_other_choice.now.reason'),
    json_extract(readfile('$T/seen.out'), '$.scenarios[0].seen')" | awk -F'|' '{
    split($1, row, /[ :,]+/) # to replica R of chat N unfinished there M of them waiting
    n = split(substr($2, index($2, "of replica") + 11), replicas, "; ")
    for (i = 1; i <= n; i++) {
        split(replicas[i], load, /[:,] /)
        least = i == 1 || load[2] < least ? load[2] : least
        if (load[1] == row[3]) chosen = load[2] "/" load[3]
    }
    print n, chosen == row[6] "/" row[9], row[6] == least }' >"$T/routed"
equal "$(cat "$T/routed")" '3 1 1' 'replicas, whether the row agrees, whether it is the least'
printf 'submit_s,duration_s,gpus\n0,100,6\n1,90,6\n2,5,6\n' >"$T/gate/three.csv"
cat >"$T/gate/scheduled.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "jobs": {"scheduler": "fifo", "trace": {"format": "csv-jobs", "path": "three.csv"}} }
END
parts scheduled fifo sjf
out '    seen now  8 of 8 GPUs free; jobs with their GPUs, submission, estimate and time on GPUs; 2 wait: job 1 (6, 1 s, 90 s, 0 s), 2 (6, 2 s, 5 s, 0 s); 0 run'
printf 'arrival_s,prompt_tokens,output_tokens\n0,400,20\n0,300,20\n' >"$T/gate/two.csv"
cat >"$T/gate/batched.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "kv": {"blocks": 200},
    "batching": {"policy": "vllm-v1", "token_budget": 512},
    "trace": {"format": "csv", "path": "two.csv"}}} }
END
parts batched '512' '600'
out '    seen now  replica 0: 2 wait, 0 prompts in part, 0 decode; 200 of 200 KV blocks free; first to wait: request 0 of 400 tokens since 0.000000 s, 1 of 300 tokens since 0.000000 s'

# Each difference alone: none moves nothing, one of two does what its own run does, and one that is wrong alone is said.
cp "$T/gate/batched.json" "$T/gate/single.json"
single=$T/gate/single-base.json
run 0 check --baseline "$single" --update "$T/gate/single.json"
sed -i 's/"blocks": 200/"blocks": 300/; s/"policy": "vllm-v1", "token_budget": [0-9]*/"policy": "vllm-v0"/' \
    "$T/gate/single.json"
run 1 check --baseline "$single" --by-change
out "single: the baseline's scenario with each difference alone"
out 'services.chat.kv.blocks: 200 in the baseline, 300 now'
grep -q 'services.chat.batching: vllm-v1 .* in the baseline, vllm-v0 ' "$T/out" ||
    complain 'a policy is no difference of its own'
equal "$(sed -n 's/^  all results  *//p' "$T/out" | awk '{ print $1, NF, $NF }')" 'same 4 moved' 'results of each'
both=$(awk '$1 == "request.e2e_s.p99" && $4 == "same"' "$T/out")
sed -i 's/"blocks": 300/"blocks": 200/' "$T/gate/single.json"
run 1 check --baseline "$single" --by-change
one=$(awk '$1 == "request.e2e_s.p99" && $4 == "same" { print $(NF - 1), $NF }' "$T/out")
[ -n "$one" ] || complain 'the row of the metric is missing'
case $both in *" $one "*) ;; *) complain "'$one' alone is not in '$both'" ;; esac
sed -i 's/"nodes": 1/"nodes": 2/; s/"llm"/"replicas": 16, &/' "$T/gate/single.json"
run 1 check --baseline "$single" --by-change
grep -q '^  [12] fails: .*replicas' "$T/out" || complain '16 replicas on one node are no failure'
grep -q '^  all results .* failed ' "$T/out" || complain 'no run has failed'
# Of eleven differences eight are run, and three are counted.
cat >"$T/gate/many.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "jobs": {"scheduler": "fifo", "trace": {"format": "csv-jobs", "path": "three.csv"}} }
END
run 0 check --baseline "$T/gate/many-base.json" --update "$T/gate/many.json"
cat >"$T/gate/many.json" <<'END'
{ "seed": 2, "until": "1h", "cluster": {"gpu": "a100-80-sxm", "nodes": 2},
  "jobs": {"scheduler": "sjf", "placement": "consolidated", "loss_noise": 0.5,
           "restart": {"start": "5s", "resume": "6s", "resume_multi_node": "7s", "migrate": "8s"},
           "network_penalty": {"nodes": 0.1, "racks": 0.2}, "trace": {"format": "csv-jobs", "path": "three.csv"}} }
END
run 1 check --baseline "$T/gate/many-base.json" --by-change
equal "$(grep -cE '^  [1-9][0-9]*  .* in the baseline, .* now$' "$T/out")" 8 'differences that are run'
out '  and 3 more differences, which are not run'

run 2 check --baseline "$single" --by-change --json
run 2 check --baseline "$single" --by-change --update

# A metric that the baseline lacks is missing there, and has its value in the runs that have it.
sed -i 's/"nodes": 2/"nodes": 1/; s/"replicas": 16, //; s/"llm": "llama-2-7b"/"llm": "llama-2-7b", "slo": {"ttft": "1s"}/' \
    "$T/gate/single.json"
run 1 check --baseline "$single" --by-change
! grep -qw nan "$T/out" || complain 'a metric that the baseline lacks is nan'
grep -qE '^  slo\.[a-z_]+  +missing  .* = [0-9.e-]+' "$T/out" || {
    complain 'no row of a metric that the baseline lacks'
    tail -12 "$T/out"
}

# A note when the baseline comes from another machine.
sed 's/"platform": "[^"]*"/"platform": "Linux riscv64 glibc-2.99"/' "$base" >"$T/gate/tolerant.json"
run 1 check --baseline "$T/gate/tolerant.json"
out 'the platform differs, so the last digits may: the baseline was made on Linux riscv64 glibc-2.99'

# Other inputs are told apart from other policies.
cost 15ms
run 0 check --baseline "$base"
sed -i '2s/,.*,/,5,/' "$T/gate/jobs.csv"
run 1 check --baseline "$base"
out 'its input files differ from the baseline: jobs.csv'
tr -d '\n' <"$base" | sed 's/"files": *{[^}]*},//g' >"$T/gate/older.json"
cp "${base%.json}.decisions.csv.gz" "$T/gate/older.decisions.csv.gz"
run 1 check --baseline "$T/gate/older.json"
out 'its input files (traces, catalog) differ from the baseline'
run 0 check --baseline "$base" --update --only mixed
out 'mixed: moved beyond tolerance'
out 'first diverging decision: number '
run 0 check --baseline "$base"
cost 16ms
run 0 check --baseline "$base" --update # does not read the log, so it names no decision
out ': moved beyond tolerance'
! grep -q 'first diverging decision' "$T/out" || complain 'decisions are compared with none'
cost 15ms
run 0 check --baseline "$base" --update
made_by() { # the makers of the baseline, and of each of its scenarios that has one of its own
    sqlite3 :memory: "select json_extract(readfile('$base'), '\$.made_by.commit') || ':' ||
                             group_concat(coalesce(json_extract(value, '\$.made_by.commit'), '-'), '|')
                      from json_each(readfile('$base'), '\$.scenarios')"
}
commit=$("$ORRERY" --version | sed 's/.*(\([^),]*\).*/\1/')
equal "$(made_by)" "$commit:-|-|-" 'all by one'
sed -i "s/\"commit\": \"[^\"]*\"/\"commit\": \"older\"/" "$base"
run 0 check --baseline "$base" --update --only mixed
equal "$(made_by)" "older:-|$commit|-" 'one is newer'
run 0 check --baseline "$base"
run 0 check --baseline "$base" --update --only 'serve*'
equal "$(made_by)" "$commit:-|-|-" 'all by one again'

# A scenario that was edited is told first, and its hash does not depend on where the program's data lie.
sed -i.before 's/"replicas": 4/"replicas": 3/' "$T/gate/serve.json"
run 1 check --baseline "$base" --only serve
equal "$(sed -n '/^serve: moved/{n;N;N;p}' "$T/out" | head -2)" '  its scenario differs from the baseline:
    services.chat.replicas: 4 in the baseline, 3 now' 'what is told first'
run 1 check --baseline "$base" --only serve --json
json '$.scenarios[0].scenario_moved' 1
json '$.scenarios[0].scenario_changes[0].key' services.chat.replicas
json '$.scenarios[0].scenario_changes[1].key' ''
# An edit without an effect passes, and is told of.
sed 's/^{/{ "until": "30d",/' "$T/gate/serve.json.before" >"$T/gate/serve.json"
run 0 check --baseline "$base" --only serve --junit "$T/idle.xml" --markdown "$T/idle.md"
equal "$(sed -n '/^serve: same/{n;N;p}' "$T/out")" '  its scenario differs from the baseline, without an effect on its results:
    until: "0s" in the baseline, "30d" now' 'an edit without an effect'
well_formed "$T/idle.xml"
holds "$T/idle.xml" 'until: '
holds "$T/idle.md" 'until: "0s" in the baseline, "30d" now'
sed 's/"replicas": 4/"replicas": 3/' "$T/gate/serve.json.before" >"$T/gate/serve.json"
sed '/"resolved"/d' "$base" >"$T/gate/older.json"
cp "${base%.json}.decisions.csv.gz" "$T/gate/older.decisions.csv.gz"
run 1 check --baseline "$T/gate/older.json" --only serve
equal "$(sed -n '/^serve: moved/{n;p}' "$T/out")" \
    '  its scenario differs from the baseline: its file, one that it extends, or a default has changed' 'an older baseline'
run 3 check --baseline "$T/gate/no such.json"
err "cannot read the file: No such file or directory; '--update SCENARIO' writes it"
mv "$T/gate/serve.json.before" "$T/gate/serve.json"
run 0 check --baseline "$T/gate/near.json" --update quickstart
mkdir "$T/data"
cp -r configs traces "$T/data/"
ORRERY_DATA=$T/data
export ORRERY_DATA
run 0 check --baseline "$T/gate/far.json" --update quickstart
unset ORRERY_DATA
grep -q '"scenario_hash": "[0-9a-f]\{32\}"' "$T/gate/near.json" || complain 'the baseline holds no scenario hash'
equal "$(json_of "$T/gate/near.json" '$.scenarios[0].scenario_hash')" \
    "$(json_of "$T/gate/far.json" '$.scenarios[0].scenario_hash')" 'scenario hash'

# A tolerance whose pattern fits nothing is warned of.
tolerate '{"*": "2%", "request.tfft_s.*": "20%"}' '{"job.*": 1}'
run 0 check --baseline "$T/gate/tolerant.json"
err "warning: no metric matches 'request.tfft_s.*': this tolerance has no effect; 'orrery list metrics'"
err "warning: no metric matches 'job.*'"
holds "$T/err" 'tolerant.json:'

# Who crashes: a policy of a plug-in that is in force, or the program.
cat >"$T/crash.c" <<'END'
#include "sim/world/policy/routing.h"
static int route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request, (void)view;
    __builtin_trap();
}
static const struct router crash = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router),
    .family = POLICY_ROUTING, .name = "crash", .summary = "crashes"}, .route = route};
ORRERY_PLUGIN(&crash.policy)
END
last='cc crash.c'
${CC:-cc} -std=c17 -fPIC -shared -I. -o "$T/crash.so" "$T/crash.c" || complain 'it does not compile'
echo '{"scenarios": [{"name": "crash", "scenario": "serve.json", "set": ["services.chat.routing=crash"]}]}' \
    >"$T/gate/crash.json"
run 4 check --baseline "$T/gate/crash.json" --plugin "$T/crash.so"
out "$T/crash.so: error: the plug-in crashes: signal "
echo '{"scenarios": [{"scenario": "serve.json", "set": ["services.chat.trace.count=2000000"]}]}' >"$T/gate/killed.json"
(
    ulimit -t 1
    run 70 check --baseline "$T/gate/killed.json" --plugin "$T/crash.so"
    out 'its process was ended by signal '
    exit $failures
) || failures=$((failures + 1))

# Scenarios that do not run are failures, with their own exit status.
mv "$T/gate/mixed.json" "$T/gate/away.json"
run 3 check --baseline "$base" --junit "$T/gone.xml"
out 'mixed: failed'
out '3 scenarios: 2 the same, 1 failed'
well_formed "$T/gone.xml"
holds "$T/gone.xml" 'failures="0" errors="1"'
cp "$base" "$T/before.json"
run 3 check --baseline "$base" --update
cmp -s "$base" "$T/before.json" || complain 'a failed update has changed the baseline'
mv "$T/gate/away.json" "$T/gate/mixed.json"
sed -i 's/"warmup"/"warm_up"/' "$T/gate/mixed.json"
run 2 check --baseline "$base"
out "unknown key 'warm_up'"
sed -i 's/"warm_up"/"warmup"/' "$T/gate/mixed.json"

# Files that are damaged.
log=$T/gate/baseline.decisions.csv.gz
cp "$log" "$T/log.gz"
rm "$log"
run 3 check --baseline "$base"
err 'baseline.decisions.csv.gz: error: cannot open: No such file or directory; it is the log of decisions that belongs to the baseline'
err 'write both anew with --update'
head -c 2000 "$T/log.gz" >"$log"
run 3 check --baseline "$base"
err 'baseline.decisions.csv.gz'
gunzip -c "$T/log.gz" | sed '$d' | gzip >"$log"
run 3 check --baseline "$base"
err 'the log of decisions is not the one that belongs to the baseline; restore the file, or write'
rm "$log"
run 3 check --baseline "$base"

# An update that was killed between its two files: the next call finds the log that belongs to the baseline.
cp "$T/log.gz" "$T/gate/.baseline.decisions.csv.gz.3.orrery-part"
echo other >"$T/gate/.baseline.decisions.csv.gz.0.orrery-part"
run 0 check --baseline "$base"
cmp -s "$log" "$T/log.gz" || complain 'the log is not the one that belongs to the baseline'
[ -z "$(find "$T/gate" -name '*-part')" ] || complain 'a new file was left'
rm "$log"
run 3 check --baseline "$base" "$T/gate/serve.json" --update
run 0 check --baseline "$base" --update
run 0 check --baseline "$base"
head -c 3000 "$base" >"$T/gate/broken.json"
run 2 check --baseline "$T/gate/broken.json"
refused() { # JSON, FINDING
    echo "$1" >"$T/gate/broken.json"
    run 2 check --baseline "$T/gate/broken.json"
    err "$2"
}
refused '{"scenarios": []}' 'broken.json: error: the baseline has no scenarios; name scenarios and add --update'
refused '{}' "expected a baseline with a list of 'scenarios'"
refused '{"scenarois": []}' "broken.json:1:2: error: unknown key 'scenarois' in a baseline; did you mean 'scenarios'?"
refused '{"scenarios": [{"scenario": "a.json"}, {"scenario": "b/a.json"}]}' "two scenarios are called 'a'"
refused '{"scenarios": [{"scenario": "a.json", "hash": "12"}]}' 'expected a hash of 32 hexadecimal digits'
refused '{"scenarios": [{"scenario": "a.json", "hash": "00000000000000000000000000000000"}]}' \
    "has results without 'metrics'"
refused '{"scenarios": [{"scenario": "a.json", "set": ["b"]}]}' 'expected "key=value"'
refused '{"scenarios": [{"name": "a"}]}' "expected an object with the path of its 'scenario'"
refused '{"tolerances": {"a": true}, "scenarios": []}' 'expected a tolerance'
echo '{"scenarios": [{"name": "by hand", "scenario": "serve.json", "tolerances": {"*": "1%"}}]}' >"$T/gate/hand.json"
run 1 check --baseline "$T/gate/hand.json"
out 'by hand: not in the baseline'
run 0 check --baseline "$T/gate/hand.json" --update
run 0 check --baseline "$T/gate/hand.json"
holds "$T/gate/hand.json" '"*": "1%"'
run 3 check --baseline "$base" --junit "$T/nowhere/j.xml"
finish
