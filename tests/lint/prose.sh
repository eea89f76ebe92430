#!/bin/sh
# The pages are readable: no sentence over 30 words in any README.md, no table of over six columns, no page too long.
# Prints the number and the lengths of sentences.
# Usage: prose.sh [--long N] [FILE...]: also prints every sentence over N words.
longest_allowed=30
front_bytes=12288 # of the front page, and of each other page
page_bytes=30720
show=$longest_allowed
[ "$1" = --long ] && { show=$2; shift 2; }
[ $# -gt 0 ] || set -- $(git ls-files '*README.md')
fail=0
for page; do
    bytes=$(wc -c <"$page")
    most=$page_bytes
    [ "$page" != README.md ] || most=$front_bytes
    [ "$bytes" -le $most ] || { echo "$page: $bytes bytes, at most $most"; fail=1; }
    # Tables read well on a narrow screen: at most six columns.
    awk -v page="$page" '/^```/ { code = !code } !code && /^\|-/ && gsub(/\|/, "|") > 7 { print page ":" FNR ": more than six columns"; wide = 1 }
        END { exit wide }' "$page" || fail=1
    awk -v show="$show" -v allowed=$longest_allowed -v page="$page" '
        function flush(   n, i, words, parts, s) {
            if (text == "") return
            gsub(/\]\([^)]*\)/, "]", text)
            gsub(/<https?:[^>]*>/, "URL", text)
            while (match(text, /`[^`]*`/)) text = substr(text, 1, RSTART - 1) "CODE" substr(text, RSTART + RLENGTH)
            gsub(/e\.g\./, "eg", text); gsub(/i\.e\./, "ie", text); gsub(/et al\./, "et al", text)
            gsub(/vs\./, "vs", text)
            # A full stop, question or exclamation mark before a blank ends a sentence; brackets may close after it.
            gsub(/[.?!][)"*_]*( |$)/, "&\001", text)
            n = split(text, parts, "\001")
            for (i = 1; i <= n; i++) {
                s = parts[i]
                words = gsub(/[A-Za-z0-9][^ ]*/, "&", s)
                if (words == 0) continue
                sentences++; total += words
                if (words > 25) over++
                if (words > longest) longest = words
                if (words > show) printf "%s:%d: %d words: %s\n", page, from, words, s
            }
            text = ""
        }
        /^ *(```|~~~)/ { flush(); code = !code; next }
        code { next }
        /^ *\|/ || /^#/ || /^<!--/ || /^ *$/ || /^    / && text == "" { flush(); next }
        /^ *([-*]|[0-9]+\.) / { flush(); sub(/^ *([-*]|[0-9]+\.) /, "") }
        { if (text == "") from = FNR; sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0 }
        END {
            flush()
            printf "%-40s %4d sentences, mean %4.1f words, %4.1f %% over 25, longest %d\n", page, sentences,
                sentences ? total / sentences : 0, sentences ? 100 * over / sentences : 0, longest
            exit longest > allowed
        }' "$page" || fail=1
done
exit $fail
