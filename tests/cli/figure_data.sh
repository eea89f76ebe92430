#!/bin/sh
# Figures that read other people's traces, on traces written here: absent files are named, with where to get them, and
# nothing is written; types that a file describes run like types that the scenario describes.
. tests/cli/lib.sh

mkdir -p "$T/data/configs/figures"
for folder in hardware calibration; do cp -r "configs/$folder" "$T/data/configs/"; done
cp -r configs/figures/muri "$T/data/configs/figures/"
sed -i 's/"tolerance": 0.15/"tolerance": 1/' "$T/data/configs/figures/muri/testbed.json"
trace=$T/shared/data/scheduler_runs/muri_64v100__trace.csv
ORRERY_DATA=$T/data
export ORRERY_DATA

run 0 figure list
out muri/testbed
run 3 figure run muri/testbed -o "$T/figures"
err 'shared/data/scheduler_runs/muri_64v100__trace.csv: error: figure muri/testbed needs these measurements, which are not'
err 'cluster_exp/trace-data/cluster_trace.csv of github.com/Rivendile/Muri at 4e69a78c'
[ ! -e "$T/figures" ] || complain 'something was written without the trace'
run 0 figure all -o "$T/figures"
err 'muri/testbed: skipped: data absent: it needs '
[ ! -e "$T/figures/muri" ] || complain 'something was written without the trace'

# Another folder is named by an option, in every verb that reads the trace; nothing lies at the default place.
run 2 figure run muri/testbed --data "$T/nowhere" -o "$T/figures"
err "--data: error: '$T/nowhere' is no folder"
mkdir "$T/own"
run 3 figure run muri/testbed --data "$T/own" -o "$T/figures"
err "$T/own/scheduler_runs/muri_64v100__trace.csv: error: figure muri/testbed needs these measurements, which are not"
err '--data DIR names another folder of public data'
run 0 figure all --data "$T/own" -o "$T/figures"
err 'muri/testbed: skipped: data absent: it needs '
err "$T/own/scheduler_runs/muri_64v100__trace.csv"

# Jobs of two models that use different resources: under Muri they share, and all are done earlier than under SRTF.
mkdir -p "${trace%/*}"
{
    echo job_id,num_gpu,submit_time,model_name,duration,resource_time_0,resource_time_1,resource_time_2
    for job in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do
        case $((job % 2)) in
        0) echo "$job,8,$((job * 1000)),reader,$((7200000 + job * 1000)),400,10,0" ;;
        *) echo "$job,8,$((job * 1000)),thinker,$((7200000 + job * 1000)),2,300,20" ;;
        esac
    done
} >"$trace"
run 1 figure run muri/testbed -o "$T/figures"
span() { sqlite3 "$T/figures/muri/testbed.$1.db" "select cast(value as integer) from metric where name = 'job.makespan_s'"; }
test $(($(span muri) * 10)) -lt $(($(span srtf) * 9)) || complain "Muri's makespan is $(span muri) s, SRTF's $(span srtf) s"
sql "$T/figures/muri/testbed.muri.db" "select value from metric where name = 'job.finished'" 24.0

# The same trace elsewhere gives the same results, and is checked there.
before=$(span muri)
mkdir "$T/own/scheduler_runs"
mv "$trace" "$T/own/scheduler_runs/"
run 1 figure run muri/testbed --data "$T/own" -o "$T/figures"
equal "$(span muri)" "$before" 'makespan with --data'
run 3 validate "$T/data/configs/figures/muri/testbed.scenario.json"
for verb in 'explain config' 'check --update'; do # which have no --data
    run 3 $verb "$T/data/configs/figures/muri/testbed.scenario.json" $([ "$verb" = 'explain config' ] || echo --baseline "$T/base.json")
    err "use --data DIR, which 'run', 'sweep', 'validate' and 'figure' take"
done
run 0 validate "$T/data/configs/figures/muri/testbed.scenario.json" --data "$T/own"
mv "$T/own/scheduler_runs/${trace##*/}" "$trace"

# The types of the file, written out. One of them is in both, and what the scenario says goes first.
muri() { # TYPES
    run 0 run "$T/data/configs/figures/muri/testbed.scenario.json" --json --set jobs.placement=counted \
        --set 'jobs.scheduler={"policy": "muri"}' --set jobs.round=0s --set "$1" --set jobs.profiles="$2"
    json_of "$T/out" '$.metrics."job.jct_s.mean"'
}
file="{\"format\": \"muri\", \"path\": \"$trace\"}"
reader='"reader-8": {"sharing": {"phases": [0.2, 0.2, 0.01, 0]}}'
thinker='"thinker-8": {"sharing": {"phases": [0.001, 0.001, 0.3, 0.02]}}'
slower='"thinker-8": {"sharing": {"phases": [0.1, 0.1, 0.3, 0.02]}}'
by_file=$(muri 'jobs.types={}' "$file")
equal "$by_file" "$(muri "jobs.types={$reader, $thinker}" null)" 'mean with types written out'
changed=$(muri "jobs.types={$slower}" "$file")
equal "$changed" "$(muri "jobs.types={$reader, $slower}" null)" 'mean with one type written out'
[ "$changed" != "$by_file" ] || complain 'the type of the scenario has no effect'

# Wrong files.
wrong() { # FORMAT REST TEXT MESSAGE
    printf '%s\n' "$3" >"$T/wrong"
    run 3 run "$T/data/configs/figures/muri/testbed.scenario.json" --set "jobs.profiles={\"format\": \"$1\", \"path\": \"$T/wrong\"$2}"
    err "$4"
}
gpus=', "gpus": {"v100": "v100-32-sxm"}'
wrong muri '' 'model_name,num_gpu,resource_time_0,resource_time_1,resource_time_2
vgg16,8,1,2,3
vgg16,8,1,2,4' 'wrong:3:9: error: an earlier row with this model and number of GPUs has other times'
wrong muri '' 'model_name,num_gpu,resource_time_0,resource_time_1,resource_time_2
vgg16,8,1,-2,3' 'wrong:2:11: error: a time of a resource must be a number of milliseconds'
wrong gavel "$gpus" '{"p100": {}, "v100": 3, "k80": {}}' "the file has no throughputs of a GPU 'v100'"
wrong gavel "$gpus" '{"v100": {"LM": {"null": 2}}}' "a type of jobs must be called \"('MODEL', WORKERS)\""
wrong gavel "$gpus" "{\"v100\": {\"('LM', 1)\": {\"null\": 2, \"('LM', 1)\": [1]}}}" \
    'a pair must have two numbers, the steps/s of both jobs'
wrong gavel "$gpus" "{\"v100\": {\"('LM', 1)\": {\"null\": \"2\"}}}" 'steps/s alone must be a number of at least 0'
finish
