#!/bin/sh
# orrery why of a job: where its time went, and its GPUs on many nodes.
. tests/cli/lib.sh

db=$T/spent.db
is_true() { equal "$(sqlite3 "$db" "select $1")" 1 "$1"; }
metric() { sqlite3 "$db" "select value from metric where run_id = 1 and name = '$1'"; }

# One job alone, which fails, saves, and shares uplinks: its parts are those of the site's metrics.
cat >"$T/long.json" <<'END'
{"extends": ["configs/clusters/dgx-h100.json"],
 "cluster": {"nodes": 18, "network": {"bandwidth": "50GB/s", "topology": "leaf-spine", "nodes_per_leaf": 4,
                                      "oversubscription": 4},
             "storage": {"far": {"device": "rdma-h800"}}},
 "failures": {"causes": {"node": {"scope": "node", "lifetime": {"mean": "10d"}, "repair": {"mean": "4h"}}}},
 "jobs": {"restart": {"start": "3min", "resume": "5min"},
  "types": {"pre": {"training": {"llm": "llama-3.1-8b", "tensor_parallel": 2, "global_batch": 256},
                    "checkpoint": {"policy": "daly", "params": 8e9, "to": "far"}}},
  "trace": {"format": "inline-jobs", "jobs": [{"gpus": 128, "duration": "2d", "type": "pre"}]}}}
END
run 0 run "$T/long.json" -q -o "$db"
run 0 why "$db" job 0 --json
spent() { json_of "$T/out" "\$.spent.$1"; }
is_true "$(spent work_s) = 2 * 86400"
is_true "$(spent loaded_s) > 180 and abs($(spent loaded_s) * 128 / $(metric job.wait_gpu_s.sum) - 1) < 1e-9"
is_true "$(spent saved_s) > 0 and abs($(spent saved_s) * 128 / $(metric job.checkpoint_gpu_s.sum) - 1) < 1e-9"
is_true "abs($(json_of "$T/out" '$.checkpoint_interval_s') / $(metric job.checkpoint_interval_s.mean) - 1) < 1e-9"
is_true "$(spent repeated_s) > 0 and abs($(spent repeated_s) * 128 / $(metric job.lost_gpu_s.sum) - 1) < 1e-9"
is_true "$(spent waited_for_gpus_s) = $(json_of "$T/out" '$.waited_s') and $(spent slower_s) > 0 and $(spent moved_s) = 0"
run 0 why "$db" job 0
equal "$(grep -c '^took .* for 172800 s of work: .* of its speed alone on the GPUs it asks for' "$T/out")" 1 'lines of its time'
out ' on lost work'
out ' stalled while it saved'
equal "$(grep -c '^saves its state after every .*, as its checkpointing policy chose last$' "$T/out")" 1 'line of its saves'

# A job of the same kind that is shorter than its interval begins no save; its policy chose the interval all the same.
sed 's/"duration": "2d"/"duration": "1min"/' "$T/long.json" >"$T/brief.json"
run 0 run "$T/brief.json" -q -o "$T/brief.db"
run 0 why "$T/brief.db" job 0
equal "$(grep -c '^would save its state after every .* s of work, as its checkpointing policy chose last; it began no save$' "$T/out")" 1 'line of its saves'
! grep -q '^saves' "$T/out" || complain 'it saves nothing'
run 0 why "$T/brief.db" job 0 --json
is_true "$(json_of "$T/out" '$.checkpoint_interval_s') > 60"

# One whose policy wants no saves, as nothing fails, has neither line.
sed -e 's/"duration": "2d"/"duration": "1min"/' -e '/"failures":/d' "$T/long.json" >"$T/safe.json"
run 0 run "$T/safe.json" -q -o "$T/safe.db"
run 0 why "$T/safe.db" job 0
! grep -q 'its state after every' "$T/out" || complain 'its policy chose no interval'
equal "$(sqlite3 "$T/safe.db" "select count(*) from metric where name = 'job.checkpoint_interval_s.mean'")" 0 'metrics of intervals'
run 0 why "$db" job 0

# The nodes of one stay are one line, as long as each is asked for.
out 'held     128 GPUs, 8 on each of 16 nodes (--all shows each), for'
lines=$(grep -c ' s  held ' "$T/out")
run 0 why "$db" job 0 --all
equal "$(grep -c ' s  held ' "$T/out")" "$((16 * lines))" 'nodes of its stays'

# The same at a stated speed: 172,800 s of work take a quarter longer at 80 %, whatever else it does.
sed -e 's|"training": {[^}]*}|"speeds": {"h100-sxm": 0.8}|' -e 's/"nodes": 18/"nodes": 16/' "$T/long.json" >"$T/stated.json"
run 0 run "$T/stated.json" -q -o "$T/stated.db"
run 0 why "$T/stated.db" job 0 --json
is_true "abs($(spent slower_s) - 172800.0 / 4) < 0.1 and $(spent repeated_s) > 0 and $(spent saved_s) > 0
    and $(spent waited_for_gpus_s) > 0"

# A job that only waits and works has no such line; one on faster GPUs takes less.
cat >"$T/short.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm"},
 "jobs": {"scheduler": "fifo", "trace": {"format": "inline-jobs", "jobs": [
   {"gpus": 8, "duration": "100s"}, {"gpus": 8, "duration": "50s", "type": "quick"}]},
  "types": {"quick": {"speeds": {"a100-80-sxm": 2}}}}}
END
run 0 run "$T/short.json" -q -o "$T/short.db"
run 0 why "$T/short.db" job 0
! grep -q '^took' "$T/out" || complain 'all its time is work'
run 0 why "$T/short.db" job 1
out 'took 125 s for 50 s of work: 100 s waiting for GPUs, 25 s less at 200 % of its speed alone on the GPUs it asks for'

# Each job of a scenario: "number: its line".
took() {
    run 0 run "$1" -q -o "$T/took.db"
    shift
    for job; do
        run 0 why "$T/took.db" job "${job%%: *}"
        equal "$(grep '^took' "$T/out")" "${job#*: }" "line of job ${job%%: *}"
    done
}

# What is no work has parts of its own, and the speed is that of the time at work: before the jobs that it comes after
# have ended; on kept GPUs after its work; in a planned outage, which may come while the job is slow.
of_speed='of its speed alone on the GPUs it asks for'
cat >"$T/after.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm", "nodes": 3, "gpus_per_node": 8},
 "jobs": {"scheduler": "fifo", "trace": {"format": "inline-jobs", "jobs": [
   {"gpus": 8, "duration": "100s"}, {"gpus": 16, "duration": "130s"},
   {"gpus": 8, "duration": "50s", "after": [{"job": 0}]},
   {"gpus": 8, "duration": "50s", "type": "slow", "after": [{"job": 1}]},
   {"gpus": 0, "duration": "5s", "after": [{"job": 1}]}]},
  "types": {"slow": {"speeds": {"a100-80-sxm": 0.5}}}}}
END
took "$T/after.json" '0: ' '2: took 150 s for 50 s of work: 100 s waiting for the jobs that it comes after' \
    "3: took 230 s for 50 s of work: 130 s waiting for the jobs that it comes after, 50 s more at 50 % $of_speed" \
    '4: took 135 s for 5 s of work: 130 s waiting for the jobs that it comes after'
cat >"$T/kept.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm", "nodes": 2, "gpus_per_node": 8},
 "jobs": {"scheduler": "fifo", "trace": {"format": "inline-jobs", "jobs": [
   {"gpus": 8, "duration": "100s"}, {"gpus": 8, "duration": "140s"},
   {"gpus": 8, "duration": "10s", "after": [{"job": 0, "keeps_gpus": true}]}]}}}
END
took "$T/kept.json" '0: took 140 s for 100 s of work: 40 s after its work, on GPUs kept for others'
sed -e 's/"gpus": 8, "duration": "100s"/&, "type": "saving"/' -e 's/"duration": "140s"/"duration": "175s"/' \
    -e 's|"jobs": {|&"types": {"saving": {"checkpoint": {"policy": {"policy": "periodic", "interval": "10s"},\
                                                         "bytes": "8GB", "write": "8GB/s"}}}, |' \
    "$T/kept.json" >"$T/saving.json"
took "$T/saving.json" \
    '0: took 175 s for 100 s of work: 66 s after its work, on GPUs kept for others, 9 s stalled while it saved'
equal "$(sqlite3 "$T/took.db" "select value from metric where name = 'job.checkpoint_gpu_s.sum'
    order by run_id desc limit 1")" 72.0 'GPU time of saves'
cat >"$T/outage.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm", "nodes": 2, "gpus_per_node": 8},
 "failures": {"outages": {"o": {"node": 0, "nodes": 2, "from": "70s", "until": "90s"}}},
 "jobs": {"scheduler": "fifo", "trace": {"format": "inline-jobs", "jobs": [
   {"gpus": 8, "duration": "100s"}, {"gpus": 8, "duration": "100s", "type": "slow"}]},
  "types": {"slow": {"speeds": {"a100-80-sxm": 0.5}}}}}
END
took "$T/outage.json" '0: took 120 s for 100 s of work: 20 s paused or hung on its GPUs' \
    "1: took 220 s for 100 s of work: 100 s more at 50 % $of_speed, 20 s paused or hung on its GPUs"

# A job waits for a share of a GPU, or for CPU cores, as others do for GPUs, and not for jobs before it.
cat >"$T/shares.json" <<'END'
{"cluster": {"gpu": "a100-80-sxm", "nodes": 1, "gpus_per_node": 1, "cpus_per_node": 8},
 "jobs": {"placement": "packing", "trace": {"format": "inline-jobs", "jobs": [
   {"gpus": 1, "duration": "100s", "cpus": 8}, {"gpus": 1, "gpu_share": 0.5, "duration": "50s", "cpus": 1},
   {"gpus": 0, "duration": "30s", "cpus": 4}]}}}
END
took "$T/shares.json" '0: ' '1: ' '2: '
out '      0.000000 s  submit   asks for CPU cores and memory: '
out '    100.000000 s  waited   100 s for CPU cores and memory'
run 0 why "$T/took.db" job 2 --json
json '$.spent.waited_for_gpus_s' 100
json '$.spent.waited_for_jobs_s' 0
run 0 why "$T/took.db" job 1 --json
json '$.spent.waited_for_gpus_s' 100
json '$.spent.waited_for_jobs_s' 0
json '$.waited_s' 100
run 0 why "$T/took.db" job 1
out '      0.000000 s  submit   asks for 0.5 of a GPU: '
out '    100.000000 s  waited   100 s for 0.5 of a GPU'

# Jobs that fail or are cancelled have done the work of their record, trials that the scheduler stops have not.
cat >"$T/fates.csv" <<'END'
job_id,submit_s,duration_s,gpus,type,fate
0,0,100,8,,failed
1,0,50,8,slow,failed
2,0,25,8,slow,cancelled
END
cat >"$T/fates.json" <<END
{"cluster": {"gpu": "a100-80-sxm", "nodes": 1, "gpus_per_node": 8},
 "jobs": {"scheduler": "fifo", "trace": {"format": "csv-jobs", "path": "$T/fates.csv"},
  "types": {"slow": {"speeds": {"a100-80-sxm": 0.5}}}}}
END
took "$T/fates.json" \
    "1: took 200 s until it failed, for 50 s of work: 100 s waiting for GPUs, 50 s more at 50 % $of_speed" \
    "2: took 250 s until it was cancelled, for 25 s of work: 200 s waiting for GPUs, 25 s more at 50 % $of_speed"
run 0 run configs/scenarios/trials.json -q -o "$T/trials.db"
run 0 why "$T/trials.db" job "$(sqlite3 "$T/trials.db" "select min(id) from job where status = 'stopped'")" --json
json '$.status' stopped
json '$.spent' ''
finish
