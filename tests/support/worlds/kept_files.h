/* Kept files: what readers make of small input files that are changed in one place. A line is lost, twice there, cut or
 * moved, or a number of it is another. Each variant comes to an error, or to a world with its results. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_KEPT_FILES_H
#define ORRERY_TESTS_SUPPORT_WORLDS_KEPT_FILES_H

#include <stdio.h>

enum { KEPT_FILES_LINE_CHARS = 300 };

/* Called with "FILE LINE CHANGE: RESULT" for each variant. */
typedef void (*kept_files_fn)(void *context, const char *line);

/* Makes the variants of the files of tests/golden/files.jsonl in a directory, one after another. A line of it has the
 * file, and a scenario that names it as "FILE"; a study has none. Returns 0 or a negative code. */
int kept_files(const char *directory, kept_files_fn each, void *context);

/* Writes all lines. Returns 0 or a negative code. */
int kept_files_write(const char *directory, FILE *out);

#endif
