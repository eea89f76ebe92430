#!/bin/sh
# Links between the pages lead somewhere: the file is there, and its heading, by the anchor that GitHub makes of it.
# A chain of links leads from README.md to every other page.
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
    { from[++n_links] = $1; sub(/:[0-9]*$/, "", from[n_links]); to[n_links] = target[$2] }
    END {
        is_reached["README.md"]
        do {
            is_news = 0
            for (i = 1; i <= n_links; i++)
                if (from[i] in is_reached && !(to[i] in is_reached)) { is_reached[to[i]]; is_news = 1 }
        } while (is_news)
        while ((getline page <pages) > 0)
            if (!(page in is_reached)) { print page ": no chain of links from README.md leads here"; bad = 1 }
        exit bad
    }' pages="$T/pages" "$T/anchors" "$T/targets" "$T/links"
