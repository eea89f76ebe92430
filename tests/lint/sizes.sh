#!/bin/sh
# Sizes of files and functions: files at most 600 lines; functions with a median under 15 lines, 90 % of them within 40,
# none over 80. A function starts at its brace in the first column and ends with the next one there; tables do not
# count.
fail=0
sources() { find sim models policies traces analysis -name '*.[ch]' 2>/dev/null | LC_ALL=C sort; }

{ sources; find tests -name '*.[ch]'; } | xargs awk '
    FNR == 601 { print FILENAME ": more than 600 lines"; bad = 1 }
    END { exit bad }' || fail=1

sources | xargs awk '
    FNR == 1 { open = 0 }
    /^\{/ { open = FNR }
    /^\}/ && open { print FNR - open - 1, FILENAME ":" open; open = 0 }' | sort -n |
    awk '
    { lines[NR] = $1; place[NR] = $2 }
    END {
        median = lines[int((NR + 1) / 2)]; p90 = lines[int(NR * 0.9 + 0.999999)]
        printf "%d functions: median %d lines, 90 %% within %d, longest %d\n", NR, median, p90, lines[NR]
        for (i = NR; i > 0 && lines[i] > 80; i--) { print place[i] ": " lines[i] " lines, at most 80"; bad = 1 }
        if (median >= 15) { print "the median must be under 15"; bad = 1 }
        if (p90 > 40) { print "90 % must be within 40"; bad = 1 }
        exit bad
    }' || fail=1
exit $fail
