#!/bin/sh
# The result does not depend on how it is computed: run twice, heap or calendar, step by step, checked or not, with or
# without a database.
. tests/cli/lib.sh

cat >"$T/mixed.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 3},
  "services": {
    "chat":  {"llm": "llama-2-7b", "replicas": 3, "routing": "least-outstanding", "kv": {"blocks": 300},
              "batching": {"policy": "vllm-v0", "max_sequences": 32},
              "trace": {"format": "generate", "count": 800, "max_total_tokens": 4000,
                        "arrival": {"process": "gamma", "rate": "20/s", "cv": 3}}},
    "draft": {"llm": "mistral-7b", "replicas": 2,
              "trace": {"format": "generate", "count": 200, "arrival": {"process": "fixed", "rate": "5/s"}}}},
  "jobs": {"scheduler": "srtf", "placement": "first-fit",
           "trace": {"format": "csv-jobs", "path": "jobs.csv"}},
  "warmup": "2s", "seed": 9 }
END
awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 300; i++) print int(i / 3) "," i * 7919 % 97 "," i * 31 % 8 + 1 }' \
    >"$T/jobs.csv"

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
