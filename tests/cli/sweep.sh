#!/bin/sh
# orrery sweep and merge: the same rows on any number of workers and shards; nothing is mixed, nothing is lost.
# faults.sh kills sweeps.
. tests/cli/lib.sh

studied >"$T/base.json"
cat >"$T/study.json" <<'END'
{ "name": "small", "scenario": "base.json",
  "axes": [ {"key": "services.chat.routing", "values": ["round-robin", "least-outstanding"]},
            {"key": "services.chat.trace.arrival.rate", "linear": {"from": "2/s", "to": "8/s", "n": 3}} ],
  "seeds": 4, "keep": "rows", "show": ["request.ttft_s.p99", "request.finished"] }
END

# All rows but those of our own execution.
content() { sqlite3 "$1" .dump | grep -v '^INSERT INTO run_cost'; }
same_content() { # FILE: as $T/all.db
    content "$1" >"$T/content"
    cmp -s "$T/content" "$T/all" || { complain "$1 has other rows than $T/all.db"; diff "$T/content" "$T/all" | head -5; }
}

# One worker, and what it wrote.
run 0 sweep "$T/study.json" -o "$T/all.db" -j 1
err '24 runs, in'
out 'round-robin'
cp "$T/out" "$T/table"
content "$T/all.db" >"$T/all"
sql "$T/all.db" 'select count(*), sum(status = "done"), count(distinct result_hash) from run' '24|24|24'
sql "$T/all.db" 'select count(distinct run_id) from metric' 24
# Each run has a peak of memory of its own, where a process may begin its peak anew (proc(5)).
if (echo 5 >/proc/self/clear_refs) 2>/dev/null; then
    sql "$T/all.db" 'select count(*) from run_cost where peak_rss_bytes > 0' 24
fi
sql "$T/all.db" 'select count(*) from request' 1440
sql "$T/all.db" "select group_concat(key || '=' || value, ' '), seed from param join run on run_id = id where run_id = 7" \
    'services.chat.routing=round-robin services.chat.trace.arrival.rate=5/s|3'
sql "$T/all.db" 'select name, length(hash), json_valid(definition) from study' 'small|32|1'
run 0 report "$T/all.db" -o "$T/all.html"
holds "$T/all.html" request.ttft_s.p99
rm "$T/all.html"
equal "$(echo "$T"/all.db*)" "$T/all.db" 'the files that are left'
[ ! -e "$T/all.db.shards" ] || complain 'shards are left'

# A run alone is the same run; and the results repeat from the file.
run 0 run "$T/base.json" --set services.chat.routing=round-robin --set services.chat.trace.arrival.rate=5/s --seed 3 --json
json '$.result_hash' "$(sqlite3 "$T/all.db" 'select result_hash from run where id = 7')"
run 0 run --from "$T/all.db:24"

# Any number of workers.
optimised
for j in 2 5; do
    run 0 sweep "$T/study.json" -o "$T/j$j.db" -j $j -q
    out_is <"$T/table"
    same_content "$T/j$j.db"
done

sanitized

# Shards, merged in any order, with one of them twice.
for i in 1 2 3; do run 0 sweep "$T/study.json" -o "$T/shard$i.db" --shard $i/3 -q; done
run 0 merge "$T/shard3.db" "$T/shard1.db" "$T/shard2.db" "$T/shard1.db" -o "$T/merged.db"
same_content "$T/merged.db"
run 2 merge "$T/shard3.db" "$T/shard1.db" -o "$T/most.db"
err '8 runs of the study are missing: 2, 5, 8, 11'
no_file "$T/most.db"
run 0 merge "$T/shard3.db" "$T/shard1.db" -o "$T/most.db" --partial
sql "$T/most.db" 'select count(*) from run' 16
run 2 merge "$T/most.db" "$T/shard2.db" -o "$T/all.db"
err 'the file exists already'
SLURM_ARRAY_TASK_ID=12 SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_COUNT=3 "$ORRERY" sweep "$T/study.json" --shard slurm \
    -o "$T/slurm.db" -q || complain 'the shard of a job array fails'
[ "$(content "$T/slurm.db")" = "$(content "$T/shard3.db")" ] || complain 'task 12 of 10..12 is not shard 3/3'
run 2 sweep "$T/study.json" --shard slurm -o "$T/none.db"
err 'SLURM_ARRAY_TASK_ID'
run 2 sweep "$T/study.json" --shard 4/3 -o "$T/none.db"
err "must be I/N with I from 1 to N, got '4/3'"

# More of them than SQLite attaches.
optimised
run 0 sweep "$T/study.json" -o "$T/two.db" --seeds 2 -q
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do run 0 sweep "$T/study.json" -o "$T/many$i.db" --shard $i/12 --seeds 2 -q; done
run 0 merge "$T"/many*.db -o "$T/many.db"
[ "$(content "$T/many.db")" = "$(content "$T/two.db")" ] || complain '12 shards give other rows'

sanitized

# What a user calls like a part of a merge is the user's.
for part in part 0.part merged; do echo mine >"$T/kept.db.$part"; done
run 0 merge "$T"/shard*.db -o "$T/kept.db"
run 0 sweep "$T/study.json" -o "$T/kept2.db" --seeds 1 -q
equal "$(cat "$T"/kept.db.part "$T"/kept.db.0.part "$T"/kept.db.merged | sort -u)" mine 'files beside the output'
equal "$(ls "$T" | grep -c '^kept')" 5 'files beside the output'

# Two merges into one file at once: one of them has it, and all of it.
"$ORRERY" merge "$T"/shard*.db -o "$T/both.db" 2>"$T/err1" &
"$ORRERY" merge "$T"/shard*.db -o "$T/both.db" 2>"$T/err2"
second=$?
wait $!
first=$?
case $first/$second in 0/[23] | [23]/0) ;; *) complain "two merges end with $first and $second" ;; esac
same_content "$T/both.db"
equal "$(echo "$T"/both.db*)" "$T/both.db" 'the files that are left'

# The next merge removes what a killed one left, and nothing that another merge has locked.
mkdir "$T/ended"
printf x >"$T/ended/.all.db.0.orrery-part"
printf x >"$T/ended/.all.db.1.orrery-part"
printf x >"$T/ended/.all.db.1.orrery-part-journal"
printf x >"$T/ended/.all.db.2.orrery-part"
flock "$T/ended/.all.db.2.orrery-part" "$ORRERY" merge "$T"/shard*.db -o "$T/ended/all.db" ||
    complain 'the merge beside others fails'
same_content "$T/ended/all.db"
equal "$(ls -A "$T/ended" | tr '\n' ' ')" '.all.db.2.orrery-part all.db ' 'what is left beside the output'
rm -r "$T/ended"

# Doubles that differ are no doubles.
sqlite3 "$T/shard1.db" "update run set result_hash = 'x' where id = 4" ".backup $T/forged.db"
run 2 merge "$T/shard1.db" "$T/all.db" -o "$T/none.db"
err 'run 4 has the result hash'

# A file without runs and study, as of a process that died early, takes no part, wherever it stands.
run 0 run "$T/base.json" -o "$T/empty.db" -q
sqlite3 "$T/empty.db" 'delete from run'
run 0 merge "$T/empty.db" "$T/all.db" "$T/empty.db" -o "$T/rest.db"
[ "$(content "$T/rest.db")" = "$(content "$T/all.db")" ] || complain 'an empty file changes the merge'
run 2 merge "$T/empty.db" "$T/empty.db" -o "$T/none.db"
err "$T/empty.db: error: these are not the results of a study"
no_file "$T/none.db"

# Nothing that is there is overwritten; what is complete is left alone.
run 2 sweep "$T/study.json" -o "$T/all.db"
err 'the file already has the runs of this study'
run 0 sweep "$T/study.json" -o "$T/all.db" --resume
err 'is complete: nothing is left to do'
out_is <"$T/table"
run 2 sweep "$T/study.json" -o "$T/all.db" --seeds 5 --resume
err 'these are the results of another study'
run 0 run "$T/base.json" -o "$T/run.db" -q
run 2 sweep "$T/study.json" -o "$T/run.db"
err 'these are not the results of a study'
err "study; name what 'orrery sweep' wrote, or a new file to write to"
run 2 merge "$T/all.db" "$T/run.db" -o "$T/none.db"
err "$T/run.db: error: these are not the results of a study"
err "study; name what 'orrery sweep' wrote"
equal "$(grep -c 'a new file to write to' "$T/err")" 0 'hints to write to an input'
run 2 sweep "$T/study.json" -o "$T/shard1.db" --resume
err "only part of this study's runs"

# Without --resume a sweep that was begun is not touched; with it nothing else is taken in.
begin() { # leaves shards with all runs: merged, they would replace a link that leads nowhere
    rm -rf "$T/begun.db" "$T/begun.db.shards"
    ln -s nowhere "$T/begun.db"
    run 3 sweep "$T/study.json" -o "$T/begun.db" -j 1 -q
    err 'cannot write results: File exists'
    rm "$T/begun.db"
}
begin
run 2 sweep "$T/study.json" -o "$T/begun.db"
err 'continue it with --resume'
run 2 sweep "$T/study.json" -o "$T/begun.db" --resume --seeds 3
err 'the study is not the one that was begun'
cp "$T/base.json" "$T/base.was"
sed 's/"count": 60/"count": 61/' "$T/base.was" >"$T/base.json"
run 2 sweep "$T/study.json" -o "$T/begun.db" --resume
err 'the scenario of run 1 changed since the sweep began'
mv "$T/base.was" "$T/base.json"
sed -i 's/^program.*/program 0.0.0 other/' "$T/begun.db.shards/sweep"
run 2 sweep "$T/study.json" -o "$T/begun.db" --resume
err 'orrery is not the one that the sweep was begun with'
begin
lock() { # SECONDS: holds the shards as workers do that outlive their parent
    (flock 9 && exec sleep "$1") 9<"$T/begun.db.shards/sweep" &
    holder=$!
    while flock -n "$T/begun.db.shards/sweep" true; do sleep 0.05; done
}
lock 60
run 2 sweep "$T/study.json" -o "$T/begun.db" --resume
err 'another sweep, or workers of one that was killed, are writing to these shards'
kill $holder
lock 1
run 0 sweep "$T/study.json" -o "$T/begun.db" --resume
err '24 of them found'
same_content "$T/begun.db"

# A run that fails is kept as that, and the others are done.
sed 's/^  "axes": \[/& {"key": "services.chat.routing.count", "values": ["queued"]},/; s/robin", /&"random", /' \
    "$T/study.json" >"$T/failing.json"
run 2 sweep "$T/failing.json" -o "$T/wrong.db" -j 2 --seeds 1
values='services.chat.routing=random, services.chat.routing.count=queued, services.chat.trace.arrival.rate=2/s'
err "run 4 ($values, seed 1) failed"
err '9 runs, 6 failed'
sql "$T/wrong.db" "select group_concat(id) from run where status = 'failed'" 1,2,3,4,5,6
sql "$T/wrong.db" "select count(*) from warning where code = 'SIM_E_CONFIG' and run_id in (4, 5, 6)" 3

# What the runs would be.
run 0 sweep "$T/study.json" --dry-run --seeds 1 --set cluster.nodes=2
out_is <<'END'
run  routing            rate  seed
  1  round-robin        2/s      1
  2  round-robin        5/s      1
  3  round-robin        8/s      1
  4  least-outstanding  2/s      1
  5  least-outstanding  5/s      1
  6  least-outstanding  8/s      1
END
run 0 sweep "$T/study.json" --dry-run --json
json '$[6].params."services.chat.trace.arrival.rate"' 5/s
json '$[6].seed' 3

sed 's/"round-robin", /"round-robin", "no-such-router", /' "$T/study.json" >"$T/wrong.json"
run 2 sweep "$T/wrong.json" --dry-run
err "unknown routing policy 'no-such-router'"

# What the command line lays over the study is in every run, and in the definition.
run 0 sweep "$T/study.json" -o "$T/set.db" --set services.chat.replicas=1 --seeds 1 --name single -q
sql "$T/set.db" "select count(*) from run where json_extract(scenario, '\$.services.chat.replicas') = 1" 6
sql "$T/set.db" "select name, json_extract(definition, '\$.set.\"services.chat.replicas\"') from study" 'single|1'
# --keep is the study's own key: the definition, and so its hash, are those of a study that has it.
sed 's/"keep": "rows", //' "$T/study.json" >"$T/short.json"
run 0 sweep "$T/study.json" -o "$T/stated.db" --seeds 1 --name one -q
run 0 sweep "$T/short.json" -o "$T/short.db" --seeds 1 --name one -q
run 0 sweep "$T/short.json" -o "$T/laid.db" --seeds 1 --name one -q --keep rows
of_study() { sqlite3 "$1" "select hash, definition, (select count(*) from request), (select group_concat(result_hash) from run) from study"; }
equal "$(of_study "$T/laid.db")" "$(of_study "$T/stated.db")" 'a study by --keep rows'
[ "$(of_study "$T/laid.db")" != "$(of_study "$T/short.db")" ] || complain 'a study without keep keeps rows'
run 2 sweep "$T/short.json" -o "$T/none.db" --set keep=rows
err 'give --keep'
run 2 sweep "$T/study.json" -o "$T/none.db" --set services.chat.routing=round-robin
err "the study varies 'services.chat.routing'"
run 2 sweep "$T/study.json" -o "$T/none.db" --set seed=3
err 'give --seeds'
run 2 sweep "$T/study.json" -o "$T/none.db" --set foo=3
[ "$(wc -l <"$T/err")" = 1 ] || complain 'each run says so'
no_file "$T/none.db"
finish
