#!/bin/sh
# Links between the pages lead somewhere: the file is there, and its heading, by the anchor that GitHub makes of it.
fail=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
anchors() { # PAGE: one per line
    awk '/^ *(```|~~~)/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); print }' "$1" |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' | tr 'A-Z' 'a-z' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g' |
        awk '{ print seen[$0]++ ? $0 "-" (seen[$0] - 1) : $0 }'
}
for page in $(git ls-files '*README.md'); do
    awk '/^ *(```|~~~)/ { code = !code } !code { gsub(/`[^`]*`/, ""); line = $0
        while (match(line, /\]\([^) ]+\)/)) { print FNR, substr(line, RSTART + 2, RLENGTH - 3); line = substr(line, RSTART + RLENGTH) } }' "$page" |
        grep -vE '^[0-9]+ (https?|mailto):' >"$T/links"
    while read -r number link; do
        path=${link%%#*}
        target=$page
        [ -z "$path" ] || target=$(dirname "$page")/$path
        [ -e "$target" ] || { echo "$page:$number: no file '$path'"; fail=1; continue; }
        case $link in
            *#*)
                [ -d "$target" ] && target=$target/README.md
                anchors "$target" | grep -qxF -- "${link#*#}" || { echo "$page:$number: no heading '#${link#*#}' in $target"; fail=1; }
                ;;
        esac
    done <"$T/links"
done
exit $fail
