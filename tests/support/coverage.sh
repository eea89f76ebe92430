#!/bin/sh
# Prints the lines that tests reach in the optimised build only, where no sanitizer looks, as FILE:LINE:SOURCE. Exits
# with 1 if there are any. `make coverage` builds what this needs; it takes as long as `make test` without compiling.
build=build/cov
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every line that has run so far, but for those of tests.
reached() {
    find "$build" -name '*.gcda' ! -path "$build/tests/*" | xargs gcov --stdout --relative-only 2>/dev/null |
        awk -F: '$2 + 0 == 0 && $3 == "Source" { file = $4; next }
                 file !~ /^tests\// && $1 ~ /[0-9]/ { text = $0; sub(/^[^:]*:[^:]*:/, "", text)
                     printf "%s:%d:%s\n", file, $2, text }' | LC_ALL=C sort -u
}

find "$build" -name '*.gcda' -exec rm {} +
ORRERY=$build/orrery BUILD=$build OPTIMISED=build/o3 "$build/tests/run" >"$work/log" || grep -A3 ^FAILED "$work/log"
reached >"$work/sanitized"

# The same tests once more, with nothing left to the optimised build.
words=$(grep -lE '^(    \[.*)?optimised$' tests/cli/*.sh tests/lint/*.sh)
for suite in $(grep -rl '^TEST_OPTIMISED' tests/property tests/oracle tests/unit); do
    words="$words $(basename "$suite" .c)/"
done
ORRERY=$build/orrery BUILD=$build OPTIMISED= "$build/tests/run" $words >"$work/log" || grep -A3 ^FAILED "$work/log"
reached >"$work/all"

LC_ALL=C comm -13 "$work/sanitized" "$work/all" >"$work/unseen"
cat "$work/unseen"
echo "$(wc -l <"$work/all") lines reached, $(wc -l <"$work/unseen") in the optimised build only"
[ ! -s "$work/unseen" ]
