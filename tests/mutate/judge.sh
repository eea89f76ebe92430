#!/bin/sh
# One mutant of mutate.sh, by its name.
#
#     judge.sh compile NAME      makes its object, and says in objects/NAME.is: new, refused, or same as without it
#     judge.sh judge NAME        runs the tests that reach it, and writes verdict/NAME: verdict, seconds, by which
#
# The verdict is `killed` by the first tests, those of MOST_S; `late` by the others, of LAST_S more; `again` by the
# tests that AGAIN names; or `survived`.
set -u
how=$1
name=$2
tab=$(printf '\t')
IFS=$tab read -r _ kind file line last offset length text _ <<END
$(grep "^$name$tab" "$out/drawn")
END
object=$out/objects/$name.o
most_s=${MOST_S:-15}  # CPU seconds of the tests that each mutant meets
last_s=${LAST_S:-300} # of the further ones, which the survivors of these meet

# Compiled in the tree under the file's own name, so that a change without effect gives the very object of the build.
compile() {
    [ ! -f "${object%.o}.is" ] || return 0
    at=$(mktemp -d)
    changed=$at/${file##*/}
    {
        printf '#line 1 "%s"\n' "$file"
        head -c "$offset" "$tree/$file"
        printf '%b' "$text"
        tail -c +$((offset + length + 1)) "$tree/$file"
    } >"$changed"
    echo new >"${object%.o}.is"
    if (cd "$tree" && eval "$(cat "$work/compile") -Werror -iquote ${file%/*} -c -o $object $changed" 2>/dev/null); then
        cmp -s "$object" "$tree/$build/${file%.c}.o" && echo same >"${object%.o}.is"
    else
        echo refused >"${object%.o}.is"
    fi
    rm -rf "$at"
}

# Programs lie in the tree, where they find the catalog from any folder.
link() { # PROGRAM
    [ ! -x "$programs/$1" ] || return
    own=$build/${file%.c}.o
    case " $(cat "$work/link.$1") " in
    *" $own "*) change="s| $own | $object |" ;;
    *) change="s| -o [^ ]*| & $object|" ;;
    esac
    (cd "$tree" && eval "$(sed "$change; s| -o [^ ]*| -o $programs/$1|" "$work/link.$1")") >"$at/link" 2>&1 ||
        { echo "mutant $name does not link" >&2; cat "$at/link" >&2; exit 1; }
}

# Runs tests for that many CPU seconds at most, or more of the clock, since other work may share the processors. Memory
# that is fresh or freed is not zero (glibc's MALLOC_PERTURB_), as under AddressSanitizer. A mutant that starts
# processes without end is stopped at MOST_PROCESSES.
run_tests() { # SECONDS TEST...
    limit_s=$1
    shift
    (
        cd "$tree" || exit 1
        ulimit -t "$limit_s"
        ulimit -v 4000000
        MALLOC_PERTURB_=190 TMPDIR=$at TEST_WORKERS=1 OPTIMISED='' ORRERY=$programs/orrery BUILD=$build \
            timeout -k 5 $((limit_s * ${SLOWED:-5} + 30)) "$programs/run" "$@" &
        while kill -0 $! 2>/dev/null; do
            # timeout leads a group of processes, which nobody counts where there is no pgrep.
            n=$(pgrep -c -g $! 2>/dev/null)
            [ "${n:-0}" -le "${MOST_PROCESSES:-200}" ] || kill -9 -$!
            sleep 0.2
        done
        wait $!
    ) >"$at/log" 2>&1 </dev/null
}

# Batches of tests, each about as long as all before: what the mutant is if one fails, ten times their seconds, whether
# they start orrery, names.
batches() {
    awk -F'\t' -v name="$name" -v most_s="$most_s" -v last_s="$last_s" '
        function finish() {
            if (names != "") printf "%s %d %d%s\n", verdict, 10 * s + 2, spawns, names
            names = ""
            spawns = s = 0
        }
        BEGIN { verdict = "killed" }
        $1 != name { next }
        verdict == "killed" && all + $2 > most_s { finish(); verdict = "late"; most_s = all + last_s }
        all + $2 > most_s { exit }
        { s += $2; all += $2; spawns = spawns || $3; names = names " " $4 }
        s > all / 2 && s > 0.2 { finish() }
        END { finish() }' "$out/tests"
}

judge() {
    [ -n "${AGAIN:-}" ] || [ ! -f "$out/verdict/$name" ] || return 0
    at=$(mktemp -d -t mutant.XXXXXX)
    programs=$(mktemp -d -p "$tree/build" mutant.XXXXXX)
    trap 'rm -rf "$at" "$programs"' EXIT
    link run
    if [ -n "${AGAIN:-}" ]; then echo "again ${MOST_S:-600} 1 $AGAIN"; else batches; fi >"$at/batches"
    verdict=survived by=
    [ -s "$at/batches" ] || by=unreached
    began=$(date +%s)
    while read -r if_failed limit_s spawns names; do
        [ "$spawns" = 0 ] || link orrery
        run_tests "$limit_s" $names && continue
        status=$?
        verdict=$if_failed
        by=$(awk '/^FAILED / { print $2; exit }' "$at/log")
        : "${by:=exit status $status in $(grep -c ^passed "$at/log") of: $(echo "$names" | cut -c1-80)}"
        break
    done <"$at/batches"
    printf '%s\t%s\t%s\n' $verdict $(($(date +%s) - began)) "$by" >"$out/verdict/$name"
    echo "$name $verdict $kind $file:$line $by"
}

$how
