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

# The table itself says that 1.2.0rc6.post3 is another thing than 1.2.0rc6.post2.
sql "$db" "with pair as (select b.tpot_ms / a.tpot_ms as tpot, b.ttft_ms / a.ttft_ms as ttft
    from board as a join board as b using
        (gpu, llm, engine, format, tensor, data, expert, users, prompt_tokens, output_tokens)
    where a.version = '1.2.0rc6.post3' and b.version = '1.2.0rc6.post2' and a.first_copy and b.first_copy
        and a.mode = 'agg' and b.mode = 'agg')
    select count(*), sum(tpot > 1.3), printf('%.1f', max(tpot)), avg(ttft) < 1 from pair" '33|27|2.3|1'
sql "$db" "select count(*) from board where judged and version like '1.2.0rc6.post3%'" 0

# The table of the page, and the errors of all rows below it.
page=configs/figures/board/README.md
equal "$({ cat configs/figures/board/board.sql; echo "
    select printf('| %s | %s | %d | %.1f / %.1f | %.1f / %.1f | ', group_name, in_fit, judged, 100 * left_out_median,
            100 * left_out_p90, 100 * shipped_median, 100 * shipped_p90)
        || iif(roofline_median is null, '', printf('%.1f / %.1f', 100 * roofline_median, 100 * roofline_p90)) || ' |'
    from board_groups where judged > 0 order by group_name;
    select printf('| all | | %d | %.1f / %.1f | %.1f / %.1f | %.1f / %.1f |', l.n, 100 * l.median, 100 * l.p90,
            100 * s.median, 100 * s.p90, 100 * r.median, 100 * r.p90)
    from quantile as l, quantile as s, quantile as r
    where l.measure = 'left out' and s.measure = 'shipped' and r.measure = 'roofline';"; } | sqlite3 "$db")" \
    "$(sed -n '/^| group | in a fit/,/^$/p' $page | sed '1,2d;/^$/d')" 'results of the page'
# Prompts on other GPUs, and groups of data parallelism over common experts, as the page has them.
equal "$({ cat configs/figures/board/board.sql; echo "
    select printf('| %s | %d | %.2f | %.2f | %.1f / %.1f %% |', replace(q.name, ', deepseek-v3', ''), q.n, o.rho,
            o.rho_users, 100 * q.median, 100 * q.p90)
    from apart_quantile as q join apart_order as o using (name) where q.n >= 6 order by q.name;"; } | sqlite3 "$db")" \
    "$(sed -n '/^| GPU, engine, lengths/,/^$/p' $page | sed '1,2d;/^$/d')" 'prompts on other GPUs of the page'
equal "$({ cat configs/figures/board/board.sql; echo "
    select printf('| %s | %d | %.1f to %.1f %% | %.0f %% | %.0f %% | %.0f %% |', replace(group_name, ', deepseek-v3', ''),
            n, 100 * (fast - 1), 100 * (slow - 1), 100 * covered, 100 * faster, 100 * wide_covered)
    from apart_coverage order by group_name;"; } | sqlite3 "$db")" \
    "$(sed -n '/^| GPU, engine | rows | interval/,/^$/p' $page | sed '1,2d;/^$/d')" 'intervals of prompts on other GPUs'
sql "$db" "select count(*), sum(fast_tpot_ms < predicted_tpot_ms and predicted_tpot_ms < slow_tpot_ms) from board
    where mode = 'disagg' and predicted_tpot_ms is not null" '140|140'
equal "$(sqlite3 "$db" "select printf('| %s, mean | %d | %.1f | %.1f |', group_name, count(*), 100 * avg(abs(tpot_error)),
            100 * avg(abs(left_out_error)))
    from board where mode = 'agg' and first_copy and suspect is null and data > 1 and tpot_error is not null
    group by group_name order by count(*)")" \
    "$(sed -n '/^| rows, first copies/,/^$/p' $page | grep ', mean |' | sort -t'|' -k3n)" 'data parallelism of the page'
# Intervals: the shipped file is what the board gives, and the page has its numbers.
run 0 calibrate board configs/figures/board/silicon.board.json -o "$T/in_no_fit.json" --csv
cmp -s "$T/in_no_fit.json" configs/calibration/releases/in_no_fit.json || complain 'in_no_fit.json is not of this board'
equal "$(tail -n +2 "$T/out" | tr -d '\r' | awk -F, '{ printf "| %s | %s | %s | %s %% | %s %% | %s %% |\n", $1, $2, $3, $4, $5, $6 }')" \
    "$(sed -n '/^| cost kind/,/^$/p' $page | sed '1,2d;/^$/d')" 'intervals of the page'
both=$(tail -n +2 "$T/out" | tr -d '\r' | awk -F, '$1 ~ /^operators/ { n += $2; inside += $2 * $6 }
    END { printf "Over both kinds %.1f %% do", inside / n }')
grep -qF "$both" $page || complain "the page does not say: $both"
for said in "$({ cat configs/figures/board/board.sql; echo "
    select printf('median error is %.0f %% on the judged rows', 100 * median) from quantile where measure = 'ttft';"; } |
    sqlite3 "$db")" "$({ cat configs/figures/board/board.sql; echo "
    select printf('Of the %d rows outside %d are faster', round(sum(n * (1 - covered))), round(sum(n * faster)))
    from apart_coverage;"; } | sqlite3 "$db")" "$({ cat configs/figures/board/board.sql; echo "
    select printf('It holds %.0f %% of all rows', 100 * sum(n * wide_covered) / sum(n)) from apart_coverage;"; } |
    sqlite3 "$db")"; do
    tr '\n' ' ' <$page | grep -qF "$said" || complain "the page does not say: $said"
done
finish
