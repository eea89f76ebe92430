#!/bin/sh
# Learns which test reaches which line of the files that have mutants: runs each test alone, with programs that mark
# the blocks of these files that run (marks.c). Called by mutate.sh in its copy of the tree:
#
#     learn.sh OUT FILE...
#
# writes OUT/lines (number, FILE:LINE) and OUT/reached, one line per test with fields separated by tabs: name, CPU
# seconds, 1 if the test starts the program `orrery`, the numbers of the lines that it reaches. Tests that fail or are
# skipped here are left out, and named in OUT/unfit; LEAVE_OUT='WORD|WORD' leaves out long ones as well. After new
# tests, ONLY='WORD|WORD' learns these, and keeps what is known of all others: the product must be as it was.
set -u
out=$1
shift
programs=build/marked
workers=${WORKERS:-$(nproc)}
mkdir -p "$out" $programs
printf '%s\n' "$@" >"$out/files"

# The programs of the build of mutants, with objects that mark in place of those of the files.
rm -f $programs/*.o
marked=
for file; do
    object=$programs/$(echo "${file%.c}" | tr / -).o
    eval "$(cat "$work/compile") -O1 -g1 -fsanitize-coverage=trace-pc -c -o $object $file" || exit 1
    marked="$marked $object"
    echo "s| $build/${file%.c}.o | |"
done >"$out/unmark"
for program in run orrery; do
    sed "s/ -s\$//; s| -o [^ ]*| -o $programs/$program$marked|" "$work/link.$program" |
        sed -f "$out/unmark" >"$out/link"
    sh "$out/link" || exit 1
done

# Blocks of a program: the offset that marks one, and FILE:LINE for each line of it. A block is what stands between the
# calls that mark blocks. Functions of other files have none. Objects from the cache of a compiler may name another
# copy of the tree.
blocks() { # PROGRAM
    start=$(nm "$1" | awk '$3 == "__executable_start" { print $1 }')
    objdump -dl --no-show-raw-insn "$1" | awk -v files="$out/files" '
        BEGIN { while ((getline file <files) > 0) wanted[file] }
        /^[0-9a-f]+ <.*>:$/ { block = "" }
        /^[^ ].*:[0-9]+( \(discriminator [0-9]+\))?$/ {
            line = $1
            sub(/.*\/build\/mutate\/tree\//, "", line)
            sub(/^\.\//, "", line)
            file = line
            sub(/:.*/, "", file)
            next
        }
        /call.*<__sanitizer_cov_trace_pc>/ { begins = 1; next }
        /^ / {
            if (begins) { at = $1; sub(/:/, "", at); block = at; begins = 0 }
            if (file in wanted && block != "" && !((block, line) in seen)) {
                seen[block, line] = 1
                print block, line
            }
        }' | while read -r at line; do echo "$((0x$at - 0x$start)) $line"; done
}
for program in run orrery; do blocks $programs/$program >"$out/blocks.$program"; done
[ -n "${ONLY:-}" ] && [ -f "$out/lines" ] ||
    cut -d' ' -f2 "$out"/blocks.* | LC_ALL=C sort -u | awk '{ print NR, $0 }' >"$out/lines"

# All tests: SUITE/TEST as files name them, and scripts. Left out are scripts that build the program anew.
tests() {
    grep -rE '^TEST(_OPTIMISED)?\(' tests/unit tests/property tests/oracle tests/golden --include='*.c' |
        sed 's|^.*/\([^/]*\)\.c:TEST[A-Z_]*(\([A-Za-z0-9_]*\)).*|\1/\2|'
    ls tests/cli/*.sh tests/golden/*.sh |
        grep -vE '/(lib|lib_completion|alone|bench|compilers|install|check_planted|sweep_mpi|sweep_slurm)\.sh'
}

# Runs every $workers-th test from the $1-th: what it printed last, then the offsets of marked blocks.
run_share() {
    marks=$out/marks.$1
    tests | grep -vE "${LEAVE_OUT:-^$}" | grep -E "${ONLY:-}" |
        awk -v n="$workers" -v mine="$1" 'NR % n == mine % n' | while read -r name; do
        rm -f "$marks".*
        how=--alone
        case $name in *.sh) how= ;; esac
        said=$({
            MARKS=$marks TEST_TIMES=1 TEST_WORKERS=1 OPTIMISED= ORRERY=$programs/orrery BUILD=$build \
                timeout 900 $programs/run $how "$name" 2>&1 </dev/null || echo "exit $?"
        } | awk '
            match($0, /[A-Za-z]+ [^ ]+  [0-9.]+ CPU-s$/) && said == "" { # behind a message, perhaps
                split(substr($0, RSTART), line, " ")
                status = line[1]
                said = line[3]
            }
            /^exit / { status = "exit-" $2 }
            END { if (said != "") print status, said }')
        echo "test $name ${said:-lost 0}"
        for program in run orrery; do
            [ -f "$marks.$program" ] || continue
            echo "program $program"
            cmp -l "$marks.$program" /dev/zero 2>/dev/null
        done
    done | awk -v out="$out" -v unfit="$out/unfit.$1" '
        function finish() {
            if (name == "") return
            if (status != "passed") { print name, status >unfit; return }
            printf "%s\t%s\t%d\t%s\n", name, seconds, spawns, reached
        }
        BEGIN {
            while ((getline row <(out "/lines")) > 0) { split(row, at, " "); number[at[2]] = at[1] }
            for (i = split("run orrery", programs, " "); i > 0; i--)
                while ((getline row <(out "/blocks." programs[i])) > 0) {
                    split(row, at, " ")
                    lines_of[programs[i], at[1]] = lines_of[programs[i], at[1]] " " number[at[2]]
                }
        }
        /^test / { finish(); name = $2; status = $3; seconds = $4; spawns = 0; reached = ""; n_test++; next }
        /^program / { program = $2; spawns = spawns || program == "orrery"; next }
        {
            for (i = split(lines_of[program, $1 - 1], at, " "); i > 0; i--)
                if (last[at[i]] != n_test) { last[at[i]] = n_test; reached = reached " " at[i] }
        }
        END { finish() }' >"$out/reached.$1"
}

i=1
while [ $i -le "$workers" ]; do
    run_share $i &
    i=$((i + 1))
done
wait
for list in reached unfit; do
    [ -n "${ONLY:-}" ] && [ -f "$out/$list" ] && grep -vE "^[^[:blank:]]*($ONLY)" "$out/$list" >"$out/$list.0"
    cat "$out/$list".[0-9]* >"$out/$list" 2>/dev/null
done
rm -f "$out"/reached.[0-9]* "$out"/unfit.[0-9]* "$out"/marks.* "$out"/blocks.*
echo "$(wc -l <"$out/reached") tests reach $(wc -l <"$out/lines") lines; $(wc -l <"$out/unfit") tests are left out"
