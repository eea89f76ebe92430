#!/bin/sh
# The stages of `make mutate`: which tests a mutant meets, and what it is by the first that fails. The program of the
# tests is a stand-in, which fails if it is to run a test of $FAILS.
. tests/cli/lib.sh

export T out="$T/out" tree="$T/tree" work="$T/work" build=build/mutant MOST_S=8 LAST_S=30
mkdir -p "$out/verdict" "$out/objects" "$tree/build" "$work"
printf 'm1\tcomparison\tsim/a.c\t1\t1\t0\t1\tb\ta\tb\n' >"$out/drawn"
cat >"$T/program" <<'END'
#!/bin/sh
for test; do echo "$test"; done >>"$T/met"
for test; do case " $FAILS " in *" $test "*) echo "FAILED $test"; exit 1 ;; esac; done
END
chmod +x "$T/program"
printf 'copy() { cp "$T/program" "$2"; }; copy -o build/mutant/tests/run build/mutant/sim/a.o \n' |
    tee "$work/link.run" >"$work/link.orrery"

# The tests that reach the mutant, in their order, and the CPU seconds of each; another mutant has tests of its own.
{
    for s in 1 2 3 8 16 7 1; do printf 'm1\t%d\t0\ts/t%d_%d\n' "$s" "$s" "$((n = ${n:-0} + 1))"; done
    printf 'm2\t1\t0\tother/test\n'
} >"$out/tests"

judge() { # the tests that fail, or none
    rm -f "$T/met" "$out/verdict/m1"
    FAILS=$1 sh tests/mutate/judge.sh judge m1 >/dev/null
}
verdict_is() { # VERDICT [TEST]
    last="judge.sh, with a failing ${2:-none}"
    cut -f1,3 "$out/verdict/m1" >"$T/verdict"
    printf '%s\t%s\n' "$1" "${2:-}" >"$T/wanted"
    same "$T/verdict" <"$T/wanted"
}
met_are_the_first() { # N
    cut -f4 "$out/tests" | head -"$1" >"$T/wanted"
    same "$T/met" <"$T/wanted"
}
# Each is met once, until the seconds of a stage are spent: 1 + 2 + 3 of 8, then 8 + 16 of 30, as 7 more would be too
# many.
judge none
verdict_is survived
met_are_the_first 5
for name in s/t1_1 s/t3_3; do judge $name; verdict_is killed $name; done
for name in s/t8_4 s/t16_5; do judge $name; verdict_is late $name; done
judge 's/t7_6 s/t1_7 other/test'
verdict_is survived

# Without further seconds the second stage is empty; without tests no line is reached.
LAST_S=0
judge s/t8_4
verdict_is survived
met_are_the_first 3
sed -i '/^m1/d' "$out/tests"
judge none
verdict_is survived unreached

# New tests are told from those of the stages.
AGAIN='s/new s/t1_1'
export AGAIN
judge s/new
verdict_is again s/new
finish
