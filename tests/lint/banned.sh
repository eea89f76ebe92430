#!/bin/sh
# Calls and storage that the rules of the house exclude, each with its reason.
fail=0

# ban REASON PATTERN [FILTER]: no source line may match PATTERN, but for places that match FILTER. Comments and the
# contents of strings do not count.
ban() {
    find sim models policies traces analysis -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | xargs awk '
        FNR == 1 { inside = 0 }
        {
            line = $0
            gsub(/\\./, "", line); gsub(/"[^"]*"/, "\"\"", line); gsub(/\/\/.*/, "", line)
            if (inside) { if (!sub(/.*\*\//, "", line)) next; inside = 0 }
            gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
            if (sub(/\/\*.*/, "", line)) inside = 1
            print FILENAME ":" FNR ":" line
        }' | grep -E ":.*:.*$2" | grep -vE "${3:-^$}" && { echo "^ $1"; fail=1; }
}

call() { echo "(^|[^a-zA-Z0-9_>.])($1)\\("; }

ban 'writes without knowing the size: use snprintf, memcpy or struct text' "$(call 'strcpy|strcat|stpcpy|sprintf|vsprintf|gets')"
ban 'silently cuts or pads: use snprintf' "$(call 'strncpy|strncat')"
ban 'keeps hidden state' "$(call 'strtok|rand|srand|random|drand48|setlocale|localtime|gmtime|asctime|ctime|strerror_l')"
ban 'says nothing about errors: use strtol or strtod' "$(call 'atoi|atol|atof')"
ban 'allocation goes through sim/core/mem.h' "$(call 'malloc|calloc|realloc|free|strdup|strndup|alloca|getline|asprintf')" \
    '^sim/core/mem\.c:|^sim/cli/(paths|study/figure_shelf)\.c:.*free\(entries|^sim/core/json_doc\.c:'
ban 'reads the clock: only sim/cli may' "$(call 'time|clock|gettimeofday|clock_gettime|nanosleep|sleep|usleep')" '^sim/cli/'
ban 'prints: only sim/cli may; others fill a diag or a struct text' \
    "$(call 'printf|puts|putchar|perror|vprintf')|(stdout|stderr)[^a-z]" '^sim/cli/|^sim/core/check\.c:'
ban 'ends the process: only main does, and SIM_BUG; runs of a sweep, of check and of conform are processes of their own' \
    "$(call 'exit|_exit|abort|quick_exit')" '^sim/core/check\.c:|^sim/(study/workers|study/map|cli/study/conform_child|cli/study/check_runs)\.c:.*_exit'
ban 'reads the environment: only sim/cli may' "$(call 'getenv|secure_getenv|setenv|putenv')" '^sim/cli/'
ban 'asserts by check.h' "$(call assert)"

# A script without `finish` at its end passes, or leaves its last checks out.
for script in tests/cli/*.sh; do
    grep -q '^\. tests/cli/lib.sh' "$script" || continue
    [ "$(tail -n 1 "$script")" = finish ] || { echo "$script: does not end in 'finish'"; fail=1; }
done

# A golden result with a path of this machine fails on every other. A path of one folder may be a word of a text.
here=$(pwd -P)
case $here in /*/*)
    git grep -nIF "$here/" && { echo '^ the path of this checkout: it lies elsewhere on the next machine'; fail=1; } ;;
esac

# Storage that outlives a call and can change: none, but for the fault injection of mem.c, which is per thread. Looked
# up in the library as it was built; a const volatile lies in the same section.
library=${BUILD:-build/release}/liborrery.a
[ "$library" != build/cov/liborrery.a ] || exit $fail # which holds the counters of coverage
[ -f "$library" ] || { echo "$library is not built"; exit 1; }
objdump -t "$library" | awk '
    / file format / { object = $1 }
    $3 == "O" || $4 == "O" {
        section = $3 == "O" ? $4 : $5; name = $NF
        if (section !~ /^\.(data|bss|tdata|tbss)/ || section ~ /^\.data\.rel\.ro/ || name ~ /^__odr_asan/) next
        if (object == "mem.o" && section == ".tbss" || name == "never_interrupted") next
        print object " " name " (" section ")"; bad = 1
    }
    END { if (bad) print "^ mutable static storage: hang it on a context"; exit bad }' || fail=1
exit $fail
