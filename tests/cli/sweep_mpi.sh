#!/bin/sh
# The ranks of an MPI job give the same rows as this machine alone. Needs Open MPI and a build with `make MPI=1`, of
# which the rows are compared with its own without ranks, and the hashes of the results with those of the program under
# test.
. tests/cli/lib.sh

command -v mpirun >/dev/null || skip 'mpirun is not installed (Debian: openmpi-bin)'
for with_mpi in "${BUILD:-build/release}-mpi/orrery" build/release-mpi/orrery none; do [ -x "$with_mpi" ] && break; done
[ "$with_mpi" != none ] || skip 'there is no build with MPI: make MPI=1'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

studied >"$T/base.json"
cat >"$T/study.json" <<'END'
{ "name": "ranks", "scenario": "base.json", "keep": "rows", "seeds": 10,
  "axes": [{"key": "services.chat.routing", "values": ["round-robin", "least-outstanding"]},
           {"key": "services.chat.replicas", "values": [1, 2, 3]}] }
END
cat >"$T/search.json" <<'END'
{ "scenario": "base.json", "seeds": 3,
  "axes": [{"key": "services.chat.replicas", "values": [1, 2]}],
  "search": {"largest": "services.chat.trace.arrival.rate", "from": "1/s", "to": "64/s", "tolerance": 0.1,
             "where": [{"metric": "request.ttft_s.p99", "at_most": "0.3s"}]} }
END
content() { sqlite3 "$1" .dump | grep -v '^INSERT INTO run_cost'; }
mpi() { # RANKS (0: without mpirun) WANTED_STATUS ARGUMENTS...
    n=$1 want=$2
    shift 2
    last="mpirun -n $n orrery $*"
    [ $n = 0 ] && set -- "$with_mpi" "$@" || set -- mpirun --oversubscribe -n "$n" "$with_mpi" "$@"
    "$@" >"$T/out" 2>"$T/err" </dev/null
    status=$?
    [ $status = "$want" ] || { complain "exit status $status, expected $want"; head -5 "$T/err"; }
}

for study in study search; do
    [ $study = study ] && ranks='1 2 4' || ranks=4
    "$with_mpi" sweep "$T/$study.json" -o "$T/$study.db" -q >"$T/table" || complain 'a sweep without ranks fails'
    content "$T/$study.db" >"$T/alone"
    for n in $ranks; do
        mpi $n 0 sweep "$T/$study.json" -o "$T/$study$n.db" -q
        out_is <"$T/table"
        content "$T/$study$n.db" | cmp -s - "$T/alone" || complain "$n ranks give other rows"
        [ ! -e "$T/$study$n.db.shards" ] || complain 'shards are left'
    done
done
run 0 sweep "$T/study.json" -o "$T/other.db" -q
equal "$(sqlite3 "$T/other.db" 'select id, result_hash from run')" "$(sqlite3 "$T/study4.db" 'select id, result_hash from run')" \
    'the hashes of the program under test'

# Killed, then resumed by another number of ranks, and by none.
mpirun --oversubscribe -n 4 "$with_mpi" sweep "$T/study.json" -o "$T/killed.db" -q >/dev/null 2>&1 &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$T/killed.db.shards/0002.db" ] && break; sleep 0.2; done
kill -9 $pid
wait $pid 2>/dev/null
sleep 0.5
mpi 2 0 sweep "$T/study.json" -o "$T/killed.db" -q --resume
content "$T/killed.db" | cmp -s - "$(content "$T/study.db" >"$T/alone" && echo "$T/alone")" || complain 'resumed, other rows'

# A run that crashes, or ends its process, costs that run and no rank.
for way in 'kill(getpid(), SIGSEGV)' 'exit(0)'; do
    cat >"$T/bad.c" <<END
#include "sim/world/policy/routing.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static int n_calls;
static int route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request;
    if (view->n_replicas == 2 && ++n_calls == 20 && getenv("MISBEHAVE") != NULL) $way;
    return 0;
}
static const struct router bad = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router), .family = POLICY_ROUTING,
    .name = "bad", .summary = "one that misbehaves", .source = "a test"}, .route = route};
ORRERY_PLUGIN(&bad.policy)
END
    last='cc bad.c'
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -fPIC -shared -I. -o "$T/bad.so" "$T/bad.c" || complain 'it does not compile'
    echo '{ "scenario": "base.json", "set": {"services.chat.routing": "bad"}, "seeds": 3,
            "axes": [{"key": "services.chat.replicas", "values": [1, 2, 3]}] }' >"$T/bad.json"
    rm -f "$T"/bad*.db
    with_plugin() { # RANKS WANTED_STATUS OUTPUT OPTIONS...
        mpi $1 $2 sweep "$T/bad.json" --plugin "$T/bad.so" -o "$T/$3.db" $4 -j 2
    }
    export MISBEHAVE=1
    with_plugin 0 4 bad1
    cp "$T/err" "$T/alone"
    with_plugin 3 4 bad3
    err '9 runs, 3 failed'
    err 'run 4 (services.chat.replicas=2, seed 1) failed: '"$T/bad.so: the plug-in"
    equal "$(grep failed: "$T/err")" "$(grep failed: "$T/alone")" 'what ranks say of the failures'
    content "$T/bad1.db" >"$T/alone"
    content "$T/bad3.db" | cmp -s - "$T/alone" || complain 'with failures 3 ranks give other rows'
    unset MISBEHAVE
    with_plugin 3 0 bad3 --resume
    err '9 runs, 6 of them found, in'
    with_plugin 0 0 good
    content "$T/good.db" >"$T/alone"
    content "$T/bad3.db" | cmp -s - "$T/alone" || complain 'mended by 3 ranks, other rows'
    rm "$T/good.db"
done

# Findings come once, from rank 0.
mpi 2 2 sweep "$T/study.json" -o "$T/study.db"
equal "$(grep -c 'the file already has the runs of this study' "$T/err")" 1 'findings'
mpi 2 3 sweep "$T/no-such.json" -o "$T/none.db"
sed 's/"round-robin", /"no-such-router", /' "$T/study.json" >"$T/wrong.json"
mpi 3 2 sweep "$T/wrong.json" -o "$T/wrong.db" -q --seeds 1
equal "$(grep -c "unknown routing policy 'no-such-router'" "$T/err")" 1 'a value that is refused before the first run'
[ ! -e "$T/wrong.db" ] || complain 'runs of a study that is refused'
finish
