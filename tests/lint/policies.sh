#!/bin/sh
# Every scheduler that the program lists has what a reader needs of it:
#     question   a scenario, a study or the study of a figure runs it, and asks a question in its first line or as such
#     row        a page below policies/scheduler has its row, with oracle and summary as listed
#     rule       a page also names it in what is written by hand: prose, an equation or a table
#     source     the author or system that its source begins with is among the sources of one of these pages
#     hash       tests/golden/policies.txt has its results in the conformance suite
#     cell       the table of rounds in tests/bench/README.md has it (tests/cli/bench.sh: the cell runs)
# A name that no file has must miss each of them.
orrery=${ORRERY:-build/orrery}
[ -x "$orrery" ] || { echo "$orrery is not built"; exit 1; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

# Schedulers of the files that ask: the value of "scheduler" or "jobs.scheduler", or values of an axis, by name or as
# "policy". Comments are left out, since SQLite reads plain JSON.
mkdir "$T/asks"
git ls-files -co --exclude-standard 'configs/scenarios/*.json' 'configs/studies/*.json' 'configs/figures/*.json' |
    xargs awk -v folder="$T/asks" '
        function end() { if (asks) printf "%s", text >(folder "/" n); close(folder "/" n) }
        FNR == 1 { end(); text = ""; n++; asks = /^\/\/.*[?]/ }
        /^ *"question": .*[?]",?$/ { asks = 1 }
        { sub(/(^| +)\/\/( .*)?$/, ""); text = text $0 "\n" }
        END { end() }'
sqlite3 :memory: >"$T/asked" <<END
with doc as (select cast(readfile('$T/asks/' || value) as text) as text
                 from json_each('[$(ls "$T/asks" | tr '\n' ',' | sed 's/,$//')]')),
     chosen(value, type) as (
         select t.value, t.type from doc, json_tree(text) as t where t.key in ('scheduler', 'jobs.scheduler')
         union all
         select v.value, v.type from doc, json_tree(text) as t, json_each(text, t.path || '.values') as v
             where t.key = 'key' and t.atom = 'jobs.scheduler'
         union all
         select v.value, v.type from doc, json_tree(text) as t, json_each(t.value) as v
             where t.key = 'jobs.scheduler' and t.type = 'array')
select distinct case type when 'text' then value else value ->> '\$.policy' end from chosen where type <> 'array';
END
[ "$(wc -l <"$T/asked")" -gt 30 ] || { echo "few scenarios and studies that ask were read: $(wc -l <"$T/asked") schedulers"; exit 1; }

# Of each page: what is written by hand, and its sources.
for page in policies/scheduler/README.md policies/scheduler/*/README.md; do
    name=$(echo "$page" | tr / -)
    awk -v prose="$T/$name.prose" -v sources="$T/$name.sources" '
        /^<!-- generated: / { skip = 1 }
        /^## Sources/ { ended = 1 }
        { if (ended) print >sources; else if (!skip) print >prose }
        /^<!-- end of generated part/ { skip = 0 }' "$page"
done
sed -n '/^## Rounds$/,/^## /p' tests/bench/README.md | grep '^|' | cut -d'|' -f2 >"$T/rounds"

missed() { # NAME ORACLE SUMMARY SOURCE: what it misses, by the words above
    grep -qxF -e "$1" "$T/asked" || echo question
    page=$(grep -lxF -e "| \`$1\` | $2 | $3 |" policies/scheduler/README.md policies/scheduler/*/README.md | head -1)
    [ -n "$page" ] || echo row
    grep -lF -e "\`$1\`" "$T"/*.prose >"$T/pages" || echo rule
    [ -z "$page" ] || echo "$T/$(echo "$page" | tr / -).prose" >>"$T/pages"
    author=$(echo "$4" | sed 's/^folklore; //; s/^migration as in //; s/[ ,].*//')
    { [ -s "$T/pages" ] && sed "s/prose$/sources/" "$T/pages" | xargs grep -qsF -e "$author"; } || echo source
    grep -q "^jobs.scheduler $1 " tests/golden/policies.txt || echo hash
    grep -qF -e "\`$1\`" "$T/rounds" || echo cell
}

"$orrery" list policies scheduler --json >"$T/listed.json"
sqlite3 -separator '	' :memory: "select value ->> '\$.policy', coalesce(value ->> '\$.oracle', '-'), value ->> '\$.summary',
    coalesce(value ->> '\$.source', '-') from json_each(readfile('$T/listed.json')) where value ->> '\$.plugin' is null" >"$T/listed"
fail=0
tab=$(printf '\t')
while IFS=$tab read -r name oracle summary source; do
    [ "$oracle" != - ] || oracle=
    for what in $(missed "$name" "$oracle" "$summary" "$source"); do
        echo "scheduler $name: no $what"
        fail=1
    done
done <"$T/listed"
[ "$(wc -l <"$T/listed")" -gt 40 ] || { echo 'few schedulers are listed'; fail=1; }
none=$(missed planted '' 'a scheduler that no file names' 'Nobody et al., 2026' | tr '\n' ' ')
[ "$none" = 'question row rule source hash cell ' ] || { echo "a scheduler that no file names misses only: $none"; fail=1; }
[ $fail = 0 ] || sed -n 's/^#     /^ /p' "$0"
exit $fail
