#!/bin/sh
# Parts of the pages that the program writes are fresh: what stands between
#     <!-- generated: COMMAND -->  and  <!-- end of generated part -->
# equals the output of COMMAND. With --fix the parts are written anew.
set -u
program=${OPTIMISED:+$OPTIMISED/orrery}
: "${program:=${ORRERY:-build/orrery}}"
[ -x "$program" ] || { echo "$program is not built"; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
mkdir "$T/bin"
ln -s "$(realpath "$program")" "$T/bin/orrery"
PATH=$T/bin:$PATH
fail=0
for page in $(git ls-files '*README.md'); do
    grep -q '^<!-- generated: ' "$page" || continue
    # Each command once; its output goes to a file named by its number.
    n=0
    sed -n 's/^<!-- generated: \(.*\) -->$/\1/p' "$page" >"$T/commands"
    while read -r command; do
        n=$((n + 1))
        sh -c "$command" >"$T/$n" 2>"$T/err" </dev/null || { echo "$page: '$command' failed:"; cat "$T/err"; fail=1; }
    done <"$T/commands"
    awk -v folder="$T" '
        /^<!-- generated: / { print; print ""; n++; while ((getline line < (folder "/" n)) > 0) print line; print ""; skip = 1; next }
        /^<!-- end of generated part -->$/ { skip = 0 }
        !skip { print }' "$page" >"$T/page"
    cmp -s "$T/page" "$page" && continue
    if [ "${1:-}" = --fix ]; then
        cat "$T/page" >"$page"
    else
        echo "$page: a generated part is stale; write it with: sh tests/lint/generated.sh --fix"
        diff "$page" "$T/page" | head -10
        fail=1
    fi
done
exit $fail
