/* What this program is, and on what it runs: for --version and the provenance of results. */
#ifndef ORRERY_CLI_VERSION_H
#define ORRERY_CLI_VERSION_H

#include "sim/core/text.h"

const char *version_text(void);   /* "0.1.0" */
const char *version_commit(void); /* abbreviated hash, with "-dirty" behind it when files differ; "unknown" without git */

/* This very program: version, commit, and a hash of the executable where the system tells which file that is. */
void version_program(struct text *program);

/* Processor, operating system, C library, compiler and the vector extensions that libm may choose between: what results
 * can depend on besides the source. */
void version_platform(struct text *platform);

#endif
