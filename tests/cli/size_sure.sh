#!/bin/sh
# orrery size: no fleet without a known error is sure, and no fleet whose requests never end is recommended.
. tests/cli/lib.sh

experts() { # TPOT OPTIONS...: no measured run has attention in groups, so the error of those fleets is not known
    tpot=$1
    shift
    run 0 size qwen3-30b-a3b -g h200-sxm --max-gpus 8 --rate 12/s --requests 150 --prompt 1500 --output-tokens 100 \
        --slo ttft.p99=2s --slo tpot.p99="$tpot" --set services.llm.cost.engine=sglang-0.5 -q "$@"
}
second() { sed -n 2p "$T/out"; }
third() { sed -n 3p "$T/out"; }

# The best as predicted has a known error; some fleets of groups keep the limits as predicted, and none is sure.
experts 6ms
out ', as predicted; if the model errs to its slow side, it misses tpot p99'
equal "$(third)" '  to be sure: no fleet of at most 8 GPUs is known to keep the limits at both ends of the interval' 'the fleet to be sure'
optimised
experts 6ms --json
valid_json
json '$.sure' '{}'

# The best as predicted is one of groups: the fleet to be sure is another, whose slow end differs from its prediction.
experts 8ms --json
valid_json
sql :memory: "select value ->> '\$.cheapest.dp' > 1,
    json_type(value, '\$.cheapest.objectives[1].slow_s'), value ->> '\$.sure.dp',
    value ->> '\$.sure.objectives[1].slow_s' > value ->> '\$.sure.objectives[1].predicted_s',
    value ->> '\$.sure.objectives[1].slow_s' <= 0.008 from (select readfile('$T/out') as value)" '1|null|1|1|1'
sql :memory: "select count(*) > 0 from json_each(readfile('$T/out'), '\$.best') where value ->> 'dp' > 1 and value ->> 'slow_end' is null
    and json_type(value, '\$.tpot_p99_slow_s') is 'null'" 1
sure=$(json_of "$T/out" '$.sure.fleet')
experts 8ms
case $(second) in *', as predicted; the error of its times is not known') ;; *) complain 'the first line is silent on the error' ;; esac
case $(third) in "  to be sure: $sure, "*) ;; *) complain 'the line names another fleet than the field' ;; esac

# Asked for fleets that are sure, the search answers with that one, and has none of groups.
experts 8ms --sure --json
json '$.cheapest.fleet' "$sure"
sql :memory: "select count(*) filter (where value ->> 'dp' > 1), count(*) filter (where value ->> 'slow_end' is not 'kept')
    from json_each(readfile('$T/out'), '\$.best')" '0|0'
sql :memory: "select $(json_of "$T/out" '$.uncertain') > 0" 1

# Where no error is known at all, no fleet is sure, and nothing more is said without --sure.
of_roofline() {
    run 0 size llama-3.1-8b --rate 12/s --requests 100 --max-gpus 2 --gpu h100-sxm -q --slo ttft.p99=0.5s \
        --set services.llm.cost.kind=roofline "$@"
}
of_roofline
! grep -q 'to be sure' "$T/out" || complain 'a fleet to be sure without any known error'
of_roofline --sure
grep -qE '^no configuration of at most 2 GPUs meets this; [0-9]+ cannot be sure, as the error of their times is not known$' "$T/out" ||
    complain 'no word on the unknown error'
finish
