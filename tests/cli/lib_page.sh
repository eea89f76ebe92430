# For scripts in tests/cli that compute the answers of a page from the tables that stand there. `page` is its path.
last=$page
tr '\n' ' ' <"$page" | sed 's/  */ /g' >"$T/page"
says() { grep -qF -e "$1" "$T/page" || complain "$page does not say: $1"; }

# of STUDY ROW N: the N-th column from the end, of the row that begins so; of a mean without its interval.
of() {
    awk -v study="$1" -v row="$2" -v n="$3" '
        $0 ~ /^\$ orrery sweep / { inside = $4 == study; next }
        /^```/ { inside = 0 }
        inside { gsub(/ [(][^)]*[)]/, ""); gsub(/ +/, " ") }
        inside && index($0, row " ") == 1 && substr($0, length(row) + 2) !~ /^[a-z_]+=/ { print $(NF + 1 - n); n_rows++ }
        END { if (n_rows != 1) print "no such row, or several" }' "$page"
}
calc() { awk "BEGIN { printf \"${2:-%.0f}\", ($1) }" </dev/null; } # EXPRESSION [FORMAT]
sooner() { calc "100 * (1 - $1 / $2)"; }
longer() { calc "100 * ($1 / $2 - 1)"; }
percent() { calc "100 * $1"; }
tenths() { calc "$1" %.1f; }
holds_that() { equal "$(calc "$1")" 1 "$1"; }
