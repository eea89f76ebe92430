#include "sim/cli/version.h"

#include "sim/core/hash.h"

#include <gnu/libc-version.h>
#include <stdio.h>
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

/* Adds the hash of the executable; nothing if it cannot be read. */
static void add_executable(struct text *program)
{
    char bytes[16384], hex[HASH_HEX_CHARS];
    FILE *file = fopen("/proc/self/exe", "rb");
    struct hash *hash = hash_create();
    if (hash == NULL) program->failed = true;
    for (size_t n; file != NULL && hash != NULL && (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        hash_bytes(hash, bytes, n);
    if (hash != NULL) hash_hex(hash, hex);
    if (file != NULL && hash != NULL) text_printf(program, " %s", hex);
    if (file != NULL) fclose(file);
    hash_destroy(hash);
}

void version_program(struct text *program)
{
    text_printf(program, "%s %s", version_text(), version_commit());
    add_executable(program);
}

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
