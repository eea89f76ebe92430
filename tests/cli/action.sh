#!/bin/sh
# The GitHub action: its steps run as they stand, in a clone, on a repository of a user's own with a policy of its own.
. tests/cli/lib.sh

action=.github/actions/orrery-check/action.yml
program=$(realpath "$ORRERY")
root=$PWD

# The commands of its shell steps, in order.
sed -n 's/^      run: //p' $action >"$T/steps"
last="the steps of $action"
equal "$(wc -l <"$T/steps")" 3 'shell steps'

# The clone: what is committed, or would be.
mkdir -p "$T/clone" "$T/user/gate" "$T/runner"
cp -r .ci .github Makefile models policies sim traces configs analysis "$T/clone/"
cat >"$T/user/last.c" <<'END'
#include "sim/world/policy/routing.h"
static int route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request;
    return view->n_replicas - 1;
}
static const struct router last = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router), .family = POLICY_ROUTING,
    .name = "last", .summary = "the last replica", .source = "a test"}, .route = route};
ORRERY_PLUGIN(&last.policy)
END
serving 30 5
mv "$T/serve.json" "$T/user/gate/"

step() { # STATUS N INPUT=VALUE...: runs the N-th step as GitHub does
    want=$1
    command=$(sed -n "$2p" "$T/steps")
    last="step $2: $command"
    shift 2
    (
        cd "$T/user" || exit 99
        env GITHUB_ACTION_PATH="$T/clone/.github/actions/orrery-check" GITHUB_STEP_SUMMARY="$T/summary.md" \
            RUNNER_TEMP="$T/runner" INPUT_ORRERY= INPUT_PLUGINS= INPUT_OPTIONS= INPUT_JUNIT=orrery-check.xml \
            INPUT_BASELINE=gate/baseline.json "$@" sh -e -c "$command" >"$T/out" 2>"$T/err"
    )
    status=$?
    [ $status = "$want" ] || { complain "exit status $status, expected $want"; head -5 "$T/out" "$T/err"; }
}

# Dependencies and build are those of the clone. (That it builds is known; here it is only asked what it would do.)
step 0 1
step 0 2 MAKEFLAGS=n MODE=release
out 'sim/cli/study/check.c'
step 0 1 INPUT_ORRERY="$program"
step 0 2 INPUT_ORRERY="$program"
out_is </dev/null

# A gate of the user's policy: its baseline, then the check, then one that is not met.
ORRERY_DATA=$T/clone
export ORRERY_DATA
with_policy="services.chat.routing=last"
step 0 3 INPUT_ORRERY="$program" INPUT_PLUGINS=last.c \
    INPUT_OPTIONS="--update gate/serve.json --set $with_policy --seed 4"
step 0 3 INPUT_ORRERY="$program" INPUT_PLUGINS=last.c
out '1 scenario: 1 the same'
holds "$T/summary.md" '### Regression gate: passed'
holds "$T/user/orrery-check.xml" '<testsuites name="orrery check" tests="1" failures="0" errors="0">'
sed -i 's/n_replicas - 1;/n_replicas - 2;/' "$T/user/last.c"
step 1 3 INPUT_ORRERY="$program" INPUT_PLUGINS=last.c
out 'first diverging decision: number 1 (of 83 in the baseline, 83 now)'
out ' last route 0 of chat: to replica 3 of chat: 0 unfinished there, 0 of them waiting'
out ' last route 0 of chat: to replica 2 of chat: 0 unfinished there, 0 of them waiting'
holds "$T/summary.md" '### Regression gate: not met'
holds "$T/user/orrery-check.xml" 'failures="1"'
step 1 3 INPUT_ORRERY="$program" INPUT_PLUGINS="$T/runner/last.so" INPUT_OPTIONS='--only serve*'
step 2 3 INPUT_ORRERY="$program"
unset ORRERY_DATA

# Inputs that the page on the gate shows exist.
page=analysis/gate/README.md
last="the workflow in $page"
n_inputs=0
for input in $(awk '$0 == "```" { inside = 0 } inside { print } $0 == "```yaml" { inside = 1 }' $page |
    awk '/orrery-check@/ { inside = 1 } inside && /^ *with:/ { keys = 1; next } keys && /^ *[a-z]+: / { sub(/:.*/, ""); print $1 }'); do
    n_inputs=$((n_inputs + 1))
    grep -q "^  $input:" "$root/$action" || complain "the action has no input '$input'"
done
[ $n_inputs -gt 0 ] || complain 'it has no inputs'
finish
