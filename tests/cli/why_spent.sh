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
is_true "$(spent repeated_s) > 0 and abs($(spent repeated_s) * 128 / $(metric job.lost_gpu_s.sum) - 1) < 1e-9"
is_true "$(spent waited_for_gpus_s) = $(json_of "$T/out" '$.waited_s') and $(spent slower_s) > 0 and $(spent moved_s) = 0"
is_true "abs($(spent work_s) + $(spent waited_for_gpus_s) + $(spent loaded_s) + $(spent saved_s) + $(spent repeated_s)
    + $(spent slower_s) - $(metric job.jct_s.mean)) < 1e-3"
run 0 why "$db" job 0
equal "$(grep -c '^took .* for 172800 s of work: .* of its speed alone on the GPUs it asks for' "$T/out")" 1 'lines of its time'
out ' on lost work'
out ' stalled while it saved'

# The nodes of one stay are one line, as long as each is asked for.
out 'held     128 GPUs, 8 on each of 16 nodes (--all shows each), for'
lines=$(grep -c ' s  held ' "$T/out")
run 0 why "$db" job 0 --all
equal "$(grep -c ' s  held ' "$T/out")" "$((16 * lines))" 'nodes of its stays'

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
finish
