#!/bin/sh
# The completion for fish offers verbs, options, choices, names of listings and files, as the one for bash does.
. tests/cli/lib.sh
. tests/cli/lib_completion.sh

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

offers() { # WORDS; the expected words are in $T/wanted
    last="completion of: $1"
    fish --no-config -c "source $T/orrery.fish; complete -C '$1'" 2>&1 | cut -f1 | grep -v '^fish/*$' >"$T/out"
    out_is <"$T/wanted"
}
assigned=services.chat.routing=
completion_cases
(cd "$root/configs/hardware" && ls h100*.json) | sed 's/^/cluster.gpu=/; s/\.json$//' >"$T/wanted"
offers 'orrery run --set cluster.gpu=h100'
finish
