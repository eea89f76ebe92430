#!/bin/sh
# The answers to the studies of groups of GPUs, as their page prints them, follow from their runs.
. tests/cli/lib.sh
optimised

tr '\n' ' ' <configs/studies/README.md | sed 's/  */ /g' >"$T/page"
says() { grep -qF -e "$1" "$T/page" || complain "configs/studies/README.md does not say: $1"; }

study() { # NAME: sets db, its results
    db=$T/$1.db
    run 0 sweep "$1" -q -o "$db"
}
# What searches found, as whole numbers, in the order of the axes.
rates() { sqlite3 "$db" "select printf('%.0f', value) from outcome order by rowid" | tr '\n' ' '; }

study expert-width
set -- $(rates)
says "64 GPUs decode for $1, $2, $3 and $4 requests/s with experts dealt over 8, 16, 32 and 64"
set -- $(sqlite3 "$db" "select round(metric.value) from outcome join metric using (run_id)
    where name = 'cost.output_tokens_per_usd' order by outcome.rowid")
says "8 GPUs. With 16 a token costs $(sqlite3 :memory: "select printf('%.0f', 100 * ($1 / $2 - 1))") % more."
sql :memory: "select $1 > $2 and $2 > $3 and $3 > $4" 1

study prefill-decode # 2 to 9 of 12 nodes process prompts
set -- $(rates)
says "seven of twelve nodes, which serve $6 requests/s. Six serve $5, five $4, two $1, nine $8."
sql "$db" "select json_extract(point, '\$.\"services.chat.pools.prompts.replicas\"') from outcome
    order by cast(value as real) desc limit 1" 7

study slow-network # adapters of 25, 50, 100, 200 and 400 Gbit/s: groups of one node, then of four
set -- $(rates)
one=$(sqlite3 :memory: "select printf('%.0f', 100 - 100.0 * $1 / $5)")
half=$(sqlite3 :memory: "select printf('%.0f', 100 - 100.0 * $9 / ${10})")
least=$(sqlite3 :memory: "select printf('%.0f', 100 - 100.0 * $6 / ${10})")
says "groups of one node lose $one % at 25 instead of 400 Gbit/s. Groups of four nodes lose $half % at 200,"
says "and $least % at 25."

study lost-node # groups of 8 to 64 GPUs, with 32 and 34 nodes
by_nodes() { # NODES VALUE: distinct values over the widths of groups
    sqlite3 "$db" "select distinct $2 from (select width.value as width,
        sum(m.value) filter (where m.name = 'failure.replica_stops') as stops,
        sum(m.value) filter (where m.name = 'failure.replica_down_s') as down_s
        from param as width join param as nodes using (run_id) join metric as m using (run_id)
        where width.key = 'services.chat.tensor_parallel' and nodes.key = 'cluster.nodes' and nodes.value = '$1' group by 1)"
}
equal "$(by_nodes 32 'count(*) over ()')" 4 'widths of groups'
equal "$(by_nodes 32 stops | wc -l)" 1 'numbers of stops: as many, whatever the width'
equal "$(by_nodes 32 'abs(down_s / stops / 14400 - 1) < 0.02')" 1 'down for the repair of 4 h'
equal "$(by_nodes 34 'abs(down_s / stops - 200) < 5')" 1 'down for 200 s of loading, with two free nodes'
says 'Groups are down as long: 4 h of repair each, or 200 s to load the weights where two nodes are free.'
finish
