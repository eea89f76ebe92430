#!/bin/sh
# Shards of one study that were made from other files, scenarios or plug-ins are not merged; those that were not are.
. tests/cli/lib.sh

cat >"$T/base.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "jobs": {"scheduler": "fifo", "trace": {"format": "csv-jobs", "path": "jobs.csv"}} }
END
awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 40; i++) print i "," i * 7919 % 97 "," i * 31 % 8 + 1 }' >"$T/jobs.csv"
head -30 "$T/jobs.csv" >"$T/other.csv"
study() { # NAME AXES [MEMBERS]
    echo '{ "name": "worlds", "scenario": "base.json", "axes": ['"$2"'] '"$3"'}' >"$T/$1.json"
}
policies='{"key": "jobs.scheduler", "values": ["fifo", "sjf"]}'
study apart "$policies"
study points "$policies, "'{"key": "cluster.nodes", "values": [1, 2, 3]}'
study seeds "$policies" ', "seeds": 3'
study files '{"key": "jobs.trace.path", "values": ["jobs.csv", "other.csv"]}'

shard() { run 0 sweep "$T/$1.json" -o "$T/$1$2.db" --shard $2/2 -q; }
merged() { run "$2" merge "$T/${1}1.db" "$T/${1}2.db" -o "$T/$1.db"; }
clean() { rm -f "$T"/*.db; }

# One world: also when each shard has one value of the axis, and when values name files.
for study in apart points seeds files; do
    shard $study 1
    shard $study 2
    merged $study 0
done
sql "$T/files.db" 'select count(distinct trace_hash) from run' 2
clean

# Started from another directory.
program=$(realpath "$ORRERY")
shard points 1
(cd "$T" && "$program" sweep points.json -o points2.db --shard 2/2 -q) || complain 'a sweep in its directory fails'
merged points 0
clean

# A trace that changed in between; a scenario that did.
for study in apart points seeds; do
    shard $study 1
    cp "$T/jobs.csv" "$T/was.csv"
    sed -i '$d' "$T/jobs.csv"
    shard $study 2
    mv "$T/was.csv" "$T/jobs.csv"
    merged $study 2
    err 'was made from other input files (traces, catalog files) than run 1 in'
    no_file "$T/$study.db"
    clean
    shard $study 1
    cp "$T/base.json" "$T/base.was"
    sed -i 's/"jobs": {/"warmup": "1s", "jobs": {/' "$T/base.json"
    shard $study 2
    mv "$T/base.was" "$T/base.json"
    merged $study 2
    err 'was made from another scenario than run 1 in'
    clean
done

# The folder of a trace is no matter, its name is.
mkdir "$T/below"
cp "$T/jobs.csv" "$T/copy.csv"
cp "$T/jobs.csv" "$T/below/jobs.csv"
cp "$T/base.json" "$T/base.was"
for path in "$T/jobs.csv" ./jobs.csv "../${T##*/}/jobs.csv" below/jobs.csv copy.csv "$T/below/../copy.csv"; do
    case $path in *copy.csv) code=2 ;; *) code=0 ;; esac
    shard points 1
    sed "s|\"jobs.csv\"|\"$path\"|" "$T/base.was" >"$T/base.json"
    shard points 2
    cp "$T/base.was" "$T/base.json"
    merged points $code
    [ $code = 0 ] || err 'was made from another scenario than run 1 in'
    clean
done

# Two builds of a plug-in.
plugin() { # REPLICA
    cat >"$T/mine.c" <<END
#include "sim/world/policy/routing.h"
static int route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request;
    return $1;
}
static const struct router mine = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router), .family = POLICY_ROUTING,
    .name = "mine", .summary = "one replica", .source = "a test"}, .route = route};
ORRERY_PLUGIN(&mine.policy)
END
    last='cc mine.c'
    ${CC:-cc} -std=c17 -Wall -Wextra -Werror -fPIC -shared -I. -o "$T/mine.so" "$T/mine.c" || complain 'it does not compile'
}
serving 20 10 '"seed": 1'
echo '{ "scenario": "serve.json", "set": {"services.chat.routing": "mine"}, "seeds": 4 }' >"$T/plugin.json"
plugin 'view->n_replicas - 1'
for i in 1 2; do run 0 sweep "$T/plugin.json" -o "$T/plugin$i.db" --shard $i/2 -q --plugin "$T/mine.so"; done
merged plugin 0
rm "$T/plugin.db" "$T/plugin2.db"
plugin '(int)(view->n_replicas > 1)'
run 0 sweep "$T/plugin.json" -o "$T/plugin2.db" --shard 2/2 -q --plugin "$T/mine.so"
merged plugin 2
err "had another build of the plug-in 'mine.so' than others"
no_file "$T/plugin.db"
finish
