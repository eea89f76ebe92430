#!/bin/sh
# Prints the lines that tests reach in the optimised build only, where no sanitizer looks, as FILE:LINE:SOURCE. Exits
# with 1 if there are any, or if a test fails. Lines that run only in processes that end by _exit or a signal, such as
# the workers of a sweep, are not seen. `make coverage` builds what this needs.
build=build/cov
command -v gcov >/dev/null || { echo 'gcov is not installed' >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every line that has run so far, but for those of tests.
reached() {
    find "$build" -name '*.gcda' ! -path "$build/tests/*" | xargs gcov --stdout --relative-only |
        awk -F: '$2 + 0 == 0 && $3 == "Source" { file = $4; next }
                 file !~ /^tests\// && $1 ~ /[0-9]/ { text = $0; sub(/^[^:]*:[^:]*:/, "", text)
                     printf "%s:%d:%s\n", file, $2, text }' | LC_ALL=C sort -u
}

failed() {
    grep -A3 ^FAILED "$work/log" >&2
    exit 1
}

find "$build" -name '*.gcda' -exec rm {} +
ORRERY=$build/orrery BUILD=$build OPTIMISED=build/o3 "$build/tests/run" >"$work/log" || failed
reached >"$work/sanitized"
[ -s "$work/sanitized" ] || { echo 'no line was reached' >&2; exit 1; }

# The same tests once more, with nothing left to the optimised build.
words=$(grep -lE '(^|\|\| )optimised( |$)' tests/cli/*.sh tests/lint/*.sh)
for suite in $(grep -rlE '^TEST_(OPTIMISED|SIZED)' tests/property tests/oracle tests/unit); do
    words="$words $(basename "$suite" .c)/"
done
ORRERY=$build/orrery BUILD=$build OPTIMISED= "$build/tests/run" $words >"$work/log" || failed
reached >"$work/all"

LC_ALL=C comm -13 "$work/sanitized" "$work/all" >"$work/unseen"
cat "$work/unseen"
echo "$(wc -l <"$work/all") lines reached, $(wc -l <"$work/unseen") in the optimised build only"
[ ! -s "$work/unseen" ]
