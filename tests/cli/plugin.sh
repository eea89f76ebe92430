#!/bin/sh
# A user's own policy, in a shared object: it is listed, runs, is recorded with the run, and what cannot be one is
# refused.
. tests/cli/lib.sh

compile() { # NAME: $T/NAME.c to $T/NAME.so, against the sources' headers
    last="cc $1.c"
    ${CC:-cc} -std=c17 -Wall -Wextra -Werror -fPIC -shared -I. -o "$T/$1.so" "$T/$1.c" || complain 'it does not compile'
}

# router NAME SYMBOL [ABI [SIZE]]: C of a router that sends everything to the last replica.
router() {
    cat <<END
#include "sim/world/policy/routing.h"
static int route_$2(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request;
    return view->n_replicas - 1;
}
static const struct router $2 = {.policy = {.abi = ${3:-POLICY_ABI}, .size = ${4:-sizeof(struct router)},
    .family = POLICY_ROUTING, .name = "$1", .summary = "the last replica", .source = "a test"}, .route = route_$2};
END
}
plugin() { # NAME [ROUTER]: $T/NAME.so with one router of that name
    { router "${2:-$1}" last "$3" "$4"; echo 'ORRERY_PLUGIN(&last.policy)'; } >"$T/$1.c"
    compile "$1"
}

program=$(realpath "$ORRERY")
plugin last
serving 40 10
run 0 list policies --plugin "$T/last.so"
out "routing        last"
run 0 list policies --plugin "$T/last.so" --json
json '$[#-1].plugin' "$T/last.so"
json '$[0].plugin' ''
run 2 validate "$T/serve.json" --set services.chat.routing=last
err "'last'"
run 0 validate "$T/serve.json" --set services.chat.routing=last --plugin "$T/last.so"
run 0 explain config "$T/serve.json" --set services.chat.routing=last --plugin="$T/last.so"
out last
run 0 explain schema --plugin "$T/last.so"
out '"last"'
(cd "$T" && "$program" list policies --plugin last.so >/dev/null) || complain 'a file of the current directory was not found'

# It runs, and the run names it.
run 0 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/last.so" -o "$T/r.db" --quiet
sql "$T/r.db" 'select distinct replica from request where replica >= 0' 3
sql "$T/r.db" "select policies like 'services.chat.batching=vllm-v1 services.chat.routing=last plugin.last.so=%' from run" 1
sql "$T/r.db" "select length(substr(policies, instr(policies, 'last.so=') + 8)) from run" 32

# A plug-in that has nothing in force is not named.
run 0 run "$T/serve.json" --plugin "$T/last.so" -o "$T/other.db" --quiet
sql "$T/other.db" "select instr(policies, 'plugin') from run" 0

# A run repeats with it, says what is missing without, and warns of another file under its name.
run 0 run --from "$T/r.db:1" --plugin "$T/last.so"
err 'the result hash is that of run 1'
run 2 run --from "$T/r.db:1"
err_is <<END
$T/r.db:1: error: the run had a policy of the plug-in 'last.so'; load it with --plugin
END
cp "$T/last.so" "$T/renamed.so"
run 0 run --from "$T/r.db:1" --plugin "$T/renamed.so" --quiet
mkdir "$T/new"
sed 's/n_replicas - 1/n_replicas - 2/' "$T/last.c" >"$T/new.c"
compile new
mv "$T/new.so" "$T/new/last.so"
run 1 run --from "$T/r.db:1" --plugin "$T/new/last.so"
err 'is not the file that the run had: its hash is'
err 'error: the result hash is'

# A call of a function that does not exist is told as such.
{ router typo last; echo 'ORRERY_PLUGIN(&last.policy)
int job_plan_wake(void);
int typo_of(void);
int typo_of(void) { return job_plan_wake(); }'; } >"$T/typo.c"
compile typo
run 2 run "$T/serve.json" --plugin "$T/typo.so"
err 'undefined symbol: job_plan_wake; neither it nor orrery has a function of this name: is it misspelt?'

# Two at once.
plugin first first-of-all
run 0 list policies --plugin "$T/last.so" --plugin "$T/first.so"
out first-of-all

# One that crashes ends its run alone: it is named, and no run is left open.
sed 's/(void)state, (void)request;/if (request->id == 20) *(volatile int *)0 = 1;\n    (void)state;/' "$T/last.c" >"$T/crash.c"
compile crash
run 4 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/crash.so" -o "$T/crash.db" --timeline "$T/crash.json" --quiet
err_is <<END
$T/crash.so: error: the plug-in crashes: signal 11 (Segmentation fault); 'orrery conform' checks policies one by one
END
[ ! -e "$T/crash.db" ] || complain 'an empty results database was left'
[ -z "$(ls -A "$T" | grep "crash.json")" ] || complain "a timeline was left"
run 4 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/crash.so" -o "$T/r.db" --quiet
sql "$T/r.db" 'select group_concat(id || status) from run' 1done
# One that crashes only in the runs for the intervals leaves the run that has ended.
sed 's/if (request->id == 20) /static int n;\n    if (request->id == 20 \&\& ++n == 2) /' "$T/crash.c" >"$T/late.c"
compile late
run 4 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/late.so" -o "$T/late.db" --quiet
err 'the plug-in crashes: signal'
sql "$T/late.db" 'select id || status from run' 1done
sql "$T/late.db" 'select count(*) from run_interval' 0
run 0 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/late.so" --interval never --quiet
sed 's/\*(volatile int \*)0 = 1/__builtin_trap()/' "$T/crash.c" >"$T/trap.c"
compile trap
run 4 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/trap.so"
err 'the plug-in crashes: signal'
sed 's/\*(volatile int \*)0 = 1/exit(0)/; 1s/^/#include <stdlib.h>\n/' "$T/crash.c" >"$T/exit.c"
compile exit
run 4 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/exit.so"
err "$T/exit.so: error: the plug-in ends the process: status 0"
# A signal that no fault of the plug-in sends ends the program as a shell tells of it: 128 and the signal's number.
sed 's/\*(volatile int \*)0 = 1/raise(SIGKILL)/; 1s/^/#include <signal.h>\n/' "$T/crash.c" >"$T/kill.c"
compile kill
run 137 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/kill.so"

# So does every verb that calls it, or loads it.
routed='{"scenario": "serve.json", "set": {"services.chat.routing": "last"}}'
echo "$routed" >"$T/study.json"
run 4 sweep "$T/study.json" -o "$T/sweep.db" --plugin "$T/crash.so"
err "run 1 (seed 1) failed: $T/crash.so: the plug-in crashes: signal 11 (Segmentation fault)"
sql "$T/sweep.db" 'select group_concat(id || status) from run' 1failed
sed 's/^static const struct router/static int init(void *state, const void *params, struct diag *diag)\n{\n    (void)state, (void)params, (void)diag;\n    __builtin_trap();\n}\n&/; s/\.source = "a test"/&, .init = init/' \
    "$T/last.c" >"$T/init.c"
compile init
for call in "sweep $T/study.json --dry-run" "validate $T/serve.json --set services.chat.routing=last"; do
    run 4 $call --plugin "$T/init.so"
    err "$T/init.so: error: the plug-in crashes: signal "
done
echo '__attribute__((constructor)) static void load(void) { __builtin_trap(); }' >>"$T/init.c"
compile init
run 4 explain links "$T/serve.json" --plugin "$T/last.so" --plugin "$T/init.so"
err "$T/last.so, $T/init.so: error: the plug-in crashes: signal "

# A run with it is interrupted like any other.
serving 100000000 20
"$ORRERY" run "$T/serve.json" --set services.chat.routing=last --plugin "$T/last.so" -o "$T/long.db" --quiet >"$T/out" 2>"$T/err" &
pid=$!
sleep 1
kill -s INT $pid
wait $pid
equal $? 130 'exit status'
sql "$T/long.db" 'select status from run' interrupted
serving 40 10

# What is refused.
refused() { # NAME TEXT
    run 2 list policies --plugin "$T/$1.so"
    err "$T/$1.so: error: $2"
}
run 3 list policies --plugin "$T/nowhere.so"
err "$T/nowhere.so: error: cannot read the file: No such file or directory"
run 2 list policies --plugin /dev/zero
err '/dev/zero: error: a plug-in must be a regular file'
mkfifo "$T/pipe.so"
refused pipe 'a plug-in must be a regular file'
truncate -s 1025M "$T/large.so"
refused large 'a plug-in has at most 1024 MiB, this file 1025'
rm "$T/large.so"
echo 'int nothing; int nothing = 1;' >"$T/empty.c"
compile empty
refused empty "it is no plug-in: it has no 'orrery_policies'; end its source with ORRERY_PLUGIN"
echo 'no object' >"$T/text.so"
refused text 'it cannot be loaded: '
printf 'extern int no_such_function(void);\nint call(void);\nint call(void) { return no_such_function(); }\n' >"$T/unresolved.c"
compile unresolved
refused unresolved 'it cannot be loaded: '
err no_such_function
plugin abi abi 0
abi=$(sed -n 's/.*POLICY_ABI = \([0-9]*\).*/\1/p' sim/world/policy/policy.h)
refused abi "a policy was built for ABI 0, expected $abi; build it anew"
plugin size size POLICY_ABI 'sizeof(struct router) - 8'
refused size 'a routing policy was built for a struct of '
plugin builtin round-robin
refused builtin "there is a built-in routing policy 'round-robin' already"
plugin blank 'a name'
refused blank "policy 'a name' has no proper name"
{ router twice one; router twice two; echo 'ORRERY_PLUGIN(&one.policy, &two.policy)'; } >"$T/twice.c"
compile twice
refused twice "policy 'twice' comes twice"
{ router last last; echo 'ORRERY_PLUGIN(NULL)'; echo 'const struct router *use(void); const struct router *use(void) { return &last; }'; } >"$T/none.c"
compile none
refused none 'it brings no policies'
router incomplete last | sed 's/, .route = route_last//; s/^static int route/__attribute__((unused)) &/' >"$T/incomplete.c"
echo 'ORRERY_PLUGIN(&last.policy)' >>"$T/incomplete.c"
compile incomplete
refused incomplete "policy 'incomplete' lacks the function 'route'"
sed 's/,$/, .params = fields, .params_bytes = 8,/; s/^static int route/static const struct config_field fields[] = {{0}};\n&/' "$T/last.c" >"$T/roomless.c"
sed -i 's/"last"/"roomless"/' "$T/roomless.c"
compile roomless
refused roomless "policy 'roomless' has no init, and no room for its parameters in its state"

# A router of pairs needs no `route`.
cat >"$T/pairs.c" <<'END'
#include "sim/world/policy/routing.h"
static int route_pair(void *state, const struct fleet_view *view, const struct request_view *request, struct route_pair *pair)
{
    (void)state, (void)request;
    *pair = (struct route_pair){.prompt = 0, .decode = view->n_replicas - 1};
    return 0;
}
static const struct router pairs = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router), .family = POLICY_ROUTING,
    .name = "pairs", .summary = "prompts to the first", .source = "a test"}, .route_pair = route_pair};
ORRERY_PLUGIN(&pairs.policy)
END
compile pairs
run 0 run "$T/serve.json" --set services.chat.routing=pairs --plugin "$T/pairs.so" -o "$T/p.db" --quiet
sql "$T/p.db" 'select count(*) from request where status = "unfinished"' 0
cp "$T/last.so" "$T/copy.so"
run 2 list policies --plugin "$T/last.so" --plugin "$T/copy.so"
err "$T/copy.so: error: there is a routing policy 'last' already, from $T/last.so"

# A fault of its own is a policy's fault.
sed 's/n_replicas - 1/n_replicas/' "$T/last.c" >"$T/beyond.c"
compile beyond
run 4 run "$T/serve.json" --set services.chat.routing=last --plugin "$T/beyond.so"
err "'last'"

# It can be set by parameters of its own, with units and ranges.
cp policies/examples/smallest_area.c "$T/"
compile smallest_area
cat >"$T/jobs.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 64},
  "jobs": {"scheduler": {"policy": "smallest-area", "patience": "1h"},
           "trace": {"format": "generate-jobs", "mix": "philly", "count": 300}} }
END
run 0 run "$T/jobs.json" --plugin "$T/smallest_area.so" -o "$T/j.db" --quiet
out 'exact-estimates: all estimates of run times are exact' # it sorts by estimates, and does not say that it ignores them
sql "$T/j.db" "select count(*) from job where end_s not null" 300
sql "$T/j.db" 'select oracle from run' 'exact estimates'
run 0 run "$T/jobs.json" --plugin "$T/smallest_area.so" -o "$T/f.db" --quiet --set seed=2 \
    --set 'failures={"causes": {"job": {"scope": "job", "lifetime": {"mean": "2d"}, "restart": {"law": "constant", "mean": "7s"}}}}'
sql "$T/f.db" "select count(*) from job where end_s not null" 300
sql "$T/f.db" "select sum(restarts) > 0 from job" 1
run 0 explain config "$T/jobs.json" --plugin "$T/smallest_area.so"
out 'jobs.scheduler.patience'
run 2 validate "$T/jobs.json" --plugin "$T/smallest_area.so" --set jobs.scheduler.patience=5
err 'needs a unit'
run 2 validate "$T/jobs.json" --plugin "$T/smallest_area.so" --set jobs.scheduler.patients=1h
err "did you mean 'patience'?"

# An evictor: what it finds on a trace, and that it conforms.
cat >"$T/mru.c" <<'END'
#include "sim/world/policy/eviction.h"
#include "sim/core/config/config_field.h"
struct params { int64_t spare; };
struct state { int64_t spare; };
struct item { int64_t last_use; };
static int init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct state *)state)->spare = ((const struct params *)params)->spare;
    return 0;
}
static int notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    (void)state;
    struct item *slot = cache_view_slot(view, item);
    slot->last_use = event == CACHE_FORGET ? -1 : view->access + 1;
    return 0;
}
/* The most recently used of the first items, but for `spare` accesses. */
static int32_t victim(void *state, const struct cache_view *view)
{
    int32_t best = -1;
    int64_t latest = -1;
    for (int32_t item = 0, seen = 0; seen < view->size; item++) {
        const struct item *slot = cache_view_slot(view, item);
        if (slot->last_use <= 0) continue;
        seen++;
        bool spared = slot->last_use > view->access - ((struct state *)state)->spare;
        if (!cache_view_held(view, item) && (best < 0 || (slot->last_use > latest && !spared))) {
            best = item;
            latest = slot->last_use;
        }
    }
    return best;
}
static const struct config_field fields[] = {
    {.name = "spare", .kind = CONFIG_INT, .offset = offsetof(struct params, spare), .value = "0", .help = "accesses"}, {0}};
static const struct evictor mru = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct evictor), .family = POLICY_EVICTION,
    .name = "mru", .summary = "the last one", .source = "a test", .params = fields, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct state), .init = init}, .item_bytes = sizeof(struct item), .notify = notify, .victim = victim};
ORRERY_PLUGIN(&mru.policy)
END
compile mru
cat >"$T/loop.jsonl" <<'END'
{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [1]}
{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [2]}
{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [3]}
{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [1]}
{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [2]}
END
run 0 trace stat "$T/loop.jsonl" -f mooncake --plugin "$T/mru.so" --prefix-cache mru=2 --prefix-cache lru=2 --json
json '$.prefix_cache[0].block_hits' 1
json '$.prefix_cache[1].block_hits' 0
run 0 trace stat "$T/loop.jsonl" -f mooncake --plugin "$T/mru.so" --prefix-cache mru:spare=1=2 --json
json '$.prefix_cache[0].policy' mru:spare=1
run 2 trace stat "$T/loop.jsonl" -f mooncake --plugin "$T/mru.so" --prefix-cache mru:spar=1=2
err "did you mean 'spare'?"
run 0 conform "$T/mru.so"
out 'conforms in 19 scenarios'
sed 's/!cache_view_held(view, item) && //' "$T/mru.c" >"$T/greedy.c"
compile greedy
run 4 conform "$T/greedy.so" --keep "$T/none"
out "as the victim, which is in use"
[ ! -e "$T/none" ] || complain 'something was kept'
sed 's/.notify = notify, //' "$T/mru.c" >"$T/deaf.c"
sed -i 's/static int notify/int notify(void *, const struct cache_view *, int32_t, enum cache_event);\nint notify/' "$T/deaf.c"
compile deaf
run 2 trace stat "$T/loop.jsonl" -f mooncake --plugin "$T/deaf.so" --prefix-cache mru=2
err "policy 'mru' lacks the function 'notify'"

# Everything that the headers for policies declare is there for a plug-in to call.
if ${CC:-gcc} --version | grep -qi 'free software'; then
    headers=$(env -u MAKEFLAGS -u MFLAGS make -s --no-print-directory print-policy-headers)
    for header in $headers; do echo "#include \"$header\""; done >"$T/all.c"
    ${CC:-gcc} -std=c17 -D_POSIX_C_SOURCE=200809L -I. -aux-info "$T/prototypes" -fsyntax-only "$T/all.c"
    for header in $headers; do grep "^/\* ./$header:" "$T/prototypes"; done | grep -v ' static ' >"$T/declared"
    { cat "$T/all.c"
      echo 'typedef void (*function)(void);'
      echo 'function const all[]; function const all[] = {'
      sed 's/^\/\*[^*]*\*\/ //; s/ (.*//; s/.*[ *]\([a-z0-9_]*\)$/(function)\1,/' "$T/declared" | LC_ALL=C sort -u
      echo '0};'
      router calls last
      echo 'ORRERY_PLUGIN(&last.policy)'; } >"$T/calls.c"
    [ "$(grep -c '^(function)' "$T/calls.c")" -gt 40 ] || complain 'few functions are declared'
    ${CC:-gcc} -std=c17 -w -fPIC -shared -I. -o "$T/calls.so" "$T/calls.c" || complain 'it does not compile'
    run 0 list policies --plugin "$T/calls.so"
    echo 'int use; extern void not_exported(void); void f(void); void f(void) { not_exported(); }' >>"$T/calls.c"
    ${CC:-gcc} -std=c17 -w -fPIC -shared -I. -o "$T/calls.so" "$T/calls.c"
    run 2 list policies --plugin "$T/calls.so"
fi
finish
