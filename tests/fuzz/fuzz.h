/* Fuzz targets: one file per target, tests/fuzz/NAME.c, that ends in FUZZ_TARGET(NAME) { ... }.
 *
 * The body returns whether the law it states held for these bytes; a crash or a sanitizer finding is a failure anyway.
 * `make fuzz` builds each with libFuzzer; the test runner replays tests/fuzz/corpus/NAME through the same function. */
#ifndef ORRERY_TESTS_FUZZ_FUZZ_H
#define ORRERY_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef FUZZING
#define FUZZ_ENTRY(name)                                                                                               \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);                                                     \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)                                                      \
    {                                                                                                                  \
        if (!fuzz_##name(data, bytes)) abort();                                                                        \
        return 0;                                                                                                      \
    }
#else
#define FUZZ_ENTRY(name)
#endif

#define FUZZ_TARGET(name)                                                                                              \
    bool fuzz_##name(const uint8_t *data, size_t bytes);                                                               \
    FUZZ_ENTRY(name)                                                                                                   \
    bool fuzz_##name(const uint8_t *data, size_t bytes)

#endif
