#!/bin/sh
# The figure of Sarathi-Serve's ablation as it is shipped: every order holds, no value is judged.
. tests/cli/lib.sh
optimised

run 0 figure run sarathi/ablation -o "$T" --json
verdicts() {
    sqlite3 :memory: "select count(*) from json_each(readfile('$T/out')) where json_extract(value, '\$.verdict') like '$1%'"
}
equal "$(verdicts pass)" 12 'orders that hold'
equal "$(verdicts reported)" 12 'values that are shown'
equal "$(verdicts '')" 24 'claims'

# The page counts what lies outside a tolerance, here and in all.
page=configs/figures/README.md
outside=$(verdicts 'reported, outside')
tr '\n' ' ' <$page >"$T/page"
grep -qF "tolerance: $outside of \`sarathi/ablation\`, " "$T/page" || complain "not $outside of sarathi/ablation on the page"
sum=$(awk '{ sub(/.*tolerance: /, ""); sub(/ have 1 each\..*/, ""); n = split($0, part, /, and |, | and |\. /)
    for (i = 1; i <= n; i++) sum += part[i] ~ /^[0-9]+ of/ ? part[i] + 0 : 1
    print sum }' "$T/page")
grep -qF "reported claims, $sum lie outside a stated tolerance" "$T/page" || complain "the page does not add up to $sum"
finish
