#!/bin/sh
# The result does not depend on the compiler or on how much it optimises.
. tests/cli/lib.sh

mixed
simulate() { # PROGRAM: the result hash goes to $hash
    last="$1 run mixed.json"
    "$1" run "$T/mixed.json" --json --quiet >"$T/out" 2>"$T/err" || { complain 'it failed (does it reach a file that REACHED of the Makefile does not name?)'; cat "$T/err"; }
    hash=$(json_of "$T/out" '$.result_hash')
}
# relinked MODE CC NAME: the program with what this scenario reaches compiled anew, in its own directory; the rest of it
# comes from the optimised build.
relinked() {
    quiet_make MODE="$1" CC="$2" WITH="$optimised" WERROR=1 "build/$3-relinked/orrery"
    simulate "build/$3-relinked/orrery"
}
quiet_make() {
    env -u MAKEFLAGS -u MFLAGS -u CI make -j2 "$@" >"$T/make" 2>&1 || { complain "make $*"; tail -5 "$T/make"; }
}

simulate "$ORRERY"
first=$hash
[ "${#first}" = 32 ] || complain 'no result hash'
optimised=${OPTIMISED:-build/o3}
[ -n "${OPTIMISED:-}" ] || quiet_make MODE=o3 $optimised/orrery
simulate $optimised/orrery
equal "$hash" "$first" 'result hash with gcc, -O3'
relinked o0 gcc o0
equal "$hash" "$first" 'result hash with gcc, -O0'
# What the scenario does not reach stands still: had it reached such a file, the program had died, as it does here.
sed 's/"srtf"/"gavel"/' "$T/mixed.json" >"$T/idle.json"
"$optimised/orrery" run "$T/idle.json" -q >"$T/out" 2>"$T/err" || complain 'a scheduler of another file fails'
sh -c 'ulimit -c 0; build/o0-relinked/orrery run "$0" -q; exit $?' "$T/idle.json" >"$T/out" 2>"$T/err"
equal $? 139 'exit status of the program that reaches a file left out'
if command -v clang >/dev/null; then
    quiet_make WERROR=1 CC=clang check-syntax
    relinked release clang release-clang
    equal "$hash" "$first" 'result hash with clang'
elif [ $failures = 0 ]; then
    skip 'clang is not installed; gcc -O0 and -O3 agree'
fi
finish
