#!/bin/sh
# Plans of RLHF beside the chart of ReaLHF: gains over one split by Megatron's rule, as its page reports
# them. The chart is no target: its workload is known in part.
. tests/cli/lib.sh
optimised

rows=configs/figures/rl/realhf.csv
sed 1d $rows | while IFS=, read -r scaled outputs gpus prompts actor critic heuristic real; do
    "$ORRERY" plan configs/figures/rl/ppo-7b.rlhf.json --json --set search.visits=0 --set "gpus=$gpus" \
        --set "prompts=$prompts" --set "output_tokens=$outputs" --set "actor.llm=$actor" --set "critic.llm=$critic" \
        >"$T/plan.json" || echo "$scaled $outputs $gpus" >>"$T/failed"
    sqlite3 -separator , :memory: "select '$scaled', $outputs, $gpus, $real / $heuristic,
        json_extract(readfile('$T/plan.json'), '\$.symmetric[0].over_best')"
done >"$T/gains.csv"
equal "$(cat "$T/failed" 2>/dev/null)" '' 'all cases have a plan'
equal "$(wc -l <"$T/gains.csv")" 36 'cases'
gains() { # EXPRESSION, CONDITION
    sqlite3 :memory: 'create table g(scaled, outputs integer, gpus integer, chart real, ours real)' '.mode csv' \
        ".import $T/gains.csv g" '.mode list' "select $1 from g where $2"
}
page() { # LINE
    grep -qF -e "$1" sim/cli/plan/README.md || complain "sim/cli/plan/README.md lacks: $1"
}
means="printf('%.2f | %.2f', avg(chart), avg(ours))"
page "| all 36 pairs, mean | $(gains "$means" 1) |"
for outputs in 128 384 896; do page "| outputs of $outputs tokens | $(gains "$means" "outputs = $outputs") |"; done
for gpus in 16 32 64 128; do page "| $gpus GPUs | $(gains "$means" "gpus = $gpus") |"; done
page "$(gains "printf('%.0f to +%.0f %%', 100 * min(ours / chart - 1), 100 * max(ours / chart - 1))" 1)"
page "$(gains "printf('%.0f %% in the median', 100 * abs(ours / chart - 1))" \
    '1 order by abs(ours / chart - 1) limit 1 offset 17')"
finish
