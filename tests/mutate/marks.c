/* Records which basic blocks a program runs. A program built with -fsanitize-coverage=trace-pc and linked with this
 * file marks each block in the file $MARKS.NAME, where NAME is that of the program. The byte at offset i belongs to the
 * call of __sanitizer_cov_trace_pc that returns to address i after the start of the program. All processes of the
 * program share the file, so nothing is lost when one ends by _exit or a signal. Without MARKS nothing is recorded.
 *
 * A program that ends with memory allocated fails with the exit status 99, as LeakSanitizer lets it fail in
 * `make test`. A plug-in may end the program at any time: then memory does not count. */
#define _GNU_SOURCE /* dl_iterate_phdr */

#include "sim/core/mem.h"

#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNTRACED __attribute__((no_sanitize_coverage))

extern const char __executable_start[], etext[];
static unsigned char *marks;
static int objects_at_start;

void __sanitizer_cov_trace_pc(void);

UNTRACED static int count_object(struct dl_phdr_info *info, size_t bytes, void *n)
{
    (void)info;
    (void)bytes;
    ++*(int *)n;
    return 0;
}

UNTRACED static int count_objects(void)
{
    int n = 0;
    dl_iterate_phdr(count_object, &n);
    return n;
}

UNTRACED __attribute__((constructor)) static void marks_open(void)
{
    objects_at_start = count_objects();
    char program[512], path[1024];
    const char *prefix = getenv("MARKS");
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (prefix == NULL || n < 0) return;
    program[n] = '\0';
    snprintf(path, sizeof path, "%s.%s", prefix, strrchr(program, '/') + 1);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const off_t bytes = etext - __executable_start;
    if (file < 0 || ftruncate(file, bytes) != 0) abort();
    marks = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (marks == MAP_FAILED) abort();
    close(file);
}

UNTRACED __attribute__((destructor)) static void check_leaks(void)
{
    const long live = mem_live_blocks();
    if (live == 0 || count_objects() > objects_at_start) return;
    fflush(NULL);
    dprintf(STDERR_FILENO, "%ld blocks of memory are allocated at the end\n", live);
    _exit(99);
}

UNTRACED void __sanitizer_cov_trace_pc(void)
{
    if (marks != NULL) marks[(const char *)__builtin_return_address(0) - __executable_start] = 1;
}
