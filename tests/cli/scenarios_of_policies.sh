#!/bin/sh
# The answers to one question per family of policies, as their page gives them, follow from the page's tables. These are
# what the program prints (tests/cli/pages.sh). Closed forms and bounds hold for them, too.
. tests/cli/lib.sh

page=configs/scenarios/gallery/policies/README.md
. tests/cli/lib_page.sh
less() { sooner "$1" "$2"; }

# --- Placement ---
left() { calc "512 - $(of shared-gpus "$1" 2)"; }
left_frac() { calc "100 * (512 - $(of shared-gpus "$1" 2)) / 512" %.1f; }
broken() { of shared-gpus "$1" 1; }
fgd='1 fgd ties=shuffled'
says "\`fgd\` leaves $(left "$fgd") GPUs unallocated, $(left_frac "$fgd") % of the cluster"
for other in 'best-fit ties=shuffled' 'packing ties=shuffled' 'dot-product ties=shuffled' topology-aware first-fit; do
    equal "$(calc "$(left "1 $other") - $(left '1 best-fit ties=shuffled') <= 1")" 1 "GPUs that $other leaves"
    holds_that "$(left "1 $other") >= $(left "$fgd")"
done
says "leave $(left '1 best-fit ties=shuffled'), which ten seeds"
says "\`clustering\` leaves $(left '1 clustering ties=shuffled'), \`random\` $(left '1 random') and \`worst-fit\` \
$(left '1 worst-fit ties=shuffled')"
says "The fragmentation is $(less "$(broken "$fgd")" "$(broken '1 best-fit ties=shuffled')") % less under \`fgd\` than"
# The rarest kind of the sample, which the other kinds cover 95 % without, has four GPUs.
equal "$(awk -F, 'NR > 1 { n[$2 "," $4 "," $5]++ } END { for (k in n) print n[k], k }' traces/samples/shares.csv | sort -n |
    sed -n '1p')" '4 40000,4,1000' 'the rarest kind of the sample'
width() { # ROW: of the interval of the GPUs in use
    awk -v row="$1" '/^\$ orrery sweep / { inside = $4 == "shared-gpus" } { line = $0; gsub(/ +/, " ", line) }
        inside && index(line, row " ") == 1 { split(line, end, /[()]| [.][.] /); print end[3] - end[2] }' $page
}
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
equal "$(points daly 3h checkfreq)" "$(points daly 1d checkfreq)" 'points that checkfreq loses'
says "It loses $(points daly 3h checkfreq) point against \`daly\` at a failure every 3 h and each day, and \
$(points daly 30d checkfreq) points at one in 30 days"
equal "$(points daly 30d none)" 0 'points that none loses at a failure in 30 days'
# Daly's equation at the interval, without an end (K1 and K3 of the notes on papers: .87365 and .95986).
endless() { awk -v m="$1" -v t="$2" 'BEGIN { printf "%.1f", 100 * t / (m * exp(300 / m) * (exp((t + 60) / m) - 1)) }' </dev/null; }
says "By Daly's equation endless jobs use $(endless 10800 1098.8) % at a failure every 3 h, $(endless 86400 3180.1) % at one"

# --- Power ---
peak() { of power-cappers "$1" 6; }
over() { of power-cappers "$1" 5; }
brakes() { of power-cappers "$1" 4; }
takes() { of power-cappers "$1" 1; }
low='static-lock on=low'
for locked in static-lock "$low"; do equal "$(over "$locked")" 0 "seconds over the budget under $locked"; done
holds_that "$(peak "$low") < 1"
says "Requests take $(calc "100 * ($(takes "$low") / $(takes none) - 1)" %.1f) % longer. With a lock of all work the peak is \
$(calc "100 * (1 - $(peak static-lock) / $(peak none))" %.1f) % lower than without a policy, and requests take \
$(calc "100 * ($(takes static-lock) / $(takes none) - 1)" %.1f) % longer"
says "above the budget for $(tenths "$(over polca)") and $(tenths "$(over single-threshold)") s of 20 min"
for policy in polca single-threshold; do equal "$(calc "$(brakes $policy)")" 1 "brakes under $policy"; done
says "\`static-cap\` at 325 W lowers the peak by $(calc "100 * (1 - $(peak static-cap) / $(peak none))" %.1f) %, and readings \
exceed the budget for $(calc "$(over static-cap)") s"
says "\`brake\` alone engages $(calc "$(brakes brake)") times"
holds_that "$(over brake) > 0.9 * $(over none)"

# --- Autoscaling ---
kept() { of daily-wave "$1" 4; }
held() { of daily-wave "$1" 2; }
steps='schedule steps=[..., ..., ..., ...]' two='target-outstanding target=2'
says "A constant fleet keeps $(calc "100 * $(kept schedule)" %.1f) % of the SLO"
says "needs $(less "$(held "$steps")" "$(held schedule)") % less GPU time, and keeps $(calc "100 * $(kept "$steps")" %.1f) %"
says "need $(longer "$(held "$two")" "$(held "$steps")") % more than the schedule, and keep $(calc "100 * $(kept "$two")" %.1f) %"
says "Four requests per replica keep $(percent "$(kept 'target-outstanding target=4')") %"
says "it keeps $(percent "$(kept target-utilisation)") %, at 0.3 $(percent "$(kept 'target-utilisation target=0.3')") %"
holds_that "$(held 'target-utilisation of=time') > 0.95 * $(held schedule)"

# --- Rental ---
rate() { of replica-rates "$1 $2" 4 | sed 's,/s,,'; }
usd_a10g=1.01 usd_a100=3.67
scenario=configs/scenarios/unlike-fleet.json
for kind in a10g:a10g a100:a100-80-sxm h100:h100-sxm; do
    grep -qF "\"${kind%:*}\": { \"max_throughput\": [\"$(rate "${kind#*:}" 200)/s\", \"$(rate "${kind#*:}" 3000)/s\"] }" $scenario ||
        complain "$scenario has other rates of ${kind#*:} than the page"
done
says "Per dollar an A10G serves $(calc "$(rate a10g 200) / $usd_a10g / ($(rate a100-80-sxm 200) / $usd_a100)" %.2f) times as many \
short requests as an A100. Of long ones an A100 serves \
$(tenths "$(rate a100-80-sxm 3000) / $usd_a100 / ($(rate a10g 3000) / $usd_a10g)") times as many as an A10G"
usd() { of unlike-fleet "$1 jsq-tokens" 3; }
ms() { calc "1000 * $(of unlike-fleet "$1" 2)"; }
equal "$(usd '8/s melange') $(usd '8/s cheapest-single-type')" "$(calc "2 * $usd_a10g + $usd_a100" %.2f) $(calc "7 * $usd_a10g" %.2f)" \
    'price at 8 requests/s of two A10G and an A100, and of seven A10G'
equal "$(usd '16/s cheapest-single-type')" "$(calc "3 * $usd_a100" %.2f)" 'price of three A100'
for policy in melange cheapest-single-type; do equal "$(usd "4/s $policy")" $usd_a100 'price at 4 requests/s'; done
says "cost $(less "$(usd '8/s melange')" "$(usd '8/s cheapest-single-type')") % less than seven A10G. At 16/s the mix costs \
$(less "$(usd '16/s melange')" "$(usd '16/s cheapest-single-type')") % less than three A100"
# Fleets of Mélange's tables (Mixed, 120 ms): the mix, and the A100 alone, the cheapest single type at these rates.
says "come to $(less 9.536 "(3 * $usd_a100)") %, $(less 13.906 "(5 * $usd_a100)") % and $(less 28.762 "(10 * $usd_a100)") % less than the cheapest"
for at in 8/s 16/s; do
    holds_that "$(ms "$at melange least-outstanding") > 120"
    for router in least-outstanding jsq-tokens; do holds_that "$(ms "$at cheapest-single-type $router") < 120"; done
done
says "By \`jsq-tokens\` it keeps them at 8/s with $(ms '8/s melange jsq-tokens') ms, and takes $(ms '16/s melange jsq-tokens') ms at 16/s"

bill() { of rented-jobs "$1" 4; }
jct() { of rented-jobs "$1" 3; }
fleet() { echo "$1 fixed-fleet \$0.86/h 4 fifo-skip"; }
asked() { echo "$1 as-asked \$1.29/h 64 fifo"; }
width() { echo "$1 fixed-width bu \$1.29/h 64 fifo"; }
says "At the load of 0.5 renting as jobs ask costs $(less "$(bill "$(asked 0.5)")" "$(bill "$(fleet 0.5)")") % less per job. At 1.5 \
the fleet costs $(less "$(bill "$(fleet 1.5)")" "$(bill "$(asked 1.5)")") % less, but jobs wait for \
$(calc "$(of rented-jobs "$(fleet 1.5)" 2) / 60") min, and take $(longer "$(jct "$(fleet 1.5)")" "$(jct "$(asked 1.5)")") % longer"
says "jobs end $(sooner "$(jct "$(width 1.5)")" "$(jct "$(asked 1.5)")") % sooner by \`fixed-width\`"
holds_that "$(bill "$(width 1.5)") <= 1.01 * $(bill "$(asked 1.5)")"

# --- Offloading ---
speed() { of larger-than-memory "$1" 4; }
preempted() { of larger-than-memory "$1" 2; }
gpu='flexgen host_attention=false' some='zero-inference weights_gpu=0.4' vllm='vllm-cpu cpu_offload=32GB'
for other in "$vllm" flexgen-slo zero-inference "$some" flexgen "$gpu"; do holds_that "$(speed '4 select-n') > $(speed "4 $other")"; done
says "\`flexgen\` makes $(calc "$(speed "64 $gpu")") tokens/s without attention on the CPU, \
$(tenths "$(speed "64 $gpu") / $(speed "64 $vllm")") times as many"
says "\`zero-inference\` is $(less "$(speed "64 $some")" "$(speed "64 $gpu")") % behind it with 40 % of the weights on the GPU, and \
$(less "$(speed '64 zero-inference')" "$(speed "64 $gpu")") % without any"
says "FlexGen's default, it makes $(calc "$(speed '64 flexgen')")"
for n in 4 64; do equal "$(preempted "$n $gpu")" 0 "sequences that FlexGen's block of $n preempts"; done
holds_that "$(preempted "64 $vllm") > 0"
e2e() { of preempted-kv "$1" 3; }
says "requests take $(sooner "$(e2e '1GB/s recompute')" "$(e2e '1GB/s swap')") % less time than with swapping, with 4 GB/s \
$(sooner "$(e2e '4GB/s recompute')" "$(e2e '4GB/s swap')") % less"
says "swapping is ahead by $(calc "100 * ($(e2e '24GB/s recompute') / $(e2e '24GB/s swap') - 1)" %.1f) %"

# --- Batching ---
kept() { percent "$(of batchers "$1" 4)"; }
for other in sglang 'trtllm max_tokens=4096' sarathi vllm-v0 distserve splitwise 'orca max_tokens=4096'; do
    holds_that "$(kept "28000 $other") >= $(kept '28000 distserve') && $(kept "28000 $other") <= $(kept '28000 vllm-v1')"
done
says "all keep $(kept '28000 distserve') to $(kept '28000 vllm-v1') %"
says "\`trtllm\` $(kept '3500 trtllm max_tokens=4096') %, \`orca\` $(kept '3500 orca max_tokens=4096') %, \`sglang\` $(kept '3500 sglang') %"
says "\`vllm-v1\` preempts $(calc "$(of batchers '3500 vllm-v1' 1)") times, and keeps $(kept '3500 vllm-v1') %"
holds_that "$(kept '3500 sarathi') >= 87 && $(kept '3500 vllm-v0') <= 88 && $(kept '3500 splitwise') >= 87"

# --- Eviction: blocks found, and those that requests can use ---
blocks() { awk -v cache="$1" -v room="$2" -v n="$3" '$1 == cache && $2 == room { print $n }' $page; }
found() { blocks "$1" "$2" 6; }
used() { blocks "$1" "$2" 4; }
wrong=discard-bit:error=0.1
for room in 500 2000; do
    equal "$(found discard-bit $room)" "$(found belady $room)" "blocks found by right advice, with room for $room"
    for other in lru marking phase-bit phase-bit:error=0.1 $wrong $wrong:algorithm=flush; do
        holds_that "$(found $other $room) <= $(found belady $room) && $(used $other $room) <= $(found $other $room)"
    done
    # Mark&Predict misses at most twice as often as the best.
    holds_that "29716 - $(found phase-bit $room) <= 2 * (29716 - $(found belady $room))"
    holds_that "$(used $wrong $room) < $(used lru $room)"
done
equal "$(calc "$(found belady 500) / $(found lru 500)")" 2 'blocks that belady finds, over those of lru'
says "$(longer "$(found belady 2000)" "$(found lru 2000)") % more with room for 2,000. Advice on phases finds \
$(longer "$(found phase-bit 500)" "$(found lru 500)") % and $(longer "$(found phase-bit 2000)" "$(found lru 2000)") % more"
says "With \`flush\` it is $(longer "$(used $wrong:algorithm=flush 500)" "$(used lru 500)") % and \
$(longer "$(used $wrong:algorithm=flush 2000)" "$(used lru 2000)") % more"
says "it is $(longer "$(used phase-bit:error=0.1 500)" "$(used lru 500)") % more with little room, and \
$(sooner "$(used phase-bit:error=0.1 2000)" "$(used lru 2000)") % fewer with more"
finish
