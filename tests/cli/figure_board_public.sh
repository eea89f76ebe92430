#!/bin/sh
# The board on the public tables: every row of them is there, and the page of the board has its numbers.
. tests/cli/lib.sh
optimised

data=../shared/data/llm_end_to_end
for table in $(sed -n 's,.*/\(silicon_board__[^"]*\)".*,\1,p' configs/figures/board/silicon.board.json) \
    h100_sxm__measured_ttft_tpot.csv; do
    [ -r "$data/$table" ] || skip "needs $data/$table"
done

run 0 figure run board -o "$T/figures"
db=$T/figures/board/board.db
for table in "$data"/silicon_board__*; do
    sql "$db" "select count(*) from board where source = '${table##*/}'" \
        "$(gzip -cdf "$table" | tail -n +2 | grep -c .)"
done
sql "$db" 'select count(*) from board where predicted_tpot_ms is null and reason is null' 0
equal "$({ cat configs/figures/board/board.sql; echo "
    select printf('| %s | %s | %d | %.1f / %.1f | %.1f / %.1f | ', group_name, seen, judged, 100 * left_out_median,
            100 * left_out_p90, 100 * shipped_median, 100 * shipped_p90)
        || iif(roofline_median is null, '', printf('%.1f / %.1f', 100 * roofline_median, 100 * roofline_p90)) || ' |'
    from board_groups where judged > 0 order by group_name;"; } | sqlite3 "$db")" \
    "$(sed -n '/^| group | in a fit/,/^$/p' configs/figures/board/README.md | sed '1,2d;/^$/d')" 'results of the page'
finish
