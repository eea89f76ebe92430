#!/bin/sh
# An installed program finds its configurations from any directory, a policy is built against its headers alone, and the
# manual page and the completions are made from the same tables as the help.
. tests/cli/lib.sh

root=$PWD
built=${BUILD:-build/release}
last='make install'
install_into() { # PREFIX
    env -u MAKEFLAGS -u MFLAGS make -s install-files B="$built" PREFIX="$1" >"$T/make" 2>&1 ||
        { complain 'it failed'; cat "$T/make"; }
}
install_into "$T/prefix"

# A prefix with blanks, and one that is relative to here.
install_into "$T/with a blank"
[ -x "$T/with a blank/bin/orrery" ] || complain 'there is no program below a prefix with blanks'
"$T/with a blank/bin/orrery" list scenarios >"$T/out" || complain 'it does not run below a prefix with blanks'
out quickstart
if command -v pkg-config >/dev/null; then
    last='a policy built against headers below a prefix with blanks'
    cp -r "$T/with a blank/share/orrery/policies/examples" "$T/blanks"
    PKG_CONFIG_PATH="$T/with a blank/lib/pkgconfig" make -s -C "$T/blanks" >"$T/make" 2>&1 || { complain 'it failed'; cat "$T/make"; }
    [ -f "$T/blanks/smallest_area.so" ] || complain 'there is none'
fi
last='make uninstall'
env -u MAKEFLAGS -u MFLAGS make -s uninstall PREFIX="$T/with a blank" || complain 'it failed'
equal "$(find "$T/with a blank" -type f | wc -l)" 0 'files left behind'
last='make install with a relative prefix'
relative=build/prefix.$$
install_into "$relative"
holds "$relative/lib/pkgconfig/orrery.pc" "prefix=$root/$relative"
rm -rf "$relative"

last='share/orrery/policies/examples'
diff -r -x '*.so' policies/examples "$T/prefix/share/orrery/policies/examples" || complain 'not what is in the sources'
for page in policies/README.md sim/world/policy/README.md sim/world/policy/jobs/README.md; do
    cmp -s "$page" "$T/prefix/share/orrery/$page" || complain "$page is not installed"
done
cp -r "$T/prefix/share/orrery/policies/examples" "$T/elsewhere"
cd "$T/elsewhere" || exit 1
ORRERY=$T/prefix/bin/orrery
PATH=$T/prefix/bin:$PATH
PKG_CONFIG_PATH=$T/prefix/lib/pkgconfig
export PATH PKG_CONFIG_PATH

run 0 run quickstart -o r.db --quiet
sql r.db "select name, status from run" 'quickstart|done'
run 0 list gpus
out 'h100-sxm'
run 0 export r.db metrics_by_run
out 'quickstart'

# The measuring kit is that of the sources.
run 0 profile --kit kit
for file in $(cd "$root/analysis/calibrate/kit" && ls README.md ./*.py orrery_kit/*.py); do
    cmp -s "$root/analysis/calibrate/kit/$file" "kit/$file" || complain "the kit lacks $file, or has another"
done

# What follows computes more than it reaches: `conform`, figures. Scripts of their own run these under sanitizers.
[ -z "${OPTIMISED:-}" ] || cp "$OPTIMISED/orrery" "$ORRERY"

# What pkg-config says.
if command -v pkg-config >/dev/null; then
    last='pkg-config'
    equal "$(pkg-config --cflags orrery | sed 's/ *$//')" "-I$T/prefix/include/orrery" --cflags
    equal "$(pkg-config --variable=abi orrery)" "$(sed -n 's/.*POLICY_ABI = \([0-9]*\).*/\1/p' "$root/sim/world/policy/policy.h")" abi
    equal "orrery $(pkg-config --modversion orrery)" "$("$ORRERY" --version | sed 's/ (.*//')" --modversion

    # policies/README.md: blocks in bash are for a copy of the examples; the C block becomes a plug-in by two changes.
    blocks() { # LANGUAGE
        awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print } $0 == fence { inside = 1 }' "$root/policies/README.md"
    }
    last='the bash blocks of policies/README.md'
    blocks bash >"$T/blocks.sh"
    [ "$(wc -l <"$T/blocks.sh")" -gt 6 ] || complain 'there are none'
    sh -eu "$T/blocks.sh" >"$T/out" 2>"$T/err" || { complain 'a command failed'; tail -5 "$T/err"; }
    out 'conforms in 21 scenarios'
    out 'jobs.scheduler.patience'
    out 'plugin.smallest_area.so='
    out 'pass'
    grep -q 'smallest-area' figures/own/load.svg || complain 'the figure lacks the policy'
    grep -q 'sjf' figures/own/load.svg || complain 'the figure lacks the built-in ones'
    sql figures/own/load.db "select count(*) from run where policies like '%smallest-area%plugin.smallest_area.so=%'" 15
    last='the C block of policies/README.md as a plug-in'
    { blocks c | sed '/policies\/declared\.h/d'; echo 'ORRERY_PLUGIN(&routing_fewest_waiting.policy)'; } >fewest_waiting.c
    make -s fewest_waiting.so >"$T/make" 2>&1 || { complain 'it does not build'; cat "$T/make"; }
    run 0 run quickstart --plugin ./fewest_waiting.so --set services.chat.routing=fewest-waiting --quiet
    last='smallest_area.c'
    [ "$(wc -l <smallest_area.c)" -lt 80 ] || complain 'it has more than 80 lines'
    ! grep '#include "' smallest_area.c | grep -v '"sim/world/policy/scheduler.h"' || complain 'it includes more'
fi

# The manual page.
page=$T/prefix/share/man/man1/orrery.1
last='the manual page'
if command -v man >/dev/null; then
    LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$page" >"$T/page" 2>"$T/warnings" || complain 'man fails'
    [ ! -s "$T/warnings" ] || { complain 'it has warnings'; head -5 "$T/warnings"; }
    for word in 'orrery run SCENARIO' '--plugin FILE.so' 'calendar|heap' 'orrery conform' 'EXIT STATUS'; do
        grep -qF -e "$word" "$T/page" || complain "it lacks: $word"
    done
fi
for verb in $("$ORRERY" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    grep -q "^\.SS orrery $verb\$" "$page" || complain "it lacks the verb $verb"
done

# The completions have every verb and every option of the help.
helper=${OPTIMISED:+$OPTIMISED/orrery}
: "${helper:=$ORRERY}"
"$helper" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$T/verbs"
while read -r verb; do
    "$helper" "$verb" --help | sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/\2/p' | sed "s/^/$verb /"
done <"$T/verbs" | sort >"$T/options"
[ "$(wc -l <"$T/options")" -gt 50 ] || complain 'the help has few options'
last='completion for bash'
awk '$1 ~ /^[a-z]+\)$/ { verb = $1; sub(/\)/, "", verb) } /^ *options=/ { gsub(/.*=.--help|.$/, ""); for (i = 1; i <= NF; i++) print verb, substr($i, 3) }' \
    "$T/prefix/share/bash-completion/completions/orrery" | sort | diff "$T/options" - || complain 'other options than in the help'
last='completion for zsh'
zsh=$T/prefix/share/zsh/site-functions/_orrery
equal "$(head -1 "$zsh")" '#compdef orrery' 'first line'
awk '/^    [a-z]+\)$/ { verb = substr($1, 1, length($1) - 1) }
     match($0, /^            .\*?--[a-z-]+/) { name = substr($0, 1, RLENGTH); sub(/.*--/, "", name); print verb, name }' "$zsh" |
    sort | diff "$T/options" - || complain 'other options than in the help'
last='completion for fish'
sed -n "s/^complete -c orrery -n '__orrery_verb \([a-z]*\)'.* -l \([a-z-]*\) .*/\1 \2/p" "$T/prefix/share/fish/vendor_completions.d/orrery.fish" |
    grep -v ' help$' | sort | diff "$T/options" - || complain 'other options than in the help'

# For bash: `complete WORD...` is what TAB offers for the last one.
script=$T/prefix/share/bash-completion/completions/orrery
cat >"$T/complete.bash" <<'END'
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_orrery
printf '%s\n' "${COMPREPLY[@]// /_}" | LC_ALL=C sort | tr '\n' ' '
END
offers() { # EXPECTED WORD...
    expected=$1
    shift
    last="completion of: $*"
    equal "$(bash "$T/complete.bash" "$script" "$@" 2>&1)" "$expected" offer
}
if command -v bash >/dev/null; then
    offers 'compare conform ' orrery co
    offers '--queue --quiet ' orrery run --qu
    offers 'calendar heap ' orrery run quickstart --queue ''
    offers 'event ' orrery run --check ev
    offers 'quickstart ' orrery run quick
    offers 'parameters policies prices ' orrery list p
    offers 'cost ' orrery explain cos
    offers 'round-robin ' orrery conform round
    offers "$(cd "$root/configs/hardware" && ls h100*.json | sed 's/\.json$//' | tr '\n' ' ')" orrery run quickstart --set cluster.gpu = h100
    routers=$("$ORRERY" list policies | awk '$1 == "routing" { print $2 }' | LC_ALL=C sort | tr '\n' ' ')
    [ "${routers#*round-robin}" != "$routers" ] || complain "the routing policies are '$routers'"
    offers "$routers" orrery run quickstart --set services.chat.routing =
    offers 'a40 ' orrery calibrate --gpu a40
    offers 'smallest_area.c ' orrery run quickstart --plugin smallest_area.c
    mkdir blanks
    touch 'blanks/my first.json' 'blanks/my second.json'
    offers 'blanks/my_first.json blanks/my_second.json ' orrery run blanks/my
    offers 'blanks/my_first.json ' orrery compare 'blanks/my\ f'
    offers 'blanks/my_first.json ' orrery run -o "'blanks/my f"
fi

# $ORRERY_DATA goes before all else.
mv "$T/prefix/share/orrery" "$T/data"
run 2 run quickstart
err "error: no scenario 'quickstart'"
export ORRERY_DATA="$T/data"
run 0 run quickstart --quiet
ORRERY_DATA=$T/nowhere
run 2 run quickstart
run 3 list gpus
err "$T/nowhere/configs/hardware: error: cannot list the GPUs of the catalog: No such file or directory; set ORRERY_DATA to"
unset ORRERY_DATA
mv "$T/data" "$T/prefix/share/orrery"

# A program in its source tree knows where that is; the current directory goes before it.
ORRERY=$root/$built/orrery
run 0 list gpus
mkdir -p configs/scenarios
run 0 run quickstart --quiet # a "configs" without a catalog is somebody else's
mkdir configs/hardware
printf '// Nothing but jobs\n{"jobs": {"trace": {"format": "csv-jobs", "path": "jobs.csv"}}}\n' >configs/scenarios/mine.json
printf 'submit_s,duration_s,gpus\n0,10,4\n' >configs/scenarios/jobs.csv
run 0 list scenarios
out_is <<'END'
scenario  summary
mine      Nothing but jobs
END
run 0 run mine --json
json '$.metrics."job.finished"' 1

# And away again.
last='make uninstall'
(cd "$root" && env -u MAKEFLAGS -u MFLAGS make -s uninstall PREFIX="$T/prefix") || complain 'it failed'
equal "$(find "$T/prefix" -type f | wc -l)" 0 'files left behind'
finish
