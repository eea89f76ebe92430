#!/bin/sh
# Files and folders that a README names in `backquotes` exist: relative to the README, to the top, or to sim/world.
# Names with capitals, stars or angle brackets stand for what a reader fills in.
fail=0
for page in sim/README.md sim/world/README.md policies/README.md tests/bench/gpu/README.md; do
    [ -f "$page" ] || { echo "$page: no such file"; fail=1; continue; }
    folder=$(dirname "$page")
    for path in $(grep -o '`[^` ]*`' "$page" | tr -d '`' | grep -E '/|\.(c|h|inc|sh|json)$' |
        grep -vE '[A-Z*<>{}$=]|^-|^/|^\.\.|^~|^figures/|^inside.h$|^config.json$' | LC_ALL=C sort -u); do
        for base in "$folder" . sim/world sim/core policies/examples "configs/figures/rental"; do
            [ -e "$base/$path" ] && continue 2
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
