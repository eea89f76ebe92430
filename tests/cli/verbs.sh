#!/bin/sh
# Help, version, listings, and what is said to wrong usage.
. tests/cli/lib.sh

run 2
err 'usage: orrery VERB'

# Completion knows every choice of an option.
run 0 help --bash
out "run:--keep) words='scenario metrics curves rows decisions' ;;"
out "run:--queue) words='calendar heap' ;;"

for word in --help -h help; do
    run 0 $word
    out 'usage: orrery VERB'
    for verb in run compare figure report why export validate explain list trace profile calibrate; do out "  $verb "; done
done
run 0 --version
grep -qE '^orrery [0-9]+\.[0-9]+\.[0-9]+ \([0-9a-f]{12}(-dirty)?\)$|\(unknown\)$' "$T/out" || complain 'version'
for verb in run compare figure report why export validate explain list trace profile calibrate; do
    run 0 $verb --help
    out "usage: orrery $verb"
    [ ! -s "$T/err" ] || complain 'help on standard error'
    awk 'length > 120 { exit 1 }' "$T/out" || complain 'a line of over 120 columns'
done

run 2 rnu
err_is <<'END'
error: unknown verb 'rnu'; did you mean 'run'?
END
run 2 run --sede 3 quickstart --unheard-of
err_is <<'END'
error: unknown option '--sede'; did you mean '--seed'?
error: unknown option '--unheard-of'; '--help' lists the options
END
run 2 run -x quickstart
err_is <<'END'
error: unknown option '-x'; '--help' lists the options
END
run 2 run quickstart --seed
err_is <<'END'
error: option '--seed' needs N
END
run 2 run quickstart --json=yes
err_is <<'END'
error: option '--json' takes no value
END
run 2 run quickstart --queue list
err_is <<'END'
error: option '--queue' does not take 'list'; it is one of calendar, heap
END
run 2 run
err_is <<'END'
error: there is no scenario to run; usage: orrery run SCENARIO, or --from DB:RUN
END
run 2 run quickstart philly-cluster
err_is <<'END'
error: unexpected argument 'philly-cluster'; usage: orrery run SCENARIO [-o results.db] [options]
END
run 2 run quickstart --resume
err_is <<'END'
error: '--resume' has nothing to resume; name the results database with -o
END
run 2 run quickstart --from results.db:1
err_is <<'END'
error: '--from' repeats a run exactly as it was; leave out SCENARIO, --set, --seed, --name, --keep and --data
END
run 2 run quikstart
err_is <<'END'
error: no scenario 'quikstart'; did you mean 'quickstart'?
END
run 2 validate
err_is <<'END'
error: 'orrery validate' needs an argument; usage: orrery validate SCENARIO [--set KEY=VALUE]...
END
run 2 list polices
err_is <<'END'
error: unknown listing 'polices'; did you mean 'policies'?
END
run 2 explain costs quickstart
err_is <<'END'
error: unknown topic 'costs'; did you mean 'cost'?
END
run 2 explain config
err_is <<'END'
error: there is no scenario to explain; name a file, or one of 'orrery list scenarios', such as: orrery explain config quickstart
END

run 0 list gpus
out 'a100-80-sxm'
run 0 list llms
grep -qE '^mistral-7b .* mistralai/Mistral-7B-v0.1 ' "$T/out" || complain 'an LLM with its ids on the hub'
run 0 explain cost quickstart --set services.chat.llm=meta-llama/Llama-3.1-8B-Instruct
out 'chat: llama-3.1-8b on '
run 0 list policies
grep -qE '^batching +vllm-v0 ' "$T/out" || complain 'a policy'
run 0 list engines --json
median=$(json_of configs/engines/sglang-0.5.json '$.held_out.all.median')
equal "$(sqlite3 :memory: "select value ->> '$."error_%"' from json_each(readfile('$T/out'))
    where value ->> '$.engine' = 'sglang-0.5'")" "$(sqlite3 :memory: "select 100 * $median")" 'error of an engine'
equal "$(sqlite3 :memory: "select value ->> '$.iteration_ms_1_gpu', value ->> '$.sequence_us' from
    json_each(readfile('$T/out')) where value ->> '$.engine' = 'none'")" '0|0' 'what an engine without overhead takes'
run 0 list formats
grep -qE '^azure-llm +requests ' "$T/out" || complain 'a format'
run 0 list metrics
grep -qE '^request.ttft_s.p99 +s +lower ' "$T/out" || complain 'a metric'
run 0 list scenarios
grep -qE '^quickstart +[A-Z]' "$T/out" || complain 'a scenario'
for listing in gpus llms policies formats metrics scenarios; do
    run 0 list $listing
    rows=$(($(wc -l <"$T/out") - 1))
    grep -qE ' $' "$T/out" && complain 'blanks at the end of a line'
    run 0 list $listing --json
    valid_json
    equal "$(sqlite3 :memory: "select json_array_length(readfile('$T/out'))")" $rows 'rows of the JSON'
done

# Without the folder of its data, every verb that needs it says where to look for it.
ORRERY_DATA=$T/nowhere
export ORRERY_DATA
while read -r status call; do
    run "$status" $call
    err "; set ORRERY_DATA to the directory that holds 'configs'"
done <<'END'
2 run quickstart
2 sweep routing
3 conform easy
3 figure run vllm/serving
3 list gpus
3 list scenarios
3 size llama-3.1-8b --rate 1/s --slo ttft.p99=1s
END
unset ORRERY_DATA
run 2 sweep routin
err "no study 'routin'; did you mean 'routing'?"

# What cannot be written is an error.
if [ -w /dev/full ]; then
    "$ORRERY" list metrics >/dev/full 2>"$T/err"
    equal $? 3 'exit status'
    err_is <<'END'
error: cannot write the result to standard output
END
fi
finish
