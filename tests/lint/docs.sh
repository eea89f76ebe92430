#!/bin/sh
# Files and folders that a page names in `backquotes` exist: relative to the page, to the top or to the folders below.
# A name without a folder exists anywhere in the tree. Names with capitals, stars or brackets stand for what a reader
# fills in. Files of a reader's own are left out.
fail=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
git ls-files | sed 's|.*/||' | LC_ALL=C sort -u >"$T/names"
for page in $(git ls-files '*README.md'); do
    [ -f "$page" ] || { echo "$page: no such file"; fail=1; continue; }
    folder=$(dirname "$page")
    for path in $(awk '/^```/ { code = !code } !code' "$page" | grep -o '`[^` ]*`' | tr -d '`' | grep -E '/|\.(c|h|inc|sh|json)$' |
        grep -vE '[][A-Z*<>{}$=]|^-|^/|^\.|^~|^figures/|^inside.h$|^(config|site|mine|exp).json$' | LC_ALL=C sort -u); do
        case $path in */*) ;; *) grep -qxF -e "$path" "$T/names" && continue ;; esac
        for base in "$folder" . sim/world sim/core policies/examples configs/figures configs/figures/rental tests/fixtures; do
            [ -e "$base/$path" ] || [ -e "$base/$path.json" ] && continue 2
        done
        echo "$page: '$path' does not exist"
        fail=1
    done
done
# Of the other pages, what names a file by its folder.
for page in $(find analysis configs policies sim tests traces -name README.md | LC_ALL=C sort); do
    folder=$(dirname "$page")
    for path in $(grep -o '`[^` ]*`' "$page" | tr -d '`' | grep -E '^[a-z_][a-z0-9_/.-]*/[a-z0-9_.-]*\.(c|h|inc|sh|sql)$' | LC_ALL=C sort -u); do
        [ -e "$folder/$path" ] || [ -e "$path" ] || [ -e "sim/world/$path" ] || [ -e "sim/core/$path" ] || { echo "$page: '$path' does not exist"; fail=1; }
    done
done
exit $fail
