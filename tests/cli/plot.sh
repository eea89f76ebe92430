#!/bin/sh
# orrery runs, show and plot: what a results file has, a stored run's summary, and a figure for a paper.
. tests/cli/lib.sh

serving 20 200
cat >"$T/study.json" <<'END'
{"name": "s", "question": "Which batcher?", "scenario": "serve.json", "seeds": 3, "show": ["request.ttft_s.p99"],
 "axes": [{"key": "services.chat.batching", "values": ["vllm-v0", "sarathi"]},
          {"key": "services.chat.replicas", "values": [1, 2]}]}
END
run 0 sweep "$T/study.json" -q -o "$T/s.db"
db=$T/s.db

# runs: one row for each run, with its place in the study, its size and the metrics; all as the file has them.
run 0 runs "$db" --csv
head -1 "$T/out" | grep -q '^run,name,seed,status,params.services.chat.batching,params.services.chat.replicas,requests,jobs,metrics.request.ttft_s.p99,started_utc' ||
    complain 'the columns of the runs'
cut -d, -f1,3,4,5,6 "$T/out" | tail -n +2 >"$T/told"
sqlite3 -csv "$db" "select id, seed, status, (select value from param where run_id = id and key like '%batching'),
    (select value from param where run_id = id and key like '%replicas') from run order by id" | tr -d '\r' >"$T/stored"
cmp -s "$T/told" "$T/stored" || complain 'other runs than those of the file'
[ "$(wc -l <"$T/told")" = 12 ] || complain 'not every run of the study'
run 0 runs "$db"
[ "$(wc -l <"$T/out")" = 13 ] || complain 'a table of other length'
out 'batching'
run 0 runs "$db" -m ttft_s.p50 --json
json '$[2].metrics."request.ttft_s.p50"' "$(sqlite3 "$db" "select value from metric where run_id = 3 and name = 'request.ttft_s.p50'")"
# More axes and metrics than a table has columns: fewer axes, and each value stands under its title.
cat >"$T/wide.json" <<'END'
{"name": "w", "question": "Wide?", "scenario": "serve.json", "seeds": 1, "keep": "metrics",
 "axes": [{"zip": {"services.chat.replicas": [1, 2], "services.chat.batching.max_sequences": [16, 32],
                   "services.chat.kv.block_tokens": [16, 32], "services.chat.kv.usable_frac": [0.8, 0.9],
                   "services.chat.trace.rate_scale": [1, 2], "services.chat.trace.thin": [0.8, 0.9],
                   "services.chat.trace.count": [20, 21], "services.chat.trace.extra_output_tokens": [1, 2],
                   "services.chat.trace.sessions.max_sessions": [8, 9], "services.chat.trace.jitter": ["1ms", "2ms"],
                   "cluster.nodes": [3, 4]}}]}
END
run 0 sweep "$T/wide.json" -q -o "$T/wide.db"
run 0 runs "$T/wide.db" -m ttft_s.p50 -m ttft_s.p90 -m ttft_s.p95 -m ttft_s.p99 -m ttft_s.mean -m tpot_s.p50 \
    -m tpot_s.p99 -m tpot_s.mean --markdown
out '... and 3 more axes: --json has all'
equal "$(grep '^|' "$T/out" | awk -F'|' '{ print NF - 2 }' | sort -u)" 22 'number of cells of a row'
equal "$(awk -F' *[|] *' 'NR == 4 { print $2, $4, $5, $11, $15 }' "$T/out")" \
    "2 1 done 21 $(sqlite3 "$T/wide.db" "select printf('%.5g', value) from metric where run_id = 2 and name = 'request.ttft_s.p50'")" 'row'
run 2 runs "$db" -m ttft_s.p98
err "no run has a metric 'ttft_s.p98'; did you mean 'ttft_s.p90'?"
run 2 runs "$db" -m ''
err "no run has a metric ''; 'orrery list metrics' shows all"
run 2 runs "$db:3"
err "'$db:3' names one run of the file; leave out the number"

# Names of axes that the study gives: in the tables of sweep, runs and plot, and on the page; results are the same.
sed 's/"seeds": 3/"seeds": 1, "names": {"services.chat.batching": "batcher", "services.chat.replicas": "copies"}/' \
    "$T/study.json" >"$T/named.json"
run 0 sweep "$T/named.json" -q -o "$T/named.db"
out 'batcher'
equal "$(sqlite3 "$T/named.db" "select group_concat(result_hash) from (select result_hash from run order by id)")" \
    "$(sqlite3 "$db" "select group_concat(result_hash) from (select result_hash from run where seed = 1 order by id)")" 'results'
run 0 runs "$T/named.db"
head -1 "$T/out" | grep -q 'batcher  *copies' || complain 'no names in the head of the runs'
run 0 plot "$T/named.db" -x copies -y ttft_s.p99 --by batcher -o "$T/named.svg"
holds "$T/named.svg" '>copies<'
run 0 plot "$T/named.db" -x replicas -y ttft_s.p99 --csv
head -1 "$T/out" | grep -q copies || complain 'no name in the points'
run 0 report "$T/named.db" -o "$T/named.html"
holds "$T/named.html" 'copies'
run 0 compare "$T/named.db" -b services.chat.replicas=1 -n services.chat.replicas=2 --csv
cp "$T/out" "$T/by_key"
run 0 compare "$T/named.db" -b copies=1 -n copies=2 --csv
cmp -s "$T/out" "$T/by_key" || complain 'compare by a name differs from compare by its key'
# Two axes may swap their short names.
sed 's/"names": {[^}]*}/"names": {"services.chat.batching": "replicas", "services.chat.replicas": "batching"}/' "$T/named.json" >"$T/swapped.json"
run 0 sweep "$T/swapped.json" --dry-run
for wrong in '"services.chat.batchin": "b"' '"services.chat.batching": "replicas"' '"services.chat.batching": "a b"'; do
    sed "s/\"names\": {[^}]*}/\"names\": {$wrong}/" "$T/named.json" >"$T/wrong.json"
    run 2 sweep "$T/wrong.json" -q -o "$T/wrong.db"
    grep -qE "wrong.json:1:[0-9]+: error: (no axis varies 'services.chat.batchin'; name keys of|'(replicas|a b)', the name of 'services.chat.batching', is )" \
        "$T/err" || { complain 'another message'; cat "$T/err"; }
done

# show: the summary of a stored run is that which the run printed, to the byte.
mixed
run 0 run "$T/mixed.json" -o "$T/one.db" -q
for form in '' --verbose --json --csv --latex; do
    run 0 run "$T/mixed.json" -q $form
    cp "$T/out" "$T/printed"
    run 0 show "$T/one.db:1" $form
    cmp -s "$T/out" "$T/printed" || complain "another summary $form"
done
run 3 show "$T/one.db:0"
run 3 show "$T/one.db:7"
err "no run 7; 'orrery runs' lists the runs of a file"

# plot: a point is the mean over the seeds. Each form is made twice with the same bytes.
run 0 plot "$db" -x replicas -y ttft_s.p99 --by batching -o "$T/fig.csv"
[ ! -s "$T/out" ] || complain 'a figure on standard output'
mean=$(sqlite3 "$db" "select printf('%.9g', avg(value)) from metric where name = 'request.ttft_s.p99' and run_id in
    (select run_id from param where value = 'sarathi' intersect select run_id from param where value = '2')")
awk -F, -v mean="$mean" '$1 == 2 && $2 == "sarathi" { found = $3 == 3 && sprintf("%.9g", $4) == mean && $5 < $4 && $4 < $6 }
    END { exit !found }' "$T/fig.csv" || complain "no point with the mean $mean"
for form in svg pdf tex gp csv; do
    run 0 plot "$db" -x replicas -y ttft_s.p99 --log y --size 12x8 --font Times --font-size 8 --title 'A & B' -o "$T/one.$form"
    run 0 plot "$db" -x replicas -y ttft_s.p99 --log y --size 12x8 --font Times --font-size 8 --title 'A & B' -o "$T/two.$form"
    sed 's/two\.pdf/one.pdf/' "$T/two.$form" | cmp -s - "$T/one.$form" || complain "other bytes in another .$form"
done
holds "$T/one.svg" "font-family=\"'Times'"
holds "$T/one.tex" 'ymode=log'
holds "$T/one.tex" 'title={A \& B\\\footnotesize bars: 95 \% t-intervals over 3 seeds}'
holds "$T/one.gp" "set output 'one.pdf'"
[ "$(grep -c '^set terminal ' "$T/one.gp")/$(grep -c '^set output ' "$T/one.gp")" = 1/1 ] || complain 'two outputs of a script'
equal "$(sed -n 's/.*MediaBox \[0 0 \([0-9.]*\)[0-9][0-9] \([0-9.]*\)[0-9][0-9]\].*/\1 \2/p' "$T/one.pdf")" '340.1 226.7' 'the page of 12 x 8 cm'
! command -v xmllint >/dev/null || xmllint --noout "$T/one.svg" || complain 'no XML'
if command -v gnuplot >/dev/null; then
    mkdir "$T/drawn"
    (cd "$T/drawn" && gnuplot ../one.gp) || complain 'gnuplot does not take the script'
    equal "$(ls "$T/drawn")" one.pdf 'what gnuplot writes'
fi
# Changes against a base are those of compare at one configuration, with its interval: runs are paired by seed.
run 0 plot "$db" -x replicas -y ttft_s.mean --relative batching=vllm-v0 --json
cp "$T/out" "$T/changes"
equal "$(json_of "$T/changes" '$[1].replicas')/$(json_of "$T/changes" '$[1].pairs')" 2/3 'the second point'
equal "$(sqlite3 :memory: "select json_array_length(readfile('$T/changes'))")" 2 'points but those of the base'
run 0 compare "$db" --base batching=vllm-v0,replicas=2 --new batching=sarathi,replicas=2 -m ttft_s.mean --json
equal "$(sqlite3 :memory: "select printf('%.9g %.9g %.9g', 100 * json_extract(r, '$.delta') / json_extract(r, '$.base'),
        100 * json_extract(r, '$.low') / json_extract(r, '$.base'), 100 * json_extract(r, '$.high') / json_extract(r, '$.base'))
    from (select value as r from json_each(readfile('$T/out'), '$.metrics'))")" \
    "$(sqlite3 :memory: "select printf('%.9g %.9g %.9g', json_extract(p, '$.\"request.ttft_s.mean change %\"'), json_extract(p, '$.low'), json_extract(p, '$.high'))
    from (select value as p from json_each(readfile('$T/changes')) where json_extract(value, '$.replicas') = '2')")" 'the change and its interval'
run 0 plot "$db" -x replicas -y ttft_s.mean --relative batching=vllm-v0 --size 12x8 -o "$T/changes.svg"
holds "$T/changes.svg" 'change of mean TTFT'
holds "$T/changes.svg" 'from vllm-v0 (%)'
holds "$T/changes.svg" 'bars: 95 % t-intervals over 3 seeds, paired'
run 2 plot "$db" -x replicas -y ttft_s.mean --relative batching
err "--relative: error: 'batching' has no '='"
run 2 plot "$db" -x replicas -y ttft_s.mean --relative batching=vllm-v0 --log y
err 'a change may be negative'
run 2 plot "$db" -x replicas -y ttft_s.mean --relative batching=vllm-v7
err "unknown value 'vllm-v7'"
cp "$db" "$T/zero.db"
sqlite3 "$T/zero.db" "update metric set value = 0 where name = 'request.ttft_s.mean' and run_id in (select run_id from param where value = 'vllm-v0')"
run 2 plot "$T/zero.db" -x replicas -y ttft_s.mean --relative batching=vllm-v0
err "--relative: error: the mean of 'request.ttft_s.mean' is 0 at 'vllm-v0', so there is no change in percent"
run 0 plot "$db" -x batching -y ttft_s.p99 --where replicas=2 --kind bars -o "$T/bars.tex"
holds "$T/bars.tex" 'xticklabels={{vllm-v0},{sarathi}}'
run 0 plot "$db" -x batching -y ttft_s.p99 --where replicas=2 --json
json '$[1].batching' sarathi
json '$[1].runs' 3

# Every line has a band, or none has.
for errors in none band; do
    run 0 plot "$db" -x replicas -y ttft_s.p99 --by batching --errors $errors -o "$T/of_$errors.tex"
done
equal "$(grep -c fill "$T/of_none.tex")/$(grep -c fill "$T/of_band.tex")" "0/$(grep -c 'addlegendentry' "$T/of_band.tex")" 'bands'

# Axes that x determines, as zipped ones, make no lines of their own. Dots are not joined.
run 0 plot "$T/wide.db" -x replicas -y ttft_s.p99 --kind dots -o "$T/zipped.tex"
equal "$(grep -c addplot "$T/zipped.tex")/$(grep -c 'only marks' "$T/zipped.tex")" 1/1 'number of lines of zipped axes'
run 0 plot "$db" -x replicas -y ttft_s.p99 --csv
equal "$(head -1 "$T/out" | tr -d "\r")" replicas,batching,runs,request.ttft_s.p99,low,high 'columns of crossed axes'

# A paper takes the figures and the table.
if command -v pdflatex >/dev/null && kpsewhich pgfplots.sty >/dev/null; then
    run 0 plot "$db" -x replicas -y ttft_s.p99 --by batching --errors band -o "$T/band.tex"
    run 0 plot "$db" -x replicas -y ttft_s.p99 --latex
    cp "$T/out" "$T/table.tex"
    for name in one bars zipped band table; do
        printf '%s\n' '\documentclass{article}' '\usepackage{pgfplots,booktabs}' '\pgfplotsset{compat=1.18}' \
            '\begin{document}' "\\input{$name.tex}" '\end{document}' >"$T/paper.tex"
        (cd "$T" && pdflatex -interaction=batchmode -halt-on-error paper.tex >log.txt) ||
            complain "LaTeX does not take $name.tex: $(grep -m 1 '^!' "$T/paper.log")"
        ! grep -E 'Undefined|Missing character' "$T/paper.log" || complain "LaTeX warns of $name.tex"
    done
fi

# What cannot be drawn is told, and no file appears.
wrong() { # MESSAGE OPTION...
    text=$1
    shift
    run 2 plot "$db" "$@" -o "$T/none.pdf"
    err "$text"
    no_file "$T/none.pdf"
}
wrong "needs an axis along x (-x) and a metric along y (-y); such as: orrery plot $T/s.db -x replicas -y " -x replicas
wrong "no run has an axis 'replica'; did you mean 'replicas'?" -x replica -y ttft_s.p99
wrong "no run has an axis 'colour'; its axes are batching, replicas" -x colour -y ttft_s.p99
wrong "did you mean 'request.ttft_s.p99'?" -x replicas -y request.ttft_s.p999
wrong "unknown value 'sarathy'; did you mean 'sarathi'?" -x replicas -y ttft_s.p99 --where batching=sarathy
wrong "'replicas' is given twice; choose one value" -x batching -y ttft_s.p99 --where replicas=1 --where replicas=2
wrong "'replicas' is already along x" -x replicas -y ttft_s.p99 --by replicas,batching
wrong "the runs also differ in 'batching'; add it to --by, or choose a value by --where" -x replicas -y ttft_s.p99 --by replicas
wrong "'batching' has words, not numbers; leave out x" -x batching -y ttft_s.p99 --log x
wrong "a PDF may have Helvetica, Times or Courier" -x replicas -y ttft_s.p99 --font Garamond
wrong "'8' is no size; write width and height of 3 to 100 cm, like 8.5x6" -x replicas -y ttft_s.p99 --size 8
wrong '3x3 is too small for this figure with type of 40 points, which takes ' -x replicas -y ttft_s.p99 --size 3x3 --font-size 40
size=$(sed -n 's/.*which takes \([0-9.x]*\);.*/\1/p' "$T/err")
run 0 plot "$db" -x replicas -y ttft_s.p99 --size "$size" --font-size 40 -o "$T/fits.pdf"
run 2 plot "$db" -x replicas -y ttft_s.p99 -o "$T/fig.png"
err 'name a file that ends in .svg, .pdf, .tex, .gp or .csv'
run 2 plot "$T/one.db" -x replicas -y ttft_s.p99
err "this file has no study, which has axes; 'orrery report' draws a run"
run 2 plot "$db" -x replicas -y ttft_s.p99 -o "$db"
err 'would replace'
# Ticks stand at the studied values, and the figure says what its bars are, in every form; --note says something else,
# or nothing.
cat >"$T/ticks.json" <<END
{"scenario": "$PWD/configs/scenarios/quickstart.json", "seeds": 2, "set": {"until": "5s"},
 "axes": [{"key": "services.chat.replicas", "values": [1, 3, 4]},
          {"key": "services.chat.routing", "values": ["round-robin", "random"]}]}
END
run 0 sweep "$T/ticks.json" -q -o "$T/ticks.db"
for form in svg tex gp; do
    run 0 plot "$T/ticks.db" -x replicas -y e2e_s.mean -o "$T/ticks.$form"
    grep -qE '95 .?% t-intervals over 2 seeds' "$T/ticks.$form" || complain "$form does not say what its bars are"
done
equal "$(sed -n 's/.*>\([0-9]*\)<\/text>.*/\1/p' "$T/ticks.svg" | head -3 | tr '\n' ' ')" '1 3 4 ' 'ticks along x'
holds "$T/ticks.tex" 'xtick={1,3,4},'
run 0 plot "$T/ticks.db" -x replicas -y e2e_s.mean --note 'two seeds' -o "$T/note.svg"
holds "$T/note.svg" '>two seeds</text>'
run 0 plot "$T/ticks.db" -x replicas -y e2e_s.mean --note '' -o "$T/none.svg"
! grep -q 'intervals over' "$T/none.svg" || complain 'a note that is not wanted'
run 0 plot "$T/ticks.db" -x replicas -y e2e_s.mean --errors band -o "$T/band.svg"
holds "$T/band.svg" '>bands: 95 % t-intervals over 2 seeds</text>'
run 0 plot "$T/ticks.db" -x replicas -y e2e_s.mean --errors none -o "$T/bare.svg"
! grep -q 'intervals over' "$T/bare.svg" || complain 'a note of intervals that are not drawn'

# A size without room for that line leaves it out, and says so; one that was asked for is an error.
run 0 plot "$T/ticks.db" -x routing -y e2e_s.mean --where replicas=3 --size 6x4.3 -o "$T/small.svg"
! grep -q 'intervals over' "$T/small.svg" || complain 'a note for which there is no room'
err "the line 'bars: 95 % t-intervals over 2 seeds' does not fit and is left out; say it in the caption"
run 2 plot "$T/ticks.db" -x routing -y e2e_s.mean --where replicas=3 --size 6x4.3 --note 'two seeds' -o "$T/small2.svg"
err 'is too small for this figure'
run 2 plot "$T/ticks.db" -x routing -y e2e_s.mean --where replicas=3 --size 3x3 --font-size 40 -o "$T/small3.svg"
err 'is too small for this figure'
! grep -q 'left out' "$T/err" || complain 'a warning about a figure that is not drawn'
finish
