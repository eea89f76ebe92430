#!/bin/sh
# The pages say what happens: shell blocks run, sessions print what stands there, scenarios are valid, C compiles.
# By the language of a block:
#     sh               runs, in a folder that has the program and the data where the page says they are
#     console          "$ COMMAND" lines with their output; ACCEPT=1 writes the output anew
#     json scenario    `orrery validate` takes it; json study: `orrery sweep --dry-run`
#     c                compiles
# Blocks of one page run in their order, in one folder. Pages may be named; else all are tried.
. tests/cli/lib.sh
optimised

root=$PWD
mkdir "$T/bin"
ln -s "$(realpath "$ORRERY")" "$T/bin/orrery"
PATH=$T/bin:$PATH
ORRERY=$T/bin/orrery

# pieces PAGE FOLDER: the page's blocks, as files NUMBER.LANGUAGE.
pieces() {
    awk -v folder="$2" '
        /^```/ && inside { inside = 0; close(file); next }
        inside { print >file }
        /^```(sh|console|c|json scenario|json study)$/ { inside = 1; language = $NF; sub(/^```/, "", language)
            file = sprintf("%s/%03d.%s", folder, ++n, language); printf "" >file; next }
        /^```/ { inside = 1; file = "/dev/null" }' "$1"
}

# session FILE: its commands run, with what they print.
session() {
    sed -n 's/^\$ //p' "$1" >"$1.commands"
    while read -r command; do
        printf '$ %s\n' "$command"
        eval "$command" 2>&1 </dev/null | tr -d '\r'
    done <"$1.commands"
}

try() { # PAGE BLOCK
    last="$1, block ${2##*/}"
    case $2 in
        *.sh) sh -eu "$2" >"$T/out" 2>"$T/err" </dev/null || { complain 'a command failed'; tail -5 "$T/err"; } ;;
        *.console)
            session "$2" >"$2.said"
            [ "${ACCEPT:-}" = 1 ] || diff "$2" "$2.said" || complain 'it prints something else'
            ;;
        *.scenario) cp "$2" page.json && run 0 validate page.json ;;
        *.study) cp "$2" page.json && run 0 sweep page.json --dry-run ;;
        *.c) ${CC:-gcc} -std=c17 -Wall -Wextra -Wconversion -Werror -D_POSIX_C_SOURCE=200809L -I"$root" -c -o page.o -x c "$2" ||
            complain 'it does not compile' ;;
    esac
}

n_blocks=0
[ $# -gt 0 ] && few=1
[ $# -gt 0 ] || set -- $(git ls-files '*README.md')
for page; do
    at=$T/$(dirname "$page" | tr / -)
    mkdir -p "$at/blocks" "$at/clone/build" "$at/clone/configs"
    ln -s "$root/analysis" "$root/policies" "$root/tests" "$root/traces" "$at/clone/"
    ln -s "$root"/configs/* "$at/clone/configs/"
    ln -s "$T/bin/orrery" "$at/clone/build/orrery"
    pieces "$page" "$at/blocks"
    for block in "$at"/blocks/*; do
        [ -e "$block" ] || continue
        n_blocks=$((n_blocks + 1))
        # The tutorial of plug-ins needs an installation: tests/cli/install.sh follows it.
        case $page/$block in policies/README.md/*.sh) continue ;; esac
        cd "$at/clone" || exit 1
        try "$page" "$block"
        cd "$root" || exit 1
    done
    if [ "${ACCEPT:-}" = 1 ]; then
        awk -v folder="$at/blocks" '
            /^```(sh|c|json scenario|json study)$/ && !inside { n++ }
            /^```console$/ && !inside { print; said = sprintf("%s/%03d.console.said", folder, ++n)
                while ((getline line < said) > 0) print line; skip = 1; inside = 1; next }
            /^```/ { inside = !inside; skip = 0 }
            !skip { print }' "$page" >"$T/page" && cat "$T/page" >"$page"
    fi
    rm -rf "$at/clone"
done
[ -n "${few:-}" ] || [ $n_blocks -gt 20 ] || complain "only $n_blocks blocks were found"
finish
