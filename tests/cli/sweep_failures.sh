#!/bin/sh
# Runs that fail, crash, or end their worker: what a study keeps of them, and that --resume does them again. And
# policies that keep something from run to run.
. tests/cli/lib.sh
SANITIZED_CALLS=all # --resume refuses another build

cat >"$T/base.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "replicas": 2, "routing": "bad",
                        "trace": {"format": "generate", "count": 60,
                                  "arrival": {"process": "poisson", "rate": "4/s"}}}} }
END
# A router that keeps count in a static variable. From the 20th call on, when there are 3 replicas and the file "$T/on"
# is there, it does something wrong.
cat >"$T/bad.c" <<END
#include "sim/world/policy/routing.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long n_calls;
static int route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request;
    char word[16] = "";
    n_calls++;
    FILE *file = view->n_replicas == 3 && n_calls % 60 > 20 ? fopen("$T/on", "r") : NULL;
    if (file != NULL && fscanf(file, "%15s", word) == 1 && word[0] == 'e') exit(0);
    if (word[0] == 'k') kill(getpid(), SIGKILL);
    if (word[0] == 'f') return -1;
    if (file != NULL) fclose(file);
    return (int)(n_calls % 7 % view->n_replicas);
}
static int init(void *state, const void *params, struct diag *diag)
{
    (void)state, (void)params, (void)diag;
    if (access("$T/init", F_OK) == 0) exit(0);
    return 0;
}
static const struct router bad = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router), .family = POLICY_ROUTING,
    .name = "bad", .summary = "one that misbehaves", .source = "a test", .init = init}, .route = route};
ORRERY_PLUGIN(&bad.policy)
END
last='cc bad.c'
${CC:-cc} -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC -shared -I. -o "$T/bad.so" "$T/bad.c" || complain 'it does not compile'
cat >"$T/study.json" <<'END'
{ "name": "failures", "scenario": "base.json", "seeds": 2, "keep": "rows",
  "axes": [{"key": "services.chat.replicas", "values": [1, 2, 3, 4]}] }
END
content() { sqlite3 "$1" .dump | grep -v '^INSERT INTO run_cost'; }
sweep() { # STATUS STUDY NAME OPTIONS...
    run "$1" sweep "$T/$2.json" -o "$T/$3.db" --plugin "$T/bad.so" $4 $5 $6 $7
}

# What a policy keeps from run to run does not reach the next run: a run is the same whoever does it.
sweep 0 study good -j 1 -q
content "$T/good.db" >"$T/good"
optimised
for j in 2 3; do
    sweep 0 study j$j -j $j -q
    content "$T/j$j.db" | cmp -s - "$T/good" || complain "-j $j gives other rows"
done
sanitized
run 0 run "$T/base.json" --set services.chat.replicas=4 --seed 2 --plugin "$T/bad.so" --json
json '$.result_hash' "$(sqlite3 "$T/good.db" 'select result_hash from run where id = 8')"

# Wrong once, then right: --resume does again what failed, and nothing else.
for what in exit kill fault; do
    case $what in kill) optimised ;; *) sanitized ;; esac
    echo $what >"$T/on"
    [ $what = kill ] && code=70 || code=4
    sweep $code study $what -j 2
    err '8 runs, 2 failed'
    err 'run 5 (services.chat.replicas=3, seed 1) failed: '
    case $what in
    exit) err "$T/bad.so: the plug-in ends the process: status 0" ;;
    kill) err 'the worker died of signal 9' ;;
    esac
    sql "$T/$what.db" "select group_concat(id) from run where status = 'failed'" 5,6
    sweep 2 study $what
    err 'the file already has the runs of this study'
    sweep $code study $what --resume -j 1
    err '8 runs, 6 of them found, 2 failed'
    sql "$T/$what.db" 'select count(*), count(distinct id) from run' '8|8'
    sql "$T/$what.db" 'select count(*) from warning where run_id in (5, 6)' 2
    equal "$(echo "$T/$what".db*)" "$T/$what.db" 'the files that are left'
    rm "$T/on"
    sweep 0 study $what --resume
    err '8 runs, 6 of them found, in'
    content "$T/$what.db" | cmp -s - "$T/good" || complain "after $what it has other rows"
    sweep 0 study $what --resume
    err 'is complete: nothing is left to do'
done
optimised

# Policies that end the process as soon as a world is made take no other run with them.
echo '{"scenario": "base.json", "axes": [{"key": "services.chat.routing", "values": ["round-robin", "bad"]}]}' \
    >"$T/begin.json"
: >"$T/init"
sweep 4 begin begin
err '2 runs, 1 failed'
rm "$T/init"

# A redoing that is killed leaves the file as it was, and is gone on with.
echo exit >"$T/on"
sweep 4 study killed -q
cp "$T/killed.db" "$T/before.db"
rm "$T/on"
for i in $(seq 0 99); do mkdir "$T/.killed.db.$i.orrery-part"; done # all names of a new file beside it
sweep 3 study killed --resume -q
rmdir "$T"/.killed.db.*.orrery-part
cmp -s "$T/killed.db" "$T/before.db" || complain 'a file changed before all was there'
sweep 0 study killed --resume
err '8 of them found'
content "$T/killed.db" | cmp -s - "$T/good" || complain 'other rows after a redoing that was stopped'

# Failed runs of a sweep that wrote no file are done again, too.
echo exit >"$T/on"
for i in $(seq 0 99); do mkdir "$T/.begun.db.$i.orrery-part"; done
sweep 3 study begun -q
[ ! -e "$T/begun.db" ] || complain 'a file without a place for it'
rmdir "$T"/.begun.db.*.orrery-part
rm "$T/on"
sweep 0 study begun --resume
content "$T/begun.db" | cmp -s - "$T/good" || complain 'other rows after failures that no file holds'

# Of a run that failed in one file and ended in another, the end is kept, whichever comes first.
for order in 'before killed' 'killed before'; do
    run 0 merge "$T/${order% *}.db" "$T/${order#* }.db" -o "$T/${order% *}-first.db"
    sql "$T/${order% *}-first.db" "select count(*), sum(status = 'failed') from run" '8|0'
done

# What is done again is done by the same program, with the same plug-ins, from the same files.
echo exit >"$T/on"
sweep 4 study mixed -q
rm "$T/on"
sed -i 's/% 7/% 5/' "$T/bad.c"
cp "$T/bad.so" "$T/was.so"
${CC:-cc} -std=c17 -D_GNU_SOURCE -fPIC -shared -I. -o "$T/bad.so" "$T/bad.c"
sweep 2 study mixed --resume
err "runs had the plug-in 'bad.so', which is not loaded, or of which this is another build"
mv "$T/was.so" "$T/bad.so"
sed -i 's/"count": 60/"count": 61/' "$T/base.json"
sweep 2 study mixed --resume
err 'the scenario of run 1 changed since the sweep began'
sed -i 's/"count": 61/"count": 60/' "$T/base.json"
rm -r "$T/mixed.db.shards"
sqlite3 "$T/mixed.db" "update run set git_commit = 'other'"
sweep 2 study mixed --resume
err 'was made by orrery'

# A search that met a failure says so, and does the steps anew that followed from it.
cat >"$T/search.json" <<'END'
{ "scenario": "base.json", "seeds": 2, "keep": "rows",
  "search": {"largest": "services.chat.replicas", "from": 1, "to": 4,
             "where": [{"metric": "request.finished", "at_least": 1}, {"metric": "cluster.gpus", "at_most": 8}]} }
END
sweep 0 search right -q
sql "$T/right.db" 'select value, note from outcome' '4|met at the upper end of the bracket too'
sed -i 's/"to": 4/"to": 5/; s/{"metric": "cluster.gpus", "at_most": 8}/{"metric": "cluster.gpu_util", "at_most": 0.55}/' "$T/search.json"
sweep 0 search limit -q
sql "$T/limit.db" 'select value, note from outcome' '4|'
echo kill >"$T/on"
sweep 70 search wrong -q
sql "$T/wrong.db" 'select value, note from outcome' '2|no limit: runs failed at the next value'
out 'no limit: runs failed at the next value'
rm "$T/on"
sweep 0 search wrong --resume -q
content "$T/wrong.db" >"$T/content"
content "$T/limit.db" | cmp -s - "$T/content" || complain 'a search that is mended finds something else'
echo kill >"$T/on"
sed 's/"from": 1/"from": 3/' "$T/search.json" >"$T/low.json"
sweep 70 low low -q
sql "$T/low.db" 'select value, note from outcome' '|runs failed at the lower end of the bracket'
finish
