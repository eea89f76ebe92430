#!/bin/sh
# The answers to one question per family of policies, as their page gives them, follow from the page's tables. These
# are what the program prints (tests/cli/pages.sh). Closed forms and bounds hold for them, too. What seeds tell or do
# not is asked of `orrery compare`, in runs of the studies.
. tests/cli/lib.sh
optimised

page=configs/scenarios/gallery/policies/README.md
. tests/cli/lib_page.sh
less() { sooner "$1" "$2"; }

study() { # NAME: runs it, without rows
    sed "s/\"keep\": \"rows\"/\"keep\": \"metrics\"/; s,\"[.][.]/,\"$PWD/configs/," "configs/studies/$1.json" >"$T/$1.json"
    "$ORRERY" sweep "$T/$1.json" -q -o "$T/$1.db" >"$T/$1.txt" 2>&1 || complain "the study $1 fails: $(tail -1 "$T/$1.txt")"
}
# tells STUDY METRIC BASE NEW: 1 if the interval of the difference over the seeds leaves out 0, else 0.
tells() {
    "$ORRERY" compare "$T/$1.db" -m "$2" --base "$3" --new "$4" --json >"$T/compared.json" 2>"$T/compared.err" ||
        complain "$1, $3 against $4: $(tail -1 "$T/compared.err")"
    sqlite3 :memory: "select count(*) || ' ' || sum(value ->> '\$.low' > 0 or value ->> '\$.high' < 0)
        from json_each(readfile('$T/compared.json'), '\$.metrics') where value ->> '\$.metric' = '$2'
            and value ->> '\$.point' is null" | sed 's/^1 //'
}
# apart STUDY METRIC VALUES VALUES STUDENT: the same of runs whose varied values, in the order of their keys, are like
# these patterns of SQL, with Student's t at 97.5 % for so many seeds. For values that --base cannot name.
apart() {
    sqlite3 "$T/$1.db" "with text as (select run_id, group_concat(value, ' ') as v from (select * from param order by run_id, key) group by 1)
        select sum(value * iif(v like '$3', 1, -1)) from metric join text using (run_id) join run on run.id = run_id
            where metric.name = '$2' and (v like '$3' or v like '$4') group by seed having count(*) = 2" |
        awk -v student="$5" '{ sum += $1; squares += $1 * $1; n++ }
            END { mean = sum / n; print (mean * mean > student ^ 2 * (squares - n * mean * mean) / (n - 1) / n) + 0 }'
}
first_of() { sort -g -k2 | head -1 | cut -d' ' -f1; } # of lines NAME VALUE, the name of the smallest value

# --- Placement ---
left() { calc "512 - $(of shared-gpus "$1" 2)"; }
left_frac() { calc "100 * (512 - $(of shared-gpus "$1" 2)) / 512" %.1f; }
broken() { of shared-gpus "$1" 1; }
fgd='1 fgd ties=shuffled'
says "\`fgd\` leaves $(left "$fgd") GPUs unallocated, $(left_frac "$fgd") % of the cluster"
for other in 'packing ties=shuffled' 'dot-product ties=shuffled' first-fit; do
    equal "$(left "1 $other")" "$(left '1 best-fit ties=shuffled')" "GPUs that $other leaves"
done
says "\`best-fit\`, \`packing\`, \`dot-product\` and \`first-fit\` leave $(left '1 best-fit ties=shuffled'), \`topology-aware\` \
and \`consolidated\` $(left '1 topology-aware'). Ten seeds do not tell these from \`fgd\`. \`counted\` knows no nodes, and leaves none"
equal "$(left '1 consolidated') $(left '1 counted')" "$(left '1 topology-aware') 0" 'GPUs that consolidated and counted leave'
study shared-gpus
for other in best-fit packing dot-product topology-aware first-fit consolidated; do
    equal "$(apart shared-gpus cluster.gpus_in_use.max '1 %fgd%' "1 %$other%" 2.262)" 0 "seeds tell fgd from $other"
done
for other in clustering random; do
    equal "$(apart shared-gpus cluster.gpus_in_use.max '1 %fgd%' "1 %$other%" 2.262)" 1 "seeds tell fgd from $other"
done
says "\`clustering\` leaves $(left '1 clustering ties=shuffled'). \`random\` leaves $(left '1 random') and \`worst-fit\` \
$(left '1 worst-fit ties=shuffled'): these two spread"
says "The fragmentation is $(less "$(broken "$fgd")" "$(broken '1 best-fit ties=shuffled')") % less under \`fgd\` than"
# On Alibaba's trace: the first pair of numbers of the table on the family's page, ours and the paper's.
pair() { awk -F'|' -v row=" $1 " '$2 == row && !n++ { print $3 }' policies/placement/README.md | tr -d , ; }
pair fgd | { read -r ours theirs; echo "$(tenths "$ours") $(tenths "$theirs")"; } >"$T/fgd"
pair best-fit | { read -r ours theirs; echo "$(tenths "$ours") $(tenths "$theirs")"; } >"$T/best-fit"
read -r fgd_ours fgd_theirs <"$T/fgd"
read -r best_ours best_theirs <"$T/best-fit"
says "On Alibaba's trace \`fgd\` leaves $fgd_ours % unallocated and \`best-fit\` $best_ours %, where the paper has $fgd_theirs % and $best_theirs %"
# The rarest kind of the sample, which the other kinds cover 95 % without, has four GPUs.
equal "$(awk -F, 'NR > 1 { n[$2 "," $4 "," $5]++ } END { for (k in n) print n[k], k }' traces/samples/shares.csv | sort -n |
    sed -n '1p')" '4 40000,4,1000' 'the rarest kind of the sample'
width() { # ROW: of the interval of the GPUs in use
    awk -v row="$1" '/^\$ orrery sweep / { inside = $4 == "shared-gpus" } { line = $0; gsub(/ +/, " ", line) }
        inside && index(line, row " ") == 1 { split(line, end, /[()]| [.][.] /); print end[3] - end[2] }' $page
}
says 'Its interval is then over twice as wide'
holds_that "$(width '0.95 fgd ties=shuffled') > 2 * $(width "$fgd")"

# --- Checkpointing: Daly's equation 13 for 12 h of work, in pieces with a save behind each but the last ---
useful() { of interval-rules "$1" 3; }
points() { calc "100 * ($(useful "$2 $1") - $(useful "$2 $3"))"; }
exact() { # MEAN_S INTERVAL_S (0: none): share of the time that is useful
    awk -v m="$1" -v t="$2" 'function wall(work, save) { return m * exp(300 / m) * (exp((work + save) / m) - 1) }
        BEGIN { work = 43200; for (; t > 0 && work > t; work -= t) s += wall(t, 60); print 43200 / (s + wall(work, 0)) }' </dev/null
}
half() { # ROW: of the interval of the useful share
    awk -v row="$1" '/^\$ orrery sweep / { inside = $4 == "interval-rules" } { line = $0; gsub(/ +/, " ", line) }
        inside && index(line, row " ") == 1 { split(line, end, /[()]| [.][.] /); print (end[3] - end[2]) / 2 }' $page
}
for failure in 3h:10800 1d:86400 30d:2592000; do
    for policy in daly young checkfreq periodic none; do
        row="${failure%:*} $policy" mean=${failure#*:}
        interval=$(of interval-rules "$row" 2)
        expected=$(exact "$mean" "$(echo "$interval" | sed 's/^-$/0/')")
        holds_that "($(useful "$row") - $expected)^2 <= (2 * $(half "$row"))^2"
    done
    young=$(calc "sqrt(2 * 60 * ${failure#*:})" %.1f)
    holds_that "($(of interval-rules "${failure%:*} young" 2) - $young)^2 < 1"
    holds_that "($(of interval-rules "${failure%:*} checkfreq" 2) - 60 / 0.035)^2 < 1"
done
equal "$(percent "$(useful '3h daly')")" "$(percent "$(useful '3h young')")" 'what young makes useful, in %'
says "\`daly\` and \`young\` make $(percent "$(useful '3h daly')") % of the GPU time useful, and \`none\` \
$(percent "$(useful '3h none')") %"
says "saves every $(calc '60 / 0.035 / 60') min here"
for policy in checkfreq periodic; do
    for failure in 3h 1d; do equal "$(points daly $failure $policy)" 1 "points that $policy loses at a failure every $failure"; done
    equal "$(points daly 30d $policy)" "$(points daly 30d checkfreq)" "points that $policy loses at a failure in 30 days"
done
says "It and \`periodic\` ($(calc "$(of interval-rules '3h periodic' 2) / 60") min) lose 1 point against \`daly\` at a failure every \
3 h and each day, and $(points daly 30d checkfreq) points at one in 30 days"
says 'There no checkpoints at all are as good as those of `daly`'
equal "$(points daly 30d none)" 0 'points that none loses at a failure in 30 days'
# Daly's equation at the interval, without an end (K1 and K3 of the notes on papers: .87365 and .95986).
endless() { awk -v m="$1" -v t="$2" 'BEGIN { printf "%.1f", 100 * t / (m * exp(300 / m) * (exp((t + 60) / m) - 1)) }' </dev/null; }
says "By Daly's equation endless jobs use $(endless 10800 1098.8) % at a failure every 3 h, $(endless 86400 3180.1) % at one"

# --- Power ---
peak() { of power-cappers "$1" 4; }
over() { of power-cappers "$1" 3; }
brakes() { of power-cappers "$1" 2; }
low='static-lock on=low' low_json='{"policy": "static-lock", "on": "low"}'
mean_s() { awk -F'|' -v row="$1" -v n="$2" '$1 == row { print $n }' $page; } # ROW COLUMN: 2 of the chat, 3 of the batch
slower() { calc "100 * ($(mean_s "$1" "$2") / $(mean_s none "$2") - 1)" %.1f; }
for locked in static-lock "$low"; do equal "$(over "$locked")" 0 "seconds over the budget under $locked"; done
holds_that "$(peak "$low") < 1"
says 'A lock of low priority at 1275 MHz for good keeps every reading within the budget in all five seeds'
says "POLCA's paper has up to 20 % less peak for up to 7 % of the performance, over locks down to 1.1 GHz"
equal "$(mean_s "$low_json" 2)" "$(mean_s none 2)" 'seconds of the chat if the batch is locked'
says "The batch pays: its requests take $(slower "$low_json" 3) % longer, and those of the chat as long as before. With a lock of all \
work the peak is $(calc "100 * (1 - $(peak static-lock) / $(peak none))" %.1f) % lower than without a policy, and the chat's take \
$(slower static-lock 2) % longer"
says "above the budget for $(tenths "$(over polca)") and $(tenths "$(over single-threshold)") s of 20 min"
for policy in polca single-threshold; do equal "$(calc "$(brakes $policy)")" 1 "brakes under $policy"; done
says "Under \`polca\` the batch takes $(slower polca 3) % longer, the chat $(slower polca 2) %"
first() { of power-cappers "$1" 1; }
says "TTFT p99 rises by $(longer "$(first polca)" "$(first none)") % under \`polca\`, by $(longer "$(first static-lock)" "$(first none)") % \
under \`static-lock\`"
says 'and the brake engages about once'
says "\`static-cap\` at 325 W lowers the peak by $(calc "100 * (1 - $(peak static-cap) / $(peak none))" %.1f) %, and readings \
exceed the budget for $(calc "$(over static-cap)") s"
study power-cappers
sqlite3 "$T/power-cappers.db" "select cast(m.value as integer) from metric m join param p using (run_id) join run r on r.id = m.run_id
    where m.name = 'power.brakes' and p.value = 'brake' order by r.seed" >"$T/brakes"
says "\`brake\` alone engages $(paste -sd, "$T/brakes" | sed 's/,/, /g; s/\(.*\),/\1 and/') times in the five seeds"
says 'By the time over the budget, five seeds tell no policy from `none`, and `polca` not from `single-threshold`'
for policy in brake polca single-threshold static-lock static-cap; do
    equal "$(tells power-cappers power.over_budget_s capping=none capping=$policy)" 0 "seeds tell $policy from none"
done
equal "$(sqlite3 "$T/power-cappers.db" "select sum(m.value > 1) from metric m join param p using (run_id)
    where m.name = 'power.budget_frac.max' and p.value like '%static-lock%low%'")" 0 'seeds in which the lock of low priority exceeds the budget'
for policy in single-threshold%all static-lock%low; do
    equal "$(apart power-cappers power.over_budget_s none "%$policy%" 2.776)" 0 "seeds tell $policy from none"
done
equal "$(tells power-cappers power.over_budget_s capping=polca capping=single-threshold)" 0 'seeds tell polca from single-threshold'
for policy in polca static-lock; do
    equal "$(tells power-cappers request.ttft_s.p99 capping=none capping=$policy)" 1 "seeds tell the first token under $policy"
done
equal "$(tells power-cappers power.budget_frac.max capping=none capping=static-lock)" 1 'seeds tell the peak of static-lock'

# --- Autoscaling ---
kept() { of daily-wave "$1" 4; }
held() { of daily-wave "$1" 2; }
steps='schedule steps=[..., ..., ..., ...]' two='target-outstanding target=2'
says "With a constant fleet $(calc "100 * $(kept schedule)" %.1f) % of the requests keep the SLO"
says "needs $(less "$(held "$steps")" "$(held schedule)") % less GPU time, and keeps $(calc "100 * $(kept "$steps")" %.1f) %"
says "need $(longer "$(held "$two")" "$(held "$steps")") % more than the schedule, and keep $(calc "100 * $(kept "$two")" %.1f) %"
says 'Three seeds do not tell these two shares apart'
study daily-wave
equal "$(apart daily-wave slo.attained_frac '%steps%' '%outstanding%": 2}' 4.303)" 0 'seeds tell the schedule from two requests per replica'
equal "$(apart daily-wave slo.attained_frac '%steps%' '%outstanding%": 4}' 4.303)" 1 'seeds tell the schedule from four'
says "Four requests per replica keep $(percent "$(kept 'target-outstanding target=4')") %"
says "it keeps $(percent "$(kept target-utilisation)") %, at 0.3 $(percent "$(kept 'target-utilisation target=0.3')") %"
holds_that "$(held 'target-utilisation of=time') > 0.95 * $(held schedule)"

# --- Rental ---
rate() { of replica-rates "$1 $2" 4 | sed 's,/s,,'; }
usd_l4=0.7 usd_a10g=1.01 usd_a100=3.67
scenario=configs/scenarios/unlike-fleet.json
for kind in l4:l4 a10g:a10g a100:a100-80-sxm h100:h100-sxm; do
    grep -qF "\"${kind%:*}\": { \"max_throughput\": [\"$(rate "${kind#*:}" 200)/s\", \"$(rate "${kind#*:}" 3000)/s\"] }" $scenario ||
        complain "$scenario has other rates of ${kind#*:} than the page"
done
per_usd() { # KIND USD PROMPT: requests per dollar, over those of an A100
    calc "$(rate "$1" "$3") / $2 / ($(rate a100-80-sxm "$3") / $usd_a100)" %.2f
}
says "Per dollar an L4 serves $(per_usd l4 $usd_l4 200) times as many short requests as an A100, an A10G $(per_usd a10g $usd_a10g 200) \
times. Of long ones an A100 serves $(tenths "1 / $(per_usd a10g $usd_a10g 3000)") times as many as an A10G"
says 'In the paper it is up to 2.6 (A10G) and 1.5 times'
says 'At 4 requests/s five L4 are best'
usd() { of unlike-fleet "$1 jsq-tokens" 2; }
ms() { calc "1000 * $(of unlike-fleet "$1" 1)"; }
for policy in melange cheapest-single-type; do equal "$(usd "4/s $policy")" "$(calc "5 * $usd_l4" %.1f)" 'price at 4 requests/s: five L4'; done
equal "$(usd '8/s melange') $(usd '8/s cheapest-single-type')" "$(calc "2 * $usd_l4 + $usd_a100" %.2f) $(calc "10 * $usd_l4")" \
    'price at 8 requests/s of two L4 and an A100, and of ten L4'
equal "$(usd '16/s melange') $(usd '16/s cheapest-single-type')" \
    "$(calc "$usd_l4 + 2 * $usd_a10g + 2 * $usd_a100" %.2f) $(calc "3 * $usd_a100" %.2f)" \
    'price at 16 requests/s of an L4, two A10G and two A100, and of three A100'
says "cost $(less "$(usd '8/s melange')" "$(usd '8/s cheapest-single-type')") % less than ten L4. At 16/s an L4, two A10G and two \
A100 cost $(less "$(usd '16/s melange')" "$(usd '16/s cheapest-single-type')") % less than three A100"
# Fleets of Mélange's tables (Mixed, 120 ms): the mix, and the A100 alone, the cheapest single type at these rates.
says "come to $(less 9.536 "(3 * $usd_a100)") %, $(less 13.906 "(5 * $usd_a100)") % and $(less 28.762 "(10 * $usd_a100)") % less than the cheapest"
for at in 8/s 16/s; do
    for router in least-outstanding jsq-tokens; do
        holds_that "$(ms "$at melange $router") > 120 && $(ms "$at cheapest-single-type $router") < 120"
    done
done
says "The mix misses the 120 ms at both rates, by \`least-outstanding\` ($(ms '8/s melange least-outstanding') and $(ms '16/s melange least-outstanding') ms) and by \
\`jsq-tokens\` ($(ms '8/s melange jsq-tokens') and $(ms '16/s melange jsq-tokens') ms). The single type keeps them by either router"

bill() { of rented-jobs "$1" 5; }
jct() { of rented-jobs "$1" "${2:-4}"; } # ROW [3: train, 2: tune]
fleet() { echo "$1 fixed-fleet \$0.86/h"; }
asked() { echo "$1 as-asked \$1.29/h"; }
width() { echo "$1 fixed-width bu \$1.29/h"; }
says "At the load of 0.5 renting as jobs ask costs $(less "$(bill "$(asked 0.5)")" "$(bill "$(fleet 0.5)")") % less per job. At 1.5 \
the fleet costs $(less "$(bill "$(fleet 1.5)")" "$(bill "$(asked 1.5)")") % less, but jobs wait for \
$(calc "$(of rented-jobs "$(fleet 1.5)" 1) / 60") min, and take $(longer "$(jct "$(fleet 1.5)")" "$(jct "$(asked 1.5)")") % longer"
says "and the mean job ends $(sooner "$(jct "$(width 1.5)")" "$(jct "$(asked 1.5)")") % sooner. Training pays: it ends \
$(longer "$(jct "$(width 1.5)" 3)" "$(jct "$(asked 1.5)" 3)") % later, and tuning $(sooner "$(jct "$(width 1.5)" 2)" "$(jct "$(asked 1.5)" 2)") % sooner"
holds_that "$(bill "$(width 1.5)") <= 1.01 * $(bill "$(asked 1.5)") && $(bill "$(width 1.5)") >= 0.99 * $(bill "$(asked 1.5)")"

# --- Offloading ---
speed() { of larger-than-memory "$1" 4; }
preempted() { of larger-than-memory "$1" 2; }
gpu='flexgen host_attention=false' some='zero-inference weights_gpu=0.4' vllm='vllm-cpu cpu_offload=32GB'
for other in "$vllm" flexgen-slo zero-inference "$some" flexgen "$gpu"; do holds_that "$(speed '4 select-n') > $(speed "4 $other")"; done
says "\`flexgen\` makes $(calc "$(speed "64 $gpu")") tokens/s without attention on the CPU, \
$(tenths "$(speed "64 $gpu") / $(speed "64 $vllm")") times as many"
says "\`zero-inference\` is $(less "$(speed "64 $some")" "$(speed "64 $gpu")") % behind that with 40 % of the weights on the GPU, and \
$(less "$(speed '64 zero-inference')" "$(speed "64 $gpu")") % without any"
says "With attention on the CPU, its default, \`flexgen\` makes $(calc "$(speed '64 flexgen')")"
says "With four sequences attention on the CPU costs $(less "$(speed '4 flexgen')" "$(speed "4 $gpu")") %"
for n in 4 64; do
    for block in flexgen "$gpu"; do equal "$(preempted "$n $block")" 0 "sequences that FlexGen's block of $n preempts: $block"; done
done
holds_that "$(preempted "64 $vllm") > 0"
e2e() { of preempted-kv "$1" 3; }
says "requests take $(sooner "$(e2e '1GB/s recompute')" "$(e2e '1GB/s swap')") % less time by \`recompute\` than by \`swap\`, with 4 GB/s \
$(sooner "$(e2e '4GB/s recompute')" "$(e2e '4GB/s swap')") % less"
says "\`swap\` is ahead by $(calc "100 * ($(e2e '24GB/s recompute') / $(e2e '24GB/s swap') - 1)" %.1f) %"

# --- Batching ---
kept() { percent "$(of batchers "$1" 4)"; }
gap() { of batchers "$1" 2; }
ft='fastertransformer max_tokens=4096' trtllm='trtllm max_tokens=4096' orca='orca max_tokens=4096'
reserving="$ft:$trtllm:$orca:sglang" others='vllm-v1:sarathi:vllm-v0:distserve:splitwise'
rows() { echo "$1" | tr : '\n'; } # LIST: its rows, one a line
least() { rows "$1" | while read -r row; do echo "${row%% *} $("$2" "$3 $row")"; done | first_of; } # LIST COLUMN BLOCKS
most() { rows "$1" | while read -r row; do echo "$row -$("$2" "$3 $row")"; done | first_of; }
study batchers
named() { case $1 in *=*) echo "services.chat.batching.policy=${1%% *}" ;; *) echo "batching=$1" ;; esac; }
told() { tells batchers slo.attained_frac "blocks=$1,$(named "$2")" "blocks=$1,$(named "$3")"; } # BLOCKS ROW ROW
all="$trtllm:$orca:sglang:$others"
equal "$(least "$all" kept 28000) $(most "$others" kept 28000)" 'distserve vllm-v1' 'batchers that keep least and most'
says "all keep $(kept '28000 distserve') to $(kept '28000 vllm-v1') %, except \`fastertransformer\` with $(kept "28000 $ft") %"
says 'Five seeds tell `vllm-v1` only from that and from `distserve`'
rows "$ft:$trtllm:$orca:sglang:sarathi:vllm-v0:distserve:splitwise" >"$T/rows"
while read -r row; do
    expected=0
    case $row in fastertransformer*|distserve) expected=1 ;; esac
    equal "$(told 28000 vllm-v1 "$row")" $expected "seeds tell vllm-v1 from $row"
done <"$T/rows"
equal "$(least "$ft:$all" gap 28000)" fastertransformer 'batcher with the shortest pauses'
equal "$(least "$all" gap 28000)" sarathi 'batcher with the shortest pauses of the others'
says "The pauses of \`fastertransformer\` are the shortest, but the first token takes $(calc "$(of batchers "28000 $ft" 3)") s. Of the \
others \`sarathi\` has the shortest pauses"
says "least: \`fastertransformer\` $(kept "3500 $ft") %, \`trtllm\` $(kept "3500 $trtllm") %, \`orca\` $(kept "3500 $orca") %, and \
\`sglang\`, which reserves a part, $(kept '3500 sglang') %"
rows "$reserving" >"$T/rows"
while read -r row; do
    equal "$(told 3500 vllm-v1 "$row")" 1 "seeds tell vllm-v1 from $row"
    rows "$others" | while read -r other; do echo "$(kept "3500 $row") < $(kept "3500 $other")"; done >"$T/less"
    while read -r claim; do holds_that "$claim"; done <"$T/less"
done <"$T/rows"
says "\`vllm-v1\` preempts $(calc "$(of batchers '3500 vllm-v1' 1)") times, and keeps $(kept '3500 vllm-v1') %. \`vllm-v0\`, \`sarathi\` and \
\`splitwise\` keep $(kept '3500 sarathi') to $(kept '3500 vllm-v0') %. Five seeds tell none of these four from another"
holds_that "$(kept '3500 sarathi') <= $(kept '3500 splitwise') && $(kept '3500 splitwise') <= $(kept '3500 vllm-v0')"
for pair in vllm-v1:vllm-v0 vllm-v1:sarathi vllm-v1:splitwise vllm-v0:sarathi vllm-v0:splitwise sarathi:splitwise; do
    equal "$(told 3500 ${pair%:*} ${pair#*:})" 0 "seeds tell $pair"
done

# --- Eviction: blocks found, and those that requests can use, of six traces; the page has the first ---
grep '^\$ orrery trace ' $page | sed 's/^\$ orrery //' >"$T/calls"
for seed in 1 2 3 4 5 6; do
    sed "s/trace generate /&--seed $seed /; s,talks.jsonl,$T/talks.jsonl,; s,2>log.txt,>$T/log.txt," "$T/calls" | sed "s,^,$ORRERY ," |
        sh >"$T/caches.$seed" 2>"$T/caches.err"
done
awk '/^prefix_cache / { inside = 1 } /^```/ { inside = 0 } inside' $page | cmp -s - "$T/caches.1" || complain 'the page has not the first trace'
# more N ROW ROOM BASE: percent by which column N of the row is above that of the base, in each trace.
more() {
    awk -v n="$1" -v row="$2" -v room="$3" -v base="$4" '$1 == row && $2 == room { x = $n } $1 == base && $2 == room { y = $n }
        $1 == "belady" && $2 == 2000 { printf "%.1f\n", 100 * (x / y - 1) }' "$T"/caches.[1-6] | sort -n
}
ends() { more "$@" | sed -n '1p; $p' | xargs printf '%.0f %.0f'; } # the least and the most, in whole percent
wrong=discard-bit:error=0.1
for room in 500 2000; do
    equal "$(ends 5 discard-bit $room belady)" '0 0' "blocks found by right advice, with room for $room"
    for other in lru marking phase-bit phase-bit:error=0.1 $wrong $wrong:algorithm=flush; do
        equal "$(more 5 $other $room belady | awk '$1 > 0' | wc -l)" 0 "traces in which $other finds more than belady"
    done
    equal "$(more 4 $wrong $room lru | awk '$1 < 0' | wc -l)" 6 "traces in which requests use fewer blocks by $wrong, room for $room"
    more 4 phase-bit:error=0.1 $room lru >"$T/wrong_phases"
    equal "$(awk '$1 > 0 { up = 1 } $1 < 0 { down = 1 } END { print up + down }' "$T/wrong_phases")" 2 "signs by wrong phases, room for $room"
done
equal "$(more 4 $wrong:algorithm=flush 2000 lru | awk '$1 > 0 { up = 1 } $1 < 0 { down = 1 } END { print up + down }')" 2 'signs of flush'
range() { ends "$@" | sed 's/ / to /'; }
span() { # PATTERN_ARGUMENTS...: the range over both sizes of the cache, of the size of the difference
    { more "$1" "$2" 500 lru; more "$1" "$2" 2000 lru; } | tr -d - | sort -n | sed -n '1p; $p' | xargs printf '%.0f to %.0f'
}
says 'right advice on single blocks (`discard-bit`) finds all that `belady` does'
says 'With more room, or by wrong advice on phases, it is more in some traces and fewer in others'
says "With room for 500 it finds $(range 5 belady 500 lru) % more blocks than \`lru\`, with room for 2,000 $(range 5 belady 2000 lru) %. \
Advice on phases finds $(span 5 phase-bit) % more. If one bit in ten is wrong, requests can use $(span 4 $wrong) % fewer"
says "With \`flush\` and room for 500 it is $(range 4 $wrong:algorithm=flush 500 lru) % more"
says "\`marking\` gets no advice: requests can use $(span 4 marking) % fewer"
# Mark&Predict misses at most twice as often as the best.
equal "$(awk '$1 == "phase-bit" { missed[$2] = $3 - $5 } $1 == "belady" && missed[$2] <= 2 * ($3 - $5) { n++ } END { print n }' \
    "$T"/caches.[1-6])" 12 'caches in which phase-bit misses at most twice as often as belady'
finish
