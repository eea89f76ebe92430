#!/bin/sh
# Measures of the shape of the code, and their limits: prints each measure, and fails where a limit does not hold.
# A limit of '-' is not checked: the measure is printed only.
room_files=40         # files in the largest room of sim/world
folder_files=60       # files in the largest folder of the product, folders inside it not counted
upward_includes=0     # includes against the order of rooms; tests/lint/includes.sh shows them
private_includes=0    # inclusions of inside.h and *_state.h from other folders
family_files=6         # shared product files that name a policy family
family_front_files=0  # of these, in sim/study and sim/cli
routing_headers=10    # headers of ours that a routing policy sees
view_recompiled=60    # product .c files that depend on the view of a batcher
walk_files=-          # .c files that run while a request is served
comment_columns=0     # lines with comments over 120 columns, also of .inc, .sh, .json, .sql and the Makefile
product_lines=-       # .c and .h
test_lines=-          # .c, .h and .sh below tests
median_function=11    # lines between the braces
p90_function=22
longest_function=60

fail=0
measure() { # NAME VALUE LIMIT
    printf '%-52s %8s' "$1" "$2"
    [ "$3" = - ] || printf '  at most %s' "$3"
    if [ "$3" != - ] && [ "$2" != '?' ] && [ "$2" -gt "$3" ]; then
        printf '  TOO MANY'
        fail=1
    fi
    echo
}
product='sim models policies traces analysis'
largest() { # folders on standard input, one line per file: the most frequent, as "n folder"
    sort | uniq -c | sort -rn | awk 'NR == 1 { print $1, $2 }'
}

set -- $(find sim/world -mindepth 2 -name '*.[ch]' | cut -d/ -f1-3 | largest)
measure "files in the largest room, $2" "$1" $room_files
set -- $(find $product -name '*.[ch]' | sed 's|/[^/]*$||' | largest)
measure "files in the largest folder, $2" "$1" $folder_files

includes=$(mktemp)
trap 'rm -f "$includes"' EXIT
sh tests/lint/includes.sh >"$includes"
measure 'includes against the order of rooms' "$(sed '/^\^ sim\/world:/q' "$includes" | grep -c '^sim/world/')" $upward_includes
measure 'private headers included from outside' "$(grep -cE '(inside|_state)\.h"' "$includes")" $private_includes

# A file names a family when it holds its POLICY_ constant or the path of its header or folder. Not shared: the
# family's own policies, sim/world/policy, where the table of families stands, and the one room that calls the family.
families=$(ls -d policies/*/ | cut -d/ -f2 | grep -v '^examples$\|^support$\|^shared$')
most=0
for family in $families; do
    constant=POLICY_$(echo "$family" | tr 'a-z-' 'A-Z_')
    files=$(grep -rlE --include='*.[ch]' "\\b$constant\\b|\"(policies|sim/world/policy)/$family[/.]" $product | grep -v "^policies/$family/\|^sim/world/policy/")
    rooms=$(echo "$files" | grep '^sim/world/[a-z]*/' | cut -d/ -f1-3 | largest)
    shared=$(echo "$files" | grep -v '^policies/' | grep -vc "^${rooms#* }/")
    [ "$shared" -le $most ] || { most=$shared; named=$family; }
done
measure "shared files that name a family, most $named" $most $family_files
measure 'files of sim/study and sim/cli that name families' "$(grep -rlE --include='*.[ch]' \
    "\\bPOLICY_($(echo $families | tr 'a-z -' 'A-Z|_'))\\b" sim/study sim/cli | wc -l)" $family_front_files

measure 'headers that a routing policy sees' "$(for file in $(grep -l "^const struct router" policies/routing/*.c); do
    gcc -MM -I. "$file" | tr -s ' \\' '\n' | grep -c '\.h$'; done | sort -n | tail -1)" $routing_headers

# What a build has written about dependencies; the header is the one that has the view.
view=$(grep -lE '^struct replica_view \{' sim/world/*/*.h | head -1)
build=${BUILD:-build/release}
recompiled='?'
[ -d "$build/sim" ] && recompiled=$(for room in $product; do find "$build/$room" -name '*.d'; done | xargs grep -lF "$view" | wc -l)
measure ".c files that depend on $view" "$recompiled" $view_recompiled

# Files of functions, also inlined ones, that valgrind sees between the start and the end of the events of a small
# service.
walk='?'
program=build/release/orrery
if [ -x $program ] && command -v valgrind >/dev/null; then
    trace=$(mktemp -d)
    echo '{"cluster": {"gpu": "a100-80-sxm", "nodes": 1}, "services": {"chat": {"llm": "llama-2-7b", "replicas": 2, "trace":
        {"format": "generate", "count": 20, "arrival": {"process": "poisson", "rate": "4/s"}}}}}' >"$trace/serve.json"
    valgrind -q --tool=callgrind --callgrind-out-file="$trace/out" --toggle-collect=engine_run \
        $program run "$trace/serve.json" --quiet >"$trace/log" 2>&1
    walk=$(sed -nE 's/^(fl|fi|fe|cfi)=.*\) (.*\/)?((sim|models|policies|traces)\/.*\.c)$/\3/p' "$trace/out" | sort -u |
        grep -vc '^sim/\(cli\|store\)/')
    rm -rf "$trace"
fi
measure 'files on the walk of a request' "$walk" $walk_files

measure 'lines with a comment over 120 columns' "$({ find $product tests -name '*.[ch]' -o -name '*.inc' | xargs awk 'length($0) > 120' |
    grep -E '/\*|\*/|^ *\* '; find tests Makefile -name '*.sh' -o -name Makefile | xargs awk 'length($0) > 120' | grep '^ *# '
    git ls-files '*.json' '*.sql' | xargs awk 'length($0) > 120 && /^ *(\/\/|--) /'; } | wc -l)" $comment_columns
measure 'lines of the product' "$(find $product -name '*.[ch]' | xargs cat | wc -l)" $product_lines
measure 'lines of tests' "$(find tests -name '*.[ch]' -o -name '*.sh' | grep '^tests' | xargs cat | wc -l)" $test_lines

set -- $(find $product -name '*.[ch]' | xargs awk '
    FNR == 1 { open = 0 }
    /^\{/ { open = FNR }
    /^\}/ && open { print FNR - open - 1; open = 0 }' | sort -n |
    awk '{ lines[NR] = $1 } END { print lines[int((NR + 1) / 2)], lines[int(NR * 0.9 + 0.999999)], lines[NR] }')
measure 'lines of the median function' "$1" $median_function
measure 'lines that hold nine of ten functions' "$2" $p90_function
measure 'lines of the longest function' "$3" $longest_function

# For reading: the sizes of files.
find $product -name '*.c' | xargs wc -l | grep -v ' total$' | sort -n |
    awk '{ n[NR] = $1 } END { printf "%d .c files of the product, median %d lines\n", NR, n[int((NR + 1) / 2)] }'
exit $fail
