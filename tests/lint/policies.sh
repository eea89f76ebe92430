#!/bin/sh
# Every policy that the program lists has what a reader needs of it:
#     question   a scenario, a study or the study of a figure asks a question in its first line or as such, and has the
#                policy among the values of an axis, or sets it and names it in what it says; of evictors also a page
#                of the gallery that tries it on a trace, in a section that begins with a question
#     row        a page of its family has its row, with summary and oracle as listed
#     source     the first author that its source names, such as "Mohan et al.", or what it begins with, is named on a
#                page of its family; of a scheduler among the sources of a page that has it. Folklore has no source
#     hash       tests/golden/policies.txt has its results in the conformance suite
# Every scheduler also has
#     rule       a page that names it in what is written by hand: prose, an equation or a table
#     cell       a line in the table of rounds in tests/bench/README.md (tests/cli/bench.sh: the cell runs)
# A name that no file has must miss each of them.
orrery=${ORRERY:-build/orrery}
[ -x "$orrery" ] || { echo "$orrery is not built"; exit 1; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
tab=$(printf '\t')

# Keys that name a policy, as patterns of their paths, with the family.
"$orrery" list keys --json >"$T/keys.json"
sqlite3 -separator "$tab" :memory: "select value ->> '\$.value', value ->> '\$.key' from json_each(readfile('$T/keys.json'))
    where value ->> '\$.value' like '\"policy\" of family %'" |
    sed 's/^"policy" of family //; s/[.]NAME/[.][^.]+/g' >"$T/keys"

# Files that ask, numbered. Comments are left out, since SQLite reads plain JSON. Beside them, what each says: its
# comments, question, title and name.
mkdir "$T/asks" "$T/says"
git ls-files -co --exclude-standard 'configs/scenarios/*.json' 'configs/studies/*.json' 'configs/figures/*.json' |
    xargs awk -v folder="$T/asks" -v said="$T/says" '
        function end() {
            if (asks) { printf "%s", text >(folder "/" n); print says >(said "/" n) }
            close(folder "/" n); close(said "/" n)
        }
        FNR == 1 { end(); text = says = ""; n++; asks = /^\/\/.*[?]/ }
        /^ *"question": .*[?]",?$/ { asks = 1 }
        /(^| +)\/\/( .*)?$/ || /^ *"(question|title|name)": / { says = says " " $0 }
        { sub(/(^| +)\/\/( .*)?$/, ""); text = text $0 "\n" }
        END { end() }'

# Texts in these files, and "policy" of objects, each with its path. In place of the path of a value of an axis stands
# the path that the axis varies.
sqlite3 -separator "$tab" :memory: >"$T/values" <<END
with doc as (select value as name, json(cast(readfile('$T/asks/' || value) as text)) as text
                 from json_each('[$(ls "$T/asks" | tr '\n' ',' | sed 's/,$//')]')),
     axis as (select name, a.fullkey || '.values[' as start, '.' || (a.value ->> '\$.key') as key
                 from doc, json_each(text, '\$.axes') as a where a.value ->> '\$.key' is not null),
     node as (select doc.name, replace(t.fullkey, '"', '') as path,
                     case t.type when 'text' then t.atom else t.value ->> '\$.policy' end as value
                 from doc, json_tree(text) as t where t.type in ('text', 'object'))
select coalesce(key || substr(path, length(start) + instr(substr(path, length(start) + 1), ']') + 1), substr(path, 2)), value,
        iif(path like '$.axes[%', 'axis', node.name)
    from node left join axis on axis.name = node.name and substr(path, 1, length(start)) = start where value is not null;
END
awk -F"$tab" '
    FNR == NR { family[++n] = $1; pattern[n] = "[.]" $2 "([.]policy)?$"; next }
    { gsub(/\[[0-9]+\]/, "", $1); for (i = 1; i <= n; i++) if ($1 ~ pattern[i]) print $3, family[i] " " $2 }' "$T/keys" "$T/values" |
    sort -u >"$T/set"
sed -n 's/^axis //p' "$T/set" >"$T/asked"
# What a file only sets counts if the file speaks of it.
grep -v '^axis ' "$T/set" | while read -r file family name; do
    grep -qiwF -e "$name" "$T/says/$file" && echo "$family $name" >>"$T/asked"
done
sort -u -o "$T/asked" "$T/asked"
[ "$(wc -l <"$T/asked")" -gt 80 ] || { echo "few scenarios and studies that ask were read: $(wc -l <"$T/asked") policies"; exit 1; }

# Evictors that a page of the gallery tries on a trace: traces stand for runs where a policy knows the future.
awk '
    /^#/ { asks = begins = 0 }
    /^## / { begins = 1; next }
    begins && NF { asks = /^\*.*/; begins = 0; ask = "" }
    asks && !/^```/ { ask = ask $0 }
    /^\$ orrery trace stat / && ask ~ /[?]\*/ {
        for (i = 1; i < NF; i++) if ($i == "--prefix-cache") { sub(/[:=].*/, "", $(i + 1)); print "eviction " $(i + 1) } }' \
    configs/scenarios/gallery/*/README.md >>"$T/asked"

# Of each page: what is written by hand, and its sources.
for page in policies/*/README.md policies/scheduler/*/README.md policies/batching/*/README.md; do
    name=$(echo "$page" | tr / -)
    awk -v prose="$T/$name.prose" -v sources="$T/$name.sources" '
        /^<!-- generated: / { skip = 1 }
        /^## Sources/ { ended = 1 }
        { if (ended) print >sources; else if (!skip) print >prose }
        /^<!-- end of generated part/ { skip = 0 }' "$page"
done
sed -n '/^## Rounds$/,/^## /p' tests/bench/README.md | grep '^|' | cut -d'|' -f2 >"$T/rounds"

missed() { # FAMILY NAME ORACLE SUMMARY SOURCE: what it misses, by the words above
    grep -qxF -e "$1 $2" "$T/asked" || echo question
    # Families without oracles leave out that column.
    page=$(grep -lxF -e "| \`$2\` | $3 | $4 |" -e "| \`$2\` | $4 |" "policies/$1/README.md" "policies/$1"/*/README.md \
        2>"$T/log" | head -1)
    [ -n "$page" ] || echo row
    if [ "$1" = scheduler ]; then
        grep -lF -e "\`$2\`" "$T"/policies-scheduler-*.prose >"$T/pages" || echo rule
        [ -z "$page" ] || echo "$T/$(echo "$page" | tr / -).prose" >>"$T/pages"
        author=$(echo "$5" | sed 's/^folklore; //; s/^migration as in //; s/[ ,].*//')
        { [ -s "$T/pages" ] && [ -n "$author" ] && sed "s/prose$/sources/" "$T/pages" | xargs grep -qswF -e "$author"; } || echo source
        grep -qF -e "\`$2\`" "$T/rounds" || echo cell
    else
        author=$(first_name "$5")
        [ "$author" = folklore ] || grep -qswF -e "$author" "policies/$1/README.md" "policies/$1"/*/README.md ||
            echo source
    fi
    grep -qE "^$(key_of "$1") $2 " tests/golden/policies.txt || echo hash
}
first_name() { # SOURCE: the first author, the system or the title, without its version; "folklore": there is none
    case $1 in
        *' et al.'*) echo "$1" | sed 's/ et al[.].*//; s/.*[^[:alnum:]-]//' ;;
        folklore* | baseline | 'common practice'* | "every engine's default" | 'pay as you go' | 'a fleet that does not'* | -) echo folklore ;;
        *) echo "$1" | sed 's/^the baseline of //; s/[,;(].*//; s/ *$//; s/ [0-9.]*$//' ;;
    esac
}
key_of() { # FAMILY: a key that names one of its policies, as a regular expression; or the family, if none does
    sed -n "s/^$1$tab//p" "$T/keys" | paste -sd'|' | sed "s/^/($1|/; s/$/)/"
}

"$orrery" list policies --json >"$T/listed.json"
sqlite3 -separator "$tab" :memory: "select value ->> '\$.family', value ->> '\$.policy', coalesce(value ->> '\$.oracle', '-'),
    value ->> '\$.summary', coalesce(value ->> '\$.source', '-') from json_each(readfile('$T/listed.json'))
    where value ->> '\$.plugin' is null" >"$T/listed"
fail=0
while IFS=$tab read -r family name oracle summary source; do
    [ "$oracle" != - ] || oracle=
    for what in $(missed "$family" "$name" "$oracle" "$summary" "$source"); do
        echo "$family $name: no $what"
        fail=1
    done
done <"$T/listed"
[ "$(wc -l <"$T/listed")" -gt 100 ] || { echo 'few policies are listed'; fail=1; }
[ "$(cut -f1 "$T/listed" | uniq | wc -l)" -gt 10 ] || { echo 'few families are listed'; fail=1; }
for family in $(cut -f1 "$T/listed" | uniq); do
    all='question row source hash '
    [ "$family" != scheduler ] || all='question row rule source cell hash '
    for source in 'Planted et al., 2026' 'Planted, a journal, 2026' 'PlantedSystem 0.1'; do
        none=$(missed "$family" planted '' 'a policy that no file names' "$source" | tr '\n' ' ')
        [ "$none" = "$all" ] || { echo "a policy of $family that no file names misses only: $none"; fail=1; }
    done
done
[ $fail = 0 ] || sed -n 's/^#     /^ /p' "$0"
exit $fail
