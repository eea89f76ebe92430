/* A text file being written, gzip-compressed when its name ends in ".gz". It takes the place of the file that was there
 * only when all of it has been written, so a run that fails leaves the old file as it was, and the old file can be read
 * until then. Devices and pipes are written as they are. */
#ifndef ORRERY_CORE_OUTPUT_H
#define ORRERY_CORE_OUTPUT_H

#include "sim/core/err.h"
#include "sim/core/text.h"

#include <stdbool.h>

struct output;

/* Opens a new file beside `path` (beside what it leads to, when it is a symbolic link). Returns 0, SIM_E_IO (with the
 * path) or SIM_E_NOMEM. */
int output_open(const char *path, struct output **output, struct diag *diag);

/* Removes what a process that died while it wrote the file has left beside it. */
void output_clean(const char *path);

/* Where text is to be added; output_flush empties it. */
struct text *output_text(struct output *output);

/* Writes what was added, once there is enough of it. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int output_flush(struct output *output, struct diag *diag);

/* Writes the rest and flushes it to the disk, so that output_close has nothing left to do but to name the file.
 * If that fails, or the process dies before it, the whole file stays for part_adopt (part.h). Returns 0, SIM_E_IO or
 * SIM_E_NOMEM. */
int output_finish(struct output *output, struct diag *diag);

/* Finishes the file and gives it its name. With `failed`, or when that cannot be done, the new
 * file is removed and the old one stays. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int output_close(struct output *output, bool failed, struct diag *diag);

#endif
