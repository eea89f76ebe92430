#!/bin/sh
# The figures of offloading systems: what each claim comes to, and none that fails unexpectedly.
. tests/cli/lib.sh
optimised

verdicts() { # FIGURE, then what is expected of its claims: verdicts with their number
    run 0 figure run "$1" -o "$T/figures" --json -q
    equal "$(sqlite3 :memory: "select group_concat(n, ', ') from (
        select json_extract(value, '\$.verdict') || ' ' || count(*) as n from json_each(readfile('$T/out'))
        group by json_extract(value, '\$.verdict') order by 1)")" "$2" "the verdicts of $1"
}
claim() { # the start of a claim of the last figure, the least and the most that ours may be
    equal "$(sqlite3 :memory: "select count(*) from json_each(readfile('$T/out'))
        where json_extract(value, '\$.claim') like '$1%' and cast(json_extract(value, '\$.ours') as real) between $2 and $3")" 1 \
        "the claim '$1'"
}

verdicts flexgen/throughput 'known to fail 1, pass 10'
claim 'OPT-30B after 512 tokens of prompt' 7.13 7.14
claim 'OPT-30B after 1024' 3.62 3.63
claim 'OPT-175B after 512' 0.52 0.53
verdicts select-n/intervals 'pass 8, reported 1, reported, within 30 % 1'
claim 'SN-7: interval for prompts' 3 3
claim 'SN-7: interval for tokens' 6 10
verdicts instinfer/throughput 'known to fail 14, pass 12, reported 4'
claim 'IA-5' 6.84 6.86
claim 'IA-8: InstA' 1.03 1.05
claim 'IA-9: SparF over' 0.077 0.078
claim 'IA-10: FlexGen_s largest' 64 64
claim 'IA-10: FlexGen_s least' 128 128

# The what-if of drives that attend: the pace goes from flash to the drive's arithmetic, to its link, and to the GPU's
# port.
verdicts csd-whatif/bottleneck 'pass 10'
claim 'the link overtakes the arithmetic' 5.00 5.01
claim 'below a port of 1 GB/s the link overtakes' 0.219 0.22
run 0 run configs/scenarios/csd-whatif.json --json -q
json '$.metrics."bottleneck.device_frac"' 0
run 0 run configs/scenarios/csd-whatif.json --json -q --set services.answers.kv.tiers.csd.channels=32
json '$.metrics."bottleneck.flash_frac"' 0
finish
