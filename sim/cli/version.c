#include "sim/cli/version.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#ifndef ORRERY_COMMIT
#define ORRERY_COMMIT "unknown"
#endif

const char *version_text(void)
{
    return "0.1.0";
}

const char *version_commit(void)
{
    return ORRERY_COMMIT;
}

#ifdef __x86_64__
static void add_extensions(struct text *platform)
{
    if (__builtin_cpu_supports("fma")) text_add(platform, " fma");
    if (__builtin_cpu_supports("avx2")) text_add(platform, " avx2");
    if (__builtin_cpu_supports("avx512f")) text_add(platform, " avx512f");
}
#else
static void add_extensions(struct text *platform)
{
    (void)platform;
}
#endif

void version_platform(struct text *platform)
{
    struct utsname system;
    if (uname(&system) != 0) return;
    text_printf(platform, "%s %s glibc-%s", system.sysname, system.machine, gnu_get_libc_version());
#ifdef __clang__
    text_printf(platform, " clang-%d", __clang_major__);
#else
    text_printf(platform, " gcc-%d.%d", __GNUC__, __GNUC_MINOR__);
#endif
    add_extensions(platform);
}
