#!/bin/sh
# The answers to the studies of schedulers, as their page gives them, follow from the page's tables. These are what the
# studies print (tests/cli/pages.sh).
. tests/cli/lib.sh

page=configs/studies/families/README.md
. tests/cli/lib_page.sh

jct() { of adaptive-jobs "$1" 3; }
says "jobs end $(sooner "$(jct '0.6 pollux')" "$(jct '0.6 tiresias')") %, $(sooner "$(jct '0.6 sia')" "$(jct '0.6 tiresias')") % and \
$(sooner "$(jct '0.6 afs')" "$(jct '0.6 tiresias')") % sooner under \`pollux\`, \`sia\` and \`afs\` than under \`tiresias\`"
says "At the high load it is $(sooner "$(jct '1.2 pollux')" "$(jct '1.2 tiresias')") %, $(sooner "$(jct '1.2 sia')" "$(jct '1.2 tiresias')") % and \
$(sooner "$(jct '1.2 afs')" "$(jct '1.2 tiresias')") %."

jct() { of paired-jobs "$1" 3; }
packed=$(jct gavel-packed)
says "jobs end $(sooner "$packed" "$(jct 'gavel-packed shares=false')") % sooner under \`gavel-packed\`"
says "ahead of it by $(sooner "$(jct lucid)" "$packed") % and $(sooner "$(jct horus)" "$packed") %, which"
says "\`gavel-fifo-packed\` is $(sooner "$(jct gavel-fifo-packed)" "$(jct gavel-fifo-perf)") % ahead of"

jct() { of interleaved-jobs "$1" 3; }
for load in 0.9 1.25; do
    muri=$(jct "$load muri")
    of_tiresias="${of_tiresias:-} $(sooner "$muri" "$(jct "$load tiresias")")"
    of_srsf="${of_srsf:-} $(sooner "$muri" "$(jct "$load srsf")")"
    of_four="${of_four:-} $(sooner "$(jct "$load muri most=2")" "$muri")"
    of_antman="${of_antman:-} $(sooner "$(jct "$load antman")" "$(jct "$load tiresias")")"
done
set -- $of_tiresias $of_srsf $of_four $of_antman
says "jobs end $1 % sooner than under \`tiresias\` at the low load, and $2 % sooner at the high one"
says "it is $3 % and $4 %. Groups of two at most gain a further $5 % and $6 %"
equal "$7" "$8" 'gain of antman, at both loads'
says "It is $7 % ahead of \`tiresias\` at either load"

jct() { of job-sizes "$1" 3; }
later() { longer "$(jct "$1")" "$(jct srtf)"; }
says "take $(later tiresias) %, $(later lucid-tiresias) % and $(later tiresias-gittins) % longer"
says "\`sjf\` with the users' estimates takes $(later sjf) % longer, and \`qssf\`, which predicts run times from ended jobs, $(later qssf) %."
says "takes from $(later fifo-migrate) % longer with migrations to $(later fifo) % in strict order"
says "\`fewest-gpus\` takes $(later fewest-gpus) %"
skips=$(jct fifo-skip)
says "than \`fifo-skip\`: $(longer "$(jct easy)" "$skips") % and $(longer "$(jct conservative)" "$skips") %"
holds_that "$(jct fifo-migrate) < $skips"

met() { percent "$(of kept-deadlines "$1" 2)"; }
says "\`elasticflow\` keeps $(met 'law=exact 0.5 1.5 elasticflow') % of the tight deadlines, and \`edf\` $(met 'law=exact 0.5 1.5 edf') %"
erring='law=lognormal sigma=0.3'
says "it keeps $(met "$erring 0.5 1.5 elasticflow") %, fewer than \`srtf\`"
holds_that "$(met "$erring 0.5 1.5 elasticflow") < $(met "$erring 0.5 1.5 srtf")"
says "\`edf\` keeps $(met "$erring 1.2 4 edf") % without any estimate, \`elasticflow\` $(met "$erring 1.2 4 elasticflow") % with those that err, and \`chronus\` $(met "$erring 1.2 4 chronus") %"

jct() { of divisible-jobs "$1" 2; }
gains=
for rate in 1000000/h 6/h; do
    for exponent in 0.3 0.6 0.9; do
        hesrpt=$(jct "$rate $exponent hesrpt exponent=$exponent")
        equi=$(jct "$rate $exponent equi")
        holds_that "$hesrpt < $(jct "$rate $exponent all-to-shortest")"
        [ $rate = 6/h ] || holds_that "$hesrpt < $equi"
        gains="$gains $(sooner "$hesrpt" "$equi")"
    done
done
set -- $gains
says "at every exponent, as its authors prove: $1 %, $2 % and $3 % less than \`equi\`"
says "it is ${4#-} % and ${5#-} % behind \`equi\` at the exponents 0.3 and 0.6, and $6 % ahead at 0.9"

jct() { of gpu-types "$1" 3; }
aware=$(jct gavel)
says "takes all speeds for equal takes $(longer "$(jct 'gavel aware=false')" "$aware") % longer than \`gavel\`"
says "takes $(longer "$(jct gavel-isolated)" "$aware") % longer, and first in, first out on a random type $(longer "$(jct gavel-fifo)" "$aware") %"

span() { of task-graph "$1" 2; }
holds_that "$(span 'heft order=least-finish') == 76 && $(span 'heft order=critical-path') == 86"
says 'A plan ends the last task after 76 to 86 s, a rule after 97 to 112 s'
plans='heft heft_order=critical-path heft_order=submission_choice=time'
for plan in $plans; do
    took=$(span "$(echo "$plan" | tr _ ' ')")
    holds_that "(76 <= $took) * ($took <= 86)"
done
holds_that "$(span 'dispatch rule=spt') == 97 && $(span 'dispatch rule=lwkr') == 112"
for rule in dispatch dispatch_rule=lpt dispatch_rule=mwkr dispatch_rule=mopnr; do
    took=$(span "$(echo $rule | tr _ ' ')")
    holds_that "(97 < $took) * ($took < 112)"
done
says "The best rule is \`spt\`, $(longer "$(span 'dispatch rule=spt')" "$(span heft)") % behind HEFT"

jct() { of training-beside-chat "$1" 2; }
met() { percent "$(of training-beside-chat "$1" 3)"; }
free=$(jct '42kW brake')
equal "$(of training-beside-chat '42kW brake' 1)" 0 'brakes at 42 kW'
says "jobs take $(longer "$(jct '37kW polca')" "$free") % longer under POLCA, and $(met '37kW polca') % of the requests meet their SLO"
says "jobs take $(longer "$(jct '37kW brake')" "$free") % longer, and $(met '37kW brake') % meet it"
# Each scheduler has a scenario, or a study of one: as the value of `scheduler`, or of an axis `jobs.scheduler`.
# schedulers_of FILE...: the names that the files give there, one to a line.
schedulers_of() {
    sed 's|^ *//.*||; s|  *//.*$||' "$@" | tr '\n' ' ' | awk '
        function block(text, open, close_, depth, i, c) { # the brackets that `text` begins with, and what they hold
            for (i = 1; i <= length(text); i++) {
                c = substr(text, i, 1)
                depth += (c == open) - (c == close_)
                if (depth == 0) return substr(text, 1, i)
            }
        }
        function names(text, pattern) {
            for (; match(text, pattern); text = substr(text, RSTART + RLENGTH)) {
                name = substr(text, RSTART, RLENGTH - 1)
                sub(/.*"/, "", name)
                print name
            }
        }
        { for (text = $0; match(text, /"(jobs[.])?scheduler" *[:,] *("values": *)?/);) {
            text = substr(text, RSTART + RLENGTH)
            first = substr(text, 1, 1)
            value = first == "{" ? block(text, "{", "}") : first == "[" ? block(text, "[", "]") : text
            if (first == "\"") { sub(/^"/, "", value); sub(/".*/, "", value); print value; continue }
            names(value, "\"policy\": *\"[^\"]*\"")
            while (first == "[" && sub(/\{[^{}]*\}/, "", value)) continue
            if (first == "[") names(value, "\"[^\"]*\"")
        } }'
}
find configs/scenarios configs/studies -name '*.json' >"$T/files"
while read -r file; do schedulers_of "$file"; done <"$T/files" | sort -u >"$T/shown"
run 0 list policies scheduler
awk 'NR > 1 { print $2 }' "$T/out" >"$T/schedulers"
[ "$(wc -l <"$T/schedulers")" -gt 40 ] || complain 'few schedulers are listed'
while read -r scheduler; do
    grep -qxF -e "$scheduler" "$T/shown" || complain "no scenario or study has $scheduler"
done <"$T/schedulers"
# Of this file only the values count: no key of another section, and no name under another policy.
cat >"$T/look.json" <<'END'
{"jobs": {"scheduler": {"policy": "a", "order": "las"}}, "services": {"s": {"cost": {"dispatch": "x"},
  "kv": {"eviction": "fifo", "offload": {"policy": "p"}}}}, // "scheduler": "comment"
 "axes": [{"key": "jobs.scheduler", "values": ["b", {"policy": "c", "rule": "r"}]},
  {"zip": {"k": ["v"], "jobs.scheduler": [{"policy": "d"}, "e"]}}, {"key": "jobs.placement", "values": ["q"]}]}
END
equal "$(schedulers_of "$T/look.json" | sort | tr '\n' ' ')" 'a b c d e ' 'schedulers of a file'
finish
