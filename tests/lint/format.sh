#!/bin/sh
# The layout of the code is that of .clang-format; `tests/lint/format.sh --fix` makes it so.
#
# Left as they are: tables, lists and macros, where clang-format 14 would give every item a line of its own, and
# comments behind code, which are aligned by hand in groups.
command -v clang-format >/dev/null || { echo 'clang-format is not installed'; exit 77; }
case $(clang-format --version) in
*'version 14.'*) ;;
*) echo "the layout is checked with clang-format 14, this is another one"; exit 77 ;;
esac

# Two copies of the code, a as it is and b laid out anew: one process for all files of each.
copies=$(mktemp -d)
patch=$copies/patch
trap 'rm -rf "$copies"' EXIT
mkdir "$copies/a" "$copies/b"
git ls-files '*.[ch]' | xargs cp --parents -t "$copies/a"
git ls-files '*.[ch]' .clang-format | xargs cp --parents -t "$copies/b"
(cd "$copies/b" && find . -name '*.[ch]' -print0 | xargs -0 clang-format -i)
(cd "$copies" && diff -rU0 -x .clang-format a b) |
    awk '
        function is_kept(line) {
            return line ~ /\.[a-z_0-9]+ = / ||                 # designated initialiser
                   line ~ /= \{$/ || line ~ /^-[^;]*\{[^;]*\}[,;]*$/ || # head or row of a table
                   line ~ /^-    [A-Z_]+\(.*\),?$/ ||           # row of a table of macros
                   line ~ /^-    [A-Z_]+COUNT$/ ||              # after such a table
                   line ~ /(case .*|default):$/ ||              # two statements in a case
                   line ~ /^-#define/ || line ~ /\\$/ ||        # macro
                   line ~ /[^ ] +\/\*.*\*\/$/                   # comment behind code
        }
        function flush() {
            exploded = n_after > n_before + 5 # a list that would get a line for every item
            if (hunk != "" && !kept && !exploded) { printf "%s%s", head, hunk; head = "" }
            hunk = ""; kept = n_before = n_after = 0
        }
        /^diff / { flush(); head = ""; next }
        /^---/ || /^\+\+\+/ { head = head $0 "\n"; next }
        /^@@/ { flush() }
        /^-/ { n_before++; if (is_kept($0)) kept = 1 }
        /^\+/ { n_after++ }
        { hunk = hunk $0 "\n" }
        END { flush() }' >"$patch"
[ -s "$patch" ] || exit 0
if [ "$1" = --fix ]; then
    patch -p1 -s <"$patch"
else
    cat "$patch"
    echo "$(grep -c '^@@' "$patch") places differ; tests/lint/format.sh --fix mends them"
    exit 1
fi
