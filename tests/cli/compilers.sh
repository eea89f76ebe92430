#!/bin/sh
# The result does not depend on the compiler or on how much it optimises.
. tests/cli/lib.sh

mixed
simulate() { # PROGRAM: the result hash goes to $hash
    last="$1 run mixed.json"
    "$1" run "$T/mixed.json" --json --quiet >"$T/out" 2>"$T/err" || { complain 'it failed'; cat "$T/err"; }
    hash=$(json_of "$T/out" '$.result_hash')
}
program() { echo "build/$1-relinked/orrery"; }
# build MODE CC NAME: the program with its simulation compiled anew, in its own directory; the rest of it comes from the
# build under test.
build() {
    quiet_make MODE="$1" CC="$2" LINKER="${CC:-gcc}" WITH="${BUILD:-build/release}" "$(program "$3")"
}
quiet_make() {
    env -u MAKEFLAGS -u MFLAGS -u CI make -j2 "$@" >"$T/make" 2>&1 || { complain "make $*"; tail -5 "$T/make"; }
}

simulate "$ORRERY"
first=$hash
[ "${#first}" = 32 ] || complain 'no result hash'
for mode in o0 o3; do
    build "$mode" gcc "$mode"
    simulate "$(program "$mode")"
    equal "$hash" "$first" "result hash with gcc, $mode"
done
if command -v clang >/dev/null; then
    quiet_make WERROR=1 CC=clang check-syntax
    build release clang release-clang
    simulate "$(program release-clang)"
    equal "$hash" "$first" 'result hash with clang'
elif [ $failures = 0 ]; then
    skip 'clang is not installed; gcc -O0 and -O3 agree'
fi
finish
