#!/bin/sh
# Who may include whom: every room lists the rooms, or the single headers, that it may include besides itself.
fail=0

# check ROOM ALLOWED...: prints the includes of ROOM's files that are neither its own nor ALLOWED (extended regular
# expressions, anchored at the start).
check() {
    room=$1
    shift
    allowed="$room/"
    for word; do allowed="$allowed|$word"; done
    [ -d "$room" ] || return 0
    if grep -rnE --include='*.[ch]' --include='*.inc' '^ *# *include "' "$room" | grep -vE "include \"($allowed)"; then
        echo "^ $room may include only: $allowed"
        fail=1
    fi
}

check models
check sim/core
check sim/catalog sim/core/ models/
check sim/world sim/core/ sim/catalog/ models/
check sim/store sim/core/ 'sim/world/sink\.h'
check sim/study sim/core/ sim/world/ sim/store/
check traces sim/core/ 'sim/world/source\.h'
check policies 'sim/world/(policy|view|plan)\.h' models/ sim/core/
check analysis sim/core/ 'sim/catalog/' models/

list=$(mktemp)
trap 'rm -f "$list"' EXIT
none() { # PROBLEM: the lines in $list should not be
    [ -s "$list" ] || return 0
    cat "$list"
    echo "^ $1"
    fail=1
}

grep -rnE --include='*.[ch]' '^ *# *include <' models |
    grep -vE '<(assert|float|inttypes|limits|math|stdbool|stddef|stdint|stdlib|string)\.h>' >"$list"
none 'models need the C library and libm only'
grep -rnE --include='*.[ch]' 'include "(sim/catalog|models)/' analysis 2>/dev/null | grep -v '^analysis/calibrat' >"$list"
none 'of analysis, only its calibration knows the catalog and the models'
grep -rnE --include='*.[ch]' 'include "sim/cli/' sim models policies traces analysis 2>/dev/null | grep -v '^sim/cli/' >"$list"
none 'nothing includes the command line'
exit $fail
