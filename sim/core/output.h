/* A text file being written, gzip-compressed when its name ends in ".gz". A file that could not be finished is
 * removed. */
#ifndef ORRERY_CORE_OUTPUT_H
#define ORRERY_CORE_OUTPUT_H

#include "sim/core/err.h"
#include "sim/core/text.h"

#include <stdbool.h>

struct output;

/* Replaces the file. Returns 0, SIM_E_IO (with the path) or SIM_E_NOMEM. */
int output_open(const char *path, struct output **output, struct diag *diag);

/* Where text is to be added; output_flush empties it. */
struct text *output_text(struct output *output);

/* Writes what was added, once there is enough of it. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int output_flush(struct output *output, struct diag *diag);

/* Writes the rest and closes the file. With `failed`, or when that cannot be done, the file is removed. Returns 0,
 * SIM_E_IO or SIM_E_NOMEM. */
int output_close(struct output *output, bool failed, struct diag *diag);

#endif
