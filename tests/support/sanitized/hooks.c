/* What the sanitizers ask a program. This file is linked into sanitized programs only. */
#include "sim/core/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <stdio_ext.h>

/* From the sanitizers' interfaces. */
const char *__asan_default_options(void);
size_t __sanitizer_get_current_allocated_bytes(void);
int __lsan_is_turned_off(void);

/* Undefined behaviour ends in an illegal instruction, which is reported with its place. */
const char *__asan_default_options(void)
{
    return "handle_sigill=1";
}

static size_t at_start_bytes;

__attribute__((constructor)) static void on_start(void)
{
    at_start_bytes = __sanitizer_get_current_allocated_bytes();
}

/* Asked at the end: 1 skips the search for leaks, which takes a quarter of the time of a short call. Nothing can be
 * lost where Orrery holds no block, and all else is the buffers of standard input and output. */
int __lsan_is_turned_off(void)
{
    return mem_live_blocks() == 0 &&
           __sanitizer_get_current_allocated_bytes() == at_start_bytes + __fbufsize(stdin) + __fbufsize(stdout);
}
