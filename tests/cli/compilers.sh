#!/bin/sh
# The result does not depend on the compiler or on how much it optimises.
. tests/cli/lib.sh

mixed
simulate() { # PROGRAM: the result hash goes to $hash
    last="$1 run mixed.json"
    "$1" run "$T/mixed.json" --json --quiet >"$T/out" 2>"$T/err" || { complain 'it failed'; cat "$T/err"; }
    hash=$(json_of "$T/out" '$.result_hash')
}
# build MODE CC: builds the program alone, in its own directory.
build() {
    env -u MAKEFLAGS -u MFLAGS -u CI make -j2 MODE="$1" CC="$2" "build/$3/orrery" >"$T/make" 2>&1 || { complain "make MODE=$1 CC=$2"; tail -5 "$T/make"; }
}

simulate "$ORRERY"
first=$hash
[ "${#first}" = 32 ] || complain 'no result hash'
for mode in o0 o3; do
    build $mode gcc $mode
    simulate build/$mode/orrery
    equal "$hash" "$first" "result hash with gcc, $mode"
done
if command -v clang >/dev/null; then
    build release clang release-clang
    simulate build/release-clang/orrery
    equal "$hash" "$first" 'result hash with clang'
elif [ $failures = 0 ]; then
    skip 'clang is not installed; gcc -O0 and -O3 agree'
fi
finish
