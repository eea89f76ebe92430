/* Preloaded into orrery (LD_PRELOAD): counts calls of the system and of the allocator, and lets the n-th of one kind
 * fail, or ends the process there. All processes of a call share the counts.
 *
 *   FAULT_COUNTS=FILE     of N_KINDS longs, which is mapped
 *   FAULT=KIND:N:MANY     alloc, write, flush, kill or die; MANY 1: every later call of the kind fails as well
 *
 * `kill` ends the process group before the n-th call that changes files, `die` the calling process alone. The C library
 * writes by calls of its own what stdio has buffered: those are not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { ALLOC, WRITE, FLUSH, KILL, DIE, N_KINDS };
static const char *const kinds[N_KINDS] = {"alloc", "write", "flush", "kill", "die"};

static atomic_long *counts; /* NULL: not yet, or not at all */
static int fault = -1;
static long fault_at;
static bool fault_lasts;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("FAULT_COUNTS"), *text = getenv("FAULT");
    int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, N_KINDS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    for (int i = 0; text != NULL && i < N_KINDS; i++)
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0) fault = i;
    if (fault >= 0) {
        char *end;
        fault_at = strtol(text + strlen(kinds[fault]) + 1, &end, 10);
        fault_lasts = strcmp(end, ":1") == 0;
    }
    if (map != MAP_FAILED) counts = map;
}

/* Counts a call. Returns whether it must fail. */
static bool fails(enum kind kind)
{
    if (counts == NULL) return false;
    const long n = atomic_fetch_add(&counts[kind], 1) + 1;
    return fault == (int)kind && (n == fault_at || (fault_lasts && n > fault_at));
}

/* A call that changes files. */
static bool change_fails(void)
{
    const int error = errno;
    if (fails(KILL)) kill(0, SIGKILL);
    if (fails(DIE)) kill(getpid(), SIGKILL);
    errno = error;
    if (!fails(WRITE)) return false;
    errno = ENOSPC;
    return true;
}

/* --- Memory --- */

/* dlsym itself may allocate: from here. */
static void *bump(size_t bytes)
{
    static _Alignas(16) char room[4096];
    static size_t used;
    const size_t at = used;
    used += (bytes + 15) / 16 * 16;
    return used <= sizeof room ? room + at : NULL;
}

static bool is_looking;
/* AddressSanitizer asks for a thread's stack, and ends the process if it gets no answer. */
static _Thread_local bool is_excused __attribute__((tls_model("initial-exec")));

#define ALLOCATOR(result, name, parameters, arguments, bytes)                                                          \
    result name parameters                                                                                             \
    {                                                                                                                  \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL && is_looking) return bump(bytes);                                                            \
        if (real == NULL) {                                                                                            \
            is_looking = true;                                                                                         \
            real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                         \
            is_looking = false;                                                                                        \
        }                                                                                                              \
        if (!is_excused && fails(ALLOC)) {                                                                                            \
            errno = ENOMEM;                                                                                            \
            return NULL;                                                                                               \
        }                                                                                                              \
        return real arguments;                                                                                         \
    }
ALLOCATOR(void *, malloc, (size_t n), (n), n)
ALLOCATOR(void *, calloc, (size_t n, size_t each), (n, each), n *each)
ALLOCATOR(void *, realloc, (void *block, size_t n), (block, n), n)

int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    static __typeof__(&pthread_getattr_np) real;
    if (real == NULL) real = (__typeof__(&pthread_getattr_np))dlsym(RTLD_NEXT, "pthread_getattr_np");
    is_excused = true;
    const int code = real(thread, attributes);
    is_excused = false;
    return code;
}

/* --- Files --- */

#define CHANGE(result, name, parameters, arguments)                                                                    \
    result name parameters                                                                                             \
    {                                                                                                                  \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                           \
        return change_fails() ? -1 : real arguments;                                                                   \
    }
CHANGE(ssize_t, pwrite64, (int file, const void *bytes, size_t n, off64_t at), (file, bytes, n, at))
CHANGE(int, ftruncate64, (int file, off64_t n), (file, n))
CHANGE(int, rename, (const char *from, const char *to), (from, to))
CHANGE(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
CHANGE(int, mkdir, (const char *path, mode_t mode), (path, mode))
CHANGE(int, fchmod, (int file, mode_t mode), (file, mode))

/* Messages are not what fails. */
ssize_t write(int file, const void *bytes, size_t n)
{
    static __typeof__(&write) real;
    if (real == NULL) real = (__typeof__(&write))dlsym(RTLD_NEXT, "write");
    return file != STDERR_FILENO && change_fails() ? -1 : real(file, bytes, n);
}

/* What is to be removed can be removed, as long as the process lives. */
#define REMOVAL(name)                                                                                                  \
    int name(const char *path)                                                                                         \
    {                                                                                                                  \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                           \
        if (fails(KILL)) kill(0, SIGKILL);                                                                             \
        if (fails(DIE)) kill(getpid(), SIGKILL);                                                                       \
        return real(path);                                                                                             \
    }
REMOVAL(unlink)
REMOVAL(rmdir)

#define FLUSH(name)                                                                                                    \
    int name(int file)                                                                                                 \
    {                                                                                                                  \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                           \
        if (!fails(FLUSH)) return real(file);                                                                          \
        errno = EIO;                                                                                                   \
        return -1;                                                                                                     \
    }
FLUSH(fsync)
FLUSH(fdatasync)

#define OPENING(name)                                                                                                  \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                           \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;                                           \
        va_end(arguments);                                                                                             \
        return flags & O_CREAT && change_fails() ? -1 : real(path, flags, mode);                                       \
    }
OPENING(open)
OPENING(open64)
