#!/bin/sh
# The completion for zsh offers verbs, options, choices, names of listings and files, as the one for bash does.
. tests/cli/lib.sh
. tests/cli/lib_completion.sh

command -v zsh >/dev/null || skip 'no zsh'
root=$PWD
mkdir "$T/bin" "$T/functions" "$T/here"
optimised
ln -s "$(realpath "$ORRERY")" "$T/bin/orrery"
PATH=$T/bin:$PATH
export ORRERY_DATA="$root" T
orrery help --zsh >"$T/functions/_orrery"
last='orrery help --zsh'
zsh -n "$T/functions/_orrery" || complain 'zsh finds an error in it'
cd "$T/here" || exit 1
touch rows.db rows.txt

# A shell on a pseudo-terminal, whose compadd prints each word that it would offer.
cat >"$T/shell.zsh" <<'END'
PROMPT=
fpath=($T/functions $fpath)
autoload -Uz compinit
compinit -u -d $T/dump
bindkey '^I' complete-word
compadd() {
    [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] && { builtin compadd "$@"; return }
    local -a offered
    builtin compadd -A offered "$@"
    local word
    for word in $offered; do echo -E - "offered:$word"; done
    builtin compadd "$@"
}
comppostfuncs=(exit)
echo ready
END
cat >"$T/type.zsh" <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $T/shell.zsh"
repeat 50; do zpty -r shell line; [[ $line == ready* ]] && break; done
zpty -w shell "$*"$'\t'
while zpty -r shell line; do print -r -- "$line"; done
END
offers() { # WORDS; the expected words are in $T/wanted
    last="completion of: $1"
    timeout 30 zsh -f "$T/type.zsh" "$1" 2>&1 | tr -d '\r' | sed -n 's/.*offered://p' | LC_ALL=C sort -u >"$T/out"
    out_is <"$T/wanted"
}
assigned=
completion_cases
finish
