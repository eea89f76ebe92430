#!/bin/sh
# The completion for fish offers verbs, options, choices, names of listings and files, as the one for bash does.
. tests/cli/lib.sh

command -v fish >/dev/null || skip 'no fish'
root=$PWD
mkdir "$T/bin" "$T/home"
optimised
ln -s "$(realpath "$ORRERY")" "$T/bin/orrery"
PATH=$T/bin:$PATH
export HOME="$T/home" XDG_CONFIG_HOME="$T/home" XDG_DATA_HOME="$T/home"
orrery help --fish >"$T/orrery.fish"
last='orrery help --fish'
fish -n "$T/orrery.fish" || complain 'fish finds an error in it'
cd "$T/home" || exit 1
export ORRERY_DATA="$root"
touch rows.db rows.txt

offers() { # WORDS, the expected words on standard input
    last="completion of: $1"
    fish --no-config -c "source $T/orrery.fish; complete -C '$1'" 2>&1 | cut -f1 | grep -v '^fish/*$' >"$T/out"
    out_is
}
words() { tr ' ' '\n'; }
echo 'compare conform' | words | offers 'orrery co'
echo '--queue --quiet' | words | offers 'orrery run --qu'
echo 'calendar heap' | words | offers 'orrery run quickstart --queue '
echo quickstart | offers 'orrery run quick'
echo 'parameters policies prices' | words | offers 'orrery list p'
echo cost | offers 'orrery explain cos'
echo round-robin | offers 'orrery conform round'
echo a40 | offers 'orrery calibrate --gpu a40'
(cd "$root/configs/hardware" && ls h100*.json) | sed 's/^/cluster.gpu=/; s/\.json$//' | offers 'orrery run --set cluster.gpu=h100'
orrery list policies | awk '$1 == "routing" { print "services.chat.routing=" $2 }' | LC_ALL=C sort |
    offers 'orrery run -s services.chat.routing='
echo 'rows.db rows.txt' | words | offers 'orrery compare row'
finish
