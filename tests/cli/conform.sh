#!/bin/sh
# The conformance suite as a verb: what it prints, what it keeps, and that no policy can take it down.
. tests/cli/lib.sh

run 0 conform round-robin
out 'routing round-robin'
rows=$(grep -c ' ok ' "$T/out")
[ "$rows" -ge 18 ] || complain 'scenarios are missing'
out "conforms in $rows scenarios"
optimised # the suite conformance runs listed policies under sanitizers
run 0 conform least-outstanding --json
json '$[0].conforms' 1
json '$[0].scenarios[0].ends' 1
equal "$(sqlite3 :memory: "select json_array_length(readfile('$T/out'), '$[0].scenarios') = $rows")" 1 'as many scenarios as in the text'
equal "$(sqlite3 :memory: "select json_type(readfile('$T/out'), '$[0].scenarios[0].stable')")" null 'what is not checked'
sanitized
run 2 conform round-robbin
err "error: no policy 'round-robbin'; did you mean 'round-robin'?"
run 2 conform vllm-v0 --set max_sequence=4
err "did you mean 'max_sequences'?"
optimised
run 0 conform vllm-v0 --set max_sequences=4
sanitized
run 3 conform "$T/nowhere.so"

# Routers with a fault each: BODY of the function that routes.
router() { # NAME BODY
    cat >"$T/$1.c" <<END
#include "sim/world/policy/routing.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request, (void)view;
    $2
}
static const struct router router = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router),
    .family = POLICY_ROUTING, .name = "$1", .summary = "$1"}, .route = route};
ORRERY_PLUGIN(&router.policy)
END
    last="cc $1.c"
    ${CC:-cc} -std=gnu17 -fPIC -shared -I. -o "$T/$1.so" "$T/$1.c" || complain 'it does not compile'
}
router first 'return 0;'
run 0 conform "$T/first.so"
out "routing first, $T/first.so"
optimised
run 0 conform first --plugin "$T/first.so"
sanitized

router crashes 'return *(volatile int *)8;'
run 4 conform "$T/crashes.so"
out 'it crashes: signal 11'
err 'error: the policy is at fault'
router quits '__builtin_trap();'
run 4 conform "$T/quits.so"
out 'it crashes: signal '

# So does one whose constructor or destructor ends the process.
for body in '_exit(0);' '__builtin_trap();' 'exit(3);'; do
    for when in constructor destructor; do
        { cat "$T/first.c"; echo "__attribute__(($when)) static void at_$when(void) { $body }"; } >"$T/$when.c"
        ${CC:-cc} -std=gnu17 -fPIC -shared -I. -o "$T/$when.so" "$T/$when.c" || complain 'it does not compile'
        run 4 conform "$T/$when.so"
        err "$T/$when.so: error: the plug-in "
        ! grep -q conform "$T/err" || complain 'it names itself as a remedy'
    done
done
run 2 conform "$T/first.so" --plugin "$T/crashes.so"
err "error: 'orrery conform' takes one plug-in at a time; name a policy, or leave out --plugin"

router beyond 'return view->n_replicas;'
run 4 conform "$T/beyond.so"
out "one request, with vllm-v0, last called at 0 s: "

# A router that is not the same twice: what failed is kept, and repeats.
router forgetful 'static unsigned n; return (int)(n++ % (unsigned)view->n_replicas);'
run 1 conform "$T/forgetful.so" --keep "$T/kept"
out 'FAILED'
out "orrery run $T/kept/routing-forgetful-all-at-once.json --check event --plugin $T/forgetful.so"
err 'error: the policy does not conform'
run 0 run "$T/kept/routing-forgetful-all-at-once.json" --check event --plugin "$T/forgetful.so" --quiet
[ ! -e "$T/kept/routing-forgetful-one-request.json" ] || complain 'what passed was kept, too'
run 1 conform "$T/forgetful.so" --json
out '"is_last_call": false'
! grep -q '"is_last_call": true' "$T/out" || complain 'the time of a finding is named one of a call'

# One that blocks is stopped by the clock, and no further scenario is waited for; one that leaves another process is
# found.
router blocks 'struct timespec day = {86400, 0}; for (;;) nanosleep(&day, NULL);'
started=$(date +%s)
run 4 conform "$T/blocks.so" --limit 1
[ $(($(date +%s) - started)) -le 30 ] || complain 'it took long to stop it'
out 'it does not end: stopped after 1 s'
out 'does not conform in 1 of '
out ' were not run after that'
run 4 conform "$T/blocks.so" --limit 1 --json
valid_json
json '$[0].conforms' 0
run 2 conform "$T/blocks.so" --limit 0
err "expected 1 to 86400 seconds, got '0'"
router spins 'for (volatile int i = 0;; i++) (void)i;'
run 4 conform "$T/spins.so" --limit 1
out 'it does not end: stopped after 1 s'
# One that hangs or crashes later: where, when, after how much, what waits, and what it returned before.
like() { grep -Eq "$1" "$T/out" || complain "nothing in its output is like: $1"; }
router tires 'if (view->now_ns > 77000000) for (;;) sleep(9); return 0;'
run 4 conform "$T/tires.so" --limit 1
like 'with vllm-v0, last called at 0[.][0-9]+ s: it does not end: stopped after 1 s; it is inside call [0-9]+, of .route. at 0[.][0-9]+ s; after at least [0-9]+ events; [0-9]+ wait, [0-9]+ run; call [0-9]+, of .route. at 0[.][0-9]+ s, returned 0$'
run 4 conform "$T/tires.so" --limit 1 --json
like '"t_s": 0[.][0-9]+'
like '"is_last_call": true'
like '"failure": "it does not end: stopped after 1 s; it is inside call [0-9]'
router later 'return view->now_ns > 77000000 ? *(volatile int *)8 : 0;'
run 4 conform "$T/later.so"
like 'it crashes: signal 11 .*; it is inside call [0-9]+, of .route. at 0[.]'
run 4 conform "$T/beyond.so"
like 'its last call was 1, of .route. at [0-9.]+ s, which returned [0-9]'
# A scheduler that wakes each second and hangs at 13 s: both calls that are told are those of its own log.
cat >"$T/wakes.c" <<END
#include "sim/world/policy/scheduler.h"
#include <stdio.h>
#include <unistd.h>
struct state {
    const struct job_view *waiting[1000];
    int n, calls;
};
static void note(struct state *state, const char *function, const struct cluster_view *view)
{
    FILE *log = fopen("$T/wakes.log", "a");
    fprintf(log, "%d, of '%s' at %.9g s\n", ++state->calls, function, (double)view->now_ns / 1e9);
    fclose(log);
}
static void notify(void *state, const struct cluster_view *view, const struct job_note *job)
{
    struct state *own = state;
    note(own, "notify", view);
    if (job->event == JOB_EVENT_SUBMIT) own->waiting[own->n++] = job->job;
    if (job->event == JOB_EVENT_START) own->n--;
}
static int decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct state *own = state;
    note(own, "decide", view);
    if (view->now_ns >= 13 * SIM_NS_PER_S)
        for (;;) sleep(9);
    while (own->n > 0 && job_plan_start(plan, own->waiting[own->n - 1], "the latest")) {
    }
    job_plan_wake_at(plan, view->now_ns + SIM_NS_PER_S);
    return 0;
}
static const struct scheduler wakes = {.policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "wakes",
    .summary = "wakes", .state_bytes = sizeof(struct state)}, .notify = notify, .decide = decide};
ORRERY_PLUGIN(&wakes.policy)
END
${CC:-cc} -std=gnu17 -fPIC -shared -I. -o "$T/wakes.so" "$T/wakes.c" || complain 'wakes.c does not compile'
run 4 conform "$T/wakes.so" --limit 1
out "it is inside call $(tail -n 1 "$T/wakes.log");"
out "; call $(tail -n 2 "$T/wakes.log" | head -n 1)"
like 'last called at ([0-9.]+) s: .* inside call [0-9]+, of .decide. at \1 s'

# A router that hangs once another run has begun and ended inside its own: the call told is one of the outer run.
cat >"$T/outer.c" <<END
#include "sim/world/policy/routing.h"
#include <stdio.h>
#include <unistd.h>
struct state {
    int run, calls;
};
static int runs;
static int init(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    ((struct state *)state)->run = ++runs;
    return 0;
}
static int route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    struct state *own = state;
    (void)view, (void)request;
    own->calls++;
    if (own->run == runs) return 0;
    FILE *log = fopen("$T/outer.log", "w");
    fprintf(log, "%d", own->calls);
    fclose(log);
    for (;;) sleep(9);
}
static const struct router router = {.policy = {POLICY_HEAD(router, POLICY_ROUTING), .name = "outer",
    .summary = "outer", .state_bytes = sizeof(struct state), .init = init}, .route = route};
ORRERY_PLUGIN(&router.policy)
END
${CC:-cc} -std=gnu17 -fPIC -shared -I. -o "$T/outer.so" "$T/outer.c" || complain 'outer.c does not compile'
run 4 conform "$T/outer.so" --limit 1
out "stopped after 1 s, in the run for 'state'; it is inside call $(cat "$T/outer.log"), of 'route'"
router forks 'static int once; if (!once++) fork(); return 0;'
run 4 conform "$T/forks.so" --limit 20
out 'it leaves another process behind'

# A policy finds its own state in every function of its family, and each of them is called.
sed "s,CALLED,$T/called," tests/cli/own_state.c >"$T/own.c"
mkdir "$T/called"
${CC:-cc} -std=c17 -Wall -Wextra -Werror -fPIC -shared -I. -o "$T/own.so" "$T/own.c" || complain 'own_state.c does not compile'
optimised
run 0 conform "$T/own.so" --limit 600
for function in notify decide prepare wants_sizes finish compose pass place reads route_pair fini; do
    [ -e "$T/called/$function" ] || complain "'$function' was not called"
done
run 0 conform distserve --limit 600
sanitized

# A law that is broken ends the child, not the suite.
router breaks '((struct replica_load *)view->loads)[0].outstanding += 1000; return 0;'
run 4 conform "$T/breaks.so"
finish
