#!/bin/sh
# The conformance suite as a verb: what it prints, what it keeps, and that no policy can take it down.
. tests/cli/lib.sh

run 0 conform round-robin
out 'routing round-robin'
out 'conforms in 16 scenarios'
[ "$(grep -c ' ok ' "$T/out")" = 16 ] || complain 'a row per scenario'
run 0 conform least-outstanding --json
json '$[0].conforms' 1
json '$[0].scenarios[0].ends' 1
json '$[0].scenarios[0].stable' ''
run 2 conform round-robbin
err "error: no policy 'round-robbin'; did you mean 'round-robin'?"
run 2 conform vllm-v0 --set max_sequence=4
err "did you mean 'max_sequences'?"
run 0 conform vllm-v0 --set max_sequences=4
run 3 conform "$T/nowhere.so"

# Routers with a fault each: BODY of the function that routes.
router() { # NAME BODY
    cat >"$T/$1.c" <<END
#include "sim/world/policy.h"
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
    ${CC:-cc} -std=c17 -fPIC -shared -I. -o "$T/$1.so" "$T/$1.c" || complain 'it does not compile'
}
router first 'return 0;'
run 0 conform "$T/first.so"
out "routing first, $T/first.so"
run 0 conform first --plugin "$T/first.so"

router crashes 'return *(volatile int *)8;'
run 4 conform "$T/crashes.so"
out 'it crashes: signal 11'
err 'error: the policy is at fault'
router quits '__builtin_trap();'
run 4 conform "$T/quits.so"
out 'it crashes: signal '
router beyond 'return view->n_replicas;'
run 4 conform "$T/beyond.so"
out "one request, with vllm-v0: "

# A router that is not the same twice: what failed is kept, and repeats.
router forgetful 'static unsigned n; return (int)(n++ % (unsigned)view->n_replicas);'
run 1 conform "$T/forgetful.so" --keep "$T/kept"
out 'FAILED'
out "orrery run $T/kept/routing-forgetful-all-at-once.json --check event --plugin $T/forgetful.so"
err 'error: the policy does not conform'
run 0 run "$T/kept/routing-forgetful-all-at-once.json" --check event --plugin "$T/forgetful.so" --quiet
[ ! -e "$T/kept/routing-forgetful-one-request.json" ] || complain 'what passed was kept, too'

# A law that is broken ends the child, not the suite.
router breaks '((struct replica_load *)view->loads)[0].outstanding += 1000; return 0;'
run 4 conform "$T/breaks.so"
finish
