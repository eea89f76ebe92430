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
    [ -d "$room" ] || { echo "$room: no such folder"; fail=1; return; }
    if grep -rnE --include='*.[ch]' --include='*.inc' '^ *# *include "' "$room" | grep -vE "include \"($allowed)"; then
        echo "^ $room may include only: $allowed"
        fail=1
    fi
}

check models
check sim/core
check sim/catalog sim/core/ models/
check sim/world sim/core/ sim/catalog/ models/
check sim/store sim/core/ 'sim/world/rows/(sink\.h|tables\.inc)'
check sim/study sim/core/ sim/world/ sim/store/
check traces sim/core/ 'sim/world/rows/source\.h'
check policies 'sim/world/policy/' models/ sim/core/
for family in policies/*/; do
    family=${family#policies/} family=${family%/}
    [ "$family" = examples ] && continue
    check "policies/$family" "sim/world/policy/(policy|$family)\.h" 'policies/[a-z_]*\.h' models/ sim/core/
done
check analysis sim/core/ 'sim/catalog/' models/

list=$(mktemp)
trap 'rm -f "$list"' EXIT
none() { # PROBLEM: the lines in $list should not be
    [ -s "$list" ] || return 0
    cat "$list"
    echo "^ $1"
    fail=1
}

# The rooms of sim/world in their order: a room includes rooms to its left only. Rooms joined by '=' do not include each
# other. Files beside the rooms are composition: they include any room, and no room includes them.
order='policy < rows < cluster < links < kv < replica < service=jobs < failures=power=market=rl < world'
grep -rnE --include='*.[ch]' '^ *# *include "sim/world/' sim/world |
    awk -v order="$order" '
        function room(path, part) { return split(path, part, "/") > 3 ? part[3] : "world" }
        BEGIN {
            n = split(order, levels, " < ")
            for (i = 1; i <= n; i++) { m = split(levels[i], names, "="); for (j = 1; j <= m; j++) level[names[j]] = i }
        }
        {
            from = $0; sub(/:.*/, "", from)
            to = $0; sub(/^[^"]*"/, "", to); sub(/".*/, "", to)
            a = room(from); b = room(to)
            if (!(a in level)) print from ": room " a " has no place in the order"
            else if (a != b && level[b] >= level[a]) print
        }' >"$list"
none "sim/world: $order (see sim/world/README.md)"

# Private headers: inside.h and *_state.h belong to their folder alone.
grep -rnE --include='*.[ch]' '^ *# *include "[^"]*(/inside|_state)\.h"' sim models policies traces analysis |
    awk '
        {
            from = $0; sub(/:.*/, "", from); sub("/[^/]*$", "", from)
            to = $0; sub(/^[^"]*"/, "", to); sub("/[^/]*\".*", "", to)
            if (from != to) print
        }' >"$list"
none 'a header named inside.h or *_state.h is included from its own folder only'

grep -rnE --include='*.[ch]' '^ *# *include <' models |
    grep -vE '<(assert|float|inttypes|limits|math|stdbool|stddef|stdint|stdlib|string)\.h>' >"$list"
none 'models need the C library and libm only'
grep -rnE --include='*.[ch]' 'include "(sim/catalog|models)/' analysis 2>/dev/null | grep -v '^analysis/calibrat' >"$list"
none 'of analysis, only its calibration knows the catalog and the models'
grep -rnE --include='*.[ch]' 'include "sim/cli/' sim models policies traces analysis 2>/dev/null | grep -v '^sim/cli/' >"$list"
none 'nothing includes the command line'
exit $fail
