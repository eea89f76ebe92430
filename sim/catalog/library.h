/* Releases of libraries: what kernels were measured with, and what engines run with.
 *
 *     {"library": "vLLM", "version": "0.14.0", "year": 2026}
 *
 * A release is older than another of the same library if its version is lower. Versions begin with a digit, or a "v"
 * before it that means nothing. They are compared number by number, as far as both have numbers: "0.5.14" is as old as
 * "v0.5". Releases of other libraries, or without a version, are compared by their year: that of the release, or of
 * the measurement where no release is known. Capitals in names of libraries mean nothing. */
#ifndef ORRERY_CATALOG_LIBRARY_H
#define ORRERY_CATALOG_LIBRARY_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/text.h"

#include <stdbool.h>

struct library_release {
    const char *library; /* "vLLM", "NCCL"; the profiler's name where it does not state the library */
    const char *version; /* NULL: not stated */
    int64_t year;
};

extern const struct config_field library_release_fields[];

/* How a kernel's release relates to an engine. */
enum library_relation { LIBRARY_FITS, LIBRARY_OLDER, LIBRARY_NEWER, LIBRARY_OTHER };

/* Kernels of the engine's own library are newer from this many years on. */
enum { LIBRARY_NEWER_YEARS = 2 };

/* Whether a text is a version: a digit at the beginning, or behind a "v". */
bool library_is_version(const char *text);

/* Refuses releases of a list whose version is none. Returns 0 or SIM_E_CONFIG. */
int library_check(const struct config_list *releases, const char *where, struct diag *diag);

/* The order of two versions: below 0, 0 or above 0. 0 as well if one begins like the other. */
int library_compare_versions(const char *a, const char *b);

/* The relation of a kernel's release to those that an engine runs with: `engine` is a list of struct library_release,
 * the engine itself first. A release of the list is compared with the kernel's if it has its library, else the first
 * one: then the kernel is OLDER or OTHER. A release of the list's library that is not older, but of
 * LIBRARY_NEWER_YEARS later, is NEWER. Without a list everything fits. */
enum library_relation library_relate(const struct library_release *kernel, const struct config_list *engine);

bool library_is_same(const struct library_release *a, const struct library_release *b);

/* Adds "vLLM 0.14.0 (2026)". */
void library_say(const struct library_release *release, struct text *text);

/* Adds all of a list of struct library_release, separated by ", "; NULL: none. */
void library_say_all(const struct config_list *releases, struct text *text);

#endif
