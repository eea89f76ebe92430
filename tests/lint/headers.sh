#!/bin/sh
# Every header compiles alone, and says what its file's path says in its guard.
fail=0
cc=${CC:-gcc}
for header in $(find sim models policies traces analysis tests -name '*.h' 2>/dev/null | LC_ALL=C sort); do
    case $header in policies/list.h | traces/list.h) continue ;; esac # lists for whoever defines their macro
    echo "#include \"$header\"" |
        "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -I. \
            -fsyntax-only -x c - || { echo "^ $header does not compile alone"; fail=1; }
    guard=ORRERY_$(echo "${header#sim/}" | tr 'a-z/.-' 'A-Z___')
    grep -q "^#ifndef $guard\$" "$header" || { echo "$header: the guard should be $guard"; fail=1; }
done
exit $fail
