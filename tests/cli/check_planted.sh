#!/bin/sh
# The gate catches what it is there for: a batcher whose token budget is one token smaller, compiled into the program
# and in a user's own policy, is named as the one whose decision was the first to be another.
. tests/cli/lib.sh

plant() { # FROM TO: a line of the batcher, changed on its way from standard input
    sed "s/$1/$2/"
}
budget='int64_t budget = token_budget(params, view),'

# --- Compiled into the program ---
: "${BUILD:=build/release}"
grep -qF "$budget" policies/batching/vllm_v0.c || complain 'the place to plant the change in is gone'
plant "$budget" 'int64_t budget = token_budget(params, view) - 1,' <policies/batching/vllm_v0.c >"$T/planted.c"
flags=$(cat "$BUILD/flags")
libraries=$(make -s print-libraries)
last='the planted build'
$flags -c -o "$T/planted.o" "$T/planted.c" || complain 'it does not compile'
$flags -Wl,--dynamic-list="$BUILD/exports" -o "$T/orrery" $(find sim/cli -name "*.c" | sed "s|.*|$BUILD/&|; s|c\$|o|") "$T/planted.o" "$BUILD/liborrery.a" $libraries ||
    complain 'it does not link'

baseline=configs/regression/baseline.json
sound=$ORRERY
ORRERY=$T/orrery ORRERY_DATA=$PWD
export ORRERY_DATA
run 1 check --baseline $baseline --junit "$T/planted.xml" --markdown "$T/planted.md"
out 'chat, prompts that fill their budget to the last token: moved beyond tolerance: '
# The fourth prompt of 512 tokens no longer fits into 2048 - 1: it has to wait for the next iteration.
out 'first diverging decision: number 86 (of 240 in the baseline, 240 now)'
out '    both      0.039026322 s: vllm-v0 admit 6 of chat: replica 0 of chat: prefills 512 of 512 tokens, '
out '    baseline  0.039026322 s: vllm-v0 admit 8 of chat: replica 0 of chat: prefills 512 of 512 tokens, '
out '    now       0.039026323 s: vllm-v0 admit 3 of chat: replica 1 of chat: prefills 512 of 512 tokens, '
err 'the gate is not met: 40 scenarios: '
holds "$T/planted.xml" '<failure type="moved" message="chat, prompts that fill their budget to the last token: moved'
holds "$T/planted.md" '### Regression gate: not met'
ORRERY=$sound
run 0 check --baseline $baseline
unset ORRERY_DATA

# --- In a policy of a user's own ---
plugin() { # FILE: the batcher on standard input as a plug-in, with what its family shares
    sed -e 's/"vllm-v0"/"mine"/' -e 's/^const struct batcher batching_vllm_v0/static const struct batcher mine/' \
        -e '/policies\/declared.h/d' >"$T/mine.c"
    echo 'ORRERY_PLUGIN(&mine.policy)' >>"$T/mine.c"
    last="cc $1"
    ${CC:-cc} -std=c17 -Wall -Wextra -fPIC -shared -O2 -ffp-contract=off -I. -o "$1" "$T/mine.c" \
        policies/batching/making_room.c ||
        complain 'it does not compile'
}
plugin "$T/mine.so" <policies/batching/vllm_v0.c
cp configs/regression/chat.json "$T/chat.json"
serve() { # STATUS ARGUMENTS: the gate of the policy
    status_wanted=$1
    shift
    run "$status_wanted" check --baseline "$T/mine.json" "$@"
}
serve 0 "$T/chat.json" --plugin "$T/mine.so" --update --set services.chat.batching.policy=mine \
    --set services.chat.batching.max_batched_tokens=2048 --set services.chat.trace.arrival.rate=1000000/s \
    --set services.chat.trace.mix=null --set 'services.chat.trace.prompt={"distribution": "fixed", "tokens": 512}'
serve 0 --plugin "$T/mine.so"
serve 2
out "unknown batching policy 'mine'"
out "the baseline had the plug-in 'mine.so': load it with --plugin"
plant "$budget" 'int64_t budget = token_budget(params, view) - 1,' <policies/batching/vllm_v0.c | plugin "$T/mine.so"
serve 1 --plugin "$T/mine.so"
out 'its input files differ from the baseline: plugin.mine.so'
out 'first diverging decision: '
grep -q '^    baseline .* mine admit ' "$T/out" || complain 'the decision of the policy is not named'
serve 1 --plugin "$T/mine.so" --json
json '$.scenarios[0].files_changed[0]' plugin.mine.so
json '$.scenarios[0].inputs_moved' 1

# One that cannot even be loaded any more.
echo 'int nothing;' >"$T/mine.c"
${CC:-cc} -fPIC -shared -o "$T/mine.so" "$T/mine.c"
serve 2 --plugin "$T/mine.so"
finish
