/* The start of a program with sanitizers. Most of its time goes into page faults, in the tables that the sanitizer has
 * in .bss and in the shadow of the program's globals. Leak detection reads the tables at the end. Here both get huge
 * pages, where the kernel has some. This file is linked into sanitized programs only. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // since Linux 6.1; others refuse it
#endif

#define HUGE_BYTES ((uintptr_t)2 << 20)
#define SHADOW_OFFSET ((uintptr_t)0x7fff8000) // of the sanitizer on x86-64
#define DOWN(address) ((uintptr_t)(address) & ~(HUGE_BYTES - 1))
#define UP(address) DOWN((uintptr_t)(address) + HUGE_BYTES - 1)

/* Lets .bss begin at a huge page, and end a little behind one: the tables of GCC 12 fill 2.7 of them. */
static char whole_pages[624 << 10] __attribute__((aligned(2 << 20), used));

/* From the linker. */
extern char __executable_start, edata, end;

/* Called when the shadow is there, and before globals are registered, which writes their shadow. */
static void on_start(void)
{
#ifdef __x86_64__
    const uintptr_t from = DOWN(((uintptr_t)&__executable_start >> 3) + SHADOW_OFFSET);
    madvise((void *)from, UP(((uintptr_t)&end >> 3) + SHADOW_OFFSET) - from, MADV_HUGEPAGE);
#endif
    if (DOWN(&end) > UP(&edata)) madvise((void *)UP(&edata), DOWN(&end) - UP(&edata), MADV_COLLAPSE);
}
__attribute__((section(".preinit_array"), used)) static void (*const at_start)(void) = on_start;
