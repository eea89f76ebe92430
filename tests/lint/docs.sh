#!/bin/sh
# Files and folders that a page names in `backquotes` exist: relative to the page, to the top or to the folders below.
# A name without a folder exists anywhere in the tree. Names with capitals, stars or brackets stand for what a reader
# fills in. Files of a reader's own are left out. Names of the code on the pages of sim exist in a source.
fail=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
git ls-files >"$T/files"
grep 'README\.md$' "$T/files" >"$T/pages"
while read -r page; do
    [ -f "$page" ] || { echo "$page: no such file"; exit 1; }
done <"$T/pages"
# What stands in backquotes, as "PAGE<tab>PATH", but for names of files that exist somewhere in the tree.
xargs awk '
    FILENAME ~ /\/files$/ { sub(/.*\//, ""); exists[$0]; next }
    FNR == 1 { code = 0 }
    /^```/ { code = !code }
    !code {
        line = $0
        while (match(line, /`[^` ]*`/)) {
            path = substr(line, RSTART + 1, RLENGTH - 2)
            line = substr(line, RSTART + RLENGTH)
            if (path !~ /\/|\.(c|h|inc|sh|json)$/ || path ~ /[][A-Z*<>{}$=]|^-|^\/|^\.|^~|^figures\/|^build\//) continue
            if (path ~ /^inside\.h$|^(config|site|mine|exp)\.json$/ || path in exists) continue
            print FILENAME "\t" path
        }
    }' "$T/files" <"$T/pages" | LC_ALL=C sort -u >"$T/paths"
[ -s "$T/paths" ] || { echo 'the pages name no file'; exit 1; }
while read -r page path; do
    folder=${page%README.md}
    for base in "${folder:-.}" . sim/world sim/core policies/examples configs/figures configs/figures/rental tests/fixtures; do
        [ -e "$base/$path" ] || [ -e "$base/$path.json" ] && continue 2
    done
    echo "$page: '$path' does not exist"
    fail=1
done <"$T/paths"
# Names of the code have an underscore. NAME_, TABLE_ and FAMILY_ stand for what a reader fills in.
awk '
    FNR == 1 { code = 0 }
    /^```/ { code = !code }
    !code {
        for (line = $0; match(line, /`[^`]*`/); line = substr(line, RSTART + RLENGTH)) {
            n = split(substr(line, RSTART + 1, RLENGTH - 2), parts, /[^A-Za-z0-9_\/*]+/)
            for (i = 1; i <= n; i++)
                if (parts[i] ~ /^[A-Za-z]+(_[A-Za-z0-9]+)+$/ && parts[i] !~ /^(NAME|TABLE|FAMILY)_|^noun_verb$/) print parts[i]
        }
    }' sim/README.md sim/world/README.md | LC_ALL=C sort -u >"$T/names"
{
    git grep -ohwF -f "$T/names" -- '*.[ch]' '*.inc'
    sed -n 's/.*\/\(.*\)\.[ch]$/\1/p' "$T/files"
} | LC_ALL=C sort -u | LC_ALL=C comm -23 "$T/names" - >"$T/unknown"
[ -s "$T/names" ] && [ ! -s "$T/unknown" ] || { sed 's/.*/the pages of sim: no source has "&"/' "$T/unknown"; fail=1; }
exit $fail
