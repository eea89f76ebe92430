#!/bin/sh
# The layout of the code is that of .clang-format; `tests/lint/format.sh --fix` makes it so.
#
# Left as they are: tables (lines with designated initialisers or brace lists), macros, and comments behind code, which are
# aligned by hand in groups. clang-format 14 would give every field a line of its own.
[ -n "$LINT_ALL$1" ] || { echo "make lint runs it"; exit 77; }
command -v clang-format >/dev/null || { echo 'clang-format is not installed'; exit 77; }
case $(clang-format --version) in
*'version 14.'*) ;;
*) echo "the layout is checked with clang-format 14, this is another one"; exit 77 ;;
esac

patch=$(mktemp)
trap 'rm -f "$patch"' EXIT
git ls-files '*.[ch]' | while read -r file; do
    clang-format "$file" | diff -U0 --label "a/$file" --label "b/$file" "$file" - | awk '
        function is_kept(line) {
            return line ~ /\.[a-z_0-9]+ = / ||                 # designated initialiser
                   line ~ /= \{$/ || line ~ /^-[^;]*\{[^;]*\}[,;]*$/ || # head or row of a table
                   line ~ /^-    [A-Z_]+\(.*\),?$/ ||           # row of a table of macros
                   line ~ /^-    [A-Z_]+COUNT$/ ||              # after such a table
                   line ~ /^-#define/ || line ~ /\\$/ ||        # macro
                   line ~ /[^ ] +\/\*.*\*\/$/                   # comment behind code
        }
        function flush() {
            if (hunk != "" && !kept) { printf "%s%s", head, hunk; head = "" }
            hunk = ""; kept = 0
        }
        /^---/ || /^\+\+\+/ { head = head $0 "\n"; next }
        /^@@/ { flush() }
        /^-/ && is_kept($0) { kept = 1 }
        { hunk = hunk $0 "\n" }
        END { flush() }'
done >"$patch"
[ -s "$patch" ] || exit 0
if [ "$1" = --fix ]; then
    patch -p1 -s <"$patch"
else
    cat "$patch"
    echo "$(grep -c '^@@' "$patch") places differ; tests/lint/format.sh --fix mends them"
    exit 1
fi
