#!/bin/sh
# Every header compiles alone, and says what its file's path says in its guard.
fail=0
# Lists for whoever defines their macro are no headers of their own.
headers=$(find sim models policies traces analysis tests -name '*.h' 2>/dev/null | grep -v '^policies/list\.h$\|^traces/list\.h$' | LC_ALL=C sort)
# The build of the tests has compiled alone what a C file includes before all else; `make lint` does not rely on that.
compiled=$(find sim models policies traces analysis tests -name '*.c' ! -name mpi.c ! -path 'policies/examples/*' |
    xargs awk -F '"' 'FNR == 1 { open = 1 } open && /^ *#/ { open = 0; if (/^#include "/) print $2 }')
for header in $headers; do
    [ -z "$LINT_ALL" ] && case "
$compiled
" in *"
$header
"*) continue ;; esac
    ${CC:-gcc} -std=c17 -Wall -Wextra -Wpedantic -Werror -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -I. \
        -fsyntax-only -include "$header" -x c /dev/null || { echo "^ $header does not compile alone"; fail=1; }
done
awk '
    function guard(path) { sub(/^sim\//, "", path); gsub(/[\/.-]/, "_", path); return "ORRERY_" toupper(path) }
    FNR == 1 { wanted = guard(FILENAME) }
    $1 == "#ifndef" && $2 == wanted && NF == 2 { guarded[FILENAME] }
    END {
        for (i = 1; i < ARGC; i++)
            if (!(ARGV[i] in guarded)) { print ARGV[i] ": the guard should be " guard(ARGV[i]); bad = 1 }
        exit bad
    }' $headers || fail=1
exit $fail
