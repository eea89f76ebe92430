#!/bin/sh
# Links between the pages lead somewhere: the file is there, and its heading, by the anchor that GitHub makes of it.
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
git ls-files '*README.md' >"$T/pages"
# The headings as "PAGE<tab>ANCHOR", then the links as "PAGE:LINE<tab>PATH<tab>ANCHOR", with PATH from the top.
xargs awk '
    FNR == 1 { code = 0; split("", seen) }
    /^ *(```|~~~)/ { code = !code }
    !code && /^#+ / {
        sub(/^#+ +/, "")
        while (match($0, /\[[^]]*\]\([^)]*\)/)) {
            text = substr($0, RSTART + 1, RLENGTH - 1)
            sub(/\].*/, "", text)
            $0 = substr($0, 1, RSTART - 1) text substr($0, RSTART + RLENGTH)
        }
        $0 = tolower($0)
        gsub(/[^a-z0-9 _-]/, "")
        gsub(/ /, "-")
        print FILENAME "\t" (seen[$0]++ ? $0 "-" (seen[$0] - 1) : $0)
    }' <"$T/pages" >"$T/anchors"
xargs awk '
    FNR == 1 { code = 0; folder = FILENAME; if (!sub(/[^\/]*$/, "", folder)) folder = "" }
    /^ *(```|~~~)/ { code = !code }
    !code {
        gsub(/`[^`]*`/, "")
        line = $0
        while (match(line, /\]\([^) ]+\)/)) {
            link = substr(line, RSTART + 2, RLENGTH - 3)
            line = substr(line, RSTART + RLENGTH)
            if (link ~ /^(https?|mailto):/) continue
            path = anchor = link
            sub(/#.*/, "", path)
            if (!sub(/^[^#]*#/, "", anchor)) anchor = ""
            path = path == "" ? FILENAME : folder path
            while (sub(/[^\/.]+\/\.\.\//, "", path)) { }
            print FILENAME ":" FNR "\t" path "\t" anchor
        }
    }' <"$T/pages" >"$T/links"
[ -s "$T/anchors" ] && [ -s "$T/links" ] || { echo 'no headings or no links were found'; exit 1; }
cut -f2 "$T/links" | sort -u | while read -r path; do
    if [ -d "$path" ]; then echo "$path	${path%/}/README.md"; elif [ -e "$path" ]; then echo "$path	$path"; fi
done >"$T/targets"
awk -F'\t' '
    FILENAME ~ /anchors$/ { is_heading[$1, $2]; next }
    FILENAME ~ /targets$/ { target[$1] = $2; next }
    !($2 in target) { print $1 ": no file \x27" $2 "\x27"; bad = 1; next }
    $3 != "" && !((target[$2], $3) in is_heading) { print $1 ": no heading \x27#" $3 "\x27 in " target[$2]; bad = 1 }
    END { exit bad }' "$T/anchors" "$T/targets" "$T/links"
