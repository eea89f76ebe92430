#include "sim/core/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sim_bug(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "orrery: bug at %s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputs("\norrery: please report this together with the scenario\n", stderr);
    va_end(args);
#ifdef ORRERY_DEBUG
    abort();
#else
    _Exit(70);
#endif
}
