#!/bin/sh
# Compiles many files in one process of clang, which takes longer to start than to compile one of them.
# usage: clang_once.sh FOLDER "FILES" CLANG FLAGS...      FOLDER gets their objects; '-': warnings only
set -eu
folder=$1 files=$2
shift 2
set -f
if [ "$folder" = - ]; then
    inputs=$files
    front=$("$@" '-###' -x c -fsyntax-only /dev/null 2>&1)
else
    # Objects go beside the files that the front end is given.
    inputs=
    for file in $files; do inputs="$inputs $folder/$file"; done
    for file in $files; do echo "$folder/${file%/*}"; done | sort -u | xargs mkdir -p
    for file in $files; do ln -sf "$PWD/$file" "$folder/$file"; done
    front=$("$@" '-###' -x c -c /dev/null 2>&1)
fi
# The last line of -### is the call of the front end, with its words quoted.
front=$(printf '%s\n' "$front" | sed -n '/"-cc1"/ { s/ "-o" "[^"]*"//; s|"/dev/null"$||p; }')
[ -n "$front" ] || { echo "clang_once.sh: error: '$1 -###' shows no call of its front end" >&2; exit 1; }
eval "$front $inputs"
