#!/bin/sh
# The figure of a day of DeepSeek's unit with its first ten minutes; with NCCL's all-to-all in decoding it fails.
. tests/cli/lib.sh
optimised

mkdir "$T/data"
cp -r configs "$T/data/"
sed -i 's/"duration": "1d"/"duration": "10min"/' "$T/data/configs/scenarios/deepseek-day.json"
ORRERY_DATA=$T/data
export ORRERY_DATA

run 0 figure run deepseek/day -o "$T" --json
equal "$(verdict 'tokens per second of a user')" pass 'speed of a user'
equal "$(verdict 'share of the requests')" pass 'all are served'
equal "$(verdict 'share of input tokens')" 'reported, within 25 %' 'hits'
# The hour from noon has 97.4 of the mean 101.6.
sql "$T/deepseek/day.db" "select abs(value / (224.8 * 97.4 / 101.6 * 600 * 4068) - 1) < 0.01 from metric
    where name = 'request.prompt_tokens.sum'" 1

sed -i 's/"dispatch": "deepep-low-latency", "overlap": "two-batches"/"dispatch": "all-to-all"/' \
    "$T/data/configs/scenarios/deepseek-day.json"
run 1 figure run deepseek/day -o "$T/nccl" --json
equal "$(verdict 'tokens per second of a user')" fail 'all-to-all'
finish
