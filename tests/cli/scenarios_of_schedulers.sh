#!/bin/sh
# The answers to the questions about single schedulers, as their page gives them, follow from the page's tables. These
# are what the studies print (tests/cli/pages.sh).
. tests/cli/lib.sh

page=configs/scenarios/gallery/schedulers/README.md
. tests/cli/lib_page.sh

jct() { of unlike-gpus "$1" 4; }
held() { of unlike-gpus "$1" 1; }
restarts() { of unlike-gpus "$1" 2; }
for restart in 30s 3min; do
    for other in gavel gavel-fifo-perf gavel-isolated; do
        holds_that "$(jct "$restart sia") < $(jct "$restart $other")"
        holds_that "$(jct "$restart gavel-fifo-perf") <= $(jct "$restart $other")"
    done
done
says "Jobs end $(sooner "$(jct '30s sia')" "$(jct '30s gavel-fifo-perf')") % sooner under \`sia\`"
says "Without more GPUs than requested it is $(sooner "$(jct '30s sia most_gpus=1')" "$(jct '30s gavel-fifo-perf')") %."
says "jobs hold $(longer "$(held '30s sia')" "$(held '30s gavel-fifo-perf')") % more of it"
says "jobs end $(sooner "$(jct '3min sia')" "$(jct '3min gavel-fifo-perf')") % sooner and hold \
$(longer "$(held '3min sia')" "$(held '3min gavel-fifo-perf')") % more"
holds_that "$(restarts '3min sia') >= $(restarts '30s sia')"
says "with $(calc "$(restarts '30s gavel') / $(restarts '30s gavel-fifo-perf')" %.0f) times as many restarts"
says "and take $(longer "$(jct '30s gavel')" "$(jct '30s gavel-fifo-perf')") % longer."

jct() { of fair-finishes "$1" 1; }
worst() { of fair-finishes "$1" 2; }
mean() { of fair-finishes "$1" 3; }
for load in 1 1.5; do
    for other in tiresias fifo-skip easy; do holds_that "$(worst "$load themis") < $(worst "$load $other")"; done
    holds_that "$(worst "$load afs") < $(worst "$load themis")"
    holds_that "$(mean "$load themis fairness=0") < $(mean "$load themis")"
done
says "At the load of 1 one job in a hundred takes over $(tenths "$(worst '1 themis')") times as long as on a fair \
share. Under \`tiresias\` it is $(tenths "$(worst '1 tiresias')") times, under \`fifo-skip\` \
$(tenths "$(worst '1 fifo-skip')") times and under \`easy\` $(calc "$(worst '1 easy')" %.0f) times"
says "jobs end $(sooner "$(jct '1 themis')" "$(jct '1 tiresias')") % sooner than under \`tiresias\`"
equal "$(tenths "$(worst '1 themis fairness=0')")" "$(tenths "$(worst '1 tiresias')")" 'the worst-off, if all bid'
says "The worst-off then wait as under \`tiresias\` at the load of 1, and longer at 1.5: \
$(tenths "$(worst '1.5 themis fairness=0')") times against $(tenths "$(worst '1.5 tiresias')")"
holds_that "$(worst '1.5 themis fairness=0') > $(worst '1.5 tiresias')"
equal "$(tenths "$(worst '1 afs')")" "$(tenths "$(worst '1.5 afs')")" 'the worst-off under afs, at both loads'
says "is fairer than \`themis\`, $(tenths "$(worst '1 afs')") times at either load. At the load of 1 jobs end \
$(sooner "$(jct '1 afs')" "$(jct '1 themis')") % sooner"
says "takes over $(tenths "$(worst '1.5 optimus')") times as long under it, and jobs end \
$(longer "$(jct '1.5 optimus')" "$(jct '1.5 themis')") % later than under \`themis\`"

met() { percent "$(of overloaded-deadlines "$1" 3)"; }
says "\`edf\` keeps $(met '0.8 edf') % and $(met '1.4 edf') % of the deadlines"
says "at a load of 2 it keeps $(met '2 edf') %. \`tiresias\`, which knows neither deadlines nor run times, keeps \
$(met '2 tiresias') %, and \`sjf\` with the users' estimates $(met '2 sjf') %"
says "At 2.8 it is $(met '2.8 edf') % against $(met '2.8 tiresias') % and $(met '2.8 sjf') %"
says "by the users' estimates, and keeps $(met '2.8 elasticflow') %"
for other in elasticflow tiresias sjf; do holds_that "$(met '2 edf') < $(met "2 $other")"; done
says "keeps more at 0.8, $(calc "100 * $(of overloaded-deadlines '0.8 elasticflow' 3)" %.1f) %"
for other in tiresias sjf fifo-skip; do
    holds_that "$(of overloaded-deadlines '0.8 edf' 3) > $(of overloaded-deadlines "0.8 $other" 3)"
done
holds_that "$(met '0.8 elasticflow') > $(met '0.8 edf')"
holds_that "$(met '1.4 edf') > $(met '1.4 fifo-skip')"

jct() { of light-jobs "$1" 3; }
slowdown() { of light-jobs "$1" 1; }
alone='lucid least_speed=1 most_ratio=0'
equal "$(sooner "$(jct '0.6 lucid')" "$(jct "0.6 $alone")")" 0 'gain of sharing at 0.6, in %'
says "At the load of 0.6 sharing gains nothing. At 0.9 jobs end $(sooner "$(jct '0.9 lucid')" "$(jct "0.9 $alone")") % \
sooner under \`lucid\` than without sharing, at 1.2 $(sooner "$(jct '1.2 lucid')" "$(jct "1.2 $alone")") % sooner"
eager='lucid eager=true' quiet='lucid eager=true quiet_jobs=1'
says "By that jobs end $(sooner "$(jct "1.2 $eager")" "$(jct '1.2 lucid')") % sooner at 1.2 and \
$(calc "100 * ($(jct "0.9 $eager") / $(jct '0.9 lucid') - 1)" %.1f) % later at 0.9. At 0.6 they end \
$(longer "$(jct "0.6 $eager")" "$(jct "0.6 $alone")") % later than without sharing"
says "(\`quiet_jobs\`), jobs end $(sooner "$(jct "1.2 $quiet")" "$(jct '1.2 lucid')") % sooner at 1.2, \
$(calc "100 * ($(jct "0.9 $quiet") / $(jct '0.9 lucid') - 1)" %.1f) % later at 0.9 and \
$(longer "$(jct "0.6 $quiet")" "$(jct "0.6 $alone")") % later at 0.6."
says "the mean slowdown at 1.2 is $(calc "$(slowdown '1.2 lucid')" %.2f), under \`tiresias\` \
$(calc "$(slowdown '1.2 tiresias')" %.2f)"
says "its jobs end $(longer "$(jct '1.2 tiresias')" "$(jct '1.2 lucid')") % later"
says "Its jobs end $(longer "$(jct '0.6 gandiva')" "$(jct '0.6 tiresias')") % later than those of \`tiresias\` at 0.6"
says "$(sooner "$(jct '1.2 gavel-fifo-packed')" "$(jct '1.2 gavel-fifo-perf')") % sooner at 1.2 than without sharing"
says "jobs take $(tenths "$(jct '1.2 gavel-fifo-packed') / $(jct '1.2 lucid')") times as long as under \`lucid\`"
finish
