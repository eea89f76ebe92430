#!/bin/sh
# A program with sanitizers ends badly if it loses memory, also where its end looks for leaks by counts alone.
. tests/cli/lib.sh

cat >"$T/lose.c" <<'END'
#include "sim/core/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    void *volatile block = strcmp(what, "ours") == 0 ? mem_alloc(10) : strcmp(what, "other") == 0 ? malloc(10) : NULL;
    if (strcmp(what, "printed") == 0) puts("text");
    block = NULL;
    return block != NULL;
}
END
${CC:-gcc} -I. -D_DEFAULT_SOURCE -DORRERY_DEBUG -fsanitize=address -o "$T/lose" "$T/lose.c" sim/core/mem.c \
    tests/support/sanitized/hooks.c || complain 'it does not compile'
lose() { # WHAT STATUS
    ASAN_OPTIONS=detect_leaks=1:exitcode=23 "$T/lose" "$1" >"$T/out" 2>"$T/err"
    equal $? "$2" "status after losing: $1"
}
lose nothing 0
lose printed 0
lose ours 23
lose other 23
finish
