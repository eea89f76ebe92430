#!/bin/sh
# The board on tables written here: every row is stored and shown, medians of groups are right, absent tables are named.
. tests/cli/lib.sh

mkdir -p "$T/data/configs" "$T/tables"
for folder in calibration engines hardware llms; do cp -r "configs/$folder" "$T/data/configs/"; done
F=$T/data/configs/figures/board
mkdir -p "$F"
cp configs/figures/board/board.* "$F/"
sed 's,"\(.*\)": "../../../../shared/data/llm_end_to_end/\(.*h100.*\)"\,,"\1": "../../../../tables/\2"\,,
    s,"b200-sxm": ".*","imaginary": "../../../../tables/imaginary.csv.gz",; /"gb200":/d
    s,\(imaginary.csv.gz"\)\,,\1,' configs/figures/board/silicon.board.json >"$F/silicon.board.json"
# Claims that hold for any rows: this test is not about accuracy.
sed '/"known_to_fail"/d; s/"value": [0-9][0-9]*/"value": 100000/; s/"tolerance": [0-9.]*/"tolerance": 1/
    s/select 100 \* median from quantile where measure = .roofline./select 100000/' \
    configs/figures/board/board.json >"$F/board.json"
ORRERY_DATA=$T/data
export ORRERY_DATA

# Without the tables: an error that says which one and where to get it; 'all' leaves the figure out.
run 0 figure list
out board/board
run 3 figure run board -o "$T/none"
err 'tables/silicon_board__h100_sxm.csv: error: figure board/board needs these measurements, which are not there'
err 'configs/figures/board/README.md says where the tables come from'
run 0 figure all -o "$T/none"
err 'board/board: skipped: data absent: it needs '
[ ! -e "$T/none/board/board.db" ] || complain 'a board was made without its tables'

head=model_path,backend,backend_version,gemm_quant_mode,moe_quant_mode,mode,isl,osl,concurrency,batch_size,pp_size
head=$head,silicon_ttft_ms,silicon_tpot_ms,origin,wip,first_copy,gpus_read,tp_read,dp_read,ep_read,sizes_note
decode=decode_num_workers,decode_tp_size,decode_attention_dp_size,decode_moe_ep_size,decode_pp_size
own=backend,backend_version,model_path,system,mode,isl,osl,gemm_quant_mode,batch_size,tp_size,pp_size,silicon_tpot_ms
{
    echo $head,$decode
    for users in 8 16 32 64 128; do
        for prompt in 1024 2048; do
            echo "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,$prompt,256,$users,$users,1,200,$((12 + users / 4)),gap,,1,2,2,1,1,,,,,,"
        done
        echo "Qwen/Qwen3-14B,vllm,0.13.0,,,agg,1024,256,$users,$users,1,200,$((8 + users / 3)),gap,,1,2,2,1,1,,,,,,"
        echo "Qwen/Qwen3-32B,vllm,0.12.0,,,disagg,1024,256,$users,,,200,$((12 + users / 9)),gap,,1,6,,,,,2,2,1,,1"
    done
    echo 'Qwen/Qwen3-32B,vllm,0.12.0,,,disagg,1024,256,256,,,200,21,gap,,1,6,,,,,2,2,1,,1'
    echo 'Qwen/Qwen3-14B,vllm,0.13.0,,,agg,1024,256,8,8,1,200,7,gap,,0,2,2,1,1,,,,,,'
    echo 'Qwen/Qwen3-14B,vllm,0.13.0,,,disagg,1024,256,8,,,200,7,gap,,1,2,,,,no worker counts,,,,,'
} >"$T/tables/silicon_board__h100_sxm.csv"
{ echo $head; echo 'Qwen/<b>,vllm,,,,agg,1024,256,8,8,1,200,7,gap,,1,2,2,1,1,'; } | gzip >"$T/tables/imaginary.csv.gz"
{ echo $own; echo 'vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,agg,1024,256,,8.0,2.0,1.0,14'; } \
    >"$T/tables/h100_sxm__measured_ttft_tpot.csv"

run 0 figure run board -o "$T/figures"
err "$T/figures/board/board.db: 24 measured rows"
out 'board/board: median TPOT error of shipped presets on groups in no fit '
out '; tolerances committed before the first run, but those that the notes name'
out '* A limit or an expectation of Orrery'
case $(sed 1q "$T/out") in *'off by'*) complain 'a deviation that is no error of the model' ;; esac
db=$T/figures/board/board.db
sql "$db" 'select count(*), sum(judged), sum(reason is not null), sum(predicted_tpot_ms is null) from board' '24|15|2|2'
sql "$db" "select in_fit, count(*) from board group by in_fit" 'group|15
none|8
row|1'
page=$T/figures/board/board.rows.html
equal "$(grep -c '^<tr class=group>' "$page")" 3 'groups among the rows'
equal "$(sed -n '/<h2>Rows<\/h2>/,$p' "$page" | grep -c '^<tr><td\|^<tr class=out>')" 24 'rows of the page'
holds "$page" "not predicted: the catalog has no GPU &#39;imaginary&#39;"
holds "$page" 'Qwen/&lt;b&gt;'
holds "$T/figures/index.html" 'href="board/board.rows.html"'

# The same table as a list, sorted and counted by other means.
for group in 'qwen3-32b' 'qwen3-14b'; do
    for of in left_out:left_out_error shipped:tpot_error roofline:roofline_error; do
        equal "$({ cat "$F/board.sql"; echo "select printf('%.9f', ${of%%:*}_median), printf('%.9f', ${of%%:*}_p90)
                from board_groups where group_name = 'h100-sxm, $group, vllm';"; } | sqlite3 "$db")" \
            "$(sqlite3 "$db" "select printf('%.17g', abs(${of##*:})) from board where judged and llm = '$group'" |
                sort -g | awk '{ v[NR - 1] = $1 }
                    function q(p, at, low) { at = p * (NR - 1); low = int(at)
                        return v[low] + (at - low) * (v[low + (low < NR - 1)] - v[low]) }
                    END { printf "%.9f|%.9f", q(0.5), q(0.9) }')" "quantiles of $of in $group"
    done
done

# Replicas that decode: half of the users each. Among all different times, rho is 1 - 6 sum d^2 / n (n^2 - 1).
sql "$db" "select group_concat(workers, ''), count(distinct predicted_tpot_ms) from board where mode = 'disagg' and
    predicted_tpot_ms is not null" '222222|6'
equal "$({ cat "$F/board.sql"; echo "select name, n, printf('%.9f', rho) from apart_order;"; } | sqlite3 "$db")" \
    "h100-sxm, qwen3-32b, vllm, 1024 + 256|6|$(sqlite3 "$db" "select tpot_ms, predicted_tpot_ms from board
        where mode = 'disagg' and predicted_tpot_ms is not null order by predicted_tpot_ms" | awk -F'|' '{ m[NR] = $1 }
        END { for (i = 1; i <= NR; i++) { r = 1; for (j = 1; j <= NR; j++) r += m[j] < m[i]; sum += (r - i) ^ 2 }
            printf "%.9f", 1 - 6 * sum / (NR * (NR * NR - 1)) }')" 'rank correlation'

# They have the interval of the judged rows outside of their group, those of the other LLM: from its 5th to its 95th
# percentile of measured over predicted TPOT. The fit without a group knows the others; their group is in a fit.
equal "$(sqlite3 "$db" "select printf('%.9f|%.9f', min(fast_tpot_ms / left_out_tpot_ms), max(slow_tpot_ms / left_out_tpot_ms))
    from board where mode = 'disagg' and predicted_tpot_ms is not null")" \
    "$(sqlite3 "$db" "select printf('%.17g', tpot_ms / predicted_tpot_ms) from board where judged and llm = 'qwen3-14b'" |
        sort -g | awk '{ v[NR - 1] = $1 } END { at = 0.05 * (NR - 1); low = int(at)
            printf "%.9f|", v[low] + (at - low) * (v[low + 1] - v[low]); at = 0.95 * (NR - 1); low = int(at)
            printf "%.9f", v[low] + (at - low) * (v[low + 1] - v[low]) }')" 'interval of replicas that decode'
equal "$({ cat "$F/board.sql"; echo "select n, n * covered, n * faster from apart_coverage;"; } | sqlite3 "$db")" \
    "$(sqlite3 "$db" "select tpot_ms, fast_tpot_ms, slow_tpot_ms from board where mode = 'disagg' and fast_tpot_ms > 0" |
        awk -F'|' '{ n++; inside += $1 >= $2 && $1 <= $3; faster += $1 < $2 } END { printf "%d|%.1f|%.1f", n, inside, faster }')" \
    'rows inside'

# The results are there for the gallery as long as the board's file is the same.
cp -r "$T/figures" "$T/again"
sed -i 's/"obtain": "/&really /' "$F/silicon.board.json"
run 0 figure run "$F/board.json" -o "$T/again" -q
cmp -s "$T/figures/board/board.rows.html" "$T/again/board/board.rows.html" || complain 'another page from equal rows'

# Intervals: of all judged rows, in a file that runs read.
run 0 calibrate board "$F/silicon.board.json" -o "$T/in_no_fit.json"
out 'operators            15       2'
equal "$(json_of "$T/in_no_fit.json" '$.kinds.operators.rows')" 15 'rows of the file'
run 0 calibrate board "$F/silicon.board.json" --json
cmp -s "$T/out" "$T/in_no_fit.json" || complain 'the JSON is not that of the file'
run 2 calibrate board
err 'write orrery calibrate board NAME.board.json'
run 2 calibrate board "$F/silicon.board.json" --gpu h100-sxm
run 3 calibrate board "$T/none.json"

# A table that is none.
echo a,b >"$T/tables/silicon_board__h100_sxm.csv"
run 3 figure run board -o "$T/figures"
err 'this is no table of a board: a column is missing'
finish
