#!/bin/sh
# The figures of training steps: their claims hold as their files say. SimuMax's needs measurements that are not part of
# Orrery; without them `figure all` would leave it out.
. tests/cli/lib.sh

run 0 figure run training/megatron -q -o "$T/figures"
out '12 claims: 6 pass, 6 known to fail'
run 0 figure run training/amsp -q -o "$T/figures"
out '7 claims: 1 pass, 6 known to fail'
run 0 figure run training/offload -q -o "$T/figures"
out '8 claims: 1 pass, 7 known to fail'
run 0 figure run training/tiers -q -o "$T/figures"
out '8 claims: 4 pass, 4 known to fail'
sql "$T/figures/training/amsp.db" "select count(*) from plan where problem is not null" 0

# Shipped constants are those that the fits find.
constant() { # FIGURE GPU CONSTANT SHIPPED
    equal "$(sqlite3 "$T/figures/training/$1.db" "select abs(value / $4 - 1) < 0.002 from fit
        where gpu = '$2' and constant = '$3' and left_out is null")" 1 "$1: $3 of $2"
}
constant megatron a100-80-sxm sustained_compute 0.9861
constant amsp a800-80-sxm sustained_compute 1.0495
constant amsp a800-80-sxm overlap 0.440
constant offload h100-sxm step 0.688
constant tiers dgx2-v100.gpu sustained_compute 0.7012

if [ -f ../shared/data/job_traces/simumax_training_step_time_and_memory_b200_a100.csv ]; then
    run 0 figure run training/simumax -q -o "$T/figures"
    out '6 claims: 5 pass, 1 known to fail'
    constant simumax b200-sxm sustained_compute 0.6669
    constant simumax b200-sxm step 0.0198
    constant simumax a100-80-pcie bridge_share 0.843
else
    run 3 figure run training/simumax -q -o "$T/figures"
    err 'simumax_training_step_time_and_memory_b200_a100.csv'
fi
finish
