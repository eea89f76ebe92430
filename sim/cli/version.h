/* The program and its platform: for --version and the provenance of results. */
#ifndef ORRERY_CLI_VERSION_H
#define ORRERY_CLI_VERSION_H

#include "sim/core/text.h"

const char *version_text(void);   /* "0.1.0" */
const char *version_commit(void); /* abbreviated hash, "-dirty" behind it if files differ; "unknown" without git */

/* Adds version, commit, and a hash of the executable if the system names its file. */
void version_program(struct text *program);

/* Adds processor, operating system, C library, compiler and vector extensions that libm may choose between: what
 * results can depend on besides the source. */
void version_platform(struct text *platform);

#endif
