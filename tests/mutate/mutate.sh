#!/bin/sh
# Plants small bugs in the product, and counts how many the tests notice: `make mutate`. README.md explains it.
#
#     mutate.sh COUNT SEED [FILE...]
#
# judges COUNT mutants of the files, or of all in scope. AGAIN="SUITE/ SCRIPT..." judges the survivors of the last such
# run once more, by these tests only. KEEP=1 goes on with a run that was interrupted, and keeps its verdicts on lines
# that have not changed since. LIST=1 prints what would be drawn, and judges nothing. What is left lies in
# build/mutate/COUNT-SEED: `mutants`, `verdicts`, `survivors`.
set -u
count=$1
seed=$2
shift 2
root=$PWD
work=$root/build/mutate
tree=$work/tree
out=$work/$count-$seed
build=build/mutant # programs whose objects are replaced
workers=${WORKERS:-$(nproc)}
draw() { # MUTANTS [FILE...]
    mutants=$1
    shift
    gcc -std=c17 -D_DEFAULT_SOURCE -O1 -I. -o "$work/draw" tests/mutate/draw.c tests/mutate/source.c || return 1
    [ $# -gt 0 ] ||
        set -- $(find sim policies models analysis/stats -name '*.c' ! -path 'policies/examples/*' | LC_ALL=C sort)
    "$work/draw" "$seed" "$mutants" "$@"
}
mkdir -p "$tree" "$out/objects" "$out/verdict"
if [ -n "${LIST:-}" ]; then
    draw "$count" "$@" | awk -F'\t' '{ printf "%s:%d: %s\n    %s\n    %s\n", $3, $4, $2, $9, $10 }'
    exit
fi
ulimit -c 0
unset MAKEFLAGS MFLAGS MAKELEVEL # of the calling make: tests call others
command -v ld.lld >/dev/null && linker=-fuse-ld=lld

# Tests run in a copy of the tree, as mutants may write anywhere. A test of shared data looks for it beside the tree.
ln -sfn "$(readlink -f ../shared)" "$work/shared"
git ls-files -co --exclude-standard | while read -r file; do [ -f "$file" ] && echo "$file"; done |
    LC_ALL=C sort >"$work/files"
(cd "$tree" && find . -type f ! -path './build/*' | sed 's|^\./||' | LC_ALL=C sort) |
    LC_ALL=C comm -13 "$work/files" - | (cd "$tree" && xargs -r -d '\n' rm)
xargs -d '\n' cp -pu --parents -t "$tree" <"$work/files"

in_tree() {
    mode=$1
    shift
    (cd "$tree" && make --no-print-directory -j"$workers" MODE="$mode" LDFLAGS="${linker:-}" ${CC:+CC="$CC"} "$@")
}
in_tree mutant $build/tests/run $build/orrery || exit 1

# The commands that make a program and an object: of these, judge.sh replaces one object and one source.
in_tree mutant -n -B V=1 $build/tests/run | grep -- " -o $build/tests/run " | sed 's/$/ -s/' >"$work/link.run"
in_tree mutant -n -B V=1 $build/orrery | grep -- " -o $build/orrery " >"$work/link.orrery"
in_tree mutant -n -B V=1 $build/sim/core/engine.o | grep -- ' -c -o ' | sed 's/ -MMD.*//; s/^ccache //' >"$work/compile"

# Which test reaches which line is learned anew when a source of product or tests has changed since, or other files
# have mutants.
is_known() {
    [ -f "$work/reach/reached" ] || return 1
    [ -z "${ONLY:-}" ] || return 1
    cut -f3 "$out/mutants" | LC_ALL=C sort -u | LC_ALL=C comm -23 - "$work/reach/files" | grep -q . && return 1
    changed=$(cd "$tree" && find sim models policies traces analysis tests -name '*.[chi]*' \
        -newer "$work/reach/reached" | head -1)
    [ -n "$changed" ] || return 0
    [ -n "${KEEP:-}" ] || return 1
    echo "lines of tests are as learned before $changed changed" >&2
}
learn() {
    [ -n "${ONLY:-}" ] && files=$(cat "$work/reach/files") || files=$(cut -f3 "$out/mutants" | LC_ALL=C sort -u)
    (cd "$tree" && sh tests/mutate/learn.sh "$work/reach" $files)
}

# Keeps the verdicts on mutants that are drawn still: their names tell file, line and change. Objects are of one tree.
keep() {
    [ -f "$out/drawn" ] &&
        [ -z "$(cd "$tree" && find sim models policies traces analysis Makefile -newer "$out/drawn")" ] ||
        rm -f "$out"/objects/*
    ls "$out/verdict" | LC_ALL=C sort >"$out/judged"
    cut -f1 "$out/now" | LC_ALL=C sort | LC_ALL=C comm -13 - "$out/judged" >"$out/discarded"
    (cd "$out/verdict" && xargs -r rm) <"$out/discarded"
    echo "KEEP: of $(wc -l <"$out/judged") verdicts, $(wc -l <"$out/discarded") are discarded:" \
        "their lines have changed" >&2
}
export out tree work build
if [ -z "${AGAIN:-}" ]; then
    draw $((count * 11 / 10 + 20)) "$@" >"$out/now" || exit 1
    if [ -n "${KEEP:-}" ]; then keep; else rm -f "$out"/objects/* "$out"/verdict/*; fi
    mv "$out/now" "$out/drawn"
    # Those that the compiler refuses are drawn again: the first COUNT others stay.
    cut -f1 "$out/drawn" | xargs -P "$workers" -n 1 sh tests/mutate/judge.sh compile
    awk -F'\t' -v out="$out" -v count="$count" '
        n == count { exit }
        (getline code <(out "/objects/" $1 ".is")) > 0 {
            close(out "/objects/" $1 ".is")
            if (code == "refused") { refused++; next }
            n++
            print code "\t" $0
        }
        END { print refused + 0 " were refused by the compiler" >"/dev/stderr" }' "$out/drawn" >"$out/chosen"
    # Equivalents: listed, or the compiler makes the same code of them.
    awk -F'\t' '
        FILENAME ~ /equivalent\.txt$/ { listed[$1, $2, $3] = 1; next }
        $1 == "same" || ($4, $10, $11) in listed { equivalent++; next }
        { sub(/^[^\t]*\t/, ""); print }
        END { print equivalent + 0 " are equivalent" >"/dev/stderr" }' \
        tests/mutate/equivalent.txt "$out/chosen" >"$out/mutants"
    is_known || learn || exit 1
    # The tests that reach each mutant: name, seconds, whether they start orrery, name. Those of the file itself
    # come first, then the cheapest. Recorded results judge much at once, and count as ten times cheaper. Where the
    # compiler knows no such line, the last before it serves.
    awk -F'\t' '
        FILENAME ~ /lines$/ { split($0, at, " "); number[at[2]] = at[1]; next }
        FILENAME ~ /mutants$/ {
            found = 0
            suite[$1] = $3
            sub(/.*\//, "", suite[$1])
            sub(/\.c$/, "/", suite[$1])
            for (line = $4; line <= $5; line++)
                if (($3 ":" line) in number) { wanted[number[$3 ":" line]] = wanted[number[$3 ":" line]] " " $1; found = 1 }
            for (line = $4 - 1; !found && line > $4 - 60; line--)
                if (($3 ":" line) in number) { wanted[number[$3 ":" line]] = wanted[number[$3 ":" line]] " " $1; found = 1 }
            next
        }
        {
            for (i = split($4, at, " "); i > 0; i--)
                if (at[i] in wanted)
                    for (j = split(wanted[at[i]], mutants, " "); j > 0; j--)
                        if (given[mutants[j]] != $1) {
                            given[mutants[j]] = $1
                            own = index($1, suite[mutants[j]]) == 1
                            recorded = $1 ~ /^(kept_|statistics\/|models\/|tests\/golden\/)/
                            print (own ? 0 : recorded ? $2 / 10 : $2) "\t" mutants[j] "\t" $2 "\t" $3 "\t" $1
                        }
        }' "$work/reach/lines" "$out/mutants" "$work/reach/reached" |
        LC_ALL=C sort -k2,2 -k1,1n | cut -f2- >"$out/tests"
fi
awk -F'\t' -v again="${AGAIN:+1}" -v out="$out" '
    { survived = (getline verdict <(out "/verdict/" $1)) > 0 && verdict ~ /^survived/; close(out "/verdict/" $1) }
    again == "" || survived { print $1 }' "$out/mutants" |
    AGAIN=${AGAIN:-} xargs -r -P "$workers" -n 1 sh tests/mutate/judge.sh judge

awk -F'\t' -v out="$out" '
    (getline verdict <(out "/verdict/" $1)) > 0 { close(out "/verdict/" $1); print verdict "\t" $0 }' \
    "$out/mutants" >"$out/verdicts"
grep '^survived' "$out/verdicts" | sort -t"$(printf '\t')" -k6,6 -k7,7n >"$out/survivors"
awk -F'\t' '
    function add(kind) { n[kind]++; if ($1 == "killed") first[kind]++; else if ($1 == "late") late[kind]++
                         else if ($1 == "again") again[kind]++ }
    { add("all"); add($5) }
    END {
        for (kind in n) {
            killed = first[kind] + late[kind]
            printf "%-11s %4d of %4d killed by the first tests, %4d by all: %.1f %%", kind, first[kind], n[kind], killed,
                100 * killed / n[kind]
            if (again["all"]) printf "; %4d after new tests", killed + again[kind]
            print ""
        }
    }' "$out/verdicts" | sort -r
echo "survivors: $out/survivors"
