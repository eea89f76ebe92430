#!/bin/sh
# The figure of DeepEP's bandwidths: its verdicts, the numbers of its page, and rows of one's own.
. tests/cli/lib.sh

run 0 figure run deepep/bandwidths -o "$T" -q
out '40 claims: 26 pass, 14 known to fail; tolerances committed before the first run'
db=$T/deepep/bandwidths.db
sql "$db" 'select count(*) from exchange' 40

# Claims are about the published numbers of the rows.
run 0 figure run deepep/bandwidths -o "$T" -q --json
equal "$(sqlite3 "$db" 'select round(published_gb_per_s), round(predicted_gb_per_s, 6) from exchange order by law, rowid')" \
    "$(sqlite3 :memory: "select round(json_extract(value, '\$.paper_value')), round(json_extract(value, '\$.ours_value'), 6)
        from json_each(readfile('$T/out'))")" 'published and predicted numbers of the claims'

# The table of the page, from the stored rows.
page=configs/figures/deepep/README.md
equal "$(sqlite3 "$db" "select printf('| %d of %d | %+.1f %% |', sum(abs(error) <= 0.15), count(*),
        100 * iif(max(error) > -min(error), max(error), min(error)))
    from exchange group by law, version, kernels = 'low-latency' order by law, version, kernels = 'low-latency'")" \
    "$(sed -n '/^| numbers/,/^$/p' $page | sed '1,2d;/^$/d' | awk -F'|' '{ print "|" $4 "|" $5 "|" }')" 'table of the page'

# The published numbers are no part of a prediction: other ones change the errors alone.
mkdir "$T/own"
cp configs/figures/deepep/*.json configs/figures/deepep/*.sql "$T/own"
sed -i 's/"dispatch": "43GB\/s"/"dispatch": "53GB\/s"/' "$T/own/deepep.exchanges.json"
run 0 figure run "$T/own/bandwidths.json" -o "$T/again" -q
sql "$T/again/own/bandwidths.db" "select count(*) from exchange where published_gb_per_s = 53 and op = 'dispatch'" 2
equal "$(sqlite3 "$T/again/own/bandwidths.db" 'select predicted_gb_per_s from exchange')" \
    "$(sqlite3 "$db" 'select predicted_gb_per_s from exchange')" 'predictions'

# Results of the same file are there already; a narrower network is slower, and never beside NVLink alone.
run 0 figure run "$T/own/bandwidths.json" -o "$T/again" -q --resume
sed -i 's/"network": "50GB/"network": "25GB/' "$T/own/deepep.exchanges.json"
run 1 figure run "$T/own/bandwidths.json" -o "$T/slow" -q --resume
equal "$(sqlite3 "$T/slow/own/bandwidths.db" "attach '$db' as fast; select sum(s.predicted_gb_per_s > f.predicted_gb_per_s),
        sum(s.nodes = 1 and s.predicted_gb_per_s <> f.predicted_gb_per_s),
        sum(s.nodes > 2 and s.predicted_gb_per_s >= f.predicted_gb_per_s)
    from exchange as s join fast.exchange as f on s.rowid = f.rowid")" '0|0|0' 'slower networks'

run 2 figure run deepep/bandwidths -o "$T/set" --set until=1h
err 'has no scenario that settings could change'
sed -i 's/b200-sxm/b2000/' "$T/own/deepep.exchanges.json"
run 2 figure run "$T/own/bandwidths.json" -o "$T/bad" -q
err b2000
sed -i 's/"sms"/"sm"/' "$T/own/deepep.exchanges.json"
run 2 figure run "$T/own/bandwidths.json" -o "$T/bad" -q
err "deepep.exchanges.json:10:"
finish
