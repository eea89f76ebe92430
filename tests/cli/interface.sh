#!/bin/sh
# The pages of what policies see have every declaration of the headers, each in the part of its header: functions,
# structs with their members, events, functions to implement, and macros of parameters. What is looked up is found in
# another way than the pages are written: by the compiler, which strips comments and directives and writes out macros.
. tests/cli/lib.sh
command -v cc >/dev/null || exit 77
pages='sim/world/policy/README.md sim/world/policy/jobs/README.md sim/world/policy/requests/README.md
    sim/world/policy/site/README.md'
last='pages of what policies see'

# What stands between blanks, commas and brackets, an item a line, without the comments of the pages.
items() { tr -s ' \t,;()*[]{}=' '\n' | grep -x '[A-Za-z_][A-Za-z_0-9]*' | LC_ALL=C sort -u; }
# The names in the code of the part of a page that is generated from a header.
shown() { # HEADER PAGE
    awk -v mark="interface.awk $1 -->" '
        /^<!-- generated: / { part = index($0, mark) > 0; next }
        /^<!-- end of generated part -->/ { part = 0 }
        /^```/ { code = !code; next }
        part && code' "$2" | sed 's/^/ /' >"$T/code.c"
    cc -fpreprocessed -E -P -x c "$T/code.c" 2>/dev/null | items
}

# Of each header's own lines the names that it declares; bodies of inline functions declare nothing.
n=0
for header in sim/world/policy/*.h; do
    case $header in */all.h | */families.h | */instance.h | */policy.h) continue ;; esac
    n=$((n + 1))
    cc -std=c17 -E -I. -x c "$header" 2>/dev/null | awk -v header="\"$header\"" '
        /^# [0-9]+ / { own = $3 == header; next }
        own && /^\{/ { body = 1 }
        own && !body && !/^static const char/ { sub(/^static inline/, ""); print }
        /^\}/ { body = 0 }' | items | grep -vx _Bool >"$T/declared"
    [ -s "$T/declared" ] || complain "$header declares nothing"
    # shellcheck disable=SC2086 # a list of pages
    page=$(grep -lF "interface.awk $header -->" $pages)
    [ -f "$page" ] || { complain "not one page has $header, but '$page'"; continue; }
    shown "$header" "$page" >"$T/shown"
    LC_ALL=C comm -23 "$T/declared" "$T/shown" >"$T/missing"
    [ ! -s "$T/missing" ] || { complain "the part of $page lacks names of $header:"; cat "$T/missing"; }
done
[ -z "$(shown sim/world/policy/job_view.h sim/world/policy/site/README.md)" ] || complain 'a page has a part of another one'
[ $n -ge 14 ] || complain "only $n headers"

# Macros of parameters, with all their arguments.
sed -n 's/^#define \(ROW_[A-Z_]*\)(\(.*\)) *\\*$/\1(\2)/p' sim/core/config/config_field.h |
    sed 's/).*/)/; s/_\([,)]\)/\1/g' >"$T/rows"
[ "$(wc -l <"$T/rows")" -ge 15 ] || complain 'too few macros'
while read -r row; do
    grep -qF "| \`$row\` | " sim/world/policy/README.md || complain "the page lacks $row"
done <"$T/rows"

# A header without anything, and one that is not understood, are errors.
printf '/* Nothing. */\n' >"$T/none.h"
awk -f tests/lint/interface.awk "$T/none.h" >"$T/out" 2>"$T/err" && complain 'a header without declarations passes'
holds "$T/err" 'nothing found'
sed 's/REQUIRED/PERHAPS/' sim/world/policy/autoscaling.h >"$T/odd.h"
awk -f tests/lint/interface.awk "$T/odd.h" >"$T/out" 2>"$T/err" && complain 'an unknown need passes'
holds "$T/err" "is 'PERHAPS'"
finish
